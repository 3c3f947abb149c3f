//! The draft of the plant.

use std::collections::{BTreeMap, BTreeSet};

use rtether_model::quantity::Duration;
use rtether_model::wire::ETHERNET_MBPS;

use super::flows::{Begin, Flow, Times};
use super::plant::{Link, Node, Plant, Sort};
use super::token::tokens;
use super::value::{Number, Unit};
use super::{Notes, duration, queues, rate};
use crate::draft::{Basis, Draft, LinkDraft, PlantDraft, Text, Value, head};
use crate::error::ImportError;
use crate::options::{Class, Options};
use crate::plan::Code;
use crate::sheet::Names;
use crate::text::{plain, quote};
use crate::ways::{Neighbors, way};

/// Why stacks are as they are.
const NO_TIME: &str = "stacks of INET take no time; `rtether calibrate` measures yours";
/// Rate of links that nothing states.
const USUAL_RATE: f64 = 100e6;
/// Most flows times nodes, for each of which a way is searched.
const MAX_STEPS: usize = 10_000_000;
/// Packets that a simulation may have, so that the first check is quick.
const MESSAGES: f64 = 1_000_000.0;
/// Drafts a plant.
pub(super) fn draft(
    plant: &Plant<'_>,
    flows: &[Flow],
    limit: Option<&str>,
    options: &Options,
    notes: &mut Notes<'_>,
) -> Result<PlantDraft, ImportError> {
    let mut names = Names::default();
    let ends = flows.iter().flat_map(|flow| flow.to.iter().chain([&flow.from]));
    let ends: BTreeSet<usize> = ends.copied().collect();
    let is_used = |number: usize, node: &Node| {
        let is_end = ends.contains(&number);
        is_end || (node.sort() == Sort::Switch && !node.ports.is_empty())
    };
    let nodes = plant.nodes.iter().enumerate();
    let named = nodes.map(|(number, node)| is_used(number, node).then(|| names.take(&node.name)));
    let drafter = Drafter { plant, names: named.collect(), options };
    let ways = drafter.ways(flows, notes)?;
    let mut stack = Draft::with("station", Basis::Assumed(NO_TIME.into()));
    stack.state("send", "0 us");
    stack.state("receive", "0 us");
    let files: Vec<String> = notes.files.iter().map(|name| plain(name, 80)).collect();
    let from = plain(&files.join(", "), 200);
    Ok(PlantDraft {
        head: head(&format!("{from} (INET)"), "the files do not say"),
        title: plain(plant.name, 80),
        stacks: vec![stack],
        stations: drafter
            .used(|sort| sort != Sort::Switch)
            .map(|(name, _)| Draft::station(name, "station".into(), Basis::Stated))
            .collect(),
        idle: Vec::new(),
        switches: drafter
            .used(|sort| sort == Sort::Switch)
            .map(|(name, node)| queues::draft(name, node, plant, notes))
            .collect(),
        links: drafter.links(notes)?,
        flows: drafter.flows(flows, ways.as_ref()),
        run: run(flows, limit, notes),
        has_deadlines: Some(flows.iter().any(|flow| drafter.deadline(flow).is_some())),
    })
}

struct Drafter<'w, 't> {
    plant: &'w Plant<'t>,
    /// Names in the scenario; `None` for a node that is no switch, and that no flow needs.
    names: Vec<Option<String>>,
    options: &'w Options,
}

