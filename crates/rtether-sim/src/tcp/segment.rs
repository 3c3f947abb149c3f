//! Segments between two TCP engines: headers without bytes.

use rtether_model::quantity::Bytes;

/// The control bits of a segment that the model uses (RFC 9293, 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags {
    /// Opens the connection; occupies one sequence number.
    pub syn: bool,
    /// The acknowledgement number is valid.
    pub ack: bool,
    /// The sender has no more data; occupies one sequence number.
    pub fin: bool,
}

/// A TCP segment: its header, and the length of the data it stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Segment {
    /// Sequence number of the first octet or of the SYN; never wraps.
    pub seq: u64,
    /// The next sequence number that the sender of this segment expects.
    pub ack: u64,
    /// Data size in octets.
    pub len: u32,
    /// Octets that the sender of this segment accepts from `ack` on, unscaled.
    pub window: u32,
    /// Control bits.
    pub flags: Flags,
}

// Segments travel by value inside the simulator's events.
const _: () = assert!(size_of::<Segment>() <= 32);

impl Segment {
    /// Returns the sequence number after this segment; SYN and FIN count one each
    /// (RFC 9293, 3.4).
    pub const fn end(&self) -> u64 {
        // Widening; `From` is not usable in a const function.
        self.seq + self.len as u64 + self.flags.syn as u64 + self.flags.fin as u64
    }

    /// Returns whether the segment only acknowledges.
    pub const fn is_pure_ack(&self) -> bool {
        self.len == 0 && self.flags.ack && !self.flags.syn && !self.flags.fin
    }

    /// Returns the data size, the payload for the frame arithmetic.
    pub const fn payload_size(&self) -> Bytes {
        Bytes::new(self.len as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syn_and_fin_occupy_sequence_numbers() {
        let syn = Segment { flags: Flags { syn: true, ..Flags::default() }, ..Segment::default() };
        assert_eq!(syn.end(), 1);
        let last = Segment {
            seq: 1,
            len: 100,
            flags: Flags { ack: true, fin: true, syn: false },
            ..Segment::default()
        };
        assert_eq!(last.end(), 102);
        assert!(!last.is_pure_ack());
    }
}
