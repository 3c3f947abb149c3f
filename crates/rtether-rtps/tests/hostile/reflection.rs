//! Reflection: what a neighbor makes a participant send to a third host, whose address it forges as
//! the source. It knows what all neighbors hear, as the participant's prefix, and nothing that is
//! sent to the third host alone.

use std::net::Ipv4Addr;

use proptest::prelude::*;
use rtether_rtps::engine::{Config, Event, Parting};
use rtether_rtps::guid::EntityId;
use rtether_rtps::locator::Locator;
use rtether_rtps::qos::Reliability;
use rtether_rtps::sequence::{NumberSet, SequenceNumber};
use rtether_rtps::wire::{AckNack, Heartbeat, NackFrag};

use crate::hostile::world::{Forger, MS, ON_LINK, ROUNDS, World, endpoint};

/// The third host.
pub(crate) const VICTIM: Locator = Locator::udp(Ipv4Addr::new(10, 0, 1, 98), 7_410);
const GROUP: Locator = Locator::udp(Ipv4Addr::new(239, 255, 7, 7), 7_411);

/// Octets on the wire of datagrams over UDP. Oracle: IEEE 802.3, RFC 768, RFC 791.
pub(crate) fn wire(datagram: usize) -> usize {
    assert!(datagram <= 1_472, "one frame each");
    (datagram + 8 + 20 + 18).max(64) + 20
}

/// What went in and out in frames and their octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Balance {
    pub(crate) frames: (usize, usize),
    pub(crate) octets: (usize, usize),
}

/// A neighbor that forges what comes from the victim.
pub(crate) struct Attack {
    pub(crate) world: World,
    pub(crate) forger: Forger,
    balance: Balance,
    count: i32,
}

impl Attack {
    pub(crate) fn new(adapt: impl FnOnce(&mut Config)) -> Self {
        Self {
            world: World::with(adapt),
            forger: Forger::new(7, VICTIM),
            balance: Balance::default(),
            count: 0,
        }
    }

    pub(crate) fn spoof(&mut self, datagram: &[u8]) {
        self.balance.frames.0 += 1;
        self.balance.octets.0 += wire(datagram.len());
        self.world.feed_from(VICTIM, datagram);
    }

    /// Sends from the attacker's own address.
    fn send(&mut self, datagram: &[u8]) {
        self.balance.frames.0 += 1;
        self.balance.octets.0 += wire(datagram.len());
        self.world.feed(datagram);
    }

    /// Returns the balance so far, and begins anew.
    pub(crate) fn balance(&mut self) -> Balance {
        for (to, datagram) in self.world.sent.drain(..) {
            if to.origin() == VICTIM.origin() || to == GROUP {
                self.balance.frames.1 += 1;
                self.balance.octets.1 += wire(datagram.len());
            }
        }
        std::mem::take(&mut self.balance)
    }

    pub(crate) fn announce(&mut self) {
        let datagram = self.forger.announcement();
        self.spoof(&datagram);
    }

    /// A reader of the topic that is written.
    pub(crate) fn reader(&mut self, number: u32, reliability: Reliability, at: Option<Locator>) {
        let guid = self.forger.guid(EntityId::reader(number, false));
        let mut data = endpoint(guid, reliability);
        match at {
            Some(group) if group.is_multicast() => data.multicast = vec![group],
            Some(at) => data.unicast = vec![at],
            None => {}
        }
        let datagram = self.forger.endpoint(&data);
        self.spoof(&datagram);
    }

    /// Acknowledges samples of a writer below `base`, and asks for `len` others.
    pub(crate) fn ack(&mut self, [writer, reader]: [EntityId; 2], base: i64, len: u32) {
        self.count += 1;
        let count = self.count;
        let own = self.world.participant.prefix();
        let datagram = self.forger.message(|message| {
            assert!(message.info_destination(own));
            assert!(message.ack_nack(&AckNack {
                reader,
                writer,
                set: NumberSet::from_words(base, len, [u32::MAX; 8]).unwrap(),
                count,
                is_final: false,
            }));
        });
        self.spoof(&datagram);
    }

