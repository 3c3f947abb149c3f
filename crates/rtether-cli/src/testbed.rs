//! `live`: a scenario on this host.

use std::num::NonZeroU8;
use std::path::{Path, PathBuf};

use rtether::scenario::Scenario;
use rtether::verdict::{Assessment, Verdict};
use rtether_testbed::testbed::ssh::{self, HostError};
use rtether_testbed::testbed::{
    self, Backend, EmulatorError, Measured, Options, PACKETS_MAX, Plan, TestbedError,
};

use crate::args::{Global, LiveArgs};
use crate::drafts::{self, Draft};
use crate::exit::{self, Exit};
use crate::progress::with_testbed;
use crate::scenario::{self, Loaded};
use crate::terminal;

/// Runs `live`.
pub(crate) fn run(arguments: &LiveArgs, global: &Global) -> Exit {
    terminal::choose_color(global);
    let Some(path) = arguments.scenario.as_deref() else {
        return clean();
    };
    let loaded = match scenario::load_for_run(path, &arguments.overrides) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let scenario = &loaded.scenario;
    let options = Options {
        backend: arguments.backend.into(),
        duration: scenario.run.duration,
        seed: scenario.run.seed,
        priority: NonZeroU8::new(arguments.priority).map(NonZeroU8::get),
    };
    if options.backend == Backend::Ssh {
        return on_hosts(path, arguments, &loaded, &options, global);
    }
    if !arguments.host.is_empty() {
        terminal::complain("`--host` is for `--backend ssh`");
        return Exit::WrongInput;
    }
    let plan = match Plan::new(scenario, options.backend, &std::process::id().to_string()) {
        Ok(plan) => plan,
        Err(error) => return refuse(&error),
    };
    if arguments.dry_run {
        return terminal::print(&plan.to_string());
    }
    let outputs = match Outputs::open(path, arguments) {
        Ok(outputs) => outputs,
        Err(exit) => return exit,
    };
    match measure(scenario, &plan, &options, global) {
        Ok(measured) => show(arguments, outputs, &loaded, &measured),
        Err(exit) => exit,
    }
}

/// The requested files, opened before the run.
struct Outputs {
    report: Option<Draft>,
    packets: Option<Draft>,
}

impl Outputs {
    fn open(scenario: &Path, arguments: &LiveArgs) -> Result<Self, Exit> {
        let named = [
            ("--report", &arguments.report),
            ("--packets", &arguments.packets),
        ];
        let all = named.map(|(flag, path)| Some((flag, path.clone()?)));
        let all: Vec<(&str, PathBuf)> = all.into_iter().flatten().collect();
        drafts::check_distinct(scenario, &all).map_err(|message| {
            terminal::complain(&message);
            Exit::WrongInput
        })?;
        let open = |path: &Option<PathBuf>| path.as_deref().map(Draft::open).transpose();
        let opened = || -> Result<Self, String> {
            Ok(Self {
                report: open(&arguments.report)?,
                packets: open(&arguments.packets)?,
            })
        };
        opened().map_err(|message| exit::fail(&message))
    }

    /// Writes the files; returns what could not be written.
    fn write(
        self,
        loaded: &Loaded,
        measured: &Measured,
        assessments: &[Assessment],
    ) -> Vec<String> {
        let scenario = &loaded.scenario;
        let report = self.report.map(|draft| {
            let page = testbed::html(scenario, measured, assessments, Some(&loaded.text));
            draft.write(&page)
        });
        let packets = self
            .packets
            .map(|draft| list_packets(draft, scenario, measured));
        let written = report.into_iter().chain(packets);
        written.filter_map(Result::err).collect()
    }
}

/// Writes a line for each packet, and reports how many are not listed.
pub(crate) fn list_packets(
    draft: Draft,
    scenario: &Scenario,
    measured: &Measured,
) -> Result<(), String> {
    draft.fill(|file| testbed::packets_csv(scenario, measured, file))?;
    let more = measured.packets.more;
    if more > 0 {
        terminal::remark(&format!(
            "{} packets are listed, {more} more are counted only: {PACKETS_MAX} at most are kept, in \
             equal parts for all streams",
            measured.packets.kept.len()
        ));
    }
    Ok(())
}

