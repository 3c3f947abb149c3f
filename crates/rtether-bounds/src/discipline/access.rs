//! Turns on a shared medium, in order of arrival within a class: [`crate::access`] has the theorem.

use alloc::vec::Vec;

use rtether_model::access::CLASSES;

use super::port::{Port, Waits};
use crate::access::ByClass;
use crate::curve::Load;
use crate::service_curve::ServiceCurve;
use crate::wait::Unbounded;

/// Returns the waits of a queue, which has the frames of one class.
pub(super) fn waits(own: &ByClass, port: &Port<'_>, queue: u8) -> Waits {
    let Some(turns) = own.turns[usize::from(queue).min(CLASSES - 1)] else {
        return Err(Unbounded::Obstacle);
    };
    // Each frame brings the work of a turn; what is under way says nothing about turns to come.
    let loads: Vec<Load> = port
        .loads
        .iter()
        .map(|load| Load { in_flight: 0, ..load.with((turns.interval - load.least).max(0)) })
        .collect();
    let port = Port {
        curve: ServiceCurve { latency: turns.latency, ..port.curve },
        loads: &loads,
        ..*port
    };
    port.waits(queue, 0, |other| own.is_shared && other > queue)
}
