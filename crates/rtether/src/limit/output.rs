//! The limit in all formats; the page is in `output/page.rs`.

mod page;

use rtether_model::flow::FlowId;
use rtether_model::quantity::BitRate;
use rtether_report::document::{self, Document};
use rtether_report::format::{Part, Render};
use rtether_report::number::Ns;
use rtether_report::table::{Cell, Screen, Table};
use rtether_report::text::{percent, plain_line, plural};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Access, DEPTH, End, Limit, Share, Station, Trial};
use crate::domain::Attempts;
use crate::load::rounded;
use crate::scenario::Scenario;
use crate::words::Conclusion;
pub use page::html;

/// Largest number of flows named in a sentence.
const NAMED: usize = 4;

/// Note shown with every probability of collisions.
const STATISTICAL: &str = "statistical, not a bound";

/// Returns the result in one sentence.
fn sentence(limit: &Limit) -> String {
    let target = format!(
        "miss ratio of at most {} with {} confidence",
        limit.question.miss_ratio,
        exact_percent(limit.question.confidence)
    );
    match (limit.end, limit.passing()) {
        (End::Found { .. }, Some(trial)) => {
            let failing = limit.failing().map_or(0.0, |trial| trial.load_bps);
            format!(
                "The limit is {}, {:.3} times the present load of {}: it keeps a {target}; for {} \
                 that is not shown.",
                rate(trial.load_bps),
                trial.factor,
                rate(limit.present_bps),
                rate(failing)
            )
        }
        (End::Unlimited { .. }, Some(trial)) => format!(
            "No limit found: even {}, more than the links of the stations carry, meets a \
             {target}.",
            rate(trial.load_bps)
        ),
        (End::Never, _) => {
            let least = limit.trials.iter().map(|trial| trial.load_bps);
            format!(
                "No load meets a {target}, not even {}: deadlines are missed without the scaled \
                 flows. Look at the others with `rtether check`, or scale more of them with \
                 `--flows`.",
                rate(least.fold(f64::INFINITY, f64::min))
            )
        }
        (End::TooFew { runs: Some(runs) }, _) => format!(
            "Needs more runs: the packets simulated are too few, or depend on each other too much, \
             to show a {target}: use `--runs {runs}` or a longer `--for`, or relax the target."
        ),
        (End::Unsettled, _) => "Needs a longer `warmup`: the beginning of the runs differs from \
             the rest, so that no limit can be shown."
            .into(),
        (End::TooFew { runs: None }, _) => format!(
            "A flow with a deadline released no packets, so that no {target} can be shown: use a \
             longer `--for`, or start the flow earlier."
        ),
        (End::Interrupted | End::Found { .. } | End::Unlimited { .. }, _) => {
            "The limit was not found; the loads below were tried.".into()
        }
    }
}

/// Returns a share in percent with all its digits: 99.99 % is not shown as 100 %.
fn exact_percent(share: f64) -> String {
    let digits = format!("{:.6}", share * 100.0);
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{digits} %")
}

/// Returns a rate with at most four digits.
fn rate(bps: f64) -> String {
    let mut bps = rounded(bps);
    let mut unit = 1;
    while bps / unit >= 10_000 {
        unit *= 10;
    }
    bps = (bps + unit / 2) / unit * unit;
    BitRate::from_bps(bps).to_string()
}

fn flow_name(scenario: &Scenario, flow: FlowId) -> &str {
    &scenario.flows[flow.index()].name
}

/// Returns the names of the first scaled flows and the number of the others.
fn flow_names(scenario: &Scenario, limit: &Limit) -> String {
    let some = limit.flows.iter().take(NAMED);
    let names: Vec<&str> = some.map(|&id| flow_name(scenario, id)).collect();
    let more = match limit.flows.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", names.join(", "))
}

/// Returns the trials from the lowest load to the highest.
fn by_load(limit: &Limit) -> Vec<&Trial> {
    let mut trials: Vec<&Trial> = limit.trials.iter().collect();
    trials.sort_by(|a, b| a.factor.total_cmp(&b.factor));
    trials
}

