//! Headers of the members of mutable structures (DDS-XTypes 1.3, 7.4.3.4).

/// Header of a list member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Member id.
    pub id: u32,
    /// Whether the value must be rejected by readers that do not know this member.
    pub must_understand: bool,
    /// Size in octets.
    pub(super) len: usize,
}

/// Largest member id.
pub(super) const ID_MAX: u32 = 0x0FFF_FFFF;

/// XCDR1: bits of the member id in the short header.
pub(super) const PID_MASK: u16 = 0x3FFF;
/// XCDR1: id and length follow, 32 bits each.
pub(super) const EXTENDED: u16 = 0x3F01;
/// XCDR1: end of the list.
pub(super) const SENTINEL: u16 = 0x3F02;
/// XCDR1: must-understand flag of the short header.
pub(super) const MUST_UNDERSTAND: u16 = 0x4000;
/// XCDR1: must-understand flag of the long header.
pub(super) const MUST_UNDERSTAND_LONG: u32 = 0x4000_0000;

/// XCDR2: must-understand flag.
pub(super) const MUST_UNDERSTAND_XCDR2: u32 = 0x8000_0000;
/// XCDR2: length code; the length is in the next four octets.
pub(super) const LENGTH_FOLLOWS: u32 = 4;

/// Returns the length given by a length code alone.
pub(super) const fn fixed_len(code: u32) -> Option<usize> {
    match code {
        0 => Some(1),
        1 => Some(2),
        2 => Some(4),
        3 => Some(8),
        _ => None,
    }
}

/// Returns the size of a member whose length code says that `next` is its length.
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
