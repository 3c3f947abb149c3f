//! Immediate and pulled subscriptions, deadlines, minimum separation, strict reliability.

use rtether_rtps::application::{Mode, Notice, PublicationOptions, SubscriptionOptions};
use rtether_rtps::engine::{NewSample, TopicName};
use rtether_rtps::qos::{Qos, Reliability};
use rtether_rtps::time::Duration;
use rtether_rtps::typed::Received;
use rtether_rtps::types::{Octets, Ping};

use crate::application::world::{Log, MS, World, ping};

fn line(at: i64, notice: &Notice<Received<Ping>>) -> String {
    let at = at / MS;
    match notice {
        Notice::Sample(received) => {
            format!("{at} sample {}", received.value.as_ref().unwrap().sequence)
        }
        Notice::DeadlineMissed { overdue } => format!("{at} missed {overdue}"),
        Notice::Matched { .. } => format!("{at} matched"),
        Notice::Unmatched { .. } => format!("{at} unmatched"),
        Notice::Incompatible { policies, .. } => format!("{at} {}", policies[0].policy.name()),
        Notice::Silent { .. } => format!("{at} silent"),
        Notice::Lost { samples } => format!("{at} lost {samples}"),
    }
}

/// A publication at one node and a subscription at the other, with the notices to the latter.
struct Pair {
    world: World,
    publication: rtether_rtps::application::PublicationHandle<Ping>,
    subscription: rtether_rtps::application::SubscriptionHandle<Ping>,
    told: Log<String>,
}

fn pair(publication: &PublicationOptions, subscription: &SubscriptionOptions) -> Pair {
    let mut world = World::new(2);
    let told = Log::new();
    let log = told.clone();
    let made = world.at(1).subscribe::<Ping>("ping", subscription, move |context, notice| {
        log.push(line(context.now().as_ns(), &notice));
    });
    let publication = world.at(0).publish::<Ping>("ping", publication).unwrap();
    Pair { world, publication, subscription: made.unwrap(), told }
}

impl Pair {
    fn send(&mut self, sequence: u32) {
        let mut context = self.world.at(0);
        context.send(&self.publication, &ping(sequence)).unwrap();
    }
}

#[test]
fn a_missed_deadline_is_told_again_and_again_until_a_sample_comes() {
    let publication =
        PublicationOptions { persistence: Duration::from_ms(40), ..PublicationOptions::default() };
    let subscription =
        SubscriptionOptions { deadline: Duration::from_ms(50), ..SubscriptionOptions::default() };
    let mut pair = pair(&publication, &subscription);
    pair.world.run_until(100 * MS);
    pair.send(1);
    pair.world.run_until(130 * MS);
    pair.send(2);
    pair.world.run_until(290 * MS);
    pair.send(3);
    pair.world.run_until(300 * MS);
    // Oracle: arithmetic; 130 ms, and every 50 ms after that (D3).
    let told = pair.told.take();
    assert_eq!(
        told[1..],
        [
            "100 sample 1",
            "130 sample 2",
            "180 missed 1",
            "230 missed 1",
            "280 missed 1",
            "290 sample 3"
        ]
    );
}

#[test]
fn a_pulled_subscription_says_nothing_before_it_is_asked() {
    let publication =
        PublicationOptions { persistence: Duration::from_ms(40), ..PublicationOptions::default() };
    let subscription = SubscriptionOptions {
        mode: Mode::Pulled,
        deadline: Duration::from_ms(50),
        ..SubscriptionOptions::default()
    };
    let mut pair = pair(&publication, &subscription);
    pair.world.run_until(100 * MS);
    pair.send(1);
    pair.send(2);
    pair.world.run_until(260 * MS);
    assert!(pair.told.take().is_empty());
    let pulled = pair.world.at(1).pull(&pair.subscription);
    let told = pair.told.take();
    // The last value (a queue of one), and three missed deadlines as one notice.
    assert_eq!(told, ["260 matched", "260 missed 3", "260 sample 2"]);
    assert_eq!(pulled, told.len());
    assert_eq!(pair.world.at(1).pull(&pair.subscription), 0);

    pair.send(3);
    pair.world.run_until(270 * MS);
    let taken = pair.world.at(1).take(&pair.subscription).unwrap();
    assert_eq!(taken.value.unwrap().sequence, 3);
    assert_eq!(pair.world.at(1).take(&pair.subscription), None);
    assert!(pair.told.take().is_empty());
}

#[test]
fn what_comes_too_soon_waits_for_the_end_of_the_minimum_separation() {
    let subscription = SubscriptionOptions {
        minimum_separation: Duration::from_ms(25),
        ..SubscriptionOptions::default()
    };
    let mut pair = pair(&PublicationOptions::default(), &subscription);
    pair.world.run_until(100 * MS);
    for sequence in 0..6 {
        pair.send(sequence);
        pair.world.run_for(10 * MS);
    }
    pair.world.run_for(50 * MS);
    // Oracle: by hand. Of 110 and 120 ms the last one is due 25 ms after the first, of 130 and 140
    // ms another 25 ms later, when 5 is sent.
    let told = pair.told.take();
    assert_eq!(told[1..], ["100 sample 0", "125 sample 2", "150 sample 4", "175 sample 5"]);
}

