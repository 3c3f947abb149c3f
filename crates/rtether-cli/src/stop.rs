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
use std::time::Duration;

use crate::exit::{self, Exit};

/// Time for an orderly end: within a second, all told.
const GRACE: Duration = Duration::from_millis(600);

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
    work: Option<(Care, Box<dyn Fn() + Send>)>,
}

impl State {
    fn care(&self) -> Care {
        self.work.as_ref().map_or(Care::None, |(care, _)| *care)
    }
}

static STATE: Mutex<State> = Mutex::new(State {
    is_asked: false,
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

/// Ends what does not end by itself.
fn watch() {
    loop {
        thread::sleep(GRACE);
        let state = state();
        if state.care() == Care::None {
            leave();
        }
    }
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
