//! Ctrl-C, SIGTERM and SIGHUP.
//!
//! A command handles signals from its start, before it has read its arguments. A signal asks the
//! current work (runs, bounds, searches) to end with the results it has; what shows them cannot be
//! asked. What has not ended [`GRACE`] later is ended by exit, and drafts of files are removed. Work
//! that has created something on this host is waited for, since it must remove it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::exit::Exit;
use crate::terminal;

/// Time for an orderly end: within a second in total. If there are results to be shown, time spent
/// waiting for cores does not count, so that they are not lost on a busy host.
const GRACE: Duration = Duration::from_millis(750);
/// Most waiting for cores that is granted.
const MOST_WAITED: Duration = Duration::from_secs(8);
/// Polling interval.
const LOOK: Duration = Duration::from_millis(25);

/// What work leaves behind if it is ended at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Care {
    /// Nothing but drafts of files.
    None,
    /// A test bed, which `rtether live` removes later, too: a second signal ends it at once.
    Once,
    /// Something on this host that is not removed otherwise.
    Always,
}

/// Target of a signal.
struct State {
    is_asked: bool,
    /// Whether work was asked to end that has results to show.
    has_results: bool,
    work: Option<(Care, Box<dyn Fn() + Send>)>,
}

impl State {
    /// Asks the work to end that there is; returns whether this is the first signal.
    fn ask(&mut self) -> bool {
        let is_first = !mem::replace(&mut self.is_asked, true);
        if let Some((_, ask)) = &self.work {
            ask();
            self.has_results = true;
        }
        is_first
    }

    /// Begins work. If a signal came before, it has nothing to show that is worth a wait for cores:
    /// steps that cannot be asked, such as bounds of many flows, would only follow.
    fn begin(&mut self, care: Care, ask: Box<dyn Fn() + Send>) {
        if self.is_asked {
            ask();
        }
        self.work = Some((care, ask));
    }

    fn care(&self) -> Care {
        self.work.as_ref().map_or(Care::None, |(care, _)| *care)
    }
}

static STATE: Mutex<State> = Mutex::new(State { is_asked: false, has_results: false, work: None });

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Handles signals from now on; has no effect if it does already.
pub(crate) fn listen() -> Result<(), Exit> {
    static IS_LISTENING: AtomicBool = AtomicBool::new(false);
    if IS_LISTENING.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    ctrlc::set_handler(on_signal)
        .map_err(|error| terminal::fail(&format!("listening for Ctrl-C: {error}")))
}

fn on_signal() {
    let mut state = state();
    let is_first = state.ask();
    let is_watched = !is_first || thread::Builder::new().spawn(watch).is_ok();
    if is_first && is_watched {
        return;
    }
    match state.care() {
        Care::None => leave(),
        Care::Once => leave(),
        Care::Always => {}
    }
}

/// Ends the process if it does not end in time. The time starts again after work that had to clean
/// up.
fn watch() {
    let mut begun = Instant::now();
    let mut waits = Waits::default();
    waits.note(of_threads());
    loop {
        thread::sleep(LOOK);
        let state = state();
        if state.care() != Care::None {
            begun = Instant::now();
            waits.total = Duration::ZERO;
        }
        waits.note(of_threads());
        let waited = if state.has_results { waits.total } else { Duration::ZERO };
        if begun.elapsed() >= GRACE + waited.min(MOST_WAITED) {
            leave();
        }
    }
}

/// How long the process was ready to run but got no core. Of threads that wait side by side the
/// one that waits longest counts.
#[derive(Debug, Default)]
struct Waits {
    /// Of each thread, when last looked at.
    before: BTreeMap<OsString, Duration>,
    total: Duration,
}

impl Waits {
    /// Adds what threads have waited since the last look.
    fn note(&mut self, threads: BTreeMap<OsString, Duration>) {
        let more = threads.iter().filter_map(|(thread, waited)| {
            let before = self.before.get(thread)?;
            Some(waited.saturating_sub(*before))
        });
        self.total += more.max().unwrap_or_default();
        self.before = threads;
    }
}

/// Returns how long each thread was ready to run but got no core (Linux,
/// `/proc/PID/task/TID/schedstat`); empty if this is not counted.
fn of_threads() -> BTreeMap<OsString, Duration> {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    let waited = threads.flatten().filter_map(|thread| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        let ns = text.split_whitespace().nth(1)?.parse().ok()?;
        Some((thread.file_name(), Duration::from_nanos(ns)))
    });
    waited.collect()
}

/// Ends the process; no draft can be opened meanwhile.
fn leave() -> ! {
    crate::drafts::abandon();
    #[allow(clippy::exit, reason = "nothing but memory is held, and drafts are gone")]
    std::process::exit(130)
}

/// Work that a signal asks to end, until this is dropped.
pub(crate) struct Work(());

impl Work {
    /// Registers work; `ask` is called at every signal, including an earlier one.
    pub(crate) fn new(care: Care, ask: impl Fn() + Send + 'static) -> Self {
        state().begin(care, Box::new(ask));
        Self(())
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        state().work = None;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// Oracle: a `check` of 20 000 flows that was asked to end while it read its file computed all
    /// bounds for up to 8 s on a busy host.
    #[test]
    fn work_that_begins_after_the_signal_has_no_results() {
        let none = || State { is_asked: false, has_results: false, work: None };
        let count = Arc::new(AtomicUsize::new(0));
        let asks = || {
            let count = Arc::clone(&count);
            Box::new(move || {
                count.fetch_add(1, Ordering::Relaxed);
            })
        };
        let mut state = none();
        assert!(state.ask());
        state.begin(Care::None, asks());
        assert_eq!((state.has_results, count.load(Ordering::Relaxed)), (false, 1));
        let mut state = none();
        state.begin(Care::None, asks());
        assert!(state.ask() && !state.ask());
        assert_eq!((state.has_results, count.load(Ordering::Relaxed)), (true, 3));
    }

    #[test]
    fn the_longest_wait_of_each_look_counts() {
        // By hand: a worker waits 20 ms, then it and the main thread 25 ms side by side. A thread
        // that is new has no earlier value.
        let look = |threads: &[(&str, u64)]| {
            let threads = threads.iter();
            let of = |(name, ms): &(&str, u64)| (OsString::from(name), Duration::from_millis(*ms));
            threads.map(of).collect()
        };
        let mut waits = Waits::default();
        waits.note(look(&[("main", 5), ("worker", 300)]));
        assert_eq!(waits.total, Duration::ZERO);
        waits.note(look(&[("main", 5), ("worker", 320)]));
        waits.note(look(&[("main", 30), ("worker", 345), ("new", 700)]));
        assert_eq!(waits.total, Duration::from_millis(45));
    }
}
