//! The portable host of `rtether_rtps` and the driver of this crate find and serve each other.

#[path = "../../../rtether-rtps/examples/portable/host.rs"]
mod host;

use std::net::UdpSocket;
use std::thread;

use rtether_live::rtps::{Domain, DomainOptions};
use rtether_rtps::cdr::Data;
use rtether_rtps::engine::Participant;
use rtether_rtps::locator::Ports;
use rtether_rtps::qos::{History, Qos, Reliability};
use rtether_rtps::time::{Duration, Instant};
use rtether_rtps::typed::{Publication, Subscription};

use crate::bed::inside;
use crate::wire::{FAR, NEAR, Wire};
use host::Host;

const SAMPLES: u32 = 50;
const PATIENCE: Duration = Duration::from_s(20);

#[derive(Clone, Debug, Default, PartialEq, Data)]
#[rtps(final)]
struct Count {
    number: u32,
}

/// Publishes one topic and reads another.
struct Side {
    publication: Publication<Count>,
    subscription: Subscription<Count>,
    sent: u32,
    got: Vec<u32>,
}

impl Side {
    fn new(participant: &mut Participant, now: Instant, topics: [&str; 2]) -> Self {
        let reliable =
            |qos: Qos| Qos { reliability: Reliability::Reliable, history: History::KeepAll, ..qos };
        let (writer, reader) = (reliable(Qos::writer()), reliable(Qos::reader()));
        Self {
            publication: Publication::create(participant, now, topics[0], writer).unwrap(),
            subscription: Subscription::create(participant, now, topics[1], reader).unwrap(),
            sent: 0,
            got: Vec::new(),
        }
    }

    /// Writes one sample once the other side is there, and takes all that have arrived.
    fn go_on(&mut self, participant: &mut Participant, now: Instant) {
        if self.sent < SAMPLES && participant.readers_of(self.publication.id()) > 0 {
            self.sent += 1;
            let value = Count { number: self.sent };
            self.publication.publish(participant, now, &value).unwrap();
        }
        while let Some(received) = self.subscription.take(participant, now) {
            self.got.extend(received.value.map(|value| value.number));
        }
    }

    fn is_done(&self, participant: &Participant) -> bool {
        self.got.len() == SAMPLES as usize && participant.is_acknowledged(self.publication.id())
    }
}

/// Oracle: the numbers written, in order, each way.
#[test]
fn both_hosts_exchange_samples() {
    let Some(wire) = Wire::new() else { return };
    let options = DomainOptions {
        interface: Some(NEAR),
        announce_period: Some(Duration::from_ms(100)),
        ..DomainOptions::default()
    };
    let mut near = inside(&wire.near, || Domain::open(&options).unwrap());
    let mut far = inside(&wire.far, || Host::open(0, FAR, 24, "portable").unwrap());
    let now = near.now();
    let mut one = Side::new(near.participant_mut(), now, ["out", "back"]);
    let now = far.now();
    let mut other = Side::new(far.participant_mut(), now, ["back", "out"]);
    let end = near.now() + PATIENCE;
    while near.now() < end
        && !(one.is_done(near.participant()) && other.is_done(far.participant_mut()))
    {
        let soon = near.now() + Duration::from_ms(1);
        near.step(soon).unwrap();
        let now = near.now();
        one.go_on(near.participant_mut(), now);
        let soon = far.now() + Duration::from_ms(1);
        far.step(soon);
        let now = far.now();
        other.go_on(far.participant_mut(), now);
    }
    let all: Vec<u32> = (1..=SAMPLES).collect();
    assert_eq!(one.got, all);
    assert_eq!(other.got, all);
    assert_eq!(far.dropped(), 0);
}

/// Oracle: the port of a participant that is gone can be opened again, although nothing arrives that
/// would wake the thread which listens there.
#[test]
fn a_host_that_is_gone_gives_its_port_back() {
    let Some(wire) = Wire::new() else { return };
    let port = Ports::new(0).unwrap().discovery_unicast(0).unwrap();
    inside(&wire.near, || {
        drop(Host::open(0, NEAR, 24, "gone").unwrap());
        let is_free = || {
            thread::sleep(std::time::Duration::from_millis(50));
            UdpSocket::bind((NEAR, port)).is_ok()
        };
        assert!((0..100).any(|_| is_free()), "port {port} is still held");
    });
}
