//! Send callbacks and their periods, explicit sends, handles.

use rtether_rtps::application::{Notice, PublicationOptions, SubscriptionOptions};
use rtether_rtps::engine::Running;
use rtether_rtps::time::{Duration, Instant};
use rtether_rtps::types::Ping;

use crate::application::world::{Log, MS, World, ping};

#[test]
fn a_send_callback_is_called_each_period_and_what_it_fills_in_is_sent() {
    let mut world = World::new(2);
    let (called, had) = (Log::new(), Log::new());
    let log = had.clone();
    let mut context = world.at(1);
    let subscription = context.subscribe::<Ping>(
        "ping",
        &SubscriptionOptions::default(),
        move |context, notice| {
            if let Notice::Sample(received) = notice {
                log.push((context.now().as_ns(), received.value.unwrap().sequence));
            }
        },
    );
    world.run_until(MS);
    let log = called.clone();
    let publication = world.publish(0, "ping");
    let mut context = world.at(0);
    let period = Duration::from_ms(10);
    context.send_every(&publication, period, ping(0), move |context, value| {
        log.push(context.now().as_ns());
        value.sequence += 1;
        // Each third one is withheld.
        value.sequence % 3 != 0
    });
    world.run_until(96 * MS);

    // Oracle: arithmetic. Periods of 10 ms from 1 ms on.
    let due: Vec<i64> = (0..10).map(|n| MS + n * 10 * MS).collect();
    assert_eq!(called.take(), due);
    let sent: Vec<(i64, u32)> = due.iter().copied().zip(1..).collect();
    let sent = sent.into_iter().filter(|(_, sequence)| sequence % 3 != 0);
    assert_eq!(had.take(), sent.collect::<Vec<_>>());
    let counters = world.at(0).publication_counters(&publication);
    assert_eq!((counters.sent, counters.periods_missed), (7, 0));
    drop(subscription);
}

#[test]
fn periods_that_are_over_are_left_out_and_the_others_stay_where_they_were() {
    let mut world = World::new(1);
    let called = Log::new();
    let log = called.clone();
    let publication = world.publish(0, "ping");
    let mut context = world.at(0);
    context.send_every(&publication, Duration::from_ms(10), ping(0), move |context, _| {
        log.push(context.now().as_ns() / MS);
        true
    });
    world.run_until(25 * MS);
    // The host stalls from 25 ms to 62 ms: 40, 50 and 60 ms become one call, and 30 ms is skipped
    // too.
    world.stall(37 * MS);
    world.run_until(85 * MS);
    assert_eq!(called.take(), [0, 10, 20, 62, 70, 80]);
    let counters = world.at(0).publication_counters(&publication);
    assert_eq!((counters.sent, counters.periods_missed), (6, 3));
    world.at(0).send_no_more(&publication);
    world.run_until(200 * MS);
    assert_eq!(called.take(), []);
}

#[test]
fn callbacks_own_handles_and_a_handle_that_is_dropped_takes_its_endpoint_along() {
    let mut world = World::new(2);
    // The other node echoes: its subscription owns the publication.
    let pong = world.publish(1, "pong");
    let mut context = world.at(1);
    let echo = context.subscribe::<Ping>(
        "ping",
        &SubscriptionOptions::default(),
        move |context, notice| {
            if let Notice::Sample(received) = notice {
                context.send(&pong, &received.value.unwrap()).unwrap();
            }
        },
    );
    let had = Log::new();
    let log = had.clone();
    let ping_publication = world.publish(0, "ping");
    let mut context = world.at(0);
    let answers =
        context.subscribe::<Ping>("pong", &SubscriptionOptions::default(), move |_, notice| {
            if let Notice::Sample(received) = &notice {
                log.push(received.value.as_ref().unwrap().sequence.to_string());
            } else if matches!(notice, Notice::Matched { .. }) {
                log.push("matched".to_owned());
            } else {
                assert!(matches!(notice, Notice::Unmatched { .. }), "{notice:?}");
                log.push("unmatched".to_owned());
            }
        });
    world.run_until(50 * MS);
    world.at(0).send(&ping_publication, &ping(7)).unwrap();
    world.run_until(60 * MS);
    assert_eq!(had.take(), ["matched", "7"]);

    drop(echo);
    world.run_until(70 * MS);
    // Oracle: the other side is notified, and no reader remains.
    assert_eq!(had.take(), ["unmatched"]);
    let writer = world.at(0).writer(&ping_publication).unwrap();
    assert_eq!(world.at(0).participant().readers_of(writer), 0);
    assert_eq!(world.at(0).participant().endpoints().count(), 0);

    // A kept publication works without a handle.
    world.at(0).keep(ping_publication);
    world.run_until(80 * MS);
    assert_eq!(world.at(1).participant().endpoints().count(), 2);
    drop(answers);
    world.run_until(90 * MS);
    assert_eq!(world.at(1).participant().endpoints().count(), 1);
}

