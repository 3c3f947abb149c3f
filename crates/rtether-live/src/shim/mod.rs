//! The end-node layer of `rtether-proto` between this host's stack and one of its devices.
//!
//! Addresses and routes stay as they are: frames are diverted at the filter hooks of the device
//! ([`tc-bpf(8)`](https://man7.org/linux/man-pages/man8/tc-bpf.8.html)), so that connections over
//! the device survive and little has to be restored.
//!
//! ```text
//!            stack
//!       egress │ ▲ ingress                   classes, smoother, transmit queues, tags
//!              │ │          ┌─────────────────────────────────────────────────────┐
//!     filter ──┼─┼──────────┤ TAP rts ──► TransmitSide ──► line ──► packet socket ├──► device
//!              │ │          │                                                     │
//!              │ └──────────┤ TAP rtr ◄── ReceiveSide ◄── TAP rtr ◄───────────────┼─── filter
//!              ▼            └─────────────────────────────────────────────────────┘
//!            device              the thread in [`Shim::run`]
//! ```
//!
//! # If the shim stalls
//!
//! Filters divert frames only while the thread gives a sign of life, every 50 ms; 250 ms after the
//! last one, frames bypass the shim and are counted ([`Status::bypassed`]). The TAPs disappear with
//! the process. [`restore`] removes the remains of a dead shim: up to two filters and the `clsact`
//! that holds them.
//!
//! # Scope and limitations
//!
//! - Probes of other shims ([`Probing`]) arrive on a packet socket and bypass the receive queues.
//! - Received frames pass the shim only if the settings have receive queues or a detector that
//!   listens; each direction through the shim costs a wake-up of its thread.
//! - Packet sockets for all protocols see a received frame that passes the shim twice: before it
//!   and after.
//! - Frames sent by the shim bypass the queues of the device (`PACKET_QDISC_BYPASS`), and the
//!   hardware performs no segmentation, checksums or timestamps for them: PTP with hardware
//!   timestamps does not work on the same device.
//! - A device that has other filters at these hooks is refused.

mod check;
mod counters;
mod divert;
mod error;
mod forward;
mod frames;
mod handle;
mod hub;
pub mod kernel;
mod line;
mod network_namespace;
mod plan;
mod port;
mod probes;
mod receive;
mod settings;
mod status;
mod strip;
mod tap;
mod transmit;
mod user;

pub use check::check;
pub use error::ShimError;
pub use handle::Handle;
pub use plan::{Plan, restore};
pub use settings::{Backend, Probing, Refusal, Settings, Signal, Tags, placement};
pub use status::{
    Direction, Directions, Drops, ProbeStatus, QueueStatus, SmootherStatus, Status, Traffic, Waited,
};
pub use user::Shim;
