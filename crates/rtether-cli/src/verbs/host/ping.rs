//! `ping`: round trips to a host.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration as WallDuration;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use rtether::meter::{self, Measurement};
use rtether_testbed::{
    self, BitRate, Command, Config, Duration, Event, Interval, LiveError, PingOptions,
};

use super::awake;
use super::domain::{DomainArgs, end_trace};
use super::quantity::{rate, time};
use super::socket::{
    SocketArgs, Way, hex, marks, participant_of, profile, refuse, thread_of, trace,
};
use super::stop::Stop;
use crate::exit::Exit;
use crate::format::FormatArgs;
use crate::number;
use crate::stop::Care;
use crate::{files, terminal};

/// Arguments of `ping`.
#[derive(Args, Debug)]
#[command(after_help = PING_NOTES)]
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
    #[command(flatten)]
    pub(crate) format: FormatArgs,
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

const PING_NOTES: &str = "Example: rtether ping 10.0.0.2 --count 10000 --deadline 1ms\n\nExit codes: 0 every request was answered within the deadline, 1 one was \
not, 3 none was answered, 4 the machine cannot do it, 130 interrupted.";

/// Interval of progress updates.
const REFRESH: WallDuration = WallDuration::from_millis(100);

/// Runs `ping`.
pub(crate) fn run(arguments: &PingArgs) -> Exit {
    let mut options = match options(arguments) {
        Ok(options) => options,
        Err(message) => {
            terminal::complain(&message);
            return Exit::WrongInput;
        }
    };
    options.participant.trace = match trace(&arguments.domain, arguments.via) {
        Ok(trace) => trace,
        Err(exit) => return exit,
    };
    let stop = Stop::new(Care::None);
    awake::keep(arguments.socket.thread.awake);
    let measurement = measure(&options, arguments.valentim, &stop);
    end_trace(&options.participant);
    let measurement = match measurement {
        Ok(measurement) => measurement,
        Err(error) => return refuse(&error),
    };
    if let Err(message) = write_files(arguments, &measurement) {
        return terminal::fail(&message);
    }
    let printed = arguments.format.print(&measurement);
    if printed != Exit::Ok {
        return printed;
    }
    conclude(&measurement, stop.load(Ordering::Relaxed))
}

fn conclude(measurement: &Measurement, is_interrupted: bool) -> Exit {
    if is_interrupted {
        return Exit::Interrupted;
    }
    if let Some(why) = &measurement.ended {
        return terminal::fail(&format!("the measurement ended early: {why}"));
    }
    measurement.conclusion().into()
}

fn options(arguments: &PingArgs) -> Result<PingOptions, String> {
    let interval = if arguments.interval == Duration::ZERO {
        Interval::Adaptive
    } else {
        Interval::Fixed(arguments.interval)
    };
    Ok(PingOptions {
        target: target(arguments)?,
        via: arguments.via.into(),
        device: arguments.socket.device.clone(),
        config: Config {
            series: arguments.series,
            samples: arguments.count,
            interval,
            pause: arguments.pause,
            timeout: arguments.timeout,
        },
        payload: arguments.size,
        participant: participant_of(&arguments.domain, &arguments.socket),
        marks: marks(&arguments.socket),
        thread: thread_of(&arguments.socket.thread),
        deadline: arguments.deadline,
        command: command(&arguments.command)?,
        profile: profile(arguments.numbered),
        stamps: arguments.stamps,
        one_way: arguments.one_way,
        is_same_host: arguments.same_host,
    })
}

/// Returns the target, which every way except topics needs.
fn target(arguments: &PingArgs) -> Result<String, String> {
    match (&arguments.target, arguments.via) {
        (Some(target), Way::Rtps) => Err(format!(
            "`{target}` is not a target for `--via rtps`: every `rtether echo --via rtps` in the \
             domain answers; `--peer {target}` names a host that multicast does not reach"
        )),
        (None, Way::Rtps) => Ok(String::new()),
        (Some(target), _) => Ok(target.clone()),
        (None, _) => Err("a target is missing: name the host that runs `rtether echo`".to_owned()),
    }
}

/// Parses `test`, `get:ID` or `set:ID:HEX`.
fn command(text: &str) -> Result<Command, String> {
    let wrong = || format!("`{text}` is no CNDEP command; write test, get:ID or set:ID:HEX");
    let mut parts = text.split(':');
    let (name, id, value) = (parts.next(), parts.next(), parts.next());
    let id = id.map(|id| id.parse::<u8>().map_err(|_| wrong()));
    match (name, id.transpose()?, value, parts.next()) {
        (Some("test"), None, None, None) => Ok(Command::Test),
        (Some("get"), Some(id), None, None) => Ok(Command::Get(id)),
        (Some("set"), Some(id), Some(value), None) => {
            Ok(Command::Set(id, hex(value).ok_or_else(wrong)?))
        }
        _ => Err(wrong()),
    }
}

/// Measures in a separate thread, to which a real-time priority is confined, and shows progress.
fn measure(
    options: &PingOptions,
    valentim: Option<BitRate>,
    stop: &AtomicBool,
) -> Result<Measurement, LiveError> {
    let total = u64::from(options.config.series) * u64::from(options.config.samples);
    let bar = bar(total);
    let (done, worst) = (AtomicU64::new(0), AtomicU64::new(0));
    let outcome = thread::scope(|scope| {
        let meter = scope.spawn(|| {
            let watch = |event: &Event| match event {
                Event::Sample(sample) => {
                    done.fetch_add(1, Ordering::Relaxed);
                    let ns = u64::try_from(sample.round_trip.as_ns_floor()).unwrap_or(0);
                    worst.fetch_max(ns, Ordering::Relaxed);
                }
                Event::Lost(_) => {
                    done.fetch_add(1, Ordering::Relaxed);
                }
                Event::Late { .. } | Event::Duplicate(_) => {}
            };
            match valentim {
                Some(rate) => rtether_testbed::valentim(options, rate, stop, watch),
                None => rtether_testbed::ping(options, stop, watch),
            }
        });
        while !meter.is_finished() {
            bar.set_position(done.load(Ordering::Relaxed));
            let us = worst.load(Ordering::Relaxed) / 1_000;
            bar.set_message(format!("worst {us} us"));
            thread::sleep(REFRESH);
        }
        meter.join()
    });
    bar.finish_and_clear();
    match outcome {
        Ok(outcome) => outcome,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn bar(total: u64) -> ProgressBar {
    let bar = ProgressBar::new(total);
    let template = "measuring {wide_bar} {pos} of {len}  {msg}  {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

fn write_files(arguments: &PingArgs, measurement: &Measurement) -> Result<(), String> {
    if let Some(path) = &arguments.samples {
        files::write(path, &meter::samples(measurement).csv())?;
    }
    if let Some(path) = &arguments.parts {
        files::write(path, &meter::parts(measurement).csv())?;
    }
    if let Some(path) = &arguments.hdr {
        files::write(path, &meter::hdr_log(measurement)?)?;
    }
    if let Some(path) = &arguments.metrics {
        files::write(path, &meter::prometheus(measurement))?;
    }
    Ok(())
}
