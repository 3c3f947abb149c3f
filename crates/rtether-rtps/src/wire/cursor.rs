//! Reads numbers from octets, in either byte order.

use super::Malformed;
use crate::guid::{EntityId, GuidPrefix};
use crate::locator::WireLocator;
use crate::sequence::{NumberSet, SequenceNumber};

/// Position in a slice; never reads beyond its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    octets: &'a [u8],
    at: usize,
    is_little_endian: bool,
}

impl<'a> Cursor<'a> {
    /// Starts at `at`; offsets in errors count from the same origin.
    pub(crate) const fn new(octets: &'a [u8], at: usize, is_little_endian: bool) -> Self {
        Self { octets, at, is_little_endian }
    }

    pub(crate) const fn at(&self) -> usize {
        self.at
    }

    pub(crate) const fn is_little_endian(&self) -> bool {
        self.is_little_endian
    }

    /// Returns the remaining octets.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.octets.get(self.at..).unwrap_or_default()
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let error = Malformed::Truncated { offset: self.at };
        let (taken, _) = self.rest().split_at_checked(len).ok_or(error)?;
        self.at += len;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let error = Malformed::Truncated { offset: self.at };
        let array = self.rest().first_chunk::<N>().ok_or(error)?;
        self.at += N;
        Ok(*array)
    }

    /// Advances to the next multiple of four, counted from the first octet.
    pub(crate) fn align(&mut self) {
        self.at = self.at.next_multiple_of(4).min(self.octets.len());
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Malformed> {
        let octets = self.array()?;
        Ok(if self.is_little_endian {
            u16::from_le_bytes(octets)
        } else {
            u16::from_be_bytes(octets)
        })
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        let octets = self.array()?;
        Ok(if self.is_little_endian {
            u32::from_le_bytes(octets)
        } else {
            u32::from_be_bytes(octets)
        })
    }

    pub(crate) fn i32(&mut self) -> Result<i32, Malformed> {
        self.u32().map(u32::cast_signed)
    }

    /// Reads a count of octets or elements.
    pub(crate) fn count(&mut self) -> Result<usize, Malformed> {
        let error = Malformed::Value { offset: self.at };
        self.u32().and_then(|count| usize::try_from(count).map_err(|_| error))
    }

    pub(crate) fn entity(&mut self) -> Result<EntityId, Malformed> {
        self.array().map(EntityId)
    }

    pub(crate) fn prefix(&mut self) -> Result<GuidPrefix, Malformed> {
        self.array().map(GuidPrefix)
    }

    /// Reads a sequence number without a range check: high word, then low word (9.3.2).
    pub(crate) fn number(&mut self) -> Result<SequenceNumber, Malformed> {
        let high = i64::from(self.i32()?);
        let low = i64::from(self.u32()?);
        Ok(SequenceNumber((high << 32) | low))
    }

    /// Reads a sequence number from `min` to [`SequenceNumber::MAX`].
    pub(crate) fn number_from(&mut self, min: i64) -> Result<SequenceNumber, Malformed> {
        let offset = self.at;
        let number = self.number()?;
        if (min..=SequenceNumber::MAX.0).contains(&number.0) {
            Ok(number)
        } else {
            Err(Malformed::Value { offset })
        }
    }

    /// Reads a fragment number.
    pub(crate) fn fragment(&mut self) -> Result<u32, Malformed> {
        let offset = self.at;
        let number = self.u32()?;
        if number > 0 { Ok(number) } else { Err(Malformed::Value { offset }) }
    }

    /// Reads the rest of a set: count of bits and the words with them (9.4.2.6).
    pub(crate) fn set(&mut self, base: i64) -> Result<NumberSet, Malformed> {
        let error = Malformed::Value { offset: self.at };
        let len = self.u32()?;
        if len > NumberSet::LEN_MAX {
            return Err(error);
        }
        let mut words = [0; 8];
        let count = usize::try_from(len.div_ceil(32)).unwrap_or(words.len());
        for word in words.iter_mut().take(count) {
            *word = self.u32()?;
        }
        NumberSet::from_words(base, len, words).ok_or(error)
    }

    pub(crate) fn locator(&mut self) -> Result<WireLocator, Malformed> {
        Ok((self.i32()?, self.u32()?, self.array()?))
    }
}
