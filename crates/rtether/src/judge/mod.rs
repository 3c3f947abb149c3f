//! Judges what other tools, vendors and reports claim of a plant: that no packet of a flow takes longer than a time, that its
//! deadline is reached, that it loses nothing.
//!
//! A claim is *proved* if our bound is at most what is claimed, and *refuted* by a run: a plant that
//! the scenario allows, simulated as a whole, in which a packet takes longer or is lost. `shrink` leaves
//! out of that run what it does not need, so that anyone can repeat it and look at it. Everything else
//! is *open*, with the interval between the largest delay that was found and the least that is proved.
//! A claim that is both is a defect of ours.

mod output;
mod shrink;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rayon::prelude::*;
pub use rtether_import::{Claim, Claimed, claims};
use rtether_model::quantity::Duration;
use rtether_model::record::Record;

pub(crate) use output::JudgeJson;
pub use shrink::Shrunk;
use shrink::{Subject, Wanted};

use crate::adversary::{self, Found, Hunt, Plant, Progress, Target};
use crate::bound::{self, Analysis};
use crate::certificate::{Beyond, Certificate, certificate};
use crate::scenario::{Override, Scenario, Written, nearest_name};
use crate::touching::{condition_of, strictly};
use crate::words::Conclusion;

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// It is proved.
    Proved,
    /// Neither proved nor refuted.
    Open,
    /// A run shows that it does not hold.
    Refuted,
    /// Proved, and a run shows that it does not hold: a defect of rtether.
    Contradiction,
}

impl Ruling {
    /// Returns its word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Proved => "proved",
            Self::Open => "open",
            Self::Refuted => "refuted",
            Self::Contradiction => "contradiction",
        }
    }
}

/// A claim, and what became of it.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The claim.
    pub claim: Claim,
    /// Longest time that it allows; `None` if it is about losses alone.
    pub limit: Option<Duration>,
    /// What became of it.
    pub ruling: Ruling,
    /// Largest delay that was found, among the listeners that it is about.
    pub found: Option<Duration>,
    /// Packets lost in the runs that were looked at.
    pub lost: u64,
    /// Longest time that is proved; `None` without a proof.
    pub proved: Option<Duration>,
    /// What the certificate claims, which is for its checker to test; `None` without claims for all
    /// that it is about.
    pub certificate: Option<Duration>,
    /// Why there is no proof, or of what the bound is a proof only.
    pub lack: Option<String>,
    /// The run that refutes it, by its number in [`Judgment::runs`].
    pub run: Option<usize>,
}

/// Claims judged.
#[derive(Clone, Debug)]
pub struct Judgment {
    /// Title of the scenario.
    pub scenario: String,
    /// Each claim, in the order of its file.
    pub claims: Vec<Judged>,
    /// Runs that refute claims: of each stream at most one that is late and one that loses packets.
    pub runs: Vec<Run>,
    /// What others can check, if it was asked for and its format can express the plant.
    pub certificate: Option<Result<Certificate, Beyond>>,
    /// Plants that were tried.
    pub tried: u64,
    /// Seed of the search.
    pub seed: u64,
    /// Whether the user ended it early.
    pub is_cut: bool,
    /// What all proofs rest on besides, in words; empty without assumptions.
    condition: String,
    /// Whether assumptions are no proof, as the user has asked.
    is_strict: bool,
}

/// A run that refutes claims about a stream.
#[derive(Clone, Debug)]
pub struct Run {
    /// The stream.
    pub stream: String,
    /// The smallest plant that was found to show it.
    pub shrunk: Shrunk,
}

/// Why claims cannot be judged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JudgeError {
    /// A claim is about a flow or a listener that the scenario does not have.
    #[error("{place}the scenario has no {what}; {help}")]
    Unknown {
        /// File and line, with a colon; empty without them.
        place: String,
        /// What is missing.
        what: String,
        /// What to do.
        help: String,
    },
    /// A deadline is claimed to be reached that there is not.
    #[error(
        "{place}flow `{flow}` has no deadline that could be reached; give it one, or claim a time"
    )]
    NoDeadline {
        /// File and line, with a colon; empty without them.
        place: String,
        /// The flow.
        flow: String,
    },
}

/// A claim with the streams that it is about, by position.
struct Case {
    claim: Claim,
    streams: Vec<usize>,
    limit: Option<Duration>,
    /// Whether it says that nothing is lost.
    loses_nothing: bool,
}

/// What is known of a stream.
#[derive(Clone, Debug, Default)]
struct Known {
    /// What is proved of it, with what the proof lacks.
    bound: Option<Duration>,
    certificate: Option<Duration>,
    lack: Option<String>,
    /// Largest delay that the whole plant has shown.
    found: Option<Duration>,
    /// Packets that it lost there.
    lost: u64,
    /// The plant that was found.
    plant: Option<Found>,
}

