//! Discovery of many participants over a switch: duration and cost.
//!
//! Oracle: samples flow once all endpoints are matched, and the number of discovery datagrams grows
//! no faster than the pairs of participants. Figures are printed with `--nocapture`.
#![allow(clippy::print_stdout, reason = "figures")]

use std::collections::BTreeMap;

use rtether_model::flow::{Phase, Traffic};
use rtether_model::network::{NodeId, PortId, Stack};
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::wire::{Encapsulation, RtpsVersion};
use rtether_rtps::wire::{self, Submessage};
use rtether_sim::observe::{Datagram, Delivery, Observer, PacketInfo};

use crate::support::{Plant, periodic, plain_switch};

/// Number of writers per station, and of readers.
const TOPICS: usize = 5;
/// Limit of datagrams per ordered pair of participants: announcements, and samples, heartbeats and
/// acknowledgments of each of the three built-in writers.
const PER_PAIR_MAX: u64 = 40;

#[derive(Default)]
struct Seen {
    /// Octets of the next frame, if it is discovery.
    next: Option<usize>,
    datagrams: u64,
    octets: usize,
    /// When the first sample of each stream arrived.
    first: BTreeMap<usize, Instant>,
}

impl Observer for Seen {
    fn carries(&mut self, datagram: &Datagram<'_>) {
        let parts = wire::parse(datagram.octets).unwrap().submessages();
        let of_application = |part| {
            let writer = if let Submessage::Data(data) = part {
                data.writer
            } else if let Submessage::Heartbeat(heartbeat) = part {
                heartbeat.writer
            } else if let Submessage::AckNack(acknowledgment) = part {
                acknowledgment.writer
            } else {
                return false;
            };
            !writer.is_built_in()
        };
        let is_user = parts.flatten().any(of_application);
        self.next = (!is_user).then_some(datagram.octets.len());
    }

    fn transmitted(&mut self, _: Instant, port: PortId, _: &PacketInfo) {
        // The first node is the switch; the frames it forwards have been counted before.
        let next = self.next.take().filter(|_| port.node != NodeId(0));
        self.datagrams += u64::from(next.is_some());
        self.octets += next.unwrap_or(0);
    }

    fn delivered(&mut self, now: Instant, _: &PacketInfo, delivery: &Delivery) {
        self.first.entry(delivery.stream).or_insert(now);
    }
}

/// Stations with equally many writers and readers, each topic between two of them, at 100 Mbit/s.
fn plant(stations: usize) -> Plant {
    let mut plant = Plant::default();
    let switch = plant.switch(plain_switch());
    let all: Vec<NodeId> = (0..stations).map(|_| plant.station(Stack::Zero)).collect();
    for &station in &all {
        plant.join(switch, station, 100);
    }
    for (number, &talker) in all.iter().enumerate() {
        for topic in 1..=TOPICS {
            let listener = all[(number + topic) % stations];
            let mut flow = periodic(&format!("{number}/{topic}"), talker, listener);
            flow.encapsulation =
                Encapsulation::Rtps { version: RtpsVersion::V2_5, is_reliable: true };
            flow.payload = Bytes::new(64);
            flow.traffic = Traffic::periodic(Duration::from_ms(10), Phase::Fixed(Duration::ZERO));
            plant.flow(flow);
        }
    }
    plant
}

#[test]
fn discovery_grows_with_the_pairs() {
    let is_nightly = std::env::var_os("RTETHER_NIGHTLY").is_some_and(|value| value == "1");
    let sizes: &[usize] = if is_nightly { &[10, 20, 50, 100] } else { &[10, 20] };
    for &stations in sizes {
        let mut seen = Seen::default();
        let record = plant(stations).run_with(5_000, 1, &mut seen);
        let streams = stations * TOPICS;
        assert_eq!(seen.first.len(), streams, "{stations}: all have met");
        let matched = *seen.first.values().max().unwrap() - Instant::ZERO;
        let pairs = u64::try_from(stations * (stations - 1)).unwrap();
        println!(
            "{stations} participants: first samples of all by {matched}; {} datagrams of discovery in \
             5 s, {} of a pair, {} octets",
            seen.datagrams,
            seen.datagrams / pairs,
            seen.octets
        );
        assert!(seen.datagrams <= PER_PAIR_MAX * pairs);
        for stream in &record.streams {
            assert_eq!(stream.dropped, 0);
        }
    }
}
