//! A check: simulates a plant, proves bounds, adds what was measured, and judges.
//!
//! [`check`] does all of it. [`conclude`] is its second half, for callers that run the simulation
//! and the test bed themselves, for example to show progress and write traces.

use std::sync::Arc;

use rtether_bounds::Effect;
use rtether_model::quantity::Duration;
use rtether_sim::BuildError;

use crate::adversary::Outcome;
use crate::bound::assumed::Assumed;
use crate::bound::{self, Contradiction};
use crate::help::{Help, help_while};
use crate::measured::{self, Evidence, thousandths};
use crate::report::{self, Checked, Note, Stream};
use crate::run::{self, Progress, Results};
use crate::scenario::{Scenario, Written};
use crate::verdict::{self, Assessment, Conclusion, Verdict};
use crate::why::Explainer;

/// Inputs of a check besides the scenario.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether bounds are computed and judged.
    pub proves: bool,
    /// The scenario file, to be shown with the results. With it, edits that would help are looked
    /// for.
    pub source: Option<Written>,
    /// What was measured.
    pub evidence: Evidence,
    /// Whether the worst streams are explained, as the page shows them.
    pub explains: bool,
    /// Once it is cancelled, nothing more is proved, explained or tried: the result is that of an
    /// interrupted run.
    pub progress: Arc<Progress>,
}

impl Default for Options {
    /// Proves bounds; no measurement, no explanations.
    fn default() -> Self {
        Self {
            proves: true,
            source: None,
            evidence: Evidence::default(),
            explains: false,
            progress: Arc::default(),
        }
    }
}

/// Simulates a plant, proves bounds and judges every stream.
///
/// # Errors
/// If the plant cannot be simulated.
pub fn check(scenario: &Scenario, options: Options) -> Result<Checked, BuildError> {
    let results = run::simulate(scenario, &Progress::default())?;
    Ok(conclude(scenario.clone(), results, options))
}

/// Judges the results of a simulation, with bounds and measurements.
pub fn conclude(scenario: impl Into<Arc<Scenario>>, results: Results, options: Options) -> Checked {
    let scenario = scenario.into();
    judge(&scenario, results, options)
}

fn judge(scenario: &Arc<Scenario>, mut results: Results, options: Options) -> Checked {
    let Options { proves, source, evidence, explains, progress } = options;
    // A user who interrupted the run is not made to wait for proofs.
    let proves_now = proves && !results.partial;
    // What explains bounds has them, too.
    let explainer =
        if proves_now && explains { Explainer::new_while(scenario, &progress) } else { None };
    let analysis = match &explainer {
        Some(explainer) => Some(explainer.analysis().clone()),
        None if proves_now => bound::analyze_while(scenario, &progress),
        None => None,
    };
    results.partial |= proves_now && analysis.is_none();
    let explains = explains && !results.partial;
    let mut assessments = verdict::assess_with(scenario, &results, analysis.as_ref());
    verdict::add_measured(&mut assessments, &evidence.assessments);
    let contradicted = analysis.as_ref().map_or_else(Vec::new, |analysis| {
        let Scenario { network, flows, .. } = &**scenario;
        bound::contradictions(network, flows, analysis, &results.record)
    });
    let bounds = analysis.as_ref().map(bound::unconditional).unwrap_or_default();
    let exceeded = measured::contradictions(&bounds, &evidence.streams, evidence.tolerance);
    let mut checked = Checked::new(Arc::clone(scenario), results, assessments);
    if let Some(analysis) = analysis {
        checked = checked.with_analysis(analysis);
    }
    checked.assumed = Assumed::of(scenario, checked.analysis.as_ref());
    if let Some(written) = source {
        add_help_while(&mut checked, written, &progress);
    }
    let Evidence { streams, error, is_partial, emulated, apart, .. } = evidence;
    checked = checked.with_measured(streams);
    // Sums of what was measured are judged, too.
    checked.conclusion = checked.required();
    note_ignored(&mut checked, proves);
    note_exceeded(&mut checked, &exceeded);
    note_measured(&mut checked, &emulated, apart);
    if is_partial {
        checked.conclusion = Conclusion::Interrupted;
    }
    if let Some(error) = error {
        note(&mut checked, true, format!("the measurement ended early: {error}"));
        checked.conclusion = Conclusion::Unmeasured;
    }
    contradict(&mut checked, &contradicted);
    if !exceeded.is_empty() && contradicted.is_empty() {
        checked.conclusion = Conclusion::Contradiction;
    }
    if scenario.assumptions.is_strict {
        be_strict(&mut checked);
    }
    if explains {
        checked.explained = report::worst_with(&checked, explainer.as_ref());
    }
    checked
}

