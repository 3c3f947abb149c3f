//! Costs that are not known, in the nodes of a network.

use alloc::vec::Vec;

use super::{EndStation, Network, NodeId, NodeKind, Stack, Switch};
use crate::quantity::Duration;
use crate::unknown::{CostName, Unknown, stated};

/// An unknown cost, with its place and its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The node.
    pub node: NodeId,
    /// Which of its costs.
    pub cost: CostName,
    /// The least that it can be.
    pub least: Duration,
    /// The most that it can be.
    pub most: Duration,
}

impl EndStation {
    /// Returns the part of a cost that does not depend on the size; `None` if its stack and tasks
    /// do not have it.
    pub fn cost_mut(&mut self, cost: CostName) -> Option<&mut Duration> {
        use CostName as Name;
        match cost {
            Name::TaskMessage => self.tasks.as_mut().map(|own| &mut own.message),
            Name::TaskSegment => self.tasks.as_mut().map(|own| &mut own.segment),
            // A sum is no cost of one direction.
            Name::Both | Name::Sum | Name::Latency | Name::Router => None,
            Name::Service
            | Name::Send
            | Name::Receive
            | Name::Interface
            | Name::Datagram
            | Name::Segment
            | Name::Acknowledgement => match (&mut self.stack, cost) {
                (Stack::IpRate { service }, Name::Service) => Some(service),
                (Stack::Linear(own), Name::Send) => Some(&mut own.send.base),
                (Stack::Linear(own), Name::Receive) => Some(&mut own.receive.base),
                (Stack::Linear(own), Name::Interface) => Some(&mut own.interface.base),
                (Stack::Rtos(own), Name::Datagram) => Some(&mut own.datagram.base),
                (Stack::Rtos(own), Name::Segment) => Some(&mut own.segment.base),
                (Stack::Rtos(own), Name::Acknowledgement) => Some(&mut own.acknowledgement.base),
                _ => None,
            },
        }
    }

    /// Decides its unknown costs: `decide` gets the name and the most that may be added. Of a sum
    /// whose split is not known it decides the part of receiving; the rest is that of sending. If the
    /// sum itself is not known, it decides by how much that is above its least, and both parts shrink
    /// alike.
    pub fn decide(&mut self, mut decide: impl FnMut(CostName, Duration) -> Duration) {
        let unknown = core::mem::take(&mut self.unknown);
        let range = stated(&unknown, CostName::Sum);
        for Unknown { cost, more } in
            unknown.iter().copied().filter(|own| own.cost != CostName::Sum)
        {
            let added = decide(cost, more);
            if cost != CostName::Both {
                self.add(cost, added);
                continue;
            }
            let above = if range > Duration::ZERO { decide(CostName::Sum, range) } else { range };
            let sum = more - range + above;
            let receive = part(added, sum, more);
            self.add(CostName::Receive, receive);
            self.add(CostName::Send, sum - receive);
        }
    }

    fn add(&mut self, cost: CostName, added: Duration) {
        if let Some(known) = self.cost_mut(cost) {
            *known += added;
        }
    }

    /// Takes every unknown cost at its most, and of a sum the whole in each direction: slower than
    /// the station can be.
    pub fn slow_down(&mut self) {
        for Unknown { cost, more } in core::mem::take(&mut self.unknown) {
            if cost == CostName::Both {
                self.add(CostName::Send, more);
                self.add(CostName::Receive, more);
            } else {
                self.add(cost, more);
            }
        }
    }
}

/// Returns what `added` of `whole` is of a smaller sum, rounded down.
fn part(added: Duration, sum: Duration, whole: Duration) -> Duration {
    let product = i128::from(added.as_ps()) * i128::from(sum.as_ps());
    let part = product / i128::from(whole.as_ps().max(1));
    Duration::from_ps(i64::try_from(part).expect("a part is at most the sum"))
}

impl Switch {
    /// Decides its unknown costs, as [`EndStation::decide`].
    pub fn decide(&mut self, mut decide: impl FnMut(CostName, Duration) -> Duration) {
        let latency = core::mem::take(&mut self.unknown_latency);
        if latency > Duration::ZERO {
            self.latency += decide(CostName::Latency, latency);
        }
        if let Some(router) = &mut self.router {
            let cost = core::mem::take(&mut router.unknown);
            if cost > Duration::ZERO {
                router.cost.base += decide(CostName::Router, cost);
            }
        }
    }
}

impl Network {
    /// Returns whether any cost is not known.
    pub fn has_unknown(&self) -> bool {
        self.nodes.iter().any(|node| match &node.kind {
            NodeKind::EndStation(station) => !station.unknown.is_empty(),
            NodeKind::Switch(switch) => {
                let router = switch.router.is_some_and(|own| own.unknown > Duration::ZERO);
                router || switch.unknown_latency > Duration::ZERO
            }
            NodeKind::Hub(_) => false,
        })
    }

