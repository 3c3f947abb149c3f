//! Ways of the segments of a connection whose messages leave at once; [`crate::prompt`] proves that
//! they do.

use rtether_model::flow::{Delivery, Flow, TcpParameters, Traffic};
use rtether_model::network::Network;

use crate::analysis::{ConnectionObstacle, Reason};
use crate::gap::Gap;
use crate::passage::RuleStep;
use crate::source::{Source, add, times};

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
    /// What the application takes to answer at most, and how much of that for its scan.
    pub(crate) after: i64,
    pub(crate) scan: i64,
    pub(crate) returns: Returns,
}

/// The ways of acknowledgements without data; `None` where there are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Returns {
    /// Sent at once behind a segment.
    pub(crate) at_once: Option<End>,
    /// Sent by the timer.
    pub(crate) late: Option<End>,
    /// What their numbers rest on.
    pub(crate) rule: Rule,
}

/// What was taken for granted of flows, policers and connections when ways were followed, and was
/// found to lack a proof.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unproved<'a> {
    /// Flows whose messages may be delayed by their connection, in order.
    pub(crate) delayed: &'a [Delayed],
    /// Flows whose acknowledgements may not come in a [`Pattern`], in order.
    pub(crate) irregular: &'a [u32],
    /// Policers that frames may exceed.
    pub(crate) exceeded: &'a [RuleStep],
}

/// A flow whose messages are not proved to leave at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Delayed {
    pub(crate) flow: u32,
    pub(crate) reason: Reason,
}

impl Ways {
    /// Returns whether numbers of acknowledgements rest on anything to be proved.
    pub(crate) fn has_rules(&self) -> bool {
        let back = self.back.map(|back| back.returns);
        let mut all = [self.returns].into_iter().chain(back);
        all.any(|returns| returns.rule != Rule::Any)
    }
}

impl Connection {
    /// Returns the connection with its visits moved.
    pub(crate) fn moved(&self, flow: u32, visit: impl Fn(u32) -> u32) -> Self {
        let end = |(last, gap): End| (visit(last), gap);
        let returns = |own: Returns| Returns {
            at_once: own.at_once.map(end),
            late: own.late.map(end),
            rule: own.rule,
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

/// Returns after how many segments an end acknowledges at once: one if the timer has no delay.
pub(crate) fn at_once_every(tcp: &TcpParameters) -> i64 {
    if tcp.ack_delay.as_ps() > 0 { tcp.ack_every.max(1).into() } else { 1 }
}

/// How many acknowledgements without data an end sends for each message or answer that comes, and why
/// ([`crate::prompt`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// At once; zero if there are none.
    pub(crate) at_once: i64,
    /// By the timer; zero if there are none.
    pub(crate) late: i64,
    pub(crate) rule: Rule,
}

/// What the numbers of a pattern rest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Nothing.
    Any,
    /// Data of the other direction carries acknowledgements.
    Carried,
    /// The timer fires before the next message comes.
    Settled,
    /// Enough segments come before the timer fires.
    Steady,
    /// All segments of a message come before the timer fires.
    Close,
}

impl Pattern {
    /// Returns what an end sends for `segments` whatever happens.
    fn any(tcp: &TcpParameters, segments: i64) -> Self {
        let every = at_once_every(tcp);
        Self {
            at_once: (segments + every - 1) / every,
            late: if every > 1 { segments } else { 0 },
            rule: Rule::Any,
        }
    }

    /// Returns the least that an end may be proved to send, from the flow alone; the rule has to be
    /// proved, if `is_regular`. The talker's end acknowledges answers.
    pub(crate) fn of(flow: &Flow, tcp: &TcpParameters, is_talkers: bool, is_regular: bool) -> Self {
        let reply = flow.reply.filter(|_| is_talkers);
        let payload = reply.map_or(flow.payload, |reply| reply.payload);
        let segments = i64::from(flow.frames(payload).count);
        let any = Self::any(tcp, segments);
        let source = Source::of_releases(&flow.traffic, 0);
        if !is_regular || source.burst != 1 || source.jitter >= source.period {
            return any;
        }
        let (every, delay) = (at_once_every(tcp), tcp.ack_delay.as_ps());
        let goes_on = source.is_on_grid && flow.stop.is_none();
        let to_next = |messages| add(times(source.period, messages), source.jitter);
        let after = flow.reply.map(|reply| reply.longest().as_ps());
        let apart = source.period - source.jitter;
        let is_before_next = after.is_some_and(|after| after < apart);
        let is_before_timer = after.is_some_and(|after| after == 0 || after < delay);
        let (at_once, late, rule) = if is_talkers && is_before_next {
            let is_in_time = every == 1 || (goes_on && to_next(1) < delay);
            (segments / every, i64::from(!is_in_time), Rule::Carried)
        } else if !is_talkers && is_before_next && is_before_timer {
            // An answer that is written as the last segment comes goes before its acknowledgement.
            let counted = segments - i64::from(after == Some(0));
            (counted / every, 0, Rule::Carried)
        } else if every == 1 {
            return any;
        } else if delay < apart {
            // An answer to an earlier message may begin the count anew.
            let is_even = flow.reply.is_none() && segments % every == 0;
            (segments / every, i64::from(!is_even), Rule::Settled)
        } else if goes_on && to_next((every + segments - 2) / segments) < delay {
            (any.at_once, 0, Rule::Steady)
        } else {
            (any.at_once, 1, Rule::Close)
        };
        Self { at_once, late, rule }
    }
}

/// Returns whether the messages of a flow may be proved to leave at once. Those to the own station are
/// not tried: segments and acknowledgments of both ends wait for each other in one stack.
pub(crate) fn may_be_prompt(network: &Network, flow: &Flow) -> bool {
    let is_stream = flow.connection.is_some() && flow.delivery == Delivery::Unicast;
    let is_between = !flow.listeners.contains(&flow.talker);
    is_stream
        && is_between
        && is_regular(flow)
        && !may_overtake(network, flow)
        && !is_redundant(network, flow)
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
    if is_regular(flow) { ConnectionObstacle::Order } else { ConnectionObstacle::Releases }
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
