//! Order of notifications: dropped handles, sightings, events, samples, due callbacks, critical
//! levels.

use core::convert::Infallible;
use core::ops::Bound::{Excluded, Unbounded};

use alloc::sync::Arc;

use super::Context;
use super::notice::{Notice, PublicationNotice, Verdict};
use super::options::Mode;
use super::slots::Listener;
use crate::engine::{Change, Event, ReaderId, Sighted, Sighting, WriterId};

/// Maximum number of rounds per call: callbacks may create endpoints and so cause events. The rest
/// follows in the next call, which is due at once.
const ROUNDS_MAX: usize = 8;

impl Context<'_> {
    /// Delivers all notifications; returns whether more are pending.
    pub(super) fn dispatch(&mut self) -> bool {
        for _ in 0..ROUNDS_MAX {
            self.sweep();
            self.decide();
            while let Some(event) = self.participant.poll_event() {
                self.handle_event(event);
            }
            self.deliver_all();
            self.send_due();
            self.look_at_levels();
            if !self.participant.has_news() {
                return false;
            }
        }
        true
    }

    /// Removes publications and subscriptions whose handles were dropped.
    fn sweep(&mut self) {
        let is_dropped = |token: &Option<Arc<()>>| {
            let token = token.as_ref();
            token.is_some_and(|token| Arc::strong_count(token) == 1)
        };
        // Callbacks that are removed may have held handles.
        loop {
            let publications = self.application.publications.iter();
            let mut dropped = publications.filter(|(_, slot)| is_dropped(&slot.token));
            if let Some(number) = dropped.next().map(|(number, _)| *number) {
                if let Some(slot) = self.application.publications.remove(&number) {
                    self.application.writers.remove(&slot.outlet.id);
                    self.participant.delete_writer(self.now, slot.outlet.id);
                }
                continue;
            }
            let subscriptions = self.application.subscriptions.iter();
            let mut dropped = subscriptions.filter(|(_, slot)| is_dropped(&slot.token));
            let Some(number) = dropped.next().map(|(number, _)| *number) else {
                return;
            };
            if let Some(slot) = self.application.subscriptions.remove(&number) {
                for reader in &slot.readers {
                    self.application.readers.remove(&reader.id);
                    self.participant.delete_reader(self.now, reader.id);
                }
            }
        }
    }

    /// Decides on sightings.
    fn decide(&mut self) {
        while let Some(sighting) = self.participant.poll_sighting(self.now) {
            let verdict = match self.application.observer.take() {
                None => Verdict::Admit,
                Some(mut observer) => {
                    let verdict = observer(self, &sighting);
                    // The callback may have set another one.
                    self.application.observer.get_or_insert(observer);
                    verdict
                }
            };
            if verdict == Verdict::Ignore && sighting.change != Change::Gone {
                self.application.counters.ignored += 1;
                self.participant.ignore(self.now, &sighting);
                continue;
            }
            self.participant.admit(self.now, &sighting);
            self.offer_to_all(&sighting);
        }
    }

    /// Offers the topic of a publication to all patterns.
    fn offer_to_all(&mut self, sighting: &Sighting) {
        let Sighted::Publication(writer) = &sighting.of else {
            return;
        };
        if sighting.change == Change::Gone {
            return;
        }
        let mut after = None;
        while let Some(number) = self.subscription_after(after) {
            self.offer(number, writer);
            after = Some(number);
        }
    }

    fn subscription_after(&self, after: Option<u32>) -> Option<u32> {
        let from = after.map_or(Unbounded, Excluded);
        let mut rest = self.application.subscriptions.range((from, Unbounded));
        rest.next().map(|(number, _)| *number)
    }

    fn publication_after(&self, after: Option<u32>) -> Option<u32> {
        let from = after.map_or(Unbounded, Excluded);
        let mut rest = self.application.publications.range((from, Unbounded));
        rest.next().map(|(number, _)| *number)
    }

    fn handle_event(&mut self, event: Event) {
        match event {
            Event::WriterMatched { reader, writer } => {
                self.tell(reader, Notice::Matched { writer });
            }
            Event::WriterUnmatched { reader, writer } => {
                self.tell(reader, Notice::Unmatched { writer });
                self.give_up(reader);
            }
            Event::RequestedIncompatible { reader, writer, policies } => {
                self.tell(reader, Notice::Incompatible { writer, policies });
            }
            Event::WriterSilent { reader, writer } => {
                self.tell(reader, Notice::Silent { writer });
            }
            Event::DeadlineMissed { reader, overdue } => {
                self.tell(reader, Notice::DeadlineMissed { overdue });
            }
            Event::ReaderMatched { writer, reader } => {
                self.tell_publication(writer, PublicationNotice::Matched { reader });
            }
            Event::ReaderUnmatched { writer, reader } => {
                self.tell_publication(writer, PublicationNotice::Unmatched { reader });
            }
            Event::OfferedIncompatible { writer, reader, policies } => {
                let notice = PublicationNotice::Incompatible { reader, policies };
                self.tell_publication(writer, notice);
            }
            Event::OfferedDeadlineMissed { writer, overdue } => {
                self.tell_publication(writer, PublicationNotice::DeadlineMissed { overdue });
            }
            Event::ParticipantFound { .. }
            | Event::ParticipantLost { .. }
            | Event::Refused { .. }
            | Event::Withheld { .. } => {
                if let Some(mut on_event) = self.application.on_event.take() {
                    on_event(self, &event);
                    self.application.on_event.get_or_insert(on_event);
                }
            }
        }
    }

    /// Notifies a subscription, or keeps the notice until it is pulled; samples that arrived
    /// earlier are delivered first.
    fn tell(&mut self, reader: ReaderId, notice: Notice<Infallible>) {
        let Some(number) = self.application.readers.get(&reader).copied() else {
            return;
        };
        let Some(slot) = self.application.subscriptions.get_mut(&number) else {
            return;
        };
        match slot.mode {
            Mode::Pulled => {
                let is_dropped = slot.keep(reader, notice);
                self.application.counters.notices_dropped += u64::from(is_dropped);
            }
            Mode::Immediate => {
                if !matches!(notice, Notice::Matched { .. }) {
                    self.deliver(number);
                }
                self.tell_reader(number, reader, notice);
            }
        }
    }

    pub(super) fn tell_reader(
        &mut self,
        number: u32,
        reader: ReaderId,
        notice: Notice<Infallible>,
    ) {
        let slot = self.application.subscriptions.get(&number);
        let place = slot.and_then(|slot| slot.place_of(reader));
        self.with_reader(number, place, |context, listener, topic| {
            listener.tell(context, topic, notice);
        });
    }

    /// Calls `call` with the callback of a subscription and the topic of one of its readers; both
    /// are taken out of the slot for the call.
    fn with_reader(
        &mut self,
        number: u32,
        place: Option<usize>,
        call: impl FnOnce(&mut Self, &mut dyn Listener, &str),
    ) {
        let Some(slot) = self.application.subscriptions.get_mut(&number) else {
            return;
        };
        let Some(mut listener) = slot.listener.take() else {
            return;
        };
        let reader = place.and_then(|place| slot.readers.get_mut(place));
        let topic = reader.map(|reader| core::mem::take(&mut reader.topic));
        let topic = topic.unwrap_or_default();
        call(self, listener.as_mut(), &topic);
        if let Some(slot) = self.application.subscriptions.get_mut(&number) {
            slot.listener = Some(listener);
            if let Some(reader) = place.and_then(|place| slot.readers.get_mut(place)) {
                reader.topic = topic;
            }
        }
    }

    /// Removes a reader of a pattern whose last publication is gone.
    fn give_up(&mut self, reader: ReaderId) {
        if self.participant.writers_of(reader) > 0 {
            return;
        }
        let number = self.application.readers.get(&reader).copied();
        let slot = number.and_then(|number| self.application.subscriptions.get_mut(&number));
        if let Some(slot) = slot.filter(|slot| slot.pattern.is_some()) {
            slot.readers.retain(|one| one.id != reader);
            self.application.readers.remove(&reader);
            self.participant.delete_reader(self.now, reader);
        }
    }

    fn deliver_all(&mut self) {
        let mut after = None;
        while let Some(number) = self.subscription_after(after) {
            let slot = self.application.subscriptions.get(&number);
            if slot.is_some_and(|slot| slot.mode == Mode::Immediate) {
                self.deliver(number);
            }
            after = Some(number);
        }
    }

    /// Delivers all waiting samples of a subscription; returns their number.
    pub(super) fn deliver(&mut self, number: u32) -> usize {
        let mut count = 0;
        let mut place = 0;
        while let Some(slot) = self.application.subscriptions.get(&number)
            && slot.listener.is_some()
            && let Some(reader) = slot.readers.get(place)
        {
            let id = reader.id;
            if self.participant.waiting(id) > 0 {
                self.tell_of_loss(number, place, id);
                self.with_reader(number, Some(place), |context, listener, topic| {
                    while listener.deliver(context, id, topic) {
                        count += 1;
                    }
                });
            }
            place += 1;
        }
        count
    }

    fn tell_of_loss(&mut self, number: u32, place: usize, id: ReaderId) {
        let lost = self.participant.reader_counters(id).lost;
        let slot = self.application.subscriptions.get_mut(&number);
        let Some(reader) = slot.and_then(|slot| slot.readers.get_mut(place)) else {
            return;
        };
        let samples = lost.saturating_sub(reader.lost);
        if samples > 0 {
            reader.lost = lost;
            self.with_reader(number, Some(place), |context, listener, topic| {
                listener.tell(context, topic, Notice::Lost { samples });
            });
        }
    }

    fn tell_publication(&mut self, writer: WriterId, notice: PublicationNotice) {
        let Some(number) = self.application.writers.get(&writer).copied() else {
            return;
        };
        let slot = self.application.publications.get_mut(&number);
        let Some(mut told) = slot.and_then(|slot| slot.told.take()) else {
            return;
        };
        told(self, notice);
        if let Some(slot) = self.application.publications.get_mut(&number) {
            slot.told.get_or_insert(told);
        }
    }

    /// Calls the send callbacks that are due.
    fn send_due(&mut self) {
        if !self.participant.running().sending {
            return;
        }
        let mut after = None;
        while let Some(number) = self.publication_after(after) {
            after = Some(number);
            let now = self.now;
            let Some(slot) = self.application.publications.get_mut(&number) else {
                continue;
            };
            let Some(timer) = slot.timer.as_mut().filter(|timer| timer.due_at <= now) else {
                continue;
            };
            slot.counters.periods_missed += timer.advance(now);
            let Some(mut source) = timer.source.take() else {
                continue;
            };
            source.send(self, number);
            let slot = self.application.publications.get_mut(&number);
            // The callback may have set another one, or none.
            if let Some(timer) = slot.and_then(|slot| slot.timer.as_mut()) {
                timer.source.get_or_insert(source);
            }
        }
    }

    fn look_at_levels(&mut self) {
        let mut after = None;
        while let Some(number) = self.publication_after(after) {
            after = Some(number);
            let Some(slot) = self.application.publications.get_mut(&number) else {
                continue;
            };
            let Some(critical) = slot.critical else {
                continue;
            };
            let writer = slot.outlet.id;
            let waiting = self.participant.unacknowledged(writer);
            let is_critical = waiting >= critical;
            if core::mem::replace(&mut slot.is_critical, is_critical) == is_critical {
                continue;
            }
            let notice = if is_critical {
                PublicationNotice::Critical { waiting }
            } else {
                PublicationNotice::Relieved
            };
            self.tell_publication(writer, notice);
        }
    }
}
