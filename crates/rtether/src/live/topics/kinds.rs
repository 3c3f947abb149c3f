//! The types that are built in: how a value is made, and how it is shown.

use std::sync::Arc;

use rtether_rtps::cdr::Data;
use rtether_rtps::dynamic::Structure;
use rtether_rtps::types::{Octets, Ping, ShapeType};

use super::text::clean;

/// A type of samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A colored shape, whose key is its color; known to many implementations.
    #[default]
    Shape,
    /// Octets that mean nothing.
    Octets,
    /// A number, a session and a time stamp.
    Ping,
    /// A type that is described, as by a file of IDL.
    Described(Arc<Structure>),
}

impl Kind {
    /// Returns its name, as other participants know it.
    pub fn type_name(&self) -> &str {
        match self {
            Self::Shape => ShapeType::NAME,
            Self::Octets => Octets::NAME,
            Self::Ping => Ping::NAME,
            Self::Described(structure) => structure.name(),
        }
    }

    /// Returns the names of the members as they are shown.
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

/// A member of a value as it is shown; of octets their number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Member {
    /// A text, fit for a terminal.
    Text(String),
    /// A number.
    Number(i64),
    /// Whatever a type that is described has.
    Tree(serde_json::Value),
    /// Nothing, since only the key is known.
    Absent,
}

fn size(octets: &[u8]) -> Member {
    Member::Number(i64::try_from(octets.len()).unwrap_or(i64::MAX))
}

/// Octets that show where a part is missing or misplaced.
fn payload(size: usize) -> Vec<u8> {
    (0..=250).cycle().take(size).collect()
}

/// A value that can be made and shown.
pub(super) trait Show: Data {
    /// Returns the value before the first one.
    fn first(size: usize, color: &str) -> Self;

    /// Turns it into the next value: number, from 1 on, and time by the clock of the day.
    fn advance(&mut self, number: u64, wall_ns: i64);

    /// Returns its members, one for each column of its type.
    fn members(&self) -> Vec<Member>;
}

/// Pixels of the area in which shapes move.
const WIDTH: u64 = 240;
const HEIGHT: u64 = 270;

/// Returns where something is after so many steps that goes to and fro.
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
        Self {
            octets: payload(size),
        }
    }

    fn advance(&mut self, _: u64, _: i64) {}

    fn members(&self) -> Vec<Member> {
        vec![size(&self.octets)]
    }
}

impl Show for Ping {
    fn first(size: usize, _: &str) -> Self {
        Self {
            session: super::super::session(),
            payload: payload(size),
            ..Self::default()
        }
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
        assert_eq!(shape.members().len(), Kind::Shape.columns().len());
        assert_eq!(shape.members().last(), Some(&Member::Number(3)));
        let ping = Ping::first(0, "");
        assert_eq!(ping.members().len(), Kind::Ping.columns().len());
        let octets = Octets::first(1_000, "");
        assert_eq!(octets.members(), [Member::Number(1_000)]);
        assert_eq!(octets.octets.get(251), Some(&0));
    }
}
