//! Announcements of participants and endpoints (8.5, 9.6.3): parameter lists, the payload of
//! samples of the built-in endpoints.
//!
//! A missing parameter has the standard's default. An unknown one is ignored unless it must be
//! understood; ids from 0x8000 are vendor-specific, and ignored except for our own.

use alloc::vec::Vec;

use crate::guid::{EntityId, Guid};
use crate::wire::{
    Cursor, Malformed, Parameter, ParameterList, is_must_understand, is_vendor, pid, without_flags,
};

mod endpoint;
mod interests;
mod list;
mod participant;
mod policies;
#[cfg(test)]
mod tests;
pub mod v1;

use list::List;

pub use endpoint::{ContentFilter, EndpointData};
pub use interests::{INTERESTS_MAX, Interests, topic_hash};
pub use participant::ParticipantData;

/// Maximum number of locators of each kind; others are ignored.
pub const LOCATORS_MAX: usize = 8;
/// Maximum number of partition names or patterns.
pub const PARTITIONS_MAX: usize = 32;
/// Maximum size of user data, in octets.
pub const USER_DATA_MAX: usize = 1_024;
/// Maximum size of a filter expression with its NUL, in octets; for its parameters and names it is
/// [`crate::wire::STRING_SIZE_MAX`].
pub const FILTER_SIZE_MAX: usize = crate::filter::TEXT_MAX + 1;
/// Maximum number of filter parameters.
pub const FILTER_PARAMETERS_MAX: usize = 16;

const PL_CDR_BE: u16 = 0x0002;
const PL_CDR_LE: u16 = 0x0003;

/// Encapsulation header: encoding, and options, which are ignored.
const ENCAPSULATION_LE: [u8; 4] = [0, 3, 0, 0];

/// Appends the payload of a sample without data, which consists of the GUID concerned.
pub fn encode_key(guid: Guid, out: &mut Vec<u8>) {
    let is_participant = guid.entity == EntityId::PARTICIPANT;
    let id = if is_participant { pid::PARTICIPANT_GUID } else { pid::ENDPOINT_GUID };
    let mut list = List::new(out);
    list.guid(id, guid);
    list.end();
}

/// Reads the GUID of a participant or endpoint that is gone from a sample without data.
///
/// Some implementations send no payload, only the key hash, which is the sixteen octets of the
/// GUID.
pub fn decode_key(payload: &[u8]) -> Result<Guid, Malformed> {
    let (mut participant, mut endpoint) = (None, None);
    each(payload, |id, parameter| {
        match id {
            pid::PARTICIPANT_GUID => participant = Some(parameter.guid()?),
            pid::ENDPOINT_GUID | pid::KEY_HASH => endpoint = Some(parameter.guid()?),
            // Other parameters are not used, so none has to be understood.
            _ => {}
        }
        Ok(true)
    })?;
    endpoint.or(participant).ok_or(Malformed::Missing { id: pid::ENDPOINT_GUID })
}

/// Passes each parameter of a payload to `read` with its id without flags; `read` returns whether
/// it knows the parameter.
fn each<'a>(
    payload: &'a [u8],
    mut read: impl FnMut(u16, &Parameter<'a>) -> Result<bool, Malformed>,
) -> Result<(), Malformed> {
    let mut head = Cursor::new(payload, 0, false);
    let encapsulation = head.u16()?;
    let _options = head.u16()?;
    let is_little_endian = match encapsulation {
        PL_CDR_LE => true,
        PL_CDR_BE => false,
        id => return Err(Malformed::Encapsulation { id }),
    };
    let mut cursor = Cursor::new(payload, head.at(), is_little_endian);
    for parameter in ParameterList::parse(&mut cursor)? {
        let parameter = parameter?;
        let id = parameter.id;
        let known = if is_vendor(id) { id } else { without_flags(id) };
        if !read(known, &parameter)? && is_must_understand(id) {
            return Err(Malformed::NotUnderstood { id });
        }
    }
    Ok(())
}

/// Reads the GUID of a participant; other GUIDs are errors.
fn participant_guid(parameter: &Parameter<'_>) -> Result<Guid, Malformed> {
    let guid = parameter.guid()?;
    if guid.entity != EntityId::PARTICIPANT {
        return Err(parameter.malformed());
    }
    Ok(guid)
}

/// Reads user data within their limit.
fn user_data<'a>(parameter: &Parameter<'a>) -> Result<&'a [u8], Malformed> {
    let octets = parameter.octets()?;
    if octets.len() > USER_DATA_MAX {
        return Err(parameter.malformed());
    }
    Ok(octets)
}
