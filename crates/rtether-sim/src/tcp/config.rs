//! Parameters of the two TCP engines.

use rtether_model::flow::TcpParameters;
use rtether_model::quantity::{Bytes, Duration};

/// Largest number of out-of-order ranges a receiver can hold.
pub const MAX_RANGES: usize = 64;

/// What limits the sender besides the receiver's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CongestionControl {
    /// Slow start, congestion avoidance and `NewReno` recovery (RFC 5681, RFC 6582).
    NewReno,
    /// Nothing: losses are repaired as in `NewReno`, but the rate is never reduced.
    None,
}

/// How the congestion window grows with acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counting {
    /// By octets acknowledged, up to two segments for one acknowledgement in slow start
    /// (RFC 3465 with L = 2, as Linux does).
    Octets,
    /// By acknowledgements: at most one segment each in slow start, MSS * MSS / cwnd in congestion
    /// avoidance (RFC 5681, equations 2 and 3).
    Acknowledgements,
}

/// The congestion window at the start of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InitialWindow {
    /// Ten segments, at most 14600 octets or two segments (RFC 6928, 2).
    Rfc6928,
    /// Four segments, at most 4380 octets or two segments (RFC 3390, 1).
    Rfc3390,
    /// This many octets, but at least one segment.
    Octets(u32),
}

impl InitialWindow {
    /// Returns the window in octets for segments of `mss` octets.
    pub fn octets(self, mss: u32) -> u64 {
        let mss = u64::from(mss);
        match self {
            Self::Rfc6928 => (10 * mss).min((2 * mss).max(14_600)),
            Self::Rfc3390 => (4 * mss).min((2 * mss).max(4_380)),
            Self::Octets(octets) => u64::from(octets).max(mss),
        }
    }
}

/// Parameters of a connection; the default is close to Linux without SACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Largest data of one segment in octets; 1460 by default.
    pub mss: u32,
    /// Octets the receiver accepts beyond the last one delivered; 65535 by default.
    pub receive_window: u32,
    /// Ten segments by default.
    pub initial_window: InitialWindow,
    /// Segments after which the receiver acknowledges at once (RFC 5681, 4.2: at most 2); 1 turns
    /// delayed acknowledgements off; 2 by default.
    pub delayed_ack_segments: u32,
    /// Longest delay of an acknowledgement (RFC 1122: under 500 ms); 40 ms by default.
    pub delayed_ack_timeout: Duration,
    /// Floor of the retransmission timeout; 200 ms by default (RFC 6298, 2.4, recommends 1 s).
    pub min_rto: Duration,
    /// Retransmission timeout before the first measurement; 1 s by default (RFC 6298, 2.1).
    pub initial_rto: Duration,
    /// Ceiling of the retransmission timeout; 60 s by default (RFC 6298, 2.5: at least 60 s).
    pub max_rto: Duration,
    /// Timeouts in a row without progress after which the sender gives up; 15 by default.
    pub max_retries: u32,
    /// `NewReno` by default.
    pub congestion_control: CongestionControl,
    /// Octets by default.
    pub counting: Counting,
    /// Holds small segments back while others are unacknowledged (RFC 1122, 4.2.3.4); on by
    /// default.
    pub nagle: bool,
    /// Falls back to the initial window after one RTO without sending (RFC 5681, 4.1); on by
    /// default.
    pub restart_after_idle: bool,
    /// Out-of-order ranges the receiver keeps, at most [`MAX_RANGES`], the default. A segment
    /// that would need one more is refused and counted.
    pub reassembly_ranges: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mss: 1460,
            receive_window: 65_535,
            initial_window: InitialWindow::Rfc6928,
            delayed_ack_segments: 2,
            delayed_ack_timeout: Duration::from_ms(40),
            min_rto: Duration::from_ms(200),
            initial_rto: Duration::from_secs(1),
            max_rto: Duration::from_secs(60),
            max_retries: 15,
            congestion_control: CongestionControl::NewReno,
            counting: Counting::Octets,
            nagle: true,
            restart_after_idle: true,
            reassembly_ranges: MAX_RANGES,
        }
    }
}

impl Config {
    /// Converts the parameters of a flow.
    pub(crate) fn of(parameters: &TcpParameters) -> Self {
        let octets = |size: Bytes| u32::try_from(size.get()).unwrap_or(u32::MAX);
        let mss = octets(parameters.segment);
        Self {
            mss,
            receive_window: octets(parameters.window),
            initial_window: InitialWindow::Octets(mss.saturating_mul(parameters.initial_window)),
            delayed_ack_segments: parameters.ack_every,
            delayed_ack_timeout: parameters.ack_delay,
            min_rto: parameters.min_rto,
            ..Self::default()
        }
    }

    /// Returns why the engines cannot run with these values: a size, a count or a timeout is zero,
    /// the floor of the retransmission timeout is above its ceiling, or more than [`MAX_RANGES`]
    /// ranges are requested.
    pub(crate) fn obstacle(&self) -> Option<&'static str> {
        [
            (self.mss == 0, "the MSS is zero"),
            (self.receive_window == 0, "the receive window is zero"),
            (self.delayed_ack_segments == 0, "the number of segments per acknowledgement is zero"),
            (self.delayed_ack_timeout.is_negative(), "the acknowledgement delay is negative"),
            (self.initial_rto <= Duration::ZERO, "the first RTO is zero"),
            (self.min_rto <= Duration::ZERO, "the RTO floor is zero"),
            (self.min_rto > self.max_rto, "the RTO floor is above the ceiling"),
            (self.reassembly_ranges > MAX_RANGES, "too many out-of-order ranges"),
        ]
        .into_iter()
        .find_map(|(is_wrong, what)| is_wrong.then_some(what))
    }

    /// Checks that an engine can run with these values.
    ///
    /// # Panics
    /// If there is an obstacle.
    pub(crate) fn assert_usable(&self) {
        let obstacle = self.obstacle();
        assert!(obstacle.is_none(), "unusable parameters: {}", obstacle.unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initial_windows_of_the_rfcs() {
        // RFC 6928, 2: min(10 * MSS, max(2 * MSS, 14600)).
        assert_eq!(InitialWindow::Rfc6928.octets(1460), 14_600);
        assert_eq!(InitialWindow::Rfc6928.octets(536), 5_360);
        assert_eq!(InitialWindow::Rfc6928.octets(8_960), 17_920);
        // RFC 3390, 1: min(4 * MSS, max(2 * MSS, 4380)).
        assert_eq!(InitialWindow::Rfc3390.octets(1460), 4_380);
        assert_eq!(InitialWindow::Rfc3390.octets(536), 2_144);
        assert_eq!(InitialWindow::Octets(100).octets(1460), 1_460);
    }
}
