//! Random plants: conservation, order, and repeatable runs.
//!
//! Each case is generated from its number. A failure prints the command that repeats it;
//! `RTETHER_NIGHTLY=1` runs many more cases.

mod closed_loop;
mod emulation;
mod flows;
pub(crate) mod layers;
mod ledger;
mod network;
mod path;
mod sizes;
pub(crate) mod timelines;
mod wires;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;

use rtether_model::arp::Arp;
use rtether_model::flow::{Phase, Traffic};
use rtether_model::network::{Buffer, Jitter, NodeId, NodeKind, Redundancy, Selection, Stack};
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::record::Record;
use rtether_model::route::Routing;
use rtether_sim::observe::{Fingerprint, NoObserver, Observer, PacketInfo};
use rtether_sim::{Config, Simulation};
use rtether_testkit::Dice;

use crate::support::{Plant, periodic};
use ledger::Ledger;
use path::Floors;
use wires::Wires;

const CASES: u64 = 256;
const NIGHTLY_CASES: u64 = 20_000;
/// Ends of a run that drains. Smoothers of an empty plant tick on, so only a plant that needs it
/// gets the second, long enough for the longest queue and the last retransmission.
const DRAINED: [Duration; 2] = [Duration::from_secs(10_000), Duration::from_secs(1_000_000)];

/// One random plant and its configuration.
struct Case {
    number: u64,
    plant: Plant,
    config: Config,
    /// Whether all traffic ends, and the run lasts until nothing is in transit.
    drains: bool,
    until: Instant,
}

impl Case {
    fn new(number: u64) -> Self {
        let mut dice = Dice::new(number);
        let mut plant = Plant::default();
        let drains = dice.chance(50);
        let stations = network::network(&mut dice, &mut plant, drains);
        flows::flows(&mut dice, &mut plant, &stations, drains);
        let warmup = Duration::from_us(dice.pick(&[0, 0, 700, 3_000]));
        Self {
            number,
            plant,
            config: Config {
                seed: number,
                warmup,
                // Late retransmissions would fill millions of short buckets.
                bucket: Duration::from_us(dice.pick(&[0, if drains { 10_000 } else { 100 }])),
            },
            drains,
            until: Instant::ZERO + Duration::from_ns(dice.time(2_000_000, 7_000_000)),
        }
    }

    /// Returns the case with switches that police. None marks: the wires would not know the queue.
    fn policed(&self) -> Self {
        let mut plant = self.plant.clone();
        network::police(&mut Dice::new(!self.number), &mut plant);
        for node in &mut plant.network.nodes {
            if let NodeKind::Switch(switch) = &mut node.kind {
                let own = switch.ports.iter_mut().filter_map(|port| port.ingress.as_mut());
                let rules = own.chain([&mut switch.ingress]).flatten();
                rules.for_each(|rule| rule.mark = None);
            }
        }
        Self { plant, config: self.config, ..*self }
    }

    /// Returns the case with routers instead of some switches.
    fn with_routers(&self) -> Self {
        let mut plant = self.plant.clone();
        network::put_routers(&mut Dice::new(!self.number), &mut plant);
        Self { plant, config: self.config, ..*self }
    }

    /// Returns the case with most stations in two networks; `None` with hubs, or without such
    /// stations.
    fn in_two_networks(&self) -> Option<Self> {
        let mut plant = self.plant.clone();
        let mut dice = Dice::new(!self.number);
        let network = &mut plant.network;
        let is_shared = network.links.iter().any(|link| network.is_half_duplex(link));
        if is_shared {
            return None;
        }
        let first = network.links.len();
        let mut any = false;
        network.add_second(|own| {
            let is_layered = own.layer.is_some() || own.tasks.is_some();
            let redundancy = dice.pick(&[Redundancy::Prp, Redundancy::Afdx]);
            let redundancy = (!is_layered && dice.chance(80)).then_some(redundancy);
            any |= redundancy.is_some();
            redundancy
        });
        for link in &mut network.links[first..] {
            link.propagation += Duration::from_us(dice.pick(&[0, 0, 3, 50]));
            link.errors_per_billion = dice.pick(&[0, 0, 50_000_000]);
        }
        plant.flows.iter_mut().for_each(|flow| flow.routes.clear());
        // Only shortest ways lead through two networks.
        let routing = Routing::new(&plant.network);
        plant.flows.retain(|flow| {
            flow.listeners.iter().all(|&to| {
                routing.flow_paths(&plant.network, flow, to).is_ok()
                    && routing.answer_paths(&plant.network, flow, to).is_ok()
            })
        });
        any.then_some(Self { plant, config: self.config, ..*self })
    }

