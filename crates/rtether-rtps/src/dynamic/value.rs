//! Values of described types.

use alloc::string::String;
use alloc::vec::Vec;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A Boolean.
    Boolean(bool),
    /// A signed number.
    Signed(i64),
    /// An unsigned number.
    Unsigned(u64),
    /// A `float`.
    Float(f32),
    /// A `double`.
    Double(f64),
    /// A character of one octet.
    Character(char),
    /// The number of an enumerator.
    Enumerator(i32),
    /// A string.
    Text(String),
    /// A sequence or an array of octets.
    Octets(Vec<u8>),
    /// Any other sequence or array; for several dimensions, all elements in one list.
    List(Vec<Self>),
    /// Members in the order of the description.
    Structure(Vec<Self>),
}
