//! Policies common to publications and subscriptions.

use rtether_rtps::cdr::Encoding;
use rtether_rtps::qos::{Durability, History, Ownership, Qos, Reliability, Representation};

use super::memory::choice;
use super::status::Failure;

/// Version of RTPS. Participants of different versions do not hear each other.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum ProtocolVersion {
    /// 2.5, the protocol of DDS.
    Rtps2_5 = 0,
    /// 1.0, as of ORTE. Each host needs a manager: `rtether manager`, or that of ORTE.
    Rtps1_0 = 1,
}

/// Whose endpoints a domain exchanges. The matches are the same.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum DiscoveryKind {
    /// Those of all participants.
    All = 0,
    /// Those of participants that share a topic, or do not announce their topics: for many
    /// participants with few topics in common.
    OnDemand = 1,
}

/// Whether samples may be lost (DDS 1.4, 2.2.3.14).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum ReliabilityKind {
    /// They may be lost.
    BestEffort = 0,
    /// Lost samples are sent again.
    StrictReliable = 1,
}

/// Which earlier samples a late-joining subscription gets (DDS 1.4, 2.2.3.4).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum DurabilityKind {
    /// None.
    Volatile = 0,
    /// Those in the history of the publication.
    TransientLocal = 1,
}

/// Whether several publications may write one instance (DDS 1.4, 2.2.3.9). Both sides must have the
/// same value.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum OwnershipKind {
    /// They may; strength is ignored.
    Shared = 0,
    /// The strongest one is taken, for as long as its persistence lasts.
    Exclusive = 1,
}

/// Serialization rules (DDS-XTypes 1.3, 7.4).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum EncodingKind {
    /// Alignment up to 8 octets.
    Xcdr1 = 0,
    /// Alignment up to 4 octets, and lengths before values that may grow.
    Xcdr2 = 1,
}

/// Returns the policies common to publications and subscriptions.
pub(super) fn shared_qos(
    qos: &mut Qos,
    reliability: i32,
    durability: i32,
    ownership: i32,
    depth: u32,
) -> Result<(), Failure> {
    let all = [
        (ReliabilityKind::BestEffort as i32, Reliability::BestEffort),
        (ReliabilityKind::StrictReliable as i32, Reliability::Reliable),
    ];
    qos.reliability = choice(reliability, "reliability", &all)?;
    let all = [
        (DurabilityKind::Volatile as i32, Durability::Volatile),
        (DurabilityKind::TransientLocal as i32, Durability::TransientLocal),
    ];
    qos.durability = choice(durability, "durability", &all)?;
    let all = [
        (OwnershipKind::Shared as i32, Ownership::Shared),
        (OwnershipKind::Exclusive as i32, Ownership::Exclusive),
    ];
    qos.ownership = choice(ownership, "ownership", &all)?;
    qos.history = match depth {
        0 => History::KeepAll,
        depth => History::KeepLast(depth),
    };
    Ok(())
}

/// Checks that RTPS 1.0 has these policies.
pub(super) fn check_v1(qos: &Qos) -> Result<(), Failure> {
    let lacking = [
        (
            qos.durability != Durability::Volatile,
            "`durability` other than volatile: late subscriptions get no earlier samples",
        ),
        (!qos.lifespan.is_infinite(), "`lifespan_ns`"),
        (!qos.partitions.is_empty(), "`partitions`"),
        (!qos.representations.contains(&Representation::Xcdr1), "`encoding` other than XCDR1"),
    ];
    let lacks = lacking.iter().find(|(is_wanted, _)| *is_wanted);
    lacks.map_or(Ok(()), |(_, what)| Err(Failure::argument(format!("RTPS 1.0 has no {what}"))))
}

/// Returns the encoding with this number.
pub(super) fn encoding(number: i32) -> Result<Encoding, Failure> {
    let all = [
        (EncodingKind::Xcdr1 as i32, Encoding::Xcdr1),
        (EncodingKind::Xcdr2 as i32, Encoding::Xcdr2),
    ];
    choice(number, "encoding", &all)
}