    pub(crate) fn heartbeat(&mut self, writer: EntityId, first: i64, last: i64) {
        self.count += 1;
        let (count, own) = (self.count, self.world.participant.prefix());
        let datagram = self.forger.message(|message| {
            assert!(message.info_destination(own));
            assert!(message.heartbeat(&Heartbeat {
                reader: EntityId::UNKNOWN,
                writer,
                first: SequenceNumber(first),
                last: SequenceNumber(last),
                count,
                is_final: false,
                is_liveliness: false,
            }));
        });
        self.spoof(&datagram);
    }

    fn nack_frag(&mut self, [writer, reader]: [EntityId; 2], sequence: i64) {
        self.count += 1;
        let (count, own) = (self.count, self.world.participant.prefix());
        let datagram = self.forger.message(|message| {
            assert!(message.info_destination(own));
            assert!(message.nack_frag(&NackFrag {
                reader,
                writer,
                sequence: SequenceNumber(sequence),
                set: NumberSet::from_words(1, 32, [u32::MAX]).unwrap(),
                count,
            }));
        });
        self.spoof(&datagram);
    }

    /// Announces another address, by the one before.
    fn move_to(&mut self, [from, to]: [Locator; 2]) {
        for (at, places) in [(from, vec![from, to]), (to, vec![to])] {
            self.forger.data.metatraffic_unicast.clone_from(&places);
            self.forger.data.default_unicast = places;
            let datagram = self.forger.announcement();
            if at == VICTIM {
                self.spoof(&datagram);
            } else {
                self.world.feed_from(at, &datagram);
            }
        }
        self.world.wait(100 * MS);
    }

    /// Moves to the victim, and answers there by the steps that are known.
    fn stay_with_the_victim(&mut self, mut position: i64, steps: &[i64]) {
        self.move_to([ON_LINK, VICTIM]);
        let own = self.world.participant.prefix();
        for step in steps {
            position += step;
            self.count += 1;
            let datagram = self.forger.guess(own, position, self.count);
            self.spoof(&datagram);
        }
    }

    /// The writer of the participant.
    pub(crate) fn own_writer(&self) -> EntityId {
        let guid = self.world.participant.writer_guid(self.world.writer);
        guid.unwrap().entity
    }
}

/// Pairs of a built-in writer and its reader.
const BUILT_IN: [[EntityId; 2]; 3] = [
    [EntityId::PUBLICATIONS_WRITER, EntityId::PUBLICATIONS_READER],
    [EntityId::SUBSCRIPTIONS_WRITER, EntityId::SUBSCRIPTIONS_READER],
    [EntityId::MESSAGE_WRITER, EntityId::MESSAGE_READER],
];

/// The attack that made a publisher send 13 548 times what came, 85.8 MB in 12 s, for as long as its
/// lease: announcement, reader, and acknowledgments that name the publisher.
#[test]
fn acknowledgments_that_anybody_can_write_prove_nothing() {
    // Oracle: three times the octets, as frames on the wire.
    for reliability in [Reliability::BestEffort, Reliability::Reliable] {
        let mut attack = Attack::new(|_| {});
        let mut all = Balance::default();
        for _ in 0..12 {
            attack.announce();
            attack.reader(1, reliability, None);
            for pair in BUILT_IN {
                for base in [0, 1, 2, 3] {
                    attack.ack(pair, base, 1);
                }
            }
            let own = attack.own_writer();
            attack.ack([own, EntityId::reader(1, false)], 1, 256);
            for _ in 0..100 {
                attack.world.write();
                attack.world.wait(10 * MS);
            }
            let now = attack.balance();
            all.frames = (all.frames.0 + now.frames.0, all.frames.1 + now.frames.1);
            all.octets = (all.octets.0 + now.octets.0, all.octets.1 + now.octets.1);
            assert!(all.octets.1 <= 3 * all.octets.0, "{all:?}");
        }
        println!("{reliability:?}: {all:?}");
        assert_eq!(attack.world.participant.known_readers_of(attack.world.writer), 1);
        assert!(attack.world.participant.counters().withheld > 100);
    }
}

