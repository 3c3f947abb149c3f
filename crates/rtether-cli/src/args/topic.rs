//! Arguments of the verbs for topics: `pub`, `sub` and `spy`.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rtether_testbed::topics::{Durability, Peer, Ports, Representation, SIZE_MAX};
use rtether_testbed::{Duration, Vid};

use super::live::{ConfineArgs, ThreadArgs, vid};
use super::number;

/// Arguments of `pub`.
#[derive(Args, Debug)]
#[command(after_help = PUB_CODES)]
pub(crate) struct PubArgs {
    #[command(flatten)]
    pub(crate) topic: TopicArgs,
    /// Time between samples
    #[arg(long, value_name = "TIME", default_value = "100 ms", value_parser = time)]
    pub(crate) period: Duration,
    /// Extra octets of each sample
    #[arg(short, long, value_name = "OCTETS", default_value_t = 0, conflicts_with = "idl", value_parser = number::within(0_u32..=SIZE_MAX))]
    pub(crate) size: u32,
    /// With --idl: value of the samples, such as `color: RED, x: 1`; omitted members are zero or
    /// empty
    #[arg(
        long,
        value_name = "MEMBERS",
        requires = "idl",
        conflicts_with = "values"
    )]
    pub(crate) value: Option<String>,
    /// With --idl: YAML or JSON file with a value or a list of values, written in turn; - reads one
    /// value per line of standard input until it ends
    #[arg(long, value_name = "FILE", requires = "idl")]
    pub(crate) values: Option<PathBuf>,
    /// Color of shapes, the key of their instances
    #[arg(long, value_name = "COLOR", default_value = "BLUE", conflicts_with = "idl", value_parser = color)]
    pub(crate) shape_color: String,
    /// Exclusive ownership with this strength: the strongest writer of an instance owns it
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::strength)]
    pub(crate) strength: Option<i32>,
    /// Time after which a sample expires [default: never]
    #[arg(long, value_name = "TIME", value_parser = positive)]
    pub(crate) lifespan: Option<Duration>,
    /// With --reliable: how long to wait at the end until readers have acknowledged everything
    #[arg(long, value_name = "TIME", default_value = "5 s", value_parser = time)]
    pub(crate) linger: Duration,
    /// DSCP of IP packets; its upper three bits are the PCP, inside the host and in frames on
    /// --device
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = number::within(0_u8..=63))]
    pub(crate) dscp: u8,
}

const PUB_CODES: &str = "Exit codes: 0 all was written and every deadline held, 1 a deadline was \
missed or a reliable reader has not acknowledged everything within --linger, 3 no reader, 4 the machine cannot do it, 130 interrupted.";

/// Arguments of `sub`.
#[derive(Args, Debug)]
#[command(after_help = SUB_CODES)]
pub(crate) struct SubArgs {
    #[command(flatten)]
    pub(crate) topic: TopicArgs,
    /// Exclusive ownership, as offered by writers with `--strength`
    #[arg(long)]
    pub(crate) exclusive: bool,
    /// Minimum separation of the samples of an instance; those in between are dropped
    #[arg(long, value_name = "TIME", default_value = "0 s", value_parser = time)]
    pub(crate) filter: Duration,
}

const SUB_CODES: &str = "Exit codes: 0 samples came and every deadline held, 1 a deadline was missed \
or fewer than --count came, 3 none came, 4 the machine cannot do it, 130 interrupted.";

/// A topic, its policies, and how many of its samples.
#[derive(Args, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct TopicArgs {
    /// Name of the topic
    pub(crate) topic: String,
    /// Type of its samples: shape, octets or ping; with --idl a structure of the file
    /// [default: shape, or the last structure of the file]
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: Option<String>,
    /// File of OMG IDL with the type
    #[arg(long, value_name = "FILE")]
    pub(crate) idl: Option<PathBuf>,
    /// Retransmit lost samples
    #[arg(long)]
    pub(crate) reliable: bool,
    /// Samples that late readers receive
    #[arg(long, value_name = "KIND", default_value = "volatile")]
    pub(crate) durability: DurabilityName,
    /// Samples kept per instance; 0 for all
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::within(0..=u32::MAX))]
    pub(crate) depth: u32,
    /// Longest time between samples of an instance, offered or requested [default: none]
    #[arg(long, value_name = "TIME", value_parser = positive)]
    pub(crate) deadline: Option<Duration>,
    /// Name or pattern of a partition; repeatable
    #[arg(long, value_name = "NAME")]
    pub(crate) partition: Vec<String>,
    /// Encoding of samples [default: 1 for writers; readers accept both]
    #[arg(long, value_name = "VERSION")]
    pub(crate) xcdr: Option<Xcdr>,
    /// Number of samples before it ends [default: no limit]
    #[arg(short = 'n', long, value_name = "N", value_parser = number::within(1_u64..=u64::MAX))]
    pub(crate) count: Option<u64>,
    /// Duration [default: until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = positive)]
    pub(crate) duration: Option<Duration>,
    #[command(flatten)]
    pub(crate) domain: DomainArgs,
    #[command(flatten)]
    pub(crate) frames: FrameArgs,
    #[command(flatten)]
    pub(crate) confine: ConfineArgs,
    #[command(flatten)]
    pub(crate) thread: ThreadArgs,
    /// Print one JSON object per sample, and one at the end
    #[arg(long)]
    pub(crate) json: bool,
    /// Print one CSV row per sample
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Print the summary only
    #[arg(short, long, conflicts_with = "csv")]
    pub(crate) quiet: bool,
}