/// Adds the scenario file, and what would help the stream that failed worst.
///
/// That may take longer than all else: a caller who shows the verdict first concludes without
/// [`Options::source`], and adds it then. So does one who adds to the verdict what a search found, which
/// may be the worst.
pub fn add_help(checked: &mut Checked, written: Written) {
    add_help_while(checked, written, &Arc::default());
}

/// As [`add_help`]; once it is cancelled, no more changes are tried.
pub fn add_help_while(checked: &mut Checked, written: Written, progress: &Arc<Progress>) {
    checked.help = worst_in_need(checked, &written, progress);
    checked.source = Some(written.text);
}

/// Returns what a search for bad releases begins with: the proved bound of each stream, if there is one,
/// and the largest latency that a run has shown.
pub fn known(checked: &Checked) -> (Vec<Option<Duration>>, Vec<Duration>) {
    let known = |stream: Stream<'_>| (stream.bound, stream.record.latency.max);
    checked.streams().map(known).unzip()
}

/// Adds what a search for bad releases has found, and judges it: a stream found late is late, and one
/// found above its bound contradicts the bound.
pub fn add_found(checked: &mut Checked, outcome: Outcome) {
    let Outcome { search, found } = outcome;
    let scenario = Arc::clone(&checked.scenario);
    let mut assessments: Vec<Assessment> =
        checked.judged.iter().map(|judged| judged.assessment.clone()).collect();
    verdict::add_found(&scenario, &mut assessments, &found);
    let mut beyond = Vec::new();
    let judged = checked.judged.iter_mut().zip(assessments).zip(found);
    for (index, ((judged, assessment), found)) in judged.enumerate() {
        if let Some((bound, found)) = judged.bound.zip(found.as_ref())
            && (found.latency > bound || found.dropped > 0)
        {
            beyond.push(index);
        }
        judged.assessment = assessment;
        judged.found = found;
    }
    if search.is_cut {
        let text = "the search for bad releases was interrupted: the same number of plants need not \
                    find the same";
        note(checked, false, text.to_owned());
    }
    checked.adversarial = Some(search);
    let is_open =
        matches!(checked.conclusion, Conclusion::Met | Conclusion::Failed | Conclusion::NoAnswer);
    if is_open {
        let required = checked.required();
        // What was no answer for another reason remains none.
        if checked.conclusion == Conclusion::Met || required == Conclusion::Failed {
            checked.conclusion = required;
        }
    }
    for index in beyond {
        contradict_found(checked, index);
    }
}

/// Notes a stream that was found beyond its bound, or losing packets that its bound says arrive, and
/// sets the conclusion unless the bound is void in that plant.
fn contradict_found(checked: &mut Checked, index: usize) {
    let stream = checked.stream(index);
    let Some((analysis, found)) = checked.analysis.as_ref().zip(stream.found) else {
        return;
    };
    let effect = analysis.condition(index).map(|own| own.effect);
    let name = checked.stream_name(&stream);
    let what = if stream.bound.is_some_and(|bound| found.latency > bound) {
        let latency = found.latency;
        format!("`{name}`: a delay of {latency} was found, which exceeds its proved bound")
    } else if effect.is_none() && found.dropped > 0 {
        let dropped = found.dropped;
        format!(
            "`{name}`: packets were found lost, {dropped} of them, and nothing on its way may drop any"
        )
    } else {
        return;
    };
    if effect == Some(Effect::IfNothingDropped) {
        let plant = found.scenario(&checked.scenario);
        let Ok(results) = run::simulate(&plant, &Progress::default()) else {
            return;
        };
        if let Some(lost) = bound::broken_assumption(&plant, &results) {
            let text = format!("{what}, which assumes that nothing is lost, but {lost}");
            return note(checked, false, text);
        }
    }
    note(checked, true, format!("{what}; {DEFECT}"));
    checked.conclusion = Conclusion::Contradiction;
}

/// Returns what would help the stream that failed worst, or has no answer, where its proof falls short;
/// without one, the first stream of the table whose bound exceeds its limit.
fn worst_in_need(checked: &Checked, written: &Written, progress: &Arc<Progress>) -> Option<Help> {
    let analysis = checked.analysis.as_ref()?;
    let in_need = checked.worst_first().into_iter().find_map(|index| {
        let stream = checked.stream(index);
        let limit = stream.assessment.limit?;
        let is_above = stream.bound.is_some_and(|bound| bound > limit);
        let verdict = stream.verdict();
        let is_failure = verdict.is_failure() || verdict == Verdict::NoAnswer;
        let is_short = stream.bound.is_none() || analysis.condition(index).is_some();
        (is_above || is_failure && is_short).then_some((index, limit))
    });
    help_while(&checked.scenario, written, analysis, in_need?, progress)
}

/// Takes no verdict for met that rests on an assumption, as `--strict` asks.
pub fn be_strict(checked: &mut Checked) {
    if let Some(text) = checked.assumed.objection() {
        note(checked, false, text);
        if checked.conclusion == Conclusion::Met {
            checked.conclusion = Conclusion::NoAnswer;
        }
    }
}

