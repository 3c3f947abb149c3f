//! Policies as parameters (9.6.3).

use alloc::string::String;
use alloc::vec::Vec;

use super::list::List;
use super::{PARTITIONS_MAX, user_data};
use crate::qos::{
    AccessScope, DestinationOrder, Durability, History, Liveliness, LivelinessKind, Ownership,
    Presentation, Qos, Reliability, Representation, ResourceLimits,
};
use crate::wire::{Cursor, Malformed, Parameter, duration, pid, string};

/// Values of a policy in the order of their wire values, from zero.
const DURABILITY: [Durability; 4] = [
    Durability::Volatile,
    Durability::TransientLocal,
    Durability::Transient,
    Durability::Persistent,
];
const LIVELINESS: [LivelinessKind; 3] =
    [LivelinessKind::Automatic, LivelinessKind::ManualByParticipant, LivelinessKind::ManualByTopic];
const OWNERSHIP: [Ownership; 2] = [Ownership::Shared, Ownership::Exclusive];
const DESTINATION_ORDER: [DestinationOrder; 2] =
    [DestinationOrder::ByReception, DestinationOrder::BySource];
const SCOPE: [AccessScope; 3] = [AccessScope::Instance, AccessScope::Topic, AccessScope::Group];
const REPRESENTATION: [Representation; 3] =
    [Representation::Xcdr1, Representation::Xml, Representation::Xcdr2];
/// Wire values start at one.
const RELIABILITY: [Reliability; 2] = [Reliability::BestEffort, Reliability::Reliable];
const KEEP_LAST: u32 = 0;
const KEEP_ALL: u32 = 1;
/// Maximum number of encodings in a list.
const REPRESENTATIONS_MAX: usize = 16;

/// Reads a policy; returns whether the parameter is one.
pub(super) fn read(
    qos: &mut Qos,
    id: u16,
    parameter: &Parameter<'_>,
    is_writer: bool,
) -> Result<bool, Malformed> {
    match id {
        pid::RELIABILITY => {
            (qos.reliability, qos.max_blocking) = parameter.read(|cursor| {
                let kind = one_of(&RELIABILITY, cursor, 1)?;
                Ok((kind, duration(cursor)?))
            })?;
        }
        pid::DURABILITY => qos.durability = parameter.read(|c| one_of(&DURABILITY, c, 0))?,
        pid::HISTORY => qos.history = parameter.read(history)?,
        pid::DEADLINE => qos.deadline = parameter.duration()?,
        pid::LATENCY_BUDGET => qos.latency_budget = parameter.duration()?,
        pid::LIVELINESS => {
            qos.liveliness = parameter.read(|cursor| {
                Ok(Liveliness { kind: one_of(&LIVELINESS, cursor, 0)?, lease: duration(cursor)? })
            })?;
        }
        pid::OWNERSHIP => qos.ownership = parameter.read(|c| one_of(&OWNERSHIP, c, 0))?,
        pid::OWNERSHIP_STRENGTH => qos.strength = parameter.i32()?,
        pid::DESTINATION_ORDER => {
            qos.destination_order = parameter.read(|c| one_of(&DESTINATION_ORDER, c, 0))?;
        }
        pid::PRESENTATION => qos.presentation = parameter.read(presentation)?,
        pid::TIME_BASED_FILTER => qos.time_based_filter = parameter.duration()?,
        pid::LIFESPAN => qos.lifespan = parameter.duration()?,
        pid::PARTITION => qos.partitions = parameter.read(|c| strings(c, PARTITIONS_MAX))?,
        pid::DATA_REPRESENTATION => representations(qos, parameter, is_writer)?,
        pid::RESOURCE_LIMITS => qos.limits = parameter.read(limits)?,
        pid::TRANSPORT_PRIORITY => qos.transport_priority = parameter.i32()?,
        pid::USER_DATA => qos.user_data = user_data(parameter)?.into(),
        _ => return Ok(false),
    }
    Ok(true)
}

fn one_of<T: Copy>(values: &[T], cursor: &mut Cursor<'_>, first: u32) -> Result<T, Malformed> {
    let error = Malformed::Value { offset: cursor.at() };
    let index = cursor.u32()?.checked_sub(first);
    let index = index.and_then(|index| usize::try_from(index).ok());
    let value = index.and_then(|index| values.get(index));
    value.copied().ok_or(error)
}

/// Some implementations write a depth below one for no particular depth; nothing here depends on
/// it.
fn history(cursor: &mut Cursor<'_>) -> Result<History, Malformed> {
    let offset = cursor.at();
    let (kind, depth) = (cursor.u32()?, cursor.i32()?);
    match kind {
        KEEP_LAST => Ok(History::KeepLast(u32::try_from(depth).unwrap_or(1).max(1))),
        KEEP_ALL => Ok(History::KeepAll),
        _ => Err(Malformed::Value { offset }),
    }
}

