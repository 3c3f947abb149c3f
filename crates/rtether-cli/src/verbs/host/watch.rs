//! `watch`: a plan against what comes at a mirror port.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use rtether::report::format::Format;
use rtether::watch::{Alert, Settings};
use rtether_testbed::{Duration, WatchOptions};

use super::confine::{self, ConfineArgs};
use super::quantity::positive;
use super::socket::refuse;
use super::stop::Stop;
use crate::drafts::overwrite;
use crate::exit::Exit;
use crate::format::FormatArgs;
use crate::scenario::{Overrides, load};
use crate::stop::Care;
use crate::terminal;

/// Arguments of `watch`.
#[derive(Args, Debug)]
#[command(after_help = NOTES)]
pub(crate) struct WatchArgs {
    /// Device that receives the plant's frames, such as one at the mirror port of a switch
    pub(crate) device: String,
    /// The scenario that says what the plant sends
    #[arg(long, value_name = "SCENARIO")]
    pub(crate) plan: PathBuf,
    #[command(flatten)]
    pub(crate) overrides: Overrides,
    /// Time for learning which stream is which flow [default: three and a half of the longest
    /// period, at least 10 s and at most 10 min]
    #[arg(long, value_name = "TIME", value_parser = positive)]
    pub(crate) learn: Option<Duration>,
    /// Pause after which the same deviation of a flow is told again
    #[arg(long, value_name = "TIME", default_value = "10 s", value_parser = positive)]
    pub(crate) pause: Duration,
    /// Duration [default: until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = positive)]
    pub(crate) duration: Option<Duration>,
    /// File for counters as Prometheus text, written anew every 5 s
    #[arg(long, value_name = "FILE")]
    pub(crate) metrics: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) confine: ConfineArgs,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

const NOTES: &str = "Example: rtether watch eth1 --plan plant.yaml --metrics watch.prom\n\nEach \
deviation is a line on standard output as it comes, and with --json or --csv on standard error. \
The socket needs root or CAP_NET_RAW to be opened, and nothing later.\n\nExit codes: 0 nothing \
deviates, 1 something does, 3 no frame was seen, 4 the machine cannot do it, 130 interrupted before \
the end of --for; without --for, Ctrl-C is its end.";

/// Runs `watch`.
pub(crate) fn run(arguments: &WatchArgs) -> Exit {
    let stop = Stop::new(Care::None);
    let plan = match load(&arguments.plan, &arguments.overrides) {
        Ok(loaded) => loaded.scenario,
        Err(exit) => return exit,
    };
    let confinement = match confine::wished(&arguments.confine) {
        Ok(confinement) => confinement,
        Err(exit) => return exit,
    };
    let metrics = match arguments.metrics.as_deref().map(overwrite).transpose() {
        Ok(metrics) => metrics,
        Err(message) => return terminal::fail(&message),
    };
    let options = WatchOptions {
        device: arguments.device.clone(),
        settings: Settings { learn: arguments.learn, pause: arguments.pause },
        duration: arguments.duration,
        metrics,
        confinement,
    };
    let ready = |at: &str| terminal::remark(&format!("watching {at}; Ctrl-C ends it"));
    let mut tell = |alert: &Alert| show(alert, arguments.format.format(), &stop);
    match rtether_testbed::watch(plan, &options, &stop, ready, &mut tell) {
        Ok(mut outcome) => {
            // Without `--for`, Ctrl-C is its end.
            outcome.is_partial = arguments.duration.is_some() && stop.load(Ordering::Relaxed);
            let printed = arguments.format.print(&outcome);
            if printed == Exit::Ok { outcome.conclusion().into() } else { printed }
        }
        Err(error) => refuse(&error),
    }
}

/// Shows an alert at once.
fn show(alert: &Alert, format: Format, stop: &AtomicBool) {
    let (line, is_output) = match format {
        Format::Table => (format!("{}\n", alert.line()), true),
        Format::Ndjson => (format!("{}\n", alert.json()), true),
        Format::Md | Format::Csv | Format::Json | Format::OpenMetrics => {
            (format!("{}\n", alert.line()), false)
        }
    };
    if !is_output {
        terminal::tell(&line);
    } else if terminal::print(&line) != Exit::Ok || terminal::is_open().is_err() {
        // Nobody reads any more.
        stop.store(true, Ordering::Relaxed);
    }
}
