//! Gaps of flows: frames that their station holds between stack and port.

use rtether_model::record::Segment;

use super::Simulation;
use crate::observe::Observer;
use crate::spacing::{Offered, Spacing};

impl Simulation {
    /// Gives each flow with a gap its spacing; answers and other flows of the station have none.
    pub(super) fn space_flows(&mut self) {
        for (number, flow) in (0u32..).zip(&self.flow_list) {
            let Some(gap) = flow.kept_gap(&self.network) else {
                continue;
            };
            let talker = self.flows[number as usize].talker();
            self.stations[talker as usize].space();
            self.spacings.push(Spacing::new(number, talker, gap));
        }
    }

    /// Returns whether a packet at the bottom of the stack of its talker does not go to the port now,
    /// because its flow has a gap.
    #[cold]
    pub(super) fn keeps_gap<O: Observer>(&mut self, index: u32, id: u32, observer: &mut O) -> bool {
        let now = self.now();
        let flow = self.pool.get(id).flow;
        let found = self.spacings.binary_search_by_key(&flow, Spacing::flow);
        let Ok(number) = found else { return false };
        let spacing = &mut self.spacings[number];
        match spacing.offer(now, id, &mut self.pool, &mut self.agenda) {
            Offered::Leaves => false,
            Offered::Held => true,
            Offered::Full => {
                self.refuse(index, id, observer);
                true
            }
        }
    }

    /// Passes the frame whose gap has ended to the port.
    pub(super) fn end_gap<O: Observer>(&mut self, number: u32, observer: &mut O) {
        let spacing = &mut self.spacings[number as usize];
        let index = spacing.station();
        let Some(id) = spacing.pop(&self.pool, &mut self.agenda) else {
            return;
        };
        let packet = self.pool.get_mut(id);
        let held = self.now - packet.mark;
        packet.spend(Segment::TalkerStack, index, held);
        self.leave_station(index, id, observer);
    }
}
