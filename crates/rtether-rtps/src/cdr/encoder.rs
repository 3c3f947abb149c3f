//! Serializes values.

use alloc::vec::Vec;

use super::{ByteOrder, CdrError, CdrErrorKind, DEPTH_MAX, Encoding, Extensibility, list};

/// Appends values to a vector; alignment counts from where it started.
///
/// Allocates nothing while the capacity of the vector suffices.
#[derive(Debug)]
pub struct Encoder<'a> {
    out: &'a mut Vec<u8>,
    /// Length of `out` at the start.
    start: usize,
    /// Position from which alignment counts; differs from `start` within a parameter of XCDR1.
    origin: usize,
    /// Maximum number of octets to write.
    limit: usize,
    encoding: Encoding,
    order: ByteOrder,
    /// Writes structures as if they were final, for keys to be hashed.
    is_plain: bool,
    has_no_length: bool,
    depth: u8,
}

/// Writes each number after its alignment.
macro_rules! numbers {
    ($($name:ident)*) => {$(
        #[doc = concat!("Writes a `", stringify!($name), "` at its alignment.")]
        pub fn $name(&mut self, value: $name) -> Result<(), CdrError> {
            let octets = match self.order {
                ByteOrder::Big => value.to_be_bytes(),
                ByteOrder::Little => value.to_le_bytes(),
            };
            self.align(octets.len())?;
            self.octets(&octets)
        }
    )*};
}

impl<'a> Encoder<'a> {
    /// Default maximum size of a value, in octets; see [`Self::with_limit`].
    pub const LIMIT: usize = 64 << 20;

    /// Appends to `out`.
    pub const fn new(out: &'a mut Vec<u8>, encoding: Encoding, order: ByteOrder) -> Self {
        let start = out.len();
        Self {
            out,
            start,
            origin: start,
            limit: Self::LIMIT,
            encoding,
            order,
            is_plain: false,
            has_no_length: false,
            depth: 0,
        }
    }

    /// Sets the maximum number of octets to write.
    #[must_use]
    pub const fn with_limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Writes structures as if they were final.
    #[must_use]
    pub(crate) const fn plain(mut self) -> Self {
        self.is_plain = true;
        self
    }

    /// Omits the length of the outermost structure.
    pub(crate) const fn leave_out_length(&mut self) {
        self.has_no_length = true;
    }

    /// Returns the encoding.
    pub const fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Returns the number of octets written.
    pub fn position(&self) -> usize {
        self.out.len().saturating_sub(self.start)
    }

    pub(crate) fn error(&self, kind: CdrErrorKind) -> CdrError {
        CdrError { offset: self.position(), kind }
    }

    /// Writes octets unchanged.
    pub fn octets(&mut self, octets: &[u8]) -> Result<(), CdrError> {
        if octets.len() > self.limit.saturating_sub(self.position()) {
            return Err(self.error(CdrErrorKind::Limit(self.limit)));
        }
        self.out.extend_from_slice(octets);
        Ok(())
    }

    /// Pads with zeros to a multiple of `align`, a power of two, or of the largest alignment if
    /// that is smaller.
    pub fn align(&mut self, align: usize) -> Result<(), CdrError> {
        let align = align.min(self.encoding.align_max());
        let at = self.out.len().saturating_sub(self.origin);
        let padding = at.wrapping_neg() & align.wrapping_sub(1);
        self.octets([0; 7].get(..padding).unwrap_or(&[]))
    }

    numbers!(u8 u16 u32 u64 i8 i16 i32 i64 f32 f64);

    /// Writes a length.
    pub fn length(&mut self, len: usize) -> Result<(), CdrError> {
        let Ok(len) = u32::try_from(len) else {
            return Err(self.error(CdrErrorKind::Limit(self.limit)));
        };
        self.u32(len)
    }

    /// Writes a string: the length with the NUL, the octets, the NUL.
    pub fn str(&mut self, text: &str) -> Result<(), CdrError> {
        if text.as_bytes().contains(&0) {
            return Err(self.error(CdrErrorKind::Zero));
        }
        self.length(text.len().saturating_add(1))?;
        self.octets(text.as_bytes())?;
        self.octets(&[0])
    }

    /// Writes an octet sequence.
    pub fn octet_sequence(&mut self, octets: &[u8]) -> Result<(), CdrError> {
        self.length(octets.len())?;
        self.octets(octets)
    }

