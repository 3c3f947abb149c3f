//! Types as participants describe them to each other (DDS-XTypes 1.3, 7.3.4 and 7.6.3.3).
//!
//! An endpoint announces an identifier of its type ([`TypeInformation`]); the type lookup service of
//! its participant returns the [`Object`] of an identifier, with the identifiers of its members'
//! types; from all of them follows a [`crate::dynamic::Structure`].
//!
//! All of it is XCDR2, little-endian, and untrusted: identifiers are nested to a limit, objects and
//! lists have limits of their own, and nothing is allocated for octets that are not there.

mod build;
mod describe;
mod identifier;
mod information;
pub mod lookup;
mod object;
#[cfg(test)]
mod tests;

pub use build::{BuildError, Library, OBJECTS_MAX};
pub use describe::Description;
pub use identifier::{Hash, TypeId};
pub use information::TypeInformation;
pub use object::{Literal, Object, ObjectMember};

use crate::cdr::{ByteOrder, CdrError, CdrErrorKind, Decoder, Encoding};

/// Maximum size of the description of an endpoint's type in its announcement, in octets; a longer
/// one counts as none.
pub const INFORMATION_MAX: usize = 8 << 10;
/// Maximum size of an object, in octets.
pub const OBJECT_MAX: usize = 64 << 10;
/// Maximum number of dependencies, and of objects in one reply.
const LIST_MAX: usize = 256;

/// Returns a decoder of octets that these types consist of.
const fn decoder(octets: &[u8]) -> Decoder<'_> {
    Decoder::new(octets, Encoding::Xcdr2, ByteOrder::Little)
}

/// Returns the error of a kind that is not supported.
fn unsupported(decoder: &Decoder<'_>, kind: u8) -> CdrError {
    decoder.error(CdrErrorKind::Enumerator(i32::from(kind)))
}
