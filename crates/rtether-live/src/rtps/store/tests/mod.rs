mod faults;
mod model;

use std::fs;

use rtether_testkit::Folder;

use super::record::{RECORDS_AT, octets_of};
use super::*;

fn journal(folder: &Folder) -> PathBuf {
    folder.path().join("topic")
}

const SMALL: StoreOptions = StoreOptions { is_synced: false, instances_max: 4, sample_max: 100 };

fn sample(written_ns: i64, octet: u8, len: usize) -> Kept {
    Kept { written_ns, payload: vec![octet; len] }
}

fn open(folder: &Folder) -> Store {
    Store::open(&journal(folder), SMALL).expect("a store")
}

fn contents(store: &Store) -> Vec<(u8, i64, usize)> {
    let kept = store.kept().into_iter();
    kept.map(|(key, kept)| (key[0], kept.written_ns, kept.payload.len())).collect()
}

#[test]
fn the_next_writer_finds_the_last_sample_of_each_instance() {
    // Oracle: DDS 1.4, 2.2.3.5: by default, the service keeps the last sample of an instance;
    // 2.2.2.4.2.10: late joiners do not get disposed instances.
    let folder = Folder::new("last");
    for is_synced in [false, true] {
        let options = StoreOptions { is_synced, ..SMALL };
        let mut store = Store::open(&journal(&folder), options).expect("a store");
        store.keep([2; 16], sample(10, 1, 3)).expect("room");
        store.keep([1; 16], sample(20, 2, 0)).expect("room");
        store.keep([2; 16], sample(30, 3, 100)).expect("room");
        store.keep([3; 16], sample(40, 4, 4)).expect("room");
        store.forget([3; 16]).expect("a record");
        store.forget([4; 16]).expect("nothing");
        let expected = vec![(1, 20, 0), (2, 30, 100)];
        assert_eq!(contents(&store), expected);
        drop(store);
        let store = open(&folder);
        assert_eq!(contents(&store), expected);
        assert_eq!(store.kept()[1].1.payload, vec![3; 100]);
        assert_eq!(store.damage(), []);
    }
}

#[test]
fn a_flipped_bit_costs_one_sample_and_is_reported() {
    // Oracle: twenty samples, of which only the one whose octets were damaged is lost; the damaged
    // file is copied.
    let folder = Folder::new("flip");
    let options = StoreOptions { instances_max: 20, ..SMALL };
    let mut store = Store::open(&journal(&folder), options).expect("a store");
    for number in 0..20 {
        let sample = sample(i64::from(number), number, 100);
        store.keep([number; 16], sample).expect("room");
    }
    drop(store);
    let mut file = fs::read(journal(&folder)).expect("a file");
    let at = RECORDS_AT + 2 * octets_of(100);
    let octet = usize::try_from(at).expect("small") + 70;
    file[octet] ^= 1;
    fs::write(journal(&folder), &file).expect("a file");
    let store = Store::open(&journal(&folder), options).expect("a store");
    let keys: Vec<u8> = contents(&store).iter().map(|(key, ..)| *key).collect();
    assert_eq!(keys, (0..20).filter(|key| *key != 2).collect::<Vec<_>>());
    let octets = octets_of(100);
    let what = Damaged::Sample([2; 16]);
    assert_eq!(store.damage(), [Damage { at, octets, what }]);
    assert_eq!(
        store.damage()[0].to_string(),
        "168 octets at 4496: the last sample of instance 02020202020202020202020202020202 is damaged"
    );
    let copy = store.copy_of_damaged().expect("a copy").to_owned();
    assert_eq!(copy, folder.path().join("topic.bad-1"));
    assert_eq!(fs::read(copy).expect("a copy"), file);
    drop(store);
    let store = Store::open(&journal(&folder), options).expect("a store");
    assert_eq!((store.damage(), store.kept().len()), (&[][..], 19));
}

