//! A running shim, from its set-up to its orderly end.
//!
//! ```text
//! lock ► state file ► control socket ► watchdog ► device ► rights given up ► thread of the shim
//! ```
//!
//! Each resource exists before the next one may need it for clean-up: the watchdog runs before the
//! device is touched. The calling thread answers requests; the shim's thread forwards frames.

use std::io::{self, PipeReader};
use std::os::fd::AsFd;
use std::process::Command;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rtether_live::link::{Device, DeviceError};
use rtether_live::privileges::{self, Right};
use rtether_live::process::{Interest, Signals, wait_for};
use rtether_live::shim::{Backend, Handle, ShimError, Status};

use super::backend::{self, Shim, prepare};
use super::config::{Config, Loaded};
use super::control::Listener;
use super::notify::{News, Notifier};
use super::output::{NOT_REAL_TIME, Report};
use super::runtime_files::{Lock, RuntimeFiles, RuntimeFilesError};
use super::state::State;
use super::watchdog::{RIGHTS, Watchdog};
use duty::Duty;

mod duty;

/// Highest real-time priority that a reload may request, as in the table of keys.
const PRIORITY_MAX: u8 = 80;
/// How long another process may hold the lock while it looks at it.
const BUSY: Duration = Duration::from_millis(100);
/// How often the presence of the device is checked.
const LOOK: Duration = Duration::from_secs(1);
/// Largest number of watchdogs started; if all are killed, that is taken as intended.
const WATCHDOGS_MAX: u32 = 5;
/// Parameters of a shim besides its configuration.
pub struct Options<'a> {
    /// Device, lock, state and control socket.
    pub place: RuntimeFiles,
    /// The configuration.
    pub config: Config,
    /// Name of the configuration.
    pub name: String,
    /// Reads the configuration again; the error says why it cannot be read.
    pub reload: &'a dyn Fn() -> Result<Loaded, String>,
    /// Command that calls [`super::watchdog::watch`] for the place.
    pub watchdog: &'a dyn Fn() -> Command,
    /// The service manager, and how often it expects a sign of life.
    pub manager: Option<(Notifier, Option<Duration>)>,
    /// Prints a line for the user.
    pub say: &'a dyn Fn(&str),
}

/// How a shim ended.
#[derive(Debug)]
pub struct Ended {
    /// Its last status.
    pub report: Report,
    /// Why it could not continue; `None` if it was asked to end.
    pub failure: Option<ShimError>,
}

