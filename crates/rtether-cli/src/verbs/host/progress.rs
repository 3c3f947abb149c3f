//! Progress of a test bed.

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use indicatif::ProgressStyle;
use rtether_testbed::testbed;

use crate::progress::{Pace, new_bar, watched};
use crate::stop::{Care, Work};
use crate::terminal;

/// Runs a test bed, shows progress, and ends it on Ctrl-C.
pub(crate) fn with_testbed<T: Send>(
    pace: Pace,
    commands: usize,
    seconds: u64,
    work: impl FnOnce(&testbed::Progress) -> T + Send,
) -> T {
    let progress = Arc::new(testbed::Progress::default());
    let asked = Arc::clone(&progress);
    let cancel = move || asked.stop.store(true, Ordering::Relaxed);
    let _work = Work::new(Care::Once, cancel);
    terminal::detail(|| format!("setting up: {commands} commands"));
    let bar = new_bar(pace, commands as u64, "setting up {wide_bar} {pos} of {len} commands");
    let running: OnceLock<Instant> = OnceLock::new();
    let show = || {
        if !progress.is_running.load(Ordering::Relaxed) {
            bar.set_position(progress.commands.load(Ordering::Relaxed) as u64);
            return;
        }
        let begun = running.get_or_init(|| {
            let template = "measuring {wide_bar} {pos} of {len} s";
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar.set_length(seconds);
            terminal::detail(|| format!("measuring for {seconds} s"));
            Instant::now()
        });
        bar.set_position(begun.elapsed().as_secs());
    };
    let outcome = watched(show, || work(&progress));
    bar.finish_and_clear();
    terminal::detail(|| "the test bed is gone".to_owned());
    outcome
}