/// Returns sentences on the probability of a miss by collisions; a share of zero is observed, not
/// proved.
fn access_words(scenario: &Scenario, access: &Access) -> Vec<String> {
    let name = flow_name(scenario, access.flow);
    let part = if access.accesses > 1 {
        format!(
            " ({} for each of its {} accesses)",
            access.deadline / i64::from(access.accesses),
            access.accesses
        )
    } else {
        String::new()
    };
    let collisions = usize::try_from(access.collisions).unwrap_or(0);
    let within = access.longest_within.map_or_else(String::new, |longest| {
        let trials = plural(collisions, "trial");
        format!(" getting through within {trials} takes at most {longest};")
    });
    let beyond = match access.longest_beyond {
        Some(longest) => {
            let collisions = plural(collisions, "collision");
            format!("after {collisions} it can take {longest} or more")
        }
        None => "only a frame that is given up after sixteen collisions is late".into(),
    };
    vec![
        format!(
            "Shared medium {}: the smallest deadline is {}{part}, of {name};{within} {beyond}.",
            access.medium, access.deadline
        ),
        format!(
            "That many collisions have a probability of {:.2e}, as observed in the simulation: \
             {STATISTICAL}, and without waiting behind other frames of the station.",
            access.probability
        ),
    ]
}

/// Returns the verdict: its word, and what was found.
fn verdict(limit: &Limit) -> String {
    limit.conclusion().sentence(&sentence(limit))
}

/// Returns the verdict in one line.
pub fn summary(limit: &Limit) -> String {
    verdict(limit) + "\n"
}

/// The limit of a scenario, in all formats.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// What was found.
    pub limit: &'a Limit,
}

impl Render for Answer<'_> {
    fn parts(&self, _: Screen) -> Vec<Part> {
        let Self { scenario, limit } = *self;
        let head = format!(
            "{}\n{}\nscaled         {}\n",
            plain_line(&scenario.name),
            plain_line(&verdict(limit)),
            plain_line(&flow_names(scenario, limit))
        );
        let mut parts = vec![Part::Lines(head)];
        let mut add = |part: Part| parts.extend([Part::Lines("\n".into()), part]);
        if !limit.trials.is_empty() {
            add(loads(scenario, &by_load(limit)).into());
        }
        if !limit.stations.is_empty() {
            add(stations(scenario, limit).into());
            let note = format!("RP: refresh period of a credit bucket, CBD = {DEPTH}\n");
            parts.push(note.into());
        }
        let lines = limit.access.iter().flat_map(|a| access_words(scenario, a));
        let lines: String = lines.map(|line| plain_line(&line) + "\n").collect();
        if !lines.is_empty() {
            parts.extend([Part::Lines("\n".into()), lines.into()]);
        }
        parts
    }

    /// `kind` distinguishes loads and the two limits of stations.
    fn rows(&self) -> Table {
        let trials: Vec<&Trial> = self.limit.trials.iter().collect();
        loads(self.scenario, &trials).append(&shares(self.scenario, self.limit))
    }

    fn json(&self) -> String {
        json(self.scenario, self.limit)
    }
}

fn bps(bps: f64) -> Cell {
    Cell::from(rounded(bps)).shown(rate(bps))
}

/// Returns the trials, in this order.
fn loads(scenario: &Scenario, trials: &[&Trial]) -> Table {
    let worst = |trial: &&&Trial| flow_name(scenario, trial.worst.flow).to_owned();
    Table::of(trials)
        .file("kind", |_| "load")
        .file("name", worst)
        .amount("load", |trial| bps(trial.load_bps))
        .number("factor", "factor_ratio", |trial| {
            Cell::from(trial.factor).shown(format!("{:.4}", trial.factor))
        })
        .file("load_bps", |trial| rounded(trial.load_bps))
        .amount("miss ratio", |trial| {
            let (missed, released) = (trial.worst.missed, trial.worst.released);
            Cell::from(missed).shown(format!("{missed} of {released}"))
        })
        .amount("upper limit", |trial| {
            let shown = |upper| Cell::from(upper).shown(format!("{upper:.3e}"));
            trial.worst.upper.map(shown)
        })
        .shown("worst flow", worst)
        .rank(1)
        .number("throughput", "throughput_bps", |trial| bps(trial.throughput_bps))
        .rank(2)
        .number("busiest", "utilization_ratio", |trial| {
            Cell::from(trial.utilization).shown(percent(trial.utilization))
        })
        .rank(3)
        .file("missed_packets", |trial| trial.worst.missed)
        .file("released_packets", |trial| trial.worst.released)
        .file("miss_ratio_upper", |trial| trial.worst.upper)
        .both("verdict", "verdict", |trial| trial.verdict.name())
        .both("stage", "stage", |trial| trial.stage.name())
        .file("cbd_bytes", |_| ())
        .file("rp_ns", |_| ())
        .done()
}