/// Arguments of `spy`.
#[derive(Args, Debug)]
#[command(after_help = SPY_CODES)]
pub(crate) struct SpyArgs {
    #[command(flatten)]
    pub(crate) domain: DomainArgs,
    #[command(flatten)]
    pub(crate) frames: FrameArgs,
    #[command(flatten)]
    pub(crate) confine: ConfineArgs,
    /// How long to listen
    #[arg(long = "for", value_name = "TIME", default_value = "5 s", value_parser = positive)]
    pub(crate) duration: Duration,
    /// Read every topic to measure its rates, as an additional best-effort reader
    #[arg(long)]
    pub(crate) rates: bool,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    /// Print one CSV row per writer and reader
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
}

const SPY_CODES: &str = "Exit codes: 0 all writers and readers of a topic match, 1 some \
do not, 3 no other participant was found, 4 the machine cannot do it, 130 interrupted.";

/// Where in the network a participant is.
#[derive(Args, Debug)]
pub(crate) struct DomainArgs {
    /// RTPS: the domain
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = number::within(0_u16..=Ports::DOMAIN_MAX))]
    pub(crate) domain: u16,
    /// RTPS: address of this host that selects the network [default: the first that is not
    /// loopback]
    #[arg(long, value_name = "ADDRESS", value_parser = number::ipv4)]
    pub(crate) interface: Option<Ipv4Addr>,
    /// RTPS: address of a host that multicast does not reach, with --device of a station;
    /// repeatable
    #[arg(long, value_name = "ADDRESS", value_parser = peer)]
    pub(crate) peer: Vec<Peer>,
    /// RTPS: do not announce by multicast or listen to it; needs `--peer`, on one of the sides
    #[arg(long)]
    pub(crate) no_multicast: bool,
    /// RTPS: accept messages of a participant from any address, not only from those it has
    /// announced, and send to addresses that have never answered
    #[arg(long)]
    pub(crate) any_source: bool,
    /// RTPS: `EtherType` of frames on --device
    #[arg(long, value_name = "TYPE", default_value = "0x88b6", value_parser = ethertype)]
    pub(crate) ethertype: u16,
    /// RTPS: write everything sent and received to this pcapng file, up to 1 GiB
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
}

/// Frames on a device.
#[derive(Args, Debug)]
pub(crate) struct FrameArgs {
    /// RTPS: use Ethernet frames on this device, without IP (needs the right to raw frames)
    #[arg(long, value_name = "NAME")]
    pub(crate) device: Option<String>,
    /// RTPS: VLAN in the tags of frames on --device
    #[arg(long, value_name = "N", value_parser = vid, requires = "device")]
    pub(crate) vlan: Option<Vid>,
}

/// Samples that late readers receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DurabilityName {
    /// None.
    Volatile,
    /// Those that the writer still keeps.
    TransientLocal,
}

impl From<DurabilityName> for Durability {
    fn from(name: DurabilityName) -> Self {
        match name {
            DurabilityName::Volatile => Self::Volatile,
            DurabilityName::TransientLocal => Self::TransientLocal,
        }
    }
}

/// Encoding of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Xcdr {
    /// XCDR1, which all implementations know.
    #[value(name = "1")]
    One,
    /// XCDR2.
    #[value(name = "2")]
    Two,
}

impl From<Xcdr> for Representation {
    fn from(xcdr: Xcdr) -> Self {
        match xcdr {
            Xcdr::One => Self::Xcdr1,
            Xcdr::Two => Self::Xcdr2,
        }
    }
}

fn time(text: &str) -> Result<Duration, String> {
    rtether::scenario::time(text)
}

fn positive(text: &str) -> Result<Duration, String> {
    let span = time(text)?;
    if span == Duration::ZERO {
        return Err("write a time above zero".into());
    }
    Ok(span)
}

fn peer(text: &str) -> Result<Peer, String> {
    let wrong = |_| "write an address, such as 10.0.0.2 or 02:00:00:00:00:01".into();
    text.parse().map_err(wrong)
}

fn ethertype(text: &str) -> Result<u16, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u16::from_str_radix(digits, 16).map_err(|_| "write four hexadecimal digits".into())
}

fn color(text: &str) -> Result<String, String> {
    if text.is_empty() || text.len() > 128 {
        return Err("write 1 to 128 octets".into());
    }
    Ok(text.to_owned())
}
