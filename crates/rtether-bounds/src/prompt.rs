//! Messages over a connection that leave at once.
//!
//! TCP may hold octets back, and may send them again. Where it is proved to do neither, the
//! segments of a message are a burst, like the fragments of a datagram, and all that is known of
//! packets holds for them.
//!
//! **Segments.** While nothing is held back, a message of `m` octets leaves as soon as it is written
//! in segments of `s` octets and a last one with the rest: nothing waits for a full segment
//! (`TCP_NODELAY`). The answer does so when the last octet of the message has been delivered.
//!
//! **Acknowledgements.** An end of a connection sends at most one segment without data for each with
//! data that it receives. It does so at once, or when the timer fires that the first segment not yet
//! acknowledged has started; the next one starts later, so that those of the timer leave at least
//! the acknowledgement delay apart. Any segment with data acknowledges as well.
//!
//! **Theorem.** Let no link of the ways there and back destroy a frame, let segments of each
//! direction stay in order, and let each octet reach the other end and an acknowledgement that is
//! sent at once come back within `R` after the message was released. Let `n` be the largest number
//! of messages released in a closed window of length `R`, and let each end acknowledge at once every
//! `k`-th segment. If `n m + (k - 1) min(m, s)` is at most the smaller of the receive window and the
//! initial congestion window, and acknowledgements by the timer come back within the smallest
//! retransmission timeout, then nothing is held back and nothing is sent again.
//! *Proof* by the first moment `x` at which one of the two happens; until then all bounds hold. (1)
//! Of the octets not acknowledged at `x`, those of messages released before `x - R` have all been
//! delivered by then, and belong to fewer than `k` segments: otherwise the other end had sent an
//! acknowledgement of the oldest at once, which would be here. The others belong to at most `n`
//! messages, the one written at `x` included. The congestion window is at least the initial one: it
//! shrinks by losses only, and to the initial one after idleness (RFC 5681, 4.1). (2) The
//! retransmission timer fires when no acknowledgement of new data has come for a timeout, although
//! some data waited for one all that time (RFC 6298, 5). The oldest of it is acknowledged within the
//! time of a round trip with the timer of the other end, which is shorter. And no three
//! acknowledgements without data are equal: each of them, in order, acknowledges more. (3) Answers
//! are messages of the other end; they are counted by their requests, and `R` runs from these.
//!
//! Segments of talkers without data pass the task of files, and may fall behind messages that go
//! first: there the order is not proved.

use alloc::vec::Vec;

use rtether_model::flow::{Flow, FlowId, TcpParameters};
use rtether_model::network::Network;
use rtether_model::quantity::{Bytes, Duration};

use crate::analysis::{ConnectionObstacle, Reason};
use crate::connection::{Delayed, End, Returns, Ways};
use crate::edit::Edit;
use crate::expand::Atlas;
use crate::plant::Plant;
use crate::policing::exceeded;
use crate::report::reason;
use crate::solution::{Solution, Stage};
use crate::solve::{arrival, solve_after};
use crate::source::{FIRST_TIMEOUT, add};

/// Solves a plant whose connections are taken to send messages at once, and whose policers for kept,
/// until that is found to lack a proof; the first search may start from the stages of an earlier plant.
pub(crate) fn solve_promptly(
    mut plant: Plant,
    atlas: &Atlas,
    network: &Network,
    flows: &[Flow],
    before: Option<(&Plant, &[Stage], &Edit)>,
) -> (Plant, Vec<Stage>) {
    let mut stages = solve_after(&mut plant, before);
    loop {
        let Some(stage) = stages.last() else {
            return (plant, stages);
        };
        let more_exceeded = exceeded(&plant, &stage.solution);
        let more = if more_exceeded.is_empty() {
            delayed(&plant, &stage.solution, flows)
        } else {
            Vec::new()
        };
        if more.is_empty() && more_exceeded.is_empty() {
            return (plant, stages);
        }
        let mut known = core::mem::take(&mut plant.delayed);
        known.extend(more);
        known.sort_by_key(|own| own.flow);
        let mut policers = core::mem::take(&mut plant.exceeded);
        policers.extend(more_exceeded);
        policers.sort_unstable();
        let ways = atlas.follow_without(network, flows, &known, &policers);
        plant = Plant::complete(ways, network, flows);
        (plant.delayed, plant.exceeded) = (known, policers);
        stages = solve_after(&mut plant, None);
    }
}

