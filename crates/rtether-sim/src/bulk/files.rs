//! Accounting of files with a deadline.

use crate::kernel::Simulation;
use crate::observe::Observer;
use crate::whole::{Released, Spent};

impl Simulation {
    /// Books a file that packet `id` completed.
    pub(super) fn book_file<O: Observer>(
        &mut self,
        index: u32,
        id: u32,
        (due, size): (i64, u64),
        observer: &mut O,
    ) {
        let bulk = &self.bulk[index as usize];
        let is_counted = due >= self.config.warmup.as_ps();
        let released = Released {
            at: due,
            number: u32::try_from(bulk.begun - 1).unwrap_or(u32::MAX),
            is_counted,
            spent: Spent::default(),
        };
        let flow = &self.flows[bulk.flow as usize];
        let (talker, stream) = (flow.talker, flow.first_stream);
        if is_counted {
            self.streams[stream as usize].rest.record.released += 1;
        }
        self.book_whole(id, talker, &released, Some(size), observer);
    }

    /// Books the file of a connection that has just been given up, unless it had arrived.
    pub(super) fn book_given_up(&mut self, index: u32) {
        let bulk = &self.bulk[index as usize];
        let (Some(running), Some(record)) = (&bulk.connection, bulk.records.last()) else {
            return;
        };
        let is_counted = running.due >= self.config.warmup.as_ps();
        if !bulk.counts_files || record.finished_at.is_some() || !is_counted {
            return;
        }
        let stream = self.flows[bulk.flow as usize].first_stream;
        self.streams[stream as usize].rest.record.released += 1;
        self.book_lost_message(stream, true);
    }

    /// Counts the files that were due and have not arrived, and which of them are late.
    pub(crate) fn count_files(&mut self) {
        let warmup = self.config.warmup.as_ps();
        for bulk in self.bulk.iter().filter(|bulk| bulk.counts_files) {
            let stream = self.flows[bulk.flow as usize].first_stream;
            let stats = &mut self.streams[stream as usize];
            for due in bulk.unfinished(self.now).filter(|&due| due >= warmup) {
                stats.rest.record.released += 1;
                if self.now - due > stats.deadline {
                    stats.note_missed();
                }
            }
        }
    }
}
