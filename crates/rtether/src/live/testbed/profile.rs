//! Whether the host was within the profile that the scenario states for its end nodes.

use rtether_live::station::{Answered, Arrived, Sent};
use rtether_model::flow::Flow;
use rtether_model::network::{Cost, Jitter, NodeId, Stack};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::wire;

use crate::scenario::Scenario;

/// The most that the stacks at both ends of a stream may take.
pub(super) struct Profile {
    /// Sending and receiving, of the talker.
    talker: [Duration; 2],
    /// The same of the listener.
    listener: [Duration; 2],
}

impl Profile {
    pub(super) fn of(scenario: &Scenario, flow: &Flow, listener: NodeId) -> Self {
        let limits = |node: NodeId| {
            let station = scenario.network.end_station(node);
            let sizes = [Some(flow.payload), flow.reply.map(|reply| reply.payload)];
            let sizes = sizes.into_iter().flatten();
            let size = sizes
                .map(|payload| wire::frame_size(payload, flow.encapsulation))
                .max();
            let size = size.unwrap_or(Bytes::ZERO);
            station.map_or([Duration::ZERO; 2], |station| most(&station.stack, size))
        };
        Self {
            talker: limits(flow.talker),
            listener: limits(listener),
        }
    }

    /// Returns whether all that is known of a packet's way through the end nodes was within the
    /// profile. What is not known was not.
    ///
    /// The call that sends lasts at least as long as the sending stack, on virtual devices longer;
    /// so a packet may be taken for one outside, never the other way round.
    pub(super) fn holds(
        &self,
        sent: &Sent,
        answered: Option<&Answered>,
        arrived: &Arrived,
    ) -> bool {
        let is_within = |spent: Option<Duration>, limit| spent.is_some_and(|spent| spent <= limit);
        let end = if arrived.is_answer {
            let Some(answered) = answered else {
                return false;
            };
            if !is_within(answered.receive, self.listener[1]) || answered.call > self.listener[0] {
                return false;
            }
            self.talker[1]
        } else {
            self.listener[1]
        };
        sent.call <= self.talker[0] && is_within(arrived.receive, end)
    }
}

/// Returns the most that a stack takes for a frame of a size, sending and receiving.
fn most(stack: &Stack, size: Bytes) -> [Duration; 2] {
    let with = |cost: Cost, jitter: &Jitter, is_outbound| {
        let rare = jitter
            .outliers
            .map_or(Duration::ZERO, |outliers| outliers.max);
        cost.of(size) + jitter.spread.max(is_outbound) + rare
    };
    match stack {
        Stack::Zero => [Duration::ZERO; 2],
        Stack::IpRate { service } => [*service; 2],
        Stack::Linear(linear) => {
            let interface = linear.interface.of(size);
            [(linear.send, true), (linear.receive, false)]
                .map(|(cost, is_outbound)| with(cost, &linear.jitter, is_outbound) + interface)
        }
        Stack::Rtos(rtos) => {
            [true, false].map(|is_outbound| with(rtos.datagram, &rtos.jitter, is_outbound))
        }
    }
}
