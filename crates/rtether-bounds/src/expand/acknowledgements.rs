//! Records the acknowledgements of a connection whose messages leave at once.

use rtether_model::flow::{Flow, TcpParameters};
use rtether_model::network::NodeId;

use super::{Token, Walker};
use crate::classify::Way;
use crate::connection::{Back, Connection, Pattern, Returns, Ways};
use crate::frame::Frame;
use crate::output_limit::Limit;
use crate::plant::Gap;
use crate::source::Source;

impl Walker<'_> {
    /// Follows the segments without data of the connection with a listener, and records it.
    /// `arrived` is where messages are delivered, `back` where the answers are.
    pub(super) fn follow_acknowledgements(
        &mut self,
        flow: &Flow,
        listener: NodeId,
        arrived: Option<(u32, Gap)>,
        back: Option<(u32, Gap)>,
    ) {
        let ways = self.ways_of(flow, listener, arrived, back);
        self.plant.connections.push(Connection { flow: self.flow, ways });
    }

    fn ways_of(
        &mut self,
        flow: &Flow,
        listener: NodeId,
        arrived: Option<(u32, Gap)>,
        back: Option<(u32, Gap)>,
    ) -> Option<Ways> {
        let tcp = flow.connection.as_ref()?;
        let there = arrived?;
        let way = |is_answer| {
            let (from, to) =
                if is_answer { (listener, flow.talker) } else { (flow.talker, listener) };
            Way { flow, number: self.flow, from, to: Some(to), is_answer }
        };
        let (forth, to_talker) = (way(false), way(true));
        let is_regular = self.is_regular;
        let pattern = |is_talkers| Pattern::of(flow, tcp, is_talkers, is_regular);
        let returns = self.acknowledge(tcp, &to_talker, there, pattern(false))?;
        let back = match flow.reply {
            None => None,
            Some(reply) => {
                let end = back?;
                Some(Back {
                    end,
                    after: reply.longest().as_ps(),
                    scan: (reply.longest() - reply.after).as_ps(),
                    returns: self.acknowledge(tcp, &forth, end, pattern(true))?,
                })
            }
        };
        Some(Ways { there, returns, back })
    }

    /// Follows the acknowledgements of data delivered at a visit: those sent at once, and those sent by
    /// the timer.
    fn acknowledge(
        &mut self,
        tcp: &TcpParameters,
        way: &Way<'_>,
        (visit, gap): (u32, Gap),
        pattern: Pattern,
    ) -> Option<Returns> {
        let target = self.unicast(way.flow, [way.from, way.to?]);
        // They leave when the last place has served their data.
        let spacing = self.plant.spacing_behind(visit);
        let spacing = spacing.map(|own| [own.small[0], own.large[0]]);
        let mut end = |count: i64, gap, spacing, limit| {
            let frame = Frame::pure(way.flow, !way.is_answer, count);
            let token =
                Token { visit, gap, is_pure: true, spacing, limit, ..Token::released(frame) };
            let delivered = self.send(way, &target, token).ok()?;
            delivered.first().map(|(_, token)| (token.visit, token.gap))
        };
        let at_once = match pattern.at_once {
            0 => None,
            count => Some(end(count, gap, spacing, None)?),
        };
        let delay = tcp.ack_delay.as_ps();
        let behind = gap.then(Gap::exact(delay));
        // One for each message is less where these come further apart.
        let is_sparse = Source::of_releases(&way.flow.traffic, 0).period >= delay;
        let limit = (!is_sparse || pattern.late > 1).then(|| Limit::timed(delay));
        let late = match pattern.late {
            0 => None,
            count => Some(end(count, behind, None, limit)?),
        };
        Some(Returns { at_once, late, rule: pattern.rule })
    }
}
