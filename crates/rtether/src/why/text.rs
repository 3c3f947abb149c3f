//! A timeline as tables and JSON.

use std::collections::BTreeMap;

use rtether_model::network::NodeId;
use rtether_model::quantity::Duration;
use rtether_model::record::{Place, Segment};
use rtether_report::document;
use rtether_report::format::{Part as Piece, Render};
use rtether_report::number::Ns;
use rtether_report::table::{Screen, Table};
use rtether_report::text::{percent, plural, share, time};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Part, Wait, Why, WhyJson};
use crate::place::place_name;

/// Waits in a part from which on the table for people has a line per flow, not per frame.
const MANY: usize = 8;

/// A line of the table.
struct Row<'a> {
    hop: usize,
    part: &'a Part,
    line: Line<'a>,
}

/// What a line shows.
#[derive(Clone, Copy)]
enum Line<'a> {
    /// The whole part.
    Part,
    /// A wait in it.
    Wait(&'a Wait),
    /// Waits for several frames of a flow, with the first of them, their number and time.
    Waits(&'a Wait, usize, Duration),
    /// What the waits leave uncovered.
    Rest(Duration),
    /// All that follows of what the packet waited for in the protocol, with its time.
    Awaited(Duration),
    /// What it waited for was here so often, and so long.
    AwaitedAt(usize, Duration),
}

impl<'a> Row<'a> {
    fn wait(&self) -> Option<&'a Wait> {
        match self.line {
            Line::Wait(wait) | Line::Waits(wait, ..) => Some(wait),
            Line::Part | Line::Rest(_) | Line::Awaited(_) | Line::AwaitedAt(..) => None,
        }
    }

    fn time(&self) -> Duration {
        match self.line {
            Line::Part => self.part.time(),
            Line::Wait(wait) => wait.time,
            Line::Waits(_, _, time)
            | Line::Rest(time)
            | Line::Awaited(time)
            | Line::AwaitedAt(_, time) => time,
        }
    }
}

/// Returns what a packet did in a part while it waited for no frame that is known.
const fn rest_name(part: &Part) -> &'static str {
    if part.is_partial {
        return "frames that are no longer known";
    }
    match part.place.segment {
        Segment::TalkerStack | Segment::ReceiveStack | Segment::Application => "own service",
        Segment::Protocol => "a timer, or the application",
        Segment::MediumAccess => "back-off, and gaps between frames",
        Segment::DriverQueue
        | Segment::Wire
        | Segment::SwitchLatency
        | Segment::SwitchQueue
        | Segment::ReceiveQueue => "pause",
    }
}

/// Returns what the waits of a part leave uncovered; zero if frames overlap in collisions.
fn rest_of(part: &Part) -> Duration {
    let waits: Duration = part.waits.iter().map(|wait| wait.time).sum();
    Ord::max(part.time() - waits, Duration::ZERO)
}

/// Returns the waits of a part by flow, direction and cause, in the order of their first ones.
fn by_flow(part: &Part) -> Vec<Line<'_>> {
    let mut groups: Vec<(&Wait, usize, Duration)> = Vec::new();
    for wait in &part.waits {
        let key = |own: &Wait| (own.flow, own.is_reverse, own.cause);
        match groups.iter_mut().find(|(first, ..)| key(first) == key(wait)) {
            Some((_, count, time)) => {
                *count += 1;
                *time += wait.time;
            }
            None => groups.push((wait, 1, wait.time)),
        }
    }
    let lines = groups.into_iter();
    lines.map(|(first, count, time)| Line::Waits(first, count, time)).collect()
}

/// Returns the parts by place, with their number and time, in the order of the first ones.
fn by_place(parts: &[Part]) -> Vec<(&Part, usize, Duration)> {
    let mut position: BTreeMap<Place, usize> = BTreeMap::new();
    let mut sums: Vec<(&Part, usize, Duration)> = Vec::new();
    for part in parts {
        let at = *position.entry(part.place).or_insert(sums.len());
        match sums.get_mut(at) {
            Some((_, count, time)) => {
                *count += 1;
                *time += part.time();
            }
            None => sums.push((part, 1, part.time())),
        }
    }
    sums
}

