//! `check`: judges every flow of a scenario against its deadline.

mod fix;
mod several;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use rtether::bound::Duration;
use rtether::check;
use rtether::report::format::Format;
use rtether::report::text::plural;
use rtether::report::{Checked, Verdicts, gate, json, playground};
use rtether::run::{self, Progress, Results};
use rtether::scenario::{Scenario, Written};
use rtether::trace::{CaptureLog, PacketLog};
use rtether::verdict::Conclusion;
use serde_json::Value;

use super::adversary::{self, AdversaryArgs};
use super::certify::certify;
use super::diff;
use super::fail::{self, FailArgs};
use super::host::{CheckLive, Measured, TestBed};
use super::strict::Strict;
use crate::drafts::Draft;
use crate::exit::Exit;
use crate::outputs::{Gates, Output, Outputs, OwnFiles};
use crate::progress::{Pace, alone_with_progress, with_progress};
use crate::scenario::{self, Loaded, RunOverrides};
use crate::stop::{Care, Work};
use crate::terminal;
use fix::FixArgs;

/// Arguments of `check`.
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// Scenario file, or `-` for standard input
    pub(crate) scenario: PathBuf,
    #[command(flatten)]
    pub(crate) live: CheckLive,
    #[command(flatten)]
    pub(crate) overrides: RunOverrides,
    #[command(flatten)]
    pub(crate) output: Output,
    /// Compare with an earlier result (JSON of `check`), and fail only for what did not fail there
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) strict: Strict,
    #[command(flatten)]
    pub(crate) adversary: AdversaryArgs,
    #[command(flatten)]
    pub(crate) pace: Pace,
}

/// Arguments of `check` beyond those of `sim`.
#[derive(Args, Debug)]
pub(crate) struct CheckVerb {
    #[command(flatten)]
    check: CheckArgs,
    /// Further scenarios, judged one after the other; the exit code is the worst: 2 before 5, 4, 1 and 3
    #[arg(value_name = "SCENARIO")]
    more: Vec<PathBuf>,
    /// Write claims about every packet's way, which `python3 verify FILE` checks without rtether
    #[arg(long, value_name = "FILE", conflicts_with = "fail")]
    certificate: Option<PathBuf>,
    #[command(flatten)]
    fail: FailArgs,
    #[command(flatten)]
    fix: FixArgs,
}

impl CheckVerb {
    /// Returns the scenarios in the order in which they were given.
    fn scenarios(&self) -> impl Iterator<Item = &Path> {
        let first = self.check.scenario.as_path();
        [first].into_iter().chain(self.more.iter().map(PathBuf::as_path))
    }
}

/// Runs `check`.
pub(crate) fn run(verb: &CheckVerb) -> Exit {
    if let Some(which) = verb.fix.which() {
        return fix::run(verb, which);
    }
    if !verb.more.is_empty() {
        return several::run(verb);
    }
    let arguments = &verb.check;
    if let Some(question) = verb.fail.question() {
        if arguments.output.gate.is_asked() {
            terminal::complain(
                "`--fail` has no JUnit, SARIF or annotations: leave one of them out",
            );
            return Exit::WrongInput;
        }
        let place = (&*arguments.scenario, &arguments.overrides);
        let how = (arguments.pace, arguments.strict);
        let judged = fail::run(question, place, how, &arguments.output);
        return judged.map_or_else(|exit| exit, |conclusion| exit(conclusion, false));
    }
    let own = OwnFiles {
        live_packets: arguments.live.packets(),
        certificate: verb.certificate.as_deref(),
        ..OwnFiles::default()
    };
    judge(arguments, own, true)
}

