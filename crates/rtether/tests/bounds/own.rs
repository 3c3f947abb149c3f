//! Plants in which some flows go from a station to itself, and routers with rules at their entries.

use rtether::scenario::load;
use rtether_bounds::analyze;
use rtether_model::flow::{Delivery, Flow};
use rtether_model::network::Stack;
use rtether_model::quantity::Duration;
use rtether_testkit::Dice;

use crate::bounds::dice;
use crate::bounds::plant::Plant;
use crate::bounds::{RUNS, Tightness, adversarial, check, for_each_case, simulate};

impl Plant {
    /// Returns a plant with polls or with messages over TCP, in which a third of the flows go to their
    /// own station, some to others as well.
    pub(crate) fn own(number: u64) -> Self {
        let mut plant = match number % 3 {
            0 => Self::connected(number.wrapping_add(1 << 47)),
            _ => Self::polled(number.wrapping_add(1 << 47)),
        };
        let mut dice = dice(number.wrapping_add(1 << 48));
        let Self { network, flows, .. } = &mut plant;
        for flow in flows {
            let station = network.end_station(flow.talker);
            if station.is_some_and(|own| own.stack != Stack::Zero || own.tasks.is_some()) {
                turn(&mut dice, flow);
            }
        }
        plant
    }
}

fn turn(dice: &mut Dice, flow: &mut Flow) {
    let may = flow.delivery == Delivery::Unicast
        && flow.routes.is_empty()
        && flow.gap.is_none()
        && !flow.is_published();
    if may && dice.chance(33) {
        if flow.listeners.len() == 1 || dice.chance(50) {
            flow.listeners = vec![flow.talker];
        } else if !flow.listeners.contains(&flow.talker) {
            flow.listeners[0] = flow.talker;
        }
    }
}

/// Oracle: the simulator, as in the other tests.
#[test]
fn flows_to_their_own_station_keep_to_their_bounds() {
    let test = "flows_to_their_own_station_keep_to_their_bounds";
    let (mut tightness, mut own, mut proved) = (Tightness::default(), 0, 0);
    for_each_case(test, |number| {
        let plant = Plant::own(number);
        let analysis = analyze(&plant.network, &plant.flows);
        for stream in &analysis.streams {
            let flow = &plant.flows[stream.flow.index()];
            if flow.talker == stream.listener {
                own += 1;
                proved += usize::from(stream.bound.is_ok());
            }
        }
        let mut dice = dice(!number);
        let mut most = vec![Duration::ZERO; analysis.streams.len()];
        for run in 0..RUNS {
            let phases = adversarial(&plant, &mut dice, run);
            let record = simulate(&plant, &phases, number ^ run);
            for (most, seen) in most.iter_mut().zip(check(&analysis, &record)) {
                *most = (*most).max(seen);
            }
        }
        tightness.add(&analysis, &most);
    });
    tightness.print("plants with flows to their own station");
    assert!(
        (own > 117 && proved > 58) || std::env::var_os("RTETHER_CASE").is_some(),
        "{proved} of {own}"
    );
}

/// Oracle: by hand: 20 us to send and 30 us to receive, each by its own processor. One processor for
/// both may serve the packet before, of a round trip all four passages, so that the bound is larger,
/// and not below the 105 us that the round trip takes.
#[test]
fn a_way_inside_a_station_by_hand() {
    let of = |servers: &str, reply: &str| {
        let text = format!(
            "rtether: 1\nstacks: {{ s: {{ send: 20 us, receive: 30 us, servers: {servers} }} }}\n\
             nodes: {{ a: {{ stack: s }}, b: {{ stack: zero }} }}\n\
             links: [{{ ends: [a, b], rate: 100 Mbit/s }}]\n\
             flows: [{{ name: f, from: a, to: a, size: 1024 B, period: 10 ms{reply}, \
             deadline: 105 us }}]\nrun: {{ for: 1 s }}\n"
        );
        let scenario = load("own.yaml", &text).into_scenario();
        let scenario = scenario.expect("a good scenario");
        let analysis = analyze(&scenario.network, &scenario.flows);
        let bound = analysis.streams[0].bound.as_ref().expect("a bound");
        let checked = rtether::check(&scenario, rtether::check::Options::default());
        let checked = checked.expect("it runs");
        assert_eq!(checked.conclusion, rtether::verdict::Conclusion::Met);
        (bound.latency, simulate_scenario(&scenario))
    };
    let us = Duration::from_us;
    assert_eq!(of("per-direction", ""), (us(50), us(50)));
    let reply = ", reply: { size: 1024 B, after: 5 us }";
    for servers in ["shared", "per-direction"] {
        let (bound, seen) = of(servers, reply);
        assert_eq!(seen, us(105));
        assert!(bound >= seen && bound <= us(300), "{bound}");
    }
}

/// Bulk of two stations before a message with DSCP 46, through a router to a link of 10 Mbit/s.
const GATE: &str = "rtether: 1\n\
    nodes: { a: { stack: zero }, b: { stack: zero }, c: { stack: zero }, d: { stack: zero } }\n\
    routers: { gate: { ports: 4, cost: 20 us, queues: 4, INGRESS } }\n\
    links:\n  - { ends: [a, \"gate:1\"], rate: 100 Mbit/s }\n\
    \x20 - { ends: [b, \"gate:2\"], rate: 100 Mbit/s }\n\
    \x20 - { ends: [c, \"gate:3\"], rate: 10 Mbit/s }\n\
    \x20 - { ends: [d, \"gate:4\"], rate: 100 Mbit/s }\n\
    flows:\n  - { name: f, from: a, to: c, size: 100 B, period: 10 ms, dscp: 46, deadline: 5 ms }\n\
    \x20 - { name: g, from: b, to: c, size: 1400 B, kind: flood, rate: 4 Mbit/s }\n\
    \x20 - { name: h, from: d, to: c, size: 1400 B, kind: flood, rate: 4 Mbit/s }\n\
    run: { for: 2 s }\n";

/// Oracle: by hand: with rules at its entry the message has the highest queue and waits at the egress
/// for one frame of 1446 octets with its preamble and gap, 1.1728 ms, and before the processor for two
/// packets of 20 us. On its way it takes 12.32 us, 20 us and 123.2 us. Without rules it may wait for
/// two frames.
#[test]
fn rules_at_a_router_choose_the_queue() {
    let of = |ingress: &str| {
        let text = GATE.replace("INGRESS", ingress);
        let scenario = load("gate.yaml", &text).into_scenario().expect("a good scenario");
        let analysis = analyze(&scenario.network, &scenario.flows);
        let bound = analysis.streams[0].bound.as_ref().expect("a bound").latency;
        let seen = simulate_scenario(&scenario);
        assert!(seen <= bound, "{seen} exceeds {bound}");
        bound
    };
    let plain = of("queue: 1000");
    let marked = of("ingress: [{ dscp: 46, mark: 6 }]");
    let way = Duration::from_ns(12_320 + 20_000 + 123_200);
    let frame = Duration::from_ns(1_172_800);
    assert!(marked <= way + Duration::from_us(40) + frame, "{marked}");
    assert!(marked > way + frame, "{marked}");
    assert!(plain > way + frame * 2, "{plain} and {marked}");
    // A rule sees the DSCP that came, whatever it gives.
    assert_eq!(of("ingress: [{ dscp: 46, mark: 6, mark_dscp: 10 }]"), marked);
}

fn simulate_scenario(scenario: &rtether::scenario::Scenario) -> Duration {
    use rtether::run::{Progress, simulate};
    let results = simulate(scenario, &Progress::default()).expect("it runs");
    results.record.streams[0].latency.max
}
