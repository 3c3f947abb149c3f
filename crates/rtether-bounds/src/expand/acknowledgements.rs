//! Records the acknowledgements of a connection whose messages leave at once.

use rtether_model::flow::{Flow, TcpParameters};
use rtether_model::network::NodeId;

use super::{Token, Walker};
use crate::classify::Way;
use crate::connection::{Back, Connection, Returns, Ways};
use crate::frame::Frame;
use crate::output_limit::Limit;
use crate::plant::Gap;
use crate::source::add;

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
        self.plant.connections.push(Connection {
            flow: self.flow,
            ways,
        });
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
            let (from, to) = if is_answer {
                (listener, flow.talker)
            } else {
                (flow.talker, listener)
            };
            Way {
                flow,
                number: self.flow,
                from,
                to: Some(to),
                is_answer,
            }
        };
        let (forth, to_talker) = (way(false), way(true));
        let returns = self.acknowledge(tcp, &to_talker, there)?;
        let back = match flow.reply {
            None => None,
            Some(reply) => {
                let end = back?;
                Some(Back {
                    end,
                    after: reply.after.as_ps(),
                    returns: self.acknowledge(tcp, &forth, end)?,
                })
            }
        };
        Some(Ways {
            there,
            returns,
            back,
        })
    }

    /// Follows the acknowledgements of data delivered at `from`: those sent at once, and those sent
    /// by the timer.
    fn acknowledge(
        &mut self,
        tcp: &TcpParameters,
        way: &Way<'_>,
        (visit, gap): (u32, Gap),
    ) -> Option<Returns> {
        let count = Frame::parts(way.flow, !way.is_answer).count;
        let frame = Frame::pure(way.flow, !way.is_answer, count);
        let released = Token {
            visit,
            gap,
            is_pure: true,
            ..Token::released(frame)
        };
        let target = self.unicast(way.flow, [way.from, way.to?]);
        let mut end = |token| {
            let delivered = self.send(way, &target, token).ok()?;
            delivered.first().map(|(_, token)| (token.visit, token.gap))
        };
        let at_once = end(released)?;
        let delay = tcp.ack_delay.as_ps();
        let late = if tcp.ack_every > 1 && delay > 0 {
            Some(end(Token {
                gap: Gap {
                    max: add(gap.max, delay),
                    ..gap
                },
                limit: Some(Limit::timed(delay)),
                ..released
            })?)
        } else {
            None
        };
        Some(Returns { at_once, late })
    }
}
