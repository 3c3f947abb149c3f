//! The journal: samples in memory and, in step, in a file.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::disk::{Disk, Octets};
use super::record::{FileHead, HEADS_AT, RECORDS_AT, Record, VERSION, What, octets_of, put};
use super::scan::{Refusal, read_whole, scan};
use super::{Damage, Kept, StoreError, StoreOptions};

/// Maximum number of copies of damaged files; the last one is overwritten.
const COPIES_MAX: u32 = 8;
/// Octets written at a time.
const PIECE: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Journal<D: Disk> {
    disk: D,
    path: PathBuf,
    options: StoreOptions,
    /// Octets that a journal may exceed twice its live records by before it is rewritten.
    slack: u64,
    /// `None` if the content on the disk is unknown, after a failed write, sync or rename. The file
    /// is then never written again; a new one replaces it.
    file: Option<D::File>,
    epoch: u64,
    /// Number of the last record.
    number: u64,
    pub(super) kept: BTreeMap<[u8; 16], Kept>,
    /// Size of the file, in octets.
    pub(super) octets: u64,
    /// Size of the live records, in octets.
    counting: u64,
    /// Size at which rewriting is next tried, after a failure.
    renew_from: u64,
    pub(super) damage: Vec<Damage>,
    pub(super) more: u64,
    pub(super) copy: Option<PathBuf>,
}

impl<D: Disk> Journal<D> {
    pub(super) fn open(
        disk: D,
        path: &Path,
        options: StoreOptions,
        slack: u64,
    ) -> Result<Self, StoreError> {
        let mut this = Self {
            disk,
            path: path.to_owned(),
            options,
            slack,
            file: None,
            epoch: 0,
            number: 0,
            kept: BTreeMap::new(),
            octets: 0,
            counting: 0,
            renew_from: 0,
            damage: Vec::new(),
            more: 0,
            copy: None,
        };
        this.load().map_err(|refusal| this.refused(refusal))?;
        Ok(this)
    }

    fn refused(&self, refusal: Refusal) -> StoreError {
        let path = self.path.clone();
        match refusal {
            Refusal::Foreign => StoreError::Foreign(path),
            Refusal::Version(version) => StoreError::Version { path, version },
            Refusal::Limits(instances, sample) => StoreError::Limits { path, instances, sample },
            Refusal::System(source) => StoreError::System { path, source },
        }
    }

    /// Reads the file, and makes sure that the samples read survive a system crash from now on.
    fn load(&mut self) -> Result<(), Refusal> {
        let file = self.disk.open(&self.path)?;
        let Some(file) = file else {
            return Ok(self.renew(None)?);
        };
        if file.len()? == 0 {
            return Ok(self.renew(None)?);
        }
        let (mut kept, mut counting) = (BTreeMap::new(), 0);
        let found = scan(&file, &self.options, |record| {
            apply(&mut kept, &mut counting, record);
        })?;
        self.kept = kept;
        self.counting = counting;
        self.octets = found.end;
        self.number = found.number;
        self.epoch = found.epoch.unwrap_or_default();
        let is_as_asked = found.head.is_some_and(|head| {
            head.instances_max == self.options.instances_max as u64
                && head.sample_max == self.options.sample_max as u64
        });
        if !found.damage.is_empty() {
            self.copy = Some(self.set_aside(&file)?);
        }
        self.damage = found.damage;
        self.more = found.more;
        let is_good = self.damage.is_empty() && is_as_asked;
        if is_good && self.secure(&file, found.last_at).is_ok() {
            self.file = Some(file);
            return Ok(());
        }
        self.file = Some(file);
        let renewed = self.renew(None);
        if renewed.is_err() && self.file.is_none() && !self.damage.is_empty() {
            // The name may already refer to the new file, which lacks the damage report. The next
            // sample starts another one.
            return Ok(());
        }
        if renewed.is_err()
            && let Some(copy) = &self.copy
        {
            // The damaged file is still in place; copies would accumulate.
            let _ = self.disk.remove(copy);
        }
        Ok(renewed?)
    }

    /// Makes sure that the last record and the file name are on the disk: the writer may have died
    /// before its sync. Earlier records have been synced.
    fn secure(&self, file: &D::File, last_at: Option<u64>) -> io::Result<()> {
        if !self.options.is_synced {
            return Ok(());
        }
        if let Some(at) = last_at {
            // After a failed sync the system may consider unwritten pages clean, so the record is
            // written again.
            let len = usize::try_from(self.octets - at).unwrap_or_default();
            let mut record = vec![0; len];
            read_whole(file, at, &mut record)?;
            file.write_at(at, &record)?;
        }
        file.sync()?;
        self.disk.sync_folder(&self.path)
    }

    /// Returns whether the next sample starts a new file.
    #[cfg(test)]
    pub(super) fn is_poisoned(&self) -> bool {
        self.file.is_none()
    }

    pub(super) fn keep(&mut self, key: [u8; 16], sample: Kept) -> Result<(), StoreError> {
        let len = sample.payload.len();
        if len > self.options.sample_max || u32::try_from(len).is_err() {
            return Err(StoreError::Large(len));
        }
        if !self.kept.contains_key(&key) && self.kept.len() >= self.options.instances_max {
            return Err(StoreError::Full(self.options.instances_max));
        }
        let what = What::Kept(sample);
        self.append(Record { key, what })
    }

    pub(super) fn forget(&mut self, key: [u8; 16]) -> Result<(), StoreError> {
        if !self.kept.contains_key(&key) {
            return Ok(());
        }
        let what = What::Forgotten;
        self.append(Record { key, what })
    }

