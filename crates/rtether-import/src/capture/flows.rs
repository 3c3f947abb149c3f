//! Flows of a scenario from streams and from what protocols state.

use std::collections::{BTreeMap, BTreeSet};

use rtether_model::quantity::Duration;

use super::enip::Connections;
use super::frame::{Mac, Over, Path, Tag, is_cyclic, is_group};
use super::label::{ip, mac, protocol};
use super::profinet::{Relation, Relations};
use super::streams::{Key, Kind, Stream, Streams};
use super::times::{Pattern, Times};
use crate::draft::Basis;
use crate::options::{Class, Options};

/// Most flows and stations of a plan; the busiest are kept.
const MAX_FLOWS: usize = 1000;
const MAX_STATIONS: usize = 1000;
/// Longest time that a plan has, in picoseconds.
const LONGEST: i64 = 86_400_000_000_000_000;
/// Shortest, which no frame on any link undercuts.
const SHORTEST: i64 = 1_000;
/// Smallest period that frames of a capture can have, since stamps are nanoseconds.
const PS: i64 = 1_000;
/// Clocks may be off by this many parts per million (IEEE 802.3-2022, 24.6).
const CLOCK: i64 = 100;

/// When a flow sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Release {
    Periodic {
        period: Duration,
        /// Frames a second, if that is the rounder number.
        rate: Option<i64>,
        /// Largest lateness.
        jitter: Duration,
        basis: Basis,
    },
    Sporadic {
        least: Duration,
        mean: Duration,
        burst: u64,
        basis: Basis,
    },
    Bulk {
        /// Bits a second.
        rate: u64,
    },
}

/// A flow of the plan.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) class: Class,
    pub(super) talker: Mac,
    /// `None` for a group, whose members are not known.
    pub(super) listener: Option<Mac>,
    pub(super) over: Over,
    pub(super) release: Release,
    pub(super) size: u64,
    pub(super) size_basis: Basis,
    pub(super) tag: Option<Tag>,
    /// Who states the tag, if it was not seen.
    pub(super) tag_basis: Basis,
    pub(super) dscp: u8,
    /// Stated by the traffic, with its words.
    pub(super) deadline: Option<(Duration, String)>,
    /// The point where it was seen.
    pub(super) interface: usize,
    pub(super) path: Path,
    frames: u64,
}

impl Flow {
    /// Returns the deadline, and why it is that.
    pub(super) fn deadline(&self, options: &Options) -> Option<(Duration, Basis)> {
        let class = options.deadline(self.class);
        if class.is_stated {
            let why = format!("--deadline {}", self.class.name());
            return class.time.map(|span| (span, Basis::Follows(why)));
        }
        if let Some((span, why)) = &self.deadline {
            return Some((*span, Basis::Follows(why.clone())));
        }
        let name = self.class.name();
        match (class.time, &self.release) {
            (Some(span), _) => {
                Some((span, Basis::Assumed(format!("IEC 61850-5; --deadline {name}=TIME"))))
            }
            (None, Release::Periodic { period, .. }) if self.class == Class::Periodic => {
                let why = format!("the period; --deadline {name}=TIME");
                Some((*period, Basis::Assumed(why)))
            }
            (None, _) => None,
        }
    }
}

/// What became of the streams.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) flows: Vec<Flow>,
    /// Streams with too few frames, and these frames; streams beyond the limits.
    pub(super) rare: (usize, u64),
    pub(super) dropped: usize,
    /// Sessions were cut at gaps, in this many streams, and the longest gap in nanoseconds.
    pub(super) cut: (usize, i64),
    /// Streams whose DSCP no flow can have, and one of these.
    pub(super) unmarked: (usize, u8),
    /// One group address with several talkers, with the first packets that show it.
    pub(super) shared: Vec<(u64, Mac, usize)>,
}

/// Makes flows.
pub(super) fn flows(streams: &Streams, relations: &Relations, connections: &Connections) -> Found {
    let mut found = Found::default();
    let mut flows = Vec::new();
    for stream in chosen(&streams.all) {
        let before = flows.len();
        match &stream.times {
            Kind::Plain(times) => {
                let (cuts, longest) = times.cuts();
                found.cut.0 += usize::from(cuts > 0);
                found.cut.1 = found.cut.1.max(longest);
                flows.extend(of(stream, times, ""));
            }
            Kind::Goose(times) => {
                let times = times.settled();
                flows.extend(of(stream, &times.events, "event"));
                flows.extend(of(stream, &times.heartbeat, "heartbeat"));
            }
        }
        if flows.len() == before {
            found.rare.0 += 1;
            found.rare.1 += stream.frames;
        } else if stream.dscp > 0 && !stream.over.has_dscp() {
            found.unmarked.0 += 1;
            found.unmarked.1 = found.unmarked.1.max(stream.dscp);
        }
    }
    for flow in &mut flows {
        connected(flow, connections);
    }
    for relation in relations.all() {
        relate(&mut flows, relation);
    }
    found.shared = shared(&streams.all);
    (found.flows, found.dropped) = limited(flows);
    found
}