    /// Returns the network with its unknown costs decided: `decide` gets the node, the name of the
    /// cost and the most that may be added to its least. Answers beyond that are a mistake of the
    /// caller.
    #[must_use]
    pub fn decided(&self, mut decide: impl FnMut(NodeId, CostName, Duration) -> Duration) -> Self {
        let mut network = self.clone();
        for (node, number) in network.nodes.iter_mut().zip(0..) {
            let mut own = |cost, more| decide(NodeId(number), cost, more);
            match &mut node.kind {
                NodeKind::EndStation(station) => station.decide(&mut own),
                NodeKind::Switch(switch) => switch.decide(&mut own),
                NodeKind::Hub(_) => {}
            }
        }
        network
    }

    /// Returns the network with every unknown cost at its lower end.
    #[must_use]
    pub fn at_least(&self) -> Self {
        self.decided(|_, _, _| Duration::ZERO)
    }

    /// Returns the network with every unknown cost at its upper end.
    #[must_use]
    pub fn at_most(&self) -> Self {
        self.decided(|_, _, more| more)
    }

    /// Returns the costs that are not known, by node; a sum whose split is not known is none of
    /// them.
    pub fn intervals(&self) -> Vec<Interval> {
        let mut found = Vec::new();
        let mut decided = self.at_least();
        let _ = self.decided(|node, cost, more| {
            let least = match &mut decided.nodes[node.index()].kind {
                NodeKind::EndStation(station) => station.cost_mut(cost).copied(),
                NodeKind::Switch(switch) if cost == CostName::Latency => Some(switch.latency),
                NodeKind::Switch(switch) => switch.router.map(|own| own.cost.base),
                NodeKind::Hub(_) => None,
            };
            if let Some(least) = least {
                let most = least + more;
                found.push(Interval { node, cost, least, most });
            }
            Duration::ZERO
        });
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Cost, Jitter, LinearStack, Servers};
    use crate::unknown::more;

    fn linear(us: i64) -> Stack {
        let cost = Cost { base: Duration::from_us(us), per_octet: Duration::ZERO };
        Stack::Linear(LinearStack {
            send: cost,
            receive: cost,
            interface: Cost::default(),
            jitter: Jitter::default(),
            servers: Servers::Shared,
        })
    }

    /// Oracle: by hand.
    #[test]
    fn each_unknown_cost_is_decided_between_its_ends() {
        let us = Duration::from_us;
        let mut network = Network::default();
        let mut station = EndStation::new(linear(20));
        station.unknown.push(Unknown { cost: CostName::Receive, more: us(180) });
        let a = network.add("a", NodeKind::EndStation(station));
        let switch = Switch { latency: us(2), unknown_latency: us(8), ..Switch::new(2) };
        let s = network.add("s", NodeKind::Switch(switch));
        let interval =
            |node, cost, least, most| Interval { node, cost, least: us(least), most: us(most) };
        assert_eq!(
            network.intervals(),
            [interval(a, CostName::Receive, 20, 200), interval(s, CostName::Latency, 2, 10),]
        );
        let costs = |network: &Network| {
            let station = network.end_station(a).expect("a station");
            let Stack::Linear(own) = &station.stack else { panic!("a linear stack") };
            let switch = network.switch(s).expect("a switch");
            [own.send.base, own.receive.base, switch.latency]
        };
        assert!(network.has_unknown() && !network.at_least().has_unknown());
        assert_eq!(costs(&network.at_least()), [20, 20, 2].map(us));
        assert_eq!(costs(&network.at_most()), [20, 200, 10].map(us));
        let half = network.decided(|_, _, more| more / 2);
        assert_eq!(costs(&half), [20, 110, 6].map(us));
    }

    /// Oracle: by hand.
    #[test]
    fn a_sum_is_split_between_both_directions() {
        let us = Duration::from_us;
        let mut station = EndStation::new(linear(20));
        station.unknown.push(Unknown { cost: CostName::Both, more: us(300) });
        let costs = |station: &EndStation| {
            let Stack::Linear(own) = &station.stack else { panic!("a linear stack") };
            [own.send.base, own.receive.base]
        };
        for receive in [0, 100, 300] {
            let mut own = station.clone();
            own.decide(|cost, more| {
                assert_eq!((cost, more), (CostName::Both, us(300)));
                us(receive)
            });
            assert_eq!(costs(&own), [320 - receive, 20 + receive].map(us));
        }
        let [send, receive] =
            [CostName::Send, CostName::Receive].map(|one| more(&station.unknown, one));
        assert_eq!((send, receive), (us(300), us(300)));
        // The sum is 240 us to 300 us: both parts of it shrink alike.
        station.unknown.push(Unknown { cost: CostName::Sum, more: us(60) });
        for (above, receive, expected) in
            [(0, 0, [260, 20]), (0, 300, [20, 260]), (60, 100, [220, 120]), (30, 150, [155, 155])]
        {
            let mut own = station.clone();
            own.decide(|cost, _| us(if cost == CostName::Sum { above } else { receive }));
            assert_eq!(costs(&own), expected.map(us));
        }
        station.slow_down();
        assert_eq!(costs(&station), [320, 320].map(us));
    }
}
