//! Background load: bulk transfers, greedy connections and datagram floods, and their sink.

mod output;

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant as WallInstant;

use rtether::verdict::Conclusion;
use rtether_live::clock::Clock;
use rtether_live::confine::{Confined, Confinement, confine};
use rtether_live::load::client::{self, End, Flood, Transfer};
use rtether_live::load::sink::Sink;
use rtether_live::thread::{Placement, PlacementError};
use rtether_model::quantity::{BitRate, Duration};
use rtether_model::wire::Encapsulation;
use rtether_proto::load::{DATAGRAM_MIN, Pacer};

pub(crate) use output::LoadJson;
pub use rtether_live::load::Progress;
pub use rtether_live::load::sink::{Limits, Taken};
pub use rtether_live::load::task::Urgency;
pub use rtether_model::quantity::{BitRate as Rate, Bytes};

/// Default port of the sink.
pub const PORT: u16 = 7_255;
/// Largest number of connections of one load.
pub const CONNECTIONS_MAX: u32 = 256;
/// How far a flood that is behind schedule may catch up at once.
const SLACK: Duration = Duration::from_ms(1);
/// Largest UDP payload that fits one frame, in octets.
const DATAGRAM_MAX: u64 = Encapsulation::Udp.max_payload().get();

/// Kind of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Files to the sink, one after another, each over a connection of its own as with FTP.
    FtpUp,
    /// Files from the sink.
    FtpDown,
    /// Both at once.
    FtpBoth,
    /// Octets over one connection, as many as TCP permits.
    Greedy,
    /// Datagrams.
    Udp,
}

impl Kind {
    /// Returns the name used on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FtpUp => "ftp-up",
            Self::FtpDown => "ftp-down",
            Self::FtpBoth => "ftp-both",
            Self::Greedy => "greedy",
            Self::Udp => "udp",
        }
    }
}

/// Options of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadOptions {
    /// Address or host name of the sink, with a port if not the default.
    pub target: String,
    /// What kind.
    pub kind: Kind,
    /// Size of a file, or of the payload of a datagram.
    pub size: Bytes,
    /// Rate of all datagrams together, on the wire with preamble and gap; `None` for as fast as
    /// possible.
    pub rate: Option<BitRate>,
    /// Number of simultaneous connections.
    pub connections: u32,
    /// Files per connection; `None` for as many as fit the time.
    pub files: Option<u64>,
    /// Duration; `None` to run until the files are done or `stop`.
    pub duration: Option<Duration>,
    /// How urgent the threads are.
    pub urgency: Urgency,
    /// Core that the threads run on.
    pub core: Option<usize>,
    /// DSCP of all packets.
    pub dscp: u8,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            target: String::new(),
            kind: Kind::FtpUp,
            size: Bytes::new(10_000_000),
            rate: None,
            connections: 1,
            files: None,
            duration: Some(Duration::from_secs(10)),
            urgency: Urgency::Low,
            core: None,
            dscp: 0,
        }
    }
}

/// Why a load or sink failed.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Options that contradict each other or exceed a limit.
    #[error("{0}")]
    Wrong(String),
    /// The target is not an address or host name.
    #[error("`{target}` is not a sink: {help}; write an address or a host name")]
    Target {
        /// What was given.
        target: String,
        /// What is wrong.
        help: String,
    },
    /// A placement of the threads was refused.
    #[error(transparent)]
    Placement(#[from] PlacementError),
    /// No transfer took place.
    #[error("load to `{target}`: {source}; is `rtether load --sink` running there?")]
    Sink {
        /// The sink.
        target: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The sink cannot listen.
    #[error(
        "cannot listen at `{at}`: {source}; another program may use the port, choose another \
             one"
    )]
    Listen {
        /// The address.
        at: String,
        /// The error of the system.
        source: io::Error,
    },
}

