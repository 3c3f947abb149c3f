//! Deserializes values.

use alloc::vec::Vec;

use super::list::{self, Parameter};
use super::{
    ByteOrder, CdrError, CdrErrorKind, DEPTH_MAX, Encoding, Extensibility, Form, Representation,
};

/// Deserializes values from untrusted octets: never panics, and allocates only for octets present.
#[derive(Clone, Debug)]
pub struct Decoder<'a> {
    octets: &'a [u8],
    at: usize,
    /// End of the innermost value with a length.
    end: usize,
    /// Position from which alignment counts.
    origin: usize,
    encoding: Encoding,
    order: ByteOrder,
    /// How the outermost value is written, if the header states it.
    form: Option<Form>,
    depth: u8,
    /// Whether the position is in the outermost structure of a payload.
    is_outermost: bool,
}

/// Reads each number after its alignment.
macro_rules! numbers {
    ($($name:ident)*) => {$(
        #[doc = concat!("Reads a `", stringify!($name), "` at its alignment.")]
        pub fn $name(&mut self) -> Result<$name, CdrError> {
            let octets = self.chunk()?;
            Ok(match self.order {
                ByteOrder::Big => $name::from_be_bytes(octets),
                ByteOrder::Little => $name::from_le_bytes(octets),
            })
        }
    )*};
}

impl<'a> Decoder<'a> {
    /// Reads from octets; alignment counts from the first.
    pub const fn new(octets: &'a [u8], encoding: Encoding, order: ByteOrder) -> Self {
        Self {
            octets,
            at: 0,
            end: octets.len(),
            origin: 0,
            encoding,
            order,
            form: None,
            depth: 0,
            is_outermost: false,
        }
    }

    /// Reads the body of a payload in the representation given by its header.
    pub const fn of_body(body: &'a [u8], representation: Representation) -> Self {
        let mut decoder = Self::new(body, representation.encoding, representation.order);
        decoder.form = Some(representation.form);
        decoder
    }

    /// Returns the encoding.
    pub const fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Returns the number of octets read.
    pub const fn position(&self) -> usize {
        self.at
    }

    /// Returns how many octets of the innermost value with a length remain.
    pub const fn remaining(&self) -> usize {
        self.end.saturating_sub(self.at)
    }

    pub(crate) const fn error(&self, kind: CdrErrorKind) -> CdrError {
        CdrError { offset: self.at, kind }
    }

