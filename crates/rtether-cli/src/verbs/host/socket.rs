//! What `ping` and `echo` share: the way of payloads, sockets and threads.

use clap::{Args, ValueEnum};
use rtether_testbed::topics::{ParticipantOptions, Trace};
use rtether_testbed::{LiveError, Marks, Pcp, Placement, Profile, Thread, Via, Vid, Waiting};

use super::domain::{DomainArgs, participant, tracing};
use super::quantity::{pcp, vid};
use crate::exit::Exit;
use crate::{number, terminal};

/// Options of a measuring socket and its thread.
#[derive(Args, Debug)]
pub(crate) struct SocketArgs {
    /// Device for raw frames, including those of RTPS
    #[arg(long, value_name = "NAME")]
    pub(crate) device: Option<String>,
    /// DSCP of IP packets
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = number::within(0_u8..=63))]
    pub(crate) dscp: u8,
    /// PCP in the tag of raw frames; for UDP the priority inside the host
    #[arg(long, value_name = "N", value_parser = pcp)]
    pub(crate) pcp: Option<Pcp>,
    /// VLAN in the tag of raw frames
    #[arg(long, value_name = "N", value_parser = vid)]
    pub(crate) vlan: Option<Vid>,
    #[command(flatten)]
    pub(crate) thread: ThreadArgs,
}

/// Options of a measuring thread.
#[derive(Args, Debug)]
pub(crate) struct ThreadArgs {
    /// Run on this core
    #[arg(long, value_name = "N", value_parser = number::core)]
    pub(crate) core: Option<usize>,
    /// Run at this real-time priority (`SCHED_FIFO`, 1 to 99), memory locked
    #[arg(long, value_name = "N", value_parser = number::within(1_u8..=99))]
    pub(crate) priority: Option<u8>,
    /// Keep all cores out of deep sleep meanwhile, for fast wake-ups; needs root
    #[arg(long)]
    pub(crate) awake: bool,
    /// Poll for packets instead of sleeping: takes a core, saves the wake-up
    #[arg(long)]
    pub(crate) spin: bool,
}

/// How payloads travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Way {
    /// UDP datagrams.
    Udp,
    /// Ethernet frames of type 0x88B5.
    Raw,
    /// The same frames by `AF_XDP`, bypassing the network stack.
    Xdp,
    /// ICMP echo.
    Icmp,
    /// The controller protocol CNDEP over UDP.
    Cndep,
    /// Messages on one TCP connection.
    Tcp,
    /// Topics over RTPS, in a domain instead of to an address.
    Rtps,
}

impl From<Way> for Via {
    fn from(way: Way) -> Self {
        match way {
            Way::Udp => Self::Udp,
            Way::Raw => Self::Raw,
            Way::Xdp => Self::Xdp,
            Way::Icmp => Self::Icmp,
            Way::Cndep => Self::Cndep,
            Way::Tcp => Self::Tcp,
            Way::Rtps => Self::Rtps,
        }
    }
}

pub(super) fn participant_of(domain: &DomainArgs, socket: &SocketArgs) -> ParticipantOptions {
    // The trace is started once everything else has been checked.
    participant(domain, socket.device.as_deref(), socket.vlan, None)
}

/// Starts a trace, which only topics have.
pub(super) fn trace(domain: &DomainArgs, via: Way) -> Result<Option<Trace>, Exit> {
    if domain.trace.is_some() && via != Way::Rtps {
        let message = "`--trace` is of `--via rtps`; for other ways use `tcpdump` or Wireshark";
        terminal::complain(message);
        return Err(Exit::WrongInput);
    }
    tracing(domain)
}

pub(super) fn marks(socket: &SocketArgs) -> Marks {
    Marks { dscp: socket.dscp, pcp: socket.pcp, vid: socket.vlan }
}

/// Returns the placement and waiting of the thread.
pub(crate) fn thread_of(wishes: &ThreadArgs) -> Thread {
    Thread {
        placement: Placement {
            core: wishes.core,
            priority: wishes.priority,
            lock_memory: wishes.priority.is_some(),
        },
        waiting: if wishes.spin { Waiting::Spin } else { Waiting::Block },
        awake: wishes.awake,
    }
}

pub(super) fn profile(has_sequence: bool) -> Profile {
    Profile { has_sequence, ..Profile::DEFAULT }
}

pub(super) fn hex(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return None;
    }
    let pairs = (0..text.len()).step_by(2).map(|at| &text[at..at + 2]);
    pairs.map(|pair| u8::from_str_radix(pair, 16).ok()).collect()
}

/// Reports why a measurement is not possible.
pub(crate) fn refuse(error: &LiveError) -> Exit {
    terminal::complain(&error.to_string());
    if error.is_wrong_input() { Exit::WrongInput } else { Exit::Unfit }
}
