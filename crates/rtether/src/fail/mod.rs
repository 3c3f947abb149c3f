//! What happens when something breaks: the check is repeated for every single failure.
//!
//! [`judge`] takes out one link or switch after the other, and simulates, proves and judges the plant
//! in which it is absent, as [`crate::check()`] does. Verdicts hold once the network has reconverged;
//! what is lost until then follows from a stated time (`recovery`).

mod output;
mod plant;
mod recovery;

use rayon::prelude::*;
pub use rtether_model::quantity::Duration;
use rtether_sim::BuildError;

use crate::check::{Options, conclude};
use crate::diff::{Change, Side};
use crate::report::Checked;
use crate::run::{self, Progress};
use crate::scenario::Scenario;
use crate::words::{Conclusion, Standing, Verdict};
pub(crate) use output::FailuresJson;
pub use plant::{Damaged, Element, Which, whole, without};
pub use recovery::{Interrupted, interrupted};

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// What fails.
    pub which: Which,
    /// Time until the network has reconverged, if it was stated.
    pub recovery: Option<Duration>,
}

impl Question {
    /// The longest recovery that is not a mistake.
    pub const MOST_RECOVERY: Duration = Duration::from_secs(3_600);
}

/// The result without a failure and for each single failure.
#[derive(Clone, Debug, PartialEq)]
pub struct Failures {
    /// Title of the scenario.
    pub scenario: String,
    /// What was asked.
    pub question: Question,
    /// Streams of the whole plant, in the order of its record.
    pub streams: Vec<Name>,
    /// Number of failures to be judged.
    pub planned: usize,
    /// The plant without a failure, then each failure that was judged.
    pub rows: Vec<Row>,
    /// Whether it was interrupted, so that rows are missing.
    pub partial: bool,
}

/// Name of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The flow.
    pub flow: String,
    /// The listener.
    pub listener: String,
    /// Both, or the flow alone if it has one listener.
    pub unique: String,
}

/// The plant with one failure. Streams are positions in [`Failures::streams`].
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What failed; `None` for the plant without a failure.
    pub failure: Option<Failure>,
    /// Streams without a way.
    pub cut_off: Vec<usize>,
    /// Number of streams that take another way.
    pub rerouted: usize,
    /// Number of streams with late packets.
    pub late: usize,
    /// Number of streams with lost packets, among those without late ones.
    pub lost: usize,
    /// Number of sums of delays that are late; `None` if none is required.
    pub late_sums: Option<usize>,
    /// Streams that are proved without the failure and have a way, but are not proved any more.
    pub unproved: Vec<usize>,
    /// Number of streams that are worse than without the failure, by [`Change`].
    pub worse: usize,
    /// The stream that is worst: the first that is cut off, else by verdict and use of its deadline.
    pub worst: Option<Worst>,
    /// Streams that do not survive the recovery, if its time was stated.
    pub interrupted: Vec<Interrupted>,
    /// The result in one word; a stream that is cut off fails.
    pub conclusion: Conclusion,
    /// What that rests on.
    pub basis: Basis,
}

/// What a row without a failed requirement rests on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Basis {
    /// Number of streams, and sums of delays, that are proved.
    pub proved: usize,
    /// Number of those without a packet that violates a requirement; this is not a proof.
    pub held: usize,
    /// Packets delivered in these held streams.
    pub packets: u64,
}

impl Basis {
    fn add(&mut self, standing: Standing) {
        self.proved += usize::from(standing == Standing::Proved);
        if let Some(packets) = standing.packets() {
            self.held += 1;
            self.packets += packets;
        }
    }
}

/// What failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// `link`, `switch` or `hub`.
    pub kind: &'static str,
    /// Its name: `sw1:2 - sw2:1`, `sw1`.
    pub name: String,
    /// Links on standby that took over.
    pub activated: Vec<String>,
}

/// The stream that is worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worst {
    /// Which.
    pub stream: usize,
    /// Its standing; `None` if it is cut off.
    pub standing: Option<Standing>,
    /// Its margin.
    pub margin: Option<Duration>,
}

/// Why failures cannot be judged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FailError {
    /// The plant cannot be simulated.
    #[error(transparent)]
    Whole(#[from] BuildError),
    /// The plant cannot be simulated after a failure.
    #[error("without {kind} `{name}`: {reason}")]
    Damaged {
        /// Kind of the element that fails.
        kind: &'static str,
        /// Its name.
        name: String,
        /// Why.
        reason: BuildError,
    },
}

/// Judges the plant, and again for each single failure, on the threads of the current rayon pool.
/// After [`Progress::cancel`], the failures judged so far count.
///
/// # Errors
/// If the plant cannot be simulated as it is, or after a failure.
pub fn judge(
    scenario: &Scenario,
    question: Question,
    progress: &Progress,
) -> Result<Failures, FailError> {
    let network = &scenario.network;
    let elements = Element::all(network, question.which);
    let before = checked(scenario, progress)?;
    let mut failures = Failures {
        scenario: scenario.name.clone(),
        question,
        streams: names(&before),
        planned: elements.len(),
        rows: Vec::new(),
        partial: before.results.partial,
    };
    if failures.partial {
        return Ok(failures);
    }
    failures.rows.push(Row::new(&before, None, &whole(scenario), Some(&before)));
    let rows = elements
        .par_iter()
        .filter(|_| !progress.is_cancelled())
        .map(|&element| fail(&before, element, question, progress))
        .collect::<Result<Vec<Option<Row>>, FailError>>()?;
    failures.rows.extend(rows.into_iter().flatten());
    failures.partial = failures.rows.len() <= failures.planned;
    Ok(failures)
}

