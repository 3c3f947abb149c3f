//! Values that are not given.

use alloc::string::String;
use alloc::vec::Vec;

use super::kinds::{Member, Primitive, Structure, Type, count};
use super::value::Value;

impl Type {
    /// Returns the value that is not given: zero or empty, except defaults of enumerations and
    /// members.
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
            Self::Enumeration(names) => Value::Enumerator(names.missing()),
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

impl Member {
    /// Returns its value where none is given.
    pub fn missing(&self) -> Value {
        let default = self.default.clone();
        default.unwrap_or_else(|| self.kind.missing())
    }
}

impl Structure {
    /// Returns the value none of whose members is given: defaults, or zero or empty.
    pub fn missing(&self) -> Value {
        let members = self.members().iter();
        Value::Structure(members.map(Member::missing).collect())
    }
}
