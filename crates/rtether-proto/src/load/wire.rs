//! Encoding of the messages between client and sink. Numbers are big-endian.
//!
//! | message | octets | |
//! |---|---|---|
//! | hello | 0 to 3 | `RTLH` |
//! | | 4 | version, 1 |
//! | | 5 | 1 upload, 2 download, 3 datagrams |
//! | | 6 | DSCP of what the sink sends, 0 to 63 |
//! | | 8 to 15 | session |
//! | | 16 to 23 | octets of the file; 0 for no limit |
//! | report | 0 to 3 | `RTLR` |
//! | | 4 | version, 1 |
//! | | 5 | 0 done or ready, 1 busy, 2 unable |
//! | | 8 to 55 | octets, datagrams, duplicates, reordered, stale, retransmissions |
//! | datagram | 0 to 3 | `RTLD` |
//! | | 4 to 11 | session |
//! | | 12 to 19 | sequence |

use super::Tally;

const HELLO: [u8; 4] = *b"RTLH";
const REPORT: [u8; 4] = *b"RTLR";
const DATAGRAM: [u8; 4] = *b"RTLD";
const VERSION: u8 = 1;
const DSCP_MAX: u8 = 63;

/// Size of the smallest datagram, in octets.
pub const DATAGRAM_MIN: usize = 20;

/// The octets are not a valid message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// What a client requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// To send a file.
    Upload,
    /// To receive a file.
    Download,
    /// To send datagrams that carry the session number.
    Datagrams,
}

/// A client's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// What is requested.
    pub wish: Wish,
    /// DSCP of what the sink sends, 0 to 63.
    pub dscp: u8,
    /// Session number of the client's datagrams.
    pub session: u64,
    /// Octets of the file; zero for no limit.
    pub size: u64,
}

impl Hello {
    /// Encoded size in octets.
    pub const SIZE: usize = 24;

    /// Encodes the hello.
    pub fn write(&self) -> [u8; Self::SIZE] {
        let mut octets = [0; Self::SIZE];
        octets[..4].copy_from_slice(&HELLO);
        octets[4] = VERSION;
        octets[5] = match self.wish {
            Wish::Upload => 1,
            Wish::Download => 2,
            Wish::Datagrams => 3,
        };
        octets[6] = self.dscp;
        octets[8..16].copy_from_slice(&self.session.to_be_bytes());
        octets[16..24].copy_from_slice(&self.size.to_be_bytes());
        octets
    }

    /// Decodes a hello.
    ///
    /// # Errors
    /// If the octets are not a hello of this version.
    pub fn read(octets: &[u8; Self::SIZE]) -> Result<Self, Malformed> {
        let wish = match octets[5] {
            1 => Wish::Upload,
            2 => Wish::Download,
            3 => Wish::Datagrams,
            _ => return Err(Malformed),
        };
        if octets[..4] != HELLO || octets[4] != VERSION || octets[6] > DSCP_MAX {
            return Err(Malformed);
        }
        Ok(Self { wish, dscp: octets[6], session: number(octets, 8), size: number(octets, 16) })
    }
}

/// Whether a sink serves a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// Ready, or done.
    #[default]
    Ready,
    /// Its limit of connections is reached.
    Busy,
    /// Its host has no thread or descriptor left.
    Unable,
}

/// A sink's report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Whether the sink serves the client.
    pub status: Status,
    /// Octets received or sent.
    pub octets: u64,
    /// Distinct datagrams received.
    pub datagrams: u64,
    /// Duplicates.
    pub duplicates: u64,
    /// Datagrams overtaken by a later one.
    pub reordered: u64,
    /// Datagrams too late to be told from duplicates.
    pub stale: u64,
    /// Segments retransmitted by the sink.
    pub retransmissions: u64,
}

impl From<&Tally> for Report {
    fn from(tally: &Tally) -> Self {
        Self {
            octets: tally.octets,
            datagrams: tally.received,
            duplicates: tally.duplicates,
            reordered: tally.reordered,
            stale: tally.stale,
            ..Self::default()
        }
    }
}

impl Report {
    /// Encoded size in octets.
    pub const SIZE: usize = 56;

