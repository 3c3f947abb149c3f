//! Writes what a participant sends and receives to a file that packet tools open.
//!
//! UDP datagrams are put into made-up frames: IP addresses and ports are those on the wire, station
//! addresses are not, checksums are correct, and a datagram is never fragmented. Frames of
//! `--device` are kept as they were, without the padding and the tag that the kernel removed.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::{Arc, Mutex, PoisonError};

use rtether_live::rtps::{Envelope, Seen, Watch};
use rtether_model::quantity::BitRate;
use rtether_sim::trace::{Capture, InterfaceId, append_udp};

/// Largest size of a file, in octets: then the trace ends, and the participant continues.
pub const TRACE_MAX: u64 = 1 << 30;
/// Write buffer, in octets.
const BUFFER: usize = 1 << 20;
/// `EtherType` of tags (IEEE 802.1Q-2018, table 9-1).
const TAG: u16 = 0x8100;

/// A trace being written; clones write to the same file.
#[derive(Clone)]
pub struct Trace(Arc<Mutex<State>>);

/// Outcome of a trace.
#[derive(Debug)]
pub struct Traced {
    /// Datagrams in the file.
    pub datagrams: u64,
    /// Datagrams missing from the file.
    pub missing: u64,
    /// Why some are missing.
    pub ended: Option<String>,
}

struct State {
    capture: Capture,
    interface: InterfaceId,
    frame: Vec<u8>,
    block: Vec<u8>,
    /// `None` after an error, or once the file has its largest size.
    writer: Option<Box<dyn Write + Send>>,
    room: u64,
    traced: Traced,
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Trace")
    }
}

/// Equal if both write to the same file.
impl PartialEq for Trace {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Trace {}

impl Trace {
    /// Starts a trace in an open, empty file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn begin_in(file: File) -> io::Result<Self> {
        Self::begin(Box::new(BufWriter::with_capacity(BUFFER, file)), TRACE_MAX)
    }

    fn begin(mut writer: Box<dyn Write + Send>, limit: u64) -> io::Result<Self> {
        let mut block = Vec::new();
        let mut capture = Capture::begin(&mut block);
        let interface = capture.add_interface(&mut block, "rtps", BitRate::default());
        writer.write_all(&block)?;
        let room = limit.saturating_sub(u64::try_from(block.len()).unwrap_or(u64::MAX));
        Ok(Self(Arc::new(Mutex::new(State {
            capture,
            interface,
            frame: Vec::new(),
            block,
            writer: Some(writer),
            room,
            traced: Traced { datagrams: 0, missing: 0, ended: None },
        }))))
    }

    /// Returns the callback for a participant's datagrams.
    pub(super) fn watch(&self) -> Watch {
        let this = self.clone();
        Box::new(move |seen| this.with(|state| state.add(seen)))
    }

    /// Flushes the file and returns the outcome.
    pub fn finish(&self) -> Traced {
        self.with(|state| {
            let written = state.writer.take().map_or(Ok(()), |mut writer| writer.flush());
            if let Err(error) = written {
                state.traced.ended = Some(error.to_string());
            }
            let Traced { datagrams, missing, .. } = state.traced;
            Traced { datagrams, missing, ended: state.traced.ended.take() }
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    fn add(&mut self, seen: &Seen<'_>) {
        let Some(writer) = &mut self.writer else {
            self.traced.missing += 1;
            return;
        };
        self.frame.clear();
        self.block.clear();
        if !append(&mut self.frame, seen) {
            self.traced.missing += 1;
            return;
        }
        let ns = u64::try_from(seen.wall_ns).unwrap_or(0);
        self.capture.add_frame_at(&mut self.block, self.interface, ns, &self.frame);
        let len = u64::try_from(self.block.len()).unwrap_or(u64::MAX);
        let written = match self.room.checked_sub(len) {
            Some(room) => {
                self.room = room;
                writer.write_all(&self.block).map_err(|error| error.to_string())
            }
            None => Err("the file has reached its size limit".to_owned()),
        };
        match written {
            Ok(()) => self.traced.datagrams += 1,
            Err(why) => {
                self.traced.missing += 1;
                // Flush what is buffered anyway; a second error adds nothing.
                drop(writer.flush());
                self.writer = None;
                self.traced.ended = Some(why);
            }
        }
    }
}

/// Appends the frame of a datagram; returns whether there is one.
fn append(frame: &mut Vec<u8>, seen: &Seen<'_>) -> bool {
    match seen.envelope {
        Envelope::Udp { from, to, dscp } => append_udp(frame, from, to, dscp, seen.message),
        Envelope::Frame { to, from, tag, ethertype, ports: [source, destination] } => {
            frame.extend(to);
            frame.extend(from);
            let tag = tag.map(|tag| [TAG, tag]);
            let fields = tag.into_iter().flatten();
            for field in fields.chain([ethertype, source, destination]) {
                frame.extend(field.to_be_bytes());
            }
            frame.extend(seen.message);
            true
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]
    use std::net::{Ipv4Addr, SocketAddrV4};

    use super::*;

    /// Accepts this many octets, then fails.
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
            if octets.len() > self.0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.0 -= octets.len();
            Ok(octets.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn seen(message: &[u8]) -> Seen<'_> {
        let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 7_410);
        Seen {
            wall_ns: 1,
            is_sent: true,
            envelope: Envelope::Udp { from: address, to: address, dscp: 0 },
            message,
        }
    }

    #[test]
    fn an_error_ends_the_trace_and_nothing_else() {
        // Oracle: the file header has 44 and 52 octets; a packet 32, plus 44 of frame and two of
        // padding: 76 in all.
        let trace = Trace::begin(Box::new(Full(44 + 52 + 76)), TRACE_MAX).unwrap();
        let mut watch = trace.watch();
        for _ in 0..3 {
            watch(&seen(b"hi"));
        }
        let traced = trace.finish();
        assert_eq!((traced.datagrams, traced.missing), (1, 2));
        assert!(traced.ended.is_some());
    }

    #[test]
    fn a_file_has_a_limit() {
        // Oracle: as above.
        let trace = Trace::begin(Box::new(io::sink()), 44 + 52 + 2 * 76 + 75).unwrap();
        let mut watch = trace.watch();
        for _ in 0..5 {
            watch(&seen(b"hi"));
        }
        let traced = trace.finish();
        assert_eq!((traced.datagrams, traced.missing), (2, 3));
        assert_eq!(traced.ended.as_deref(), Some("the file has reached its size limit"));
    }

    #[test]
    fn frames_stand_as_they_were() {
        // Oracle: the layout of DDS-TSN 1.0, annex A, with the ports before the message, by hand.
        let envelope = Envelope::Frame {
            to: [1, 2, 3, 4, 5, 6],
            from: [7, 8, 9, 10, 11, 12],
            tag: Some(0xA003),
            ethertype: 0x88B6,
            ports: [0x1CF2, 0x1CE8],
        };
        let mut frame = Vec::new();
        let seen = Seen { envelope, ..seen(b"hi") };
        assert!(append(&mut frame, &seen));
        assert_eq!(
            frame,
            [
                1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x81, 0, 0xA0, 3, 0x88, 0xB6, 0x1C, 0xF2,
                0x1C, 0xE8, b'h', b'i'
            ]
        );
    }
}
