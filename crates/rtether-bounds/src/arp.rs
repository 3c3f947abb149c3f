//! Address resolution: how long packets are held for the address of a neighbor.
//!
//! A station that does not know an address holds the packets for it, broadcasts a request, and
//! sends them when the reply is there (RFC 826). An *exchange* is a request with its reply, from
//! one station to one neighbor in one VLAN: a flow of frames of 64 octets that everyone hears and
//! one answers.
//!
//! **Holding.** If each exchange ends within `R` after its request was handed to the driver, no
//! packet is held for longer than `R`: it comes no earlier than the request that it waits for, and
//! leaves with the reply. So it passes the lower end of the stack in between `0` and `R`, which
//! adds `R` to the jitter; packets to one neighbor stay in order, those to different ones do not,
//! so that nothing is known there of distances or of the order between flows.
//!
//! **Requests.** While exchanges end before a request is repeated, two requests of an exchange are
//! at least a lifetime apart: the address is known for that long after a moment no earlier than the
//! first of them. In any case they are at least the smaller of lifetime and retry apart.
//!
//! **Theorem.** Let there be times `R` of all exchanges, each below the time after which its
//! request is repeated, such that the bounds computed with these delays and distances give each
//! exchange at most its `R`, and let nothing on the way of an exchange destroy or drop a frame.
//! Then no exchange takes longer than its `R`, and all bounds hold. *Proof.* Take a run, and the
//! first moment at which the `R` of some exchange has passed without its reply. Until then all
//! packets were held within their times and no request was repeated, so all arrivals obey the
//! curves of the analysis; the waits of this exchange depend on earlier arrivals alone, so that it
//! has ended: a contradiction. The search begins with zero and takes the bounds of one analysis as
//! the times of the next until none grows; larger steps only give larger times.
//!
//! **Without proof.** An exchange that fails a condition still holds packets for at most the time
//! of all attempts, after which they are dropped; this bounds what its flows do to others. These
//! flows themselves have no bound, and give up where they wait for answers.
//!
//! Like all buffers, the memory for packets that are held is taken to suffice. Methods that look at
//! whole paths need packets to stay in order between flows, and are not applied.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use rtether_model::flow::{Delivery, Flow, Reply, Tag, Traffic};
use rtether_model::network::{Network, NodeId, Pcp, Vid};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::wire::Encapsulation;

use crate::analysis::ResolutionObstacle;
use crate::expand::Atlas;
use crate::held::Resolution;
use crate::plant::Plant;
use crate::prompt::solve_promptly;
use crate::solution::{Solution, Stage};
use crate::solve::latency;

/// Analyses after which times grow by larger steps, and after which those that still grow are given
/// up.
const SLOW: u32 = 16;
const GIVEN_UP: u32 = 48;

/// Returns the exchanges that the flows of a plant may need, in order, with nothing known of them.
fn exchanges(network: &Network, flows: &[Flow]) -> Vec<Resolution> {
    let mut found = BTreeMap::new();
    let mut add = |from: NodeId, to: NodeId, flow: &Flow| {
        let station = network.end_station(from);
        if from != to && station.is_some_and(|station| station.arp.is_some()) {
            let vid = flow.tag.map(|tag| tag.vid).filter(|vid| vid.get() != 0);
            found.insert((from, to, vid.map(Vid::get)), vid);
        }
    };
    let ends = |flow: &Flow| {
        let listeners = flow.listeners.iter().copied();
        core::iter::once(flow.talker).chain(listeners).collect::<Vec<_>>()
    };
    let published = flows.iter().filter(|flow| flow.is_published());
    let participants: Vec<NodeId> = published.flat_map(ends).collect();
    for flow in flows.iter().filter(|flow| flow.encapsulation.is_ip()) {
        if flow.is_published() {
            for from in ends(flow) {
                for &to in &participants {
                    add(from, to, flow);
                }
            }
        }
        let answers = flow.reply.is_some() || flow.is_acknowledged() || flow.connection.is_some();
        for &listener in &flow.listeners {
            if flow.delivery == Delivery::Unicast {
                add(flow.talker, listener, flow);
            }
            if answers {
                add(listener, flow.talker, flow);
            }
        }
    }
    let all = found.into_iter().map(|((from, to, _), vid)| Resolution {
        from,
        to,
        vid,
        max: 0,
        obstacle: None,
    });
    all.collect()
}

