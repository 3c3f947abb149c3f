//! Measurements on this host: the engines on real sockets (Linux).
//!
//! # Modules
//!
//! Everything measured on a Linux host, above the drivers of `rtether-live`: `ping` and `echo` with
//! the statistics of `rtether::meter`, `load`, `calibrate`, `doctor`, `identify` (what a device costs), `topics`, `idl` and `msg`
//! (publish and subscribe with types from files of either kind, or as their participants describe
//! them; `topics::ros` shows a domain by the names of ROS 2, `topics::threaded` is a participant
//! with a thread of its own, for Python), `watch` (`rtether::watch` at a device), `testbed` (a
//! scenario on this host, with shims for the layers of its stations; `testbed::ssh` is the
//! coordinator and the agent of runs between hosts), `shim` (a running shim: control socket,
//! status, watchdog, orderly end; its configuration is read by `rtether::scenario::shim`);
//! `documents` lists what they say in JSON.

pub mod calibrate;
pub mod doctor;
pub mod documents;
mod echo;
pub mod identify;
pub mod idl;
pub mod load;
mod loopback;
pub mod msg;
mod options;
mod paths;
mod ping;
mod rights;
mod round_trip;
pub mod shim;
mod ssh;
pub mod testbed;
pub mod topics;
mod watch;
mod watchers;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};

use rtether_live::link::{DeviceError, MacAddress, RawOptions, UdpOptions};
use rtether_live::rtps::DomainError;
use rtether_live::thread::PlacementError;
use rtether_proto::probe::ConfigError;

pub use echo::{Answers, echo};
pub use loopback::{over_loopback, valentim};
pub use options::{EchoOptions, PingOptions};
pub use ping::ping;
pub use rtether_live::confine::{Confined, Confinement, User};
pub use rtether_live::process::is_output_closed;
pub use rtether_live::responder::Answered;
pub use rtether_live::thread::{AwakeError, Placement, keep_cores_awake};
pub use rtether_live::wait::Waiting;
pub use rtether_model::network::{Pcp, Vid};
pub use rtether_model::quantity::{BitRate, Duration};
pub use rtether_proto::probe::cndep::{Board, Profile};
pub use rtether_proto::probe::{Command, Config, Event, Interval};
pub use watch::{WatchOptions, watch};

/// Default port of the meter.
pub const PORT: u16 = 7_254;

/// How payloads travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Via {
    /// UDP.
    #[default]
    Udp,
    /// Raw Ethernet.
    Raw,
    /// Raw Ethernet that bypasses the network stack, by `AF_XDP`.
    Xdp,
    /// ICMP echo, answered by any host.
    Icmp,
    /// CNDEP over UDP.
    Cndep,
    /// TCP, one connection.
    Tcp,
    /// Topics over RTPS.
    Rtps,
}

impl Via {
    /// Returns the name used on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Udp => "udp",
            Self::Raw => "raw",
            Self::Xdp => "xdp",
            Self::Icmp => "icmp",
            Self::Cndep => "cndep",
            Self::Tcp => "tcp",
            Self::Rtps => "rtps",
        }
    }
}

/// How packets are marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// DSCP of IP packets.
    pub dscp: u8,
    /// PCP in the tag of raw frames; for UDP the priority inside the host.
    pub pcp: Option<Pcp>,
    /// VLAN in the tag of raw frames.
    pub vid: Option<Vid>,
}

impl Marks {
    fn udp(self) -> UdpOptions {
        UdpOptions { dscp: self.dscp, priority: self.pcp.map(|pcp| u32::from(pcp.get())) }
    }

    fn raw(self) -> RawOptions {
        let is_tagged = self.pcp.is_some() || self.vid.is_some();
        let tag = (self.pcp.unwrap_or_default(), self.vid.unwrap_or(Vid::PRIORITY_ONLY));
        RawOptions { tag: is_tagged.then_some(tag) }
    }
}

/// How the measuring thread runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// Core, priority and memory.
    pub placement: Placement,
    /// Blocking or spinning.
    pub waiting: Waiting,
    /// Keeps all cores out of deep sleep meanwhile, if the system permits; [`keep_cores_awake`]
    /// tells whether it does.
    pub awake: bool,
}