#[test]
fn several_publications_of_one_topic_in_one_application_are_told_apart_by_strength() {
    let mut world = World::new(2);
    let had = Log::new();
    let log = had.clone();
    let options = SubscriptionOptions { strongest_only: true, ..SubscriptionOptions::default() };
    let subscription = world.at(1).subscribe::<Ping>("state", &options, move |context, notice| {
        if let Notice::Sample(received) = notice {
            let value = received.value.unwrap();
            log.push((context.now().as_ns() / MS, value.session, value.sequence));
        }
    });
    let publications = [1, 2].map(|strength| {
        let options = PublicationOptions {
            strength: Some(strength),
            persistence: Duration::from_ms(30),
            ..PublicationOptions::default()
        };
        world.at(0).publish::<Ping>("state", &options).unwrap()
    });
    world.run_until(100 * MS);
    let send = |world: &mut World, of: usize, sequence| {
        let value = Ping { session: u32::try_from(of).unwrap(), ..ping(sequence) };
        world.at(0).send(&publications[of], &value).unwrap();
    };
    for sequence in 0..5 {
        send(&mut world, 0, sequence);
        send(&mut world, 1, sequence);
        world.run_for(10 * MS);
    }
    // The strong one stops after its last sample at 140 ms.
    for sequence in 5..9 {
        send(&mut world, 0, sequence);
        world.run_for(10 * MS);
    }
    // Oracle: D3 by hand. The weak one is first and is taken, then only the strong one; its
    // persistence ends at 170 ms, when the last sample of the weak one, sent at 160 ms, is still
    // valid.
    let had = had.take();
    assert_eq!(had[0], (100, 0, 0));
    let strong: Vec<(i64, u32, u32)> = (0..5).map(|n| (100 + 10 * i64::from(n), 1, n)).collect();
    assert_eq!(had[1..6], strong);
    assert_eq!(had[6].0, 170);
    assert!(had[6..].iter().all(|one| one.1 == 0), "{had:?}");
    drop(subscription);
}

#[test]
fn what_is_suspended_neither_announces_nor_receives_nor_sends() {
    let mut world = World::new(2);
    world.node(0).participant.suspend();
    let (called, had) = (Log::new(), Log::new());
    let publication = world.publish(0, "ping");
    let mut context = world.at(0);
    let log = called.clone();
    context.send_every(&publication, Duration::from_ms(10), ping(0), move |context, _| {
        log.push(context.now().as_ns() / MS);
        true
    });
    let log = had.clone();
    // A subscription of its own: pending local traffic must not keep it busy either.
    let options = SubscriptionOptions::default();
    let subscription = context.subscribe::<Ping>("ping", &options, move |_, notice| {
        if matches!(notice, Notice::Sample(_)) {
            log.push(());
        }
    });
    world.run_until(1_000 * MS);
    let none = |world: &mut World, node| world.at(node).participant().participants().count() == 0;
    assert!(none(&mut world, 0) && none(&mut world, 1));
    assert_eq!(world.node(0).participant.counters().datagrams, 0);
    assert_eq!(called.take(), []);

    // Receiving only: it discovers the other, but not vice versa.
    world.at(0).start(Running::RECEIVING);
    world.run_until(2_000 * MS);
    assert!(!none(&mut world, 0) && none(&mut world, 1));
    assert_eq!(called.take(), []);
    assert_eq!(had.take().len(), 0);

    world.at(0).start(Running::SENDING);
    world.run_until(2_025 * MS);
    assert!(!none(&mut world, 0) && !none(&mut world, 1));
    // Oracle: arithmetic; the periods begin at the start, and none was missed.
    assert_eq!(called.take(), [2_000, 2_010, 2_020]);
    assert_eq!(had.take().len(), 3);
    let counters = world.at(0).publication_counters(&publication);
    assert_eq!(counters.periods_missed, 0);
    assert_eq!(world.at(0).participant().running(), Running::ALL);
    drop(subscription);
}

#[test]
fn an_endpoint_that_a_callback_makes_is_told_of_in_the_same_call() {
    let mut world = World::new(1);
    let had = Log::new();
    let log = had.clone();
    let publication = world.publish(0, "ping");
    let mut context = world.at(0);
    context.call_every(&publication, Duration::from_s(1), move |context| {
        let log = log.clone();
        let options = SubscriptionOptions::default();
        let made = context.subscribe::<Ping>("ping", &options, move |context, notice| {
            if matches!(notice, Notice::Matched { .. }) {
                log.push(context.now());
            }
        });
        context.keep(made.unwrap());
    });
    let node = world.node(0);
    node.application.dispatch(&mut node.participant, Instant::ZERO);
    assert_eq!(had.take(), [Instant::ZERO]);
}
