//! The fate of each measured packet, for inspection of individual packets.

use rtether_model::quantity::{Duration, Instant};

/// Packets kept individually, in equal shares for all streams and from the start of each; more are
/// only counted. Each takes 32 octets here and about 60 in a file.
pub const PACKETS_MAX: usize = 1_000_000;

/// A packet released after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Index of its stream in [`super::Measured::streams`].
    pub stream: u16,
    /// Its number within the flow.
    pub number: u32,
    /// When the application released it, from the start of the run.
    pub released_at: Instant,
    /// Time to the listening application, with a reply back to the talker's; `None` if it was lost.
    pub latency: Option<Duration>,
    /// Whether a stall of the host touched it, so that it only appears in the counts.
    pub is_stalled: bool,
}

/// Individual measured packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packets {
    /// Packets kept, in the order of release.
    pub kept: Vec<Packet>,
    /// Number of packets not kept.
    pub more: u64,
}

/// Takes the packets of one stream after another.
pub(super) struct Keeper {
    packets: Packets,
    most_of_stream: usize,
    /// Packets kept when the current stream began.
    before: usize,
}

impl Keeper {
    pub(super) fn new(streams: usize, most: usize) -> Self {
        Self { packets: Packets::default(), most_of_stream: most / Ord::max(streams, 1), before: 0 }
    }

    /// Begins the next stream.
    pub(super) fn begin_stream(&mut self) {
        self.before = self.packets.kept.len();
    }

    pub(super) fn take(&mut self, packet: Packet) {
        if self.packets.kept.len() - self.before < self.most_of_stream {
            self.packets.kept.push(packet);
        } else {
            self.packets.more += 1;
        }
    }

    pub(super) fn finish(mut self) -> Packets {
        let order = |packet: &Packet| (packet.released_at, packet.stream, packet.number);
        self.packets.kept.sort_unstable_by_key(order);
        self.packets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: by hand; nine places are three for each of three streams, kept from the start.
    #[test]
    fn streams_share_the_room_and_the_rest_is_counted() {
        let mut keeper = Keeper::new(3, 9);
        for (stream, count) in [(0, 5), (1, 2), (2, 4)] {
            keeper.begin_stream();
            for number in 0..count {
                keeper.take(Packet {
                    stream,
                    number,
                    released_at: Instant::ZERO + Duration::from_ms(i64::from(number)),
                    latency: None,
                    is_stalled: false,
                });
            }
        }
        let packets = keeper.finish();
        let kept: Vec<(u32, u16)> = packets.kept.iter().map(|p| (p.number, p.stream)).collect();
        let expected = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (2, 0), (2, 2)];
        assert_eq!((kept.as_slice(), packets.more), (&expected[..], 3));
    }
}
