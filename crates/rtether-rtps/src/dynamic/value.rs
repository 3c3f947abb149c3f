//! Values of described types.

use alloc::string::String;
use alloc::vec::Vec;

use super::kinds::{Primitive, Structure, Type, count};

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

impl Type {
    /// Returns the default value: zero or empty.
    pub fn missing(&self) -> Value {
        match self {
            Self::Primitive(primitive) => match primitive {
                Primitive::Boolean => Value::Boolean(false),
                Primitive::Character => Value::Character('\0'),
                Primitive::Int8 | Primitive::Int16 | Primitive::Int32 | Primitive::Int64 => {
                    Value::Signed(0)
                }
                Primitive::Octet | Primitive::Uint16 | Primitive::Uint32 | Primitive::Uint64 => {
                    Value::Unsigned(0)
                }
                Primitive::Float32 => Value::Float(0.0),
                Primitive::Float64 => Value::Double(0.0),
            },
            Self::Enumeration(names) => Value::Enumerator(names.first()),
            Self::Text(_) => Value::Text(String::new()),
            Self::Sequence(element, _) if element.is_octet() => Value::Octets(Vec::new()),
            Self::Sequence(..) => Value::List(Vec::new()),
            Self::Array(element, dimensions) if element.is_octet() => {
                Value::Octets(alloc::vec![0; count(dimensions)])
            }
            Self::Array(element, dimensions) => {
                Value::List(alloc::vec![element.missing(); count(dimensions)])
            }
            Self::Structure(structure) => structure.missing(),
        }
    }
}

impl Structure {
    /// Returns the value whose members are all zero or empty.
    pub fn missing(&self) -> Value {
        let members = self.members().iter();
        Value::Structure(members.map(|member| member.kind.missing()).collect())
    }
}
