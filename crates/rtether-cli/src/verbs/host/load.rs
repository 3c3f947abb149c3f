//! `load`: background load and its sink.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration as WallDuration, Instant};

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use rtether_testbed::Duration;
use rtether_testbed::load::{
    self, Bytes, CONNECTIONS_MAX, Kind, Limits, LoadError, LoadOptions, Outcome, Progress, Rate,
    Urgency,
};

use super::confine::confinement;
use super::quantity::{rate, size, time};
use super::stop::Stop;
use crate::exit::Exit;
use crate::format::FormatArgs;
use crate::number;
use crate::stop::Care;
use crate::terminal;

/// Arguments of `load`.
#[derive(Args, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag")]
#[command(after_help = LOAD_NOTES)]
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
    /// Sink: connections from one address at a time; further ones are refused
    #[arg(long, value_name = "N", default_value_t = 16, requires = "sink", value_parser = number::within(1_u32..=1024))]
    pub(crate) limit_peer: u32,
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
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

const LOAD_NOTES: &str = "Example: rtether load 10.0.0.2 --kind udp --rate 50Mbit/s --for 30s\n\nExit codes: 0 the load was there, 3 nothing has arrived, 4 the sink \
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

/// Interval of progress updates.
const REFRESH: WallDuration = WallDuration::from_millis(100);

/// Runs `load`.
pub(crate) fn run(arguments: &LoadArgs) -> Exit {
    let stop = Stop::new(Care::None);
    if arguments.sink {
        return sink(arguments, &stop);
    }
    let options = options(arguments);
    let outcome = match watched(&options, &stop) {
        Ok(outcome) => outcome,
        Err(error) => return refuse(&error),
    };
    let printed = arguments.format.print(&outcome);
    if printed != Exit::Ok {
        return printed;
    }
    if let Some(why) = outcome.failures.first().filter(|_| !outcome.is_interrupted) {
        return terminal::fail(&format!("a connection ended early: {why}"));
    }
    outcome.conclusion().into()
}

fn options(arguments: &LoadArgs) -> LoadOptions {
    let kind = Kind::from(arguments.kind);
    let usual = match kind {
        Kind::Udp => Bytes::new(1_472),
        Kind::FtpUp | Kind::FtpDown | Kind::FtpBoth | Kind::Greedy => Bytes::new(10_000_000),
    };
    // A number of files is not cut short by a time limit.
    let length = arguments.files.is_none().then_some(Duration::from_secs(10));
    LoadOptions {
        target: arguments.target.clone().unwrap_or_default(),
        kind,
        size: arguments.size.unwrap_or(usual),
        rate: arguments.rate,
        connections: arguments.connections,
        files: arguments.files,
        duration: arguments.duration.or(length),
        urgency: arguments.priority.into(),
        core: arguments.core,
        dscp: arguments.dscp,
    }
}

/// Generates the load in other threads and shows progress.
fn watched(options: &LoadOptions, stop: &AtomicBool) -> Result<Outcome, LoadError> {
    let progress = Progress::default();
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} load  {msg}  {elapsed}") {
        bar.set_style(style);
    }
    let begin = Instant::now();
    let outcome = thread::scope(|scope| {
        let load = scope.spawn(|| load::load(options, stop, &progress));
        while !load.is_finished() {
            let octets = progress.octets.load(Ordering::Relaxed);
            let ms = u64::try_from(begin.elapsed().as_millis()).unwrap_or(1).max(1);
            bar.set_message(format!(
                "{} MB, {} files, {} Mbit/s",
                octets / 1_000_000,
                progress.files.load(Ordering::Relaxed),
                octets * 8 / 1_000 / ms
            ));
            bar.tick();
            thread::sleep(REFRESH);
        }
        load.join()
    });
    bar.finish_and_clear();
    match outcome {
        Ok(outcome) => outcome,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn sink(arguments: &LoadArgs, stop: &AtomicBool) -> Exit {
    let limits = Limits {
        connections: usize::try_from(arguments.limit_connections).unwrap_or(1),
        of_peer: usize::try_from(arguments.limit_peer).unwrap_or(1),
        rate: arguments.limit_rate,
        marks: arguments.allow_dscp,
        ..Limits::default()
    };
    let listen = arguments.target.as_deref().unwrap_or("0.0.0.0");
    let confinement = match confinement(arguments.user.as_deref(), arguments.unconfined) {
        Ok(confinement) => confinement,
        Err(exit) => return exit,
    };
    let taken = load::sink(listen, limits, confinement.as_ref(), stop, |at, confined| {
        let confined = confined.map_or_else(String::new, |confined| format!(", {confined}"));
        terminal::tell(&format!("taking load at {at}, TCP and UDP{confined}; Ctrl-C ends it"));
    });
    match taken {
        Ok(taken) => {
            if taken.unmarked > 0 {
                terminal::remark(&format!(
                    "{} connections wished for a DSCP, and were served without; `--allow-dscp` \
                     grants it",
                    taken.unmarked
                ));
            }
            terminal::print(&format!(
                "{} connections, {} turned away, {} broken off idle, {} malformed; {} B received, \
                 {} B sent, {} datagrams\n",
                taken.connections,
                taken.refused,
                taken.idle,
                taken.malformed,
                taken.received,
                taken.sent,
                taken.datagrams
            ))
        }
        Err(error) => refuse(&error),
    }
}

fn refuse(error: &LoadError) -> Exit {
    terminal::complain(&error.to_string());
    if error.is_wrong_input() { Exit::WrongInput } else { Exit::Unfit }
}
