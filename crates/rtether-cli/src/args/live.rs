//! Arguments of the verbs that measure on this host.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rtether_testbed::{BitRate, Duration, Pcp, Via, Vid};

use super::number;
use super::topic::DomainArgs;

/// Arguments of `ping`.
#[derive(Args, Debug)]
#[command(after_help = PING_CODES)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct PingArgs {
    /// Host name or address, with `:PORT` if not the default; Ethernet address for raw and xdp;
    /// none for rtps, where every responder in the domain answers
    pub(crate) target: Option<String>,
    /// How payloads travel
    #[arg(long, value_name = "WAY", default_value = "udp")]
    pub(crate) via: Way,
    /// Requests per series
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1_000, value_parser = number::within(0..=u32::MAX))]
    pub(crate) count: u32,
    /// Number of series
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::within(0..=u32::MAX))]
    pub(crate) series: u32,
    /// Time between series
    #[arg(long, value_name = "TIME", default_value = "0 s", value_parser = time)]
    pub(crate) pause: Duration,
    /// Time between requests; `0 s` to send the next on the answer to the last
    #[arg(short, long, value_name = "TIME", default_value = "1 ms", value_parser = time)]
    pub(crate) interval: Duration,
    /// Time after which a request is lost
    #[arg(long, value_name = "TIME", default_value = "1 s", value_parser = time)]
    pub(crate) timeout: Duration,
    /// Octets of payload; raised to the least size of the format
    #[arg(short, long, value_name = "OCTETS", default_value_t = 64, value_parser = number::octets)]
    pub(crate) size: usize,
    /// Round trips longer than this count as missed, as lost ones do; exit code 1 if there are any
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) deadline: Option<Duration>,
    #[command(flatten)]
    pub(crate) socket: SocketArgs,
    #[command(flatten)]
    pub(crate) domain: DomainArgs,
    /// Split round trips by the kernel's time stamps, on both sides if `rtether echo --stamps`
    /// answers (udp and raw)
    #[arg(long)]
    pub(crate) stamps: bool,
    /// Measure one-way delays; refused unless both sides have one clock, or clocks synchronized by
    /// PTP or NTP
    #[arg(long)]
    pub(crate) one_way: bool,
    /// The peer is on this host: stalls of all cores count, not only those of the measuring one
    #[arg(long)]
    pub(crate) same_host: bool,
    /// Also measure over loopback, and split half a round trip into stack, card and a wire of this
    /// rate (udp and raw; the method of Valentim et al.)
    #[arg(long, value_name = "RATE", value_parser = rate, conflicts_with = "one_way")]
    pub(crate) valentim: Option<BitRate>,
    /// CNDEP command: `test`, `get:ID` or `set:ID:HEX`
    #[arg(long, value_name = "COMMAND", default_value = "test")]
    pub(crate) command: String,
    /// CNDEP packets carry a sequence octet
    #[arg(long)]
    pub(crate) numbered: bool,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    /// Print one CSV row per series
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Write one CSV row per round trip
    #[arg(long, value_name = "FILE")]
    pub(crate) samples: Option<PathBuf>,
    /// Write one CSV row per round trip with its parts (needs `--stamps`)
    #[arg(long, value_name = "FILE", requires = "stamps")]
    pub(crate) parts: Option<PathBuf>,
    /// Write an `HdrHistogram` interval log
    #[arg(long, value_name = "FILE")]
    pub(crate) hdr: Option<PathBuf>,
    /// Write counters and percentiles as Prometheus text
    #[arg(long, value_name = "FILE")]
    pub(crate) metrics: Option<PathBuf>,
}

const PING_CODES: &str = "Exit codes: 0 every request was answered within the deadline, 1 one was \
not, 3 none was answered, 4 the machine cannot do it, 130 interrupted.";

/// Arguments of `echo`.
#[derive(Args, Debug)]
pub(crate) struct EchoArgs {
    /// Address to listen on, with `:PORT` if not the default
    #[arg(default_value = "0.0.0.0")]
    pub(crate) listen: String,
    /// How payloads travel; ICMP is answered by every kernel
    #[arg(long, value_name = "WAY", default_value = "udp")]
    pub(crate) via: Way,
    #[command(flatten)]
    pub(crate) socket: SocketArgs,
    #[command(flatten)]
    pub(crate) domain: DomainArgs,
    /// CNDEP: time that the board takes between a request and its answer
    #[arg(long, value_name = "TIME", default_value = "0 s", value_parser = time)]
    pub(crate) delay: Duration,
    /// CNDEP parameter of the board, `ID=HEX`, or `ID:=HEX` if it can be set; repeatable
    #[arg(long, value_name = "PARAMETER")]
    pub(crate) parameter: Vec<String>,
    /// CNDEP packets carry a sequence octet
    #[arg(long)]
    pub(crate) numbered: bool,
    /// Have the kernel stamp packets, for `rtether ping --stamps` (udp and raw)
    #[arg(long)]
    pub(crate) stamps: bool,
    #[command(flatten)]
    pub(crate) confine: ConfineArgs,
    /// TCP: connections from one address at a time; further ones are told that there is no room
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = number::within(1_u32..=16))]
    pub(crate) limit_peer: u32,
    /// TCP: close a connection idle for this long; a `ping` with a longer `--interval` or `--pause`
    /// needs more
    #[arg(long, value_name = "TIME", default_value = "10 s", value_parser = time)]
    pub(crate) limit_idle: Duration,
    /// At the end, print one JSON document instead of a line
    #[arg(long)]
    pub(crate) json: bool,
}

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

/// What to give up once sockets and files are open.
#[derive(Args, Debug)]
pub(crate) struct ConfineArgs {
    /// As root: user to become once sockets and files are open, by name or number [default: nobody]
    #[arg(long, value_name = "USER")]
    pub(crate) user: Option<String>,
    /// Keep user and rights, and bar neither files nor system calls
    #[arg(long, conflicts_with = "user")]
    pub(crate) unconfined: bool,
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

fn time(text: &str) -> Result<Duration, String> {
    rtether::scenario::time(text)
}

fn rate(text: &str) -> Result<BitRate, String> {
    rtether::scenario::rate(text)
}

fn pcp(text: &str) -> Result<Pcp, String> {
    let value = text.parse().ok().and_then(Pcp::new);
    value.ok_or_else(|| "write a number from 0 to 7".into())
}

pub(super) fn vid(text: &str) -> Result<Vid, String> {
    let value = text.parse().ok().and_then(Vid::new);
    value.ok_or_else(|| "write a number from 0 to 4094".into())
}
