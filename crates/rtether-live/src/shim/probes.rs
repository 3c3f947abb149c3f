//! Probes between shims: frames that carry the messages of [`rtether_proto::probe::Paths`].
//!
//! Their `EtherType` is that of a hub's reports, 0x88B6, which is reserved for experiments; the
//! first two octets of the payload, 0x72 0x54, tell them apart. A probe has 64 octets without tag
//! and check sequence and its answer 60, so that an answer with a tag is no longer than a probe
//! without. Both are queued with bulk frames. Frames that are malformed or from an unexpected
//! sender are counted and dropped; frames for other stations are ignored.

use std::hash::{BuildHasher, RandomState};

use rtether_model::quantity::{Duration, Instant};
use rtether_model::wire;
use rtether_proto::probe::message::{Kind, Message};
use rtether_proto::probe::{Answers, Declined, Outcome, PathConfig, Paths};

use super::{ProbeStatus, Settings};
use crate::emulator::COLLISION_ETHERTYPE;
use crate::link::{ETHERTYPE_TAG, MacAddress, header};

/// Sizes of a probe and of an answer, without tag and check sequence, in octets.
const PROBE: usize = 64;
const ANSWER: usize = 60;
/// Offset of the payload in an untagged frame, and how much a tag adds.
const HEADER: usize = 14;
const TAG: usize = 4;

/// A probe counts as lost after this time or, on a slow link, after the time of this many frames of
/// maximum size.
const LOST_AFTER: Duration = Duration::from_ms(100);
const LOST_AFTER_FRAMES: i64 = 8;

/// Probes sent and answered by this shim.
#[derive(Debug)]
pub(super) struct Probes {
    own: MacAddress,
    peers: Vec<MacAddress>,
    pub(super) paths: Paths,
    answers: Answers,
    counters: ProbeStatus,
}

/// A message from another shim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PeerMessage<'a> {
    from: MacAddress,
    payload: &'a [u8],
}

/// Returns the payload of a frame that may be a probe or an answer.
fn payload(frame: &[u8]) -> Option<&[u8]> {
    let kind = |at: usize| Some(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?));
    let start = if kind(HEADER - 2)? == ETHERTYPE_TAG { HEADER + TAG } else { HEADER };
    (kind(start - 2)? == COLLISION_ETHERTYPE).then(|| &frame[start..])
}

/// Reads a frame addressed to this host.
fn read(frame: &[u8], own: MacAddress) -> Option<PeerMessage<'_>> {
    let &[to, from] = frame.as_chunks::<6>().0.first_chunk::<2>()?;
    let is_for_us = to == own.0 && from != own.0 && from[0] & 1 == 0;
    let payload = payload(frame).filter(|_| is_for_us)?;
    let from = MacAddress(from);
    Some(PeerMessage { from, payload })
}

fn write<const LENGTH: usize>(to: MacAddress, from: MacAddress, payload: &[u8]) -> [u8; LENGTH] {
    let mut octets = Vec::with_capacity(LENGTH);
    header(&mut octets, to, from, None, COLLISION_ETHERTYPE);
    octets.extend_from_slice(payload);
    octets.resize(LENGTH, 0);
    std::array::from_fn(|at| octets[at])
}

impl Probes {
    /// Returns `None` if the settings have no probes.
    pub(super) fn new(now: Instant, settings: &Settings, own: MacAddress) -> Option<Self> {
        let probing = settings.probes.as_ref()?;
        let longest = wire::occupancy(wire::MAX_FRAME, settings.rate) * LOST_AFTER_FRAMES;
        let config = PathConfig { every: probing.every, timeout: LOST_AFTER.max(longest) };
        // Unpredictable for stations that do not see the probes.
        let [.., a, b, c, d] = RandomState::new().hash_one(own.0).to_be_bytes();
        let session = u32::from_be_bytes([a, b, c, d]);
        // Cannot fail: both were checked before.
        let paths = Paths::new(now, config, probing.to.len(), session).ok()?;
        Some(Self {
            own,
            peers: probing.to.clone(),
            paths,
            answers: Answers::new(now, settings.rate),
            counters: ProbeStatus::default(),
        })
    }

    pub(super) fn status(&self) -> ProbeStatus {
        ProbeStatus { own: self.paths.counters(), ..self.counters }
    }

    /// A frame leaves; if it is one of our probes, its delay is measured from now on.
    pub(super) fn handle_departure(&mut self, now: Instant, frame: &[u8]) {
        if frame.len() <= PROBE + TAG
            && let Some(payload) = payload(frame)
        {
            self.paths.handle_departure(now, payload);
        }
    }

    /// Returns the next probe if one is due.
    pub(super) fn poll(&mut self, now: Instant) -> Option<[u8; PROBE]> {
        let (path, payload) = self.paths.poll_transmit(now)?;
        let to = *self.peers.get(usize::from(path))?;
        Some(write(to, self.own, &payload))
    }