/// Chooses one point of capture for each stream that was seen at several: where most of its frames
/// were seen, and they were seen first.
fn chosen(all: &[Stream]) -> Vec<&Stream> {
    let mut groups: BTreeMap<Path, Vec<&Stream>> = BTreeMap::new();
    for stream in all {
        groups.entry(stream.key.path).or_default().push(stream);
    }
    let mut chosen = Vec::new();
    for group in groups.into_values() {
        let points: BTreeSet<usize> = group.iter().map(|stream| stream.key.interface).collect();
        // With one tag at each point, switches have changed it on the way.
        let is_one = points.len() == group.len();
        let mut parts: BTreeMap<Option<Key>, Vec<&Stream>> = BTreeMap::new();
        for stream in group {
            let apart = Key { interface: 0, ..stream.key };
            parts.entry((!is_one).then_some(apart)).or_default().push(stream);
        }
        for part in parts.values() {
            let order =
                |stream: &&&Stream| (u64::MAX - stream.frames, stream.first.1, stream.first.0);
            chosen.extend(part.iter().min_by_key(order).copied());
        }
    }
    chosen.sort_by_key(|stream| stream.first.0);
    chosen
}

/// Makes a flow of a stream; `None` if there are too few frames.
fn of(stream: &Stream, times: &Times, part: &str) -> Option<Flow> {
    let path = stream.key.path;
    // Each repetition of GOOSE counts as an event of its own, as it may be one.
    let pattern = if part == "event" { times.single() } else { times.pattern() };
    // More than half of what a connection carries fills its segments.
    let is_bulk = stream.over == Over::Tcp && stream.full * 2 > stream.octets;
    let release = match pattern {
        Pattern::Unknown => return None,
        _ if is_bulk => bulk(stream, times)?,
        Pattern::Periodic(fit) => {
            let seen = fit.period.clamp(SHORTEST, LONGEST);
            let (period, rate) = nominal(seen);
            let jitter = fit.jitter.saturating_mul(PS).min(period - 1).max(0);
            let missing = match fit.missing {
                0 => String::new(),
                missing => format!(", {missing} missing"),
            };
            let frames = match times.frames() - fit.frames {
                0 => format!("{} frames", fit.frames),
                others => format!("{} frames, {others} others off it", fit.frames),
            };
            let seen = crate::sheet::time(Duration::from_ps(seen));
            Release::Periodic {
                period: Duration::from_ps(period),
                rate,
                jitter: Duration::from_ps(jitter),
                basis: Basis::Assumed(format!("{seen} in {frames}{missing}")),
            }
        }
        Pattern::Sporadic { least, mean, burst } => {
            let ps = |ns: i64| Duration::from_ps(ns.saturating_mul(PS).clamp(SHORTEST, LONGEST));
            Release::Sporadic {
                least: ps(least),
                mean: ps(mean.max(least)),
                burst,
                basis: Basis::Assumed(match burst {
                    1 => format!("the least in {} frames", times.frames()),
                    _ => format!("no more in any such time, in {} frames", times.frames()),
                }),
            }
        }
    };
    let most = u64::try_from(stream.most).unwrap_or(u64::MAX);
    let size_basis = if stream.least == stream.most {
        Basis::Stated
    } else {
        Basis::Assumed(format!("the largest; {} B and more", stream.least))
    };
    Some(Flow {
        name: name(stream, part),
        description: description(stream.over, &stream.key.path),
        class: class(stream.over, &release),
        talker: path.source,
        listener: (!is_group(path.destination)).then_some(path.destination),
        over: stream.over,
        size: most.clamp(1, largest(stream.over)),
        size_basis,
        tag: stream.key.tag.filter(|tag| tag.vid < 4095),
        tag_basis: Basis::Stated,
        dscp: if stream.over.has_dscp() { stream.dscp } else { 0 },
        deadline: None,
        release,
        interface: stream.key.interface,
        path,
        frames: times.frames(),
    })
}

fn bulk(stream: &Stream, times: &Times) -> Option<Release> {
    let bits = u128::from(stream.octets) * 8 * 1_000_000_000;
    let span = u128::try_from(times.span()).ok().filter(|span| *span > 0)?;
    let rate = u64::try_from(bits / span).ok()?;
    Some(Release::Bulk { rate: rate.max(1000) })
}