    fn append(&mut self, record: Record) -> Result<(), StoreError> {
        let written = self.write(&record);
        if !written {
            let renewed = self.renew(Some(&record));
            renewed.map_err(|error| self.refused(error.into()))?;
        }
        apply(&mut self.kept, &mut self.counting, record);
        let limit = 2 * self.counting + RECORDS_AT + self.slack;
        if self.octets > limit.max(self.renew_from) && self.renew(None).is_err() {
            // The sample is kept nonetheless.
            self.renew_from = self.octets + self.octets.max(self.slack);
        }
        Ok(())
    }

    /// Appends a record, and waits until it is on the disk; returns whether it is.
    fn write(&mut self, record: &Record) -> bool {
        let Some(file) = &self.file else {
            return false;
        };
        let mut octets = Vec::new();
        let kept = match &record.what {
            What::Kept(kept) => Some(kept),
            What::Forgotten => None,
        };
        put(&mut octets, (self.epoch, self.number + 1), record.key, kept);
        let mut written = file.write_at(self.octets, &octets);
        if written.is_ok() && self.options.is_synced {
            written = file.sync();
        }
        if written.is_err() {
            self.file = None;
            return false;
        }
        self.octets += octets.len() as u64;
        self.number += 1;
        true
    }

    /// Writes the live records and one more to a new file, and replaces the journal.
    fn renew(&mut self, more: Option<&Record>) -> io::Result<()> {
        let path = beside(&self.path, "new");
        self.disk.remove(&path)?;
        let file = self.disk.create(&path, &self.path)?;
        let epoch = self.disk.random();
        let (octets, number) = match self.write_anew(&file, epoch, more) {
            Ok(written) => written,
            Err(error) => {
                let _ = self.disk.remove(&path);
                return Err(error);
            }
        };
        // If a later step fails, it is unknown which file has the name.
        self.file = None;
        self.disk.rename(&path, &self.path)?;
        if self.options.is_synced {
            self.disk.sync_folder(&self.path)?;
        }
        self.file = Some(file);
        self.epoch = epoch;
        self.octets = octets;
        self.number = number;
        self.renew_from = 0;
        Ok(())
    }

    /// Writes a complete journal; returns its size and the number of its last record.
    fn write_anew(
        &self,
        file: &D::File,
        epoch: u64,
        more: Option<&Record>,
    ) -> io::Result<(u64, u64)> {
        let head = FileHead {
            version: VERSION,
            epoch,
            instances_max: self.options.instances_max as u64,
            sample_max: self.options.sample_max as u64,
        };
        for at in HEADS_AT {
            file.write_at(at, &head.to_octets())?;
        }
        let mut at = RECORDS_AT;
        let mut number = 0;
        let mut piece = Vec::new();
        let mut old: Vec<_> = self.kept.iter().collect();
        old.retain(|(key, _)| more.is_none_or(|more| more.key != **key));
        if let Some(Record { key, what: What::Kept(kept) }) = more {
            old.push((key, kept));
        }
        for (key, kept) in old {
            number += 1;
            put(&mut piece, (epoch, number), *key, Some(kept));
            if piece.len() >= PIECE {
                file.write_at(at, &piece)?;
                at += piece.len() as u64;
                piece.clear();
            }
        }
        file.write_at(at, &piece)?;
        if self.options.is_synced {
            file.sync()?;
        }
        Ok((at + piece.len() as u64, number))
    }

    /// Copies a damaged file; returns the path of the copy.
    fn set_aside(&self, file: &D::File) -> io::Result<PathBuf> {
        let path = beside(&self.path, "new");
        self.disk.remove(&path)?;
        let copy = self.disk.create(&path, &self.path)?;
        let copied = self.copy_to(file, &copy).and_then(|()| {
            let mut number = 1;
            let mut to = beside(&self.path, "bad-1");
            while number < COPIES_MAX && self.disk.open(&to)?.is_some() {
                number += 1;
                to = beside(&self.path, &format!("bad-{number}"));
            }
            self.disk.rename(&path, &to)?;
            Ok(to)
        });
        if copied.is_err() {
            let _ = self.disk.remove(&path);
        }
        let to = copied?;
        if self.options.is_synced {
            self.disk.sync_folder(&to)?;
        }
        Ok(to)
    }

    fn copy_to(&self, file: &D::File, copy: &D::File) -> io::Result<()> {
        let len = file.len()?;
        let mut at = 0;
        let mut piece = Vec::new();
        while at < len {
            let count = usize::try_from(len - at).unwrap_or(PIECE).min(PIECE);
            piece.resize(count, 0);
            read_whole(file, at, &mut piece)?;
            copy.write_at(at, &piece)?;
            at += count as u64;
        }
        if self.options.is_synced {
            copy.sync()?;
        }
        Ok(())
    }
}

/// Applies a record to the samples kept.
fn apply(kept: &mut BTreeMap<[u8; 16], Kept>, counting: &mut u64, record: Record) {
    let Record { key, what } = record;
    let octets = |kept: &Kept| octets_of(u32::try_from(kept.payload.len()).unwrap_or(u32::MAX));
    let before = match what {
        What::Kept(sample) => {
            *counting += octets(&sample);
            kept.insert(key, sample)
        }
        What::Forgotten => kept.remove(&key),
    };
    if let Some(before) = before {
        *counting -= octets(&before);
    }
}

/// Returns the path of a file with an added extension.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}
