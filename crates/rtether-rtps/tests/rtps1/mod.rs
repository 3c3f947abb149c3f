//! RTPS 1.0: a manager and its applications on one host, in virtual time. Plants with faults are in
//! `faults`.

use std::net::{IpAddr, Ipv4Addr};

use rtether_rtps::discovery::v1::Ports;
use rtether_rtps::engine::{Config, Event, Participant, Protocol, SAMPLE_MAX_V1};
use rtether_rtps::guid::GuidPrefix;
use rtether_rtps::locator::{Locator, Origin};
use rtether_rtps::qos::{History, Ownership, Qos, Reliability};
use rtether_rtps::time::{Duration, Instant};
use rtether_rtps::typed::{Publication, Subscription};
use rtether_rtps::types::Ping;
use rtether_rtps::wire::v1::{ISSUE_HEADS, Role, Source};

use crate::net::{Faults, Net, Random, address};

const PORT: u16 = 40_000;

fn config(role: Role, own: Ipv4Addr, number: u32) -> Config {
    let manager = Ports::new(0).unwrap().manager;
    let prefix = Source::new(own.to_bits(), number, role).prefix();
    let mut config = Config::new(prefix, 0, [7; 16]);
    config.protocol = Protocol::Rtps1(role);
    let port = match role {
        Role::Manager => manager,
        Role::Application => PORT + u16::try_from(number).unwrap(),
    };
    config.metatraffic_unicast = vec![Locator::udp(own, port)];
    if role == Role::Application {
        config.default_unicast.clone_from(&config.metatraffic_unicast);
        config.announce_to = vec![Locator::udp(Ipv4Addr::LOCALHOST, manager)];
    }
    config.networks = vec![(Ipv4Addr::new(10, 0, 1, 0), 24)];
    config
}

/// A host: the manager is the last participant.
fn host(applications: usize) -> Net {
    let mut net = Net::new(applications + 1, 7, Faults::default());
    let own = address(0);
    for number in 0..applications {
        let application = u32::try_from(number).unwrap();
        net.places[number] = (own, Some(PORT + u16::try_from(number).unwrap()));
        net.start(number, |to| {
            *to = config(Role::Application, own, application);
        });
    }
    net.places[applications] = (own, Some(Ports::new(0).unwrap().manager));
    net.start(applications, |to| {
        *to = config(Role::Manager, own, 99);
    });
    net
}

fn qos(reliability: Reliability) -> Qos {
    Qos { reliability, history: History::KeepAll, ..Qos::writer() }
}

fn strong(strength: i32, persistence: Duration) -> Qos {
    Qos {
        ownership: Ownership::Exclusive,
        strength,
        persistence: Some(persistence),
        ..qos(Reliability::BestEffort)
    }
}

fn publication(net: &mut Net, at: usize, qos: Qos) -> Publication<Ping> {
    let (clock, participant) = net.at(at);
    let made = Publication::create(participant, clock, "T", qos).unwrap();
    net.run(at);
    made
}

fn subscription(net: &mut Net, at: usize, qos: Qos) -> Subscription<Ping> {
    let (clock, participant) = net.at(at);
    let made = Subscription::create(participant, clock, "T", qos).unwrap();
    net.run(at);
    made
}

fn write(
    net: &mut Net,
    at: usize,
    publication: &mut Publication<Ping>,
    sequence: u32,
    octets: usize,
) {
    let (clock, participant) = net.at(at);
    let value = Ping { sequence, payload: vec![5; octets], ..Ping::default() };
    publication.publish(participant, clock, &value).unwrap();
    net.run(at);
}

fn taken(net: &mut Net, at: usize, subscription: &mut Subscription<Ping>) -> Vec<u32> {
    let (clock, participant) = net.at(at);
    let next = || subscription.take(participant, clock);
    let all = std::iter::from_fn(next).filter_map(|one| one.value);
    all.map(|value| value.sequence).collect()
}

