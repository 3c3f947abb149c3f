//! Releases of a flow: how many packets in any window of time.
//!
//! All arrival curves of this crate count packets, not bits: the arrivals of packets at a place are
//! events, and a closed window of length `t` holds at most
//! `burst * (floor((t + jitter) / period) + 1)` of them (Le Boudec and Thiran, *Network Calculus*,
//! 1.2.2, as a count of events). If every packet takes between `d` and `D` to the next place, a
//! window of length `t` there holds at most as many as a window of length `t + D - d` here, so that
//! only the jitter changes along the path.

use rtether_model::flow::{Bulk, Flow, TcpParameters, Traffic};
use rtether_model::quantity::Bytes;

/// Stands for "no bound"; far enough below the largest 64-bit number that sums of a few do not
/// overflow.
pub(crate) const INFINITE: i64 = i64::MAX / 8;

/// Adds two spans, either of which may be infinite.
pub(crate) const fn add(a: i64, b: i64) -> i64 {
    if a >= INFINITE || b >= INFINITE {
        return INFINITE;
    }
    let sum = a + b;
    if sum >= INFINITE { INFINITE } else { sum }
}

/// Multiplies a non-negative span; infinite on overflow.
pub(crate) const fn times(span: i64, count: i64) -> i64 {
    let product = span.saturating_mul(count);
    if product >= INFINITE { INFINITE } else { product }
}

/// First retransmission timeout of a connection in picoseconds, before a round trip is measured
/// (RFC 6298, 2.1).
pub(crate) const FIRST_TIMEOUT: i64 = 1_000_000_000_000;
/// Largest window in packets that counts as a limit.
const IN_FLIGHT_MAX: i64 = 1 << 30;

/// Releases of one flow. Times in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// Shortest interval of the grid, positive.
    pub(crate) period: i64,
    /// Packets for each point of the grid.
    pub(crate) burst: i64,
    /// Largest lateness of a release; infinite if the releases are unlimited.
    pub(crate) jitter: i64,
    /// For a flow that waits for its answers: the time after which it gives up. While it never
    /// does, its packets keep their spacing at every place, at any delay.
    pub(crate) closed: Option<i64>,
    /// While it waits, the packets under way at once in each direction.
    pub(crate) in_flight: i64,
    /// Whether there is one release for each point of a fixed grid.
    pub(crate) is_on_grid: bool,
}

impl Source {
    /// Unlimited releases.
    pub(crate) const UNLIMITED: Self = Self {
        period: 1,
        burst: 1,
        jitter: INFINITE,
        closed: None,
        in_flight: 0,
        is_on_grid: false,
    };

    /// Returns the releases of a flow; `round_trip_min` is a lower bound on the time of request and
    /// answer.
    pub(crate) fn of(flow: &Flow, round_trip_min: i64) -> Self {
        // Lost packets are sent again, and discovery and acknowledgements are unlimited.
        if flow.is_published() {
            return Self::UNLIMITED;
        }
        if let Some(tcp) = &flow.connection {
            let answer = flow.reply.map(|reply| reply.payload);
            return Self::of_connection(tcp, flow.payload, answer);
        }
        Self::of_releases(&flow.traffic, round_trip_min)
    }

    /// Returns the releases of packets, or of messages.
    pub(crate) fn of_releases(traffic: &Traffic, round_trip_min: i64) -> Self {
        let (period, burst, jitter) = match *traffic {
            Traffic::Periodic { period, release_jitter, .. } => {
                (period.as_ps(), 1, release_jitter.as_ps().min(INFINITE - 1))
            }
            Traffic::Sporadic { min_gap, burst, .. } => {
                (min_gap.as_ps(), i64::from(burst.max(1)), 0)
            }
            Traffic::Flood { interval } => (interval.as_ps(), 1, 0),
            Traffic::Adaptive { pause, timeout } => {
                let distance = add(round_trip_min, pause.as_ps());
                return Self {
                    period: distance.min(timeout.as_ps()).max(1),
                    burst: 1,
                    jitter: 0,
                    closed: Some(timeout.as_ps()),
                    in_flight: 1,
                    is_on_grid: false,
                };
            }
            Traffic::Bulk(ref bulk) => return Self::of_window(&bulk.tcp, longest_file(bulk)),
            Traffic::Poisson { .. } => return Self::UNLIMITED,
        };
        if period <= 0 {
            return Self::UNLIMITED;
        }
        Self {
            period,
            burst,
            jitter,
            closed: None,
            in_flight: 0,
            is_on_grid: !matches!(traffic, Traffic::Sporadic { .. }),
        }
    }