    /// Returns the case with stations that resolve addresses; `None` if switches form a loop.
    fn resolving(&self) -> Option<Self> {
        let mut plant = self.plant.clone();
        let mut dice = Dice::new(!self.number);
        for node in &mut plant.network.nodes {
            if let NodeKind::EndStation(station) = &mut node.kind
                && dice.chance(70)
            {
                station.arp = Some(Arp {
                    lifetime: Duration::from_us(dice.pick(&[300, 2_000, 60_000_000])),
                    retry: Duration::from_us(dice.pick(&[50, 500, 5_000])),
                    attempts: dice.pick(&[1, 2, 5]),
                    hold: Bytes::new(dice.pick(&[1_522, 10_000, 1 << 20])),
                });
            }
        }
        Simulation::new(&plant.network, &plant.flows, &self.config).ok()?;
        Some(Self { plant, config: self.config, ..*self })
    }

    /// Returns the case with flows that keep a gap.
    fn spaced(&self) -> Self {
        let mut plant = self.plant.clone();
        let mut dice = Dice::new(!self.number);
        for flow in &mut plant.flows {
            let gap = Duration::from_us(dice.pick(&[50, 400, 2_000]));
            flow.gap = dice.chance(60).then_some(gap);
            if flow.obstacle_to_gap(&plant.network).is_some() {
                flow.gap = None;
            }
        }
        Self { plant, config: self.config, ..*self }
    }

    /// Returns the case with its periodic flows in step, in groups of different lengths; their ends
    /// differ by `apart` picoseconds.
    fn in_step(&self, apart: i64) -> Self {
        let mut plant = self.plant.clone();
        let end = self.until - Instant::ZERO + Duration::from_secs(1);
        for (number, flow) in (0i64..).zip(&mut plant.flows) {
            if !matches!(flow.traffic, Traffic::Periodic { .. }) {
                continue;
            }
            let us = if number % 7 < 4 { 200 } else { 100 };
            flow.traffic = Traffic::Periodic {
                period: Duration::from_us(us),
                phase: Phase::Fixed(Duration::ZERO),
                release_jitter: Duration::ZERO,
            };
            flow.start = Duration::ZERO;
            flow.stop = Some(end + Duration::from_ps(number * apart));
        }
        Self { plant, ..*self }
    }

    /// Returns the case with its nodes, links and flows in another order; `None` if ways of equal
    /// length are chosen by that order, or something names nodes beside links and flows.
    fn permuted(&self) -> Option<Self> {
        let mut plant = self.plant.clone();
        let mut dice = Dice::new(!self.number);
        let network = &mut plant.network;
        let names_nodes = !network.access.is_empty()
            || network.admission.is_some()
            || !network.registering.is_empty()
            || plant.flows.iter().any(|flow| !flow.routes.is_empty())
            || network.nodes.iter().any(|node| match &node.kind {
                NodeKind::Switch(switch) => {
                    let own = switch.ports.iter().filter_map(|port| port.ingress.as_ref());
                    let mut rules = own.chain([&switch.ingress]).flatten();
                    rules.any(|rule| !rule.from.is_empty() || !rule.to.is_empty())
                }
                NodeKind::EndStation(_) | NodeKind::Hub(_) => false,
            });
        if names_nodes || Routing::new(network).find_loop(network).is_some() {
            return None;
        }
        let order = shuffled(&mut dice, network.nodes.len());
        let mut places = vec![NodeId(0); order.len()];
        for (place, &number) in (0u32..).zip(&order) {
            places[number] = NodeId(place);
        }
        network.nodes = order.iter().map(|&number| network.nodes[number].clone()).collect();
        let links = shuffled(&mut dice, network.links.len());
        network.links = links.iter().map(|&number| network.links[number]).collect();
        for end in network.links.iter_mut().flat_map(|link| &mut link.ends) {
            end.node = places[end.node.index()];
        }
        let flows = shuffled(&mut dice, plant.flows.len());
        plant.flows = flows.iter().map(|&number| plant.flows[number].clone()).collect();
        for flow in &mut plant.flows {
            flow.talker = places[flow.talker.index()];
            flow.listeners.iter_mut().for_each(|node| *node = places[node.index()]);
        }
        Some(Self { plant, config: self.config, ..*self })
    }

