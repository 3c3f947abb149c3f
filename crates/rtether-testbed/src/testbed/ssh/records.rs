//! What stations saw, as lines and back.

use rtether_live::stall::{Stall, Stalls};
use rtether_live::station::tcp::FileLog;
use rtether_live::station::{Answered, Arrived, Log, RECORDS_MAX, Sent};
use rtether_model::quantity::{Duration, Instant};

use super::super::station_logs::StationLogs;
use super::wire::{AnsweredRow, ArrivedRow, BATCH, End, FileRow, SentRow, Word};
use crate::ssh::harmless;

/// Largest number of errors kept of a host.
const ERRORS_MAX: usize = 100;

/// What a host reported.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) log: Log,
    pub(super) files: Vec<FileLog>,
    pub(super) stalls: Stalls,
    pub(super) errors: Vec<String>,
    /// Whether the report is complete.
    pub(super) is_over: bool,
}

fn ns(span: Duration) -> i64 {
    span.as_ns_floor()
}

fn since(at: Instant) -> i64 {
    ns(at.since_start())
}

fn at(ns: i64) -> Instant {
    Instant::ZERO + Duration::from_ns(ns)
}

fn sent_row(s: &Sent) -> SentRow {
    (s.stream, s.number, since(s.at), ns(s.call), ns(s.late))
}

fn sent((stream, number, from, call, late): SentRow) -> Sent {
    Sent {
        stream,
        number,
        at: at(from),
        call: Duration::from_ns(call),
        late: Duration::from_ns(late),
    }
}

fn arrived_row(a: &Arrived) -> ArrivedRow {
    let released = since(a.released_at);
    let (latency, receive) = (ns(a.latency), a.receive.map(ns));
    (a.stream, a.number, released, latency, receive, a.is_answer)
}

fn arrived((stream, number, from, latency, receive, is_answer): ArrivedRow) -> Arrived {
    Arrived {
        stream,
        number,
        released_at: at(from),
        latency: Duration::from_ns(latency),
        receive: receive.map(Duration::from_ns),
        is_answer,
    }
}

fn answered_row(a: &Answered) -> AnsweredRow {
    (a.stream, a.number, a.receive.map(ns), ns(a.call))
}

fn answered((stream, number, receive, call): AnsweredRow) -> Answered {
    Answered {
        stream,
        number,
        receive: receive.map(Duration::from_ns),
        call: Duration::from_ns(call),
    }
}

fn file_row(f: &FileLog) -> FileRow {
    let (from, until) = (f.started_at.map(since), f.finished_at.map(since));
    let again = f.retransmissions;
    (f.stream, f.number, from, until, f.delivered, again)
}

fn file((stream, number, from, until, delivered, again): FileRow) -> FileLog {
    FileLog {
        stream,
        number,
        started_at: from.map(at),
        finished_at: until.map(at),
        delivered,
        retransmissions: again,
    }
}

/// Sends everything that a station found, ending with [`Word::End`].
pub(super) fn say<E>(
    collected: &StationLogs,
    mut say: impl FnMut(&Word) -> Result<(), E>,
) -> Result<(), E> {
    let mut end = End::default();
    for (_, log) in &collected.logs {
        for part in log.sent.chunks(BATCH) {
            say(&Word::Sent(part.iter().map(sent_row).collect()))?;
        }
        for part in log.arrived.chunks(BATCH) {
            say(&Word::Arrived(part.iter().map(arrived_row).collect()))?;
        }
        for part in log.answered.chunks(BATCH) {
            say(&Word::Answered(part.iter().map(answered_row).collect()))?;
        }
        end.foreign += log.oddities.foreign;
        end.unsent += log.oddities.unsent;
        end.unrecorded += log.oddities.unrecorded;
        end.clock_steps = end.clock_steps.max(log.oddities.clock_steps);
    }
    for part in collected.files.chunks(BATCH) {
        say(&Word::Files(part.iter().map(file_row).collect()))?;
    }
    for (_, stalls) in &collected.stalls {
        for part in stalls.found.chunks(BATCH) {
            let row = |s: &Stall| (since(s.from), since(s.until));
            say(&Word::Stalls(part.iter().map(row).collect()))?;
        }
        end.stalls_dropped += stalls.dropped;
    }
    let errors = collected.errors.iter().chain(&collected.failures).take(ERRORS_MAX);
    end.errors = errors.map(|error| harmless(error)).collect();
    say(&Word::End(end))
}

impl Report {
    /// Takes a part of a report; returns whether it was the last one, or an error if it is not part
    /// of a report. Records beyond the limit of a station are only counted.
    pub(super) fn take(&mut self, word: Word) -> Result<bool, &'static str> {
        if !word.is_sound() {
            return Err("implausible values");
        }
        if self.is_over {
            return Err("something after its end");
        }
        let lost = match word {
            Word::Sent(rows) => keep(&mut self.log.sent, rows.into_iter().map(sent)),
            Word::Arrived(rows) => keep(&mut self.log.arrived, rows.into_iter().map(arrived)),
            Word::Answered(rows) => keep(&mut self.log.answered, rows.into_iter().map(answered)),
            Word::Files(rows) => keep(&mut self.files, rows.into_iter().map(file)),
            Word::Stalls(rows) => {
                for (from, until) in rows {
                    self.stalls.look(at(from), at(until), Duration::ZERO);
                }
                0
            }
            Word::End(end) => {
                self.end(&end);
                return Ok(true);
            }
            Word::Hello { .. }
            | Word::More
            | Word::Here(_)
            | Word::Ready
            | Word::Clock(_)
            | Word::Done
            | Word::Failed { .. } => return Err("something out of turn"),
        };
        self.log.oddities.unrecorded = self.log.oddities.unrecorded.saturating_add(lost);
        Ok(false)
    }

    fn end(&mut self, end: &End) {
        self.is_over = true;
        let oddities = &mut self.log.oddities;
        oddities.foreign = end.foreign;
        oddities.unsent = end.unsent;
        oddities.unrecorded = oddities.unrecorded.saturating_add(end.unrecorded);
        oddities.clock_steps = end.clock_steps;
        self.stalls.dropped = self.stalls.dropped.saturating_add(end.stalls_dropped);
        let errors = end.errors.iter().take(ERRORS_MAX);
        self.errors.extend(errors.map(|error| harmless(error)));
    }
}

/// Appends as many rows as there is room for; returns how many were left out.
fn keep<T>(kept: &mut Vec<T>, rows: impl ExactSizeIterator<Item = T>) -> u64 {
    let count = rows.len();
    let room = (RECORDS_MAX - kept.len()).min(count);
    kept.extend(rows.take(room));
    (count - room) as u64
}
