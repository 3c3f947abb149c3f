//! What coordinator and agent say to each other: one JSON value a line, each way.
//!
//! ```text
//! coordinator                           agent
//!                                       hello
//! role                                  more, while the scenario is not complete
//! text ...                              here
//! peers                                 ready
//! clock                                 clock, as often as it is asked
//! start, tick ..., stop if need be      done
//! report                                sent, arrived, answered, files, stalls ..., end
//! ```
//!
//! Lines are limited, and so is what is kept of them; times are nanoseconds. Whatever is no such
//! line is an error of the other side, and ends the session.

use std::io::{BufRead, BufReader, Read};
use std::net::Ipv4Addr;

use rtether_live::link::MacAddress;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::live::ssh::harmless;

/// Name of this format; another one is another program.
pub(super) const FORMAT: &str = "rtether.agent/1";
/// Octets of a line at most: what a pipe of the kernel takes at once, so that writing never waits
/// for the other side.
pub(super) const LINE_MAX: usize = 64 << 10;
/// Octets of the scenario in a line at most; a character takes up to six octets in JSON.
pub(super) const TEXT_MAX: usize = 8 << 10;
/// Octets of the name of a device at most (`IFNAMSIZ`, less one).
pub(super) const DEVICE_MAX: usize = 15;
/// Records in a line.
pub(super) const BATCH: usize = 256;
/// Nanoseconds of the latest time that is believed, eleven days: sums of a few fit.
const NS_MAX: i64 = 1_000_000_000_000_000;
/// The largest count that is believed: sums of a million fit.
const COUNT_MAX: u64 = 1 << 40;

/// What the coordinator says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Order {
    /// Which station to be.
    Role(Role),
    /// The next part of the scenario; an empty one ends it.
    Text(String),
    /// Where the stations are, in the order of nodes.
    Peers(Vec<Place>),
    /// Asks for the clock; the answer repeats the number.
    Clock(u32),
    /// Begin when the monotonic clock of the agent shows this.
    Start(i64),
    /// The coordinator is there.
    Tick,
    /// End early.
    Stop,
    /// Say what was seen.
    Report,
}

/// Which station to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Role {
    /// Number of the node in the scenario.
    pub(super) node: u32,
    /// Device to use; that of the connection if there is none.
    pub(super) device: Option<String>,
    /// Real-time priority, if one is wanted.
    pub(super) priority: Option<u8>,
    /// Values replaced in the scenario: path and value.
    pub(super) changes: Vec<(String, String)>,
}

/// Where a station is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Place {
    /// Its address for IP; 0.0.0.0 for none.
    pub(super) ip: Ipv4Addr,
    /// Its Ethernet address.
    pub(super) mac: String,
    /// Whether its agent is to watch for stalls: one of a host is enough.
    pub(super) watches: bool,
}

/// A packet that was sent: stream, number, released, the call, how late.
pub(super) type SentRow = (u16, u32, i64, i64, i64);
/// One that arrived: stream, number, released, latency, its part after the receive stamp, whether
/// it is an answer.
pub(super) type ArrivedRow = (u16, u32, i64, i64, Option<i64>, bool);
/// A request that was answered: stream, number, receiving, sending.
pub(super) type AnsweredRow = (u16, u32, Option<i64>, i64);
/// A file: stream, number, started, finished, octets delivered, segments sent again.
pub(super) type FileRow = (u16, u32, Option<i64>, Option<i64>, u64, u64);

/// What the agent says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Word {
    /// The first.
    Hello {
        /// Version of the program.
        version: String,
        /// [`FORMAT`].
        format: String,
    },
    /// The next part of the scenario, please.
    More,
    /// What it found of itself.
    Here(Here),
    /// Sockets are open.
    Ready,
    /// An answer about the clock.
    Clock(Reading),
    /// The run is over.
    Done,
    /// Packets that were sent.
    Sent(Vec<SentRow>),
    /// Packets that arrived.
    Arrived(Vec<ArrivedRow>),
    /// Requests that were answered.
    Answered(Vec<AnsweredRow>),
    /// Files.
    Files(Vec<FileRow>),
    /// Stalls: from, until.
    Stalls(Vec<(i64, i64)>),
    /// All was said.
    End(End),
    /// It cannot go on.
    Failed {
        /// Why, with the remedy.
        why: String,
        /// Whether something that was asked for is wrong, and not the host.
        is_input: bool,
    },
}

