//! One-way delays to peers, for a detector of probe delay.
//!
//! Each peer has its own [`Prober`], with the [messages](super::message) of the meter: a reply
//! contains the time at which the request arrived, by the peer's clock. The delay is that time
//! minus the departure time by this host's clock. Its origin is unknown but the same for all
//! probes, so only differences are meaningful. A peer whose clock restarts appears nearer, never
//! farther away.
//!
//! An unanswered probe is an observation too: it was lost on its way. But a peer that has not
//! answered for ten times the loss timeout is absent, and losses to it say nothing about
//! congestion.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use rtether_model::quantity::{Duration, Instant};

use super::message::{Kind, Message, SIZE_MIN};
use super::prober::{Config, ConfigError, Event, Interval, Prober};

/// Largest number of peers.
pub const PATHS_MAX: usize = 8;
/// Number of probes per path that are remembered.
const REMEMBERED: usize = 4_096;
/// A peer is absent after this many loss timeouts.
const PATIENCE: i64 = 10;
/// A larger delay, some 26 days either way, cannot come from clocks with different start times; the
/// limit leaves room to subtract two delays.
const DELAY_MAX_PS: i64 = i64::MAX / 4;

/// How paths are probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathConfig {
    /// Interval between two probes on a path.
    pub every: Duration,
    /// Time after which a probe is lost.
    pub timeout: Duration,
}

/// Result of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Number of the path, from 0.
    pub path: u8,
    /// Its delay, from an unknown origin; `None` if it was lost.
    pub delay: Option<Duration>,
}

/// Kind of a received message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The answer to a probe, possibly a late one.
    Taken,
    /// An answer from another peer, for another run, or to a probe that was not sent.
    Forged,
    /// Not an answer, or one with impossible values.
    Malformed,
}

/// Counters of probes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathCounters {
    /// Probes handed out.
    pub sent: u64,
    /// Probes answered in time.
    pub answered: u64,
    /// Probes lost, including those to absent peers.
    pub lost: u64,
    /// Probes lost to absent peers.
    pub absent: u64,
}

#[derive(Clone, Debug)]
struct Path {
    prober: Prober,
    session: u32,
    /// Probes in flight with their departure times, oldest first.
    departures: VecDeque<(u32, Instant)>,
    heard_at: Option<Instant>,
}

/// Probes to all peers.
#[derive(Clone, Debug)]
pub struct Paths {
    config: PathConfig,
    peers: Vec<Path>,
    events: VecDeque<Observation>,
    counters: PathCounters,
}

fn prober(config: PathConfig, start: Instant) -> Result<Prober, ConfigError> {
    let config = Config {
        series: 1,
        samples: u32::MAX,
        interval: Interval::Fixed(config.every),
        pause: Duration::ZERO,
        timeout: config.timeout,
    };
    Prober::remembering(config, start, REMEMBERED)
}

impl Paths {
    /// Creates probes for `peers` peers, at most [`PATHS_MAX`], spread evenly over each interval.
    /// `session` must be hard to guess.
    ///
    /// # Errors
    /// If a time is not positive, or more probes would be in flight than are remembered.
    pub fn new(
        now: Instant,
        config: PathConfig,
        peers: usize,
        session: u32,
    ) -> Result<Self, ConfigError> {
        let peers = u8::try_from(peers.min(PATHS_MAX)).unwrap_or(0);
        let apart = Duration::from_ps(config.every.as_ps() / i64::from(peers.max(1)));
        let path = |number: u8| {
            Ok(Path {
                prober: prober(config, now + apart * i64::from(number))?,
                session: session.wrapping_add(u32::from(number)),
                departures: VecDeque::new(),
                heard_at: None,
            })
        };
        Ok(Self {
            config,
            peers: (0..peers).map(path).collect::<Result<_, _>>()?,
            events: VecDeque::new(),
            counters: PathCounters::default(),
        })
    }

