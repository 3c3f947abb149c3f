//! Types that this crate brings with it.

use alloc::string::String;
use alloc::vec::Vec;

use crate::cdr::Data;
use crate::filter::{Fields, Value};

/// The colored shape with which implementations show each other what they can do.
///
/// Without the last member it is the type as it was at first; as an appendable type either is read as
/// the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Data)]
#[rtps(appendable)]
pub struct ShapeType {
    /// Its color, which is its key.
    #[rtps(key, max = 128)]
    pub color: String,
    /// From the left, in pixels.
    pub x: i32,
    /// From the top, in pixels.
    pub y: i32,
    /// Its size, in pixels.
    pub shapesize: i32,
    /// Octets that make the sample larger.
    pub additional_payload_size: Vec<u8>,
}

/// Octets that mean nothing here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Data)]
#[rtps(name = "rtether::Octets", final)]
pub struct Octets {
    /// The octets.
    pub octets: Vec<u8>,
}

/// What goes out and comes back when round trips are measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Data)]
#[rtps(name = "rtether::Ping", final)]
pub struct Ping {
    /// Numbers the round trips.
    pub sequence: u32,
    /// Tells those who measure at the same time apart.
    pub session: u32,
    /// When it was sent by the clock of the sender, in nanoseconds.
    pub sent_ns: i64,
    /// Octets that make the sample larger.
    pub payload: Vec<u8>,
}

impl Fields for ShapeType {
    fn field(&self, name: &str) -> Option<Value<'_>> {
        Some(match name {
            "color" => Value::Text(&self.color),
            "x" => Value::Integer(self.x.into()),
            "y" => Value::Integer(self.y.into()),
            "shapesize" => Value::Integer(self.shapesize.into()),
            _ => return None,
        })
    }
}
