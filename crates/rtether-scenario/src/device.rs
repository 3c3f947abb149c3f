//! What is known of a device: its profile, as `rtether identify` finds it.
//!
//! A profile is per protocol, since a device serves different requests in different places: its
//! network card, its kernel, its application.

use rtether_model::network::Servers;
use rtether_model::quantity::{Bytes, Duration};
use rtether_proto::identify::{Exchange, Figure, MisfitKind, Order};

/// A device and what was found of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// What it is, such as maker and type.
    pub device: String,
    /// Version of its firmware.
    pub firmware: Option<String>,
    /// Where it was asked.
    pub address: Option<String>,
    /// When it was asked, as in ISO 8601.
    pub date: String,
    /// The host that asked.
    pub host: Option<String>,
    /// The protocol whose series gives the stack of a scenario; none if no series can.
    pub stack_from: Option<String>,
    /// The protocol whose series gives the scan cycle of answers; none if they leave at once.
    pub reply_from: Option<String>,
    /// What was found, by protocol.
    pub requests: Vec<Series>,
}

/// What requests of one protocol have shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// The protocol: small letters, digits and hyphens, such as `echo` or `modbus`.
    pub protocol: String,
    /// How it was measured.
    pub method: Method,
    /// Requests sent, those under load included.
    pub sent: u64,
    /// Requests answered.
    pub answered: u64,
    /// Requests without an answer.
    pub lost: u64,
    /// Receiving a request and sending its answer together, independent of sizes, least.
    pub fixed: Option<Range>,
    /// More for each octet of the request.
    pub request_octet: Option<Range>,
    /// More for each octet of the answer.
    pub answer_octet: Option<Range>,
    /// More for each octet that both have more, where they have one size.
    pub both_octets: Option<Range>,
    /// Receiving alone, the smallest request, jitter included.
    pub receive: Option<Range>,
    /// Mean of the jitter of both directions together.
    pub jitter: Option<Range>,
    /// Whether one server receives and sends.
    pub servers: Option<Servers>,
    /// Order of service.
    pub order: Option<Order>,
    /// Packets that may wait, without the one in service.
    pub queue: Option<u32>,
    /// Scan cycle.
    pub scan: Option<Range>,
    /// Figures that were not identified.
    pub unknown: Vec<NotKnown>,
    /// What the device does that the model does not have.
    pub misfits: Vec<Misfit>,
    /// Round trips less the share of the network, in bins that do not overlap.
    pub histogram: Vec<Bin>,
    /// The round trips of single requests, from which series are estimated again when they are merged.
    pub trips: Vec<Trips>,
    /// Whether the figures predict a series that they were not made of.
    pub confirmed: Option<Trial>,
}

/// How a series was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Single requests, at most ten a second.
    Quiet,
    /// Bursts as well.
    Load,
    /// Requests of others, from a capture.
    Capture,
}

/// A time with the interval that holds the true one in 95 % of all measurements; none is negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// The estimate.
    pub value: Duration,
    /// Lower end, at most the estimate.
    pub low: Duration,
    /// Upper end, at least the estimate.
    pub high: Duration,
}

/// A figure that was not identified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotKnown {
    /// Its key, such as `scan`.
    pub figure: String,
    /// Why.
    pub why: String,
}

/// What a device does that the model does not have: no figure describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Its kind.
    pub kind: MisfitKind,
    /// What was seen.
    pub why: String,
}

/// Round trips within a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// Lower end, which is in the bin.
    pub from: Duration,
    /// Upper end, which is not.
    pub to: Duration,
    /// How many.
    pub count: u64,
}

/// Round trips of requests of one size, less the share of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trips {
    /// Frame of the request, from addresses to frame check sequence.
    pub request: Bytes,
    /// Frame of the answer.
    pub answer: Bytes,
    /// Each round trip, in the order of the requests.
    pub times: Vec<Duration>,
}

/// A series that no figure was made of, predicted and measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Whether the prediction is close enough.
    pub holds: bool,
    /// What the figures predict.
    pub predicted: Tail,
    /// What was measured.
    pub measured: Tail,
}

/// Median and 99 % quantile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    /// Median.
    pub p50: Duration,
    /// 99 % quantile.
    pub p99: Duration,
}

/// A stack of a scenario that comes from a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Of the stack, for example `nodes.plc.stack`.
    pub(crate) path: String,
    /// The file.
    pub(crate) file: String,
    /// Number of its text.
    pub(crate) source: u32,
}

/// Returns whether the name of a stack is that of a file, a profile.
pub fn is_file(name: &str) -> bool {
    [".yaml", ".yml", ".json"].iter().any(|ending| name.ends_with(ending))
}

/// The keys of figures with an interval, in the order of a file.
pub const FIGURES: [&str; 7] =
    ["fixed", "request_octet", "answer_octet", "both_octets", "receive", "jitter", "scan"];

/// Largest frame of a round trip, in octets.
pub const MAX_FRAME: u64 = 65_535;
/// Most series of a profile.
pub const MAX_SERIES: usize = 64;
/// Most round trips that a series keeps: intervals of more are far below the jitter.
pub const MAX_TRIPS: usize = 4096;
/// Most bins of a histogram.
pub const MAX_BINS: usize = 64;
/// Most characters of a text, such as the name of a device.
pub const MAX_TEXT: usize = 400;

