//! `calibrate`: cost of this host's network stack.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use rtether_testbed::calibrate::{self, CalibrateOptions, Path, Protocol, SIZE_MAX, SIZE_MIN};
use rtether_testbed::{Duration, Waiting};

use super::awake;
use super::quantity::at_most;
use super::stop::Stop;
use crate::exit::Exit;
use crate::files;
use crate::format::FormatArgs;
use crate::number;
use crate::stop::Care;
use crate::terminal;

/// Arguments of `calibrate`.
#[derive(Args, Debug)]
#[command(after_help = CALIBRATE_NOTES)]
pub(crate) struct CalibrateArgs {
    /// Write the profile as YAML, to be pasted into a scenario
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Prefix of the names of its stacks
    #[arg(long, value_name = "NAME", default_value = "host", value_parser = name)]
    pub(crate) name: String,
    /// Path between both ends; may be given several times [default: all]
    #[arg(long, value_name = "PATH")]
    pub(crate) over: Vec<Over>,
    /// Protocol that carries the payload; may be given several times [default: all]
    #[arg(long, value_name = "WAY")]
    pub(crate) via: Vec<CalibrateWay>,
    /// How both ends wait; may be given several times [default: both]
    #[arg(long, value_name = "HOW")]
    pub(crate) waiting: Vec<How>,
    /// Payload size in octets, 40 to 1472; may be given several times [default: 64, 128, 256, 512,
    /// 1024 and 1472]
    #[arg(short, long, value_name = "OCTETS", value_parser = size)]
    pub(crate) size: Vec<usize>,
    /// Round trips per combination
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1_000, value_parser = number::within(1_u32..=1_000_000))]
    pub(crate) count: u32,
    /// Time between requests
    #[arg(short, long, value_name = "TIME", default_value = "1 ms", value_parser = at_most(10))]
    pub(crate) interval: Duration,
    /// Cores of both ends, for example 0,1 [default: the first two allowed]
    #[arg(long, value_name = "N,N", value_parser = cores)]
    pub(crate) cores: Option<[usize; 2]>,
    /// Real-time priority of both ends (`SCHED_FIFO`, 1 to 98), 0 for none [default: 50 if granted]
    #[arg(long, value_name = "N", value_parser = number::within(0_u8..=98))]
    pub(crate) priority: Option<u8>,
    /// Keep all cores out of deep sleep meanwhile, as `rtether live` does: wake-ups are then a
    /// small part of the cost
    #[arg(long)]
    pub(crate) awake: bool,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

const CALIBRATE_NOTES: &str = "Example: rtether calibrate --over veth --out host.yaml\n\nExit codes: 0 everything was measured, 4 the machine cannot do it, \
130 interrupted; what was measured so far is printed and written.";

/// Path between both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Over {
    /// The loopback device.
    Loopback,
    /// A veth pair between two namespaces.
    Veth,
}

impl From<Over> for Path {
    fn from(over: Over) -> Self {
        match over {
            Over::Loopback => Self::Loopback,
            Over::Veth => Self::Veth,
        }
    }
}

/// Protocol that carries the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CalibrateWay {
    /// UDP datagrams.
    Udp,
    /// Ethernet frames; not over loopback.
    Raw,
    /// ICMP echo: round trips only.
    Icmp,
}

impl From<CalibrateWay> for Protocol {
    fn from(way: CalibrateWay) -> Self {
        match way {
            CalibrateWay::Udp => Self::Udp,
            CalibrateWay::Raw => Self::Raw,
            CalibrateWay::Icmp => Self::Icmp,
        }
    }
}

/// How both ends wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum How {
    /// Sleep in the kernel.
    Block,
    /// Poll continuously.
    Spin,
}

impl From<How> for Waiting {
    fn from(how: How) -> Self {
        match how {
            How::Block => Self::Block,
            How::Spin => Self::Spin,
        }
    }
}

fn size(text: &str) -> Result<usize, String> {
    let size = text.parse().ok();
    let size = size.filter(|size| (SIZE_MIN..=SIZE_MAX).contains(size));
    size.ok_or_else(|| format!("write a number from {SIZE_MIN} to {SIZE_MAX}"))
}

fn cores(text: &str) -> Result<[usize; 2], String> {
    let pair = text.split_once(',');
    let pair = pair.and_then(|(near, far)| Some([near.parse().ok()?, far.parse().ok()?]));
    pair.ok_or_else(|| "write two numbers, for example 0,1".into())
}

/// Parses a name prefix that needs no quotes in YAML.
fn name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(is_plain) {
        Ok(text.to_owned())
    } else {
        Err("write a letter, then letters, digits, - and _".into())
    }
}

/// Runs `calibrate`.
pub(crate) fn run(arguments: &CalibrateArgs) -> Exit {
    let stop = Stop::new(Care::Always);
    awake::keep(arguments.awake);
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos} of {len}  {msg}  {eta} left")
    {
        bar.set_style(style);
    }
    let measured = calibrate::calibrate(&options(arguments), &stop, |done, total, what| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
        bar.set_message(what.to_owned());
    });
    bar.finish_and_clear();
    let calibration = match measured {
        Ok(calibration) => calibration,
        Err(error) => return terminal::fail(&error.to_string()),
    };
    if calibration.rows.is_empty() && stop.load(Ordering::Relaxed) {
        // A profile of nothing would take the place of an earlier one.
        terminal::tell("interrupted before anything was measured; nothing is written");
        return Exit::Interrupted;
    }
    if let Some(path) = &arguments.out {
        let profile = calibrate::yaml(&calibration, &arguments.name);
        if let Err(message) = files::write(path, &profile) {
            return terminal::fail(&message);
        }
    }
    let printed = arguments.format.print(&calibration);
    if printed != Exit::Ok {
        printed
    } else if stop.load(Ordering::Relaxed) {
        Exit::Interrupted
    } else {
        Exit::Ok
    }
}

fn options(arguments: &CalibrateArgs) -> CalibrateOptions {
    let usual = CalibrateOptions::default();
    CalibrateOptions {
        paths: chosen(&arguments.over, usual.paths),
        protocols: chosen(&arguments.via, usual.protocols),
        waitings: chosen(&arguments.waiting, usual.waitings),
        sizes: chosen(&arguments.size, usual.sizes),
        samples: arguments.count,
        interval: arguments.interval,
        cores: arguments.cores,
        priority: arguments.priority,
        awake: arguments.awake,
    }
}

/// Returns the chosen values, or all if there are none.
fn chosen<T: Copy, U: From<T>>(named: &[T], all: Vec<U>) -> Vec<U> {
    if named.is_empty() { all } else { named.iter().map(|&one| one.into()).collect() }
}
