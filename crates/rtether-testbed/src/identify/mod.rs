//! What a device costs, measured from this host by requests that only read.
//!
//! `open` finds out whether and how a device answers a protocol, `quiet` and `load` let the prober of
//! [`rtether_proto::identify`] ask it, `share` says what host and network take of a round trip,
//! `capture` pairs what others have asked, `output` shows the result and `profile` keeps it.
//!
//! **Invariant:** without load at most ten requests are sent in any second, one is outstanding, and
//! none writes; a port is asked in its own protocol only.

mod capture;
mod list;
mod load;
mod open;
mod output;
mod profile;
mod quiet;
mod share;
mod tempo;

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};

use rtether_live::identify::Oddities;
use rtether_model::quantity::Duration;
use rtether_proto::identify::{
    Confirmation, Costs, Counters, Cycle, End, Exchange, Load, Misfit, Observation, Path,
    Unidentified,
};
use rtether_proto::probe::cndep;

use super::{LiveError, Via, address_v4};
use open::{Door, Opened};
use tempo::Tempo;

pub use capture::{CaptureError, from_capture};
pub(crate) use list::ListingJson;
pub use list::{Answer, Listing, list};
pub(crate) use output::IdentifyJson;
pub use share::{NetworkShare, Share, between, estimated, of_host};

/// Requests of a series if the user gives none, and the fewest.
pub const REQUESTS: u16 = 270;
/// Fewest requests of a series: estimates need as many.
pub const REQUESTS_MIN: u16 = 60;
/// Longest burst if the user gives none, and the longest: what a burst tells takes time with the cube
/// of its length to find out.
pub const BURST: u16 = 64;
/// The longest burst.
pub const BURST_MAX: u16 = 256;

/// A way to ask a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// ICMP echo.
    Echo,
    /// TCP SYN to a closed port.
    Closed,
    /// TCP SYN to an open port.
    Syn,
    /// UDP to a closed port, answered by ICMP.
    Unreachable,
    /// SNMP version 2c: get and getbulk.
    Snmp,
    /// Modbus over TCP: read holding registers.
    Modbus,
    /// EtherNet/IP: read an attribute of the identity object.
    Enip,
    /// ARP.
    Arp,
    /// CNDEP: the command Test.
    Cndep,
    /// OPC UA: which servers are there, over a channel without security.
    OpcUa,
    /// `rtether echo` over UDP.
    Message,
}

impl Protocol {
    /// All, in the order in which they are listed.
    pub const ALL: [Self; 11] = [
        Self::Echo,
        Self::Closed,
        Self::Syn,
        Self::Unreachable,
        Self::Snmp,
        Self::Modbus,
        Self::Enip,
        Self::Arp,
        Self::Cndep,
        Self::OpcUa,
        Self::Message,
    ];
    /// Those that are asked if the user names none: each on a port of its own, and none that opens
    /// more than one connection.
    pub const USUAL: [Self; 4] = [Self::Echo, Self::Snmp, Self::Modbus, Self::Enip];

    /// Returns the word on the command line and in files.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Closed => "closed",
            Self::Syn => "syn",
            Self::Unreachable => "unreachable",
            Self::Snmp => "snmp",
            Self::Modbus => "modbus",
            Self::Enip => "enip",
            Self::Arp => "arp",
            Self::Cndep => "cndep",
            Self::OpcUa => "opcua",
            Self::Message => "echo-rtether",
        }
    }

    /// Returns the port if the user names none; `None` if there is none.
    pub const fn port(self) -> Option<u16> {
        match self {
            Self::Echo | Self::Arp | Self::Syn => None,
            // Discard, which hardly any host has.
            Self::Closed | Self::Unreachable => Some(9),
            Self::Snmp => Some(161),
            Self::Modbus => Some(502),
            Self::Enip => Some(44_818),
            Self::Cndep => Some(cndep::Profile::PORT),
            Self::OpcUa => Some(4_840),
            Self::Message => Some(super::PORT),
        }
    }

    /// Returns the mean time between requests. Linux sends one "unreachable" in a second.
    const fn gap(self) -> Duration {
        if matches!(self, Self::Unreachable) {
            Duration::from_ms(1_500)
        } else {
            Duration::from_ms(125)
        }
    }

    /// Returns how many requests a series has if that many are wished.
    fn requests(self, wished: u16) -> u16 {
        let most = if self == Self::Unreachable {
            80
        } else if self == Self::OpcUa {
            // Servers close a channel without a session after a while, 30 s for example.
            190
        } else {
            u16::MAX
        };
        wished.min(most)
    }
}

/// A protocol to ask in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The protocol.
    pub protocol: Protocol,
    /// Its port; `None` for ICMP and ARP.
    pub port: Option<u16>,
}

