//! Progress bar on standard error, and Ctrl-C, during a run.

use std::num::NonZeroUsize;
use std::sync::Arc;
#[cfg(target_os = "linux")]
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::Duration as WallDuration;
#[cfg(target_os = "linux")]
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rtether::bound::Steps;
use rtether::run::Progress;
#[cfg(target_os = "linux")]
use rtether_testbed::testbed;

use crate::args::Global;
use crate::stop::{Care, Work};

/// Interval of progress updates.
const REFRESH: WallDuration = WallDuration::from_millis(100);

/// Runs `work` on `--jobs` threads, shows progress, and ends it on Ctrl-C.
///
/// `simulated_ms` is the simulated time expected over all replications; zero if unknown. `care`
/// tells what the work leaves behind if it is ended at once.
pub(crate) fn with_progress<T: Send>(
    global: &Global,
    simulated_ms: u64,
    care: Care,
    work: impl FnOnce(&Progress) -> T + Send,
) -> Result<T, String> {
    let progress = Arc::new(Progress::default());
    let asked = Arc::clone(&progress);
    let _work = Work::new(care, move || asked.cancel());
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads(global))
        .build()
        .map_err(|error| format!("starting threads: {error}"))?;
    let bar = bar(global, simulated_ms);
    let show = || bar.set_position(milliseconds(&progress));
    let outcome = watched(show, || pool.install(|| work(&progress)));
    bar.finish_and_clear();
    Ok(outcome)
}

/// Runs `work` on this thread, shows the steps done if it takes long, and ends it on Ctrl-C.
pub(crate) fn with_steps<T: Send>(global: &Global, work: impl FnOnce(&Steps) -> T + Send) -> T {
    let steps = Arc::new(Steps::default());
    let asked = Arc::clone(&steps);
    let _work = Work::new(Care::None, move || asked.cancel());
    let bar = steps_bar(global);
    let show = || {
        let (done, total) = steps.position();
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    };
    let outcome = watched(show, || work(&steps));
    bar.finish_and_clear();
    outcome
}

/// Runs `work` and calls `show` from time to time until it is done.
fn watched<T>(show: impl Fn() + Sync, work: impl FnOnce() -> T) -> T {
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                thread::park_timeout(REFRESH);
                show();
            }
        });
        let _ends = EndOfWork {
            is_done: &is_done,
            watcher: watcher.thread().clone(),
        };
        work()
    })
}

/// Releases the watcher when work ends, also by a panic: the scope waits for it.
struct EndOfWork<'a> {
    is_done: &'a AtomicBool,
    watcher: Thread,
}

impl Drop for EndOfWork<'_> {
    fn drop(&mut self) {
        self.is_done.store(true, Ordering::Relaxed);
        self.watcher.unpark();
    }
}

/// Runs a test bed, shows progress, and ends it on Ctrl-C.
#[cfg(target_os = "linux")]
pub(crate) fn with_testbed<T: Send>(
    global: &Global,
    commands: usize,
    seconds: u64,
    work: impl FnOnce(&testbed::Progress) -> T + Send,
) -> T {
    let progress = Arc::new(testbed::Progress::default());
    let asked = Arc::clone(&progress);
    let cancel = move || asked.stop.store(true, Ordering::Relaxed);
    let _work = Work::new(Care::Once, cancel);
    let bar = new_bar(
        global,
        commands as u64,
        "setting up {wide_bar} {pos} of {len} commands",
    );
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
            Instant::now()
        });
        bar.set_position(begun.elapsed().as_secs());
    };
    let outcome = watched(show, || work(&progress));
    bar.finish_and_clear();
    outcome
}

fn new_bar(global: &Global, length: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::new(length);
    bar.set_draw_target(if global.no_progress {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    });
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

fn steps_bar(global: &Global) -> ProgressBar {
    let template = "trying changes {wide_bar} {pos} of {len}  {eta} left";
    new_bar(global, 0, template)
}

/// Returns the number of threads; zero for the number of cores. More than a few per core only cost
/// memory.
fn threads(global: &Global) -> usize {
    const MOST_PER_CORE: usize = 4;
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    global
        .jobs
        .map_or(0, |jobs| jobs.get().min(MOST_PER_CORE * cores))
}

fn milliseconds(progress: &Progress) -> u64 {
    u64::try_from(progress.simulated().as_ps() / 1_000_000_000).unwrap_or(0)
}

fn bar(global: &Global, simulated_ms: u64) -> ProgressBar {
    let bar = if simulated_ms > 0 {
        ProgressBar::new(simulated_ms)
    } else {
        ProgressBar::new_spinner()
    };
    bar.set_draw_target(if global.no_progress {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    });
    let template = if simulated_ms > 0 {
        "simulating {wide_bar} {percent:>3} %  {pos} of {len} ms  {eta} left"
    } else {
        "{spinner} simulating  {pos} ms of plant time  {elapsed}"
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_panic_comes_through() {
        // Oracle: the panic itself, sooner than a watcher left running would return.
        let (ended, end) = mpsc::channel();
        thread::spawn(move || {
            let caught = catch_unwind(AssertUnwindSafe(|| {
                watched(|| (), || panic!("on purpose"));
            }));
            ended.send(caught.is_err()).expect("the test waits");
        });
        let outcome = end.recv_timeout(WallDuration::from_mins(1));
        assert_eq!(outcome, Ok(true), "the watcher waits for ever");
        assert_eq!(watched(|| (), || 7), 7);
    }
}
