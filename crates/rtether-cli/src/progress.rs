//! A bar on standard error while a run goes on, and Ctrl-C.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
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
            #[allow(clippy::exit, reason = "nothing but memory is held")]
            std::process::exit(130);
        }
        on_signal.cancel();
    })
    .map_err(|error| format!("listening for Ctrl-C: {error}"))?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(global.jobs.unwrap_or(0))
        .build()
        .map_err(|error| format!("starting threads: {error}"))?;
    let bar = bar(global, simulated_ms);
    let outcome = watched(
        || bar.set_position(milliseconds(&progress)),
        || pool.install(|| work(&progress)),
    );
    bar.finish_and_clear();
    Ok(outcome)
}

/// Does some work while another thread looks at it again and again.
fn watched<T>(look: impl Fn() + Send + Sync, work: impl FnOnce() -> T) -> T {
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                look();
                thread::park_timeout(REFRESH);
            }
        });
        let _ends = EndOfWork {
            is_done: &is_done,
            watcher: watcher.thread().clone(),
        };
        work()
    })
}

/// Lets the watcher go when work ends, also by a panic: the scope waits for it.
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
        // Oracle: the panic itself, within a time in which a watcher that is left would still wait.
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
