//! Bulk TCP flows: the two engines of a connection, and the list of transfers.
//!
//! Each transfer has its own connection, opened by the talker. A transfer that becomes due while
//! its predecessor runs starts when that one is acknowledged. Segments of an earlier connection are
//! ignored; for bulk flows a packet's number is the number of its connection.
//!
//! **What is booked.** A stream counts segments and their latency, or with a deadline, files. The
//! latency of a file runs from its due time, even if its predecessor is still running then, to its
//! last octet; the parts are those of the segment that completed it, and the rest is booked in the
//! protocol, by where what the file waits for is meanwhile ([`crate::chain`]).
//!
//! Bursts come after the transfers of the list. Of the files that wait for a predecessor only the
//! first one's due time is stored: later ones are drawn when it starts. At most [`MOST_FILES`]
//! come.

use alloc::boxed::Box;
use alloc::vec::Vec;

use rtether_model::flow::{Bulk, Bursts, Flow, Transfer};
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::record::TransferRecord;

use crate::agenda::{Agenda, NEVER};
use crate::cause::Cause;
use crate::chain::Chain;
use crate::message::Spent;
use crate::packet::{Packet, REVERSE};
use crate::random::{Draw, Purpose};
use crate::tcp;

/// Size of a transfer that lasts until the run ends: more than any link carries in 106 days.
const ENDLESS: u64 = 1 << 56;

/// Largest number of files of one flow from bursts; each has a record of about 40 octets. After the
/// last one no file is due.
const MOST_FILES: u32 = 1_000_000;

/// The two ends, as those of a [`Chain`].
const SENDER: u8 = 0;
const RECEIVER: u8 = 1;

/// One bulk flow.
pub(crate) struct BulkFlow {
    flow: u32,
    sender_slot: u32,
    receiver_slot: u32,
    config: tcp::Config,
    transfers: Vec<Transfer>,
    bursts: Option<Files>,
    /// Time between two writes of one segment, if the application has a rate.
    write_interval: Option<i64>,
    /// Number of transfers begun.
    begun: usize,
    connection: Option<Connection>,
    records: Vec<TransferRecord>,
    /// Whether the stream counts files and not segments.
    counts_files: bool,
    /// What files wait for, if they are counted.
    chain: Chain,
}

/// Consecutive files.
struct Files {
    size: Bytes,
    /// How many may still begin.
    left: u32,
    /// When the next one is due, or [`NEVER`].
    due: i64,
    mean_gap: Option<i64>,
    /// No file begins from this time on.
    stop: i64,
    draw: Draw,
}

impl Files {
    fn new(flow: &Flow, bursts: &Bursts, seed: u64) -> Self {
        let mut files = Self {
            size: bursts.size,
            left: MOST_FILES,
            due: flow.start.as_ps(),
            mean_gap: bursts.mean_gap.map(Duration::as_ps),
            stop: flow.stop.map_or(NEVER, Duration::as_ps),
            draw: Draw::new(seed, &flow.name, Purpose::Files),
        };
        files.advance();
        files
    }

    /// Advances to the next file's due time; without gaps the next file is due at once.
    fn advance(&mut self) {
        if let Some(mean) = self.mean_gap {
            self.due = self.due.saturating_add(self.draw.exponential(mean));
        }
        if self.due >= self.stop || self.left == 0 {
            self.due = NEVER;
        }
    }

    /// Returns size and due time of the file that begins at `now`, if any. Without gaps each file
    /// is due when its predecessor ends.
    fn begin(&mut self, now: i64) -> Option<(Bytes, i64)> {
        if now >= self.stop {
            self.due = NEVER;
        }
        if self.due > now {
            return None;
        }
        let due = if self.mean_gap.is_some() { self.due } else { now };
        self.left -= 1;
        self.advance();
        Some((self.size, due))
    }
}

