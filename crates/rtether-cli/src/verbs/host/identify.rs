//! `identify`: what a device costs.

use std::fs::File;
use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration as WallDuration;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use rtether::import::Source;
use rtether::profile;
use rtether_testbed::identify::{
    self, Asked, BURST, BURST_MAX, Identified, IdentifyOptions, NetworkShare, Progress, Protocol,
    REQUESTS, REQUESTS_MIN, Share,
};

use super::socket::refuse;
use super::stop::Stop;
use crate::exit::Exit;
use crate::files;
use crate::format::FormatArgs;
use crate::number;
use crate::scenario::{self, RunOverrides};
use crate::stop::Care;
use crate::terminal;

/// Arguments of `identify`.
#[derive(Args, Debug)]
#[command(after_help = NOTES)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct IdentifyArgs {
    /// Host name or IPv4 address of the device; with --capture, its address if several answer
    #[arg(required_unless_present = "capture")]
    pub(crate) target: Option<String>,
    /// Write the profile, which a scenario takes by `stack: FILE`
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Write one self-contained HTML page with pictures
    #[arg(long, value_name = "FILE", conflicts_with = "list")]
    pub(crate) report: Option<PathBuf>,
    /// How to ask, with `:PORT` if not the usual one: echo, closed, syn:PORT, unreachable, snmp,
    /// modbus, enip, arp, cndep, opcua, echo-rtether; may be given several times [default: echo, snmp,
    /// modbus, enip, as far as the device answers]
    #[arg(long, value_name = "WAY", value_parser = asked)]
    pub(crate) via: Vec<Asked>,
    /// Only say what the device answers: one request in each protocol
    #[arg(long, conflicts_with_all = ["load", "path", "out"])]
    pub(crate) list: bool,
    /// Requests of a series; fewer make intervals wider
    #[arg(short = 'n', long, value_name = "N", default_value_t = REQUESTS, value_parser = number::within(REQUESTS_MIN..=10_000_u16))]
    pub(crate) requests: u16,
    /// Also send bursts, trains and silent packets by echo; asks first
    #[arg(long)]
    pub(crate) load: bool,
    /// Send load without asking
    #[arg(long, requires = "load")]
    pub(crate) yes: bool,
    /// Requests in the longest burst
    #[arg(long, value_name = "N", default_value_t = BURST, value_parser = number::within(1..=BURST_MAX), requires = "load")]
    pub(crate) burst: u16,
    /// Scenario that has the network between this host and the device, whose share is taken out
    #[arg(long, value_name = "SCENARIO", requires_all = ["from", "to"])]
    pub(crate) path: Option<PathBuf>,
    /// End station in it that stands for this host
    #[arg(long, value_name = "NODE", requires = "path")]
    pub(crate) from: Option<String>,
    /// End station in it that stands for the device
    #[arg(long, value_name = "NODE", requires = "path")]
    pub(crate) to: Option<String>,
    /// Do not measure what this host takes, so that it is a part of the figures
    #[arg(long)]
    pub(crate) with_host: bool,
    /// Community of SNMP that may read
    #[arg(long, value_name = "TEXT", default_value = "public", value_parser = community)]
    pub(crate) community: String,
    /// Unit of Modbus behind the address
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::within(0..=u8::MAX))]
    pub(crate) unit: u8,
    /// First holding register that is read, from 0
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = number::within(0..=u16::MAX))]
    pub(crate) register: u16,
    /// Send nothing, but pair the requests and answers of others in this capture (pcap or pcapng)
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["via", "list", "load", "path", "with_host", "requests"]
    )]
    pub(crate) capture: Option<PathBuf>,
    /// Seed of the order of sizes and of the gaps
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::seed)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

const NOTES: &str = "Example: rtether identify 10.0.0.2 -o device.yaml\n\nWithout --load at \
most 10 requests are sent in any second, one is outstanding, and none writes. ICMP, ARP and the share \
of this host need root.\n\nExit codes: 0 the figures predict requests that no estimate has used, 1 they \
do not, 2 wrong input, 3 no answer, 4 the machine cannot do it, 130 interrupted; what is known by \
then is printed.";

/// Interval of progress updates.
const REFRESH: WallDuration = WallDuration::from_millis(100);

/// Parses a way to ask, with its port.
fn asked(text: &str) -> Result<Asked, String> {
    let (word, port) = match text.split_once(':') {
        Some((word, port)) => (word, Some(port)),
        None => (text, None),
    };
    let known = Protocol::ALL.into_iter().find(|own| own.word() == word);
    let protocol = known.ok_or_else(|| {
        let words = Protocol::ALL.map(Protocol::word);
        format!("write one of {}", words.join(", "))
    })?;
    let port = port.map(|port| port.parse().ok().filter(|port| *port > 0_u16));
    match (protocol, port) {
        (Protocol::Echo | Protocol::Arp, Some(_)) => Err(format!("{word} has no port")),
        (Protocol::Syn, None) => Err("write the open port, such as syn:80".into()),
        (_, Some(None)) => Err("write a port from 1 to 65535 behind the colon".into()),
        (_, port) => Ok(Asked { protocol, port: port.flatten().or(protocol.port()) }),
    }
}

fn community(text: &str) -> Result<String, String> {
    match text.len() {
        1..=64 => Ok(text.to_owned()),
        _ => Err("write 1 to 64 octets".into()),
    }
}

