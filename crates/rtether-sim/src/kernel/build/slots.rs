//! Slots of timers, which are the order of the events of one instant.
//!
//! Events of one kind are ordered by the names of nodes and flows, so that the order in which a file
//! lists them does not matter.

use alloc::vec::Vec;

use rtether_model::network::NodeId;

use super::numbered;
use crate::agenda::Agenda;
use crate::conversation::{LISTENER, TALKER};
use crate::error::BuildError;
use crate::kernel::{Action, Simulation};
use crate::mechanism::Level;
use crate::packet::NONE;

/// Places of nodes and flows in the order of their names.
struct Ranks {
    /// By node.
    nodes: Vec<u32>,
    /// By flow, as it is numbered in the simulation.
    flows: Vec<u32>,
    /// Flows in this order.
    flow_order: Vec<u32>,
}

impl Ranks {
    fn of(simulation: &Simulation) -> Self {
        let nodes = &simulation.network.nodes;
        let mut order: Vec<u32> = numbered(nodes.len()).collect();
        order.sort_by_key(|&node| &nodes[node as usize].name);
        let nodes = inverse(&order);
        // The flow of a station's requests for addresses has no name of its own.
        let list = &simulation.flow_list;
        let mut flow_order: Vec<u32> = numbered(simulation.flows.len()).collect();
        flow_order.sort_by_key(|&flow| {
            let flow = list.get(flow as usize);
            flow.map(|flow| (&flow.name, nodes[flow.talker.index()]))
        });
        Self { nodes, flows: inverse(&flow_order), flow_order }
    }

    fn node(&self, node: NodeId) -> u32 {
        self.nodes[node.index()]
    }
}

/// Returns the place of each number in an order.
fn inverse(order: &[u32]) -> Vec<u32> {
    let mut places = alloc::vec![0; order.len()];
    for (place, &number) in (0u32..).zip(order) {
        places[number as usize] = place;
    }
    places
}

/// Returns the numbers below `count` in the order of their keys.
fn sorted_by<K: Ord>(count: usize, key: impl Fn(usize) -> K) -> Vec<u32> {
    let mut numbers: Vec<u32> = numbered(count).collect();
    numbers.sort_by_cached_key(|&number| key(number as usize));
    numbers
}

/// The timers given so far.
struct Slots(Vec<Action>);

impl Slots {
    fn give(&mut self, action: Action) -> Result<u32, BuildError> {
        let slot = self.len()?;
        self.0.push(action);
        Ok(slot)
    }

    fn len(&self) -> Result<u32, BuildError> {
        u32::try_from(self.0.len()).map_err(|_| BuildError::TooLarge)
    }
}

impl Simulation {
    /// Gives each timer its slot, in the order of [`Action`].
    pub(super) fn give_slots(&mut self) -> Result<(), BuildError> {
        let ranks = Ranks::of(self);
        self.group_releases(&ranks)?;
        let mut slots = Slots(Vec::new());
        self.give_to_ways(&ranks, &mut slots)?;
        let near = slots.len()?;
        self.give_to_layers(&ranks, &mut slots)?;
        self.give_to_ends(&ranks, &mut slots)?;
        let at_media = slots.len()?;
        self.give_to_selections(&ranks, true, &mut slots)?;
        self.give_to_media(&ranks, &mut slots)?;
        let last = slots.len()?;
        self.give_to_selections(&ranks, false, &mut slots)?;
        self.selects_from = [at_media, last];
        self.agenda = Agenda::new(slots.len()?, [near, last]);
        self.actions = slots.0;
        Ok(())
    }

    /// Lets flows that follow each other by name and release at the same times share a timer. A flow
    /// that waits for its channel rests alone.
    fn group_releases(&mut self, ranks: &Ranks) -> Result<(), BuildError> {
        let has_channels = self.admission.is_some();
        let mut rest = &ranks.flow_order[..];
        while let [leader, others @ ..] = rest {
            let flow = &self.flows[*leader as usize];
            let follows = |own: &&u32| flow.releases_as(&self.flows[**own as usize]);
            let more = if has_channels { 0 } else { others.iter().take_while(follows).count() };
            let together = u32::try_from(more + 1).map_err(|_| BuildError::TooLarge)?;
            self.flows[*leader as usize].set_together(together);
            rest = &others[more..];
        }
        self.release_order.clone_from(&ranks.flow_order);
        Ok(())
    }

    /// Gives timers to what frames meet on their way: links, cut-through switches, stacks, routers.
    fn give_to_ways(&mut self, ranks: &Ranks, slots: &mut Slots) -> Result<(), BuildError> {
        // Frames for one node arrive in the order of their senders' names.
        let order = sorted_by(self.ports.len(), |port| {
            let (own, peer) = (self.port_rests[port].id(), self.ports[port].peer());
            let at = (peer != NONE).then(|| ranks.node(self.port_rests[peer as usize].id().node));
            (at, ranks.node(own.node), own.port)
        });
        for &index in &order {
            let slot = slots.give(Action::Arrival(index))?;
            self.ports[index as usize].set_arrival_slot(slot);
        }
        for &index in &order {
            if self.ports[index as usize].is_cut_through() {
                let slot = slots.give(Action::Stored(index))?;
                self.port_rests[index as usize].set_stored_slot(slot);
            }
        }
        for index in self.stations_in_order(ranks) {
            let stack = &mut self.stacks[index as usize];
            for server in 0..stack.servers() {
                stack.set_slot(server, slots.give(Action::Stack(index, server))?);
            }
        }
        let switches = &self.switches;
        for index in sorted_by(switches.len(), |own| ranks.node(switches[own].node())) {
            if let Some(processor) = self.switches[index as usize].processor_mut() {
                processor.set_slot(0, slots.give(Action::Router(index))?);
            }
        }
        Ok(())
    }

