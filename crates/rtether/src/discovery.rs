//! What discovery over RTPS takes: octets, time, and the load of each link, simulated with the
//! engine that runs on the wire.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use rtether_model::flow::Flow;
use rtether_model::network::{NodeId, PortId};
use rtether_model::quantity::{BitRate, Duration, Instant};
use rtether_model::wire::wire_size;
use rtether_sim::observe::{Datagram, Delivery, Observer, PacketInfo};
use schemars::JsonSchema;
use serde::Serialize;

use crate::run::{Progress, simulate_seed};
use crate::scenario::Scenario;
use rtether_report::document::{self, Document};
use rtether_report::format::{Part, Render};
use rtether_report::table::{Screen, Table};
use rtether_report::text::{plural, time};
use rtether_sim::BuildError;

/// Span in which the load of a link is highest.
const SPAN: Duration = Duration::from_ms(10);
/// Links that are listed for people.
const SHOWN: usize = 12;

/// What discovery takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovery {
    /// Title of the scenario.
    pub title: String,
    /// Participants that have sent.
    pub participants: usize,
    /// Simulated time.
    pub span: Duration,
    /// Datagrams of discovery, each counted where it is sent.
    pub datagrams: u64,
    /// Octets of their payloads.
    pub octets: u64,
    /// When 99 of 100 of these octets had been sent.
    pub settled: Option<Duration>,
    /// Streams, and those of which a sample has arrived.
    pub streams: [usize; 2],
    /// When a sample of each of these had arrived.
    pub matched: Option<Duration>,
    /// Each direction of a link that carries discovery, the busiest first.
    pub links: Vec<Load>,
}

/// What discovery over RTPS takes.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DiscoveryJson<'a> {
    /// Title of the scenario.
    title: &'a str,
    /// Participants that have sent.
    participants: usize,
    /// Simulated time.
    span_ns: i64,
    /// Datagrams of discovery, each counted where it is sent.
    datagrams: u64,
    /// Octets of their payloads.
    payload_bytes: u64,
    /// When 99 of 100 of these octets had been sent.
    settled_ns: Option<i64>,
    /// Streams.
    streams: usize,
    /// Streams of which a sample has arrived.
    streams_met: usize,
    /// When a sample of each of these had arrived.
    matched_ns: Option<i64>,
    /// Each direction of a link that carries discovery, the busiest first.
    links: Vec<LoadJson<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct LoadJson<'a> {
    /// The sending node.
    from: &'a str,
    /// The receiving node.
    to: &'a str,
    /// Rate of the link.
    rate_bps: u64,
    /// Frames.
    frames: u64,
    /// Octets on the wire, with preamble and gap.
    wire_bytes: u64,
    /// The most of them in 10 ms.
    busiest_bytes: u64,
}

impl Document for DiscoveryJson<'_> {
    const SCHEMA: &'static str = "rtether.discovery/1";
}

/// Discovery on one direction of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// The sending node.
    pub from: String,
    /// The receiving node.
    pub to: String,
    /// Rate of the link.
    pub rate: BitRate,
    /// Frames.
    pub frames: u64,
    /// Octets on the wire, with preamble and gap.
    pub octets: u64,
    /// Largest number of them in 10 ms.
    pub busiest: u64,
}

impl Load {
    /// Returns the share of the rate in the busiest 10 ms, in thousandths.
    pub fn busiest_milli(&self) -> u64 {
        let full = self.rate.bytes_floor(SPAN).get().max(1);
        self.busiest.saturating_mul(1_000) / full
    }
}

