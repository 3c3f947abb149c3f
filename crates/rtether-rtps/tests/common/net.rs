//! A network in virtual time: hosts with participants, and datagrams that are lost, duplicated,
//! delayed or truncated.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::net::Ipv4Addr;

use rtether_rtps::engine::{Config, Participant};
use rtether_rtps::guid::GuidPrefix;
use rtether_rtps::locator::{DISCOVERY_GROUP, Locator, Origin, Ports};
use rtether_rtps::time::{Duration, Instant};
use rtether_rtps::wire::VENDOR;

/// Random numbers from a seed (`SplitMix64`).
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// Returns true with a probability of `of_thousand` in a thousand.
    pub(crate) fn chance(&mut self, of_thousand: u64) -> bool {
        self.below(1_000) < of_thousand
    }
}

/// Faults of the network, per thousand datagrams.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    pub(crate) loss: u64,
    pub(crate) duplication: u64,
    pub(crate) corruption: u64,
    /// Delay varies from 20 us to this much more; datagrams may overtake each other.
    pub(crate) jitter_us: u64,
    /// Datagrams delayed by another millisecond, and overtaken.
    pub(crate) disorder: u64,
}

/// A host.
pub(crate) struct Host {
    pub(crate) participant: Participant,
    /// Clock drift in parts per million.
    drift: i64,
    offset: i64,
}

impl Host {
    /// Returns the reading of its clock.
    pub(crate) fn clock(&self, at: i64) -> Instant {
        Instant::from_ns(self.offset + at + at / 1_000_000 * self.drift)
    }

    /// Returns when its clock will read `at`.
    fn when(&self, at: Instant, now: i64) -> i64 {
        let left = (at - self.clock(now)).as_ns();
        // Rounded up, so that the timer is due when it is called.
        now + left.max(0) + left.max(0) / 1_000 + 1
    }
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Flight {
    at: i64,
    number: u64,
    from: usize,
    to: usize,
    octets: Vec<u8>,
}

pub(crate) struct Net {
    pub(crate) now: i64,
    pub(crate) hosts: Vec<Option<Host>>,
    pub(crate) faults: Faults,
    pub(crate) random: Random,
    /// Pairs of hosts that are cut off from each other.
    pub(crate) cut: BTreeSet<(usize, usize)>,
    /// Hosts, and others that no longer hear them.
    pub(crate) muted: BTreeSet<(usize, usize)>,
    /// Where each host listens: its address, and the port if it shares the address with others.
    pub(crate) places: Vec<(Ipv4Addr, Option<u16>)>,
    flights: BinaryHeap<Reverse<Flight>>,
    /// When each host is due next, as of its last run.
    due: BTreeSet<(i64, usize)>,
    due_of: Vec<i64>,
    /// Host of the last event: the test may have changed its timers since.
    touched: Option<usize>,
    number: u64,
    pub(crate) lives: u32,
    pub(crate) sent: u64,
    pub(crate) octets: u64,
    /// Octets that hosts have sent; those to a group count once, not for each that gets them.
    pub(crate) octets_sent: u64,
    /// Octets of frames on the wire from one host to another, of whatever size up to one frame.
    pub(crate) wire: BTreeMap<(usize, usize), usize>,
    /// Datagrams by host and transport priority.
    pub(crate) priorities: BTreeMap<(usize, i32), u64>,
    buffer: Vec<u8>,
}

pub(crate) fn address(host: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 1, u8::try_from(host + 1).unwrap())
}

impl Net {
    pub(crate) fn new(hosts: usize, seed: u64, faults: Faults) -> Self {
        Self {
            now: 0,
            hosts: (0..hosts).map(|_| None).collect(),
            faults,
            random: Random(seed),
            cut: BTreeSet::new(),
            muted: BTreeSet::new(),
            places: (0..hosts).map(|host| (address(host), None)).collect(),
            flights: BinaryHeap::new(),
            due: BTreeSet::new(),
            due_of: vec![i64::MAX; hosts],
            touched: None,
            number: 0,
            lives: 0,
            sent: 0,
            octets: 0,
            octets_sent: 0,
            wire: BTreeMap::new(),
            priorities: BTreeMap::new(),
            buffer: Vec::new(),
        }
    }

    /// Starts a participant on a host, with a fresh prefix.
    pub(crate) fn start(&mut self, host: usize, adapt: impl FnOnce(&mut Config)) {
        self.start_with(host, adapt, |_, _| {});
    }

    /// As [`Self::start`], with endpoints that are there before the first announcement.
    pub(crate) fn start_with(
        &mut self,
        host: usize,
        adapt: impl FnOnce(&mut Config),
        create: impl FnOnce(&mut Participant, Instant),
    ) {
        self.lives += 1;
        let mut prefix = [0; 12];
        prefix[..2].copy_from_slice(&VENDOR);
        prefix[2] = u8::try_from(host).unwrap();
        prefix[8..].copy_from_slice(&self.lives.to_be_bytes());
        let mut config = Config::new(GuidPrefix(prefix), 0, [prefix[11]; 16]);
        let ports = Ports::new(0).unwrap();
        let port = ports.discovery_unicast(0).unwrap();
        config.metatraffic_unicast = vec![Locator::udp(address(host), port)];
        config.default_unicast.clone_from(&config.metatraffic_unicast);
        let group = Locator::udp(DISCOVERY_GROUP, ports.discovery_multicast());
        config.announce_to = vec![group];
        config.networks = vec![(Ipv4Addr::new(10, 0, 1, 0), 24)];
        config.lease = Duration::from_ms(1_000);
        config.announce_period = Duration::from_ms(200);
        adapt(&mut config);
        let drift = i64::try_from(self.random.below(200)).unwrap() - 100;
        let offset = i64::try_from(self.random.below(1 << 40)).unwrap();
        let start = Instant::from_ns(offset + self.now + self.now / 1_000_000 * drift);
        let mut participant = Participant::new(config, start);
        create(&mut participant, start);
        self.hosts[host] = Some(Host { participant, drift, offset });
        self.run(host);
    }

