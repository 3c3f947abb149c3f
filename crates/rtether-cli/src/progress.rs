//! Progress bar on standard error, and Ctrl-C, during a run.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};
use std::thread::{self, Thread};
use std::time::Duration as WallDuration;

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rtether::adversary::{self, Effort};
use rtether::bound::Steps;
use rtether::design;
use rtether::run::Progress;

use crate::number;
use crate::stop::{Care, Work};
use crate::terminal;

/// Flags of verbs that run for a while.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    /// No progress on standard error (the default if it is not a terminal)
    #[arg(long)]
    pub(crate) no_progress: bool,
    /// Threads for replications, at most four per core; results do not depend on it [default: all
    /// cores]
    #[arg(short, long, value_name = "N", value_parser = number::threads)]
    pub(crate) jobs: Option<NonZeroUsize>,
}

/// Interval of progress updates.
const REFRESH: WallDuration = WallDuration::from_millis(100);

impl Pace {
    /// Returns the flags of a verb without `--jobs`.
    pub(crate) const fn shown(is_shown: bool) -> Self {
        Self { no_progress: !is_shown, jobs: None }
    }
}

/// Runs `work` on `--jobs` threads, shows progress, and ends it on Ctrl-C.
///
/// `simulated_ms` is the simulated time expected over all replications; zero if unknown. `care`
/// tells what the work leaves behind if it is ended at once.
pub(crate) fn with_progress<T: Send>(
    pace: Pace,
    simulated_ms: u64,
    care: Care,
    work: impl FnOnce(&Progress) -> T + Send,
) -> Result<T, String> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads(pace))
        .build()
        .map_err(|error| format!("starting threads: {error}"))?;
    let threads = pool.current_num_threads();
    let work = |progress: &Progress| pool.install(|| work(progress));
    Ok(with_bar(pace, simulated_ms, care, threads, work))
}

/// Like [`with_progress`], for `work` that needs one thread: this one. To start and end a pool would
/// cost more than a short simulation.
pub(crate) fn alone_with_progress<T>(
    pace: Pace,
    simulated_ms: u64,
    care: Care,
    work: impl FnOnce(&Progress) -> T,
) -> T {
    with_bar(pace, simulated_ms, care, 1, work)
}

fn with_bar<T>(
    pace: Pace,
    simulated_ms: u64,
    care: Care,
    threads: usize,
    work: impl FnOnce(&Progress) -> T,
) -> T {
    let progress = Arc::new(Progress::default());
    let asked = Arc::clone(&progress);
    let _work = Work::new(care, move || asked.cancel());
    let bar = bar(pace, simulated_ms);
    let show = || bar.set_position(milliseconds(&progress));
    let outcome = watched(show, || work(&progress));
    bar.finish_and_clear();
    terminal::detail(|| {
        let simulated = progress.simulated();
        format!("{simulated} simulated on {threads} threads")
    });
    outcome
}

/// Runs `work` on this thread, shows the steps done if it takes long, and ends it on Ctrl-C.
pub(crate) fn with_steps<T: Send>(pace: Pace, work: impl FnOnce(&Steps) -> T + Send) -> T {
    let steps = Arc::new(Steps::default());
    let asked = Arc::clone(&steps);
    let _work = Work::new(Care::None, move || asked.cancel());
    let bar = steps_bar(pace);
    let begun = Once::new();
    let show = || {
        let (done, total) = steps.position();
        if total > 0 {
            begun.call_once(|| terminal::detail(|| format!("{total} changes to try")));
        }
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    };
    let outcome = watched(show, || work(&steps));
    bar.finish_and_clear();
    outcome
}

/// Runs a search on `--jobs` threads, shows how far it is, and ends it on Ctrl-C, with what it has
/// found.
pub(crate) fn searching<T: Send>(
    pace: Pace,
    progress: &Arc<adversary::Progress>,
    work: impl FnOnce() -> T + Send,
) -> Result<T, String> {
    let asked = Arc::clone(progress);
    let shown = ("{spinner} searching  {msg}", || how_far(progress));
    on_threads(pace, move || asked.cancel(), shown, work)
}

/// The same for a design.
pub(crate) fn designing<T: Send>(
    pace: Pace,
    progress: &Arc<design::Progress>,
    work: impl FnOnce() -> T + Send,
) -> Result<T, String> {
    let asked = Arc::clone(progress);
    let shown = ("{spinner} {msg}  {elapsed}", || progress.words());
    on_threads(pace, move || asked.cancel(), shown, work)
}

fn on_threads<T: Send>(
    pace: Pace,
    cancel: impl Fn() + Send + 'static,
    (template, message): (&str, impl Fn() -> String + Sync),
    work: impl FnOnce() -> T + Send,
) -> Result<T, String> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads(pace))
        .build()
        .map_err(|error| format!("starting threads: {error}"))?;
    let _work = Work::new(Care::None, cancel);
    let bar = new_bar(pace, 0, template);
    let outcome = watched(|| bar.set_message(message()), || pool.install(work));
    bar.finish_and_clear();
    Ok(outcome)
}

/// Returns how far a search is: `4312 plants tried, 2 streams late, 23 s left`.
fn how_far(progress: &adversary::Progress) -> String {
    let elapsed = progress.elapsed();
    let left = match progress.effort() {
        Effort::Time(limit) => format!("{} s left", limit.saturating_sub(elapsed).as_secs()),
        Effort::Plants(plants) => format!("of {plants}, {} s", elapsed.as_secs()),
    };
    let (tried, late) = (progress.tried(), progress.late());
    format!("{tried} plants tried, {late} streams late, {left}")
}

/// Runs `work` and calls `show` from time to time until it is done.
pub(crate) fn watched<T>(show: impl Fn() + Sync, work: impl FnOnce() -> T) -> T {
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                thread::park_timeout(REFRESH);
                show();
            }
        });
        let _ends = EndOfWork { is_done: &is_done, watcher: watcher.thread().clone() };
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

pub(crate) fn new_bar(pace: Pace, length: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::new(length);
    bar.set_draw_target(if pace.no_progress {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    });
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

fn steps_bar(pace: Pace) -> ProgressBar {
    let template = "trying changes {wide_bar} {pos} of {len}  {eta} left";
    new_bar(pace, 0, template)
}

/// Returns the number of threads; zero for the number of cores. More than a few per core only cost
/// memory.
pub(crate) fn threads(pace: Pace) -> usize {
    const MOST_PER_CORE: usize = 4;
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    pace.jobs.map_or(0, |jobs| jobs.get().min(MOST_PER_CORE * cores))
}

fn milliseconds(progress: &Progress) -> u64 {
    u64::try_from(progress.simulated().as_ps() / 1_000_000_000).unwrap_or(0)
}

fn bar(pace: Pace, simulated_ms: u64) -> ProgressBar {
    let bar =
        if simulated_ms > 0 { ProgressBar::new(simulated_ms) } else { ProgressBar::new_spinner() };
    bar.set_draw_target(if pace.no_progress {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    });
    let template = if simulated_ms > 0 {
        "simulating {wide_bar} {percent:>3} %  {pos} of {len} ms  {eta} left"
    } else {
        "{spinner} {pos} ms simulated  {elapsed}"
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
