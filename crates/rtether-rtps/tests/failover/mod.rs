//! Which publication is taken, and what follows when it stops, in virtual time.
//!
//! Oracle: the rules of strength and persistence. A strictly stronger publication takes over at
//! once, one of equal strength does not; each issue of the owner restarts its persistence; when
//! that ends, the strongest other publication whose last issue is still valid takes over, and that
//! issue is delivered at once.

mod plant;
mod scenarios;

use plant::{MS, Plant, offered, requested};
use rtether_rtps::engine::Event;
use rtether_rtps::qos::{LivelinessKind, Ownership};
use rtether_rtps::time::Duration;

use crate::net;

const START: i64 = 1_000 * MS;

#[test]
fn a_stronger_one_takes_over_at_once_and_an_equal_one_does_not() {
    let strengths = [5, 5, 4, 6];
    let offered: Vec<_> = strengths.iter().map(|s| offered(*s, 50 * MS)).collect();
    let mut plant = Plant::new(requested(), &offered);
    plant.run_until(START);
    plant.publish(0, false);
    assert_eq!(plant.had_of(), [0]);
    plant.publish(1, false);
    plant.publish(2, false);
    assert_eq!(plant.had_of(), []);
    plant.publish(3, false);
    assert_eq!(plant.had_of(), [3]);
    // Then the former owner is one of the others.
    plant.publish(0, false);
    assert_eq!(plant.had_of(), []);
}

#[test]
fn each_issue_of_the_owner_starts_its_persistence_anew() {
    let mut plant = Plant::new(requested(), &[offered(2, 50 * MS), offered(1, 50 * MS)]);
    plant.run_until(START);
    for round in 0..20 {
        plant.run_until(START + round * 40 * MS);
        plant.publish(0, false);
        plant.run_until(START + round * 40 * MS + 39 * MS);
        plant.publish(1, false);
    }
    assert_eq!(plant.had_of(), [0; 20]);
    // Its last issue was at 760 ms, that of the other at 799 ms.
    plant.run_until(START + 760 * MS + 50 * MS - 1);
    assert_eq!(plant.had_of(), []);
    plant.run_until(START + 760 * MS + 50 * MS);
    let had = plant.had.clone();
    assert_eq!((had.len(), had[0].of, had[0].number), (1, 1, 20));
    assert_eq!(had[0].at, START + 810 * MS);
}

#[test]
fn the_strongest_takes_over_whose_last_issue_still_counts() {
    let strengths = [9, 8, 7, 6];
    let mut all: Vec<_> = strengths.iter().map(|s| offered(*s, 100 * MS)).collect();
    // Issues of the second strongest expire soon.
    all[1].lifespan = Duration::from_ms(10);
    let mut plant = Plant::new(requested(), &all);
    plant.run_until(START);
    plant.publish(0, false);
    plant.run_until(START + 20 * MS);
    plant.publish(1, false);
    plant.publish(3, false);
    plant.publish(2, false);
    assert_eq!(plant.had_of(), [0]);
    plant.run_until(START + 100 * MS);
    assert_eq!(plant.had_of(), [2]);
    // Its issue was at 20 ms and is valid until 120 ms, as is that of the fourth.
    plant.run_until(START + 200 * MS);
    assert_eq!(plant.had_of(), []);
    // There is no owner now: the next issue decides.
    plant.publish(3, false);
    assert_eq!(plant.had_of(), [3]);
}

#[test]
fn a_weaker_issue_at_the_very_end_does_not_come_before_a_stronger_one_that_waits() {
    let all = [offered(3, 50 * MS), offered(2, 50 * MS), offered(1, 50 * MS)];
    let mut plant = Plant::new(requested(), &all);
    plant.run_until(START);
    plant.publish(0, false);
    plant.run_until(START + 30 * MS);
    plant.publish(1, false);
    plant.run_until(START + 50 * MS - 1);
    plant.now += 1;
    plant.publish(2, false);
    assert_eq!(plant.had_of(), [0, 1]);
}

