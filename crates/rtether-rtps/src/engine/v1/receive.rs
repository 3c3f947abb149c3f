//! Reception of datagrams of RTPS 1.0.

use crate::engine::Participant;
use crate::engine::receive::{Context, SUBMESSAGES_MAX};
use crate::guid::{EntityId, Guid};
use crate::locator::{Origin, Recipient};
use crate::reader::Arrived;
use crate::sequence::SequenceNumber;
use crate::time::{Instant, WallTime};
use crate::wire::v1::object::{MANAGERS_WRITER, SELF_WRITER};
use crate::wire::v1::{Ack, Issue, Role, Source, Submessage, Var, list_head, parse, value_head};
use crate::wire::{InlineQos, Malformed, Status};
use crate::writer::ChangeKind;

/// End of a parameter list, in either byte order.
const SENTINELS: [[u8; 4]; 2] = [[0, 1, 0, 0], [1, 0, 0, 0]];

impl Participant {
    /// Handles the content of a datagram.
    pub(in crate::engine) fn handle_message_v1(
        &mut self,
        now: Instant,
        own: Role,
        origin: Origin,
        datagram: &[u8],
    ) -> Result<(), Malformed> {
        let message = parse(datagram)?;
        let from = message.header().source.prefix();
        self.on_heard(now, from);
        let mut context = Context {
            from,
            origin,
            may_speak: self.may_speak(from, origin),
            is_for_us: true,
            may_prove: true,
            time: None,
        };
        if context.may_speak {
            self.on_sign_of_life(now, from);
        }
        for submessage in message.submessages().take(SUBMESSAGES_MAX) {
            let handled = submessage.map(|one| self.handle_v1(now, own, &mut context, one));
            if let Err(malformed) = handled {
                self.credit(from, origin, datagram.len());
                return Err(malformed);
            }
        }
        self.credit(from, origin, datagram.len());
        Ok(())
    }

    fn handle_v1(
        &mut self,
        now: Instant,
        own: Role,
        context: &mut Context,
        submessage: Submessage<'_>,
    ) {
        match submessage {
            Submessage::InfoTimestamp(time) => context.time = time.map(WallTime::from),
            Submessage::InfoDestination(to) => {
                let this = Source::of(self.config.prefix);
                let is_host = to.host == 0 || to.host == this.host;
                let is_application = to.application == 0 || to.application == this.application;
                context.is_for_us = is_host && is_application;
            }
            Submessage::InfoSource { header, .. } => {
                context.from = header.source.prefix();
                context.time = None;
                context.may_speak = self.may_speak(context.from, context.origin);
            }
            // Replies go to the locators known from discovery.
            Submessage::InfoReply { .. } | Submessage::Pad | Submessage::Unknown(_) => {}
            _ if !context.is_for_us => {}
            _ if !context.may_speak => self.counters.impostors += 1,
            Submessage::Var(var) => {
                self.handle_var(now, own, context, &var);
                context.may_speak = self.may_speak(context.from, context.origin);
            }
            Submessage::Issue(issue) => self.handle_issue(now, context, &issue),
            Submessage::Heartbeat(heartbeat) => {
                let from = Guid::new(context.from, heartbeat.writer);
                let counted = heartbeat.counted(self.v1.tick());
                self.each_reader(heartbeat.reader, from, |local| {
                    local.reader.on_heartbeat(now, from, &counted);
                });
                self.take_state(now, own);
            }
            Submessage::Gap(gap) => {
                let from = Guid::new(context.from, gap.writer);
                self.each_reader(gap.reader, from, |local| {
                    local.reader.on_gap(now, from, &gap.of_2());
                });
                self.take_state(now, own);
            }
            Submessage::Ack(ack) => self.handle_ack(now, context, &ack),
        }
    }

