//! A shim at work, from its set-up to its orderly end.
//!
//! ```text
//! lock ► state file ► control socket ► watchdog ► device ► rights given up ► thread of the shim
//! ```
//!
//! Whatever is made is there before what needs it to be cleaned up: the watchdog is at work before
//! the device is touched. The calling thread answers, the thread of the shim forwards.

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
use super::place::{Lock, Place, PlaceError};
use super::state::State;
use super::watchdog::Watchdog;
use duty::Duty;

mod duty;

/// Rights that every shim keeps: to move frames, and to leave the device as it was.
pub const RIGHTS: [Right; 3] = [Right::NetAdmin, Right::NetRaw, Right::Bpf];
/// Highest real-time priority that a reload may ask for, as in the table of keys.
const PRIORITY_MAX: u8 = 80;
/// How long another process may look at the lock.
const BUSY: Duration = Duration::from_millis(100);
/// How often it is looked whether the device is still there.
const LOOK: Duration = Duration::from_secs(1);
/// Watchdogs that are started again; a program that kills each of them has its reasons.
const WATCHDOGS_MAX: u32 = 5;
/// What a shim is told besides its configuration.
pub struct Options<'a> {
    /// Device, lock, state and control socket.
    pub place: Place,
    /// What to do.
    pub config: Config,
    /// What to call the configuration.
    pub name: String,
    /// Reads the configuration again; an error says why it cannot be read.
    pub reload: &'a dyn Fn() -> Result<Loaded, String>,
    /// The program that calls [`super::watchdog::watch`] for the place.
    pub watchdog: &'a dyn Fn() -> Command,
    /// The system's manager of services, and how often it wants to hear of the shim.
    pub manager: Option<(Notifier, Option<Duration>)>,
    /// Takes lines for people.
    pub say: &'a dyn Fn(&str),
}

/// How a shim ended.
#[derive(Debug)]
pub struct Ended {
    /// Its last status.
    pub report: Report,
    /// Why it could not go on; nothing if somebody wanted it to end.
    pub failure: Option<ShimError>,
}

/// Why there is no shim, or why the device is not restored.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The place.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// There is one.
    #[error(
        "`{0}` has a shim already; `rtether shim status {0}` shows it, `rtether shim set {0}` \
         changes it, `rtether shim down {0}` ends it"
    )]
    Running(String),
    /// The back end, or the device.
    #[error(transparent)]
    Shim(#[from] ShimError),
    /// The system does not let it.
    #[error("{doing}: {source}")]
    System {
        /// What was tried.
        doing: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

fn system(doing: &'static str) -> impl Fn(io::Error) -> ServiceError {
    move |source| ServiceError::System { doing, source }
}

/// Sets a shim up and runs it until it is told to end: by Ctrl-C, by SIGTERM or over its socket.
/// SIGHUP makes it read its configuration again.
///
/// For a process of its own: signals are held back, and rights given up, for good.
///
/// # Errors
/// If it cannot be set up; then the device is as it was. If the device cannot be restored at the
/// end; then the watchdog tries again.
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
    (options.say)(&format!("at work, back end {}", backend.name()));
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

/// Gives up what is not needed any more.
fn give_up_rights(Config { backend, settings }: &Config) -> io::Result<()> {
    let mut rights = RIGHTS.to_vec();
    // Other rules are another filter, whose reads of a frame the kernel takes for leaks otherwise.
    if *backend == Backend::Kernel {
        rights.push(Right::Perfmon);
    }
    // Where limits cannot be raised, a real-time thread needs rights to stay one.
    if !privileges::allow_real_time(PRIORITY_MAX) && settings.priority.is_some() {
        rights.extend([Right::SysNice, Right::IpcLock]);
    }
    privileges::keep(&rights)
}

/// Answers until the shim is to end, or its thread has ended.
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

/// A device that may be removed, or give way to another one of its name.
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

/// What is cleaned up when the device is as it was.
struct Guard<'a> {
    place: &'a Place,
    listener: Listener,
    watchdog: Option<Watchdog>,
    watchdogs: u32,
    start: &'a dyn Fn() -> Command,
    _lock: Lock,
}

impl<'a> Guard<'a> {
    fn new(place: &'a Place, lock: Lock, options: &Options<'a>) -> Result<Self, ServiceError> {
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

    /// Starts a watchdog again that has ended; returns whether there is one.
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

    /// Forgets the state: there is nothing left to restore.
    fn release(mut self) -> Result<(), ServiceError> {
        self.place.clear().map_err(system("removing the state"))?;
        if let Some(watchdog) = self.watchdog.take() {
            watchdog.end();
        }
        Ok(())
    }
}

/// The thread that forwards.
struct Worker {
    handle: Handle,
    /// Can be read when the thread has ended.
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
        Ok(Self {
            handle,
            end,
            thread,
        })
    }

    /// Ends it and restores the device. Returns why it ended by itself, and whether the device is as
    /// it was.
    fn end(self) -> (Option<ShimError>, Result<Status, ShimError>) {
        self.handle.stop();
        match self.thread.join() {
            Ok((shim, ended)) => (ended.err(), shim.down()),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}