impl LoadError {
    /// Returns whether the command was wrong, rather than the host unfit.
    pub fn is_wrong_input(&self) -> bool {
        matches!(self, Self::Wrong(_) | Self::Target { .. })
    }
}

/// One connection's transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Whether it went to the sink.
    pub is_upload: bool,
    /// Its outcome.
    pub transfer: Transfer,
}

/// Outcome of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Options it ran with.
    pub options: LoadOptions,
    /// How long it lasted.
    pub elapsed: Duration,
    /// Transfers over TCP.
    pub parts: Vec<Part>,
    /// Floods, one per connection.
    pub floods: Vec<Flood>,
    /// Why connections ended early.
    pub failures: Vec<String>,
    /// Whether the user ended it.
    pub is_interrupted: bool,
}

/// Largest number of failures kept; more add no information.
const FAILURES: usize = 8;
/// Largest number of files kept individually.
const PARTS: usize = 1_000_000;

/// Generates load until the time is over, the files are done, or `stop` is set.
///
/// # Errors
/// If no connection was established.
pub fn load(
    options: &LoadOptions,
    stop: &AtomicBool,
    progress: &Progress,
) -> Result<Outcome, LoadError> {
    check(options)?;
    let peer = resolve(&options.target)?;
    let begin = WallInstant::now();
    let length = options.duration.map(|length| {
        std::time::Duration::from_nanos(u64::try_from(length.as_ns_floor()).unwrap_or(0))
    });
    let end = End { stop, at: length.map(|length| begin + length) };
    let found = Mutex::new(ThreadResults::default());
    let clock = Clock::start();
    std::thread::scope(|scope| {
        for number in 0..options.connections {
            for direction in directions(options.kind) {
                let found = &found;
                scope.spawn(move || {
                    let worked = work(options, peer, (number, direction), end, progress, found);
                    if let Err(error) = worked {
                        found.lock().unwrap_or_else(PoisonError::into_inner).fail(error);
                    }
                });
            }
        }
    });
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let elapsed = found.elapsed(clock.now().since_start());
    if found.parts.is_empty()
        && found.floods.is_empty()
        && let Some(error) = found.first
    {
        return Err(match error {
            Failure::Placement(error) => error.into(),
            Failure::Socket(source) => LoadError::Sink { target: options.target.clone(), source },
        });
    }
    Ok(Outcome {
        options: options.clone(),
        elapsed,
        parts: found.parts,
        floods: found.floods,
        failures: found.failures,
        is_interrupted: stop.load(Ordering::Relaxed),
    })
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Placement(#[from] PlacementError),
    #[error(transparent)]
    Socket(#[from] io::Error),
}

/// Results of the threads.
#[derive(Default)]
struct ThreadResults {
    parts: Vec<Part>,
    floods: Vec<Flood>,
    failures: Vec<String>,
    first: Option<Failure>,
}

impl ThreadResults {
    /// Returns how long the load lasted, without the time in which the sink waits for stragglers.
    fn elapsed(&self, all: Duration) -> Duration {
        let floods = self.floods.iter().map(|flood| flood.time);
        floods.max().map_or(all, from_std)
    }

    fn fail(&mut self, error: Failure) {
        if self.failures.len() < FAILURES {
            self.failures.push(error.to_string());
        }
        self.first.get_or_insert(error);
    }
}

/// Directions of a kind of load.
fn directions(kind: Kind) -> &'static [Direction] {
    match kind {
        Kind::FtpUp | Kind::Greedy => &[Direction::Up],
        Kind::FtpDown => &[Direction::Down],
        Kind::FtpBoth => &[Direction::Up, Direction::Down],
        Kind::Udp => &[Direction::Datagrams],
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
    Datagrams,
}

/// Runs one connection.
fn work(
    options: &LoadOptions,
    peer: SocketAddr,
    (number, direction): (u32, &Direction),
    end: End<'_>,
    progress: &Progress,
    found: &Mutex<ThreadResults>,
) -> Result<(), Failure> {
    let placement = Placement { core: options.core, ..Placement::default() };
    placement.apply()?;
    options.urgency.apply()?;
    let (dscp, size) = (options.dscp, options.size.get());
    let lock = || found.lock().unwrap_or_else(PoisonError::into_inner);
    if *direction == Direction::Datagrams {
        let rate = options.rate.map(|rate| share(rate, number, options.connections));
        let pacer = rate.and_then(|rate| Pacer::new(rate, SLACK, Clock::start().now()));
        let size = usize::try_from(size).unwrap_or(DATAGRAM_MIN);
        let flood = client::flood(peer, dscp, size, pacer, end, progress)?;
        lock().floods.push(flood);
        return Ok(());
    }
    let size = if options.kind == Kind::Greedy { 0 } else { size };
    let is_upload = *direction == Direction::Up;
    let mut files = 0;
    while !end.is_reached() && options.files.is_none_or(|most| files < most) {
        let transfer = if is_upload {
            client::upload(peer, dscp, size, end, progress)?
        } else {
            client::download(peer, dscp, size, end, progress)?
        };
        files += 1;
        if transfer.is_complete {
            progress.files.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        let mut found = lock();
        if found.parts.len() >= PARTS {
            return Err(io::Error::other("a million files; make them larger").into());
        }
        found.parts.push(Part { is_upload, transfer });
    }
    Ok(())
}

/// Returns one connection's share of a rate; the shares add up to the rate.
fn share(rate: BitRate, number: u32, connections: u32) -> BitRate {
    let (all, count) = (rate.as_bps(), u64::from(connections));
    BitRate::from_bps(all / count + u64::from(u64::from(number) < all % count))
}

fn check(options: &LoadOptions) -> Result<(), LoadError> {
    let wrong = |text: String| Err(LoadError::Wrong(text));
    if options.connections == 0 || options.connections > CONNECTIONS_MAX {
        return wrong(format!("`--connections` is 1 to {CONNECTIONS_MAX}"));
    }
    let (size, rate) = (options.size.get(), options.rate);
    if options.kind != Kind::Udp {
        return if options.kind != Kind::Greedy && size == 0 {
            wrong("`--size` of files is at least 1 B".into())
        } else if rate.is_some() {
            wrong("`--rate` is for `--kind udp`; limit TCP at the sink".into())
        } else {
            Ok(())
        };
    }
    if !(DATAGRAM_MIN as u64..=DATAGRAM_MAX).contains(&size) {
        wrong(format!(
            "`--size` of datagrams is {DATAGRAM_MIN} B to {DATAGRAM_MAX} B, which fit one frame"
        ))
    } else if rate.is_some_and(|rate| rate.as_bps() < options.connections.into()) {
        wrong("`--rate` is at least 1 bit/s for each connection".into())
    } else {
        Ok(())
    }
}

fn resolve(target: &str) -> Result<SocketAddr, LoadError> {
    let wrong = |help: String| LoadError::Target { target: target.to_owned(), help };
    if let Ok(ip) = target.parse::<std::net::IpAddr>() {
        return Ok((ip, PORT).into());
    }
    let has_port = target.rsplit_once(':').is_some_and(|(_, digits)| digits.parse::<u16>().is_ok());
    let full = if has_port { target.to_owned() } else { format!("{target}:{PORT}") };
    let found = full.to_socket_addrs().map_err(|error| wrong(error.to_string()))?;
    let mut found: Vec<SocketAddr> = found.collect();
    found.sort_by_key(SocketAddr::is_ipv6);
    let first = found.into_iter().next();
    first.ok_or_else(|| wrong("the name has no address".into()))
}

/// Serves as a sink until `stop`; calls `ready` with the address.
///
/// # Errors
/// If the port is taken, or a socket fails.
pub fn sink(
    listen: &str,
    limits: Limits,
    confinement: Option<&Confinement>,
    stop: &AtomicBool,
    ready: impl FnOnce(SocketAddr, Option<Confined>),
) -> Result<Taken, LoadError> {
    let at = resolve(listen)?;
    let failed = |source| LoadError::Listen { at: at.to_string(), source };
    let sink = Sink::bind(at, limits).map_err(failed)?;
    let confined = confinement.map(confine).transpose().map_err(failed)?;
    ready(sink.local_address().map_err(failed)?, confined);
    sink.run(stop).map_err(failed)
}

fn from_std(time: std::time::Duration) -> Duration {
    // Overflows after 106 days, longer than any load.
    Duration::from_ns(i64::try_from(time.as_nanos()).unwrap_or(i64::MAX / 1_000))
}

/// Sums of an outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Octets that arrived at the sink.
    pub up: u64,
    /// Octets that arrived from the sink.
    pub down: u64,
    /// Complete files.
    pub files: u64,
    /// Segments retransmitted.
    pub retransmissions: u64,
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams that the system refused.
    pub unsent: u64,
    /// Distinct datagrams that arrived; `None` if a sink's final report is missing.
    pub received: Option<u64>,
    /// Duplicates.
    pub duplicates: u64,
    /// Datagrams overtaken by later ones.
    pub reordered: u64,
}

impl Outcome {
    /// Returns the verdict: whether the load was there.
    pub fn conclusion(&self) -> Conclusion {
        let totals = self.totals();
        if self.is_interrupted {
            Conclusion::Interrupted
        } else if !self.failures.is_empty() {
            Conclusion::Unmeasured
        } else {
            Conclusion::meets((totals.up + totals.down > 0).then_some(true))
        }
    }

    /// Adds everything up.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals { received: Some(0), ..Totals::default() };
        for part in &self.parts {
            let octets = part.transfer.octets;
            *(if part.is_upload { &mut totals.up } else { &mut totals.down }) += octets;
            totals.files += u64::from(part.transfer.is_complete);
            totals.retransmissions += part.transfer.retransmissions.unwrap_or(0);
        }
        for flood in &self.floods {
            totals.sent += flood.sent;
            totals.unsent += flood.unsent;
            let Some(report) = flood.report else {
                totals.received = None;
                continue;
            };
            totals.up += report.octets;
            totals.received = totals.received.map(|all| all + report.datagrams);
            totals.duplicates += report.duplicates;
            totals.reordered += report.reordered;
        }
        totals
    }

    /// Returns `octets` over the duration of the load as a rate of payload.
    pub fn rate(&self, octets: u64) -> BitRate {
        let ps = u128::from(self.elapsed.as_ps().unsigned_abs()).max(1);
        let bits = u128::from(octets) * 8 * 1_000_000_000_000 / ps;
        BitRate::from_bps(u64::try_from(bits).unwrap_or(u64::MAX))
    }

    /// Returns the times of complete files, in order of completion.
    pub fn file_times(&self) -> impl Iterator<Item = Duration> + '_ {
        let complete = self.parts.iter().filter(|part| part.transfer.is_complete);
        complete.map(|part| from_std(part.transfer.time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_the_rate() {
        // Oracle: the sum.
        let rate = BitRate::from_bps(1_000_003);
        let shares = (0..7).map(|number| share(rate, number, 7).as_bps());
        assert_eq!(shares.sum::<u64>(), 1_000_003);
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        // Oracle: the limits in the texts of the options.
        let udp = |size, rate: Option<u64>| {
            check(&LoadOptions {
                kind: Kind::Udp,
                size: Bytes::new(size),
                rate: rate.map(BitRate::from_bps),
                ..LoadOptions::default()
            })
        };
        assert!(udp(1_472, None).is_ok() && udp(20, Some(1)).is_ok());
        assert!(udp(1_473, None).is_err() && udp(19, None).is_err());
        assert!(udp(20, Some(0)).is_err());
        let many = LoadOptions { connections: 257, ..LoadOptions::default() };
        assert!(check(&many).is_err());
    }
}
