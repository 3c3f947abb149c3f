//! Errors of setting up and running a shim.

use std::io;

use super::Refusal;
use crate::link::DeviceError;
use crate::namespace::CommandError;
use crate::thread::PlacementError;

/// Why a shim could not be set up, or ended.
#[derive(Debug, thiserror::Error)]
pub enum ShimError {
    /// The device cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The back end cannot carry out an option.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The layer's parameters are invalid.
    #[error("layer of the shim: {0}")]
    Layer(String),
    /// The device has filters that would see different frames once the shim is in place.
    #[error(
        "`{device}` has {what} of another program, which would no longer see the same frames; \
         `tc filter show dev {device} {way}` shows them, `tc qdisc del dev {device} {qdisc}` removes them"
    )]
    Occupied {
        /// The device.
        device: String,
        /// What is attached.
        what: &'static str,
        /// Direction, for `tc filter show`.
        way: &'static str,
        /// The qdisc that holds it.
        qdisc: &'static str,
    },
    /// Another process runs a shim on the device.
    #[error("`{device}` has a shim already: `{tap}` exists; end that process first")]
    Running {
        /// The device.
        device: String,
        /// The TAP device of that shim.
        tap: String,
    },
    /// The TAP cannot be opened.
    #[error(
        "cannot open TAP `{name}`: {source}; it needs CAP_NET_ADMIN and `/dev/net/tun` \
         (`modprobe tun`)"
    )]
    Tap {
        /// Its name.
        name: String,
        /// The system's error.
        source: io::Error,
    },
    /// The kernel rejects a program.
    #[error("{doing}: {source}; it needs CAP_BPF, CAP_NET_ADMIN and a kernel with cls_bpf")]
    Program {
        /// What was attempted.
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// A command of set-up or tear-down failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The thread cannot be placed as requested.
    #[error(transparent)]
    Placement(#[from] PlacementError),
    /// The namespace of the device cannot be entered.
    #[error("cannot enter the network namespace of `{device}`: {source}; it needs CAP_SYS_ADMIN")]
    Namespace {
        /// The device.
        device: String,
        /// The system's error.
        source: io::Error,
    },
    /// The device has been removed.
    #[error("device `{device}` is gone: {source}; the counters up to then remain valid")]
    Gone {
        /// The device.
        device: String,
        /// The system's error.
        source: io::Error,
    },
    /// The root queue of the device is not a kernel default.
    #[error(
        "`{device}` has `{kind}` at its root, which could not be restored as it was; \
         `tc qdisc del dev {device} root` removes it"
    )]
    Root {
        /// The device.
        device: String,
        /// Kind of that queue.
        kind: String,
    },
    /// The device already has our queues in the kernel.
    #[error("`{device}` has a shim already, or the remains of a dead one; take it down first")]
    Up {
        /// The device.
        device: String,
    },
    /// The change needs a different set of queues.
    #[error("`{option}` cannot be changed while the shim is up without losing waiting frames")]
    Shape {
        /// Name of the option in the configuration.
        option: &'static str,
    },
    /// A system call failed.
    #[error("{doing}: {source}")]
    System {
        /// What was attempted.
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

impl ShimError {
    /// Returns a function that wraps a system error as [`Self::System`].
    pub(super) fn system(doing: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::System { doing, source }
    }

    /// Returns a function that wraps a system error as [`Self::Program`].
    pub(super) fn program(doing: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::Program { doing, source }
    }
}
