//! Messages over a TCP connection that stays open.
//!
//! A flow has one connection per listener, open from the start of the run and never given up. The
//! talker writes messages, the listener answers; both push (no Nagle delay, as with `TCP_NODELAY`).
//! All messages have the same size, and so have all answers: message `k` is complete when the
//! receiving end has delivered `k + 1` times that size, in order. TCP may carry parts of several
//! messages in one segment.
//!
//! **What is booked.** A stream counts messages, not segments: a lost segment is retransmitted and
//! is not a loss of the stream. Latency runs from the release to the last octet of the message, or
//! with a reply to the last octet of the answer. Its parts are those of the segment that completed
//! the message, of the listener's application, and of the segment that completed the answer; the
//! remaining time passes in TCP (waiting for the window, for a retransmission, for earlier lost
//! data), and is booked by where what the message waits for is meanwhile ([`crate::chain`]).
//!
//! **Limit.** With [`LIMIT`] messages in transit, further ones are refused and count as dropped.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use rtether_model::flow::{Flow, TcpParameters};
use rtether_model::quantity::{Bytes, Instant};

use crate::agenda::{Agenda, NEVER};
use crate::cause::Cause;
use crate::chain::Chain;
use crate::message::{Released, Spent};
use crate::packet::{NONE, Packet, REVERSE};
use crate::tcp;
use crate::thinking::Thinking;

/// Largest number of messages in transit per connection. Their list grows on demand, to at most
/// about 15 MB.
const LIMIT: usize = 100_000;
const _: () = assert!(size_of::<Message>() <= 112, "what a message on its way takes");

/// The two ends, as positions in [`Conversation::ends`].
pub(crate) const TALKER: u8 = 0;
pub(crate) const LISTENER: u8 = 1;

/// One connection.
pub(crate) struct Conversation {
    flow: u32,
    stream: u32,
    talker: u32,
    listener: u32,
    /// Timers of the ends.
    slots: [u32; 2],
    ends: [tcp::Endpoint; 2],
    chain: Chain,
    /// Octets of a message.
    message: u64,
    answer: Option<Answer>,
    /// Messages not booked yet, oldest first.
    outstanding: VecDeque<Message>,
    /// Messages booked, answered, and received by the listener, counted from the start; each count
    /// is at most the next.
    booked: u64,
    answered: u64,
    received: u64,
}

/// How the listener answers a message.
struct Answer {
    /// Octets.
    size: u64,
    thinking: Thinking,
}

/// A message in transit.
struct Message {
    released: Released,
    /// When the listener answers; valid once it has received the message.
    answer_at: i64,
}

impl Conversation {
    /// Creates an idle connection for the messages of `flow`; their size must not be zero.
    pub(crate) fn new(
        index: u32,
        stream: u32,
        [talker, listener]: [u32; 2],
        (flow, thinking): (&Flow, Option<Thinking>),
        parameters: &TcpParameters,
    ) -> Self {
        let config =
            tcp::Config { nagle: false, max_retries: u32::MAX, ..tcp::Config::of(parameters) };
        Self {
            flow: index,
            stream,
            talker,
            listener,
            slots: [NONE; 2],
            chain: Chain::new([talker, listener]),
            ends: [(); 2].map(|()| tcp::Endpoint::connected(config)),
            message: flow.payload.get(),
            answer: flow
                .reply
                .zip(thinking)
                .map(|(reply, thinking)| Answer { size: reply.payload.get(), thinking }),
            outstanding: VecDeque::new(),
            booked: 0,
            answered: 0,
            received: 0,
        }
    }

    /// Gives the ends their timers.
    pub(crate) const fn set_slots(&mut self, slots: [u32; 2]) {
        self.slots = slots;
    }

    /// Returns the index of the flow.
    pub(crate) const fn flow(&self) -> u32 {
        self.flow
    }

    /// Returns the index of its stream.
    pub(crate) const fn stream(&self) -> u32 {
        self.stream
    }

    /// Returns the stations from and to which an end sends.
    pub(crate) const fn direction(&self, end: u8) -> [u32; 2] {
        if end == TALKER { [self.talker, self.listener] } else { [self.listener, self.talker] }
    }

    /// Writes a message of the talker's application; `false` if too many are in transit.
    pub(crate) fn write(&mut self, now: Instant, number: u32, is_counted: bool) -> bool {
        if self.outstanding.len() >= LIMIT {
            return false;
        }
        self.outstanding.push_back(Message {
            released: Released::new(now.as_ps(), number, is_counted),
            answer_at: NEVER,
        });
        let size = Bytes::new(self.message);
        self.ends[usize::from(TALKER)].write(now, size);
        true
    }

    /// Handles an expired timer of an end: a TCP timer, or a due answer of the listener's
    /// application.
    pub(crate) fn wake(&mut self, now: Instant, end: u8) {
        if end == LISTENER {
            self.write_answers(now);
        }
        self.ends[usize::from(end)].handle_timeout(now);
    }

    /// Returns a segment that an end has ready.
    pub(crate) fn poll_transmit(&mut self, now: Instant, end: u8) -> Option<tcp::Segment> {
        self.ends[usize::from(end)].poll_transmit(now)
    }

    /// Sets the timer of an end.
    pub(crate) fn set_timer(&mut self, end: u8, agenda: &mut Agenda) {
        let wake_at = self.wake_at(end);
        agenda.set(self.slots[usize::from(end)], wake_at);
    }

    /// Returns why an end sends now.
    pub(crate) const fn cause(&self, end: u8) -> Cause {
        self.chain.cause(end)
    }