/// Simulates, traces and judges. `proves` tells whether bounds are computed, too.
pub(super) fn judge(arguments: &CheckArgs, own: OwnFiles<'_>, proves: bool) -> Exit {
    let read = match scenario::read_for_run(&arguments.scenario, &arguments.overrides) {
        Ok(read) => read,
        Err(exit) => return exit,
    };
    let (loaded, file) = read.split();
    let Some(mut loaded) = loaded else {
        let mistakes = gate::mistakes(&file);
        let failed = Gates::write_mistakes(&arguments.scenario, &arguments.output, &mistakes);
        for message in failed {
            terminal::complain(&message);
        }
        return Exit::WrongInput;
    };
    // The result notes on what it rests.
    loaded.scenario.assumptions.is_strict = arguments.strict.strict;
    if !arguments.output.shows_time() {
        loaded.scenario.run.bucket = Duration::ZERO;
    }
    let test_bed = match TestBed::plan(&arguments.live, &loaded.scenario, proves) {
        Ok(test_bed) => test_bed,
        Err(exit) => return exit,
    };
    let baseline = arguments.baseline.as_deref().map(diff::read).transpose();
    let baseline = match baseline {
        Ok(baseline) => baseline,
        Err(message) => {
            terminal::complain(&message);
            return Exit::WrongInput;
        }
    };
    let mut outputs = match Outputs::open(&arguments.scenario, &arguments.output, own) {
        Ok(outputs) => outputs,
        Err(exit) => return exit,
    };
    let found = match arguments.adversary.open() {
        Ok(found) => found,
        Err(message) => return terminal::fail(&message),
    };
    match observe(&loaded.scenario, arguments.pace, &mut outputs, test_bed) {
        Ok(observed) => {
            let outputs = (outputs, found);
            let (checked, exit) = conclude(arguments, (loaded, &file), outputs, observed, proves);
            match (baseline, exit) {
                (Some(old), Exit::Ok | Exit::Failed | Exit::NoAnswer) => {
                    let compared = compare(&old, &checked, &arguments.output);
                    // Where nothing new failed, no answer is still none.
                    if (compared, exit) == (Exit::Ok, Exit::NoAnswer) { exit } else { compared }
                }
                (_, exit) => exit,
            }
        }
        Err(exit) => exit,
    }
}

/// Observations of a scenario.
struct Observed {
    results: Results,
    traced: Traced,
    measured: Measured,
}

/// Simulates, and measures if a test bed was asked for.
fn observe(
    scenario: &Scenario,
    pace: Pace,
    outputs: &mut Outputs,
    test_bed: TestBed,
) -> Result<Observed, Exit> {
    let drafts = [outputs.pcap.take(), outputs.packets.take()];
    let (results, traced) = simulate(scenario, pace, drafts)?;
    // After an interrupted simulation, do not start a measurement.
    let measured = if results.partial {
        Measured::default()
    } else {
        test_bed.measure(scenario, outputs.live_packets.take(), pace)?
    };
    Ok(Observed { results, traced, measured })
}

/// Compares a result with an earlier one, and returns the exit code of that.
fn compare(old: &Value, checked: &Checked, output: &Output) -> Exit {
    let new = json::document(checked, json::Options::default());
    let found = match rtether::diff::diff(old, &new) {
        Ok(found) => found,
        Err(message) => {
            terminal::complain(&message);
            return Exit::WrongInput;
        }
    };
    // Files and programs get one document: the result.
    let is_for_people = matches!(output.format.format(), Format::Table | Format::Md);
    if is_for_people && !output.quiet {
        let printed = output.format.print(&found);
        if printed != Exit::Ok {
            return printed;
        }
    } else {
        terminal::tell(&format!("compared with the baseline: {}", found.summary()));
    }
    found.conclusion().into()
}

/// Judges, writes and prints the observations.
fn conclude(
    arguments: &CheckArgs,
    (loaded, file): (Loaded, &rtether::scenario::Loaded),
    (mut outputs, found): (Outputs, Option<Draft>),
    observed: Observed,
    proves: bool,
) -> (Checked, Exit) {
    let Observed { results, traced, measured } = observed;
    let traced = traced.into_iter().flatten();
    let mut failed: Vec<String> = traced.filter_map(Result::err).collect();
    failed.extend(measured.unwritten);
    let what_if = what_if(&arguments.output, &loaded.written);
    let mut checked = unless_asked(|progress| {
        terminal::detail(|| "computing bounds and judging".to_owned());
        let options = check::Options {
            proves,
            source: None,
            evidence: measured.evidence,
            explains: arguments.output.report.is_some(),
            progress: Arc::clone(progress),
        };
        check::conclude(loaded.scenario, results, options)
    });
    checked.what_if = what_if;
    adversary::search(&arguments.adversary, arguments.pace, &mut checked);
    let draft = found.and_then(|draft| adversary::write(draft, &checked, &loaded.written));
    failed.extend(draft);
    // What the search found late is what needs help.
    unless_asked(|progress| check::add_help_while(&mut checked, loaded.written, progress));
    let mut findings = gate::mistakes(file);
    findings.extend(gate::failures(file, &checked));
    let certificate = outputs.certificate.take().zip(checked.analysis.as_ref());
    let certified =
        certificate.map_or(Ok(()), |(draft, analysis)| certify(&checked.scenario, analysis, draft));
    failed.extend(outputs.write(&checked, &findings));
    let printed = print(&checked, &arguments.output, failed.is_empty());
    for message in &failed {
        terminal::complain(message);
    }
    if printed != Exit::Ok {
        return (checked, printed);
    }
    tell_notes(&checked);
    let exit = exit(checked.conclusion, !failed.is_empty());
    let exit = certified.err().map_or(exit, |unwritten| exit.worse(unwritten));
    (checked, exit)
}

