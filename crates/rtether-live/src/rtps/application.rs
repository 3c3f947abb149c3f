//! An application of a domain: publications and subscriptions of `rtether_rtps::application`, with
//! the sockets of this host and in the thread that drives them.

use std::io;

use rtether_rtps::application::{Application, ApplicationCounters, Context, PublicationHandle};
use rtether_rtps::cdr::Data;
use rtether_rtps::engine::Running;
use rtether_rtps::sequence::SequenceNumber;
use rtether_rtps::time::{Duration, Instant};
use rtether_rtps::typed::PublishError;
use rtether_rtps::writer::WriteError;

use super::{Domain, DomainError, DomainOptions};

/// Why a value was not sent.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// No room in the queue, or the value cannot be encoded.
    #[error(transparent)]
    Publish(#[from] PublishError),
    /// A socket failed.
    #[error("sending: {0}")]
    Socket(#[from] io::Error),
}

/// An application that takes part in a domain.
///
/// Callbacks run in the thread that calls [`Self::step`] or a method that steps; there is no other
/// thread.
///
/// ```no_run
/// use rtether_live::rtps::{DomainApplication, DomainOptions};
/// use rtether_rtps::application::{Notice, PublicationOptions, SubscriptionOptions};
/// use rtether_rtps::time::Duration;
/// use rtether_rtps::types::Ping;
///
/// let mut application = DomainApplication::open(&DomainOptions::default())?;
/// let mut context = application.context();
/// let publication = context.publish::<Ping>("ping", &PublicationOptions::default())?;
/// let period = Duration::from_ms(10);
/// context.send_every(&publication, period, Ping::default(), |_, value| {
///     value.sequence += 1;
///     true
/// });
/// let options = SubscriptionOptions::default();
/// let subscription = context.subscribe::<Ping>("ping", &options, |_, notice| {
///     if let Notice::Sample(received) = notice {
///         println!("{:?}", received.value);
///     }
/// })?;
/// application.run_for(Duration::from_s(10))?;
/// # drop(subscription);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DomainApplication {
    domain: Domain,
    application: Application,
}

impl DomainApplication {
    /// Opens the sockets of an application, which announces itself at its first step.
    ///
    /// # Errors
    /// The domain or the address does not exist, or the system refuses.
    pub fn open(options: &DomainOptions) -> Result<Self, DomainError> {
        let mut domain = Domain::open(options)?;
        // Each datagram is dispatched before the next one is received.
        domain.in_a_row = 1;
        Ok(Self { domain, application: Application::new() })
    }

    /// Opens the sockets of an application that neither announces itself nor receives or sends
    /// before [`Self::start`].
    ///
    /// # Errors
    /// The domain or the address does not exist, or the system refuses.
    pub fn open_suspended(options: &DomainOptions) -> Result<Self, DomainError> {
        let mut this = Self::open(options)?;
        this.domain.participant_mut().suspend();
        Ok(this)
    }

    /// Starts all or parts of a suspended application.
    pub fn start(&mut self, start: Running) {
        self.context().start(start);
    }

    /// Returns access to publications and subscriptions.
    pub fn context(&mut self) -> Context<'_> {
        let now = self.domain.now();
        self.application.context(self.domain.participant_mut(), now)
    }

    /// Returns its domain.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// Returns the counters.
    pub fn counters(&self) -> ApplicationCounters {
        self.application.counters()
    }

    /// Calls due callbacks, waits for a datagram or timer until `until` at most, and calls the
    /// resulting callbacks. Returns whether a datagram arrived.
    ///
    /// # Errors
    /// A socket fails.
    pub fn step(&mut self, until: Instant) -> io::Result<bool> {
        // Reports what was done since the last step.
        self.dispatch();
        let due = self.application.poll_timeout(self.domain.participant());
        let came = self.domain.step(due.min(until))?;
        self.dispatch();
        self.domain.flush()?;
        Ok(came)
    }

    fn dispatch(&mut self) {
        let now = self.domain.now();
        let participant = self.domain.participant_mut();
        self.application.dispatch(participant, now);
    }

    /// Runs for a time span.
    ///
    /// # Errors
    /// A socket fails.
    pub fn run_for(&mut self, time: Duration) -> io::Result<()> {
        let until = self.domain.now() + time;
        while self.domain.now() < until {
            self.step(until)?;
        }
        Ok(())
    }

    /// Sends a value now, if there is room in the queue.
    ///
    /// # Errors
    /// There is no room in the queue, the value cannot be encoded, or the socket fails.
    pub fn send<T: Data>(
        &mut self,
        publication: &PublicationHandle<T>,
        value: &T,
    ) -> Result<SequenceNumber, SendError> {
        let sent = self.context().send(publication, value)?;
        self.domain.flush()?;
        Ok(sent)
    }

    /// Sends a value as soon as there is room in the queue, but not after `limit`; callbacks run
    /// meanwhile. A dead subscription occupies the queue until its lease expires.
    ///
    /// # Errors
    /// There is no room by then, the value cannot be encoded, or a socket fails.
    pub fn send_within<T: Data>(
        &mut self,
        publication: &PublicationHandle<T>,
        value: &T,
        limit: Duration,
    ) -> Result<SequenceNumber, SendError> {
        let until = self.domain.now() + limit;
        loop {
            let sent = self.context().send_if_room(publication, value)?;
            if let Some(sent) = sent {
                self.domain.flush()?;
                return Ok(sent);
            }
            if self.domain.now() >= until {
                return Err(PublishError::Write(WriteError::Full).into());
            }
            self.step(until)?;
        }
    }
}
