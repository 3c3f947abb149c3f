//! The octets between client and sink. Numbers are big-endian.
//!
//! | message | octets | |
//! |---|---|---|
//! | hello | 0 to 3 | `RTLH` |
//! | | 4 | version, 1 |
//! | | 5 | 1 upload, 2 download, 3 datagrams |
//! | | 6 | DSCP of what the sink sends, 0 to 63 |
//! | | 8 to 15 | session |
//! | | 16 to 23 | octets of the file; 0 for as many as come |
//! | report | 0 to 3 | `RTLR` |
//! | | 4 | version, 1 |
//! | | 5 | 0 done or ready, 1 busy |
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

/// Octets of the smallest datagram.
pub const DATAGRAM_MIN: usize = 20;

/// Octets that are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// What a client wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// To send a file.
    Upload,
    /// To receive a file.
    Download,
    /// To send datagrams with the number of the session.
    Datagrams,
}

/// First words of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// What it wants.
    pub wish: Wish,
    /// DSCP of what the sink sends, 0 to 63.
    pub dscp: u8,
    /// Which datagrams are its own.
    pub session: u64,
    /// Octets of the file; zero for as many as come.
    pub size: u64,
}

impl Hello {
    /// Its octets.
    pub const SIZE: usize = 24;

    /// Returns its octets.
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

    /// Reads it.
    ///
    /// # Errors
    /// If this is no hello of this version.
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
        Ok(Self {
            wish,
            dscp: octets[6],
            session: number(octets, 8),
            size: number(octets, 16),
        })
    }
}

/// Whether a sink serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// It does, or has.
    #[default]
    Ready,
    /// It has as many connections as it takes.
    Busy,
    /// Its host has no thread or no descriptor left.
    Unable,
}

/// What a sink says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Whether it serves.
    pub status: Status,
    /// Octets received or sent.
    pub octets: u64,
    /// Distinct datagrams received.
    pub datagrams: u64,
    /// Further copies.
    pub duplicates: u64,
    /// Datagrams overtaken by a later one.
    pub reordered: u64,
    /// Datagrams too far behind to be told from copies.
    pub stale: u64,
    /// Segments that the sink has sent again.
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
    /// Its octets.
    pub const SIZE: usize = 56;

    /// Returns its octets.
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

    /// Reads it.
    ///
    /// # Errors
    /// If this is no report of this version.
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

/// Head of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Whose it is.
    pub session: u64,
    /// Its number, from zero.
    pub sequence: u64,
}

impl Datagram {
    /// Writes it at the beginning of a payload, which must have room.
    ///
    /// # Panics
    /// If `payload` is shorter than [`DATAGRAM_MIN`].
    pub fn write(&self, payload: &mut [u8]) {
        payload[..4].copy_from_slice(&DATAGRAM);
        payload[4..12].copy_from_slice(&self.session.to_be_bytes());
        payload[12..20].copy_from_slice(&self.sequence.to_be_bytes());
    }

    /// Reads it.
    ///
    /// # Errors
    /// If this is no datagram of a load.
    pub fn read(payload: &[u8]) -> Result<Self, Malformed> {
        match payload.get(..DATAGRAM_MIN) {
            Some(head) if head[..4] == DATAGRAM => Ok(Self {
                session: number(head, 4),
                sequence: number(head, 12),
            }),
            Some(_) | None => Err(Malformed),
        }
    }
}

/// Reads eight octets at a place that is there.
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
            // Oracle: what is accepted is written back the same, but for octets without a meaning.
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
        let hello = Hello {
            wish: Wish::Download,
            dscp: 10,
            session: 0x0102_0304_0506_0708,
            size: 5,
        };
        let octets = hello.write();
        assert_eq!(octets[..8], *b"RTLH\x01\x02\x0a\0");
        assert_eq!(
            octets[8..],
            [1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 5]
        );
        let mut other = octets;
        other[4] = 2;
        assert_eq!(Hello::read(&other), Err(Malformed));
        assert_eq!(Datagram::read(b"RTLD"), Err(Malformed));
    }
}
