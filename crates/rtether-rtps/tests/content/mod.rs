//! Content filters on a network that loses, duplicates and delays datagrams, in virtual time.
//!
//! Oracle: the samples written, and the condition evaluated by hand.

use rtether_rtps::engine::{CreateError, NewFilter};
use rtether_rtps::filter::{FilterErrorKind, Judge};
use rtether_rtps::qos::{History, Qos, Reliability};
use rtether_rtps::typed::{Publication, PublicationOptions, Subscription, SubscriptionOptions};
use rtether_rtps::types::ShapeType;

use crate::net::{Faults, Net};

/// Samples that a subscription has received: positions and sizes.
type Had = Vec<(i32, i32)>;

/// One publication, and subscriptions on hosts of their own.
struct Plant {
    net: Net,
    publication: Publication<ShapeType>,
    subscriptions: Vec<Subscription<ShapeType>>,
    had: Vec<Had>,
}

fn qos(reliability: Reliability, history: History) -> Qos {
    Qos { reliability, history, ..Qos::writer() }
}

fn filter<'a>(expression: &'a str, parameters: &'a [&'a str]) -> NewFilter<'a> {
    NewFilter { topic: "some", expression, parameters, judge: Judge::of::<ShapeType>() }
}

impl Plant {
    fn new(
        judge: Option<Judge>,
        qos: &Qos,
        filters: &[Option<NewFilter<'_>>],
        seed: u64,
        faults: Faults,
    ) -> Self {
        let mut net = Net::new(filters.len() + 1, seed, Faults::default());
        let mut subscriptions = Vec::new();
        for (host, filter) in filters.iter().enumerate() {
            net.start(host + 1, |_| {});
            let (now, participant) = net.at(host + 1);
            let options = SubscriptionOptions { filter: *filter, subscriber: None };
            let made = Subscription::open(participant, now, "shapes", qos.clone(), options);
            subscriptions.push(made.unwrap());
        }
        net.start(0, |_| {});
        let (now, participant) = net.at(0);
        let options = PublicationOptions { judge, publisher: None, separates: false };
        let publication = Publication::open(participant, now, "shapes", qos.clone(), options);
        let publication = publication.unwrap();
        let mut this =
            Self { had: vec![Had::new(); filters.len()], net, publication, subscriptions };
        this.net.run_for(500);
        this.net.faults = faults;
        let one = this.net.hosts[0].as_ref().unwrap();
        assert_eq!(one.participant.readers_of(this.publication.id()), filters.len());
        this
    }

    fn write(&mut self, x: i32, shapesize: i32) {
        let (now, participant) = self.net.at(0);
        let shape = ShapeType { color: "RED".into(), x, shapesize, ..ShapeType::default() };
        let publication = &mut self.publication;
        publication.publish(participant, now, &shape).unwrap();
        self.net.run(0);
    }

    fn take(&mut self) {
        for (host, subscription) in self.subscriptions.iter_mut().enumerate() {
            let (now, participant) = self.net.at(host + 1);
            while let Some(received) = subscription.take(participant, now) {
                let shape = received.value.unwrap();
                self.had[host].push((shape.x, shape.shapesize));
            }
            self.net.run(host + 1);
        }
    }
}

#[test]
fn a_subscription_gets_what_passes_and_all_of_it() {
    for seed in 0..50 {
        let faults =
            Faults { loss: 300, duplication: 100, corruption: 50, jitter_us: 3_000, disorder: 0 };
        let judge = (seed % 2 == 0).then(Judge::of::<ShapeType>);
        let filters = [
            Some(filter("shapesize > %0 AND x < 150", &["7"])),
            None,
            // A pattern, which the publication leaves to the subscription.
            Some(filter("color LIKE 'R%' AND shapesize = 3", &[])),
        ];
        let qos = qos(Reliability::Reliable, History::KeepAll);
        let mut plant = Plant::new(judge, &qos, &filters, seed, faults);
        let all: Had = (0..200).map(|x| (x, x % 10)).collect();
        for (x, size) in &all {
            plant.write(*x, *size);
            plant.net.run_for(1);
            plant.take();
        }
        plant.net.faults = Faults::default();
        for _ in 0..20 {
            plant.net.run_for(200);
            plant.take();
        }
        let of = |passes: fn(&(i32, i32)) -> bool| all.iter().copied().filter(passes).collect();
        let expected: [Had; 3] =
            [of(|(x, size)| *size > 7 && *x < 150), all.clone(), of(|(_, size)| *size == 3)];
        assert_eq!(plant.had, expected, "seed {seed}");
    }
}

#[test]
fn what_does_not_pass_takes_no_place() {
    // Oracle: a history of one sample; the first passes, and the next five do not.
    for judge in [None, Some(Judge::of::<ShapeType>())] {
        for reliability in [Reliability::Reliable, Reliability::BestEffort] {
            let filters = [Some(filter("shapesize >= 10", &[]))];
            let qos = qos(reliability, History::KeepLast(1));
            let mut plant = Plant::new(judge, &qos, &filters, 1, Faults::default());
            for (x, size) in [(1, 10), (2, 9), (3, 8), (4, 7), (5, 6), (6, 5)] {
                plant.write(x, size);
                plant.net.run_for(1);
            }
            plant.net.run_for(1_000);
            plant.take();
            assert_eq!(plant.had, [[(1, 10)]], "{judge:?} {reliability:?}");
        }
    }
}

#[test]
fn what_does_not_pass_is_not_sent() {
    // Oracle: octets on the network; one of a hundred samples of 1000 octets passes.
    let octets = |judge, reliability| {
        let filters = [Some(filter("x = 50", &[]))];
        let qos = qos(reliability, History::KeepAll);
        let mut plant = Plant::new(judge, &qos, &filters, 1, Faults::default());
        let before = plant.net.octets;
        for x in 0..100 {
            let (now, participant) = plant.net.at(0);
            let shape =
                ShapeType { x, additional_payload_size: vec![0; 1_000], ..ShapeType::default() };
            let publication = &mut plant.publication;
            publication.publish(participant, now, &shape).unwrap();
            plant.net.run(0);
            plant.net.run_for(2);
        }
        plant.net.run_for(100);
        plant.take();
        assert_eq!(plant.had, [[(50, 0)]]);
        plant.net.octets - before
    };
    let judge = Some(Judge::of::<ShapeType>());
    for (reliability, most) in [
        (Reliability::BestEffort, 8_000),
        // GAP and HEARTBEAT for each, and answers.
        (Reliability::Reliable, 30_000),
    ] {
        let (all, some) = (octets(None, reliability), octets(judge, reliability));
        assert!(all > 100_000, "{all}");
        assert!(some < most, "{reliability:?}: {some} of {all}");
    }
}

#[test]
fn a_filter_that_does_not_fit_is_refused() {
    let mut net = Net::new(1, 1, Faults::default());
    net.start(0, |_| {});
    let (now, participant) = net.at(0);
    let mut kind = |expression: &str| {
        let options =
            SubscriptionOptions { filter: Some(filter(expression, &[])), subscriber: None };
        let qos = Qos::reader();
        let made = Subscription::<ShapeType>::open(participant, now, "shapes", qos, options);
        match made {
            Err(CreateError::Filter(error)) => Some(error.kind),
            _ => None,
        }
    };
    assert_eq!(kind("width = 1"), Some(FilterErrorKind::UnknownField));
    assert_eq!(kind("color = 1"), Some(FilterErrorKind::Mismatch));
    assert_eq!(kind("x = %0"), Some(FilterErrorKind::Parameter(0)));
    assert_eq!(kind("x = 1"), None);
}
