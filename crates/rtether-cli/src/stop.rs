//! Ctrl-C, SIGTERM and SIGHUP.
//!
//! A command listens from its beginning. A signal asks the work at hand to end with what it has;
//! what comes after that work (bounds, reports, printing) has nobody to ask. Whatever has not ended
//! [`GRACE`] later is ended, and drafts of files are removed. Work that has made something on this
//! host is waited for, since it must remove it.

use std::mem;
#[cfg(target_os = "linux")]
use std::ops::Deref;
#[cfg(target_os = "linux")]
use std::sync::Arc;
#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::exit::{self, Exit};

/// Time for an orderly end: within a second, all told. Where there are results to be shown, time in
/// which others had the cores does not count, so that a busy host does not cost them.
const GRACE: Duration = Duration::from_millis(750);
/// Not more than this is waited for cores.
const MOST_WAITED: Duration = Duration::from_secs(8);
/// Between two looks at the time.
const LOOK: Duration = Duration::from_millis(25);

/// What work leaves behind that is ended at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Care {
    /// Nothing but drafts of files.
    None,
    /// A test bed, which `rtether live` removes later, too: who asks twice is in a hurry.
    #[cfg(target_os = "linux")]
    Once,
    /// Something on this host that nothing else removes.
    #[cfg(target_os = "linux")]
    Always,
}

/// What a signal is to reach.
struct State {
    is_asked: bool,
    /// Whether some work was asked to end, and has results that are wanted.
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

/// Listens for signals from now on.
pub(crate) fn listen() -> Result<(), Exit> {
    ctrlc::set_handler(on_signal)
        .map_err(|error| exit::fail(&format!("listening for Ctrl-C: {error}")))
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
        #[cfg(target_os = "linux")]
        Care::Once => leave(),
        #[cfg(target_os = "linux")]
        Care::Always => {}
    }
}

/// Ends what does not end by itself. What comes after work that removed something has its own time.
fn watch() {
    let (mut begun, mut before) = (Instant::now(), waited_for_cores());
    loop {
        thread::sleep(LOOK);
        let state = state();
        if state.care() != Care::None {
            (begun, before) = (Instant::now(), waited_for_cores());
            continue;
        }
        let waited = if state.has_results {
            waited_for_cores().saturating_sub(before)
        } else {
            Duration::ZERO
        };
        if begun.elapsed() >= GRACE + waited.min(MOST_WAITED) {
            leave();
        }
    }
}

/// Returns how long the main thread was ready to run and did not get a core (Linux,
/// `/proc/PID/schedstat`); zero where nobody counts.
fn waited_for_cores() -> Duration {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let waited = text.split_whitespace().nth(1);
    let ns = waited.and_then(|ns| ns.parse().ok());
    Duration::from_nanos(ns.unwrap_or(0))
}

/// Ends the process; nobody can begin anything new meanwhile.
fn leave() -> ! {
    crate::drafts::abandon();
    #[allow(
        clippy::exit,
        reason = "nothing but memory is held, and drafts are gone"
    )]
    std::process::exit(130)
}

/// Work that a signal asks to end, until it is dropped.
pub(crate) struct Work(());

impl Work {
    /// Registers work; `ask` is called at every signal, also for one that came before.
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

/// What a signal sets, for work that looks at it.
#[cfg(target_os = "linux")]
pub(crate) struct Stop {
    flag: Arc<AtomicBool>,
    _work: Work,
}

#[cfg(target_os = "linux")]
impl Stop {
    pub(crate) fn new(care: Care) -> Self {
        let flag = Arc::new(AtomicBool::new(false));
        let on_signal = Arc::clone(&flag);
        let ask = move || on_signal.store(true, Ordering::Relaxed);
        Self {
            flag,
            _work: Work::new(care, ask),
        }
    }
}

#[cfg(target_os = "linux")]
impl Deref for Stop {
    type Target = AtomicBool;

    fn deref(&self) -> &AtomicBool {
        &self.flag
    }
}
