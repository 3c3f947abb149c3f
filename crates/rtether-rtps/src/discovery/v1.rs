//! Announcements in RTPS 1.0: properties of applications, managers, publications and subscriptions,
//! with the encapsulation header that parameter lists have in other versions.
//!
//! Addresses and ports are parameters of their own: a participant listens at each of its addresses
//! at one port for discovery and at one for samples.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::list::List;
use super::{EndpointData, LOCATORS_MAX, PL_CDR_BE, PL_CDR_LE, ParticipantData};
use crate::guid::{Guid, GuidPrefix};
use crate::locator::Locator;
use crate::qos::{Ownership, Qos, Reliability};
use crate::time::Duration;
use crate::wire::v1::{Parameters, Role, Source, span, span_to_wire};
use crate::wire::{Cursor, Malformed, Parameter, pid as pid2};

/// Parameter ids that 2.x does not have or uses for something else.
mod pid {
    pub(super) const PERSISTENCE: u16 = 0x03;
    pub(super) const MINIMUM_SEPARATION: u16 = 0x04;
    pub(super) const STRENGTH: u16 = 0x06;
    pub(super) const TYPE_CHECKSUM: u16 = 0x08;
    pub(super) const METATRAFFIC_GROUP: u16 = 0x0B;
    pub(super) const ADDRESS: u16 = 0x0C;
    pub(super) const METATRAFFIC_PORT: u16 = 0x0D;
    pub(super) const USERDATA_PORT: u16 = 0x0E;
    pub(super) const USERDATA_GROUP: u16 = 0x11;
    pub(super) const MANAGER_KEY: u16 = 0x12;
    pub(super) const SEND_QUEUE: u16 = 0x13;
    pub(super) const APPLICATIONS_LAST: u16 = 0x17;
    pub(super) const RECEIVE_QUEUE: u16 = 0x18;
    pub(super) const RELIABILITY_OFFERED: u16 = 0x19;
    pub(super) const RELIABILITY_REQUESTED: u16 = 0x1A;
}

/// Ports of a domain: of managers, and of groups for samples and for discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// Port of every manager.
    pub manager: u16,
    /// Port of groups for samples.
    pub samples: u16,
    /// Port of groups for discovery.
    pub discovery: u16,
}

/// First port of domain 0.
const BASE: u16 = 7_400;
/// Ports of a domain.
const OF_DOMAIN: u16 = 10;

impl Ports {
    /// Largest domain whose ports exist.
    pub const DOMAIN_MAX: u16 = (u16::MAX - 2 - BASE) / OF_DOMAIN;

    /// Returns the ports of a domain; `None` if it has none.
    pub const fn new(domain: u16) -> Option<Self> {
        if domain > Self::DOMAIN_MAX {
            return None;
        }
        let manager = BASE + domain * OF_DOMAIN;
        Some(Self { manager, samples: manager + 1, discovery: manager + 2 })
    }
}

/// Reliability in words of the wire: best effort, strict.
const BEST_EFFORT: u32 = 1;
const STRICT: u32 = 2;

/// What a participant announces besides its data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Membership {
    /// Addresses of managers that may take it on; of a manager, its own.
    pub keys: Vec<Ipv4Addr>,
    /// Managers: count of changes of its applications.
    pub changes: Option<i64>,
}

/// Appends the properties of a participant.
pub fn encode_participant(data: &ParticipantData, member: &Membership, out: &mut Vec<u8>) {
    let mut list = List::new(out);
    put_span(&mut list, pid2::LEASE, data.lease);
    for group in data.metatraffic_multicast.iter().filter_map(of_udp) {
        list.u32(pid::METATRAFFIC_GROUP, group.0.to_bits());
    }
    let [discovery, samples] = [&data.metatraffic_unicast, &data.default_unicast]
        .map(|places| places.iter().find_map(of_udp).map_or(0, |(_, port)| port));
    list.u32(pid::METATRAFFIC_PORT, u32::from(discovery));
    list.u32(pid::USERDATA_PORT, u32::from(samples));
    for (address, _) in data.metatraffic_unicast.iter().filter_map(of_udp) {
        list.u32(pid::ADDRESS, address.to_bits());
    }
    // Two octets each and no padding, so that what follows is aligned again.
    list.short(pid2::PROTOCOL_VERSION, data.version);
    list.short(pid2::VENDOR_ID, data.vendor);
    if let Some(changes) = member.changes {
        let [a, b, c, d, high @ ..] = changes.to_le_bytes();
        list.value(pid::APPLICATIONS_LAST, |value| {
            value.octets(&high);
            value.octets(&[a, b, c, d]);
        });
    }
    for key in member.keys.iter().take(LOCATORS_MAX) {
        list.u32(pid::MANAGER_KEY, key.to_bits());
    }
    list.end();
}