fn presentation(cursor: &mut Cursor<'_>) -> Result<Presentation, Malformed> {
    let scope = one_of(&SCOPE, cursor, 0)?;
    let offset = cursor.at();
    let [coherent, ordered] = cursor.array()?;
    if coherent > 1 || ordered > 1 {
        return Err(Malformed::Value { offset });
    }
    Ok(Presentation { scope, is_coherent: coherent == 1, is_ordered: ordered == 1 })
}

fn limits(cursor: &mut Cursor<'_>) -> Result<ResourceLimits, Malformed> {
    Ok(ResourceLimits {
        samples: u32::try_from(cursor.i32()?).ok(),
        instances: u32::try_from(cursor.i32()?).ok(),
        samples_per_instance: u32::try_from(cursor.i32()?).ok(),
    })
}

/// Skips unknown encodings, which later versions may add. Rejects a writer's list with an unknown first
/// entry, the one it uses, and a list without a known entry, since an empty list means XCDR1.
fn representations(
    qos: &mut Qos,
    parameter: &Parameter<'_>,
    is_writer: bool,
) -> Result<(), Malformed> {
    qos.representations.clear();
    parameter.read(|cursor| {
        let error = Malformed::Value { offset: cursor.at() };
        let count = cursor.count()?;
        if count > REPRESENTATIONS_MAX {
            return Err(error);
        }
        for index in 0..count {
            match REPRESENTATION.get(usize::from(cursor.u16()?)) {
                Some(known) => qos.representations.push(*known),
                None if index == 0 && is_writer => return Err(error),
                None => {}
            }
        }
        if count > 0 && qos.representations.is_empty() {
            return Err(error);
        }
        Ok(())
    })
}

/// Writes policies that differ from their defaults, and those which peers always expect. History
/// and memory limits are local and not announced.
pub(super) fn write(list: &mut List<'_>, qos: &Qos, is_writer: bool) {
    let default = Qos::reader();
    list.value(pid::RELIABILITY, |value| {
        value.u32(place(&RELIABILITY, qos.reliability) + 1);
        value.duration(qos.max_blocking);
    });
    list.value(pid::DATA_REPRESENTATION, |value| {
        let usual = [Representation::default()];
        let some = match qos.representations.as_slice() {
            [] => &usual,
            some => some.get(..REPRESENTATIONS_MAX).unwrap_or(some),
        };
        value.count(some.len());
        for representation in some {
            value.i16(i16::try_from(place(&REPRESENTATION, *representation)).unwrap_or(0));
        }
    });
    if qos.durability != default.durability {
        list.u32(pid::DURABILITY, place(&DURABILITY, qos.durability));
    }
    if qos.deadline != default.deadline {
        list.duration(pid::DEADLINE, qos.deadline);
    }
    if qos.latency_budget != default.latency_budget {
        list.duration(pid::LATENCY_BUDGET, qos.latency_budget);
    }
    if qos.liveliness != default.liveliness {
        list.value(pid::LIVELINESS, |value| {
            value.u32(place(&LIVELINESS, qos.liveliness.kind));
            value.duration(qos.liveliness.lease);
        });
    }
    if qos.ownership != default.ownership {
        list.u32(pid::OWNERSHIP, place(&OWNERSHIP, qos.ownership));
    }
    if qos.destination_order != default.destination_order {
        let order = place(&DESTINATION_ORDER, qos.destination_order);
        list.u32(pid::DESTINATION_ORDER, order);
    }
    if qos.presentation != default.presentation {
        list.value(pid::PRESENTATION, |value| {
            value.u32(place(&SCOPE, qos.presentation.scope));
            value.octets(&[
                u8::from(qos.presentation.is_coherent),
                u8::from(qos.presentation.is_ordered),
            ]);
        });
    }
    if !qos.partitions.is_empty() {
        list.value(pid::PARTITION, |value| {
            value.strings(&qos.partitions, PARTITIONS_MAX);
        });
    }
    list.user_data(&qos.user_data);
    if is_writer {
        write_of_writer(list, qos, &default);
    } else if qos.time_based_filter != default.time_based_filter {
        list.duration(pid::TIME_BASED_FILTER, qos.time_based_filter);
    }
}

fn write_of_writer(list: &mut List<'_>, qos: &Qos, default: &Qos) {
    if qos.strength != default.strength {
        list.i32(pid::OWNERSHIP_STRENGTH, qos.strength);
    }
    if qos.lifespan != default.lifespan {
        list.duration(pid::LIFESPAN, qos.lifespan);
    }
    if qos.transport_priority != default.transport_priority {
        list.i32(pid::TRANSPORT_PRIORITY, qos.transport_priority);
    }
}

/// Returns the index of a value in its table.
fn place<T: Copy + PartialEq>(values: &[T], value: T) -> u32 {
    let index = values.iter().position(|other| *other == value);
    index.and_then(|index| u32::try_from(index).ok()).unwrap_or(0)
}

/// Reads at most `max` strings.
pub(super) fn strings(cursor: &mut Cursor<'_>, max: usize) -> Result<Vec<String>, Malformed> {
    let error = Malformed::Value { offset: cursor.at() };
    let count = cursor.count()?;
    if count > max {
        return Err(error);
    }
    (0..count).map(|_| string(cursor).map(String::from)).collect()
}
