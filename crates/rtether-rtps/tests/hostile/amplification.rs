//! The table of SECURITY.md: what one forged frame draws, by its content and by what is known of the
//! participant in whose name it comes.

use std::fmt::Write as _;
use std::path::Path;

use rtether_rtps::engine::NewSample;
use rtether_rtps::guid::EntityId;
use rtether_rtps::qos::Reliability;

use crate::hostile::reflection::{Attack, Balance, VICTIM};
use crate::hostile::world::{Forger, MS};

/// Samples that are written while the answers are counted, and their octets.
const SAMPLES: usize = 100;
const SAMPLE: usize = 1_000;

/// What is known of the participant in whose name a frame comes.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Unknown,
    Unproved,
    /// Another participant has proved the address.
    Neighbor,
    Proved,
}

const STATES: [State; 4] = [State::Unknown, State::Unproved, State::Neighbor, State::Proved];
const KINDS: [&str; 7] = [
    "announcement",
    "announcement that differs from the last",
    "announcement of a reader",
    "ACKNACK of discovery",
    "ACKNACK of samples",
    "HEARTBEAT of discovery",
    "good-bye",
];

/// An attack in a state, with a reader of each kind unless nothing is known, and nothing owed.
fn prepared(state: State) -> Attack {
    let mut attack = Attack::new(|_| {});
    attack.write_long(20);
    if state == State::Unknown {
        return attack;
    }
    if state == State::Neighbor {
        let genuine = Forger::new(1, VICTIM);
        attack.world.feed_from(VICTIM, &genuine.announcement());
        assert!(attack.world.hear_from(&genuine, VICTIM));
    }
    attack.announce();
    attack.reader(1, Reliability::Reliable, None);
    if state == State::Proved {
        assert!(attack.world.hear_from(&attack.forger, VICTIM));
    }
    attack.write_long(20);
    attack.world.wait(20_000 * MS);
    attack.balance();
    attack
}

impl Attack {
    fn write_long(&mut self, count: usize) {
        for _ in 0..count {
            let (now, id) = (self.world.clock(), self.world.writer);
            let sample = [7; SAMPLE];
            let _ = self.world.participant.write(now, id, &NewSample::value(&sample));
            self.world.wait(100 * MS);
        }
    }
}

/// Returns what one frame draws within ten seconds.
fn drawn(state: State, kind: usize) -> Balance {
    let mut attack = prepared(state);
    let own = attack.own_writer();
    match kind {
        0 => attack.announce(),
        1 => {
            "another".clone_into(&mut attack.forger.data.name);
            attack.announce();
        }
        2 => attack.reader(2, Reliability::BestEffort, None),
        3 => {
            let pair = [EntityId::PUBLICATIONS_WRITER, EntityId::PUBLICATIONS_READER];
            attack.ack(pair, 1, 32);
        }
        4 => attack.ack([own, EntityId::reader(1, false)], 1, 256),
        5 => attack.heartbeat(EntityId::PUBLICATIONS_WRITER, 1, 100),
        _ => {
            let (gone, key) = attack.forger.end_of(EntityId::PARTICIPANT);
            let inline = &gone;
            let datagram = attack.forger.sample(EntityId::SPDP_WRITER, 2, inline, &key);
            attack.spoof(&datagram);
        }
    }
    if state == State::Proved {
        // Samples are what it has asked for.
        attack.world.wait(10_000 * MS);
    } else {
        attack.write_long(SAMPLES);
    }
    attack.balance()
}

/// Oracle: three times in all states but the last; there the requests of one who has proved to
/// receive are limited by what is written and by the history.
#[test]
fn the_table_of_security_md_is_measured() {
    let mut table = String::from(
        "| one frame with | nothing known | known, not proved | not proved, another there is | proved |\n\
         |---|---|---|---|---|\n",
    );
    for (place, kind) in KINDS.iter().enumerate() {
        write!(table, "| {kind} |").unwrap();
        for state in STATES {
            let Balance { frames, octets } = drawn(state, place);
            assert_eq!(frames.0, 1, "{kind}");
            let is_proved = state == State::Proved;
            assert!(is_proved || octets.1 <= 3 * octets.0, "{kind}: {octets:?}");
            let tenths = |out: usize, of: usize| (out * 10).div_ceil(of);
            let each = [tenths(octets.1, octets.0), tenths(frames.1, frames.0)];
            let [octets, frames] = each.map(|tenth| format!("{}.{}", tenth / 10, tenth % 10));
            write!(table, " {octets} / {frames} |").unwrap();
        }
        table.push('\n');
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../SECURITY.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let begin = page.find("| one frame with |").expect("the table");
    let end = begin + page[begin..].find("\n\n").unwrap() + 1;
    if std::env::var_os("RTETHER_BLESS").is_some() {
        let page = [&page[..begin], &table, &page[end..]].concat();
        std::fs::write(path, page).unwrap();
    } else {
        assert_eq!(&page[begin..end], table, "RTETHER_BLESS=1 rewrites it");
    }
}
