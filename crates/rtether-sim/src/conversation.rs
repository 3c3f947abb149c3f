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
//! data) and is booked as [`Segment::TalkerStack`], at the talker.
//!
//! **Limit.** With [`LIMIT`] messages in transit, further ones are refused and count as dropped.

use alloc::collections::VecDeque;

use rtether_model::flow::{Flow, TcpParameters};
use rtether_model::quantity::{Bytes, Instant};
use rtether_model::record::Segment;
use rtether_model::wire::{self, Encapsulation};

use crate::agenda::NEVER;
use crate::bulk::engine_config;
use crate::kernel::{Carrier, FlowState, Simulation};
use crate::observe::Observer;
use crate::packet::{NONE, Packet, REVERSE, TAGGED};
use crate::station::frame_octets;
use crate::tcp;
use crate::whole::{Released, Spent};

/// Largest number of messages in transit per connection. Their list grows on demand, to at most
/// about 15 MB.
const LIMIT: usize = 100_000;
const _: () = assert!(
    size_of::<Message>() <= 112,
    "what a message on its way takes"
);

/// The two ends, as positions in [`Conversation::ends`].
pub(crate) const TALKER: u8 = 0;
pub(crate) const LISTENER: u8 = 1;

/// One connection.
pub(crate) struct Conversation {
    flow: u32,
    stream: u32,
    pub(crate) talker: u32,
    pub(crate) listener: u32,
    /// Timers of the ends.
    pub(crate) slots: [u32; 2],
    ends: [tcp::Endpoint; 2],
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
    after: i64,
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
        flow: &Flow,
        parameters: &TcpParameters,
    ) -> Self {
        let config = tcp::Config {
            nagle: false,
            max_retries: u32::MAX,
            ..engine_config(parameters)
        };
        Self {
            flow: index,
            stream,
            talker,
            listener,
            slots: [NONE; 2],
            ends: [(); 2].map(|()| tcp::Endpoint::connected(config)),
            message: flow.payload.get(),
            answer: flow.reply.map(|reply| Answer {
                size: reply.payload.get(),
                after: reply.after.as_ps(),
            }),
            outstanding: VecDeque::new(),
            booked: 0,
            answered: 0,
            received: 0,
        }
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
    fn receive(&mut self, now: Instant, packet: &Packet) {
        let complete = self.ends[usize::from(LISTENER)].delivered().get() / self.message;
        let Some(after) = self.answer.as_ref().map(|answer| answer.after) else {
            self.received = complete;
            return;
        };
        let mut on_the_way = *packet;
        on_the_way.spend(Segment::Application, self.listener, after);
        let spent = Spent::of(&on_the_way);
        while self.received < complete {
            if let Some(message) = self.message_at(self.received) {
                message.answer_at = now.as_ps() + after;
                message.released.spent = spent;
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
    fn number_of(&self, end: u8, segment: &tcp::Segment) -> u32 {
        let answer = self
            .answer
            .as_ref()
            .map_or(self.message, |answer| answer.size);
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
        let counted = self
            .outstanding
            .iter()
            .filter(|message| message.released.is_counted);
        counted
            .filter(|message| now - message.released.at > deadline)
            .count()
    }

    /// Returns the index of its stream.
    pub(crate) const fn stream(&self) -> usize {
        self.stream as usize
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

impl Simulation {
    /// Writes a message of the talker's application.
    pub(crate) fn write_message<O: Observer>(&mut self, index: u32, number: u32, observer: &mut O) {
        let now = self.now();
        let is_counted = self.now >= self.config.warmup.as_ps();
        let conversation = &mut self.conversations[index as usize];
        if conversation.outstanding.len() >= LIMIT {
            let stream = conversation.stream;
            self.book_lost_message(stream, is_counted);
            return;
        }
        conversation.outstanding.push_back(Message {
            released: Released {
                at: now.as_ps(),
                number,
                is_counted,
                spent: Spent::default(),
            },
            answer_at: NEVER,
        });
        let size = Bytes::new(conversation.message);
        conversation.ends[usize::from(TALKER)].write(now, size);
        self.drain_end(index, TALKER, observer);
    }

    /// Handles an expired timer of an end: a TCP timer, or a due answer of the listener's
    /// application.
    pub(crate) fn wake_end<O: Observer>(&mut self, index: u32, end: u8, observer: &mut O) {
        let now = self.now();
        let conversation = &mut self.conversations[index as usize];
        if end == LISTENER {
            conversation.write_answers(now);
        }
        conversation.ends[usize::from(end)].handle_timeout(now);
        self.drain_end(index, end, observer);
    }

    /// Sends what an end has ready and sets its timer.
    fn drain_end<O: Observer>(&mut self, index: u32, end: u8, observer: &mut O) {
        let now = self.now();
        while let Some(segment) =
            self.conversations[index as usize].ends[usize::from(end)].poll_transmit(now)
        {
            self.send_from_end(index, end, segment, observer);
        }
        let conversation = &mut self.conversations[index as usize];
        let wake_at = conversation.wake_at(end);
        self.agenda
            .set(conversation.slots[usize::from(end)], wake_at);
    }

    /// Hands a segment to the stack of its station.
    fn send_from_end<O: Observer>(
        &mut self,
        index: u32,
        end: u8,
        segment: tcp::Segment,
        observer: &mut O,
    ) {
        let conversation = &self.conversations[index as usize];
        let flow = &self.flows[conversation.flow as usize];
        let (source, destination, direction) = if end == TALKER {
            (conversation.talker, conversation.listener, 0)
        } else {
            (conversation.listener, conversation.talker, REVERSE)
        };
        let frame = wire::frame_size(segment.payload_size(), Encapsulation::Tcp);
        let packet = Packet {
            released_at: self.now,
            flow: conversation.flow,
            stream: conversation.stream,
            number: conversation.number_of(end, &segment),
            source,
            destination,
            size: frame_octets(frame).unwrap_or(u16::MAX),
            vid: flow.vid,
            pcp: flow.pcp,
            flags: (flow.flags & TAGGED) | direction,
            ..Packet::default()
        };
        let id = self.pool.insert(packet);
        self.pool.set_segment(id, segment);
        self.send(source, id, observer);
    }

    /// Handles a segment that has left the receiving stack.
    pub(crate) fn deliver_to_end<O: Observer>(&mut self, id: u32, observer: &mut O) {
        let now = self.now();
        let packet = *self.pool.get(id);
        let segment = self.pool.segment(id).copied().unwrap_or_default();
        let Some(index) = self.flows[packet.flow as usize].conversation_of(packet.stream) else {
            self.pool.remove(id);
            return;
        };
        let end = if packet.has(REVERSE) {
            TALKER
        } else {
            LISTENER
        };
        let conversation = &mut self.conversations[index as usize];
        conversation.ends[usize::from(end)].handle_segment(now, &segment);
        if end == LISTENER {
            conversation.receive(now, &packet);
        }
        let complete = conversation.complete();
        while self.conversations[index as usize].booked < complete {
            self.book_message(index, id, observer);
        }
        self.pool.remove(id);
        self.drain_end(index, end, observer);
    }

    /// Books the oldest message; packet `id` completed it.
    fn book_message<O: Observer>(&mut self, index: u32, id: u32, observer: &mut O) {
        let conversation = &mut self.conversations[index as usize];
        conversation.booked += 1;
        let talker = conversation.talker;
        if let Some(message) = conversation.outstanding.pop_front() {
            self.book_whole(id, talker, &message.released, None, observer);
        }
    }
}

impl FlowState {
    /// Returns the connection behind one of the flow's streams.
    fn conversation_of(&self, stream: u32) -> Option<u32> {
        let Carrier::Conversation(first) = self.carrier else {
            return None;
        };
        Some(first + (stream - self.first_stream))
    }
}
