//! The flows of a plant: one for each control block and address, two for GOOSE.

use std::collections::{BTreeMap, BTreeSet};

use rtether_model::wire::Encapsulation;

use super::basic::Encoding;
use super::flow::{Flow, Release, member, octets};
use super::frames::{Goose, Samples};
use super::model::{Address, Block, Kind, Model};
use super::notes::Notes;
use super::release;
use super::report;
use super::subscribe::{Listener, Listeners};
use super::xml::{Element, attribute, child, word};
use crate::draft::{Basis, Value};
use crate::options::{Class, Options};
use crate::plan::Code;
use crate::text::quote;

/// Most samples in a packet.
const MAX_PER_PACKET: u64 = 128;

/// Octets of a sampled value with its quality, and members of a data set, as in IEC 61850-9-2LE and
/// IEC 61869-9: taken for what the file does not describe. The largest frame, taken for GOOSE then,
/// would overload the network at the rates of samples.
const SAMPLE: u64 = 8;
const USUAL_MEMBERS: usize = 8;

/// What becomes of the control blocks of a file.
#[derive(Debug, Default)]
pub(super) struct Published {
    pub(super) flows: Vec<Flow>,
    /// Control blocks that are published.
    pub(super) blocks: usize,
    /// Those without a listener.
    pub(super) unheard: usize,
    /// Control blocks of reports with a client.
    pub(super) reported: usize,
}

/// Makes the flows of all control blocks.
pub(super) fn flows(
    model: &Model<'_>,
    listeners: &Listeners<'_>,
    options: &Options,
    notes: &mut Notes,
) -> Published {
    let mut published = Published::default();
    let interfaces = Interfaces::of(model);
    for block in &model.blocks {
        let key = block.key();
        let known = listeners.get(&key);
        let path = quote(&path(model, block));
        let Some(addresses) = publishes(model, block, &path, notes) else {
            continue;
        };
        published.blocks += 1;
        let mut reached = BTreeSet::new();
        for address in addresses {
            release::check(block.kind, address, notes);
            let subnetwork = model.interfaces[address.interface].subnetwork;
            let heard =
                known.map(|known| interfaces.in_subnetwork(known, subnetwork, &mut reached));
            let heard = heard.unwrap_or_default();
            let at = (addresses.len() > 1).then_some(model.interfaces[address.interface].point);
            let sent = Sent { model, block, address, at, listeners: heard };
            match block.kind {
                Kind::Goose => published.flows.extend(sent.goose(notes)),
                Kind::Samples => published.flows.push(sent.samples(options, notes)),
            }
        }
        if known.is_none_or(BTreeSet::is_empty) {
            published.unheard += 1;
            let text = format!("{path} has no subscriber");
            notes.add(block.element, Code::NoSubscriber, text);
        }
        let apart = known.into_iter().flatten().map(|(device, _)| *device);
        for device in apart.collect::<BTreeSet<usize>>().difference(&reached) {
            let device = quote(model.devices[*device].name);
            let text = format!("the subscriber {device} of {path} is in none of its subnetworks");
            notes.add(block.element, Code::NoInterface, text);
        }
    }
    let (reports, reported) = report::flows(model, notes);
    published.flows.extend(reports);
    published.reported = reported;
    published
}

/// Returns device, logical device and name of a control block.
fn path(model: &Model<'_>, block: &Block<'_>) -> String {
    let device = model.devices[block.device].name;
    format!("{device}/{}/{}", block.logical, block.name)
}

/// Returns the addresses of a control block, or notes why it publishes nothing that is imported.
fn publishes<'m, 'a>(
    model: &'m Model<'a>,
    block: &Block<'a>,
    path: &str,
    notes: &mut Notes,
) -> Option<&'m [Address<'a>]> {
    let mut left_out = |code, text| {
        notes.add(block.element, code, text);
        None
    };
    match block.kind {
        Kind::Goose if attribute(block.element, "type") == Some("GSSE") => {
            return left_out(Code::NotRead, format!("{path} publishes GSSE"));
        }
        Kind::Samples if attribute(block.element, "multicast") == Some("false") => {
            return left_out(Code::NotRead, format!("{path} sends samples to one client"));
        }
        Kind::Goose | Kind::Samples => {}
    }
    if attribute(block.element, "datSet").is_none() {
        return left_out(Code::NoDataSet, format!("{path} has no data set"));
    }
    match model.addresses.get(&block.key()) {
        Some(addresses) => Some(addresses),
        None => left_out(Code::NoAddress, format!("{path} has no address")),
    }
}

/// Interfaces by device and subnetwork.
struct Interfaces<'a>(BTreeMap<(usize, usize), Vec<(usize, &'a str)>>);

