//! How a server chooses the next packet, and the waits that follow: one file for each discipline,
//! with its theorem and proof at the head. Disciplines of switch ports have the names of the engines
//! that decide there (`rtether_proto::port`).

mod access;
mod credit;
pub(crate) mod deadline;
mod deficit;
pub(crate) mod driver;
mod gap;
mod port;
pub(crate) mod receive;
mod round_robin;
pub(crate) mod smoother;
mod strict;

use alloc::boxed::Box;
use core::cmp::Ordering;

use rtether_model::network::{Algorithm, Feature, PortPlan};

use crate::access::ByClass;
use crate::service_curve::ServiceCurve;
use credit::Credit;
use deficit::Deficit;
use driver::Driver;
use receive::ReceiveQueues;
use round_robin::RoundRobin;
use smoother::Pace;

pub(crate) use port::{Port, Visits, Waits};

/// The discipline of a server. It serves without pause while a packet waits, unless
/// [`Discipline::pauses`], as the curve of the server says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Discipline {
    /// In order of arrival.
    Fifo,
    /// The highest queue first, without preemption.
    Strict,
    /// Turns of a number of frames each.
    RoundRobin(RoundRobin),
    /// Turns of a number of octets each.
    Deficit(Deficit),
    /// Credits, by priority among the queues that may send.
    Credit(Credit),
    /// The earliest local deadline first.
    Deadline,
    /// Turns on a shared medium, by class, in order of arrival.
    Access(ByClass),
    /// A higher queue preempts: tasks and stack instances of an end station.
    Preemptive,
    /// Receive queues of an end station.
    Receive(ReceiveQueues),
    /// Transmit queues and ring of an end station.
    Driver(Box<Driver>),
    /// The gap of a flow.
    Gap,
    /// Credits of a smoother.
    Smoother(Box<Pace>),
}

impl Discipline {
    /// Returns the discipline of a port with this plan.
    pub(crate) fn of_port(plan: &PortPlan) -> Self {
        if plan.needs(Feature::Credits) {
            Self::Credit(Credit::new(plan))
        } else if plan.needs(Feature::OctetTurns) {
            Self::Deficit(Deficit(plan.quanta()))
        } else if plan.needs(Feature::FrameTurns) {
            let top = plan.queues() - 1;
            let strict = (plan.algorithm(top) == Algorithm::Strict).then_some(top);
            Self::RoundRobin(RoundRobin { weights: plan.weights(), strict })
        } else if plan.needs(Feature::Deadlines) {
            Self::Deadline
        } else if plan.needs(Feature::Queues) {
            Self::Strict
        } else {
            Self::Fifo
        }
    }

    /// Returns the waits of a queue.
    pub(crate) fn waits(&self, port: &Port<'_>, queue: u8) -> Waits {
        match self {
            Self::Fifo => port.waits(queue, 0, |_| false),
            Self::Strict => strict::waits(port, queue),
            Self::RoundRobin(turns) => turns.waits(port, queue),
            Self::Deficit(turns) => turns.waits(port, queue),
            Self::Credit(credit) => credit.waits(port, queue),
            Self::Deadline => deadline::waits_of(port, queue),
            Self::Access(turns) => access::waits(turns, port, queue),
            Self::Preemptive => receive::preemptive(port, queue),
            Self::Receive(queues) => queues.waits(port, queue),
            Self::Driver(driver) => driver.waits(port, queue),
            Self::Gap => gap::waits(port, queue),
            Self::Smoother(pace) => pace.waits(port, queue),
        }
    }

    /// Returns whether the server may be idle while a packet waits.
    pub(crate) fn pauses(&self) -> bool {
        match self {
            Self::Fifo
            | Self::Strict
            | Self::RoundRobin(_)
            | Self::Deficit(_)
            | Self::Deadline
            | Self::Preemptive => false,
            Self::Receive(queues) => queues.pauses(),
            Self::Driver(driver) => driver.pauses(),
            Self::Access(_) | Self::Credit(_) | Self::Gap | Self::Smoother(_) => true,
        }
    }

    /// Returns whether packets of a queue leave in order of arrival, a higher queue first if at
    /// all, without pause: what the analysis of whole paths requires.
    pub(crate) const fn is_by_priority(&self) -> bool {
        matches!(self, Self::Fifo | Self::Strict)
    }

    /// Returns whether a queue has a slope of its own, whatever comes to other queues.
    pub(crate) fn is_shaped(&self, queue: u8) -> bool {
        matches!(self, Self::Credit(credit) if credit.is_shaped(queue))
    }

    /// Returns what such a queue can count on; `None` if it has no slope or no bound.
    pub(crate) fn slope(&self, port: &Port<'_>, queue: u8) -> Option<ServiceCurve> {
        let Self::Credit(credit) = self else { return None };
        if credit.is_shaped(queue) { credit.curve(port, queue).ok() } else { None }
    }

    /// Returns whether a processor serves the packets of another queue after those of a queue, in
    /// order of arrival with them, or before them; `None` if it does not serve by priority alone.
    pub(crate) fn rank(&self, queue: u8, other: u8) -> Option<Ordering> {
        match self {
            Self::Fifo => Some(Ordering::Equal),
            Self::Preemptive => Some(other.cmp(&queue)),
            Self::Receive(queues) => queues.rank(queue, other),
            Self::Strict
            | Self::RoundRobin(_)
            | Self::Deficit(_)
            | Self::Credit(_)
            | Self::Deadline
            | Self::Access(_)
            | Self::Driver(_)
            | Self::Gap
            | Self::Smoother(_) => None,
        }
    }

    /// Returns whether each queue is served in order of arrival, without pause and without
    /// preemption. Such a server has a wait for each packet of a queue also if the loads are not
    /// those of one busy period.
    pub(crate) const fn is_queue_by_queue(&self) -> bool {
        self.is_by_priority() || matches!(self, Self::RoundRobin(_) | Self::Deficit(_))
    }
}
