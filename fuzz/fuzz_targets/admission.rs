//! Hands arbitrary octets to the manager of channels and to a station: no panic, no more answers
//! than listeners, no more channels than there is room for, and nothing granted that a port cannot
//! send in time.
//!
//! `cargo +nightly fuzz run admission -- -max_len=4096`
#![no_main]

use libfuzzer_sys::fuzz_target;
use rtether_model::admission::Admission;
use rtether_model::mac::MacAddress;
use rtether_model::network::{EndStation, Network, NodeId, NodeKind, Selection, Stack, Switch};
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_proto::admission::{Manager, Message, Party};

const STATIONS: u32 = 4;
const ROOM: u32 = 8;
/// Offers to all listeners, or releases to them, and an answer.
const ANSWERS_MAX: usize = Admission::LISTENERS + 1;

fn address(node: NodeId) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, node.0 as u8])
}

/// A switch, node 0, with its manager, node 1, and stations behind it.
fn star() -> Network {
    let mut network = Network::default();
    let switch = Switch { selection: Selection::EarliestDeadline, ..Switch::new(0) };
    let switch = network.add("switch", NodeKind::Switch(switch));
    for number in 0..STATIONS {
        let station = NodeKind::EndStation(EndStation::new(Stack::Zero));
        let station = network.add(&format!("s{number}"), station);
        network.join(switch, station, BitRate::from_mbps(100));
    }
    network
}

fuzz_target!(|octets: &[u8]| {
    if let Some(message) = Message::parse(octets) {
        assert_eq!(Message::parse(&message.to_octets()), Some(message));
    }
    let config = Admission {
        manager: NodeId(1),
        channels: ROOM,
        accepts: ROOM,
        retry: Admission::RETRY,
        attempts: Admission::ATTEMPTS,
        other: Bytes::ZERO,
    };
    let mut manager = Manager::new(config, &star(), address);
    let mut party = Party::new(config, address(NodeId(2)), address(NodeId(1)));
    let mut now = Instant::ZERO;
    // Each message begins with its sender, the time since the one before in milliseconds, and its
    // length.
    let mut rest = octets;
    while let Some((&[from, wait, length], behind)) = rest.split_first_chunk() {
        let (message, behind) = behind.split_at(usize::from(length).min(behind.len()));
        rest = behind;
        now = now + Duration::from_ms(i64::from(wait));
        manager.handle(now, address(NodeId(u32::from(from))), message);
        party.handle(now, address(NodeId(u32::from(from))), message);
        let answers = std::iter::from_fn(|| manager.poll_transmit()).count();
        assert!(answers <= ANSWERS_MAX);
        assert!(std::iter::from_fn(|| party.poll_transmit()).count() <= 1);
        manager.handle_timeout(now);
        while manager.poll_transmit().is_some() {}
        manager.invariants();
        assert!(party.accepted() <= ROOM as usize);
    }
});