/// Returns the limits of stations, for people.
fn stations(scenario: &Scenario, limit: &Limit) -> Table {
    Table::of(&limit.stations)
        .shown("station", |station| &scenario.network.node(station.node).name)
        .amount("present", |station| bps(station.present_bps))
        .amount("other flows", |station| bps(station.other_bps))
        .amount("equal limit", |station| bps(station.equal.limit_bps))
        .amount("RP", |station| station.equal.period)
        .amount("limit by need", |station| bps(station.by_need.limit_bps))
        .amount("RP", |station| station.by_need.period)
        .done()
}

/// Returns the limits of stations, one row for each kind of limit.
fn shares(scenario: &Scenario, limit: &Limit) -> Table {
    let shares = limit.stations.iter().flat_map(|station| {
        let name = &scenario.network.node(station.node).name;
        [("limit equal", station.equal), ("limit by need", station.by_need)]
            .map(|(kind, share)| (kind, name, share))
    });
    Table::of(shares)
        .file("kind", |(kind, ..)| *kind)
        .file("name", |(_, name, _)| *name)
        .file("load_bps", |(.., share)| rounded(share.limit_bps))
        .file("cbd_bytes", |_| DEPTH.get())
        .file("rp_ns", |(.., share)| share.period)
        .done()
}

/// Returns the word for how the search ended.
const fn end_name(end: End) -> &'static str {
    match end {
        End::Found { .. } => "found",
        End::Unlimited { .. } => "unlimited",
        End::Never => "never",
        End::TooFew { .. } => "too-few-packets",
        End::Unsettled => "unsettled",
        End::Interrupted => "interrupted",
    }
}

/// The highest load of other traffic that deadlines allow; rates are bits per second on the wire,
/// preambles and gaps included.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LimitJson<'a> {
    /// Version of rtether.
    version: &'static str,
    /// Title of the scenario.
    scenario: &'a str,
    /// Whether Ctrl-C ended it.
    partial: bool,
    /// What was asked for.
    question: QuestionJson<'a>,
    /// `found`, `unlimited`, `never`, `too-few-packets`, `unsettled` (needs a longer warm-up) or
    /// `interrupted`.
    end: &'static str,
    conclusion: Conclusion,
    /// `pass` if the present load or a higher one is certified, `fail` if it exceeds the target,
    /// `not shown` or `too few packets` if neither is shown.
    present_load: &'static str,
    /// The result in words.
    summary: String,
    /// What the scaled flows offer in the scenario as it is.
    present_load_bps: u64,
    /// The highest load that is certified.
    limit: Option<LoadJson>,
    /// The lowest load that does not pass.
    too_much: Option<LoadJson>,
    /// With `too-few-packets`: runs to try next, or `null` if a flow released nothing.
    runs_needed: Option<u64>,
    /// Each load in the order in which it was simulated.
    loads: Vec<TrialJson<'a>>,
    /// Depth of the credit bucket for which periods are given.
    cbd_bytes: u64,
    /// Each station with scaled flows.
    stations: Vec<StationJson<'a>>,
    /// Each shared medium with a deadline.
    access: Vec<MediumJson<'a>>,
}

impl Document for LimitJson<'_> {
    const SCHEMA: &'static str = "rtether.limit/1";
}

#[derive(Serialize, JsonSchema)]
struct QuestionJson<'a> {
    /// Flows whose load was scaled.
    flows: Vec<&'a str>,
    /// Largest ratio of late or lost packets.
    miss_ratio: f64,
    /// Confidence of the answer.
    confidence: f64,
    /// Distance between the load that passes and the load that fails.
    tolerance: f64,
}

#[derive(Serialize, JsonSchema)]
struct LoadJson {
    /// The load as a multiple of the present one.
    factor: f64,
    /// The load.
    load_bps: u64,
}

#[derive(Serialize, JsonSchema)]
struct TrialJson<'a> {
    #[serde(flatten)]
    load: LoadJson,
    /// Payload delivered.
    throughput_bps: u64,
    /// Utilization of the busiest port or medium.
    utilization: f64,
    /// The flow with a deadline that has the worst result.
    worst_flow: &'a str,
    /// Its packets that were late or lost.
    missed: u64,
    /// Its packets that were released.
    released: u64,
    /// Upper limit of its miss ratio; `null` if unknown.
    miss_ratio_upper: Option<f64>,
    /// `pass`, `fail` or `too few packets`.
    verdict: &'static str,
    /// `search` or `certify`.
    stage: &'static str,
}