#[test]
fn a_weaker_publication_takes_over_when_the_persistence_of_the_stronger_ends() {
    // Oracle: by hand: written each 100 ms, the strong one for the last time at 400 ms; its
    // persistence ends at 900 ms, and the last sample of the weak one is then the one of 900 ms at
    // the latest.
    let mut net = host(3);
    let mut strongest = publication(&mut net, 0, strong(5, Duration::from_ms(500)));
    let mut weaker = publication(&mut net, 1, strong(2, Duration::from_ms(500)));
    let mut reader = subscription(&mut net, 2, qos(Reliability::BestEffort));
    net.run_for(2_000);
    let mut seen = Vec::new();
    for tick in 0..15 {
        if tick < 5 {
            write(&mut net, 0, &mut strongest, 100 + tick, 0);
        }
        write(&mut net, 1, &mut weaker, 200 + tick, 0);
        net.run_for(100);
        for sequence in taken(&mut net, 2, &mut reader) {
            seen.push((tick, sequence));
        }
    }
    let strong: Vec<_> = seen.iter().filter(|(_, one)| *one < 200).collect();
    assert_eq!(strong.len(), 5, "{seen:?}");
    let first = seen.iter().find(|(_, one)| *one >= 200).unwrap();
    assert!((8..=9).contains(&first.0), "{seen:?}");
    assert_eq!(seen.last(), Some(&(14, 214)), "{seen:?}");
}

#[test]
fn separation_and_deadline_are_those_of_the_subscription() {
    // Oracle: by hand: 100 samples in a second, one each 100 ms at most; then silence, and each
    // 300 ms a notice. The persistence is longer than the deadline, which keeps nobody apart.
    let mut net = host(2);
    let mut writer = publication(&mut net, 0, strong(1, Duration::from_s(30)));
    let wish = Qos {
        time_based_filter: Duration::from_ms(100),
        deadline: Duration::from_ms(300),
        ..qos(Reliability::BestEffort)
    };
    let mut reader = subscription(&mut net, 1, wish);
    net.run_for(2_000);
    let mut seen = Vec::new();
    for tick in 0..100 {
        write(&mut net, 0, &mut writer, tick, 0);
        net.run_for(10);
        seen.extend(taken(&mut net, 1, &mut reader));
    }
    assert!((9..=12).contains(&seen.len()), "{seen:?}");
    let (_, participant) = net.at(1);
    while participant.poll_event().is_some() {}
    net.run_for(1_000);
    seen.extend(taken(&mut net, 1, &mut reader));
    assert_eq!(seen.last(), Some(&99), "the last value arrives");
    let (_, participant) = net.at(1);
    let events = std::iter::from_fn(|| participant.poll_event());
    let missed = events.filter(|event| matches!(event, Event::DeadlineMissed { .. }));
    assert_eq!(missed.count(), 3);
}

#[test]
fn a_large_sample_is_one_datagram_and_a_larger_one_is_refused() {
    let mut net = host(2);
    let mut writer = publication(&mut net, 0, qos(Reliability::Reliable));
    let mut reader = subscription(&mut net, 1, qos(Reliability::Reliable));
    net.run_for(2_000);
    write(&mut net, 0, &mut writer, 1, 60_000);
    net.run_for(200);
    assert_eq!(taken(&mut net, 1, &mut reader), [1]);
    assert_eq!(SAMPLE_MAX_V1 - 4 + ISSUE_HEADS + 28, 65_507, "with a heartbeat");
    let now = net.now;
    let one = net.hosts[0].as_mut().unwrap();
    let value = Ping { payload: vec![0; SAMPLE_MAX_V1], ..Ping::default() };
    let clock = one.clock(now);
    let refused = writer.publish(&mut one.participant, clock, &value);
    assert!(refused.is_err());
}

