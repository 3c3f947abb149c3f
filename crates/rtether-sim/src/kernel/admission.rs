//! Admission: flows that wait for their channel, and the messages about it.
//!
//! A message is a packet of its station's own flow: it passes the stack and the ports like those of
//! applications, untagged and without a deadline.

use alloc::sync::Arc;
use alloc::vec::Vec;

use rtether_model::flow::Flow;
use rtether_model::network::{Network, Partition};
use rtether_model::partition::LocalDeadlines;
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::wire::{self, Encapsulation};

use super::Simulation;
use crate::admission::Outgoing;
use crate::datagram::Message;
use crate::observe::Observer;
use crate::packet::{NONE, Packet, frame_octets};

impl Simulation {
    /// Returns whether a flow that is about to release has to wait for its channel; it asks for it
    /// if it has not done so. Its timer rests until the answer.
    #[cold]
    pub(super) fn waits_for_channel<O: Observer>(&mut self, index: u32, observer: &mut O) -> bool {
        let now = self.now();
        let Some(admission) = &mut self.admission else {
            return false;
        };
        if !admission.holds(now, index) {
            return false;
        }
        self.flows[index as usize].rest(&mut self.agenda);
        self.drain_admission(observer);
        true
    }

    /// Handles a message that has left the stack of a station.
    #[cold]
    pub(super) fn take_admission<O: Observer>(&mut self, index: u32, id: u32, observer: &mut O) {
        let now = self.now();
        let source = self.pool.get(id).source;
        let message = self.pool.take_message(id);
        self.pool.remove(id);
        let message = message.map(|message| message.octets);
        if let Some((admission, octets)) = self.admission.as_mut().zip(message) {
            admission.handle(now, index, source, &octets);
        }
        self.drain_admission(observer);
    }

    /// Handles the timer: messages without an answer, and flows that end.
    pub(super) fn wake_admission<O: Observer>(&mut self, observer: &mut O) {
        let now = self.now();
        if let Some(admission) = &mut self.admission {
            admission.handle_timeout(now);
        }
        self.drain_admission(observer);
    }

    /// Does what the engines ask for, and sets their timer.
    fn drain_admission<O: Observer>(&mut self, observer: &mut O) {
        while let Some(outgoing) = self.next_outgoing() {
            self.send_message(outgoing, observer);
        }
        let Some(admission) = &mut self.admission else {
            return;
        };
        while let Some(flow) = admission.poll_granted() {
            self.flows[flow as usize].begin(self.now, &mut self.agenda);
        }
        admission.set_timer(&mut self.agenda);
        if self.network.divides_anew() && admission.divisions() != self.divisions {
            self.divide_deadlines();
        }
    }

    fn next_outgoing(&mut self) -> Option<Outgoing> {
        self.admission.as_mut()?.poll_transmit()
    }

    fn send_message<O: Observer>(&mut self, outgoing: Outgoing, observer: &mut O) {
        let Outgoing { source, destination, octets } = outgoing;
        let Some(flow) = self.admission.as_ref().map(|own| own.flow_of(source)) else {
            return;
        };
        let payload = Bytes::new(u64::try_from(octets.len()).unwrap_or(u64::MAX));
        let frame = wire::frame_size(payload, Encapsulation::Raw);
        let id = self.pool.insert(Packet {
            released_at: self.now,
            stream: NONE,
            size: frame_octets(frame).unwrap_or(u16::MAX),
            ..self.flows[flow as usize].frame(flow, source, destination)
        });
        self.pool.set_message(id, Message::plain(&octets));
        self.send(source, id, observer);
    }

    /// Tells ports that select by deadline the parts of all deadlines. If they depend on the channels
    /// that there are, all ports have them at once.
    pub(super) fn divide_deadlines(&mut self) {
        let Some(found) = self.divided() else {
            return;
        };
        let flows = self.flow_list.len();
        let (found, others) = found;
        let at = |port| -> Arc<[i64]> {
            let of_flow = |flow| {
                // A flow without a channel may have frames under way.
                let part = found.at(flow, port).or_else(|| others.at(flow, port));
                part.map_or(i64::MAX, Duration::as_ps)
            };
            (0..flows).map(of_flow).collect()
        };
        let mut shared = None;
        for (rest, queues) in self.port_rests.iter().zip(&mut self.queues) {
            if !queues.is_by_deadline() {
                continue;
            }
            if found.differ() {
                queues.set_local_deadlines(at(rest.id()));
            } else {
                let shared = shared.get_or_insert_with(|| at(rest.id()));
                queues.set_local_deadlines(Arc::clone(shared));
            }
        }
    }

    /// Returns the parts of all deadlines, with those of flows that they leave out; `None` if no port
    /// selects by them.
    fn divided(&mut self) -> Option<(LocalDeadlines, LocalDeadlines)> {
        let network = &self.network;
        if !network.selects_by_deadline() {
            return None;
        }
        let divide = |network, flows: &[Flow]| LocalDeadlines::new(network, flows, &self.routing);
        let admission = self.admission.as_ref();
        let Some(admission) = admission.filter(|_| network.divides_anew()) else {
            return Some((divide(network, &self.flow_list), LocalDeadlines::default()));
        };
        self.divisions = admission.divisions();
        let mut flows: Vec<Flow> = self.flow_list.clone();
        for flow in &mut flows {
            flow.deadline = None;
        }
        for flow in admission.division() {
            flows[flow as usize].deadline = self.flow_list[flow as usize].deadline;
        }
        let equal = Network { partition: Partition::Equal, ..network.clone() };
        Some((divide(network, &flows), divide(&equal, &self.flow_list)))
    }
}
