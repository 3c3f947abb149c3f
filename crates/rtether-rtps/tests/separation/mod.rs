//! Minimum separation at the writer, on an ideal network in virtual time.
//!
//! Oracle: D3 by hand. Samples given to a subscription are at least the separation apart, the last
//! value of each instance arrives, and the network carries at most one sample of an instance per
//! separation elapsed, plus the first.

use std::collections::BTreeMap;

use rtether_rtps::qos::{Qos, Reliability};
use rtether_rtps::time::Duration;
use rtether_rtps::typed::{Publication, PublicationOptions, Subscription};
use rtether_rtps::types::ShapeType;

use crate::net::{Faults, Net, Random};

const MS: i64 = 1_000_000;
const SEPARATION: i64 = 50;
const COLORS: [&str; 3] = ["RED", "GREEN", "BLUE"];

/// Samples received by one subscription: time, color and value.
type Had = Vec<(i64, String, i32)>;

struct Outcome {
    had: Vec<Had>,
    /// The last value of each color.
    last: BTreeMap<String, i32>,
    /// Datagrams after discovery.
    sent: u64,
    ms: i64,
}

/// Writes for a second to subscriptions with these policies, on hosts of their own.
fn run(separates: bool, colors: usize, requested: &[Qos], seed: u64) -> Outcome {
    let mut net = Net::new(requested.len() + 1, seed, Faults::default());
    let mut subscriptions = Vec::new();
    for (host, qos) in requested.iter().enumerate() {
        net.start(host + 1, |config| {
            config.announce_period = Duration::from_s(100);
        });
        let (now, participant) = net.at(host + 1);
        let made = Subscription::<ShapeType>::create(participant, now, "t", qos.clone());
        subscriptions.push(made.unwrap());
    }
    net.start(0, |config| config.announce_period = Duration::from_s(100));
    let one = net.hosts[0].as_mut().unwrap();
    let (now, participant) = (one.clock(net.now), &mut one.participant);
    let options = PublicationOptions { separates, ..PublicationOptions::default() };
    let qos = Qos::writer();
    let publication = Publication::<ShapeType>::open(participant, now, "t", qos, options);
    let mut publication = publication.unwrap();
    let mut outcome =
        Outcome { had: vec![Had::new(); requested.len()], last: BTreeMap::new(), sent: 0, ms: 0 };
    let until = 500 * MS;
    while net.step(until).is_some() {}
    let (start, sent) = (net.now, net.sent);
    let mut random = Random(seed);
    let mut x = 0;
    while net.now < start + 1_200 * MS {
        if net.now < start + 1_000 * MS {
            x += 1;
            let color = COLORS[usize::try_from(random.below(3)).unwrap() % colors];
            let shape = ShapeType { color: color.to_owned(), x, ..ShapeType::default() };
            outcome.last.insert(color.to_owned(), x);
            let (now, participant) = net.at(0);
            publication.publish(participant, now, &shape).unwrap();
            net.run(0);
        }
        let next = net.now + 4 * MS;
        while net.step(next).is_some() {
            for (host, subscription) in subscriptions.iter_mut().enumerate() {
                let (now, participant) = net.at(host + 1);
                while let Some(received) = subscription.take(participant, now) {
                    let shape = received.value.unwrap();
                    outcome.had[host].push((now.as_ns(), shape.color, shape.x));
                }
            }
        }
    }
    outcome.sent = net.sent - sent;
    outcome.ms = (net.now - start) / MS;
    outcome
}

fn requested(reliability: Reliability, separation_ms: i64) -> Qos {
    Qos { reliability, time_based_filter: Duration::from_ms(separation_ms), ..Qos::reader() }
}

/// Checks the samples given to one subscription.
fn check(had: &Had, last: &BTreeMap<String, i32>, what: &str) {
    for (color, x) in last {
        let of: Vec<_> = had.iter().filter(|(_, other, _)| other == color).collect();
        assert_eq!(of.last().unwrap().2, *x, "{what}: {color}");
        for pair in of.windows(2) {
            assert!(pair[1].0 - pair[0].0 >= SEPARATION * MS, "{what}: {pair:?}");
            assert!(pair[1].2 > pair[0].2, "{what}: {pair:?}");
        }
    }
}

#[test]
fn traffic_is_saved_and_the_last_value_comes() {
    for seed in 0..20 {
        for colors in [1, 3] {
            let best_effort = [requested(Reliability::BestEffort, SEPARATION)];
            let all = run(false, colors, &best_effort, seed);
            let some = run(true, colors, &best_effort, seed);
            check(&all.had[0], &all.last, "all");
            check(&some.had[0], &some.last, "some");
            assert!(all.sent >= 250, "{}", all.sent);
            let most = colors * usize::try_from(some.ms / SEPARATION + 1).unwrap();
            assert!(some.sent <= u64::try_from(most).unwrap(), "{} of {most}", some.sent);
        }
    }
}

#[test]
fn others_get_everything() {
    for seed in 0..20 {
        let requested = [
            requested(Reliability::BestEffort, SEPARATION),
            requested(Reliability::BestEffort, 0),
            Qos {
                history: rtether_rtps::qos::History::KeepAll,
                ..requested(Reliability::Reliable, 0)
            },
        ];
        let outcome = run(true, 3, &requested, seed);
        check(&outcome.had[0], &outcome.last, "separated");
        let x = |had: &Had| had.iter().map(|(_, _, x)| *x).collect::<Vec<_>>();
        assert!(x(&outcome.had[2]).into_iter().eq(1..=250), "seed {seed}");
        assert!(x(&outcome.had[1]).into_iter().eq(1..=250), "seed {seed}");
    }
}
