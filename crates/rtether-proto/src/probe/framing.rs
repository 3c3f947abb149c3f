//! Framing of payloads on a byte stream (TCP): four octets of length, big-endian, then the payload.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

/// Size of the length field.
pub const HEADER: usize = 4;

/// The length exceeds the receiver's limit: the peer uses another protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// The announced length.
    pub len: u32,
    /// The longest accepted payload.
    pub max: usize,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the peer announces a payload of {} octets, but at most {} are accepted; it is not an \
             rtether meter",
            self.len, self.max
        )
    }
}

impl core::error::Error for TooLong {}

/// Appends a payload with its length; payloads are shorter than 4 GiB.
pub fn write(payload: &[u8], out: &mut Vec<u8>) {
    let len = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    out.extend(len.to_be_bytes());
    out.extend(payload);
}

/// Extracts payloads from a byte stream that arrives in pieces of any length.
#[derive(Clone, Debug)]
pub struct Deframer {
    /// Octets received and not yet returned are between `start` and `end`.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    max: usize,
}

impl Deframer {
    /// Creates a deframer for payloads of up to `max` octets; it holds at most one of them.
    pub fn new(max: usize) -> Self {
        Self { buffer: vec![0; HEADER + max], start: 0, end: 0, max }
    }

    /// Returns the buffer for the next octets of the stream; it is not empty after [`Self::poll`]
    /// has returned `None`.
    pub fn room(&mut self) -> &mut [u8] {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        &mut self.buffer[self.end..]
    }

    /// Records that `len` octets of the buffer have been written.
    pub fn advance(&mut self, len: usize) {
        self.end = (self.end + len).min(self.buffer.len());
    }

    /// Returns the next complete payload; `None` if more octets are needed.
    pub fn poll(&mut self) -> Result<Option<&[u8]>, TooLong> {
        Ok(self.find()?.map(|found| &self.buffer[found]))
    }

    fn find(&mut self) -> Result<Option<Range<usize>>, TooLong> {
        let held = &self.buffer[self.start..self.end];
        let Some(head) = held.first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let len = u32::from_be_bytes(*head);
        let octets = usize::try_from(len).unwrap_or(usize::MAX);
        if octets > self.max {
            return Err(TooLong { len, max: self.max });
        }
        if held.len() < HEADER + octets {
            return Ok(None);
        }
        let from = self.start + HEADER;
        self.start = from + octets;
        Ok(Some(from..self.start))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_stream_by_hand() {
        let mut deframer = Deframer::new(3);
        for octet in [0, 0, 0] {
            deframer.room()[0] = octet;
            deframer.advance(1);
            assert_eq!(deframer.poll(), Ok(None));
        }
        deframer.room()[..3].copy_from_slice(&[2, 7, 8]);
        deframer.advance(3);
        assert_eq!(deframer.poll(), Ok(Some(&[7, 8][..])));
        assert_eq!(deframer.poll(), Ok(None));
        deframer.room()[..4].copy_from_slice(&[0, 0, 0, 4]);
        deframer.advance(4);
        assert_eq!(deframer.poll(), Err(TooLong { len: 4, max: 3 }));
    }

    proptest! {
        /// Oracle: the payloads written, however the stream was cut.
        #[test]
        fn payloads_come_out_as_they_went_in(
            payloads in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..20),
            cuts in proptest::collection::vec(1..50_usize, 1..40),
        ) {
            let mut stream = Vec::new();
            for payload in &payloads {
                write(payload, &mut stream);
            }
            let (mut deframer, mut found, mut at) = (Deframer::new(40), Vec::new(), 0);
            let mut cuts = cuts.into_iter().cycle();
            while at < stream.len() {
                let room = deframer.room();
                prop_assert!(!room.is_empty());
                let len = cuts.next().unwrap_or(1).min(room.len()).min(stream.len() - at);
                room[..len].copy_from_slice(&stream[at..at + len]);
                deframer.advance(len);
                at += len;
                while let Some(payload) = deframer.poll().unwrap() {
                    found.push(payload.to_vec());
                }
            }
            prop_assert_eq!(found, payloads);
        }
    }
}
