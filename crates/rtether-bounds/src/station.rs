//! Places that a packet passes in an end station: tasks, stack, smoother, on the way to the port or
//! back.
//!
//! ```text
//!   application ──► tasks ──► stack ──► smoother ──► transmit queues, ring, port
//!   application ◄── tasks ◄── receive queues or instances, stack ◄── link
//! ```
//!
//! **Tasks** (`docs/models/stations.md`). A message passes its task before it enters the sending
//! stack and after it has left the receiving one. So does a segment of a file on the sending side.
//! On the receiving side TCP has the segment at once: the program that reads it is a separate visit
//! that nothing waits for. Acknowledgements pass no task. On a connection for messages each segment
//! with data counts as a message; segments of its talker without data take no time, but wait in the
//! task of files.

use rtether_model::endnode::{Layer, Receive};
use rtether_model::network::{EndStation, Tasks};
use rtether_model::quantity::Duration;
use rtether_model::unknown::{CostName, Unknown, more};

use crate::classify::{Level, Way};
use crate::discipline::Discipline;
use crate::discipline::driver::Driver;
use crate::discipline::receive::{ReceiveQueues, queue_of};
use crate::frame::{AROUND, Frame, Kind};
use crate::output_limit::Limit;
use crate::stack::Service;

/// Task of files, and of everything if messages do not go first.
const FILES: u8 = 0;
const MESSAGES: u8 = 1;

/// Returns how the stack of a station chooses.
pub(crate) fn discipline(station: &EndStation) -> Discipline {
    let layer = station.layer.as_deref();
    match layer.and_then(|layer| layer.receive.as_ref()) {
        None => Discipline::Fifo,
        Some(Receive::Instances { .. }) => Discipline::Preemptive,
        Some(receive @ Receive::Queues(config)) => {
            Discipline::Receive(ReceiveQueues { selection: config.selection, top: top(receive) })
        }
    }
}

/// Returns the highest class that receive queues or instances distinguish.
fn top(receive: &Receive) -> u8 {
    let limits = match receive {
        Receive::Queues(config) => &config.queue_limits,
        Receive::Instances { queue_limits } => queue_limits,
    };
    u8::try_from(limits.len().clamp(1, 8) - 1).unwrap_or(7)
}

/// Returns whether received frames may wait at a stack that takes no time.
pub(crate) fn holds_back(station: &EndStation) -> bool {
    discipline(station).pauses()
}

/// Returns the queue of a frame at the stack.
pub(crate) fn stack_queue(
    station: &EndStation,
    way: &Way<'_>,
    frame: &Frame,
    is_outbound: bool,
) -> u8 {
    let layer = station.layer.as_deref();
    let Some((layer, receive)) = layer.and_then(|l| Some((l, l.receive.as_ref()?))) else {
        return 0;
    };
    let class = way.class(layer, frame).min(top(receive));
    match receive {
        Receive::Instances { .. } => class,
        Receive::Queues(_) => queue_of(class, !is_outbound),
    }
}

/// Returns the layer below the stack; `None` if it only serves in order of arrival.
pub(crate) fn driver(station: &EndStation) -> Option<Driver> {
    let layer = station.layer.as_deref()?;
    let below = layer.smoother.map(|smoothing| smoothing.ring.into());
    Driver::new(layer.transmit.as_ref(), below)
}

/// Returns the level of a packet in the smoother, and its class in the transmit queues.
pub(crate) fn level_and_class(layer: &Layer, way: &Way<'_>, frame: &Frame) -> (Level, u8) {
    let level = layer.smoother.map(|smoothing| way.level(smoothing.rule));
    let class = if layer.transmit.is_some() { way.class(layer, frame) } else { 0 };
    (level.unwrap_or(Level::Bulk), class)
}

/// Returns the limit that a smoother puts on bulk packets.
pub(crate) fn smoother_limit(
    layer: &Layer,
    way: &Way<'_>,
    frame: &Frame,
    place: u32,
) -> Option<Limit> {
    let smoothing = layer.smoother?;
    // Padding is not part of a datagram.
    let header = i64::try_from(way.flow.encapsulation.header_size().get()).ok()?;
    let payload = match frame.kind {
        Kind::Datagram => {
            let own = match way.flow.reply {
                Some(reply) if way.is_answer => reply.payload,
                _ => way.flow.payload,
            };
            // The last fragment is the smallest.
            let whole = way.flow.encapsulation.header_size() + own;
            let frames = way.flow.frames(own);
            let last = frames.octets_of(frames.count.saturating_sub(1), whole);
            i64::try_from(last.get()).ok()? - header
        }
        Kind::File | Kind::Acknowledgement | Kind::Message | Kind::Part | Kind::Pure { .. } => 0,
    };
    let smallest = (frame.sizes[0] - AROUND).min(header + payload);
    let largest = if frame.sizes[0] == frame.sizes[1] { smallest } else { frame.sizes[1] - AROUND };
    Limit::of_smoother(&smoothing.config, [smallest, largest], place)
}

/// Returns queue and service of a packet in the tasks of a station; `None` if it passes none.
pub(crate) fn task(
    tasks: &Tasks,
    unknown: &[Unknown],
    frame: &Frame,
    is_outbound: bool,
) -> Option<(u8, Service)> {
    let [message, segment] =
        [CostName::TaskMessage, CostName::TaskSegment].map(|cost| more(unknown, cost));
    let (task, least, most) = match frame.kind {
        Kind::Datagram | Kind::Part => (MESSAGES, tasks.message, tasks.message + message),
        Kind::Message => (MESSAGES, Duration::ZERO, tasks.message + message),
        Kind::File if is_outbound => (FILES, Duration::ZERO, tasks.segment + segment),
        Kind::Pure { is_of_talker: true } if is_outbound => (FILES, Duration::ZERO, Duration::ZERO),
        Kind::File | Kind::Acknowledgement | Kind::Pure { .. } => return None,
    };
    let queue = if tasks.messages_first { task } else { FILES };
    let range = [least.as_ps(), most.as_ps()];
    // What may take no time at all does not differ by a constant.
    let is_known = least == tasks.message && task == MESSAGES;
    let constant = if is_known { message.as_ps() } else { 0 };
    Some((queue, Service { small: range, large: range, constant }))
}

/// Returns the work of the program that reads a file, for one segment.
pub(crate) fn reader(tasks: &Tasks, unknown: &[Unknown], frame: &Frame) -> Option<Service> {
    let most = (tasks.segment + more(unknown, CostName::TaskSegment)).as_ps();
    (frame.kind == Kind::File).then_some(Service {
        small: [0, most],
        large: [0, most],
        constant: 0,
    })
}

/// Task of the program that reads a file.
pub(crate) const READER: u8 = FILES;
