//! What a file of SCL describes, as far as traffic goes.

use std::collections::{BTreeMap, BTreeSet};

use super::notes::Notes;
use super::templates::Templates;
use super::xml::{Element, all, attribute, child, children, content, word};
use crate::plan::Code;
use crate::text::quote;

/// A file of SCL.
#[derive(Debug)]
pub(super) struct Model<'a> {
    /// Devices, in order of the file.
    pub(super) devices: Vec<Device<'a>>,
    /// Device of a name.
    pub(super) by_name: BTreeMap<&'a str, usize>,
    /// Control blocks of all devices, in order of the file.
    pub(super) blocks: Vec<Block<'a>>,
    keys: BTreeSet<BlockKey<'a>>,
    pub(super) subnetworks: Vec<Subnetwork<'a>>,
    /// Connected access points of known devices, in order of the file.
    pub(super) interfaces: Vec<Interface<'a>>,
    /// Where control blocks are published.
    pub(super) addresses: BTreeMap<BlockKey<'a>, Vec<Address<'a>>>,
    pub(super) templates: Templates<'a>,
    /// Control blocks of reports that name a client.
    pub(super) reports: Vec<Report<'a>>,
    /// Control blocks of reports, with or without a client.
    pub(super) report_blocks: usize,
}

/// An intelligent electronic device (IED).
#[derive(Debug)]
pub(super) struct Device<'a> {
    pub(super) name: &'a str,
    pub(super) element: Element<'a>,
    /// Logical devices by instance.
    pub(super) logical: BTreeMap<&'a str, Logical<'a>>,
    /// Whether it says that it is a bridge, as IEC 61850-90-4 does.
    pub(super) is_bridge: bool,
}

/// A logical device.
#[derive(Debug, Default)]
pub(super) struct Logical<'a> {
    /// Name in references.
    pub(super) name: String,
    /// Types of logical nodes by prefix, class and instance.
    pub(super) nodes: BTreeMap<(&'a str, &'a str, &'a str), &'a str>,
    /// Data sets of its first logical node.
    pub(super) data_sets: BTreeMap<&'a str, Element<'a>>,
}

/// What a control block publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Goose,
    Samples,
}

/// Device, logical device and name of a control block.
pub(super) type BlockKey<'a> = (Kind, usize, &'a str, &'a str);

/// A control block.
#[derive(Debug)]
pub(super) struct Block<'a> {
    pub(super) kind: Kind,
    pub(super) device: usize,
    pub(super) logical: &'a str,
    pub(super) name: &'a str,
    pub(super) element: Element<'a>,
}

impl<'a> Block<'a> {
    pub(super) const fn key(&self) -> BlockKey<'a> {
        (self.kind, self.device, self.logical, self.name)
    }
}

/// A control block of reports that names a client.
#[derive(Debug)]
pub(super) struct Report<'a> {
    pub(super) device: usize,
    /// Access point of its server.
    pub(super) point: &'a str,
    pub(super) logical: &'a str,
    /// Prefix, class and instance of its logical node.
    pub(super) node: (&'a str, &'a str, &'a str),
    /// Its logical node, which has its data set.
    pub(super) parent: Element<'a>,
    pub(super) element: Element<'a>,
}

/// A subnetwork.
#[derive(Debug)]
pub(super) struct Subnetwork<'a> {
    pub(super) name: &'a str,
    pub(super) element: Element<'a>,
}

/// An access point in a subnetwork.
#[derive(Debug)]
pub(super) struct Interface<'a> {
    pub(super) device: usize,
    pub(super) point: &'a str,
    pub(super) subnetwork: usize,
    pub(super) element: Element<'a>,
}

/// Where a control block is published.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address<'a> {
    /// Number of the interface.
    pub(super) interface: usize,
    pub(super) element: Element<'a>,
}

impl Address<'_> {
    /// Returns the value of a parameter, such as `VLAN-ID`.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        let address = child(self.element, "Address")?;
        let mut found = children(address, "P");
        let found = found.find(|parameter| attribute(*parameter, "type") == Some(name))?;
        Some(content(found)).filter(|text| !text.is_empty())
    }
}

impl<'a> Model<'a> {
    /// Reads devices and communication.
    pub(super) fn read(root: Element<'a>, notes: &mut Notes) -> Self {
        let mut model = Self {
            devices: Vec::new(),
            by_name: BTreeMap::new(),
            blocks: Vec::new(),
            keys: BTreeSet::new(),
            subnetworks: Vec::new(),
            interfaces: Vec::new(),
            addresses: BTreeMap::new(),
            templates: Templates::read(root),
            reports: Vec::new(),
            report_blocks: 0,
        };
        for element in children(root, "IED") {
            model.device(element, notes);
        }
        model.keys = model.blocks.iter().map(Block::key).collect();
        for communication in children(root, "Communication") {
            for element in children(communication, "SubNetwork") {
                model.subnetwork(element, notes);
            }
        }
        model
    }