#[test]
fn the_number_that_only_the_address_has_received_proves_it() {
    // Oracle: all samples, one datagram each, once the base is right; a neighbor of it is not.
    let mut attack = Attack::new(|_| {});
    attack.announce();
    attack.reader(1, Reliability::BestEffort, None);
    let proof = attack.world.proof_of(&attack.forger, VICTIM).unwrap();
    let at = proof.len() - 4 - 4 - 8;
    for step in [-2_i32, -1, 1, 2, 255, 256] {
        let mut wrong = proof.clone();
        let low = u32::from_le_bytes(wrong[at + 4..at + 8].try_into().unwrap());
        let low = low.wrapping_add_signed(step);
        wrong[at + 4..at + 8].copy_from_slice(&low.to_le_bytes());
        attack.spoof(&wrong);
        for _ in 0..100 {
            attack.world.write();
        }
        let Balance { octets, .. } = attack.balance();
        assert!(octets.1 <= 3 * octets.0 + 3 * 1_000, "{step}: {octets:?}");
    }
    for round in 1..=ROUNDS {
        let right = attack.world.proof_of(&attack.forger, VICTIM).unwrap();
        attack.spoof(&right);
        attack.balance();
        for _ in 0..100 {
            attack.world.write();
        }
        let is_all = attack.balance().frames.1 >= 100;
        assert_eq!(is_all, round == ROUNDS, "{round}");
    }
}

#[test]
fn a_datagram_is_one_guess() {
    let mut attack = Attack::new(|_| {});
    attack.announce();
    let proof = attack.world.proof_of(&attack.forger, VICTIM).unwrap();
    let wrong = attack.forger.guess(attack.world.participant.prefix(), 77, 1);
    // Header and destination again would be none of a submessage.
    let mut many = wrong.clone();
    many.extend_from_slice(&proof[20..]);
    attack.spoof(&many);
    let is_proved = |attack: &mut Attack| {
        attack.reader(1, Reliability::BestEffort, None);
        attack.balance();
        for _ in 0..100 {
            attack.world.write();
        }
        attack.balance().frames.1 >= 100
    };
    for _ in 0..ROUNDS {
        attack.spoof(&many);
    }
    assert!(!is_proved(&mut attack));
    attack.announce();
    assert!(attack.world.hear_from(&attack.forger, VICTIM));
    assert!(is_proved(&mut attack));
}

#[test]
fn who_lives_at_an_address_proves_nothing_for_others_that_claim_it() {
    // Oracle: three times the octets that came in the forger's name; the genuine participant there
    // sends much, and is sent all that it wants.
    let mut attack = Attack::new(|_| {});
    let mut genuine = Forger::new(1, VICTIM);
    attack.world.feed_from(VICTIM, &genuine.announcement());
    assert!(attack.world.hear_from(&genuine, VICTIM));
    attack.balance();
    attack.announce();
    attack.reader(1, Reliability::BestEffort, None);
    for _ in 0..100 {
        let datagram = genuine.next(EntityId::writer(1, false), &[0; 1_000]);
        attack.world.feed_from(VICTIM, &datagram);
        attack.world.write();
    }
    let Balance { octets, .. } = attack.balance();
    assert!(octets.1 <= 3 * octets.0, "{octets:?}");
    let reader = endpoint(genuine.guid(EntityId::reader(1, false)), Reliability::BestEffort);
    let datagram = genuine.endpoint(&reader);
    attack.world.feed_from(VICTIM, &datagram);
    attack.balance();
    attack.world.write();
    assert_eq!(attack.balance().frames.1, 1);
}

#[test]
fn an_address_that_a_proved_participant_names_is_proved_apart() {
    // Oracle: nothing came from the other address.
    let mut attack = Attack::new(|_| {});
    attack.forger = Forger::new(7, ON_LINK);
    attack.forger.data.metatraffic_unicast.push(VICTIM);
    attack.forger.data.default_unicast.insert(0, VICTIM);
    let datagram = attack.forger.announcement();
    attack.world.feed(&datagram);
    assert!(attack.world.hear_from(&attack.forger, ON_LINK));
    let mut data =
        endpoint(attack.forger.guid(EntityId::reader(1, false)), Reliability::BestEffort);
    data.unicast = vec![VICTIM];
    let datagram = attack.forger.endpoint(&data);
    attack.world.feed(&datagram);
    for _ in 0..100 {
        attack.world.write();
    }
    assert_eq!(attack.balance().frames.1, 0);
}

