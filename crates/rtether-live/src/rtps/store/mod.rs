//! Stores the last sample of each instance in a file, so that it outlives its writer. Durability
//! transient and persistent require this beyond transient local (DDS 1.4, 2.2.3.4), with the
//! default history of `DURABILITY_SERVICE`, one sample per instance (2.2.3.5).
//!
//! The next writer of the topic loads the samples and sends them to late joiners. No service
//! answers while there is no writer.
//!
//! The file is a journal: each sample is appended as a record. When the journal is twice as long as
//! its live records, it is rewritten to a new file, which replaces it. Damage is reported and costs
//! only the damaged records; `docs/decisions/0015-journal-of-samples.md` explains the design.

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
use std::time::{Duration, Instant};

use disk::System;
use journal::{Journal, beside};

/// Octets that a journal may exceed twice its live records by before it is rewritten.
const SLACK: u64 = 65_536;

/// How long to wait for the lock of another writer, and how often to look.
const LOCK_PATIENCE: Duration = Duration::from_millis(300);
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// Options of a store.
#[derive(Clone, Copy, Debug)]
pub struct StoreOptions {
    /// Whether a sample is on the disk before `keep` returns. If so, it survives a system crash, as
    /// persistent samples do; otherwise it survives the process.
    pub is_synced: bool,
    /// Maximum number of instances.
    pub instances_max: usize,
    /// Maximum size of a sample, in octets.
    pub sample_max: usize,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { is_synced: true, instances_max: 4_096, sample_max: 1 << 20 }
    }
}

/// Why a sample is not kept.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another writer has opened the store.
    #[error("{}: another writer has opened this store", .0.display())]
    Taken(PathBuf),
    /// The file is not a store.
    #[error("{}: not a store; left unchanged", .0.display())]
    Foreign(PathBuf),
    /// The file has an unsupported format version.
    #[error(
        "{}: kept samples in format {version}, and only format 2 can be read; left as it is. \
         Move the file away to begin with an empty one", .path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its format version.
        version: u32,
    },
    /// The file was made for more instances or larger samples than the options allow.
    #[error(
        "{}: made for {}, above the current limits; left unchanged",
        .path.display(), made_for(*.instances, *.sample)
    )]
    Limits {
        /// The file.
        path: PathBuf,
        /// Its maximum number of instances; 0 if that is not the reason.
        instances: u64,
        /// Its maximum sample size in octets.
        sample: u64,
    },
    /// The maximum number of instances is reached.
    #[error("the limit of {0} stored instances is reached")]
    Full(usize),
    /// The sample is too large.
    #[error("a sample of {0} octets is too large to be kept")]
    Large(usize),
    /// The system refuses.
    #[error("{}: {source}", .path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

fn made_for(instances: u64, sample: u64) -> String {
    match instances {
        0 => format!("samples of {sample} octets"),
        _ => format!("{instances} instances with samples of {sample} octets"),
    }
}

/// A stored sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// When it was written, in nanoseconds since 1970.
    pub written_ns: i64,
    /// The serialized sample.
    pub payload: Vec<u8>,
}

/// A damaged range of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// First damaged octet.
    pub at: u64,
    /// Number of octets.
    pub octets: u64,
    /// Content of the range.
    pub what: Damaged,
}

/// Content of a damaged range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damaged {
    /// A file header, of which there are two copies: no sample is lost.
    Head,
    /// A sample of the instance with this key hash. If the file has an older one, that one is kept.
    Sample([u8; 16]),
    /// Records of unknown instances, samples or removals, by number; 0 if the range lies between
    /// two consecutive records.
    Records(u64),
    /// The end of the file: a record that was being written when its writer or the system crashed,
    /// or else the last records.
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
            Damaged::Tail => f.write_str("the last record is incomplete, as after a crash"),
        }
    }
}

/// Storage of samples that outlive their writer.
#[derive(Debug)]
pub struct Store {
    journal: Journal<System>,
    /// Lock held while the store is open; a separate file, since the journal is replaced.
    _lock: File,
}

impl Store {
    /// Opens a store, or creates it in an existing folder. Waits up to 0.3 s for the lock of one that
    /// is just being closed.
    ///
    /// Damage is reported by [`Store::damage`]. The damaged file is then copied to the same name
    /// with the extension `.bad-1`, `.bad-2` and so on up to `.bad-8`, which is overwritten if it
    /// exists.
    ///
    /// # Errors
    /// Another writer has opened it, the file is not a store or was made for larger limits, or the
    /// system refuses; the file is unchanged.
    pub fn open(path: &Path, options: StoreOptions) -> Result<Self, StoreError> {
        let failed = |source| StoreError::System { path: path.to_owned(), source };
        let mut writing = OpenOptions::new();
        writing.read(true).write(true).create(true).truncate(false);
        let lock = writing.open(beside(path, "lock")).map_err(failed)?;
        let until = Instant::now() + LOCK_PATIENCE;
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                // A program that this process is just starting holds the lock of a closed store
                // until its image is loaded.
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    std::thread::sleep(LOCK_PAUSE);
                }
                Err(TryLockError::WouldBlock) => return Err(StoreError::Taken(path.to_owned())),
                Err(TryLockError::Error(source)) => return Err(failed(source)),
            }
        }
        Ok(Self { journal: Journal::open(System, path, options, SLACK)?, _lock: lock })
    }

    /// Returns the stored samples with their key hashes, in the order of writing.
    pub fn kept(&self) -> Vec<([u8; 16], &Kept)> {
        let kept = self.journal.kept.iter();
        let mut kept: Vec<_> = kept.map(|(key, kept)| (*key, kept)).collect();
        kept.sort_by_key(|(_, kept)| kept.written_ns);
        kept
    }

    /// Returns the damage found when the file was opened, in file order; at most 1024 places.
    pub fn damage(&self) -> &[Damage] {
        &self.journal.damage
    }

    /// Returns how many damaged places are missing from [`Store::damage`].
    pub fn more_damage(&self) -> u64 {
        self.journal.more
    }

    /// Returns the path of the copy of the damaged file, if there was damage.
    pub fn copy_of_damaged(&self) -> Option<&Path> {
        self.journal.copy.as_deref()
    }

    /// Stores the sample of an instance, replacing its last one.
    ///
    /// # Errors
    /// A limit is reached, or the system refuses. The earlier sample is kept; after a crash, the
    /// sample that the system refused may be there instead. The next call starts a new file.
    pub fn keep(&mut self, key: [u8; 16], sample: Kept) -> Result<(), StoreError> {
        self.journal.keep(key, sample)
    }

    /// Removes an instance, as when it is disposed of.
    ///
    /// # Errors
    /// The system refuses; the instance is then still stored.
    pub fn forget(&mut self, key: [u8; 16]) -> Result<(), StoreError> {
        self.journal.forget(key)
    }
}