/// A running transfer.
struct Connection {
    sender: tcp::Sender,
    receiver: tcp::Receiver,
    size: u64,
    /// When the file was due.
    due: i64,
    written: u64,
    /// Next write of an application with a rate, or [`NEVER`].
    write_at: i64,
}

impl Connection {
    /// Returns whether the sender has given up after its last retry.
    fn is_given_up(&self) -> bool {
        self.sender.state() == tcp::State::Failed
    }
}

/// A file that has just arrived whole, of a flow whose stream counts files.
pub(crate) struct File {
    /// When it was due.
    pub(crate) due: i64,
    /// Octets.
    pub(crate) size: u64,
    /// Number within the flow.
    pub(crate) number: u32,
    /// What its latency was spent on.
    pub(crate) spent: Box<Spent>,
}

/// Which end of a connection has handled a segment.
pub(crate) enum Handled {
    /// None: the connection has ended.
    Late,
    /// The sender.
    BySender,
    /// The receiver, and whether a file is complete.
    ByReceiver(Option<File>),
}

impl BulkFlow {
    /// Creates the flow, with no transfer begun.
    pub(crate) fn new(index: u32, flow: &Flow, bulk: &Bulk, seed: u64, stations: [u32; 2]) -> Self {
        let mut transfers = bulk.transfers.clone();
        transfers.sort_by_key(|transfer| transfer.start);
        Self {
            flow: index,
            sender_slot: 0,
            receiver_slot: 0,
            config: tcp::Config::of(&bulk.tcp),
            transfers,
            bursts: bulk.bursts.as_ref().map(|bursts| Files::new(flow, bursts, seed)),
            write_interval: bulk.rate.map(|rate| rate.time_ceil(bulk.tcp.segment).as_ps()),
            begun: 0,
            connection: None,
            records: Vec::new(),
            counts_files: flow.deadline.is_some(),
            chain: Chain::new(stations),
        }
    }

    /// Returns whether its stream counts files and not segments.
    pub(crate) const fn counts_files(&self) -> bool {
        self.counts_files
    }

    /// Gives the ends their timers.
    pub(crate) const fn set_slots(&mut self, sender: u32, receiver: u32) {
        self.sender_slot = sender;
        self.receiver_slot = receiver;
    }

    /// Returns the index of the flow.
    pub(crate) const fn flow(&self) -> u32 {
        self.flow
    }

    /// Returns the number of the connection that runs or ran last, which its packets bear.
    pub(crate) fn connection(&self) -> u32 {
        u32::try_from(self.begun).unwrap_or(u32::MAX)
    }

    /// Sets the timer for the first transfer.
    pub(crate) fn start(&self, agenda: &mut Agenda) {
        agenda.set(self.sender_slot, self.wake_at());
    }

    /// Wakes the sender: a transfer begins, the application writes, or the retransmission timer
    /// expires.
    pub(crate) fn wake_sender(&mut self, now: Instant) {
        self.begin_if_due(now);
        self.write_if_due(now);
        if let Some(running) = &mut self.connection {
            running.sender.handle_timeout(now);
        }
    }

    /// Returns when the file was due that the sender has just given up, if the stream counts files
    /// and it had not arrived.
    pub(crate) fn given_up(&self) -> Option<i64> {
        let running = self.connection.as_ref()?;
        let has_arrived = self.records.last()?.finished_at.is_some();
        let is_lost = self.counts_files && !has_arrived && running.is_given_up();
        is_lost.then_some(running.due)
    }

    /// Wakes the receiver: a delayed acknowledgment is due.
    pub(crate) fn wake_receiver(&mut self, now: Instant) {
        if let Some(running) = &mut self.connection {
            running.receiver.handle_timeout(now);
        }
    }

    /// Returns a segment that the sender has ready.
    pub(crate) fn poll_sender(&mut self, now: Instant) -> Option<tcp::Segment> {
        self.connection.as_mut()?.sender.poll_transmit(now)
    }