    /// Processes a frame that arrived `age` ago, and returns the answer to send, if any.
    pub(super) fn take(
        &mut self,
        now: Instant,
        age: Duration,
        frame: &[u8],
    ) -> Option<[u8; ANSWER]> {
        let found = read(frame, self.own)?;
        let Ok(Message { kind, .. }) = Message::parse(found.payload) else {
            self.counters.malformed += 1;
            return None;
        };
        if kind == Kind::Request {
            return self.answer(now, now - age, frame.len(), found);
        }
        let mut peers = (0..).zip(&self.peers);
        let path = peers.find_map(|(path, peer)| (*peer == found.from).then_some(path));
        let outcome =
            path.map_or(Outcome::Forged, |path| self.paths.handle_answer(now, path, found.payload));
        match outcome {
            Outcome::Taken => {}
            Outcome::Forged => self.counters.forged += 1,
            Outcome::Malformed => self.counters.malformed += 1,
        }
        None
    }

    fn answer(
        &mut self,
        now: Instant,
        received_at: Instant,
        length: usize,
        found: PeerMessage<'_>,
    ) -> Option<[u8; ANSWER]> {
        // A shorter probe would be answered by a longer frame.
        if length < PROBE {
            self.counters.malformed += 1;
            return None;
        }
        let mut payload = [0; ANSWER - HEADER];
        let copied = found.payload.len().min(payload.len());
        payload[..copied].copy_from_slice(&found.payload[..copied]);
        match self.answers.answer(&mut payload, received_at, now) {
            Ok(()) => {
                self.counters.answers += 1;
                Some(write(found.from, self.own, &payload))
            }
            Err(Declined::TooMany) => {
                self.counters.declined += 1;
                None
            }
            Err(Declined::Malformed(_)) => {
                self.counters.malformed += 1;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rtether_model::endnode::Layer;
    use rtether_model::quantity::BitRate;

    use super::super::Probing;
    use super::*;

    const NEAR: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
    const FAR: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);

    fn at(us: i64) -> Instant {
        Instant::ZERO + Duration::from_us(us)
    }

    fn probes(own: MacAddress, to: &[MacAddress]) -> Probes {
        let probes = Some(Probing { to: to.to_vec(), every: Duration::from_ms(10) });
        let settings =
            Settings { probes, ..Settings::new(Layer::default(), BitRate::from_mbps(10)) };
        Probes::new(at(0), &settings, own).unwrap()
    }

    fn tagged(frame: &[u8]) -> Vec<u8> {
        [&frame[..12], &[0x81, 0, 0x20, 0], &frame[12..]].concat()
    }

    /// Oracle: by hand. The far clock is 40 s ahead; the probe leaves at 300 us, arrives at 550 us,
    /// and is read 90 us later.
    #[test]
    fn two_shims_find_the_delay_of_a_path() {
        let (mut near, mut far) = (probes(NEAR, &[FAR]), probes(FAR, &[]));
        let probe = near.poll(at(0)).unwrap();
        assert_eq!(near.poll(at(0)), None);
        assert_eq!(probe[..14], [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xB6]);
        near.handle_departure(at(300), &tagged(&probe));
        let there = at(40_000_550);
        let age = Duration::from_us(90);
        let answer = far.take(there + age, age, &probe).unwrap();
        assert!(answer.len() + TAG <= probe.len(), "never larger");
        assert_eq!(near.take(at(900), Duration::ZERO, &answer), None);
        let observed = near.paths.poll_event().unwrap();
        assert_eq!(observed.delay, Some(Duration::from_us(40_000_250)));
        let (near, far) = (near.status(), far.status());
        assert_eq!((near.own.sent, near.own.answered, far.answers), (1, 1, 1));
        assert_eq!(far.own.sent, 0);
    }

    #[test]
    fn forged_and_malformed_frames_are_counted_and_dropped() {
        let (mut near, mut far) = (probes(NEAR, &[FAR]), probes(FAR, &[]));
        let probe = near.poll(at(0)).unwrap();
        near.handle_departure(at(0), &probe);
        let answer = far.take(at(100), Duration::ZERO, &probe).unwrap();
        let with = |frame: &[u8], at: usize, octet: u8| {
            let mut frame = frame.to_vec();
            frame[at] = octet;
            frame
        };
        let zero = Duration::ZERO;
        // Frames for other stations or from group addresses are ignored.
        for (place, octet) in [(5, 9), (6, 3), (13, 0xB5)] {
            assert_eq!(far.take(at(0), zero, &with(&probe, place, octet)), None);
        }
        assert_eq!(far.status().malformed, 0);
        // Truncated, or not a message.
        for frame in [&probe[..63], &with(&probe, 14, 0), &with(&probe, 17, 9)] {
            assert_eq!(far.take(at(0), zero, frame), None);
        }
        assert_eq!((far.status().malformed, far.status().answers), (3, 1));
        // An answer from a peer we did not probe, or one with a foreign session.
        for frame in [with(&answer, 11, 7), with(&answer, 18, answer[18] ^ 1)] {
            assert_eq!(near.take(at(200), zero, &frame), None);
        }
        assert_eq!(near.status().forged, 2);
        near.take(at(200), zero, &answer);
        assert_eq!(near.status().own.answered, 1);
        near.take(at(200), zero, &answer);
        assert_eq!(near.status().forged, 3, "a second time");
        // A flood is answered at most 16 times, including the first answer above.
        let answered = (0..1_000).filter(|_| far.take(at(100), zero, &probe).is_some());
        assert_eq!(answered.count(), 15);
        assert_eq!(far.status().declined, 985);
        for length in 0..probe.len() {
            assert_eq!(far.take(at(0), zero, &probe[..length]), None);
        }
    }
}
