//! The sender of files.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::AtomicBool;

use rtether_model::flow::{Bulk, Transfer};
use rtether_model::quantity::{BitRate, Bytes, Instant};
use rtether_sim::release::Releases;

use super::{ENDLESS, FileLog, Header, Run, TcpOutgoing, TcpTraffic, connect, is_pause};
use crate::clock::Clock;

/// Octets per system call.
const CHUNK: usize = 16 * 1_024;
/// Largest number of files of one stream in a run.
const FILES_MAX: u32 = 1_000_000;

/// Sends the files of a stream, one after another, until `until` or `stop`; returns their logs and
/// the number of failures.
pub fn send_files(
    outgoing: TcpOutgoing,
    clock: Clock,
    until: Instant,
    stop: &AtomicBool,
) -> (Vec<FileLog>, u64) {
    let end = until;
    let run = Run { clock, end, stop };
    let (mut logs, mut refused) = (Vec::new(), 0);
    let (peer, TcpTraffic::Files { bulk, due }) = (outgoing.peer, outgoing.traffic) else {
        return (logs, refused);
    };
    let last = None;
    let mut files = Files { bulk, due, last };
    let mut number = 0;
    while number < FILES_MAX {
        let Some(Transfer { start, size }) = files.next(number) else {
            break;
        };
        run.sleep_until(Instant::ZERO + start);
        if run.is_over() {
            break;
        }
        let header = Header {
            stream: outgoing.stream,
            is_messages: false,
            number,
            size: size.map_or(ENDLESS, Bytes::get),
        };
        let started_at = clock.now();
        let sent = connect(peer, outgoing.tagging, &header, run).and_then(|mut stream| {
            run.write(&mut stream, header.size, files.bulk.rate)?;
            stream.shutdown(Shutdown::Write)?;
            run.await_end(&mut stream)?;
            Ok(crate::load::socket::retransmissions(&stream).unwrap_or(0))
        });
        // A file cut short by the end of the run has not failed.
        refused += u64::from(sent.is_err() && !run.is_over());
        logs.push(FileLog {
            stream: outgoing.stream,
            number,
            started_at: Some(started_at),
            finished_at: None,
            delivered: 0,
            retransmissions: sent.unwrap_or(0),
        });
        number += 1;
        if refused > logs.len() as u64 / 2 + 10 {
            // The receiver is gone; the next file would fail as well.
            break;
        }
    }
    (logs, refused)
}

/// Sequence of files.
struct Files {
    bulk: Bulk,
    due: Option<Releases>,
    /// Due time of the last file of a random sequence.
    last: Option<Instant>,
}

impl Files {
    /// Returns a file by number: first those of the list, then bursts.
    fn next(&mut self, number: u32) -> Option<Transfer> {
        if let Some(listed) = self.bulk.transfers.get(number as usize) {
            return Some(*listed);
        }
        let size = Some(self.bulk.bursts?.size);
        let start = match &mut self.due {
            None => Instant::ZERO,
            Some(due) => {
                let at = match self.last {
                    None => due.first(),
                    Some(last) => due.next(last),
                };
                self.last = at;
                at?
            }
        };
        Some(Transfer { start: start.since_start(), size })
    }
}

impl Run<'_> {
    /// Waits for the receiver to close, which it does once it has everything: the next file must
    /// not start while this one is still in a buffer. Also returns at the end of the run.
    fn await_end(&self, stream: &mut TcpStream) -> io::Result<()> {
        let mut rest = [0; 16];
        while !self.is_over() {
            match stream.read(&mut rest) {
                Ok(0) => return Ok(()),
                Ok(_) => return Err(io::ErrorKind::InvalidData.into()),
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes `size` octets, no faster than the rate, or until the run is over.
    fn write(&self, stream: &mut TcpStream, size: u64, rate: Option<BitRate>) -> io::Result<()> {
        let octets = [0; CHUNK];
        let begun = self.clock.now();
        let mut sent = 0;
        while sent < size && !self.is_over() {
            if let Some(rate) = rate {
                let due = rate.time_floor(Bytes::new(sent));
                self.sleep_until(begun + due);
            }
            let left = usize::try_from(size - sent).unwrap_or(CHUNK).min(CHUNK);
            match stream.write(&octets[..left]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => sent += count as u64,
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
