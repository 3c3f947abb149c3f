//! Acknowledgments that travel with samples, in virtual time.
//!
//! Oracle: by hand, beside the samples themselves nothing is sent while each side answers the other.

use rtether_rtps::qos::{History, Qos, Reliability};
use rtether_rtps::time::Duration;
use rtether_rtps::typed::{Publication, Subscription};
use rtether_rtps::types::Ping;

use crate::net::{Faults, Net};

const MS: i64 = 1_000_000;

struct Side {
    out: Publication<Ping>,
    back: Subscription<Ping>,
}

fn start(net: &mut Net, host: usize, [out, back]: [&str; 2]) -> Side {
    net.start(host, |config| {
        config.lease = Duration::from_s(300);
        config.announce_period = Duration::from_s(90);
        config.datagram_max = 1_472;
    });
    let (clock, participant) = net.at(host);
    let qos =
        Qos { reliability: Reliability::Reliable, history: History::KeepLast(1), ..Qos::writer() };
    let side = Side {
        out: Publication::create(participant, clock, out, qos.clone()).unwrap(),
        back: Subscription::create(participant, clock, back, qos).unwrap(),
    };
    net.run(host);
    side
}

fn send(net: &mut Net, host: usize, side: &mut Side, sequence: u32, octets: usize) {
    let value = Ping { sequence, payload: vec![0; octets], ..Ping::default() };
    let (clock, participant) = net.at(host);
    side.out.publish(participant, clock, &value).unwrap();
    net.run(host);
}

/// Steps until a sample has come to a host.
fn await_sample(net: &mut Net, host: usize, side: &mut Side) -> u32 {
    let until = net.now + 1_000 * MS;
    loop {
        let (clock, participant) = net.at(host);
        if let Some(received) = side.back.take(participant, clock) {
            return received.value.unwrap().sequence;
        }
        net.step(until).expect("a sample comes");
    }
}

/// Returns how many datagrams round trips take, and a rest in which all is acknowledged.
fn datagrams(trips: u32, pause: i64, octets: usize) -> u64 {
    let mut net = Net::new(2, 1, Faults::default());
    let mut asks = start(&mut net, 0, ["there", "back"]);
    let mut answers = start(&mut net, 1, ["back", "there"]);
    // Announcements become rare.
    net.run_for(60_000);
    let before = net.sent;
    for sequence in 0..trips {
        send(&mut net, 0, &mut asks, sequence, octets);
        assert_eq!(await_sample(&mut net, 1, &mut answers), sequence);
        send(&mut net, 1, &mut answers, sequence, octets);
        assert_eq!(await_sample(&mut net, 0, &mut asks), sequence);
        net.run_for(pause);
    }
    net.run_for(1_000);
    for (host, side) in [(0, &asks), (1, &answers)] {
        let (_, participant) = net.at(host);
        assert!(participant.is_acknowledged(side.out.id()), "host {host}");
    }
    net.sent - before
}

#[test]
fn acknowledgments_travel_with_samples() {
    // 40 us each: 80 ms in all, in which each side would send an acknowledgment every 5 ms. The last
    // two samples have no others behind them.
    assert_eq!(datagrams(2_000, 0, 64), 4_000 + 2);
}

#[test]
fn what_does_not_meet_a_sample_goes_alone() {
    // An acknowledgment takes 5 ms: none is due when the answer is sent, and both are before the next
    // question.
    assert_eq!(datagrams(20, 20, 64), 20 * 4);
}

#[test]
fn a_full_datagram_has_no_room_for_it() {
    // 1472 octets hold such a sample and its heartbeat, and less than 44 more.
    let full = datagrams(2_000, 0, 1_330);
    assert!((4_030..4_200).contains(&full), "{full}");
}
