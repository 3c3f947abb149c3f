//! Application interface modeled on the skeletons of Dolejs et al. (D4, R137 to R147): publications
//! with a send callback and a period, and subscriptions with a callback, immediate or pulled.
//!
//! Sans-IO like the whole crate: the host calls [`Application::dispatch`] after it has passed a
//! datagram or time to the [`Participant`], and at [`Application::poll_timeout`]. Callbacks run
//! only there, in the thread of the host. Each gets a [`Context`], with which it may send, create
//! and drop endpoints. A callback must not block, since all others wait for it.
//!
//! ```
//! use rtether_rtps::application::{Application, Notice, SubscriptionOptions};
//! use rtether_rtps::engine::{Config, Participant};
//! use rtether_rtps::guid::GuidPrefix;
//! use rtether_rtps::time::Instant;
//! use rtether_rtps::types::Ping;
//!
//! let now = Instant::ZERO;
//! let mut participant = Participant::new(Config::new(GuidPrefix([1; 12]), 0, [7; 16]), now);
//! let mut application = Application::new();
//! let mut context = application.context(&mut participant, now);
//! let options = SubscriptionOptions::default();
//! let subscription = context.subscribe::<Ping>("ping", &options, |_, notice| {
//!     if let Notice::Sample(received) = notice {
//!         assert!(received.value.is_some());
//!     }
//! })?;
//! application.dispatch(&mut participant, now);
//! drop(subscription); // its reader is removed
//! application.dispatch(&mut participant, now);
//! # Ok::<(), rtether_rtps::application::NoRoom>(())
//! ```

mod context;
mod create;
mod dispatch;
mod handle;
mod notice;
mod options;
mod sending;
mod slots;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;

pub use context::Context;
pub use create::PatternOptions;
pub use handle::{Handle, PublicationHandle, SubscriptionHandle};
pub use notice::{
    ApplicationCounters, Notice, PublicationCounters, PublicationNotice, RawSample, Untyped,
    Verdict,
};
pub use options::{Mode, PublicationOptions, SubscriptionOptions};

use crate::engine::{Event, Participant, ReaderId, Sighting, WriterId};
use crate::time::Instant;
use slots::{PublicationSlot, SubscriptionSlot};

/// The limit of endpoints is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no room for another endpoint; the limit is `endpoints_max` of the participant")]
pub struct NoRoom;

type Observer = Box<dyn FnMut(&mut Context<'_>, &Sighting) -> Verdict + Send>;
type OnEvent = Box<dyn FnMut(&mut Context<'_>, &Event) + Send>;

/// Publications, subscriptions and callbacks of an application.
#[derive(Default)]
pub struct Application {
    publications: BTreeMap<u32, PublicationSlot>,
    subscriptions: BTreeMap<u32, SubscriptionSlot>,
    writers: BTreeMap<WriterId, u32>,
    readers: BTreeMap<ReaderId, u32>,
    /// Number of the next publication or subscription; never reused.
    next: u32,
    /// `None` during its call.
    observer: Option<Observer>,
    on_event: Option<OnEvent>,
    counters: ApplicationCounters,
    /// Whether notifications are left for the next call.
    is_pending: bool,
}

impl Application {
    /// Returns an application without endpoints.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns access to the application, to create endpoints and to send.
    pub fn context<'a>(
        &'a mut self,
        participant: &'a mut Participant,
        now: Instant,
    ) -> Context<'a> {
        Context::new(self, participant, now)
    }

    /// Returns the counters.
    pub fn counters(&self) -> ApplicationCounters {
        self.counters
    }

    /// Returns when to call [`Self::dispatch`] if no datagram arrives before; separate from
    /// [`Participant::poll_timeout`].
    pub fn poll_timeout(&self, participant: &Participant) -> Instant {
        if self.is_pending {
            return Instant::ZERO;
        }
        if !participant.running().sending {
            return Instant::NEVER;
        }
        let timers = self.publications.values();
        let timers = timers.filter_map(|slot| slot.timer.as_ref());
        timers.map(|timer| timer.due_at).fold(Instant::NEVER, Instant::min)
    }

    /// Delivers notifications and calls the callbacks that are due.
    pub fn dispatch(&mut self, participant: &mut Participant, now: Instant) {
        let mut context = self.context(participant, now);
        let is_pending = context.dispatch();
        self.is_pending = is_pending;
    }
}
