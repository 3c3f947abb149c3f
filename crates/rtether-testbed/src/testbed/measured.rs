//! What the stations recorded, merged by stream.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rtether_live::stall::Stalls;
use rtether_live::station::{Answered, Arrived, Sent};
use rtether_model::histogram::Histogram;
use rtether_model::network::NodeId;
use rtether_model::quantity::{Duration, Instant};
use rtether_model::record::{Record, StreamRecord, Summary, TransferRecord};

use super::Backend;
use super::emulation::Emulation;
use super::files;
use super::layers::HostLayer;
use super::packets::{Keeper, PACKETS_MAX, Packet, Packets};
use super::profile::Profile;
use super::run::Found;
use super::ssh::HostReport;
use rtether::measured::{Distribution, Measurement};
use rtether::scenario::Scenario;

/// Measurement of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// What carried the frames.
    pub backend: Backend,
    /// Duration of the releases.
    pub duration: Duration,
    /// Start of the run left out of the statistics.
    pub warmup: Duration,
    /// Streams, in the order of the simulated record.
    pub streams: Vec<MeasuredStream>,
    /// Stalls of the host, on any core.
    pub stalls: usize,
    /// The longest of them.
    pub longest_stall: Option<Duration>,
    /// Whether stalls were watched at a real-time priority; otherwise ordinary waiting looks like a
    /// stall.
    pub watched_in_real_time: bool,
    /// Whether cores were kept out of deep sleep, or why not: packets then also wait for cores to
    /// wake.
    pub awake: Result<(), String>,
    /// Results of the emulator, if there was one.
    pub emulation: Option<Emulation>,
    /// What the test bed itself may add to the delay of a packet: largest departure error of the
    /// emulator, largest difference from its replay, and largest release delay. The kernel's links
    /// and switches are part of what is measured.
    pub tolerance: Duration,
    /// Whether the run was stopped early.
    pub is_partial: bool,
    /// The individual packets.
    pub packets: Packets,
    /// Errors that ended the emulator or a station, with their names.
    pub errors: Vec<String>,
    /// Failures that a station survived, with its name: connections that were not established.
    pub failures: Vec<String>,
    /// Anomalies, over all stations.
    pub oddities: Oddities,
    /// Results of the layers of hosts, in the order of nodes.
    pub layers: Vec<HostLayer>,
    /// Real hosts that took part, in the order of nodes; empty for test beds on this host.
    pub hosts: Vec<HostReport>,
}

/// Anomalies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Oddities {
    /// Payloads without a stream.
    pub foreign: u64,
    /// Packets that the system refused.
    pub unsent: u64,
    /// Packets without a record.
    pub unrecorded: u64,
    /// How often the wall clock was set.
    pub clock_steps: u64,
}

/// One stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasuredStream {
    /// Packets released after the warm-up.
    pub released: u64,
    /// Of these, those that arrived, or whose answer did.
    pub delivered: u64,
    /// Of these, those that did not.
    pub lost: u64,
    /// Packets that arrived more than once.
    pub duplicates: u64,
    /// Packets that arrived after one sent later.
    pub reordered: u64,
    /// Delivered packets touched by a stall of the host; left out of the figures below.
    pub stalled: u64,
    /// Latency of the others, from the sending call to the receiving application.
    pub latency: Summary,
    /// Its distribution.
    pub histogram: Histogram,
    /// The slowest packet of them.
    pub worst: Option<Worst>,
    /// Packets lost, and packets later than the deadline even without the stalls that touched them.
    /// Zero without deadline.
    pub missed: u64,
    /// Delivered packets for which the end nodes took longer than the scenario permits: the host
    /// was outside its profile.
    pub outside: u64,
    /// The slowest of the others, without the time this host added to emulated stations.
    pub worst_inside: Option<Worst>,
    /// Largest release delay of delivered packets that no stall touched: the precision with which
    /// flows keep their contracts.
    pub late_inside: Duration,
    /// Part of the latency until the return of the sending call: the sending stack.
    pub send: Histogram,
    /// Part of the latency after the kernel's receive stamp: the receiving stack and the wake-up.
    pub receive: Histogram,
    /// How late packets were released.
    pub late: Histogram,
    /// Files of a bulk flow, in order.
    pub transfers: Vec<TransferRecord>,
    /// Largest error of the latencies, if talker and listener have different clocks.
    pub uncertainty: Duration,
    /// Why latencies are withheld although packets arrived.
    pub withheld: Option<String>,
}

