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
//!
//! **Fewer acknowledgements.** Among `n` consecutive segments with data at most `ceil(n / k)` are
//! acknowledged at once, since `k` come from one such acknowledgement to the next; so for messages of
//! `f` segments `ceil(f / k)` for each are enough. The timer acknowledges at most each segment, and no
//! more often than its delay `A`. If that is zero, each segment may be acknowledged, and `k` is 1.
//!
//! **Patterns.** Let the segments of a message come to an end at least `d` and at most `D` after its
//! release, and let releases be one by one, at least `s` and, on a grid without an end, at most
//! `S(n) = n P + J` from one to the `n`-th after it. The same holds of answers at the other end, with their
//! `f`, `d` and `D` from the release of the message. As long as nothing is held back:
//!
//! 1. *Close.* If `D - d < A`, the timer fires at most once for each message.
//! 2. *Settled.* If also `A + D < s + d`, at most `floor(f / k)` are sent at once for each message, and
//!    none by the timer if `k` divides `f` and the end sends no data.
//! 3. *Steady.* If `S(ceil((k - 1) / f)) + D - d < A`, the timer never fires.
//! 4. *Carried by answers.* Let the listener write its answer `w` after the last octet of a message. If
//!    `w = 0` or `w + D < s + d`, and `w + D - d < A`, or `w = 0` and `f = 1`, its timer never fires, and at
//!    most `floor(f / k)` are sent at once for each message; if `w = 0`, `floor((f - 1) / k)`.
//! 5. *Carried by messages.* If answers have come `D < s` after the release of their message, the talker
//!    sends at most `floor(f / k)` at once for each answer. If also `S(1) < A`, its timer never fires.
//!
//! *Proof.* A segment with data acknowledges all that has come, starts the count anew and ends the
//! timer; so does an acknowledgement without data. (1) A segment starts the timer only when it does not
//! run, and all of a message come within `A`. (2) The timer that a message leaves behind fires at most
//! `A + D` after its release, before the next comes, so that each message is counted from zero. If `k`
//! divides `f` and nothing starts the count anew within a message, nothing is left. (3) If the timer
//! starts with a message, `d` after its release at the earliest, `k - 1` further segments have come `D`
//! after the release of the `ceil((k - 1) / f)`-th message behind it. (4) Between two answers the
//! segments of one message come: all before its answer is written, and none of the next, which come
//! `s + d` after the release, or, if the answer is written with the last octet, behind that one. So each
//! message is counted from zero, and without its last segment if the answer is written with that. The
//! timer starts `d` after the release at the earliest, and the answer is written by `w + D`; if a single
//! segment is answered at once it never starts. (5) Between two messages one whole answer comes. The
//! timer starts after the release, and the next message leaves before it fires. QED
//!
//! In the theorem above, `R` is then the time of the answer for what answers carry, and the way behind
//! the timer, without its delay, where nothing is sent at once: fewer than `k` segments are counted at an
//! end at any time. When an answer is written, the message that it answers has carried the
//! acknowledgements of all answers before (5). All times are bounds of the same solution, so that the
//! first acknowledgement against its pattern would come after a time beyond its bound. Connections whose
//! bounds do not meet the conditions are followed again with what their ends may send at most.
//!
//! **Spacing.** Acknowledgements sent at once leave an end as the last place on the way of their data
//! has served it, so that they keep the distance of these services: the line from that place holds
//! for them ([`crate::curve`]).

use alloc::vec::Vec;

use rtether_model::flow::{Flow, FlowId, TcpParameters};
use rtether_model::network::Network;
use rtether_model::quantity::{Bytes, Duration};

use crate::analysis::{ConnectionObstacle, Reason};
use crate::connection::{Back, Delayed, End, Returns, Rule, Unproved, Ways, at_once_every};
use crate::edit::Edit;
use crate::expand::Atlas;
use crate::ingress::exceeded;
use crate::passage::RuleStep;
use crate::plant::Plant;
use crate::report::reason;
use crate::solution::{Solution, Stage};
use crate::solve::{arrival, solve_after};
use crate::source::{FIRST_TIMEOUT, Source, add, times};

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
        let mut more = Lacks { exceeded: exceeded(&plant, &stage.solution), ..Lacks::default() };
        if more.exceeded.is_empty() {
            more = lacks(&plant, &stage.solution, flows);
        }
        if more.is_nothing() {
            return (plant, stages);
        }
        let mut delayed = core::mem::take(&mut plant.delayed);
        delayed.extend(more.delayed);
        delayed.sort_by_key(|own| own.flow);
        let mut irregular = core::mem::take(&mut plant.irregular);
        irregular.extend(more.irregular);
        irregular.sort_unstable();
        let mut policers = core::mem::take(&mut plant.exceeded);
        policers.extend(more.exceeded);
        policers.sort_unstable();
        let unproved = Unproved { delayed: &delayed, irregular: &irregular, exceeded: &policers };
        let ways = atlas.follow_without(network, flows, unproved);
        plant = Plant::complete(ways, network, flows);
        (plant.delayed, plant.irregular, plant.exceeded) = (delayed, irregular, policers);
        stages = solve_after(&mut plant, None);
    }
}

/// What was taken for granted without proof.
#[derive(Default)]
struct Lacks {
    /// Flows taken to send at once.
    delayed: Vec<Delayed>,
    /// Flows whose acknowledgements were taken to come in a pattern.
    irregular: Vec<u32>,
    exceeded: Vec<RuleStep>,
}

impl Lacks {
    const fn is_nothing(&self) -> bool {
        self.delayed.is_empty() && self.irregular.is_empty() && self.exceeded.is_empty()
    }
}