    /// Rejects more elements than the type allows.
    pub fn bound(&self, len: usize, max: usize) -> Result<(), CdrError> {
        if len > max {
            return Err(self.error(CdrErrorKind::Bound { len, max }));
        }
        Ok(())
    }

    /// Writes the members of a structure, preceded by their length if the type may grow and the
    /// encoding has one.
    pub fn structure(
        &mut self,
        extensibility: Extensibility,
        members: impl FnOnce(&mut Self) -> Result<(), CdrError>,
    ) -> Result<(), CdrError> {
        if self.depth >= DEPTH_MAX {
            return Err(self.error(CdrErrorKind::Depth));
        }
        self.depth += 1;
        let written = match (extensibility, self.encoding) {
            _ if self.is_plain => members(self),
            (Extensibility::Final, _) | (Extensibility::Appendable, Encoding::Xcdr1) => {
                members(self)
            }
            (Extensibility::Appendable, _) if self.has_no_length && self.depth == 1 => {
                members(self)
            }
            (Extensibility::Appendable | Extensibility::Mutable, Encoding::Xcdr2) => {
                self.delimited(members)
            }
            (Extensibility::Mutable, Encoding::Xcdr1) => {
                members(self).and_then(|()| self.sentinel())
            }
        };
        self.depth -= 1;
        written
    }

    /// Writes the elements of a sequence or an array; elements that are not primitive are preceded
    /// by their length in octets if the encoding has one.
    pub(crate) fn collection(
        &mut self,
        is_primitive: bool,
        elements: impl FnOnce(&mut Self) -> Result<(), CdrError>,
    ) -> Result<(), CdrError> {
        if is_primitive || self.encoding == Encoding::Xcdr1 {
            elements(self)
        } else {
            self.delimited(elements)
        }
    }

    fn delimited(
        &mut self,
        content: impl FnOnce(&mut Self) -> Result<(), CdrError>,
    ) -> Result<(), CdrError> {
        self.u32(0)?;
        let from = self.out.len();
        content(self)?;
        self.patch(from)
    }

    /// Stores the number of octets after `from` in the four octets before it.
    fn patch(&mut self, from: usize) -> Result<(), CdrError> {
        let Ok(len) = u32::try_from(self.out.len().saturating_sub(from)) else {
            return Err(self.error(CdrErrorKind::Limit(self.limit)));
        };
        let octets = match self.order {
            ByteOrder::Big => len.to_be_bytes(),
            ByteOrder::Little => len.to_le_bytes(),
        };
        let place = from.checked_sub(4).and_then(|at| self.out.get_mut(at..from));
        if let Some(place) = place {
            place.copy_from_slice(&octets);
        }
        Ok(())
    }

    /// Writes a list member: its id, of which 28 bits are used, its length as
    /// [`super::Data::LENGTH_CODE`] encodes it, and its value.
    pub fn parameter(
        &mut self,
        id: u32,
        length_code: u32,
        content: impl FnOnce(&mut Self) -> Result<(), CdrError>,
    ) -> Result<(), CdrError> {
        match self.encoding {
            _ if self.is_plain => content(self),
            // Padded within the length, as most readers of lists expect.
            Encoding::Xcdr1 => self.optional_xcdr1(id, |encoder| {
                content(encoder)?;
                encoder.align(4)
            }),
            Encoding::Xcdr2 => {
                self.u32(length_code << 28 | id & list::ID_MAX)?;
                if length_code == list::LENGTH_FOLLOWS {
                    self.delimited(content)
                } else {
                    content(self)
                }
            }
        }
    }

    /// Writes an optional member, always with the long header, so that the length need not be known
    /// in advance.
    pub(super) fn optional_xcdr1(
        &mut self,
        id: u32,
        content: impl FnOnce(&mut Self) -> Result<(), CdrError>,
    ) -> Result<(), CdrError> {
        self.align(4)?;
        self.u16(list::EXTENDED | list::MUST_UNDERSTAND)?;
        self.u16(8)?;
        self.u32(id & list::ID_MAX)?;
        self.u32(0)?;
        let from = self.out.len();
        let outer = core::mem::replace(&mut self.origin, from);
        let written = content(self);
        self.origin = outer;
        written?;
        self.patch(from)
    }

    fn sentinel(&mut self) -> Result<(), CdrError> {
        self.align(4)?;
        self.u16(list::SENTINEL | list::MUST_UNDERSTAND)?;
        self.u16(0)
    }
}