#[test]
fn a_late_reader_begins_with_what_is_written_then_and_has_lost_nothing() {
    let mut net = host(3);
    let mut writer = publication(&mut net, 0, qos(Reliability::Reliable));
    let mut early = subscription(&mut net, 1, qos(Reliability::Reliable));
    net.run_for(2_000);
    for sequence in 0..50 {
        write(&mut net, 0, &mut writer, sequence, 0);
        net.run_for(5);
    }
    let mut late = subscription(&mut net, 2, qos(Reliability::Reliable));
    net.run_for(500);
    for sequence in 50..60 {
        write(&mut net, 0, &mut writer, sequence, 0);
        net.run_for(5);
    }
    net.run_for(500);
    assert_eq!(taken(&mut net, 1, &mut early), (0..60).collect::<Vec<_>>());
    assert_eq!(taken(&mut net, 2, &mut late), (50..60).collect::<Vec<_>>());
    let one = net.hosts[2].as_ref().unwrap();
    assert_eq!(one.participant.reader_counters(late.id()).lost, 0);
}

#[test]
fn a_reader_that_asks_once_and_then_waits_is_sent_the_sample_again() {
    // Oracle: a subscription of ORTE does so: what is sent at its request is lost, it does not ask
    // again, and the sample arrives nonetheless, once.
    let mut net = host(2);
    let mut writer = publication(&mut net, 0, qos(Reliability::Reliable));
    let mut reader = subscription(&mut net, 1, qos(Reliability::Reliable));
    net.run_for(2_000);
    write(&mut net, 0, &mut writer, 1, 0);
    net.run_for(100);
    assert_eq!(taken(&mut net, 1, &mut reader), [1]);
    net.cut.insert((0, 1));
    write(&mut net, 0, &mut writer, 2, 0);
    net.cut.clear();
    // A heartbeat arrives, and the reader asks.
    while net.step(i64::MAX) != Some(1) {}
    net.cut.insert((0, 1));
    net.run_for(1);
    assert_eq!(taken(&mut net, 1, &mut reader), [0_u32; 0]);
    net.cut.clear();
    net.muted.insert((1, 0));
    net.run_for(2_000);
    assert_eq!(taken(&mut net, 1, &mut reader), [2]);
}

#[test]
fn a_good_bye_does_not_overtake_the_last_samples() {
    // Oracle: what was written. The manager tells that the talker is gone while its last samples are
    // delayed by a millisecond, or have to be sent again.
    for seed in 0..20 {
        let mut net = host(2);
        net.random = Random(seed);
        let mut writer = publication(&mut net, 0, qos(Reliability::Reliable));
        let mut reader = subscription(&mut net, 1, qos(Reliability::Reliable));
        net.run_for(2_000);
        for sequence in 0..20 {
            write(&mut net, 0, &mut writer, sequence, 0);
            net.run_for(5);
        }
        net.faults.disorder = 500;
        for sequence in 20..24 {
            write(&mut net, 0, &mut writer, sequence, 0);
        }
        let (_, talker) = net.at(0);
        talker.leave();
        net.run(0);
        net.run_for(2_000);
        let all = taken(&mut net, 1, &mut reader);
        assert_eq!(all, (0..24).collect::<Vec<_>>(), "seed {seed}");
        let (_, listener) = net.at(1);
        assert_eq!(listener.writers_of(reader.id()), 0, "it is gone");
        assert_eq!(listener.reader_counters(reader.id()).lost, 0);
    }
}

fn participant(config: Config) -> Participant {
    Participant::new(config, Instant::ZERO)
}

#[test]
fn only_managers_of_this_host_and_those_named_are_believed() {
    // Oracle: the source address of the datagram alone decides.
    let [own, other] = [address(0), address(1)];
    let mut manager = participant(Config {
        announce_to: vec![Locator::udp(own, PORT)],
        ..config(Role::Manager, other, 1)
    });
    let mut datagram = Vec::new();
    manager.handle_timeout(Instant::ZERO);
    let sent = manager.poll_transmit(Instant::ZERO, &mut datagram);
    assert_eq!(sent.map(|sent| sent.to), Some(Locator::udp(own, PORT)));
    let from = |address: Ipv4Addr| Origin::Ip(IpAddr::V4(address));
    let mut application = participant(config(Role::Application, own, 0));
    application.handle_datagram(Instant::ZERO, from(other), &datagram);
    application.handle_datagram(Instant::ZERO, from(own), &datagram);
    let counters = application.counters();
    assert_eq!((counters.unanswered, counters.impostors), (1, 1));
    assert_eq!(application.participants().count(), 0);
    let mut application = participant(Config {
        announce_to: vec![Locator::udp(other, 7_400)],
        ..config(Role::Application, own, 0)
    });
    application.handle_datagram(Instant::ZERO, from(other), &datagram);
    assert_eq!(application.participants().count(), 1);
}