/// Why a measurement is not possible.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The target does not suit `via`.
    #[error("`{target}` is not a target for `--via {via}`: {help}")]
    Target {
        /// What was given.
        target: String,
        /// How payloads would travel.
        via: &'static str,
        /// What to write.
        help: String,
    },
    /// Raw frames need a device.
    #[error("`--via {via}` needs `--device NAME`; `ip -br link` lists the devices")]
    NoDevice {
        /// How payloads would travel.
        via: &'static str,
    },
    /// The payload does not fit a frame.
    #[error("{payload} octets of payload do not fit a frame of `{device}`; at most {max} do")]
    TooLarge {
        /// The device.
        device: String,
        /// Payload size asked for, in octets.
        payload: usize,
        /// Largest payload that fits, in octets.
        max: usize,
    },
    /// An option that `via` does not support.
    #[error("`{option}` is not possible with `--via {via}`: {help}")]
    Unsuited {
        /// The option.
        option: &'static str,
        /// How payloads would travel.
        via: &'static str,
        /// What to do.
        help: &'static str,
    },
    /// One-way delays cannot be measured.
    #[error("one-way delays to `{target}`: {why}")]
    OneWay {
        /// The peer.
        target: String,
        /// Why not, and what to do.
        why: String,
    },
    /// The schedule is not possible.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A placement of the thread was refused.
    #[error(transparent)]
    Placement(#[from] PlacementError),
    /// The device cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The participant cannot be created.
    #[error(transparent)]
    Domain(#[from] DomainError),
    /// An endpoint cannot have these properties.
    #[error("{0}")]
    Topic(String),
    /// The socket cannot be opened or used.
    #[error("{doing}: {source}{remedy}")]
    Socket {
        /// What was attempted.
        doing: String,
        /// The error of the system.
        source: io::Error,
        /// What to do about it, with a leading separator.
        remedy: &'static str,
    },
}

impl LiveError {
    /// Returns whether the command was wrong, rather than the host unfit.
    pub fn is_wrong_input(&self) -> bool {
        matches!(
            self,
            Self::Target { .. }
                | Self::NoDevice { .. }
                | Self::TooLarge { .. }
                | Self::Unsuited { .. }
                | Self::Config(_)
                | Self::Domain(DomainError::Domain(_) | DomainError::Ethernet(_))
                | Self::Topic(_)
        )
    }

    fn socket(doing: String, source: io::Error) -> Self {
        let remedy = [
            (
                io::ErrorKind::PermissionDenied,
                "; run as root, or `sudo setcap cap_net_raw+ep` on the program",
            ),
            (io::ErrorKind::AddrInUse, "; another program listens there, choose another port"),
            (
                io::ErrorKind::AddrNotAvailable,
                "; `ip -br address` lists the addresses of this host",
            ),
            (
                io::ErrorKind::ConnectionRefused,
                "; the port is closed, start `rtether echo` with the same `--via`",
            ),
            (io::ErrorKind::TimedOut, "; is the address right, and does a filter let it through?"),
            (io::ErrorKind::NetworkUnreachable, "; `ip route` lists where this host can reach"),
        ];
        let remedy = remedy.into_iter().find(|(kind, _)| *kind == source.kind());
        let remedy = remedy.map_or("", |(_, text)| text);
        Self::Socket { doing, source, remedy }
    }
}

/// Returns why there are no kernel time stamps.
fn no_stamps(via: Via, error: &io::Error) -> LiveError {
    if error.kind() == io::ErrorKind::Unsupported {
        return LiveError::Unsuited {
            option: "--stamps",
            via: via.name(),
            help: "the kernel cannot stamp individual messages there, use `--via udp` or `--via \
                   raw`",
        };
    }
    let doing = "switching time stamps on".to_owned();
    LiveError::socket(doing, io::Error::from(error.kind()))
}

/// Returns why a measurement ended early.
fn why_ended(error: &io::Error) -> String {
    let remedies = [
        (io::ErrorKind::NetworkDown, "; the device went down or was removed"),
        (
            io::ErrorKind::NetworkUnreachable,
            "; the device or its address is gone: `ip route` lists where this host can reach",
        ),
        (io::ErrorKind::ConnectionReset, "; the peer has ended"),
        (io::ErrorKind::BrokenPipe, "; the peer has ended"),
    ];
    let known = remedies.into_iter().find(|(kind, _)| *kind == error.kind());
    let remedy = match known {
        Some((_, remedy)) => remedy,
        None if error.raw_os_error() == Some(NO_DEVICE) => "; the device was removed",
        None => "",
    };
    format!("{error}{remedy}")
}

/// `ENXIO`: error of a socket whose device is gone.
const NO_DEVICE: i32 = 6;

/// Returns the address of a host, with the port after a colon or the default one.
fn address(target: &str, port: u16, via: Via) -> Result<SocketAddr, LiveError> {
    let wrong =
        |help: String| LiveError::Target { target: target.to_owned(), via: via.name(), help };
    if let Ok(ip) = target.parse::<IpAddr>() {
        return Ok((ip, port).into());
    }
    let with_port = match target.rsplit_once(':') {
        Some((_, digits)) if digits.parse::<u16>().is_ok() => target.to_owned(),
        _ => format!("{target}:{port}"),
    };
    let found = with_port.to_socket_addrs();
    let found =
        found.map_err(|error| wrong(format!("{error}; write an address or a host name")))?;
    let mut found: Vec<SocketAddr> = found.collect();
    // IPv4 first, which plants use.
    found.sort_by_key(SocketAddr::is_ipv6);
    let first = found.into_iter().next();
    first.ok_or_else(|| wrong("the name has no address".into()))
}

fn address_v4(target: &str, via: Via) -> Result<Ipv4Addr, LiveError> {
    match address(target, 0, via)?.ip() {
        IpAddr::V4(ip) => Ok(ip),
        IpAddr::V6(_) => Err(LiveError::Target {
            target: target.to_owned(),
            via: via.name(),
            help: "write an IPv4 address".into(),
        }),
    }
}

fn mac_address(target: &str, via: Via) -> Result<MacAddress, LiveError> {
    target.parse().map_err(|error: rtether_live::link::ParseMacError| LiveError::Target {
        target: target.to_owned(),
        via: via.name(),
        help: error.to_string(),
    })
}

/// Returns a number that distinguishes this run from others, on this host and elsewhere.
fn session() -> u32 {
    let now = std::time::SystemTime::now();
    let since = now.duration_since(std::time::UNIX_EPOCH);
    let ns = since.map_or(0, |since| since.subsec_nanos());
    ns.rotate_left(8) ^ std::process::id()
}