/// A slow packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worst {
    /// When it was released, from the start of the run.
    pub at: Instant,
    /// Its latency.
    pub latency: Duration,
}

impl Measured {
    /// Returns the measurement as a record of runs, to be judged and compared.
    pub fn record(&self, scenario: &Scenario) -> Record {
        let flows = (0u32..).zip(&scenario.flows);
        let ends = flows.flat_map(|(flow, f)| f.listeners.iter().map(move |node| (flow, node.0)));
        let streams = ends
            .zip(&self.streams)
            .map(|((flow, listener), stream)| StreamRecord {
                flow,
                listener,
                released: stream.released,
                delivered: stream.delivered,
                dropped: stream.lost,
                missed: stream.missed,
                latency: stream.latency,
                histogram: stream.histogram.clone(),
                transfers: stream.transfers.clone(),
                ..StreamRecord::default()
            });
        Record {
            duration: self.duration,
            observed: self.duration,
            warmup: self.warmup,
            runs: 1,
            streams: streams.collect(),
            ..Record::default()
        }
    }
}

impl MeasuredStream {
    /// Returns the distribution of the latency.
    pub fn distribution(&self) -> Distribution {
        Distribution {
            latency: self.latency,
            histogram: self.histogram.clone(),
        }
    }

    /// Returns the figures shown beside simulation and bound.
    pub fn measurement(&self) -> Measurement {
        Measurement {
            released: self.released,
            lost: self.lost,
            stalled: self.stalled,
            outside: self.outside,
            p50: self.quantile(1, 2),
            p999: self.quantile(999, 1_000),
            max: (self.latency.count > 0).then_some(self.latency.max),
            max_inside: self.worst_inside.map(|worst| worst.latency),
        }
    }

    /// Returns a quantile of the latency, at most 0.8 % too high and never above the maximum.
    ///
    /// Samples touched by a stall do not count.
    pub fn quantile(&self, part: u64, whole: u64) -> Option<Duration> {
        let quantile = self.histogram.quantile(part, whole)?;
        Some(Ord::min(quantile, self.latency.max))
    }

    /// Records a packet; `beyond` is the result of [`Profile::beyond`].
    fn arrive(&mut self, arrived: &Arrived, beyond: Option<Duration>) {
        self.latency.record(arrived.latency);
        self.histogram.record(arrived.latency);
        let worst = Worst {
            at: arrived.released_at,
            latency: arrived.latency,
        };
        keep_slower(&mut self.worst, worst);
        if let Some(beyond) = beyond {
            let latency = worst.latency - beyond;
            keep_slower(&mut self.worst_inside, Worst { latency, ..worst });
        } else {
            self.outside += 1;
        }
    }
}

fn keep_slower(kept: &mut Option<Worst>, new: Worst) {
    if kept.is_none_or(|old| new.latency > old.latency) {
        *kept = Some(new);
    }
}

/// Records of the packets of one stream, by number.
#[derive(Default)]
pub(super) struct Records {
    pub(super) sent: BTreeMap<u32, Sent>,
    answered: BTreeMap<u32, Answered>,
    pub(super) arrived: BTreeMap<u32, Arrived>,
    highest: Option<u32>,
}

/// Merges the logs of all stations and lists the packets. The first `warmup` of a run of `duration`
/// does not count.
pub(super) fn streams(
    scenario: &Scenario,
    found: &Found,
    [warmup, duration]: [Duration; 2],
    seed: u64,
) -> (Vec<MeasuredStream>, Packets) {
    let Found {
        logs,
        files,
        stalls,
        ..
    } = found;
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
        for arrived in log
            .arrived
            .iter()
            .filter(|packet| is_counted(packet.released_at))
        {
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
    stalls.touch(arrived.released_at, arrived.released_at + arrived.latency)
}

/// Decides which figures a packet of a stream counts in.
struct Judge<'a> {
    /// Index of the stream.
    number: u16,
    profile: &'a Profile,
    stalls: &'a Stalls,
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
                continue;
            };
            stream.delivered += 1;
            // Late only if it would have been late without the stalls on its way; otherwise no slow
            // packet would ever count as late.
            let end = arrived.released_at + arrived.latency;
            let excused = self.stalls.within(arrived.released_at, end);
            let without = arrived.latency - excused;
            let is_late = self.deadline.is_some_and(|limit| without > limit);
            stream.missed += u64::from(is_late);
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
            stream.arrive(arrived, self.profile.beyond(sent, answered, arrived));
        }
    }
}