/// Of two hosts, each with a manager and an application, the application of the second either hears
/// the first host or does not: then what comes from it is as forged as its manager's report.
fn sent_to_the_second(is_heard: bool) -> ([usize; 2], usize) {
    let manager = Ports::new(0).unwrap().manager;
    let mut net = Net::new(4, 7, Faults::default());
    for place in 0..4 {
        let (own, other) = (address(place / 2), address(1 - place / 2));
        let role = [Role::Manager, Role::Application][place % 2];
        net.places[place] = (own, Some([manager, PORT][place % 2]));
        net.start(place, |to| {
            *to = config(role, own, 0);
            if role == Role::Manager {
                to.announce_to = vec![Locator::udp(other, manager)];
            }
        });
    }
    if !is_heard {
        net.muted.extend([(0, 3), (1, 3)]);
    }
    let mut writer = publication(&mut net, 1, qos(Reliability::BestEffort));
    let mut reader = subscription(&mut net, 3, qos(Reliability::BestEffort));
    net.run_for(2_000);
    for number in 0..500 {
        write(&mut net, 1, &mut writer, number, 1_000);
        net.run_for(10);
    }
    let wire = |from: usize, to: usize| net.wire.get(&(from, to)).copied().unwrap_or(0);
    let out = wire(0, 3) + wire(1, 3);
    // All that the application of the first host heard: of the second, and of its manager.
    let heard = wire(3, 1) + wire(2, 1) + wire(0, 1);
    let managed = wire(3, 0) + wire(2, 0) + wire(1, 0);
    let taken = taken(&mut net, 3, &mut reader).len();
    ([out, heard + managed], taken)
}

#[test]
fn who_is_reported_by_a_manager_proves_its_address_itself() {
    // Oracle: all samples where it hears; otherwise three times what came. Each sample has 1100
    // octets on the wire.
    let ([out, heard], taken) = sent_to_the_second(true);
    assert_eq!(taken, 500);
    assert!(out > 500 * 1_000, "{out}");
    assert!(heard < 100_000, "{heard}");
    let ([out, heard], taken) = sent_to_the_second(false);
    println!("{out} octets out, {heard} octets in");
    assert!(out <= 3 * heard && taken == 0, "{out} octets, {heard} octets");
}

#[test]
fn datagrams_of_other_versions_are_counted_by_version() {
    let mut one = participant(config(Role::Application, address(0), 0));
    let mut two = participant(Config::new(GuidPrefix([1; 12]), 0, [7; 16]));
    let origin = Origin::Ip(IpAddr::V4(address(1)));
    let v1 = b"RTPS\x01\x00\x00\x00\x0A\x4D\x00\x01\x00\x00\x07\x01".as_slice();
    let v2 = b"RTPS\x02\x05\x01\xFE\x0A\x4D\x00\x01\x00\x00\x07\x01\x00\x00\x00\x00".as_slice();
    for participant in [&mut one, &mut two] {
        for datagram in [v1, v2, v1] {
            participant.handle_datagram(Instant::ZERO, origin, datagram);
        }
        assert_eq!(participant.counters().malformed, 0);
    }
    let said = |participant: &Participant| participant.counters().versions.to_string();
    assert_eq!(said(&one), "1 of RTPS 2.5");
    assert_eq!(said(&two), "2 of RTPS 1.0");
}
