//! `live`: a scenario on this host.

use std::num::NonZeroU8;

use rtether::live::testbed::ssh::{self, HostError};
use rtether::live::testbed::{self, Backend, EmulatorError, Measured, Options, Plan, TestbedError};
use rtether::scenario::Scenario;
use rtether::verdict::Verdict;

use crate::args::{Global, LiveArgs};
use crate::exit::{self, Exit};
use crate::progress::with_testbed;
use crate::{scenario, terminal};

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
        return on_hosts(arguments, &loaded, &options, global);
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
    let measured = match measure(scenario, &plan, &options, global) {
        Ok(measured) => measured,
        Err(exit) => return exit,
    };
    show(arguments, scenario, &measured)
}

/// Runs it on real hosts.
fn on_hosts(
    arguments: &LiveArgs,
    loaded: &scenario::Loaded,
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
    let source = ssh::Source {
        text: &loaded.text,
        changes: &loaded.changes,
    };
    let outcome = with_testbed(global, plan.hosts.len(), seconds(options), |progress| {
        ssh::run(scenario, source, &plan, options, progress)
    });
    match outcome {
        Ok(Ok(measured)) => show(arguments, scenario, &measured),
        Ok(Err(error)) => refuse(&error),
        Err(message) => exit::fail(&message),
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
    match outcome {
        Ok(Ok(measured)) => Ok(measured),
        Ok(Err(error)) => Err(refuse(&error)),
        Err(message) => Err(exit::fail(&message)),
    }
}

fn show(arguments: &LiveArgs, scenario: &Scenario, measured: &Measured) -> Exit {
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
    let printed = terminal::print(&text);
    if printed != Exit::Ok {
        return printed;
    }
    if measured.is_partial {
        return Exit::Interrupted;
    }
    if let Some(error) = measured.errors.first() {
        return exit::fail(&format!("the measurement ended early: {error}"));
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
    terminal::complain(&error.to_string());
    match error {
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
    }
}