/// Returns the lines of what was waited for in the protocol: the longest place first.
fn awaited_lines(hop: usize, parts: &[Part]) -> Vec<Row<'_>> {
    let all = parts.iter().map(Part::time).sum();
    let mut sums = by_place(parts);
    sums.sort_by_key(|(_, _, time)| std::cmp::Reverse(*time));
    let first = parts.iter().take(1);
    let mut rows: Vec<Row<'_>> =
        first.map(|part| Row { hop, part, line: Line::Awaited(all) }).collect();
    let places = sums.into_iter();
    rows.extend(places.map(|(part, count, time)| Row {
        hop,
        part,
        line: Line::AwaitedAt(count, time),
    }));
    rows
}

impl Why<'_> {
    fn node(&self, id: NodeId) -> &str {
        &self.scenario.network.node(id).name
    }

    /// Returns the name of the flow, with the listener if there are several.
    pub fn stream_name(&self) -> String {
        self.stream.name(self.scenario)
    }

    /// Returns a part in words.
    pub(super) fn part_name(&self, part: &Part) -> String {
        place_name(self.scenario, part.place)
    }

    /// Returns a frame in words.
    pub(super) fn frame_name(&self, wait: &Wait) -> String {
        let flow = self.scenario.flow_name(wait.flow);
        let reply = if wait.is_reverse { ", reply" } else { "" };
        format!("`{flow}` #{}{reply}", wait.number)
    }

    /// Returns the place where the packet, and what it waited for, took longest in all, with this time;
    /// the first among equals.
    pub fn longest(&self) -> Option<(Place, Duration)> {
        let sums = by_place(&self.timeline.parts).into_iter().rev();
        let longest = sums.max_by_key(|(_, _, time)| *time)?;
        Some((longest.0.place, longest.2))
    }

    /// Returns a line per part and wait; for people, waits for many frames are taken together.
    fn lines(&self, is_for_people: bool) -> Vec<Row<'_>> {
        let mut rows = Vec::new();
        let parts = &self.timeline.parts;
        let mut shown = 0;
        for (hop, part) in parts.iter().enumerate() {
            if hop < shown {
                continue;
            }
            let awaited = parts[hop..].iter().take_while(|own| own.is_awaited).count();
            if is_for_people && awaited > 0 {
                let all = &parts[hop..hop + awaited];
                shown = hop + awaited;
                rows.extend(awaited_lines(hop, all));
                continue;
            }
            let mut lines = vec![Line::Part];
            if is_for_people && part.waits.len() > MANY {
                lines.extend(by_flow(part));
            } else {
                lines.extend(part.waits.iter().map(Line::Wait));
            }
            let rest = rest_of(part);
            if (part.is_partial || !part.waits.is_empty()) && rest > Duration::ZERO {
                lines.push(Line::Rest(rest));
            }
            rows.extend(lines.into_iter().map(|line| Row { hop, part, line }));
        }
        rows
    }

    /// Returns what a line is about.
    fn line_name(&self, row: &Row<'_>) -> String {
        match row.line {
            Line::Part => self.part_name(row.part),
            Line::Awaited(_) => "protocol".to_owned(),
            Line::AwaitedAt(count, _) => {
                let times = if count > 1 { format!(", {count} times") } else { String::new() };
                format!("  {}{times}", self.part_name(row.part))
            }
            Line::Wait(wait) => format!("  {}", self.frame_name(wait)),
            Line::Waits(first, 1, _) => format!("  {}", self.frame_name(first)),
            Line::Waits(first, count, _) => {
                let flow = self.scenario.flow_name(first.flow);
                if first.is_reverse {
                    format!("  `{flow}`, {count} replies")
                } else {
                    format!("  `{flow}`, {}", plural(count, "frame"))
                }
            }
            Line::Rest(_) => format!("  {}", rest_name(row.part)),
        }
    }

    fn table(&self, is_for_people: bool) -> Table {
        let (begin, latency) = (self.timeline.released_at, self.timeline.latency);
        let flow = |wait: &Wait| self.scenario.flow_name(wait.flow).to_owned();
        let whole = |row: &Row<'_>| matches!(row.line, Line::Part | Line::Awaited(_));
        Table::of(self.lines(is_for_people))
            .file("hop", |row| row.hop)
            .amount("at", |row| {
                let wait = row.wait().map(|wait| wait.since);
                let enter = whole(row).then_some(row.part.enter);
                wait.or(enter).map(|at| time(at - begin))
            })
            .rank(2)
            .number("time", "time_ns", Row::time)
            .amount("share", |row| whole(row).then(|| percent(share(row.time(), latency))))
            .rank(1)
            .shown("where, and behind which frame", |row| self.line_name(row))
            .shown("frame", |row| match row.line {
                Line::Wait(wait) | Line::Waits(wait, 1, _) => Some(frame(wait)),
                Line::Part
                | Line::Waits(..)
                | Line::Rest(_)
                | Line::Awaited(_)
                | Line::AwaitedAt(..) => None,
            })
            .rank(3)
            .both("cause", "cause", |row| match row.line {
                Line::Wait(wait) | Line::Waits(wait, ..) => Some(wait.cause.name()),
                Line::Rest(_) => Some(rest_name(row.part)).filter(|_| !is_for_people),
                Line::Part | Line::Awaited(_) | Line::AwaitedAt(..) => None,
            })
            .rank(4)
            .file("place", |row| self.part_name(row.part))
            .file("is_awaited", |row| row.part.is_awaited)
            .file("enter_ns", |row| row.part.enter.since_start())
            .file("leave_ns", |row| row.part.leave.since_start())
            .file("flow", |row| row.wait().map(flow))
            .file("packet", |row| row.wait().map(|wait| wait.number))
            .file("is_reply", |row| row.wait().map(|wait| wait.is_reverse))
            .file("octets", |row| row.wait().map(|wait| wait.octets))
            .file("priority", |row| row.wait().and_then(|wait| wait.priority))
            .file("since_ns", |row| row.wait().map(|wait| wait.since.since_start()))
            .done()
    }

    /// Returns the first lines for people.
    pub(crate) fn headline(&self) -> String {
        let timeline = &self.timeline;
        let flow = &self.scenario.flows[self.stream.flow.index()];
        let deadline = flow.deadline.map_or_else(String::new, |deadline| {
            let word = if timeline.latency > deadline { "late, " } else { "" };
            format!(" ({word}deadline {})", time(deadline))
        });
        let several = if timeline.parts.iter().any(|part| part.is_awaited) {
            "; in the protocol it waited for what was at these places, then it was on its way"
        } else {
            ""
        };
        format!(
            "{}: packet {} took {}{deadline}\nseed {}, released at {}{several}\n\n",
            self.stream_name(),
            timeline.number,
            time(timeline.latency),
            self.seed,
            time(timeline.released_at.since_start()),
        )
    }

    fn end(&self) -> String {
        let Some((place, longest)) = self.longest() else {
            return "\n".to_owned();
        };
        let part = percent(share(longest, self.timeline.latency));
        format!("\nLongest part: {part} {}.\n", place_name(self.scenario, place))
    }
}