    fn stations_in_order(&self, ranks: &Ranks) -> Vec<u32> {
        sorted_by(self.stations.len(), |own| ranks.node(self.stations[own].node()))
    }

    /// Gives timers to tasks, layers and mechanisms of stations, and to the manager of channels.
    fn give_to_layers(&mut self, ranks: &Ranks, slots: &mut Slots) -> Result<(), BuildError> {
        for index in self.stations_in_order(ranks) {
            if let Some(layer) = self.stations[index as usize].layer() {
                let slot = slots.give(Action::Layer(index))?;
                self.layers[layer as usize].set_slot(slot);
            }
        }
        let order = sorted_by(self.mechanisms.len(), |own| {
            let own = &self.mechanisms[own];
            let place = match own.level {
                Level::Gap => ranks.flows[own.flow as usize],
                Level::Arp | Level::Redundancy => {
                    ranks.node(self.stations[own.station as usize].node())
                }
            };
            (own.level, place)
        });
        for index in order {
            if self.mechanisms[index as usize].holds() {
                let slot = slots.give(Action::Mechanism(index))?;
                self.mechanisms[index as usize].set_slot(slot);
            }
        }
        if let Some(admission) = &mut self.admission {
            admission.set_slot(slots.give(Action::Admission)?);
        }
        Ok(())
    }

    /// Gives timers to the ends of flows.
    fn give_to_ends(&mut self, ranks: &Ranks, slots: &mut Slots) -> Result<(), BuildError> {
        for &index in &ranks.flow_order {
            if self.flows[index as usize].answers_late() {
                let slot = slots.give(Action::Reply(index))?;
                self.flows[index as usize].set_answer_slot(slot);
            }
        }
        let bulk = &self.bulk;
        for index in sorted_by(bulk.len(), |own| ranks.flows[bulk[own].flow() as usize]) {
            let sender = slots.give(Action::TcpSender(index))?;
            let receiver = slots.give(Action::TcpReceiver(index))?;
            self.bulk[index as usize].set_slots(sender, receiver);
        }
        // Those of one flow are in the order of its listeners.
        let own = &self.conversations;
        for index in
            sorted_by(own.len(), |number| (ranks.flows[own[number].flow() as usize], number))
        {
            let talker = slots.give(Action::TcpEnd(index, TALKER))?;
            let listener = slots.give(Action::TcpEnd(index, LISTENER))?;
            self.conversations[index as usize].set_slots([talker, listener]);
        }
        let parties = self.publications.participants();
        let order = sorted_by(parties, |own| {
            let station = self.publications.station_of(own);
            ranks.node(self.stations[station as usize].node())
        });
        for index in order {
            self.publications.set_slot(index, slots.give(Action::Party(index))?);
        }
        for (place, &index) in (0u32..).zip(&ranks.flow_order) {
            let action = match self.flows[index as usize].together() {
                0 => continue,
                1 => Action::Release(index),
                _ => Action::ReleaseTogether(place),
            };
            let slot = slots.give(action)?;
            self.flows[index as usize].set_slot(slot);
        }
        Ok(())
    }

    /// Gives timers to media and their access schemes.
    fn give_to_media(&mut self, ranks: &Ranks, slots: &mut Slots) -> Result<(), BuildError> {
        let order = sorted_by(self.shared.len(), |own| {
            let members = self.shared[own].attachments();
            let ports = members.map(|own| self.attachments[own as usize].port());
            ports.map(|port| ranks.node(self.port_rests[port as usize].id().node)).min()
        });
        for &index in &order {
            self.shared[index as usize].set_slot(slots.give(Action::Medium(index))?);
        }
        for &index in &order {
            if let Some(access) = self.shared[index as usize].scheme_mut() {
                access.set_slot(slots.give(Action::Access(index))?);
            }
        }
        Ok(())
    }

    /// Gives timers to what selects among frames, at media or elsewhere: layers, then ports.
    fn give_to_selections(
        &mut self,
        ranks: &Ranks,
        at_media: bool,
        slots: &mut Slots,
    ) -> Result<(), BuildError> {
        for index in self.stations_in_order(ranks) {
            let Some(layer) = self.stations[index as usize].layer() else {
                continue;
            };
            if self.is_on_shared_medium(index) == at_media {
                let slot = slots.give(Action::Select(index))?;
                self.layers[layer as usize].instantly.set_slot(slot);
            }
        }
        let order = sorted_by(self.ports.len(), |port| {
            let own = self.port_rests[port].id();
            (ranks.node(own.node), own.port)
        });
        for index in order {
            // A medium takes the frames of a single queue as they come.
            let queues = &self.queues[index as usize];
            let selects = !at_media || queues.has_choice() || queues.is_asked_when_idle();
            if selects && self.ports[index as usize].attachment().is_some() == at_media {
                let slot = slots.give(Action::Wake(index))?;
                self.ports[index as usize].set_wake_slot(slot);
            }
        }
        Ok(())
    }
}
