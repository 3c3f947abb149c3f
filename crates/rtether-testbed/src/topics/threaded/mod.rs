//! A participant with a thread of its own, for programs that have other things to do.
//!
//! The thread answers others and takes in what arrives, also between calls. A call of
//! another thread wakes it and has the domain for as long as it takes. Samples stay in the histories
//! of the engine until they are taken, so the limits of [`Qos`] are the only ones.

mod bell;
mod hold;
mod kind;
mod publisher;
mod shared;
mod subscriber;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rtether_live::rtps::Domain;
pub use rtether_live::rtps::{DomainError, DomainOptions};
use rtether_rtps::typed::PublishError;

use super::{Qos, TOPIC_MAX, ValueError};
pub use kind::{Content, Kind};
pub use publisher::Publisher;
use shared::Shared;
pub use subscriber::{Counts, State, Subscriber, Taken};

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It was closed before or meanwhile.
    #[error("the participant, publisher or subscriber is closed")]
    Closed,
    /// The process was forked: the participant belongs to its parent.
    #[error("the participant was opened before a fork; open one in each process")]
    Forked,
    /// A socket failed.
    #[error("the participant has ended: {0}")]
    Ended(String),
    /// No topic has this name.
    #[error("a topic name has 1 to {TOPIC_MAX} octets")]
    Topic,
    /// The limit of endpoints is reached.
    #[error("the participant has reached its limit of endpoints")]
    Endpoints,
    /// The value does not fit the type.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// The content is not of the kind of the topic.
    #[error("{0}")]
    Content(&'static str),
    /// The writer refuses the value.
    #[error(transparent)]
    Refused(#[from] PublishError),
}

/// Why a participant could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The domain cannot be joined.
    #[error(transparent)]
    Domain(#[from] DomainError),
    /// The system refuses a thread or what wakes it.
    #[error("starting a thread: {0}")]
    Thread(#[from] std::io::Error),
}

/// A participant with a thread of its own; dropping it closes it.
pub struct Participant {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
    address: String,
}

impl Participant {
    /// Joins a domain.
    ///
    /// # Errors
    /// The domain or the address does not exist, or the system refuses.
    pub fn open(options: &DomainOptions) -> Result<Self, OpenError> {
        let domain = Domain::open(options)?;
        let address = super::text::place(&domain.address());
        let shared = Arc::new(Shared::new(domain)?);
        let own = Arc::clone(&shared);
        let builder = thread::Builder::new().name("rtether".to_owned());
        let thread = builder.spawn(move || own.drive())?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)), address })
    }

    /// Returns its address and port.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Creates a publisher; the numbers of `qos` limit its history.
    ///
    /// # Errors
    /// It is closed, the name is none, or there are too many endpoints.
    pub fn publisher(&self, topic: &str, kind: Kind, qos: Qos) -> Result<Publisher, Failure> {
        check(topic)?;
        Publisher::open(Arc::clone(&self.shared), topic, kind, qos)
    }

    /// Creates a subscriber; the numbers of `qos` limit what waits until it is taken.
    ///
    /// # Errors
    /// It is closed, the name is none, or there are too many endpoints.
    pub fn subscriber(&self, topic: &str, kind: Kind, qos: Qos) -> Result<Subscriber, Failure> {
        check(topic)?;
        Subscriber::open(Arc::clone(&self.shared), topic, kind, qos)
    }

    /// Leaves the domain and ends the thread; waits in other threads end with [`Failure::Closed`].
    /// Has no effect if it is closed already.
    pub fn close(&self) {
        if !self.shared.is_own() {
            return;
        }
        self.shared.close();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let thread = { thread }.take();
        // A panic has been printed where it happened.
        drop(thread.map(JoinHandle::join));
    }
}

impl Drop for Participant {
    fn drop(&mut self) {
        if self.shared.is_own() {
            self.close();
            return;
        }
        // The child of a fork must not say good-bye in the name of its parent: its copy stays.
        std::mem::forget(Arc::clone(&self.shared));
    }
}

fn check(topic: &str) -> Result<(), Failure> {
    if topic.is_empty() || topic.len() > TOPIC_MAX {
        return Err(Failure::Topic);
    }
    Ok(())
}
