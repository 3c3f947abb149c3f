//! Lowering of station keys: stacks, tasks, priority queues; smoothers in a submodule.

mod smoothers;

use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;

use rtether_model::endnode::{
    Detector, HeaderMatch, Layer, LowTurn, PortRange, Prefix, PriorityTable, Receive,
    ReceiveConfig, ReceiveSelection, RingEmpty, Rule, TosMatch, TransmitConfig, TransmitStrategy,
};
use rtether_model::network::{
    Cost, EndStation, Jitter, Pcp, QueueMap, RtosStack, Selection, Spread, Stack, Tasks,
};
use rtether_model::quantity::{BitRate, Duration};
use rtether_model::smoother::Mode;
use rtether_model::unknown::{self, CostName};
use rtether_scenario::{Override, load, load_with, render};

fn text(stacks: &str, node: &str) -> String {
    format!(
        "rtether: 1\n\
         stacks: {{ {stacks} }}\n\
         nodes:\n  b: {{ stack: zero }}\n  a: {{ {node} }}\n\
         links: [{{ ends: [a, b], rate: 100 Mbit/s }}]\n\
         flows: [{{ name: x, from: a, to: b, period: 20 ms, size: 64 B }}]\n"
    )
}

/// Returns node `a` of a plant with these stacks.
fn node_with(stacks: &str, node: &str) -> EndStation {
    let mut loaded = load("test.yaml", &text(stacks, node));
    // The only flow meets few of the rules that are read here.
    loaded.diagnostics.retain(|own| own.code != "idle-rule");
    assert_eq!(loaded.text(render::Style::Plain), "");
    let scenario = loaded.scenario.expect("no errors");
    let id = scenario.network.find("a").expect("declared");
    scenario.network.end_station(id).expect("a station").clone()
}

fn node(text: &str) -> EndStation {
    node_with("", &format!("stack: zero, {text}"))
}

fn layer(text: &str) -> Layer {
    *node(text).layer.expect("a layer")
}

fn receive(text: &str) -> Receive {
    layer(&format!("receive_queues: {{ {text} }}")).receive.expect("receive queues")
}

fn transmit(text: &str) -> TransmitConfig {
    layer(&format!("transmit_queues: {{ {text} }}")).transmit.expect("transmit queues")
}

const MS: fn(i64) -> Duration = Duration::from_ms;

#[test]
fn stacks_of_a_real_time_system() {
    let station = node_with(
        "vxworks: { datagram: 101 us + 1 ns/B, segment: 50 us, acknowledgement: 25 us, jitter: 10 us }",
        "stack: vxworks",
    );
    let us = |us| Cost { base: Duration::from_us(us), per_octet: Duration::ZERO };
    let stack = RtosStack {
        datagram: Cost { per_octet: Duration::from_ns(1), ..us(101) },
        segment: us(50),
        acknowledgement: us(25),
        jitter: Jitter { spread: Spread::Uniform { max: Duration::from_us(10) }, outliers: None },
    };
    assert_eq!(station.stack, Stack::Rtos(stack));
    assert_eq!((station.tasks, station.layer), (None, None));
}

/// By the table of keys: the least is the cost, and what it may be more stands beside it.
#[test]
fn a_cost_that_is_not_known_has_two_ends() {
    let us = Duration::from_us;
    let of = |stack: &str| {
        let station = node_with("", &format!("stack: {{ {stack} }}"));
        let known = CostName::ALL.map(|cost| (unknown::stated(&station.unknown, cost), cost));
        let found = known.into_iter().filter(|(more, _)| *more > Duration::ZERO);
        (station.stack, found.collect::<Vec<(Duration, CostName)>>())
    };
    let (stack, more) = of("send: 5 us + 1 ns/B, receive: { unknown: 20 us .. 200 us }");
    let Stack::Linear(linear) = stack else { panic!("a linear stack, found {stack:?}") };
    assert_eq!([linear.send.base, linear.receive.base], [us(5), us(20)]);
    assert_eq!(more, [(us(180), CostName::Receive)]);
    let (stack, more) = of("service: { unknown: 20 us .. 50 us }");
    assert_eq!(stack, Stack::IpRate { service: us(20) });
    assert_eq!(more, [(us(30), CostName::Service)]);
    let tasks = "send: 1 us, receive: 1 us, tasks: { message: { unknown: 0 us .. 4 us } }";
    assert_eq!(of(tasks).1, [(us(4), CostName::TaskMessage)]);
    // Both ends are the same, so it is known.
    assert_eq!(of("send: 1 us, receive: { unknown: 2 us .. 2 us }").1, []);
    // A sum of both directions, alone and beside what is known of one.
    let (stack, more) = of("both: 320 us");
    let Stack::Linear(linear) = stack else { panic!("a linear stack, found {stack:?}") };
    assert_eq!([linear.send.base, linear.receive.base], [us(0), us(0)]);
    assert_eq!(more, [(us(320), CostName::Both)]);
    let (stack, more) = of("both: 320 us, receive: 40 ns/B");
    let Stack::Linear(linear) = stack else { panic!("a linear stack, found {stack:?}") };
    assert_eq!((linear.receive.per_octet, linear.send), (Duration::from_ns(40), Cost::default()));
    assert_eq!(more, [(us(320), CostName::Both)]);
    // The sum is not known, either: its most can be split, and may be above its least by the rest.
    let (_, more) = of("both: { unknown: 300 us .. 320 us }");
    assert_eq!(more, [(us(320), CostName::Both), (us(20), CostName::Sum)]);
    // What a node says counts instead of what its stack says.
    let own = node_with(&format!("s: {{ {tasks} }}"), "stack: s, tasks: { message: 3 us }");
    assert_eq!(own.unknown, []);
}