/// Simulates the first seed of a scenario; `None` if no flow of it is over RTPS.
///
/// # Errors
/// The scenario cannot be simulated.
pub fn discovery(
    scenario: &Scenario,
    progress: &Progress,
) -> Result<Option<Discovery>, BuildError> {
    if !scenario.flows.iter().any(Flow::is_published) {
        return Ok(None);
    }
    let mut seen = Seen {
        stations: scenario
            .network
            .iter_nodes()
            .map(|(id, _)| id)
            .filter(|id| scenario.network.end_station(*id).is_some())
            .collect(),
        ..Seen::default()
    };
    let seed = scenario.run.seed;
    simulate_seed(scenario, seed, progress, &mut seen)?;
    Ok(Some(seen.into_discovery(scenario)))
}

/// Load of a port while it is counted.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    frames: u64,
    octets: u64,
    busiest: u64,
    span: i64,
    in_span: u64,
}

#[derive(Debug, Default)]
struct Seen {
    stations: BTreeSet<NodeId>,
    /// Octets of the next frame, if it is discovery.
    next: Option<u64>,
    senders: BTreeSet<NodeId>,
    datagrams: u64,
    octets: u64,
    /// Octets sent in each millisecond.
    by_ms: BTreeMap<i64, u64>,
    ports: BTreeMap<PortId, Count>,
    first: BTreeMap<usize, Instant>,
}

impl Observer for Seen {
    fn carries(&mut self, datagram: &Datagram<'_>) {
        let octets = u64::try_from(datagram.octets.len()).unwrap_or(0);
        self.next = datagram.is_discovery.then_some(octets);
    }

    fn transmitted(&mut self, now: Instant, port: PortId, packet: &PacketInfo) {
        let Some(octets) = self.next.take() else {
            return;
        };
        if self.stations.contains(&port.node) {
            self.senders.insert(port.node);
            self.datagrams += 1;
            self.octets += octets;
            let ms = (now - Instant::ZERO).as_ns_floor() / 1_000_000;
            *self.by_ms.entry(ms).or_default() += octets;
        }
        let wire = wire_size(packet.frame_size).get();
        let count = self.ports.entry(port).or_default();
        let span = (now - Instant::ZERO).as_ps() / SPAN.as_ps();
        if span != count.span {
            (count.span, count.in_span) = (span, 0);
        }
        count.frames += 1;
        count.octets += wire;
        count.in_span += wire;
        count.busiest = count.busiest.max(count.in_span);
    }

    fn delivered(&mut self, now: Instant, _: &PacketInfo, delivery: &Delivery) {
        self.first.entry(delivery.stream).or_insert(now);
    }
}

impl Seen {
    fn into_discovery(self, scenario: &Scenario) -> Discovery {
        let network = &scenario.network;
        let mut sent = 0;
        let settled = self.by_ms.iter().find_map(|(ms, octets)| {
            sent += octets;
            let is_most = sent.saturating_mul(100) >= self.octets.saturating_mul(99);
            is_most.then(|| Duration::from_ms(ms + 1))
        });
        let name = |node: NodeId| {
            let mut nodes = network.iter_nodes();
            let found = nodes.find(|(id, _)| *id == node);
            found.map_or_else(String::new, |(_, node)| node.name.clone())
        };
        let links = self.ports.iter().filter_map(|(port, count)| {
            let mut links = network.links.iter();
            let (rate, peer) = links.find_map(|link| Some((link.rate, link.peer_of(*port)?)))?;
            Some(Load {
                from: name(port.node),
                to: name(peer.node),
                rate,
                frames: count.frames,
                octets: count.octets,
                busiest: count.busiest,
            })
        });
        let mut links: Vec<Load> = links.collect();
        links.sort_by_key(|load| core::cmp::Reverse((load.busiest_milli(), load.octets)));
        let streams = scenario.flows.iter().map(|flow| flow.listeners.len()).sum();
        Discovery {
            title: scenario.name.clone(),
            participants: self.senders.len(),
            span: scenario.run.duration,
            datagrams: self.datagrams,
            octets: self.octets,
            settled,
            streams: [streams, self.first.len()],
            matched: self.first.values().max().map(|at| *at - Instant::ZERO),
            links,
        }
    }
}

