//! Mechanisms that a frame meets on its way, one file for each, of the name of its engine in
//! `rtether_proto::mechanism`: what each holds is a visit of a server, and what it lets through a
//! limit on the arrivals behind it.

mod arp;
mod filter;
mod gap;
mod ingress;
mod police;
mod redundancy;

use alloc::vec::Vec;

use rtether_model::ingress::IngressRule;
use rtether_model::network::{EndStation, PortId};

use super::{Token, Walker};
use crate::analysis::Reason;
use crate::classify::Way;
use crate::ingress::marked;

pub(super) use arp::is_exchange;
pub(super) use ingress::Split;

impl Walker<'_> {
    /// Follows a frame from the bottom of the stack of its talker to its port, or to both, through
    /// the mechanisms in between, in their order; returns the frames on the links.
    pub(super) fn descend(
        &mut self,
        station: &EndStation,
        way: &Way<'_>,
        mut token: Token,
    ) -> Result<Vec<(PortId, Token)>, Reason> {
        let is_request = is_exchange(way.flow);
        if !is_request {
            self.resolve(way, &mut token);
        }
        let queue = self.pass_smoother(station, way, &mut token);
        if !is_request {
            self.keep_gap(way, &mut token);
        }
        let mut under_way = Vec::new();
        match station.redundancy {
            Some(redundancy) => {
                self.send_by_both(way.from, redundancy, &token, &mut under_way)?;
            }
            None => self.emit(PortId::first(way.from), queue, token, &mut under_way)?,
        }
        Ok(under_way)
    }

    /// Passes frames through the steps of a rule at a port, in the order of IEEE 802.1Q-2022, 8.6.5;
    /// returns those that keep its limits, with its marks, and those that go on demoted.
    pub(super) fn pass_steps(
        &mut self,
        at: (PortId, u16),
        rule: &IngressRule,
        mut token: Token,
    ) -> (Token, Option<Token>) {
        if let Some(filter) = rule.filter {
            self.filter(at, filter, &mut token);
        }
        let arrived = token.frame;
        let mut kept = Token { frame: marked(rule, &arrived), ..token };
        let demoted = rule.police.and_then(|police| self.police(at, police, &arrived, &mut kept));
        (kept, demoted)
    }
}