#[test]
fn built_in_stacks_need_no_declaration() {
    for (name, us) in [("skeie-workstation", 200), ("skeie-controller", 50)] {
        let service = Duration::from_us(us);
        let station = node_with("", &format!("stack: {name}, stack_queue: 7"));
        assert_eq!(station.stack, Stack::IpRate { service });
        assert_eq!(station.stack_queue, 7);
    }
}

#[test]
fn tasks() {
    let plain = node("tasks: { message: 5 us }").tasks;
    let tasks =
        Tasks { message: Duration::from_us(5), segment: Duration::ZERO, messages_first: false };
    assert_eq!(plain, Some(tasks));
    let full = node("tasks: { message: 5 us, segment: 40 us, order: messages-first }").tasks;
    let tasks = Tasks { segment: Duration::from_us(40), messages_first: true, ..tasks };
    assert_eq!(full, Some(tasks));
}

#[test]
fn what_a_node_says_counts_instead_of_what_its_stack_says() {
    let stacks = "s: { rate: 5000 packets/s, tasks: { message: 5 us }, smoother: { mode: none }, \
                  transmit_queues: { strategy: strict }, receive_queues: { selection: instances } }";
    let station = node_with(
        stacks,
        "stack: s, priorities: { queues: 4 }, receive_queues: { selection: highest-first }",
    );
    assert!(station.tasks.is_some());
    let layer = station.layer.expect("a layer");
    assert!(layer.smoother.is_some());
    // The four queues of the node apply to the stack's settings as well.
    assert_eq!(layer.transmit.expect("of the stack").queue_limits, [1000; 4]);
    assert!(matches!(layer.receive, Some(Receive::Queues(_))));
}

#[test]
fn priorities_and_rules() {
    let plain = layer("transmit_queues: { strategy: strict }");
    assert_eq!(plain.table, PriorityTable::HIGH_LOW);
    assert!(plain.rules.is_empty() && !plain.icmp_unclassified);
    let full = layer(
        "receive_queues: { selection: highest-first }, priorities: { queues: 3, \
         pcp_map: [0, 0, 0, 1, 1, 1, 2, 2], untagged: 1, icmp_unclassified: true, rules: [\
         { dscp: 46, queue: 2 }, { protocol: udp, port: 5000, queue: 1 }, \
         { protocol: 6, source_port: 20-21, from: 10.0.0.0/8, to: 10.0.0.7, queue: 0 }, \
         { ethertype: '0x88b8', queue: 2 }] }",
    );
    let map = QueueMap::new(3, [0, 0, 0, 1, 1, 1, 2, 2]).unwrap();
    assert_eq!(Some(full.table), PriorityTable::new(map, 1));
    assert_eq!(full.table.class_of(Pcp::new(6)), 2);
    assert!(full.icmp_unclassified);
    let address = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
    let none = HeaderMatch::default();
    let rules = [
        HeaderMatch { tos: Some(TosMatch::dscp(46)), ..none },
        HeaderMatch { protocol: Some(17), destination_port: Some(PortRange::one(5000)), ..none },
        HeaderMatch {
            protocol: Some(6),
            source_port: Some(PortRange { first: 20, last: 21 }),
            source: Some(Prefix { address: address(0), bits: 8 }),
            destination: Some(Prefix::host(address(7))),
            ..none
        },
        HeaderMatch { ethertype: Some(0x88b8), ..none },
    ];
    let rules = rules.into_iter().zip([2, 1, 0, 2]);
    let rules: Vec<Rule> = rules.map(|(headers, class)| Rule { headers, class }).collect();
    assert_eq!(full.rules, rules);
}

#[test]
fn receive_queues() {
    let queues = |selection| {
        Receive::Queues(ReceiveConfig {
            input_limit: 1000,
            queue_limits: vec![1000, 1000],
            selection,
        })
    };
    let highest = ReceiveSelection::HighestFirst;
    assert_eq!(receive("selection: highest-first"), queues(highest));
    let promoting = ReceiveSelection::PROMOTING;
    assert_eq!(receive("selection: promoting"), queues(promoting));
    let promoting = ReceiveSelection::Promoting { picks: NonZeroU32::new(3).unwrap() };
    assert_eq!(receive("selection: promoting, picks: 3"), queues(promoting));
    let flag = ReceiveSelection::LOW_FLAG;
    assert_eq!(receive("selection: low-flag"), queues(flag));
    let flag = ReceiveSelection::LOW_FLAG_LITERAL;
    let text = "selection: low-flag, idle_release: never";
    assert_eq!(receive(text), queues(flag));
    let flag = ReceiveSelection::LowFlag { idle_release: Some(MS(5)), low_turn: LowTurn::BelowTop };
    let text = "selection: low-flag, idle_release: 5 ms, low_turn: below-top";
    assert_eq!(receive(text), queues(flag));
    let limited = receive("selection: highest-first, limit: [10, 20], input_limit: 5");
    let config = ReceiveConfig { input_limit: 5, queue_limits: vec![10, 20], selection: highest };
    assert_eq!(limited, Receive::Queues(config));
    let queue_limits = vec![30, 30];
    let instances = receive("selection: instances, limit: 30");
    assert_eq!(instances, Receive::Instances { queue_limits });
}

