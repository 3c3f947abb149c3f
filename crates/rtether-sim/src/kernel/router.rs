//! Routers: a processor between the ports by which a frame comes and leaves.

use rtether_model::network::Vid;
use rtether_model::record::Segment;

use super::Simulation;
use crate::observe::{DropReason, Observer};
use crate::packet::NONE;
use crate::servers::Entry;
use crate::switch::Way;

impl Simulation {
    /// Hands a frame that port `from` has sent to the processor of a router, if it leaves by another
    /// port than it came. Not inlined, so that switches do not pay for it.
    #[inline(never)]
    pub(super) fn enter_router<O: Observer>(
        &mut self,
        index: u32,
        ingress: u32,
        id: u32,
        from: u32,
        observer: &mut O,
    ) {
        match self.way_through(index, id) {
            Way::One(NONE) => return self.filter(index, id, Some(from), observer),
            Way::One(egress) if egress != ingress => {}
            Way::Group(ways) if ways.iter().any(|&egress| egress != ingress) => {}
            Way::One(_) | Way::Group(_) | Way::Nowhere | Way::Flood => {
                return self.filter(index, id, None, observer);
            }
        }
        let packet = self.pool.get_mut(id);
        packet.mark = self.now;
        packet.held_for = from;
        let switch = &mut self.switches[index as usize];
        let entry = switch
            .processor_mut()
            .map_or(Entry::Full, |processor| processor.enter(id, false, &mut self.pool));
        match entry {
            Entry::Serve(_) => self.begin_routing(index, id),
            Entry::Wait => {}
            Entry::Full => {
                switch.note_refused();
                let node = switch.node();
                self.lose(id, node, Some(from), DropReason::StackFull, observer);
            }
        }
    }

    fn way_through(&self, index: u32, id: u32) -> Way {
        let (switch, packet) = (&self.switches[index as usize], self.pool.get(id));
        switch.way(index, packet, self.now, &self.forwarding, self.flooded_from)
    }

    /// Begins to decide about a packet.
    fn begin_routing(&mut self, index: u32, id: u32) {
        let seed = self.visitor(id).and_then(|visitor| visitor.seed);
        let packet = self.pool.get_mut(id);
        let Some(processor) = self.switches[index as usize].processor_mut() else {
            return;
        };
        if let Some(seed) = seed {
            processor.seed(&[seed, index.into(), 2]);
        }
        let cost = processor.cost(packet.size.into(), false);
        packet.due = self.now + cost;
        processor.begin(0, id, cost, packet.due, &mut self.agenda);
    }

    /// Passes on the packet that a router has decided about, and begins with the next one.
    pub(super) fn complete_routing<O: Observer>(&mut self, index: u32, observer: &mut O) {
        let Some(processor) = self.switches[index as usize].processor_mut() else {
            return;
        };
        let id = processor.complete(0);
        match processor.next(0, &self.pool) {
            Some(next) => self.begin_routing(index, next),
            None => processor.rest(0, &mut self.agenda),
        }
        let packet = self.pool.get_mut(id);
        let from = packet.held_for;
        packet.spend(Segment::SwitchLatency, from, self.now - packet.mark);
        match self.way_through(index, id) {
            Way::One(egress) => self.pass_on(index, id, Vid::DEFAULT, from, egress, observer),
            Way::Group(ways) => self.copy_to(index, id, Vid::DEFAULT, from, ways, observer),
            Way::Nowhere | Way::Flood => self.filter(index, id, None, observer),
        }
    }
}
