//! What differs from run to run: what is drawn from the seed, and what the file fixes.

use rtether_model::flow::{Flow, Phase, Traffic};
use rtether_model::network::{Duplex, Jitter, Network, NodeKind, Spread, Stack};
use rtether_model::quantity::Duration;

/// What a scenario leaves open, and what it fixes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a freedom of its own")]
pub struct Varied {
    /// Periodic flows whose phases are drawn, floods included.
    pub phases: usize,
    /// Periodic flows whose phases are fixed, or whose first releases are.
    pub fixed: usize,
    /// Periodic flows whose releases are late at random, sporadic flows, and others at random times.
    pub times: usize,
    /// Whether costs of stacks are drawn.
    pub stacks: bool,
    /// Whether latencies of switches are drawn.
    pub latencies: bool,
    /// Whether frames are lost to errors on links.
    pub errors: bool,
    /// Whether stations draw how long they wait after a collision.
    pub backoff: bool,
    /// Whether timers of smoothers are drawn.
    pub timers: bool,
}

impl Varied {
    /// Returns what a plant leaves open.
    pub fn of(network: &Network, flows: &[Flow]) -> Self {
        let mut varied = Self::default();
        for flow in flows {
            varied.add_flow(flow);
        }
        for node in &network.nodes {
            match &node.kind {
                NodeKind::EndStation(station) => {
                    varied.stacks |= draws(&station.stack) || !station.unknown.is_empty();
                    let layer = station.layer.as_ref();
                    varied.timers |= layer.is_some_and(|layer| layer.smoother.is_some());
                }
                NodeKind::Switch(switch) => {
                    varied.latencies |= switch.latency_jitter > Duration::ZERO;
                    varied.latencies |= switch.unknown_latency > Duration::ZERO;
                }
                NodeKind::Hub(_) => varied.backoff = true,
            }
        }
        for link in network.links.iter().filter(|link| !link.standby) {
            varied.backoff |= link.duplex == Duplex::Half;
            varied.errors |= link.errors_per_billion > 0;
        }
        varied
    }

    fn add_flow(&mut self, flow: &Flow) {
        match &flow.traffic {
            Traffic::Periodic { phase, release_jitter, .. } => {
                if *phase == Phase::Random && flow.releases.is_empty() {
                    self.phases += 1;
                } else {
                    self.fixed += 1;
                }
                self.times += usize::from(*release_jitter > Duration::ZERO);
            }
            Traffic::Flood { .. } => self.phases += 1,
            Traffic::Sporadic { .. } | Traffic::Poisson { .. } => self.times += 1,
            Traffic::Adaptive { .. } => {}
            Traffic::Bulk(bulk) => {
                let is_drawn = bulk.bursts.is_some_and(|own| own.mean_gap.is_some());
                self.times += usize::from(is_drawn);
            }
        }
    }

    /// Returns whether another seed may give another run.
    pub const fn is_open(&self) -> bool {
        self.phases > 0 || self.times > 0 || self.is_drawn()
    }

    /// Returns what differs between `runs` runs: `8 sets of phases and costs`, `phases fixed by the
    /// file`; empty if there is nothing to say.
    pub fn words(&self, runs: usize) -> String {
        let drawn: Vec<&str> = self.drawn().collect();
        let sets = if runs == 1 { "1 set of" } else { "sets of" };
        let number = if runs == 1 { String::new() } else { format!("{runs} ") };
        let list = match &drawn[..] {
            [] => String::new(),
            [one] => (*one).to_owned(),
            [most @ .., last] => format!("{} and {last}", most.join(", ")),
        };
        match (list.is_empty(), self.phases, self.fixed) {
            (true, _, 0) => String::new(),
            (true, _, _) => "phases fixed by the file".to_owned(),
            (false, 0, fixed) if fixed > 0 => {
                format!("{number}{sets} {list}, phases fixed by the file")
            }
            (false, _, 0) => format!("{number}{sets} {list}"),
            (false, _, 1) => format!("{number}{sets} {list}, 1 phase fixed by the file"),
            (false, _, fixed) => {
                format!("{number}{sets} {list}, {fixed} phases fixed by the file")
            }
        }
    }

    /// Returns the names of what is drawn.
    fn drawn(&self) -> impl Iterator<Item = &'static str> {
        let all = [
            (self.phases > 0, "phases"),
            (self.times > 0, "release times"),
            (self.stacks, "stack costs"),
            (self.latencies, "switch latencies"),
            (self.errors, "bit errors"),
            (self.backoff, "back-off"),
            (self.timers, "timers"),
        ];
        all.into_iter().filter(|(is_drawn, _)| *is_drawn).map(|(_, name)| name)
    }

    /// Returns whether more than releases is drawn.
    pub const fn is_drawn(&self) -> bool {
        self.stacks || self.latencies || self.errors || self.backoff || self.timers
    }
}

fn draws(stack: &Stack) -> bool {
    let is_open = |jitter: &Jitter| jitter.spread != Spread::None || jitter.outliers.is_some();
    match stack {
        Stack::Zero | Stack::IpRate { .. } => false,
        Stack::Linear(own) => is_open(&own.jitter),
        Stack::Rtos(own) => is_open(&own.jitter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_differs_between_runs() {
        // Oracle: the sentences that a user should read.
        let plain = Varied::default();
        let drawn = Varied { phases: 3, ..plain };
        let fixed = Varied { fixed: 3, ..plain };
        let costs = Varied { stacks: true, ..fixed };
        let one = Varied { fixed: 1, ..drawn };
        let said = [(plain, 8), (drawn, 1), (drawn, 8), (fixed, 8), (costs, 2), (one, 8)];
        let expected = [
            "",
            "1 set of phases",
            "8 sets of phases",
            "phases fixed by the file",
            "2 sets of stack costs, phases fixed by the file",
            "8 sets of phases, 1 phase fixed by the file",
        ];
        assert_eq!(said.map(|(varied, runs)| varied.words(runs)), expected);
    }
}
