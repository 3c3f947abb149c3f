//! Messages above one frame, with deadlines, between namespaces.

use super::{Backend, measure};
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
/// its octets can have passed a link, and none is late for a deadline of ten seconds.
#[test]
fn messages_of_any_size_arrive_whole() {
    for backend in [Backend::Kernel, Backend::Emulated] {
        let test = "messages_of_any_size_arrive_whole";
        let Some((_, measured)) = measure(test, SIZES, backend) else {
            return;
        };
        assert_eq!(measured.errors, [""; 0]);
        let rate = BitRate::from_mbps(100);
        let octets = [5_000, 3_000, 3_000, 1_473 + 65_507, 100_000, 300_000];
        for (stream, octets) in measured.streams.iter().zip(octets) {
            let (sent, lost) = (stream.released, stream.lost);
            assert!(
                sent >= 3 && lost * 4 <= sent,
                "{octets} B: {lost} of {sent} lost"
            );
            assert!(stream.latency.count > 0, "{octets} B on {backend:?}");
            let least = rate.time_floor(Bytes::new(octets));
            if backend == Backend::Emulated {
                let min = stream.latency.min;
                assert!(min >= least, "{octets} B in {min}, not {least}");
            }
        }
        let file = &measured.streams[5];
        assert!(file.transfers.len() >= 3);
        let first = file.transfers.iter().filter_map(|file| file.finished_at);
        assert_eq!(file.missed, 0, "{:?}", file.latency);
        // A file due near the end has not arrived, and is not late.
        assert!(file.delivered <= first.count() as u64);
        assert!(file.latency.max < Duration::from_secs(10));
    }
}
