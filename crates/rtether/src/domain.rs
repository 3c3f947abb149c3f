//! Collision domains: members and statistics.

use rtether_model::network::{LinkId, Network, NodeId};
use rtether_model::record::{AccessRecord, MediumRecord, PortRecord, Record};
use rtether_report::text::{real, real_len};
use schemars::JsonSchema;
use serde::Serialize;

/// One collision domain.
#[derive(Clone, Debug)]
pub struct Domain<'a> {
    /// Counters of the runs.
    pub record: &'a MediumRecord,
    /// Hubs, in the order of the network; none for a half-duplex link between two ports.
    pub hubs: Vec<NodeId>,
    /// Links of the domain.
    pub links: Vec<LinkId>,
    /// Ports of stations and switches in order; hub ports are not included.
    pub ports: Vec<&'a PortRecord>,
}

/// Result of the attempts with one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Attempts {
    /// Attempt number; 1 is the first attempt of a frame.
    pub number: u32,
    /// Transmissions started.
    pub made: u64,
    /// Of these, those that collided.
    pub collided: u64,
}

impl Attempts {
    /// Returns the share of attempts that collided; `None` if there were none.
    pub fn ratio(self) -> Option<f64> {
        (self.made > 0).then(|| real(self.collided) / real(self.made))
    }
}

impl<'a> Domain<'a> {
    /// Returns all collision domains in the order of the record.
    pub fn all(network: &Network, record: &'a Record) -> Vec<Self> {
        let domains = record.media.iter();
        domains.map(|medium| Self::new(network, record, medium)).collect()
    }

    fn new(network: &Network, record: &'a Record, medium: &'a MediumRecord) -> Self {
        let is_hub = |node: NodeId| network.hub(node).is_some();
        let mut hubs: Vec<NodeId> = medium.ports.iter().map(|port| port.node).collect();
        hubs.retain(|&node| is_hub(node));
        let mut links: Vec<LinkId> = Vec::new();
        // Each pass reaches hubs one link further away.
        loop {
            let found = links.len();
            for (id, link) in network.iter_links().filter(|(_, link)| !link.standby) {
                let touches = link
                    .ends
                    .iter()
                    .any(|end| medium.ports.contains(end) || hubs.contains(&end.node));
                if touches && !links.contains(&id) {
                    links.push(id);
                    hubs.extend(link.ends.map(|end| end.node).iter().filter(|n| is_hub(**n)));
                }
            }
            if links.len() == found {
                break;
            }
        }
        links.sort_unstable();
        hubs.sort_unstable();
        hubs.dedup();
        let ports = record.ports.iter();
        let ports = ports
            .filter(|port| medium.ports.contains(&port.port) && !is_hub(port.port.node))
            .collect();
        Self { record: medium, hubs, links, ports }
    }

    /// Returns the names of the hubs, or of the two ends of the link.
    pub fn names(&self, network: &Network) -> Vec<String> {
        let name = |node: NodeId| network.node(node).name.clone();
        if !self.hubs.is_empty() {
            return self.hubs.iter().map(|&hub| name(hub)).collect();
        }
        let ends = self.record.ports.iter();
        let ends: Vec<String> = ends.map(|port| name(port.node)).collect();
        vec![ends.join(" - ")]
    }

    /// Returns [`Self::names`] as one text.
    pub fn name(&self, network: &Network) -> String {
        self.names(network).join(", ")
    }

    /// Returns the number of frames sent successfully.
    pub fn sent(&self) -> u64 {
        self.ports.iter().map(|port| port.sent).sum()
    }

    /// Returns the number of transmissions that collided.
    pub fn collisions(&self) -> u64 {
        self.record.collisions.iter().sum()
    }

    /// Returns collisions per frame sent; `None` if none was sent.
    pub fn collisions_per_frame(&self) -> Option<f64> {
        let sent = self.sent();
        (sent > 0).then(|| real(self.collisions()) / real(sent))
    }

    /// Returns the sum of the access counters of all ports.
    pub fn access(&self) -> AccessRecord {
        let mut all = AccessRecord::default();
        for access in self.ports.iter().filter_map(|port| port.access.as_ref()) {
            all.collisions += access.collisions;
            all.sent_after_collision += access.sent_after_collision;
            all.excessive_collisions += access.excessive_collisions;
            all.late_collisions += access.late_collisions;
        }
        all
    }