/// Judges claims of the file `name`, searching for runs that refute them as long as `progress` says;
/// with a certificate if it `certifies`.
///
/// # Errors
/// If a claim is about something that the scenario does not have.
pub fn judge(
    (scenario, written): (&Scenario, &Written),
    (name, claims): (&str, Vec<Claim>),
    progress: &Progress,
    certifies: bool,
) -> Result<Judgment, JudgeError> {
    let targets = Target::all(&scenario.flows);
    let known = Names::new(scenario);
    let cases = claims.into_iter().map(|claim| case(scenario, &known, name, claim));
    let cases: Vec<Case> = cases.collect::<Result<_, _>>()?;
    let analysis = bound::analyze(scenario);
    let certificate = certifies.then(|| certificate(scenario, &analysis));
    let claimed = certificate.iter().flatten().flat_map(|own| &own.bounds);
    let mut known = proved(scenario, &analysis);
    for (own, claimed) in known.iter_mut().zip(claimed) {
        own.certificate = *claimed;
    }
    let goes_on: adversary::GoesOn<'_> = &|| !progress.is_cancelled();
    // It shows losses, which the search does not look for, and delays for which a window is too short.
    let plant = Plant::of(scenario);
    let ordinary: Option<Record> =
        adversary::replay(&plant, (&[], scenario.run.seed), scenario.run.duration, goes_on);
    let shown = ordinary.iter().flat_map(|record| &record.streams);
    for (own, record) in known.iter_mut().zip(shown) {
        own.found = record.worst.as_ref().map(|worst| worst.latency);
        own.lost = record.dropped;
    }
    let tried = search(scenario, &cases, &mut known, progress);
    let runs = refuted(scenario, &targets, &cases, &known).into_par_iter();
    let runs = runs.filter_map(|(stream, subject, wanted)| {
        let shrunk = run_of((scenario, written), &known[stream], &subject, wanted, goes_on)?;
        let name = targets[stream].name(&scenario.network, &scenario.flows);
        Some((stream, Run { stream: name, shrunk }))
    });
    let (streams, runs): (Vec<usize>, Vec<Run>) = runs.collect::<Vec<_>>().into_iter().unzip();
    let mut of_stream: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (number, stream) in streams.into_iter().enumerate() {
        of_stream.entry(stream).or_default().push(number);
    }
    let judged = cases.into_iter().map(|case| ruled(case, &known, (&runs, &of_stream))).collect();
    Ok(Judgment {
        scenario: scenario.name.clone(),
        claims: judged,
        runs,
        certificate,
        tried,
        seed: scenario.run.seed,
        is_cut: progress.is_cancelled(),
        condition: condition_of(scenario),
        is_strict: strictly(scenario, Conclusion::Met) != Conclusion::Met,
    })
}

/// Flows by name, and where their streams begin.
struct Names<'a>(BTreeMap<&'a str, (usize, usize)>);

impl<'a> Names<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let mut first = 0;
        let all = scenario.flows.iter().enumerate().map(|(flow, own)| {
            let begin = first;
            first += own.listeners.len();
            (own.name.as_str(), (flow, begin))
        });
        Self(all.collect())
    }
}

/// Finds what a claim is about.
fn case(
    scenario: &Scenario,
    known: &Names<'_>,
    name: &str,
    claim: Claim,
) -> Result<Case, JudgeError> {
    let place = claim.line.map_or_else(|| format!("{name}: "), |line| format!("{name}:{line}: "));
    let Some(&(flow, begin)) = known.0.get(claim.flow.as_str()) else {
        let help = near(&claim.flow, known.0.keys().copied());
        let what = format!("flow {}", crate::scenario::quote(&claim.flow));
        return Err(JudgeError::Unknown { place, what, help });
    };
    let flow = &scenario.flows[flow];
    let listeners = flow.listeners.iter().map(|node| scenario.network.node(*node).name.as_str());
    let wanted = claim.listener.as_deref();
    let meant = listeners.clone().enumerate();
    let meant = meant.filter(|(_, listener)| wanted.is_none_or(|name| name == *listener));
    let streams: Vec<usize> = meant.map(|(listener, _)| begin + listener).collect();
    if let Some(wanted) = wanted.filter(|_| streams.is_empty()) {
        let help = near(wanted, listeners);
        let what = format!("listener {} of `{}`", crate::scenario::quote(wanted), claim.flow);
        return Err(JudgeError::Unknown { place, what, help });
    }
    let (limit, loses_nothing) = match claim.claimed {
        Claimed::Bound(limit) => (Some(limit), false),
        Claimed::NoLoss => (None, true),
        Claimed::Reached => (flow.deadline, true),
    };
    if claim.claimed == Claimed::Reached && limit.is_none() {
        return Err(JudgeError::NoDeadline { place, flow: claim.flow });
    }
    Ok(Case { claim, streams, limit, loses_nothing })
}

