//! Sample types that this crate provides.

use alloc::string::String;
use alloc::vec::Vec;

use crate::cdr::Data;
use crate::filter::{Fields, Value};

/// The colored shape of the demos that DDS implementations use to show interoperability.
///
/// The original type lacks the last member; since the type is appendable, each version can be read
/// as the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Data)]
#[rtps(appendable)]
pub struct ShapeType {
    /// Color; the key.
    #[rtps(key, max = 128)]
    pub color: String,
    /// Distance from the left, in pixels.
    pub x: i32,
    /// Distance from the top, in pixels.
    pub y: i32,
    /// Size, in pixels.
    pub shapesize: i32,
    /// Padding that makes the sample larger.
    pub additional_payload_size: Vec<u8>,
}

/// Opaque octets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Data)]
#[rtps(name = "rtether::Octets", final)]
pub struct Octets {
    /// The octets.
    pub octets: Vec<u8>,
}

/// Sample that is echoed to measure round trips.
#[derive(Clone, Debug, Default, PartialEq, Eq, Data)]
#[rtps(name = "rtether::Ping", final)]
pub struct Ping {
    /// Number of the round trip.
    pub sequence: u32,
    /// Tells concurrent measurements apart.
    pub session: u32,
    /// Send time by the sender's clock, in nanoseconds.
    pub sent_ns: i64,
    /// Padding that makes the sample larger.
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