    /// Returns the next due probe and its path; the payload must be sent unchanged.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<(u8, [u8; SIZE_MIN])> {
        let (number, path, request) = (0..).zip(&mut self.peers).find_map(|(number, path)| {
            let request = path.prober.poll_transmit(now)?;
            Some((number, path, request))
        })?;
        let mut payload = [0; SIZE_MIN];
        let message =
            Message { session: path.session, sequence: request.sequence, kind: Kind::Request };
        message.write(&mut payload);
        self.counters.sent += 1;
        Some((number, payload))
    }

    /// A frame leaves; if it holds one of the probes, its delay is measured from now on.
    pub fn handle_departure(&mut self, now: Instant, payload: &[u8]) {
        let Ok(message) = Message::parse(payload) else {
            return;
        };
        let mut paths = self.peers.iter_mut();
        let Some(path) = paths.find(|path| path.session == message.session) else {
            return;
        };
        if message.kind != Kind::Request {
            return;
        }
        let since = now - self.config.timeout * PATIENCE;
        while path.departures.len() == REMEMBERED
            || path.departures.front().is_some_and(|(_, at)| *at < since)
        {
            path.departures.pop_front();
        }
        path.departures.push_back((message.sequence, now));
    }

    /// Processes a message from a peer.
    pub fn handle_answer(&mut self, now: Instant, number: u8, payload: &[u8]) -> Outcome {
        let Some(path) = self.peers.get_mut(usize::from(number)) else {
            return Outcome::Forged;
        };
        let Ok(message) = Message::parse(payload) else {
            return Outcome::Malformed;
        };
        let Kind::Reply { received_at, .. } = message.kind else {
            return Outcome::Malformed;
        };
        if message.session != path.session {
            return Outcome::Forged;
        }
        let mut departures = path.departures.iter();
        let Some(index) = departures.position(|(sequence, _)| *sequence == message.sequence) else {
            return Outcome::Forged;
        };
        let departed_at = path.departures[index].1;
        let [there, here] = [received_at, departed_at].map(|at| at.since_start().as_ps());
        let delay =
            there.checked_sub(here).filter(|delay| (-DELAY_MAX_PS..=DELAY_MAX_PS).contains(delay));
        let Some(delay) = delay else {
            return Outcome::Malformed;
        };
        path.departures.remove(index);
        path.prober.handle_reply(now, message.sequence);
        path.heard_at = Some(now);
        self.drain(now, number, Some(Duration::from_ps(delay)));
        Outcome::Taken
    }

    /// Gives up probes that have timed out.
    pub fn handle_timeout(&mut self, now: Instant) {
        for number in 0..u8::try_from(self.peers.len()).unwrap_or(0) {
            let path = &mut self.peers[usize::from(number)];
            path.prober.handle_timeout(now);
            if path.prober.is_finished()
                && let Ok(next) = prober(self.config, now)
            {
                // All sequence numbers are used up. Answers to the last run do not belong to the
                // new one.
                let peers = u32::try_from(PATHS_MAX).unwrap_or(0);
                path.session = path.session.wrapping_add(peers);
                path.prober = next;
                path.departures.clear();
            }
            self.drain(now, number, None);
        }
    }

    /// Returns the next observation, oldest first; call it until `None` after each answer and each
    /// timeout.
    pub fn poll_event(&mut self) -> Option<Observation> {
        self.events.pop_front()
    }

    /// Returns when to call again at the latest: for the next probe or the next loss.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let times = self.peers.iter().map(|path| path.prober.poll_timeout());
        times.flatten().min()
    }

    /// Returns the counters.
    pub const fn counters(&self) -> PathCounters {
        self.counters
    }

    /// Turns the prober's events of a path into observations; `delay` is that of an answer.
    fn drain(&mut self, now: Instant, number: u8, delay: Option<Duration>) {
        let path = &mut self.peers[usize::from(number)];
        let patience = self.config.timeout * PATIENCE;
        while let Some(event) = path.prober.poll_event() {
            let observed = match event {
                Event::Sample(_) => {
                    self.counters.answered += 1;
                    delay
                }
                Event::Lost(_) => {
                    self.counters.lost += 1;
                    let is_there = path.heard_at.is_some_and(|at| now - at <= patience);
                    self.counters.absent += u64::from(!is_there);
                    if !is_there {
                        continue;
                    }
                    None
                }
                // The loss was reported before.
                Event::Late { .. } | Event::Duplicate(_) => continue,
            };
            self.events.push_back(Observation { path: number, delay: observed });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::answers::Answers;
    use super::*;
    use proptest::prelude::*;
    use rtether_model::quantity::BitRate;
    use std::vec::Vec;

    const CONFIG: PathConfig =
        PathConfig { every: Duration::from_ms(10), timeout: Duration::from_ms(100) };

    fn at(us: i64) -> Instant {
        Instant::ZERO + Duration::from_us(us)
    }

    fn paths(peers: usize) -> Paths {
        Paths::new(at(0), CONFIG, peers, 99).expect("a good configuration")
    }

    fn observed(paths: &mut Paths) -> Vec<(u8, Option<i64>)> {
        let us = |delay: Duration| delay.as_ns_floor() / 1_000;
        core::iter::from_fn(|| paths.poll_event())
            .map(|event| (event.path, event.delay.map(us)))
            .collect()
    }

    /// Sends due probes; the frames leave `queued` later.
    fn send(paths: &mut Paths, now: Instant, queued: Duration) -> Vec<(u8, [u8; SIZE_MIN])> {
        let sent: Vec<_> = core::iter::from_fn(|| paths.poll_transmit(now)).collect();
        for (_, payload) in &sent {
            paths.handle_departure(now + queued, payload);
        }
        sent
    }

    /// The answer of a peer whose clock is a second ahead, which received the probe at `there`.
    fn answered(payload: &[u8; SIZE_MIN], there: Instant) -> [u8; SIZE_MIN] {
        let mut payload = *payload;
        let there = there + Duration::from_secs(1);
        let mut side = Answers::new(there, BitRate::from_mbps(1_000));
        assert_eq!(side.answer(&mut payload, there, there), Ok(()));
        payload
    }

    /// Oracle: by hand. The first probe waits 3 ms before the line and takes 250 us; the peer's
    /// clock is a second ahead.
    #[test]
    fn delays_begin_on_the_line_and_end_with_the_peer() {
        let mut paths = paths(2);
        let first = send(&mut paths, at(0), Duration::from_ms(3));
        assert_eq!(first.len(), 1, "the second path begins half an interval later");
        let second = send(&mut paths, at(5_000), Duration::ZERO);
        assert_eq!((first[0].0, second[0].0), (0, 1));
        let answer = answered(&first[0].1, at(3_250));
        assert_eq!(paths.handle_answer(at(9_000), 0, &answer), Outcome::Taken);
        assert_eq!(observed(&mut paths), [(0, Some(1_000_250))]);
        let answer = answered(&second[0].1, at(5_700));
        // From another peer it is forged, and so is a second copy.
        assert_eq!(paths.handle_answer(at(9_000), 0, &answer), Outcome::Forged);
        assert_eq!(paths.handle_answer(at(9_000), 1, &answer), Outcome::Taken);
        assert_eq!(paths.handle_answer(at(9_000), 1, &answer), Outcome::Forged);
        assert_eq!(observed(&mut paths), [(1, Some(1_000_700))]);
        assert_eq!(paths.poll_timeout(), Some(at(10_000)));
        let counters = paths.counters();
        assert_eq!((counters.sent, counters.answered), (2, 2));
    }

    /// Oracle: by hand. A probe every 10 ms from 0 on; the one at 0 is answered, so that losses
    /// count for the next second.
    #[test]
    fn losses_count_until_a_peer_is_absent() {
        let mut paths = paths(1);
        let sent = send(&mut paths, at(0), Duration::ZERO);
        let answer = answered(&sent[0].1, at(300));
        assert_eq!(paths.handle_answer(at(500), 0, &answer), Outcome::Taken);
        assert_eq!(observed(&mut paths).len(), 1);
        let (mut counted, mut last) = (0, 0);
        for ms in 1..=3_000 {
            paths.handle_timeout(at(ms * 1_000));
            let losses = observed(&mut paths);
            assert!(losses.iter().all(|&(_, delay)| delay.is_none()));
            if !losses.is_empty() {
                (counted, last) = (counted + losses.len(), ms);
            }
            send(&mut paths, at(ms * 1_000), Duration::ZERO);
        }
        // Sent at 10, 20, .. 890 ms, lost 101 ms later.
        assert_eq!((counted, last), (89, 991));
        let PathCounters { sent, lost, absent, .. } = paths.counters();
        // Those sent at 10 to 2890 ms are lost.
        assert_eq!((sent, lost, absent), (301, 289, 200));
        // A peer that is back counts at once.
        let sent = send(&mut paths, at(3_010_000), Duration::ZERO);
        let answer = answered(&sent[0].1, at(3_010_100));
        assert_eq!(paths.handle_answer(at(3_010_200), 0, &answer), Outcome::Taken);
        assert_eq!(observed(&mut paths), [(0, Some(1_000_100))]);
    }

    #[test]
    fn what_makes_no_sense_is_told_apart() {
        let mut paths = paths(1);
        let sent = send(&mut paths, at(0), Duration::ZERO);
        let good = answered(&sent[0].1, at(300));
        let mut other_run = good;
        other_run[7] ^= 1;
        let mut other_probe = good;
        other_probe[11] ^= 1;
        let mut late = good;
        late[16] = 0x7F;
        let mut early = good;
        early[16] = 0x80;
        for (payload, expected) in [
            (&other_run[..], Outcome::Forged),
            (&other_probe[..], Outcome::Forged),
            (&late[..], Outcome::Malformed),
            (&early[..], Outcome::Malformed),
            (&sent[0].1[..], Outcome::Malformed),
            (&good[..SIZE_MIN - 1], Outcome::Malformed),
            (&good[..], Outcome::Taken),
        ] {
            assert_eq!(paths.handle_answer(at(400), 0, payload), expected);
        }
        assert_eq!(paths.handle_answer(at(400), 7, &good), Outcome::Forged);
        assert_eq!(observed(&mut paths).len(), 1);
    }

    proptest! {
        /// Oracle: no overflow, whatever values a peer that knows the session sends.
        #[test]
        fn no_answer_makes_it_panic(
            received: [u8; 8],
            sequence in 0..3_u8,
            noise: Vec<u8>,
        ) {
            let mut paths = paths(1);
            for ms in 0..30 {
                send(&mut paths, at(ms * 1_000), Duration::ZERO);
            }
            let mut payload = answered(&[
                0x72, 0x54, 1, 1, 0, 0, 0, 99, 0, 0, 0, sequence, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            ], at(0));
            payload[16..].copy_from_slice(&received);
            let outcome = paths.handle_answer(at(30_000), 0, &payload);
            prop_assert!(outcome != Outcome::Forged);
            paths.handle_answer(at(30_000), 0, &noise);
            paths.handle_departure(at(30_000), &noise);
        }
    }
}