/// Returns the name of a stream's listener.
fn listener_of<'a>(scenario: &'a Scenario, stream: &Target) -> &'a str {
    let flow = &scenario.flows[stream.flow.index()];
    &scenario.network.node(flow.listeners[stream.listener]).name
}

/// Returns what to do about a name that there is not.
fn near<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> String {
    nearest_name(wanted, known).map_or_else(
        || "name flows and listeners as the scenario does".to_owned(),
        |near| format!("did you mean `{near}`?"),
    )
}

/// Returns what is proved of each stream.
fn proved(scenario: &Scenario, analysis: &Analysis) -> Vec<Known> {
    let streams = bound::proved(scenario, analysis).into_iter();
    streams.map(|(bound, lack)| Known { bound, lack, ..Known::default() }).collect()
}

impl Shrunk {
    fn refutes(&self, case: &Case) -> bool {
        self.latency.zip(case.limit).is_some_and(|(latency, limit)| latency > limit)
            || case.loses_nothing && self.lost > 0
    }
}

impl Known {
    /// Returns whether a case is proved for it: within the limit, and nothing on the way may drop packets.
    fn is_proved(&self, case: &Case) -> bool {
        let is_within = match (self.bound, case.limit) {
            (Some(bound), Some(limit)) => bound <= limit,
            (Some(_), None) => true,
            (None, _) => false,
        };
        is_within && self.lack.is_none()
    }

    fn is_refuted(&self, case: &Case) -> bool {
        let is_later = self.found.zip(case.limit).is_some_and(|(found, limit)| found > limit);
        is_later || case.loses_nothing && self.lost > 0
    }
}

/// Searches for runs that are later than claimed; returns how many plants were tried.
fn search(scenario: &Scenario, cases: &[Case], known: &mut [Known], progress: &Progress) -> u64 {
    // Of each stream, the longest time that is claimed and not proved: a run beyond it
    // refutes the others, too.
    let mut sought: Vec<Option<Duration>> = vec![None; known.len()];
    for case in cases {
        for &stream in &case.streams {
            if !known[stream].is_proved(case) && !known[stream].is_refuted(case) {
                sought[stream] = sought[stream].max(case.limit);
            }
        }
    }
    if sought.iter().all(Option::is_none) {
        return 0;
    }
    let bounds: Vec<Option<Duration>> = known.iter().map(|own| own.bound).collect();
    let seen: Vec<Duration> = known.iter().map(|own| own.found.unwrap_or_default()).collect();
    let hunt = Hunt::new(Plant::of(scenario), &bounds, &seen).aimed_at(&sought);
    let outcome = adversary::attack_until(hunt, (scenario.run.seed, &seen), progress, &|shown| {
        let mut pairs = sought.iter().zip(shown);
        pairs.all(|(limit, shown)| limit.is_none() || *shown > *limit)
    });
    for (own, found) in known.iter_mut().zip(outcome.found) {
        let Some(found) = found else { continue };
        own.found = own.found.max(Some(found.latency));
        own.lost = own.lost.max(found.dropped);
        own.plant = Some(found);
    }
    outcome.search.tried
}

/// What a run has to show of a stream, by position: the longest time that it refutes, or a loss.
type ToShow = (usize, Subject, Wanted);

/// Returns what a run has to show of each stream with a refuted claim.
fn refuted(
    scenario: &Scenario,
    targets: &[Target],
    cases: &[Case],
    known: &[Known],
) -> Vec<ToShow> {
    let mut wanted: BTreeMap<(usize, bool), Wanted> = BTreeMap::new();
    for case in cases {
        for &stream in case.streams.iter().filter(|stream| known[**stream].is_refuted(case)) {
            let found = known[stream].found;
            if let Some(limit) = case.limit.filter(|limit| found > Some(*limit)) {
                // What is later than the longest time is later than all of them.
                let most = wanted.entry((stream, false)).or_insert(Wanted::Later(limit));
                *most = (*most).max(Wanted::Later(limit));
            }
            if case.loses_nothing && known[stream].lost > 0 {
                wanted.insert((stream, true), Wanted::Lost);
            }
        }
    }
    let runs = wanted.into_iter().map(|((stream, _), wanted)| {
        let target = &targets[stream];
        let flow = scenario.flows[target.flow.index()].name.clone();
        (stream, Subject { flow, listener: listener_of(scenario, target).to_owned() }, wanted)
    });
    runs.collect()
}

