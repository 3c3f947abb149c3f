//! `doctor`: whether a host is fit for measurements.

use std::sync::atomic::Ordering;

use clap::Args;
use clap::builder::PossibleValuesParser;
use indicatif::{ProgressBar, ProgressStyle};
use rtether::report::format::Format;
use rtether_testbed::doctor::{self, DoctorOptions, GOALS, RemoteError, Report};
use rtether_testbed::load::Bytes;
use rtether_testbed::{Duration, topics};

use super::quantity::{at_most, size};
use super::stop::Stop;
use crate::exit::Exit;
use crate::format::FormatArgs;
use crate::stop::Care;
use crate::terminal;

/// Arguments of `doctor`.
#[derive(Args, Debug)]
#[command(after_help = DOCTOR_NOTES)]
pub(crate) struct DoctorArgs {
    /// Examine this host through ssh instead; it needs rtether there
    pub(crate) host: Option<String>,
    /// Check whether this is possible; may be given several times
    #[arg(long = "for", value_name = "WHAT", value_parser = PossibleValuesParser::new(GOALS.map(|goal| goal.name)))]
    pub(crate) goals: Vec<String>,
    /// How long to watch for gaps in which nothing runs; `0 s` to skip
    #[arg(long, value_name = "TIME", default_value = "1 s", value_parser = at_most(3_600))]
    pub(crate) watch: Duration,
    /// With --for rtps: size of samples that are to pass [default: 1 MB]
    #[arg(long, value_name = "SIZE", value_parser = sample)]
    pub(crate) sample: Option<Bytes>,
    /// Do not probe queueing disciplines and the like in a scratch namespace
    #[arg(long)]
    pub(crate) no_probe: bool,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

const DOCTOR_NOTES: &str = "Example: rtether doctor --for testbed-kernel\n         rtether doctor --for rtps --sample 6MB\n\nExit codes: 0 examined, and what --for asks is possible, 2 the host \
cannot be examined, 4 what --for asks is not possible; the remedy is printed, 130 interrupted.";

/// Size of samples without `--sample`, in octets.
const SAMPLE: u64 = 1_000_000;

/// Parses the size of a sample.
fn sample(text: &str) -> Result<Bytes, String> {
    let max = u64::from(topics::SIZE_MAX);
    match size(text)? {
        size if (1..=max).contains(&size.get()) => Ok(size),
        _ => Err(format!("write 1 to {max} octets")),
    }
}

fn sample_of(arguments: &DoctorArgs) -> Option<u64> {
    let is_wanted = arguments.goals.iter().any(|goal| goal == "rtps");
    let given = arguments.sample.map(Bytes::get);
    given.or_else(|| is_wanted.then_some(SAMPLE))
}

/// Runs `doctor`.
pub(crate) fn run(arguments: &DoctorArgs) -> Exit {
    // Another host may answer late or never, and there is nothing to remove here.
    let care = match arguments.host {
        Some(_) => Care::None,
        None => Care::Always,
    };
    let stop = Stop::new(care);
    let report = match examine(arguments, &stop) {
        Ok(report) => report,
        Err(error) => {
            terminal::complain(&error.to_string());
            return Exit::WrongInput;
        }
    };
    let is_asked = arguments.goals.is_empty() || arguments.format.format() != Format::Table;
    let printed = if is_asked { arguments.format.print(&report) } else { Exit::Ok };
    if printed != Exit::Ok {
        return printed;
    }
    if stop.load(Ordering::Relaxed) {
        return Exit::Interrupted;
    }
    answer(arguments, &report)
}

fn examine(arguments: &DoctorArgs, stop: &Stop) -> Result<Report, RemoteError> {
    let options = DoctorOptions {
        watch: arguments.watch,
        probe: !arguments.no_probe,
        sample: sample_of(arguments),
    };
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}  {elapsed}") {
        bar.set_style(style);
    }
    let report = match &arguments.host {
        Some(host) => {
            bar.set_message(format!("asking {host}"));
            doctor::examine_remote(host, &options)
        }
        None => Ok(doctor::examine(&options, stop, |step| {
            bar.set_message(format!("looking at {step}"));
            bar.tick();
        })),
    };
    bar.finish_and_clear();
    report
}

/// Answers `--for`.
fn answer(arguments: &DoctorArgs, report: &Report) -> Exit {
    let mut exit = Exit::Ok;
    let goals = arguments.goals.iter().filter_map(|name| doctor::goal(name));
    for goal in goals {
        let obstacles = goal.obstacles(report);
        if obstacles.is_empty() {
            terminal::remark(&format!("{} ({}) is possible", goal.name, goal.description));
        } else {
            terminal::complain(&doctor::obstacles_text(goal, &obstacles));
            exit = Exit::Unfit;
        }
    }
    exit
}
