//! Places that are exactly full: shapers whose slope is the reservation, links and stacks at 100 %,
//! turns that are all taken, policers whose rate is that of their flows.
//!
//! Rates are made by whole numbers, so that each place is full to the last bit.

use std::collections::BTreeMap;

use rtether_bounds::{Analysis, analyze};
use rtether_model::access::{Access, Scheme, SchemeKind, Wish};
use rtether_model::flow::{Flow, Phase, Tag, Traffic};
use rtether_model::ingress::{Exceed, IngressRule, Police};
use rtether_model::network::{Hub, NodeId, NodeKind, Pcp, QueueMap, Selection, Stack, Switch, Vid};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::wire;
use rtether_testkit::Dice;

use crate::bounds::draw::plain_switch;
use crate::bounds::plant::{Plant, plain_flow};
use crate::bounds::{check, dice, for_each_case_up_to, simulate, with_phases};

/// Plants of the ordinary run, and of the nightly one.
const CASES: [u64; 2] = [150, 10_000];
/// Runs of each plant.
const RUNS: u64 = 4;

/// A plant with a place that is full.
struct Case {
    kind: &'static str,
    plant: Plant,
    /// Flows that pass the full place, and must have a bound.
    flows: Vec<usize>,
    /// Load that the busiest port or stack must show, if it is that which is full.
    is_hundred: bool,
}

fn tagged(flow: &mut Flow, pcp: u8) {
    flow.tag = Some(Tag { pcp: Pcp::new(pcp).unwrap(), vid: Vid::PRIORITY_ONLY });
}

/// Returns the octets that a flow's frame takes on the wire.
fn octets(flow: &Flow) -> u64 {
    let tag = flow.tag.map_or(Bytes::ZERO, |_| wire::TAG);
    let frame = wire::frame_size(flow.payload, flow.encapsulation) + tag;
    wire::wire_size(frame).get()
}

/// Stations that send to one behind a switch, whose ports have `selection`; returns the plant and its
/// last station.
fn funnel(dice: &mut Dice, selection: Selection, senders: u64) -> (Plant, NodeId) {
    let mut plant = Plant::default();
    let switches: Vec<NodeId> = (0..dice.between(1, 2))
        .map(|_| {
            plant.switch(Switch {
                queues: QueueMap::standard(8).unwrap(),
                selection,
                ..plain_switch()
            })
        })
        .collect();
    for _ in 0..senders {
        let station = plant.station(Stack::Zero);
        plant.join(station, switches[0], dice.pick(&[100, 1000]), false);
        plant.stations.push(station);
    }
    for pair in switches.windows(2) {
        plant.join(pair[0], pair[1], 100, false);
    }
    let last = plant.station(Stack::Zero);
    plant.join(last, switches[switches.len() - 1], 100, false);
    (plant, last)
}

/// Adds flows to `to`, some with several from one station, whose periods are still to come.
fn add_flows(dice: &mut Dice, plant: &mut Plant, to: NodeId, pcp: Option<u8>) -> Vec<usize> {
    let stations = plant.stations.clone();
    let count = dice.between(1, 5);
    let first = plant.flows.len();
    for index in 0..count {
        let payload = dice.between(18, 1_400);
        let name = format!("f{}", first as u64 + index);
        let mut flow = plain_flow(&name, dice.pick(&stations), vec![to], payload);
        if let Some(pcp) = pcp {
            tagged(&mut flow, pcp);
        }
        plant.flows.push(flow);
    }
    (first..plant.flows.len()).collect()
}

fn every(flow: &mut Flow, period: i64) {
    flow.traffic = Traffic::periodic(Duration::from_ps(period), Phase::Fixed(Duration::ZERO));
}