impl<'a> Interfaces<'a> {
    fn of(model: &Model<'a>) -> Self {
        let mut found: BTreeMap<(usize, usize), Vec<(usize, &str)>> = BTreeMap::new();
        for (number, interface) in model.interfaces.iter().enumerate() {
            let key = (interface.device, interface.subnetwork);
            found.entry(key).or_default().push((number, interface.point));
        }
        Self(found)
    }

    /// Returns the interfaces at which listeners hear what is sent in a subnetwork: those that they
    /// name, or the first of their device. Devices that have one are added to `reached`.
    fn in_subnetwork(
        &self,
        listeners: &BTreeSet<Listener<'_>>,
        subnetwork: usize,
        reached: &mut BTreeSet<usize>,
    ) -> Vec<usize> {
        let mut heard = BTreeSet::new();
        let mut other = BTreeMap::new();
        for (device, point) in listeners {
            let Some(interfaces) = self.0.get(&(*device, subnetwork)) else {
                continue;
            };
            reached.insert(*device);
            let named = interfaces.iter().find(|(_, own)| Some(*own) == *point);
            match (named, interfaces.first()) {
                (Some((number, _)), _) => {
                    heard.insert(*number);
                    other.insert(*device, None);
                }
                (None, Some((number, _))) => {
                    other.entry(*device).or_insert(Some(*number));
                }
                (None, None) => {}
            }
        }
        heard.extend(other.into_values().flatten());
        heard.into_iter().collect()
    }
}

/// What one control block sends to one address.
struct Sent<'s, 'a> {
    model: &'s Model<'a>,
    block: &'s Block<'a>,
    address: &'s Address<'a>,
    /// Access point, if the block is published at several.
    at: Option<&'a str>,
    listeners: Vec<usize>,
}

