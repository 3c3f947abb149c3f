//! Whether a writer and a reader are compatible (DDS 1.4, 2.2.3).

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::{self, Display};

use crate::discovery::EndpointData;
use crate::qos::{AccessScope, DestinationOrder, LivelinessKind, Ownership, Qos, Representation};
use crate::time::Duration;

mod partition;

pub use partition::{is_match, is_pattern, partitions_match};

/// A policy for which the offer must satisfy the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Policy {
    /// What late-joining readers get.
    Durability,
    /// How samples are presented.
    Presentation,
    /// Longest time between samples.
    Deadline,
    /// How long a sample may wait.
    LatencyBudget,
    /// Whether only the strongest writer is taken.
    Ownership,
    /// How the liveliness of a writer is determined.
    Liveliness,
    /// Whether samples may be lost.
    Reliability,
    /// Time that orders samples.
    DestinationOrder,
    /// How samples are encoded.
    DataRepresentation,
}

impl Policy {
    /// Returns its policy id in the DDS standard; for encodings, in DDS-XTypes.
    pub const fn id(self) -> u32 {
        match self {
            Self::Durability => 2,
            Self::Presentation => 3,
            Self::Deadline => 4,
            Self::LatencyBudget => 5,
            Self::Ownership => 6,
            Self::Liveliness => 8,
            Self::Reliability => 11,
            Self::DestinationOrder => 12,
            Self::DataRepresentation => 23,
        }
    }

    /// Returns its human-readable name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Durability => "durability",
            Self::Presentation => "presentation",
            Self::Deadline => "deadline",
            Self::LatencyBudget => "latency budget",
            Self::Ownership => "ownership",
            Self::Liveliness => "liveliness",
            Self::Reliability => "reliability",
            Self::DestinationOrder => "destination order",
            Self::DataRepresentation => "data representation",
        }
    }
}

/// Why a writer and a reader do not match.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {offered} is offered, {requested} is requested", policy.name())]
pub struct Mismatch {
    /// The incompatible policy.
    pub policy: Policy,
    /// Value that the writer offers.
    pub offered: String,
    /// Value that the reader requests.
    pub requested: String,
}

/// Returns all reasons why the policies of a writer and a reader do not match. In RTPS 1.0 only the
/// reliability counts: a persistence, for example, may be longer than a deadline.
pub fn mismatches_between(writer: &EndpointData, reader: &EndpointData) -> Vec<Mismatch> {
    let mut found = mismatches(&writer.qos, &reader.qos);
    if writer.guid.prefix.is_v1() {
        found.retain(|one| one.policy == Policy::Reliability);
    }
    found
}

/// Returns all reasons why an offer and a request do not match.
pub fn mismatches(offered: &Qos, requested: &Qos) -> Vec<Mismatch> {
    let mut found = Vec::new();
    let mut check = |policy, is_met: bool, [offered, requested]: [&dyn Display; 2]| {
        if !is_met {
            found.push(Mismatch {
                policy,
                offered: offered.to_string(),
                requested: requested.to_string(),
            });
        }
    };
    let (o, r) = (offered, requested);
    check(
        Policy::Durability,
        o.durability >= r.durability,
        [&o.durability.name(), &r.durability.name()],
    );
    check(Policy::Presentation, is_presented(o, r), [&Presented(o), &Presented(r)]);
    check(Policy::Deadline, o.deadline <= r.deadline, [&Span(o.deadline), &Span(r.deadline)]);
    check(
        Policy::LatencyBudget,
        o.latency_budget <= r.latency_budget,
        [&Span(o.latency_budget), &Span(r.latency_budget)],
    );
    check(
        Policy::Ownership,
        o.ownership == r.ownership,
        [&ownership(o.ownership), &ownership(r.ownership)],
    );
    check(
        Policy::Liveliness,
        o.liveliness.kind >= r.liveliness.kind && o.liveliness.lease <= r.liveliness.lease,
        [&Alive(o), &Alive(r)],
    );
    check(
        Policy::Reliability,
        o.reliability >= r.reliability,
        [&o.reliability.name(), &r.reliability.name()],
    );
    check(
        Policy::DestinationOrder,
        o.destination_order >= r.destination_order,
        [&order(o.destination_order), &order(r.destination_order)],
    );
    let used = o.representations.first().copied().unwrap_or_default();
    let taken = match r.representations.as_slice() {
        [] => &[Representation::Xcdr1][..],
        some => some,
    };
    check(
        Policy::DataRepresentation,
        taken.contains(&used),
        [&Encodings(&[used]), &Encodings(taken)],
    );
    found
}

fn is_presented(offered: &Qos, requested: &Qos) -> bool {
    let (offered, requested) = (offered.presentation, requested.presentation);
    offered.scope >= requested.scope
        && offered.is_coherent >= requested.is_coherent
        && offered.is_ordered >= requested.is_ordered
}

const fn ownership(ownership: Ownership) -> &'static str {
    match ownership {
        Ownership::Shared => "shared",
        Ownership::Exclusive => "exclusive",
    }
}

const fn order(order: DestinationOrder) -> &'static str {
    match order {
        DestinationOrder::ByReception => "by reception",
        DestinationOrder::BySource => "by source",
    }
}

/// A duration, displayed in the largest unit without a fraction.
struct Span(Duration);

impl Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0.as_ns();
        let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
        if self.0.is_infinite() {
            return f.write_str("infinite");
        }
        match units.iter().find(|(unit, _)| ns % unit == 0) {
            Some((unit, name)) => write!(f, "{} {name}", ns / unit),
            None => write!(f, "{ns} ns"),
        }
    }
}

struct Alive<'a>(&'a Qos);

impl Display for Alive<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.0.liveliness.kind {
            LivelinessKind::Automatic => "automatic",
            LivelinessKind::ManualByParticipant => "manual by participant",
            LivelinessKind::ManualByTopic => "manual by topic",
        };
        write!(f, "{kind} with a lease of {}", Span(self.0.liveliness.lease))
    }
}

struct Presented<'a>(&'a Qos);

impl Display for Presented<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let presentation = self.0.presentation;
        f.write_str(match presentation.scope {
            AccessScope::Instance => "scope instance",
            AccessScope::Topic => "scope topic",
            AccessScope::Group => "scope group",
        })?;
        if presentation.is_coherent {
            f.write_str(" with coherent access")?;
        }
        if presentation.is_ordered {
            f.write_str(" with ordered access")?;
        }
        Ok(())
    }
}

struct Encodings<'a>(&'a [Representation]);

impl Display for Encodings<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, representation) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(" or ")?;
            }
            f.write_str(match representation {
                Representation::Xcdr1 => "XCDR1",
                Representation::Xml => "XML",
                Representation::Xcdr2 => "XCDR2",
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