    /// Returns the segments of a connection for files of at most this many octets: any rate, at most a
    /// window under way, and one file.
    fn of_window(tcp: &TcpParameters, file: Option<Bytes>) -> Self {
        let segment = tcp.segment.get().max(1);
        // A shorter one.
        let window = (tcp.window.get() / segment).saturating_add(1);
        let file = file.map_or(u64::MAX, |file| file.get().div_ceil(segment).max(1));
        // One without data.
        Self::under_way(tcp, window.min(file).saturating_add(1))
    }

    /// Returns the segments of a connection for messages of these sizes.
    fn of_connection(tcp: &TcpParameters, message: Bytes, answer: Option<Bytes>) -> Self {
        let window = tcp.window.get();
        let parts = |size: Bytes| {
            let [ends, full] = [size, tcp.segment].map(|size| window / size.get().max(1));
            ends.saturating_add(full).saturating_add(2)
        };
        let answers = answer.map_or(0, parts);
        Self::under_way(tcp, parts(message).saturating_add(answers))
    }

    /// Returns at most this many segments under way in each direction, at any rate.
    fn under_way(tcp: &TcpParameters, segments: u64) -> Self {
        let segments = i64::try_from(segments).unwrap_or(i64::MAX);
        if segments > IN_FLIGHT_MAX {
            return Self::UNLIMITED;
        }
        let timeout = tcp.min_rto.as_ps().min(FIRST_TIMEOUT);
        Self {
            closed: Some(timeout - tcp.ack_delay.as_ps()),
            in_flight: segments,
            ..Self::UNLIMITED
        }
    }

    /// Returns whether the releases are limited.
    pub(crate) const fn is_limited(&self) -> bool {
        self.jitter < INFINITE
    }
}

/// Returns the size of the longest file of a flow; `None` if one does not end. The next one begins
/// when everything of the one before is acknowledged.
fn longest_file(bulk: &Bulk) -> Option<Bytes> {
    let listed = bulk.transfers.iter().map(|transfer| transfer.size);
    let drawn = bulk.bursts.iter().map(|bursts| Some(bursts.size));
    let longest = |most: Bytes, size: Option<Bytes>| Some(most.max(size?));
    listed.chain(drawn).try_fold(Bytes::ZERO, longest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtether_model::quantity::Duration;

    #[test]
    fn infinity_absorbs() {
        assert_eq!(add(INFINITE, 1), INFINITE);
        assert_eq!(add(INFINITE - 1, INFINITE - 1), INFINITE);
        assert_eq!(add(2, 3), 5);
        assert_eq!(times(INFINITE / 2, 3), INFINITE);
        assert_eq!(times(7, 3), 21);
    }

    /// Oracle: RFC 6298, 2.1: the first timeout is one second, independent of the smallest one.
    #[test]
    fn a_connection_waits_for_its_first_timeout_only() {
        let tcp = |window, min_rto| TcpParameters {
            segment: Bytes::new(1),
            window: Bytes::new(window),
            min_rto: Duration::from_secs(min_rto),
            ack_delay: Duration::from_ms(40),
            ..TcpParameters::default()
        };
        let source = Source::of_window(&tcp(100, 60), None);
        assert_eq!(source.closed, Some(960_000_000_000));
        assert_eq!(source.in_flight, 102);
        // A window above the largest one counted does not limit, and never counts as a smaller one.
        let endless = Source::of_window(&tcp(1 << 31, 1), None);
        assert_eq!(endless, Source::UNLIMITED);
        // A file below the window: its segments and one without data.
        let file = |octets| Source::of_window(&tcp(100, 1), Some(Bytes::new(octets)));
        assert_eq!([7, 100, 101, 1_000].map(|own| file(own).in_flight), [8, 101, 102, 102]);
    }
}