/// A class, or two, whose slope is what it brings, above other flows.
fn shaper(dice: &mut Dice) -> Case {
    let (mut plant, last) = funnel(dice, Selection::Fcfs, 3);
    let mut slopes = [BitRate::default(); 8];
    let mut flows = Vec::new();
    for pcp in [5, 7] {
        if pcp == 5 && dice.chance(50) {
            continue;
        }
        let own = add_flows(dice, &mut plant, last, Some(pcp));
        let mut rate = 0;
        for &index in &own {
            let flow = &mut plant.flows[index];
            let ms = dice.pick(&[1, 2, 4, 5, 8]);
            every(flow, ms * 1_000_000_000);
            rate += octets(flow) * 8 * 1_000 / ms.unsigned_abs();
            // Whole bits a second, so no fraction of one is missing.
            assert_eq!(octets(flow) * 8_000 % ms.unsigned_abs(), 0);
        }
        slopes[usize::from(pcp)] = BitRate::from_bps(rate);
        flows.extend(own);
    }
    for index in add_flows(dice, &mut plant, last, Some(0)) {
        every(&mut plant.flows[index], 4_000_000_000);
    }
    for node in &mut plant.network.nodes {
        if let NodeKind::Switch(switch) = &mut node.kind {
            switch.selection = Selection::Cbs { idle_slopes: slopes };
        }
    }
    // Together they may be more than the link.
    let total: u64 = slopes.iter().map(|slope| slope.as_bps()).sum();
    if total >= 90_000_000 {
        flows.clear();
    }
    Case { kind: "shaper", plant, flows, is_hundred: false }
}

/// A link of 100 Mbit/s that its flows fill.
fn link(dice: &mut Dice) -> Case {
    let (kind, selection) = match dice.index(5) {
        0 => ("link in order of arrival", Selection::Fcfs),
        1 => ("link by priority", Selection::StrictPriority),
        2 => ("link by deadline", Selection::EarliestDeadline),
        3 => ("link in turns", Selection::Wrr { weights: [1; 8] }),
        _ => ("link in turns of octets", Selection::Drr { quanta: [1_522; 8] }),
    };
    let senders = dice.between(1, 4);
    let (mut plant, last) = funnel(dice, selection, senders);
    let flows = add_flows(dice, &mut plant, last, None);
    let times: Vec<i64> = flows.iter().map(|_| dice.pick(&[1, 1, 2, 4])).collect();
    let has_order = selection != Selection::Fcfs;
    let mut work = 0;
    for (&index, times) in flows.iter().zip(&times) {
        let flow = &mut plant.flows[index];
        if has_order && dice.chance(70) {
            tagged(flow, dice.small(0, 7));
        }
        if dice.chance(60) {
            flow.deadline = Some(Duration::from_us(dice.pick(&[500, 2_000, 5_000])));
        }
        // In quarters of the common time.
        work += i64::try_from(octets(flow)).unwrap() * 80_000 * (4 / times);
    }
    for (&index, times) in flows.iter().zip(&times) {
        every(&mut plant.flows[index], work / 4 * times);
    }
    Case { kind, plant, flows, is_hundred: true }
}

/// A receiving stack that has as much to do as it can.
fn stack(dice: &mut Dice) -> Case {
    let (mut plant, last) = funnel(dice, Selection::Fcfs, 3);
    let flows = add_flows(dice, &mut plant, last, None);
    let service = Duration::from_us(dice.time(130, 400));
    if let NodeKind::EndStation(station) = &mut plant.network.nodes[last.index()].kind {
        station.stack = Stack::IpRate { service };
    }
    let count = i64::try_from(flows.len()).unwrap();
    for &index in &flows {
        every(&mut plant.flows[index], service.as_ps() * count);
    }
    Case { kind: "stack", plant, flows, is_hundred: true }
}

/// A queue that takes all of its turns, beside one that brings more than is left.
fn turns(dice: &mut Dice) -> Case {
    let is_drr = dice.chance(50);
    let (mut plant, last) = funnel(dice, Selection::Fcfs, 2);
    let payload = dice.between(18, 1_400);
    let weights = [(); 8].map(|()| u8::try_from(dice.between(1, 3)).unwrap());
    let mut own = plain_flow("own", plant.stations[0], vec![last], payload);
    let mut other = plain_flow("other", plant.stations[1], vec![last], payload);
    tagged(&mut own, 7);
    tagged(&mut other, 0);
    let frame = octets(&own) - 20;
    let selection = if is_drr {
        let quantum = |weight: u8| u16::try_from(frame * u64::from(weight)).unwrap();
        Selection::Drr { quanta: weights.map(quantum) }
    } else {
        Selection::Wrr { weights }
    };
    // Queue 1 of the standard map is that of priority 0 with eight queues; 7 that of priority 7.
    let queues = QueueMap::standard(8).unwrap();
    let share = |pcp: u8| i64::from(weights[usize::from(queues.queue_of_value(pcp))]);
    let work = i64::try_from(octets(&own)).unwrap() * 80_000;
    let (mine, others) = (share(7), share(0));
    let is_whole = work * (mine + others) % mine == 0;
    every(&mut own, work * (mine + others) / mine);
    every(&mut other, work * (mine + others) / others);
    if dice.chance(50) {
        // More than is left: only the turns bound the first.
        every(&mut other, work);
    }
    plant.flows = vec![own, other];
    for node in &mut plant.network.nodes {
        if let NodeKind::Switch(switch) = &mut node.kind {
            switch.selection = selection;
        }
    }
    Case {
        kind: if is_drr { "turns of octets" } else { "turns" },
        plant,
        flows: if is_whole { vec![0] } else { Vec::new() },
        is_hundred: false,
    }
}

