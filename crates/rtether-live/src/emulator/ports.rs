//! The devices that lead to the hosts.

use std::collections::BTreeMap;

use rtether_model::network::{Network, NodeId};

use super::{EmulatorError, Port, frame, offloads_off};
use crate::link::{Device, MacAddress};

/// An open port.
#[derive(Debug)]
pub(super) struct OpenPort {
    pub(super) station: NodeId,
    pub(super) name: String,
    /// Index of the device.
    pub(super) device: i32,
    pub(super) address: MacAddress,
    pub(super) collisions: u64,
    /// Completions reported to its host.
    pub(super) completed: u64,
}

/// All ports, and how to find them.
#[derive(Debug, Default)]
pub(super) struct Ports {
    pub(super) all: Vec<OpenPort>,
    /// Indices, by index of the device.
    pub(super) by_device: BTreeMap<i32, usize>,
    /// Indices.
    pub(super) by_station: BTreeMap<NodeId, usize>,
    pub(super) by_address: BTreeMap<[u8; 6], NodeId>,
}

impl Ports {
    pub(super) fn open(network: &Network, ports: &[Port]) -> Result<Self, EmulatorError> {
        let mut this = Self::default();
        for port in ports {
            let open = open_port(network, port)?;
            let index = this.all.len();
            let is_new = this.by_device.insert(open.device, index).is_none()
                && this.by_station.insert(open.station, index).is_none()
                && this.by_address.insert(open.address.0, open.station).is_none();
            if !is_new {
                return Err(EmulatorError::Port {
                    device: open.name,
                    reason: "its device, station or address is that of another port",
                });
            }
            this.all.push(open);
        }
        Ok(this)
    }

    pub(super) fn devices(&self) -> Vec<i32> {
        self.all.iter().map(|port| port.device).collect()
    }
}

fn open_port(network: &Network, port: &Port) -> Result<OpenPort, EmulatorError> {
    let wrong = |reason| EmulatorError::Port { device: port.device.clone(), reason };
    let is_there = port.station.index() < network.nodes.len();
    if !is_there || network.end_station(port.station).is_none() {
        return Err(wrong("its node is not an end station"));
    }
    if frame::is_group(port.address.0) {
        return Err(wrong("its address is that of a group"));
    }
    let device = Device::named(&port.device)?;
    offloads_off(&port.device)?;
    // Best effort: IPv6 may be missing. `/proc/sys/net` is that of the namespace.
    let switch = format!("/proc/sys/net/ipv6/conf/{}/disable_ipv6", port.device);
    let _ = std::fs::write(switch, "1");
    Ok(OpenPort {
        station: port.station,
        name: port.device.clone(),
        device: device.index(),
        address: port.address,
        collisions: 0,
        completed: 0,
    })
}
