//! The plant with switches in place of its hubs, twice, and virtual links as of AFDX (ARINC 664, part
//! 7).
//!
//! Links are full duplex at the rate they had. A switch takes 16 us, and sends what is not TCP first;
//! stations send what has a deadline first, as they do under access schemes with their two queues. A
//! flow is a virtual link with the largest gap of 2^k ms that is no longer than the time between its
//! frames; flows that cannot have one, or send more often than each millisecond, have none. Nothing is
//! policed, as nothing sends more than it says. Each end system sends into both networks and takes what
//! comes first; stations with a layer or tasks, which drive one port, are in the first network.

use rtether_model::endnode::HeaderMatch;
use rtether_model::flow::Flow;
use rtether_model::ingress::IngressRule;
use rtether_model::network::{
    Duplex, Hub, Network, NodeKind, Pcp, QueueMap, Redundancy, Selection, Switch,
};
use rtether_model::quantity::Duration;

use crate::scenario::Scenario;

/// Latency of a switch.
const LATENCY: Duration = Duration::from_us(16);
/// Protocol number of TCP (IANA).
const TCP: u8 = 6;
/// Gaps are 1 to 128 ms.
const GAPS: std::ops::RangeInclusive<u32> = 0..=7;

/// Returns the plant with switches and virtual links.
pub(super) fn with_virtual_links(scenario: &Scenario) -> Scenario {
    let mut changed = scenario.clone();
    let network = &mut changed.network;
    network.access = Vec::new();
    for node in &mut network.nodes {
        match &mut node.kind {
            NodeKind::Hub(hub) => node.kind = NodeKind::Switch(switch(hub)),
            NodeKind::EndStation(own) if own.layer.is_none() => own.by_deadline = true,
            NodeKind::EndStation(_) | NodeKind::Switch(_) => {}
        }
    }
    for link in &mut network.links {
        link.duplex = Duplex::Full;
    }
    network.add_second(|own| {
        let drives_one_port = own.layer.is_some() || own.tasks.is_some();
        (!drives_one_port).then_some(Redundancy::Afdx)
    });
    for flow in &mut changed.flows {
        flow.gap = gap(flow, network);
        // Both networks are trees that leave no choice, or the shortest ways are taken.
        flow.routes.clear();
    }
    changed
}

fn switch(hub: &Hub) -> Switch {
    let of_tcp = IngressRule {
        headers: HeaderMatch { protocol: Some(TCP), ..HeaderMatch::default() },
        ..IngressRule::default()
    };
    let others = IngressRule { mark: Pcp::new(7), ..IngressRule::default() };
    Switch {
        latency: LATENCY,
        queues: QueueMap::standard(2).unwrap_or(QueueMap::ONE),
        selection: Selection::StrictPriority,
        ingress: vec![of_tcp, others],
        ..Switch::new(hub.ports.into())
    }
}

/// Returns the gap of a flow as a virtual link.
fn gap(flow: &Flow, network: &Network) -> Option<Duration> {
    let releases = flow.traffic.releases()?;
    let each = releases.period / i64::from(releases.burst.max(1));
    let gaps = GAPS.map(|power| Duration::from_ms(1 << power));
    let gap = gaps.rev().find(|&gap| gap <= each);
    Flow { gap, ..flow.clone() }.kept_gap(network)
}
