//! `calibrate`: cost of this host's network stack.

use std::sync::atomic::Ordering;

use indicatif::{ProgressBar, ProgressStyle};
use rtether_testbed::calibrate::{self, CalibrateOptions};

use crate::args::{CalibrateArgs, Global};
use crate::exit::{self, Exit};
use crate::stop::{Care, Stop};
use crate::{awake, files, terminal};

/// Runs `calibrate`.
pub(crate) fn run(arguments: &CalibrateArgs, global: &Global) -> Exit {
    terminal::choose_color(global);
    let stop = Stop::new(Care::Always);
    awake::keep(arguments.awake);
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos} of {len}  {msg}  {eta} left")
    {
        bar.set_style(style);
    }
    let measured = calibrate::calibrate(&options(arguments), &stop, |done, total, what| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
        bar.set_message(what.to_owned());
    });
    bar.finish_and_clear();
    let calibration = match measured {
        Ok(calibration) => calibration,
        Err(error) => return exit::fail(&error.to_string()),
    };
    if let Some(path) = &arguments.out {
        let profile = calibrate::yaml(&calibration, &arguments.name);
        if let Err(message) = files::write(path, &profile) {
            return exit::fail(&message);
        }
    }
    let printed = terminal::print(&if arguments.json {
        calibrate::json(&calibration)
    } else if arguments.csv {
        calibrate::csv(&calibration)
    } else {
        calibrate::table(&calibration)
    });
    if printed != Exit::Ok {
        printed
    } else if stop.load(Ordering::Relaxed) {
        Exit::Interrupted
    } else {
        Exit::Ok
    }
}

fn options(arguments: &CalibrateArgs) -> CalibrateOptions {
    let usual = CalibrateOptions::default();
    CalibrateOptions {
        paths: chosen(&arguments.over, usual.paths),
        protocols: chosen(&arguments.via, usual.protocols),
        waitings: chosen(&arguments.waiting, usual.waitings),
        sizes: chosen(&arguments.size, usual.sizes),
        samples: arguments.count,
        interval: arguments.interval,
        cores: arguments.cores,
        priority: arguments.priority,
        awake: arguments.awake,
    }
}

/// Returns the chosen values, or all if there are none.
fn chosen<T: Copy, U: From<T>>(named: &[T], all: Vec<U>) -> Vec<U> {
    if named.is_empty() {
        all
    } else {
        named.iter().map(|&one| one.into()).collect()
    }
}
