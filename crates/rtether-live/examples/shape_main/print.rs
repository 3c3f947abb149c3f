//! Terminal output. Each line is flushed at once; a closed terminal is not an error.

use std::fmt::Arguments;
use std::io::Write;

use rtether_rtps::reader::InstanceState;
use rtether_rtps::types::ShapeType;

pub(crate) fn line(text: Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// Prints a shape, and the last octet of its payload.
pub(crate) fn sample(topic: &str, shape: &ShapeType) {
    let ShapeType { color, x, y, shapesize, additional_payload_size } = shape;
    match additional_payload_size.last() {
        Some(last) => {
            line(format_args!("{topic:<10} {color:<10} {x:03} {y:03} [{shapesize}] {{{last}}}"));
        }
        None => line(format_args!("{topic:<10} {color:<10} {x:03} {y:03} [{shapesize}]")),
    }
}

/// Prints that an instance is no longer alive.
pub(crate) fn end(topic: &str, color: &str, state: InstanceState) {
    let name = match state {
        InstanceState::Alive => return,
        InstanceState::Disposed => "NOT_ALIVE_DISPOSED_INSTANCE_STATE",
        InstanceState::NoWriters => "NOT_ALIVE_NO_WRITERS_INSTANCE_STATE",
    };
    line(format_args!("{topic:<10} {color:<10} {name}"));
}