/// Returns size and priority of a frame.
fn frame(wait: &Wait) -> String {
    let priority = wait.priority;
    let priority = priority.map_or_else(String::new, |pcp| format!(", priority {pcp}"));
    format!("{} B{priority}", wait.octets)
}

impl Render for Why<'_> {
    fn parts(&self, _: Screen) -> Vec<Piece> {
        vec![self.headline().into(), self.table(true).into(), self.end().into()]
    }

    /// One row for each part, followed by one for each frame that the packet waited for there.
    fn rows(&self) -> Table {
        self.table(false)
    }

    fn json(&self) -> String {
        let flow = &self.scenario.flows[self.stream.flow.index()];
        let timeline = &self.timeline;
        document::text(&WhyJson::Packet(PacketJson {
            scenario: &self.scenario.name,
            flow: &flow.name,
            listener: self.node(self.stream.listener),
            is_bound: false,
            packet: timeline.number,
            seed: self.seed,
            released_ns: Ns(timeline.released_at.since_start()),
            latency_ns: Ns(timeline.latency),
            deadline_ns: flow.deadline.map(Ns),
            hops: timeline.parts.iter().map(|part| self.hop(part)).collect(),
        }))
    }
}

/// The timeline of a packet.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PacketJson<'a> {
    /// Title of the scenario.
    scenario: &'a str,
    /// Name of the flow.
    flow: &'a str,
    /// Name of the listener.
    listener: &'a str,
    /// `false`.
    is_bound: bool,
    /// Number of the packet within the flow, from 0.
    packet: u32,
    /// Seed of its run.
    seed: u64,
    /// When it was released, counted from the start of the run.
    released_ns: Ns,
    /// Release to delivery.
    latency_ns: Ns,
    /// Deadline of the flow, or `null`.
    deadline_ns: Option<Ns>,
    /// The parts in order of time, without a gap; their `ns` add up to the latency.
    hops: Vec<HopJson<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct HopJson<'a> {
    /// The place in words.
    place: String,
    /// Its kind, as in the segments of a stream.
    part: &'static str,
    /// Its node.
    node: &'a str,
    /// When the packet came, counted from the start of the run.
    enter_ns: Ns,
    /// When it left.
    leave_ns: Ns,
    /// The difference.
    ns: Ns,
    /// The frames that it waited for.
    waits: Vec<WaitJson<'a>>,
    /// Whether not the packet was there, but what it waited for in the protocol.
    is_awaited: bool,
    /// Whether some of these frames are no longer known: memory holds about a million of all ports
    /// and stacks.
    is_partial: bool,
    /// The part of `ns` that is not covered by waits: its own service or transmission, or a pause.
    rest_ns: Ns,
}