impl Asked {
    /// Returns the protocol with its usual port.
    pub const fn usual(protocol: Protocol) -> Self {
        Self { protocol, port: protocol.port() }
    }
}

/// What to measure.
#[derive(Clone, Debug)]
pub struct IdentifyOptions {
    /// Name or address of the device.
    pub target: String,
    /// The protocols.
    pub asked: Vec<Asked>,
    /// Requests of a series, from [`REQUESTS_MIN`].
    pub requests: u16,
    /// The longest burst, at most [`BURST_MAX`], if there is to be load.
    pub load: Option<u16>,
    /// Community of SNMP that may read.
    pub community: String,
    /// Unit of Modbus.
    pub unit: u8,
    /// First register that is read, from zero.
    pub register: u16,
    /// Of sizes, gaps and sessions.
    pub seed: u64,
    /// What is taken out of round trips; the network's share is estimated if it is not stated.
    pub share: Share,
}

/// How a series was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// One request outstanding, at most ten in a second.
    Quiet,
    /// Bursts, trains and silent packets.
    Load,
    /// From a capture.
    Capture,
}

impl Method {
    /// Returns the word in files.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Load => "load",
            Self::Capture => "capture",
        }
    }
}

/// How a series ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By the prober.
    Done(End),
    /// By the user.
    Interrupted,
    /// By an error of the socket, or by a device that broke the rules.
    Broken(String),
}

/// What was measured in one protocol.
#[derive(Clone, Debug)]
pub struct Series {
    /// The protocol and its port.
    pub asked: Asked,
    /// How it was measured.
    pub method: Method,
    /// Packets sent, answered and lost.
    pub counters: Counters,
    /// What else came.
    pub oddities: Oddities,
    /// How it ended.
    pub ending: Ending,
    /// Time from the first request to the end, that of the prediction included.
    pub took: Duration,
    /// Costs of requests and answers.
    pub costs: Costs,
    /// The cycle at which answers leave.
    pub cycle: Result<Cycle, Unidentified>,
    /// What load has shown.
    pub load: Option<Load>,
    /// What the device does that the model does not have.
    pub misfits: Vec<Misfit>,
    /// Sizes and round trips without the shares of host and network, in order of sending.
    pub trips: Vec<(Exchange, Duration)>,
    /// Sizes that no estimate has used, predicted and measured; `None` if it was not tried.
    pub confirmation: Option<Result<Confirmation, Unidentified>>,
}

impl Series {
    /// Estimates what observations tell.
    fn of(asked: Asked, method: Method, observations: &[Observation], path: &Path) -> Self {
        let singles = observations.iter().filter_map(|own| Some((own.single()?, own.sizes())));
        let trips =
            singles.map(|((sent, answered), sizes)| (sizes, answered - sent - path.of(sizes)));
        Self {
            asked,
            method,
            counters: Counters::default(),
            oddities: Oddities::default(),
            ending: Ending::Done(End::Complete),
            took: Duration::ZERO,
            costs: Costs::estimate(observations, path),
            cycle: Cycle::estimate(observations),
            load: None,
            misfits: Misfit::all(observations, path),
            trips: trips.collect(),
            confirmation: None,
        }
    }

    /// Returns whether a prediction was made and held; `None` if it was not to be made. What the model
    /// does not have is not confirmed, whatever was predicted of it.
    pub fn is_confirmed(&self) -> Option<bool> {
        if !self.misfits.is_empty() {
            return Some(false);
        }
        match (self.method, &self.confirmation) {
            (Method::Load | Method::Capture, None) => None,
            (_, None | Some(Err(_))) => Some(false),
            (_, Some(Ok(own))) => Some(own.is_confirmed()),
        }
    }

    /// Returns what makes its figures doubtful.
    pub fn warnings(&self) -> Vec<String> {
        let Counters { lost, late, doubled, unknown, .. } = self.counters;
        let Oddities { malformed, foreign, unknown: strange, refused, unsent } = self.oddities;
        // Bursts double until a packet is lost.
        let lost = if self.method == Method::Load { 0 } else { lost };
        let counts = [
            (lost, "lost"),
            (late, "answered after 2 s"),
            (doubled, "answered twice"),
            (unknown + strange, "answers to nothing that was asked"),
            (malformed, "malformed"),
            (foreign, "from another address"),
            (refused, "refused"),
            (unsent, "not sent by this host"),
        ];
        let is_refusal = matches!(self.asked.protocol, Protocol::Closed | Protocol::Unreachable);
        let counts = counts.into_iter().filter(|(count, what)| {
            // There a refusal is the answer.
            *count > 0 && !(is_refusal && *what == "refused")
        });
        let mut all: Vec<String> = counts.map(|(count, what)| format!("{count} {what}")).collect();
        match &self.ending {
            Ending::Done(End::Complete) | Ending::Interrupted => {}
            Ending::Done(End::Losses) => all.push("ended after three losses".into()),
            Ending::Done(End::Slower) => all.push("ended since the device became slower".into()),
            Ending::Broken(why) => all.push(format!("ended: {why}")),
        }
        if self.costs.fixed.as_ref().is_ok_and(|own| own.high < Duration::ZERO) {
            all.push("host and network took longer when they were measured alone".into());
        }
        all
    }
}

