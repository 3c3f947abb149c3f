//! Arguments of `load`.

use clap::{Args, ValueEnum};
use rtether_testbed::Duration;
use rtether_testbed::load::{Bytes, CONNECTIONS_MAX, Kind, Rate, Urgency};

use super::number;

/// Arguments of `load`.
#[derive(Args, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag")]
#[command(after_help = LOAD_CODES)]
pub(crate) struct LoadArgs {
    /// Address or name of the sink, with `:PORT` if not the default; with `--sink` the address to
    /// listen on [default with --sink: 0.0.0.0]
    #[arg(required_unless_present = "sink")]
    pub(crate) target: Option<String>,
    /// Receive load, over TCP and UDP on one port, until Ctrl-C
    #[arg(long, conflicts_with_all = ["kind", "size", "rate", "connections", "files", "duration", "dscp", "core", "priority"])]
    pub(crate) sink: bool,
    /// Kind of load
    #[arg(long, value_name = "KIND", default_value = "ftp-up")]
    pub(crate) kind: LoadKind,
    /// Size of a file, or of the payload of a datagram [default: 10 MB, and 1472 B for udp]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) size: Option<Bytes>,
    /// Rate of all datagrams together, on the wire [default: as fast as possible]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) rate: Option<Rate>,
    /// Number of simultaneous connections
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::within(1_u32..=CONNECTIONS_MAX))]
    pub(crate) connections: u32,
    /// Files per connection [default: as many as fit the time]
    #[arg(long, value_name = "N", value_parser = number::within(0..=u64::MAX))]
    pub(crate) files: Option<u64>,
    /// Duration [default: 10 s, or until the files are done]
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    pub(crate) duration: Option<Duration>,
    /// DSCP of all packets
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = number::within(0_u8..=63))]
    pub(crate) dscp: u8,
    /// Run on this core
    #[arg(long, value_name = "N", value_parser = number::core)]
    pub(crate) core: Option<usize>,
    /// Priority of the threads that generate the load
    #[arg(long, value_name = "PRIORITY", default_value = "low")]
    pub(crate) priority: LoadPriority,
    /// Sink: connections at a time; further ones are refused
    #[arg(long, value_name = "N", default_value_t = 64, requires = "sink", value_parser = number::within(1_u32..=1024))]
    pub(crate) limit_connections: u32,
    /// Sink: rate of payload over TCP, both directions and all connections together [default: no
    /// limit]
    #[arg(long, value_name = "RATE", requires = "sink", value_parser = rate)]
    pub(crate) limit_rate: Option<Rate>,
    /// Sink: let clients choose the DSCP of what they are sent
    #[arg(long, requires = "sink")]
    pub(crate) allow_dscp: bool,
    /// Sink: as root, user to become once the sockets are open [default: nobody]
    #[arg(long, value_name = "USER", requires = "sink")]
    pub(crate) user: Option<String>,
    /// Sink: keep user and rights, and bar neither files nor system calls
    #[arg(long, requires = "sink", conflicts_with = "user")]
    pub(crate) unconfined: bool,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    /// Print one CSV row
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
}

const LOAD_CODES: &str = "Exit codes: 0 the load was there, 3 nothing has arrived, 4 the sink \
cannot be reached or a connection ended early, 130 interrupted; the figures so far are printed. The \
sink ends with Ctrl-C and 0.";

/// Kind of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LoadKind {
    /// Files to the sink, one after another, each over a connection of its own.
    FtpUp,
    /// Files from the sink.
    FtpDown,
    /// Both at once.
    FtpBoth,
    /// One endless connection.
    Greedy,
    /// Datagrams.
    Udp,
}

impl From<LoadKind> for Kind {
    fn from(kind: LoadKind) -> Self {
        match kind {
            LoadKind::FtpUp => Self::FtpUp,
            LoadKind::FtpDown => Self::FtpDown,
            LoadKind::FtpBoth => Self::FtpBoth,
            LoadKind::Greedy => Self::Greedy,
            LoadKind::Udp => Self::Udp,
        }
    }
}

/// Priority of the threads that generate the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LoadPriority {
    /// Nice 19: yields to ordinary tasks.
    Low,
    /// `SCHED_IDLE`: runs only when nothing else does.
    Idle,
    /// Unchanged from the start of the program.
    Normal,
}

impl From<LoadPriority> for Urgency {
    fn from(priority: LoadPriority) -> Self {
        match priority {
            LoadPriority::Low => Self::Low,
            LoadPriority::Idle => Self::Idle,
            LoadPriority::Normal => Self::Normal,
        }
    }
}

fn time(text: &str) -> Result<Duration, String> {
    rtether::scenario::time(text)
}

fn size(text: &str) -> Result<Bytes, String> {
    rtether::scenario::size(text)
}

fn rate(text: &str) -> Result<Rate, String> {
    rtether::scenario::rate(text)
}
