//! Records exchanges of address resolution, and the packets that they hold.

use rtether_model::flow::Flow;
use rtether_model::wire::Encapsulation;

use crate::classify::Way;
use crate::expand::{Target, Token, Walker};
use crate::frame::Frame;
use crate::held::held;
use crate::source::add;

impl Walker<'_> {
    /// Follows the request of an exchange, which everyone hears, and the reply.
    pub(in crate::expand) fn follow_exchange(&mut self, flow: &Flow) {
        let way = Way { flow, number: self.flow, from: flow.talker, to: None, is_answer: false };
        let request = Token::released(Frame::of(flow, false));
        let arrived = self.send(&way, &Target::All, request);
        for &listener in &flow.listeners {
            if self.is_double(flow, listener) {
                self.follow_copies(flow, listener, arrived.as_ref());
                continue;
            }
            let stream = self.follow_answer(flow, listener, &arrived);
            self.plant.streams.push(stream);
        }
    }

    /// Holds a packet that leaves a stack until the address of its destination is known.
    pub(in crate::expand) fn resolve(&self, way: &Way<'_>, token: &mut Token) {
        let Some(to) = way.to.filter(|_| way.flow.encapsulation.is_ip()) else {
            return;
        };
        let held = held(self.resolutions, self.network, way.from, to);
        token.unresolved = token.unresolved.or(held.reason);
        token.is_policed |= held.reason.is_some();
        if held.max == 0 {
            return;
        }
        token.gap.max = add(token.gap.max, held.max);
        // Those held leave at once, and others pass them.
        token.spacing = None;
        if let Some(limit) = token.limit.as_mut().filter(|limit| limit.begins) {
            limit.delay = add(limit.delay, held.max);
        }
    }
}

/// Returns whether a flow is an exchange.
pub(in crate::expand) fn is_exchange(flow: &Flow) -> bool {
    flow.encapsulation == Encapsulation::Arp
}