    /// Passes a segment to the end that it is for, and returns this end. [`Self::book`] has the
    /// messages that are then complete.
    pub(crate) fn handle_segment(
        &mut self,
        now: Instant,
        (packet, cause): (&Packet, Cause),
        segment: &tcp::Segment,
    ) -> u8 {
        let end = if packet.has(REVERSE) { TALKER } else { LISTENER };
        self.chain.arrive(now.as_ps(), 1 - end, cause, packet);
        self.ends[usize::from(end)].handle_segment(now, segment);
        if end == LISTENER {
            self.receive(now, packet, cause);
        }
        end
    }

    /// Removes and returns the oldest message, if `packet`, sent because of `cause`, has completed it,
    /// with all that was spent.
    pub(crate) fn book(&mut self, packet: &Packet, cause: Cause) -> Option<(Released, Spent)> {
        if self.booked >= self.complete() {
            return None;
        }
        self.booked += 1;
        let Message { released, .. } = self.outstanding.pop_front()?;
        let sender = if packet.has(REVERSE) { LISTENER } else { TALKER };
        let last = self.chain.spent(released.since(), packet, sender, cause);
        let spent = released.all(last);
        Some((released, spent))
    }

    /// Forgets what no message waits for any more.
    pub(crate) fn forget(&mut self, now: Instant) {
        // The first was released first, even if its answer is what is under way.
        let oldest = self.outstanding.front().map(|message| message.released.at);
        self.chain.forget(oldest.unwrap_or(now.as_ps()));
    }

    /// Returns message number `count` of the connection; it must be outstanding.
    fn message_at(&mut self, count: u64) -> Option<&mut Message> {
        let position = usize::try_from(count - self.booked).ok()?;
        self.outstanding.get_mut(position)
    }

    /// Returns when this end has to wake up next.
    fn wake_at(&mut self, end: u8) -> i64 {
        let timer = self.ends[usize::from(end)].poll_timeout();
        let timer = timer.map_or(NEVER, Instant::as_ps);
        let is_answer_pending = end == LISTENER && self.answer.is_some();
        if !is_answer_pending || self.answered == self.received {
            return timer;
        }
        let next = self.message_at(self.answered);
        timer.min(next.map_or(NEVER, |message| message.answer_at))
    }

    /// Writes the listener's answers that are due.
    fn write_answers(&mut self, now: Instant) {
        let Some(size) = self.answer.as_ref().map(|answer| answer.size) else {
            return;
        };
        while self.answered < self.received
            && self
                .message_at(self.answered)
                .is_some_and(|message| message.answer_at <= now.as_ps())
        {
            self.answered += 1;
            self.ends[usize::from(LISTENER)].write(now, Bytes::new(size));
        }
    }

    /// Handles a segment at the listener: notes the messages it completed and schedules their
    /// answers.
    fn receive(&mut self, now: Instant, packet: &Packet, cause: Cause) {
        let complete = self.ends[usize::from(LISTENER)].delivered().get() / self.message;
        let Some(thinking) = self.answer.as_ref().map(|answer| answer.thinking) else {
            self.received = complete;
            return;
        };
        let after = thinking.takes(now).as_ps();
        while self.received < complete {
            let position = usize::try_from(self.received - self.booked);
            let message = position.ok().and_then(|at| self.outstanding.get_mut(at));
            if let Some(message) = message {
                let since = message.released.at;
                let mut spent = self.chain.spent(since, packet, TALKER, cause);
                spent.answer(self.listener, after);
                message.answer_at = now.as_ps() + after;
                message.released.spent = Some(Box::new(spent));
            }
            self.received += 1;
        }
        self.write_answers(now);
    }

    /// Returns the number of messages complete at the end that books them, booked ones included.
    fn complete(&self) -> u64 {
        match &self.answer {
            None => self.received,
            Some(answer) => self.ends[usize::from(TALKER)].delivered().get() / answer.size,
        }
    }

    /// Returns the number of the message or answer that a segment sent by `end` belongs to; for a
    /// segment without data, the number of the last one received.
    pub(crate) fn number_of(&self, end: u8, segment: &tcp::Segment) -> u32 {
        let answer = self.answer.as_ref().map_or(self.message, |answer| answer.size);
        let (octet, size) = match (end == TALKER, segment.len > 0) {
            (true, true) => (segment.seq - 1, self.message),
            (true, false) => (segment.ack.saturating_sub(2), answer),
            (false, true) => (segment.seq - 1, answer),
            (false, false) => (segment.ack.saturating_sub(2), self.message),
        };
        u32::try_from((octet / size) & u64::from(u32::MAX)).unwrap_or(u32::MAX)
    }

    /// Returns how many counted messages in transit are older than `deadline`.
    pub(crate) fn overdue(&self, now: i64, deadline: i64) -> usize {
        let counted = self.outstanding.iter().filter(|message| message.released.is_counted);
        counted.filter(|message| now - message.released.at > deadline).count()
    }

    /// Checks the engines, and that messages are received, answered and booked in that order.
    pub(crate) fn invariants(&self) -> Result<(), &'static str> {
        for end in &self.ends {
            end.invariants()?;
        }
        let written = self.booked + self.outstanding.len() as u64;
        let is_ordered = match self.answer {
            None => self.booked == self.received,
            Some(_) => self.booked <= self.answered && self.answered <= self.received,
        };
        if is_ordered && self.received <= written {
            Ok(())
        } else {
            Err("messages of a connection")
        }
    }
}
