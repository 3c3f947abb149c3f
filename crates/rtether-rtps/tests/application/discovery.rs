//! Sightings, vetoes, and patterns of topics.

use rtether_rtps::application::{
    Context, Notice, PatternOptions, PublicationHandle, PublicationOptions, SubscriptionOptions,
    Verdict,
};
use rtether_rtps::engine::{Change, ExpectedEndpoint, Sighted, Sighting};
use rtether_rtps::guid::EntityId;
use rtether_rtps::locator::Origin;
use rtether_rtps::qos::Reliability;
use rtether_rtps::sequence::SequenceNumber;
use rtether_rtps::time::Duration;
use rtether_rtps::types::{Octets, Ping};
use rtether_rtps::wire::{Builder, Content, InlineQos};

use crate::application::world::{Log, MS, World, participant};

fn line(sighting: &Sighting) -> String {
    let change = match sighting.change {
        Change::New => "new",
        Change::Changed => "changed",
        Change::Gone => "gone",
    };
    match &sighting.of {
        Sighted::Participant(data) => format!("{change} participant {}", data.name),
        Sighted::Publication(data) => format!("{change} publication {}", data.topic),
        Sighted::Subscription(data) => format!("{change} subscription {}", data.topic),
    }
}

/// Makes a node record its sightings, and ignore those that match a line.
fn observe(world: &mut World, node: usize, ignored: &'static str) -> Log<String> {
    let seen = Log::new();
    let log = seen.clone();
    world.at(node).observe(move |_, sighting| {
        let line = line(sighting);
        let is_ignored = line == ignored;
        log.push(line);
        if is_ignored { Verdict::Ignore } else { Verdict::Admit }
    });
    seen
}

fn publish(context: &mut Context<'_>, topic: &str) -> PublicationHandle<Ping> {
    context.publish(topic, &PublicationOptions::default()).unwrap()
}

