//! Scenarios run live between namespaces of this host.
//!
//! Needs root and iproute2, which `cargo xtask test` installs if permitted (`RTETHER_IP`); a test
//! that cannot run prints why, and is counted. No test judges the speed of the host.
#![cfg(target_os = "linux")]

mod layers;
mod sizes;
mod stacks;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use rtether::report::format::{Format, Render};
use rtether::report::table::Screen;
use rtether::scenario::{self, Scenario};
use rtether::{bound, run};
use rtether_model::histogram::Histogram;
use rtether_model::quantity::Duration;
use rtether_testbed::testbed::{self, Backend, Measured, Options, Plan, Progress, TestbedError};
use rtether_testkit::{is_root, namespaces, read_document};

const STAR: &str = "
rtether: 1
name: star
nodes: { a: { stack: zero }, b: { stack: zero }, c: { stack: zero } }
switches: { sw: { ports: 3, latency: 2 us, queues: 4 } }
links:
  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"sw:2\"], rate: 10 Mbit/s }
  - { ends: [c, \"sw:3\"], rate: 100 Mbit/s }
flows:
  - { name: question, from: a, to: b, period: 5 ms, size: 64 B, pcp: 6, reply: { size: 100 B, after: 200 us } }
  - { name: adaptive, from: c, to: a, kind: adaptive, pause: 2 ms, size: 64 B, reply: { size: 64 B } }
  - { name: event, from: b, to: [a, c], over: goose, period: 4 ms, size: 120 B, pcp: 4 }
  - { name: group, from: a, to: [b, c], delivery: multicast, period: 10 ms, size: 60 B }
  - { name: ordinary, from: c, to: b, period: 2 ms, size: 1000 B }
run: { for: 1 s }
";

fn scenario(text: &str) -> Scenario {
    let loaded = scenario::load("test.yaml", text).into_scenario();
    loaded.unwrap_or_else(|words| panic!("{words}"))
}

fn options(scenario: &Scenario, backend: Backend) -> Options {
    Options { backend, duration: scenario.run.duration, seed: 1, priority: None }
}

/// Runs a scenario, whose document follows its schema; `None` if that is not possible.
fn measure(text: &str, backend: Backend) -> Option<(Scenario, Measured)> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    // One test bed at a time: an emulator and its stations fill two cores.
    static ALONE: Mutex<()> = Mutex::new(());
    if !is_root() {
        return None;
    }
    let scenario = scenario(text);
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let tag = format!("{}-t{number}", std::process::id());
    let plan = Plan::new(&scenario, backend, &tag).expect("possible");
    let options = options(&scenario, backend);
    let measured = testbed::run(&scenario, &plan, &options, &Progress::default());
    let measured = measured.expect("runs");
    let left = namespaces(&tag);
    assert!(left.is_empty(), "left behind: {left:?}");
    let assessments = &measured.assess(&scenario);
    let run = testbed::Run { scenario: &scenario, measured: &measured, assessments };
    read_document(&run.json());
    Some((scenario, measured))
}

/// Attempts what a host that stands still can spoil, such as latencies, up to six times, after ever
/// longer pauses. `attempt` gets the number of earlier attempts, asserts what no stall can change, and
/// returns what a stall may have spoiled; `None` if it cannot run here.
fn on_a_calm_host(mut attempt: impl FnMut(u32) -> Option<Result<(), String>>) {
    let mut spoiled = Vec::new();
    for (number, pause) in (0..).zip([0, 1, 2, 4, 8, 16]) {
        std::thread::sleep(std::time::Duration::from_secs(pause));
        match attempt(number) {
            Some(Err(why)) => spoiled.push(why),
            Some(Ok(())) | None => return,
        }
    }
    panic!("in every attempt:\n{}", spoiled.join("\n"));
}

/// Returns the latencies of all packets of a stream that arrived, also of those that a stall touched,
/// in ascending order.
fn latencies(measured: &Measured, stream: u16) -> Vec<Duration> {
    let own = measured.packets.kept.iter();
    let own = own.filter(|packet| packet.stream == stream);
    let mut latencies: Vec<Duration> = own.filter_map(|packet| packet.latency).collect();
    latencies.sort();
    latencies
}

fn median(measured: &Measured, stream: u16) -> Duration {
    let latencies = latencies(measured, stream);
    latencies[latencies.len() / 2]
}

/// Asserts that no packet was faster than the fastest of the simulator, whatever the host adds.
fn assert_not_faster(scenario: &Scenario, measured: &Measured) {
    let simulated = run::simulate(scenario, &run::Progress::default()).expect("runs");
    for (stream, record) in (0..).zip(&simulated.record.streams) {
        let (live, least) = (latencies(measured, stream)[0], record.latency.min);
        assert!(live >= least, "{live} of flow {} is below {least}", record.flow);
    }
}

/// Asserts that everything sent has arrived, once.
fn assert_complete(scenario: &Scenario, measured: &Measured) {
    assert_eq!(measured.errors, [""; 0]);
    assert_eq!((measured.oddities.foreign, measured.oddities.unsent), (0, 0));
    let flows = scenario.flows.iter();
    let names = flows.flat_map(|flow| flow.listeners.iter().map(|_| &flow.name));
    for (stream, name) in measured.streams.iter().zip(names) {
        assert!(stream.released > 10, "{name}: {stream:?}");
        assert_eq!(stream.delivered, stream.released, "{name}");
        assert_eq!((stream.lost, stream.duplicates, stream.reordered), (0, 0, 0), "{name}");
    }
}

/// Asserts that the individual packets add up to the counters of each stream.
fn assert_packets(scenario: &Scenario, measured: &Measured) {
    let mut file = Vec::new();
    testbed::packets_csv(scenario, measured, &mut file).expect("written to memory");
    let mut reader = csv::Reader::from_reader(file.as_slice());
    let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.expect("a row")).collect();
    let flows = scenario.flows.iter();
    let ends = flows.flat_map(|flow| flow.listeners.iter().map(move |&node| (flow, node)));
    for (stream, (flow, node)) in measured.streams.iter().zip(ends) {
        let listener = scenario.network.node(node).name.as_str();
        let own = rows.iter().filter(|row| row[0] == flow.name && &row[1] == listener);
        let own: Vec<_> = own.collect();
        let count = |column: usize, value: &str| {
            let equal = own.iter().filter(|row| &row[column] == value);
            equal.count() as u64
        };
        let name = &flow.name;
        assert_eq!(own.len() as u64, stream.released, "{name}");
        assert_eq!(count(7, "lost"), stream.lost, "{name}");
        assert_eq!(count(6, "true"), stream.stalled, "{name}");
        let calm = own.iter().filter(|row| &row[6] == "false");
        let slowest = calm.filter_map(|row| row[5].parse::<f64>().ok());
        let slowest = slowest.max_by(f64::total_cmp).unwrap_or_default();
        let max = stream.latency.max.as_secs_f64() * 1e9;
        assert!((slowest - max).abs() < 1.0, "{name}: {slowest} {max}");
        for row in own {
            let [released, received, latency] = [3, 4, 5].map(|column| row[column].parse::<f64>());
            if let (Ok(released), Ok(received), Ok(latency)) = (released, received, latency) {
                assert!((released + latency - received).abs() < 1.0, "{row:?}");
            }
        }
    }
    assert_eq!(measured.packets.more, 0);
}

