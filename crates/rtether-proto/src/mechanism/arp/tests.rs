use std::collections::BTreeSet;
use std::vec;
use std::vec::Vec;

use proptest::prelude::*;
use rtether_model::quantity::Duration;

use super::*;

const CONFIG: Arp = Arp {
    lifetime: Duration::from_ms(100),
    retry: Duration::from_ms(10),
    attempts: 3,
    hold: Bytes::new(300),
};

const fn address(number: u8) -> Address {
    Address {
        hardware: MacAddress([2, 0, 0, 0, 0, number]),
        protocol: Ipv4Addr::new(10, 0, 0, number),
    }
}

const fn at(ms: i64) -> Instant {
    Instant::from_ps(ms * 1_000_000_000)
}

fn resolver() -> Resolver<u32> {
    Resolver::new(CONFIG, address(1), 4)
}

/// Offers a packet of 100 octets; returns the address that it may go to, `None` if it is held.
fn offer(own: &mut Resolver<u32>, ms: i64, packet: u32, to: u8) -> Option<MacAddress> {
    let to = address(to).protocol;
    let known = own.known(at(ms), to);
    let offered = own.offer(at(ms), packet, Bytes::new(100), to);
    assert_eq!(offered, if known.is_some() { Offer::Pass } else { Offer::Hold });
    known
}

fn reply(from: u8, to: u8) -> Message {
    let asked = Message::request(address(to), address(from).protocol);
    asked.answer(address(from)).unwrap()
}

fn sent(own: &mut Resolver<u32>) -> Vec<Transmit<u32>> {
    own.invariants();
    core::iter::from_fn(|| own.poll_transmit()).collect()
}

fn dropped(own: &mut Resolver<u32>) -> Vec<u32> {
    core::iter::from_fn(|| own.poll_dropped()).collect()
}

/// Oracle: RFC 826, the packet format, octet by octet.
#[test]
fn a_request_has_the_octets_of_the_standard() {
    let request = Message::request(address(1), address(2).protocol);
    let octets =
        [0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2];
    assert_eq!(request.to_octets(), octets);
    let answer = request.answer(address(2)).unwrap();
    let octets =
        [0, 1, 8, 0, 6, 4, 0, 2, 2, 0, 0, 0, 0, 2, 10, 0, 0, 2, 2, 0, 0, 0, 0, 1, 10, 0, 0, 1];
    assert_eq!(answer.to_octets(), octets);
    assert_eq!(request.answer(address(3)), None);
    assert_eq!(answer.answer(address(1)), None);
}

#[test]
fn packets_wait_for_the_reply_and_keep_their_order() {
    let mut own = resolver();
    assert_eq!(offer(&mut own, 0, 1, 2), None);
    let request = Message::request(address(1), address(2).protocol);
    assert_eq!(sent(&mut own), [Transmit::Request(request, 1)]);
    assert_eq!(offer(&mut own, 1, 2, 2), None);
    assert_eq!(sent(&mut own), []);
    own.handle(at(2), &reply(2, 1));
    let hardware = address(2).hardware;
    let packets = [1, 2].map(|packet| Transmit::Packet(packet, hardware));
    assert_eq!(sent(&mut own), packets);
    assert_eq!(own.next_timeout(), None);
    // Known from 2 ms to just before 102 ms.
    assert_eq!(offer(&mut own, 101, 3, 2), Some(hardware));
    assert_eq!(offer(&mut own, 102, 4, 2), None);
    assert_eq!(sent(&mut own), [Transmit::Request(request, 4)]);
}

/// Oracle: by hand. Requests at 0, 10 and 20 ms; the packets go at 30 ms, and the next one begins
/// anew.
#[test]
fn requests_are_repeated_and_then_given_up() {
    let mut own = resolver();
    offer(&mut own, 0, 1, 2);
    let mut at_ms = vec![0];
    sent(&mut own);
    while let Some(due) = own.next_timeout() {
        own.handle_timeout(due);
        if !sent(&mut own).is_empty() {
            at_ms.push((due - Instant::ZERO).as_ps() / 1_000_000_000);
        } else {
            assert_eq!((due, dropped(&mut own)), (at(30), vec![1]));
        }
    }
    assert_eq!(at_ms, [0, 10, 20]);
    offer(&mut own, 30, 2, 2);
    assert_eq!(sent(&mut own).len(), 1);
    let counters = own.counters();
    assert_eq!((counters.requests, counters.failures), (4, 1));
    assert_eq!((counters.held, counters.dropped), (2, 1));
}

