//! Access schemes: turns of stations on a shared medium, and what they hear.

use rtether_model::access::{ORDINARY, REAL_TIME, class_of};
use rtether_model::quantity::Bytes;
use rtether_proto::access::{Queue, Turn};

use super::Simulation;
use crate::access::{CONTROL_FRAME, Cargo};
use crate::agenda::NEVER;
use crate::medium::{Event, EventKind};
use crate::observe::Observer;
use crate::shared::Attachment;

impl Simulation {
    /// Returns whether a port on a medium follows an access scheme.
    pub(super) fn follows_scheme(&self, attachment: Attachment) -> bool {
        let access = self.shared[attachment.domain() as usize].scheme();
        access.is_some_and(|access| access.is_member(attachment.station()))
    }

    /// Returns the queue of a frame at a port that may follow an access scheme, instead of the one
    /// for its priority; `None` if the scheme does not let the port send it.
    pub(super) fn queue_in_scheme(&self, index: u32, id: u32, queue: u8) -> Option<u8> {
        let Some(number) = self.ports[index as usize].attachment() else {
            return Some(queue);
        };
        let attachment = self.attachments[number as usize];
        let shared = &self.shared[attachment.domain() as usize];
        let Some(access) = shared.scheme() else {
            return Some(queue);
        };
        let packet = self.pool.get(id);
        let flow = self.flow_list.get(packet.flow as usize);
        let class = flow.map_or(ORDINARY, class_of);
        let size = packet.frame_size().unsigned_abs();
        let station = attachment.station();
        let may_send = !access.is_member(station) || access.admits(station, class, size);
        may_send.then_some(class)
    }

    /// Handles the timer of an access scheme: stations hear something, or have their turn.
    pub(super) fn wake_access<O: Observer>(&mut self, domain: u32, observer: &mut O) {
        let Some(access) = self.shared[domain as usize].scheme_mut() else {
            return;
        };
        let awake = access.wake(self.now);
        if let Some(returned) = access.take_returned() {
            self.come_back(domain, returned, observer);
        }
        for station in awake {
            let number = self.shared[domain as usize].attachment(station);
            self.take_turn(number);
        }
        self.set_timers(domain);
    }

    /// Asks whether a port that follows a scheme has its turn, unless it is sending.
    pub(super) fn ask_for_turn(&mut self, number: u32) {
        self.take_turn(number);
        self.set_timers(self.attachments[number as usize].domain());
    }

    fn set_timers(&mut self, domain: u32) {
        let shared = &self.shared[domain as usize];
        shared.set_timer(&mut self.agenda);
        if let Some(access) = shared.scheme() {
            access.set_timer(&mut self.agenda);
        }
    }

    fn take_turn(&mut self, number: u32) {
        while self.take_one_turn(number) {}
    }

    /// Does what a station does next; returns whether it may do more at once.
    fn take_one_turn(&mut self, number: u32) -> bool {
        let attachment = self.attachments[number as usize];
        let (index, station) = (attachment.port(), attachment.station());
        let queues = &self.queues[index as usize];
        let now = self.now;
        let Some(access) = self.shared[attachment.domain() as usize].scheme_mut() else {
            return false;
        };
        let heads = [ORDINARY, REAL_TIME].map(|class| queues.head(&self.pool, class));
        let heads = heads.map(|size| size.map(Bytes::new));
        if attachment.frame().is_some() || access.is_controlling(station) {
            // It is asked again when it hears its own frame.
            access.wake_at(station, NEVER);
            return false;
        }
        match access.poll(now, station, &Queue { heads }) {
            Turn::Control(control) => {
                let shared = &mut self.shared[attachment.domain() as usize];
                shared.offer(now, station, CONTROL_FRAME, control.size.get(), now);
            }
            Turn::Data { class, .. } => {
                if let Err(time) = self.hand_over(index, Some(class))
                    && let Some(access) = self.shared[attachment.domain() as usize].scheme_mut()
                {
                    access.wake_at(station, time);
                }
            }
            Turn::Load { class } => return self.load(number, class),
            Turn::NotBefore(_) | Turn::Silent => {}
        }
        false
    }

    /// Puts the oldest frame of a class into the summation frame that passes a port. Returns whether
    /// there was one.
    fn load(&mut self, number: u32, class: u8) -> bool {
        let attachment = self.attachments[number as usize];
        let Ok((id, class)) = self.take_head(attachment.port(), Some(class)) else {
            return false;
        };
        if let Some(access) = self.shared[attachment.domain() as usize].scheme_mut() {
            let station = attachment.station();
            access.load(Cargo { station, id, class });
        }
        true
    }

    /// Notes that a frame has left its station, or that a control frame was given up. Returns
    /// whether it was a control frame.
    pub(super) fn hear_medium(&mut self, domain: u32, event: &Event) -> bool {
        let is_control = event.frame == CONTROL_FRAME;
        let now = self.now;
        let (medium, access) = self.shared[domain as usize].parts();
        let Some(access) = access else {
            return false;
        };
        match event.kind {
            EventKind::Delivered { .. } => {
                let delay = |to| medium.propagation(event.station, to).as_ps();
                access.ended(now, event.station, delay);
            }
            EventKind::Garbled { .. } | EventKind::Dropped { .. } => {
                access.given_up(now, event.station);
            }
            EventKind::Started | EventKind::Collision { .. } => {
                let begins = event.kind == EventKind::Started;
                let delay = |to| medium.propagation(event.station, to).as_ps();
                access.signalled(now, event.station, begins, delay);
            }
            EventKind::Sent { .. } => {}
        }
        access.set_timer(&mut self.agenda);
        is_control
    }
}
