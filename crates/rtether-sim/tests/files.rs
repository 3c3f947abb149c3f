//! Files with a deadline: their latency, from the time they are due to their last octet.

use rtether_model::flow::{Bulk, Bursts, TcpParameters, Traffic, Transfer};
use rtether_model::network::Stack;
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::wire::Encapsulation;
use rtether_sim::observe::{self, Observer, PacketInfo};

use crate::support::{Plant, two_stations};

const MS: fn(i64) -> Duration = Duration::from_ms;

/// Files at these times, in ms, with these sizes, in octets.
fn files(listed: &[(i64, u64)]) -> Plant {
    let mut plant = two_stations(&Stack::Zero);
    let flow = &mut plant.flows[0];
    flow.encapsulation = Encapsulation::Tcp;
    flow.payload = Bytes::new(1_460);
    flow.deadline = Some(MS(10));
    let transfers =
        listed.iter().map(|&(at, size)| Transfer { start: MS(at), size: Some(Bytes::new(size)) });
    flow.traffic = Traffic::Bulk(Bulk {
        transfers: transfers.collect(),
        bursts: None,
        rate: None,
        tcp: TcpParameters::default(),
    });
    plant
}

/// Delivered files: number, release, latency.
#[derive(Default)]
struct Log(Vec<(u32, Instant, Duration)>);

impl Observer for Log {
    fn delivered(&mut self, _: Instant, packet: &PacketInfo, delivery: &observe::Delivery) {
        let parts = delivery.segments.iter().copied().sum::<Duration>();
        assert_eq!(parts, delivery.latency, "parts add up");
        let file = (packet.number, packet.released_at, delivery.latency);
        self.0.push(file);
    }
}

/// Oracle: by hand. SYN, SYN-ACK, then 1000 octets: frames of 64, 64 and 1058 octets over two links
/// each; the data segment also acknowledges the handshake.
#[test]
fn a_small_file_by_hand() {
    let mut log = Log::default();
    let record = files(&[(0, 1_000), (20, 1_000)]).run_with(100, 1, &mut log);
    let octet = Duration::from_ns(80);
    let by_hand = octet * (4 * 72 + 2 * 1_066);
    let stream = &record.streams[0];
    assert_eq!((stream.released, stream.delivered, stream.missed), (2, 2, 0));
    assert_eq!(stream.payload_bytes, 2_000);
    assert_eq!((stream.latency.min, stream.latency.max), (by_hand, by_hand));
    let due = |ms| Instant::ZERO + MS(ms);
    assert_eq!(log.0, [(0, due(0), by_hand), (1, due(20), by_hand)]);
}

/// Oracle: the records of the transfers, which are independent of the stream's statistics. The
/// second file is due while the first one is sent, and its latency runs from then on.
#[test]
fn a_file_that_waits_for_another_is_late_from_when_it_was_due() {
    let mut log = Log::default();
    let record = files(&[(0, 1_000_000), (1, 10_000)]).run_with(1_000, 1, &mut log);
    let stream = &record.streams[0];
    let finished: Vec<Instant> =
        stream.transfers.iter().map(|file| file.finished_at.expect("has arrived")).collect();
    let latencies = [finished[0] - Instant::ZERO, finished[1] - Instant::ZERO - MS(1)];
    let seen: Vec<Duration> = log.0.iter().map(|file| file.2).collect();
    assert_eq!(seen, latencies);
    // One megabyte takes at least 80 ms.
    assert!(latencies[0] > MS(80) && latencies[1] > MS(79));
    assert_eq!((stream.released, stream.delivered, stream.missed), (2, 2, 2));
    assert_eq!(stream.payload_bytes, 1_010_000);
    // Without a deadline the stream counts segments.
    let mut plant = files(&[(0, 1_000_000), (1, 10_000)]);
    plant.flows[0].deadline = None;
    let segments = &plant.run(1_000).streams[0];
    assert_eq!((segments.released, segments.missed), (685 + 7, 0));
    assert_eq!(segments.transfers, stream.transfers);
}

/// Oracle: the end of the run: three files are due, one has arrived, the others are late.
#[test]
fn files_that_have_not_arrived_are_late() {
    let stream = &files(&[(0, 1_000), (5, 5_000_000), (60, 1_000), (200, 1)]).run(100).streams[0];
    assert_eq!((stream.released, stream.delivered), (3, 1));
    assert_eq!((stream.in_flight, stream.missed), (2, 2));
}

/// Oracle: the files themselves: each begins when its predecessor ends, and none waits.
#[test]
fn files_without_gaps_are_due_one_after_the_other() {
    let mut plant = files(&[]);
    if let Traffic::Bulk(bulk) = &mut plant.flows[0].traffic {
        bulk.bursts = Some(Bursts { size: Bytes::new(20_000), mean_gap: None });
    }
    let stream = &plant.run(1_000).streams[0];
    let finished = stream.transfers.iter().filter(|file| file.finished_at.is_some());
    let longest = finished.clone().map(|file| file.finished_at.unwrap() - file.started_at);
    assert_eq!(stream.latency.max, longest.max().unwrap());
    assert_eq!(stream.delivered, finished.count() as u64);
    assert_eq!(stream.missed, 0);
}

/// Oracle: the link: losses are repaired, and no file is lost.
#[test]
fn lost_segments_make_files_late_and_lose_none() {
    let listed: Vec<(i64, u64)> = (0..20).map(|number| (500 * number, 50_000)).collect();
    let mut plant = files(&listed);
    plant.network.links[0].errors_per_billion = 20_000_000;
    let stream = &plant.run(20_000).streams[0];
    assert_eq!((stream.released, stream.delivered, stream.dropped), (20, 20, 0));
    assert!((1..20).contains(&stream.missed), "{} late", stream.missed);
    let again: u64 = stream.transfers.iter().map(|file| file.retransmissions).sum();
    assert!(again > 0);
}

/// Oracle: the link: nothing passes, so TCP gives each file up after its last retry (RFC 9293,
/// 3.8.3); the file is lost, not forgotten.
#[test]
fn a_file_that_is_given_up_is_lost() {
    let mut plant = files(&[(0, 1_000), (5, 1_000)]);
    plant.network.links[0].errors_per_billion = 1_000_000_000;
    let one = &plant.run(3_000_000).streams[0];
    let counts = (one.released, one.dropped, one.in_flight, one.missed);
    assert_eq!(counts, (2, 2, 0, 2));
}
