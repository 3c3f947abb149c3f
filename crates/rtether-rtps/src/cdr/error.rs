//! Errors of serialization and deserialization.

use thiserror::Error;

/// Kind and position of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{kind}, at octet {offset}")]
pub struct CdrError {
    /// Octets from the start of what was read or written; in payloads the header counts.
    pub offset: usize,
    /// Kind of the error.
    pub kind: CdrErrorKind,
}

/// Kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CdrErrorKind {
    /// Fewer octets than the type needs.
    #[error("the octets end within the value")]
    Truncated,
    /// A length exceeds the data.
    #[error("a length of {0} exceeds the data")]
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
    /// A string without its NUL at the end, or with one before.
    #[error("a string without a single NUL at its end")]
    Zero,
    /// A Boolean that is neither 0 nor 1.
    #[error("a Boolean of {0}; only 0 and 1 are valid")]
    Bool(u8),
    /// A character that does not fit one octet.
    #[error("a character beyond one octet")]
    Char,
    /// A number that is not an enumerator.
    #[error("the enumeration has no value {0}")]
    Enumerator(i32),
    /// Values nested deeper than allowed.
    #[error("values nested deeper than {max}", max = super::DEPTH_MAX)]
    Depth,
    /// More nested values than are accepted.
    #[error("more than {0} nested values")]
    Values(usize),
    /// A value that does not fit the type that it is written as.
    #[error("a value of another type")]
    Mismatch,
    /// A representation identifier that is unknown or does not apply to the type.
    #[error("representation {0:#06x} is not one of this type")]
    Representation(u16),
    /// Trailing octets after a value of a type that cannot have grown.
    #[error("{0} octets after the value")]
    Trailing(usize),
    /// An unknown member that must be understood.
    #[error("member {0} is unknown and must be understood")]
    MustUnderstand(u32),
    /// A key member that is missing.
    #[error("key member {0} is missing")]
    KeyMissing(u32),
}