    fn simulation(&self) -> Simulation {
        Simulation::new(&self.plant.network, &self.plant.flows, &self.config).unwrap()
    }

    /// Runs in one step.
    fn run<O: Observer>(&self, observer: &mut O) -> Record {
        let mut simulation = self.simulation();
        simulation.run_until(self.until, observer);
        simulation.finish()
    }
}

/// Prints how to repeat a failed case, and ends the others.
struct Repeat<'a>(u64, &'a AtomicBool);

impl Drop for Repeat<'_> {
    #[allow(clippy::print_stderr, reason = "the message of a failed test")]
    fn drop(&mut self) {
        if thread::panicking() {
            self.1.store(true, Ordering::Relaxed);
            eprintln!(
                "repeat with: RTETHER_CASE={} cargo test -p rtether-sim --test it random::",
                self.0
            );
        }
    }
}

/// Runs `property` on many cases, in a long run on all cores, or on the one named by the
/// environment.
fn for_each_case(property: impl Fn(&Case) + Sync) {
    let variable = |name| std::env::var(name).ok();
    let mut workers = 1;
    let numbers = match variable("RTETHER_CASE") {
        Some(text) => {
            let number: u64 = text.parse().expect("RTETHER_CASE is a number");
            number..number + 1
        }
        None if variable("RTETHER_NIGHTLY").is_some_and(|value| value == "1") => {
            workers = thread::available_parallelism().map_or(1, usize::from);
            0..NIGHTLY_CASES
        }
        None => 0..CASES,
    };
    let next = AtomicU64::new(numbers.start);
    let has_failed = AtomicBool::new(false);
    let work = || {
        while !has_failed.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= numbers.end {
                break;
            }
            let repeat = Repeat(number, &has_failed);
            property(&Case::new(number));
            drop(repeat);
        }
    };
    thread::scope(|scope| {
        (1..workers).for_each(|_| drop(scope.spawn(work)));
        work();
    });
}

/// Runs a case in small steps, and compares what is seen with its books and wires; returns what is
/// rare in it.
fn balance(case: &Case) -> Vec<&'static str> {
    let (mut observer, mut record) = observed(case, DRAINED[0]);
    if case.drains && !is_empty(&record) {
        (observer, record) = observed(case, DRAINED[1]);
    }
    observer.0.compare(&record, case.drains);
    observer.1.check(&record);
    observer.0.rarities(&record)
}

/// Runs a case in small steps, and then until `end` if it drains.
fn observed(case: &Case, end: Duration) -> ((Ledger<'_>, Wires<'_>), Record) {
    let mut dice = Dice::new(case.number);
    let plant = &case.plant;
    let mut observer = (Ledger::new(plant, case.config.warmup), Wires::new(plant));
    let mut simulation = case.simulation();
    while simulation.now() < case.until {
        let step = Duration::from_ns(dice.time(1, 200_000));
        simulation.run_until(case.until.min(simulation.now() + step), &mut observer);
        simulation.invariants().unwrap();
    }
    if case.drains {
        simulation.run_until(Instant::ZERO + end, &mut observer);
        simulation.invariants().unwrap();
    }
    (observer, simulation.finish())
}

