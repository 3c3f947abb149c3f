//! Periodic service of a limited amount (002 Kweon 4.1, figure 11).
//!
//! At each service, packets at the head of the bulk queue are released as long as their sizes
//! together fit into the depth; they leave as the driver has room. Nothing is carried over: packets
//! that the driver has not taken by the next service need to be released again. The congestion
//! state is then evaluated: on congestion the depth falls before the period grows, and afterwards
//! the period shrinks before the depth grows.

use rtether_model::quantity::{Bytes, Duration, Instant};

use super::event::{Event, Log};
use super::random::Random;
use rtether_model::smoother::Nt;

/// State of the NT mode.
#[derive(Clone, Debug)]
pub(super) struct NtLaw {
    parameters: Nt,
    /// Invariant: from `depth_step` to `depth_max`.
    depth: Bytes,
    /// Invariant: from `period_min` to `period_max`.
    period: Duration,
    next_service: Instant,
    /// Number of packets at the head that may leave.
    released: usize,
    /// The last report: the state holds until the next packet is completed.
    is_congested: bool,
    random: Random,
}

impl NtLaw {
    pub(super) fn new(now: Instant, parameters: Nt) -> Self {
        let mut law = Self {
            parameters,
            depth: parameters.depth_step,
            period: parameters.period_min,
            next_service: now,
            released: 0,
            is_congested: false,
            random: Random::new(parameters.seed),
        };
        law.schedule(now);
        law
    }

    fn schedule(&mut self, now: Instant) {
        let jitter = self.random.up_to(self.parameters.jitter.as_ps());
        self.next_service = now + self.period + Duration::from_ps(jitter);
    }

    pub(super) const fn period(&self) -> Duration {
        self.period
    }

    pub(super) const fn depth(&self) -> Bytes {
        self.depth
    }

    pub(super) const fn due(&self) -> Instant {
        self.next_service
    }

    pub(super) const fn permits(&self) -> bool {
        self.released > 0
    }

    pub(super) const fn on_transmit(&mut self) {
        self.released -= 1;
    }

    pub(super) const fn report(&mut self, is_congested: bool) {
        self.is_congested = is_congested;
    }

    /// Changes the parameters; the state is clamped to the new ranges.
    pub(super) fn set(&mut self, now: Instant, parameters: Nt, log: &mut Log) {
        self.parameters = parameters;
        let depth = self.depth.clamp(parameters.depth_step, parameters.depth_max);
        let period = self.period.clamp(parameters.period_min, parameters.period_max);
        self.change(now, depth, period, log);
        let latest = now + period + parameters.jitter;
        self.next_service = self.next_service.min(latest);
    }

    /// The procedure `process_NRTQueue`; `sizes` are those of the bulk queue, from its head.
    pub(super) fn serve(
        &mut self,
        now: Instant,
        sizes: impl Iterator<Item = Bytes>,
        log: &mut Log,
    ) {
        if now < self.next_service {
            return;
        }
        log.statistics.refreshes += 1;
        let mut sizes = sizes.peekable();
        let is_idle = sizes.peek().is_none();
        let mut room = self.depth;
        let mut is_head = true;
        // The head always fits, except if it was accepted under another configuration; it then
        // leaves alone, since it would otherwise wait forever.
        let fitting = sizes.take_while(|size| {
            let fits = is_head || *size <= room;
            is_head = false;
            room = if *size <= room { room - *size } else { Bytes::ZERO };
            fits
        });
        self.released = fitting.count();
        if is_idle || !self.is_congested {
            self.increase(now, log);
        } else {
            self.decrease(now, log);
        }
        self.schedule(now);
    }

    fn decrease(&mut self, now: Instant, log: &mut Log) {
        log.statistics.decreases += 1;
        let Nt { depth_step, period_max, .. } = self.parameters;
        if self.depth > depth_step {
            let depth = (self.depth - depth_step).max(depth_step);
            self.change(now, depth, self.period, log);
        } else {
            let period = (self.period + self.period).min(period_max);
            self.change(now, self.depth, period, log);
        }
    }

