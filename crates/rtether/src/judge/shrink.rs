//! The smallest plant that still shows what refutes a claim: flows, nodes, links and whole sections are
//! left out, many at once and then one by one, and the run ends when the packet has arrived. Each
//! step is simulated, so that nothing rests on what was thought to be of no effect.

use std::collections::BTreeSet;

use rtether_model::quantity::Duration;

use crate::adversary::{self, Found, GoesOn, Plant, Target};
use crate::scenario::{Override, Scenario, Written};

/// A stream by its names, which stay when others are left out.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) flow: String,
    pub(super) listener: String,
}

/// What a run has to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wanted {
    /// A lost packet.
    Lost,
    /// A packet that takes longer than this.
    Later(Duration),
}

impl Wanted {
    /// Returns whether a plant that was found shows it.
    pub(super) fn is_in(self, plant: &Found) -> bool {
        match self {
            Self::Later(limit) => plant.latency > limit,
            Self::Lost => plant.dropped > 0,
        }
    }
}

/// A plant that shows what refutes a claim, from which no piece can be left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shrunk {
    /// A scenario.
    pub text: String,
    /// Largest delay of the stream in it; `None` if nothing arrives.
    pub latency: Option<Duration>,
    /// Packets of the stream that are lost in it.
    pub lost: u64,
    /// Time that it runs.
    pub until: Duration,
    /// Flows that are left, and those of the whole plant.
    pub flows: [usize; 2],
    /// Whether the user ended it before nothing more could be left out.
    pub is_cut: bool,
}

/// What a run shows of a stream.
struct Shown {
    latency: Option<Duration>,
    /// When the packet that takes longest arrives.
    arrival: Option<Duration>,
    lost: u64,
    until: Duration,
}

/// Leaves out of a run what is not needed to show what is wanted; `None` if the run, written as one
/// file, does not show it.
pub(super) fn shrink(
    run: &Written,
    subject: &Subject,
    wanted: Wanted,
    goes_on: GoesOn<'_>,
) -> Option<Shrunk> {
    let whole = run.whole()?;
    let flows = run.load().scenario?.flows.len();
    let search = Search { subject, wanted, goes_on };
    let (text, _) = search.cut(whole)?;
    let text = search.fewer(&text)?;
    // Without others the packet may arrive earlier.
    let (text, shown) = search.cut(text)?;
    let left = Written::from(text.clone()).load().scenario?.flows.len();
    Some(Shrunk {
        text,
        latency: shown.latency,
        lost: shown.lost,
        until: shown.until,
        flows: [left, flows],
        is_cut: !goes_on(),
    })
}

struct Search<'a> {
    subject: &'a Subject,
    wanted: Wanted,
    goes_on: GoesOn<'a>,
}

impl Search<'_> {
    /// Simulates a scenario; `None` if it is none, or does not show what is wanted.
    fn shows(&self, text: &str) -> Option<Shown> {
        let scenario = Written::from(text.to_owned()).load().scenario?;
        let stream = self.stream(&scenario)?;
        let until = scenario.run.duration;
        let plant = Plant::of(&scenario);
        let record = adversary::replay(&plant, (&[], scenario.run.seed), until, self.goes_on)?;
        let own = &record.streams[stream];
        let worst = own.worst.as_ref();
        let shown = Shown {
            latency: worst.map(|worst| worst.latency),
            arrival: worst.map(|worst| worst.released_at.since_start() + worst.latency),
            lost: own.dropped,
            until,
        };
        let is_shown = match self.wanted {
            Wanted::Later(limit) => shown.latency > Some(limit),
            Wanted::Lost => shown.lost > 0,
        };
        is_shown.then_some(shown)
    }

    /// Returns the position of the stream among those of the record.
    fn stream(&self, scenario: &Scenario) -> Option<usize> {
        Target::all(&scenario.flows).iter().position(|own| {
            let flow = &scenario.flows[own.flow.index()];
            let listener = scenario.network.node(flow.listeners[own.listener]);
            flow.name == self.subject.flow && listener.name == self.subject.listener
        })
    }

    /// Ends the run when the packet has arrived, if it then shows the same.
    fn cut(&self, text: String) -> Option<(String, Shown)> {
        let shown = self.shows(&text)?;
        let is_late = matches!(self.wanted, Wanted::Later(_));
        let Some(arrival) = shown.arrival.filter(|own| is_late && *own < shown.until) else {
            return Some((text, shown));
        };
        let mut shorter = Written::from(text.clone());
        let until = format!("{} ps", arrival.as_ps());
        shorter.changes.push(Override::new("--set", "run.for", until));
        let shorter = shorter.whole().and_then(|cut| Some((self.shows(&cut)?, cut)));
        Some(match shorter {
            Some((shown, cut)) => (cut, shown),
            None => (text, shown),
        })
    }

    /// Leaves out all pieces that are not needed.
    fn fewer(&self, text: &str) -> Option<String> {
        let pieces = Written::from(text.to_owned()).pieces()?;
        let groups = pieces.groups();
        let mut out: BTreeSet<usize> = BTreeSet::new();
        loop {
            let before = out.len();
            let mut size = groups.len();
            while size > 0 && (self.goes_on)() {
                let open: Vec<&Vec<usize>> =
                    groups.iter().filter(|group| !out.contains(&group[0])).collect();
                for chunk in open.chunks(size) {
                    let mut tried = out.clone();
                    tried.extend(chunk.iter().copied().flatten());
                    if self.shows(&pieces.text(&tried)).is_some() {
                        out = tried;
                    }
                }
                size = if size == 1 { 0 } else { size.div_ceil(2) };
            }
            if out.len() == before || !(self.goes_on)() {
                return Some(pieces.text(&out));
            }
        }
    }
}