/// Returns whether nothing is in transit.
fn is_empty(record: &Record) -> bool {
    let mut nodes = record.nodes.iter();
    record.streams.iter().all(|stream| stream.in_flight == 0)
        && nodes.all(|node| node.in_stack == 0 && node.arp.is_none_or(|arp| arp.waiting == 0))
}

/// Oracles: as below, where all ports of switches shape some of their queues.
#[test]
fn the_books_balance_where_ports_wait_for_credit() {
    for_each_case(|case| {
        let mut dice = Dice::new(case.number);
        let mut plant = case.plant.clone();
        for node in &mut plant.network.nodes {
            if let NodeKind::Switch(switch) = &mut node.kind {
                let idle_slopes = [(); 8].map(|()| BitRate::from_mbps(dice.pick(&[0, 1, 3, 40])));
                let turns = dice.index(4);
                switch.selection = if turns == 0 {
                    Selection::Cbs { idle_slopes }
                } else {
                    let mut above = idle_slopes;
                    above[..turns].fill(BitRate::default());
                    let quanta = [(); 8].map(|()| dice.pick(&[64, 500, 1_522, 6_000]));
                    Selection::CbsDrr { idle_slopes: above, quanta }
                };
                // Every frame needs room, even where it finds the port idle.
                switch.buffer = Buffer::per_port(Bytes::new(dice.pick(&[2_000, 1 << 20])));
            }
        }
        let shaped = Case { plant, config: case.config, ..*case };
        balance(&shaped);
    });
}

/// Oracles: as below, where stations are in two networks, some with errors.
#[test]
fn the_books_balance_in_two_networks() {
    let plants = AtomicU32::new(0);
    for_each_case(|case| {
        if let Some(case) = case.in_two_networks() {
            balance(&case);
            plants.fetch_add(1, Ordering::Relaxed);
        }
    });
    let is_one = std::env::var_os("RTETHER_CASE").is_some();
    assert!(is_one || plants.into_inner() > 20);
}

/// Oracles: as below, where switches police frames as they arrive.
#[test]
fn the_books_balance_where_switches_police() {
    let policed = AtomicU32::new(0);
    for_each_case(|case| {
        let seen = balance(&case.policed());
        policed.fetch_add(seen.contains(&"policed").into(), Ordering::Relaxed);
    });
    let is_whole = std::env::var_os("RTETHER_CASE").is_none();
    let policed = policed.into_inner();
    assert!(!is_whole || policed > 20, "{policed} cases");
}

/// Oracles: as below, where stations resolve addresses.
#[test]
fn the_books_balance_where_stations_resolve_addresses() {
    let (plants, unresolved) = (AtomicU32::new(0), AtomicU32::new(0));
    for_each_case(|case| {
        if let Some(case) = case.resolving() {
            let seen = balance(&case);
            plants.fetch_add(1, Ordering::Relaxed);
            unresolved.fetch_add(seen.contains(&"unresolved").into(), Ordering::Relaxed);
        }
    });
    let is_whole = std::env::var_os("RTETHER_CASE").is_none();
    let (plants, unresolved) = (plants.into_inner(), unresolved.into_inner());
    assert!(!is_whole || (plants > 100 && unresolved > 10), "{unresolved} of {plants}");
}

/// Oracle: the ledger, where routers stand for some switches. The wires do not know when a packet
/// leaves a processor.
#[test]
fn the_books_balance_where_packets_pass_routers() {
    let refused = AtomicU32::new(0);
    for_each_case(|case| {
        let case = case.with_routers();
        let mut ledger = Ledger::new(&case.plant, case.config.warmup);
        let mut dice = Dice::new(case.number);
        let mut simulation = case.simulation();
        while simulation.now() < case.until {
            let step = Duration::from_ns(dice.time(1, 200_000));
            simulation.run_until(case.until.min(simulation.now() + step), &mut ledger);
            simulation.invariants().unwrap();
        }
        let record = simulation.finish();
        ledger.compare(&record, false);
        let mut nodes = record.nodes.iter().zip(&case.plant.network.nodes);
        let is_refused = nodes.any(|(own, node)| {
            own.stack_dropped > 0 && !matches!(node.kind, NodeKind::EndStation(_))
        });
        refused.fetch_add(is_refused.into(), Ordering::Relaxed);
    });
    let is_whole = std::env::var_os("RTETHER_CASE").is_none();
    let refused = refused.into_inner();
    assert!(!is_whole || refused > 20, "{refused} cases");
}

