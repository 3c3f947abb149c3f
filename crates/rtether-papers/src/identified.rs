//! The papers' devices, found by the prober of `identify` and set beside what the papers print.
//!
//! A built-in stack plays the device in the emulator's network, in virtual time; the prober sees when
//! its packets leave and answers come, and nothing else. Oracle: the printed tables, of which the
//! stacks are fits, within 5 %.

#![allow(clippy::print_stdout, reason = "what is found stands beside what is printed")]

use std::collections::{BTreeMap, BTreeSet};

use rtether::profiles;
use rtether_model::network::{EndStation, Network, NodeId, NodeKind, Stack};
use rtether_model::quantity::Instant;
use rtether_model::wire::occupancy;
use rtether_proto::identify::{
    Ask, Costs, Exchange, Load, Observation, Pace, Path, Prober, Sizes, Span,
};
use rtether_sim::emulation::{Destination, Emulation, Foreign, Headers, Output, Setup};

use crate::kakanakov::stack::{HIGH, MEDIUM, stack_delays};
use crate::kakanakov::{Board, Protocol};
use crate::prelude::*;
use crate::valentim::{self, Medium};

const FAST: BitRate = BitRate::from_mbps(100);
const SPAN: Span = Span { least: Bytes::new(64), most: Bytes::new(1_518) };

/// A device at the far end of a link, and the prober's own end.
struct Bench {
    emulation: Emulation,
    prober: NodeId,
    device: NodeId,
    rate: BitRate,
    /// Octets of the answers to come, by packet.
    answers: BTreeMap<u32, Bytes>,
    /// Packets that arrive, and whether each is an answer.
    arrivals: BTreeSet<(Instant, bool, u32)>,
}

impl Bench {
    fn new(name: &str, rate: BitRate) -> Self {
        let mut network = Network::default();
        let mut own = EndStation::new(Stack::Zero);
        own.driver_queue = Bytes::new(1_518_000);
        let prober = network.add("prober", NodeKind::EndStation(own));
        let mut station = profiles::find(name).expect("a built-in stack").station();
        station.emulate = true;
        let device = network.add("device", NodeKind::EndStation(station));
        network.join(prober, device, rate);
        let emulation = Emulation::new(&Setup::new(&network, 1)).expect("a plain network");
        let (answers, arrivals) = Default::default();
        Self { emulation, prober, device, rate, answers, arrivals }
    }

    /// Returns what the link takes: preambles, and octets each way.
    fn path(&self) -> Path {
        let octet = self.rate.octet_time().expect("a whole number of picoseconds");
        Path { constant: octet * 16, request_octet: octet, answer_octet: octet }
    }

    /// Lets a prober ask until it is done.
    fn ask(mut self, mut prober: Prober) -> (Vec<Observation>, Path) {
        let (mut now, mut free) = (Instant::ZERO, Instant::ZERO);
        loop {
            let mut until = free;
            if now >= free {
                until = match prober.poll(now) {
                    Ask::Done(_) => return (prober.observations().to_vec(), self.path()),
                    Ask::Wait(until) => until,
                    Ask::Send(packet) => {
                        self.answers.extend(packet.answer.map(|answer| (packet.id, answer)));
                        self.send([self.prober, self.device], now, packet.id, packet.request);
                        prober.sent(packet.id, now, packet.request);
                        free = now + occupancy(packet.request, self.rate);
                        continue;
                    }
                };
            }
            let first = self.arrivals.first().map(|own| own.0);
            let next = self.emulation.next_event().map(|at| at + Duration::from_ps(1));
            now = [Some(until), first, next].into_iter().flatten().min().unwrap_or(now).max(now);
            self.emulation.run_until(now);
            self.note();
            while let Some((at, is_answer, id)) = self.arrivals.pop_first() {
                if at > now {
                    self.arrivals.insert((at, is_answer, id));
                    break;
                }
                match self.answers.get(&id).copied() {
                    Some(size) if is_answer => prober.answered(id, at, size),
                    Some(size) => self.send([self.device, self.prober], at, id, size),
                    None => {}
                }
            }
        }
    }

    fn send(&mut self, [from, to]: [NodeId; 2], at: Instant, id: u32, size: Bytes) {
        let frame = Foreign {
            size,
            destination: Destination::One(to),
            tag: None,
            headers: Headers::default(),
            token: id.into(),
        };
        self.emulation.inject(from, at, frame).expect("both ends are there");
    }

    fn note(&mut self) {
        while let Some(output) = self.emulation.poll_output() {
            if let Output::Delivered { token, station, at, .. } = output {
                let id = u32::try_from(token).expect("a name of the prober");
                self.arrivals.insert((at, station == self.prober, id));
            }
        }
    }
}

