//! Accounts of an [`Egress`]: its frames, counters and invariants.

use rtether_model::quantity::Bytes;
use rtether_model::smoother::Rule;

use super::record::{Recorder, Recording};
use super::{Egress, Statistics};
use crate::endnode::QueueStats;
use crate::smoother;

impl<F> Egress<F> {
    /// Returns whether there are neither smoother nor transmit queues, so that frames only pass.
    pub const fn is_plain(&self) -> bool {
        self.pacer.is_none() && !self.has_queues
    }

    /// Returns whether [`super::Offered::class`] has an effect.
    pub const fn has_queues(&self) -> bool {
        self.has_queues
    }

    /// Returns the smoother's rule for real-time packets; `None` without a smoother.
    pub fn rule(&self) -> Option<Rule> {
        self.pacer.as_ref().map(|pacer| pacer.rule)
    }

    /// Returns the counters of frames.
    pub const fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Returns the counters of the transmit queues, lowest first; empty without transmit queues.
    pub fn queues(&self) -> impl Iterator<Item = QueueStats> {
        let queues = 0..if self.has_queues { self.transmit.count() } else { 0 };
        queues.map(|queue| self.transmit.stats(queue))
    }

    /// Returns the counters of the smoother, including congestion reports.
    pub fn smoother_statistics(&self) -> Option<&smoother::Statistics> {
        self.pacer.as_ref().map(|p| p.smoother.statistics())
    }

    /// Returns the state of the smoother.
    pub fn smoother_state(&self) -> Option<smoother::State> {
        self.pacer.as_ref().map(|pacer| pacer.smoother.state())
    }

    /// Returns the waiting frames for accounts and displays, not in the order in which they leave.
    pub fn frames(&self) -> impl Iterator<Item = &F> {
        let paced = self.pacer.iter().flat_map(|pacer| pacer.smoother.frames());
        let entered = self.entered.iter().map(|next| &next.frame);
        let pending = self.transmit.entered().map(|next| &next.frame);
        let waiting = self.transmit.frames().chain(entered).chain(pending);
        waiting.chain(paced).map(|item| &item.frame)
    }

    /// Returns the number of waiting frames: taken, but neither handed out nor dropped.
    pub fn waiting(&self) -> usize {
        self.frames().count()
    }

    /// Returns the number of frames in all rings: handed out, but neither complete nor refused.
    pub fn in_rings(&self) -> usize {
        self.rings.depths().sum()
    }

    /// Returns the octets below the smoother, including those in the rings.
    pub const fn backlog(&self) -> Bytes {
        self.below_size
    }

    /// Returns the recording so far, if one was started by [`Egress::recorded`].
    pub fn recording(&self) -> Option<&Recording> {
        self.recorder.as_ref().map(Recorder::recording)
    }

    /// Ends the recording and returns it.
    pub fn take_recording(&mut self) -> Option<Recording> {
        self.recorder.take().map(Recorder::into_recording)
    }

    /// Checks the invariants.
    ///
    /// # Panics
    /// If one is violated: a bug in this module or in an engine.
    pub fn invariants(&self) {
        self.transmit.invariants();
        self.rings.invariants();
        if let Some(pacer) = &self.pacer {
            pacer.smoother.invariants();
        }
        let entered = || self.entered.iter().chain(self.transmit.entered());
        for (ring, depth) in (0_u8..).zip(self.rings.depths()) {
            let entered = entered().filter(|next| next.ring == ring).count();
            let unused = self.unused.iter().filter(|&&unused| unused == ring).count();
            let used = self.transmit.ring_depth(ring) as usize;
            assert_eq!(used, depth + entered + unused, "frames in ring {ring}");
        }
        let above = self.transmit.frames().chain(entered().map(|n| &n.frame));
        let sizes = above.map(|item| item.offered.size).chain(self.rings.sizes());
        let (count, size) = sizes.fold((0, Bytes::ZERO), |(n, sum), size| (n + 1, sum + size));
        assert_eq!(self.below, count, "frames below the smoother");
        assert_eq!(self.below_size, size, "octets below the smoother");
        let all = &self.statistics;
        let dropped = all.dropped_by_smoother + all.dropped_by_queues;
        let waiting = u64::try_from(self.waiting()).unwrap_or(u64::MAX);
        assert_eq!(all.offered, all.handed + dropped + waiting, "frames");
        let rings = u64::try_from(self.in_rings()).unwrap_or(u64::MAX);
        assert_eq!(all.handed, all.refused + all.completed + rings, "handed");
    }
}
