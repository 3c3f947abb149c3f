//! Costs that are not known.

use super::{Kind, Required, Section, key};

/// A cost, or one that is not known.
pub(super) const COST: Kind = Kind::Any(&[Kind::Cost, Kind::One(&UNKNOWN)]);

pub(crate) static UNKNOWN: Section = Section {
    name: "unknown",
    noun: "a cost that is not known",
    description: "A cost of which only two ends are known, `{ unknown: 20 us .. 200 us }`. It is one constant of each node that has it: drawn once in a run, from the seed, the node and the key, with equal probability of all values; bounds hold for every value. A stack that several nodes share is drawn for each of them. Not for a time per octet.",
    keys: &[key(
        "unknown",
        Kind::TimeRange,
        Required,
        "20 us .. 200 us",
        "The least and the most that it can be.",
    )],
};