/// Asks a device with single requests.
fn quiet(name: &str, rate: BitRate, sizes: Sizes) -> (Costs, Path) {
    let prober = Prober::quiet(sizes, Pace::default(), 1, Instant::ZERO);
    let (seen, path) = Bench::new(name, rate).ask(prober);
    (Costs::estimate(&seen, &path), path)
}

fn fixed(costs: &Costs) -> Duration {
    costs.fixed.expect("a fixed cost").value
}

/// Asserts that what was found is within 5 % of what is printed.
fn near(what: &str, found: Duration, printed: Duration) {
    println!("{what}: {found} found, {printed} printed");
    assert!((found - printed).as_ps().abs() * 20 <= printed.as_ps(), "{what}: {found}, {printed}");
}

/// Catalogue 1a, S2: 5000 packets a second of a PISA, 20 000 of a controller, sent and received.
#[test]
fn stations_of_skeie_serve_their_packets_a_second() {
    for (name, packets) in [("skeie-workstation", 5_000), ("skeie-controller", 20_000)] {
        let printed = Duration::from_secs(1) / packets;
        let sizes = Sizes::Free { request: SPAN, answer: SPAN };
        let (costs, _) = quiet(name, FAST, sizes);
        near(&format!("{name}, each way"), fixed(&costs) / 2, printed);
        let pace = Pace { burst: 16, ..Pace::default() };
        let prober = Prober::load(sizes, pace, 1, Instant::ZERO);
        let (seen, path) = Bench::new(name, FAST).ask(prober);
        let receive = Load::estimate(&seen, &path).receive.expect("slower than the line");
        near(&format!("{name}, received"), receive.value, printed);
    }
}

/// Tables 1 and 2, column a: the board at the test computer.
#[test]
fn boards_of_kakanakov_answer_as_printed() {
    for (protocol, second) in [(Protocol::Icmp, "avg"), (Protocol::Cndep, "median")] {
        let experiment = format!("kakanakov-{}-a", protocol.name());
        let [least, middle] = ["min", second].map(|own| reference::times(&experiment, own));
        for board in Board::ALL {
            let name = format!("{}-{}", board.name().to_lowercase(), protocol.name());
            let sizes = Exchange { request: protocol.frame(), answer: protocol.frame() };
            let (costs, path) = quiet(&name, board.rate(), Sizes::Fixed(sizes));
            let subject = format!("{}, a", board.name());
            let all = fixed(&costs) + path.of(sizes);
            near(&format!("{name}, least"), all, least[&subject]);
            let found = if protocol == Protocol::Icmp {
                all + costs.jitter.expect("a jitter").value
            } else {
                costs.predict(500_000, sizes, &path).expect("a median").value
            };
            near(&format!("{name}, {second}"), found, middle[&subject]);
        }
    }
}

/// Section 1.2: one passage of a stack, by size.
#[test]
fn stacks_of_kakanakov_take_what_is_printed() {
    for (name, class) in [("i586-166", HIGH), ("arm7-40", MEDIUM)] {
        let (costs, _) = quiet(name, FAST, Sizes::Free { request: SPAN, answer: SPAN });
        let octets =
            costs.request_octet.expect("free").value + costs.answer_octet.expect("free").value;
        for (size, printed) in stack_delays(class) {
            let octets = octets * i64::try_from(size.get()).expect("a frame");
            near(&format!("{name}, {size}"), (fixed(&costs) + octets) / 2, printed);
        }
    }
}

/// Table II, 100 Mbit/s hub, which repeats a frame while it receives it: half a round trip is one
/// frame and what one of the two equal PCs takes to send and to receive.
#[test]
fn computers_of_valentim_take_half_of_what_is_printed() {
    let printed = valentim::half_round_trips(Medium::FastHub);
    for (protocol, name) in [
        (valentim::Protocol::Udp, "pentium3-800-udp"),
        (valentim::Protocol::Raw, "pentium3-800-raw"),
    ] {
        let span = Span { least: protocol.frame(64), most: protocol.frame(1_024) };
        let (costs, path) = quiet(name, FAST, Sizes::Alike(span));
        let octet = costs.both_octets.expect("alike").value;
        for payload in valentim::SIZES {
            let size = protocol.frame(payload);
            let wire = path.of(Exchange { request: size, answer: size }) / 2;
            let octets = octet * i64::try_from(size.get()).expect("a frame");
            let found = fixed(&costs) + octets + wire;
            near(&format!("{name}, {payload} B"), found, printed[&(protocol, payload)]);
        }
    }
}

/// Section 3 prints no stack: the PCs are taken to need no time beside their cards, and none is found.
#[test]
fn computers_of_kweon_take_no_time() {
    let rate = BitRate::from_mbps(10);
    let (costs, _) = quiet("pc-tcp", rate, Sizes::Free { request: SPAN, answer: SPAN });
    let found = fixed(&costs);
    println!("pc-tcp: {found} found, nothing printed");
    assert!(found.as_ps().abs() <= 1_000, "{costs:?}");
}