/// Returns thousandths as percent.
fn percent(milli: u64) -> String {
    format!("{}.{} %", milli / 10, milli % 10)
}

impl Discovery {
    fn table(&self, shown: usize) -> Table {
        Table::of(self.links.iter().take(shown))
            .both("from", "from", |one| &one.from)
            .both("to", "to", |one| &one.to)
            .number("frames", "frames", |one| one.frames)
            .number("octets", "wire_bytes", |one| one.octets)
            .amount("busiest 10 ms", |one| percent(one.busiest_milli()))
            .file("busiest_bytes", |one| one.busiest)
            .file("rate_bps", |one| one.rate.as_bps())
            .done()
    }
}

impl Render for Discovery {
    fn parts(&self, _: Screen) -> Vec<Part> {
        let mut head = format!(
            "{}\n\n{} of RTPS, simulated for {}\n",
            self.title,
            plural(self.participants, "participant"),
            time(self.span)
        );
        let pairs = self.participants.saturating_mul(self.participants.saturating_sub(1));
        let pairs = u64::try_from(pairs).unwrap_or(u64::MAX).max(1);
        _ = writeln!(
            head,
            "discovery         {} datagrams, {} of a pair, {} octets",
            self.datagrams,
            self.datagrams / pairs,
            self.octets
        );
        if let Some(settled) = self.settled {
            _ = writeln!(head, "99 % of it        within {}", time(settled));
        }
        let [streams, met] = self.streams;
        if let Some(matched) = self.matched {
            _ = writeln!(
                head,
                "first samples     of {met} of {streams} streams within {}",
                time(matched)
            );
        }
        head.push('\n');
        let mut parts = vec![Part::Lines(head), self.table(SHOWN).into()];
        let more = self.links.len().saturating_sub(SHOWN);
        if more > 0 {
            parts.push(format!("and {more} less busy ones; `--csv` has all\n").into());
        }
        parts
    }

    fn rows(&self) -> Table {
        self.table(usize::MAX)
    }

    fn json(&self) -> String {
        let ns = |span: Option<Duration>| span.map(Duration::as_ns_floor);
        let [streams, met] = self.streams;
        let links = self.links.iter().map(|one| LoadJson {
            from: &one.from,
            to: &one.to,
            rate_bps: one.rate.as_bps(),
            frames: one.frames,
            wire_bytes: one.octets,
            busiest_bytes: one.busiest,
        });
        document::text(&DiscoveryJson {
            title: &self.title,
            participants: self.participants,
            span_ns: self.span.as_ns_floor(),
            datagrams: self.datagrams,
            payload_bytes: self.octets,
            settled_ns: ns(self.settled),
            streams,
            streams_met: met,
            matched_ns: ns(self.matched),
            links: links.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::template::ros2;

    fn of(nodes: u16) -> Discovery {
        let text = ros2("plant", nodes);
        let loaded = crate::scenario::load("plant.yaml", &text);
        let scenario = loaded.into_scenario().expect("it loads");
        let found = discovery(&scenario, &Progress::default()).expect("it runs");
        found.expect("it is over RTPS")
    }

    #[test]
    fn everybody_is_met_and_the_cost_grows_with_the_pairs() {
        // Oracle: each state reaches its reader, and twice the participants are four times the
        // pairs.
        let [few, many] = [of(5), of(10)];
        assert_eq!((few.participants, many.participants), (5, 10));
        for found in [&few, &many] {
            assert_eq!(found.streams[1], found.participants);
            assert!(found.settled.is_some_and(|settled| settled <= found.span));
            // Every frame that a station sends is one on its link.
            let sent = found.links.iter().filter(|load| load.to == "sw");
            assert_eq!(sent.map(|load| load.frames).sum::<u64>(), found.datagrams);
            assert!(found.links.iter().all(|load| load.busiest <= load.octets));
        }
        let ratio = many.octets / few.octets.max(1);
        assert!((3..=6).contains(&ratio), "{ratio}");
    }
}