/// Why a shim could not be set up, or the device not restored.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// Access to the place failed.
    #[error(transparent)]
    RuntimeFiles(#[from] RuntimeFilesError),
    /// The device has a shim already.
    #[error(
        "`{0}` has a shim already; `rtether shim status {0}` shows it, `rtether shim set {0}` \
         changes it, `rtether shim down {0}` ends it"
    )]
    Running(String),
    /// The back end or the device failed.
    #[error(transparent)]
    Shim(#[from] ShimError),
    /// A system call failed.
    #[error("{doing}: {source}")]
    System {
        /// What was attempted.
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

fn system(doing: &'static str) -> impl Fn(io::Error) -> ServiceError {
    move |source| ServiceError::System { doing, source }
}

/// Sets a shim up and runs it until Ctrl-C, SIGTERM or a request over its socket ends it. SIGHUP
/// makes it reload its configuration.
///
/// Needs a process of its own: it blocks signals and drops capabilities permanently.
///
/// # Errors
/// If the shim cannot be set up (the device is then as before), or the device cannot be restored at
/// the end (the watchdog then tries again).
pub fn run(options: &Options<'_>) -> Result<Ended, ServiceError> {
    let place = &options.place;
    let device = place.device();
    place.make()?;
    let lock = place.lock(BUSY)?;
    let lock = lock.ok_or_else(|| ServiceError::Running(device.to_owned()))?;
    let signals = Signals::hold().map_err(system("holding signals back"))?;
    let Config { backend, settings } = &options.config;
    if place.state().exists() {
        (options.say)(&format!("restoring `{device}` after a shim that died"));
        backend::restore(device)?;
    }
    prepare(device, *backend, settings)?;
    let presence = Presence::new(device)?;
    let mut guard = Guard::new(place, lock, options)?;
    let shim = match Shim::up(device, *backend, settings.clone()) {
        Ok(shim) => shim,
        Err(error) => {
            // The device is as it was.
            guard.release()?;
            return Err(error.into());
        }
    };
    give_up_rights(&options.config).map_err(system("giving up rights"))?;
    let worker = Worker::start(shim)?;
    let mut duty = Duty::new(options, worker.handle.clone());
    duty.tell(News::Ready);
    (options.say)(&format!("running, back end {}", backend.name()));
    if *backend == Backend::User && settings.priority.is_none() {
        (options.say)(NOT_REAL_TIME);
    }
    duty.tell_state();
    let served = serve(&mut duty, &signals, &worker, &presence, &mut guard);
    duty.tell(News::Stopping);
    let (failure, down) = worker.end();
    let missing = presence.look().err();
    if missing.is_none() {
        down?;
    }
    let report = duty.report();
    guard.release()?;
    served?;
    let failure = failure.or(missing);
    Ok(Ended { report, failure })
}

/// Drops the capabilities that are no longer needed.
fn give_up_rights(Config { backend, settings }: &Config) -> io::Result<()> {
    let mut rights = RIGHTS.to_vec();
    // A reload loads another filter program, and without this capability the verifier treats its
    // reads of a frame as leaks.
    if *backend == Backend::Kernel {
        rights.push(Right::Perfmon);
    }
    // Where limits cannot be raised, a real-time thread needs capabilities to remain one.
    if !privileges::allow_real_time(PRIORITY_MAX) && settings.priority.is_some() {
        rights.extend([Right::SysNice, Right::IpcLock]);
    }
    privileges::keep(&rights)
}

/// Answers requests until the shim is to end, or its thread has ended.
fn serve(
    duty: &mut Duty<'_>,
    signals: &Signals,
    worker: &Worker,
    presence: &Presence,
    guard: &mut Guard<'_>,
) -> Result<(), ServiceError> {
    let mut seen = Instant::now();
    while !duty.is_over() {
        let mut files = vec![signals.as_fd(), worker.end.as_fd()];
        files.extend(guard.watchdog.as_ref().map(AsFd::as_fd));
        let watched = files.len();
        let readable = files.into_iter().map(|file| (file, Interest::Readable));
        let clients = guard.listener.awaited();
        let files: Vec<_> = readable.chain(clients).collect();
        let pause = duty.pause();
        let pause = guard.listener.pause().map_or(pause, |due| due.min(pause));
        let ready = wait_for(&files, Some(pause)).map_err(system("waiting for events"))?;
        while let Some(signal) = signals.next().map_err(system("reading signals"))? {
            duty.obey(signal);
        }
        guard.listener.serve(|request| duty.answer(request));
        if ready[1] {
            return Ok(());
        }
        if watched > 2 && ready[2] {
            duty.watch(guard.watch_again());
        }
        if seen.elapsed() >= LOOK {
            seen = Instant::now();
            if presence.look().is_err() {
                return Ok(());
            }
        }
        duty.tell_alive();
    }
    Ok(())
}

/// A device that may be removed, or replaced by another one of the same name.
struct Presence {
    name: String,
    index: i32,
}

impl Presence {
    fn new(name: &str) -> Result<Self, ShimError> {
        let name = name.to_owned();
        let index = Device::named(&name)?.index();
        Ok(Self { name, index })
    }

    /// Returns an error if the device is no longer there.
    fn look(&self) -> Result<(), ShimError> {
        if Device::named(&self.name)?.index() == self.index {
            return Ok(());
        }
        let name = self.name.clone();
        Err(ShimError::Device(DeviceError::Unknown { name }))
    }
}

/// Resources to clean up once the device is restored.
struct Guard<'a> {
    place: &'a RuntimeFiles,
    listener: Listener,
    watchdog: Option<Watchdog>,
    watchdogs: u32,
    start: &'a dyn Fn() -> Command,
    _lock: Lock,
}

impl<'a> Guard<'a> {
    fn new(
        place: &'a RuntimeFiles,
        lock: Lock,
        options: &Options<'a>,
    ) -> Result<Self, ServiceError> {
        let state = State {
            pid: std::process::id(),
            device: place.device().to_owned(),
            backend: options.config.backend.name().to_owned(),
        };
        state.write(place).map_err(system("writing the state"))?;
        let listener = Listener::open(place).map_err(system("opening the control socket"))?;
        let watchdog = Watchdog::start((options.watchdog)());
        let watchdog = watchdog.map_err(system("starting the watchdog"))?;
        Ok(Self {
            place,
            listener,
            watchdog: Some(watchdog),
            watchdogs: 1,
            _lock: lock,
            start: options.watchdog,
        })
    }

    /// Restarts a watchdog that has ended; returns whether one is running.
    fn watch_again(&mut self) -> bool {
        if let Some(ended) = self.watchdog.take() {
            ended.end();
        }
        if self.watchdogs < WATCHDOGS_MAX {
            self.watchdogs += 1;
            self.watchdog = Watchdog::start((self.start)()).ok();
        }
        self.watchdog.is_some()
    }

    /// Removes the state: there is nothing left to restore.
    fn release(mut self) -> Result<(), ServiceError> {
        self.place.clear().map_err(system("removing the state"))?;
        if let Some(watchdog) = self.watchdog.take() {
            watchdog.end();
        }
        Ok(())
    }
}

/// The thread that forwards frames.
struct Worker {
    handle: Handle,
    /// Becomes readable when the thread has ended.
    end: PipeReader,
    thread: JoinHandle<(Shim, Result<(), ShimError>)>,
}

impl Worker {
    fn start(mut shim: Shim) -> Result<Self, ServiceError> {
        let handle = shim.handle();
        let (end, held) = io::pipe().map_err(system("opening a pipe"))?;
        let work = move || {
            let ended = shim.run();
            drop(held);
            (shim, ended)
        };
        let thread = std::thread::Builder::new().name("shim".to_owned());
        let thread = thread.spawn(work).map_err(system("starting a thread"))?;
        Ok(Self { handle, end, thread })
    }

    /// Ends the thread and restores the device. Returns why the thread ended by itself, if it did,
    /// and the result of restoring the device.
    fn end(self) -> (Option<ShimError>, Result<Status, ShimError>) {
        self.handle.stop();
        match self.thread.join() {
            Ok((shim, ended)) => (ended.err(), shim.down()),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}