#[test]
fn smaller_limits_are_refused_and_larger_ones_taken_up() {
    let folder = Folder::new("smaller");
    let mut store = open(&folder);
    store.keep([1; 16], sample(1, 0, 100)).expect("room");
    drop(store);
    let file = fs::read(journal(&folder)).expect("a file");
    let (fewer, shorter, more) = (
        StoreOptions { instances_max: 3, ..SMALL },
        StoreOptions { sample_max: 99, ..SMALL },
        StoreOptions { instances_max: 5, sample_max: 101, ..SMALL },
    );
    for options in [fewer, shorter] {
        let refused = Store::open(&journal(&folder), options).expect_err("smaller limits");
        let text = refused.to_string();
        let expected = "topic: made for 4 instances with samples of 100 octets, \
                        above the current limits; left unchanged";
        assert!(text.ends_with(expected), "{text}");
        assert_eq!(fs::read(journal(&folder)).expect("a file"), file);
    }
    let mut store = Store::open(&journal(&folder), more).expect("larger limits");
    store.keep([2; 16], sample(2, 0, 101)).expect("room");
    drop(store);
    let refused = Store::open(&journal(&folder), SMALL);
    assert!(matches!(refused, Err(StoreError::Limits { .. })));
}

#[test]
fn two_writers_do_not_share_a_store() {
    let folder = Folder::new("two");
    let first = open(&folder);
    let second = Store::open(&journal(&folder), SMALL);
    assert!(matches!(second, Err(StoreError::Taken(_))));
    drop(first);
    open(&folder);
}

/// A program that starts has the locks of this process until its image is loaded.
#[test]
fn a_lock_that_is_soon_released_is_waited_for() {
    let folder = Folder::new("soon");
    drop(open(&folder));
    let lock = File::open(beside(&journal(&folder), "lock")).expect("a lock");
    lock.lock().expect("free");
    let other = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        drop(lock);
    });
    open(&folder);
    other.join().expect("no panic");
}

#[test]
fn a_file_of_somebody_else_or_of_another_version_stays_as_it_is() {
    let folder = Folder::new("foreign");
    let mut newer = record::FileHead { version: 3, epoch: 1, instances_max: 0, sample_max: 0 }
        .to_octets()
        .to_vec();
    newer.resize(5_000, 7);
    let files: [&[u8]; 3] = [b"a letter", b"rtstore1 and what follows", &newer];
    for (file, version) in files.into_iter().zip([None, Some(1), Some(3)]) {
        fs::write(journal(&folder), file).expect("a file");
        let refused = Store::open(&journal(&folder), SMALL).expect_err("no store");
        let is_as_told = match version {
            None => matches!(refused, StoreError::Foreign(_)),
            Some(said) => {
                matches!(refused, StoreError::Version { version, .. } if version == said)
            }
        };
        assert!(is_as_told, "{refused}");
        assert_eq!(fs::read(journal(&folder)).expect("a file"), file);
    }
}

#[test]
fn limits_are_kept_and_cost_nothing_that_is_there() {
    let folder = Folder::new("limits");
    let mut store = open(&folder);
    for number in 0..4 {
        store.keep([number; 16], sample(1, 0, 1)).expect("room");
    }
    let more = store.keep([4; 16], sample(2, 0, 1));
    assert!(matches!(more, Err(StoreError::Full(4))));
    let larger = store.keep([0; 16], sample(2, 0, 101));
    assert!(matches!(larger, Err(StoreError::Large(101))));
    store.forget([0; 16]).expect("a record");
    store.keep([4; 16], sample(3, 0, 1)).expect("room again");
    drop(store);
    assert_eq!(contents(&open(&folder)), [(1, 1, 1), (2, 1, 1), (3, 1, 1), (4, 3, 1)]);
}

