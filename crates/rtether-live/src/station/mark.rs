//! Header of every measured packet.
//!
//! Octets from the start of the payload: stream and, in the highest bit, whether it is an answer
//! (2); number of the release within the stream (4); time of the release in nanoseconds since the
//! start of the run (6). All big-endian. The rest of the payload is zeros.

use rtether_model::quantity::{Duration, Instant};

const ANSWER: u16 = 1 << 15;

/// A measured packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Index in the list of streams.
    pub stream: u16,
    /// On the way back to the talker.
    pub is_answer: bool,
    /// Number of the release within the stream.
    pub number: u32,
    /// When the application released it; answers repeat the time of the request.
    pub released_at: Instant,
}

impl Mark {
    /// Smallest payload, in octets.
    pub const SIZE: usize = 12;
    /// Number of streams that can be distinguished.
    pub const STREAMS: usize = ANSWER as usize;

    /// Writes it to the start of a payload of at least [`Mark::SIZE`] octets.
    pub fn write(self, payload: &mut [u8]) {
        let ns = u64::try_from(self.released_at.since_start().as_ns_floor()).unwrap_or(0);
        let kind = if self.is_answer { ANSWER } else { 0 };
        let [_, _, time @ ..] = ns.to_be_bytes();
        if let Some(start) = payload.first_chunk_mut::<{ Self::SIZE }>() {
            let (head, rest) = start.split_at_mut(2);
            head.copy_from_slice(&(self.stream & !ANSWER | kind).to_be_bytes());
            let (number, clock) = rest.split_at_mut(4);
            number.copy_from_slice(&self.number.to_be_bytes());
            clock.copy_from_slice(&time);
        }
    }

    /// Reads it; `None` if the payload is too short.
    pub fn read(payload: &[u8]) -> Option<Self> {
        let &[s0, s1, n0, n1, n2, n3, t0, t1, t2, t3, t4, t5] =
            payload.first_chunk::<{ Self::SIZE }>()?;
        let stream = u16::from_be_bytes([s0, s1]);
        let ns = u64::from_be_bytes([0, 0, t0, t1, t2, t3, t4, t5]);
        let ns = i64::try_from(ns).ok()?;
        Some(Self {
            stream: stream & !ANSWER,
            is_answer: stream & ANSWER != 0,
            number: u32::from_be_bytes([n0, n1, n2, n3]),
            // 48 bits of nanoseconds are 78 hours, below the 106 days of picoseconds.
            released_at: Instant::ZERO + Duration::from_ns(ns),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mark = Mark {
            stream: 0x1234,
            is_answer: true,
            number: 0xDEAD_BEEF,
            released_at: Instant::ZERO + Duration::from_ns(0x0102_0304_0506),
        };
        let mut payload = [0xFF; 20];
        mark.write(&mut payload);
        assert_eq!(payload[..8], [0x92, 0x34, 0xDE, 0xAD, 0xBE, 0xEF, 1, 2]);
        assert_eq!(Mark::read(&payload), Some(mark));
        assert_eq!(Mark::read(&payload[..11]), None);
    }
}
