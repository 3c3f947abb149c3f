//! Why octets are not a value, or a value does not become octets.

use thiserror::Error;

/// What is wrong, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{kind}, at octet {offset}")]
pub struct CdrError {
    /// Octets from the start of what was read or written; of payloads, the header counts.
    pub offset: usize,
    /// What is wrong.
    pub kind: CdrErrorKind,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CdrErrorKind {
    /// There are fewer octets than the type has.
    #[error("the octets end before the value does")]
    Truncated,
    /// A length says more than is there.
    #[error("a length of {0} is more than is there")]
    Length(u32),
    /// More elements or octets than the type allows.
    #[error("{len} elements where at most {max} are allowed")]
    Bound {
        /// How many there are.
        len: usize,
        /// How many are allowed.
        max: usize,
    },
    /// More octets than the caller allows.
    #[error("more than {0} octets")]
    Limit(usize),
    /// A string is not UTF-8.
    #[error("a string that is not UTF-8")]
    Utf8,
    /// A string without the zero at its end, or with one before.
    #[error("a string that does not end with its only zero")]
    Zero,
    /// A truth value that is neither 0 nor 1.
    #[error("a truth value of {0}")]
    Bool(u8),
    /// A character that one octet does not hold.
    #[error("a character beyond one octet")]
    Char,
    /// A number without a name in the enumeration.
    #[error("the enumeration has no {0}")]
    Enumerator(i32),
    /// Values within values, deeper than is allowed.
    #[error("more than {max} values within each other", max = super::DEPTH_MAX)]
    Depth,
    /// More values within a value than are taken from anybody.
    #[error("more than {0} values within the value")]
    Values(usize),
    /// A value is not of the type that it is written as.
    #[error("a value of another type")]
    Mismatch,
    /// An identifier of a representation that is unknown, or that the type does not have.
    #[error("representation {0:#06x} is not one of this type")]
    Representation(u16),
    /// Octets after a value whose type cannot have grown.
    #[error("{0} octets after the value")]
    Trailing(usize),
    /// A member that is unknown and must not be skipped.
    #[error("member {0} is unknown and must be understood")]
    MustUnderstand(u32),
    /// A key that is not there.
    #[error("key member {0} is missing")]
    KeyMissing(u32),
}
