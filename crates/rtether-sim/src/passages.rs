//! Where packets of flows come, and when: what a search for bad releases looks at.

use alloc::vec::Vec;

use rtether_model::network::{NodeId, PortId};
use rtether_model::quantity::Instant;

use crate::Simulation;
use crate::observe::{Observer, PacketInfo};

/// A packet came to an end station, was released there, or left a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Its flow.
    pub flow: u32,
    /// Number of its release within the flow.
    pub number: u32,
    /// The end station, or the node of the port.
    pub node: NodeId,
    /// The port; `None` at an end station.
    pub port: Option<u16>,
    /// When the application released it.
    pub released_at: Instant,
    /// When it came, or began to leave the port.
    pub time: Instant,
}

/// Notes all passages, in order of time.
#[derive(Clone, Debug, Default)]
pub struct Passages(pub Vec<Passage>);

impl Passages {
    fn note(&mut self, time: Instant, node: NodeId, port: Option<u16>, packet: &PacketInfo) {
        if packet.arp.is_none() {
            self.0.push(Passage {
                flow: packet.flow.0,
                number: packet.number,
                node,
                port,
                released_at: packet.released_at,
                time,
            });
        }
    }
}

impl Observer for Passages {
    fn released(&mut self, now: Instant, packet: &PacketInfo) {
        self.note(now, packet.source, None, packet);
    }

    fn transmitted(&mut self, now: Instant, port: PortId, packet: &PacketInfo) {
        self.note(now, port.node, Some(port.port), packet);
    }

    fn received(&mut self, now: Instant, station: NodeId, packet: &PacketInfo) {
        self.note(now, station, None, packet);
    }
}

impl Simulation {
    /// Handles all events before `until` and returns the passages.
    ///
    /// Not generic, so that it is compiled with this crate and as fast, not with its caller.
    pub fn passages(&mut self, until: Instant) -> Passages {
        let mut passages = Passages::default();
        self.run_until(until, &mut passages);
        passages
    }
}