/// Oracles: ledger and wires, observers that know the network, not the simulator.
#[test]
fn the_books_balance_after_every_step() {
    let rarities = Mutex::new(BTreeSet::new());
    for_each_case(|case| {
        let seen = balance(case);
        rarities.lock().unwrap().extend(seen);
    });
    let is_whole = std::env::var_os("RTETHER_CASE").is_none();
    let rarities = rarities.into_inner().unwrap();
    assert!(!is_whole || rarities.len() == 13, "only visited: {rarities:?}");
}

/// Oracle: the same run in one step.
#[test]
fn steps_do_not_matter_and_runs_repeat() {
    for_each_case(|case| {
        let mut dice = Dice::new(!case.number);
        let mut whole = Fingerprint::default();
        let record = case.run(&mut whole);
        let mut again = Fingerprint::default();
        assert_eq!(record, case.run(&mut again), "the second run differs");
        assert_eq!(whole, again);

        let mut parts = Fingerprint::default();
        let mut simulation = case.simulation();
        while simulation.now() < case.until {
            let step = Duration::from_ps(dice.time(0, 900_000_000));
            simulation.run_until(case.until.min(simulation.now() + step), &mut parts);
        }
        assert_eq!(record, simulation.finish(), "steps change the record");
        assert_eq!(whole, parts);
    });
}

/// Oracle: the same flows, each with a timer of its own, since no two end at the same time; none ends
/// before the run does.
#[test]
fn flows_in_step_release_in_their_order() {
    for_each_case(|case| {
        let runs = [0, 1].map(|apart| {
            let mut whole = Fingerprint::default();
            let record = case.in_step(apart).run(&mut whole);
            (record, whole)
        });
        assert_eq!(runs[0], runs[1]);
    });
}

/// Oracle: the observed run. Without an observer, frames that wait in order of arrival leave without
/// an event of their own.
#[test]
fn an_observer_changes_nothing() {
    for_each_case(|case| {
        let others = [case.policed(), case.with_routers()];
        for case in others.iter().chain(case.resolving().iter()).chain([case]) {
            let observed = case.run(&mut Fingerprint::default());
            assert_eq!(run_in_turn(case), observed);
        }
    });
}

/// Runs a case in small steps, some of them under an observer.
fn run_in_turn(case: &Case) -> Record {
    let mut dice = Dice::new(case.number);
    let mut simulation = case.simulation();
    while simulation.now() < case.until {
        let step = Duration::from_ns(dice.time(1, 200_000));
        let until = case.until.min(simulation.now() + step);
        if dice.chance(90) {
            simulation.advance_to(until);
        } else {
            simulation.run_until(until, &mut Fingerprint::default());
        }
        simulation.invariants().unwrap();
    }
    simulation.finish()
}

/// Oracle: the committed snapshot. A moved fingerprint means that results may change, especially in
/// nodes with layers: few scenarios have those, and many of these plants.
#[test]
fn trajectories_of_random_plants() {
    let mut table = String::new();
    for first in (0..CASES).step_by(16) {
        let mut whole = Fingerprint::default();
        let (mut events, mut reports) = (0, 0);
        for number in first..first + 16 {
            let record = Case::new(number).run(&mut whole);
            events += record.events;
            let layers = record.nodes.iter().filter_map(|node| node.layer.as_ref());
            let smoothers = layers.filter_map(|layer| layer.smoother.as_ref());
            reports += smoothers.map(|smoother| smoother.signals).sum::<u64>();
        }
        let value = whole.value();
        writeln!(table, "from {first}: {value:016x} {events} events {reports} reports").unwrap();
    }
    insta::assert_snapshot!(table);
}