    fn increase(&mut self, now: Instant, log: &mut Log) {
        let Nt { depth_step, depth_max, period_min, delta, .. } = self.parameters;
        if self.period > period_min {
            let period = (self.period - delta).max(period_min);
            self.change(now, self.depth, period, log);
        } else {
            let depth = (self.depth + depth_step).min(depth_max);
            self.change(now, depth, self.period, log);
        }
    }

    fn change(&mut self, at: Instant, depth: Bytes, period: Duration, log: &mut Log) {
        log.period_changed(at, self.period, period);
        if depth != self.depth {
            let (from, to) = (self.depth, depth);
            log.push(Event::DepthChanged { at, from, to });
        }
        (self.depth, self.period) = (depth, period);
    }

    pub(super) fn invariants(&self, queued: usize) {
        let parameters = &self.parameters;
        let depths = parameters.depth_step..=parameters.depth_max;
        let periods = parameters.period_min..=parameters.period_max;
        assert!(depths.contains(&self.depth), "depth out of range: {self:?}");
        assert!(periods.contains(&self.period), "period out of range: {self:?}");
        assert!(self.released <= queued, "released what is not there: {self:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn no_jitter() -> Nt {
        Nt { jitter: Duration::ZERO, ..Nt::paper(1) }
    }

    /// Serves `packets` of 1500 octets at the due time; returns depth, period in ms, released.
    fn serve(law: &mut NtLaw, log: &mut Log, packets: usize) -> (u64, i64, usize) {
        let sizes = core::iter::repeat_n(Bytes::new(1500), packets);
        law.serve(law.due(), sizes, log);
        let period = law.period().as_ps() / 1_000_000_000;
        (law.depth().get(), period, law.released)
    }

    #[test]
    fn depth_falls_before_the_period_grows_and_the_other_way_back() {
        // By hand, from the procedures Increase and Decrease of the paper. The depth before the
        // change determines what is released.
        let mut log = Log::default();
        let mut law = NtLaw::new(Instant::ZERO, no_jitter());
        let calm: Vec<_> = (0..3).map(|_| serve(&mut law, &mut log, 9)).collect();
        assert_eq!(calm, [(3000, 10, 1), (4500, 10, 2), (4500, 10, 3)]);
        law.report(true);
        let congested: Vec<_> = (0..5).map(|_| serve(&mut law, &mut log, 9)).collect();
        assert_eq!(
            congested,
            [(3000, 10, 3), (1500, 10, 2), (1500, 20, 1), (1500, 40, 1), (1500, 80, 1)]
        );
        for _ in 0..9 {
            serve(&mut law, &mut log, 9);
        }
        assert_eq!(law.period(), Duration::from_secs(1));
        // An empty queue counts as no congestion.
        assert_eq!(serve(&mut law, &mut log, 0), (1500, 990, 0));
        law.report(false);
        for _ in 0..98 {
            serve(&mut law, &mut log, 1);
        }
        assert_eq!(serve(&mut law, &mut log, 1), (3000, 10, 1));
        law.invariants(9);
    }

    #[test]
    fn only_what_fits_together_is_released() {
        // Depth 3000: 1500 + 1000 fit, 600 does not, and later packets do not overtake it.
        let mut log = Log::default();
        let mut law = NtLaw::new(Instant::ZERO, no_jitter());
        serve(&mut law, &mut log, 0);
        let sizes = [1500, 1000, 600, 100].map(Bytes::new);
        law.serve(law.due(), sizes.into_iter(), &mut log);
        assert_eq!(law.released, 2);
        // A jumbo frame from an earlier configuration leaves alone.
        let sizes = [9000, 100].map(Bytes::new);
        law.serve(law.due(), sizes.into_iter(), &mut log);
        assert_eq!(law.released, 1);
    }

    #[test]
    fn services_are_late_by_the_jitter_and_never_early() {
        let mut log = Log::default();
        let mut law = NtLaw::new(Instant::ZERO, Nt::paper(7));
        let mut last = Instant::ZERO;
        let mut gaps = Vec::new();
        for _ in 0..1000 {
            gaps.push(law.due() - last);
            last = law.due();
            law.serve(last, core::iter::empty(), &mut log);
        }
        let expected = Duration::from_ms(10)..=Duration::from_ms(11);
        assert!(gaps.iter().all(|gap| expected.contains(gap)));
        assert!(gaps.iter().max() > gaps.iter().min());
    }
}
