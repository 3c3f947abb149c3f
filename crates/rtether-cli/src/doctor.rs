//! `doctor`: whether a host is fit for measurements.

use std::sync::atomic::Ordering;

use indicatif::{ProgressBar, ProgressStyle};
use rtether_testbed::doctor::{self, DoctorOptions, RemoteError, Report};

use crate::args::{DoctorArgs, Global};
use crate::exit::Exit;
use crate::stop::{Care, Stop};
use crate::terminal;

/// Runs `doctor`.
pub(crate) fn run(arguments: &DoctorArgs, global: &Global) -> Exit {
    terminal::choose_color(global);
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
    let printed = terminal::print(&if arguments.json {
        doctor::json(&report)
    } else if arguments.csv {
        doctor::csv(&report)
    } else if arguments.goals.is_empty() {
        doctor::table(&report)
    } else {
        String::new()
    });
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