fn nothing<T>(_: &mut Context<'_>, _: Notice<T>) {}

#[test]
fn all_that_is_new_changed_or_gone_is_seen() {
    let mut world = World::new(2);
    let seen = observe(&mut world, 0, "");
    let options = SubscriptionOptions::default();
    let publication = publish(&mut world.at(1), "one");
    let subscription = world.at(1).subscribe::<Ping>("two", &options, nothing);
    world.run_until(100 * MS);
    assert_eq!(
        seen.take(),
        ["new participant node", "new publication one", "new subscription two"]
    );
    drop(publication);
    world.run_until(200 * MS);
    assert_eq!(seen.take(), ["gone publication one"]);
    world.run_until(1_000 * MS);
    assert!(seen.take().is_empty());

    // Its announced data changes: it has restarted under the same name.
    let now = world.clock();
    world.node(1).participant = participant(1, "other", now);
    world.settle();
    assert_eq!(seen.take()[0], "changed participant other");
    world.run_until(1_100 * MS);
    seen.take();

    world.nodes[1] = None;
    world.run_until(3_000 * MS);
    let gone = seen.take();
    assert_eq!(gone.last().unwrap(), "gone participant other", "{gone:?}");
    assert!(gone.iter().all(|line| line.starts_with("gone ")));
    drop(subscription);
}

#[test]
fn of_several_endpoints_that_end_at_once_each_is_gone() {
    let mut world = World::new(2);
    let seen = observe(&mut world, 0, "");
    let all = ["a", "b", "c"].map(|topic| publish(&mut world.at(1), topic));
    world.run_until(100 * MS);
    seen.take();
    drop(all);
    world.run_until(200 * MS);
    let gone = ["gone publication a", "gone publication b", "gone publication c"];
    assert_eq!(seen.take(), gone);
    assert_eq!(world.at(0).participant().endpoints().count(), 0);
}

#[test]
fn an_endpoint_that_changes_is_decided_on_again() {
    for (ignored, left) in [("", 1), ("changed publication one", 0)] {
        let mut world = World::new(2);
        let seen = observe(&mut world, 0, ignored);
        let options = SubscriptionOptions::default();
        let subscription = world.at(0).subscribe::<Ping>("one", &options, nothing);
        let publication = publish(&mut world.at(1), "one");
        world.run_until(100 * MS);
        seen.take();
        let (_, known) = world.node(0).participant.endpoints().next().unwrap();
        let mut changed = known.clone();
        changed.qos.transport_priority = 5;
        // The announcement that its participant would send, as the second sample of its
        // publications writer.
        let (mut payload, mut datagram) = (Vec::new(), Vec::new());
        changed.encode(&mut payload, true);
        let mut message = Builder::new(&mut datagram, changed.guid.prefix, 1_472);
        message.data(
            EntityId::PUBLICATIONS_READER,
            EntityId::PUBLICATIONS_WRITER,
            SequenceNumber::FIRST.next(),
            &InlineQos::default(),
            Content::Data(&payload),
        );
        let now = world.clock();
        let origin = Origin::Ip(crate::application::world::address(1).into());
        let participant = &mut world.node(0).participant;
        participant.handle_datagram(now, origin, &datagram);
        world.run_until(101 * MS);
        assert_eq!(seen.take(), ["changed publication one"]);
        let participant = &world.node(0).participant;
        assert_eq!(participant.endpoints().count(), left);
        let subscription = subscription.unwrap();
        let reader = world.at(0).readers(&subscription).next().unwrap();
        assert_eq!(world.node(0).participant.writers_of(reader), left);
        drop(publication);
    }
}

/// Counts matches of three pairs of endpoints if one sighting is ignored.
fn matched(ignored: &'static str) -> [usize; 3] {
    let mut world = World::new(3);
    let _seen = observe(&mut world, 0, ignored);
    let options = SubscriptionOptions::default();
    let from = world.at(0).subscribe::<Ping>("a", &options, nothing).unwrap();
    let to = publish(&mut world.at(0), "b");
    let third = world.at(0).subscribe::<Ping>("c", &options, nothing).unwrap();
    let a = publish(&mut world.at(1), "a");
    let b = world.at(1).subscribe::<Ping>("b", &options, nothing).unwrap();
    let c = publish(&mut world.at(2), "c");
    world.run_until(2_000 * MS);
    let context = world.at(0);
    let reader = |handle| context.readers(handle).next().unwrap();
    let writer = context.writer(&to).unwrap();
    let counts = [
        context.participant().writers_of(reader(&from)),
        context.participant().readers_of(writer),
        context.participant().writers_of(reader(&third)),
    ];
    drop((a, b, c));
    counts
}

#[test]
fn who_is_left_out_is_not_matched_and_all_others_are() {
    assert_eq!(matched(""), [1, 1, 1]);
    assert_eq!(matched("new publication a"), [0, 1, 1]);
    assert_eq!(matched("new subscription b"), [1, 0, 1]);
    // All nodes have the same name.
    assert_eq!(matched("new participant node"), [0, 0, 0]);
}

#[test]
fn a_participant_that_was_left_out_is_asked_about_again_when_it_has_changed() {
    let mut world = World::new(2);
    let seen = observe(&mut world, 0, "new participant node");
    let publication = publish(&mut world.at(1), "one");
    world.run_until(1_000 * MS);
    assert_eq!(seen.take(), ["new participant node"]);
    assert_eq!(world.at(0).participant().participants().count(), 0);
    drop(publication);
    let now = world.clock();
    world.node(1).participant = participant(1, "other", now);
    world.run_until(2_000 * MS);
    assert_eq!(seen.take(), ["changed participant other"]);
    assert_eq!(world.at(0).participant().participants().count(), 1);
}

#[test]
fn what_a_host_does_not_decide_on_in_time_waits_and_nothing_is_left_out() {
    // Oracle: the number of endpoints, which exceeds the limit of sightings.
    const EACH: usize = 500;
    let mut world = World::new(4);
    let mut handles = Vec::new();
    for node in 1..4 {
        for number in 0..EACH {
            handles.push(publish(&mut world.at(node), &format!("topic {number}")));
        }
    }
    // It has no application to decide: the test does, rarely.
    let mut lonely = participant(0, "lonely", world.clock());
    lonely.watch();
    world.node(0).participant = lonely;
    let mut decided = 0;
    for round in 1..100 {
        world.run_watched(0, round * 50 * MS);
        let now = world.clock();
        let participant = &mut world.node(0).participant;
        let mut once = 0;
        while once < 100
            && let Some(sighting) = participant.poll_sighting(now)
        {
            once += 1;
            decided += usize::from(matches!(sighting.of, Sighted::Publication(_)));
            participant.admit(now, &sighting);
        }
    }
    assert_eq!(decided, 3 * EACH);
    let participant = &world.node(0).participant;
    assert_eq!(participant.endpoints().count(), 3 * EACH);
    assert_eq!(participant.counters().events_dropped, 0);
}

#[test]
fn a_pattern_takes_topics_as_they_are_found_up_to_its_limit() {
    let mut world = World::new(2);
    let told = Log::new();
    let (log, asked) = (told.clone(), Log::new());
    let asks = asked.clone();
    let pattern =
        PatternOptions { topic: "line/*", readers_max: 2, options: SubscriptionOptions::default() };
    let before = publish(&mut world.at(1), "line/1");
    world.run_until(100 * MS);
    let subscription = world.at(0).subscribe_pattern::<Ping>(
        &pattern,
        move |writer| {
            asks.push(writer.topic.clone());
            writer.topic != "line/declined"
        },
        move |_, topic, notice| {
            if let Notice::Sample(received) = notice {
                log.push((topic.to_owned(), received.value.unwrap().sequence));
            }
        },
    );
    let other_type =
        world.at(1).publish::<Octets>("line/octets", &PublicationOptions::default()).unwrap();
    let declined = publish(&mut world.at(1), "line/declined");
    let elsewhere = publish(&mut world.at(1), "cell/1");
    let second = publish(&mut world.at(1), "line/2");
    let third = publish(&mut world.at(1), "line/3");
    world.run_until(200 * MS);
    assert_eq!(asked.take(), ["line/1", "line/declined", "line/2"]);
    assert_eq!(world.at(0).readers(&subscription).count(), 2);
    assert_eq!(world.node(0).application.counters().patterns_full, 1);

    let send = |world: &mut World, publication: &PublicationHandle<Ping>, sequence| {
        let value = Ping { sequence, ..Ping::default() };
        world.at(1).send(publication, &value).unwrap();
        world.run_for(MS);
    };
    for (publication, sequence) in [(&before, 1), (&declined, 2), (&elsewhere, 3), (&second, 4)] {
        send(&mut world, publication, sequence);
    }
    assert_eq!(told.take(), [("line/1".to_owned(), 1), ("line/2".to_owned(), 4)]);

    // A topic that is gone makes room for another one.
    drop((second, third, other_type));
    world.run_until(300 * MS);
    assert_eq!(world.at(0).readers(&subscription).count(), 1);
    let third = publish(&mut world.at(1), "line/3");
    world.run_until(400 * MS);
    send(&mut world, &third, 5);
    assert_eq!(told.take(), [("line/3".to_owned(), 5)]);

    drop(subscription);
    world.run_until(500 * MS);
    let left = world.at(1).participant().endpoints().count();
    assert_eq!(left, 0, "the others are told");
}

/// Runs two nodes for a second with a publication and a subscription each; returns the samples
/// received, and the number of datagrams.
fn traffic(is_expected: bool) -> (Vec<u32>, u64) {
    let mut world = World::new(2);
    let had = Log::new();
    for node in 0..2 {
        let name = ["a", "b"][node];
        world.node(node).participant = participant(node, name, world.clock());
        let options = SubscriptionOptions {
            reliability: Reliability::Reliable,
            ..SubscriptionOptions::default()
        };
        if is_expected {
            let other = [("b", "from b", "from a"), ("a", "from a", "from b")][node];
            let endpoint = |number, is_writer, topic: &str| ExpectedEndpoint {
                number,
                is_writer,
                has_key: false,
                topic: topic.to_owned(),
                type_name: "rtether::Ping".to_owned(),
                qos: if is_writer { PublicationOptions::default().qos() } else { options.qos() },
            };
            let endpoints = [endpoint(1, true, other.1), endpoint(2, false, other.2)];
            assert!(world.node(node).participant.expect(other.0, &endpoints));
        }
        let (own, theirs) = [("from a", "from b"), ("from b", "from a")][node];
        let log = had.clone();
        let publication = publish(&mut world.at(node), own);
        let subscription = world.at(node).subscribe::<Ping>(theirs, &options, move |_, notice| {
            if let Notice::Sample(received) = notice {
                log.push(received.value.unwrap().sequence);
            }
        });
        let value = Ping { sequence: u32::try_from(node).unwrap(), ..Ping::default() };
        let period = Duration::from_ms(200);
        world.at(node).send_every(&publication, period, value, |_, value| {
            value.sequence += 10;
            true
        });
        world.at(node).keep(publication);
        world.at(node).keep(subscription.unwrap());
    }
    world.run_until(900 * MS);
    (had.take(), world.sent)
}

#[test]
fn endpoints_that_are_expected_are_matched_without_being_told_of() {
    let (found, datagrams) = traffic(false);
    let (expected, fewer) = traffic(true);
    // Oracle: the samples received with discovery; volatile samples may be lost before it
    // completes.
    let last = |all: &[u32]| all.iter().copied().max();
    assert_eq!(last(&found), Some(51));
    assert_eq!(last(&expected), Some(51));
    assert!(expected.len() >= found.len(), "{expected:?} {found:?}");
    println!("{datagrams} datagrams, {fewer} without discovery of endpoints");
    assert!(fewer < datagrams);
}

#[test]
fn a_node_with_the_name_of_an_expected_one_has_no_other_endpoints() {
    let mut world = World::new(2);
    let expects = |world: &mut World| world.node(0).participant.expect("node", &[]);
    assert!(expects(&mut world));
    let seen = observe(&mut world, 0, "");
    let publication = publish(&mut world.at(1), "unexpected");
    world.run_until(500 * MS);
    assert_eq!(seen.take(), ["new participant node"]);
    assert_eq!(world.at(0).participant().endpoints().count(), 0);
    drop(publication);
}