/// Runs `identify`.
pub(crate) fn run(arguments: &IdentifyArgs) -> Exit {
    if arguments.out.is_some() && arguments.out == arguments.report {
        terminal::complain("`--out` and `--report` name one file; give them two names");
        return Exit::WrongInput;
    }
    if let Some(path) = &arguments.capture {
        return from_capture(path, arguments);
    }
    // It may have namespaces to remove, and what is known is shown.
    let stop = Stop::new(Care::Always);
    let network = match network(arguments) {
        Ok(network) => network,
        Err(exit) => return exit,
    };
    let mut options = options(arguments);
    if arguments.list {
        return list(arguments, &options, &stop);
    }
    terminal::remark(&identify::announcement(&options));
    if arguments.load && !arguments.yes && !is_load_wished() {
        return Exit::WrongInput;
    }
    let host = if arguments.with_host { None } else { identify::of_host(&stop) };
    options.share = Share { network: network.unwrap_or_default(), host };
    let measured = with_bar(|tell| identify::identify(&options, &stop, tell));
    match measured {
        Ok(identified) => show(&identified, arguments),
        Err(_) if stop.load(Ordering::Relaxed) => Exit::Interrupted,
        Err(error) => refuse(&error),
    }
}

/// Writes the profile and its page, and prints the result.
fn show(identified: &Identified, arguments: &IdentifyArgs) -> Exit {
    let answered = identified.series.iter().any(|own| own.counters.answered > 0);
    // A profile of nothing would take the place of an earlier one.
    let profile = identified.profile();
    let outputs = [
        arguments.out.as_deref().map(|path| (path, profile.to_yaml())),
        arguments.report.as_deref().map(|path| (path, profile::html(&profile))),
    ];
    for (path, text) in outputs.into_iter().flatten().filter(|_| answered) {
        if let Err(message) = files::write(path, &text) {
            return terminal::fail(&message);
        }
    }
    let printed = arguments.format.print(identified);
    if printed == Exit::Ok { identified.conclusion().into() } else { printed }
}

/// Reads a capture.
fn from_capture(path: &Path, arguments: &IdentifyArgs) -> Exit {
    let name = path.display().to_string();
    let reader = match File::open(path) {
        Ok(file) => Box::new(file),
        Err(error) => {
            terminal::complain(&format!("reading `{name}`: {error}; name a capture"));
            return Exit::WrongInput;
        }
    };
    match identify::from_capture(Source { name, reader }, arguments.target.as_deref()) {
        Ok(identified) => show(&identified, arguments),
        Err(error) => {
            terminal::complain(&error.to_string());
            Exit::WrongInput
        }
    }
}

fn list(arguments: &IdentifyArgs, options: &IdentifyOptions, stop: &Stop) -> Exit {
    match identify::list(options, stop) {
        Ok(listing) => {
            let printed = arguments.format.print(&listing);
            if printed == Exit::Ok { listing.conclusion().into() } else { printed }
        }
        Err(error) => refuse(&error),
    }
}

fn options(arguments: &IdentifyArgs) -> IdentifyOptions {
    let usual: &[Protocol] = if arguments.list { &Protocol::ALL } else { &Protocol::USUAL };
    let asked = match arguments.via.as_slice() {
        [] => usual.iter().copied().map(Asked::usual).collect(),
        named => named.to_vec(),
    };
    IdentifyOptions {
        target: arguments.target.clone().unwrap_or_default(),
        asked,
        requests: arguments.requests,
        load: arguments.load.then_some(arguments.burst),
        community: arguments.community.clone(),
        unit: arguments.unit,
        register: arguments.register,
        seed: arguments.seed,
        share: Share::default(),
    }
}

/// Returns the network's share from a scenario; `None` if it is to be estimated.
fn network(arguments: &IdentifyArgs) -> Result<Option<NetworkShare>, Exit> {
    let ends = arguments.from.as_deref().zip(arguments.to.as_deref());
    let Some((path, (from, to))) = arguments.path.as_deref().zip(ends) else { return Ok(None) };
    let loaded = scenario::load_for_run(path, &RunOverrides::default())?;
    identify::between(&loaded.scenario, from, to).map(Some).map_err(|why| {
        terminal::complain(&format!("{}: {why}", path.display()));
        Exit::WrongInput
    })
}

/// Asks on the terminal; without one, says what to write.
fn is_load_wished() -> bool {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        terminal::complain(
            "--load may overload the device, and there is no terminal to ask at; write --yes",
        );
        return false;
    }
    terminal::tell("this may overload the device and what it controls; send it? [y/N]");
    let mut answer = String::new();
    let is_read = io::stdin().lock().read_line(&mut answer).is_ok();
    let is_wished = is_read && matches!(answer.trim(), "y" | "Y" | "yes");
    if !is_wished {
        terminal::complain("nothing was sent; without --load no bursts are");
    }
    is_wished
}

/// Runs work in a thread of its own, and shows what it tells.
fn with_bar<T: Send>(work: impl FnOnce(&mut dyn FnMut(Progress)) -> T + Send) -> T {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos} of {len}  {eta} left") {
        bar.set_style(style);
    }
    let latest: Mutex<Option<Progress>> = Mutex::new(None);
    let outcome = thread::scope(|scope| {
        let worker = scope.spawn(|| {
            work(&mut |progress| {
                if let Ok(mut latest) = latest.lock() {
                    *latest = Some(progress);
                }
            })
        });
        while !worker.is_finished() {
            let progress = latest.lock().ok().and_then(|latest| *latest);
            match progress {
                Some(Progress::Opens(asked)) => bar.set_message(asked.protocol.word()),
                Some(Progress::Asks(asked, method, done, all)) => {
                    bar.set_message(format!("{} {}", asked.protocol.word(), method.word()));
                    bar.set_length(all);
                    bar.set_position(done);
                }
                None => {}
            }
            thread::sleep(REFRESH);
        }
        worker.join()
    });
    bar.finish_and_clear();
    outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