    /// Encodes the report.
    pub fn write(&self) -> [u8; Self::SIZE] {
        let mut octets = [0; Self::SIZE];
        octets[..4].copy_from_slice(&REPORT);
        octets[4] = VERSION;
        octets[5] = match self.status {
            Status::Ready => 0,
            Status::Busy => 1,
            Status::Unable => 2,
        };
        let numbers = [
            self.octets,
            self.datagrams,
            self.duplicates,
            self.reordered,
            self.stale,
            self.retransmissions,
        ];
        for (place, number) in octets[8..].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_be_bytes());
        }
        octets
    }

    /// Decodes a report.
    ///
    /// # Errors
    /// If the octets are not a report of this version.
    pub fn read(octets: &[u8; Self::SIZE]) -> Result<Self, Malformed> {
        let status = match octets[5] {
            0 => Status::Ready,
            1 => Status::Busy,
            2 => Status::Unable,
            _ => return Err(Malformed),
        };
        if octets[..4] != REPORT || octets[4] != VERSION {
            return Err(Malformed);
        }
        Ok(Self {
            status,
            octets: number(octets, 8),
            datagrams: number(octets, 16),
            duplicates: number(octets, 24),
            reordered: number(octets, 32),
            stale: number(octets, 40),
            retransmissions: number(octets, 48),
        })
    }
}

/// Header of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Session it belongs to.
    pub session: u64,
    /// Sequence number, from zero.
    pub sequence: u64,
}

impl Datagram {
    /// Writes the header at the start of `payload`.
    ///
    /// # Panics
    /// If `payload` is shorter than [`DATAGRAM_MIN`].
    pub fn write(&self, payload: &mut [u8]) {
        payload[..4].copy_from_slice(&DATAGRAM);
        payload[4..12].copy_from_slice(&self.session.to_be_bytes());
        payload[12..20].copy_from_slice(&self.sequence.to_be_bytes());
    }

    /// Decodes the header.
    ///
    /// # Errors
    /// If the payload is not a load datagram.
    pub fn read(payload: &[u8]) -> Result<Self, Malformed> {
        match payload.get(..DATAGRAM_MIN) {
            Some(head) if head[..4] == DATAGRAM => {
                Ok(Self { session: number(head, 4), sequence: number(head, 12) })
            }
            Some(_) | None => Err(Malformed),
        }
    }
}

/// Reads eight octets at an offset that exists.
fn number(octets: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&octets[at..at + 8]);
    u64::from_be_bytes(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(session: u64, sequence: u64, numbers: [u64; 6], wish in 0..3) {
            // Oracle: the round trip.
            let wish = [Wish::Upload, Wish::Download, Wish::Datagrams][usize::try_from(wish).unwrap_or(0)];
            let hello = Hello { wish, dscp: 46, session, size: sequence };
            prop_assert_eq!(Hello::read(&hello.write()), Ok(hello));
            let [octets, datagrams, duplicates, reordered, stale, retransmissions] = numbers;
            let report = Report {
                status: [Status::Ready, Status::Busy, Status::Unable][(session % 3) as usize],
                octets, datagrams, duplicates, reordered, stale, retransmissions,
            };
            prop_assert_eq!(Report::read(&report.write()), Ok(report));
            let mut payload = [7; 30];
            let datagram = Datagram { session, sequence };
            datagram.write(&mut payload);
            prop_assert_eq!(Datagram::read(&payload), Ok(datagram));
        }

        #[test]
        fn any_octets_are_read_without_panic(octets in prop::collection::vec(any::<u8>(), 56)) {
            // Oracle: what is accepted is encoded to the same octets, except for those without a
            // meaning.
            let report: [u8; 56] = octets.as_slice().try_into().expect("56 octets");
            let hello: [u8; 24] = octets[..24].try_into().expect("24 octets");
            if let Ok(read) = Report::read(&report) {
                prop_assert_eq!(&read.write()[8..], &report[8..]);
            }
            if let Ok(read) = Hello::read(&hello) {
                prop_assert_eq!(&read.write()[8..], &hello[8..]);
            }
            if let Ok(read) = Datagram::read(&octets) {
                prop_assert_eq!(&read.session.to_be_bytes()[..], &octets[4..12]);
            }
        }
    }

    #[test]
    fn the_first_octets_are_as_the_table_says() {
        // Oracle: the table of this module.
        let hello =
            Hello { wish: Wish::Download, dscp: 10, session: 0x0102_0304_0506_0708, size: 5 };
        let octets = hello.write();
        assert_eq!(octets[..8], *b"RTLH\x01\x02\x0a\0");
        assert_eq!(octets[8..], [1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 5]);
        let mut other = octets;
        other[4] = 2;
        assert_eq!(Hello::read(&other), Err(Malformed));
        assert_eq!(Datagram::read(b"RTLD"), Err(Malformed));
    }
}
