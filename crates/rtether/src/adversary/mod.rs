//! Searches for releases that delay streams most: phases, lateness within `jitter`, gaps of sporadic
//! flows, and seeds of what else is drawn. Only what the scenario allows is tried.
//!
//! Every result was simulated in the whole plant, so it is a lower bound on the largest latency that
//! can occur. The engine has no clock: [`Hunt::step`] tries a batch of plants, the same on any
//! machine and any number of threads, and the caller says when to stop, also within a batch.
//! [`attack`] searches all streams for a time or a number of plants, [`search`] one stream.
//!
//! Sizes are fixed by a scenario, and so are the times of files; costs, errors and back-off that are
//! drawn follow from the seed. Traffic at random times without a least gap is drawn, too.

mod climb;
mod effort;
mod found;
mod freedom;
mod hunt;
mod outcome;
mod part;
mod stream;
mod trial;
mod varied;
mod window;

use rtether_model::flow::{Flow, FlowId};
use rtether_model::network::Network;

use crate::scenario::{RunPlan, Scenario};

pub use effort::{Effort, Progress};
pub use found::Found;
pub(crate) use found::replay;
pub use hunt::{Hunt, search};
pub(crate) use outcome::attack_until;
pub use outcome::{Outcome, Search, attack};
pub use varied::Varied;

/// Says before each plant, and now and then within one, whether the search goes on. Without a clock in
/// it, a search is the same on any machine.
pub type GoesOn<'a> = &'a (dyn Fn() -> bool + Sync);

/// A network with its flows, and how long it runs.
#[derive(Clone, Copy, Debug)]
pub struct Plant<'a> {
    /// Nodes and links.
    pub network: &'a Network,
    /// All flows.
    pub flows: &'a [Flow],
    /// Time and warm-up of a run, and the seed of the search.
    pub run: RunPlan,
}

impl<'a> Plant<'a> {
    /// Returns the plant of a scenario.
    pub fn of(scenario: &'a Scenario) -> Self {
        Self { network: &scenario.network, flows: &scenario.flows, run: scenario.run }
    }
}

/// A stream: a flow, and the position of one of its listeners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The flow.
    pub flow: FlowId,
    /// Position in [`Flow::listeners`].
    pub listener: usize,
}

impl Target {
    /// Returns all streams, in the order of records.
    pub fn all(flows: &[Flow]) -> Vec<Self> {
        let numbered = (0u32..).map(FlowId).zip(flows);
        let of = |(flow, own): (FlowId, &Flow)| {
            let listeners = 0..own.listeners.len();
            listeners.map(move |listener| Self { flow, listener })
        };
        numbered.flat_map(of).collect()
    }

    /// Returns its position among the streams of a record.
    pub fn index(self, flows: &[Flow]) -> usize {
        let before = flows[..self.flow.index()].iter();
        before.map(|flow| flow.listeners.len()).sum::<usize>() + self.listener
    }

    /// Returns its name: that of the flow, with the listener if there are several.
    pub fn name(self, network: &Network, flows: &[Flow]) -> String {
        let flow = &flows[self.flow.index()];
        if flow.listeners.len() < 2 {
            return flow.name.clone();
        }
        let listener = flow.listeners[self.listener];
        format!("{} > {}", flow.name, network.node(listener).name)
    }
}
