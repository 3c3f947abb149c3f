//! The analysis of a plant from the beginning.

use alloc::vec::Vec;

use rtether_model::flow::Flow;
use rtether_model::network::Network;

use crate::arp;
use crate::expand::Atlas;
use crate::messages::with_messages;
use crate::plant::Plant;
use crate::prompt::solve_promptly;
use crate::solution::{Solution, Stage};

/// Follows the flows of a network and solves the plant; also returns the stages of the last search.
pub(crate) fn solve_anew(network: &Network, flows: &[Flow]) -> (Atlas, Plant, Vec<Stage>) {
    let mut atlas = Atlas::new(network, flows);
    let (plant, stages) = if network.resolves_addresses() {
        arp::solve(&mut atlas, network, flows)
    } else if let Some(with) = with_messages(network, flows) {
        let plant = Plant::complete(atlas.follow(network, &with), network, &with);
        let (mut plant, stages) = solve_promptly(plant, &atlas, network, &with, None);
        let number = u32::try_from(flows.len()).unwrap_or(u32::MAX);
        plant.streams.truncate(plant.first_of(number).stream);
        (plant, stages)
    } else {
        let plant = Plant::complete(atlas.follow(network, flows), network, flows);
        solve_promptly(plant, &atlas, network, flows, None)
    };
    (atlas, plant, stages)
}

/// Returns whether flows of the network itself are analyzed besides those that are given. Then
/// changes are analyzed anew, and methods that look at whole paths are not applied.
pub(crate) fn has_own_flows(network: &Network) -> bool {
    network.resolves_addresses() || network.admission.is_some()
}

/// Follows the flows of a network and solves the plant.
pub(crate) fn solve(network: &Network, flows: &[Flow]) -> (Plant, Solution) {
    let (_, plant, stages) = solve_anew(network, flows);
    let evaluations = stages.iter().map(|stage| stage.solution.evaluations).sum();
    let last = stages.into_iter().next_back().unwrap_or_default();
    let solution = Solution { evaluations, ..last.solution };
    (plant, solution)
}