/// Oracle: the same run without warm-up, packet by packet.
#[test]
fn warm_up_takes_packets_out_and_moves_none() {
    for_each_case(|case| {
        let mut all = Fingerprint::default();
        let warm = case.run(&mut all);
        let mut cold_case = Case::new(case.number);
        cold_case.config.warmup = Duration::ZERO;
        // The ledger of the cold run, counted from the end of the warm-up, must equal the warm
        // record.
        let mut observer =
            (Fingerprint::default(), Ledger::new(&case.plant, case.config.warmup).indifferent());
        let cold = cold_case.run(&mut observer);
        assert_eq!(all, observer.0);
        assert_eq!((&warm.ports, &warm.nodes), (&cold.ports, &cold.nodes));
        observer.1.compare(&warm, false);
    });
}

/// Release times by flow.
struct Releases(Vec<(u32, u32, Instant)>);

impl Observer for Releases {
    fn released(&mut self, now: Instant, packet: &PacketInfo) {
        if packet.tcp.is_none() && !packet.is_reverse {
            self.0.push((packet.flow.0, packet.number, now));
        }
    }
}

/// Oracle: the run without the additional nodes. Random draws depend on names, ties on order.
#[test]
fn strangers_change_nothing() {
    for_each_case(|case| {
        let flows = u32::try_from(case.plant.flows.len()).unwrap();
        let mut alone = Releases(Vec::new());
        let record = case.run(&mut alone);

        let mut crowded = Case::new(case.number);
        let [a, b] = [(); 2].map(|()| crowded.plant.station(Stack::Zero));
        crowded.plant.join(a, b, 100);
        let stranger = crowded.plant.flow(periodic("stranger", a, b));
        stranger.traffic = Traffic::Poisson { mean_interval: Duration::from_us(50) };
        let mut observer = Releases(Vec::new());
        let mut with = crowded.run(&mut observer);
        observer.0.retain(|&(flow, ..)| flow < flows);
        assert_eq!(alone.0, observer.0);
        with.streams.truncate(record.streams.len());
        with.ports.truncate(record.ports.len());
        assert_eq!((record.streams, record.ports), (with.streams, with.ports));
    });
}

/// Oracle: the arithmetic of wire times and base costs, exact without other traffic.
#[test]
fn a_lonely_packet_takes_what_its_path_takes() {
    for_each_case(|case| {
        let mut case = Case::new(case.number);
        case.config.warmup = Duration::ZERO;
        case.until = Instant::ZERO + Duration::from_ms(50);
        make_quiet(&mut case.plant);
        for flow in std::mem::take(&mut case.plant.flows) {
            // Two replies meet in the talker's stack.
            let has_company = flow.reply.is_some() && flow.listeners.len() > 1;
            if has_company || matches!(flow.traffic, Traffic::Bulk(_)) {
                continue;
            }
            case.plant.flows = vec![flow];
            let flow = &mut case.plant.flows[0];
            flow.traffic = Traffic::periodic(Duration::from_ms(20), Phase::Random);
            flow.start = Duration::ZERO;
            flow.stop = Some(Duration::from_ms(20));
            flow.listeners.truncate(1);
            let record = case.run(&mut rtether_sim::observe::NoObserver);
            let stream = &record.streams[0];
            assert_eq!((stream.released, stream.delivered), (1, 1), "lost on a quiet network");
            let flow = &case.plant.flows[0];
            let is_tagged = flow.tag.is_some() || has_vlans(&case.plant);
            let floors = Floors::new(&case.plant.network);
            let floor = floors.latency(flow, flow.listeners[0], Floors::frame(flow));
            let latency = stream.latency.max;
            assert!(latency == floor || (is_tagged && latency > floor), "{latency:?}, {floor:?}");
        }
    });
}

