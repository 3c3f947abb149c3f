//! Keeps the last sample of each instance in a file, so that it outlives its writer: what durability
//! transient and persistent ask for beyond transient local (DDS 1.4, 2.2.3.4), with the history that
//! `DURABILITY_SERVICE` has by default, one sample of an instance (2.2.3.5).
//!
//! The next writer of the topic takes the samples up and gives them to those who come late. No
//! service answers while no writer is there.
//!
//! The file is a journal: each sample is a record at its end. When the journal is twice as long as
//! what counts, it is written anew beside the old one and put in its place.

mod record;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use record::{Record, What};

/// The first octets of a journal.
const MARK: [u8; 8] = *b"rtstore1";
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

/// A sample that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// When it was written, in nanoseconds since 1970.
    pub written_ns: i64,
    /// The serialized sample.
    pub payload: Vec<u8>,
}

/// Samples that outlive their writer.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    options: StoreOptions,
    journal: File,
    /// Held for as long as the store is open; a file of its own, since the journal is replaced.
    _lock: File,
    kept: BTreeMap<[u8; 16], Kept>,
    /// Octets of the journal.
    octets: u64,
    /// Octets of the records that count.
    counting: u64,
    cut: u64,
}

impl Store {
    /// Opens a store, or makes one; its folder has to be there.
    ///
    /// # Errors
    /// If another writer has it, if the file is something else, or if the system refuses.
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
        let journal = writing.open(path).map_err(failed)?;
        let mut this = Self {
            path: path.to_owned(),
            options,
            journal,
            _lock: lock,
            kept: BTreeMap::new(),
            octets: 0,
            counting: 0,
            cut: 0,
        };
        this.load()?;
        Ok(this)
    }

    /// Returns the kept samples, with the hashes of their keys, in the order in which they were
    /// written.
    pub fn kept(&self) -> Vec<([u8; 16], &Kept)> {
        let mut kept: Vec<_> = self.kept.iter().map(|(key, kept)| (*key, kept)).collect();
        kept.sort_by_key(|(_, kept)| kept.written_ns);
        kept
    }

    /// Returns how many octets at the end of the file were no whole records, as after a crash; they
    /// are gone.
    pub fn cut(&self) -> u64 {
        self.cut
    }

    /// Keeps the sample of an instance in the place of its last one.
    ///
    /// # Errors
    /// If there is no room for it. What was kept before stays.
    pub fn keep(&mut self, key: [u8; 16], sample: Kept) -> Result<(), StoreError> {
        if sample.payload.len() > self.options.sample_max {
            return Err(StoreError::Large(sample.payload.len()));
        }
        if !self.kept.contains_key(&key) && self.kept.len() >= self.options.instances_max {
            return Err(StoreError::Full(self.options.instances_max));
        }
        let record = Record {
            key,
            what: What::Kept(sample),
        };
        self.append(record)
    }

    /// Forgets an instance, as when it is disposed of.
    ///
    /// # Errors
    /// If the system refuses; the instance is then still there.
    pub fn forget(&mut self, key: [u8; 16]) -> Result<(), StoreError> {
        if !self.kept.contains_key(&key) {
            return Ok(());
        }
        let what = What::Forgotten;
        self.append(Record { key, what })
    }

    fn append(&mut self, record: Record) -> Result<(), StoreError> {
        let octets = record.to_octets();
        let mut write = || {
            self.journal.seek(SeekFrom::Start(self.octets))?;
            self.journal.write_all(&octets)?;
            self.sync(&self.journal)
        };
        if let Err(error) = write() {
            // Whatever is there of the record would hide those that follow.
            let _ = self.journal.set_len(self.octets);
            return Err(self.failed(error));
        }
        self.octets += octets.len() as u64;
        self.apply(record);
        if self.octets > 2 * self.counting + SLACK {
            self.renew().map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    fn apply(&mut self, record: Record) {
        let Record { key, what } = record;
        let before = match what {
            What::Kept(sample) => {
                self.counting += record::length(sample.payload.len());
                self.kept.insert(key, sample)
            }
            What::Forgotten => self.kept.remove(&key),
        };
        if let Some(before) = before {
            self.counting -= record::length(before.payload.len());
        }
    }

    /// Reads the journal up to the first record that is not whole, and cuts it off there.
    fn load(&mut self) -> Result<(), StoreError> {
        let length = self.journal.metadata().map_err(|e| self.failed(e))?.len();
        let mark_len = MARK.len() as u64;
        let mut from = BufReader::new(self.journal.try_clone().map_err(|e| self.failed(e))?);
        let mut mark = Vec::new();
        let read = from.by_ref().take(mark_len).read_to_end(&mut mark);
        read.map_err(|e| self.failed(e))?;
        if !MARK.starts_with(&mark) {
            return Err(StoreError::Foreign(self.path.clone()));
        }
        if length < mark_len {
            self.renew().map_err(|error| self.failed(error))?;
            self.cut = length;
            return Ok(());
        }
        self.octets = mark_len;
        loop {
            let record = Record::read(&mut from, self.options.sample_max);
            let Some((record, octets)) = record.map_err(|e| self.failed(e))? else {
                break;
            };
            let is_new = !self.kept.contains_key(&record.key);
            if is_new && self.kept.len() >= self.options.instances_max {
                return Err(StoreError::Full(self.options.instances_max));
            }
            self.octets += octets;
            self.apply(record);
        }
        self.cut = length - self.octets;
        let cut = self.journal.set_len(self.octets);
        cut.map_err(|error| self.failed(error))
    }

    /// Writes what counts to a new file, and puts it in the place of the journal.
    fn renew(&mut self) -> io::Result<()> {
        let path = beside(&self.path, "new");
        let mut octets = MARK.to_vec();
        for (key, kept) in self.kept() {
            let what = What::Kept(kept.clone());
            octets.extend(Record { key, what }.to_octets());
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true);
        let mut journal = options.open(&path)?;
        journal.write_all(&octets)?;
        self.sync(&journal)?;
        fs::rename(&path, &self.path)?;
        if let Some(folder) = self.path.parent().filter(|_| self.options.is_synced) {
            let folder = if folder.as_os_str().is_empty() {
                Path::new(".")
            } else {
                folder
            };
            File::open(folder)?.sync_all()?;
        }
        self.journal = journal;
        self.octets = octets.len() as u64;
        Ok(())
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        if self.options.is_synced {
            file.sync_data()?;
        }
        Ok(())
    }

    fn failed(&self, source: io::Error) -> StoreError {
        StoreError::System {
            path: self.path.clone(),
            source,
        }
    }
}

/// Returns a file beside another one, which has its name and an ending.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}
