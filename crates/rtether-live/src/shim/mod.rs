//! The end-node layer of `rtether-proto` between the stack of this host and a device of it.
//!
//! Addresses and routes stay where they are: frames are diverted at the hooks of the device where
//! filters stand ([`tc-bpf(8)`](https://man7.org/linux/man-pages/man8/tc-bpf.8.html)), so that
//! connections over the device survive, and there is little to restore.
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
//! # What happens when it does not go on
//!
//! Filters divert frames only while the thread gives a sign of life, every 50 ms; 250 ms after the
//! last one frames pass by, counted ([`Status::bypassed`]). The TAPs go away with the process.
//! [`restore`] removes what is left of a dead shim: up to two filters and the `clsact` that holds
//! them.
//!
//! # Scope and limitations
//!
//! - Probes of other shims ([`Probing`]) come in by a packet socket, past the receive queues.
//! - Frames that come in pass the shim only if the settings have receive queues or a detector that
//!   listens; each side that passes it costs a wake-up of its thread.
//! - Packet sockets for all protocols see a received frame that passes the shim twice: before it,
//!   and after.
//! - What the shim sends goes past the queues of the device (`PACKET_QDISC_BYPASS`), and hardware
//!   does neither segmentation nor checksums nor time stamps for it: PTP with hardware stamps does
//!   not work on the same device.
//! - A device with filters of somebody else at these hooks is refused.

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
mod place;
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
pub use settings::{Backend, Probing, Refusal, Settings, Signal, Tags};
pub use status::{
    Direction, Directions, Drops, ProbeStatus, QueueStatus, SmootherStatus, Status, Traffic, Waited,
};
pub use user::Shim;