impl<'w> Drafter<'w, '_> {
    /// Returns the nodes of some sorts that are used, with their names.
    fn used(&self, is_wanted: impl Fn(Sort) -> bool) -> impl Iterator<Item = (&str, &'w Node)> {
        let named = self.names.iter().zip(&self.plant.nodes);
        let named = named.filter_map(|(name, node)| Some((name.as_deref()?, node)));
        named.filter(move |(_, node)| is_wanted(node.sort()))
    }

    fn name(&self, node: usize) -> &str {
        let name = self.names.get(node).and_then(Option::as_ref);
        name.map_or("", String::as_str)
    }

    fn is_used(&self, node: usize) -> bool {
        self.names.get(node).is_some_and(Option::is_some)
    }

    /// Returns the neighbors of nodes if links close a ring. Refuses flows between parts that no
    /// link joins.
    fn ways(&self, flows: &[Flow], notes: &Notes<'_>) -> Result<Option<Neighbors>, ImportError> {
        let mut neighbors = Neighbors::new();
        for link in self.once() {
            let [(one, _), (other, _)] = link.ends;
            for (one, other) in [(one, other), (other, one)] {
                let own = neighbors.entry(self.name(one).to_owned()).or_default();
                own.insert(self.name(other).to_owned());
            }
        }
        let place = (notes.files.len() - 1, 1);
        let pairs = flows.iter().flat_map(|flow| flow.to.iter().map(|to| (flow.from, *to)));
        let pairs: BTreeSet<(usize, usize)> = pairs.collect();
        if pairs.len().saturating_mul(neighbors.len()) > MAX_STEPS {
            let what = format!("it has {} nodes, for {} flows", neighbors.len(), flows.len());
            return Err(notes.wrong(place, what, "import a part of it"));
        }
        for (from, to) in pairs {
            if way(&neighbors, self.name(from), self.name(to)).is_none() {
                let name = |node: usize| quote(&self.plant.nodes[node].name);
                let what = format!("no links lead from {} to {}", name(from), name(to));
                return Err(notes.wrong(place, what, "add the missing ones to the network"));
            }
        }
        let is_ring = self.once().len() >= neighbors.len();
        Ok(is_ring.then_some(neighbors))
    }

    /// Returns the links that are used, without those that join what others have joined.
    fn once(&self) -> Vec<&'w Link> {
        let mut known = BTreeSet::new();
        let links = self.plant.links.iter();
        let links = links.filter(|link| link.ends.iter().all(|(node, _)| self.is_used(*node)));
        let mut is_new = |link: &&Link| {
            let [(one, _), (other, _)] = link.ends;
            known.insert((one.min(other), one.max(other)))
        };
        links.filter(|link| is_new(link)).collect()
    }

    fn links(&self, notes: &mut Notes<'_>) -> Result<Vec<LinkDraft>, ImportError> {
        let once = self.once();
        let links = once.iter().map(|link| self.link(link, notes));
        let links = links.collect::<Result<Vec<LinkDraft>, ImportError>>()?;
        let used = self.plant.links.iter();
        let used = used.filter(|link| link.ends.iter().all(|(node, _)| self.is_used(*node)));
        let more = used.count() - once.len();
        if more > 0 {
            let what =
                format!("{more} links join nodes that others have joined; they are left out");
            notes.find((notes.files.len() - 1, 1), Code::UnusedCable, what);
        }
        Ok(links)
    }

    fn link(&self, link: &Link, notes: &mut Notes<'_>) -> Result<LinkDraft, ImportError> {
        let (stated, why) = self.rate(link, notes)?;
        let wrong = || {
            let ends = link.ends.map(|(node, _)| quote(&self.plant.nodes[node].name));
            let what = format!("the link of {} and {} has {stated} bit/s", ends[0], ends[1]);
            let ini = (notes.files.len() - 1, 1);
            notes.wrong(ini, what, "give it a rate of Ethernet")
        };
        let bits = rate(stated).filter(|own| own.is_multiple_of(1_000_000));
        let megabits = bits.map(|own| own / 1_000_000).filter(|own| ETHERNET_MBPS.contains(own));
        let megabits = megabits.ok_or_else(wrong)?;
        let reasons: Vec<&str> = why.into_iter().chain(link.assumed).collect();
        Ok(LinkDraft {
            ends: link.ends.map(|(node, port)| {
                let name = self.name(node);
                match self.plant.nodes[node].sort() {
                    Sort::Switch => format!("{name}:{}", port + 1),
                    Sort::Station | Sort::Other => name.to_owned(),
                }
            }),
            megabits,
            propagation: link.delay,
            is_standby: false,
            basis: match reasons.as_slice() {
                [] => Basis::Stated,
                reasons => Basis::Assumed(reasons.join(", ")),
            },
        })
    }

    /// Returns the rate of a link, and why it is assumed.
    fn rate(
        &self,
        link: &Link,
        notes: &mut Notes<'_>,
    ) -> Result<(f64, Option<&'static str>), ImportError> {
        let mut found: Option<f64> = None;
        for (node, port) in link.ends {
            let name = &self.plant.nodes[node].name;
            let path = format!("{name}.eth[{port}].bitrate");
            let Some((value, place)) = self.plant.value(&path) else {
                continue;
            };
            let wrong = |what: String| {
                let what = format!("{}: {what}", quote(&path));
                notes.wrong(place, what, "write a rate there, such as 100Mbps")
            };
            let value = value.map_err(wrong)?;
            let own = value.number().filter(|own| own.unit == Unit::Rate && own.is_fixed());
            let own = own.ok_or_else(|| wrong("it is no rate".into()))?.mean;
            match found {
                Some(other) if (other - own).abs() > 0.5 => {
                    let what = format!(
                        "both ends of a link at {} have other rates; the lower one is taken",
                        quote(name)
                    );
                    notes.find(place, Code::BadValue, what);
                    found = Some(other.min(own));
                }
                // No rate is that of the channel.
                _ if own == 0.0 => {}
                _ => found = Some(own),
            }
        }
        Ok(match found.or(link.rate) {
            Some(rate) => (rate, None),
            None => (USUAL_RATE, Some("no rate is stated")),
        })
    }

    fn flows(&self, flows: &[Flow], ways: Option<&Neighbors>) -> Vec<Draft> {
        // A name of several stations says less than one with its station.
        let mut count: BTreeMap<&str, usize> = BTreeMap::new();
        for name in flows.iter().filter_map(|flow| flow.name.as_deref()) {
            *count.entry(name).or_default() += 1;
        }
        let drafts = flows.iter().map(|flow| {
            let name = match flow.name.as_deref() {
                Some(name) if count.get(name) == Some(&1) => name.to_owned(),
                Some(name) => format!("{} {name}", self.name(flow.from)),
                None => flow.place.clone(),
            };
            self.flow(flow, &name, ways)
        });
        drafts.collect()
    }

    fn flow(&self, flow: &Flow, name: &str, ways: Option<&Neighbors>) -> Draft {
        let named = |node: &usize| self.name(*node).to_owned();
        let mut draft = Draft::new(name);
        draft.state("from", Text::Name(named(&flow.from)));
        draft.state("to", Text::Names(flow.to.iter().map(named).collect()));
        if let Some(neighbors) = ways {
            let to = flow.to.iter();
            let ways = to.filter_map(|to| way(neighbors, self.name(flow.from), self.name(*to)));
            let ways = ways.map(|way| way.into_iter().map(str::to_owned).collect());
            draft.assume("route", Text::Ways(ways.collect()), "the shortest way");
        }
        if flow.is_raw {
            draft.state("over", "raw");
        }
        times(&mut draft, flow);
        let is_drawn = flow.is_size_random.then(|| "the most that it draws".to_owned());
        draft.give("size", Text::Octets(flow.size), is_drawn.map_or(Basis::Stated, Basis::Assumed));
        draft.state_all([
            ("pcp", flow.pcp),
            ("vlan", flow.vlan.filter(|vlan| *vlan > 0)),
            ("dscp", Some(flow.dscp).filter(|dscp| *dscp > 0 && !flow.is_raw)),
        ]);
        if let Some((deadline, source)) = self.deadline(flow) {
            draft.explain("deadline", deadline, source);
        }
        draft
    }

    /// Returns the deadline of a flow and where it is stated.
    fn deadline(&self, flow: &Flow) -> Option<(Duration, &'static str)> {
        let (class, source) = match flow.times {
            Times::Periodic(_) => (Class::Periodic, "--deadline periodic"),
            Times::Random { .. } => (Class::Sporadic, "--deadline sporadic"),
        };
        let stated = self.options.deadline(class);
        if stated.is_stated {
            return stated.time.map(|time| (time, source));
        }
        flow.deadline.map(|time| (time, "maxLatency"))
    }
}

