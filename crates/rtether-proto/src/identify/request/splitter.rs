//! Cuts a byte stream (TCP) into messages by the lengths in their headers.

use alloc::vec;
use alloc::vec::Vec;

use super::answer::Malformed;
use super::opcua;

/// How messages say where they end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Modbus: octets 4 and 5, big-endian, for what follows them.
    Modbus,
    /// EtherNet/IP: octets 2 and 3, little-endian, for what follows a header of 24.
    Enip,
    /// OPC UA: octets 4 to 7, little-endian, for all of a chunk.
    OpcUa,
}

impl Framing {
    /// Returns the octets of the longest message that is accepted: the longest of Modbus
    /// (Application Protocol Specification, 4.1), more than an answer of EtherNet/IP has, or what the
    /// hello of OPC UA states.
    pub fn most(self) -> usize {
        match self {
            Self::Modbus => 260,
            Self::Enip => 2_048,
            Self::OpcUa => opcua::CHUNK_MAX,
        }
    }

    /// Returns the octets of the message that begins so; `None` if that is not known yet.
    pub fn octets(self, held: &[u8]) -> Option<usize> {
        match (self, held) {
            (Self::Modbus, [_, _, _, _, high, low, ..]) => {
                Some(6 + usize::from(u16::from_be_bytes([*high, *low])))
            }
            (Self::Enip, [_, _, low, high, ..]) => {
                Some(24 + usize::from(u16::from_le_bytes([*low, *high])))
            }
            (Self::OpcUa, [_, _, _, _, rest @ ..]) => {
                let octets = u32::from_le_bytes(*rest.first_chunk()?);
                // No chunk is shorter than its header.
                usize::try_from(octets).ok().map(|octets| octets.max(8))
            }
            _ => None,
        }
    }
}

/// Extracts messages from a byte stream that arrives in pieces of any length. It holds at most the
/// longest message.
#[derive(Clone, Debug)]
pub struct Splitter {
    framing: Framing,
    /// Octets received and not yet returned are between `start` and `end`.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl Splitter {
    /// Creates a splitter for one connection.
    pub fn new(framing: Framing) -> Self {
        Self { framing, buffer: vec![0; framing.most()], start: 0, end: 0 }
    }

    /// Returns the buffer for the next octets of the stream; it is not empty after [`Self::poll`]
    /// has returned `None`.
    pub fn room(&mut self) -> &mut [u8] {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        &mut self.buffer[self.end..]
    }

    /// Records that this many octets of the buffer have been written.
    pub fn advance(&mut self, octets: usize) {
        self.end = (self.end + octets).min(self.buffer.len());
    }

    /// Returns the next message; `None` if more octets are needed. After an error the stream is of
    /// no use: it is not known where the next message begins.
    pub fn poll(&mut self) -> Result<Option<&[u8]>, Malformed> {
        let held = &self.buffer[self.start..self.end];
        let Some(octets) = self.framing.octets(held) else {
            return Ok(None);
        };
        let max = self.framing.most();
        if octets > max {
            return Err(Malformed::TooLong { octets, max });
        }
        let message = held.get(..octets);
        if message.is_some() {
            self.start += octets;
        }
        Ok(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: by hand.
    #[test]
    fn a_stream_by_hand() {
        let mut splitter = Splitter::new(Framing::Modbus);
        splitter.room()[..12].copy_from_slice(&[1, 1, 0, 0, 0, 1, 7, 2, 2, 0, 0, 0]);
        splitter.advance(12);
        assert_eq!(splitter.poll(), Ok(Some(&[1, 1, 0, 0, 0, 1, 7][..])));
        assert_eq!(splitter.poll(), Ok(None));
        splitter.room()[..2].copy_from_slice(&[255, 0]);
        splitter.advance(1);
        let expected = Err(Malformed::TooLong { octets: 6 + 255, max: 260 });
        assert_eq!(splitter.poll(), expected);
        assert_eq!(splitter.poll(), expected);
    }
}