/// A policer with the rate of its flows; their octets count from addresses to FCS.
fn policer(dice: &mut Dice) -> Case {
    let (mut plant, last) = funnel(dice, Selection::Fcfs, 2);
    let flows = add_flows(dice, &mut plant, last, None);
    let mut most: BTreeMap<NodeId, (u64, u64)> = BTreeMap::new();
    for &index in &flows {
        let flow = &mut plant.flows[index];
        let ms = dice.pick(&[1, 2, 4, 5, 8]);
        every(flow, ms * 1_000_000_000);
        let (rate, burst) = most.entry(flow.talker).or_default();
        *rate += (octets(flow) - 20) * 8_000 / ms.unsigned_abs();
        // With what they may come early behind a port that others share.
        *burst += 2 * octets(flow);
    }
    let rules = most.into_iter().map(|(from, (rate, burst))| IngressRule {
        from: vec![from],
        police: Some(Police {
            rate: BitRate::from_bps(rate),
            burst: Bytes::new(burst),
            exceed: Exceed::Drop,
        }),
        ..IngressRule::default()
    });
    let rules: Vec<IngressRule> = rules.collect();
    for node in &mut plant.network.nodes {
        if let NodeKind::Switch(switch) = &mut node.kind {
            switch.ingress.clone_from(&rules);
            break;
        }
    }
    Case { kind: "policer", plant, flows, is_hundred: false }
}

/// Slots of a hub that are all taken.
fn slots(dice: &mut Dice) -> Case {
    let mut plant = Plant::default();
    let rate = BitRate::from_mbps(dice.pick(&[10, 100]));
    let hub = plant.network.add("h", NodeKind::Hub(Hub::new(rate, 0)));
    for _ in 0..dice.between(2, 4) {
        let station = plant.station(Stack::Zero);
        plant.network.join(station, hub, rate);
        plant.stations.push(station);
    }
    let last = plant.stations.pop().unwrap();
    let flows = add_flows(dice, &mut plant, last, None);
    let parts = (&plant.network, &plant.flows[..]);
    let access = Access::plan(SchemeKind::Tdma, parts, hub, &Wish::default()).unwrap();
    let Scheme::Tdma(tdma) = &access.scheme else {
        unreachable!("that was asked for");
    };
    let cycle = tdma.cycle;
    let mut count: BTreeMap<NodeId, i64> = BTreeMap::new();
    for flow in &plant.flows {
        *count.entry(flow.talker).or_default() += 1;
    }
    for flow in &mut plant.flows {
        every(flow, cycle.as_ps() * count[&flow.talker]);
    }
    plant.network.access.push(access);
    Case { kind: "slots", plant, flows, is_hundred: false }
}

/// Switches in a ring whose links are full: flows may wait for each other without end.
fn ring(dice: &mut Dice) -> Case {
    let mut plant = Plant::default();
    let count = usize::try_from(dice.between(3, 5)).unwrap();
    let switches: Vec<NodeId> = (0..count).map(|_| plant.switch(plain_switch())).collect();
    for own in 0..count {
        plant.join(switches[own], switches[(own + 1) % count], 100, false);
    }
    for &switch in &switches {
        let station = plant.station(Stack::Zero);
        plant.join(station, switch, 1_000, false);
        plant.stations.push(station);
    }
    // Each frame takes one or two links clockwise, and half of each, or all.
    let reach = if count > 3 { dice.index(2) + 1 } else { 1 };
    let payload = dice.between(18, 1_400);
    for own in 0..count {
        let to = plant.stations[(own + reach) % count];
        let name = format!("f{own}");
        let mut flow = plain_flow(&name, plant.stations[own], vec![to], payload);
        let work = i64::try_from(octets(&flow)).unwrap() * 80_000;
        every(&mut flow, work * i64::try_from(reach).unwrap());
        plant.flows.push(flow);
    }
    Case { kind: "ring", plant, flows: Vec::new(), is_hundred: true }
}