/// Says when a flow sends.
fn times(draft: &mut Draft, flow: &Flow) {
    let (Begin::At(mut start) | Begin::Within { mut start, .. }) = flow.begin;
    match flow.times {
        Times::Periodic(period) => {
            draft.state("period", period);
            match flow.begin {
                Begin::At(own) => {
                    draft.state("phase", own);
                    start = Duration::ZERO;
                }
                Begin::Within { is_guess: true, .. } => {
                    draft.assume("phase", "random", "drawn in another way by INET");
                }
                Begin::Within { .. } => {}
            }
        }
        Times::Random { least, mean, is_guess } => {
            if least == Duration::ZERO {
                draft.state("kind", "poisson");
            } else {
                draft.state("min_gap", least);
            }
            let why = "drawn in another way by INET; distributed exponentially here".to_owned();
            let basis = if is_guess { Basis::Assumed(why) } else { Basis::Stated };
            draft.give("mean_gap", mean, basis);
        }
    }
    draft.state_all([("start", Some(start).filter(|start| *start > Duration::ZERO))]);
    draft.state_all([("stop", flow.stop)]);
}

/// Returns how long to simulate: what the file states, if that is not too much.
fn run(flows: &[Flow], limit: Option<&str>, notes: &mut Notes<'_>) -> Value<Duration> {
    #[allow(clippy::cast_precision_loss, reason = "up to a day, and an estimate")]
    let means = || flows.iter().map(|flow| flow.times.mean().as_ps().max(1) as f64);
    let rate: f64 = means().map(f64::recip).sum();
    let most = (MESSAGES / rate).clamp(1e6, 86_400e12);
    let stated = limit.and_then(|text| {
        let words = tokens(text).ok()?;
        let value = super::value::fixed(&words, text)?;
        duration(Some(value).filter(|own: &Number| own.unit == Unit::Time)?.mean)
    });
    if limit.is_some() && stated.is_none() {
        let place = (notes.files.len() - 1, 1);
        notes.find(place, Code::BadValue, "`sim-time-limit` is no time up to a day".into());
    }
    let usual = means().fold(0.0, f64::max) * 10.0;
    let longest = duration(most.floor()).unwrap_or(Duration::from_ms(1));
    if let Some(stated) = stated.filter(|stated| *stated <= longest) {
        return Value::stated(stated);
    }
    let (span, why) = if stated.is_some() {
        (longest, "less than `sim-time-limit`, for a quick check")
    } else {
        let usual = duration(usual.max(1e10));
        let usual = usual.map_or(longest, |usual| usual.min(longest));
        (usual, "several periods of every flow")
    };
    // Whole microseconds read better.
    let span = Duration::from_us(span.as_ps().div_euclid(1_000_000).max(1));
    Value::assumed(span, why.into())
}
