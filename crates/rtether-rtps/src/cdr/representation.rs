//! The encapsulation header: four octets that give the representation of a value (DDS-XTypes 1.3,
//! 7.6.3.1.2).

use super::{CdrError, CdrErrorKind};

/// Serialization rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// Original rules of RTPS: alignment up to 8.
    Xcdr1,
    /// Alignment up to 4, and lengths before values that may grow.
    Xcdr2,
}

impl Encoding {
    /// Returns the largest alignment, in octets.
    pub const fn align_max(self) -> usize {
        match self {
            Self::Xcdr1 => 8,
            Self::Xcdr2 => 4,
        }
    }
}

/// Byte order of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Most significant octet first.
    Big,
    /// Least significant octet first.
    Little,
}

/// How a type may change while older readers remain compatible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extensibility {
    /// Not at all.
    Final,
    /// Members may be added at the end.
    Appendable,
    /// Members have ids; they may be added, removed and reordered.
    Mutable,
}

/// How the outermost value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Members in sequence.
    Plain,
    /// Members in sequence after their length in octets.
    Delimited,
    /// Each member after its id and length.
    List,
}

/// Representation given by the header of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Representation {
    /// Serialization rules.
    pub encoding: Encoding,
    /// How the outermost value is written.
    pub form: Form,
    /// Byte order of numbers.
    pub order: ByteOrder,
}

/// Size of the header, in octets.
pub const HEADER_LEN: usize = 4;

impl Representation {
    /// Returns the representation in which values of a type are written.
    pub const fn of(extensibility: Extensibility, encoding: Encoding, order: ByteOrder) -> Self {
        let form = match (extensibility, encoding) {
            (Extensibility::Mutable, _) => Form::List,
            (Extensibility::Appendable, Encoding::Xcdr2) => Form::Delimited,
            (Extensibility::Final | Extensibility::Appendable, _) => Form::Plain,
        };
        Self { encoding, form, order }
    }

    /// Returns the representation identifier; the lowest bit means little-endian.
    pub const fn id(self) -> u16 {
        let id = match (self.encoding, self.form) {
            (Encoding::Xcdr1, Form::Plain | Form::Delimited) => 0x0000,
            (Encoding::Xcdr1, Form::List) => 0x0002,
            (Encoding::Xcdr2, Form::Plain) => 0x0006,
            (Encoding::Xcdr2, Form::Delimited) => 0x0008,
            (Encoding::Xcdr2, Form::List) => 0x000A,
        };
        match self.order {
            ByteOrder::Big => id,
            ByteOrder::Little => id | 1,
        }
    }

    /// Returns the representation of an identifier; `None` for XML and other unsupported ones.
    pub const fn from_id(id: u16) -> Option<Self> {
        let (encoding, form) = match id & !1 {
            0x0000 => (Encoding::Xcdr1, Form::Plain),
            0x0002 => (Encoding::Xcdr1, Form::List),
            0x0006 => (Encoding::Xcdr2, Form::Plain),
            0x0008 => (Encoding::Xcdr2, Form::Delimited),
            0x000A => (Encoding::Xcdr2, Form::List),
            _ => return None,
        };
        let order = if id & 1 == 0 { ByteOrder::Big } else { ByteOrder::Little };
        Some(Self { encoding, form, order })
    }

    /// Splits a payload into its representation and its body, without the padding that the options
    /// count. Other option bits are ignored, as is padding on a payload whose length is not a
    /// multiple of four.
    pub fn split(payload: &[u8]) -> Result<(Self, &[u8]), CdrError> {
        let Some((&[a, b, _, options], body)) = payload.split_first_chunk() else {
            return Err(CdrError { offset: payload.len(), kind: CdrErrorKind::Truncated });
        };
        let id = u16::from_be_bytes([a, b]);
        let Some(representation) = Self::from_id(id) else {
            return Err(CdrError { offset: 0, kind: CdrErrorKind::Representation(id) });
        };
        let is_padded = body.len().is_multiple_of(4);
        let padding = usize::from(if is_padded { options & PADDING } else { 0 });
        let len = body.len().checked_sub(padding);
        let body = len.and_then(|len| body.get(..len)).unwrap_or(body);
        Ok((representation, body))
    }

    /// Returns the header of a payload with `padding` octets after the body.
    pub(super) const fn header(self, padding: u8) -> [u8; HEADER_LEN] {
        let [a, b] = self.id().to_be_bytes();
        [a, b, 0, padding & PADDING]
    }
}

/// Option bits that count the padding octets.
const PADDING: u8 = 0b11;
