//! Types that are described when the program runs, and their values.
//!
//! A [`Structure`] says what `#[derive(Data)]` says of a type of Rust, and its values have the same
//! octets and hashes; the rules of encoding are those of [`crate::cdr`]. There are no members that may
//! be absent.
//!
//! What a description can cost is limited when it is made, and what a payload can cost when it is read
//! ([`VALUES_MAX`]), so that neither a description nor a payload of somebody else exhausts the memory.

mod decode;
mod encode;
mod endpoints;
mod extent;
mod kinds;
mod value;

#[cfg(test)]
mod tests;

pub use endpoints::{Publication, Subscription};
pub use kinds::{
    DEPTH_MAX, Enumeration, Enumerator, MEMBERS_MAX, Member, Primitive, Structure, Type, TypeError,
    VALUES_MAX,
};
pub use value::Value;
