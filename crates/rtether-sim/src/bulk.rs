//! Bulk TCP flows: drives the two engines of a connection, and the list of transfers.
//!
//! Each transfer has its own connection, opened by the talker. A transfer that becomes due while
//! its predecessor runs starts when that one is acknowledged. Segments of an earlier connection are
//! ignored; for bulk flows a packet's number is the number of its connection.
//!
//! **What is booked.** A stream counts segments and their latency, or with a deadline, files. The
//! latency of a file runs from its due time, even if its predecessor is still running then, to its
//! last octet; the parts are those of the segment that completed it, and the rest is booked as
//! talker stack, at the talker.
//!
//! Bursts come after the transfers of the list. Of the files that wait for a predecessor only the
//! first one's due time is stored: later ones are drawn when it starts. At most [`MOST_FILES`]
//! come.

mod files;

use alloc::vec::Vec;

use rtether_model::flow::{Bulk, Bursts, Flow, TcpParameters, Transfer};
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::record::TransferRecord;
use rtether_model::wire::{self, Encapsulation};

use crate::agenda::NEVER;
use crate::kernel::Simulation;
use crate::observe::Observer;
use crate::packet::{COUNTED, Packet, REVERSE, TAGGED};
use crate::random::{Draw, Purpose};
use crate::station::frame_octets;
use crate::tcp;

/// Size of a transfer that lasts until the run ends: more than any link carries in 106 days.
const ENDLESS: u64 = 1 << 56;

/// Largest number of files of one flow from bursts; each has a record of about 40 octets. After the
/// last one no file is due.
const MOST_FILES: u32 = 1_000_000;

/// One bulk flow.
pub(crate) struct BulkFlow {
    pub(crate) flow: u32,
    pub(crate) sender_slot: u32,
    pub(crate) receiver_slot: u32,
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
        let due = if self.mean_gap.is_some() {
            self.due
        } else {
            now
        };
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

impl BulkFlow {
    /// Creates the flow, with no transfer begun.
    pub(crate) fn new(index: u32, flow: &Flow, bulk: &Bulk, seed: u64) -> Self {
        let mut transfers = bulk.transfers.clone();
        transfers.sort_by_key(|transfer| transfer.start);
        Self {
            flow: index,
            sender_slot: 0,
            receiver_slot: 0,
            config: engine_config(&bulk.tcp),
            transfers,
            bursts: bulk
                .bursts
                .as_ref()
                .map(|bursts| Files::new(flow, bursts, seed)),
            write_interval: bulk
                .rate
                .map(|rate| rate.time_ceil(bulk.tcp.segment).as_ps()),
            begun: 0,
            connection: None,
            records: Vec::new(),
            counts_files: flow.deadline.is_some(),
        }
    }

    /// Returns whether its stream counts files and not segments.
    pub(crate) const fn counts_files(&self) -> bool {
        self.counts_files
    }

    /// Returns when the sender has to wake up next.
    pub(crate) fn wake_at(&self) -> i64 {
        let due = match (self.transfers.get(self.begun), &self.bursts) {
            (Some(next), _) => next.start.as_ps(),
            (None, Some(files)) => files.due,
            (None, None) => NEVER,
        };
        match &self.connection {
            Some(running) if !running.sender.is_done() => {
                let timer = running.sender.poll_timeout().map_or(NEVER, Instant::as_ps);
                timer.min(running.write_at)
            }
            _ => due,
        }
    }

    /// Opens the next connection if it is due and none is running.
    fn begin_if_due(&mut self, now: Instant) {
        if self
            .connection
            .as_ref()
            .is_some_and(|running| !running.sender.is_done())
        {
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
            return files
                .begin(now.as_ps())
                .map(|(size, due)| (size.get(), due));
        };
        let is_due = transfer.start <= now.since_start();
        let size = transfer.size.map_or(ENDLESS, Bytes::get);
        is_due.then(|| (size, transfer.start.as_ps()))
    }