/// Runs `work` until a signal asks it to end with what it has.
fn unless_asked<T>(work: impl FnOnce(&Arc<Progress>) -> T) -> T {
    let progress = Arc::new(Progress::default());
    let asked = Arc::clone(&progress);
    let _work = Work::new(Care::None, move || asked.cancel());
    work(&progress)
}

fn tell_notes(checked: &Checked) {
    for note in &checked.notes {
        if note.is_error {
            terminal::complain(&note.text);
        } else {
            terminal::tell(&note.text);
        }
    }
}

/// Returns the link to the playground that was asked for, unless it cannot read the scenario.
fn what_if(output: &Output, written: &Written) -> Option<String> {
    let page = output.playground.as_deref()?;
    if !written.included.is_empty() {
        terminal::tell(
            "no link to the playground: it has one file, and this scenario includes others",
        );
        return None;
    }
    if !written.changes.is_empty() {
        terminal::tell("the link to the playground has the file, without the values of `--set`");
    }
    Some(playground::link(page, &written.name, &written.text))
}

/// Outcome of each requested trace.
type Traced = [Option<Result<(), String>>; 2];

/// Runs all replications, then the traces of frames and of packets.
fn simulate(
    scenario: &Scenario,
    pace: Pace,
    [pcap, packets]: [Option<Draft>; 2],
) -> Result<(Results, Traced), Exit> {
    let plan = scenario.run;
    let traces = i64::from(pcap.is_some()) + i64::from(packets.is_some());
    let runs = i64::from(plan.runs) + traces;
    let total = plan.duration.as_ps() / 1_000_000_000 * runs;
    terminal::detail(|| {
        format!(
            "simulating {} of {}, seeds from {}",
            plural(usize::try_from(plan.runs).unwrap_or(usize::MAX), "run"),
            plan.duration,
            plan.seed
        )
    });
    let total = u64::try_from(total).unwrap_or(0);
    let work = |progress: &Progress| {
        let results = run::simulate(scenario, progress);
        let traced = [
            pcap.map(|draft| capture(scenario, progress, draft)),
            packets.map(|draft| list_packets(scenario, progress, draft)),
        ];
        // A truncated trace makes the results partial, too.
        results.map(|results| {
            let results = Results { partial: progress.is_cancelled(), ..results };
            (results, traced)
        })
    };
    let run = if plan.runs == 1 {
        Ok(alone_with_progress(pace, total, Care::None, work))
    } else {
        with_progress(pace, total, Care::None, work)
    };
    match run {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(error)) => {
            terminal::complain(&error.to_string());
            Err(Exit::WrongInput)
        }
        Err(message) => Err(terminal::fail(&message)),
    }
}

/// Returns the exit code; a contradiction outranks files that could not be written.
fn exit(conclusion: Conclusion, is_unwritten: bool) -> Exit {
    if is_unwritten && conclusion != Conclusion::Contradiction {
        Exit::Unfit
    } else {
        conclusion.into()
    }
}

/// Prints the requested output; `is_written` tells whether all files were written.
fn print(checked: &Checked, output: &Output, is_written: bool) -> Exit {
    if output.quiet {
        return terminal::print(&format!("{}\n", checked.summary()));
    }
    let verdicts = Verdicts {
        checked,
        all: output.all,
        json: json::Options { buckets: output.buckets, histogram: output.histogram },
    };
    let exit = output.format.print(&verdicts);
    if let Some(path) = output.report.as_ref().filter(|_| is_written) {
        terminal::remark(&format!("report written to {}", path.display()));
    }
    exit
}

fn capture(scenario: &Scenario, progress: &Progress, draft: Draft) -> Result<(), String> {
    draft.fill(|file| {
        let mut log = CaptureLog::new(scenario, file);
        let run = run::simulate_seed(scenario, scenario.run.seed, progress, &mut log);
        log.finish().and(run.map(drop).map_err(io::Error::other))
    })
}

fn list_packets(scenario: &Scenario, progress: &Progress, draft: Draft) -> Result<(), String> {
    draft.fill(|file| {
        let mut log = PacketLog::new(scenario, file);
        let run = run::simulate_seed(scenario, scenario.run.seed, progress, &mut log);
        log.finish().and(run.map(drop).map_err(io::Error::other))
    })
}
