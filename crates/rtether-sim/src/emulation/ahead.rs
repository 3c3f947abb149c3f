//! Deliveries on shared media and in stations with a layer, known before they happen.

use alloc::vec::Vec;

use rtether_model::quantity::Instant;

use super::frames::Frames;
use crate::kernel::Simulation;
use crate::observe::Observer;

/// Deliveries already reported in one collision domain.
pub(super) struct Ahead {
    domain: u32,
    /// By station of the medium: the end of the last transmission reported.
    told: Vec<Instant>,
}

impl Ahead {
    /// Returns one for each domain without bit errors; errors are drawn only at the end of a frame.
    pub(super) fn of_all(simulation: &Simulation) -> Vec<Self> {
        let domains = simulation.faultless_domains().into_iter();
        let new =
            |(domain, stations)| Self { domain, told: alloc::vec![Instant::from_ps(-1); stations] };
        domains.map(new).collect()
    }

    /// Reports frames whose delivery has become certain.
    pub(super) fn look(&mut self, simulation: &Simulation, frames: &mut Frames) {
        for (from, told) in (0u32..).zip(&mut self.told) {
            let committed = simulation.committed(self.domain, from);
            let Some((id, end)) = committed.filter(|&(_, end)| end != *told) else {
                continue;
            };
            *told = end;
            let packet = simulation.info(id);
            for (node, later) in simulation.hearers(self.domain, from) {
                frames.foresee(end + later, node, &packet);
            }
        }
    }
}

/// Reports frames whose departure from tasks or stack instances is certain.
pub(super) fn look_into_layers(simulation: &Simulation, frames: &mut Frames) {
    simulation.for_each_certain(|due, node, packet| frames.serving(due, node, packet));
}
