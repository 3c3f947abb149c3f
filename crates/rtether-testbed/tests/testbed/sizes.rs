//! Messages above one frame, with deadlines, between namespaces.

use rtether_testbed::testbed::{Measured, packets_csv};

use super::{Backend, latencies, measure, on_a_calm_host};
use rtether_model::quantity::{BitRate, Bytes, Duration};

const SIZES: &str = "
rtether: 1
name: sizes
nodes: { a: { stack: zero }, b: { stack: zero }, c: { stack: zero } }
switches: { sw: { ports: 3, latency: 2 us } }
links:
  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"sw:2\"], rate: 100 Mbit/s }
  - { ends: [c, \"sw:3\"], rate: 100 Mbit/s }
flows:
  - { name: datagram, from: a, to: b, period: 40 ms, size: 5000 B, deadline: 10 s }
  - { name: group, from: b, to: [a, c], delivery: multicast, period: 40 ms, size: 3000 B, pcp: 5 }
  - { name: echo, from: b, to: c, period: 100 ms, size: 1473 B, reply: { size: 65507 B } }
  - { name: message, from: a, to: c, over: tcp, period: 100 ms, size: 100 kB, deadline: 10 s }
  - { name: file, from: c, to: a, total: 300 kB, every: 400 ms, deadline: 10 s }
run: { for: 2 s }
";

/// Oracles: a message arrives whole or is lost; over an emulated network no message arrives before
/// its octets can have passed a link, and none is late for a deadline of ten seconds. A host that stands
/// still may carry few files; the next run is longer.
#[test]
fn messages_of_any_size_arrive_whole() {
    for backend in [Backend::Kernel, Backend::Emulated] {
        on_a_calm_host(|number| {
            let seconds = 2 << number.min(3);
            let text = SIZES.replace("for: 2 s", &format!("for: {seconds} s"));
            let (_, measured) = measure(&text, backend)?;
            assert_whole(&measured);
            let sent = measured.streams.iter().map(|stream| stream.released);
            let fewest = sent.min().unwrap_or(0);
            let told = format!("{fewest} messages in {seconds} s on {backend:?}");
            Some((fewest >= 3).then_some(()).ok_or(told))
        });
    }
}

fn assert_whole(measured: &Measured) {
    assert_eq!(measured.errors, [""; 0]);
    let rate = BitRate::from_mbps(100);
    let octets = [5_000, 3_000, 3_000, 1_473 + 65_507, 100_000, 300_000];
    for ((index, stream), octets) in (0..).zip(&measured.streams).zip(octets) {
        let (sent, lost) = (stream.released, stream.lost);
        assert!(lost * 4 <= sent, "{lost} of {sent} lost");
        let latencies = latencies(measured, index);
        assert_eq!(latencies.len() as u64, sent - lost);
        let least = rate.time_floor(Bytes::new(octets));
        if let (Backend::Emulated, Some(&min)) = (measured.backend, latencies.first()) {
            assert!(min >= least, "{octets} B in {min}, not {least}");
        }
    }
    let file = &measured.streams[5];
    assert_eq!(file.missed, 0, "{:?}", file.latency);
    assert!(latencies(measured, 5).iter().all(|&time| time < Duration::from_secs(10)));
    // A file due near the end has not arrived, and is not late.
    let whole = file.transfers.iter().filter_map(|file| file.finished_at);
    assert!(file.delivered <= whole.count() as u64);
}

const TOPICS: &str = "
rtether: 1
name: topics
nodes: { a: { stack: zero }, b: { stack: zero }, c: { stack: zero } }
switches: { sw: { ports: 3, latency: 2 us } }
links:
  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"sw:2\"], rate: 100 Mbit/s }
  - { ends: [c, \"sw:3\"], rate: 100 Mbit/s }
flows:
  - { name: state, from: a, to: [b, c], over: rtps, period: 50 ms, size: 100 B, deadline: 10 s, dscp: 46 }
  - { name: picture, from: b, to: c, over: rtps, period: 200 ms, size: 20 kB, deadline: 10 s }
  - { name: often, from: c, to: a, over: rtps-best-effort, period: 50 ms, size: 60 B }
  - { name: ask, from: a, to: b, over: rtps, period: 200 ms, size: 40 B, reply: { size: 3000 B } }
  - { name: think, from: c, to: b, over: rtps, period: 200 ms, size: 40 B, reply: { size: 40 B, after: 2 ms } }
run: { for: 4 s }
";

/// Oracles: of what is reliable, each sample arrives once and in order, so that only the last ones can
/// be missing, on a host too busy to deliver them in time. Over an emulated network none arrives
/// before its octets can have passed a link, nor an answer before its time.
#[test]
fn samples_of_topics_arrive() {
    let (rate, ms) = (BitRate::from_mbps(100), Duration::from_ms);
    let wire = |octets| rate.time_floor(Bytes::new(octets));
    let streams = [
        ("state", "b", wire(100)),
        ("state", "c", wire(100)),
        ("picture", "c", wire(20_000)),
        ("often", "a", wire(60)),
        ("ask", "b", wire(3_040)),
        ("think", "b", ms(2) + wire(80)),
    ];
    for backend in [Backend::Kernel, Backend::Emulated] {
        let Some((scenario, measured)) = measure(TOPICS, backend) else {
            return;
        };
        assert_eq!(measured.errors, [""; 0]);
        let mut packets = Vec::new();
        packets_csv(&scenario, &measured, &mut packets).expect("memory");
        let packets = String::from_utf8(packets).expect("text");
        for (stream, (flow, listener, least)) in measured.streams.iter().zip(streams) {
            let what = format!("{flow} to {listener} on {backend:?}");
            assert!(stream.delivered > 0, "{what}: {stream:?}");
            assert_eq!((stream.duplicates, stream.reordered), (0, 0), "{what}");
            if flow != "often" {
                let own = format!("{flow},{listener},");
                let own = packets.lines().filter(|line| line.starts_with(&own));
                let late = own.skip_while(|line| line.ends_with(",delivered"));
                assert!(late.clone().all(|line| line.ends_with(",lost")), "{what}:\n{packets}");
            }
            if backend == Backend::Emulated && stream.latency.count > 0 {
                let min = stream.latency.min;
                assert!(min >= least, "{what} in {min}, not {least}");
            }
        }
    }
}
