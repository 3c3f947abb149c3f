//! A flow of the scenario, and the size of what it carries.

use rtether_model::quantity::Duration;

use super::basic::Encoding;
use super::model::Model;
use super::templates::Member;
use super::xml::{Element, attribute, word};
use crate::draft::{Basis, Text, Value};
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
    pub(super) release: Release,
    /// Octets of a packet, without Ethernet and the header of eight octets.
    pub(super) size: Value<u64>,
    /// `None` without a tag.
    pub(super) priority: Option<Value<u8>>,
    pub(super) vlan: Option<u16>,
}

/// When the packets of a flow are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Release {
    /// Key and value in the scenario.
    pub(super) key: &'static str,
    pub(super) text: Text,
    pub(super) basis: Basis,
    /// Time between two packets at least, rounded down.
    pub(super) gap: Duration,
}

impl Release {
    /// Packets come so far apart.
    pub(super) const fn every(key: &'static str, gap: Duration, basis: Basis) -> Self {
        Self { key, text: Text::Time(gap), basis, gap }
    }
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
