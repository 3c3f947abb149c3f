//! Announcements of participants (8.5.3).

use alloc::string::String;
use alloc::vec::Vec;

use super::list::List;
use super::{Interests, LOCATORS_MAX, each, participant_guid, user_data};
use crate::guid::{EntityId, Guid, GuidPrefix};
use crate::locator::Locator;
use crate::time::Duration;
use crate::wire::{Malformed, Parameter, VENDOR, VERSION, pid};

/// Announced data of a participant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParticipantData {
    /// Its GUID prefix.
    pub prefix: GuidPrefix,
    /// Protocol version: major, minor.
    pub version: [u8; 2],
    /// Vendor id; zeros if not announced.
    pub vendor: [u8; 2],
    /// How long the participant counts as alive after each announcement.
    pub lease: Duration,
    /// Domain; if `None`, it follows from the port.
    pub domain: Option<u32>,
    /// Separates domains of the same number: participants match only if tags are equal.
    pub domain_tag: String,
    /// Unicast locators for discovery.
    pub metatraffic_unicast: Vec<Locator>,
    /// Multicast locators for discovery.
    pub metatraffic_multicast: Vec<Locator>,
    /// Unicast locators of endpoints that announce none.
    pub default_unicast: Vec<Locator>,
    /// Multicast locators of endpoints that announce none.
    pub default_multicast: Vec<Locator>,
    /// Built-in endpoints: one bit each (9.3.2).
    pub endpoints: u32,
    /// Whether its readers require the policies in `inlineQos` of each sample.
    pub expects_inline_qos: bool,
    /// Human-readable name.
    pub name: String,
    /// Opaque data from its application.
    pub user_data: Vec<u8>,
    /// Topics of a participant that discovers endpoints on demand; `None` if it wants to know all.
    /// Only those of our vendor id are read.
    pub interests: Option<Interests>,
}

impl ParticipantData {
    /// Lease of participants that announce none.
    pub const LEASE: Duration = Duration::from_s(100);

    /// Returns the data of a participant of this implementation, with defaults for everything else.
    pub const fn new(prefix: GuidPrefix) -> Self {
        Self {
            prefix,
            version: VERSION,
            vendor: VENDOR,
            lease: Self::LEASE,
            domain: None,
            domain_tag: String::new(),
            metatraffic_unicast: Vec::new(),
            metatraffic_multicast: Vec::new(),
            default_unicast: Vec::new(),
            default_multicast: Vec::new(),
            endpoints: 0,
            expects_inline_qos: false,
            name: String::new(),
            user_data: Vec::new(),
            interests: None,
        }
    }

    /// Returns its GUID as an entity.
    pub const fn guid(&self) -> Guid {
        Guid::new(self.prefix, EntityId::PARTICIPANT)
    }

    /// Appends the payload of its announcement; values beyond the limits of this module are
    /// truncated.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut list = List::new(out);
        list.octets(pid::PROTOCOL_VERSION, &self.version);
        list.octets(pid::VENDOR_ID, &self.vendor);
        list.guid(pid::PARTICIPANT_GUID, self.guid());
        list.u32(pid::BUILT_IN_ENDPOINTS, self.endpoints);
        list.duration(pid::LEASE, self.lease);
        if let Some(domain) = self.domain {
            list.u32(pid::DOMAIN_ID, domain);
        }
        if !self.domain_tag.is_empty() {
            list.string(pid::DOMAIN_TAG, &self.domain_tag);
        }
        list.locators(pid::METATRAFFIC_UNICAST_LOCATOR, &self.metatraffic_unicast);
        list.locators(pid::METATRAFFIC_MULTICAST_LOCATOR, &self.metatraffic_multicast);
        list.locators(pid::DEFAULT_UNICAST_LOCATOR, &self.default_unicast);
        list.locators(pid::DEFAULT_MULTICAST_LOCATOR, &self.default_multicast);
        if self.expects_inline_qos {
            list.octets(pid::EXPECTS_INLINE_QOS, &[1]);
        }
        if !self.name.is_empty() {
            list.string(pid::ENTITY_NAME, &self.name);
        }
        list.user_data(&self.user_data);
        if let Some(interests) = &self.interests {
            interests.encode(&mut list);
        }
        list.end();
    }

    /// Reads the payload of an announcement.
    pub fn decode(payload: &[u8]) -> Result<Self, Malformed> {
        let mut data = Self::new(GuidPrefix::UNKNOWN);
        (data.version, data.vendor) = ([2, 0], [0, 0]);
        let (mut guid, mut interests) = (None, None);
        each(payload, |id, parameter| {
            match id {
                pid::PARTICIPANT_GUID => guid = Some(participant_guid(parameter)?),
                pid::PROTOCOL_VERSION => data.version = parameter.array()?,
                pid::VENDOR_ID => data.vendor = parameter.array()?,
                pid::BUILT_IN_ENDPOINTS => data.endpoints = parameter.u32()?,
                pid::LEASE => data.lease = parameter.duration()?,
                pid::DOMAIN_ID => data.domain = Some(parameter.u32()?),
                pid::DOMAIN_TAG => data.domain_tag = parameter.string()?.into(),
                pid::METATRAFFIC_UNICAST_LOCATOR => put(&mut data.metatraffic_unicast, parameter)?,
                pid::METATRAFFIC_MULTICAST_LOCATOR => {
                    put(&mut data.metatraffic_multicast, parameter)?;
                }
                pid::DEFAULT_UNICAST_LOCATOR => put(&mut data.default_unicast, parameter)?,
                pid::DEFAULT_MULTICAST_LOCATOR => put(&mut data.default_multicast, parameter)?,
                pid::EXPECTS_INLINE_QOS => data.expects_inline_qos = parameter.is_true()?,
                pid::ENTITY_NAME => data.name = parameter.string()?.into(),
                pid::USER_DATA => data.user_data = user_data(parameter)?.into(),
                // Another vendor may use this id for anything.
                pid::INTERESTS => interests = Some(Interests::decode(parameter)),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        let id = pid::PARTICIPANT_GUID;
        data.prefix = guid.ok_or(Malformed::Missing { id })?.prefix;
        let ours = interests.filter(|_| data.vendor == VENDOR);
        data.interests = ours.transpose()?;
        Ok(data)
    }
}

/// Adds a locator, unless its kind is unsupported or the limit is reached.
pub(super) fn put(locators: &mut Vec<Locator>, parameter: &Parameter<'_>) -> Result<(), Malformed> {
    if let Some(locator) = parameter.locator()?
        && locators.len() < LOCATORS_MAX
    {
        locators.push(locator);
    }
    Ok(())
}
