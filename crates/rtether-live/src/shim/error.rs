//! Why a device cannot be shimmed, or no longer.

use std::io;

use super::Refusal;
use crate::link::DeviceError;
use crate::namespace::CommandError;
use crate::thread::PlacementError;

/// Why there is no shim, or none any more.
#[derive(Debug, thiserror::Error)]
pub enum ShimError {
    /// The device cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The back end cannot carry out an option.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The layer's parameters make no sense.
    #[error("layer of the shim: {0}")]
    Layer(String),
    /// The device has filters that would see other frames than without the shim.
    #[error(
        "`{device}` has {what} of somebody else, which would see other frames; `tc filter show \
         dev {device} {way}` shows them, `tc qdisc del dev {device} {qdisc}` removes them"
    )]
    Occupied {
        /// The device.
        device: String,
        /// What is there.
        what: &'static str,
        /// Which way frames pass it.
        way: &'static str,
        /// What holds it.
        qdisc: &'static str,
    },
    /// Somebody else shims the device.
    #[error("`{device}` has a shim already: `{tap}` exists; end that process first")]
    Running {
        /// The device.
        device: String,
        /// The device of the other one.
        tap: String,
    },
    /// No TAP.
    #[error(
        "cannot open TAP `{name}`: {source}; it takes CAP_NET_ADMIN and `/dev/net/tun` \
         (`modprobe tun`)"
    )]
    Tap {
        /// Its name.
        name: String,
        /// What the system says.
        source: io::Error,
    },
    /// The kernel does not take a program.
    #[error("{doing}: {source}; it takes CAP_BPF and CAP_NET_ADMIN, and a kernel with cls_bpf")]
    Program {
        /// What was tried.
        doing: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// A command of the set-up or the tear-down failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The thread cannot be placed as wished.
    #[error(transparent)]
    Placement(#[from] PlacementError),
    /// The namespace of the device cannot be entered.
    #[error("cannot enter the network namespace of `{device}`: {source}; it takes CAP_SYS_ADMIN")]
    Namespace {
        /// The device.
        device: String,
        /// What the system says.
        source: io::Error,
    },
    /// The device has been removed.
    #[error("device `{device}` is gone: {source}; what was counted until then stands")]
    Gone {
        /// The device.
        device: String,
        /// What the system says.
        source: io::Error,
    },
    /// The root queue of the device is not one that the kernel makes by itself.
    #[error(
        "`{device}` has `{kind}` at its root, which could not be restored as it was; \
         `tc qdisc del dev {device} root` removes it"
    )]
    Root {
        /// The device.
        device: String,
        /// What is there.
        kind: String,
    },
    /// Queues of the kernel that are ours.
    #[error("`{device}` has a shim already, or what a dead one has left; take that down first")]
    Up {
        /// The device.
        device: String,
    },
    /// Other queues than those that are there.
    #[error("`{option}` cannot be changed while the shim is up without losing what waits")]
    Shape {
        /// The option, as configurations call it.
        option: &'static str,
    },
    /// The system does not go on.
    #[error("{doing}: {source}")]
    System {
        /// What was tried.
        doing: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

impl ShimError {
    /// Returns what turns an error of the system into one of this kind.
    pub(super) fn system(doing: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::System { doing, source }
    }

    /// The same, for an error with a program.
    pub(super) fn program(doing: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::Program { doing, source }
    }
}