    fn device(&mut self, element: Element<'a>, notes: &mut Notes) {
        let name = word(element, "name");
        let number = self.devices.len();
        if self.by_name.contains_key(name) {
            let text = format!("a second device is named {}", quote(name));
            notes.add(element, Code::SameName, text);
            return;
        }
        self.by_name.insert(name, number);
        self.report_blocks += all(element, "ReportControl").count();
        let mut device = Device {
            name,
            element,
            logical: BTreeMap::new(),
            is_bridge: all(element, "LN").any(|node| attribute(node, "lnClass") == Some("LBRI")),
        };
        for element in all(element, "LDevice") {
            let logical = self.logical(element, &device, number);
            device.logical.insert(word(element, "inst"), logical);
        }
        for point in children(element, "AccessPoint") {
            for logical in all(point, "LDevice") {
                self.reports(number, word(point, "name"), logical);
            }
        }
        self.devices.push(device);
    }

    /// Takes the control blocks of reports that name a client, of all logical nodes.
    fn reports(&mut self, device: usize, point: &'a str, logical: Element<'a>) {
        for parent in children(logical, "LN0").chain(children(logical, "LN")) {
            let blocks = children(parent, "ReportControl").filter(|own| has_client(*own));
            let node = ["prefix", "lnClass", "inst"].map(|part| word(parent, part));
            let reports = blocks.map(|element| Report {
                device,
                point,
                logical: word(logical, "inst"),
                node: node.into(),
                parent,
                element,
            });
            self.reports.extend(reports);
        }
    }

    fn logical(&mut self, element: Element<'a>, device: &Device<'a>, number: usize) -> Logical<'a> {
        let instance = word(element, "inst");
        let own_name = attribute(element, "ldName").map(str::to_owned);
        let mut logical = Logical {
            name: own_name.unwrap_or_else(|| format!("{}{instance}", device.name)),
            ..Logical::default()
        };
        for node in children(element, "LN0").chain(children(element, "LN")) {
            let key = (
                word(node, "prefix"),
                word(node, "lnClass"),
                word(node, "inst"),
            );
            logical.nodes.insert(key, word(node, "lnType"));
        }
        for first in children(element, "LN0") {
            for data_set in children(first, "DataSet") {
                logical.data_sets.insert(word(data_set, "name"), data_set);
            }
            let goose = children(first, "GSEControl").map(|element| (Kind::Goose, element));
            let samples = children(first, "SampledValueControl");
            let samples = samples.map(|element| (Kind::Samples, element));
            let blocks = goose.chain(samples).map(|(kind, element)| Block {
                kind,
                device: number,
                logical: instance,
                name: word(element, "name"),
                element,
            });
            self.blocks.extend(blocks);
        }
        logical
    }

    fn subnetwork(&mut self, element: Element<'a>, notes: &mut Notes) {
        let subnetwork = self.subnetworks.len();
        self.subnetworks.push(Subnetwork {
            name: word(element, "name"),
            element,
        });
        for connected in children(element, "ConnectedAP") {
            let name = word(connected, "iedName");
            let Some(&device) = self.by_name.get(name) else {
                let text = format!(
                    "the device {} of an access point is not in the file",
                    quote(name)
                );
                notes.add(connected, Code::UnknownDevice, text);
                continue;
            };
            let interface = self.interfaces.len();
            self.interfaces.push(Interface {
                device,
                point: word(connected, "apName"),
                subnetwork,
                element: connected,
            });
            for (kind, tag) in [(Kind::Goose, "GSE"), (Kind::Samples, "SMV")] {
                for element in children(connected, tag) {
                    let key = (
                        kind,
                        device,
                        word(element, "ldInst"),
                        word(element, "cbName"),
                    );
                    let address = Address { interface, element };
                    self.addresses.entry(key).or_default().push(address);
                }
            }
        }
    }
}

/// Returns whether a report control block names a client.
fn has_client(element: Element<'_>) -> bool {
    child(element, "RptEnabled").is_some_and(|enabled| child(enabled, "ClientLN").is_some())
}

/// Most members of a data set: more do not fit a frame, since each takes an octet at least.
const MAX_MEMBERS: usize = 1500;

impl<'a> Model<'a> {
    /// Returns whether a control block is in the file.
    pub(super) fn has(&self, key: &BlockKey<'a>) -> bool {
        self.keys.contains(key)
    }

    /// Returns the data set of a control block; `None` if it names none that is in the file.
    pub(super) fn data_set(&self, block: &Block<'a>) -> Option<Element<'a>> {
        let name = attribute(block.element, "datSet")?;
        let logical = self.devices[block.device].logical.get(block.logical)?;
        logical.data_sets.get(name).copied()
    }

    /// Returns the members of the data set of a control block; `None` if there is no data set, or
    /// one too large for any frame.
    pub(super) fn members(&self, block: &Block<'a>) -> Option<Vec<Element<'a>>> {
        let members = children(self.data_set(block)?, "FCDA");
        let members: Vec<Element<'a>> = members.take(MAX_MEMBERS + 1).collect();
        (members.len() <= MAX_MEMBERS).then_some(members)
    }
}
