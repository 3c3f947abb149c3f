//! What a file of SCL describes, as far as traffic goes.

use std::collections::{BTreeMap, BTreeSet};

pub(super) use super::copies::Kind;
use super::copies::{self, MAX_MEMBERS, Source, Told};
use super::notes::Notes;
use super::templates::Templates;
use super::xml::{Element, all, attribute, child, children, content, word};
use crate::plan::Code;
use crate::text::quote;

/// What one file of SCL says, or several of one plant.
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
    /// Type templates of each file.
    pub(super) templates: Vec<Templates<'a>>,
    /// Devices as all files tell them.
    pub(super) told: Vec<Told<'a>>,
    /// Control blocks as files of other devices repeat them.
    pub(super) repeated: BTreeMap<BlockKey<'a>, Vec<Element<'a>>>,
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
    /// Number of its file.
    pub(super) file: usize,
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
#[derive(Clone, Copy, Debug)]
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
        copies::parameter(self.element, name)
    }
}

impl<'a> Model<'a> {
    /// Reads devices and communication of files that belong together.
    pub(super) fn read(files: &[Source<'a>], notes: &mut Notes) -> Self {
        let mut model = Self {
            devices: Vec::new(),
            by_name: BTreeMap::new(),
            blocks: Vec::new(),
            keys: BTreeSet::new(),
            subnetworks: Vec::new(),
            interfaces: Vec::new(),
            addresses: BTreeMap::new(),
            templates: files.iter().map(|file| Templates::read(file.root)).collect(),
            told: Vec::new(),
            repeated: BTreeMap::new(),
            reports: Vec::new(),
            report_blocks: 0,
        };
        for told in copies::devices(files, notes) {
            model.device(&told);
            model.told.push(told);
        }
        model.keys = model.blocks.iter().map(Block::key).collect();
        model.listeners_alone(files);
        let connected = model.connected(files, notes);
        model.connect(files, &connected, notes);
        model
    }

    fn device(&mut self, told: &Told<'a>) {
        let (name, (file, element)) = (told.name, told.own);
        let number = self.devices.len();
        self.by_name.insert(name, number);
        for (_, copy) in &told.copies {
            for ((kind, logical, name), block) in copies::blocks(*copy) {
                let key = (kind, number, logical, name);
                self.repeated.entry(key).or_default().push(block.element);
            }
        }
        self.report_blocks += all(element, "ReportControl").count();
        let mut device = Device {
            name,
            element,
            file,
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

    /// Takes clients and subscribers that have an access point but no description of their own, such
    /// as a control center: they listen, and what they are is not needed for that.
    fn listeners_alone(&mut self, files: &[Source<'a>]) {
        let mut named: BTreeSet<&str> = BTreeSet::new();
        for source in files {
            named.extend(all(source.root, "ClientLN").map(|own| word(own, "iedName")));
            named.extend(all(source.root, "IEDName").map(content));
        }
        for (file, source) in files.iter().enumerate() {
            let communication = children(source.root, "Communication");
            for element in communication.flat_map(|own| all(own, "ConnectedAP")) {
                let name = word(element, "iedName");
                if self.by_name.contains_key(name) || !named.contains(name) {
                    continue;
                }
                self.by_name.insert(name, self.devices.len());
                self.devices.push(Device {
                    name,
                    element,
                    file,
                    logical: BTreeMap::new(),
                    is_bridge: false,
                });
            }
        }
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
            let key = (word(node, "prefix"), word(node, "lnClass"), word(node, "inst"));
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

    /// Returns the access points in subnetworks of all files. Subnetworks of one name in different
    /// files are one.
    fn connected(&mut self, files: &[Source<'a>], notes: &mut Notes) -> Vec<Connected<'a>> {
        let mut connected = Vec::new();
        let mut by_name: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for (file, source) in files.iter().enumerate() {
            let all = children(source.root, "Communication");
            for element in all.flat_map(|own| children(own, "SubNetwork")) {
                let name = word(element, "name");
                let subnetwork = match by_name.get(name) {
                    Some(&(first, known)) if first != file => known,
                    Some(_) | None => {
                        let new = self.subnetworks.len();
                        by_name.entry(name).or_insert((file, new));
                        self.subnetworks.push(Subnetwork { name, element });
                        new
                    }
                };
                let known = &mut self.subnetworks[subnetwork];
                if child(known.element, "BitRate").is_none() && child(element, "BitRate").is_some()
                {
                    known.element = element;
                }
                for element in children(element, "ConnectedAP") {
                    let name = word(element, "iedName");
                    let Some(&device) = self.by_name.get(name) else {
                        let text = format!(
                            "the device {} of an access point is not in the file",
                            quote(name)
                        );
                        notes.add(element, Code::UnknownDevice, text);
                        continue;
                    };
                    let point = word(element, "apName");
                    let interface = Interface { device, point, subnetwork, element };
                    connected.push(Connected { file, interface });
                }
            }
        }
        connected
    }

    /// Takes the access points as the file of their device has them, and from others what it leaves
    /// out.
    fn connect(&mut self, files: &[Source<'a>], connected: &[Connected<'a>], notes: &mut Notes) {
        // The file that counts for an access point, and the first element there.
        let mut counts: BTreeMap<(usize, &str), (usize, usize)> = BTreeMap::new();
        for (place, one) in connected.iter().enumerate() {
            let own = self.devices[one.interface.device].file;
            let key = (one.interface.device, one.interface.point);
            let counting = counts.entry(key).or_insert((one.file, place));
            if one.file == own && counting.0 != own {
                *counting = (own, place);
            }
        }
        let mut taken: BTreeMap<(usize, &str), usize> = BTreeMap::new();
        for one in connected {
            let Interface { device, point, .. } = one.interface;
            if counts.get(&(device, point)).map(|own| own.0) == Some(one.file) {
                let interface = self.interfaces.len();
                taken.entry((device, point)).or_insert(interface);
                self.interfaces.push(one.interface);
                for (key, element) in published(device, one.interface.element) {
                    let address = Address { interface, element };
                    self.addresses.entry(key).or_default().push(address);
                }
            }
        }
        let own: BTreeSet<BlockKey<'a>> = self.addresses.keys().copied().collect();
        for one in connected {
            let Interface { device, point, .. } = one.interface;
            let Some(&(file, place)) = counts.get(&(device, point)) else {
                continue;
            };
            if file == one.file {
                continue;
            }
            let counts = files[file].name;
            self.compare(&one.interface, &connected[place].interface, counts, notes);
            for (key, element) in published(device, one.interface.element) {
                let interface = taken[&(device, point)];
                let address = Address { interface, element };
                if own.contains(&key) {
                    // One for each access point, seldom more than two.
                    let mut known = self.addresses[&key].iter().take(MAX_POINTS);
                    let at = |one: &&Address<'_>| self.interfaces[one.interface].point == point;
                    if let Some(own) = known.find(at) {
                        let path = format!("{}/{}/{}", self.devices[device].name, key.2, key.3);
                        copies::compare_address(&path, [element, own.element], counts, notes);
                    }
                } else {
                    // Of several files that add it, the first.
                    self.addresses.entry(key).or_insert_with(|| vec![address]);
                }
            }
        }
    }

    /// Notes where a file says something else of an access point than the one that counts.
    fn compare(&self, here: &Interface<'a>, own: &Interface<'a>, counts: &str, notes: &mut Notes) {
        if here.subnetwork != own.subnetwork {
            let names = [here, own].map(|one| quote(self.subnetworks[one.subnetwork].name));
            let device = self.devices[here.device].name;
            let point = quote(&format!("{device}.{}", here.point));
            let text = format!(
                "the access point {point} is in {} here and in {} in {}, which counts",
                names[0],
                names[1],
                quote(counts)
            );
            notes.add(here.element, Code::Contradiction, text);
        }
    }
}

/// An access point in a subnetwork, as one file has it.
#[derive(Debug)]
struct Connected<'a> {
    file: usize,
    interface: Interface<'a>,
}

/// Returns the addresses at an access point with their control blocks.
fn published(
    device: usize,
    connected: Element<'_>,
) -> impl Iterator<Item = (BlockKey<'_>, Element<'_>)> {
    let kinds = [(Kind::Goose, "GSE"), (Kind::Samples, "SMV")];
    kinds.into_iter().flat_map(move |(kind, tag)| {
        children(connected, tag).map(move |element| {
            let key = (kind, device, word(element, "ldInst"), word(element, "cbName"));
            (key, element)
        })
    })
}

/// Returns whether a report control block names a client.
fn has_client(element: Element<'_>) -> bool {
    child(element, "RptEnabled").is_some_and(|enabled| child(enabled, "ClientLN").is_some())
}

/// Most access points at which addresses of one control block are compared between files.
const MAX_POINTS: usize = 16;
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
