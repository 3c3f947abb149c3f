//! What Linux has no setting for.

use std::collections::BTreeSet;

use rtether_model::endnode::{TransmitConfig, TransmitStrategy};
use rtether_model::flow::Flow;
use rtether_model::network::{
    EndStation, Feature, ForwardingMode, NodeKind, Pcp, Redundancy, Switch,
};
use rtether_report::text::few;

use super::port::can_say;
use crate::scenario::Scenario;

/// A kind of node or port, and why it has no setting.
type Rule<T> = (fn(&T) -> bool, &'static str);

const SWITCHES: [Rule<Switch>; 7] = [
    (|switch| switch.router.is_some(), "a router is no bridge"),
    (
        |switch| switch.mode == ForwardingMode::CutThrough,
        "a bridge of Linux stores frames before it forwards them",
    ),
    (
        |switch| switch.plans().any(|plan| plan.needs(Feature::FrameTurns)),
        "Linux has no round robin that counts frames; `drr` counts octets",
    ),
    (
        |switch| switch.plans().any(|plan| plan.needs(Feature::Deadlines)),
        "frames that a bridge forwards have no deadline in Linux",
    ),
    (
        |switch| {
            // Those of the rules above have been refused.
            let mut others = switch
                .plans()
                .filter(|plan| !plan.needs(Feature::FrameTurns) && !plan.needs(Feature::Deadlines));
            others.any(|plan| !can_say(&plan))
        },
        "a port with this selection is not exported; `strict`, `drr` and `cbs` are",
    ),
    (|switch| switch.has_ingress(), "rules for frames that arrive are not exported"),
    (|switch| switch.mirror.is_some(), "mirror ports are not exported"),
];

const STATIONS: [Rule<EndStation>; 5] = [
    (
        |station| {
            let table = station.layer.as_ref().map(|layer| layer.table);
            table.is_some_and(|own| own.class_of(None) != own.class_of(Some(Pcp::default())))
        },
        "frames without a tag have priority 0 in Linux, and no queue of their own",
    ),
    (
        |station| station.redundancy == Some(Redundancy::Afdx),
        "Linux has PRP, and no redundancy of AFDX",
    ),
    (
        |station| {
            station.layer.as_ref().is_some_and(|layer| {
                layer.smoother.is_some() || layer.receive.is_some() || !layer.rules.is_empty()
            })
        },
        "Linux has no smoother, receive queues and rules of this layer; `rtether shim` has",
    ),
    (
        |station| {
            let transmit = station.layer.as_ref().and_then(|own| own.transmit.as_ref());
            transmit.is_some_and(|own| {
                !matches!(own.strategy, TransmitStrategy::Fifo | TransmitStrategy::Selection(_))
            })
        },
        "Linux has no transmit queues that watch the ring; `rtether shim` has",
    ),
    (
        |station| {
            let transmit = station.layer.as_ref().and_then(|own| own.transmit.as_ref());
            transmit.and_then(TransmitConfig::plan).is_some_and(|plan| !can_say(&plan))
        },
        "Linux has no such selection above the ring; `strict`, `drr` and `cbs` it has",
    ),
];

/// Returns all that Linux cannot be told.
pub(super) fn reasons(scenario: &Scenario) -> Vec<String> {
    let network = &scenario.network;
    let mut reasons = Vec::new();
    let mut refuse = |names: Vec<String>, why: &str| {
        reasons.extend(few(&names).map(|names| format!("{names}: {why}")));
    };
    for (is, why) in SWITCHES {
        let found = network
            .nodes
            .iter()
            .filter(|node| matches!(&node.kind, NodeKind::Switch(switch) if is(switch)));
        refuse(found.map(|node| node.name.clone()).collect(), why);
    }
    for (is, why) in STATIONS {
        let found = network
            .nodes
            .iter()
            .filter(|node| matches!(&node.kind, NodeKind::EndStation(station) if is(station)));
        refuse(found.map(|node| node.name.clone()).collect(), why);
    }
    refuse(
        mixed(scenario),
        "flows with a deadline need priorities above 0 that no others of the station have, as \
         `etf` drops frames without a time",
    );
    let links = network.links.iter();
    let odd = links.filter(|link| link.rate.as_bps() % 1_000_000 != 0);
    let odd = odd.map(|link| network.node(link.ends[0].node).name.clone());
    refuse(odd.collect(), "a link has whole megabits per second in Linux");
    let media = network.access.iter();
    let media = media.map(|access| network.node(access.hub).name.clone());
    refuse(media.collect(), "Linux has no access schemes");
    let flows = |is: &dyn Fn(&Flow) -> bool| -> Vec<String> {
        let found = scenario.flows.iter().filter(|flow| is(flow));
        found.map(|flow| flow.name.clone()).collect()
    };
    refuse(flows(&|flow| flow.gap.is_some()), "Linux has no gap for single flows");
    reasons
}

/// Returns the stations by deadline whose flows cannot be told apart.
fn mixed(scenario: &Scenario) -> Vec<String> {
    let nodes = scenario.network.iter_nodes();
    let found = nodes.filter(|(id, node)| {
        let NodeKind::EndStation(station) = &node.kind else {
            return false;
        };
        let of = |urgent: bool| -> BTreeSet<u8> {
            let flows = scenario.flows.iter();
            let own = flows.filter(|flow| flow.talker == *id && flow.deadline.is_some() == urgent);
            own.map(|flow| flow.tag.map_or(0, |tag| tag.pcp.get())).collect()
        };
        let urgent = of(true);
        station.by_deadline && (urgent.contains(&0) || !urgent.is_disjoint(&of(false)))
    });
    found.map(|(_, node)| node.name.clone()).collect()
}
