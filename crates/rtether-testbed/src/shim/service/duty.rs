//! What the calling thread does while the shim forwards: it answers requests and reports the state.

use std::time::{Duration, Instant};

use rtether::report::format::Render;
use rtether::report::table::Screen;
use rtether_live::process::Signal;
use rtether_live::shim::{Backend, Handle, Settings, ShimError, placement};

use super::Options;
use crate::shim::config::{self, Config, Loaded};
use crate::shim::control::{Answer, Form, Request, Wrong};
use crate::shim::notify::News;
use crate::shim::output::{self, Report};
use rtether::characters::is_unseen;
use rtether::scenario::render::Style;

/// Interval of the loop when there is nothing to do.
const IDLE: Duration = Duration::from_secs(1);

/// A thread that has not published its status for this long is stuck; it normally does so every 0.1
/// s.
const STALE: Duration = Duration::from_secs(1);

/// Time limit for applying a new configuration on a busy machine; shorter than that of the client
/// that requests it.
const SET_PATIENCE: Duration = Duration::from_secs(3);

/// State of a running shim in its own process.
pub(super) struct Duty<'a> {
    options: &'a Options<'a>,
    handle: Handle,
    backend: Backend,
    settings: Settings,
    /// Name of the configuration in force.
    name: String,
    begun: Instant,
    /// The thread's publication count, and when it last changed.
    published: (u64, Instant),
    reloads: (u64, u64),
    is_watched: bool,
    is_over: bool,
}

impl<'a> Duty<'a> {
    /// Starts with the configuration of the options.
    pub(super) fn new(options: &'a Options<'a>, handle: Handle) -> Self {
        Self {
            options,
            handle,
            backend: options.config.backend,
            settings: options.config.settings.clone(),
            name: printable(&options.name),
            begun: Instant::now(),
            published: (0, Instant::now()),
            reloads: (0, 0),
            is_watched: true,
            is_over: false,
        }
    }

    /// Returns whether the shim has been asked to end.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns the longest time between two notifications.
    pub(super) fn pause(&self) -> Duration {
        let manager = self.options.manager.as_ref();
        let interval = manager.and_then(|(_, interval)| *interval);
        interval.map_or(IDLE, |interval| interval.min(IDLE))
    }

    /// Notifies the service manager, if there is one; failures are ignored.
    pub(super) fn tell(&self, news: News<'_>) {
        if let Some((notifier, _)) = &self.options.manager {
            drop(notifier.tell(news));
        }
    }

    /// Notifies it of the configuration in force.
    pub(super) fn tell_state(&self) {
        let (taken, refused) = self.reloads;
        let line = format!(
            "back end {}, {}, {taken} reloads, {refused} refused",
            self.backend.name(),
            self.settings.rate
        );
        self.tell(News::Status(&line));
    }

    /// Notifies it that the shim is alive, unless its thread is stuck.
    pub(super) fn tell_alive(&mut self) {
        let published = self.handle.published();
        if published != self.published.0 {
            self.published = (published, Instant::now());
        }
        if self.published.1.elapsed() < STALE {
            self.tell(News::Alive);
        }
    }

    pub(super) fn watch(&mut self, is_watched: bool) {
        let event = if is_watched {
            "the watchdog ended and was restarted"
        } else {
            "the watchdog has ended: `rtether shim down` is needed if the shim dies"
        };
        (self.options.say)(event);
        self.is_watched = is_watched;
    }

    /// Carries out a signal's request.
    pub(super) fn obey(&mut self, signal: Signal) {
        match signal {
            Signal::Interrupt | Signal::Terminate => self.is_over = true,
            Signal::HangUp => {
                let read = (self.options.reload)().map_err(Wrong::input);
                let done =
                    match read.and_then(|loaded| self.set(&self.options.name.clone(), loaded)) {
                        Ok(()) => "the configuration was read again".to_owned(),
                        Err(wrong) => format!("the configuration stays as it was: {wrong}"),
                    };
                (self.options.say)(&done);
            }
        }
    }