impl Resolution {
    /// Returns the exchange as a flow.
    fn flow(&self, network: &Network) -> Flow {
        let arp = network.end_station(self.from).and_then(|own| own.arp);
        let arp = arp.unwrap_or_default();
        let min_gap =
            if self.obstacle.is_none() { arp.lifetime } else { arp.lifetime.min(arp.retry) };
        let traffic = Traffic::Sporadic { min_gap, mean_gap: min_gap, burst: 1 };
        Flow {
            encapsulation: Encapsulation::Arp,
            delivery: Delivery::Multicast,
            tag: self.vid.map(|vid| Tag { pcp: Pcp::default(), vid }),
            reply: Some(Reply::new(Bytes::ZERO, Duration::ZERO)),
            ..Flow::new("ARP".into(), self.from, vec![self.to], Bytes::ZERO, traffic)
        }
    }

    /// Takes the result of an analysis in which the exchange is the flow with this number; returns
    /// whether more has to be assumed than before.
    fn learn(
        &mut self,
        (network, round): (&Network, u32),
        (plant, solution): (&Plant, &Solution),
        number: u32,
    ) -> bool {
        if self.obstacle.is_some() {
            return false;
        }
        let arp = network.end_station(self.from).and_then(|own| own.arp);
        let arp = arp.unwrap_or_default();
        // Several in two networks.
        let streams = &plant.streams[plant.first_of(number).stream..];
        let streams = || streams.iter().take_while(|stream| stream.flow == number);
        let retry = arp.retry.as_ps();
        let ends = streams().filter_map(|stream| stream.end.as_ref().ok());
        let mut way = ends.flat_map(|&(last, _)| plant.way_to(last));
        let is_lossy =
            way.any(|visit| visit.is_policed || plant.servers[visit.server as usize].is_lossy);
        let latencies = streams().map(|stream| latency(plant, solution, stream));
        let longest = latencies.reduce(|one, other| Some(one?.max(other?)));
        let obstacle = match longest.flatten() {
            _ if is_lossy => ResolutionObstacle::Losses,
            None => ResolutionObstacle::Unbounded,
            Some(time) if time >= retry => {
                ResolutionObstacle::Late { answered: Duration::from_ps(time), retry: arp.retry }
            }
            Some(time) if time <= self.max => return false,
            Some(_) if round >= GIVEN_UP => ResolutionObstacle::Unbounded,
            Some(time) if round >= SLOW => {
                self.max = time + time / 2;
                return true;
            }
            Some(time) => {
                self.max = time;
                return true;
            }
        };
        self.obstacle = Some(obstacle);
        self.max = arp.held_max().as_ps();
        true
    }
}

/// Solves a plant in which stations resolve addresses. The flows of exchanges come behind all
/// others; their streams are left out.
pub(crate) fn solve(atlas: &mut Atlas, network: &Network, flows: &[Flow]) -> (Plant, Vec<Stage>) {
    let mut all = exchanges(network, flows);
    let mut round = 0;
    loop {
        let mut with = flows.to_vec();
        with.extend(all.iter().map(|own| own.flow(network)));
        atlas.set_resolutions(all.clone());
        let plant = Plant::complete(atlas.follow(network, &with), network, &with);
        let (mut plant, stages) = solve_promptly(plant, atlas, network, &with, None);
        let mut has_grown = false;
        if let Some(stage) = stages.last() {
            for (own, number) in all.iter_mut().zip(flows.len()..) {
                let number = u32::try_from(number).unwrap_or(u32::MAX);
                has_grown |= own.learn((network, round), (&plant, &stage.solution), number);
            }
        }
        if !has_grown {
            let number = u32::try_from(flows.len()).unwrap_or(u32::MAX);
            let first = plant.first_of(number).stream;
            plant.streams.truncate(first);
            return (plant, stages);
        }
        round += 1;
    }
}
