use std::net::Ipv4Addr;
use std::thread;
use std::time::{Duration, Instant};

use rtether_live::rtps::DomainOptions;

use super::super::{History, Qos, Reliability};
use super::{Content, Failure, Kind, Participant, Publisher, Subscriber, Taken};

const SOON: Duration = Duration::from_secs(20);
const AT_ONCE: Duration = Duration::ZERO;

fn participant(domain: u16) -> Participant {
    Participant::open(&DomainOptions {
        domain,
        interface: Some(Ipv4Addr::LOCALHOST),
        ..DomainOptions::default()
    })
    .unwrap()
}

/// A topic of this process: others may test beside.
fn topic() -> String {
    format!("t{}", std::process::id())
}

fn qos(reliability: Reliability, history: History, limit: u32) -> Qos {
    let mut qos = Qos::reader();
    qos.reliability = reliability;
    qos.history = history;
    qos.limits.samples = Some(limit);
    qos
}

/// Both ends of a topic with octets, that know each other.
fn ends(of: &Participant, to: &Participant, own: Qos, other: Qos) -> (Publisher, Subscriber) {
    let publisher = of.publisher(&topic(), Kind::Octets, own).unwrap();
    let subscriber = to.subscriber(&topic(), Kind::Octets, other).unwrap();
    assert_eq!(subscriber.await_writers(1, SOON), Ok(true));
    assert_eq!(publisher.await_readers(1, SOON), Ok(true));
    (publisher, subscriber)
}

fn octets(number: u32) -> Content {
    Content::Octets(number.to_be_bytes().to_vec())
}

fn number(taken: &Taken) -> u32 {
    let Content::Octets(octets) = &taken.content else {
        panic!("{taken:?}");
    };
    u32::from_be_bytes(octets.as_slice().try_into().unwrap())
}

/// Oracle: what was written.
#[test]
fn a_full_reader_holds_a_reliable_writer_back_and_nothing_is_lost() {
    let (here, there) = (participant(221), participant(221));
    let qos = qos(Reliability::Reliable, History::KeepAll, 5);
    let (publisher, subscriber) = ends(&here, &there, qos.clone(), qos);
    let mut written = 0;
    while publisher.write(&octets(written), Duration::from_millis(300)).unwrap().is_some() {
        written += 1;
        assert!(written < 100, "there is no limit");
    }
    assert!(written >= 5, "{written}");
    assert_eq!(publisher.await_acknowledged(AT_ONCE), Ok(false));
    assert!(publisher.unacknowledged().unwrap() > 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for next in written..200 {
                assert!(publisher.write(&octets(next), SOON).unwrap().is_some());
            }
        });
        for next in 0..200 {
            let taken = subscriber.take(SOON).unwrap().unwrap();
            assert_eq!((number(&taken), taken.sequence), (next, i64::from(next) + 1));
            let age = taken.received_ns - taken.sent_ns.unwrap();
            assert!((0..60_000_000_000).contains(&age), "{age}");
        }
    });
    assert_eq!(publisher.await_acknowledged(SOON), Ok(true));
    let counts = subscriber.counts().unwrap();
    assert_eq!((counts.taken, counts.lost, counts.replaced), (200, 0, 0));
    assert!(counts.deferred > 0 && counts.rejected == 0, "{counts:?}");
}

/// Oracle: by hand.
#[test]
fn what_newer_samples_replace_is_counted() {
    let (here, there) = (participant(222), participant(222));
    let writer = qos(Reliability::Reliable, History::KeepAll, 100);
    let reader = qos(Reliability::Reliable, History::KeepLast(2), 100);
    let (publisher, subscriber) = ends(&here, &there, writer, reader);
    for next in 0..10 {
        publisher.write(&octets(next), SOON).unwrap().unwrap();
    }
    assert_eq!(publisher.await_acknowledged(SOON), Ok(true));
    let took = std::iter::from_fn(|| subscriber.take(AT_ONCE).unwrap());
    assert_eq!(took.map(|one| number(&one)).collect::<Vec<_>>(), [8, 9]);
    let counts = subscriber.counts().unwrap();
    assert_eq!((counts.taken, counts.replaced, counts.lost), (2, 8, 0));
}

/// Oracle: the documentation of each call.
#[test]
fn closing_ends_waits_and_may_be_repeated() {
    let here = participant(223);
    let best = qos(Reliability::BestEffort, History::KeepAll, 10);
    let strict = qos(Reliability::Reliable, History::KeepAll, 10);
    let publisher = here.publisher(&topic(), Kind::Octets, best).unwrap();
    let there = participant(223);
    let subscriber = there.subscriber(&topic(), Kind::Octets, strict.clone()).unwrap();
    // Each learns of the other on its own.
    let until = Instant::now() + SOON;
    let is_open = || {
        publisher.mismatches().unwrap().is_empty() || subscriber.mismatches().unwrap().is_empty()
    };
    while is_open() && Instant::now() < until {
        thread::sleep(Duration::from_millis(10));
    }
    let why = ["reliability: best effort is offered, reliable is requested"];
    assert_eq!(publisher.mismatches().unwrap(), why);
    assert_eq!(subscriber.await_writers(1, AT_ONCE), Ok(false));
    assert_eq!(subscriber.mismatches().unwrap(), why);
    let json = Content::Json("{}".to_owned());
    assert!(matches!(publisher.write(&json, AT_ONCE), Err(Failure::Content(_))));
    thread::scope(|scope| {
        let waiting = scope.spawn(|| subscriber.take(SOON));
        thread::sleep(Duration::from_millis(50));
        there.close();
        there.close();
        assert_eq!(waiting.join().unwrap(), Err(Failure::Closed));
    });
    subscriber.close();
    publisher.close();
    publisher.close();
    assert_eq!(publisher.readers(), Err(Failure::Closed));
    let closed = there.subscriber(&topic(), Kind::Octets, strict.clone());
    assert!(matches!(closed, Err(Failure::Closed)));
    assert!(matches!(here.publisher("", Kind::Octets, strict), Err(Failure::Topic)));
}

/// Oracle: the clock.
#[test]
fn closing_a_publisher_ends_its_write() {
    let (here, there) = (participant(224), participant(224));
    let qos = qos(Reliability::Reliable, History::KeepAll, 2);
    let (publisher, _subscriber) = ends(&here, &there, qos.clone(), qos);
    let patience = Duration::from_millis(300);
    let mut written = 0;
    while publisher.write(&octets(0), patience).unwrap().is_some() {
        written += 1;
        assert!(written < 100, "there is no limit");
    }
    thread::scope(|scope| {
        let waiting = scope.spawn(|| publisher.write(&octets(0), SOON));
        thread::sleep(Duration::from_millis(50));
        let begun = Instant::now();
        publisher.close();
        assert!(begun.elapsed() < SOON / 4, "{:?}", begun.elapsed());
        assert_eq!(waiting.join().unwrap(), Err(Failure::Closed));
    });
}
