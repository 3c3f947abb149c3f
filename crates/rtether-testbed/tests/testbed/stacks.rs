//! Stations with emulated stacks.

use super::*;

const STACKS: &str = "
rtether: 1
name: stacks
stacks:
  slow: { send: 500 us, receive: 700 us, emulate: true }
nodes: { a: { stack: slow }, b: { stack: slow }, c: { stack: zero } }
switches: { sw: { ports: 3, latency: 2 us } }
links:
  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"sw:2\"], rate: 100 Mbit/s }
  - { ends: [c, \"sw:3\"], rate: 100 Mbit/s }
flows:
  - { name: one way, from: a, to: b, period: 20 ms, phase: 1 ms, size: 64 B }
  - { name: question, from: b, to: a, period: 20 ms, phase: 8 ms, size: 64 B, reply: { size: 64 B } }
  - { name: half, from: c, to: a, period: 20 ms, phase: 16 ms, size: 64 B }
run: { for: 2 s }
";

/// Oracles: the simulator, in which every packet of a stream takes the same time, since flows are
/// milliseconds apart; and the definition of a quantile. A live packet never arrives earlier, and
/// later only by the duration of the send call, its departure error, and the time from receive
/// stamp to application. The first and the last of these each exceed their third quartile in a
/// quarter of the packets, so at least half of the packets stay below the sum.
#[test]
fn emulated_stacks_take_as_long_as_the_scenario_says() {
    on_a_calm_host(|_| {
        let (scenario, measured) = measure(STACKS, Backend::Emulated)?;
        assert_complete(&scenario, &measured);
        assert_not_faster(&scenario, &measured);
        Some(takes_as_long(&scenario, &measured))
    });
}

/// Returns by what the host spoiled the latencies.
fn takes_as_long(scenario: &Scenario, measured: &Measured) -> Result<(), String> {
    let simulated = run::simulate(scenario, &run::Progress::default()).expect("runs");
    if measured.streams.iter().any(|stream| stream.latency.count == 0) {
        return Err("the host stood still all the time".into());
    }
    for record in &simulated.record.streams {
        assert_eq!(record.latency.min, record.latency.max);
    }
    let (stream, record) = (&measured.streams[0], &simulated.record.streams[0]);
    let quartile = |histogram: &Histogram| histogram.quantile(3, 4).expect("samples");
    let own = quartile(&stream.send) + quartile(&stream.receive) + measured.tolerance;
    let most = record.latency.max + own;
    let median = stream.quantile(1, 2).expect("samples");
    // Quantiles are too high by at most 1/128.
    if median > most + most / 128 {
        return Err(format!("{median}, not {most}"));
    }
    // Everything the host adds is known if stacks are emulated, so every packet counts against the
    // bound.
    let bounds = bound::latencies(&bound::analyze(scenario));
    for (stream, bound) in measured.streams.iter().zip(bounds).take(2) {
        assert_eq!(stream.outside, 0);
        let Some(worst) = stream.worst_inside else {
            return Err("the emulator stood still all the time".into());
        };
        let most = bound.expect("a bound") + measured.tolerance;
        assert!(worst.latency <= most, "{worst:?} against {most}");
    }
    Ok(())
}

/// Oracle: conservation; nothing is lost in queues that are long enough.
#[test]
fn emulated_layers_carry_everything() {
    let text = "
rtether: 1
name: layers
stacks:
  node: { datagram: 100 us, segment: 60 us, acknowledgement: 30 us, jitter: 20 us, emulate: true }
nodes:
  a:
    stack: node
    priorities: { queues: 2, rules: [{ dscp: 46, queue: 1 }] }
    receive_queues: { selection: highest-first }
    transmit_queues: { strategy: strict }
    tasks: { message: 10 us, order: messages-first }
  b: { stack: node, smoother: { mode: himd } }
  c: { stack: node, receive_queues: { selection: instances } }
hubs: { h: { ports: 3, rate: 10 Mbit/s } }
links:
  - { ends: [a, \"h:1\"] }
  - { ends: [b, \"h:2\"] }
  - { ends: [c, \"h:3\"] }
flows:
  - { name: question, from: a, to: b, period: 10 ms, size: 64 B, dscp: 46, reply: { size: 100 B } }
  - { name: event, from: b, to: [a, c], over: goose, period: 7 ms, size: 120 B, pcp: 4 }
  - { name: message, from: c, to: b, over: tcp, period: 20 ms, size: 500 B }
  - { name: ordinary, from: c, to: a, period: 11 ms, size: 1000 B }
run: { for: 1 s }
";
    let Some((scenario, measured)) = measure(text, Backend::Emulated) else {
        return;
    };
    assert_complete(&scenario, &measured);
    assert_eq!(measured.emulation.expect("it was emulated").dropped, 0);
}

/// Oracle: features that need the emulated network, and features that even that lacks.
#[test]
fn what_is_emulated_needs_the_emulated_network() {
    let text = "
rtether: 1
name: emulated
stacks: { slow: { service: 50 us } }
nodes:
  a: { stack: slow, emulate: true, tasks: { message: 5 us } }
  b: { stack: slow, emulate: true, smoother: { mode: himd } }
  c: { stack: slow, tasks: { message: 5 us } }
  d:
    stack: slow
    emulate: true
    transmit_queues: { strategy: strict }
    priorities: { rules: [{ port: 5000, queue: 1 }] }
  e: { stack: slow, receive_queues: { selection: instances } }
  f: { stack: zero, selection: edf }
switches: { sw: { ports: 6 } }
links:
  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"sw:2\"], rate: 100 Mbit/s }
  - { ends: [c, \"sw:3\"], rate: 100 Mbit/s }
  - { ends: [d, \"sw:4\"], rate: 100 Mbit/s }
  - { ends: [e, \"sw:5\"], rate: 100 Mbit/s }
  - { ends: [f, \"sw:6\"], rate: 100 Mbit/s }
flows:
  - { name: file, from: a, to: b, over: tcp }
  - { name: message, from: c, to: d, period: 10 ms, size: 64 B }
";
    let scenario = scenario(text);
    let reasons = [Backend::Kernel, Backend::Emulated].map(|backend| {
        let refused = Plan::new(&scenario, backend, "0").expect_err("impossible");
        refused.to_string()
    });
    insta::assert_snapshot!(reasons.join("\n\n"));
}