    /// Reads `len` octets unchanged.
    pub fn octets(&mut self, len: usize) -> Result<&'a [u8], CdrError> {
        let to = self.at.checked_add(len).filter(|to| *to <= self.end);
        let octets = to.and_then(|to| self.octets.get(self.at..to));
        let octets = octets.ok_or_else(|| self.error(CdrErrorKind::Truncated))?;
        self.at += len;
        Ok(octets)
    }

    /// Skips to a multiple of `align`, a power of two, or of the largest alignment if that is
    /// smaller.
    pub fn align(&mut self, align: usize) -> Result<(), CdrError> {
        let align = align.min(self.encoding.align_max());
        let at = self.at.saturating_sub(self.origin);
        let padding = at.wrapping_neg() & align.wrapping_sub(1);
        self.octets(padding).map(|_| ())
    }

    fn chunk<const N: usize>(&mut self) -> Result<[u8; N], CdrError> {
        self.align(N)?;
        let octets = self.octets(N)?;
        octets.first_chunk().copied().ok_or_else(|| self.error(CdrErrorKind::Truncated))
    }

    numbers!(u8 u16 u32 u64 i8 i16 i32 i64 f32 f64);

    /// Reads a length in elements of at least one octet each; rejects one beyond the remaining
    /// octets.
    pub fn length(&mut self) -> Result<usize, CdrError> {
        let len = self.u32()?;
        let fits = usize::try_from(len).ok();
        let fits = fits.filter(|len| *len <= self.remaining());
        fits.ok_or_else(|| self.error(CdrErrorKind::Length(len)))
    }

    /// Reads a string. A length of zero, as some writers send, is the empty string.
    pub fn str(&mut self) -> Result<&'a str, CdrError> {
        let len = self.length()?;
        let from = self.at;
        let error = |kind| CdrError { offset: from, kind };
        let octets = self.octets(len)?;
        let text = match octets {
            [] => octets,
            [text @ .., 0] if !text.contains(&0) => text,
            _ => return Err(error(CdrErrorKind::Zero)),
        };
        core::str::from_utf8(text).map_err(|_| error(CdrErrorKind::Utf8))
    }

    /// Reads an octet sequence.
    pub fn octet_sequence(&mut self) -> Result<&'a [u8], CdrError> {
        let len = self.length()?;
        self.octets(len)
    }

    /// Rejects more elements than the type allows.
    pub const fn bound(&self, len: usize, max: usize) -> Result<(), CdrError> {
        if len > max {
            return Err(self.error(CdrErrorKind::Bound { len, max }));
        }
        Ok(())
    }

    /// Reads the members of a structure; skips what `members` leaves of an extended structure.
    pub fn structure<T>(
        &mut self,
        extensibility: Extensibility,
        members: impl FnOnce(&mut Self) -> Result<T, CdrError>,
    ) -> Result<T, CdrError> {
        if self.depth >= DEPTH_MAX {
            return Err(self.error(CdrErrorKind::Depth));
        }
        let declared = Representation::of(extensibility, self.encoding, self.order).form;
        // Writers that take the type for final say so in the header.
        let form = match self.form {
            Some(form) if self.depth == 0 => form,
            _ => declared,
        };
        if (form == Form::List) != (declared == Form::List) {
            let form = Representation { encoding: self.encoding, form, order: self.order };
            return Err(self.error(CdrErrorKind::Representation(form.id())));
        }
        let is_outermost = self.depth == 0 && self.at == 0 && self.form.is_some();
        let outer = core::mem::replace(&mut self.is_outermost, is_outermost);
        self.depth += 1;
        let read = match (form, self.encoding) {
            (Form::Plain, _) | (_, Encoding::Xcdr1) => members(self),
            (Form::Delimited | Form::List, Encoding::Xcdr2) => self.delimited(members),
        };
        self.depth -= 1;
        self.is_outermost = outer;
        read
    }

    /// Reads the elements of a sequence or an array.
    pub(crate) fn collection<T>(
        &mut self,
        is_primitive: bool,
        elements: impl FnOnce(&mut Self) -> Result<T, CdrError>,
    ) -> Result<T, CdrError> {
        if is_primitive || self.encoding == Encoding::Xcdr1 {
            elements(self)
        } else {
            self.delimited(elements)
        }
    }

    /// Reads a length in octets and the value with this length, and skips the rest of it.
    fn delimited<T>(
        &mut self,
        content: impl FnOnce(&mut Self) -> Result<T, CdrError>,
    ) -> Result<T, CdrError> {
        let len = self.length()?;
        self.within(len, content)
    }

    fn within<T>(
        &mut self,
        len: usize,
        content: impl FnOnce(&mut Self) -> Result<T, CdrError>,
    ) -> Result<T, CdrError> {
        let to = self.at.saturating_add(len);
        if to > self.end {
            return Err(self.error(CdrErrorKind::Truncated));
        }
        let outer = core::mem::replace(&mut self.end, to);
        let read = content(self);
        self.end = outer;
        if read.is_ok() {
            self.at = to;
        }
        read
    }

    /// Returns whether no member follows.
    ///
    /// In XCDR1, up to three trailing zeros may be padding that the header does not count. As
    /// members they would decode to zero too, and in the outermost structure nothing else follows.
    pub(crate) fn is_exhausted(&mut self) -> bool {
        let rest = self.octets.get(self.at..self.end).unwrap_or(&[]);
        let is_padding = self.is_outermost
            && self.encoding == Encoding::Xcdr1
            && rest.len() < 4
            && self.octets.len().is_multiple_of(4)
            && rest.iter().all(|octet| *octet == 0);
        if is_padding {
            self.at = self.end;
        }
        rest.is_empty() || is_padding
    }

    /// Reads `count` elements in sequence.
    pub(crate) fn elements<T>(
        &mut self,
        count: usize,
        mut element: impl FnMut(&mut Self) -> Result<T, CdrError>,
    ) -> Result<Vec<T>, CdrError> {
        // An element may take more memory than octets: only what is certain is reserved.
        let certain = self.remaining() / size_of::<T>().max(1);
        let mut elements = Vec::with_capacity(count.min(certain));
        for _ in 0..count {
            if self.remaining() == 0 {
                return Err(self.error(CdrErrorKind::Truncated));
            }
            elements.push(element(self)?);
        }
        Ok(elements)
    }

    /// Reads the id and length of the next list member; `None` at the end of the list.
    pub fn next_parameter(&mut self) -> Result<Option<Parameter>, CdrError> {
        match self.encoding {
            Encoding::Xcdr1 => self.next_xcdr1(),
            Encoding::Xcdr2 => self.next_xcdr2(),
        }
    }

    fn next_xcdr1(&mut self) -> Result<Option<Parameter>, CdrError> {
        self.align(4)?;
        let pid = self.u16()?;
        let short_len = usize::from(self.u16()?);
        match pid & list::PID_MASK {
            list::SENTINEL => Ok(None),
            list::EXTENDED => {
                let id = self.u32()?;
                let len = self.length()?;
                Ok(Some(Parameter {
                    id: id & list::ID_MAX,
                    must_understand: id & list::MUST_UNDERSTAND_LONG != 0,
                    len,
                }))
            }
            id => Ok(Some(Parameter {
                id: u32::from(id),
                must_understand: pid & list::MUST_UNDERSTAND != 0,
                len: short_len,
            })),
        }
    }

    fn next_xcdr2(&mut self) -> Result<Option<Parameter>, CdrError> {
        if self.remaining() < 4 {
            return Ok(None);
        }
        let header = self.u32()?;
        let code = header >> 28 & 0b111;
        let len = if let Some(len) = list::fixed_len(code) {
            len
        } else {
            let from = self.at;
            let next = self.u32()?;
            // From code 5 the length is part of the member.
            if code != list::LENGTH_FOLLOWS {
                self.at = from;
            }
            list::member_len(code, next).ok_or_else(|| self.error(CdrErrorKind::Length(next)))?
        };
        Ok(Some(Parameter {
            id: header & list::ID_MAX,
            must_understand: header & list::MUST_UNDERSTAND_XCDR2 != 0,
            len,
        }))
    }

    /// Reads a list member and skips the rest of it.
    pub fn in_parameter<T>(
        &mut self,
        parameter: Parameter,
        content: impl FnOnce(&mut Self) -> Result<T, CdrError>,
    ) -> Result<T, CdrError> {
        let outer = self.origin;
        if self.encoding == Encoding::Xcdr1 {
            self.origin = self.at;
        }
        let read = self.within(parameter.len, content);
        self.origin = outer;
        read
    }

    /// Skips an unknown list member; rejects one that must be understood.
    pub fn skip(&mut self, parameter: Parameter) -> Result<(), CdrError> {
        if parameter.must_understand {
            return Err(self.error(CdrErrorKind::MustUnderstand(parameter.id)));
        }
        self.octets(parameter.len).map(|_| ())
    }

    /// Returns the error that the number just read is not an enumerator.
    pub const fn unknown_enumerator(&self, value: i32) -> CdrError {
        CdrError { offset: self.at.saturating_sub(4), kind: CdrErrorKind::Enumerator(value) }
    }

    /// Returns a key member of a list, or the error that it is missing.
    pub fn required<T>(&self, id: u32, member: Option<T>) -> Result<T, CdrError> {
        member.ok_or_else(|| self.error(CdrErrorKind::KeyMissing(id)))
    }
}