/// An attacker that has proved its own address, and a reader of it that names the victim's.
fn naming(reliability: Reliability) -> Attack {
    let mut attack = Attack::new(|_| {});
    attack.forger = Forger::new(7, ON_LINK);
    let datagram = attack.forger.announcement();
    attack.send(&datagram);
    assert!(attack.world.hear_from(&attack.forger, ON_LINK));
    let mut data = endpoint(attack.forger.guid(EntityId::reader(1, false)), reliability);
    data.unicast = vec![VICTIM];
    let datagram = attack.forger.endpoint(&data);
    attack.send(&datagram);
    attack
}

#[test]
fn an_address_that_only_a_reader_names_is_proved_there() {
    // Oracle: all samples, one datagram each, once the numbers that were told there came back; and
    // none before.
    let mut attack = naming(Reliability::BestEffort);
    let before = attack.world.told_at(&attack.forger, ON_LINK);
    let datagram = attack.forger.announcement();
    attack.send(&datagram);
    for round in 0..=ROUNDS {
        attack.balance();
        for _ in 0..100 {
            attack.world.write();
        }
        let expected = if round == ROUNDS { 100 } else { 0 };
        assert_eq!(attack.balance().frames.1, expected, "{round}");
        if let Some(proof) = attack.world.proof_of(&attack.forger, VICTIM) {
            attack.send(&proof);
        }
    }
    // The first address has not lost its proof, and is told the numbers again.
    assert!(attack.world.told_at(&attack.forger, ON_LINK) > before);
}

#[test]
fn who_names_a_victim_does_not_multiply_its_octets() {
    // Oracle: three times the octets that came from the attacker, and no sample.
    for reliability in [Reliability::BestEffort, Reliability::Reliable] {
        let mut attack = naming(reliability);
        let own = attack.world.participant.prefix();
        let mut is_called = false;
        for round in 0..100 {
            // It may be called anew after each.
            attack.forger.data.name = format!("{round}");
            let datagram = attack.forger.announcement();
            attack.send(&datagram);
            for _ in 0..20 {
                attack.world.write();
            }
            attack.world.wait(40 * MS * (round % 8));
            // What it is told itself is no proof of the victim's address.
            let told = attack.world.told_at(&attack.forger, ON_LINK);
            for base in [told, told + 1] {
                attack.count += 1;
                let guess = attack.forger.guess(own, base, attack.count);
                attack.send(&guess);
            }
            is_called |= attack.world.sent_to(|to| to.origin() == VICTIM.origin()).0 > 0;
        }
        assert!(is_called);
        let Balance { octets, .. } = attack.balance();
        assert!(octets.1 <= 3 * octets.0, "{octets:?}");
        for _ in 0..100 {
            attack.world.write();
        }
        assert_eq!(attack.balance().frames.1, 0);
    }
}

#[test]
fn who_moves_proves_the_new_address() {
    // Oracle: three times the octets that came from the new address, until it acknowledges a number
    // that was told there.
    let mut attack = Attack::new(|_| {});
    attack.forger = Forger::new(7, ON_LINK);
    let datagram = attack.forger.announcement();
    attack.world.feed(&datagram);
    assert!(attack.world.hear_from(&attack.forger, ON_LINK));
    let old = attack.world.proof_of(&attack.forger, ON_LINK).unwrap();
    let places = [ON_LINK, VICTIM];
    attack.forger.data.metatraffic_unicast = places.to_vec();
    attack.forger.data.default_unicast = places.to_vec();
    let datagram = attack.forger.announcement();
    attack.world.feed(&datagram);
    attack.forger.data.metatraffic_unicast = vec![VICTIM];
    attack.forger.data.default_unicast = vec![VICTIM];
    attack.announce();
    attack.reader(1, Reliability::BestEffort, None);
    attack.spoof(&old);
    for _ in 0..100 {
        attack.world.write();
    }
    let Balance { octets, .. } = attack.balance();
    assert!(octets.1 <= 3 * octets.0, "{octets:?}");
    attack.announce();
    attack.world.wait(2_000 * MS);
    assert!(attack.world.hear_from(&attack.forger, VICTIM));
    attack.balance();
    for _ in 0..100 {
        attack.world.write();
    }
    assert_eq!(attack.balance().frames.1, 100);
}

