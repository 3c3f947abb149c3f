//! A virtual line, always slower than the link below the shim, so that nothing queues in the
//! device.
//!
//! The port takes frames as fast as they come, so the time at which a frame is out is computed: its
//! time on the wire with preamble and gap, plus a margin so that a device with a slower clock does
//! not fall behind. The line has no clock: a driver that wakes up late passes the time at which the
//! line was free, and the line loses no time.

use rtether_model::quantity::{BitRate, Bytes, Instant};
use rtether_model::wire;

/// How much slower the line is than the link, in thousandths.
const MARGIN_PER_MILLE: i64 = 5;

/// A virtual line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    rate: BitRate,
    /// When the frame on it is out; `None` if it is free.
    until: Option<Instant>,
}

impl Line {
    pub(super) const fn new(rate: BitRate) -> Self {
        Self { rate, until: None }
    }

    /// Changes the rate for later frames.
    pub(super) const fn set_rate(&mut self, rate: BitRate) {
        self.rate = rate;
    }

    /// Returns when the frame on the line is out; `None` if it is free.
    pub(super) const fn until(&self) -> Option<Instant> {
        self.until
    }

    /// A frame of `octets` octets, without check sequence, begins.
    pub(super) fn begin(&mut self, now: Instant, octets: usize) {
        let occupied = wire::occupancy(size_on_wire(octets), self.rate);
        let margin = occupied / 1_000 * MARGIN_PER_MILLE;
        self.until = Some(now + occupied + margin);
    }

    /// The frame is out.
    pub(super) const fn end(&mut self) {
        self.until = None;
    }
}

/// Returns the frame size, addresses to FCS and padded as the device pads it, of a frame of
/// `octets` octets without check sequence.
pub(super) fn size_on_wire(octets: usize) -> Bytes {
    wire::MIN_FRAME.max(Bytes::new(octets as u64) + wire::FCS)
}

#[cfg(test)]
mod tests {
    use rtether_model::quantity::Duration;

    use super::*;

    /// Oracle: 1514 octets and check sequence are 1538 with preamble and gap, 1230.4 us at 10
    /// Mbit/s; 0.5 % more are 1236.552 us. 42 octets are padded to 84: 67.536 us.
    #[test]
    fn frames_take_their_time_and_the_margin() {
        let start = Instant::ZERO + Duration::from_ms(1);
        let mut line = Line::new(BitRate::from_mbps(10));
        assert_eq!(line.until(), None);
        for (octets, ns) in [(1_514, 1_236_552), (42, 67_536)] {
            line.begin(start, octets);
            assert_eq!(line.until(), Some(start + Duration::from_ns(ns)));
            line.end();
        }
        assert_eq!(line.until(), None);
    }
}