/// Returns the flows whose connections were taken for better than is proved. A flow loses only the
/// pattern of its acknowledgements at first: without that it is examined again.
fn lacks(plant: &Plant, solution: &Solution, flows: &[Flow]) -> Lacks {
    let mut found = Lacks::default();
    for connection in &plant.connections {
        let number = connection.flow;
        let is_known = found.delayed.last().is_some_and(|last| last.flow == number)
            || found.irregular.last() == Some(&number);
        let flow = &flows[number as usize];
        let (Some(tcp), false) = (&flow.connection, is_known) else {
            continue;
        };
        let proof = Proof { plant, solution, flow, number, tcp };
        let ways = connection.ways.as_ref();
        let has_rules = ways.is_some_and(Ways::has_rules);
        match proof.of(ways) {
            Err(_) if has_rules => found.irregular.push(number),
            Err(reason) => found.delayed.push(Delayed { flow: number, reason }),
            Ok(is_proved) if !is_proved => found.irregular.push(number),
            Ok(_) => {}
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
    /// Checks that messages leave at once; returns whether the patterns of acknowledgements are proved.
    fn of(&self, ways: Option<&Ways>) -> Result<bool, Reason> {
        let ways = ways.ok_or(Reason::NotDelivered)?;
        if let Some(obstacle) = self.loses(ways) {
            return Err(self.fails(obstacle));
        }
        let there = self.time(ways.there)?;
        let mut round = self.returned(ways.returns)?.unwrap_or(0);
        let mut is_proved = self.holds(ways.returns, ways.there, self.flow.payload)?;
        if let Some(back) = &ways.back {
            // The answer may carry the acknowledgement, or it is the only one that does.
            let total = self.time(back.end)?;
            let is_carried = ways.returns.rule == Rule::Carried;
            let source = self.source();
            // One exchange at a time, or answers of one scan would share segments.
            let is_alone = source.burst == 1 && total < source.period - source.jitter;
            if back.scan > 0 && !is_alone {
                return Err(self.fails(ConnectionObstacle::Scan));
            }
            let thinking = back.after - back.scan;
            round = round.max(if is_carried { total } else { total - thinking });
            let own = self.returned(back.returns)?.unwrap_or(0);
            let answered = own.max(add(total, there));
            let size = self.flow.reply.map_or(Bytes::ZERO, |reply| reply.payload);
            // The message has then carried the acknowledgements of all answers before.
            let is_next = back.returns.rule == Rule::Carried;
            self.leaves_at_once(size, if is_next { 0 } else { answered })?;
            let next = add(add(source.period, source.jitter), there);
            let last =
                if is_next && back.returns.late.is_none() { answered.max(next) } else { answered };
            self.is_in_time(last, back.returns)?;
            is_proved &= !is_carried || self.is_answered_first(ways, back)?;
            is_proved &= !is_next || total < source.period - source.jitter;
            is_proved &= self.holds(back.returns, back.end, size)?;
        }
        self.leaves_at_once(self.flow.payload, round)?;
        self.is_in_time(round, ways.returns)?;
        Ok(is_proved)
    }

    fn source(&self) -> &Source {
        &self.plant.sources[self.number as usize]
    }

    /// Returns the longest time from the release until an acknowledgement that does not wait is back;
    /// `None` if there are only those that data carries.
    fn returned(&self, returns: Returns) -> Result<Option<i64>, Reason> {
        if let Some(at_once) = returns.at_once {
            return self.time(at_once).map(Some);
        }
        let Some(late) = returns.late else {
            return Ok(None);
        };
        Ok(Some(self.time(late)? - self.tcp.ack_delay.as_ps()))
    }

    /// Checks that answers are written before the timers of their messages fire. That they are before the
    /// next message follows from the check that they have come by then.
    fn is_answered_first(&self, ways: &Ways, back: &Back) -> Result<bool, Reason> {
        let is_single = self.flow.frames(self.flow.payload).count == 1;
        if at_once_every(self.tcp) == 1 || (is_single && back.after == 0) {
            return Ok(true);
        }
        let written = add(self.time(ways.there)?, back.after);
        Ok(written - self.plant.least(ways.there) < self.tcp.ack_delay.as_ps())
    }

    /// Checks the rule of an end to which messages or answers of this size come by a way.
    fn holds(&self, returns: Returns, end: End, size: Bytes) -> Result<bool, Reason> {
        if returns.rule == Rule::Any {
            return Ok(true);
        }
        let source = self.source();
        let delay = self.tcp.ack_delay.as_ps();
        let spread = self.time(end)? - self.plant.least(end);
        Ok(match returns.rule {
            Rule::Any => true,
            // That data goes first is proved elsewhere.
            Rule::Carried => returns.late.is_none() || spread < delay,
            Rule::Close => spread < delay,
            Rule::Settled => spread < delay && add(delay, spread) < source.period - source.jitter,
            Rule::Steady => {
                let segments = i64::from(self.flow.frames(size).count);
                let more = (at_once_every(self.tcp) + segments - 2) / segments;
                add(add(times(source.period, more), source.jitter), spread) < delay
            }
        })
    }

    fn fails(&self, obstacle: ConnectionObstacle) -> Reason {
        Reason::Connection { flow: FlowId(self.number), obstacle }
    }

    /// Returns what may destroy a segment, or change the order of segments.
    fn loses(&self, ways: &Ways) -> Option<ConnectionObstacle> {
        // All other ways are parts of these.
        let back = ways.back.map(|back| [Some(back.end), back.returns.at_once, back.returns.late]);
        let there = [ways.returns.at_once, Some(ways.there)];
        let ends = there.into_iter().chain(back.into_iter().flatten()).flatten();
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
