//! Reception of datagrams.

use alloc::vec::Vec;

use super::{LocalReader, Participant};
use crate::guid::{EntityId, Guid, GuidPrefix};
use crate::locator::Origin;
use crate::reader::{self, Arrived};
use crate::time::{Instant, WallTime};
use crate::wire::{Data, DataFrag, InlineQos, Malformed, Submessage, parse};

/// Maximum number of submessages read from a datagram; only hostile datagrams have more.
pub(super) const SUBMESSAGES_MAX: usize = 1_024;

/// Interpreter state set by preceding submessages (8.3.4).
#[derive(Clone, Copy, Debug)]
pub(super) struct Context {
    pub(super) from: GuidPrefix,
    pub(super) origin: Origin,
    /// Whether the participant may send from this address.
    pub(super) may_speak: bool,
    pub(super) is_for_us: bool,
    /// Whether no ACKNACK came before: one datagram is one guess.
    pub(super) may_prove: bool,
    pub(super) time: Option<WallTime>,
}

impl Participant {
    /// Handles a datagram that came from `origin`.
    pub fn handle_datagram(&mut self, now: Instant, origin: Origin, datagram: &[u8]) {
        if !self.running.receiving {
            return;
        }
        self.counters.datagrams += 1;
        let handled = match self.role() {
            Some(role) => self.handle_message_v1(now, role, origin, datagram),
            None => self.handle_message_v2(now, origin, datagram),
        };
        match handled {
            Ok(()) => {}
            Err(Malformed::Version { major, minor }) => {
                self.counters.versions.count([major, minor]);
                return;
            }
            // The start of the next submessage is unknown.
            Err(_) => self.counters.malformed += 1,
        }
        self.deliver_group_sets(now);
    }

    fn handle_message_v2(
        &mut self,
        now: Instant,
        origin: Origin,
        datagram: &[u8],
    ) -> Result<(), Malformed> {
        let message = parse(datagram)?;
        let from = message.header().prefix;
        self.on_heard(now, from);
        let mut context = Context {
            from,
            origin,
            may_speak: self.may_speak(from, origin),
            is_for_us: true,
            may_prove: true,
            time: None,
        };
        for submessage in message.submessages().take(SUBMESSAGES_MAX) {
            let handled = submessage.map(|one| self.handle(now, &mut context, one));
            if let Err(malformed) = handled {
                self.credit(from, origin, datagram.len());
                return Err(malformed);
            }
        }
        self.credit(from, origin, datagram.len());
        Ok(())
    }

    fn handle(&mut self, now: Instant, context: &mut Context, submessage: Submessage<'_>) {
        match submessage {
            Submessage::InfoTimestamp(time) => context.time = time,
            Submessage::InfoDestination(to) => {
                context.is_for_us = to == GuidPrefix::UNKNOWN || to == self.config.prefix;
                if to == self.config.prefix && context.may_speak {
                    self.handle_answer(now, context.from);
                }
            }
            Submessage::InfoSource(header) => {
                context.from = header.prefix;
                context.time = None;
                context.may_speak = self.may_speak(context.from, context.origin);
            }
            // Replies go to the locators known from discovery.
            Submessage::InfoReply { .. } | Submessage::Pad | Submessage::Unknown(_) => {}
            _ if !context.is_for_us => {}
            Submessage::Data(data) if data.writer == EntityId::SPDP_WRITER => {
                self.handle_spdp(now, context, &data);
                context.may_speak = self.may_speak(context.from, context.origin);
            }
            _ if !context.may_speak => self.counters.impostors += 1,
            Submessage::Data(data) => self.handle_data(now, context, &data),
            Submessage::DataFrag(frag) => self.handle_data_frag(now, context, &frag),
            Submessage::Heartbeat(heartbeat) => {
                let from = Guid::new(context.from, heartbeat.writer);
                self.each_reader(heartbeat.reader, from, |local| {
                    local.reader.on_heartbeat(now, from, &heartbeat);
                });
                self.take_discovery(now);
            }
            Submessage::Gap(gap) => {
                let from = Guid::new(context.from, gap.writer);
                self.each_reader(gap.reader, from, |local| {
                    local.reader.on_gap(now, from, &gap);
                });
                self.take_discovery(now);
            }
            Submessage::AckNack(ack) => {
                let from = Guid::new(context.from, ack.reader);
                let writer = self.writer_named(ack.writer);
                if !writer.is_some_and(|local| local.writer.on_ack_nack(now, from, &ack)) {
                    self.counters.strangers += 1;
                }
                self.handle_proof(now, context, from, &ack);
            }
            Submessage::NackFrag(nack) => {
                let from = Guid::new(context.from, nack.reader);
                let writer = self.writer_named(nack.writer);
                if !writer.is_some_and(|local| local.writer.on_nack_frag(now, from, &nack)) {
                    self.counters.strangers += 1;
                }
            }
            // The heartbeats that follow carry the same information.
            Submessage::HeartbeatFrag(_) => {}
        }
    }