/// Returns the flows that were taken to send at once without proof.
pub(crate) fn delayed(plant: &Plant, solution: &Solution, flows: &[Flow]) -> Vec<Delayed> {
    let mut found: Vec<Delayed> = Vec::new();
    for connection in &plant.connections {
        let number = connection.flow;
        let is_known = found.last().is_some_and(|last| last.flow == number);
        let flow = &flows[number as usize];
        let (Some(tcp), false) = (&flow.connection, is_known) else {
            continue;
        };
        let proof = Proof {
            plant,
            solution,
            flow,
            number,
            tcp,
        };
        if let Err(reason) = proof.of(connection.ways.as_ref()) {
            let flow = number;
            found.push(Delayed { flow, reason });
        }
    }
    found
}

struct Proof<'a> {
    plant: &'a Plant,
    solution: &'a Solution,
    flow: &'a Flow,
    number: u32,
    tcp: &'a TcpParameters,
}

impl Proof<'_> {
    fn of(&self, ways: Option<&Ways>) -> Result<(), Reason> {
        let ways = ways.ok_or(Reason::NotDelivered)?;
        if let Some(obstacle) = self.loses(ways) {
            return Err(self.fails(obstacle));
        }
        let there = self.time(ways.there)?;
        let mut round = self.time(ways.returns.at_once)?;
        if let Some(back) = &ways.back {
            // The answer may carry the acknowledgement.
            let total = self.time(back.end)?;
            round = round.max(total - back.after);
            let answered = self.time(back.returns.at_once)?.max(add(total, there));
            let size = self.flow.reply.map_or(Bytes::ZERO, |reply| reply.payload);
            self.leaves_at_once(size, answered)?;
            self.is_in_time(answered, back.returns)?;
        }
        self.leaves_at_once(self.flow.payload, round)?;
        self.is_in_time(round, ways.returns)
    }

    fn fails(&self, obstacle: ConnectionObstacle) -> Reason {
        Reason::Connection {
            flow: FlowId(self.number),
            obstacle,
        }
    }

    /// Returns what may destroy a segment, or change the order of segments.
    fn loses(&self, ways: &Ways) -> Option<ConnectionObstacle> {
        // All other ways are parts of these.
        let back = ways.back.map(|back| back.returns.at_once);
        let ends = core::iter::once(ways.returns.at_once).chain(back);
        let mut visits = ends.flat_map(|(last, _)| self.plant.way_to(last));
        visits.find_map(|visit| {
            if visit.is_policed {
                Some(ConnectionObstacle::Policed)
            } else if self.plant.servers[visit.server as usize].is_lossy {
                Some(ConnectionObstacle::Losses)
            } else {
                None
            }
        })
    }

    /// Returns the longest time from the release to the end of a way.
    fn time(&self, (last, gap): End) -> Result<i64, Reason> {
        let found = arrival(self.plant, self.solution, last, gap.max);
        found.ok_or_else(|| reason(self.plant, self.solution, last, self.number))
    }

    /// Checks that messages of this size do not have to wait for acknowledgements, which come back
    /// within `round` if they are sent at once.
    fn leaves_at_once(&self, size: Bytes, round: i64) -> Result<(), Reason> {
        let source = &self.plant.sources[self.number as usize];
        let points = add(round, source.jitter) / source.period + 1;
        let messages = u64::try_from(source.burst.saturating_mul(points)).unwrap_or(u64::MAX);
        let [size, segment] = [size, self.tcp.segment].map(Bytes::get);
        let held = u64::from(self.tcp.ack_every.max(1) - 1);
        let held = held.saturating_mul(size.min(segment));
        let needed = messages.saturating_mul(size).saturating_add(held);
        let initial = segment.saturating_mul(self.tcp.initial_window.max(1).into());
        let allowed = initial.min(self.tcp.window.get());
        if needed <= allowed {
            return Ok(());
        }
        Err(self.fails(ConnectionObstacle::Window {
            needed: Bytes::new(needed),
            allowed: Bytes::new(allowed),
        }))
    }

    /// Checks that no acknowledgement comes after a retransmission.
    fn is_in_time(&self, round: i64, returns: Returns) -> Result<(), Reason> {
        let late = returns.late.map_or(Ok(round), |late| self.time(late))?;
        let late = late.max(add(round, self.tcp.ack_delay.as_ps()));
        let timeout = self.tcp.min_rto.as_ps().min(FIRST_TIMEOUT);
        if late < timeout {
            return Ok(());
        }
        Err(self.fails(ConnectionObstacle::Timeout {
            acknowledged: Duration::from_ps(late),
            timeout: Duration::from_ps(timeout),
        }))
    }
}