    /// Returns the due times of files that may still arrive: the one being sent, and those waiting
    /// for it. Of files at random times only the first is known.
    fn unfinished(&self, now: i64) -> impl Iterator<Item = i64> {
        let is_running = self
            .records
            .last()
            .is_some_and(|last| last.finished_at.is_none());
        let running = self.connection.as_ref();
        let running = running.filter(|running| is_running && !running.is_given_up());
        let listed = self.transfers.iter().skip(self.begun);
        let listed = listed.map(|transfer| transfer.start.as_ps());
        let bursts = self.bursts.iter().filter(|files| files.mean_gap.is_some());
        let waiting = listed.chain(bursts.map(|files| files.due));
        let waiting = waiting.filter(move |&due| due < now);
        running
            .map(|running| running.due)
            .into_iter()
            .chain(waiting)
    }

    /// Writes the application's data that is due.
    fn write_if_due(&mut self, now: Instant) {
        let segment = u64::from(self.config.mss);
        let interval = self.write_interval;
        let Some(running) = &mut self.connection else {
            return;
        };
        while running.write_at <= now.as_ps() {
            let rest = running.size - running.written;
            let chunk = if interval.is_some() {
                rest.min(segment)
            } else {
                rest
            };
            running.sender.write(now, Bytes::new(chunk));
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

/// Converts the TCP parameters of a flow to an engine configuration.
pub(crate) fn engine_config(parameters: &TcpParameters) -> tcp::Config {
    let octets = |size: Bytes| u32::try_from(size.get()).unwrap_or(u32::MAX);
    let mss = octets(parameters.segment);
    tcp::Config {
        mss,
        receive_window: octets(parameters.window),
        initial_window: tcp::InitialWindow::Octets(mss.saturating_mul(parameters.initial_window)),
        delayed_ack_segments: parameters.ack_every,
        delayed_ack_timeout: parameters.ack_delay,
        min_rto: parameters.min_rto,
        ..tcp::Config::default()
    }
}

impl Simulation {
    /// Wakes the sender: a transfer begins, the application writes, or the retransmission timer
    /// expires.
    pub(crate) fn wake_sender<O: Observer>(&mut self, index: u32, observer: &mut O) {
        let now = self.now();
        let bulk = &mut self.bulk[index as usize];
        bulk.begin_if_due(now);
        bulk.write_if_due(now);
        if let Some(running) = &mut bulk.connection {
            running.sender.handle_timeout(now);
            if running.is_given_up() {
                self.book_given_up(index);
            }
        }
        self.drain_sender(index, observer);
    }

    /// Sends the delayed acknowledgement that is due.
    pub(crate) fn wake_receiver<O: Observer>(&mut self, index: u32, observer: &mut O) {
        let now = self.now();
        if let Some(running) = &mut self.bulk[index as usize].connection {
            running.receiver.handle_timeout(now);
        }
        self.drain_receiver(index, observer);
    }

    /// Sends the segments that the sender has ready, and sets its timer.
    fn drain_sender<O: Observer>(&mut self, index: u32, observer: &mut O) {
        let now = self.now();
        while let Some(segment) = self.bulk[index as usize]
            .connection
            .as_mut()
            .and_then(|running| running.sender.poll_transmit(now))
        {
            self.send_segment(index, segment, false, observer);
        }
        let bulk = &self.bulk[index as usize];
        // After the end of a transfer, the next one may already be overdue.
        let wake_at = bulk.wake_at().max(self.now);
        self.agenda.set(bulk.sender_slot, wake_at);
    }

    fn drain_receiver<O: Observer>(&mut self, index: u32, observer: &mut O) {
        let now = self.now();
        while let Some(segment) = self.bulk[index as usize]
            .connection
            .as_mut()
            .and_then(|running| running.receiver.poll_transmit(now))
        {
            self.send_segment(index, segment, true, observer);
        }
        let bulk = &self.bulk[index as usize];
        let timer = bulk
            .connection
            .as_ref()
            .and_then(|running| running.receiver.poll_timeout());
        self.agenda
            .set(bulk.receiver_slot, timer.map_or(NEVER, Instant::as_ps));
    }

    /// Hands a segment to the stack of its station.
    fn send_segment<O: Observer>(
        &mut self,
        index: u32,
        segment: tcp::Segment,
        is_reverse: bool,
        observer: &mut O,
    ) {
        let bulk = &self.bulk[index as usize];
        let connection = u32::try_from(bulk.begun).unwrap_or(u32::MAX);
        let flow_index = bulk.flow;
        let flow = &self.flows[flow_index as usize];
        let (talker, listener) = (flow.talker, flow.listeners.all()[0]);
        let (source, destination) = if is_reverse {
            (listener, talker)
        } else {
            (talker, listener)
        };
        let is_counted = self.now >= self.config.warmup.as_ps();
        let frame = wire::frame_size(segment.payload_size(), Encapsulation::Tcp);
        let packet = Packet {
            released_at: self.now,
            flow: flow_index,
            stream: flow.first_stream,
            number: connection,
            source,
            destination,
            size: frame_octets(frame).unwrap_or(u16::MAX),
            vid: flow.vid,
            pcp: flow.pcp,
            flags: (flow.flags & TAGGED)
                | if is_counted { COUNTED } else { 0 }
                | if is_reverse { REVERSE } else { 0 },
            ..Packet::default()
        };
        let counts_segments = !self.bulk[index as usize].counts_files;
        if counts_segments && is_counted && !is_reverse && segment.len > 0 {
            self.streams[packet.stream as usize].rest.record.released += 1;
        }
        let id = self.pool.insert(packet);
        self.pool.set_segment(id, segment);
        self.send(source, id, observer);
    }

    /// Handles a segment that has left the receiving stack.
    pub(crate) fn deliver_segment<O: Observer>(&mut self, index: u32, id: u32, observer: &mut O) {
        let packet = *self.pool.get(id);
        let segment = self.pool.segment(id).copied().unwrap_or_default();
        if self.is_stream_data(id) {
            self.book_delivery(id, Some(u64::from(segment.len)), observer);
            self.take_segment(index, (packet, segment), None, observer);
        } else if self.bulk[index as usize].counts_files {
            self.take_segment(index, (packet, segment), Some(id), observer);
            self.pool.remove(id);
        } else {
            self.pool.remove(id);
            self.take_segment(index, (packet, segment), None, observer);
        }
    }

    /// Passes a segment to TCP; `id` is its packet unless already booked.
    fn take_segment<O: Observer>(
        &mut self,
        index: u32,
        (packet, segment): (Packet, tcp::Segment),
        id: Option<u32>,
        observer: &mut O,
    ) {
        let now = self.now();
        let bulk = &mut self.bulk[index as usize];
        let is_current = usize::try_from(packet.number).is_ok_and(|number| number == bulk.begun);
        let running = bulk.connection.as_mut();
        // A file that was given up is booked: what is still on its way is too late for it.
        let Some(running) = running.filter(|own| is_current && !own.is_given_up()) else {
            return;
        };
        if packet.has(REVERSE) {
            running.sender.handle_segment(now, &segment);
            self.drain_sender(index, observer);
            return;
        }
        running.receiver.handle_segment(now, &segment);
        let is_complete = running.receiver.delivered().get() >= running.size;
        let (due, size) = (running.due, running.size);
        let record = bulk.records.last_mut().filter(|_| is_complete);
        if let Some(record) = record.filter(|record| record.finished_at.is_none()) {
            record.finished_at = Some(now);
            if let Some(id) = id.filter(|_| bulk.counts_files) {
                self.book_file(index, id, (due, size), observer);
            }
        }
        self.drain_receiver(index, observer);
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
