//! Format of a journal. All numbers are little-endian.
//!
//! The file header has 64 octets at offset 0, and a copy at 4096, so that no single sector holds
//! both: magic (8 octets), version (4), zero (4), epoch (8), maximum number of instances (8),
//! maximum octets of a sample (8), zero, and in the last four octets the CRC-32C of the preceding
//! 60.
//!
//! Records start at 4160, each at a multiple of eight octets. A record header also has 64 octets:
//! marker (4), octets of the sample (4), epoch (8), running number (8), time in nanoseconds since
//! 1970 (8), key hash (16), kind (4; 1 kept, 0 forgotten), CRC-32C of the sample (4), zero (4),
//! CRC-32C of the preceding 60 octets. The sample follows, padded with zeros.

use super::Kept;
use super::crc::crc32c;

/// Magic of a journal.
pub(super) const MAGIC: [u8; 8] = *b"rtetherJ";
/// Magic of a journal of version 1.
pub(super) const MAGIC_1: [u8; 8] = *b"rtstore1";
pub(super) const VERSION: u32 = 2;
/// Size of a file header and of a record header, in octets.
pub(super) const HEAD: usize = 64;
/// Offsets of the file headers.
pub(super) const HEADS_AT: [u64; 2] = [0, 4_096];
/// Offset of the first record.
pub(super) const RECORDS_AT: u64 = HEADS_AT[1] + HEAD as u64;
/// Alignment of records, in octets.
pub(super) const ALIGNMENT: u64 = 8;
/// Marker at the start of a record; its first octet does not occur in UTF-8 text.
const MARKER: [u8; 4] = [0xF5, b'r', b't', b'R'];
/// Octets of a header that its checksum covers.
const CHECKED: usize = HEAD - 4;

/// The file header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileHead {
    pub(super) version: u32,
    /// Drawn anew for each file, so that records of another file are not accepted.
    pub(super) epoch: u64,
    pub(super) instances_max: u64,
    pub(super) sample_max: u64,
}

impl FileHead {
    pub(super) fn to_octets(self) -> [u8; HEAD] {
        let mut octets = [0; HEAD];
        octets[..8].copy_from_slice(&MAGIC);
        octets[8..12].copy_from_slice(&self.version.to_le_bytes());
        octets[16..24].copy_from_slice(&self.epoch.to_le_bytes());
        octets[24..32].copy_from_slice(&self.instances_max.to_le_bytes());
        octets[32..40].copy_from_slice(&self.sample_max.to_le_bytes());
        seal(octets)
    }

    /// Reads a header, if it is intact.
    pub(super) fn of_octets(octets: &[u8; HEAD]) -> Option<Self> {
        (octets.starts_with(&MAGIC) && is_sealed(octets)).then(|| Self {
            version: u32::from_le_bytes(part(octets, 8)),
            epoch: u64::from_le_bytes(part(octets, 16)),
            instances_max: u64::from_le_bytes(part(octets, 24)),
            sample_max: u64::from_le_bytes(part(octets, 32)),
        })
    }
}

/// New state of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    Kept(Kept),
    Forgotten,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Key hash of the instance.
    pub(super) key: [u8; 16],
    pub(super) what: What,
}

/// A record header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordHead {
    pub(super) length: u32,
    pub(super) epoch: u64,
    pub(super) number: u64,
    pub(super) written_ns: i64,
    pub(super) key: [u8; 16],
    is_kept: bool,
    sum: u32,
}

impl RecordHead {
    /// Reads a header, if it is intact.
    pub(super) fn of_octets(octets: &[u8; HEAD]) -> Option<Self> {
        if !octets.starts_with(&MARKER) || !is_sealed(octets) {
            return None;
        }
        let is_kept = match u32::from_le_bytes(part(octets, 48)) {
            0 => false,
            1 => true,
            _ => return None,
        };
        Some(Self {
            length: u32::from_le_bytes(part(octets, 4)),
            epoch: u64::from_le_bytes(part(octets, 8)),
            number: u64::from_le_bytes(part(octets, 16)),
            written_ns: i64::from_le_bytes(part(octets, 24)),
            key: part(octets, 32),
            is_kept,
            sum: u32::from_le_bytes(part(octets, 52)),
        })
    }

    /// Returns the size of the record in the file, in octets.
    pub(super) fn octets(&self) -> u64 {
        octets_of(self.length)
    }

    /// Returns the record with this sample, if the checksum matches.
    pub(super) fn with(&self, payload: &[u8]) -> Option<Record> {
        let is_whole = crc32c(payload) == self.sum;
        is_whole.then(|| Record {
            key: self.key,
            what: if self.is_kept {
                What::Kept(Kept { written_ns: self.written_ns, payload: payload.to_vec() })
            } else {
                What::Forgotten
            },
        })
    }
}

/// Returns the size in the file of a record with a sample of `length` octets.
pub(super) fn octets_of(length: u32) -> u64 {
    HEAD as u64 + u64::from(length).next_multiple_of(ALIGNMENT)
}

/// Appends a record. The sample is below 4 GiB.
pub(super) fn put(
    into: &mut Vec<u8>,
    (epoch, number): (u64, u64),
    key: [u8; 16],
    kept: Option<&Kept>,
) {
    let payload = kept.map_or(&[][..], |kept| &kept.payload);
    let written_ns = kept.map_or(0, |kept| kept.written_ns);
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    let mut head = [0; HEAD];
    head[..4].copy_from_slice(&MARKER);
    head[4..8].copy_from_slice(&length.to_le_bytes());
    head[8..16].copy_from_slice(&epoch.to_le_bytes());
    head[16..24].copy_from_slice(&number.to_le_bytes());
    head[24..32].copy_from_slice(&written_ns.to_le_bytes());
    head[32..48].copy_from_slice(&key);
    head[48..52].copy_from_slice(&u32::from(kept.is_some()).to_le_bytes());
    head[52..56].copy_from_slice(&crc32c(payload).to_le_bytes());
    into.extend(seal(head));
    into.extend(payload);
    while !(into.len() as u64).is_multiple_of(ALIGNMENT) {
        into.push(0);
    }
}

fn seal(mut octets: [u8; HEAD]) -> [u8; HEAD] {
    let sum = crc32c(&octets[..CHECKED]);
    octets[CHECKED..].copy_from_slice(&sum.to_le_bytes());
    octets
}

fn is_sealed(octets: &[u8; HEAD]) -> bool {
    crc32c(&octets[..CHECKED]) == u32::from_le_bytes(part(octets, CHECKED))
}

/// Returns part of a header.
fn part<const N: usize>(octets: &[u8; HEAD], at: usize) -> [u8; N] {
    std::array::from_fn(|index| octets[at + index])
}
