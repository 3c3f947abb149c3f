//! Round trips of one flow, counted as `ping` does.

use rtether_model::flow::{Flow, Traffic};
use rtether_model::network::Network;
use rtether_model::quantity::{Duration, Instant};
use rtether_model::record::{Segment, Summary};
use rtether_sim::observe::{Delivery, DropReason, Observer, PacketInfo};
use rtether_sim::{Config, Simulation};

use super::ReproduceError;
use rtether::run::Progress;

/// Replies to a number of requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Echoes {
    /// Round trips in the order of the replies.
    pub(crate) times: Vec<Duration>,
    /// Requests or replies dropped.
    pub(crate) lost: usize,
    /// Sum over all round trips of each part, by [`Segment`].
    segments: [Duration; Segment::COUNT],
    /// Number of requests to count.
    wanted: usize,
}

impl Echoes {
    pub(crate) fn summary(&self) -> Summary {
        let mut summary = Summary::default();
        for &time in &self.times {
            summary.record(time);
        }
        summary
    }

    /// Returns the mean time of a round trip spent in some segments.
    pub(crate) fn mean_of(&self, segments: &[Segment]) -> Duration {
        let parts = segments.iter().map(|segment| self.segments[segment.index()]);
        let count = i64::try_from(self.times.len()).expect("a count fits 63 bits");
        parts.sum::<Duration>() / count.max(1)
    }

    /// Appends the round trips of another run.
    pub(crate) fn append(&mut self, other: Self) {
        self.times.extend(other.times);
        self.lost += other.lost;
        for (sum, part) in self.segments.iter_mut().zip(other.segments) {
            *sum += part;
        }
    }

    const fn is_complete(&self) -> bool {
        self.times.len() + self.lost >= self.wanted
    }
}

/// Records the round trips of the first flow.
impl Observer for Echoes {
    fn delivered(&mut self, _: Instant, packet: &PacketInfo, delivery: &Delivery) {
        if packet.flow.0 == 0 && !self.is_complete() {
            self.times.push(delivery.latency);
            for (sum, part) in self.segments.iter_mut().zip(delivery.segments) {
                *sum += part;
            }
        }
    }

    fn dropped(
        &mut self,
        _: Instant,
        _: rtether_model::network::NodeId,
        packet: &PacketInfo,
        _: DropReason,
    ) {
        if packet.flow.0 == 0 && !self.is_complete() {
            self.lost += 1;
        }
    }
}

/// Sends each request on the reply to the previous one; gives up after a second (K5).
pub(crate) const ADAPTIVE: Traffic =
    Traffic::Adaptive { pause: Duration::ZERO, timeout: Duration::from_secs(1) };

/// Simulated time between two checks for completion.
const STEP: Duration = Duration::from_ms(10);

/// Runs until the first flow has `count` replies; lost ones count.
pub(crate) fn measure(
    network: &Network,
    flows: &[Flow],
    count: usize,
    seed: u64,
    progress: &Progress,
) -> Result<Echoes, ReproduceError> {
    let config = Config { seed, warmup: Duration::ZERO, bucket: Duration::ZERO };
    let mut simulation = Simulation::new(network, flows, &config)
        .map_err(|error| ReproduceError::Scenario(error.to_string()))?;
    let mut echoes = Echoes { wanted: count, ..Echoes::default() };
    let mut until = Instant::ZERO;
    while !echoes.is_complete() {
        if progress.is_cancelled() {
            return Err(ReproduceError::Interrupted);
        }
        until += STEP;
        simulation.run_until(until, &mut echoes);
    }
    Ok(echoes)
}
