//! A record of a journal: the octets that follow and their check sum, both in 32 bits, then what
//! happened, the hash of the key, the time, and the sample. All numbers are little endian.

use std::io::{self, Read};

use super::Kept;

/// Octets before the body.
const HEAD: usize = 8;
/// Octets of a body without a sample.
const FIXED: usize = 1 + 16 + 8;

/// What is kept of an instance from now on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum What {
    Kept(Kept),
    Forgotten,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// The hash of the key of the instance.
    pub(super) key: [u8; 16],
    pub(super) what: What,
}

/// Returns the octets of the record of a sample.
pub(super) const fn length(payload: usize) -> u64 {
    (HEAD + FIXED + payload) as u64
}

impl Record {
    pub(super) fn to_octets(&self) -> Vec<u8> {
        let (tag, written_ns, payload): (u8, i64, &[u8]) = match &self.what {
            What::Kept(kept) => (1, kept.written_ns, &kept.payload),
            What::Forgotten => (0, 0, &[]),
        };
        let mut body = vec![tag];
        body.extend(self.key);
        body.extend(written_ns.to_le_bytes());
        body.extend(payload);
        let len = u32::try_from(body.len()).unwrap_or(u32::MAX);
        let mut octets = len.to_le_bytes().to_vec();
        octets.extend(check_sum(&body).to_le_bytes());
        octets.extend(body);
        octets
    }

    /// Reads a record, and how many octets it has; `None` if it is not whole.
    pub(super) fn read(from: &mut impl Read, sample_max: usize) -> io::Result<Option<(Self, u64)>> {
        let mut head = Vec::with_capacity(HEAD);
        from.take(HEAD as u64).read_to_end(&mut head)?;
        let Some((len, sum)) = head.split_first_chunk::<4>() else {
            return Ok(None);
        };
        let Ok(sum) = <[u8; 4]>::try_from(sum) else {
            return Ok(None);
        };
        let len = usize::try_from(u32::from_le_bytes(*len)).unwrap_or(usize::MAX);
        if !(FIXED..=FIXED.saturating_add(sample_max)).contains(&len) {
            return Ok(None);
        }
        let mut body = Vec::new();
        from.take(len as u64).read_to_end(&mut body)?;
        if body.len() != len || check_sum(&body) != u32::from_le_bytes(sum) {
            return Ok(None);
        }
        Ok(Self::of_body(&body).map(|record| (record, (HEAD + len) as u64)))
    }

    fn of_body(body: &[u8]) -> Option<Self> {
        let (tag, rest) = body.split_first()?;
        let (key, rest) = rest.split_first_chunk::<16>()?;
        let (written_ns, payload) = rest.split_first_chunk::<8>()?;
        let what = match tag {
            0 if payload.is_empty() => What::Forgotten,
            1 => What::Kept(Kept {
                written_ns: i64::from_le_bytes(*written_ns),
                payload: payload.to_vec(),
            }),
            _ => return None,
        };
        Some(Self { key: *key, what })
    }
}

/// FNV-1a in 32 bits: finds what a crash has left half written, not what somebody has forged.
fn check_sum(octets: &[u8]) -> u32 {
    octets.iter().fold(0x811C_9DC5, |sum, octet| {
        (sum ^ u32::from(*octet)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_sum_is_that_of_its_authors() {
        // Oracle: test vectors of FNV-1a, 32 bits (draft-eastlake-fnv, section on test vectors).
        assert_eq!(check_sum(b""), 0x811C_9DC5);
        assert_eq!(check_sum(b"a"), 0xE40C_292C);
        assert_eq!(check_sum(b"foobar"), 0xBF9C_F968);
    }
}
