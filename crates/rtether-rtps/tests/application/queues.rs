//! Queues that fill because a subscription lags: critical level, and how long a publication waits.

use rtether_rtps::application::{
    Notice, PublicationNotice, PublicationOptions, SubscriptionOptions,
};
use rtether_rtps::qos::Reliability;
use rtether_rtps::typed::PublishError;
use rtether_rtps::types::Ping;
use rtether_rtps::writer::WriteError;

use crate::application::world::{LEASE, Log, MS, World};

const FULL: Result<(), PublishError> = Err(PublishError::Write(WriteError::Full));

struct Queue {
    world: World,
    publication: rtether_rtps::application::PublicationHandle<Ping>,
    told: Log<String>,
    had: Log<u32>,
    _subscription: rtether_rtps::application::SubscriptionHandle<Ping>,
}

/// A queue of eight with a critical level of five.
fn queue() -> Queue {
    let mut world = World::new(2);
    let (told, had) = (Log::new(), Log::new());
    let log = had.clone();
    let options = SubscriptionOptions {
        reliability: Reliability::Reliable,
        ..SubscriptionOptions::default()
    };
    let subscription = world.at(1).subscribe::<Ping>("ping", &options, move |_, notice| {
        if let Notice::Sample(received) = notice {
            log.push(received.value.unwrap().sequence);
        }
    });
    let options = PublicationOptions { queue: 8, ..PublicationOptions::default() };
    let mut context = world.at(0);
    let publication = context.publish::<Ping>("ping", &options).unwrap();
    let log = told.clone();
    context.on_publication(&publication, Some(5), move |_, notice| {
        log.push(match notice {
            PublicationNotice::Matched { .. } => "matched".to_owned(),
            PublicationNotice::Unmatched { .. } => "unmatched".to_owned(),
            PublicationNotice::Critical { waiting } => format!("critical {waiting}"),
            PublicationNotice::Relieved => "relieved".to_owned(),
            PublicationNotice::Incompatible { .. } | PublicationNotice::DeadlineMissed { .. } => {
                panic!("{notice:?}")
            }
        });
    });
    world.run_until(100 * MS);
    assert_eq!(told.take(), ["matched"]);
    Queue { world, publication, told, had, _subscription: subscription.unwrap() }
}

impl Queue {
    /// Sends if there is room; returns whether there was.
    fn sends(&mut self, sequence: u32) -> bool {
        let value = Ping { sequence, ..Ping::default() };
        let sent = self.world.at(0).send_if_room(&self.publication, &value);
        sent.unwrap().is_some()
    }

    fn send(&mut self, sequence: u32) -> Result<(), PublishError> {
        let value = Ping { sequence, ..Ping::default() };
        let sent = self.world.at(0).send(&self.publication, &value);
        sent.map(|_| ())
    }
}

#[test]
fn the_critical_level_is_told_once_and_again_when_it_is_left() {
    let mut queue = queue();
    queue.world.cut.insert(1);
    for sequence in 0..8 {
        queue.send(sequence).unwrap();
        queue.world.run_for(MS);
        let expected: &[&str] = if sequence == 4 { &["critical 5"] } else { &[] };
        assert_eq!(queue.told.take(), expected, "after {sequence}");
    }
    assert_eq!(queue.send(8), FULL);
    queue.world.cut.clear();
    queue.world.run_for(600 * MS);
    assert_eq!(queue.told.take(), ["relieved"]);
    assert!(queue.had.take().into_iter().eq(0..8));
    queue.send(8).unwrap();
}

#[test]
fn a_dead_subscription_holds_up_a_publication_for_no_longer_than_its_lease() {
    let mut queue = queue();
    // It announces itself every 300 ms, and dies right after an announcement.
    queue.world.run_until(1_000 * MS);
    queue.world.nodes[1] = None;
    let died = queue.world.now;
    for sequence in 0..8 {
        queue.send(sequence).unwrap();
    }
    while !queue.sends(8) {
        queue.world.run_for(MS);
        assert!(queue.world.now - died <= LEASE.as_ns() + MS);
    }
    // The queue was full for a time: the lease counts from the last announcement, at most 300 ms
    // earlier.
    assert!(queue.world.now - died >= LEASE.as_ns() - 300 * MS);
    queue.world.run_for(MS);
    assert_eq!(queue.told.take(), ["critical 8", "unmatched", "relieved"]);
    let counters = queue.world.at(0).publication_counters(&queue.publication);
    assert_eq!((counters.sent, counters.refused), (9, 0));
}
