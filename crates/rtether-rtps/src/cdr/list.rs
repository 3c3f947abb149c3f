//! Headers of the members of mutable structures (DDS-XTypes 1.3, 7.4.3.4).

/// Number and length of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its number.
    pub id: u32,
    /// The whole value is useless to whoever does not know this member.
    pub must_understand: bool,
    /// Its octets.
    pub(super) len: usize,
}

/// Largest number of a member.
pub(super) const ID_MAX: u32 = 0x0FFF_FFFF;

/// XCDR1: bits with the number, in the short header.
pub(super) const PID_MASK: u16 = 0x3FFF;
/// XCDR1: the number and the length follow, 32 bits each.
pub(super) const EXTENDED: u16 = 0x3F01;
/// XCDR1: the list ends.
pub(super) const SENTINEL: u16 = 0x3F02;
/// XCDR1: flag of the short header.
pub(super) const MUST_UNDERSTAND: u16 = 0x4000;
/// XCDR1: flag of the long header.
pub(super) const MUST_UNDERSTAND_LONG: u32 = 0x4000_0000;

/// XCDR2: flag.
pub(super) const MUST_UNDERSTAND_XCDR2: u32 = 0x8000_0000;
/// XCDR2: code of a length in the four octets that follow.
pub(super) const LENGTH_FOLLOWS: u32 = 4;

/// Returns the length that a code says without more.
pub(super) const fn fixed_len(code: u32) -> Option<usize> {
    match code {
        0 => Some(1),
        1 => Some(2),
        2 => Some(4),
        3 => Some(8),
        _ => None,
    }
}

/// Returns the octets of a member whose code says that `next` is its length.
pub(super) fn member_len(code: u32, next: u32) -> Option<usize> {
    let next = usize::try_from(next).ok()?;
    match code {
        4 => Some(next),
        5 => next.checked_add(4),
        6 => next.checked_mul(4)?.checked_add(4),
        7 => next.checked_mul(8)?.checked_add(4),
        _ => None,
    }
}
