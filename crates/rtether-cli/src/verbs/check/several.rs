//! Several scenarios, judged one after the other.

use std::path::Path;
use std::sync::Arc;

use rtether::bound::Duration;
use rtether::check;
use rtether::report::format::Format;
use rtether::report::gate::{self, Finding, Suite};
use rtether::report::json;

use super::{CheckArgs, CheckVerb, exit, print, simulate, tell_notes, unless_asked};
use crate::exit::Exit;
use crate::outputs::Gates;
use crate::verbs::adversary;
use crate::{scenario, terminal};

/// What is written at the end.
#[derive(Default)]
struct Found {
    documents: Vec<String>,
    suites: Vec<Suite>,
    findings: Vec<Finding>,
}

/// Judges all scenarios; the exit code is the worst of theirs.
pub(super) fn run(verb: &CheckVerb) -> Exit {
    let output = &verb.check.output;
    if let Some(option) = of_one_scenario(verb) {
        terminal::complain(&format!(
            "`{option}` has the result of one scenario: give one, or leave it out"
        ));
        return Exit::WrongInput;
    }
    let gates = match Gates::open_apart(verb.scenarios(), &output.gate) {
        Ok(gates) => gates,
        Err(message) => {
            terminal::complain(&message);
            return Exit::WrongInput;
        }
    };
    let is_json = output.format.format() == Format::Json;
    let is_apart = output.format.format() == Format::Table && !output.quiet;
    let (mut found, mut worst) = (Found::default(), Exit::Ok);
    for (number, path) in verb.scenarios().enumerate() {
        if number > 0 && is_apart {
            worst = worst.worse(terminal::print("\n"));
        }
        worst = worst.worse(judge(&verb.check, path, &mut found));
        if worst == Exit::Interrupted {
            break;
        }
    }
    if is_json {
        let all = found.documents.join(",\n");
        worst = worst.worse(terminal::print(&format!("[\n{all}\n]\n")));
    }
    let junit = || gate::junit_of("rtether check", found.suites);
    for message in gates.write(&found.findings, junit) {
        worst = worst.worse(terminal::fail(&message));
    }
    worst
}

/// Returns an option that was given and has one scenario, or one result.
fn of_one_scenario(verb: &CheckVerb) -> Option<&'static str> {
    let arguments = &verb.check;
    let output = &arguments.output;
    let format = output.format.format();
    let given = [
        (verb.fail.question().is_some(), "--fail"),
        (arguments.live.is_asked(), "--live"),
        (arguments.live.packets().is_some(), "--live-packets"),
        (arguments.baseline.is_some(), "--baseline"),
        (arguments.adversary.adversarial_out.is_some(), "--adversarial-out"),
        (output.report.is_some(), "--report"),
        (output.out.is_some(), "--out"),
        (verb.certificate.is_some(), "--certificate"),
        (format == Format::Csv, "--csv"),
        (format == Format::OpenMetrics, "--format openmetrics"),
    ];
    let mut given = given.into_iter().filter(|(is_given, _)| *is_given);
    given.next().map(|(_, option)| option)
}

/// Judges one of them, and prints what need not wait for the others.
fn judge(arguments: &CheckArgs, path: &Path, found: &mut Found) -> Exit {
    let (output, pace) = (&arguments.output, arguments.pace);
    let read = match scenario::read_for_run(path, &arguments.overrides) {
        Ok(read) => read,
        Err(exit) => return exit,
    };
    let (loaded, file) = read.split();
    let mistakes = gate::mistakes(&file);
    let Some(mut loaded) = loaded else {
        let name = path.display().to_string();
        found.suites.push(gate::suite_of_mistakes(&name, &mistakes));
        found.findings.extend(mistakes);
        return Exit::WrongInput;
    };
    loaded.scenario.assumptions.is_strict = arguments.strict.strict;
    if !output.shows_time() {
        loaded.scenario.run.bucket = Duration::ZERO;
    }
    let results = match simulate(&loaded.scenario, pace, [None, None]) {
        Ok((results, _)) => results,
        Err(exit) => return exit,
    };
    let mut checked = unless_asked(|progress| {
        let options =
            check::Options { progress: Arc::clone(progress), ..check::Options::default() };
        check::conclude(loaded.scenario, results, options)
    });
    adversary::search(&arguments.adversary, pace, &mut checked);
    unless_asked(|progress| check::add_help_while(&mut checked, loaded.written, progress));
    found.findings.extend(mistakes);
    found.findings.extend(gate::failures(&file, &checked));
    found.suites.push(gate::suite(&checked));
    let printed = if output.format.format() == Format::Json {
        let options = json::Options { buckets: output.buckets, histogram: output.histogram };
        let document = json::text(&checked, options);
        found.documents.push(document.trim_end().to_owned());
        Exit::Ok
    } else {
        print(&checked, output, true)
    };
    tell_notes(&checked);
    printed.worse(exit(checked.conclusion, false))
}
