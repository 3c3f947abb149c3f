//! Access to an application for callbacks, and for the host between them.

use alloc::boxed::Box;

use super::handle::{Handle, sealed::Named};
use super::notice::{PublicationCounters, PublicationNotice, Untyped, Verdict};
use super::{Application, PublicationHandle, SubscriptionHandle};
use crate::cdr::Data;
use crate::engine::{Event, NewSample, Participant, ReaderId, Running, Sighting, WriterId};
use crate::reader::ReaderCounters;
use crate::sequence::SequenceNumber;
use crate::time::Instant;
use crate::typed::{self, PublishError, Received};
use crate::writer::{ChangeKind, WriteError};

/// Access to an application at one instant.
pub struct Context<'a> {
    pub(super) application: &'a mut Application,
    pub(super) participant: &'a mut Participant,
    pub(super) now: Instant,
}

impl<'a> Context<'a> {
    pub(super) fn new(
        application: &'a mut Application,
        participant: &'a mut Participant,
        now: Instant,
    ) -> Self {
        Self { application, participant, now }
    }

    /// Returns the current time of the host's clock.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Returns the participant.
    pub fn participant(&self) -> &Participant {
        self.participant
    }

    /// Returns the participant mutably, for operations not offered here.
    pub fn participant_mut(&mut self) -> &mut Participant {
        self.participant
    }

    /// Starts parts of a suspended participant; send callbacks begin when sending starts.
    pub fn start(&mut self, start: Running) {
        if start.sending && !self.participant.running().sending {
            let publications = self.application.publications.values_mut();
            for timer in publications.filter_map(|slot| slot.timer.as_mut()) {
                timer.due_at = self.now;
            }
        }
        self.participant.start(self.now, start);
    }

    /// Keeps the publication or subscription of a handle for the lifetime of the application.
    pub fn keep(&mut self, handle: impl Handle) {
        let token = match handle.named() {
            Named::Publication(number) => {
                let slot = self.application.publications.get_mut(&number);
                slot.and_then(|slot| slot.token.take())
            }
            Named::Subscription(number) => {
                let slot = self.application.subscriptions.get_mut(&number);
                slot.and_then(|slot| slot.token.take())
            }
        };
        drop((token, handle));
    }

