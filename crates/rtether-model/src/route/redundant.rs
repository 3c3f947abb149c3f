//! Paths of a station with two ports: one in each of its networks.

use alloc::vec;
use alloc::vec::Vec;

use super::{Hop, RouteError, Routing, branch, joined, vid_of, vlan};
use crate::flow::{Delivery, Flow};
use crate::network::{Network, NodeId};

impl Routing {
    /// Returns the paths of a flow to one listener: one for each port of the talker that leads
    /// there. Only a station in two networks has several; the first is [`Self::flow_path`].
    ///
    /// # Errors
    /// If none leads there.
    pub fn flow_paths(
        &self,
        network: &Network,
        flow: &Flow,
        listener: NodeId,
    ) -> Result<Vec<Vec<Hop>>, RouteError> {
        if listener == flow.talker || !self.has_two_ports(flow.talker) {
            return Ok(vec![self.flow_path(network, flow, listener)?]);
        }
        self.each_by_port(network, flow.talker, |first| {
            if flow.delivery == Delivery::Unicast {
                return self.path_by(network, flow, first, listener);
            }
            let inside = |to| self.path_by(network, flow, first, to);
            let known = flow.listeners.iter().filter(|&&to| inside(to).is_ok());
            let tree = joined(known, inside)?;
            // With the reason why it is not in the tree.
            inside(listener).map(|_| branch(&tree, flow.talker, listener))
        })
    }

    /// Returns the paths of answers and acknowledgements from a listener to the talker, as
    /// [`Self::flow_paths`] does there.
    ///
    /// # Errors
    /// If none leads there.
    pub fn answer_paths(
        &self,
        network: &Network,
        flow: &Flow,
        listener: NodeId,
    ) -> Result<Vec<Vec<Hop>>, RouteError> {
        if listener == flow.talker || !self.has_two_ports(listener) {
            return Ok(vec![self.answer_path(network, flow, listener)?]);
        }
        self.each_by_port(network, listener, |first| {
            self.path_by(network, flow, first, flow.talker)
        })
    }

    /// Returns the hops from one end station to another, ignoring VLANs: behind each port that leads
    /// there.
    pub fn paths(&self, network: &Network, from: NodeId, to: NodeId) -> Vec<Vec<Hop>> {
        let ports = self.hops_from(network, from);
        let paths = ports.filter_map(|first| self.path_behind(network, first, to).ok());
        paths.collect()
    }

    /// Returns whether a station is in two networks.
    pub(super) fn has_two_ports(&self, station: NodeId) -> bool {
        self.index_of(station).is_none() && self.links[station.index()].len() > 1
    }

    /// Returns the paths that there are behind the ports of a station, or why the first has none.
    fn each_by_port(
        &self,
        network: &Network,
        from: NodeId,
        path: impl Fn(Hop) -> Result<Vec<Hop>, RouteError>,
    ) -> Result<Vec<Vec<Hop>>, RouteError> {
        let (mut paths, mut error) = (Vec::new(), None);
        for first in self.hops_from(network, from) {
            match path(first) {
                Ok(path) => paths.push(path),
                Err(why) => error = error.or(Some(why)),
            }
        }
        if paths.is_empty() {
            return Err(error.unwrap_or(RouteError::Unconnected { node: from }));
        }
        Ok(paths)
    }

    /// Returns the shortest path behind a port of a station, if it stays inside the VLAN.
    fn path_by(
        &self,
        network: &Network,
        flow: &Flow,
        first: Hop,
        to: NodeId,
    ) -> Result<Vec<Hop>, RouteError> {
        if self.hops_from(network, to).next().is_none() {
            return Err(RouteError::Unconnected { node: to });
        }
        let hops = self.path_behind(network, first, to)?;
        vlan::check(network, &hops, vid_of(flow))?;
        Ok(hops)
    }
}
