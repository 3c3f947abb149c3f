//! Deliveries on shared media and in stations with a layer, known before they happen.

use alloc::vec::Vec;

use rtether_model::quantity::Instant;

use super::frames::Frames;
use crate::kernel::Simulation;
use crate::observe::Observer;
use crate::packet::{NONE, OUTBOUND};
use crate::port::Owner;

/// Deliveries already reported in one collision domain.
pub(super) struct Ahead {
    domain: usize,
    /// By station of the medium: the end of the last transmission reported.
    told: Vec<Instant>,
}

impl Ahead {
    /// Returns one for each domain without bit errors; errors are drawn only at the end of a frame.
    pub(super) fn of_all(simulation: &Simulation) -> Vec<Self> {
        let has_errors = |number: u32| {
            let port = &simulation.ports[simulation.attachments[number as usize].port as usize];
            let facing = simulation.ports.get(port.peer as usize);
            port.is_faulty || facing.is_some_and(|facing| facing.is_faulty)
        };
        let domains = simulation.shared.iter().enumerate();
        let certain = domains.filter(|(_, shared)| {
            let mut numbers = shared.attachments.iter();
            !numbers.any(|&number| has_errors(number))
        });
        let new = |(domain, shared): (usize, &crate::shared::Shared)| Self {
            domain,
            told: alloc::vec![Instant::from_ps(-1); shared.attachments.len()],
        };
        certain.map(new).collect()
    }

    /// Reports frames whose delivery has become certain.
    pub(super) fn look(&mut self, simulation: &Simulation, frames: &mut Frames) {
        let shared = &simulation.shared[self.domain];
        for (from, told) in (0u32..).zip(&mut self.told) {
            let own = &simulation.attachments[shared.attachments[from as usize] as usize];
            if own.frame == NONE {
                continue;
            }
            let committed = shared.medium.committed(simulation.now(), from);
            let Some((id, end)) = committed.filter(|&(_, end)| end != *told) else {
                continue;
            };
            *told = end;
            let packet = simulation.info(id);
            for (to, &number) in (0u32..).zip(&shared.attachments) {
                let port = simulation.attachments[number as usize].port;
                let owner = simulation.ports[port as usize].owner;
                if let Owner::Station(station) = owner
                    && to != from
                {
                    let node = simulation.stations[station as usize].node;
                    frames.foresee(end + shared.medium.propagation(from, to), node, &packet);
                }
            }
        }
    }
}

/// Reports frames whose departure from tasks or stack instances is certain.
pub(super) fn look_into_layers(simulation: &Simulation, frames: &mut Frames) {
    for station in simulation
        .stations
        .iter()
        .filter(|station| station.layer != NONE)
    {
        let layer = &simulation.layers[station.layer as usize];
        layer.for_each_certain(|id, due| {
            if !simulation.pool.get(id).has(OUTBOUND) {
                frames.serving(due, station.node, &simulation.info(id));
            }
        });
    }
}