#[test]
fn the_oldest_packets_make_room_for_the_latest() {
    let mut own = resolver();
    (1..=5).for_each(|packet| {
        offer(&mut own, 0, packet, 2);
    });
    assert_eq!(dropped(&mut own), [1, 2]);
    // One that is larger than all that may be held stays alone.
    own.offer(at(0), 6, Bytes::new(1_000), address(2).protocol);
    assert_eq!(dropped(&mut own), [3, 4, 5]);
    own.handle(at(1), &reply(2, 1));
    let packet = Transmit::Packet(6, address(2).hardware);
    assert_eq!(sent(&mut own).last(), Some(&packet));
}

/// Oracle: the merge of RFC 826. A request for this station tells who asks; one for others
/// refreshes what is known and adds nothing.
#[test]
fn requests_of_others_tell_their_addresses() {
    let mut own = resolver();
    own.handle(at(0), &Message::request(address(2), address(1).protocol));
    own.handle(at(0), &Message::request(address(3), address(4).protocol));
    assert_eq!(offer(&mut own, 99, 1, 2), Some(address(2).hardware));
    assert_eq!(offer(&mut own, 99, 2, 3), None);
    own.handle(at(99), &Message::request(address(2), address(4).protocol));
    assert_eq!(offer(&mut own, 198, 3, 2), Some(address(2).hardware));
    // Its request for another one is an answer as good as a reply.
    own.handle(at(100), &Message::request(address(3), address(4).protocol));
    let packet = Transmit::Packet(2, address(3).hardware);
    assert_eq!(sent(&mut own).last(), Some(&packet));
}

#[test]
fn a_full_table_forgets_the_oldest_neighbor() {
    let mut own = resolver();
    for (ms, from) in [(0, 2), (1, 3), (2, 4), (3, 5)] {
        own.handle(at(ms), &Message::request(address(from), address(1).protocol));
    }
    own.handle(at(4), &Message::request(address(6), address(1).protocol));
    assert_eq!(offer(&mut own, 5, 1, 2), None);
    assert_eq!(offer(&mut own, 5, 2, 4), Some(address(4).hardware));
    // All asked: no room for one more.
    (3..=6).for_each(|to| {
        offer(&mut own, 300, u32::from(to), to);
    });
    offer(&mut own, 300, 9, 7);
    assert_eq!(dropped(&mut own).last(), Some(&9));
    own.invariants();
}

proptest! {
    #[test]
    fn any_octets_are_read_or_refused(octets in proptest::collection::vec(any::<u8>(), 0..40)) {
        if let Some(message) = Message::parse(&octets) {
            prop_assert_eq!(&message.to_octets()[..], &octets[..MESSAGE_SIZE]);
        }
    }

    #[test]
    fn messages_are_read_as_written(from in 0u8..9, to in 0u8..9) {
        let request = Message::request(address(from), address(to).protocol);
        prop_assert_eq!(Message::parse(&request.to_octets()), Some(request));
        let reply = reply(from, to);
        prop_assert_eq!(Message::parse(&reply.to_octets()), Some(reply));
    }

    /// Oracle: each packet offered is sent, dropped or held, once; those of a neighbor that are
    /// sent keep their order.
    #[test]
    fn no_packet_is_lost_or_doubled(
        steps in proptest::collection::vec((0u8..8, 2u8..8, 1i64..15), 1..200),
    ) {
        let mut own = resolver();
        let mut ms = 0;
        let (mut offered, mut ended) = (BTreeSet::new(), BTreeSet::new());
        let mut last = [0; 8];
        for (number, (step, other, after)) in (1u32..).zip(steps) {
            ms += after;
            own.handle_timeout(at(ms));
            match step {
                0..=4 => {
                    offered.insert(number);
                    if offer(&mut own, ms, number, other).is_some() {
                        prop_assert!(ended.insert(number));
                        last[usize::from(other)] = number;
                    }
                }
                5 | 6 => own.handle(at(ms), &reply(other, 1)),
                _ => own.handle(at(ms), &Message::request(address(other), address(9).protocol)),
            }
            for sent in sent(&mut own) {
                if let Transmit::Packet(packet, hardware) = sent {
                    let to = usize::from(hardware.0[5]);
                    prop_assert!(last[to] < packet);
                    last[to] = packet;
                    prop_assert!(ended.insert(packet));
                }
            }
            for packet in dropped(&mut own) {
                prop_assert!(ended.insert(packet));
            }
        }
        ended.extend(own.waiting());
        prop_assert_eq!(ended, offered);
    }
}
