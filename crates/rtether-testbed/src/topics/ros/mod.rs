//! A domain as users of ROS 2 see it: nodes, topics, services and actions, types with their
//! hashes, and what does not fit.
//!
//! Names are those of the ROS 2 design, *Topic and service name mapping to DDS*; hashes those of
//! REP 2016, which an endpoint announces in its user data; nodes are told by the topic
//! `ros_discovery_info` of `rmw_dds_common`.

mod graph;
mod names;
mod nodes;

#[cfg(test)]
mod tests;

pub use graph::{Clash, Graph, Interface, Twins};
pub use names::{Kind, Part, Seen};
pub use nodes::{Node, Nodes};