fn of_udp(place: &Locator) -> Option<(Ipv4Addr, u16)> {
    match place {
        Locator::Udp(SocketAddr::V4(place)) => Some((*place.ip(), place.port())),
        Locator::Udp(_) | Locator::Ethernet { .. } => None,
    }
}

fn put_span(list: &mut List<'_>, id: u16, span: Duration) {
    let (seconds, fraction) = span_to_wire(span);
    list.value(id, |value| {
        value.i32(seconds);
        value.u32(fraction);
    });
}

/// Returns the parameters of a payload.
fn parameters(payload: &[u8]) -> Result<Parameters<'_>, Malformed> {
    let mut head = Cursor::new(payload, 0, false);
    let encapsulation = head.u16()?;
    let _options = head.u16()?;
    let is_little_endian = match encapsulation {
        PL_CDR_LE => true,
        PL_CDR_BE => false,
        id => return Err(Malformed::Encapsulation { id }),
    };
    Parameters::parse(&mut Cursor::new(payload, head.at(), is_little_endian))
}

/// Reads the properties of the participant `prefix`.
pub fn decode_participant(
    prefix: GuidPrefix,
    ports: Ports,
    payload: &[u8],
) -> Result<(ParticipantData, Membership), Malformed> {
    let mut data = ParticipantData::new(prefix);
    (data.version, data.vendor) = (crate::wire::v1::VERSION, crate::wire::v1::VENDOR);
    data.lease = Duration::from_s(180);
    let mut member = Membership::default();
    let (mut addresses, mut groups) = (Vec::new(), Vec::new());
    let (mut discovery, mut samples) = (0, 0);
    for parameter in parameters(payload)?.iter() {
        match parameter.id {
            pid2::LEASE => data.lease = span(&parameter)?,
            pid::ADDRESS => put(&mut addresses, &parameter)?,
            pid::METATRAFFIC_GROUP => put(&mut groups, &parameter)?,
            pid::MANAGER_KEY => put(&mut member.keys, &parameter)?,
            pid::METATRAFFIC_PORT => discovery = parameter.u32()?,
            pid::USERDATA_PORT => samples = parameter.u32()?,
            pid::APPLICATIONS_LAST => member.changes = Some(parameter.sequence()?.0),
            pid2::PROTOCOL_VERSION => data.version = parameter.array()?,
            pid2::VENDOR_ID => data.vendor = parameter.array()?,
            _ => {}
        }
    }
    data.metatraffic_unicast = places(&addresses, discovery);
    data.default_unicast = places(&addresses, samples);
    data.name = name(Source::of(prefix));
    groups.retain(Ipv4Addr::is_multicast);
    data.metatraffic_multicast = places(&groups, u32::from(ports.discovery));
    Ok((data, member))
}

/// Returns a name: participants of RTPS 1.0 announce none.
fn name(source: Source) -> String {
    let role = match source.role() {
        Some(Role::Manager) => "manager",
        _ => "application",
    };
    format!("{role} {:06x}", source.application >> 8)
}

fn put(addresses: &mut Vec<Ipv4Addr>, parameter: &Parameter<'_>) -> Result<(), Malformed> {
    let address = Ipv4Addr::from_bits(parameter.u32()?);
    if addresses.len() < LOCATORS_MAX {
        addresses.push(address);
    }
    Ok(())
}

/// Returns the addresses with a port; none for a port to which no datagram can be sent.
fn places(addresses: &[Ipv4Addr], port: u32) -> Vec<Locator> {
    let port = u16::try_from(port).ok().filter(|port| *port > 0);
    let of =
        |port| move |address: &Ipv4Addr| Locator::Udp(SocketAddr::new(IpAddr::V4(*address), port));
    port.map(|port| addresses.iter().map(of(port)).collect()).unwrap_or_default()
}

