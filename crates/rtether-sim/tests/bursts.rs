//! Repeated files, against closed forms.

use rtether_model::flow::{Bulk, Bursts, TcpParameters, Traffic, Transfer};
use rtether_model::network::Stack;
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::record::TransferRecord;
use rtether_sim::observe::{Fingerprint, NoObserver};

use crate::support::{Plant, periodic, plain_switch};

const US: fn(i64) -> Duration = Duration::from_us;
const NS: fn(i64) -> Duration = Duration::from_ns;

/// Files of `size` octets over a switch with two links of 10 Mbit/s, full duplex.
fn files(size: u64, mean_gap: Option<Duration>) -> Plant {
    let mut plant = Plant::default();
    let switch = plant.switch(plain_switch());
    let [a, b] = [(); 2].map(|()| plant.station(Stack::Zero));
    plant.join(switch, a, 10);
    plant.join(switch, b, 10);
    let flow = plant.flow(periodic("files", a, b));
    flow.traffic = Traffic::Bulk(Bulk {
        transfers: Vec::new(),
        bursts: Some(Bursts { size: Bytes::new(size), mean_gap }),
        rate: None,
        tcp: TcpParameters {
            window: Bytes::new(32_768),
            ack_delay: Duration::from_ms(20),
            ..TcpParameters::default()
        },
    });
    plant
}

fn bulk(plant: &mut Plant) -> &mut Bulk {
    let Traffic::Bulk(bulk) = &mut plant.flows[0].traffic else { panic!() };
    bulk
}

fn run(plant: &Plant, ms: i64) -> Vec<TransferRecord> {
    let record = plant.run_with(ms, 1, &mut NoObserver);
    record.streams[0].transfers.clone()
}

/// Duration of a file of one megabyte: to its last octet, and until the talker knows.
///
/// Handshake: two frames of 64 octets, 57.6 us on each link. Then 684 segments of 1460 octets,
/// 1230.4 us each with the gap, and one of 1360 octets, 1140.8 us; the window never blocks. The
/// first frame reaches the switch after 1220.8 us; the last one waits there for its predecessor.
/// The acknowledgement takes two times 57.6 us.
fn megabyte() -> (Duration, Duration) {
    let handshake = NS(57_600) * 4;
    let data = NS(1_220_800) + NS(1_230_400) * 684 + NS(1_140_800);
    (handshake + data, handshake + data + NS(57_600) * 2)
}

#[test]
fn back_to_back_files_fill_the_link() {
    // Oracle: the frame times above; 32 KB are 22 segments, 27 ms of the link, and the delay of
    // an acknowledgement is below 3 ms.
    let mut plant = files(1_000_000, None);
    plant.flows[0].start = US(1_500);
    let transfers = run(&plant, 10_000);
    let (to_last_octet, to_next) = megabyte();
    // 10 s / 844.3 ms = 11.8.
    assert_eq!(transfers.len(), 12);
    let mut begin = Instant::ZERO + US(1_500);
    for transfer in &transfers[..11] {
        assert_eq!(transfer.started_at, begin);
        assert_eq!(transfer.finished_at, Some(begin + to_last_octet));
        assert_eq!(transfer.delivered, Bytes::new(1_000_000));
        assert_eq!((transfer.retransmissions, transfer.timeouts), (0, 0));
        begin += to_next;
    }
    assert_eq!(transfers[11].finished_at, None);
}

#[test]
fn bursts_come_after_the_list_and_end_with_the_flow() {
    let mut plant = files(1_000_000, None);
    plant.flows[0].stop = Some(Duration::from_ms(3_000));
    let at = |ms, size| Transfer { start: Duration::from_ms(ms), size: Some(Bytes::new(size)) };
    bulk(&mut plant).transfers = vec![at(100, 10), at(500, 20)];
    let transfers = run(&plant, 10_000);
    let sizes: Vec<u64> = transfers.iter().map(|t| t.delivered.get()).collect();
    // From 500 ms on: (3000 - 500) / 844.3 = 2.96, so the third is the last to begin.
    assert_eq!(sizes, [10, 20, 1_000_000, 1_000_000, 1_000_000]);
    assert!(transfers.iter().all(|t| t.finished_at.is_some()));
}

#[test]
fn random_files_come_as_often_as_they_should() {
    // Oracle: a Poisson process of rate 100/s for 100 s; 5 standard deviations of 100. A file of
    // 1000 octets takes 2.1 ms with its handshake, so that some wait: an M/D/1 queue, in which
    // starts are as frequent as arrivals.
    let mut plant = files(1_000, Some(Duration::from_ms(10)));
    plant.flows[0].stop = Some(Duration::from_ms(100_000));
    let transfers = run(&plant, 101_000);
    assert!((9_500..=10_500).contains(&transfers.len()), "{}", transfers.len());
    let end = Instant::ZERO + Duration::from_ms(100_000);
    assert!(transfers.iter().all(|t| t.started_at < end));
    // Only the transmission is measured, not the wait for the predecessor: all take equally long.
    // Frames: 64 for the handshake, 1058 octets twice 852.8 us.
    let time = NS(57_600) * 4 + NS(852_800) * 2;
    for transfer in &transfers {
        assert_eq!(transfer.finished_at, Some(transfer.started_at + time));
    }
    let cycle = time + NS(57_600) * 2;
    let gaps = transfers.windows(2).map(|pair| pair[1].started_at - pair[0].started_at);
    let waited = gaps.clone().filter(|&gap| gap == cycle).count();
    assert!(gaps.clone().all(|gap| gap >= cycle));
    // A file waits if its predecessor is running: a share rho = 2.05 ms / 10 ms of Poisson
    // arrivals.
    let share = 100 * waited / transfers.len();
    assert!((18..=23).contains(&share), "{share} %");
}

#[test]
fn files_that_come_too_often_follow_each_other() {
    // Oracle: the run without gaps, shifted to the first file.
    let greedy = run(&files(1_000_000, None), 10_000);
    let swamped = run(&files(1_000_000, Some(Duration::from_ms(1))), 10_000);
    assert_eq!(swamped.len(), greedy.len());
    let offset = swamped[0].started_at - greedy[0].started_at;
    for (one, other) in greedy.iter().zip(&swamped).skip(1) {
        assert_eq!(one.started_at + offset, other.started_at);
    }
}

#[test]
fn lossy_files_arrive_whole_and_runs_repeat() {
    let run = |seed| {
        let mut plant = files(50_000, Some(Duration::from_ms(100)));
        plant.network.links[0].errors_per_billion = 10_000_000;
        let mut simulation = plant.simulation(seed);
        let mut fingerprint = Fingerprint::default();
        for step in 1..=500 {
            simulation.run_until(Instant::ZERO + Duration::from_ms(10) * step, &mut fingerprint);
            simulation.invariants().unwrap();
        }
        let transfers = simulation.finish().streams[0].transfers.clone();
        let finished = transfers.iter().filter(|t| t.finished_at.is_some());
        assert!(finished.clone().all(|t| t.delivered == Bytes::new(50_000)));
        assert!(finished.clone().any(|t| t.retransmissions > 0));
        fingerprint
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