/// Returns the largest size that a frame or message has.
const fn largest(over: Over) -> u64 {
    match over {
        // A stream has no largest message; a scenario takes this one.
        Over::Tcp => 16_000_000,
        Over::Raw | Over::Udp | Over::Icmp | Over::Goose | Over::SampledValues | Over::Profinet => {
            over.encapsulation().max_packet().get()
        }
    }
}

fn class(over: Over, release: &Release) -> Class {
    match (over, release) {
        (_, Release::Bulk { .. }) => Class::Bulk,
        (Over::Goose, Release::Periodic { .. }) => Class::Heartbeat,
        (Over::Goose, _) => Class::Goose,
        (Over::SampledValues, _) => Class::SampledValues,
        (_, Release::Periodic { .. }) => Class::Periodic,
        (_, Release::Sporadic { .. }) => Class::Sporadic,
    }
}

fn name(stream: &Stream, part: &str) -> String {
    let path = stream.key.path;
    let ends = match path.ends {
        Some([from, to]) => format!("{} > {}", ip(from), ip(to)),
        None => format!("{} > {}", mac(path.source), mac(path.destination)),
    };
    let what =
        if stream.label.is_empty() { protocol(stream.over, &path) } else { stream.label.clone() };
    // What has a name of its own needs no addresses, unless it is the same at each station.
    let is_own = matches!(stream.over, Over::Goose | Over::SampledValues);
    let name = if is_own && !stream.label.is_empty() { what } else { format!("{ends} {what}") };
    format!("{name} {part}").trim_end().to_owned()
}

/// Says what tells the stream apart on the wire.
pub(super) fn description(over: Over, path: &Path) -> String {
    let to = mac(path.destination);
    if matches!(over, Over::Goose | Over::SampledValues) {
        return format!("multicast address {to}, APPID {:04X}", path.own & 0xffff);
    }
    format!("{} to {to}", protocol(over, path))
}

/// Returns the round number of which a period is as near as clocks are, in picoseconds, and the
/// frames a second if these are the rounder number: three digits, or six with a rate.
fn nominal(seen: i64) -> (i64, Option<i64>) {
    let is_near = |round: i64| {
        let off = i128::from((round - seen).abs()) * 1_000_000;
        round > 0 && off <= i128::from(seen) * i128::from(CLOCK)
    };
    let mut unit = 1;
    while seen / unit >= 1000 {
        unit *= 10;
    }
    let round = (seen + unit / 2) / unit * unit;
    if is_near(round) {
        return (round, None);
    }
    // Quarters of a microsecond are what field buses count; there are few of them below this time.
    let quarter = (seen + 125_000) / 250_000 * 250_000;
    if is_near(quarter) && seen <= 250_000_000 {
        return (quarter, None);
    }
    let second = 1_000_000_000_000_i64;
    let mut step = 1;
    while second / seen / step >= 1000 {
        step *= 10;
    }
    let rate = (second / step + seen / 2) / seen * step;
    if rate >= 10 && is_near(second / rate) {
        return (second / rate, Some(rate));
    }
    // Nanoseconds are what the stamps have.
    if seen >= 1_000_000_000 {
        return ((seen + 500) / 1000 * 1000, None);
    }
    (seen, None)
}

/// Takes the period that a connection of EtherNet/IP states.
fn connected(flow: &mut Flow, connections: &Connections) {
    let Ok(number) = u32::try_from(flow.path.own) else {
        return;
    };
    let is_cyclic = flow.over == Over::Udp && flow.path.ports.contains(&2222);
    let Some(connection) = connections.known.get(&number).filter(|_| is_cyclic) else {
        return;
    };
    let why = format!("Forward Open, packet {}", connection.packet);
    let period = Duration::from_us(i64::from(connection.period));
    let watchdog = Duration::from_ps(period.as_ps() * connection.timeout);
    flow.deadline = Some((watchdog, format!("{} periods, {why}", connection.timeout)));
    stated(flow, period, why);
}

/// Replaces what was seen of a period by what is stated.
fn stated(flow: &mut Flow, period: Duration, why: String) {
    let jitter = match flow.release {
        Release::Periodic { jitter, .. } => jitter.min(Duration::from_ps(period.as_ps() - 1)),
        Release::Sporadic { .. } | Release::Bulk { .. } => Duration::ZERO,
    };
    flow.class = Class::Periodic;
    flow.release = Release::Periodic { period, rate: None, jitter, basis: Basis::Follows(why) };
}

