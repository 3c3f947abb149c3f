//! Octets of the basic types, in BER as in GOOSE, and of fixed length as in sampled values.

/// How values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Encoding {
    /// Basic encoding rules: tag, length, and as many octets as a value needs (IEC 61850-8-1).
    Ber,
    /// Values one after the other, each of the length of its type (IEC 61850-9-2, table 14).
    Fixed,
}

/// Returns the octets of tag, length and contents in BER; tags take one octet.
pub(super) const fn wrapped(contents: u64) -> u64 {
    let length = match contents {
        0..0x80 => 1,
        0x80..0x100 => 2,
        0x100..0x1_0000 => 3,
        _ => 5,
    };
    contents.saturating_add(1 + length)
}

impl Encoding {
    /// Returns the octets of a structure or array from those of its members.
    pub(super) const fn joined(self, members: u64) -> u64 {
        match self {
            Self::Ber => wrapped(members),
            Self::Fixed => members,
        }
    }

    /// Returns the octets of a value of an enumeration at most; `None` for the range if it is not
    /// known.
    pub(super) fn enumerated(self, range: Option<(i64, i64)>) -> u64 {
        match self {
            Self::Ber => wrapped(
                range.map_or(4, |(low, high)| integer_octets(low).max(integer_octets(high))),
            ),
            Self::Fixed => 4,
        }
    }

    /// Returns the octets of a value of a basic type at most; `None` if the type is not known.
    pub(super) fn basic(self, kind: &str) -> Option<u64> {
        let (ber, fixed) = contents(kind)?;
        Some(match self {
            Self::Ber => wrapped(ber),
            Self::Fixed => fixed,
        })
    }
}

/// Returns the octets of a signed integer in two's complement.
fn integer_octets(value: i64) -> u64 {
    let bits = 65 - value.unsigned_abs().leading_zeros();
    // The smallest value of each length needs no further bit.
    let is_smallest = value < 0 && value.unsigned_abs().is_power_of_two();
    u64::from((bits - u32::from(is_smallest)).div_ceil(8))
}

/// Returns the contents of a basic type: the longest in BER, and of fixed length.
///
/// An unsigned integer takes one octet more in BER, so that its first bit is not a sign. A float is
/// the width of its exponent and the IEEE value, a bit string the number of unused bits and the
/// octets. Texts are taken at full length in both.
fn contents(kind: &str) -> Option<(u64, u64)> {
    Some(match kind {
        "BOOLEAN" => (1, 1),
        "INT8" => (1, 1),
        "INT16" => (2, 2),
        "INT24" => (3, 3),
        "INT32" => (4, 4),
        "INT64" => (8, 8),
        "INT128" => (16, 16),
        "INT8U" => (2, 1),
        "INT16U" => (3, 2),
        "INT24U" => (4, 3),
        "INT32U" => (5, 4),
        "INT64U" => (9, 8),
        "FLOAT32" => (5, 4),
        "FLOAT64" => (9, 8),
        "Dbpos" | "Tcmd" | "Check" => (2, 4),
        "Quality" => (3, 4),
        "Timestamp" => (8, 8),
        "EntryTime" => (6, 6),
        "TrgOps" | "SvOptFlds" | "LogOptFlds" => (2, 4),
        "OptFlds" => (3, 4),
        "EntryID" => (8, 8),
        "Octet6" => (6, 6),
        "Octet16" => (16, 16),
        "Octet64" => (64, 64),
        "VisString32" => (32, 32),
        "VisString64" => (64, 64),
        "VisString65" => (65, 65),
        "VisString129" | "ObjRef" => (129, 129),
        "VisString255" | "Unicode255" => (255, 255),
        "Currency" => (3, 3),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: ITU-T X.690, 8.1.3 and 8.3, worked out by hand.
    #[test]
    fn lengths_of_ber() {
        assert_eq!(wrapped(0), 2);
        assert_eq!(wrapped(127), 129);
        assert_eq!(wrapped(128), 131);
        assert_eq!(wrapped(255), 258);
        assert_eq!(wrapped(256), 260);
        for (value, octets) in [
            (0, 1),
            (127, 1),
            (128, 2),
            (-128, 1),
            (-129, 2),
            (32_767, 2),
            (32_768, 3),
            (-32_768, 2),
            (i64::MAX, 8),
            (i64::MIN, 8),
        ] {
            assert_eq!(integer_octets(value), octets, "{value}");
        }
    }

    /// Oracle: frames of both kinds, octet by octet: `83 01 00`, `84 03 03 00 00`, `87 05 08` and
    /// four octets, `91 08` and eight; a sample and its quality as four octets each.
    #[test]
    fn values_as_they_are_sent() {
        for (kind, ber, fixed) in [
            ("BOOLEAN", 3, 1),
            ("Quality", 5, 4),
            ("FLOAT32", 7, 4),
            ("Timestamp", 10, 8),
            ("INT32", 6, 4),
            ("Dbpos", 4, 4),
        ] {
            assert_eq!(Encoding::Ber.basic(kind), Some(ber), "{kind}");
            assert_eq!(Encoding::Fixed.basic(kind), Some(fixed), "{kind}");
        }
        assert_eq!(Encoding::Ber.basic("Struct"), None);
        assert_eq!(Encoding::Ber.enumerated(Some((0, 127))), 3);
        assert_eq!(Encoding::Ber.enumerated(Some((-1, 200))), 4);
    }
}