/// Simulates, proves and judges.
fn checked(scenario: &Scenario, progress: &Progress) -> Result<Checked, BuildError> {
    let results = run::simulate(scenario, progress)?;
    Ok(conclude(scenario.clone(), results, Options::default()))
}

fn names(checked: &Checked) -> Vec<Name> {
    let name = checked.streams().map(|stream| Name {
        flow: stream.flow.name.clone(),
        listener: checked.node_name(stream.record.listener_id()).to_owned(),
        unique: checked.stream_name(&stream),
    });
    name.collect()
}

/// Judges one failure; `None` if it was interrupted.
fn fail(
    before: &Checked,
    element: Element,
    question: Question,
    progress: &Progress,
) -> Result<Option<Row>, FailError> {
    let scenario = &before.scenario;
    let network = &scenario.network;
    let (kind, name) = (element.kind(network), element.name(network));
    let damaged = without(scenario, element);
    // Without a flow there is nothing to simulate.
    let after = (!damaged.scenario.flows.is_empty())
        .then(|| checked(&damaged.scenario, progress))
        .transpose();
    let after = match after {
        Ok(after) => after,
        Err(reason) => return Err(FailError::Damaged { kind, name, reason }),
    };
    if after.as_ref().is_some_and(|after| after.results.partial) {
        return Ok(None);
    }
    let activated = damaged.activated.iter();
    let activated = activated.map(|&link| Element::Link(link).name(network));
    let failure = Failure { kind, name, activated: activated.collect() };
    let mut row = Row::new(before, Some(failure), &damaged, after.as_ref());
    if let Some(recovery) = question.recovery {
        row.interrupted = interrupted(scenario, &damaged.rerouted, recovery);
    }
    Ok(Some(row))
}

impl Row {
    /// Compares a plant with a failure with the whole one; `after` is `None` if no flow is left.
    fn new(
        before: &Checked,
        failure: Option<Failure>,
        damaged: &Damaged,
        after: Option<&Checked>,
    ) -> Self {
        let mut row = Self {
            failure,
            cut_off: damaged.cut_off.clone(),
            rerouted: damaged.rerouted.len(),
            late: 0,
            lost: 0,
            late_sums: None,
            unproved: Vec::new(),
            worse: 0,
            worst: None,
            interrupted: Vec::new(),
            conclusion: after.map_or(Conclusion::Met, |after| after.conclusion),
            basis: Basis::default(),
        };
        let pairs = after.into_iter().flat_map(Checked::streams);
        for (after, &stream) in pairs.zip(&damaged.streams) {
            let before = before.stream(stream);
            row.late += usize::from(after.verdict() == Verdict::Late);
            row.lost += usize::from(after.verdict() == Verdict::Lost);
            row.basis.add(after.standing());
            let is_proved = |standing| standing == Standing::Proved;
            if is_proved(before.standing()) && !is_proved(after.standing()) {
                row.unproved.push(stream);
            }
            let change = Change::between(Some(&Side::of(&before)), Some(&Side::of(&after)));
            let is_worse = matches!(change, Some(Change::NewFailure | Change::Worse));
            row.worse += usize::from(is_worse);
        }
        for sum in after.into_iter().flat_map(Checked::sums) {
            row.basis.add(sum.standing());
        }
        row.late_sums = after
            .map(|after| after.sums().iter().filter(|sum| sum.failed.is_some()).count())
            .filter(|_| !before.scenario.sums.is_empty());
        row.worst = worst(damaged, after);
        if !row.cut_off.is_empty() && row.conclusion != Conclusion::Contradiction {
            row.conclusion = Conclusion::Failed;
        }
        row
    }
}

fn worst(damaged: &Damaged, after: Option<&Checked>) -> Option<Worst> {
    if let Some(&stream) = damaged.cut_off.first() {
        return Some(Worst { stream, standing: None, margin: None });
    }
    let after = after?;
    let &index = after.worst_first().first()?;
    let stream = after.stream(index);
    Some(Worst {
        stream: damaged.streams[index],
        standing: Some(stream.standing()),
        margin: stream.assessment.margin,
    })
}

impl Failures {
    /// Returns the row without a failure; `None` if it was interrupted.
    pub fn intact(&self) -> Option<&Row> {
        self.rows.first()
    }

    /// Returns the rows with a failure.
    pub fn failures(&self) -> &[Row] {
        self.rows.get(1..).unwrap_or_default()
    }

    /// Returns the result in one word: that of the worst row.
    pub fn conclusion(&self) -> Conclusion {
        let is_any = |conclusion| self.rows.iter().any(|row| row.conclusion == conclusion);
        let is_partial = self.partial.then_some(Conclusion::Interrupted);
        let found = [Conclusion::Failed, Conclusion::NoAnswer];
        let found = found.into_iter().find(|&conclusion| is_any(conclusion));
        if is_any(Conclusion::Contradiction) {
            return Conclusion::Contradiction;
        }
        is_partial.or(found).unwrap_or(Conclusion::Met)
    }
}