    /// Lets `observer` decide on every participant and endpoint found from now on, and reports
    /// those that change or disappear.
    pub fn observe(
        &mut self,
        observer: impl FnMut(&mut Context<'_>, &Sighting) -> Verdict + Send + 'static,
    ) {
        self.participant.watch();
        self.application.observer = Some(Box::new(observer));
    }

    /// Reports events that concern no publication or subscription of the application.
    pub fn on_event(&mut self, on_event: impl FnMut(&mut Context<'_>, &Event) + Send + 'static) {
        self.application.on_event = Some(Box::new(on_event));
    }

    /// Sends a value now, if there is room in the queue.
    ///
    /// # Errors
    /// The value cannot be encoded, or the queue has no room.
    pub fn send<T: Data>(
        &mut self,
        publication: &PublicationHandle<T>,
        value: &T,
    ) -> Result<SequenceNumber, PublishError> {
        self.send_value(publication.number, value)
    }

    /// Sends a value if there is room in the queue; otherwise returns `None`, which is not counted:
    /// the host may retry after further datagrams have arrived. Room taken by a dead subscription
    /// is freed when its lease expires.
    ///
    /// # Errors
    /// The value cannot be encoded.
    pub fn send_if_room<T: Data>(
        &mut self,
        publication: &PublicationHandle<T>,
        value: &T,
    ) -> Result<Option<SequenceNumber>, PublishError> {
        match self.send(publication, value) {
            Err(PublishError::Write(WriteError::Full)) => {
                let slot = self.application.publications.get_mut(&publication.number);
                if let Some(slot) = slot {
                    slot.counters.refused -= 1;
                }
                Ok(None)
            }
            sent => sent.map(Some),
        }
    }

    /// Disposes of the instance of a value.
    ///
    /// # Errors
    /// No room in the queue.
    pub fn dispose<T: Data>(
        &mut self,
        publication: &PublicationHandle<T>,
        value: &T,
    ) -> Result<SequenceNumber, PublishError> {
        self.write(publication.number, ChangeKind::Disposed, value)
    }

    /// Unregisters the instance of a value: this writer no longer writes it.
    ///
    /// # Errors
    /// No room in the queue.
    pub fn unregister<T: Data>(
        &mut self,
        publication: &PublicationHandle<T>,
        value: &T,
    ) -> Result<SequenceNumber, PublishError> {
        self.write(publication.number, ChangeKind::Unregistered, value)
    }

    pub(super) fn send_value<T: Data>(
        &mut self,
        number: u32,
        value: &T,
    ) -> Result<SequenceNumber, PublishError> {
        self.write(number, ChangeKind::Alive, value)
    }

    fn write<T: Data>(
        &mut self,
        number: u32,
        kind: ChangeKind,
        value: &T,
    ) -> Result<SequenceNumber, PublishError> {
        let slot = self.application.publications.get_mut(&number);
        let slot = slot.ok_or(WriteError::Unknown)?;
        let written = slot.outlet.write(self.participant, self.now, kind, value);
        slot.counters.sent += u64::from(written.is_ok());
        slot.counters.refused += u64::from(written.is_err());
        written
    }

    /// Sends octets now, if there is room in the queue.
    ///
    /// # Errors
    /// No room in the queue.
    pub fn send_raw(
        &mut self,
        publication: &PublicationHandle<Untyped>,
        sample: &NewSample<'_>,
    ) -> Result<SequenceNumber, WriteError> {
        let slot = self.application.publications.get_mut(&publication.number);
        let slot = slot.ok_or(WriteError::Unknown)?;
        let written = self.participant.write(self.now, slot.outlet.id, sample);
        slot.counters.sent += u64::from(written.is_ok());
        slot.counters.refused += u64::from(written.is_err());
        written
    }

    /// Reports events of a publication, and when the samples that wait for a lagging subscription
    /// reach the critical level.
    pub fn on_publication<T>(
        &mut self,
        publication: &PublicationHandle<T>,
        critical: Option<u64>,
        told: impl FnMut(&mut Context<'_>, PublicationNotice) + Send + 'static,
    ) {
        let slot = self.application.publications.get_mut(&publication.number);
        if let Some(slot) = slot {
            slot.told = Some(Box::new(told));
            slot.critical = critical;
            slot.is_critical = false;
        }
    }

    /// Returns the counters of a publication.
    pub fn publication_counters<T>(
        &self,
        publication: &PublicationHandle<T>,
    ) -> PublicationCounters {
        let slot = self.application.publications.get(&publication.number);
        slot.map(|slot| slot.counters).unwrap_or_default()
    }

    /// Returns the writer of a publication.
    pub fn writer<T>(&self, publication: &PublicationHandle<T>) -> Option<WriterId> {
        let slot = self.application.publications.get(&publication.number);
        slot.map(|slot| slot.outlet.id)
    }

    /// Returns the readers of a subscription: one, or one for each topic of a pattern.
    pub fn readers<T>(
        &self,
        subscription: &SubscriptionHandle<T>,
    ) -> impl Iterator<Item = ReaderId> {
        let slot = self.application.subscriptions.get(&subscription.number);
        slot.into_iter().flat_map(|slot| slot.readers.iter().map(|reader| reader.id))
    }

    /// Returns the counters of a subscription, summed over its readers; samples that could not be
    /// decoded count as malformed.
    pub fn subscription_counters<T>(&self, subscription: &SubscriptionHandle<T>) -> ReaderCounters {
        let mut sum = ReaderCounters::default();
        let Some(slot) = self.application.subscriptions.get(&subscription.number) else {
            return sum;
        };
        for reader in &slot.readers {
            let one = self.participant.reader_counters(reader.id);
            sum.add(&one);
        }
        let listener = slot.listener.as_ref();
        sum.malformed += slot.malformed + listener.map_or(0, |listener| listener.malformed());
        sum
    }

    /// Takes the next sample of a subscription, bypassing its callback.
    pub fn take<T: Data>(&mut self, subscription: &SubscriptionHandle<T>) -> Option<Received<T>> {
        let slot = self.application.subscriptions.get_mut(&subscription.number)?;
        let (readers, malformed) = (&slot.readers, &mut slot.malformed);
        let mut readers = readers.iter();
        readers.find_map(|reader| typed::take(self.participant, self.now, reader.id, malformed))
    }

    /// Calls the callback of a pulled subscription for all samples and notices since the last pull;
    /// returns their number.
    pub fn pull<T>(&mut self, subscription: &SubscriptionHandle<T>) -> usize {
        let number = subscription.number;
        let mut count = 0;
        while let Some(slot) = self.application.subscriptions.get_mut(&number)
            && slot.listener.is_some()
            && let Some((reader, notice)) = slot.notices.pop_front()
        {
            self.tell_reader(number, reader, notice);
            count += 1;
        }
        count + self.deliver(number)
    }
}