/// Takes what a connect request of PROFINET states, for a flow that was seen or not.
fn relate(flows: &mut Vec<Flow>, relation: &Relation) {
    let why = format!("connect request, packet {}", relation.packet);
    let period = Duration::from_ps(relation.period.min(LONGEST));
    let is_same = |flow: &&mut Flow| {
        flow.over == Over::Profinet
            && (flow.path.source, flow.path.destination) == (relation.talker, relation.listener)
            && relation.frame.is_none_or(|frame| flow.path.own == u64::from(frame))
    };
    let watchdog = relation.period.saturating_mul(relation.watchdog.max(1));
    let deadline = Duration::from_ps(watchdog.min(LONGEST));
    let deadline = Some((deadline, format!("{} periods, {why}", relation.watchdog)));
    let tag = Some(Tag { pcp: relation.pcp, vid: relation.vid });
    if let Some(flow) = flows.iter_mut().find(is_same) {
        flow.deadline = deadline;
        // Many cards remove the tag before it is captured.
        if flow.tag.is_none() {
            flow.tag = tag;
            flow.tag_basis = Basis::Follows(why.clone());
        }
        stated(flow, period, why);
        return;
    }
    let path = Path {
        source: relation.talker,
        destination: relation.listener,
        ether_type: super::frame::PROFINET,
        ends: None,
        protocol: 0,
        ports: [0; 2],
        own: relation.frame.map_or(0, u64::from),
    };
    let [from, to] = [relation.talker, relation.listener].map(mac);
    let number = relation.frame.filter(|frame| is_cyclic(*frame));
    let number = number.map_or(String::new(), |frame| format!(" {frame:04X}"));
    flows.push(Flow {
        name: format!("{from} > {to} PROFINET{number}"),
        description: format!("PROFINET{number} to {to}"),
        class: Class::Periodic,
        talker: relation.talker,
        listener: Some(relation.listener),
        over: Over::Profinet,
        release: Release::Periodic {
            period,
            rate: None,
            jitter: Duration::ZERO,
            basis: Basis::Follows(why.clone()),
        },
        size: relation.size.clamp(1, largest(Over::Profinet)),
        size_basis: Basis::Follows(why.clone()),
        tag,
        tag_basis: Basis::Follows(why),
        dscp: 0,
        deadline,
        interface: usize::MAX,
        path,
        frames: 0,
    });
}

/// Finds group addresses of GOOSE and sampled values to which several stations send.
fn shared(streams: &[Stream]) -> Vec<(u64, Mac, usize)> {
    let mut talkers: BTreeMap<Mac, (u64, BTreeSet<Mac>)> = BTreeMap::new();
    for stream in streams {
        if matches!(stream.over, Over::Goose | Over::SampledValues) {
            let path = stream.key.path;
            let entry = talkers.entry(path.destination).or_default();
            entry.1.insert(path.source);
            entry.0 = stream.first.0;
        }
    }
    let several = talkers.into_iter().filter(|(_, (_, all))| all.len() > 1);
    several.map(|(mac, (packet, all))| (packet, mac, all.len())).collect()
}

/// Keeps the busiest flows, as many as a plan takes, in their order. Returns how many are left out.
fn limited(flows: Vec<Flow>) -> (Vec<Flow>, usize) {
    let mut order: Vec<usize> = (0..flows.len()).collect();
    // What is stated and was not seen comes first.
    order.sort_by_key(|number| u64::MAX - flows[*number].frames.wrapping_sub(1));
    let mut stations = BTreeSet::new();
    let mut kept = BTreeSet::new();
    for number in order {
        let flow = &flows[number];
        let ends = [Some(flow.talker), flow.listener];
        let new: BTreeSet<Mac> =
            ends.into_iter().flatten().filter(|end| !stations.contains(end)).collect();
        let is_self = flow.listener == Some(flow.talker);
        if !is_self && kept.len() < MAX_FLOWS && stations.len() + new.len() <= MAX_STATIONS {
            stations.extend(new);
            kept.insert(number);
        }
    }
    let dropped = flows.len() - kept.len();
    let flows = flows.into_iter().enumerate();
    let flows = flows.filter(|(number, _)| kept.contains(number));
    (flows.map(|(_, flow)| flow).collect(), dropped)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: the periods that the tools of each field use, with clocks off by up to 60 ppm.
    #[test]
    fn clocks_do_not_spoil_round_numbers() {
        for (nominal_ps, rate) in [
            (2_000_000_000, None),
            (8_000_000_000, None),
            (512_000_000_000, None),
            (250_000_000, None),
            (31_250_000, None),
            (208_333_333, Some(4800)),
            (694_444_444, Some(1440)),
            (69_444_444, Some(14_400)),
        ] {
            for off in [-60_i64, -7, 0, 31, 60] {
                let seen = nominal_ps + nominal_ps / 1_000_000 * off;
                let (period, found) = nominal(seen);
                assert_eq!(found, rate, "{nominal_ps} {off} {period}");
                assert!((period - nominal_ps).abs() <= 1, "{nominal_ps} {off} {period}");
            }
        }
        assert_eq!(nominal(1_234_567_891_234), (1_234_567_891_000, None));
    }
}