impl<'a> Sent<'_, 'a> {
    fn goose(&self, notes: &mut Notes) -> [Flow; 2] {
        let [min, max] = release::times(self.address, notes);
        let size = self.goose_size(notes);
        let tag = self.tag(notes);
        let event = Release::every("min_gap", min.value, min.basis);
        let heartbeat = Release::every("period", max.value, max.basis);
        let event = self.flow(Class::Goose, event, size.clone(), tag.clone());
        let heartbeat = self.flow(Class::Heartbeat, heartbeat, size, tag);
        [event, heartbeat]
    }

    fn samples(&self, options: &Options, notes: &mut Notes) -> Flow {
        let per_packet = attribute(self.block.element, "nofASDU").unwrap_or("1");
        let number = per_packet.parse::<u64>().ok();
        let number = number.filter(|number| (1..=MAX_PER_PACKET).contains(number));
        if number.is_none() {
            let text = format!("nofASDU {} is taken for 1", quote(per_packet));
            notes.add(self.block.element, Code::BadValue, text);
        }
        let number = number.unwrap_or(1);
        let rate = release::rate(self.block.element, number, options, notes);
        let size = self.samples_size(number, notes);
        self.flow(Class::SampledValues, rate, size, self.tag(notes))
    }

    fn tag(&self, notes: &mut Notes) -> (Value<u8>, Option<u16>) {
        let priority = release::priority(self.address, notes);
        (priority, release::vlan(self.address, notes))
    }

    fn flow(
        &self,
        class: Class,
        release: Release,
        size: Value<u64>,
        (priority, vlan): (Value<u8>, Option<u16>),
    ) -> Flow {
        let suffix = match class {
            Class::Goose => " event",
            Class::Heartbeat => " heartbeat",
            Class::SampledValues
            | Class::Report
            | Class::Periodic
            | Class::Sporadic
            | Class::Bulk => "",
        };
        let at = self.at.map_or_else(String::new, |at| format!("@{at}"));
        let mac = self.address.parameter("MAC-Address").unwrap_or("none");
        let app = self.address.parameter("APPID").unwrap_or("none");
        Flow {
            name: format!("{}{at}{suffix}", self.path()),
            class,
            description: format!("multicast address {mac}, APPID {app}"),
            talker: self.address.interface,
            listeners: self.listeners.clone(),
            subnetwork: self.model.interfaces[self.address.interface].subnetwork,
            release,
            size,
            priority: Some(priority),
            vlan,
        }
    }

    fn goose_size(&self, notes: &mut Notes) -> Value<u64> {
        let block = self.block;
        let logical = self.logical_name();
        let reference = logical.len() + "/LLN0$GO$".len() + block.name.len();
        let id = attribute(block.element, "appID").map_or(reference, str::len);
        let data_set = logical.len() + "/LLN0$".len() + word(block.element, "datSet").len();
        let size = self.data(Encoding::Ber).map(|(members, data)| {
            let size = Goose {
                block: octets(reference),
                data_set: octets(data_set),
                id: octets(id),
                data,
            };
            let words = format!("{members} members; numbers and texts at their longest");
            (size.size(), Basis::Assumed(words))
        });
        self.fitting(size, Encapsulation::Goose, notes)
    }

    fn samples_size(&self, count: u64, notes: &mut Notes) -> Value<u64> {
        let block = self.block.element;
        let options = child(block, "SmvOpts");
        let has = |names: &[&str]| {
            let mut values = names.iter().filter_map(|name| options?.attribute(*name));
            values.any(|value| value == "true" || value == "1")
        };
        let data_set = self.logical_name().len() + "/LLN0$".len() + word(block, "datSet").len();
        let (data, basis) = match self.data(Encoding::Fixed) {
            Ok((members, data)) => {
                let words = format!("{members} members, nofASDU {count}");
                (data, Basis::Follows(words))
            }
            Err(why) => {
                let members = self.members().map_or(USUAL_MEMBERS, |members| members.len());
                let words = format!("{members} members of {SAMPLE} octets; {why}");
                let text = format!("the size of {} is not known: {why}", quote(&self.path()));
                notes.add(block, Code::UnknownSize, text);
                (octets(members) * SAMPLE, Basis::Assumed(words))
            }
        };
        let size = Samples {
            count,
            id: octets(word(block, "smvID").len()),
            // Called `dataRef` in the first edition.
            data_set: has(&["dataSet", "dataRef"]).then_some(octets(data_set)),
            has_refresh_time: has(&["refreshTime"]),
            has_rate: has(&["sampleRate"]),
            has_clock: has(&["synchSourceId"]),
            data,
        };
        let size = Ok((size.size(), basis));
        self.fitting(size, Encapsulation::SampledValues, notes)
    }

    fn path(&self) -> String {
        path(self.model, self.block)
    }

    fn logical_name(&self) -> &str {
        let logical = &self.model.devices[self.block.device].logical;
        let logical = logical.get(self.block.logical);
        logical.map_or("", |logical| logical.name.as_str())
    }

    /// Returns a size that fits a frame, the largest if it is not known.
    fn fitting(
        &self,
        size: Result<(u64, Basis), String>,
        encapsulation: Encapsulation,
        notes: &mut Notes,
    ) -> Value<u64> {
        let most = encapsulation.max_payload().get();
        let path = self.path();
        let (code, text, why) = match size {
            Ok((size, basis)) if size <= most => return Value { value: size, basis },
            Ok((size, _)) => {
                let text = format!("the packets of {} may have {size} octets", quote(&path));
                (Code::TooLarge, text, format!("the largest; {size} octets do not fit"))
            }
            Err(why) => {
                let text = format!("the size of {} is not known: {why}", quote(&path));
                (Code::UnknownSize, text, format!("the largest; {why}"))
            }
        };
        notes.add(self.block.element, code, text);
        Value::assumed(most, why)
    }

    /// Returns the number of members of the data set and the octets of all, or why they are not
    /// known.
    fn data(&self, encoding: Encoding) -> Result<(usize, u64), String> {
        let members = self.members()?;
        let mut sum = 0_u64;
        for own in &members {
            let one = member(self.model, self.block.device, encoding, *own)?;
            sum = sum.saturating_add(one);
        }
        Ok((members.len(), sum))
    }

    fn members(&self) -> Result<Vec<Element<'a>>, String> {
        let name = word(self.block.element, "datSet");
        if self.model.data_set(self.block).is_none() {
            return Err(format!("the data set {} is not in the file", quote(name)));
        }
        let members = self.model.members(self.block);
        members.ok_or_else(|| format!("the data set {} has too many members", quote(name)))
    }
}

/// Notes multicast addresses that several control blocks have.
pub(super) fn shared_addresses(model: &Model<'_>, notes: &mut Notes) {
    let mut users: BTreeMap<String, Vec<(&Block<'_>, Element<'_>)>> = BTreeMap::new();
    for block in &model.blocks {
        for address in model.addresses.get(&block.key()).into_iter().flatten() {
            if let Some(mac) = address.parameter("MAC-Address") {
                let blocks = users.entry(mac.to_uppercase()).or_default();
                // One block may be published at several access points.
                if blocks.iter().all(|(known, _)| known.key() != block.key()) {
                    blocks.push((block, address.element));
                }
            }
        }
    }
    for (mac, blocks) in users {
        let [(_, at), (_, _), ..] = blocks.as_slice() else {
            continue;
        };
        let names = blocks.iter().take(3).map(|(block, _)| quote(&path(model, block)));
        let names = names.collect::<Vec<String>>().join(", ");
        let more = blocks.len().saturating_sub(3);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let text = format!("{} publishers send to {}: {names}{more}", blocks.len(), quote(&mac));
        notes.add(*at, Code::SharedAddress, text);
    }
}
