//! What the terminal shows. Each line is written out at once; a terminal that is gone is no failure.

use std::fmt::Arguments;
use std::io::Write;

use rtether_rtps::reader::InstanceState;
use rtether_rtps::types::ShapeType;

pub(crate) fn line(text: Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// Shows a shape, and of its payload the last octet.
pub(crate) fn sample(topic: &str, shape: &ShapeType) {
    let ShapeType {
        color,
        x,
        y,
        shapesize,
        additional_payload_size,
    } = shape;
    match additional_payload_size.last() {
        Some(last) => line(format_args!(
            "{topic:<10} {color:<10} {x:03} {y:03} [{shapesize}] {{{last}}}"
        )),
        None => line(format_args!(
            "{topic:<10} {color:<10} {x:03} {y:03} [{shapesize}]"
        )),
    }
}

/// Shows that an instance is no longer alive.
pub(crate) fn end(topic: &str, color: &str, state: InstanceState) {
    let name = match state {
        InstanceState::Alive => return,
        InstanceState::Disposed => "NOT_ALIVE_DISPOSED_INSTANCE_STATE",
        InstanceState::NoWriters => "NOT_ALIVE_NO_WRITERS_INSTANCE_STATE",
    };
    line(format_args!("{topic:<10} {color:<10} {name}"));
}
