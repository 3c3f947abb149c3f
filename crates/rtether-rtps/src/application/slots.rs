//! What an application keeps of its publications and subscriptions.

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

/// Notices that a pulled subscription keeps.
pub(super) const NOTICES_MAX: usize = 64;

/// Fills in and publishes what is due.
pub(super) trait Source: Send {
    fn send(&mut self, context: &mut Context<'_>, number: u32);
}

/// An instance of a type, and the callback that fills it in.
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
            // Counted; the next one comes with the next period.
            let _ = context.send_value(number, &self.instance);
        }
    }
}

/// A callback without values: it sends by itself.
pub(super) struct Called<F>(pub(super) F);

impl<F> Source for Called<F>
where
    F: FnMut(&mut Context<'_>) + Send,
{
    fn send(&mut self, context: &mut Context<'_>, _: u32) {
        (self.0)(context);
    }
}

/// When a publication sends by itself.
pub(super) struct Timer {
    pub(super) period: Duration,
    pub(super) due_at: Instant,
    /// Not there while it is called.
    pub(super) source: Option<Box<dyn Source>>,
}

impl Timer {
    /// Goes on to the next period that is not over; returns how many are left out.
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

/// A publication.
pub(super) struct PublicationSlot {
    /// None once it is kept for as long as the application is.
    pub(super) token: Option<Token>,
    pub(super) outlet: Outlet,
    pub(super) timer: Option<Timer>,
    /// Not there while it is called.
    pub(super) told: Option<Told>,
    pub(super) critical: Option<u64>,
    pub(super) is_critical: bool,
    pub(super) counters: PublicationCounters,
}

/// Hands on what a reader has.
pub(super) trait Listener: Send {
    /// Hands on the next sample; returns whether there was one.
    fn deliver(&mut self, context: &mut Context<'_>, reader: ReaderId, topic: &str) -> bool;
    /// Hands on something else.
    fn tell(&mut self, context: &mut Context<'_>, topic: &str, notice: Notice<Infallible>);
    /// Returns how many samples were no values of the type.
    fn malformed(&self) -> u64;
}

/// A callback for values of a type.
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
        context
            .participant_mut()
            .take(now, reader, |info, payload, key| {
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
        let sample = RawSample {
            info,
            payload: &self.payload,
            key: &self.key,
        };
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

/// A reader of a subscription.
pub(super) struct ReaderSlot {
    pub(super) id: ReaderId,
    pub(super) topic: String,
    pub(super) type_name: String,
    /// Samples that were lost as far as has been told.
    pub(super) lost: u64,
}

/// Which topics a subscription takes as they are found.
pub(super) struct Pattern {
    pub(super) topic: String,
    pub(super) type_name: TypePattern,
    pub(super) keys: Option<KeyOf>,
    pub(super) qos: Qos,
    pub(super) readers_max: usize,
    pub(super) accepts: Accepts,
}

pub(super) type Accepts = Box<dyn FnMut(&EndpointData) -> bool + Send>;

/// Which types a pattern takes.
pub(super) enum TypePattern {
    /// The one of this name.
    One(&'static str),
    /// Those whose names fit.
    Any(String),
}

impl Pattern {
    /// Returns whether a publication is of a topic that is meant.
    pub(super) fn is_match(&self, writer: &EndpointData) -> bool {
        let is_type = match &self.type_name {
            TypePattern::One(name) => *name == writer.type_name,
            TypePattern::Any(pattern) => crate::matching::is_match(pattern, &writer.type_name),
        };
        is_type
            && writer.guid.entity.has_key() == self.keys.is_some()
            && crate::matching::is_match(&self.topic, &writer.topic)
    }
}

/// A subscription, or all that belong to a pattern.
pub(super) struct SubscriptionSlot {
    /// None once it is kept for as long as the application is.
    pub(super) token: Option<Token>,
    pub(super) mode: Mode,
    /// Not there while it is called.
    pub(super) listener: Option<Box<dyn Listener>>,
    /// One, unless it is a pattern.
    pub(super) readers: Vec<ReaderSlot>,
    pub(super) pattern: Option<Pattern>,
    /// What is told when it is pulled.
    pub(super) notices: VecDeque<(ReaderId, Notice<Infallible>)>,
    /// Samples that were taken without the callback, and were no values.
    pub(super) malformed: u64,
}

impl SubscriptionSlot {
    /// Keeps a notice until it is pulled; returns whether another was dropped for it.
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

    /// Returns the place of a reader.
    pub(super) fn place_of(&self, reader: ReaderId) -> Option<usize> {
        self.readers.iter().position(|one| one.id == reader)
    }
}