/// Appends the properties of a publication or a subscription.
pub fn encode_endpoint(data: &EndpointData, is_writer: bool, out: &mut Vec<u8>) {
    let qos = &data.qos;
    let mut list = List::new(out);
    if is_writer {
        put_span(&mut list, pid::PERSISTENCE, persistence(qos));
        let strict = if qos.reliability == Reliability::Reliable { STRICT } else { 0 };
        list.u32(pid::RELIABILITY_OFFERED, BEST_EFFORT | strict);
        list.u32(pid::SEND_QUEUE, qos.limits.samples.unwrap_or(1));
        list.i32(pid::STRENGTH, strength(qos));
    } else {
        put_span(&mut list, pid::MINIMUM_SEPARATION, qos.time_based_filter);
        list.u32(pid::RECEIVE_QUEUE, qos.limits.samples.unwrap_or(1));
        let asked = match qos.reliability {
            Reliability::BestEffort => BEST_EFFORT,
            Reliability::Reliable => STRICT,
        };
        list.u32(pid::RELIABILITY_REQUESTED, asked);
    }
    list.string(pid2::TOPIC_NAME, &data.topic);
    list.u32(pid::TYPE_CHECKSUM, 0);
    list.string(pid2::TYPE_NAME, &data.type_name);
    for (group, _) in data.multicast.iter().filter_map(of_udp) {
        list.u32(pid::USERDATA_GROUP, group.to_bits());
    }
    list.end();
}

/// Returns how long the last sample of a writer keeps weaker writers away.
fn persistence(qos: &Qos) -> Duration {
    let usual = match qos.ownership {
        Ownership::Exclusive => qos.deadline,
        Ownership::Shared => Duration::ZERO,
    };
    qos.persistence.unwrap_or(usual)
}

/// Returns the strength of a writer: ORTE's smallest is one.
fn strength(qos: &Qos) -> i32 {
    match qos.ownership {
        Ownership::Exclusive => qos.strength,
        Ownership::Shared => 1,
    }
}

/// Returns policies as RTPS 1.0 has them, for an endpoint of this participant: only the strongest
/// publication is taken, whose persistence is announced.
pub(crate) fn local(mut qos: Qos, is_writer: bool) -> Qos {
    if is_writer {
        (qos.persistence, qos.strength) = (Some(persistence(&qos)), strength(&qos));
    }
    qos.ownership = Ownership::Exclusive;
    qos
}

/// Reads the properties of the publication or subscription `guid`.
pub fn decode_endpoint(
    guid: Guid,
    is_writer: bool,
    ports: Ports,
    payload: &[u8],
) -> Result<EndpointData, Malformed> {
    let mut qos = Qos::reader();
    qos.ownership = Ownership::Exclusive;
    if is_writer {
        (qos.persistence, qos.strength) = (Some(Duration::ZERO), 1);
    }
    let (mut topic, mut type_name, mut groups) = (None, "", Vec::new());
    for parameter in parameters(payload)?.iter() {
        match parameter.id {
            pid2::TOPIC_NAME => topic = Some(parameter.string()?),
            pid2::TYPE_NAME => type_name = parameter.string()?,
            pid::PERSISTENCE if is_writer => qos.persistence = Some(span(&parameter)?),
            pid::STRENGTH if is_writer => qos.strength = parameter.i32()?,
            pid::RELIABILITY_OFFERED | pid::RELIABILITY_REQUESTED => {
                let is_strict = parameter.u32()? & STRICT != 0;
                qos.reliability =
                    if is_strict { Reliability::Reliable } else { Reliability::BestEffort };
            }
            pid::MINIMUM_SEPARATION if !is_writer => qos.time_based_filter = span(&parameter)?,
            pid::SEND_QUEUE | pid::RECEIVE_QUEUE => qos.limits.samples = Some(parameter.u32()?),
            pid::USERDATA_GROUP if !is_writer => put(&mut groups, &parameter)?,
            _ => {}
        }
    }
    groups.retain(Ipv4Addr::is_multicast);
    let id = pid2::TOPIC_NAME;
    Ok(EndpointData {
        guid,
        topic: topic.ok_or(Malformed::Missing { id })?.into(),
        type_name: type_name.into(),
        qos,
        group: None,
        unicast: Vec::new(),
        multicast: places(&groups, u32::from(ports.samples)),
        expects_inline_qos: false,
        content_filter: None,
        type_hash: None,
        type_information: Vec::new(),
    })
}
