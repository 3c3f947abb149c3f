//! Mechanisms of stations: the walk of a packet from the stack down to the port, their timers, and
//! their books ([`crate::mechanism`]).

mod arp;
mod build;
mod redundancy;

pub(super) use build::resolving;

use rtether_model::quantity::Bytes;
use rtether_model::record::{NodeRecord, Segment};
use rtether_proto::mechanism::{Offer, Work};

use super::Simulation;
use crate::mechanism::{Frame, Level, Mechanism};
use crate::observe::Observer;
use crate::packet::GROUP;

impl Simulation {
    /// Passes a packet from the bottom of the stack to the port, through the mechanisms of its
    /// station from a level on.
    #[cold]
    pub(super) fn descend<O: Observer>(
        &mut self,
        index: u32,
        id: u32,
        from: Level,
        observer: &mut O,
    ) {
        for level in Level::ALL.into_iter().filter(|&level| level >= from) {
            // The layer is below what needs an address; it has no gaps, and one network.
            if level == Level::Gap && self.stations[index as usize].layer().is_some() {
                self.hand_down(index, id, observer);
                self.set_layer_timer(index);
                return;
            }
            if self.stations[index as usize].has(level)
                && let Some(number) = self.mechanism_for(index, level, self.pool.get(id).flow)
                && !self.passes(number, id, observer)
            {
                return;
            }
        }
        let port = self.stations[index as usize].port();
        self.enqueue(port, id, observer);
    }

    /// Returns the number of the mechanism of a station at a level that is for the packets of a
    /// flow.
    fn mechanism_for(&self, index: u32, level: Level, flow: u32) -> Option<usize> {
        // Only gaps are of one flow each.
        let flow = if level == Level::Gap { flow } else { 0 };
        self.mechanisms.binary_search_by_key(&(index, level, flow), Mechanism::key).ok()
    }

    /// Offers a packet to a mechanism; returns whether it goes on at once, as it is.
    fn passes<O: Observer>(&mut self, number: usize, id: u32, observer: &mut O) -> bool {
        let now = self.now();
        let frame = self.frame(id);
        let mechanism = &mut self.mechanisms[number];
        let station = mechanism.station;
        match mechanism.offer(now, &frame) {
            // Only ports of switches mark.
            Offer::Pass | Offer::Mark(_) => return true,
            Offer::Hold => {
                self.pool.get_mut(id).mark = self.now;
                self.drain_mechanism(number, observer);
            }
            Offer::Drop => self.refuse(station, id, observer),
            Offer::Copy => self.send_by_both(station, id, observer),
        }
        false
    }

    /// Returns what mechanisms may know of a packet.
    fn frame(&self, id: u32) -> Frame {
        let packet = self.pool.get(id);
        let flow = &self.flow_list[packet.flow as usize];
        let is_one = packet.destination & GROUP == 0 && flow.encapsulation.is_ip();
        Frame {
            id,
            size: Bytes::new(packet.frame_size().unsigned_abs()),
            neighbor: is_one.then(|| self.stations[packet.destination as usize].node()),
        }
    }

    /// Handles the timer of a mechanism.
    pub(super) fn wake_mechanism<O: Observer>(&mut self, number: u32, observer: &mut O) {
        let now = self.now();
        self.mechanisms[number as usize].handle_timeout(now);
        self.drain_mechanism(number as usize, observer);
    }

    /// Does what a mechanism asks for, and sets its timer.
    fn drain_mechanism<O: Observer>(&mut self, number: usize, observer: &mut O) {
        let now = self.now();
        let Mechanism { station, level, .. } = self.mechanisms[number];
        while let Some(work) = self.mechanisms[number].poll(now) {
            match work {
                Work::Release(id) => {
                    let packet = self.pool.get_mut(id);
                    let held = self.now - packet.mark;
                    packet.spend(Segment::TalkerStack, station, held);
                    match level {
                        Level::Arp => self.descend(station, id, Level::Gap, observer),
                        Level::Gap => self.descend(station, id, Level::Redundancy, observer),
                        // It holds none.
                        Level::Redundancy => {}
                    }
                }
                Work::Drop(id) => {
                    let node = self.stations[station as usize].node();
                    let reason = self.mechanisms[number].reason();
                    self.lose(id, node, None, reason, observer);
                }
                Work::Ask(id) => self.ask_for_address(station, id, observer),
            }
        }
        self.mechanisms[number].set_timer(&mut self.agenda);
    }

    /// Visits the packets that mechanisms hold, with their stations.
    pub(super) fn for_each_held(&self, mut visit: impl FnMut(u32, u32)) {
        for mechanism in &self.mechanisms {
            mechanism.held().into_iter().for_each(|id| visit(mechanism.station, id));
        }
    }

    /// Enters the counters of all mechanisms in the records of their nodes.
    pub(super) fn count_mechanisms(&self, records: &mut [NodeRecord]) {
        for mechanism in &self.mechanisms {
            let node = self.stations[mechanism.station as usize].node();
            mechanism.count_in(&mut records[node.index()]);
        }
    }
}