    /// Returns a segment that the receiver has ready.
    pub(crate) fn poll_receiver(&mut self, now: Instant) -> Option<tcp::Segment> {
        self.connection.as_mut()?.receiver.poll_transmit(now)
    }

    /// Sets the timer of the sender.
    pub(crate) fn set_sender_timer(&self, now: i64, agenda: &mut Agenda) {
        // After the end of a transfer, the next one may already be overdue.
        agenda.set(self.sender_slot, self.wake_at().max(now));
    }

    /// Sets the timer of the receiver.
    pub(crate) fn set_receiver_timer(&self, agenda: &mut Agenda) {
        let running = self.connection.as_ref();
        let timer = running.and_then(|running| running.receiver.poll_timeout());
        agenda.set(self.receiver_slot, timer.map_or(NEVER, Instant::as_ps));
    }

    /// Passes a segment to the end that it is for.
    pub(crate) fn handle_segment(
        &mut self,
        now: Instant,
        (packet, cause): (&Packet, Cause),
        segment: &tcp::Segment,
    ) -> Handled {
        let is_current = usize::try_from(packet.number).is_ok_and(|number| number == self.begun);
        let running = self.connection.as_mut();
        // A file that was given up is booked: what is still on its way is too late for it.
        let Some(running) = running.filter(|own| is_current && !own.is_given_up()) else {
            return Handled::Late;
        };
        let sender = if packet.has(REVERSE) { RECEIVER } else { SENDER };
        if self.counts_files {
            self.chain.arrive(now.as_ps(), sender, cause, packet);
        }
        if packet.has(REVERSE) {
            running.sender.handle_segment(now, segment);
            return Handled::BySender;
        }
        running.receiver.handle_segment(now, segment);
        let is_complete = running.receiver.delivered().get() >= running.size;
        let record = self.records.last_mut();
        let record = record.filter(|record| is_complete && record.finished_at.is_none());
        let Some(record) = record else {
            return Handled::ByReceiver(None);
        };
        record.finished_at = Some(now);
        let file = self.counts_files.then(|| File {
            due: running.due,
            size: running.size,
            number: u32::try_from(self.begun - 1).unwrap_or(u32::MAX),
            spent: Box::new(self.chain.spent(running.due, packet, sender, cause)),
        });
        // The next one may be due already.
        self.chain.forget(self.next_due().min(now.as_ps()));
        Handled::ByReceiver(file)
    }

    /// Returns why an end sends now.
    pub(crate) const fn cause(&self, is_receiver: bool) -> Cause {
        self.chain.cause(if is_receiver { RECEIVER } else { SENDER })
    }

    /// Returns when the next file is due, or [`NEVER`].
    fn next_due(&self) -> i64 {
        match (self.transfers.get(self.begun), &self.bursts) {
            (Some(next), _) => next.start.as_ps(),
            (None, Some(files)) => files.due,
            (None, None) => NEVER,
        }
    }

    /// Returns when the sender has to wake up next.
    fn wake_at(&self) -> i64 {
        match &self.connection {
            Some(running) if !running.sender.is_done() => {
                let timer = running.sender.poll_timeout().map_or(NEVER, Instant::as_ps);
                timer.min(running.write_at)
            }
            _ => self.next_due(),
        }
    }

    /// Opens the next connection if it is due and none is running.
    fn begin_if_due(&mut self, now: Instant) {
        if self.connection.as_ref().is_some_and(|running| !running.sender.is_done()) {
            return;
        }
        self.close_record();
        self.connection = None;
        let Some((size, due)) = self.next_file(now) else {
            return;
        };
        self.begun += 1;
        let mut connection = Connection {
            sender: tcp::Sender::new(self.config),
            receiver: tcp::Receiver::new(self.config),
            size,
            due,
            written: 0,
            write_at: now.as_ps(),
        };
        connection.sender.open(now);
        self.connection = Some(connection);
        self.records.push(TransferRecord {
            started_at: now,
            finished_at: None,
            delivered: Bytes::ZERO,
            retransmissions: 0,
            timeouts: 0,
        });
    }