/// What is known of a device.
#[derive(Clone, Debug)]
pub struct Identified {
    /// As the user named it.
    pub target: String,
    /// Its address; `None` if it was in a capture that names none.
    pub address: Option<Ipv4Addr>,
    /// What it says of itself.
    pub identity: Option<String>,
    /// What was taken out of round trips.
    pub share: Share,
    /// What was measured, in the order of measurement.
    pub series: Vec<Series>,
    /// Protocols that it did not answer, and why not.
    pub silent: Vec<(Asked, String)>,
    /// Whether the user ended it early.
    pub is_interrupted: bool,
}

/// What is happening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A device is asked whether it answers.
    Opens(Asked),
    /// Requests have been sent, of this many.
    Asks(Asked, Method, u64, u64),
}

/// Returns what will be sent and how long that takes at most, as lines.
pub fn announcement(options: &IdentifyOptions) -> String {
    let mut lines = Vec::new();
    let mut whole = Duration::ZERO;
    for Asked { protocol, port } in &options.asked {
        let requests = protocol.requests(options.requests);
        let check = quiet::check(requests);
        // A few more find out whether and how it answers.
        let takes = protocol.gap() * i64::from(requests + check) + Duration::from_secs(6);
        let port = port.map(|port| format!(" port {port}")).unwrap_or_default();
        whole += takes;
        let (word, seconds) = (protocol.word(), seconds(takes));
        lines.push(format!(
            "{word}{port}: {requests} requests, then {check} of another size, {seconds} s"
        ));
    }
    if let Some(burst) = options.load {
        let takes = load::takes(burst);
        whole += takes;
        lines.push(format!(
            "load by echo: bursts that double until a packet is lost, at most {burst} at once and 5 s \
             apart, then trains, silent packets and priorities within what was answered, about {} s",
            seconds(takes)
        ));
    }
    let rest = if options.load.is_some() { ", load apart" } else { "" };
    let (minutes, seconds) = (seconds(whole) / 60, seconds(whole) % 60);
    lines.push(format!(
        "one request at a time, at most 10 in a second{rest}, none that writes; up to {minutes} min \
         {seconds} s"
    ));
    lines.join("\n")
}

/// Returns whole seconds.
const fn seconds(time: Duration) -> i64 {
    time.as_ps() / 1_000_000_000_000
}

/// Measures a device, until all is done, `stop` is set, or it stops answering; what is known by then
/// is returned.
///
/// # Errors
/// If nothing could be measured.
pub fn identify(
    options: &IdentifyOptions,
    stop: &AtomicBool,
    mut tell: impl FnMut(Progress),
) -> Result<Identified, LiveError> {
    let address = address_v4(&options.target, Via::Icmp)?;
    let mut share = options.share.clone();
    if share.network.source.is_empty() {
        share.network = estimated(address);
    }
    let path = share.path();
    let door = Door { address, options, path, stop };
    let mut found = Identified {
        target: options.target.clone(),
        address: Some(address),
        identity: None,
        share,
        series: Vec::new(),
        silent: Vec::new(),
        is_interrupted: false,
    };
    let mut tempo = Tempo::default();
    for &asked in &options.asked {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        tell(Progress::Opens(asked));
        let opened = door.open(asked, &mut tempo)?;
        match opened {
            // What is asked when the user stops it has no time to answer.
            Opened::Silent(_) if stop.load(Ordering::Relaxed) => break,
            Opened::Silent(why) => found.silent.push((asked, why)),
            Opened::Open(mut open) => {
                // What a device says of itself in its own protocol is more than what its agent says.
                found.identity = open.identity.take().or(found.identity);
                let mut watch = |method, done, all| tell(Progress::Asks(asked, method, done, all));
                found.series.push(quiet::measure(&door, &mut open, &mut tempo, &mut watch));
                let can_load = open.dialect.has_silent() && !stop.load(Ordering::Relaxed);
                if let Some(burst) = options.load.filter(|_| can_load) {
                    found
                        .series
                        .push(load::measure(&door, &mut open, burst, &mut tempo, &mut watch));
                }
            }
        }
    }
    found.is_interrupted = stop.load(Ordering::Relaxed);
    Ok(found)
}
