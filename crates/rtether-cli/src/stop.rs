//! Ctrl-C, SIGTERM and SIGHUP.
//!
//! A command handles signals from its start. A signal asks the current work to end with the results
//! it has; later steps (bounds, reports, printing) cannot be asked. What has not ended [`GRACE`]
//! later is ended by exit, and drafts of files are removed. Work that has created something on this
//! host is waited for, since it must remove it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::mem;
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
    fn care(&self) -> Care {
        self.work.as_ref().map_or(Care::None, |(care, _)| *care)
    }
}

static STATE: Mutex<State> = Mutex::new(State {
    is_asked: false,
    has_results: false,
    work: None,
});

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Handles signals from now on.
pub(crate) fn listen() -> Result<(), Exit> {
    ctrlc::set_handler(on_signal)
        .map_err(|error| terminal::fail(&format!("listening for Ctrl-C: {error}")))
}

fn on_signal() {
    let mut state = state();
    let is_first = !mem::replace(&mut state.is_asked, true);
    if let Some((_, ask)) = &state.work {
        ask();
        state.has_results = true;
    }
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
        let waited = if state.has_results {
            waits.total
        } else {
            Duration::ZERO
        };
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
    #[allow(
        clippy::exit,
        reason = "nothing but memory is held, and drafts are gone"
    )]
    std::process::exit(130)
}

/// Work that a signal asks to end, until this is dropped.
pub(crate) struct Work(());

impl Work {
    /// Registers work; `ask` is called at every signal, including an earlier one.
    pub(crate) fn new(care: Care, ask: impl Fn() + Send + 'static) -> Self {
        let mut state = state();
        if state.is_asked {
            ask();
            state.has_results = true;
        }
        state.work = Some((care, Box::new(ask)));
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
    use super::*;

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
