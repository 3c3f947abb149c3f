//! Wire formats and sans-IO engines of the end-node layer.
//!
//! Time, frames and seeds are passed in and work is returned: nothing here reads a clock, opens a
//! socket or starts a thread, so the same engine runs in the simulator and on a wire (R70).
//!
//! # Modules
//!
//! Wire formats and sans-IO engines of the end-node layer, for the simulator and for drivers.
//!
//! `endnode` is the prioritized layer between driver and stack: classifier, parser and tagger,
//! receive and transmit queues with their selection algorithms, stack instances at task priorities.
//!
//! `smoother` paces what a station hands to its own port: a credit bucket with a fixed or an
//! adaptive period, the detectors of congestion, and the proof of the most that it lets through.
//!
//! `port` is transmission selection, one file for each rule and one contract: `poll(now, waiting)`
//! says which queue sends, when to ask again, or that no frame waits. Ports of simulated and
//! emulated switches host it, and the transmit queues of stations.
//!
//! `mechanism` is what may hold, drop, mark or copy a frame between two queues, one file for each and
//! one contract: `gap` keeps the gap of a flow; `arp` is address resolution, the table of a station
//! and the packets that wait for an address; `ingress` is what a switch port does with frames that
//! arrive, rules that mark and police them with the conditions of the classifier in end nodes.
//!
//! `admission` is the request for a channel: the manager of a switch with its table, and the side
//! of stations.
//!
//! `egress` composes smoother, transmit queues, rings and detector of one port: the only place that
//! decides the path of a frame from stack to port, hosted by the simulator and by drivers; it can
//! record its calls and decisions, and a replay must decide the same.
//!
//! All take their parameters from `rtether-model` and refuse those they do not support.
//!
//! `access` are the access schemes of hubs, one file for each and one contract: the host tells what
//! a station hears, and asks for its turn; its bounds are in `rtether_bounds::access` under the
//! same names.
//!
//! `probe` is the meter of round trips: schedule, matching of replies, and the formats (own
//! message, ICMP echo, CNDEP) with the responder; `paths` and `answers` use it to measure one-way
//! delays between shims, for the probe-delay detector.
//!
//! `identify` asks a device what it costs: requests with random gaps and sizes, bursts and trains if
//! load is allowed, and estimates of cost, scan cycle, servers and queue with their intervals.
//!
//! **Invariant:** `no_std`: no clock, no socket, no thread; an engine returns work and never does
//! it; it depends only on `rtether-model`.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod access;
pub mod admission;
pub mod egress;
pub mod endnode;
pub mod identify;
pub mod load;
pub mod mechanism;
pub mod port;
pub mod probe;
pub mod smoother;
