//! The topics of a participant, as it announces them for discovery on demand: an extension of this
//! implementation, in a parameter that all others ignore.
//!
//! A participant whose topics are known need not be told of endpoints that it cannot match, nor
//! has it anything to tell: two participants without a common topic exchange no announcements of
//! endpoints at all, nor heartbeats and acknowledgments for them. Topics are compared by hashes;
//! two that have the same cost an exchange too many, and no match.

use alloc::vec::Vec;

use super::list::List;
use crate::wire::{Malformed, Parameter, pid};

/// Maximum number of topics that are announced for each direction. A participant with more announces
/// none, and gets and sends everything, as those of other implementations.
pub const INTERESTS_MAX: usize = 64;

/// Hashes of topics, sorted and without duplicates.
type Hashes = Vec<u32>;

/// Topics of a participant, as hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interests {
    /// Those that it publishes.
    pub written: Hashes,
    /// Those to which it subscribes.
    pub read: Hashes,
}

/// Returns the hash of a topic (FNV-1a, 32 bits).
pub fn topic_hash(topic: &str) -> u32 {
    let step = |hash: u32, octet: &u8| (hash ^ u32::from(*octet)).wrapping_mul(0x0100_0193);
    topic.as_bytes().iter().fold(0x811C_9DC5, step)
}

impl Interests {
    /// Returns the interests in topics; `None` if they are too many.
    pub fn of<'a>(
        written: impl Iterator<Item = &'a str>,
        read: impl Iterator<Item = &'a str>,
    ) -> Option<Self> {
        Some(Self { written: hashes(written)?, read: hashes(read)? })
    }

    /// Returns whether one publishes what the other subscribes to.
    pub fn meet(&self, other: &Self) -> bool {
        share(&self.written, &other.read) || share(&self.read, &other.written)
    }

    pub(super) fn encode(&self, list: &mut List<'_>) {
        list.value(pid::INTERESTS, |value| {
            for hashes in [&self.written, &self.read] {
                value.count(hashes.len());
                for hash in hashes {
                    value.u32(*hash);
                }
            }
        });
    }

    pub(super) fn decode(parameter: &Parameter<'_>) -> Result<Self, Malformed> {
        let all = parameter.read(|cursor| {
            let mut all = [Hashes::new(), Hashes::new()];
            for hashes in &mut all {
                for _ in 0..cursor.count()?.min(INTERESTS_MAX + 1) {
                    hashes.push(cursor.u32()?);
                }
            }
            Ok(all)
        });
        let [written, read] = all?;
        let is_sorted = |hashes: &Hashes| hashes.is_sorted_by(|a, b| a < b);
        let is_valid = |hashes: &Hashes| hashes.len() <= INTERESTS_MAX && is_sorted(hashes);
        if !is_valid(&written) || !is_valid(&read) {
            return Err(parameter.malformed());
        }
        Ok(Self { written, read })
    }
}

fn hashes<'a>(topics: impl Iterator<Item = &'a str>) -> Option<Hashes> {
    let mut hashes: Hashes = topics.map(topic_hash).collect();
    hashes.sort_unstable();
    hashes.dedup();
    (hashes.len() <= INTERESTS_MAX).then_some(hashes)
}

fn share(some: &Hashes, others: &Hashes) -> bool {
    some.iter().any(|hash| others.binary_search(hash).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(written: &[&str], read: &[&str]) -> Interests {
        Interests::of(written.iter().copied(), read.iter().copied()).expect("few")
    }

    /// Oracle: the published test vectors of FNV-1a.
    #[test]
    fn topics_are_hashed_by_fnv_1a() {
        assert_eq!(topic_hash(""), 0x811C_9DC5);
        assert_eq!(topic_hash("a"), 0xE40C_292C);
        assert_eq!(topic_hash("foobar"), 0xBF9C_F968);
    }

    #[test]
    fn those_meet_of_whom_one_publishes_what_the_other_subscribes_to() {
        let (talker, listener) = (of(&["x", "y"], &[]), of(&[], &["z", "y"]));
        assert!(talker.meet(&listener) && listener.meet(&talker));
        assert!(!talker.meet(&talker) && !listener.meet(&listener));
        assert!(!of(&["x"], &["y"]).meet(&of(&["x"], &["y"])));
        assert!(of(&["x"], &["x"]).meet(&of(&["x"], &["x"])));
        assert!(!Interests::default().meet(&talker));
    }

    #[test]
    fn too_many_topics_are_no_interests() {
        let topics: Vec<alloc::string::String> =
            (0..=INTERESTS_MAX).map(|topic| alloc::format!("{topic}")).collect();
        let few = topics.iter().take(INTERESTS_MAX).map(|topic| &**topic);
        assert!(Interests::of(few, core::iter::empty()).is_some());
        let many = topics.iter().map(|topic| &**topic);
        assert_eq!(Interests::of(core::iter::empty(), many), None);
    }
}