    /// Returns size, in octets, and due time of the transfer that begins now, if any.
    fn next_file(&mut self, now: Instant) -> Option<(u64, i64)> {
        let Some(transfer) = self.transfers.get(self.begun) else {
            let files = self.bursts.as_mut()?;
            return files.begin(now.as_ps()).map(|(size, due)| (size.get(), due));
        };
        let is_due = transfer.start <= now.since_start();
        let size = transfer.size.map_or(ENDLESS, Bytes::get);
        is_due.then(|| (size, transfer.start.as_ps()))
    }

    /// Returns the due times of files that may still arrive: the one being sent, and those waiting
    /// for it. Of files at random times only the first is known.
    pub(crate) fn unfinished(&self, now: i64) -> impl Iterator<Item = i64> {
        let is_running = self.records.last().is_some_and(|last| last.finished_at.is_none());
        let running = self.connection.as_ref();
        let running = running.filter(|running| is_running && !running.is_given_up());
        let listed = self.transfers.iter().skip(self.begun);
        let listed = listed.map(|transfer| transfer.start.as_ps());
        let bursts = self.bursts.iter().filter(|files| files.mean_gap.is_some());
        let waiting = listed.chain(bursts.map(|files| files.due));
        let waiting = waiting.filter(move |&due| due < now);
        running.map(|running| running.due).into_iter().chain(waiting)
    }

    /// Writes the application's data that is due.
    fn write_if_due(&mut self, now: Instant) {
        let segment = u64::from(self.config.mss);
        let interval = self.write_interval;
        self.chain.note_written(SENDER, false);
        let Some(running) = &mut self.connection else {
            return;
        };
        while running.write_at <= now.as_ps() {
            let rest = running.size - running.written;
            let chunk = if interval.is_some() { rest.min(segment) } else { rest };
            running.sender.write(now, Bytes::new(chunk));
            self.chain.note_written(SENDER, running.written > 0);
            running.written += chunk;
            if running.written == running.size {
                running.sender.finish();
                running.write_at = NEVER;
            } else {
                running.write_at += interval.unwrap_or(NEVER);
            }
        }
    }

    /// Copies the engines' counters into the record of the running transfer.
    fn close_record(&mut self) {
        let (Some(running), Some(record)) = (&self.connection, self.records.last_mut()) else {
            return;
        };
        let statistics = running.sender.statistics();
        record.delivered = running.receiver.delivered();
        record.retransmissions = statistics.retransmissions;
        record.timeouts = statistics.timeouts;
    }

    /// Returns the records of all transfers begun.
    pub(crate) fn finish(mut self) -> Vec<TransferRecord> {
        self.close_record();
        self.records
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(mean_gap: Option<i64>) -> Files {
        Files {
            size: Bytes::new(1),
            left: MOST_FILES,
            due: 0,
            mean_gap,
            stop: NEVER,
            draw: Draw::new(1, "files", Purpose::Files),
        }
    }

    #[test]
    fn files_end_at_their_limit() {
        // Oracle: the documented limit, which keeps the records of a flow finite.
        let mut files = files(None);
        let begun = (0..1_000_001i64).filter(|&now| files.begin(now).is_some());
        assert_eq!(begun.count(), 1_000_000);
        assert_eq!(files.due, NEVER);
    }

    #[test]
    fn long_gaps_do_not_overflow() {
        // Oracle: times only grow, up to the largest one. The largest mean in scenarios is 10 days;
        // a draw may be 36 times as long, and the sum exceeds 106 days.
        let mut files = files(Some(Duration::from_secs(864_000).as_ps()));
        let mut last = 0;
        for _ in 0..1_000 {
            files.advance();
            assert!(files.due >= last);
            last = files.due;
        }
        assert_eq!(last, NEVER);
    }
}
