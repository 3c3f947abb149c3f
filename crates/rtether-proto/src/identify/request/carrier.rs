//! Octets of the frame around a message.

use rtether_model::quantity::Bytes;

/// Addresses, `EtherType` and frame check sequence (IEEE 802.3, 3.1.1).
const ETHERNET: usize = 18;
/// The smallest frame (IEEE 802.3, 4.4.2).
const FRAME_MIN: usize = 64;
/// Octets of the largest packet in a frame.
const PACKET_MAX: usize = 1_500;
/// Header of IPv4 without options (RFC 791, 3.1).
const IPV4: usize = 20;

/// What carries a message over IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// Nothing, as for ICMP, whose header is a part of the message.
    Ip,
    /// UDP (RFC 768).
    Udp,
    /// TCP (RFC 9293, 3.1), alone in its segment.
    Tcp {
        /// Whether segments have timestamps (RFC 7323, 3.2), as between hosts that both know them.
        timestamps: bool,
    },
}

impl Carrier {
    /// Returns the octets of the frame with a message, from addresses to frame check sequence,
    /// without tag. Messages above [`Self::room`] take several frames, and this is not for them.
    pub fn frame(self, octets: usize) -> Bytes {
        let frame = ETHERNET + IPV4 + self.header() + octets;
        Bytes::new(frame.max(FRAME_MIN) as u64)
    }

    /// Returns the octets of the largest message in one frame.
    pub fn room(self) -> usize {
        PACKET_MAX - IPV4 - self.header()
    }

    fn header(self) -> usize {
        match self {
            Self::Ip => 0,
            Self::Udp => 8,
            Self::Tcp { timestamps: false } => 20,
            Self::Tcp { timestamps: true } => 32,
        }
    }
}

/// Returns the choice whose frame is nearest to one of these octets.
pub(super) fn nearest<T>(choices: impl Iterator<Item = (T, Bytes)>, frame: Bytes) -> Option<T> {
    choices.min_by_key(|(_, own)| own.get().abs_diff(frame.get())).map(|(choice, _)| choice)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: a ping with 56 octets of data is a frame of 98 without its check sequence; the largest
    /// frame has 1518.
    #[test]
    fn frames_by_hand() {
        assert_eq!(Carrier::Ip.frame(8 + 56), Bytes::new(102));
        assert_eq!(Carrier::Udp.frame(0), Bytes::new(64));
        for carrier in [
            Carrier::Ip,
            Carrier::Udp,
            Carrier::Tcp { timestamps: false },
            Carrier::Tcp { timestamps: true },
        ] {
            assert_eq!(carrier.frame(carrier.room()), Bytes::new(1_518));
        }
        assert_eq!(Carrier::Tcp { timestamps: true }.room(), 1_448);
    }
}
