//! Records copies of frames that mirror ports send. They cost time and memory of the mirror port alone,
//! and nothing is delivered.

use alloc::vec::Vec;

use rtether_model::network::{PortId, Switch};

use super::{Token, Walker};
use crate::analysis::Reason;
use crate::plant::Gap;

impl Walker<'_> {
    /// Sends the copy of a frame that a switch has received at a port, if the port is looked at.
    pub(super) fn mirror_received(
        &mut self,
        switch: &Switch,
        port: PortId,
        token: &Token,
        under_way: &mut Vec<(PortId, Token)>,
    ) -> Result<(), Reason> {
        let Some(mirror) = &switch.mirror else {
            return Ok(());
        };
        if !mirror.copies_received(port.port) {
            return Ok(());
        }
        let to = PortId { port: mirror.to, ..port };
        let mut copy = *token;
        if self.is_held(switch, to, token) {
            copy.gap = copy.gap.then(token.tail);
        }
        self.send_copy(switch, to, copy, under_way)
    }

    /// Sends the copy of a frame whose transmission by a port begins, if the port is looked at.
    pub(super) fn mirror_sent(
        &mut self,
        port: PortId,
        sent: &Token,
        under_way: &mut Vec<(PortId, Token)>,
    ) -> Result<(), Reason> {
        let network = self.network;
        let Some(switch) = network.switch(port.node) else {
            return Ok(());
        };
        match &switch.mirror {
            Some(mirror) if mirror.copies_sent(port.port) => {
                let to = PortId { port: mirror.to, ..port };
                let copy = Token { gap: Gap::default(), ..*sent };
                self.send_copy(switch, to, copy, under_way)
            }
            _ => Ok(()),
        }
    }

    fn send_copy(
        &mut self,
        switch: &Switch,
        to: PortId,
        copy: Token,
        under_way: &mut Vec<(PortId, Token)>,
    ) -> Result<(), Reason> {
        let queue = if switch.selection_at(to.port).uses_queues() {
            switch.queues.queue_of_value(copy.frame.pcp)
        } else {
            0
        };
        // It ends behind the port.
        let end = under_way.len();
        self.emit(to, queue, copy, under_way)?;
        under_way.truncate(end);
        Ok(())
    }
}