#[test]
fn transmit_queues() {
    let queues = |strategy| TransmitConfig {
        ring_limit: TransmitConfig::DEFAULT_RING_LIMIT,
        queue_limits: vec![1000, 1000],
        high_from: None,
        strategy,
    };
    let strict = queues(TransmitStrategy::STRICT);
    assert_eq!(transmit("strategy: strict"), strict);
    let literal = queues(TransmitStrategy::STRICT_LITERAL);
    assert_eq!(transmit("strategy: strict, idle_release: never"), literal);
    let moderate = queues(TransmitStrategy::MODERATE);
    assert_eq!(transmit("strategy: moderate"), moderate);
    let full = transmit("strategy: moderate, empty: none-waiting, high_from: 0, ring: 4, limit: 9");
    let config = TransmitConfig {
        ring_limit: 4,
        queue_limits: vec![9, 9],
        high_from: Some(0),
        strategy: TransmitStrategy::Moderate { empty: RingEmpty::NoneWaiting },
    };
    assert_eq!(full, config);
    let rings = queues(TransmitStrategy::Rings { count: 2 });
    assert_eq!(transmit("strategy: rings, rings: 2"), rings);
    let weights = [3, 1, 1, 1, 1, 1, 1, 1];
    let select = queues(TransmitStrategy::Selection(Selection::Wrr { weights }));
    let text = "strategy: select, selection: wrr, weights: [3, 1]";
    assert_eq!(transmit(text), select);
    let text = "strategy: select, selection: cbs, idle_slopes: [0 bit/s, 7 Mbit/s], ring: 1";
    let TransmitStrategy::Selection(Selection::Cbs { idle_slopes }) = transmit(text).strategy
    else {
        panic!("{:?}", transmit(text).strategy);
    };
    assert_eq!(idle_slopes[..2], [0, 7].map(BitRate::from_mbps));
    // One queue: the engine takes the sum.
    let fifo = transmit("strategy: fifo, limit: 101");
    assert_eq!(fifo.strategy, TransmitStrategy::Fifo);
    assert_eq!(fifo.queue_limits, [51, 50]);
}

#[test]
fn overrides_reach_the_keys_of_a_station() {
    let sets = [
        "nodes.a.smoother.mode=nt",
        "nodes.a.smoother.detector.visibility=50 %",
        "nodes.a.smoother.detector.kind=collisions",
        "nodes.a.tasks.message=5 us",
        "nodes.a.priorities.queues=4",
        "nodes.a.transmit_queues.strategy=strict",
        "nodes.a.receive_queues.selection=promoting",
        "stacks.s.receive_queues.selection=instances",
        "stacks.s.datagram=3 us",
    ];
    let sets = sets.map(|set| Override::parse(set).unwrap());
    let text = text("s: { datagram: 1 us, segment: 1 us, acknowledgement: 1 us }", "stack: s");
    let loaded = load_with("test.yaml", &text, &sets).into_scenario();
    let scenario = loaded.unwrap_or_else(|words| panic!("{words}"));
    let id = scenario.network.find("a").unwrap();
    let station = scenario.network.end_station(id).unwrap();
    assert!(matches!(&station.stack, Stack::Rtos(s) if s.datagram.base == Duration::from_us(3)));
    assert_eq!(station.tasks.unwrap().message, Duration::from_us(5));
    let layer = station.layer.as_ref().unwrap();
    assert_eq!(layer.table.count(), 4);
    assert!(matches!(layer.receive, Some(Receive::Queues(_))));
    let smoothing = layer.smoother.unwrap();
    assert!(matches!(smoothing.config.mode, Mode::Nt(_)));
    let visibility_per_million = 500_000;
    let detector = Detector::OwnCollisions { visibility_per_million };
    assert_eq!(smoothing.detector, detector);
}

#[test]
fn who_plays_a_node_is_said_by_its_stack_or_itself() {
    let plc = "plc: { rate: 5000 packets/s, emulate: true }";
    let emulated = |stacks: &str, node: &str| node_with(stacks, node).emulate;
    assert!(emulated(plc, "stack: plc"));
    assert!(!emulated(plc, "stack: plc, emulate: false"));
    assert!(emulated("", "stack: zero, emulate: true"));
    assert!(emulated("", "stack: skeie-controller, emulate: true"));
    assert!(emulated("", "stack: { service: 1 us, emulate: true }"));
    assert!(!emulated("", "stack: zero"));
}
