//! Records the path through an end station.

use rtether_model::endnode::Layer;
use rtether_model::flow::{Flow, Traffic};
use rtether_model::network::{EndStation, NodeId, PortId};
use rtether_model::quantity::Duration;

use super::link::transmission;
use super::mechanism::is_exchange;
use super::{Token, Walker};
use crate::analysis::{LayerPart, Reason};
use crate::classify::{Level, Way};
use crate::discipline::driver;
use crate::frame::Frame;
use crate::index::NONE;
use crate::output_limit::Limit;
use crate::plant::Gap;
use crate::source::add;
use crate::split;
use crate::stack::service;
use crate::station;

impl Walker<'_> {
    /// Visits the tasks of a station if the packet passes them.
    pub(super) fn pass_tasks(
        &mut self,
        node: NodeId,
        station: &EndStation,
        token: &mut Token,
        is_outbound: bool,
    ) {
        let Some(tasks) = &station.tasks else {
            return;
        };
        let server = self.sites.inside(node).tasks;
        if let Some((queue, cost)) =
            station::task(tasks, &station.unknown, &token.frame, is_outbound)
        {
            self.visit(token, server, queue, cost, !is_outbound);
            token.gap = cost.gap();
            if is_outbound && token.frame.overtakes_tasks {
                token.spacing = None;
            }
        } else if let Some(cost) =
            station::reader(tasks, &station.unknown, &token.frame).filter(|_| !is_outbound)
        {
            // Nothing waits for the program that reads.
            self.visit(&mut token.clone(), server, station::READER, cost, true);
        }
    }

    /// Visits the stack of a station.
    pub(super) fn pass_stack(
        &mut self,
        node: NodeId,
        station: &EndStation,
        way: &Way<'_>,
        token: &mut Token,
        is_outbound: bool,
    ) {
        let server = self.sites.inside(node).stack(is_outbound);
        if server == NONE {
            return;
        }
        let cost = service(&station.stack, &station.unknown, is_outbound, &token.frame);
        let queue = station::stack_queue(station, way, &token.frame, is_outbound);
        let layer = station.layer.as_deref();
        if let Some(layer) = layer.filter(|layer| layer.receive.is_some()) {
            self.tell_fragments_apart(node, layer, way, &token.frame, server);
        }
        // A reply has the tag of its request.
        token.frame.is_tagged &= is_outbound || is_exchange(way.flow);
        self.visit(token, server, queue, cost, !is_outbound);
        if split::is_second(way, is_outbound) {
            self.plant.visits[token.visit as usize].twice = split::of(station);
        }
        token.gap = cost.gap();
        let spacing = token.spacing.map_or(0, |[small, large]| small.min(large));
        let known = token.limit.map_or(0, |limit| limit.distance());
        if spacing > 0 && (self.is_open || known > 0) && i128::from(spacing) >= known {
            let smallest = token.frame.smallest();
            let grain = service(&station.stack, &station.unknown, is_outbound, &smallest).min();
            let services = [cost.small[0], cost.large[0]];
            token.limit = Some(if grain > 0 {
                Limit::of_processor(services, grain, server)
            } else {
                Limit::spaced(spacing)
            });
        }
    }

    /// Visits the smoother of a station, if any, and returns the queue at its port.
    pub(super) fn pass_smoother(
        &mut self,
        station: &EndStation,
        way: &Way<'_>,
        token: &mut Token,
    ) -> u8 {
        let Some(layer) = station.layer.as_deref() else {
            return 0;
        };
        let Some(driver) = station::driver(station) else {
            return 0;
        };
        let (level, class) = station::level_and_class(layer, way, &token.frame);
        let server = self.sites.inside(way.from).smoother;
        if layer.transmit.is_some() {
            let own = PortId::first(way.from);
            let port = self.sites.wire(own).map_or(NONE, |wire| wire.server);
            for server in [server, port] {
                self.tell_fragments_apart(way.from, layer, way, &token.frame, server);
            }
        }
        let port = PortId::first(way.from);
        if let (Some(wire), true) = (self.sites.wire(port), server != NONE) {
            let cost = transmission(&token.frame, wire.octet);
            let spacing = token.spacing;
            self.visit(token, server, level as u8, cost, false);
            token.gap = Gap::default();
            token.spacing = spacing.filter(|_| level != Level::Bulk);
            if level == Level::Bulk {
                let limit = station::smoother_limit(layer, way, &token.frame, server);
                token.limit = limit.or(token.limit);
            }
        }
        driver::queue_of(level, driver.class(class))
    }
}

impl Walker<'_> {
    /// Marks a place as unbounded if fragments of a datagram have several classes there.
    fn tell_fragments_apart(
        &mut self,
        node: NodeId,
        layer: &Layer,
        way: &Way<'_>,
        frame: &Frame,
        server: u32,
    ) {
        if frame.count == 1 || way.has_one_class(layer, frame) {
            return;
        }
        if let Some(place) = self.plant.servers.get_mut(server as usize) {
            place.obstacle.get_or_insert(Reason::EndNodeLayer { node, part: LayerPart::Fragments });
        }
    }
}

/// Returns the limit of the answers to packets with this limit.
pub(super) fn answer_limit(flow: &Flow, limit: Option<Limit>) -> Option<Limit> {
    let limit = limit?;
    // Messages over TCP may be answered by any number of segments, samples by any number of
    // datagrams; an answer in fragments is several packets at once.
    if flow.connection.is_some() || flow.is_published() || flow.is_fragmented() {
        return None;
    }
    let delay = match (&flow.traffic, flow.reply) {
        (Traffic::Bulk(bulk), _) => bulk.tcp.ack_delay,
        // Answers of one scan leave together.
        (_, Some(reply)) => reply.longest() - reply.after,
        (_, None) => Duration::ZERO,
    };
    let delay = delay.as_ps();
    // The smallest packet may have the largest answer.
    Some(Limit { charge: [limit.charge[0]; 2], delay: add(limit.delay, delay), ..limit })
}
