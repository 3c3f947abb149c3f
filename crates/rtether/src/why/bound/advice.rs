//! What the methods lose, and what would give a flow a bound.

use rtether_bounds::{
    AccessObstacle, ConnectionObstacle, IngressPart, LayerPart, Method, Reason, ResolutionObstacle,
};
use rtether_model::flow::FlowId;

use crate::scenario::Scenario;

/// Returns why a method that is not the least one gives more.
pub(super) const fn loses(method: Method) -> &'static str {
    match method {
        Method::TotalFlow | Method::FixedPoint => {
            "the flow's own jitter counts at every place, and each place by itself"
        }
        Method::RequestAndReply => {
            "only packets that pass a processor twice gain, or replies that follow their requests"
        }
        Method::SeparatedFlow => "bursts of other flows count at every port they share with it",
        Method::MultiplexingOnce => {
            "other flows may overtake, and come by straight lines above their packets"
        }
        Method::LeastUpperDelay => {
            "other flows come by straight lines above their packets, and are cut where they overlap"
        }
        Method::PortAndStack => "bursts of other flows count at every port but the last",
    }
}

/// Returns what would give the frames of a port turns that are proved.
const fn in_turn(obstacle: AccessObstacle) -> &'static str {
    match obstacle {
        AccessObstacle::Others => "every station on the medium in the scheme: no `others`",
        AccessObstacle::Faults => "a scheme without `lost` and `silent`",
        AccessObstacle::Impossible => "values that `access` accepts",
        AccessObstacle::Node => {
            "interfaces without costs per octet and switches of constant latency on the medium"
        }
        AccessObstacle::Queues => "a station without transmit queues and smoother",
        AccessObstacle::NoTurn => "a turn that takes its largest frame, within a longer cycle",
        AccessObstacle::Frame => "a scheme whose stations may send frames of this size",
    }
}

/// Returns what would give a flow a bound that has none for this reason.
pub(crate) fn remedy(scenario: &Scenario, own: FlowId, reason: &Reason) -> String {
    match reason {
        Reason::NoRoute(_) => "a link in use on the way, or a `route` of its own".into(),
        Reason::NotDelivered => {
            "a VLAN or an address table that leads its frames to the listener".into()
        }
        Reason::SharedMedium { .. } => {
            "a switch in place of the hub, and links with full duplex, or an `access` scheme; until \
             then `rtether check` gives the share of late packets"
                .into()
        }
        Reason::Access { obstacle, .. } => in_turn(*obstacle).into(),
        Reason::Overload { .. } => {
            "less than 100 % there: a faster link or stack, or fewer packets".into()
        }
        Reason::UnlimitedArrivals { flow } => {
            let who = if *flow == own {
                "it".to_owned()
            } else {
                format!("`{}`", scenario.flow_name(*flow))
            };
            let apart = if *flow == own {
                ""
            } else {
                ", or a lower priority for it than for this flow"
            };
            format!(
                "a limit on {who}: `period` or `min_gap`, a `smoother` in its station, or a window \
                 for a file{apart}"
            )
        }
        Reason::Connection { obstacle, .. } => for_connection(obstacle).into(),
        Reason::Files { .. } => {
            "none for a file; `min_gap` datagrams of the same rate would have one".into()
        }
        Reason::Samples { .. } => "datagrams in place of samples".into(),
        Reason::Cycle { .. } => {
            "less load on the cycle, or a way that does not close it (`route`)".into()
        }
        Reason::EndNodeLayer { part, .. } => match part {
            LayerPart::ReceiveQueues | LayerPart::TransmitQueues => {
                "an `idle_release` for these queues".into()
            }
            LayerPart::Congestion => "a smoother that does not empty its bucket on congestion".into(),
            LayerPart::StrictBelowSmoother | LayerPart::QueuesBelowSmoother => {
                "transmit queues in order of arrival below the smoother".into()
            }
            LayerPart::Fragments => "rules that do not name ports, or payloads of one frame".into(),
        },
        Reason::Ingress { part, .. } => match part {
            IngressPart::Demotion => {
                "a higher `police` or `burst` there, or `exceed: drop`".into()
            }
            IngressPart::Fragments => {
                "rules that do not name ports, or payloads of one frame".into()
            }
        },
        Reason::Resolution { obstacle, .. } => for_resolution(*obstacle).into(),
        Reason::LinkRate { .. } => {
            "a rate at which an octet takes whole picoseconds, such as 100 Mbit/s or 1 Gbit/s".into()
        }
        Reason::FloodingLoop { .. } => {
            "a tree: `standby: true` for a link of the loop, or address tables that know the listener"
                .into()
        }
        Reason::OutOfRange => "shorter bursts, or less jitter".into(),
    }
}

/// Returns what would prove that an address is resolved in time.
const fn for_resolution(obstacle: ResolutionObstacle) -> &'static str {
    match obstacle {
        ResolutionObstacle::Unbounded => {
            "full duplex and limited flows on the way of request and reply, or a station without `arp`"
        }
        ResolutionObstacle::Losses => {
            "links without bit errors, rules that let ARP pass, or a station without `arp`"
        }
        ResolutionObstacle::Late { .. } => "a longer `retry` in `arp` of its station",
    }
}

/// Returns what would prove that messages over TCP leave at once and arrive once.
const fn for_connection(obstacle: &ConnectionObstacle) -> &'static str {
    match obstacle {
        ConnectionObstacle::Releases => "`period` or `min_gap` for its messages",
        ConnectionObstacle::Policed => "rules whose limits its flows keep, or datagrams",
        ConnectionObstacle::Losses => "links without bit errors, or datagrams",
        ConnectionObstacle::Order => "tasks without `messages_first`, or datagrams",
        ConnectionObstacle::Scan => "a longer `period`, so that each is answered before the next",
        ConnectionObstacle::Window { .. } => {
            "smaller or fewer messages, a larger window, or datagrams"
        }
        ConnectionObstacle::Timeout { .. } => {
            "a longer retransmission timeout, or shorter bounds there and back"
        }
    }
}
