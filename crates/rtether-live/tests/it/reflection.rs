//! Reflection between two hosts: ten attacks by a neighbor that forges the address of a third host,
//! and knows only what all hear, such as the prefix in announcements.
//!
//! The third host is the near one, where nobody listens to what comes; the attacker's datagrams leave
//! with its address and are written without a look at what comes.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rtether_live::namespace::Namespace;
use rtether_live::rtps::{Domain, DomainOptions, Envelope};
use rtether_rtps::discovery::{EndpointData, ParticipantData};
use rtether_rtps::engine::{NewSample, TopicName, WriterId};
use rtether_rtps::guid::{EntityId, Guid, GuidPrefix};
use rtether_rtps::locator::{DISCOVERY_GROUP, Locator};
use rtether_rtps::qos::{History, Qos, Reliability};
use rtether_rtps::sequence::{NumberSet, SequenceNumber};
use rtether_rtps::time::Duration;
use rtether_rtps::wire::{AckNack, Builder, Content, Heartbeat, InlineQos, NackFrag};

use crate::bed::inside;
use crate::wire::{FAR, NEAR, Wire};

const NAME: TopicName<'_> = TopicName { topic: "reflection", type_name: "T" };
const PORT: u16 = 7_410;
/// A port of the near host at which the third host does not listen to participants.
const DEAF: u16 = 7_420;
const GROUP: Locator = Locator::udp(Ipv4Addr::new(239, 255, 7, 7), 7_411);
const ROUNDS: u32 = 12;
const PUBLICATIONS: [EntityId; 2] = [EntityId::PUBLICATIONS_WRITER, EntityId::PUBLICATIONS_READER];
const MESSAGES: [EntityId; 2] = [EntityId::MESSAGE_WRITER, EntityId::MESSAGE_READER];

/// Octets on the wire of a datagram in one frame. Oracle: IEEE 802.3, RFC 768, RFC 791.
fn wire_octets(datagram: usize) -> u64 {
    assert!(datagram <= 1_472);
    u64::try_from((datagram + 46).max(64) + 20).unwrap()
}

/// What an attacker writes in the name of a participant that it has made up.
struct Forger {
    prefix: GuidPrefix,
    /// Prefix of the participant under attack.
    of: GuidPrefix,
    port: u16,
    count: i32,
    /// Samples of the writers that announce endpoints.
    number: i64,
}

