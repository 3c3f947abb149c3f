//! `load`: background load and its sink.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration as WallDuration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use rtether_testbed::Duration;
use rtether_testbed::load::{self, Bytes, Kind, Limits, LoadError, LoadOptions, Outcome, Progress};

use crate::args::{Global, LoadArgs};
use crate::confine::confinement;
use crate::exit::{self, Exit};
use crate::stop::{Care, Stop};
use crate::terminal;

/// Interval of progress updates.
const REFRESH: WallDuration = WallDuration::from_millis(100);

/// Runs `load`.
pub(crate) fn run(arguments: &LoadArgs, global: &Global) -> Exit {
    terminal::choose_color(global);
    let stop = Stop::new(Care::None);
    if arguments.sink {
        return sink(arguments, &stop);
    }
    let options = options(arguments);
    let outcome = match watched(&options, &stop) {
        Ok(outcome) => outcome,
        Err(error) => return refuse(&error),
    };
    let printed = terminal::print(&if arguments.json {
        load::json(&outcome)
    } else if arguments.csv {
        load::csv(&outcome)
    } else {
        load::table(&outcome)
    });
    if printed != Exit::Ok {
        return printed;
    }
    conclude(&outcome, stop.load(Ordering::Relaxed))
}

fn options(arguments: &LoadArgs) -> LoadOptions {
    let kind = Kind::from(arguments.kind);
    let usual = match kind {
        Kind::Udp => Bytes::new(1_472),
        Kind::FtpUp | Kind::FtpDown | Kind::FtpBoth | Kind::Greedy => Bytes::new(10_000_000),
    };
    // A number of files is not cut short by a time limit.
    let length = arguments.files.is_none().then_some(Duration::from_secs(10));
    LoadOptions {
        target: arguments.target.clone().unwrap_or_default(),
        kind,
        size: arguments.size.unwrap_or(usual),
        rate: arguments.rate,
        connections: arguments.connections,
        files: arguments.files,
        duration: arguments.duration.or(length),
        urgency: arguments.priority.into(),
        core: arguments.core,
        dscp: arguments.dscp,
    }
}

/// Generates the load in other threads and shows progress.
fn watched(options: &LoadOptions, stop: &AtomicBool) -> Result<Outcome, LoadError> {
    let progress = Progress::default();
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} load  {msg}  {elapsed}") {
        bar.set_style(style);
    }
    let begin = Instant::now();
    let outcome = thread::scope(|scope| {
        let load = scope.spawn(|| load::load(options, stop, &progress));
        while !load.is_finished() {
            let octets = progress.octets.load(Ordering::Relaxed);
            let ms = u64::try_from(begin.elapsed().as_millis())
                .unwrap_or(1)
                .max(1);
            bar.set_message(format!(
                "{} MB, {} files, {} Mbit/s",
                octets / 1_000_000,
                progress.files.load(Ordering::Relaxed),
                octets * 8 / 1_000 / ms
            ));
            bar.tick();
            thread::sleep(REFRESH);
        }
        load.join()
    });
    bar.finish_and_clear();
    match outcome {
        Ok(outcome) => outcome,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn conclude(outcome: &Outcome, is_interrupted: bool) -> Exit {
    let totals = outcome.totals();
    if is_interrupted {
        Exit::Interrupted
    } else if let Some(why) = outcome.failures.first() {
        exit::fail(&format!("a connection ended early: {why}"))
    } else if totals.up + totals.down == 0 {
        Exit::NoAnswer
    } else {
        Exit::Ok
    }
}

fn sink(arguments: &LoadArgs, stop: &AtomicBool) -> Exit {
    let limits = Limits {
        connections: usize::try_from(arguments.limit_connections).unwrap_or(1),
        rate: arguments.limit_rate,
        marks: arguments.allow_dscp,
        ..Limits::default()
    };
    let listen = arguments.target.as_deref().unwrap_or("0.0.0.0");
    let confinement = match confinement(arguments.user.as_deref(), arguments.unconfined) {
        Ok(confinement) => confinement,
        Err(exit) => return exit,
    };
    let taken = load::sink(
        listen,
        limits,
        confinement.as_ref(),
        stop,
        |at, confined| {
            let confined = confined.map_or_else(String::new, |confined| format!(", {confined}"));
            terminal::tell(&format!(
                "taking load at {at}, TCP and UDP{confined}; Ctrl-C ends it"
            ));
        },
    );
    match taken {
        Ok(taken) => {
            if taken.unmarked > 0 {
                terminal::remark(&format!(
                    "{} connections wished for a DSCP, and were served without; `--allow-dscp` \
                     grants it",
                    taken.unmarked
                ));
            }
            terminal::print(&format!(
                "{} connections, {} turned away, {} broken off idle, {} malformed; {} B received, \
                 {} B sent, {} datagrams\n",
                taken.connections,
                taken.refused,
                taken.idle,
                taken.malformed,
                taken.received,
                taken.sent,
                taken.datagrams
            ))
        }
        Err(error) => refuse(&error),
    }
}

fn refuse(error: &LoadError) -> Exit {
    terminal::complain(&error.to_string());
    if error.is_wrong_input() {
        Exit::WrongInput
    } else {
        Exit::Unfit
    }
}
