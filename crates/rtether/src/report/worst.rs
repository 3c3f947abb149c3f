//! The timelines of the worst packets of several streams, and the parts of their bounds.
//!
//! Failures come first, then the smallest margins. The runs of the packets are repeated once for
//! each seed, and only if that is cheap: otherwise only bounds are explained.

use std::fmt::Write as _;

use rtether_model::network::{NodeId, PortId};
use rtether_model::quantity::Instant;
use rtether_report::text::{count, plural};
use rtether_sim::observe::{Delivery, DropReason, Observer, PacketInfo, Service};
use rtether_sim::timeline::Trails;

use super::Checked;
use crate::run::{self, Progress};
use crate::timeline::{Bars, Explained, ExplainedStream};
use crate::why::{Explainer, Stream, Why};

/// Most streams that are explained.
const STREAMS: usize = 24;
/// Most events of a run times streams followed in it, over all seeds: a few seconds.
const EFFORT: u64 = 40_000_000;

/// Explains the worst streams of a check.
pub fn worst(checked: &Checked) -> Explained {
    let explainer = checked.analysis.as_ref().map(|_| Explainer::new(&checked.scenario));
    worst_with(checked, explainer.as_ref())
}

/// The same with an analysis of the plant at hand; without one, no bounds.
pub fn worst_with(checked: &Checked, explainer: Option<&Explainer<'_>>) -> Explained {
    let mut chosen = checked.worst_first();
    let all = chosen.len();
    chosen.truncate(STREAMS);
    let streams: Vec<Stream> = checked
        .streams()
        .map(|stream| Stream {
            flow: rtether_model::flow::FlowId(stream.record.flow),
            listener: NodeId(stream.record.listener),
        })
        .collect();
    let packets = packets(checked, &chosen, &streams);
    let has_packets = packets.is_some();
    let mut packets = packets.unwrap_or_default();
    let explained = chosen.iter().map(|&index| {
        let packet = packets.iter().position(|(of, _)| *of == index);
        let bound = explainer.and_then(|all| all.explain(streams[index]));
        ExplainedStream {
            index,
            packet: packet.map(|at| packets.swap_remove(at).1),
            bound: bound.and_then(|why| Some((why.headline(), why.bars()?))),
        }
    });
    let streams = explained.collect();
    Explained { streams, note: note(chosen.len(), all, has_packets) }
}

/// Says which streams are explained.
fn note(chosen: usize, all: usize, has_packets: bool) -> String {
    let mut note = String::from(
        "A click on a stream, or Enter on the button behind its name, shows why it takes so long: its \
         slowest packet and its bound, part by part.",
    );
    if chosen < all {
        let number = |number: usize| count(u64::try_from(number).unwrap_or(u64::MAX));
        let _ = write!(
            note,
            " The page has this for {} of {}, failures and small margins first; `rtether why` tells it of \
             any.",
            number(chosen),
            plural(all, "stream")
        );
    }
    if !has_packets {
        note.push_str(
            " Repeating this run for single packets takes long, so only bounds are here.",
        );
    }
    note
}

/// Repeats the runs of the worst packets; `None` if that is not cheap.
fn packets(
    checked: &Checked,
    chosen: &[usize],
    streams: &[Stream],
) -> Option<Vec<(usize, (String, Bars))>> {
    let scenario = &checked.scenario;
    let record = &checked.results.record;
    let mut wanted: Vec<Wanted> = chosen
        .iter()
        .filter_map(|&index| {
            let worst = record.streams[index].worst?;
            Some(Wanted {
                index,
                seed: worst.seed,
                released_at: worst.released_at,
                latency: worst.latency,
            })
        })
        .collect();
    wanted.sort_by_key(|own| own.seed);
    let runs = u64::from(scenario.run.runs.max(1));
    let followed = u64::try_from(wanted.len()).unwrap_or(u64::MAX);
    if (record.events / runs).saturating_mul(followed) > EFFORT {
        return None;
    }
    let mut found = Vec::new();
    for own in wanted.chunk_by(|a, b| a.seed == b.seed) {
        let mut all = Followed(own.iter().map(|own| own.follow(checked, streams)).collect());
        let seed = own[0].seed;
        let is_open = |all: &Followed<_>| all.0.iter().any(|trails| trails.found().is_empty());
        run::simulate_while(scenario, seed, &Progress::default(), &mut all, is_open).ok()?;
        for (own, trails) in own.iter().zip(all.0) {
            let timeline = trails.into_found().into_iter().next();
            found.extend(timeline.map(|timeline| {
                let stream = streams[own.index];
                let why = Why { scenario, stream, seed, timeline };
                (own.index, (why.headline(), why.bars()))
            }));
        }
    }
    Some(found)
}

/// A packet whose timeline is wanted.
struct Wanted {
    index: usize,
    seed: u64,
    released_at: Instant,
    latency: rtether_model::quantity::Duration,
}

impl Wanted {
    fn follow(
        &self,
        checked: &Checked,
        streams: &[Stream],
    ) -> Trails<impl FnMut(&PacketInfo, &Delivery) -> bool + use<>> {
        let (network, flows) = (&checked.scenario.network, &checked.scenario.flows);
        let (index, released_at, latency) = (self.index, self.released_at, self.latency);
        let is_it = move |packet: &PacketInfo, delivery: &Delivery| {
            delivery.stream == index
                && packet.released_at == released_at
                && delivery.latency == latency
        };
        let flow = Some(streams[index].flow);
        Trails::new(network, flows, flow, released_at, is_it)
    }
}

/// Observers that follow a packet each; those that have found it are not told more.
struct Followed<W>(Vec<Trails<W>>);

impl<W> Followed<W> {
    fn open(&mut self) -> impl Iterator<Item = &mut Trails<W>> {
        self.0.iter_mut().filter(|trails| trails.found().is_empty())
    }
}

impl<W: FnMut(&PacketInfo, &Delivery) -> bool> Observer for Followed<W> {
    fn released(&mut self, now: Instant, packet: &PacketInfo) {
        self.open().for_each(|own| own.released(now, packet));
    }

    fn transmitted(&mut self, now: Instant, port: PortId, packet: &PacketInfo) {
        self.open().for_each(|own| own.transmitted(now, port, packet));
    }

    fn collided(&mut self, now: Instant, port: PortId, packet: &PacketInfo) {
        self.open().for_each(|own| own.collided(now, port, packet));
    }

    fn received(&mut self, now: Instant, station: NodeId, packet: &PacketInfo) {
        self.open().for_each(|own| own.received(now, station, packet));
    }

    fn served(&mut self, service: &Service, packet: &PacketInfo) {
        self.open().for_each(|own| own.served(service, packet));
    }

    fn reached(&mut self, now: Instant, station: NodeId, packet: &PacketInfo) {
        self.open().for_each(|own| own.reached(now, station, packet));
    }

    fn copied(&mut self, now: Instant, original: u32, packet: &PacketInfo) {
        self.open().for_each(|own| own.copied(now, original, packet));
    }

    fn dropped(&mut self, now: Instant, node: NodeId, packet: &PacketInfo, reason: DropReason) {
        self.open().for_each(|own| own.dropped(now, node, packet, reason));
    }

    fn delivered(&mut self, now: Instant, packet: &PacketInfo, delivery: &Delivery) {
        self.open().for_each(|own| own.delivered(now, packet, delivery));
    }
}
