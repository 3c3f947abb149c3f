//! Protocol of coordinator and agent: one JSON value per line, in both directions.
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
//! The length of lines and the number of records kept are limited; times are in nanoseconds. Any
//! other line is an error of the peer and ends the session.

use std::io::{BufRead, BufReader, Read};
use std::net::Ipv4Addr;

use rtether_live::link::MacAddress;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::ssh::harmless;

/// Name of this format; a peer with another one is a different program.
pub(super) const FORMAT: &str = "rtether.agent/1";
/// Longest line, in octets: what a kernel pipe takes at once, so that writing never blocks on the
/// peer.
pub(super) const LINE_MAX: usize = 64 << 10;
/// Most octets of the scenario per line; a character takes up to six octets in JSON.
pub(super) const TEXT_MAX: usize = 8 << 10;
/// Longest device name, in octets (`IFNAMSIZ`, less one).
pub(super) const DEVICE_MAX: usize = 15;
/// Records per line.
pub(super) const BATCH: usize = 256;
/// Latest time accepted, in nanoseconds: eleven days, so that sums of a few fit.
const NS_MAX: i64 = 1_000_000_000_000_000;
/// Largest count accepted: sums of a million fit.
const COUNT_MAX: u64 = 1 << 40;

/// Order of the coordinator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Order {
    /// The station to play.
    Role(Role),
    /// The next part of the scenario; empty at its end.
    Text(String),
    /// Addresses of the stations, in the order of nodes.
    Peers(Vec<StationAddresses>),
    /// Request for the clock; the answer repeats the number.
    Clock(u32),
    /// Begin when the monotonic clock of the agent shows this.
    Start(i64),
    /// Keep-alive.
    Tick,
    /// End early.
    Stop,
    /// Send the report.
    Report,
}

/// The station to play.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Role {
    /// Number of the node in the scenario.
    pub(super) node: u32,
    /// Device to use; `None` for that of the connection.
    pub(super) device: Option<String>,
    /// Real-time priority; `None` for ordinary priority.
    pub(super) priority: Option<u8>,
    /// Overrides of the scenario: path and value.
    pub(super) changes: Vec<(String, String)>,
}

/// Addresses of a station.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StationAddresses {
    /// Its IP address; 0.0.0.0 for none.
    pub(super) ip: Ipv4Addr,
    /// Its Ethernet address.
    pub(super) mac: String,
    /// Whether its agent watches for stalls: one per host is enough.
    pub(super) watches: bool,
}

/// A packet sent: stream, number, release, duration of the call, release delay.
pub(super) type SentRow = (u16, u32, i64, i64, i64);
/// An arrival: stream, number, release, latency, its part after the receive stamp, whether it is an
/// answer.
pub(super) type ArrivedRow = (u16, u32, i64, i64, Option<i64>, bool);
/// A request answered: stream, number, time to receive, time to send.
pub(super) type AnsweredRow = (u16, u32, Option<i64>, i64);
/// A file: stream, number, start, finish, octets delivered, segments retransmitted.
pub(super) type FileRow = (u16, u32, Option<i64>, Option<i64>, u64, u64);

/// Word of the agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Word {
    /// The first word.
    Hello {
        /// Version of the program.
        version: String,
        /// [`FORMAT`].
        format: String,
    },
    /// Request for the next part of the scenario.
    More,
    /// Its device and identity.
    Here(Here),
    /// Sockets are open.
    Ready,
    /// Answer to a request for the clock.
    Clock(Reading),
    /// The run is over.
    Done,
    /// Packets sent.
    Sent(Vec<SentRow>),
    /// Arrivals.
    Arrived(Vec<ArrivedRow>),
    /// Requests answered.
    Answered(Vec<AnsweredRow>),
    /// Files.
    Files(Vec<FileRow>),
    /// Stalls: from, until.
    Stalls(Vec<(i64, i64)>),
    /// End of the report.
    End(End),
    /// The agent cannot continue.
    Failed {
        /// The reason, with a remedy.
        why: String,
        /// Whether the input is wrong, rather than the host.
        is_input: bool,
    },
}

/// Device and identity of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Here {
    /// Its device.
    pub(super) device: String,
    /// The address of the device; 0.0.0.0 for none.
    pub(super) ip: Ipv4Addr,
    /// The Ethernet address of the device.
    pub(super) mac: String,
    /// Identity of its clock, if there is one.
    pub(super) clock: Option<String>,
    /// Identity of its network namespace, if there is one.
    pub(super) network: Option<String>,
}

/// A reading of the clocks of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reading {
    /// Number of the request.
    pub(super) number: u32,
    /// Monotonic clock.
    pub(super) monotonic: i64,
    /// Clock of the day at the same time, since 1970.
    pub(super) real: i64,
    /// Largest error of the clock of the day in microseconds, if it is synchronized.
    pub(super) error_us: Option<u32>,
}

/// Report besides the records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct End {
    /// Errors that ended threads early.
    pub(super) errors: Vec<String>,
    /// Payloads without a stream.
    pub(super) foreign: u64,
    /// Packets that the system refused.
    pub(super) unsent: u64,
    /// Packets without a record.
    pub(super) unrecorded: u64,
    /// How often the wall clock was set.
    pub(super) clock_steps: u64,
    /// Stalls not kept.
    pub(super) stalls_dropped: u64,
}

impl Word {
    /// Returns whether all times and counts are within limits, so that nothing overflows, and
    /// addresses are valid.
    pub(super) fn is_sound(&self) -> bool {
        let fits = |ns: i64| (-NS_MAX..=NS_MAX).contains(&ns);
        let may_fit = |ns: Option<i64>| ns.is_none_or(fits);
        match self {
            Self::Sent(all) => {
                all.iter().all(|&(.., at, call, late)| fits(at) && fits(call) && fits(late))
            }
            Self::Arrived(all) => all.iter().all(|&(_, _, at, latency, receive, _)| {
                fits(at) && fits(latency) && may_fit(receive)
            }),
            Self::Answered(all) => {
                all.iter().all(|&(.., receive, call)| may_fit(receive) && fits(call))
            }
            Self::Files(all) => all.iter().all(|&(_, _, from, until, octets, again)| {
                may_fit(from) && may_fit(until) && octets.max(again) <= COUNT_MAX
            }),
            Self::Stalls(all) => {
                all.iter().all(|&(from, until)| fits(from) && fits(until) && from <= until)
            }
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
        [self.foreign, self.unsent, self.unrecorded, self.clock_steps, self.stalls_dropped]
    }
}

/// Returns a message as a line with its newline; `None` if it would be too long.
pub(super) fn line(message: &impl Serialize) -> Option<String> {
    let mut text = serde_json::to_string(message).ok()?;
    text.push('\n');
    (text.len() <= LINE_MAX).then_some(text)
}

/// Parses a line; the error describes what is wrong.
pub(super) fn parse<T: DeserializeOwned>(line: &str) -> Result<T, String> {
    serde_json::from_str(line).map_err(|error| format!("`{}`: {error}", harmless(line)))
}

/// Lines of limited length from outside.
pub(super) struct Lines<R>(BufReader<R>);

impl<R: Read> Lines<R> {
    pub(super) fn new(from: R) -> Self {
        Self(BufReader::new(from))
    }

    /// Returns the next line; `None` at the end or after a broken connection. A line without
    /// newline was truncated and is dropped.
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