/// Runs it on real hosts.
fn on_hosts(
    path: &Path,
    arguments: &LiveArgs,
    loaded: &Loaded,
    options: &Options,
    global: &Global,
) -> Exit {
    let scenario = &loaded.scenario;
    let plan = match ssh::Plan::new(scenario, &arguments.host) {
        Ok(plan) => plan,
        Err(error) => return refuse(&error),
    };
    if arguments.dry_run {
        return terminal::print(&plan.to_string());
    }
    let outputs = match Outputs::open(path, arguments) {
        Ok(outputs) => outputs,
        Err(exit) => return exit,
    };
    let source = ssh::Source {
        text: &loaded.text,
        changes: &loaded.changes,
    };
    let outcome = with_testbed(global, plan.hosts.len(), seconds(options), |progress| {
        ssh::run(scenario, source, &plan, options, progress)
    });
    match outcome {
        Ok(measured) => show(arguments, outputs, loaded, &measured),
        Err(error) => refuse(&error),
    }
}

/// Returns how long a run takes, for progress.
fn seconds(options: &Options) -> u64 {
    let seconds = testbed::length(options).as_ps() / 1_000_000_000_000;
    u64::try_from(seconds).unwrap_or(0)
}

/// Runs the test bed.
pub(crate) fn measure(
    scenario: &Scenario,
    plan: &Plan,
    options: &Options,
    global: &Global,
) -> Result<Measured, Exit> {
    let commands = plan.set_up.len();
    let outcome = with_testbed(global, commands, seconds(options), |progress| {
        testbed::run(scenario, plan, options, progress)
    });
    outcome.map_err(|error| refuse(&error))
}

fn show(arguments: &LiveArgs, outputs: Outputs, loaded: &Loaded, measured: &Measured) -> Exit {
    let scenario = &loaded.scenario;
    let assessments = measured.assess(scenario);
    let text = if arguments.json {
        testbed::json(scenario, measured, &assessments)
    } else if arguments.csv {
        match testbed::csv(scenario, measured, &assessments) {
            Ok(text) => text,
            Err(error) => return exit::fail(&error.to_string()),
        }
    } else {
        testbed::table(scenario, measured, &assessments)
    };
    let unwritten = outputs.write(loaded, measured, &assessments);
    let printed = terminal::print(&text);
    for message in &unwritten {
        terminal::complain(message);
    }
    if printed != Exit::Ok {
        return printed;
    }
    if !unwritten.is_empty() {
        return Exit::Unfit;
    }
    if let Some(path) = &arguments.report {
        terminal::remark(&format!("report written to {}", path.display()));
    }
    // An error also ends a run early, without a request to stop.
    if let Some(error) = measured.errors.first() {
        let exit = exit::fail(&format!("the measurement ended early: {error}"));
        // Each host hears of the request at a moment of its own: the first to end breaks the
        // connections of the others.
        return if measured.backend == Backend::Ssh && measured.is_partial {
            Exit::Interrupted
        } else {
            exit
        };
    }
    if measured.is_partial {
        return Exit::Interrupted;
    }
    match assessments
        .iter()
        .map(|assessment| assessment.verdict)
        .max()
    {
        Some(verdict) if verdict.is_failure() => Exit::Failed,
        Some(Verdict::NoAnswer) => Exit::NoAnswer,
        _ => Exit::Ok,
    }
}

fn clean() -> Exit {
    match testbed::clean() {
        Ok(removed) if removed.is_empty() => terminal::print("nothing was left behind\n"),
        Ok(removed) => {
            let lines: Vec<String> = removed
                .iter()
                .map(|name| format!("removed {name}\n"))
                .collect();
            terminal::print(&lines.concat())
        }
        Err(error) => refuse(&error),
    }
}

pub(crate) fn refuse(error: &TestbedError) -> Exit {
    let exit = match error {
        TestbedError::Unsupported { .. } | TestbedError::Emulator(EmulatorError::Network(_)) => {
            Exit::WrongInput
        }
        TestbedError::Host(HostError::Interrupted) => Exit::Interrupted,
        TestbedError::Host(error) if error.is_input() => Exit::WrongInput,
        TestbedError::Host(_)
        | TestbedError::Command { .. }
        | TestbedError::Filter(_)
        | TestbedError::Emulator(_)
        | TestbedError::Station { .. } => Exit::Unfit,
        TestbedError::Interrupted => Exit::Interrupted,
    };
    if exit == Exit::Interrupted {
        terminal::remark(&error.to_string());
    } else {
        terminal::complain(&error.to_string());
    }
    exit
}
