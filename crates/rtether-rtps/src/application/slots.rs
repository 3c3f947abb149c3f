//! Slots: state of publications and subscriptions.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::convert::Infallible;
use core::marker::PhantomData;

use super::Context;
use super::handle::Token;
use super::notice::{Notice, PublicationCounters, PublicationNotice, RawSample};
use super::options::Mode;
use crate::cdr::Data;
use crate::discovery::EndpointData;
use crate::engine::ReaderId;
use crate::qos::Qos;
use crate::reader::{KeyOf, SampleInfo};
use crate::time::{Duration, Instant};
use crate::typed::{self, Outlet, Received};

/// Maximum number of notices kept for a pulled subscription.
pub(super) const NOTICES_MAX: usize = 64;

/// A send callback.
pub(super) trait Source: Send {
    fn send(&mut self, context: &mut Context<'_>, number: u32);
}

/// An instance of a type, and the callback that updates it.
pub(super) struct Filled<T, F> {
    pub(super) instance: T,
    pub(super) fill: F,
}

impl<T, F> Source for Filled<T, F>
where
    T: Data + Send,
    F: FnMut(&mut Context<'_>, &mut T) -> bool + Send,
{
    fn send(&mut self, context: &mut Context<'_>, number: u32) {
        if (self.fill)(context, &mut self.instance) {
            // Errors are counted; the next attempt is in the next period.
            let _ = context.send_value(number, &self.instance);
        }
    }
}

/// A callback without an instance, which sends for itself.
pub(super) struct Called<F>(pub(super) F);

impl<F> Source for Called<F>
where
    F: FnMut(&mut Context<'_>) + Send,
{
    fn send(&mut self, context: &mut Context<'_>, _: u32) {
        (self.0)(context);
    }
}

/// Periodic sending of a publication.
pub(super) struct Timer {
    pub(super) period: Duration,
    pub(super) due_at: Instant,
    /// `None` during its call.
    pub(super) source: Option<Box<dyn Source>>,
}

impl Timer {
    /// Advances to the first period after `now`; returns how many periods were skipped.
    pub(super) fn advance(&mut self, now: Instant) -> u64 {
        let late = (now - self.due_at).as_ns().max(0);
        let period = self.period.as_ns().max(1);
        let skipped = late / period;
        let step = period.saturating_mul(skipped.saturating_add(1));
        self.due_at = self.due_at + Duration::from_ns(step);
        skipped.unsigned_abs()
    }
}

pub(super) type Told = Box<dyn FnMut(&mut Context<'_>, PublicationNotice) + Send>;

/// State of a publication.
pub(super) struct PublicationSlot {
    /// `None` if kept for the lifetime of the application.
    pub(super) token: Option<Token>,
    pub(super) outlet: Outlet,
    pub(super) timer: Option<Timer>,
    /// `None` during its call.
    pub(super) told: Option<Told>,
    pub(super) critical: Option<u64>,
    pub(super) is_critical: bool,
    pub(super) counters: PublicationCounters,
}

/// Callback of a subscription.
pub(super) trait Listener: Send {
    /// Delivers the next sample; returns whether there was one.
    fn deliver(&mut self, context: &mut Context<'_>, reader: ReaderId, topic: &str) -> bool;
    /// Delivers any other notice.
    fn tell(&mut self, context: &mut Context<'_>, topic: &str, notice: Notice<Infallible>);
    /// Returns how many samples could not be decoded.
    fn malformed(&self) -> u64;
}

/// A callback for values of one type.
pub(super) struct Typed<T, F> {
    pub(super) callback: F,
    pub(super) malformed: u64,
    pub(super) of: PhantomData<fn() -> T>,
}

impl<T, F> Listener for Typed<T, F>
where
    T: Data,
    F: FnMut(&mut Context<'_>, &str, Notice<Received<T>>) + Send,
{
    fn deliver(&mut self, context: &mut Context<'_>, reader: ReaderId, topic: &str) -> bool {
        let now = context.now();
        let participant = context.participant_mut();
        let Some(received) = typed::take(participant, now, reader, &mut self.malformed) else {
            return false;
        };
        (self.callback)(context, topic, Notice::Sample(received));
        true
    }

    fn tell(&mut self, context: &mut Context<'_>, topic: &str, notice: Notice<Infallible>) {
        (self.callback)(context, topic, notice.widen());
    }

    fn malformed(&self) -> u64 {
        self.malformed
    }
}

/// A callback for octets.
pub(super) struct Raw<F> {
    pub(super) callback: F,
    pub(super) payload: Vec<u8>,
    pub(super) key: Vec<u8>,
}

impl<F> Raw<F> {
    fn take(&mut self, context: &mut Context<'_>, reader: ReaderId) -> Option<SampleInfo> {
        let now = context.now();
        let (own, own_key) = (&mut self.payload, &mut self.key);
        context.participant_mut().take(now, reader, |info, payload, key| {
            own.clear();
            own.extend_from_slice(payload);
            own_key.clear();
            own_key.extend_from_slice(key);
            *info
        })
    }
}

impl<F> Listener for Raw<F>
where
    F: for<'b> FnMut(&mut Context<'_>, &str, Notice<RawSample<'b>>) + Send,
{
    fn deliver(&mut self, context: &mut Context<'_>, reader: ReaderId, topic: &str) -> bool {
        let Some(info) = self.take(context, reader) else {
            return false;
        };
        let sample = RawSample { info, payload: &self.payload, key: &self.key };
        (self.callback)(context, topic, Notice::Sample(sample));
        true
    }

    fn tell(&mut self, context: &mut Context<'_>, topic: &str, notice: Notice<Infallible>) {
        (self.callback)(context, topic, notice.widen());
    }

    fn malformed(&self) -> u64 {
        0
    }
}

/// State of a reader of a subscription.
pub(super) struct ReaderSlot {
    pub(super) id: ReaderId,
    pub(super) topic: String,
    pub(super) type_name: String,
    /// Lost samples already reported.
    pub(super) lost: u64,
}

/// Topics that a subscription takes as they are found.
pub(super) struct Pattern {
    pub(super) topic: String,
    pub(super) type_name: &'static str,
    pub(super) keys: Option<KeyOf>,
    pub(super) qos: Qos,
    pub(super) readers_max: usize,
    pub(super) accepts: Accepts,
}

pub(super) type Accepts = Box<dyn FnMut(&EndpointData) -> bool + Send>;

impl Pattern {
    /// Returns whether a publication matches the pattern.
    pub(super) fn is_match(&self, writer: &EndpointData) -> bool {
        self.type_name == writer.type_name
            && writer.guid.entity.has_key() == self.keys.is_some()
            && crate::matching::is_match(&self.topic, &writer.topic)
    }
}

/// State of a subscription or pattern.
pub(super) struct SubscriptionSlot {
    /// `None` if kept for the lifetime of the application.
    pub(super) token: Option<Token>,
    pub(super) mode: Mode,
    /// `None` during its call.
    pub(super) listener: Option<Box<dyn Listener>>,
    /// One reader, or for a pattern any number.
    pub(super) readers: Vec<ReaderSlot>,
    pub(super) pattern: Option<Pattern>,
    /// Notices to deliver when pulled.
    pub(super) notices: VecDeque<(ReaderId, Notice<Infallible>)>,
    /// Samples taken without the callback that could not be decoded.
    pub(super) malformed: u64,
}

impl SubscriptionSlot {
    /// Keeps a notice until it is pulled; returns whether an older one was dropped.
    pub(super) fn keep(&mut self, reader: ReaderId, notice: Notice<Infallible>) -> bool {
        if let Notice::DeadlineMissed { overdue } = notice
            && let Some((of, Notice::DeadlineMissed { overdue: before })) = self.notices.back_mut()
            && *of == reader
        {
            *before = before.saturating_add(overdue);
            return false;
        }
        let is_full = self.notices.len() >= NOTICES_MAX;
        if is_full {
            self.notices.pop_front();
        }
        self.notices.push_back((reader, notice));
        is_full
    }

    /// Returns the index of a reader.
    pub(super) fn place_of(&self, reader: ReaderId) -> Option<usize> {
        self.readers.iter().position(|one| one.id == reader)
    }
}