impl Profile {
    /// Returns the series of a protocol.
    pub fn series(&self, protocol: &str) -> Option<&Series> {
        self.requests.iter().find(|series| series.protocol == protocol)
    }

    /// States the series that give stack and scan cycle, unless they are stated.
    ///
    /// A stack is what every packet passes, so the series with the least fixed cost is nearest to it;
    /// a scan belongs to the application, whose requests show it.
    pub fn choose(&mut self) {
        let costs = self.requests.iter().filter_map(|own| Some((own.fixed?.value, own)));
        let least = costs.min_by_key(|(cost, _)| *cost).map(|(_, own)| own.protocol.clone());
        let scan = self.requests.iter().find(|own| own.scan.is_some());
        let scan = scan.map(|own| own.protocol.clone());
        self.stack_from = self.stack_from.take().or(least);
        self.reply_from = self.reply_from.take().or(scan);
    }
}

impl Series {
    /// A series of which nothing is known yet.
    pub fn new(protocol: impl Into<String>, method: Method) -> Self {
        Self {
            protocol: protocol.into(),
            method,
            sent: 0,
            answered: 0,
            lost: 0,
            fixed: None,
            request_octet: None,
            answer_octet: None,
            both_octets: None,
            receive: None,
            jitter: None,
            servers: None,
            order: None,
            queue: None,
            scan: None,
            unknown: Vec::new(),
            misfits: Vec::new(),
            histogram: Vec::new(),
            trips: Vec::new(),
            confirmed: None,
        }
    }

    /// Returns the figure of a key of [`FIGURES`].
    pub fn figure(&self, key: &str) -> Option<Range> {
        match key {
            "fixed" => self.fixed,
            "request_octet" => self.request_octet,
            "answer_octet" => self.answer_octet,
            "both_octets" => self.both_octets,
            "receive" => self.receive,
            "jitter" => self.jitter,
            "scan" => self.scan,
            _ => None,
        }
    }

    /// Notes a figure, or why there is none.
    pub fn note<E: core::fmt::Display>(&mut self, key: &str, figure: Result<impl Into<Range>, E>) {
        let slot = match key {
            "fixed" => &mut self.fixed,
            "request_octet" => &mut self.request_octet,
            "answer_octet" => &mut self.answer_octet,
            "both_octets" => &mut self.both_octets,
            "receive" => &mut self.receive,
            "jitter" => &mut self.jitter,
            "scan" => &mut self.scan,
            _ => return,
        };
        match figure {
            Ok(figure) => *slot = Some(figure.into()),
            Err(why) => self.leave_open(key, &why.to_string()),
        }
    }

    /// Notes why a figure is not known.
    pub fn leave_open(&mut self, figure: &str, why: &str) {
        self.unknown.push(NotKnown { figure: figure.to_owned(), why: why.to_owned() });
    }

    /// Returns why a figure is not known.
    pub fn reason(&self, figure: &str) -> Option<&str> {
        let mut reasons = self.unknown.iter();
        reasons.find(|own| own.figure == figure).map(|own| own.why.as_str())
    }

    /// Keeps round trips less the share of the network, with the histogram of all: evenly thinned if
    /// there are more than a profile holds.
    pub fn keep(&mut self, trips: &[(Exchange, Duration)]) {
        let times: Vec<Duration> =
            trips.iter().map(|(_, time)| (*time).max(Duration::ZERO)).collect();
        self.histogram = Bin::all(&times);
        self.trips = Vec::new();
        let step = trips.len().div_ceil(MAX_TRIPS).max(1);
        for ((exchange, _), time) in trips.iter().zip(times).step_by(step) {
            let Exchange { request, answer } = *exchange;
            let known =
                self.trips.iter_mut().find(|own| (own.request, own.answer) == (request, answer));
            match known {
                Some(own) => own.times.push(time),
                None => self.trips.push(Trips { request, answer, times: vec![time] }),
            }
        }
        // One order for each content, so that equal series are equal files.
        self.trips.sort_by_key(|own| (own.request, own.answer));
    }
}

impl From<Figure> for Range {
    /// No time is below zero: there the interval ends.
    fn from(Figure { value, low, high }: Figure) -> Self {
        let [value, low, high] = [value, low, high].map(|own| own.max(Duration::ZERO));
        Self { value, low: low.min(value), high: high.max(value) }
    }
}

impl Range {
    /// Returns whether no value is in both intervals.
    pub fn is_apart(&self, other: &Self) -> bool {
        self.low > other.high || other.low > self.high
    }
}

impl Bin {
    /// Sorts times into at most 40 bins of one width, from the least to the most.
    pub fn all(times: &[Duration]) -> Vec<Self> {
        const BINS: i64 = 40;
        let (Some(least), Some(most)) = (times.iter().min(), times.iter().max()) else {
            return Vec::new();
        };
        let width = Duration::from_ps((*most - *least).as_ps() / BINS + 1);
        let mut bins: Vec<Self> = Vec::new();
        let mut sorted = times.to_vec();
        sorted.sort_unstable();
        for time in sorted {
            let number = (time - *least).as_ps() / width.as_ps();
            let from = *least + width * number;
            match bins.last_mut().filter(|last| last.from == from) {
                Some(last) => last.count += 1,
                None => bins.push(Self { from, to: from + width, count: 1 }),
            }
        }
        bins
    }
}

impl Method {
    /// Returns the word of a file.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Load => "load",
            Self::Capture => "capture",
        }
    }
}