#[derive(Serialize, JsonSchema)]
struct StationJson<'a> {
    /// Its name.
    name: &'a str,
    /// What its scaled flows offer.
    present_load_bps: u64,
    /// What its other flows offer.
    other_load_bps: u64,
    /// Its limit if all stations have the same.
    equal: ShareJson,
    /// Its limit if all stations get the same multiple of their present load.
    by_need: ShareJson,
}

#[derive(Serialize, JsonSchema)]
struct ShareJson {
    /// The limit.
    limit_bps: u64,
    /// Refresh period of a credit bucket that lets through this load and the other flows of the
    /// station.
    rp_ns: Ns,
}

#[derive(Serialize, JsonSchema)]
struct MediumJson<'a> {
    /// Name of the medium.
    medium: &'a str,
    /// The flow with the smallest deadline on it.
    flow: &'a str,
    /// Its deadline.
    deadline_ns: Ns,
    /// Accesses to the medium by a packet and its answer, which share the deadline equally.
    accesses: u32,
    /// Least number of collisions in a row after which one access can take longer than its part.
    collisions: u32,
    /// Longest access that gets through with one collision fewer.
    longest_within_ns: Option<Ns>,
    /// Longest access with that many; `null` if the frame is given up.
    longest_beyond_ns: Option<Ns>,
    /// Attempts that were seen.
    attempts: &'a [Attempts],
    /// Probability of that many collisions, as observed.
    probability: f64,
    /// What that is not.
    note: &'static str,
}

fn json(scenario: &Scenario, limit: &Limit) -> String {
    let question = &limit.question;
    let runs = match limit.end {
        End::TooFew { runs } => runs,
        End::Found { .. }
        | End::Unlimited { .. }
        | End::Never
        | End::Unsettled
        | End::Interrupted => None,
    };
    document::text(&LimitJson {
        version: env!("CARGO_PKG_VERSION"),
        scenario: &scenario.name,
        partial: limit.end == End::Interrupted,
        question: QuestionJson {
            flows: limit.flows.iter().map(|&id| flow_name(scenario, id)).collect(),
            miss_ratio: question.miss_ratio,
            confidence: question.confidence,
            tolerance: question.tolerance,
        },
        end: end_name(limit.end),
        conclusion: limit.conclusion(),
        present_load: limit.present().name(),
        summary: verdict(limit),
        present_load_bps: rounded(limit.present_bps),
        limit: limit.passing().map(LoadJson::of),
        too_much: limit.failing().map(LoadJson::of),
        runs_needed: runs,
        loads: limit.trials.iter().map(|trial| TrialJson::of(trial, scenario)).collect(),
        cbd_bytes: DEPTH.get(),
        stations: limit.stations.iter().map(|own| StationJson::of(own, scenario)).collect(),
        access: limit.access.iter().map(|own| MediumJson::of(own, scenario)).collect(),
    })
}

impl LoadJson {
    fn of(trial: &Trial) -> Self {
        Self { factor: trial.factor, load_bps: rounded(trial.load_bps) }
    }
}

impl<'a> TrialJson<'a> {
    fn of(trial: &Trial, scenario: &'a Scenario) -> Self {
        Self {
            load: LoadJson::of(trial),
            throughput_bps: rounded(trial.throughput_bps),
            utilization: trial.utilization,
            worst_flow: flow_name(scenario, trial.worst.flow),
            missed: trial.worst.missed,
            released: trial.worst.released,
            miss_ratio_upper: trial.worst.upper,
            verdict: trial.verdict.name(),
            stage: trial.stage.name(),
        }
    }
}

impl<'a> StationJson<'a> {
    fn of(station: &Station, scenario: &'a Scenario) -> Self {
        Self {
            name: &scenario.network.node(station.node).name,
            present_load_bps: rounded(station.present_bps),
            other_load_bps: rounded(station.other_bps),
            equal: ShareJson::of(station.equal),
            by_need: ShareJson::of(station.by_need),
        }
    }
}

impl ShareJson {
    fn of(share: Share) -> Self {
        Self { limit_bps: rounded(share.limit_bps), rp_ns: Ns(share.period) }
    }
}

impl<'a> MediumJson<'a> {
    fn of(access: &'a Access, scenario: &'a Scenario) -> Self {
        Self {
            medium: &access.medium,
            flow: flow_name(scenario, access.flow),
            deadline_ns: Ns(access.deadline),
            accesses: access.accesses,
            collisions: access.collisions,
            longest_within_ns: access.longest_within.map(Ns),
            longest_beyond_ns: access.longest_beyond.map(Ns),
            attempts: &access.attempts,
            probability: access.probability,
            note: STATISTICAL,
        }
    }
}