    /// Carries out a request from the socket.
    pub(super) fn answer(&mut self, request: Request) -> Answer {
        match request {
            Request::Status(form) => {
                let report = self.report();
                Ok(match form {
                    Form::Result(format) => report.render(format, Screen::default()),
                    Form::Metrics => output::metrics(&report),
                })
            }
            Request::Set { name, text } => {
                let name = printable(&name);
                self.set(&name, config::load(&name, &text))?;
                let done = format!("`{name}` is in force");
                (self.options.say)(&done);
                Ok(format!("{done}\n"))
            }
            Request::Stop => {
                self.is_over = true;
                Ok("ending\n".to_owned())
            }
        }
    }

    /// Returns the current report.
    pub(super) fn report(&self) -> Report {
        let smoother = self.settings.layer.smoother.as_ref();
        Report {
            device: self.options.place.device().to_owned(),
            pid: std::process::id(),
            config: self.name.clone(),
            rate: self.settings.rate,
            detector: smoother.map(|smoothing| smoothing.detector),
            up: self.begun.elapsed(),
            reloads: self.reloads,
            is_watched: self.is_watched,
            status: self.handle.status(),
        }
    }

    /// Applies another configuration, or leaves everything unchanged.
    fn set(&mut self, name: &str, loaded: Loaded) -> Result<(), Wrong> {
        let done = match self.try_set(loaded) {
            Ok(settings) => {
                self.settings = settings;
                name.clone_into(&mut self.name);
                self.reloads.0 += 1;
                Ok(())
            }
            Err(wrong) => {
                self.reloads.1 += 1;
                Err(wrong)
            }
        };
        self.tell_state();
        done
    }

    fn try_set(&self, mut loaded: Loaded) -> Result<Settings, Wrong> {
        let Some(Config { backend, settings }) = loaded.config.clone() else {
            return Err(Wrong::input(loaded.text(Style::Plain)));
        };
        if backend != self.backend {
            loaded.refuse_backend();
            return Err(Wrong::input(loaded.text(Style::Plain)));
        }
        self.try_placement(&settings)?;
        let published = self.handle.published();
        match self.handle.set(settings.clone()) {
            Ok(()) => self.await_set(published).map(|()| settings),
            Err(ShimError::Refused(refusal)) => {
                loaded.refuse(refusal.backend, refusal.option, refusal.reason);
                Err(Wrong::input(loaded.text(Style::Plain)))
            }
            Err(error) => Err(Wrong::input(error.to_string())),
        }
    }

    /// Waits until the shim's thread has published its status twice, so that the settings are in
    /// force.
    fn await_set(&self, published: u64) -> Result<(), Wrong> {
        let begun = Instant::now();
        while self.handle.published() < published + 2 {
            if begun.elapsed() > SET_PATIENCE {
                return Err(Wrong::machine("the shim's thread is stuck"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Tries a new placement in another thread first, since a failure would end the shim's thread.
    fn try_placement(&self, settings: &Settings) -> Result<(), Wrong> {
        let wanted = placement(settings);
        let present = placement(&self.settings);
        if wanted == present {
            return Ok(());
        }
        for (key, was, is) in [
            ("core", present.core.is_some(), wanted.core.is_some()),
            ("priority", present.priority.is_some(), wanted.priority.is_some()),
        ] {
            if was && !is {
                let message = format!(
                    "`{key}` can be another one while the shim is at work, and not none; take it \
                     down and up again"
                );
                return Err(Wrong::input(message));
            }
        }
        let tried = std::thread::spawn(move || wanted.apply()).join();
        match tried {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(Wrong::machine(error.to_string())),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// Returns a name without control characters, truncated to 200 characters.
fn printable(name: &str) -> String {
    let chars = name.chars().filter(|c| !is_unseen(*c));
    chars.take(200).collect()
}
