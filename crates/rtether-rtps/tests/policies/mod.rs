//! Policy changes of existing endpoints, in virtual time, also with a third of all datagrams lost.
//!
//! Oracle: DDS 1.4, 2.2.3 by hand: which policies may change, and which endpoints match.

use rtether_rtps::engine::{ChangeError, Event, NewFilter};
use rtether_rtps::filter::{FilterErrorKind, Judge};
use rtether_rtps::matching::Policy;
use rtether_rtps::qos::{History, Ownership, Qos, Reliability};
use rtether_rtps::time::Duration;
use rtether_rtps::typed::{Publication, Subscription, SubscriptionOptions};
use rtether_rtps::types::ShapeType;

use crate::net::{Faults, Net};

/// A subscription on host 0, and publications on others.
struct Plant {
    net: Net,
    publications: Vec<Publication<ShapeType>>,
    subscription: Subscription<ShapeType>,
}

fn qos() -> Qos {
    Qos { reliability: Reliability::Reliable, history: History::KeepAll, ..Qos::writer() }
}

impl Plant {
    fn new(offered: &[Qos], requested: Qos, loss: u64, filter: Option<NewFilter<'_>>) -> Self {
        let faults = Faults { loss, ..Faults::default() };
        let mut net = Net::new(offered.len() + 1, 1, faults);
        for host in 0..=offered.len() {
            // Long enough that no lease expires.
            net.start(host, |config| config.lease = Duration::from_s(60));
        }
        let one = net.hosts[0].as_mut().unwrap();
        let (now, participant) = (one.clock(net.now), &mut one.participant);
        let options = SubscriptionOptions { filter, subscriber: None };
        let subscription = Subscription::open(participant, now, "t", requested, options).unwrap();
        let mut publications = Vec::new();
        for (host, qos) in offered.iter().enumerate() {
            let (now, participant) = net.at(host + 1);
            publications.push(Publication::create(participant, now, "t", qos.clone()).unwrap());
        }
        let mut this = Self { net, publications, subscription };
        this.net.run_for(2_000);
        this
    }

    fn set_writer(&mut self, number: usize, qos: Qos) -> Result<(), ChangeError> {
        let (now, participant) = self.net.at(number + 1);
        let id = self.publications[number].id();
        let done = participant.set_writer_qos(now, id, qos);
        self.net.run(number + 1);
        done
    }

    fn set_reader(&mut self, qos: Qos) -> Result<(), ChangeError> {
        let (now, participant) = self.net.at(0);
        let id = self.subscription.id();
        let done = participant.set_reader_qos(now, id, qos);
        self.net.run(0);
        done
    }

    fn write(&mut self, number: usize, x: i32) {
        let (now, participant) = self.net.at(number + 1);
        let shape = ShapeType { x, ..ShapeType::default() };
        let publication = &mut self.publications[number];
        publication.publish(participant, now, &shape).unwrap();
        self.net.run(number + 1);
        self.net.run_for(300);
    }

    fn taken(&mut self) -> Vec<i32> {
        let (now, participant) = self.net.at(0);
        let next = || {
            let received = self.subscription.take(participant, now)?;
            Some(received.value.filter(|_| received.info.is_valid))
        };
        let taken = std::iter::from_fn(next).flatten();
        taken.map(|shape| shape.x).collect()
    }

    /// Events at a host: matched, unmatched, or the incompatible policy.
    fn told(&mut self, host: usize) -> Vec<&'static str> {
        let (_, participant) = self.net.at(host);
        let events = std::iter::from_fn(|| participant.poll_event());
        events
            .filter_map(|event| match event {
                Event::ReaderMatched { .. } | Event::WriterMatched { .. } => Some("matched"),
                Event::ReaderUnmatched { .. } | Event::WriterUnmatched { .. } => Some("unmatched"),
                Event::OfferedIncompatible { policies, .. }
                | Event::RequestedIncompatible { policies, .. } => Some(policies[0].policy.name()),
                Event::ParticipantFound { .. }
                | Event::ParticipantLost { .. }
                | Event::Refused { .. }
                | Event::Withheld { .. }
                | Event::WriterSilent { .. }
                | Event::DeadlineMissed { .. }
                | Event::OfferedDeadlineMissed { .. } => None,
            })
            .collect()
    }
}

#[test]
fn who_no_longer_fits_is_unmatched_and_comes_back() {
    for loss in [0, 300] {
        let mut plant = Plant::new(&[qos()], qos(), loss, None);
        assert_eq!(plant.told(0), ["matched"]);
        assert_eq!(plant.told(1), ["matched"]);
        plant.write(0, 1);
        // Different partitions are not a mismatch.
        let elsewhere = Qos { partitions: vec!["p".to_owned()], ..qos() };
        plant.set_writer(0, elsewhere.clone()).unwrap();
        plant.net.run_for(2_000);
        assert_eq!(plant.told(0), ["unmatched"], "loss {loss}");
        assert_eq!(plant.told(1), ["unmatched"]);
        plant.write(0, 2);
        plant.set_reader(elsewhere).unwrap();
        plant.net.run_for(2_000);
        assert_eq!(plant.told(0), ["matched"]);
        assert_eq!(plant.told(1), ["matched"]);
        plant.write(0, 3);
        plant.net.run_for(2_000);
        assert_eq!(plant.taken(), [1, 3], "loss {loss}");
        // A longer deadline than offered.
        let asked =
            Qos { partitions: vec!["p".to_owned()], deadline: Duration::from_s(10), ..qos() };
        plant.set_reader(asked.clone()).unwrap();
        plant.net.run_for(2_000);
        let name = Policy::Deadline.name();
        assert_eq!(plant.told(0), ["unmatched", name]);
        assert_eq!(plant.told(1), ["unmatched", name]);
        plant.set_writer(0, asked).unwrap();
        plant.net.run_for(2_000);
        assert_eq!(plant.told(0), ["matched"]);
        assert_eq!(plant.told(1), ["matched"]);
        plant.write(0, 4);
        plant.net.run_for(2_000);
        assert_eq!(plant.taken(), [4], "loss {loss}");
    }
}

