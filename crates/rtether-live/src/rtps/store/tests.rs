use super::*;

/// A folder of a test, which is gone with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("rtether-store-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn journal(&self) -> PathBuf {
        self.0.join("topic")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const SMALL: StoreOptions = StoreOptions {
    is_synced: false,
    instances_max: 4,
    sample_max: 100,
};

fn sample(written_ns: i64, octet: u8, len: usize) -> Kept {
    Kept {
        written_ns,
        payload: vec![octet; len],
    }
}

fn open(folder: &Folder) -> Store {
    Store::open(&folder.journal(), SMALL).expect("a store")
}

fn contents(store: &Store) -> Vec<(u8, i64, usize)> {
    let kept = store.kept().into_iter();
    kept.map(|(key, kept)| (key[0], kept.written_ns, kept.payload.len()))
        .collect()
}

#[test]
fn the_next_writer_finds_the_last_sample_of_each_instance() {
    // Oracle: DDS 1.4, 2.2.3.5: by default, the service keeps the last sample of an instance;
    // 2.2.2.4.2.10: what is disposed of is no longer there for those who come late.
    let folder = Folder::new("last");
    for is_synced in [false, true] {
        let options = StoreOptions { is_synced, ..SMALL };
        let mut store = Store::open(&folder.journal(), options).expect("a store");
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
        assert_eq!(store.cut(), 0);
    }
}

#[test]
fn two_writers_do_not_share_a_store() {
    let folder = Folder::new("two");
    let first = open(&folder);
    let second = Store::open(&folder.journal(), SMALL);
    assert!(matches!(second, Err(StoreError::Taken(_))));
    drop(first);
    open(&folder);
}

#[test]
fn a_file_of_somebody_else_stays_as_it_is() {
    let folder = Folder::new("foreign");
    fs::write(folder.journal(), "a letter").expect("a file");
    let opened = Store::open(&folder.journal(), SMALL);
    assert!(matches!(opened, Err(StoreError::Foreign(_))));
    assert_eq!(fs::read(folder.journal()).expect("a file"), b"a letter");
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
    assert_eq!(
        contents(&open(&folder)),
        [(1, 1, 1), (2, 1, 1), (3, 1, 1), (4, 3, 1)]
    );
}

#[test]
fn a_journal_does_not_grow_without_end() {
    // Oracle: the rule in the module's documentation, twice of what counts and the slack, and one
    // record, since it is written before it is seen to be too much.
    let folder = Folder::new("growth");
    let mut store = open(&folder);
    store.keep([9; 16], sample(0, 9, 50)).expect("room");
    let counting = record::length(50) + record::length(100);
    for number in 1..2_000 {
        store.keep([1; 16], sample(number, 1, 100)).expect("room");
        let octets = fs::metadata(folder.journal()).expect("a file").len();
        assert!(octets <= 2 * counting + SLACK, "{octets} octets");
    }
    drop(store);
    assert_eq!(contents(&open(&folder)), [(9, 0, 50), (1, 1_999, 100)]);
}

#[test]
fn a_crash_at_any_octet_costs_no_more_than_the_record_that_was_being_written() {
    // Oracle: what a store held after each record, without a crash.
    let folder = Folder::new("crash");
    let mut store = open(&folder);
    let mut states = vec![(store.octets, contents(&store))];
    for number in 0..6 {
        let key = [u8::try_from(number % 3).expect("small"); 16];
        let done = match number {
            4 => store.forget(key),
            _ => store.keep(key, sample(number, 7, 10)),
        };
        done.expect("room");
        states.push((store.octets, contents(&store)));
    }
    drop(store);
    let whole = fs::read(folder.journal()).expect("a file");
    for end in 0..=whole.len() {
        fs::write(folder.journal(), &whole[..end]).expect("a file");
        let mut store = open(&folder);
        let before = states.iter().rev().find(|(at, _)| *at <= end as u64);
        let (at, expected) = before.map_or((0, &[][..]), |(at, state)| (*at, &state[..]));
        assert_eq!(contents(&store), expected, "cut at {end}");
        assert_eq!(store.cut(), end as u64 - at);
        // What is kept afterwards is found again.
        store.keep([3; 16], sample(100, 1, 1)).expect("room");
        drop(store);
        assert_eq!(contents(&open(&folder)).last(), Some(&(3, 100, 1)));
    }
}

#[test]
fn a_damaged_octet_never_makes_a_sample_that_was_not_kept() {
    // Oracle: the samples that were written; the check sum finds every single damaged octet.
    let folder = Folder::new("damage");
    let mut store = open(&folder);
    let written = [(0, 1, 10), (1, 2, 20), (2, 3, 30)];
    for (key, at, len) in written {
        store.keep([key; 16], sample(at, 7, len)).expect("room");
    }
    drop(store);
    let whole = fs::read(folder.journal()).expect("a file");
    for index in MARK.len()..whole.len() {
        let mut damaged = whole.clone();
        damaged[index] ^= 0x10;
        fs::write(folder.journal(), &damaged).expect("a file");
        let found = contents(&open(&folder));
        assert!(written.starts_with(&found), "octet {index}: {found:?}");
        assert!(found.len() < written.len(), "octet {index}");
    }
}
