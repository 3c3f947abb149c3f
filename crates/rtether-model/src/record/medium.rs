//! Counters of shared media.

use alloc::vec::Vec;

use super::ratio;
use crate::network::PortId;
use crate::quantity::Duration;

/// One collision domain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MediumRecord {
    /// Ports that share it, in the order of nodes and ports.
    pub ports: Vec<PortId>,
    /// Transmissions that collided, by number of the attempt; the first entry counts first
    /// attempts. Each port in a collision counts once.
    pub collisions: Vec<u64>,
    /// Time of frames sent, preamble included, gap excluded.
    pub carried: Duration,
    /// Time that ports spent on transmissions that collided; each colliding port counts.
    pub wasted: Duration,
    /// Control frames of the access scheme that were sent.
    pub control: u64,
    /// Time of these frames, preamble included, gap excluded.
    pub control_time: Duration,
}

impl MediumRecord {
    /// Returns the share of `time` in which frames were carried.
    pub fn utilization(&self, time: Duration) -> f64 {
        let carried = self.carried.as_ps().unsigned_abs();
        ratio(carried, time.as_ps().unsigned_abs()).unwrap_or(0.0)
    }

    /// Adds the counters of another run of the same collision domain.
    pub fn merge(&mut self, other: &Self) {
        for (own, others) in self.collisions.iter_mut().zip(&other.collisions) {
            *own += others;
        }
        self.carried += other.carried;
        self.wasted += other.wasted;
        self.control += other.control;
        self.control_time += other.control_time;
    }
}