#[test]
fn what_may_not_change_is_refused_with_its_name() {
    let mut plant = Plant::new(&[qos()], qos(), 0, None);
    let other = Qos {
        reliability: Reliability::BestEffort,
        history: History::KeepLast(1),
        ownership: Ownership::Exclusive,
        deadline: Duration::from_ms(1),
        ..qos()
    };
    let names = vec!["reliability", "history", "ownership"];
    let refused = Err(ChangeError::Immutable(names));
    assert_eq!(plant.set_writer(0, other.clone()), refused);
    assert_eq!(plant.set_reader(other), refused);
    plant.net.run_for(1_000);
    plant.write(0, 1);
    assert_eq!(plant.taken(), [1], "nothing has changed");
}

#[test]
fn strength_that_changes_decides_who_is_heard() {
    // Oracle: D3; an owner that becomes weaker than another gives way when the other writes.
    let of = |strength| Qos { ownership: Ownership::Exclusive, strength, ..qos() };
    let mut plant = Plant::new(&[of(2), of(1)], of(0), 0, None);
    plant.write(0, 1);
    plant.write(1, 2);
    assert_eq!(plant.taken(), [1]);
    plant.set_writer(0, of(0)).unwrap();
    plant.net.run_for(500);
    plant.write(1, 3);
    plant.write(0, 4);
    assert_eq!(plant.taken(), [3]);
}

#[test]
fn times_that_change_hold_from_then_on() {
    let mut plant = Plant::new(&[qos()], qos(), 0, None);
    plant.write(0, 1);
    let slow = Qos { time_based_filter: Duration::from_s(1), ..qos() };
    plant.set_reader(slow).unwrap();
    plant.write(0, 2);
    plant.write(0, 3);
    assert_eq!(plant.taken(), [1]);
    plant.net.run_for(1_000);
    assert_eq!(plant.taken(), [3], "the last one within the second");
    // A deadline that is added later can be missed.
    let (_, participant) = plant.net.at(1);
    while participant.poll_event().is_some() {}
    let due = Qos { deadline: Duration::from_ms(400), ..qos() };
    plant.set_writer(0, due).unwrap();
    plant.net.run_for(1_000);
    let (_, participant) = plant.net.at(1);
    let events = std::iter::from_fn(|| participant.poll_event());
    let missed = events.filter(|event| matches!(event, Event::OfferedDeadlineMissed { .. }));
    assert_eq!(missed.count(), 2);
}

#[test]
fn parameters_of_filters_change() {
    let filter = NewFilter {
        topic: "some",
        expression: "x > %0",
        parameters: &["10"],
        judge: Judge::of::<ShapeType>(),
    };
    let mut plant = Plant::new(&[qos()], qos(), 0, Some(filter));
    plant.write(0, 5);
    plant.write(0, 15);
    let set = |plant: &mut Plant, parameters: &[&str]| {
        let one = plant.net.hosts[0].as_mut().unwrap();
        let (now, id) = (one.clock(plant.net.now), plant.subscription.id());
        one.participant.set_filter_parameters(now, id, parameters)
    };
    set(&mut plant, &["1"]).unwrap();
    plant.net.run_for(100);
    plant.write(0, 6);
    for (parameters, kind) in
        [(&[][..], FilterErrorKind::Parameter(0)), (&["'a'"], FilterErrorKind::Mismatch)]
    {
        match set(&mut plant, parameters) {
            Err(ChangeError::Filter(error)) => assert_eq!(error.kind, kind),
            other => panic!("{other:?}"),
        }
    }
    plant.write(0, 7);
    assert_eq!(plant.taken(), [15, 6, 7]);
}

/// Oracle: by hand. Acknowledgements go at the priority of the reader, so that the samples of a
/// prioritized topic do not wait for answers that do; announcements have none.
#[test]
fn acknowledgements_have_the_priority_of_their_reader() {
    let of = |transport_priority| Qos { transport_priority, ..qos() };
    let mut plant = Plant::new(&[of(46)], of(40), 0, None);
    plant.write(0, 1);
    assert_eq!(plant.taken(), [1]);
    let sent = |host, priority| plant.net.priorities.get(&(host, priority)).copied();
    assert!(sent(1, 46) > Some(0), "samples and heartbeats");
    assert!(sent(0, 40) > Some(0), "acknowledgements");
    assert!(sent(0, 0) > Some(0) && sent(1, 0) > Some(0), "discovery");
    let hosts = plant.net.priorities.keys();
    let others = hosts.filter(|key| ![(1, 46), (0, 40), (0, 0), (1, 0)].contains(key));
    assert_eq!(others.count(), 0);
}