impl Forger {
    fn message(&self, write: impl FnOnce(&mut Builder<'_>)) -> Vec<u8> {
        let mut octets = Vec::new();
        write(&mut Builder::new(&mut octets, self.prefix, 1_472));
        octets
    }

    /// A message that names the participant under attack.
    fn named(&self, write: impl FnOnce(&mut Builder<'_>)) -> Vec<u8> {
        self.message(|message| {
            message.info_destination(self.of);
            write(message);
        })
    }

    fn announcement(&self) -> Vec<u8> {
        let mut data = ParticipantData::new(self.prefix);
        data.metatraffic_unicast = vec![Locator::udp(NEAR, self.port)];
        data.default_unicast.clone_from(&data.metatraffic_unicast);
        data.endpoints = 0x0C3F;
        let mut payload = Vec::new();
        data.encode(&mut payload);
        self.sample(EntityId::SPDP_WRITER, 1, &payload)
    }

    fn sample(&self, writer: EntityId, number: i64, payload: &[u8]) -> Vec<u8> {
        let (number, inline) = (SequenceNumber(number), InlineQos::default());
        self.message(|message| {
            let content = Content::Data(payload);
            message.data(EntityId::UNKNOWN, writer, number, &inline, content);
        })
    }

    fn reader(&mut self, reliability: Reliability, group: Option<Locator>) -> Vec<u8> {
        let data = EndpointData {
            guid: Guid::new(self.prefix, EntityId::reader(1, false)),
            topic: NAME.topic.to_owned(),
            type_name: NAME.type_name.to_owned(),
            qos: qos(reliability),
            unicast: Vec::new(),
            multicast: group.into_iter().collect(),
            expects_inline_qos: false,
            content_filter: None,
            type_hash: None,
            type_information: Vec::new(),
            group: None,
        };
        let mut payload = Vec::new();
        data.encode(&mut payload, false);
        self.number += 1;
        self.sample(EntityId::SUBSCRIPTIONS_WRITER, self.number, &payload)
    }

    fn ack(&mut self, [writer, reader]: [EntityId; 2], base: i64, len: u32) -> Vec<u8> {
        self.count += 1;
        let ack = AckNack {
            reader,
            writer,
            set: NumberSet::from_words(base, len, [u32::MAX; 8]).unwrap(),
            count: self.count,
            is_final: false,
        };
        self.named(|message| {
            message.ack_nack(&ack);
        })
    }
}

fn qos(reliability: Reliability) -> Qos {
    let mut qos = Qos::writer();
    qos.reliability = reliability;
    qos.history = History::KeepLast(32);
    qos
}

fn open(host: &Namespace, address: Ipv4Addr) -> Domain {
    let options = DomainOptions { interface: Some(address), ..DomainOptions::default() };
    inside(host, || Domain::open(&options).unwrap())
}

/// What an attack draws: datagrams that it sends in each round.
type Attack = fn(&mut Forger, u32, EntityId) -> Vec<Vec<u8>>;

/// Octets on the wire in and out, and frames out.
struct Drawn {
    octets: (u64, u64),
    frames: u64,
    /// Participants that are known to the one under attack.
    known: usize,
}

fn step(domain: &mut Domain, other: Option<&mut Domain>, span: Duration) {
    let until = domain.now() + span;
    if let Some(other) = other {
        while domain.now() < until {
            domain.step(domain.now()).unwrap();
            other.step(other.now()).unwrap();
        }
        return;
    }
    while domain.now() < until {
        domain.step(until).unwrap();
    }
}

/// Runs an attack on a publisher at the far host. A genuine participant lives at the near one if it
/// is not deaf.
fn run(wire: &Wire, attack: Attack, is_deaf: bool) -> Drawn {
    let mut far = open(&wire.far, FAR);
    let (now, participant) = (far.now(), far.participant_mut());
    let quality = qos(Reliability::Reliable);
    let id: WriterId = participant.create_writer(now, NAME, false, quality).unwrap();
    let own = participant.writer_guid(id).unwrap();
    let mut genuine = (!is_deaf).then(|| open(&wire.near, NEAR));
    // Without it the kernel would answer that the port is closed.
    let bind = |port| inside(&wire.near, || UdpSocket::bind((NEAR, port)).unwrap());
    let deaf = (bind(DEAF), is_deaf.then(|| bind(PORT)));
    let attacker = inside(&wire.near, || UdpSocket::bind((NEAR, 0)).unwrap());
    step(&mut far, genuine.as_mut(), Duration::from_ms(300));
    let out = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
    let count = Arc::clone(&out);
    far.watch(Box::new(move |seen| {
        let Envelope::Udp { to, .. } = seen.envelope else {
            return;
        };
        let is_genuine = !is_deaf && to.port() == PORT;
        if seen.is_sent && *to.ip() != DISCOVERY_GROUP && !is_genuine {
            count.0.fetch_add(wire_octets(seen.message.len()), Ordering::Relaxed);
            count.1.fetch_add(1, Ordering::Relaxed);
        }
    }));
    let mut forger =
        Forger { prefix: GuidPrefix([9; 12]), of: own.prefix, port: DEAF, count: 0, number: 0 };
    let payload = vec![0; 20_000];
    let mut octets = 0;
    for round in 0..ROUNDS {
        for datagram in attack(&mut forger, round, own.entity) {
            octets += wire_octets(datagram.len());
            attacker.send_to(&datagram, (FAR, PORT)).unwrap();
        }
        for _ in 0..5 {
            let now = far.now();
            let sample = NewSample::value(&payload);
            far.participant_mut().write(now, id, &sample).unwrap();
            step(&mut far, genuine.as_mut(), Duration::from_ms(10));
        }
    }
    drop(deaf);
    let known = far.participant().participants().count();
    Drawn {
        octets: (octets, out.0.load(Ordering::Relaxed)),
        frames: out.1.load(Ordering::Relaxed),
        known,
    }
}

const ATTACKS: [(&str, Attack); 10] = [
    ("announcements", |forger, _, _| vec![forger.announcement()]),
    ("announcements of many", |forger, round, _| {
        let round = u8::try_from(round).unwrap();
        let prefixes = (0..8).map(|one| [9, 9, 9, 9, 9, 9, 9, 9, 9, 9, round, one]);
        let all = prefixes.map(|prefix| {
            forger.prefix = GuidPrefix(prefix);
            forger.announcement()
        });
        all.collect()
    }),
    ("a reader", |forger, _, _| {
        vec![forger.announcement(), forger.reader(Reliability::BestEffort, None)]
    }),
    ("a reader, and answers that name the publisher", |forger, _, _| {
        let mut all = vec![forger.announcement(), forger.reader(Reliability::BestEffort, None)];
        for pair in [PUBLICATIONS, MESSAGES] {
            all.extend([0, 1, 2].map(|base| forger.ack(pair, base, 1)));
        }
        all
    }),
    ("requests for the history", |forger, _, own| {
        let reader = EntityId::reader(1, false);
        let mut all = vec![forger.announcement(), forger.reader(Reliability::Reliable, None)];
        all.extend([1, 40, 80, 120].map(|base| forger.ack([own, reader], base, 256)));
        all
    }),
    ("a reader at a group", |forger, _, _| {
        let reader = forger.reader(Reliability::BestEffort, Some(GROUP));
        vec![forger.announcement(), reader, forger.ack(MESSAGES, 1, 0)]
    }),
    ("guesses", |forger, round, _| {
        let mut all = vec![forger.announcement(), forger.reader(Reliability::BestEffort, None)];
        let bases = (0..20).map(|guess| (i64::from(round) << 35) + (guess << 20));
        all.extend(bases.map(|base| {
            let mut datagram = forger.ack(MESSAGES, base, 0);
            for next in 1..20 {
                let more = forger.ack(MESSAGES, base + next, 0);
                datagram.extend_from_slice(&more[20..]);
            }
            datagram
        }));
        all
    }),
    ("heartbeats", |forger, round, _| {
        let count = i32::try_from(round).unwrap();
        let heartbeat = Heartbeat {
            reader: EntityId::UNKNOWN,
            writer: EntityId::PUBLICATIONS_WRITER,
            first: SequenceNumber(1),
            last: SequenceNumber(1 << 20),
            count,
            is_final: false,
            is_liveliness: false,
        };
        let heartbeat = forger.named(|message| {
            message.heartbeat(&heartbeat);
        });
        vec![forger.announcement(), heartbeat]
    }),
    ("requests for fragments", |forger, round, own| {
        let nack = NackFrag {
            reader: EntityId::reader(1, false),
            writer: own,
            sequence: SequenceNumber(i64::from(round) * 5 + 1),
            set: NumberSet::from_words(1, 14, [u32::MAX]).unwrap(),
            count: i32::try_from(round).unwrap() + 1,
        };
        let nack = forger.named(|message| {
            message.nack_frag(&nack);
        });
        vec![forger.announcement(), forger.reader(Reliability::Reliable, None), nack]
    }),
    ("several in one datagram, in the name of several", |forger, round, _| {
        let mut datagram = forger.announcement();
        let round = u8::try_from(round).unwrap();
        let other =
            Forger { prefix: GuidPrefix([8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, round]), ..*forger };
        // INFO_SRC: what follows is of another.
        datagram.extend_from_slice(&[0x0C, 1, 20, 0, 0, 0, 0, 0, 2, 5, 1, 1]);
        datagram.extend_from_slice(&other.prefix.0);
        datagram.extend_from_slice(&other.announcement()[20..]);
        datagram.extend_from_slice(&forger.ack(MESSAGES, 1, 0)[20..]);
        vec![datagram, forger.reader(Reliability::BestEffort, None)]
    }),
];

/// Oracle: octets on the wire, in and out. The fourth drew 13 548 times what came.
#[test]
fn ten_attacks_draw_no_more_than_three_times_what_comes() {
    for is_deaf in [true, false] {
        for (name, attack) in ATTACKS {
            let Some(wire) = Wire::new() else { return };
            let Drawn { octets: (came, went), frames, known } = run(&wire, attack, is_deaf);
            println!("{name}: {came} octets in, {went} in {frames} frames out; {known} known");
            assert!(known > 0, "{name}: nobody was believed");
            assert!(went > 0, "{name}: no attack at all");
            assert!(went <= 3 * came, "{name}: {came} octets in, {went} out");
        }
    }
}

/// Oracle: by RFC 792 the kernel answers a datagram for a port at which nobody listens; from then on
/// nothing goes there for three seconds, and what an attack draws before is less than it sends.
#[test]
fn a_host_at_which_nobody_listens_ends_an_attack() {
    let Some(wire) = Wire::new() else { return };
    let mut far = open(&wire.far, FAR);
    let attacker = inside(&wire.near, || UdpSocket::bind((NEAR, 0)).unwrap());
    let target = SocketAddr::from((FAR, PORT));
    let forger = Forger {
        prefix: GuidPrefix([9; 12]),
        of: far.participant().prefix(),
        port: DEAF,
        count: 0,
        number: 0,
    };
    for _ in 0..20 {
        attacker.send_to(&forger.announcement(), target).unwrap();
        step(&mut far, None, Duration::from_ms(20));
    }
    let counters = far.participant().counters();
    assert!(counters.closed >= 1, "{counters:?}");
    assert!(counters.unanswered > 10, "{counters:?}");
    assert_eq!(far.participant().participants().count(), 0);
}