/// A participant that announces its own address and the victim's in turn is told at its own how far
/// the numbers have come, and so those that only the victim was told.
#[test]
fn who_moves_to_and_fro_learns_no_number_of_the_victim() {
    // Oracle: three times the octets that came from the victim.
    let mut attack = Attack::new(|_| {});
    attack.forger = Forger::new(7, ON_LINK);
    let datagram = attack.forger.announcement();
    attack.world.feed(&datagram);
    let own = attack.world.told_at(&attack.forger, ON_LINK);
    let (mut position, mut steps) = (own, Vec::new());
    for _ in 0..ROUNDS {
        attack.stay_with_the_victim(position, &steps);
        attack.move_to([VICTIM, ON_LINK]);
        let told = attack.world.told_at(&attack.forger, ON_LINK);
        steps.push(told - position - own + 1 - steps.iter().sum::<i64>());
        position = told;
    }
    attack.stay_with_the_victim(position, &steps);
    attack.reader(1, Reliability::BestEffort, None);
    for _ in 0..1_000 {
        attack.world.write();
    }
    let Balance { octets, .. } = attack.balance();
    assert!(octets.1 <= 3 * octets.0, "{octets:?}");
}

#[test]
fn nobody_unproved_has_samples_sent_to_a_group() {
    // Oracle: nothing goes to the group before the proof.
    for is_default in [false, true] {
        let mut attack = Attack::new(|_| {});
        if is_default {
            attack.forger.data.default_unicast = vec![];
            attack.forger.data.default_multicast = vec![GROUP];
        }
        attack.announce();
        let at = Some(GROUP).filter(|_| !is_default);
        attack.forger.data.default_unicast = vec![];
        attack.announce();
        attack.reader(1, Reliability::BestEffort, at);
        assert_eq!(attack.world.participant.known_readers_of(attack.world.writer), 1);
        for _ in 0..100 {
            attack.world.write();
        }
        assert_eq!(attack.world.sent_to(|to| *to == GROUP), (0, 0));
        assert!(attack.world.hear_from(&attack.forger, VICTIM));
        attack.world.write();
        assert_eq!(attack.world.sent_to(|to| *to == GROUP).0, 1);
    }
}

#[test]
fn announced_endpoints_prove_the_address_of_those_without_participant_messages() {
    // Oracle: bits of table 9.13; the base behind the HEARTBEAT of publications.
    let mut attack = Attack::new(|_| {});
    attack.forger.data.endpoints = 0x3F;
    attack.announce();
    attack.reader(1, Reliability::BestEffort, None);
    let told = |attack: &Attack| {
        let mut sent = attack.world.sent.iter().rev();
        let word = |octets: &[u8], at: usize| {
            i64::from(u32::from_le_bytes(octets[at..at + 4].try_into().unwrap()))
        };
        let first = sent.find_map(|(_, datagram)| {
            let is_meant = datagram.get(36) == Some(&7) && datagram[44..48] == [0, 0, 3, 0xC2];
            is_meant.then(|| (word(datagram, 48) << 32) + word(datagram, 52))
        });
        first.expect("a heartbeat")
    };
    for round in 1..=ROUNDS {
        let first = told(&attack);
        assert!(first > 1, "{first}");
        attack.ack(BUILT_IN[0], first, 0);
        let sent = std::mem::take(&mut attack.world.sent);
        for _ in 0..100 {
            attack.world.write();
        }
        let is_all = attack.balance().frames.1 >= 100;
        assert_eq!(is_all, round == ROUNDS, "{round}");
        attack.world.sent = sent;
    }
}

/// Oracle: nothing to the victim for three seconds. A writer that was killed keeps its samples, so one
/// that claims to write is not forgotten.
#[test]
fn a_closed_port_is_a_no_for_one_that_writes_too() {
    let mut attack = Attack::new(|_| {});
    attack.announce();
    attack.reader(1, Reliability::BestEffort, None);
    let guid = attack.forger.guid(EntityId::writer(2, false));
    let datagram = attack.forger.endpoint(&endpoint(guid, Reliability::BestEffort));
    attack.spoof(&datagram);
    attack.balance();
    let now = attack.world.clock();
    for _ in 0..100 {
        attack.world.participant.handle_unreachable(now, VICTIM);
    }
    assert_eq!(attack.world.participants(), 1);
    for _ in 0..10 {
        attack.announce();
        attack.world.write();
        attack.world.wait(200 * MS);
    }
    assert_eq!(attack.balance().frames.1, 0);
}

