//! What is said of the hosts of a run.

use rtether_model::network::NodeId;

use super::clocks::HostClock;

/// A real host that took part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostReport {
    /// The node that it played.
    pub node: NodeId,
    /// Name of the host for ssh.
    pub target: String,
    /// Its device.
    pub device: String,
    /// IP and Ethernet addresses of the device.
    pub addresses: [String; 2],
    /// Its clock; `None` if it dropped out.
    pub clock: Option<HostClock>,
}
