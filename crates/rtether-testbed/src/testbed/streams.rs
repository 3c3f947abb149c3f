//! Merges what the stations recorded by stream.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rtether_live::stall::Stalls;
use rtether_live::station::Arrived;
use rtether_model::network::NodeId;
use rtether_model::quantity::{Duration, Instant};

use super::files;
use super::measured::{Evidence, MeasuredStream};
use super::packets::{Keeper, PACKETS_MAX, Packet, Packets};
use super::profile::Profile;
use super::station_logs::{Records, StationLogs};
use rtether::scenario::Scenario;

/// Merges the logs of all stations and lists the packets. `emulator` are stalls of the emulator alone;
/// the first `warmup` of a run of `duration` does not count.
pub(super) fn streams(
    scenario: &Scenario,
    collected: &StationLogs,
    emulator: &Stalls,
    [warmup, duration]: [Duration; 2],
    seed: u64,
) -> (Vec<MeasuredStream>, Packets) {
    let StationLogs { logs, files, stalls, .. } = collected;
    let mut streams = Vec::new();
    let mut packets: Vec<Records> = Vec::new();
    let mut profiles = Vec::new();
    for flow in &scenario.flows {
        for &listener in &flow.listeners {
            streams.push(MeasuredStream::default());
            packets.push(Records::default());
            profiles.push(Profile::of(scenario, flow, listener));
        }
    }
    let is_counted = |at: Instant| at.since_start() >= warmup;
    let firsts = first_streams(scenario);
    for (_, log) in logs {
        for sent in log.sent.iter().filter(|sent| is_counted(sent.at)) {
            // A packet of a multicast flow is sent once for all its streams.
            let count = firsts.get(&sent.stream).copied().unwrap_or(1);
            let first = usize::from(sent.stream);
            for own in packets.iter_mut().skip(first).take(count) {
                own.sent.insert(sent.number, *sent);
            }
        }
        for answered in &log.answered {
            if let Some(own) = packets.get_mut(usize::from(answered.stream)) {
                own.answered.insert(answered.number, *answered);
            }
        }
        for arrived in log.arrived.iter().filter(|packet| is_counted(packet.released_at)) {
            let index = usize::from(arrived.stream);
            if let Some((own, stream)) = packets.get_mut(index).zip(streams.get_mut(index)) {
                take_in(own, stream, arrived);
            }
        }
    }
    files::take_in(scenario, files, [warmup, duration], seed, &mut packets);
    let flows = scenario.flows.iter();
    let ends = flows.flat_map(|flow| flow.listeners.iter().map(move |node| (flow, *node)));
    let mut keeper = Keeper::new(streams.len(), PACKETS_MAX);
    let ends = (0..).zip(&profiles).zip(ends);
    let all = streams.iter_mut().zip(&packets).zip(ends);
    for ((stream, own), ((number, profile), (flow, listener))) in all {
        keeper.begin_stream();
        let judge = Judge {
            number,
            profile,
            stalls: &stalls_of(stalls, [flow.talker, listener]),
            emulator,
            deadline: flow.deadline,
        };
        judge.finish(stream, own, &mut keeper);
    }
    files::list(&mut streams, files);
    (streams, keeper.finish())
}

/// Returns, for the first stream of each multicast flow, the number of its streams.
fn first_streams(scenario: &Scenario) -> BTreeMap<u16, usize> {
    let mut first = 0u16;
    let mut counts = BTreeMap::new();
    for flow in &scenario.flows {
        if flow.delivery == rtether_model::flow::Delivery::Multicast {
            counts.insert(first, flow.listeners.len());
        }
        first += u16::try_from(flow.listeners.len()).unwrap_or(0);
    }
    counts
}

fn take_in(own: &mut Records, stream: &mut MeasuredStream, arrived: &Arrived) {
    if own.arrived.contains_key(&arrived.number) {
        stream.duplicates += 1;
        return;
    }
    stream.reordered += u64::from(own.highest.is_some_and(|highest| arrived.number < highest));
    own.highest = own.highest.max(Some(arrived.number));
    own.arrived.insert(arrived.number, *arrived);
}

/// Returns the stalls of all hosts that play one of these nodes.
fn stalls_of(all: &[(Vec<NodeId>, Stalls)], nodes: [NodeId; 2]) -> Cow<'_, Stalls> {
    let plays = |hosts: &Vec<NodeId>| nodes.iter().any(|node| hosts.contains(node));
    let mut found = all.iter().filter(|(hosts, _)| plays(hosts));
    let first = found.next().map(|(_, stalls)| Cow::Borrowed(stalls));
    let mut stalls = first.unwrap_or_default();
    for (_, more) in found {
        stalls.to_mut().extend(more.clone());
    }
    stalls
}

fn is_stalled(arrived: &Arrived, stalls: &Stalls) -> bool {
    stalls.felt().touch(arrived.released_at, arrived.released_at + arrived.latency)
}

/// Decides which figures a packet of a stream counts in.
struct Judge<'a> {
    /// Index of the stream.
    number: u16,
    profile: &'a Profile,
    stalls: &'a Stalls,
    /// Those of the emulator.
    emulator: &'a Stalls,
    deadline: Option<Duration>,
}

impl Judge<'_> {
    fn finish(&self, stream: &mut MeasuredStream, own: &Records, keeper: &mut Keeper) {
        for (&number, sent) in &own.sent {
            let arrived = own.arrived.get(&number);
            let is_stalled = arrived.is_some_and(|arrived| is_stalled(arrived, self.stalls));
            keeper.take(Packet {
                stream: self.number,
                number,
                released_at: sent.at,
                latency: arrived.map(|arrived| arrived.latency),
                is_stalled,
            });
            stream.released += 1;
            stream.late.record(Ord::max(sent.late, Duration::ZERO));
            let Some(arrived) = arrived else {
                stream.lost += 1;
                stream.missed += u64::from(self.deadline.is_some());
                stream.missed_with_stalls += u64::from(self.deadline.is_some());
                continue;
            };
            stream.delivered += 1;
            // Late only if it would have been late without the stalls on its way; otherwise no slow
            // packet would ever count as late.
            let end = arrived.released_at + arrived.latency;
            let excused = self.stalls.felt().within(arrived.released_at, end);
            let without = arrived.latency - excused;
            let is_late = |latency| self.deadline.is_some_and(|limit| latency > limit);
            stream.missed += u64::from(is_late(without));
            stream.missed_with_stalls += u64::from(is_late(arrived.latency));
            stream.with_stalls.record(arrived.latency);
            stream.less_stalls.record(without);
            if is_stalled {
                stream.stalled += 1;
                continue;
            }
            stream.send.record(sent.call);
            if let Some(receive) = arrived.receive {
                stream.receive.record(receive);
            }
            let answered = own.answered.get(&number);
            stream.late_inside = Ord::max(stream.late_inside, sent.late);
            // The watchers of the host do not see why this packet waited; the network did not cause it.
            let evidence = if self.emulator.felt().touch(arrived.released_at, end) {
                Evidence::HeldUp
            } else {
                let beyond = self.profile.beyond(sent, answered, arrived);
                beyond.map_or(Evidence::Outside, Evidence::Inside)
            };
            stream.arrive(arrived, evidence);
        }
    }
}
