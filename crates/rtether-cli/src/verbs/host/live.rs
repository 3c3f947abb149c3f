//! `live`: a scenario on this host.

use std::num::NonZeroU8;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rtether::scenario::Scenario;
use rtether::verdict::Assessment;
use rtether_testbed::testbed::ssh::{self, HostError};
use rtether_testbed::testbed::{
    self, Backend, EmulatorError, Measured, Options, PACKETS_MAX, Plan, Run, TestbedError,
};

use super::progress::with_testbed;
use crate::drafts::{self, Draft};
use crate::exit::Exit;
use crate::format::FormatArgs;
use crate::number;
use crate::progress::Pace;
use crate::scenario::{self, Loaded, RunOverrides};
use crate::terminal;

/// Default real-time priority of stations: above the kernel's ordinary threads, below those of
/// interrupts (50 on kernels with threaded interrupts).
pub(super) const PRIORITY: u8 = 40;

/// Arguments of `live`.
#[derive(Args, Debug)]
#[command(after_help = LIVE_NOTES)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct LiveArgs {
    /// Scenario file, or `-` for standard input
    #[arg(required_unless_present = "clean")]
    pub(crate) scenario: Option<PathBuf>,
    /// What carries frames between the stations
    #[arg(long, value_name = "WHICH", value_enum, default_value_t)]
    pub(crate) backend: LiveBackend,
    /// Play an end station on another host, by `ssh TARGET`, optionally on this device; once per
    /// end station, with `--backend ssh`
    #[arg(long, value_name = "NODE=TARGET[%DEVICE]")]
    pub(crate) host: Vec<String>,
    /// Real-time priority of the stations (`SCHED_FIFO`, 1 to 80), memory locked; 0 for none
    #[arg(
        long,
        value_name = "N",
        default_value_t = PRIORITY,
        value_parser = number::within(0_u8..=80)
    )]
    pub(crate) priority: u8,
    /// Print the commands that create and remove the test bed, and do nothing
    #[arg(long, conflicts_with_all = ["format", "json", "csv", "report", "packets"])]
    pub(crate) dry_run: bool,
    /// Remove what test beds, `calibrate` and `doctor` of ended processes left behind
    #[arg(
        long,
        conflicts_with_all = ["scenario", "dry_run", "host", "format", "json", "csv", "report", "packets"]
    )]
    pub(crate) clean: bool,
    #[command(flatten)]
    pub(crate) overrides: RunOverrides,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    /// Write one self-contained HTML page with the distribution of each flow
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Write one CSV line per measured packet, at most a million
    #[arg(long, value_name = "FILE")]
    pub(crate) packets: Option<PathBuf>,
    /// No progress on standard error (the default if it is not a terminal)
    #[arg(long)]
    pub(crate) no_progress: bool,
}

const LIVE_NOTES: &str = "Example: rtether live plant.yaml --for 10s --report plant.html\n\nExit codes: 0 every requirement holds as measured, 1 one does not, \
2 wrong input or a scenario that a test bed cannot have, 3 nothing arrived, 4 the machine cannot \
do it, 130 interrupted. --runs is that of the simulation and does nothing here. --warmup, or what the \
scenario says, is the start that does not count; without it, a tenth of the run and a second at most.";

/// What carries frames between the stations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LiveBackend {
    /// Virtual Ethernet, bridges and queueing disciplines of the kernel.
    #[default]
    Kernel,
    /// The switches and hubs of the simulator in real time.
    Emulated,
    /// The network between real hosts.
    Ssh,
}

impl From<LiveBackend> for Backend {
    fn from(choice: LiveBackend) -> Self {
        match choice {
            LiveBackend::Kernel => Self::Kernel,
            LiveBackend::Emulated => Self::Emulated,
            LiveBackend::Ssh => Self::Ssh,
        }
    }
}

/// Runs `live`.
pub(crate) fn run(arguments: &LiveArgs) -> Exit {
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
        return on_hosts(path, arguments, &loaded, &options, Pace::shown(!arguments.no_progress));
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
    match measure(scenario, &plan, &options, Pace::shown(!arguments.no_progress)) {
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
        let named = [("--report", &arguments.report), ("--packets", &arguments.packets)];
        let all = named.map(|(flag, path)| Some((flag, path.clone()?)));
        let all: Vec<(&str, PathBuf)> = all.into_iter().flatten().collect();
        drafts::check_distinct(scenario, &all).map_err(|message| {
            terminal::complain(&message);
            Exit::WrongInput
        })?;
        let open = |path: &Option<PathBuf>| path.as_deref().map(Draft::open).transpose();
        let opened = || -> Result<Self, String> {
            Ok(Self { report: open(&arguments.report)?, packets: open(&arguments.packets)? })
        };
        opened().map_err(|message| terminal::fail(&message))
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
            let page = testbed::html(scenario, measured, assessments, Some(&loaded.written.text));
            draft.write(&page)
        });
        let packets = self.packets.map(|draft| list_packets(draft, scenario, measured));
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
    pace: Pace,
) -> Exit {
    if !loaded.written.included.is_empty() {
        terminal::complain(
            "a scenario with `include` does not run between hosts: agents get one file",
        );
        return Exit::WrongInput;
    }
    let scenario = &loaded.scenario;
    let deployment = match ssh::Deployment::new(scenario, &arguments.host) {
        Ok(deployment) => deployment,
        Err(error) => return refuse(&error),
    };
    if arguments.dry_run {
        return terminal::print(&deployment.to_string());
    }
    let outputs = match Outputs::open(path, arguments) {
        Ok(outputs) => outputs,
        Err(exit) => return exit,
    };
    let source = ssh::Source { text: &loaded.written.text, changes: &loaded.written.changes };
    let outcome = with_testbed(pace, deployment.hosts.len(), seconds(options), |progress| {
        ssh::run(scenario, source, &deployment, options, progress)
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
    pace: Pace,
) -> Result<Measured, Exit> {
    let commands = plan.set_up.len();
    let outcome = with_testbed(pace, commands, seconds(options), |progress| {
        testbed::run(scenario, plan, options, progress)
    });
    outcome.map_err(|error| refuse(&error))
}

fn show(arguments: &LiveArgs, outputs: Outputs, loaded: &Loaded, measured: &Measured) -> Exit {
    let scenario = &loaded.scenario;
    let assessments = measured.assess(scenario);
    let run = Run { scenario, measured, assessments: &assessments };
    let unwritten = outputs.write(loaded, measured, &assessments);
    let printed = arguments.format.print(&run);
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
    if let Some(error) = measured.errors.first() {
        terminal::complain(&format!("the measurement ended early: {error}"));
    }
    run.conclusion().into()
}

fn clean() -> Exit {
    match testbed::clean() {
        Ok(removed) if removed.is_empty() => terminal::print("nothing was left behind\n"),
        Ok(removed) => {
            let lines: Vec<String> =
                removed.iter().map(|name| format!("removed {name}\n")).collect();
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