/// Writes the run that refutes, and leaves out what it does not need.
fn run_of(
    (scenario, written): (&Scenario, &Written),
    own: &Known,
    subject: &Subject,
    wanted: Wanted,
    goes_on: adversary::GoesOn<'_>,
) -> Option<Shrunk> {
    let mut run = written.clone();
    match own.plant.as_ref().filter(|plant| wanted.is_in(plant)) {
        Some(plant) => run.changes.extend(plant.edits(scenario)),
        // It is that of the ordinary run.
        None => run.changes.push(Override::new("--set", "run.seeds", "1".to_owned())),
    }
    shrink::shrink(&run, subject, wanted, goes_on)
}

/// Rules on a case: it is refuted only by a run that was written, and simulated as it is written.
fn ruled(
    case: Case,
    known: &[Known],
    (runs, of_stream): (&[Run], &BTreeMap<usize, Vec<usize>>),
) -> Judged {
    let own: Vec<&Known> = case.streams.iter().map(|stream| &known[*stream]).collect();
    let is_proved = own.iter().all(|own| own.is_proved(&case));
    let is_found = own.iter().any(|own| own.is_refuted(&case));
    let numbers = case.streams.iter().filter_map(|stream| of_stream.get(stream)).flatten();
    let run = numbers.copied().find(|number| runs[*number].shrunk.refutes(&case));
    let ruling = match (is_proved, run) {
        (true, _) if is_found => Ruling::Contradiction,
        (true, _) => Ruling::Proved,
        (false, Some(_)) => Ruling::Refuted,
        (false, None) => Ruling::Open,
    };
    let lack = own.iter().find_map(|own| own.lack.clone());
    let unshown = "a run was found, but no scenario file shows it";
    Judged {
        limit: case.limit,
        ruling,
        found: own.iter().filter_map(|own| own.found).max(),
        lost: own.iter().map(|own| own.lost).sum(),
        proved: longest(own.iter().map(|own| own.bound)),
        certificate: longest(own.iter().map(|own| own.certificate)),
        lack: if is_found && run.is_none() { Some(unshown.to_owned()) } else { lack },
        run,
        claim: case.claim,
    }
}

/// Returns the longest of all times; `None` if one is not known.
fn longest(times: impl Iterator<Item = Option<Duration>>) -> Option<Duration> {
    let all: Option<Vec<Duration>> = times.collect();
    all.and_then(|all| all.into_iter().max())
}

/// Name of the file for the certificate.
pub const CERTIFICATE: &str = "certificate.json";

/// Returns the name of the file for a run, by its number.
pub fn file_name(run: usize) -> String {
    format!("refuted-{}.yaml", run + 1)
}

impl Judgment {
    /// Returns how many claims are proved and in the certificate, which claims no more than they do.
    pub fn in_certificate(&self) -> usize {
        let claims = self.claims.iter().filter(|own| own.ruling == Ruling::Proved);
        let claims = claims.filter_map(|own| Some((own.certificate?, own.limit)));
        claims.filter(|(claimed, limit)| limit.is_none_or(|limit| *claimed <= limit)).count()
    }

    /// Returns how many claims were ruled so.
    pub fn count(&self, ruling: Ruling) -> usize {
        self.claims.iter().filter(|own| own.ruling == ruling).count()
    }

    /// Returns the certificate, if it claims something for what is proved, and a file for each run:
    /// `refuted-1.yaml`, with what it refutes.
    pub fn files(&self) -> impl Iterator<Item = (String, String)> {
        let own = self.certificate.iter().flatten().filter(|_| self.in_certificate() > 0);
        let own = own.map(|own| (CERTIFICATE.to_owned(), own.text.clone()));
        own.chain(self.run_files())
    }

    fn run_files(&self) -> impl Iterator<Item = (String, String)> {
        self.runs.iter().enumerate().map(|(number, run)| {
            let mut text = format!("# `rtether sim` shows of `{}`: {}.\n", run.stream, run.words());
            for judged in self.claims.iter().filter(|judged| judged.run == Some(number)) {
                _ = writeln!(text, "# It refutes: {}.", judged.claim_words());
            }
            text += &run.shrunk.text;
            (file_name(number), text)
        })
    }

    /// Returns the verdict: every claim is proved, one is refuted, or one is open.
    pub fn conclusion(&self) -> Conclusion {
        if self.count(Ruling::Contradiction) > 0 {
            Conclusion::Contradiction
        } else if self.count(Ruling::Refuted) > 0 {
            Conclusion::Failed
        } else if self.is_cut {
            Conclusion::Interrupted
        } else if self.count(Ruling::Open) > 0 || self.is_strict {
            Conclusion::NoAnswer
        } else {
            Conclusion::Met
        }
    }
}
