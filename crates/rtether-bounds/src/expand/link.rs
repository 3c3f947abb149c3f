//! Records the path over a link.

use alloc::vec::Vec;

use rtether_model::network::PortId;

use super::{Token, Walker};
use crate::analysis::{AccessObstacle, Reason};
use crate::frame::Frame;
use crate::frame::{HEADER, PREAMBLE, wire_octets};
use crate::index::NONE;
use crate::plant::Gap;
use crate::servers::Wire;
use crate::source::{add, times};
use crate::stack::Service;

impl Walker<'_> {
    /// Sends a frame by a port, if it has a link.
    pub(super) fn emit(
        &mut self,
        port: PortId,
        queue: u8,
        mut token: Token,
        under_way: &mut Vec<(PortId, Token)>,
    ) -> Result<(), Reason> {
        let Some(wire) = self.sites.wire(port) else {
            return Ok(());
        };
        self.budget = self.budget.checked_sub(1).ok_or(self.loops())?;
        if wire.server == NONE {
            // A hub sends on what it hears.
            token.gap = token.gap.then(wire.flight);
            if wire.carriage.is_some_and(|own| !own.is_master) {
                token.gap.max = add(token.gap.max, token.relay);
            }
        } else {
            let [_, large] = token.frame.tagged_sizes();
            if large > wire.largest[usize::from(self.class)] {
                let obstacle = AccessObstacle::Frame;
                return Err(Reason::Access { port, obstacle });
            }
            let queue = if wire.has_turns { self.class } else { queue };
            let cost = transmission(&token.frame, wire.octet);
            self.visit(&mut token, wire.server, queue, cost, false);
            self.mirror_sent(port, &token, under_way)?;
            self.cross(&wire, &mut token);
        }
        under_way.push((wire.to, token));
        Ok(())
    }

    /// Sets the gap from the beginning of a transmission to the other end of the link.
    fn cross(&self, wire: &Wire, token: &mut Token) {
        let [small, large] = token.frame.tagged_sizes();
        let last_bit = |size| times(wire.octet, size + PREAMBLE);
        let whole = Gap::between(last_bit(small), last_bit(large));
        let header = times(wire.octet, HEADER + token.frame.tag_octets());
        let server = &self.plant.servers[wire.server as usize];
        let seen = if server.is_cut_through { Gap::exact(header) } else { whole };
        token.tail = Gap::between(whole.min - seen.min, whole.max - seen.max);
        token.gap = seen.then(wire.flight);
        token.octet = wire.octet;
        if let Some(own) = wire.carriage {
            // It is in a frame that passes, whose length says nothing about its own.
            let class = usize::from(self.class);
            token.gap = Gap::between(own.least[class], own.most[class]).then(wire.flight);
            token.relay = own.relay[class];
        }
    }
}

/// Returns how long a frame occupies a link.
pub(super) fn transmission(frame: &Frame, octet: i64) -> Service {
    let time = frame.tagged_sizes().map(|size| times(octet, wire_octets(size)));
    Service::fixed(time[0], time[1])
}
