//! Ways of the segments of a connection whose messages leave at once; [`crate::prompt`] proves that
//! they do.

use rtether_model::flow::{Delivery, Flow, Traffic};
use rtether_model::network::Network;

use crate::analysis::{ConnectionObstacle, Reason};
use crate::gap::Gap;

/// Last visit of a way, and the time from the beginning of service there to its end.
pub(crate) type End = (u32, Gap);

/// The connection with one listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Connection {
    pub(crate) flow: u32,
    /// `None` if some segments do not get through.
    pub(crate) ways: Option<Ways>,
}

/// The ways of segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ways {
    /// Of a message, to its listener.
    pub(crate) there: End,
    /// Of its acknowledgements.
    pub(crate) returns: Returns,
    pub(crate) back: Option<Back>,
}

/// The ways of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Back {
    pub(crate) end: End,
    /// What the application takes to answer.
    pub(crate) after: i64,
    pub(crate) returns: Returns,
}

/// The ways of acknowledgements without data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Returns {
    pub(crate) at_once: End,
    /// Sent by the timer.
    pub(crate) late: Option<End>,
}

/// A flow whose messages are not proved to leave at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Delayed {
    pub(crate) flow: u32,
    pub(crate) reason: Reason,
}

impl Connection {
    /// Returns the connection with its visits moved.
    pub(crate) fn moved(&self, flow: u32, visit: impl Fn(u32) -> u32) -> Self {
        let end = |(last, gap): End| (visit(last), gap);
        let returns = |own: Returns| Returns {
            at_once: end(own.at_once),
            late: own.late.map(end),
        };
        let ways = self.ways.map(|ways| Ways {
            there: end(ways.there),
            returns: returns(ways.returns),
            back: ways.back.map(|back| Back {
                end: end(back.end),
                returns: returns(back.returns),
                ..back
            }),
        });
        Self { flow, ways }
    }
}

/// Returns whether the messages of a flow may be proved to leave at once.
pub(crate) fn may_be_prompt(network: &Network, flow: &Flow) -> bool {
    let is_stream = flow.connection.is_some() && flow.delivery == Delivery::Unicast;
    is_stream && is_regular(flow) && !may_overtake(network, flow) && !is_redundant(network, flow)
}

/// Returns whether the copies of two networks may change the order of segments.
fn is_redundant(network: &Network, flow: &Flow) -> bool {
    let mut ends = flow.listeners.iter().chain([&flow.talker]);
    ends.any(|&end| {
        let station = network.end_station(end);
        station.is_some_and(|own| own.redundancy.is_some())
    })
}

/// Returns what the proof lacks for a flow that was not tried.
pub(crate) fn obstacle_of(flow: &Flow) -> ConnectionObstacle {
    if is_regular(flow) {
        ConnectionObstacle::Order
    } else {
        ConnectionObstacle::Releases
    }
}

fn is_regular(flow: &Flow) -> bool {
    match flow.traffic {
        Traffic::Periodic { .. } | Traffic::Sporadic { .. } | Traffic::Flood { .. } => true,
        Traffic::Poisson { .. } | Traffic::Adaptive { .. } | Traffic::Bulk(_) => false,
    }
}

/// Returns whether messages may overtake acknowledgements without data in the tasks of the talker.
pub(crate) fn may_overtake(network: &Network, flow: &Flow) -> bool {
    let station = network.end_station(flow.talker);
    let tasks = station.and_then(|station| station.tasks.as_ref());
    let has_answers = flow.connection.is_some() && flow.reply.is_some();
    has_answers && tasks.is_some_and(|tasks| tasks.messages_first)
}