/// What an agent found of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Here {
    /// Its device.
    pub(super) device: String,
    /// The address of the device; 0.0.0.0 for none.
    pub(super) ip: Ipv4Addr,
    /// The Ethernet address of the device.
    pub(super) mac: String,
    /// Tells its clock from others, if that can be told.
    pub(super) clock: Option<String>,
    /// Tells its network from others, if that can be told.
    pub(super) network: Option<String>,
}

/// A reading of the clocks of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reading {
    /// The number of the question.
    pub(super) number: u32,
    /// Monotonic clock.
    pub(super) monotonic: i64,
    /// Clock of the day, from 1970, at the same time.
    pub(super) real: i64,
    /// Largest error of the clock of the day in microseconds, if it is synchronized.
    pub(super) error_us: Option<u32>,
}

/// What there is to say besides records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct End {
    /// What ended threads early.
    pub(super) errors: Vec<String>,
    /// Payloads that belong to no stream.
    pub(super) foreign: u64,
    /// Packets that the system did not take.
    pub(super) unsent: u64,
    /// Packets of which no record was kept.
    pub(super) unrecorded: u64,
    /// Times the wall clock was set.
    pub(super) clock_steps: u64,
    /// Stalls that were not kept.
    pub(super) stalls_dropped: u64,
}

impl Word {
    /// Returns whether all times and counts are such that nothing overflows, and addresses are some.
    pub(super) fn is_sound(&self) -> bool {
        let fits = |ns: i64| (-NS_MAX..=NS_MAX).contains(&ns);
        let may_fit = |ns: Option<i64>| ns.is_none_or(fits);
        match self {
            Self::Sent(all) => all
                .iter()
                .all(|&(.., at, call, late)| fits(at) && fits(call) && fits(late)),
            Self::Arrived(all) => all.iter().all(|&(_, _, at, latency, receive, _)| {
                fits(at) && fits(latency) && may_fit(receive)
            }),
            Self::Answered(all) => all
                .iter()
                .all(|&(.., receive, call)| may_fit(receive) && fits(call)),
            Self::Files(all) => all.iter().all(|&(_, _, from, until, octets, again)| {
                may_fit(from) && may_fit(until) && octets.max(again) <= COUNT_MAX
            }),
            Self::Stalls(all) => all
                .iter()
                .all(|&(from, until)| fits(from) && fits(until) && from <= until),
            Self::Here(here) => {
                let is_device = (1..=DEVICE_MAX).contains(&here.device.len());
                is_device && here.mac.parse::<MacAddress>().is_ok()
            }
            // Two of them may be subtracted.
            Self::Clock(reading) => reading.monotonic >= 0 && reading.real >= 0,
            Self::Hello { .. } | Self::More | Self::Ready | Self::Done | Self::Failed { .. } => {
                true
            }
            Self::End(end) => end.counts().iter().all(|count| *count <= COUNT_MAX),
        }
    }
}

impl End {
    const fn counts(&self) -> [u64; 5] {
        [
            self.foreign,
            self.unsent,
            self.unrecorded,
            self.clock_steps,
            self.stalls_dropped,
        ]
    }
}

/// Returns a line with its end, or `None` if it would be too long.
pub(super) fn line(message: &impl Serialize) -> Option<String> {
    let mut text = serde_json::to_string(message).ok()?;
    text.push('\n');
    (text.len() <= LINE_MAX).then_some(text)
}

/// Reads a line; the error says what is wrong with it.
pub(super) fn parse<T: DeserializeOwned>(line: &str) -> Result<T, String> {
    serde_json::from_str(line).map_err(|error| format!("`{}`: {error}", harmless(line)))
}

/// Lines of limited length from outside.
pub(super) struct Lines<R>(BufReader<R>);

impl<R: Read> Lines<R> {
    pub(super) fn new(from: R) -> Self {
        Self(BufReader::new(from))
    }

    /// Returns the next line; `None` at the end, be it that of a connection that broke. A line
    /// without an end counts as not there: it is what was cut off.
    pub(super) fn next(&mut self) -> Result<Option<String>, String> {
        let mut octets = Vec::new();
        let mut limited = self.0.by_ref().take(LINE_MAX as u64);
        if limited.read_until(b'\n', &mut octets).is_err() {
            return Ok(None);
        }
        if octets.last() != Some(&b'\n') {
            return if octets.len() == LINE_MAX {
                Err(format!("a line of more than {LINE_MAX} B"))
            } else {
                Ok(None)
            };
        }
        let line = String::from_utf8(octets);
        line.map(Some).map_err(|_| "a line that is no UTF-8".into())
    }
}
