//! One subscription and publications of different strength; the test knows which issues arrive.

use std::net::Ipv4Addr;

use rtether_rtps::engine::{Config, Event, Participant};
use rtether_rtps::guid::GuidPrefix;
use rtether_rtps::locator::{Locator, Origin};
use rtether_rtps::qos::{Ownership, Qos, Reliability};
use rtether_rtps::time::{Duration, Instant};
use rtether_rtps::typed::{Publication, Subscription};
use rtether_rtps::types::Ping;

pub(crate) const MS: i64 = 1_000_000;

/// A value received by the subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Had {
    pub(crate) at: i64,
    /// The publication.
    pub(crate) of: usize,
    /// Its number.
    pub(crate) number: u32,
}

struct Publisher {
    participant: Participant,
    publication: Publication<Ping>,
    written: u32,
}

pub(crate) struct Plant {
    pub(crate) now: i64,
    reader: Participant,
    subscription: Subscription<Ping>,
    publishers: Vec<Publisher>,
    pub(crate) had: Vec<Had>,
    pub(crate) events: Vec<(i64, Event)>,
    buffer: Vec<u8>,
}

fn participant(number: u8, adapt: &impl Fn(&mut Config)) -> Participant {
    let mut config = Config::new(GuidPrefix([number + 1; 12]), 0, [number; 16]);
    config.metatraffic_unicast = vec![Locator::udp(Ipv4Addr::new(10, 0, 1, number + 1), 7_410)];
    config.default_unicast.clone_from(&config.metatraffic_unicast);
    config.announce_to = vec![Locator::udp(Ipv4Addr::new(239, 255, 0, 1), 7_400)];
    config.lease = Duration::INFINITE;
    // All are on one host.
    config.own_addresses = (1..9).map(|one| Ipv4Addr::new(10, 0, 1, one).into()).collect();
    adapt(&mut config);
    Participant::new(config, Instant::ZERO)
}

/// Policies of a publication with this strength and persistence.
pub(crate) fn offered(strength: i32, persistence: i64) -> Qos {
    let mut qos = Qos::writer();
    qos.reliability = Reliability::BestEffort;
    qos.ownership = Ownership::Exclusive;
    qos.strength = strength;
    qos.deadline = Duration::from_ns(persistence);
    qos
}

/// Policies of a subscription to them.
pub(crate) fn requested() -> Qos {
    let mut qos = Qos::reader();
    qos.ownership = Ownership::Exclusive;
    qos.history = rtether_rtps::qos::History::KeepAll;
    qos
}

impl Plant {
    /// Returns a plant in which discovery is complete.
    pub(crate) fn new(requested: Qos, offered: &[Qos]) -> Self {
        Self::with(requested, offered, &|_| {})
    }

    pub(crate) fn with(requested: Qos, offered: &[Qos], adapt: &impl Fn(&mut Config)) -> Self {
        let mut reader = participant(0, adapt);
        let subscription =
            Subscription::create(&mut reader, Instant::ZERO, "failover", requested).unwrap();
        let publishers = (1..).zip(offered);
        let publishers = publishers.map(|(number, qos)| {
            let mut participant = participant(number, adapt);
            let qos = qos.clone();
            let publication =
                Publication::create(&mut participant, Instant::ZERO, "failover", qos).unwrap();
            Publisher { participant, publication, written: 0 }
        });
        let mut this = Self {
            now: 0,
            reader,
            subscription,
            publishers: publishers.collect(),
            had: Vec::new(),
            events: Vec::new(),
            buffer: Vec::new(),
        };
        this.run_until(100 * MS);
        let matched = this.reader.writers_of(this.subscription.id());
        assert_eq!(matched, offered.len());
        this.events.clear();
        this
    }

    fn clock(&self) -> Instant {
        Instant::from_ns(self.now)
    }

    /// Delivers datagrams until none are left.
    fn carry(&mut self) {
        let now = self.clock();
        let mut is_any = true;
        while is_any {
            is_any = false;
            for publisher in &mut self.publishers {
                publisher.participant.handle_timeout(now);
                while publisher.participant.poll_transmit(now, &mut self.buffer).is_some() {
                    self.reader.handle_datagram(now, Origin::Host, &self.buffer);
                    is_any = true;
                }
            }
            self.reader.handle_timeout(now);
            while self.reader.poll_transmit(now, &mut self.buffer).is_some() {
                for publisher in &mut self.publishers {
                    publisher.participant.handle_datagram(now, Origin::Host, &self.buffer);
                }
                is_any = true;
            }
        }
        self.take();
    }

    fn take(&mut self) {
        let now = self.clock();
        while let Some(event) = self.reader.poll_event() {
            self.events.push((self.now, event));
        }
        while let Some(received) = self.subscription.take(&mut self.reader, now) {
            if let Some(value) = received.value.filter(|_| received.info.is_valid) {
                self.had.push(Had {
                    at: self.now,
                    of: usize::try_from(value.session).unwrap(),
                    number: value.sequence,
                });
            }
        }
    }

    /// Advances time to `until`.
    pub(crate) fn run_until(&mut self, until: i64) {
        loop {
            self.carry();
            let publishers = self.publishers.iter();
            let due = publishers.map(|one| one.participant.poll_timeout());
            let due = due.fold(self.reader.poll_timeout(), Instant::min).as_ns();
            if due > until {
                self.now = until;
                return;
            }
            self.now = due.max(self.now + 1);
        }
    }

    /// Publishes an issue, which may be lost; returns its number.
    pub(crate) fn publish(&mut self, of: usize, is_lost: bool) -> u32 {
        let now = self.clock();
        let publisher = &mut self.publishers[of];
        publisher.written += 1;
        let value = Ping {
            sequence: publisher.written,
            session: u32::try_from(of).unwrap(),
            ..Ping::default()
        };
        let participant = &mut publisher.participant;
        publisher.publication.publish(participant, now, &value).unwrap();
        while participant.poll_transmit(now, &mut self.buffer).is_some() {
            if !is_lost {
                self.reader.handle_datagram(now, Origin::Host, &self.buffer);
            }
        }
        self.take();
        self.publishers[of].written
    }

    /// Returns the publications of values received since the last call.
    pub(crate) fn had_of(&mut self) -> Vec<usize> {
        self.had.drain(..).map(|had| had.of).collect()
    }

    /// Returns the times of events of one kind.
    pub(crate) fn times_of(&self, is_meant: impl Fn(&Event) -> bool) -> Vec<i64> {
        let events = self.events.iter().filter(|(_, event)| is_meant(event));
        events.map(|(at, _)| *at).collect()
    }
}
