//! Samples that outlive their writer: one store per topic with transient or persistent durability,
//! from which the next publisher of the topic loads what the previous one left.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use rtether_live::rtps::{Kept, Store, StoreError, StoreOptions};
use rtether_rtps::cdr::{Encoding, from_payload, key_hash, to_payload};
use rtether_rtps::qos::Durability;
use rtether_rtps::time::Duration;
use rtether_rtps::types::ShapeType;

use super::Failure;
use super::options::Options;

/// Maximum number of concurrent publishers of one topic with stores.
const KEEPERS_MAX: u32 = 16;
/// Maximum number of damaged places printed individually.
const DAMAGE_MAX: usize = 20;

pub(crate) struct Keeper {
    store: Store,
}

impl Keeper {
    /// Opens the store of a topic; `None` if its samples need not outlive their writer.
    pub(crate) fn open(options: &Options, topic: &str) -> Result<Option<Self>, Failure> {
        let is_synced = match options.qos.durability {
            Durability::Volatile | Durability::TransientLocal => return Ok(None),
            Durability::Transient => false,
            Durability::Persistent => true,
        };
        let folder = folder(options)?;
        fs::create_dir_all(&folder).map_err(|error| {
            Failure::begin(format_args!("making {}: {error}", folder.display()))
        })?;
        let store = free(&folder, &file_name(options.domain, topic), is_synced);
        let store = store.map_err(Failure::begin)?;
        tell_of_damage(&store, topic);
        Ok(Some(Self { store }))
    }

    /// Returns the stored shapes, except those older than the lifespan.
    pub(crate) fn left(&self, lifespan: Duration) -> Vec<ShapeType> {
        let now_ns = now_ns();
        let kept = self.store.kept().into_iter();
        let fresh = kept.filter(|(_, kept)| {
            let age = Duration::from_ns(now_ns.saturating_sub(kept.written_ns));
            age < lifespan
        });
        // A shape in the encoding of another version is not published.
        fresh.filter_map(|(_, kept)| from_payload(&kept.payload).ok()).collect()
    }

    pub(crate) fn keep(&mut self, shape: &ShapeType) -> Result<(), Failure> {
        let mut payload = Vec::new();
        to_payload(shape, Encoding::Xcdr2, &mut payload).map_err(Failure::run)?;
        let key = key_hash(shape).map_err(Failure::run)?;
        let written_ns = now_ns();
        let sample = Kept { written_ns, payload };
        self.store.keep(key, sample).map_err(Failure::run)
    }

    pub(crate) fn forget(&mut self, shape: &ShapeType) -> Result<(), Failure> {
        let key = key_hash(shape).map_err(Failure::run)?;
        self.store.forget(key).map_err(Failure::run)
    }
}

/// Reports stored samples that could not be read, not on the output that the suite parses.
fn tell_of_damage(store: &Store, topic: &str) {
    for damage in store.damage().iter().take(DAMAGE_MAX) {
        eprintln!("kept samples of {topic}: {damage}");
    }
    let more = store.damage().len().saturating_sub(DAMAGE_MAX) as u64 + store.more_damage();
    if more > 0 {
        eprintln!("kept samples of {topic}: {more} more damaged places");
    }
    if let Some(copy) = store.copy_of_damaged() {
        eprintln!("the file as it was: {}", copy.display());
    }
}

/// Opens the first store that no other publisher has opened.
fn free(folder: &Path, name: &str, is_synced: bool) -> Result<Store, StoreError> {
    let options = StoreOptions { is_synced, ..StoreOptions::default() };
    let mut number = 0;
    loop {
        let opened = Store::open(&folder.join(format!("{name}-{number}")), options);
        match opened {
            Err(StoreError::Taken(_)) if number + 1 < KEEPERS_MAX => number += 1,
            other => return other,
        }
    }
}

/// Returns the folder of the stores: for transient samples one that need not survive a reboot, if
/// it exists.
fn folder(options: &Options) -> Result<PathBuf, Failure> {
    if let Some(folder) = &options.store {
        return Ok(folder.clone());
    }
    let given = |name| env::var_os(name).filter(|value| !value.is_empty());
    let passing = given("XDG_RUNTIME_DIR").filter(|_| is_transient(options));
    let lasting = || given("XDG_STATE_HOME").map(PathBuf::from);
    let home = || given("HOME").map(|home| Path::new(&home).join(".local/state"));
    let found = passing.map(PathBuf::from).or_else(lasting).or_else(home);
    let found = found.map(|place| place.join("rtether-shapes"));
    found.ok_or_else(|| Failure::begin("no place to keep samples; give one with --store"))
}

fn is_transient(options: &Options) -> bool {
    options.qos.durability == Durability::Transient
}

/// Returns a file name without characters that are special to the system.
fn file_name(domain: u16, topic: &str) -> String {
    let plain = |octet: u8| match octet {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => char::from(octet).to_string(),
        _ => format!("%{octet:02x}"),
    };
    let topic: String = topic.bytes().map(plain).collect();
    format!("{domain}-{topic}")
}

/// Returns the time of day, in nanoseconds since 1970.
fn now_ns() -> i64 {
    rtether_live::clock::monotonic_and_real_ns().1
}
