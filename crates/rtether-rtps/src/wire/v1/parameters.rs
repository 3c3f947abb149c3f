//! Parameter lists of RTPS 1.0: unlike in 2.x, values may have any length, and no parameter must be
//! understood.

use super::super::{Cursor, Malformed, Parameter, pid};
use crate::time::Duration;

/// A parameter list, checked to end with a sentinel.
#[derive(Clone, Copy, Debug)]
pub struct Parameters<'a> {
    octets: &'a [u8],
    is_little_endian: bool,
}

impl<'a> Parameters<'a> {
    /// Splits a list with its sentinel from the cursor.
    pub(crate) fn parse(cursor: &mut Cursor<'a>) -> Result<Self, Malformed> {
        let octets = cursor.rest();
        let start = cursor.at();
        loop {
            let offset = cursor.at();
            let endless = Malformed::Endless { offset };
            let id = cursor.u16().map_err(|_| endless)?;
            let len = usize::from(cursor.u16().map_err(|_| endless)?);
            if id == pid::SENTINEL {
                return Ok(Self {
                    octets: octets.get(..offset - start).unwrap_or_default(),
                    is_little_endian: cursor.is_little_endian(),
                });
            }
            cursor.take(len).map_err(|_| Malformed::Overrun { offset })?;
        }
    }

    /// Returns the octets, without the sentinel.
    pub const fn octets(&self) -> &'a [u8] {
        self.octets
    }

    /// Returns the byte order.
    pub const fn is_little_endian(&self) -> bool {
        self.is_little_endian
    }

    /// Returns the parameters without padding.
    pub fn iter(&self) -> impl Iterator<Item = Parameter<'a>> + use<'a> {
        let mut cursor = Cursor::new(self.octets, 0, self.is_little_endian);
        let next = move || {
            let id = cursor.u16().ok()?;
            let len = cursor.u16().ok()?;
            Some(Parameter {
                id,
                value: cursor.take(usize::from(len)).ok()?,
                is_little_endian: cursor.is_little_endian(),
            })
        };
        core::iter::from_fn(next).filter(|parameter| parameter.id != pid::PAD)
    }
}

/// Seconds from which on a span counts as infinite. ORTE adds spans to its clock in 32 bits, so that
/// the largest would be over at once; eight years are as good.
const FOREVER_S: i32 = 1 << 28;

/// Reads a span; negative seconds mean infinite in ORTE.
pub fn span(parameter: &Parameter<'_>) -> Result<Duration, Malformed> {
    parameter.read(|cursor| {
        let (seconds, fraction) = (cursor.i32()?, cursor.u32()?);
        let is_finite = (0..FOREVER_S).contains(&seconds);
        let span = is_finite.then(|| Duration::from_wire(seconds, fraction));
        Ok(span.unwrap_or(Duration::INFINITE))
    })
}

/// Returns the wire format of a span.
pub fn span_to_wire(span: Duration) -> (i32, u32) {
    let (seconds, fraction) = span.to_wire();
    if seconds >= FOREVER_S { (FOREVER_S, 0) } else { (seconds.max(0), fraction) }
}
