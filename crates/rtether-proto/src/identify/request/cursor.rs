//! Reads octets that nobody vouches for, from front to back.

use super::answer::Malformed;

/// What is left to read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    pub(super) fn new(octets: &'a [u8]) -> Self {
        Self(octets)
    }

    pub(super) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Returns all that is left.
    pub(super) fn rest(self) -> &'a [u8] {
        self.0
    }

    /// Takes some octets.
    pub(super) fn take(&mut self, octets: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(octets).ok_or(Malformed::Truncated)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Takes as many octets as the array has.
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Malformed::Truncated)?;
        self.0 = rest;
        Ok(*taken)
    }

    /// Takes the last octets, which are as many as claimed.
    pub(super) fn last(mut self, octets: usize) -> Result<Self, Malformed> {
        let taken = self.take(octets)?;
        self.end()?;
        Ok(Self(taken))
    }

    /// Checks that nothing is left.
    pub(super) fn end(self) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed::Trailing) }
    }
}

/// Checks the value of a field.
pub(super) fn expect(holds: bool, field: &'static str) -> Result<(), Malformed> {
    if holds { Ok(()) } else { Err(Malformed::Unexpected(field)) }
}