/// Removes errors, jitter and queues that hold frames back.
fn make_quiet(plant: &mut Plant) {
    for link in &mut plant.network.links {
        link.errors_per_billion = 0;
    }
    for node in &mut plant.network.nodes {
        match &mut node.kind {
            NodeKind::EndStation(station) => {
                match &mut station.stack {
                    Stack::Linear(linear) => linear.jitter = Jitter::default(),
                    Stack::Rtos(rtos) => rtos.jitter = Jitter::default(),
                    Stack::Zero | Stack::IpRate { .. } => {}
                }
                if let Some(layer) = &mut station.layer {
                    layers::calm(layer);
                }
            }
            NodeKind::Switch(_) | NodeKind::Hub(_) => {}
        }
    }
}

fn has_vlans(plant: &Plant) -> bool {
    let is_aware = |node: &rtether_model::network::Node| match &node.kind {
        NodeKind::EndStation(_) | NodeKind::Hub(_) => false,
        NodeKind::Switch(switch) => switch
            .ports
            .iter()
            .any(|port| port.vlan != rtether_model::network::PortVlan::Transparent),
    };
    plant.network.nodes.iter().any(is_aware)
}

/// Oracle: the program of before. What changes the figure belongs under "Results may change" in
/// CHANGELOG.
#[test]
fn random_plants_do_what_they_did() {
    let mut trajectories = Fingerprint::default();
    for number in 0..500 {
        let case = Case::new(number);
        let more =
            [case.in_two_networks(), Some(case.policed()), case.resolving(), Some(case.spaced())];
        for case in [Some(case)].into_iter().chain(more).flatten() {
            case.run(&mut trajectories);
        }
    }
    assert_eq!(trajectories.value(), 0x4bed_6811_7119_aa65, "{:#x}", trajectories.value());
}

/// Returns the numbers below `count` in a random order.
fn shuffled(dice: &mut Dice, count: usize) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..count).collect();
    for place in 1..count {
        let other = dice.between(0, place as u64);
        numbers.swap(place, usize::try_from(other).unwrap());
    }
    numbers
}

/// Returns the figures of a run by names: of streams, and of ports by their two nodes.
fn by_name(case: &Case) -> BTreeMap<String, String> {
    let record = case.run(&mut NoObserver);
    let network = &case.plant.network;
    let streams = record.streams.iter().map(|stream| {
        let flow = &case.plant.flows[stream.flow as usize].name;
        let worst = stream.worst.as_ref().map(|worst| (worst.latency, worst.segments));
        let figures = (stream.released, stream.delivered, stream.dropped, stream.in_flight);
        let own = (figures, &stream.latency, &stream.segments_ps, &stream.histogram, worst);
        (format!("{flow} > {}", network.node(NodeId(stream.listener)).name), format!("{own:?}"))
    });
    let ports = record.ports.iter().map(|port| {
        let ends = network.links[port.link.index()].ends.map(|end| &network.node(end.node).name);
        let key =
            format!("{} between {} and {}", network.node(port.port.node).name, ends[0], ends[1]);
        let own = (port.offered, port.sent, port.dropped, port.backlog_max, &port.queues);
        (key, format!("{own:?}"))
    });
    streams.chain(ports).collect()
}

/// Oracle: the same plant in the order in which it was drawn. No figure depends on where a file has
/// its nodes, links and flows, but for ways of equal length, which the plants here do not have.
#[test]
fn the_order_of_the_file_does_not_matter() {
    let permuted = AtomicU64::new(0);
    for_each_case(|case| {
        // Stations that resolve addresses have them from their places in the file.
        for case in [&case.policed(), &case.spaced(), case] {
            let Some(other) = case.permuted() else {
                continue;
            };
            permuted.fetch_add(1, Ordering::Relaxed);
            let (own, other) = (by_name(case), by_name(&other));
            assert_eq!(own.len(), other.len());
            for (key, figures) in &own {
                assert_eq!(other.get(key), Some(figures), "{key}");
            }
        }
    });
    let is_one = std::env::var_os("RTETHER_CASE").is_some();
    assert!(is_one || permuted.into_inner() > CASES, "few plants were permuted");
}
