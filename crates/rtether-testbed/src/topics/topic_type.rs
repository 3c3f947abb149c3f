//! The built-in types: how a value is generated and shown.

use std::sync::Arc;

use rtether_rtps::cdr::Data;
use rtether_rtps::dynamic::Structure;
use rtether_rtps::types::{Octets, Ping, ShapeType};
use serde::Serialize;

use super::text::clean;

/// A type of samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TopicType {
    /// A colored shape, keyed by its color; known to many implementations.
    #[default]
    Shape,
    /// Octets without meaning.
    Octets,
    /// A number, a session and a time stamp.
    Ping,
    /// A described type, such as from a file of IDL.
    Described(Arc<Structure>),
}

impl TopicType {
    /// Returns the type name, as announced to other participants.
    pub fn type_name(&self) -> &str {
        match self {
            Self::Shape => ShapeType::NAME,
            Self::Octets => Octets::NAME,
            Self::Ping => Ping::NAME,
            Self::Described(structure) => structure.name(),
        }
    }

    /// Returns the member names, as shown.
    pub fn columns(&self) -> Vec<&str> {
        match self {
            Self::Shape => vec!["color", "x", "y", "shapesize", "payload_bytes"],
            Self::Octets => vec!["payload_bytes"],
            Self::Ping => vec!["number", "session", "sent_ns", "payload_bytes"],
            Self::Described(structure) => {
                let members = structure.members().iter();
                members.map(|member| member.name.as_str()).collect()
            }
        }
    }
}

/// A member of a value for display; of octets only their number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Member {
    /// A text, fit for a terminal.
    Text(String),
    /// A number.
    Number(i64),
    /// A member of a described type.
    Tree(serde_json::Value),
    /// Unknown, since only the key was received.
    Absent,
}

fn size(octets: &[u8]) -> Member {
    Member::Number(i64::try_from(octets.len()).unwrap_or(i64::MAX))
}

/// Octets whose pattern reveals missing or misplaced parts.
fn payload(size: usize) -> Vec<u8> {
    (0..=250).cycle().take(size).collect()
}

/// A value that can be generated and shown.
pub(super) trait Show: Data {
    /// Returns the value before the first one.
    fn first(size: usize, color: &str) -> Self;

    /// Advances to the next value: its number, counted from 1, and the time of day.
    fn advance(&mut self, number: u64, wall_ns: i64);

    /// Returns the members, one for each column of the type.
    fn members(&self) -> Vec<Member>;
}

/// Size of the area in which shapes move, in pixels.
const WIDTH: u64 = 240;
const HEIGHT: u64 = 270;

/// Returns the position, after `step` steps, of a point that moves back and forth over `length`.
fn bounce(step: u64, length: u64) -> i32 {
    let phase = step % (2 * length);
    i32::try_from(phase.min(2 * length - phase)).unwrap_or(0)
}

impl Show for ShapeType {
    fn first(size: usize, color: &str) -> Self {
        Self {
            color: color.to_owned(),
            shapesize: 30,
            additional_payload_size: payload(size),
            ..Self::default()
        }
    }

    fn advance(&mut self, number: u64, _: i64) {
        self.x = bounce(number, WIDTH);
        self.y = bounce(number.saturating_mul(2), HEIGHT);
    }

    fn members(&self) -> Vec<Member> {
        vec![
            Member::Text(clean(&self.color)),
            Member::Number(self.x.into()),
            Member::Number(self.y.into()),
            Member::Number(self.shapesize.into()),
            size(&self.additional_payload_size),
        ]
    }
}

impl Show for Octets {
    fn first(size: usize, _: &str) -> Self {
        Self { octets: payload(size) }
    }

    fn advance(&mut self, _: u64, _: i64) {}

    fn members(&self) -> Vec<Member> {
        vec![size(&self.octets)]
    }
}

impl Show for Ping {
    fn first(size: usize, _: &str) -> Self {
        Self { session: super::super::session(), payload: payload(size), ..Self::default() }
    }

    fn advance(&mut self, number: u64, wall_ns: i64) {
        self.sequence = u32::try_from(number & u64::from(u32::MAX)).unwrap_or(0);
        self.sent_ns = wall_ns;
    }

    fn members(&self) -> Vec<Member> {
        vec![
            Member::Number(self.sequence.into()),
            Member::Number(self.session.into()),
            Member::Number(self.sent_ns),
            size(&self.payload),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_stay_in_their_area() {
        // Oracle: by hand; 240 steps to the right, then back.
        assert_eq!(bounce(0, WIDTH), 0);
        assert_eq!(bounce(240, WIDTH), 240);
        assert_eq!(bounce(241, WIDTH), 239);
        assert_eq!(bounce(480, WIDTH), 0);
    }

    #[test]
    fn members_have_columns() {
        // Oracle: the documented columns.
        let shape = ShapeType::first(3, "RED");
        assert_eq!(shape.members().len(), TopicType::Shape.columns().len());
        assert_eq!(shape.members().last(), Some(&Member::Number(3)));
        let ping = Ping::first(0, "");
        assert_eq!(ping.members().len(), TopicType::Ping.columns().len());
        let octets = Octets::first(1_000, "");
        assert_eq!(octets.members(), [Member::Number(1_000)]);
        assert_eq!(octets.octets.get(251), Some(&0));
    }
}
