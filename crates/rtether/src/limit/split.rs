//! Splits the limit of the network into limits of its stations: equal, or by need (R25, R90).

use std::collections::BTreeMap;

use rtether_model::flow::FlowId;
use rtether_model::network::NodeId;
use rtether_model::quantity::{Bytes, Duration};
use rtether_report::text::{real, real_len};

use crate::load::{self, Offer, rounded};
use crate::scenario::Scenario;

/// Depth of the credit bucket, CBD, for which periods are given.
pub const DEPTH: Bytes = Bytes::new(1500);

/// The limit of one station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Station {
    /// The station.
    pub node: NodeId,
    /// Its present load of the scaled flows, in bits per second on the wire.
    pub present_bps: f64,
    /// Its load of all other flows.
    pub other_bps: f64,
    /// Its limit if all stations get the same.
    pub equal: Share,
    /// Its limit if all stations get the same multiple of their present load.
    pub by_need: Share,
}

/// Share of one station in the limit of the network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Bits per second of the scaled flows, on the wire.
    pub limit_bps: f64,
    /// Refresh period, RP, of a credit bucket of [`DEPTH`] that lets through this load and the
    /// station's other flows: real-time packets are charged, too.
    pub period: Duration,
}

/// Splits `factor` times the present load among the stations that send it.
pub(super) fn stations(scenario: &Scenario, flows: &[FlowId], factor: f64) -> Vec<Station> {
    let mut own: BTreeMap<NodeId, Offer> = BTreeMap::new();
    let mut others: BTreeMap<NodeId, Offer> = BTreeMap::new();
    for (id, flow) in (0u32..).map(FlowId).zip(&scenario.flows) {
        let sums = if flows.contains(&id) { &mut own } else { &mut others };
        for (station, offer) in load::offers(flow) {
            sums.entry(station).or_default().add(offer);
        }
    }
    let present: f64 = own.values().map(|offer| offer.wire_bps).sum();
    let equal = present * factor / real_len(own.len().max(1));
    let stations = own.iter().map(|(&node, offer)| {
        let other = others.get(&node).copied().unwrap_or_default();
        // Frames keep their size, so that datagrams keep their share of the wire load.
        let share = |limit_bps: f64| Share {
            limit_bps,
            period: period(limit_bps * offer.datagram_bps / offer.wire_bps + other.datagram_bps),
        };
        Station {
            node,
            present_bps: offer.wire_bps,
            other_bps: other.wire_bps,
            equal: share(equal),
            by_need: share(offer.wire_bps * factor),
        }
    });
    stations.collect()
}

/// Returns the refresh period at which a bucket of [`DEPTH`] gives this rate.
fn period(bps: f64) -> Duration {
    let ps = rounded(real(DEPTH.bits()) * 1e12 / bps);
    Duration::from_ps(i64::try_from(ps).unwrap_or(i64::MAX))
}
