//! Bulk flows: segments between TCP and the stacks, and the files that they complete.

use rtether_model::wire::{self, Encapsulation};

use super::Simulation;
use crate::bulk::{File, Handled};
use crate::message::Released;
use crate::observe::Observer;
use crate::packet::{COUNTED, Packet, REVERSE, frame_octets};
use crate::tcp;

impl Simulation {
    /// Wakes the sender: a transfer begins, the application writes, or the retransmission timer
    /// expires.
    pub(super) fn wake_sender<O: Observer>(&mut self, index: u32, observer: &mut O) {
        let now = self.now();
        let bulk = &mut self.bulk[index as usize];
        bulk.wake_sender(now);
        if let Some(due) = bulk.given_up() {
            self.book_given_up(index, due);
        }
        self.drain_sender(index, observer);
    }

    /// Sends the delayed acknowledgement that is due.
    pub(super) fn wake_receiver<O: Observer>(&mut self, index: u32, observer: &mut O) {
        let now = self.now();
        self.bulk[index as usize].wake_receiver(now);
        self.drain_receiver(index, observer);
    }

    /// Sends the segments that the sender has ready, and sets its timer.
    fn drain_sender<O: Observer>(&mut self, index: u32, observer: &mut O) {
        let now = self.now();
        while let Some(segment) = self.bulk[index as usize].poll_sender(now) {
            self.send_segment(index, segment, false, observer);
        }
        self.bulk[index as usize].set_sender_timer(self.now, &mut self.agenda);
    }

    fn drain_receiver<O: Observer>(&mut self, index: u32, observer: &mut O) {
        let now = self.now();
        while let Some(segment) = self.bulk[index as usize].poll_receiver(now) {
            self.send_segment(index, segment, true, observer);
        }
        self.bulk[index as usize].set_receiver_timer(&mut self.agenda);
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
        let flow = &self.flows[bulk.flow() as usize];
        let (talker, listener) = (flow.talker(), flow.listeners()[0]);
        let (source, destination) =
            if is_reverse { (listener, talker) } else { (talker, listener) };
        let is_counted = self.is_counted(self.now);
        let frame = wire::frame_size(segment.payload_size(), Encapsulation::Tcp);
        let mut packet = Packet {
            released_at: self.now,
            number: bulk.connection(),
            size: frame_octets(frame).unwrap_or(u16::MAX),
            ..flow.frame(bulk.flow(), source, destination)
        };
        packet.put(COUNTED, is_counted);
        packet.put(REVERSE, is_reverse);
        if !bulk.counts_files() && is_counted && !is_reverse && segment.len > 0 {
            self.streams[packet.stream as usize].note_released();
        }
        let id = self.pool.insert(packet);
        self.pool.set_segment(id, segment);
        let bulk = &self.bulk[index as usize];
        if bulk.counts_files() {
            self.pool.set_cause(id, bulk.cause(is_reverse));
        }
        self.send(source, id, observer);
    }

    /// Handles a segment that has left the receiving stack.
    pub(super) fn deliver_segment<O: Observer>(&mut self, index: u32, id: u32, observer: &mut O) {
        let packet = *self.pool.get(id);
        let segment = self.pool.segment(id).copied().unwrap_or_default();
        let counts_files = self.bulk[index as usize].counts_files();
        if self.is_stream_data(id) {
            self.book_delivery(id, Some(u64::from(segment.len)), observer);
        } else if !counts_files {
            self.pool.remove(id);
        }
        let now = self.now();
        let cause = self.pool.cause(id);
        match self.bulk[index as usize].handle_segment(now, (&packet, cause), &segment) {
            Handled::Late => {}
            Handled::BySender => self.drain_sender(index, observer),
            Handled::ByReceiver(file) => {
                if let Some(file) = file {
                    self.book_file(index, id, &file, observer);
                }
                self.drain_receiver(index, observer);
            }
        }
        if counts_files {
            self.pool.remove(id);
        }
    }

    /// Books a file that packet `id` completed.
    fn book_file<O: Observer>(&mut self, index: u32, id: u32, file: &File, observer: &mut O) {
        let released = Released::new(file.due, file.number, self.is_counted(file.due));
        let flow = &self.flows[self.bulk[index as usize].flow() as usize];
        let stream = flow.first_stream();
        if released.is_counted {
            self.streams[stream as usize].note_released();
        }
        self.book_whole(id, &released, &file.spent, Some(file.size), observer);
    }

    /// Books a file that has been given up.
    fn book_given_up(&mut self, index: u32, due: i64) {
        if self.is_counted(due) {
            let flow = self.bulk[index as usize].flow();
            let stream = self.flows[flow as usize].first_stream();
            let stats = &mut self.streams[stream as usize];
            stats.note_released();
            stats.note_lost();
        }
    }

    /// Counts the files that were due and have not arrived, and which of them are late.
    pub(super) fn count_files(&mut self) {
        for bulk in self.bulk.iter().filter(|bulk| bulk.counts_files()) {
            let stream = self.flows[bulk.flow() as usize].first_stream();
            let warmup = self.config.warmup.as_ps();
            let stats = &mut self.streams[stream as usize];
            for due in bulk.unfinished(self.now).filter(|&due| due >= warmup) {
                stats.note_released();
                if self.now - due > stats.deadline() {
                    stats.note_missed();
                }
            }
        }
    }
}