#[test]
fn a_journal_does_not_grow_without_end() {
    // Oracle: the rule in the module's documentation, twice the live records plus the slack.
    let folder = Folder::new("growth");
    let mut store = open(&folder);
    store.keep([9; 16], sample(0, 9, 50)).expect("room");
    let counting = octets_of(50) + octets_of(100);
    for number in 1..2_000 {
        store.keep([1; 16], sample(number, 1, 100)).expect("room");
        let octets = fs::metadata(journal(&folder)).expect("a file").len();
        assert!(octets <= 2 * counting + RECORDS_AT + SLACK, "{octets} octets");
    }
    drop(store);
    assert_eq!(contents(&open(&folder)), [(9, 0, 50), (1, 1_999, 100)]);
}

#[test]
fn what_is_left_of_a_new_file_is_no_obstacle() {
    let folder = Folder::new("stale");
    let left = folder.path().join("topic.new");
    fs::write(&left, "half of a journal").expect("a file");
    let mut store = open(&folder);
    store.keep([1; 16], sample(1, 1, 1)).expect("room");
    assert!(!left.exists());
}

#[test]
fn a_file_that_ends_anywhere_has_all_whole_records_before() {
    // Oracle: what a store held after each record, without a crash.
    let folder = Folder::new("crash");
    let mut store = open(&folder);
    let mut states = vec![(store.journal.octets, contents(&store))];
    for number in 0..6 {
        let key = [u8::try_from(number % 3).expect("small"); 16];
        let done = match number {
            4 => store.forget(key),
            _ => store.keep(key, sample(number, 7, 16)),
        };
        done.expect("room");
        states.push((store.journal.octets, contents(&store)));
    }
    drop(store);
    let whole = fs::read(journal(&folder)).expect("a file");
    let records_at = usize::try_from(RECORDS_AT).expect("small");
    for end in (8..100).chain(4_090..=whole.len()) {
        fs::write(journal(&folder), &whole[..end]).expect("a file");
        let mut store = open(&folder);
        let before = states.iter().rev().find(|(at, _)| *at <= end as u64);
        let (at, expected) = before.map_or((end as u64, &[][..]), |(at, state)| (*at, &state[..]));
        assert_eq!(contents(&store), expected, "cut at {end}");
        let cut = end as u64 - at;
        let what = Damaged::Tail;
        let tail = (cut > 0).then_some(Damage { at, octets: cut, what });
        if end >= records_at {
            assert_eq!(store.damage(), tail.as_slice());
        }
        // Samples stored afterwards are found again.
        store.keep([3; 16], sample(100, 1, 1)).expect("room");
        drop(store);
        assert_eq!(contents(&open(&folder)).last(), Some(&(3, 100, 1)));
    }
    // The number of copies is limited.
    let copies = fs::read_dir(folder.path()).expect("a folder");
    assert_eq!(copies.count(), 2 + 8, "journal, lock and copies");
}

#[test]
fn a_damaged_octet_never_makes_a_sample_that_was_not_kept() {
    // Oracle: the samples written, of which at most one is lost, and never without a report.
    let folder = Folder::new("damage");
    let mut store = open(&folder);
    let written = [(0, 1, 10), (1, 2, 20), (2, 3, 30)];
    for (key, at, len) in written {
        store.keep([key; 16], sample(at, 7, len)).expect("room");
    }
    drop(store);
    let whole = fs::read(journal(&folder)).expect("a file");
    for index in (0..64).chain(4_090..whole.len()) {
        let mut damaged = whole.clone();
        damaged[index] ^= 0x10;
        fs::write(journal(&folder), &damaged).expect("a file");
        let store = open(&folder);
        let found = contents(&store);
        assert!(found.iter().all(|found| written.contains(found)));
        let lost = written.len() - found.len();
        let heads = [0..64, 4_096..4_160];
        let is_head = heads.iter().any(|head| head.contains(&index));
        assert!(lost <= usize::from(!is_head), "octet {index}: {found:?}");
        assert!(lost == 0 || !store.damage().is_empty(), "octet {index}");
        assert!(!is_head || !store.damage().is_empty(), "octet {index}");
    }
}
