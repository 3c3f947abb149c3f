//! What is assumed about subnetworks: how fast their links are, how often events come, what switches
//! filter, how long to simulate.

use std::collections::BTreeSet;

use rtether_model::quantity::{Bytes, Duration};
use rtether_model::wire::{ETHERNET_MBPS, Encapsulation, TAG, frame_size, wire_size};

use super::flow::Flow;
use super::flows::Published;
use super::model::Model;
use super::notes::Notes;
use super::topology::{Stated, Topology, rate};
use crate::draft::{Basis, Draft, Value};
use crate::options::Class;
use crate::plan::Code;
use crate::stacks::Stacks;
use crate::text::quote;

/// Rate of links, in megabits per second, if the file does not state one.
const USUAL_RATE: u64 = 100;
/// Fastest link of a scenario that is ten times another, in megabits per second.
const FASTEST: u64 = 100_000;
/// Parts per million of a link.
const WHOLE: u128 = 1_000_000;
/// Share of a link that events may take; more of them are assumed to come less often.
const EVENTS: u128 = WHOLE / 4;
/// Share of a link up to which everything is assumed to be flooded.
const FLOODED: u128 = WHOLE * 3 / 4;
/// Frames at ports that a simulation of the plant may take, so that the first check is quick.
const FRAMES: u128 = 10_000_000;
/// Simulated seconds at most, and at least.
const LONGEST: i64 = 10;

/// What is assumed about a subnetwork.
pub(super) struct Network {
    /// Megabits per second.
    pub(super) rate: Value<u64>,
    /// How many times longer than in the file the time between events is.
    pub(super) factor: i64,
    /// Load of every link if all is flooded, in parts per million.
    flooded: u128,
}

impl Network {
    /// Says whether a switch filters multicast.
    pub(super) fn filter(&self, switch: &mut Draft) {
        if self.flooded <= FLOODED {
            switch.assume("multicast", "unmanaged", "no filters: multicast reaches every port");
        } else {
            let percent = self.flooded / (WHOLE / 100);
            let why = format!("filters; without, multicast takes {percent} % of every link");
            switch.assume("multicast", "managed", &why);
        }
    }

    /// Returns the rate of a link that carries everything, in megabits per second: the listeners
    /// that the file does not name have one link here, and one each in the plant.
    pub(super) fn room(&self) -> u64 {
        let usual = self.rate.value;
        let rates = [1, 10, 100, 1_000].map(|times| usual * times).into_iter();
        rates
            .filter(|rate| *rate <= FASTEST && ETHERNET_MBPS.contains(rate))
            .find(|rate| self.flooded * u128::from(usual) <= FLOODED * u128::from(*rate))
            .unwrap_or(FASTEST.max(usual))
    }
}

/// Returns what is assumed about each subnetwork.
pub(super) fn networks(
    model: &Model<'_>,
    published: &Published,
    notes: &mut Notes,
) -> Vec<Network> {
    let mut networks: Vec<Network> = Vec::new();
    for subnetwork in &model.subnetworks {
        let name = quote(subnetwork.name);
        let mut bad = |text: &str, why: &str| {
            let text = format!("the BitRate {} of {name} is {why}", quote(text));
            notes.add(subnetwork.element, Code::BadValue, text);
        };
        let rate = match rate(subnetwork.element) {
            Some((Stated::Rate(value), _)) => {
                Value { value, basis: Basis::Follows("BitRate".into()) }
            }
            Some((Stated::Megabits(rate), text)) => {
                bad(text, "in bits per second, and taken for megabits");
                let why = "BitRate has no multiplier, and is no rate of Ethernet without";
                Value::assumed(rate, why.into())
            }
            Some((Stated::Wrong, text)) => {
                bad(text, "none of Ethernet");
                Value::assumed(USUAL_RATE, "BitRate is none of Ethernet".into())
            }
            None => Value::assumed(USUAL_RATE, "the file states no BitRate".into()),
        };
        networks.push(Network { rate, factor: 1, flooded: 0 });
    }
    for (number, network) in networks.iter_mut().enumerate() {
        let flows = published.flows.iter().filter(|flow| flow.subnetwork == number);
        let (mut events, mut others) = (0_u128, 0_u128);
        for flow in flows {
            let load = load(flow, network.rate.value);
            match flow.class {
                Class::Goose => events = events.saturating_add(load),
                Class::Heartbeat
                | Class::SampledValues
                | Class::Periodic
                | Class::Sporadic
                | Class::Bulk => others = others.saturating_add(load),
                // Not flooded.
                Class::Report => {}
            }
        }
        while events > EVENTS {
            network.factor *= 2;
            events /= 2;
        }
        network.flooded = events.saturating_add(others);
    }
    networks
}

/// Returns the share of a link that a flow takes, in parts per million.
fn load(flow: &Flow, megabits: u64) -> u128 {
    // Sampled values have the same header.
    let frame = frame_size(Bytes::new(flow.size.value), Encapsulation::Goose);
    let bits = u128::from(wire_size(frame + TAG).bits());
    let gap = u128::try_from(flow.release.gap.as_ps()).unwrap_or(1).max(1);
    // A bit takes 10^6 picoseconds at 1 Mbit/s.
    bits * 1_000_000 * WHOLE / (gap * u128::from(megabits))
}

/// Returns the stacks of stations, by number.
pub(super) fn stacks(
    topology: &Topology,
    published: &Published,
    networks: &[Network],
) -> Stacks<usize> {
    let mut stacks = Stacks::new("device");
    for flow in &published.flows {
        let own = flow.listeners.iter().map(|to| topology.station(*to));
        let unknown = topology.unknown(flow.subnetwork);
        let unknown = unknown.filter(|_| flow.listeners.is_empty());
        let ends = own.chain([topology.station(flow.talker), unknown]).flatten();
        let ends: BTreeSet<usize> = ends.collect();
        let gap = time_between(flow, networks);
        let frames = flow.size.value.div_ceil(1400).max(1);
        for end in ends {
            stacks.add(end, frames, gap);
        }
    }
    stacks
}

/// Returns the time between two packets of a flow, at least.
fn time_between(flow: &Flow, networks: &[Network]) -> Duration {
    Duration::from_ps(flow.release.gap.as_ps().saturating_mul(factor(flow, networks)))
}

/// Returns how many times more rarely than in the file a flow is assumed to send.
fn factor(flow: &Flow, networks: &[Network]) -> i64 {
    match flow.class {
        Class::Goose => networks[flow.subnetwork].factor,
        Class::Heartbeat
        | Class::SampledValues
        | Class::Report
        | Class::Periodic
        | Class::Sporadic
        | Class::Bulk => 1,
    }
}

/// Returns how long to simulate: long enough for heartbeats, short enough for a first look.
pub(super) fn run(topology: &Topology, published: &Published, networks: &[Network]) -> Duration {
    let ports = u128::try_from(topology.links.len().max(1)).unwrap_or(1);
    let per_second = |flow: &Flow| {
        let gap = u128::try_from(flow.release.gap.as_ps()).unwrap_or(1).max(1);
        1_000_000_000_000 / gap / u128::from(factor(flow, networks).unsigned_abs())
    };
    let all: u128 = published.flows.iter().map(per_second).sum();
    let seconds = FRAMES / (all.max(1) * ports);
    Duration::from_secs(i64::try_from(seconds).unwrap_or(LONGEST).clamp(1, LONGEST))
}
