//! Opens a store on arbitrary octets. Oracles: no panic; a rejected file is unchanged; a damaged
//! one is copied; each sample returned is in the file, with checksums that are valid by an
//! independent reading of `record.rs`; and samples stored from then on are there the next time,
//! with all others.

use std::fs;
use std::path::{Path, PathBuf};

use rtether_live::rtps::{Kept, Store, StoreOptions};

const OPTIONS: StoreOptions = StoreOptions { is_synced: false, instances_max: 6, sample_max: 200 };
const HEAD: usize = 64;
const HEADS_AT: [usize; 2] = [0, 4_096];
const RECORDS_AT: usize = HEADS_AT[1] + HEAD;
const MARKER: [u8; 4] = [0xF5, b'r', b't', b'R'];
const EPOCH: u64 = 7;

/// The CRC-32C of octets, bit by bit.
fn crc(octets: &[u8]) -> u32 {
    let rest = octets.iter().fold(u32::MAX, |rest, octet| {
        (0..8).fold(rest ^ u32::from(*octet), |rest, _| {
            let is_odd = rest & 1 == 1;
            (rest >> 1) ^ if is_odd { 0x82F6_3B78 } else { 0 }
        })
    });
    !rest
}

fn seal(head: &mut [u8; HEAD]) {
    let sum = crc(&head[..60]);
    head[60..].copy_from_slice(&sum.to_le_bytes());
}

fn word(octets: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(octets[at..at + 4].try_into().expect("four octets"))
}

/// A temporary folder, in memory if possible.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let within = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let thread = std::thread::current().id();
        let name = format!("rtether-journal-{}-{thread:?}", std::process::id());
        let path = within.join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Octets consumed from the front; zeros after the end.
struct Source<'o>(&'o [u8]);

impl Source<'_> {
    fn octet(&mut self) -> u8 {
        self.octets::<1>()[0]
    }

    fn octets<const N: usize>(&mut self) -> [u8; N] {
        let (now, later) = self.0.split_at(N.min(self.0.len()));
        self.0 = later;
        std::array::from_fn(|index| now.get(index).copied().unwrap_or(0))
    }

    fn some(&mut self, count: u8) -> Vec<u8> {
        let (now, later) = self.0.split_at(usize::from(count).min(self.0.len()));
        self.0 = later;
        now.to_vec()
    }
}

/// Returns a file header with the given limits.
fn head_of_file(version: u32, instances: u64, sample: u64) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..8].copy_from_slice(b"rtetherJ");
    head[8..12].copy_from_slice(&version.to_le_bytes());
    head[16..24].copy_from_slice(&EPOCH.to_le_bytes());
    head[24..32].copy_from_slice(&instances.to_le_bytes());
    head[32..40].copy_from_slice(&sample.to_le_bytes());
    seal(&mut head);
    head
}

/// Appends a record with the given number and payload.
fn record(file: &mut Vec<u8>, key: u8, number: u64, is_kept: u8, payload: &[u8]) {
    let mut head = [0; HEAD];
    head[..4].copy_from_slice(&MARKER);
    let length = u32::try_from(payload.len()).expect("short");
    head[4..8].copy_from_slice(&length.to_le_bytes());
    head[8..16].copy_from_slice(&EPOCH.to_le_bytes());
    head[16..24].copy_from_slice(&number.to_le_bytes());
    head[24..32].copy_from_slice(&number.to_le_bytes());
    head[32..48].fill(key);
    head[48..52].copy_from_slice(&u32::from(is_kept).to_le_bytes());
    head[52..56].copy_from_slice(&crc(payload).to_le_bytes());
    seal(&mut head);
    file.extend(head);
    file.extend(payload);
    file.resize(file.len().next_multiple_of(8), 0);
}

