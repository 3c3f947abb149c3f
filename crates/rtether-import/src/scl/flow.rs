//! A flow of the scenario, and the size of what it carries.

use rtether_model::quantity::Duration;

use super::basic::Encoding;
use super::model::Model;
use super::release::{Note, Value};
use super::templates::Member;
use super::xml::{Element, attribute, word};
use crate::options::Class;
use crate::text::quote;

/// A flow of the scenario.
#[derive(Debug)]
pub(super) struct Flow {
    /// Device, logical device and control block, with the access point if there are several.
    pub(super) name: String,
    pub(super) class: Class,
    pub(super) description: String,
    /// Interface that sends.
    pub(super) talker: usize,
    /// Interfaces that listen; empty if the file names none.
    pub(super) listeners: Vec<usize>,
    /// Subnetwork in which it is sent.
    pub(super) subnetwork: usize,
    /// Line with the key that says when packets are sent.
    pub(super) release: String,
    pub(super) release_note: Note,
    /// Time between two packets at least.
    pub(super) gap: Duration,
    /// Octets of a packet, without Ethernet and the header of eight octets.
    pub(super) size: Value<u64>,
    /// `None` without a tag.
    pub(super) priority: Option<Value<u8>>,
    pub(super) vlan: Option<u16>,
}

/// Returns the octets of a member of a data set of a device, at most, or what is not known of it.
pub(super) fn member<'a>(
    model: &Model<'a>,
    device: usize,
    encoding: Encoding,
    member: Element<'a>,
) -> Result<u64, String> {
    let device = &model.devices[device];
    let logical = word(member, "ldInst");
    let node = (word(member, "prefix"), word(member, "lnClass"), word(member, "lnInst"));
    let found = device.logical.get(logical);
    let found = found.and_then(|logical| logical.nodes.get(&node));
    let kind = found.ok_or_else(|| {
        let (prefix, class, instance) = node;
        let name = quote(&format!("{logical}/{prefix}{class}{instance}"));
        format!("the logical node {name} is not in the file")
    })?;
    let member = Member {
        object: attribute(member, "doName"),
        attribute: attribute(member, "daName"),
        constraint: word(member, "fc"),
        is_element: attribute(member, "ix").is_some(),
    };
    model.templates[device.file].size(encoding, kind, &member)
}

pub(super) fn octets(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
