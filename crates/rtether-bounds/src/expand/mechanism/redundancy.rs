//! Stations in two networks: each copy of a frame is followed as a stream of its own.
//!
//! **Theorem.** A bound on the delay of each copy, in a plant where no copy is discarded, bounds the
//! delay of what is delivered, whichever copy comes first, and if one of the networks fails.
//!
//! **Proof.** What a station takes is a part of all copies that arrive at it, each when it arrives, and
//! what it answers are the answers to these. The arrival curves at every place behind it, and those of
//! the packets of each way, are therefore at most those of all copies. The copy that is taken is one
//! of those bounded. With one network only, fewer copies remain. Two arguments need more than curves
//! and are not used: that a flow waits for its answer (`Plant::expect_copies`), and that segments over
//! TCP keep their order (`connection`).
//!
//! The price: at the stack of its receiver each frame counts twice, and so does each answer at both.

use alloc::vec::Vec;

use rtether_model::flow::Flow;
use rtether_model::network::{NodeId, PortId, Redundancy};

use crate::analysis::Reason;
use crate::expand::{Deliveries, Token, Walker};
use crate::plant::{Gap, Stream};
use crate::split;

/// Where copies end, or why they have no bound.
type Ends = Vec<Result<(u32, Gap), Reason>>;

impl Walker<'_> {
    /// Sends a frame by both ports of a station.
    pub(in crate::expand) fn send_by_both(
        &mut self,
        from: NodeId,
        redundancy: Redundancy,
        token: &Token,
        under_way: &mut Vec<(PortId, Token)>,
    ) -> Result<(), Reason> {
        for port in 0..2 {
            let mut copy = *token;
            copy.frame.lengthen(redundancy.trailer());
            if port > 0 {
                self.branches += 1;
                copy.branch = self.branches;
            }
            self.emit(PortId { node: from, port }, 0, copy, under_way)?;
        }
        Ok(())
    }

    /// Takes off what a sender in two networks has added to a frame.
    pub(in crate::expand) fn take_off_trailer(&self, from: NodeId, token: &mut Token) {
        let sender = self.network.end_station(from);
        if let Some(redundancy) = sender.and_then(|own| own.redundancy) {
            token.frame.shorten(redundancy.trailer());
        }
    }

    /// Returns whether the talker or a listener of a flow is in two networks, and not the same station.
    pub(in crate::expand) fn is_double(&self, flow: &Flow, listener: NodeId) -> bool {
        let ends = [flow.talker, listener];
        listener != flow.talker
            && ends.into_iter().any(|node| {
                let station = self.network.end_station(node);
                station.is_some_and(|own| own.redundancy.is_some())
            })
    }

    /// Adds a stream for each copy that gets to a listener or, of its answer, back to the talker.
    pub(in crate::expand) fn follow_copies(
        &mut self,
        flow: &Flow,
        listener: NodeId,
        arrived: Result<&Deliveries, &Reason>,
    ) {
        let mut ends = Ends::new();
        match arrived {
            Err(reason) => ends.push(Err(reason.clone())),
            Ok(all) => {
                let own = all.iter().filter(|(node, _)| *node == listener);
                for (_, token) in own {
                    self.follow_copy(flow, listener, token, &mut ends);
                }
            }
        }
        if ends.is_empty() {
            let error = self.routing.flow_path(self.network, flow, listener).err();
            ends.push(Err(error.map_or(Reason::NotDelivered, Reason::NoRoute)));
        }
        for end in ends {
            let end = end.map(|end| split::end(&self.plant, end));
            self.plant.streams.push(Stream { flow: self.flow, listener, end });
        }
    }

    /// Adds the ends of one copy: its own or, if it is answered, those of the copies of its answer.
    fn follow_copy(&mut self, flow: &Flow, listener: NodeId, token: &Token, ends: &mut Ends) {
        let Some(thinking) = self.thinking(flow) else {
            return ends.push(token.end());
        };
        match self.answers(flow, listener, token, thinking) {
            Err(reason) => ends.push(Err(reason)),
            Ok(back) => ends.extend(back.iter().map(|(_, token)| token.end())),
        }
    }
}
