//! Converts what the hosts saw to one clock.

use rtether_live::stall::Stall;
use rtether_live::station::Arrived;
use rtether_model::network::NodeId;
use rtether_model::quantity::{Duration, Instant};

use super::super::measured::MeasuredStream;
use super::super::station_logs::StationLogs;
use super::clocks::Course;
use super::records::Report;
use rtether::report::text::time;
use rtether::scenario::Scenario;

/// Delays are given if the clock error is below the deadline or median divided by this.
const PART: i64 = 10;

/// The clock of a node, and its course relative to that of the coordinator.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeClock {
    pub(super) node: NodeId,
    /// Nodes with equal numbers share a clock.
    pub(super) group: usize,
    /// `None` for the clock of the coordinator.
    pub(super) course: Option<Course>,
}

/// A stream, as concerns clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    talker: NodeId,
    listener: NodeId,
    is_round_trip: bool,
    deadline: Option<Duration>,
    /// Shortest delay by the two clocks.
    shortest: Option<Duration>,
}

impl NodeClock {
    fn shift(&self, at: Instant) -> Duration {
        self.course.map_or(Duration::ZERO, |course| course.shift(at))
    }
}

/// Returns the ends of all streams, in the order of the record.
pub(super) fn ends(scenario: &Scenario) -> Vec<Ends> {
    let flows = scenario.flows.iter();
    let ends = flows.flat_map(|flow| {
        flow.listeners.iter().map(|&listener| Ends {
            talker: flow.talker,
            listener,
            is_round_trip: flow.reply.is_some(),
            deadline: flow.deadline,
            shortest: None,
        })
    });
    ends.collect()
}

/// Merges reports, with all times by the clock of the coordinator. Negative delays become zero;
/// `ends` keep the shortest delay of each stream as it was.
pub(super) fn collect(
    reports: Vec<(NodeId, Report)>,
    clocks: &[NodeClock],
    ends: &mut [Ends],
) -> StationLogs {
    let mut collected = StationLogs::default();
    let of = |node: NodeId| clocks.iter().find(|clock| clock.node == node);
    for (node, mut report) in reports {
        let Some(own) = of(node) else {
            continue;
        };
        for sent in &mut report.log.sent {
            sent.at = sent.at - own.shift(sent.at);
        }
        for arrived in &mut report.log.arrived {
            let end = ends.get_mut(usize::from(arrived.stream));
            // Packets without a stream are dropped when streams are made.
            if let Some(end) = end {
                correct(arrived, own, of(end.talker), &mut end.shortest);
            }
        }
        for file in &mut report.files {
            let corrected = |at: Instant| at - own.shift(at);
            file.started_at = file.started_at.map(corrected);
            file.finished_at = file.finished_at.map(corrected);
        }
        report.stalls.shift(|Stall { from, until }| {
            let shift = own.shift(from);
            Stall { from: from - shift, until: until - shift }
        });
        let alike = clocks.iter().filter(|other| other.group == own.group);
        let nodes = alike.map(|other| other.node).collect();
        collected.stalls.push((nodes, report.stalls));
        collected.logs.push((node, report.log));
        collected.files.extend(report.files);
        collected.errors.extend(report.errors);
    }
    collected
}

/// Corrects an arrival at `own`; its release time is by the talker's clock.
fn correct(
    arrived: &mut Arrived,
    own: &NodeClock,
    talker: Option<&NodeClock>,
    shortest: &mut Option<Duration>,
) {
    let talker = if arrived.is_answer { Some(own) } else { talker };
    let Some(talker) = talker else {
        return;
    };
    let released = talker.shift(arrived.released_at);
    if talker.group != own.group {
        let received = own.shift(arrived.released_at + arrived.latency);
        let latency = arrived.latency + released - received;
        *shortest = Some(shortest.map_or(latency, |known| Ord::min(known, latency)));
        arrived.latency = Ord::max(latency, Duration::ZERO);
    }
    arrived.released_at = arrived.released_at - released;
}

/// Withholds what cannot be known: delays between clocks with too large an error, and everything
/// about streams with an end on a host that dropped out.
pub(super) fn withhold(
    scenario: &Scenario,
    streams: &mut [MeasuredStream],
    ends: &[Ends],
    clocks: &[NodeClock],
) {
    let name = |node: NodeId| scenario.network.node(node).name.as_str();
    let of = |node: NodeId| clocks.iter().find(|clock| clock.node == node);
    for (stream, end) in streams.iter_mut().zip(ends) {
        let needed = [Some(end.talker), Some(end.listener).filter(|_| !end.is_round_trip)];
        let gone = needed.into_iter().flatten().find(|node| of(*node).is_none());
        if let Some(gone) = gone {
            *stream = MeasuredStream {
                withheld: Some(format!("the host of `{}` dropped out", name(gone))),
                ..MeasuredStream::default()
            };
            continue;
        }
        let Some((talker, listener)) = of(end.talker).zip(of(end.listener)) else {
            continue;
        };
        if end.is_round_trip || talker.group == listener.group {
            continue;
        }
        stream.uncertainty = uncertainty(talker) + uncertainty(listener);
        if let Some(why) = reason(stream, end) {
            let [talker, listener] = [name(end.talker), name(end.listener)];
            take_back(stream, end);
            stream.withheld = Some(format!(
                "no delays are given: {why} (clocks of `{talker}` and `{listener}`); synchronize \
                 both by PTP or NTP, or give the flow a `reply`, whose round trips need one clock"
            ));
        }
    }
}

fn uncertainty(clock: &NodeClock) -> Duration {
    let course = clock.course.as_ref();
    course.map_or(Duration::ZERO, Course::uncertainty)
}

/// Returns why the delays of a stream mean nothing, if they do not.
fn reason(stream: &MeasuredStream, end: &Ends) -> Option<String> {
    let known = stream.uncertainty;
    if stream.latency.count == 0 {
        return None;
    }
    if let Some(shortest) = end.shortest.filter(|&shortest| shortest + known < Duration::ZERO) {
        return Some(format!(
            "one would be {}, and the clocks seemed known to {}",
            time(shortest),
            time(known)
        ));
    }
    let (scale, what) = match end.deadline {
        Some(deadline) => (deadline, "deadline"),
        None => (stream.quantile(1, 2)?, "median"),
    };
    (known.as_ps() >= scale.as_ps() / PART).then(|| {
        format!(
            "the error of their clocks is up to {}, not below a tenth of the {what}, {}",
            time(known),
            time(scale)
        )
    })
}

/// Keeps the counts of a stream and removes its delays.
fn take_back(stream: &mut MeasuredStream, end: &Ends) {
    let kept = std::mem::take(stream);
    *stream = MeasuredStream {
        released: kept.released,
        delivered: kept.delivered,
        lost: kept.lost,
        duplicates: kept.duplicates,
        reordered: kept.reordered,
        stalled: kept.stalled,
        missed: end.deadline.map_or(0, |_| kept.lost),
        missed_with_stalls: end.deadline.map_or(0, |_| kept.lost),
        send: kept.send,
        receive: kept.receive,
        late: kept.late,
        transfers: kept.transfers,
        uncertainty: kept.uncertainty,
        ..MeasuredStream::default()
    };
}