    fn handle_ack(&mut self, now: Instant, context: &mut Context, ack: &Ack) {
        if ack.writer == SELF_WRITER {
            // A manager that lacks the announcement asks for it.
            let place = self.place_of(context.from);
            let is_lacking = ack.set.base() <= self.v1.announced;
            let is_queued =
                |place: &Recipient| self.announcements.iter().any(|one| one.to == place.to);
            let place = place.filter(|place| is_lacking && !is_queued(place));
            if let Some(to) = place {
                self.announce(to);
            }
            return;
        }
        let from = Guid::new(context.from, ack.reader);
        let counted = ack.counted(self.v1.tick());
        let writer = self.writer_named(ack.writer);
        if !writer.is_some_and(|local| local.writer.on_ack_nack(now, from, &counted)) {
            self.counters.strangers += 1;
        }
        self.handle_proof(now, context, from, &counted);
    }

    /// Calls `handle` with octets behind the header that they have in other versions.
    fn with_head(&mut self, parts: [&[u8]; 3], handle: impl FnOnce(&mut Self, &[u8])) {
        let mut received = core::mem::take(&mut self.v1.received);
        received.clear();
        for part in parts {
            received.extend_from_slice(part);
        }
        handle(self, &received);
        self.v1.received = received;
    }

    fn handle_issue(&mut self, now: Instant, context: &Context, issue: &Issue<'_>) {
        let from = Guid::new(context.from, issue.writer);
        let head = value_head(issue.is_little_endian);
        self.with_head([&head, issue.payload, &[]], |this, payload| {
            let arrived = Arrived {
                sequence: issue.sequence,
                kind: ChangeKind::Alive,
                payload,
                inline: InlineQos::default(),
                time: context.time,
                at: now,
            };
            this.each_reader(issue.reader, from, |local| {
                local.reader.on_data(now, from, &arrived);
            });
        });
    }

    fn handle_var(&mut self, now: Instant, own: Role, context: &Context, var: &Var<'_>) {
        let of = var.of.map_or(context.from, Source::prefix);
        let object = Guid::new(of, var.object);
        let list = var.parameters.filter(|_| var.is_alive);
        let is_little_endian = list.is_none_or(|list| list.is_little_endian());
        let head = list_head(is_little_endian);
        let octets = list.map_or(&[][..], |list| list.octets());
        let end = SENTINELS[usize::from(is_little_endian)];
        self.with_head([&head, octets, &end], |this, payload| {
            let from = (context.from, context.origin);
            let is_itself = of == context.from && var.object == EntityId::PARTICIPANT;
            let says = var.writer == SELF_WRITER
                || var.writer == MANAGERS_WRITER && own == Role::Application;
            if is_itself && says {
                this.on_self(now, own, from, var.is_alive.then_some(payload));
            }
            this.on_object(now, context, var.sequence, var, (object, payload));
            this.take_state(now, own);
        });
    }

    /// Passes the state of an object to the built-in reader that knows the writer.
    fn on_object(
        &mut self,
        now: Instant,
        context: &Context,
        sequence: SequenceNumber,
        var: &Var<'_>,
        (object, payload): (Guid, &[u8]),
    ) {
        let from = Guid::new(context.from, var.writer);
        let is_gone = !var.is_alive;
        let arrived = Arrived {
            sequence,
            kind: if is_gone { ChangeKind::DisposedUnregistered } else { ChangeKind::Alive },
            payload: if is_gone { &[] } else { payload },
            inline: InlineQos {
                key_hash: Some(object.octets()),
                status: Status { is_disposed: is_gone, is_unregistered: is_gone },
                ..InlineQos::default()
            },
            time: context.time,
            at: now,
        };
        let mut is_known = false;
        for local in self.readers.iter_mut().flatten() {
            if local.reader.knows(from) {
                is_known = true;
                local.reader.on_data(now, from, &arrived);
            }
        }
        if !is_known && var.writer != SELF_WRITER {
            self.counters.strangers += 1;
        }
    }
}