    /// Returns the reading of a host's clock, and its participant.
    pub(crate) fn at(&mut self, host: usize) -> (Instant, &mut Participant) {
        let now = self.now;
        let one = self.hosts[host].as_mut().unwrap();
        (one.clock(now), &mut one.participant)
    }

    /// Removes a host without a good-bye.
    pub(crate) fn crash(&mut self, host: usize) {
        self.hosts[host] = None;
        self.plan(host);
    }

    fn plan(&mut self, host: usize) {
        self.due.remove(&(self.due_of[host], host));
        self.due_of[host] = i64::MAX;
        if let Some(one) = &self.hosts[host] {
            let at = one.when(one.participant.poll_timeout(), self.now);
            self.due.insert((at, host));
            self.due_of[host] = at;
        }
    }

    /// Runs what is due at a host, and sends its datagrams.
    pub(crate) fn run(&mut self, host: usize) {
        let now = self.now;
        let Some(one) = &mut self.hosts[host] else {
            return;
        };
        let clock = one.clock(now);
        if one.participant.poll_timeout() <= clock {
            one.participant.handle_timeout(clock);
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut rounds = 0;
        while let Some(one) = &mut self.hosts[host]
            && let Some(transmit) = one.participant.poll_transmit(clock, &mut buffer)
        {
            *self.priorities.entry((host, transmit.priority)).or_default() += 1;
            rounds += 1;
            self.octets_sent += u64::try_from(buffer.len()).unwrap();
            assert!(rounds < 100_000, "host {host} sends without end");
            let Locator::Udp(to) = transmit.to else {
                panic!("not a place of this network: {}", transmit.to);
            };
            for other in 0..self.hosts.len() {
                let (address, port) = self.places[other];
                let is_here = to.ip().is_loopback() && address == self.places[host].0;
                let is_place = is_here || to.ip() == address;
                let is_port = port.is_none_or(|port| port == to.port());
                let is_meant = to.ip().is_multicast() || is_place && is_port;
                let is_own = to.ip().is_multicast() && other == host;
                if is_meant && !is_own {
                    self.send(host, other, &buffer);
                }
            }
        }
        self.buffer = buffer;
        self.plan(host);
    }

    fn send(&mut self, from: usize, to: usize, octets: &[u8]) {
        self.sent += 1;
        self.octets += u64::try_from(octets.len()).unwrap();
        *self.wire.entry((from, to)).or_default() += (octets.len() + 46).max(64) + 20;
        let pair = (from.min(to), from.max(to));
        let is_cut = self.cut.contains(&pair) || self.muted.contains(&(from, to));
        if is_cut || self.random.chance(self.faults.loss) {
            return;
        }
        let copies = 1 + u64::from(self.random.chance(self.faults.duplication));
        for _ in 0..copies {
            let mut octets = octets.to_vec();
            if self.random.chance(self.faults.corruption) {
                // Corruption that the UDP checksum would catch counts as loss; here datagrams are
                // truncated.
                let len = self.random.below(u64::try_from(octets.len()).unwrap());
                octets.truncate(usize::try_from(len).unwrap());
            }
            let mut jitter = self.random.below(self.faults.jitter_us + 1);
            // Draws a number only if needed, so that existing seeds give the same plants.
            if self.faults.disorder > 0 && self.random.chance(self.faults.disorder) {
                jitter += 1_000;
            }
            self.number += 1;
            self.flights.push(Reverse(Flight {
                at: self.now + 20_000 + i64::try_from(jitter * 1_000).unwrap(),
                number: self.number,
                from,
                to,
                octets,
            }));
        }
    }

    /// Advances to the next event, at most to `until`; returns its host.
    pub(crate) fn step(&mut self, until: i64) -> Option<usize> {
        let flight = self.flights.peek().map(|Reverse(flight)| flight.at);
        if let Some(host) = self.touched.take() {
            self.plan(host);
        }
        let due = self.due.first().copied();
        let next = [flight, due.map(|(at, _)| at)].into_iter().flatten().min();
        let Some(next) = next.filter(|next| *next <= until) else {
            self.now = until;
            return None;
        };
        self.now = self.now.max(next);
        if flight == Some(next) {
            let Reverse(flight) = self.flights.pop()?;
            let origin = Origin::Ip(self.places[flight.from].0.into());
            if let Some(one) = &mut self.hosts[flight.to] {
                let clock = one.clock(self.now);
                one.participant.handle_datagram(clock, origin, &flight.octets);
            }
            self.run(flight.to);
            self.touched = Some(flight.to);
            return Some(flight.to);
        }
        let (_, host) = due?;
        self.run(host);
        self.touched = Some(host);
        Some(host)
    }
    /// Runs for a time.
    pub(crate) fn run_for(&mut self, ms: i64) {
        let until = self.now + ms * 1_000_000;
        while self.step(until).is_some() {}
    }
}
