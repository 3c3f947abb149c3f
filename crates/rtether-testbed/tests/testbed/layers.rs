//! Layers of stations played by hosts: shims.

use rtether_testbed::shim::{Direction, Status};
use rtether_testbed::testbed::HostLayer;

use super::*;

/// Asserts that every layer did all it was asked for, and that a replay of its decisions agrees.
fn assert_faithful(layers: &[HostLayer], count: usize) {
    assert_eq!(layers.len(), count);
    for layer in layers {
        assert_eq!(layer.ended, None);
        assert!(!layer.replayed.differs, "{layer:?}");
        assert!(layer.replayed.decisions >= layer.status.transmitted.frames, "{layer:?}");
        assert_eq!(layer.replayed.unrecorded, 0);
        let lost: u64 = layer.status.drops.named().iter().map(|(_, count)| count).sum();
        assert_eq!(lost, 0, "{:?}", layer.status.drops);
    }
}

/// Asserts that all packets arrived, and part of the files.
fn assert_carried(scenario: &Scenario, measured: &Measured) {
    assert_eq!(measured.errors, [""; 0]);
    for (flow, stream) in scenario.flows.iter().zip(&measured.streams) {
        if flow.name.contains("file") {
            let whole = stream.transfers.iter().filter(|file| file.finished_at.is_some());
            assert!(whole.count() > 0, "{}: {stream:?}", flow.name);
        } else {
            assert!(stream.released > 0, "{}: {stream:?}", flow.name);
            assert_eq!(stream.delivered, stream.released, "{}: {stream:?}", flow.name);
        }
    }
}

fn accepted(status: &Status, direction: Direction, class: u8) -> u64 {
    let queues = status.queues.iter();
    let mut own = queues.filter(|queue| (queue.direction, queue.class) == (direction, class));
    own.next().expect("a queue").accepted
}

/// Oracles: the replay of each shim's decisions; conservation; the number of frames the emulated
/// medium took from the hosts, which is what their shims sent.
#[test]
fn smoothers_stand_on_an_emulated_hub() {
    let text = "
rtether: 1
name: hub
stacks: { pc: { send: 0 us, receive: 0 us, smoother: { mode: himd } } }
nodes: { a: { stack: pc }, b: { stack: pc }, c: { stack: pc } }
hubs: { h: { ports: 3, rate: 10 Mbit/s } }
links:
  - { ends: [a, \"h:1\"] }
  - { ends: [b, \"h:2\"] }
  - { ends: [c, \"h:3\"] }
flows:
  - { name: question, from: a, to: b, period: 10 ms, size: 100 B, dscp: 46, reply: { size: 100 B } }
  - { name: event, from: b, to: a, over: tcp, period: 20 ms, size: 100 B, dscp: 46, reply: { size: 100 B } }
  - { name: first file, from: b, to: c, bursts: { size: 10 kB } }
  - { name: second file, from: a, to: c, bursts: { size: 10 kB } }
run: { for: 2 s }
";
    let Some((scenario, measured)) = measure(text, Backend::Emulated) else {
        return;
    };
    assert_carried(&scenario, &measured);
    assert_faithful(&measured.layers, 3);
    let sent = measured.layers.iter().map(|layer| layer.status.transmitted.frames);
    let emulation = measured.emulation.expect("it was emulated");
    // Frames that passed before the shims ran, such as the hosts' own announcements, are not
    // counted by them.
    let sent: u64 = sent.sum();
    let bypassed = measured.layers.iter().map(|layer| layer.status.bypassed.transmit);
    let bypassed: u64 = bypassed.sum();
    assert!(
        (sent..=sent + bypassed).contains(&emulation.frames),
        "{sent} and {bypassed}, but {}",
        emulation.frames
    );
    let reports = measured.layers.iter().filter_map(|layer| layer.status.smoother);
    let reports: u64 = reports.map(|smoother| smoother.statistics.reports).sum();
    assert!(reports > 0, "two files collide on a hub");
    for layer in &measured.layers {
        assert_eq!(layer.status.missed_reports, 0);
    }
}

/// Oracle: the number of tagged frames sent, which each shim must find in its high queues: it sees
/// the tags of ordinary sockets on the way out and in.
#[test]
fn tags_of_ordinary_sockets_reach_the_queues_of_shims() {
    let text = "
rtether: 1
name: queues
stacks:
  node:
    send: 0 us
    receive: 0 us
    receive_queues: { selection: highest-first }
    transmit_queues: { strategy: moderate }
nodes: { a: { stack: node }, b: { stack: node } }
switches: { sw: { ports: 2 } }
links:
  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"sw:2\"], rate: 100 Mbit/s }
flows:
  - { name: urgent, from: a, to: b, period: 10 ms, size: 100 B, pcp: 7 }
  - { name: file, from: a, to: b, bursts: { size: 100 kB, mean_gap: 50 ms } }
run: { for: 2 s }
";
    for backend in [Backend::Kernel, Backend::Emulated] {
        let Some((scenario, measured)) = measure(text, backend) else {
            return;
        };
        assert_carried(&scenario, &measured);
        assert_faithful(&measured.layers, 2);
        let [near, far] = [0, 1].map(|at: usize| &measured.layers[at].status);
        let high = near.queues.iter().map(|queue| queue.class).max().expect("queues");
        // Packets of the warm-up, a tenth of the run, are not in the statistics.
        let counted = measured.streams[0].released;
        let all = accepted(near, Direction::Transmit, high);
        assert!((counted..=counted + counted / 9 + 2).contains(&all), "{all} of {counted}");
        assert_eq!(accepted(far, Direction::Receive, high), all);
        assert!(accepted(near, Direction::Transmit, 0) > 100, "{near:?}");
    }
}