#[test]
fn a_closed_port_is_a_no_for_those_that_have_proved_nothing() {
    let mut attack = Attack::new(|_| {});
    attack.announce();
    attack.reader(1, Reliability::BestEffort, None);
    attack.balance();
    let now = attack.world.clock();
    attack.world.participant.handle_unreachable(now, VICTIM);
    assert_eq!(attack.world.participants(), 0);
    for _ in 0..10 {
        attack.announce();
        attack.world.write();
        attack.world.wait(200 * MS);
    }
    // Announcements to all in the meantime go elsewhere.
    assert_eq!(attack.balance().frames.1, 0);
    assert_eq!(attack.world.participant.counters().closed, 1);
    // Three seconds later it counts as a newcomer; what it has proved then no message refutes.
    attack.world.wait(2_000 * MS);
    attack.announce();
    assert!(attack.world.hear_from(&attack.forger, VICTIM));
    let now = attack.world.clock();
    attack.world.participant.handle_unreachable(now, VICTIM);
    assert_eq!(attack.world.participants(), 1);
    let lost = std::iter::from_fn(|| attack.world.participant.poll_event());
    let lost = lost.filter_map(|event| match event {
        Event::ParticipantLost { why, .. } => Some(why),
        Event::ParticipantFound { .. }
        | Event::ReaderMatched { .. }
        | Event::ReaderUnmatched { .. }
        | Event::WriterMatched { .. }
        | Event::WriterUnmatched { .. }
        | Event::OfferedIncompatible { .. }
        | Event::RequestedIncompatible { .. }
        | Event::WriterSilent { .. }
        | Event::DeadlineMissed { .. }
        | Event::Refused { .. }
        | Event::Withheld { .. }
        | Event::OfferedDeadlineMissed { .. } => None,
    });
    assert_eq!(lost.collect::<Vec<_>>(), [Parting::Closed]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Oracle: three times the octets, as frames on the wire, at any time and whatever is forged.
    #[test]
    fn no_mixture_of_forged_messages_draws_more_than_three_times(
        steps in prop::collection::vec((0_u8..10, 0_u8..3, 0_i64..600, 0_u32..256), 1..200),
        endpoints in prop::sample::select(vec![0xC3F_u32, 0x3F, 0x03, 0xF_FFFF]),
        lookup in any::<bool>(),
    ) {
        let mut attack = Attack::new(|config| config.type_lookup = lookup);
        attack.forger.data.endpoints = endpoints;
        let (mut credit, mut pair_at) = (0_usize, 0);
        attack.announce();
        for (kind, pair, number, len) in steps {
            pair_at = (pair_at + usize::from(pair)) % BUILT_IN.len();
            let small = u32::try_from(number % 8).unwrap();
            let own = attack.own_writer();
            match kind {
                0 => attack.announce(),
                1 => {
                    // It comes back at once, with other data.
                    attack.forger.data.name = format!("{number}");
                    attack.announce();
                }
                2 => attack.reader(small, Reliability::BestEffort, None),
                3 => attack.reader(small, Reliability::Reliable, Some(VICTIM)),
                4 => attack.reader(small, Reliability::Reliable, Some(GROUP)),
                5 => attack.ack(BUILT_IN[pair_at], number, len),
                6 => attack.ack([own, EntityId::reader(small, false)], number, len),
                7 => attack.heartbeat(BUILT_IN[pair_at][0], 1, number.max(1)),
                8 => attack.nack_frag([own, EntityId::reader(small, false)], number.max(1)),
                _ => {
                    let (gone, key) = attack.forger.end_of(EntityId::PARTICIPANT);
                    let datagram = attack.forger.sample(EntityId::SPDP_WRITER, 2, &gone, &key);
                    attack.spoof(&datagram);
                }
            }
            for _ in 0..len % 8 {
                attack.world.write();
            }
            attack.world.wait(number * MS);
            let Balance { octets, .. } = attack.balance();
            credit += 3 * octets.0;
            prop_assert!(octets.1 <= credit, "{octets:?}, {credit}");
            credit -= octets.1;
        }
    }
}