/// Builds a file with valid checksums from octets that describe its content and later changes to
/// it.
fn made_of(octets: &[u8]) -> Vec<u8> {
    let head = head_of_file(2, 6, 200);
    let mut file = vec![0; RECORDS_AT];
    for at in HEADS_AT {
        file[at..at + HEAD].copy_from_slice(&head);
    }
    let mut number = 0_u64;
    let mut source = Source(octets);
    while !source.0.is_empty() {
        match source.octet() % 9 {
            0..=2 => {
                let [key, skip, is_kept, length] = source.octets();
                number = number.wrapping_add(1 + u64::from(skip / 16));
                let payload = source.some(length);
                record(&mut file, key % 8, number, is_kept % 3, &payload);
            }
            3 => {
                let [count] = source.octets();
                file.extend(source.some(count));
            }
            4 => file.resize(file.len() + usize::from(source.octet() % 32) * 4, 0),
            5 => {
                let [is_kept, key] = source.octets();
                number = u64::from_le_bytes(source.octets());
                record(&mut file, key % 8, number, is_kept % 3, &[key]);
            }
            6 => {
                let at = usize::from(u16::from_le_bytes(source.octets())) % file.len();
                file[at] ^= source.octet();
            }
            7 => {
                let [version, instances, sample] = source.octets();
                let head = head_of_file(version.into(), instances.into(), sample.into());
                file[..HEAD].copy_from_slice(&head);
            }
            _ => {
                let count = usize::from(source.octet());
                file.truncate((file.len() - count).max(1));
            }
        }
        // A file truncated below the first record gets no further changes.
        if file.len() < RECORDS_AT {
            break;
        }
    }
    file
}

/// Returns whether a file contains a sample as written.
fn stands_in(file: &[u8], key: [u8; 16], kept: &Kept) -> bool {
    let ats = (RECORDS_AT..file.len().saturating_sub(HEAD - 1)).step_by(8);
    let mut ats = ats.filter(|&at| file[at..].starts_with(&MARKER));
    ats.any(|at| {
        let head = &file[at..at + HEAD];
        let payload = file.get(at + HEAD..at + HEAD + kept.payload.len());
        payload == Some(&kept.payload)
            && head[32..48] == key
            && head[24..32] == kept.written_ns.to_le_bytes()
            && word(head, 48) == 1
            && word(head, 4) as usize == kept.payload.len()
            && word(head, 52) == crc(&kept.payload)
            && word(head, 60) == crc(&head[..60])
    })
}

fn contents(store: &Store) -> Vec<([u8; 16], Kept)> {
    let kept = store.kept().into_iter();
    let mut kept: Vec<_> = kept.map(|(key, kept)| (key, kept.clone())).collect();
    kept.sort_by_key(|(key, _)| *key);
    kept
}

/// The first octet selects whether the others are the file itself or describe one. Returns the
/// number of samples in it; `None` if the file was rejected.
pub(crate) fn check(octets: &[u8]) -> Option<usize> {
    let (first, rest) = octets.split_first()?;
    let before = if first % 2 == 0 { rest.to_vec() } else { made_of(rest) };
    let folder = Folder::new();
    let path = folder.0.join("topic");
    fs::write(&path, &before).expect("room");
    let Ok(store) = Store::open(&path, OPTIONS) else {
        assert_eq!(fs::read(&path).expect("it is there"), before, "refused");
        return None;
    };
    let served = contents(&store);
    for (key, kept) in &served {
        assert!(stands_in(&before, *key, kept), "{key:?} {kept:?}");
    }
    let is_damaged = !store.damage().is_empty();
    assert_eq!(store.copy_of_damaged().is_some(), is_damaged);
    if let Some(copy) = store.copy_of_damaged() {
        assert_eq!(fs::read(copy).expect("a copy"), before, "the copy");
    }
    goes_on(store, &path, served.clone());
    Some(served.len())
}

/// Stores and removes samples, and opens the store again.
fn goes_on(mut store: Store, path: &Path, mut expected: Vec<([u8; 16], Kept)>) {
    let room = expected.len() < OPTIONS.instances_max;
    let sample = Kept { written_ns: 3, payload: b"new".to_vec() };
    let new = [0xAA; 16];
    let is_kept = store.keep(new, sample.clone()).is_ok();
    assert_eq!(is_kept, room || expected.iter().any(|(key, _)| *key == new));
    if is_kept {
        expected.retain(|(key, _)| *key != new);
        expected.push((new, sample));
    }
    if expected.len() > 1 {
        let (oldest, _) = expected.remove(0);
        store.forget(oldest).expect("room");
    }
    expected.sort_by_key(|(key, _)| *key);
    assert_eq!(contents(&store), expected);
    drop(store);
    let store = Store::open(path, OPTIONS).expect("its own file");
    assert_eq!(contents(&store), expected, "opened again");
    assert_eq!(store.damage(), []);
}
