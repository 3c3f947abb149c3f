//! Types described at run time, and their values.
//!
//! A [`Structure`] gives the same information as `#[derive(Data)]` does for a Rust type, and its
//! values have the same octets and hashes; the encoding rules are those of [`crate::cdr`]. Optional
//! members are not supported.
//!
//! The cost of a description is limited when it is made, and that of a payload when it is read
//! ([`VALUES_MAX`]), so that untrusted descriptions and payloads cannot exhaust the memory.

mod decode;
mod encode;
mod extent;
mod kinds;
mod missing;
mod value;

#[cfg(test)]
mod tests;

pub use kinds::{
    DEPTH_MAX, Enumeration, Enumerator, MEMBERS_MAX, Member, Primitive, Structure, Type, TypeError,
    VALUES_MAX,
};
pub use value::Value;
