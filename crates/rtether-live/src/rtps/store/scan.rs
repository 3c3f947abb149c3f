//! Reads a journal, and reports damage.

use std::io;

use super::disk::Octets;
use super::record::{
    ALIGNMENT, FileHead, HEAD, HEADS_AT, MAGIC, MAGIC_1, RECORDS_AT, Record, RecordHead, VERSION,
};
use super::{Damage, Damaged, StoreOptions};

/// Octets read at a time.
const PIECE: usize = 65_536;
/// Maximum number of damaged places reported individually.
const PLACES_MAX: usize = 1_024;

/// Result of a scan.
pub(super) struct Scan {
    /// The file header, if one of the two is intact.
    pub(super) head: Option<FileHead>,
    pub(super) epoch: Option<u64>,
    /// Highest record number.
    pub(super) number: u64,
    /// End of the last record.
    pub(super) end: u64,
    /// Start of the last record.
    pub(super) last_at: Option<u64>,
    pub(super) damage: Vec<Damage>,
    /// Damaged places not in this list.
    pub(super) more: u64,
}

/// Why a file is not read.
pub(super) enum Refusal {
    Foreign,
    Version(u32),
    /// The file has larger limits: maximum number of instances and octets of a sample.
    Limits(u64, u64),
    System(io::Error),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

/// Reads a file, and passes on each intact record in order of number.
pub(super) fn scan(
    file: &impl Octets,
    options: &StoreOptions,
    mut take: impl FnMut(Record),
) -> Result<Scan, Refusal> {
    let mut window = Window::new(file)?;
    let mut found = Scan {
        head: None,
        epoch: None,
        number: 0,
        end: RECORDS_AT,
        last_at: None,
        damage: Vec::new(),
        more: 0,
    };
    let has_magic = find_head(&mut window, options, &mut found)?;
    let mut at = RECORDS_AT;
    while at < window.len {
        let Some((head, record)) = window.record(at, &found, options)? else {
            at = behind(&mut window, at, &mut found, options)?;
            continue;
        };
        let octets = head.octets();
        if head.number - found.number > 1 {
            let count = head.number - found.number - 1;
            found.report(at, 0, Damaged::Records(count));
        }
        found.epoch = Some(head.epoch);
        found.number = head.number;
        if let Some(record) = record {
            take(record);
            found.last_at = Some(at);
            found.end = at + octets;
        } else {
            found.report(at, octets, Damaged::Sample(head.key));
        }
        at += octets;
    }
    if !has_magic && found.last_at.is_none() {
        return Err(Refusal::Foreign);
    }
    found.end_with_tail(window.len);
    Ok(found)
}

/// Reads the file header from one of its places. Returns whether the magic is there.
fn find_head(
    window: &mut Window<'_, impl Octets>,
    options: &StoreOptions,
    found: &mut Scan,
) -> Result<bool, Refusal> {
    let mut has_magic = false;
    for at in HEADS_AT {
        let octets = window.octets::<HEAD>(at)?;
        let head = octets.and_then(|octets| FileHead::of_octets(&octets));
        let start = window.octets::<8>(at)?;
        has_magic |= start == Some(MAGIC);
        if at == 0 && start == Some(MAGIC_1) {
            return Err(Refusal::Version(1));
        }
        match head {
            None => found.report(at, HEAD as u64, Damaged::Head),
            Some(head) => found.head = found.head.or(Some(head)),
        }
    }
    let Some(head) = found.head else {
        return Ok(has_magic);
    };
    if head.version != VERSION {
        return Err(Refusal::Version(head.version));
    }
    if head.instances_max > options.instances_max as u64
        || head.sample_max > options.sample_max as u64
    {
        return Err(Refusal::Limits(head.instances_max, head.sample_max));
    }
    found.epoch = Some(head.epoch);
    Ok(has_magic)
}

/// Returns the start of the next intact record after a damaged place, or the end of the file.
fn behind(
    window: &mut Window<'_, impl Octets>,
    from: u64,
    found: &mut Scan,
    options: &StoreOptions,
) -> Result<u64, Refusal> {
    let mut at = from + ALIGNMENT;
    while at < window.len {
        if let Some((head, Some(_))) = window.record(at, found, options)? {
            let count = head.number - found.number - 1;
            found.report(from, at - from, Damaged::Records(count));
            // Already counted; otherwise reported again as a gap.
            found.number = head.number - 1;
            return Ok(at);
        }
        at += ALIGNMENT;
    }
    Ok(window.len)
}

impl Scan {
    fn report(&mut self, at: u64, octets: u64, what: Damaged) {
        if self.damage.len() < PLACES_MAX {
            self.damage.push(Damage { at, octets, what });
        } else {
            self.more += 1;
        }
    }

    /// Reports everything after the last record as its tail.
    fn end_with_tail(&mut self, len: u64) {
        if self.end >= len {
            return;
        }
        let is_before = |damage: &Damage| damage.what == Damaged::Head || damage.at < self.end;
        self.damage.retain(is_before);
        let (at, octets) = (self.end, len - self.end);
        self.report(at, octets, Damaged::Tail);
    }
}

/// A part of a file in memory.
struct Window<'a, F> {
    file: &'a F,
    len: u64,
    at: u64,
    buffer: Vec<u8>,
}

impl<'a, F: Octets> Window<'a, F> {
    fn new(file: &'a F) -> io::Result<Self> {
        Ok(Self { file, len: file.len()?, at: 0, buffer: Vec::new() })
    }

    /// Returns octets of the file; `None` beyond its end.
    fn get(&mut self, at: u64, count: usize) -> io::Result<Option<&[u8]>> {
        if self.len.saturating_sub(at) < count as u64 {
            return Ok(None);
        }
        let is_there = at >= self.at && at - self.at + count as u64 <= self.buffer.len() as u64;
        if !is_there {
            let left = usize::try_from(self.len - at).unwrap_or(usize::MAX);
            self.buffer.resize(left.min(count.max(PIECE)), 0);
            self.at = at;
            read_whole(self.file, at, &mut self.buffer)?;
        }
        let start = usize::try_from(at - self.at).unwrap_or(usize::MAX);
        Ok(self.buffer.get(start..start + count))
    }

    fn octets<const N: usize>(&mut self, at: u64) -> io::Result<Option<[u8; N]>> {
        let octets = self.get(at, N)?;
        Ok(octets.and_then(|octets| octets.try_into().ok()))
    }

    /// Returns the record header at an offset, and the record if its sample is also intact; `None`
    /// if there is no header of this file, or none with a higher number than the last.
    fn record(
        &mut self,
        at: u64,
        found: &Scan,
        options: &StoreOptions,
    ) -> Result<Option<(RecordHead, Option<Record>)>, Refusal> {
        let octets = self.octets::<HEAD>(at)?;
        let Some(head) = octets.and_then(|octets| RecordHead::of_octets(&octets)) else {
            return Ok(None);
        };
        let is_of_file = found.epoch.is_none_or(|epoch| epoch == head.epoch);
        if !is_of_file || head.number <= found.number {
            return Ok(None);
        }
        let length = head.length as usize;
        if length > options.sample_max {
            return Err(Refusal::Limits(0, u64::from(head.length)));
        }
        let payload = self.get(at + HEAD as u64, length)?;
        Ok(payload.map(|payload| (head, head.with(payload))))
    }
}

/// Reads octets that must be present.
pub(super) fn read_whole(file: &impl Octets, mut at: u64, mut into: &mut [u8]) -> io::Result<()> {
    while !into.is_empty() {
        match file.read_at(at, into) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                into = into.get_mut(count..).unwrap_or_default();
                at += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