#[derive(Serialize, JsonSchema)]
struct WaitJson<'a> {
    /// Name of the flow.
    flow: &'a str,
    /// Number of the packet within it.
    packet: u32,
    /// Whether it is a reply.
    is_reply: bool,
    /// `in service` for a frame that was being served or sent when the packet came, `ahead` for one
    /// that went first, and `collision` on shared media, where waits can overlap.
    cause: &'static str,
    /// How long.
    ns: Ns,
    /// When the service or transmission of the frame began.
    since_ns: Ns,
    /// Its octets from addresses to FCS.
    octets: u64,
    /// Its priority, or `null`.
    priority: Option<u8>,
}

impl Why<'_> {
    fn hop(&self, part: &Part) -> HopJson<'_> {
        let Place { segment, port } = part.place;
        let waits = part.waits.iter().map(|wait| WaitJson {
            flow: self.scenario.flow_name(wait.flow),
            packet: wait.number,
            is_reply: wait.is_reverse,
            cause: wait.cause.name(),
            ns: Ns(wait.time),
            since_ns: Ns(wait.since.since_start()),
            octets: wait.octets,
            priority: wait.priority,
        });
        HopJson {
            place: self.part_name(part),
            part: segment.name(),
            node: self.node(port.node),
            enter_ns: Ns(part.enter.since_start()),
            leave_ns: Ns(part.leave.since_start()),
            ns: Ns(part.time()),
            waits: waits.collect(),
            is_awaited: part.is_awaited,
            is_partial: part.is_partial,
            rest_ns: Ns(rest_of(part)),
        }
    }
}