#[test]
fn a_publication_may_leave_out_what_comes_too_soon() {
    let publication = PublicationOptions { separates: true, ..PublicationOptions::default() };
    let subscription = SubscriptionOptions {
        minimum_separation: Duration::from_ms(25),
        ..SubscriptionOptions::default()
    };
    let mut pair = pair(&publication, &subscription);
    pair.world.run_until(100 * MS);
    for sequence in 0..6 {
        pair.send(sequence);
        pair.world.run_for(10 * MS);
    }
    pair.world.run_for(50 * MS);
    // Oracle: by hand, as above; 1 and 3 were not sent, which is what the reader wants: they are
    // filtered, not lost.
    let told = pair.told.take();
    let samples = told.iter().filter(|one| one.contains("sample"));
    let samples: Vec<&str> = samples.map(String::as_str).collect();
    assert_eq!(samples, ["100 sample 0", "125 sample 2", "150 sample 4", "175 sample 5"]);
    assert!(!told.iter().any(|one| one.contains("lost")), "{told:?}");
}

#[test]
fn a_strict_reliable_subscription_is_called_back_with_all_in_order() {
    let subscription = SubscriptionOptions {
        reliability: Reliability::Reliable,
        ..SubscriptionOptions::default()
    };
    let mut pair = pair(&PublicationOptions::default(), &subscription);
    pair.world.run_until(100 * MS);
    pair.told.take();
    // A quarter of all datagrams is lost.
    pair.world.loss = Some(4);
    for sequence in 0..200 {
        pair.send(sequence);
        pair.world.run_for(MS);
    }
    pair.world.run_for(2_000 * MS);
    let told = pair.told.take();
    let numbers = told.iter().map(|one| {
        let (_, number) = one.split_once(" sample ").unwrap();
        number.parse::<u32>().unwrap()
    });
    assert!(numbers.eq(0..200), "{told:?}");
}

#[test]
fn a_best_effort_subscription_is_told_what_was_lost() {
    let mut pair = pair(&PublicationOptions::default(), &SubscriptionOptions::default());
    pair.world.run_until(100 * MS);
    pair.send(0);
    pair.world.run_for(MS);
    pair.world.cut.insert(1);
    for sequence in 1..4 {
        pair.send(sequence);
        pair.world.run_for(MS);
    }
    pair.world.cut.clear();
    pair.send(4);
    pair.world.run_for(MS);
    let told = pair.told.take();
    assert_eq!(told[1..], ["100 sample 0", "104 lost 3", "104 sample 4"], "{told:?}");
}

#[test]
fn what_does_not_match_is_told_with_the_reason() {
    let subscription =
        SubscriptionOptions { deadline: Duration::from_ms(50), ..SubscriptionOptions::default() };
    let mut pair = pair(&PublicationOptions::default(), &subscription);
    pair.world.run_until(100 * MS);
    let told = pair.told.take();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].ends_with(" deadline"), "{told:?}");
}

#[test]
fn octets_go_through_without_a_type() {
    let mut world = World::new(2);
    let name = TopicName { topic: "raw", type_name: "rtether::Octets" };
    let had = Log::new();
    let log = had.clone();
    let made =
        world.at(1).subscribe_raw(name, None, Mode::Immediate, Qos::reader(), move |_, notice| {
            if let Notice::Sample(sample) = notice {
                log.push(sample.payload.to_vec());
            }
        });
    let typed = Log::new();
    let log = typed.clone();
    let options = SubscriptionOptions::default();
    let also = world.at(1).subscribe::<Octets>("raw", &options, move |_, notice| {
        if let Notice::Sample(received) = notice {
            log.push(received.value.unwrap().octets);
        }
    });
    let publication = world.at(0).publish_raw(name, false, Qos::writer()).unwrap();
    world.run_until(100 * MS);
    // CDR_LE, a sequence of two octets; then one longer than the payload.
    let payloads: [&[u8]; 2] = [&[0, 1, 0, 0, 2, 0, 0, 0, 5, 6], &[0, 1, 0, 0, 9, 0, 0, 0, 5]];
    for payload in payloads {
        let sample = NewSample::value(payload);
        world.at(0).send_raw(&publication, &sample).unwrap();
        world.run_for(MS);
    }
    let had = had.take();
    assert_eq!(had.len(), 2);
    assert_eq!(had[0][..10], *payloads[0]);
    assert_eq!(typed.take(), [[5, 6]]);
    let also = also.unwrap();
    assert_eq!(world.at(1).subscription_counters(&also).malformed, 1);
    drop(made);
}
