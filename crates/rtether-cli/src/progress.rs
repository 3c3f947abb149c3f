//! A bar on standard error while a run goes on, and Ctrl-C.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration as WallDuration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rtether::run::Progress;

use crate::args::Global;

/// Milliseconds between two looks at the progress.
const REFRESH: WallDuration = WallDuration::from_millis(100);

/// Runs `work` on `--jobs` threads, shows how far it is, and ends it on Ctrl-C.
///
/// `simulated_ms` is the simulated time expected over all replications; zero if unknown.
pub(crate) fn with_progress<T: Send>(
    global: &Global,
    simulated_ms: u64,
    work: impl FnOnce(&Progress) -> T + Send,
) -> Result<T, String> {
    let progress = Arc::new(Progress::default());
    let on_signal = Arc::clone(&progress);
    ctrlc::set_handler(move || {
        if on_signal.is_cancelled() {
            // The second time means now.
            crate::drafts::abandon();
            #[allow(
                clippy::exit,
                reason = "nothing but memory is held, and drafts are gone"
            )]
            std::process::exit(130);
        }
        on_signal.cancel();
    })
    .map_err(|error| format!("listening for Ctrl-C: {error}"))?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads(global))
        .build()
        .map_err(|error| format!("starting threads: {error}"))?;
    let bar = bar(global, simulated_ms);
    let is_done = AtomicBool::new(false);
    let outcome = thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                bar.set_position(milliseconds(&progress));
                thread::park_timeout(REFRESH);
            }
        });
        let outcome = pool.install(|| work(&progress));
        is_done.store(true, Ordering::Relaxed);
        watcher.thread().unpark();
        outcome
    });
    bar.finish_and_clear();
    Ok(outcome)
}

/// Returns the number of threads; zero for as many as there are cores. More than a few for each core
/// only cost memory.
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
