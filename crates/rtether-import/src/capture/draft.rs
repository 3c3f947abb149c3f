//! The draft of the plant.

use rtether_model::quantity::Duration;

use super::copies::Copies;
use super::flows::{Flow, Release};
use super::network::{Network, stacks};
use super::stations::Stations;
use super::streams::Streams;
use super::ways::Ways;
use crate::draft::{Basis, Draft, LinkDraft, PlantDraft, Text, Value};
use crate::options::Options;
use crate::sheet::time;

/// Jitter below a microsecond is that of the stamps, in picoseconds.
const STAMPS: i64 = 1_000_000;
const MILLISECOND: i64 = 1_000_000_000;

/// Drafts the plant of flows that were seen, without a first comment.
pub(super) fn draft(
    title: String,
    points: &Points<'_>,
    (streams, copies): (&Streams, &Copies),
    flows: &[Flow],
    options: &Options,
) -> PlantDraft {
    let network = Network::of(flows, options);
    let stations = Stations::name((streams, copies), flows, &network);
    let stacks = stacks(flows, &network);
    let networks = stations.networks();
    let drafter = Drafter { stations: &stations, network: &network, points, options };
    PlantDraft {
        head: Vec::new(),
        title,
        stacks: stacks.drafts(stations.keys().iter(), "a capture shows no cost of stacks"),
        stations: stations.drafts(&stacks),
        idle: Vec::new(),
        switches: networks
            .iter()
            .map(|(name, members)| stations.switch(name, members.len()))
            .collect(),
        links: networks.iter().flat_map(|network| links(network, drafter.network.rate)).collect(),
        flows: flows.iter().enumerate().map(|(number, flow)| drafter.flow(flow, number)).collect(),
        run: Value::assumed(network.run, "long enough for a first look".into()),
        // Bulk alone has nothing to hold.
        has_deadlines: flows
            .iter()
            .any(|flow| !matches!(flow.release, Release::Bulk { .. }))
            .then(|| flows.iter().any(|flow| flow.deadline(options).is_some())),
    }
}

fn links((switch, members): &(&str, Vec<&str>), megabits: u64) -> Vec<LinkDraft> {
    let links = (1..).zip(members).map(|(port, name)| LinkDraft {
        ends: [(*name).to_owned(), format!("{switch}:{port}")],
        megabits,
        propagation: Duration::ZERO,
        is_standby: false,
        basis: Basis::Assumed("fast enough for what was seen".into()),
    });
    links.collect()
}

/// Points of capture.
pub(super) struct Points<'a> {
    pub(super) names: &'a [String],
    pub(super) ways: &'a Ways,
}

/// Most further points that a comment names.
const MOST_POINTS: usize = 3;

impl Points<'_> {
    /// Says where a flow was seen, and how much later at other points; nothing if at one.
    fn words(&self, flow: &Flow) -> Option<String> {
        let ways = self.ways.from(&flow.path, flow.interface);
        let named = |point: usize| self.names.get(point).map_or("", String::as_str);
        let others = ways.iter().take(MOST_POINTS).map(|(point, delay)| {
            let ns = |ns: i64| time(Duration::from_ns(ns));
            let (mean, least, most) = (delay.mean(), delay.least, delay.most);
            let range = if least == most {
                String::new()
            } else {
                format!(" ({} to {})", ns(least), ns(most))
            };
            format!("{} later at {}{range}", ns(mean), named(*point))
        });
        let others: Vec<String> = others.collect();
        let begin = named(flow.interface);
        (!others.is_empty()).then(|| format!("seen at {begin}, {}", others.join(", ")))
    }
}

/// Drafts flows.
struct Drafter<'a> {
    stations: &'a Stations,
    network: &'a Network,
    points: &'a Points<'a>,
    options: &'a Options,
}

impl Drafter<'_> {
    fn flow(&self, flow: &Flow, number: usize) -> Draft {
        let mut draft = Draft::described(&flow.name, flow.class, &flow.description);
        let from = Text::Name(self.stations.named(flow.talker).to_owned());
        let seen = self.points.words(flow);
        draft.give("from", from, seen.map_or(Basis::Stated, Basis::Follows));
        if let Some(listener) = flow.listener {
            draft.state("to", Text::Name(self.stations.named(listener).to_owned()));
        } else {
            let to = Text::Names(vec![self.stations.unknown.clone()]);
            draft.assume("to", to, "members of the group are not known");
            draft.state("delivery", "multicast");
        }
        draft.state("over", flow.over.word());
        self.release(flow, number, &mut draft);
        if !matches!(flow.release, Release::Bulk { .. }) {
            draft.give("size", Text::Octets(flow.size), flow.size_basis.clone());
        }
        if let Some(tag) = flow.tag {
            draft.give("pcp", u64::from(tag.pcp), flow.tag_basis.clone());
            draft.state_all([("vlan", Some(tag.vid).filter(|vid| *vid > 0).map(u64::from))]);
        }
        draft.state_all([("dscp", Some(flow.dscp).filter(|dscp| *dscp > 0).map(u64::from))]);
        if let Some((span, basis)) = flow.deadline(self.options) {
            draft.give("deadline", span, basis);
        }
        draft
    }

    fn release(&self, flow: &Flow, number: usize, draft: &mut Draft) {
        let run = self.network.run;
        match &flow.release {
            Release::Bulk { rate } => {
                draft.state("kind", "bulk");
                draft.assume("rate", Text::Bits(*rate), "the mean while it was seen");
            }
            Release::Periodic { period, rate, jitter, basis } => {
                let (key, text) = match rate {
                    Some(rate) => ("rate", Text::Often(rate.unsigned_abs() * 1_000)),
                    None => ("period", Text::Time(*period)),
                };
                draft.give(key, text, basis.clone());
                draft.spread(*period, run, number);
                if jitter.as_ps() >= STAMPS {
                    let jitter = rounded_up(*jitter).min(Duration::from_ps(period.as_ps() - 1));
                    let why = "as seen: of the sender, the way and the capture together";
                    draft.assume("jitter", jitter, why);
                }
            }
            // A grid of the least gap sends no less, and once in any run.
            Release::Sporadic { least, burst: 1, .. } if least.as_ps() > run.as_ps() / 2 => {
                let why = "the least gap that was seen; on a grid, so that a short run has one";
                draft.assume("period", *least, why);
                draft.spread(*least, run, number);
            }
            Release::Sporadic { mean, burst, basis, .. } => {
                let [least, shown] = self.network.gaps(flow);
                draft.give("min_gap", least, basis.clone());
                if shown > least {
                    let why = if shown == *mean {
                        "the mean that was seen".to_owned()
                    } else {
                        let mean = time(rounded_up(*mean));
                        format!("{mean} was seen; more often, so that a short run shows it")
                    };
                    draft.assume("mean_gap", rounded_up(shown), &why);
                }
                if *burst > 1 {
                    draft.assume("burst", *burst, "the most that came together");
                }
            }
        }
    }
}

/// Rounds a time up to two digits, or three above a millisecond.
fn rounded_up(span: Duration) -> Duration {
    let ps = span.as_ps();
    let most = if ps > MILLISECOND { 1000 } else { 100 };
    let mut unit = 1;
    while ps / unit >= most {
        unit *= 10;
    }
    Duration::from_ps((ps + unit - 1) / unit * unit)
}