    pub(super) fn writer_named(&mut self, entity: EntityId) -> Option<&mut super::LocalWriter> {
        let mut writers = self.writers.iter_mut().flatten();
        writers.find(|local| local.writer.entity == entity)
    }

    /// Calls `on` for each addressed reader: the one named, or all that know the writer.
    pub(super) fn each_reader(
        &mut self,
        named: EntityId,
        from: Guid,
        mut on: impl FnMut(&mut LocalReader),
    ) -> bool {
        let mut is_known = false;
        for local in self.readers.iter_mut().flatten() {
            let is_meant = named == EntityId::UNKNOWN || named == local.reader.entity;
            if is_meant && local.reader.knows(from) {
                is_known = true;
                on(local);
            }
        }
        if !is_known {
            self.counters.strangers += 1;
        }
        is_known
    }

    fn arrived<'a>(
        &mut self,
        now: Instant,
        context: &Context,
        data: &Data<'a>,
    ) -> Option<Arrived<'a>> {
        let Ok(inline) = InlineQos::read(data.inline_qos) else {
            self.counters.malformed += 1;
            return None;
        };
        let (payload, is_key) = reader::octets(data.content);
        Some(Arrived {
            sequence: data.sequence,
            kind: reader::kind(inline, is_key),
            payload,
            inline,
            time: context.time,
            at: now,
        })
    }

    fn handle_spdp(&mut self, now: Instant, context: &Context, data: &Data<'_>) {
        if let Some(arrived) = self.arrived(now, context, data) {
            self.handle_announcement(now, context.from, context.origin, &arrived);
        }
    }

    fn handle_data(&mut self, now: Instant, context: &Context, data: &Data<'_>) {
        let Some(arrived) = self.arrived(now, context, data) else {
            return;
        };
        let from = Guid::new(context.from, data.writer);
        self.each_reader(data.reader, from, |local| {
            local.reader.on_data(now, from, &arrived);
        });
        if data.writer.is_built_in() {
            self.take_discovery(now);
        }
    }

    /// Makes room for fragments if the shared room is nearly used up.
    fn make_fragment_room(&mut self, now: Instant, from: Guid, frag: &DataFrag<'_>) {
        if self.fragments.left() >= self.sending.sample_max {
            return;
        }
        let readers = self.readers.iter_mut().flatten();
        let mut readers: Vec<_> = readers.map(|local| &mut local.reader).collect();
        let given_up = reader::make_room(&mut readers, &self.fragments, now, from, frag);
        self.counters.crowded += given_up;
    }

    fn handle_data_frag(&mut self, now: Instant, context: &Context, frag: &DataFrag<'_>) {
        let from = Guid::new(context.from, frag.writer);
        self.make_fragment_room(now, from, frag);
        let mut refused = 0;
        self.each_reader(frag.reader, from, |local| {
            let has_room = local.reader.on_data_frag(now, from, frag, context.time);
            refused += u64::from(!has_room);
        });
        self.counters.crowded += refused;
        if frag.writer.is_built_in() {
            self.take_discovery(now);
        }
    }
}
