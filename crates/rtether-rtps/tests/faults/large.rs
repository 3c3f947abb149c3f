//! Samples of many fragments on a network that loses and reorders datagrams.

use rtether_rtps::qos::{Durability, Reliability};
use rtether_rtps::typed::{Publication, PublishError, Subscription};
use rtether_rtps::types::Octets;
use rtether_rtps::writer::WriteError;

use crate::faults::{MS, qos};
use crate::net::{Faults, Net};

const SAMPLES: u32 = 300;
const SIZE: usize = 100_000;

/// Completes discovery between two hosts, the first with a publication, the other with a
/// subscription.
fn matched(seed: u64, faults: Faults) -> (Net, Publication<Octets>, Subscription<Octets>) {
    let mut net = Net::new(2, seed, faults);
    let qos = qos(Reliability::Reliable, Durability::Volatile);
    for host in 0..2 {
        net.start(host, |_| {});
    }
    let (clock, participant) = net.at(0);
    let publication: Publication<Octets> =
        Publication::create(participant, clock, "large", qos.clone()).unwrap();
    let (clock, participant) = net.at(1);
    let subscription: Subscription<Octets> =
        Subscription::create(participant, clock, "large", qos).unwrap();
    net.run(0);
    net.run(1);
    let is_matched = |net: &Net| {
        let of = |host: usize| &net.hosts[host].as_ref().unwrap().participant;
        of(0).readers_of(publication.id()) == 1 && of(1).writers_of(subscription.id()) == 1
    };
    while !is_matched(&net) {
        net.step(60_000 * MS);
        assert!(net.now < 60_000 * MS, "seed {seed}: no match");
    }
    (net, publication, subscription)
}

/// Publishes as fast as there is room; returns the datagrams sent and the time in milliseconds.
fn carry(seed: u64, faults: Faults) -> (u64, i64) {
    let (mut net, mut publication, mut subscription) = matched(seed, faults);
    let (begin, before) = (net.now, net.sent);
    let (mut written, mut had) = (0, 0);
    while had < SAMPLES {
        let until = net.now + MS;
        let one = net.hosts[0].as_mut().unwrap();
        let clock = one.clock(net.now);
        while written < SAMPLES {
            let fill = u8::try_from(written % 251).unwrap();
            let value = Octets { octets: vec![fill; SIZE] };
            match publication.publish(&mut one.participant, clock, &value) {
                Ok(_) => written += 1,
                Err(PublishError::Write(WriteError::Full)) => break,
                Err(error) => panic!("{error}"),
            }
        }
        net.run(0);
        while net.step(until).is_some() {
            let (clock, participant) = net.at(1);
            while let Some(received) = subscription.take(participant, clock) {
                let value = received.value.unwrap();
                let fill = u8::try_from(had % 251).unwrap();
                assert_eq!(value.octets.len(), SIZE);
                assert!(value.octets.iter().all(|octet| *octet == fill), "sample {had}");
                had += 1;
            }
        }
        assert!(net.now - begin < 600_000 * MS, "seed {seed}: {had} of {SAMPLES} in ten minutes");
    }
    (net.sent - before, (net.now - begin) / MS)
}

/// Oracle: the number of fragments, against all datagrams of both sides.
#[test]
fn large_samples_arrive_and_most_of_what_is_sent_is_of_use() {
    let fragments = {
        let faults = Faults::default();
        let (sent, took) = carry(1, faults);
        println!("nothing lost: {sent} datagrams for {SAMPLES} samples in {took} ms");
        sent
    };
    for seed in 1..=3 {
        let faults = Faults { loss: 100, disorder: 200, ..Faults::default() };
        let (sent, took) = carry(seed, faults);
        let useful = 100 * fragments / sent;
        println!("seed {seed}: {sent} datagrams, {useful} % of use, {took} ms");
        assert!(
            useful >= 50,
            "{useful} %\nrepeat: cargo test -p rtether-rtps --test it -- faults::large --nocapture"
        );
    }
}

/// Oracle: the first window is four samples and 256 KiB. Formerly a reader with nothing to say for
/// a second counted as silent, and all that was written after a rest was sent to it at once: 3851
/// datagrams.
#[test]
fn after_a_rest_no_more_is_sent_at_once_than_before() {
    let (mut net, mut publication, _subscription) = matched(1, Faults::default());
    let until = net.now + 5_000 * MS;
    while net.step(until).is_some() {}
    let (clock, participant) = net.at(0);
    for _ in 0..50 {
        let value = Octets { octets: vec![7; SIZE] };
        let written = publication.publish(participant, clock, &value);
        assert!(written.is_ok(), "{written:?}");
    }
    let before = net.octets;
    net.run(0);
    let sent = net.octets - before;
    assert!(
        (100_000..300_000).contains(&sent),
        "{sent} octets at once\nrepeat: cargo test -p rtether-rtps --test it -- rest"
    );
}