/// Oracle: conservation, from the totals each application sent and received.
#[test]
fn the_kernel_carries_everything() {
    if let Some((scenario, measured)) = measure(STAR, Backend::Kernel) {
        assert_complete(&scenario, &measured);
        assert_packets(&scenario, &measured);
        // Cores were not kept awake, and the reader must be told.
        let run = testbed::Run {
            scenario: &scenario,
            measured: &measured,
            assessments: &measured.assess(&scenario),
        };
        let table = run.render(Format::Table, Screen::default());
        assert!(table.contains("may sleep deeply"), "{table}");
    }
}

/// Oracles: conservation; and the simulator with stacks at zero cost: on the same network no packet
/// can be faster than its fastest, whatever the host adds.
#[test]
fn an_emulated_network_carries_everything_and_takes_its_time() {
    let Some((scenario, measured)) = measure(STAR, Backend::Emulated) else {
        return;
    };
    assert_complete(&scenario, &measured);
    assert_packets(&scenario, &measured);
    assert_not_faster(&scenario, &measured);
    let emulation = measured.emulation.expect("it was emulated");
    assert_eq!(emulation.failed, 0);
}

/// Oracle: strict priority at a port. Both flows meet the same overload; the tagged one passes it,
/// the other waits behind the queue.
#[test]
fn tags_of_ordinary_sockets_count_on_both_backends() {
    let text = "
rtether: 1
name: priority
nodes: { a: { stack: zero }, b: { stack: zero }, c: { stack: zero } }
switches: { sw: { ports: 3, queues: 4 } }
links:
  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"sw:2\"], rate: 10 Mbit/s }
  - { ends: [c, \"sw:3\"], rate: 100 Mbit/s }
flows:
  - { name: high, from: a, to: b, period: 5 ms, size: 64 B, pcp: 6 }
  - { name: low, from: a, to: b, period: 5 ms, size: 64 B }
  - { name: flood, from: c, to: b, kind: flood, rate: 15 Mbit/s, size: 1400 B }
run: { for: 1 s }
";
    for backend in [Backend::Kernel, Backend::Emulated] {
        on_a_calm_host(|_| {
            let (_, measured) = measure(text, backend)?;
            let lost = measured.streams[0].lost;
            assert_eq!(lost, 0, "{backend:?} {:?}", measured.emulation);
            // The queue grows by 6 Mbit/s: 300 ms after half a second.
            let [high, low] = [0, 1].map(|stream| median(&measured, stream));
            let told = format!("{backend:?}: {high} against {low}");
            Some((high * 5 < low).then_some(()).ok_or(told))
        });
    }
}

/// Oracle: the definition of managed multicast. Flooded, the group fills the slow link of a station
/// that does not listen, over UDP and as raw frames, until the queue there is full; managed, it does not
/// use that link.
#[test]
fn an_emulated_switch_keeps_a_group_to_its_listeners() {
    let text = "
rtether: 1
name: group
nodes: { a: { stack: zero }, b: { stack: zero }, c: { stack: zero } }
switches: { sw: { ports: 3, multicast: HOW, buffer: 300 kB } }
links:
  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"sw:2\"], rate: 100 Mbit/s }
  - { ends: [c, \"sw:3\"], rate: 10 Mbit/s }
flows:
  - { name: small, from: a, to: c, period: 5 ms, size: 64 B }
  - { name: group, from: a, to: [b], over: OVER, delivery: multicast, kind: flood, rate: 15 Mbit/s, size: 1400 B }
run: { for: 2 s, overload: allow }
";
    for over in ["udp", "goose"] {
        on_a_calm_host(|_| {
            let run = |how: &str| {
                let text = text.replace("HOW", how).replace("OVER", over);
                let (_, measured) = measure(&text, Backend::Emulated)?;
                let dropped = measured.emulation.as_ref().expect("emulated").dropped;
                Some((median(&measured, 0), dropped))
            };
            let (managed, none) = run("managed")?;
            let (flooded, dropped) = run("unmanaged")?;
            // Decided in virtual time, from the stamps of the kernel.
            assert_eq!(none, 0, "{over}");
            // The queue grows by 5 Mbit/s: 240 ms and 300 kB after half a second.
            let told = format!("{over}: {managed} against {flooded}, {dropped} dropped");
            Some((managed * 5 < flooded && dropped > 100).then_some(()).ok_or(told))
        });
    }
}

/// Oracle: conservation on a shared medium; the load is light enough that no frame is given up.
#[test]
fn an_emulated_hub_carries_everything() {
    let text = "
rtether: 1
name: hub
nodes: { a: { stack: zero }, b: { stack: zero }, c: { stack: zero } }
hubs: { h: { ports: 3, rate: 10 Mbit/s } }
links:
  - { ends: [a, \"h:1\"] }
  - { ends: [b, \"h:2\"] }
  - { ends: [c, \"h:3\"] }
flows:
  - { name: x, from: a, to: b, period: 3 ms, phase: 0 us, size: 500 B }
  - { name: y, from: b, to: c, period: 3 ms, phase: 0 us, size: 500 B }
  - { name: z, from: c, to: a, period: 3 ms, phase: 0 us, size: 500 B }
run: { for: 1 s }
";
    if let Some((scenario, measured)) = measure(text, Backend::Emulated) {
        assert_complete(&scenario, &measured);
    }
}

/// Oracle: conservation; every message in order, every octet of the file.
#[test]
fn flows_over_tcp_arrive_whole() {
    let text = "
rtether: 1
name: tcp
nodes: { a: { stack: zero }, b: { stack: zero } }
switches: { sw: { ports: 2 } }
links:
  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"sw:2\"], rate: 100 Mbit/s }
flows:
  - { name: message, from: a, to: b, over: tcp, period: 10 ms, size: 200 B }
  - { name: question, from: b, to: a, over: tcp, period: 20 ms, size: 100 B, reply: { size: 1400 B } }
  - { name: file, from: b, to: a, over: tcp, transfers: [{ at: 100 ms, size: 500 kB }] }
run: { for: 1 s }
";
    for backend in [Backend::Kernel, Backend::Emulated] {
        let Some((_, measured)) = measure(text, backend) else {
            return;
        };
        assert_eq!(measured.errors, [""; 0], "{backend:?}");
        let [message, question, file] = &measured.streams[..] else {
            panic!("three streams");
        };
        for stream in [message, question] {
            assert!(stream.released > 10, "{backend:?}: {stream:?}");
            assert_eq!(stream.delivered, stream.released, "{backend:?}");
            assert_eq!((stream.duplicates, stream.reordered), (0, 0), "{backend:?}");
        }
        let [file] = &file.transfers[..] else {
            panic!("{:?}", file.transfers);
        };
        assert_eq!(file.delivered.get(), 500_000, "{backend:?}");
        // 500 kB at 100 Mbit/s are 40 ms; the bridge's token bucket lets no more through on
        // average.
        let time = file.finished_at.expect("it is there") - file.started_at;
        assert!(time.as_secs_f64() > 0.038, "{backend:?}: {time}");
    }
}

/// Oracle: what the model says the kernel does not support, each with a remedy.
#[test]
fn what_a_test_bed_cannot_have_is_said_before_it_is_made() {
    let text = "
rtether: 1
name: impossible
nodes: { a: { stack: zero }, b: { stack: zero }, c: { stack: zero } }
switches: { sw: { ports: 2, mode: cut-through } }
hubs: { h: { ports: 2, rate: 10 Mbit/s } }
links:
  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"sw:2\"], rate: 100 Mbit/s, errors: 10 ppm }
flows:
  - { name: short, from: a, to: b, period: 1 ms, size: 4 B }
  - { name: echo 1, from: a, to: b, over: icmp, period: 1 ms, size: 64 B }
  - { name: echo 2, from: a, to: b, over: icmp, period: 1 ms, size: 64 B, reply: { size: 65 B } }
  - { name: echo 3, from: a, to: b, over: icmp, period: 1 ms, size: 64 B, reply: { size: 64 B, after: 1 us } }
  - { name: echo 4, from: a, to: b, over: icmp, period: 1 ms, size: 64 B, reply: { size: 64 B }, pcp: 3 }
  - { name: echo 5, from: a, to: [b], over: icmp, delivery: multicast, period: 1 ms, size: 64 B, reply: { size: 64 B } }
  - { name: file, from: a, to: b, over: tcp }
  - { name: topic, from: a, to: b, over: rtps, period: 1 ms, size: 64 B, pcp: 3 }
";
    let scenario = scenario(text);
    let refused = Plan::new(&scenario, Backend::Kernel, "0").expect_err("impossible");
    let TestbedError::Unsupported { reasons, .. } = &refused else {
        panic!("{refused}");
    };
    insta::assert_snapshot!(reasons.join("\n"));
}

/// Oracle: the rule. Bridges and emulated switches know addresses, not flows, so routes through a
/// ring, and the ring itself, are refused; opened, it has one way, which the route may say.
#[test]
fn rings_with_routes_are_refused() {
    let text = "
rtether: 1
nodes: { a: { stack: zero }, b: { stack: zero } }
switches: { s1: { ports: 3 }, s2: { ports: 3 }, s3: { ports: 2 } }
links:
  - { ends: [a, \"s1:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"s2:1\"], rate: 100 Mbit/s }
  - { ends: [\"s1:2\", \"s3:1\"], rate: 100 Mbit/s }
  - { ends: [\"s3:2\", \"s2:2\"], rate: 100 Mbit/s }
  - { ends: [\"s1:3\", \"s2:3\"], rate: 100 Mbit/s, OPEN }
flows:
  - { name: f, from: a, to: b, period: 1 ms, size: 64 B, route: [a, s1, s3, s2, b] }
";
    let plan = |open: &str, backend| {
        let text = text.replace("OPEN", open);
        let loaded = scenario::load("test.yaml", &text);
        let scenario = loaded.scenario.expect("it loads");
        let plan = Plan::new(&scenario, backend, "0");
        plan.err().map(|error| error.to_string())
    };
    for (backend, word) in
        [(Backend::Kernel, "part of a loop"), (Backend::Emulated, "flow `f` has a route")]
    {
        let refusal = plan("standby: false", backend).expect("a ring");
        assert!(refusal.contains(word), "{refusal}");
        assert_eq!(plan("standby: true", backend), None);
    }
}

/// Oracles: conservation, and the simulator, whose fastest packet no packet beats. The listeners'
/// kernels reply, one of them with an emulated stack below it.
#[test]
fn echo_requests_are_answered_by_the_kernel() {
    let text = "
rtether: 1
name: echo
nodes: { a: { stack: zero }, b: { stack: zero }, c: { stack: { service: 200 us, EMULATE } } }
switches: { sw: { ports: 3 } }
links:
  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"sw:2\"], rate: 10 Mbit/s }
  - { ends: [c, \"sw:3\"], rate: 100 Mbit/s }
flows:
  - { name: both, from: a, to: [b, c], over: icmp, period: 9 ms, size: 56 B, reply: { size: 56 B } }
  - { name: adaptive, from: b, to: a, over: icmp, kind: adaptive, pause: 3 ms, size: 1400 B, reply: { size: 1400 B } }
  - { name: other, from: b, to: a, period: 10 ms, size: 64 B, dscp: 46 }
run: { for: 1 s }
";
    for (backend, emulate) in [(Backend::Kernel, "false"), (Backend::Emulated, "true")] {
        let text = text.replace("EMULATE", &format!("emulate: {emulate}"));
        let Some((scenario, measured)) = measure(&text, backend) else {
            return;
        };
        assert_complete(&scenario, &measured);
        if backend == Backend::Kernel {
            continue;
        }
        assert_not_faster(&scenario, &measured);
    }
}

/// Oracle: the printed plan is the same for the same scenario and names everything, priorities as
/// classes. Running it in a shell is not tested here.
#[test]
fn the_plan_can_be_read_before_it_is_run() {
    let plan = Plan::new(&scenario(STAR), Backend::Kernel, "0").expect("possible");
    insta::assert_snapshot!(plan.to_string());
    let plan = Plan::new(&scenario(STAR), Backend::Emulated, "0").expect("possible");
    insta::assert_snapshot!(plan.to_string());
}