    /// Returns the attempts by number, up to the last number with collisions.
    ///
    /// Each attempt after the first follows a collision, so only first attempts need counting; the
    /// few frames still waiting for their next attempt at the end of a run count as having made it.
    pub fn attempts(&self) -> Vec<Attempts> {
        let collisions = &self.record.collisions;
        let at_once = self.sent().saturating_sub(self.access().sent_after_collision);
        let mut made = at_once + collisions.first().copied().unwrap_or(0);
        let used = collisions.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
        let numbered = (1..).zip(&collisions[..used]);
        let attempts = numbered.map(|(number, &collided)| {
            let all = Attempts { number, made: made.max(collided), collided };
            made = collided;
            all
        });
        attempts.collect()
    }

    /// Returns Jain's index over frames sent, for ports with offered traffic.
    pub fn fairness_frames(&self) -> Option<f64> {
        let offering = self.ports.iter().filter(|port| port.offered > 0);
        fairness(offering.map(|port| port.sent))
    }

    /// Returns Jain's index over octets sent, for ports with offered traffic.
    pub fn fairness_octets(&self) -> Option<f64> {
        let offering = self.ports.iter().filter(|port| port.offered > 0);
        fairness(offering.map(|port| port.sent_wire.get()))
    }
}

/// Returns Jain's index: the squared sum over n times the sum of squares; `None` if all values are
/// zero.
fn fairness(values: impl Iterator<Item = u64>) -> Option<f64> {
    let values: Vec<f64> = values.map(real).collect();
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|value| value * value).sum();
    (sum > 0.0).then(|| sum * sum / (real_len(values.len()) * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness_by_hand() {
        // Jain, Chiu and Hawe, 1984: equal shares give 1, one of four with all gives 1/4.
        let index = |values: &[u64]| fairness(values.iter().copied());
        assert!(index(&[5, 5, 5]).is_some_and(|i| (i - 1.0).abs() < 1e-12));
        assert!(index(&[8, 0, 0, 0]).is_some_and(|i| (i - 0.25).abs() < 1e-12));
        // (1 + 2 + 3)^2 / (3 * 14) = 36 / 42.
        assert!(index(&[1, 2, 3]).is_some_and(|i| (i - 36.0 / 42.0).abs() < 1e-12));
        assert_eq!(index(&[0, 0]), None);
        assert_eq!(index(&[]), None);
    }

    #[test]
    fn a_half_duplex_link_is_a_domain_of_its_own() {
        use rtether_model::network::{Duplex, EndStation, Link, Node, NodeKind, PortId, Stack};
        use rtether_model::quantity::BitRate;

        let node = |name: &str| Node {
            name: name.into(),
            kind: NodeKind::EndStation(EndStation::new(Stack::Zero)),
        };
        let ends = [0, 1].map(|node| PortId::first(NodeId(node)));
        let network = Network {
            nodes: vec![node("a"), node("b")],
            links: vec![Link { duplex: Duplex::Half, ..Link::new(ends, BitRate::from_mbps(10)) }],
            ..Network::default()
        };
        let record = Record {
            media: vec![MediumRecord { ports: ends.to_vec(), ..MediumRecord::default() }],
            ..Record::default()
        };
        let domains = Domain::all(&network, &record);
        assert_eq!(domains[0].name(&network), "a - b");
        assert_eq!((&domains[0].links[..], domains[0].hubs.len()), (&[LinkId(0)][..], 0));
        assert_eq!(domains[0].collisions_per_frame(), None);
        assert!(domains[0].attempts().is_empty());
    }

    #[test]
    fn attempts_follow_collisions() {
        let medium = MediumRecord { collisions: vec![40, 10, 2, 0, 0], ..MediumRecord::default() };
        let port = PortRecord {
            port: rtether_model::network::PortId::first(NodeId(0)),
            link: LinkId(0),
            offered: 100,
            sent: 100,
            sent_wire: rtether_model::quantity::Bytes::new(1),
            dropped: 0,
            queued: 0,
            corrupted: 0,
            busy: rtether_model::quantity::Duration::ZERO,
            backlog_max: rtether_model::quantity::Bytes::ZERO,
            queues: Vec::new(),
            access: Some(AccessRecord { sent_after_collision: 30, ..AccessRecord::default() }),
        };
        let domain =
            Domain { record: &medium, hubs: Vec::new(), links: Vec::new(), ports: vec![&port] };
        // 70 succeeded at the first attempt and 40 first attempts collided; then 40 second ones, 10
        // third ones.
        let made: Vec<(u32, u64, u64)> =
            domain.attempts().iter().map(|a| (a.number, a.made, a.collided)).collect();
        assert_eq!(made, [(1, 110, 40), (2, 40, 10), (3, 10, 2)]);
        assert_eq!(domain.collisions_per_frame(), Some(0.52));
    }
}