fn random(number: u64) -> Case {
    let mut dice = dice(number ^ 0x00f0_1100);
    match number % 8 {
        0 | 1 => shaper(&mut dice),
        2 | 3 => link(&mut dice),
        4 => stack(&mut dice),
        5 => turns(&mut dice),
        6 if dice.chance(50) => policer(&mut dice),
        6 => slots(&mut dice),
        _ => ring(&mut dice),
    }
}

/// Returns whether a stream of one of the flows has no bound.
fn unbounded(case: &Case, analysis: &Analysis) -> Option<String> {
    let mut streams = analysis.streams.iter();
    let found = streams.find(|own| own.bound.is_err() && case.flows.contains(&own.flow.index()))?;
    Some(format!("{:?}", found.bound))
}

/// Oracle: the simulator; and that what is full to the last bit is shown as 100 %.
#[test]
#[allow(clippy::print_stdout, reason = "shown with --nocapture")]
fn full_places_keep_to_their_bounds() {
    let mut kinds: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for_each_case_up_to(CASES, "full_places_keep_to_their_bounds", |number| {
        let case = random(number);
        let analysis = analyze(&case.plant.network, &case.plant.flows);
        let mut dice = dice(!number);
        for run in 0..RUNS {
            let spread = dice.pick(&[1, 100_000_000, 1_000_000_000, 8_000_000_000]);
            let flows = with_phases(&case.plant.flows, |_, _| match run {
                0 => Duration::ZERO,
                _ => Duration::from_ps(dice.time(0, spread)),
            });
            check(&analysis, &simulate(&case.plant, &flows, number ^ run));
        }
        let kind = case.kind;
        let why = unbounded(&case, &analysis);
        assert_eq!(why, None, "{kind} {:?}", case.plant.flows);
        if case.is_hundred {
            let ports = analysis.ports.iter().filter_map(|port| port.utilization_ppm);
            let stacks = analysis.stacks.iter().filter_map(|own| own.utilization_ppm);
            assert_eq!(ports.chain(stacks).max(), Some(1_000_000), "{kind}");
        }
        let mut policers = analysis.policers.iter();
        assert!(policers.all(|policer| policer.is_kept), "{number}");
        let counts = kinds.entry(kind).or_default();
        let bounded = analysis.streams.iter().filter(|own| own.bound.is_ok());
        counts[0] += bounded.count();
        counts[1] += analysis.streams.len();
    });
    for (kind, [bounded, streams]) in &kinds {
        println!("{kind}: {bounded} of {streams} streams bounded");
    }
    let is_whole = std::env::var_os("RTETHER_CASE").is_none();
    assert!(!is_whole || kinds.len() == 12, "{kinds:?}");
}

/// Oracle: by hand. A frame of 151 octets takes 1.4 Mbit/s of its class each millisecond, which is the
/// slope: it never waits for credit. It takes 12.72 us to the switch, as long to the listener, and
/// waits nowhere; there is one picosecond more for the rounding of credits, and none for a lower frame.
#[test]
fn a_slope_may_be_the_reservation() {
    let mut plant = Plant::default();
    let mut idle_slopes = [BitRate::default(); 8];
    idle_slopes[1] = BitRate::from_bps(1_400_000);
    let switch = plant.switch(Switch {
        queues: QueueMap::standard(2).unwrap(),
        selection: Selection::Cbs { idle_slopes },
        latency: Duration::ZERO,
        ..plain_switch()
    });
    let [a, b] = [(); 2].map(|()| plant.station(Stack::Zero));
    for station in [a, b] {
        plant.network.join(station, switch, BitRate::from_mbps(100));
    }
    let mut flow = plain_flow("f", a, vec![b], 105);
    tagged(&mut flow, 7);
    assert_eq!(octets(&flow), 175);
    plant.flows.push(flow);
    let analysis = analyze(&plant.network, &plant.flows);
    let bound = analysis.streams[0].bound.as_ref().unwrap();
    let way = Duration::from_ns(2 * 163 * 80);
    assert_eq!(bound.latency, way + Duration::from_ps(1));
}
