//! Stations in two networks at once.

use crate::quantity::Bytes;

/// Redundancy in the end stations: a station with two ports, each into a network of its own.
///
/// It sends each frame by both, and a station like it takes the first copy that arrives and
/// discards the other. Copies are recognized as long as they may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redundancy {
    /// Doubly attached node of the Parallel Redundancy Protocol (IEC 62439-3, clause 4).
    Prp,
    /// End system with the redundancy management of AFDX (ARINC 664, part 7).
    Afdx,
}

impl Redundancy {
    /// Returns the octets that the station adds to each frame, behind the padding: the redundancy
    /// control trailer of PRP, or the sequence number of AFDX.
    pub const fn trailer(self) -> Bytes {
        Bytes::new(match self {
            Self::Prp => 6,
            Self::Afdx => 1,
        })
    }
}