fn note(checked: &mut Checked, is_error: bool, text: String) {
    checked.notes.push(Note { is_error, text });
}

/// Notes requirements on bounds that were not computed.
fn note_ignored(checked: &mut Checked, proves: bool) {
    if !proves && requires_bounds(&checked.scenario) {
        let text = "requirements of `bound` are not judged here; `rtether check` does";
        note(checked, false, text.to_owned());
    }
}

/// Notes streams measured beyond their bounds while the host was inside its profile.
fn note_exceeded(checked: &mut Checked, exceeded: &[usize]) {
    for &index in exceeded {
        let stream = checked.stream(index);
        let max = stream.measured.and_then(|measured| measured.max_inside);
        if let Some((max, bound)) = max.zip(stream.bound) {
            let text = format!(
                "`{}`: a measured delay of {max} exceeds its proved bound of {bound}, and the host was \
                 inside its stated profile",
                stream.flow.name
            );
            note(checked, true, text);
        }
    }
}

/// Returns a warning of figures without stalled packets, of which there are `share` thousandths.
pub fn biased(share: u32) -> String {
    if share == 1_000 {
        return "warning: stalls of this host touched each of its packets: nothing is judged"
            .into();
    }
    format!(
        "warning: stalls of this host touched {} of its packets; those left are the quick ones, since \
         the longer a packet is under way, the surer it meets a stall: compare figures with stalls",
        thousandths(share)
    )
}

/// Notes what limits the measured figures.
fn note_measured(checked: &mut Checked, emulated: &[String], apart: Option<&str>) {
    let (mut stalled, mut outside, mut held_up, mut released) = (0, 0, 0, 0);
    let mut biases = Vec::new();
    for stream in checked.streams() {
        if let Some(measured) = stream.measured {
            let share = measured.much_stalled();
            biases.extend(share.map(|share| format!("`{}`: {}", stream.flow.name, biased(share))));
            stalled += measured.stalled;
            outside += measured.outside;
            held_up += measured.held_up;
            released += measured.released;
        }
    }
    if stalled > 0 {
        let text = format!(
            "{stalled} measured packets were touched by stalls of the host and are left out of live figures \
             but those with stalls; all are judged, without the time for which stalls were felt on their way"
        );
        note(checked, false, text);
    }
    for text in biases {
        note(checked, false, text);
    }
    if outside > 0 {
        let text = format!(
            "for {outside} of {released} measured packets the host's stacks took longer than the \
             scenario says, or it is not known how long: they prove nothing against a bound"
        );
        note(checked, false, text);
    }
    if held_up > 0 {
        let text = format!(
            "{held_up} of {released} measured packets were under way while the emulator stood still: they \
             count as measured, but prove nothing against a bound"
        );
        note(checked, false, text);
    }
    if let Some(apart) = apart {
        note(checked, false, apart.to_owned());
    }
    if !emulated.is_empty() {
        let text = format!(
            "live figures hold this host's own costs on top of what was emulated at {}",
            emulated.join(", ")
        );
        note(checked, false, text);
    }
}

/// What a contradiction is.
const DEFECT: &str = "this is a defect of rtether, please report it with the scenario";

/// Notes what the simulation shows that the proofs exclude, and sets the conclusion.
fn contradict(checked: &mut Checked, contradicted: &[Contradiction]) {
    for contradiction in contradicted {
        let what = contradiction_words(checked, *contradiction);
        let text = format!("{what}; {DEFECT}");
        note(checked, true, text);
        checked.conclusion = Conclusion::Contradiction;
    }
}

fn contradiction_words(checked: &Checked, contradiction: Contradiction) -> String {
    let scenario = &checked.scenario;
    match contradiction {
        Contradiction::Exceeded(index) => {
            let stream = checked.stream(index);
            format!(
                "`{}`: a simulated delay of {} exceeds its proved bound",
                checked.stream_name(&stream),
                stream.record.latency.max
            )
        }
        Contradiction::Lost(index) => {
            let stream = checked.stream(index);
            format!(
                "`{}`: {} of {} packets were lost in simulation, and nothing on its way may drop any",
                checked.stream_name(&stream),
                stream.record.dropped,
                stream.record.released
            )
        }
        Contradiction::Port(port) => format!(
            "the port of {} to {} dropped frames, and its memory is proved to suffice",
            scenario.network.node(port.node).name,
            checked.peer_name(port).unwrap_or("nowhere")
        ),
        Contradiction::Node(node) => format!(
            "the stack of {} dropped packets, and its memory is proved to suffice",
            scenario.network.node(node).name
        ),
    }
}

/// Returns whether a requirement is about a bound.
fn requires_bounds(scenario: &Scenario) -> bool {
    scenario.accept.iter().any(|line| line.bound.is_some())
}
