//! Keeps the last sample of each instance in a file, so that it outlives its writer: what durability
//! transient and persistent ask for beyond transient local (DDS 1.4, 2.2.3.4), with the history that
//! `DURABILITY_SERVICE` has by default, one sample of an instance (2.2.3.5).
//!
//! The next writer of the topic takes the samples up and gives them to those who come late. No
//! service answers while no writer is there.
//!
//! The file is a journal: each sample is a record at its end. When the journal is twice as long as
//! what counts, it is written anew beside the old one and put in its place. What is damaged in it is
//! reported and costs nothing else; `docs/decisions/0015-journal-of-samples.md` says why and how.

mod crc;
mod disk;
mod journal;
mod record;
mod scan;
#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use disk::System;
use journal::{Journal, beside};

/// Octets that a journal may have beyond twice of what counts, before it is written anew.
const SLACK: u64 = 65_536;

/// How samples are kept.
#[derive(Clone, Copy, Debug)]
pub struct StoreOptions {
    /// Whether a sample is on the disk before `keep` returns: it then outlives the system, too, as
    /// persistent samples do. If not, it outlives the process.
    pub is_synced: bool,
    /// Most instances.
    pub instances_max: usize,
    /// Most octets of a sample.
    pub sample_max: usize,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            is_synced: true,
            instances_max: 4_096,
            sample_max: 1 << 20,
        }
    }
}

/// Why a sample is not kept.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another writer keeps its samples there.
    #[error("{}: another writer keeps its samples there", .0.display())]
    Taken(PathBuf),
    /// The file is something else.
    #[error("{}: no file of kept samples, left as it is", .0.display())]
    Foreign(PathBuf),
    /// The file has the format of another version of this program.
    #[error(
        "{}: kept samples in format {version}, and only format 2 can be read; left as it is. \
         Move the file away to begin with an empty one", .path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its format.
        version: u32,
    },
    /// The file was made for more or larger samples than are allowed now.
    #[error(
        "{}: made for {}, which is beyond the limits asked for now; left as it is",
        .path.display(), made_for(*.instances, *.sample)
    )]
    Limits {
        /// The file.
        path: PathBuf,
        /// Its most instances; 0 if they are not the reason.
        instances: u64,
        /// Its most octets of a sample.
        sample: u64,
    },
    /// There are as many instances as are allowed.
    #[error("there is room for {0} kept instances only")]
    Full(usize),
    /// The sample is too large.
    #[error("a sample of {0} octets is too large to be kept")]
    Large(usize),
    /// The system refuses.
    #[error("{}: {source}", .path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

fn made_for(instances: u64, sample: u64) -> String {
    match instances {
        0 => format!("samples of {sample} octets"),
        _ => format!("{instances} instances with samples of {sample} octets"),
    }
}

/// A sample that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// When it was written, in nanoseconds since 1970.
    pub written_ns: i64,
    /// The serialized sample.
    pub payload: Vec<u8>,
}

/// A place in the file in which something is not as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The first octet that cannot be read.
    pub at: u64,
    /// How many octets from there on.
    pub octets: u64,
    /// What was there.
    pub what: Damaged,
}

/// What was in a damaged place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damaged {
    /// What the file says about itself, of which it has two copies: no sample is lost.
    Head,
    /// A sample of the instance with this hash of its key. If an older one of it is there, that one
    /// is kept.
    Sample([u8; 16]),
    /// So many samples of unknown instances, or words that an instance is to be forgotten; none if
    /// the place lies between two records that follow each other.
    Records(u64),
    /// What follows the last record: one that was being written when its writer or the system went
    /// down, or else the last ones.
    Tail,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, octets, what } = self;
        write!(f, "{octets} octets at {at}: ")?;
        match what {
            Damaged::Head => f.write_str("a head of the file is damaged; no sample is lost"),
            Damaged::Sample(key) => {
                f.write_str("the last sample of instance ")?;
                key.iter().try_for_each(|octet| write!(f, "{octet:02x}"))?;
                f.write_str(" is damaged")
            }
            Damaged::Records(count) => write!(f, "{count} records are damaged"),
            Damaged::Tail => f.write_str("no whole record at the end, as after a crash"),
        }
    }
}

/// Samples that outlive their writer.
#[derive(Debug)]
pub struct Store {
    journal: Journal<System>,
    /// Held for as long as the store is open; a file of its own, since the journal is replaced.
    _lock: File,
}

impl Store {
    /// Opens a store, or makes one; its folder has to be there.
    ///
    /// What is damaged in it is in [`Store::damage`] afterwards. The file as it was is then kept
    /// beside it under the same name with the ending `.bad-1`, `.bad-2` and so on up to `.bad-8`,
    /// which is replaced if it is there.
    ///
    /// # Errors
    /// If another writer has it, if the file is something else or made for larger limits, or if the
    /// system refuses; the file is then as it was.
    pub fn open(path: &Path, options: StoreOptions) -> Result<Self, StoreError> {
        let failed = |source| StoreError::System {
            path: path.to_owned(),
            source,
        };
        let mut writing = OpenOptions::new();
        writing.read(true).write(true).create(true).truncate(false);
        let lock = writing.open(beside(path, "lock")).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StoreError::Taken(path.to_owned())),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        Ok(Self {
            journal: Journal::open(System, path, options, SLACK)?,
            _lock: lock,
        })
    }

    /// Returns the kept samples, with the hashes of their keys, in the order in which they were
    /// written.
    pub fn kept(&self) -> Vec<([u8; 16], &Kept)> {
        let kept = self.journal.kept.iter();
        let mut kept: Vec<_> = kept.map(|(key, kept)| (*key, kept)).collect();
        kept.sort_by_key(|(_, kept)| kept.written_ns);
        kept
    }

    /// Returns what was damaged in the file when it was opened, in the order of the file; no more
    /// than 1024 places.
    pub fn damage(&self) -> &[Damage] {
        &self.journal.damage
    }

    /// Returns how many damaged places are not in [`Store::damage`].
    pub fn more_damage(&self) -> u64 {
        self.journal.more
    }

    /// Returns where the damaged file is as it was, if there was damage.
    pub fn copy_of_damaged(&self) -> Option<&Path> {
        self.journal.copy.as_deref()
    }

    /// Keeps the sample of an instance in the place of its last one.
    ///
    /// # Errors
    /// If there is no room for it, or the system refuses. What was kept before stays; after a crash,
    /// the sample that was refused by the system may be there in its place. The next call begins a
    /// new file.
    pub fn keep(&mut self, key: [u8; 16], sample: Kept) -> Result<(), StoreError> {
        self.journal.keep(key, sample)
    }

    /// Forgets an instance, as when it is disposed of.
    ///
    /// # Errors
    /// If the system refuses; the instance is then still there.
    pub fn forget(&mut self, key: [u8; 16]) -> Result<(), StoreError> {
        self.journal.forget(key)
    }
}