#[test]
fn notices_of_deadlines_are_repeated() {
    let mut qos = requested();
    qos.ownership = Ownership::Shared;
    qos.deadline = Duration::from_ms(100);
    let mut one = offered(0, 100 * MS);
    one.ownership = Ownership::Shared;
    let mut plant = Plant::new(qos, &[one]);
    plant.run_until(START);
    plant.publish(0, false);
    plant.run_until(START + 60 * MS);
    plant.publish(0, false);
    plant.run_until(START + 470 * MS);
    let missed = |event: &Event| matches!(event, Event::DeadlineMissed { overdue: 1, .. });
    let at = [160, 260, 360, 460].map(|ms| START + ms * MS);
    assert_eq!(plant.times_of(missed), at);
    // An issue restarts it.
    plant.publish(0, false);
    plant.run_until(START + 569 * MS);
    assert_eq!(plant.times_of(missed).len(), 4);
    plant.run_until(START + 571 * MS);
    assert_eq!(plant.times_of(missed).len(), 5);
}

#[test]
fn a_deadline_of_zero_is_none() {
    let mut qos = requested();
    qos.deadline = Duration::ZERO;
    let mut plant = Plant::new(qos, &[offered(1, 0)]);
    plant.run_until(START);
    plant.publish(0, false);
    plant.run_until(START + 10_000 * MS);
    assert_eq!(plant.times_of(|_| true), []);
    assert_eq!(plant.had_of(), [0]);
}

#[test]
fn minimum_separation_holds_and_the_last_value_arrives() {
    let mut qos = requested();
    qos.time_based_filter = Duration::from_ms(30);
    let mut plant = Plant::new(qos, &[offered(1, 1_000 * MS)]);
    plant.run_until(START);
    let mut random = net::Random(3);
    let mut at = START;
    let mut last = 0;
    for _ in 0..1_000 {
        at += i64::try_from(random.below(20_000_000)).unwrap();
        plant.run_until(at);
        let is_lost = random.chance(300);
        let number = plant.publish(0, is_lost);
        if !is_lost {
            last = number;
        }
    }
    plant.run_until(at + 30 * MS);
    for pair in plant.had.windows(2) {
        assert!(pair[1].at - pair[0].at >= 30 * MS, "{pair:?}");
        assert!(pair[1].number > pair[0].number);
    }
    assert_eq!(plant.had.last().unwrap().number, last);
    let spans = (at - START) / (50 * MS);
    assert!(i64::try_from(plant.had.len()).unwrap() >= spans, "values come often enough");
}

#[test]
fn what_a_lifespan_ends_is_not_taken() {
    let mut qos = requested();
    qos.time_based_filter = Duration::from_ms(100);
    let mut one = offered(1, 1_000 * MS);
    one.lifespan = Duration::from_ms(20);
    let mut plant = Plant::new(qos, &[one]);
    plant.run_until(START);
    plant.publish(0, false);
    plant.publish(0, false);
    // The second is held back until after it has expired.
    plant.run_until(START + 200 * MS);
    assert_eq!(plant.had_of(), [0]);
    plant.publish(0, false);
    assert_eq!(plant.had_of(), [0]);
}

#[test]
fn a_writer_that_says_nothing_loses_its_instances_with_its_lease() {
    let mut strong = offered(2, 10_000 * MS);
    strong.liveliness.kind = LivelinessKind::ManualByTopic;
    strong.liveliness.lease = Duration::from_ms(70);
    let mut weak = offered(1, 10_000 * MS);
    weak.liveliness = strong.liveliness;
    let mut qos = requested();
    qos.liveliness.kind = LivelinessKind::ManualByTopic;
    qos.liveliness.lease = Duration::from_ms(200);
    let mut plant = Plant::new(qos, &[strong, weak]);
    plant.run_until(START);
    plant.events.clear();
    for round in 0..10 {
        plant.run_until(START + round * 50 * MS);
        plant.publish(0, false);
        plant.publish(1, false);
    }
    assert_eq!(plant.had_of(), [0; 10]);
    // Its last issue was at 450 ms; persistence is far longer than the lease.
    plant.run_until(START + 500 * MS);
    plant.publish(1, false);
    assert_eq!(plant.had_of(), []);
    plant.run_until(START + 519 * MS);
    assert_eq!(plant.had_of(), []);
    plant.run_until(START + 520 * MS);
    assert_eq!(plant.had_of(), [1]);
    let silent = plant.times_of(|event| matches!(event, Event::WriterSilent { .. }));
    assert_eq!(silent, [START + 520 * MS]);
}
