//! The document of a certificate, schema `rtether.certificate/1`.

use rtether_bounds::{Analysis, Arrivals, Choice, ClaimPlace, Claims, VisitClaim};
use rtether_model::flow::{Flow, Traffic};
use rtether_model::network::{Network, NodeId};
use rtether_model::quantity::Duration;
use rtether_report::document::Document;
use schemars::JsonSchema;
use serde::Serialize;

use super::plant::{PlantJson, end};

/// Claims about every visit of a packet at a place, and the plant that they are about; times are whole
/// picoseconds. The [format](certificate.md) has a page of its own.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CertificateJson<'a> {
    /// Version of rtether.
    rtether: &'static str,
    /// The plant, with every value written out.
    scenario: PlantJson<'a>,
    /// Claims about each flow, in the order of the plant.
    flows: Vec<ClaimsJson<'a>>,
    /// What the claims come to for each flow and listener, in the same order.
    streams: Vec<StreamJson<'a>>,
}

impl Document for CertificateJson<'_> {
    const SCHEMA: &'static str = "rtether.certificate/1";
}

impl CertificateJson<'_> {
    pub(super) fn bounds(&self) -> impl Iterator<Item = Option<Duration>> {
        self.streams.iter().map(|stream| stream.bound.map(Duration::from_ps))
    }

    pub(super) fn count(&self, of: fn(&StreamJson<'_>) -> bool) -> usize {
        self.streams.iter().filter(|stream| of(stream)).count()
    }
}

#[derive(Serialize, JsonSchema)]
struct ClaimsJson<'a> {
    /// Name of the flow.
    flow: &'a str,
    /// Whether every answer or acknowledgement is claimed to come before the flow gives up.
    waits: bool,
    /// Every place that its packets visit.
    visits: Vec<VisitJson<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct VisitJson<'a> {
    /// The listener whose packet, or whose answer, it is; `null` for a packet to a group.
    to: Option<&'a str>,
    /// `request` or `reply`.
    way: &'static str,
    /// The place.
    at: PlaceJson<'a>,
    /// Packets that arrive in a closed window of length `t`, at most
    /// `burst * (floor((t + jitter) / period) + 1)`; `null` if only the place before limits them.
    arrivals: Option<ArrivalsJson>,
    /// The rule by which the place chooses: `arrival`, `priority`, `preemption`, `frames`, `octets`,
    /// `gap`, `credit`, `deadline`, `highest`, `promoting`, `flag`, `moderate`, `strict` or `rings`.
    rule: Option<&'static str>,
    /// Longest time from an arrival to the beginning of its service.
    delay: Option<i64>,
}

/// A place, by kind and name: `["port", node, number]`, `["stack", station, "both" or "send" or
/// "receive"]`, `["tasks", station]`, `["router", switch]` or `["gap", station, flow]`.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum PlaceJson<'a> {
    Port(&'static str, &'a str, u32),
    Inside(&'static str, &'a str, &'a str),
    Alone(&'static str, &'a str),
}

#[derive(Serialize, JsonSchema)]
struct ArrivalsJson {
    /// Distance of the steps.
    period: i64,
    /// Packets at each step.
    burst: i64,
    /// How far the first steps may be ahead.
    jitter: i64,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct StreamJson<'a> {
    /// Name of the flow.
    flow: &'a str,
    /// The listener.
    listener: &'a str,
    /// Longest time from release to delivery, or to the answer, by the claims; `null` without a claim.
    pub(super) bound: Option<i64>,
    /// The least bound of all methods of rtether, which may be lower.
    pub(super) proved: Option<i64>,
}

/// Returns the document of these claims.
pub(super) fn document<'a>(
    (network, all): (&'a Network, &'a [Flow]),
    analysis: &Analysis,
    claims: &Claims,
    plant: PlantJson<'a>,
) -> CertificateJson<'a> {
    let mut flows: Vec<ClaimsJson<'_>> = all
        .iter()
        .zip(&claims.waits)
        .map(|(flow, &waits)| ClaimsJson { flow: &flow.name, waits, visits: Vec::new() })
        .collect();
    for claim in &claims.visits {
        let flow = &all[claim.flow.index()].name;
        flows[claim.flow.index()].visits.push(visit(network, claim, flow));
    }
    let streams = analysis.streams.iter().zip(&claims.bounds).map(|(stream, bound)| {
        let flow = &all[stream.flow.index()];
        // A file has no bound, though each of its segments may have one.
        let is_whole = flow.connection.is_none() && !matches!(flow.traffic, Traffic::Bulk(_));
        let proved = stream.bound.as_ref().ok().map(|own| own.latency.as_ps());
        StreamJson {
            flow: &flow.name,
            listener: name(network, stream.listener),
            bound: bound.filter(|_| is_whole && proved.is_some()).map(Duration::as_ps),
            proved,
        }
    });
    CertificateJson {
        rtether: env!("CARGO_PKG_VERSION"),
        scenario: plant,
        streams: streams.collect(),
        flows,
    }
}

fn name(network: &Network, node: NodeId) -> &str {
    &network.node(node).name
}

fn visit<'a>(network: &'a Network, claim: &VisitClaim, flow: &'a str) -> VisitJson<'a> {
    VisitJson {
        to: claim.copy.map(|node| name(network, node)),
        way: if claim.is_answer { "reply" } else { "request" },
        at: match claim.place {
            ClaimPlace::Port(port) => {
                let own = end(network, port);
                PlaceJson::Port("port", own.0, own.1)
            }
            ClaimPlace::Stack(node, side) => {
                let side =
                    side.map_or("both", |is_receiver| if is_receiver { "receive" } else { "send" });
                PlaceJson::Inside("stack", name(network, node), side)
            }
            ClaimPlace::Gap(node) => PlaceJson::Inside("gap", name(network, node), flow),
            ClaimPlace::Tasks(node) => PlaceJson::Alone("tasks", name(network, node)),
            ClaimPlace::Router(node) => PlaceJson::Alone("router", name(network, node)),
        },
        arrivals: claim.arrivals.map(|Arrivals { period, burst, jitter }| ArrivalsJson {
            period: period.as_ps(),
            burst,
            jitter: jitter.as_ps(),
        }),
        rule: claim.delay.map(|(choice, _)| match choice {
            Choice::Arrival => "arrival",
            Choice::Priority => "priority",
            Choice::Preemption => "preemption",
            Choice::Frames => "frames",
            Choice::Octets => "octets",
            Choice::Gap => "gap",
            Choice::Credit => "credit",
            Choice::Deadline => "deadline",
            Choice::Highest => "highest",
            Choice::Promoting => "promoting",
            Choice::Flag => "flag",
            Choice::Moderate => "moderate",
            Choice::Strict => "strict",
            Choice::Rings => "rings",
        }),
        delay: claim.delay.map(|(_, delay)| delay.as_ps()),
    }
}
