//! The flows of a network: applications that send, with the priorities of their streams.

use std::collections::BTreeMap;

use rtether_model::quantity::Duration;
use rtether_model::wire::{MAX_DATAGRAM, MAX_FRAME_PAYLOAD};

use super::plant::Plant;
use super::value::{Number, Unit, Value};
use super::{LEFT_OUT, Notes, duration};
use crate::error::ImportError;
use crate::plan::Code;
use crate::text::quote;

/// Most applications of a plant.
const MOST: usize = 20_000;
/// Largest message over UDP, and in one frame without further headers.
const LARGEST: [u64; 2] = [MAX_DATAGRAM.get(), MAX_FRAME_PAYLOAD.get()];
/// Configurators that state latencies.
const CONFIGURATORS: [&str; 3] =
    ["gateScheduleConfigurator", "failureProtectionConfigurator", "streamRedundancyConfigurator"];

/// When an application sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Times {
    Periodic(Duration),
    /// At random: at least, and in the mean; a guess if it is not distributed exponentially.
    Random {
        least: Duration,
        mean: Duration,
        is_guess: bool,
    },
}

impl Times {
    /// Returns the time between two packets in the mean.
    pub(super) const fn mean(self) -> Duration {
        match self {
            Self::Periodic(period) => period,
            Self::Random { mean, .. } => mean,
        }
    }
}

/// When an application begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Begin {
    At(Duration),
    /// At random within a period from then on; a guess if it is distributed in another way.
    Within {
        start: Duration,
        is_guess: bool,
    },
}

/// A flow.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Flow {
    pub(super) name: Option<String>,
    /// What the name is from: node and number of the application.
    pub(super) place: String,
    pub(super) from: usize,
    pub(super) to: Vec<usize>,
    pub(super) is_raw: bool,
    pub(super) size: u64,
    pub(super) is_size_random: bool,
    pub(super) times: Times,
    pub(super) begin: Begin,
    pub(super) stop: Option<Duration>,
    pub(super) pcp: Option<usize>,
    pub(super) vlan: Option<usize>,
    pub(super) dscp: usize,
    /// A latency that a configurator asks for.
    pub(super) deadline: Option<Duration>,
}

/// What an application is.
enum Kind {
    /// `UdpSourceApp` and `UdpApp`, or `EthernetSourceApp`.
    Source {
        is_raw: bool,
    },
    /// `UdpBasicApp`.
    Basic,
    Sink,
    Unread,
}

fn kind(typename: &str) -> Kind {
    match typename {
        "UdpSourceApp" | "UdpApp" => Kind::Source { is_raw: false },
        "EthernetSourceApp" => Kind::Source { is_raw: true },
        "UdpBasicApp" => Kind::Basic,
        "UdpSinkApp" | "UdpSink" | "EthernetSinkApp" => Kind::Sink,
        _ => Kind::Unread,
    }
}

/// Reads the flows of a plant.
pub(super) fn flows(plant: &Plant<'_>, notes: &mut Notes) -> Result<Vec<Flow>, ImportError> {
    let latencies = latencies(plant, notes);
    let mut all: Vec<Flow> = Vec::new();
    let mut count = 0;
    for (number, node) in plant.nodes.iter().enumerate() {
        let Some((apps, place)) = plant.value(&format!("{}.numApps", node.name)) else {
            continue;
        };
        let apps = apps.and_then(|value| {
            let what = format!("it is no number up to {MOST}");
            value.whole(MOST).ok_or(what)
        });
        let apps = match apps {
            Ok(apps) => apps,
            Err(what) => {
                let what = format!("`numApps` of {}: {what}", quote(&node.name));
                notes.find(place, Code::NotRead, what);
                continue;
            }
        };
        count += apps;
        if count > MOST {
            let what = format!("it has more than {MOST} applications");
            return Err(notes.wrong(place, what, "import a part of it"));
        }
        let streams = Streams::of(plant, &node.name, notes);
        let mut own = Vec::new();
        for app in 0..apps {
            let reader = App { plant, node: number, path: format!("{}.app[{app}]", node.name) };
            match reader.flow(&streams) {
                Ok(Some(mut flow)) => {
                    let key = (node.name.clone(), format!("app[{app}]"));
                    flow.deadline = latencies.get(&key).copied();
                    own.push(flow);
                }
                Ok(None) => {}
                Err((place, what)) => {
                    let what = format!("{}: {what}{LEFT_OUT}", quote(&reader.path));
                    notes.find(place, Code::NotRead, what);
                }
            }
        }
        all.extend(joined(own));
    }
    Ok(all)
}

/// Joins sources of one name that differ in their destinations alone: one flow with several
/// listeners.
fn joined(own: Vec<Flow>) -> Vec<Flow> {
    let mut all: Vec<Flow> = Vec::new();
    let mut known: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for flow in own {
        let same = flow.name.clone().map(|name| known.entry(name).or_default());
        let Some(same) = same else {
            all.push(flow);
            continue;
        };
        let is_same = |other: &Flow| {
            let blank = |flow: &Flow| Flow { to: Vec::new(), place: String::new(), ..flow.clone() };
            blank(other) == blank(&flow) && !other.to.iter().any(|to| flow.to.contains(to))
        };
        let found = same.iter().copied().find(|at| all.get(*at).is_some_and(is_same));
        if let Some(other) = found.and_then(|at| all.get_mut(at)) {
            other.to.extend(flow.to);
        } else {
            same.push(all.len());
            all.push(flow);
        }
    }
    all
}

/// Returns the latencies that configurators ask for, by node and application.
fn latencies(plant: &Plant<'_>, notes: &mut Notes) -> BTreeMap<(String, String), Duration> {
    let mut all = BTreeMap::new();
    for name in CONFIGURATORS {
        let path = format!("{name}.configuration");
        let (list, place) = match plant.value(&path) {
            Some((Ok(list), place)) => (list, place),
            Some((Err(what), place)) => {
                let what = format!("latencies of {}: {what}", quote(&path));
                notes.find(place, Code::NotRead, what);
                continue;
            }
            None => continue,
        };
        for own in list.list() {
            let text = |key: &str| own.get(key).and_then(Value::text).map(str::to_owned);
            let latency = own.get("maxLatency").and_then(Value::number);
            let latency = latency.filter(|own| own.unit == Unit::Time && own.is_fixed());
            let latency = latency.and_then(|own| duration(own.mean));
            match (text("source"), text("application"), latency) {
                (Some(node), Some(app), Some(latency)) => {
                    let known = all.entry((node, app)).or_insert(latency);
                    *known = latency.min(*known);
                }
                (_, None, Some(_)) => {
                    let what = "a latency without an application is left out".to_owned();
                    notes.find(place, Code::NotRead, what);
                }
                _ => {}
            }
        }
    }
    all
}

/// What identifies the streams of a station, and what these become on the wire.
struct Streams {
    /// Filters of packets, with the names of their streams.
    filters: Vec<(Filter, String)>,
    /// Priority and VLAN of streams.
    tags: BTreeMap<String, (Option<usize>, Option<usize>)>,
}

enum Filter {
    All,
    /// Packets to a port of UDP.
    Port(usize),
}

impl Streams {
    fn of(plant: &Plant<'_>, node: &str, notes: &mut Notes) -> Self {
        let mut streams = Self { filters: Vec::new(), tags: BTreeMap::new() };
        let off = plant.value(&format!("{node}.hasOutgoingStreams"));
        if matches!(off, Some((Ok(Value::Flag(false)), _))) {
            return streams;
        }
        let mut read = |path: &str| match plant.value(&format!("{node}.bridging.{path}.mapping")) {
            Some((Ok(list), place)) => Some((list, place)),
            Some((Err(what), place)) => {
                notes.find(place, Code::NotRead, format!("streams of {}: {what}", quote(node)));
                None
            }
            None => None,
        };
        let known = read("streamIdentifier.identifier");
        let coded = read("streamCoder.encoder");
        for (own, place) in known.iter().flat_map(|(list, place)| {
            let all = list.list().iter();
            all.map(move |own| (own, *place))
        }) {
            let name = own.get("stream").and_then(Value::text).unwrap_or_default();
            if let Some(filter) = own.get("packetFilter").map_or(Some(Filter::All), filter) {
                streams.filters.push((filter, name.to_owned()));
            } else {
                let name = quote(name);
                let what = format!("the filter of the stream {name}: it names no port");
                notes.find(place, Code::NotRead, what);
            }
        }
        for own in coded.iter().flat_map(|(list, _)| list.list()) {
            let name = own.get("stream").and_then(Value::text).unwrap_or_default();
            let number = |key: &str, most: usize| own.get(key).and_then(|own| own.whole(most));
            let tag = (number("pcp", 7), number("vlan", 4_094));
            streams.tags.entry(name.to_owned()).or_insert(tag);
        }
        streams
    }

    /// Returns priority and VLAN of packets to a port.
    fn tag(&self, port: Option<usize>) -> (Option<usize>, Option<usize>) {
        let mut filters = self.filters.iter();
        let found = filters.find(|(filter, _)| match filter {
            Filter::All => true,
            Filter::Port(own) => Some(*own) == port,
        });
        let tag = found.and_then(|(_, name)| self.tags.get(name));
        tag.copied().unwrap_or_default()
    }
}

/// Reads the filter of a stream.
fn filter(value: &Value) -> Option<Filter> {
    if value.text() == Some("*") {
        return Some(Filter::All);
    }
    let Value::Filter(text) = value else {
        return None;
    };
    let text: String = text.split_whitespace().collect();
    if matches!(text.as_str(), "true" | "has(udp)") {
        return Some(Filter::All);
    }
    let port = text.strip_prefix("udp.destPort==")?;
    port.parse().ok().map(Filter::Port)
}

/// Why an application is left out, and where it says so.
type Unread = (Place, String);

/// Number of a file, and its line.
type Place = (usize, usize);

/// A value that may be stated, with its place.
type Stated<T> = Result<Option<(T, Place)>, Unread>;

struct App<'p, 't> {
    plant: &'p Plant<'t>,
    node: usize,
    path: String,
}

impl App<'_, '_> {
    fn value(&self, key: &str) -> Stated<Value> {
        let path = format!("{}.{key}", self.path);
        match self.plant.value(&path) {
            None => Ok(None),
            Some((Ok(value), place)) => Ok(Some((value, place))),
            Some((Err(what), place)) => Err((place, format!("`{key}`: {what}"))),
        }
    }

    fn text(&self, key: &str) -> Stated<String> {
        let value = self.value(key)?;
        Ok(value.and_then(|(value, place)| Some((value.text()?.to_owned(), place))))
    }

    /// Returns a number of a unit.
    fn number(&self, key: &str, unit: Unit) -> Stated<Number> {
        let Some((value, place)) = self.value(key)? else {
            return Ok(None);
        };
        let number = value.number().filter(|number| number.unit == unit);
        let wrong = || (place, format!("`{key}` has another unit"));
        Ok(Some((number.ok_or_else(wrong)?, place)))
    }

    fn whole(&self, key: &str, most: usize) -> Option<usize> {
        let value = self.value(key).ok().flatten();
        value.and_then(|(value, _)| value.whole(most))
    }

    /// Returns the flow of this application; `None` for one that sends nothing.
    fn flow(&self, streams: &Streams) -> Result<Option<Flow>, Unread> {
        let Some((typename, place)) = self.text("typename")? else {
            return Ok(None);
        };
        let (is_raw, is_basic) = match kind(&typename) {
            Kind::Source { is_raw } => (is_raw, false),
            Kind::Basic => (false, true),
            Kind::Sink => return Ok(None),
            Kind::Unread => {
                let what = format!("applications of the type {} are not read", quote(&typename));
                return Err((place, what));
            }
        };
        let keys =
            |source: &'static str, basic: &'static str| if is_basic { basic } else { source };
        let to_key =
            if is_raw { "io.remoteAddress" } else { keys("io.destAddress", "destAddresses") };
        let Some(to) = self.listener(to_key)? else {
            return Ok(None);
        };
        let size_key = keys("source.packetLength", "messageLength");
        let (size, is_size_random) = self.size(size_key, is_raw, place)?;
        let (times, begin, stop) = self.times(is_basic, place)?;
        let port = self.whole(keys("io.destPort", "destPort"), 65_535);
        let (pcp, vlan) = streams.tag(port.filter(|_| !is_raw));
        if let Some((tagger, place)) =
            self.text("tagger.typename")?.filter(|(own, _)| !own.is_empty())
        {
            return Err((place, format!("its tags are those of {}", quote(&tagger))));
        }
        Ok(Some(Flow {
            name: self.text("display-name")?.map(|(name, _)| name),
            place: self.path.clone(),
            from: self.node,
            to: vec![to],
            is_raw,
            size,
            is_size_random,
            times,
            begin,
            stop,
            pcp,
            vlan,
            dscp: self.whole(keys("io.dscp", "dscp"), 63).unwrap_or(0),
            deadline: None,
        }))
    }

    /// Returns when packets are sent: their times, the first one, and the end.
    fn times(
        &self,
        is_basic: bool,
        place: Place,
    ) -> Result<(Times, Begin, Option<Duration>), Unread> {
        let keys =
            |source: &'static str, basic: &'static str| if is_basic { basic } else { source };
        let gap_key = keys("source.productionInterval", "sendInterval");
        let gap = self.number(gap_key, Unit::Time)?;
        let (gap, at) = gap.ok_or_else(|| (place, format!("nothing states `{gap_key}`")))?;
        let times = times(gap)
            .ok_or_else(|| (at, format!("`{gap_key}` is not above zero, or longer than a day")))?;
        let begin_key = keys("source.initialProductionOffset", "startTime");
        let begin = match self.number(begin_key, Unit::Time)? {
            None if is_basic => begin(gap, times),
            None => Some(Begin::At(Duration::ZERO)),
            Some((own, _)) if !is_basic && own.mean < 0.0 => Some(Begin::At(Duration::ZERO)),
            Some((own, _)) => begin(own, times),
        };
        let begin = begin
            .ok_or_else(|| (place, format!("`{begin_key}` is below zero, or later than a day")))?;
        let stop = if is_basic { self.number("stopTime", Unit::Time)? } else { None };
        let stop = stop.and_then(|(own, _)| duration(own.mean));
        Ok((times, begin, stop))
    }

    /// Returns the node that packets go to; `None` if there is no address.
    fn listener(&self, key: &str) -> Result<Option<usize>, Unread> {
        let Some((address, place)) = self.text(key)? else {
            return Ok(None);
        };
        let mut names = address.split_whitespace();
        let (Some(name), None) = (names.next(), names.next()) else {
            if address.trim().is_empty() {
                return Ok(None);
            }
            let what = format!("{} are several addresses, of which it draws one", quote(&address));
            return Err((place, what));
        };
        let name = name.split(['%', '(', '/', '>']).next().unwrap_or(name);
        let node = self.plant.by_name.get(name).copied();
        let node = node.ok_or_else(|| (place, format!("there is no station {}", quote(name))))?;
        if node == self.node {
            return Err((place, "it sends to itself".into()));
        }
        Ok(Some(node))
    }

    /// Returns the octets of a packet, the most if they are random.
    fn size(&self, key: &str, is_raw: bool, place: (usize, usize)) -> Result<(u64, bool), Unread> {
        let size = self.number(key, Unit::Data)?;
        let (size, at) = size.ok_or_else(|| (place, format!("nothing states `{key}`")))?;
        let octets = (size.most / 8.0).round();
        let most = LARGEST[usize::from(is_raw)];
        #[allow(clippy::cast_precision_loss, reason = "limits are small")]
        let is_inside = octets >= 0.0 && octets <= most as f64;
        if !is_inside {
            return Err((at, format!("`{key}` has no limit, or one above {most} octets")));
        }
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is whole and within limits"
        )]
        let octets = octets as u64;
        Ok((octets.max(1), !size.is_fixed()))
    }
}

/// Returns when an application with this interval sends.
fn times(gap: Number) -> Option<Times> {
    let mean = duration(gap.mean)?;
    if gap.is_fixed() {
        return Some(Times::Periodic(mean));
    }
    let least = if gap.least <= 0.0 { Duration::ZERO } else { duration(gap.least)? };
    Some(Times::Random { least, mean, is_guess: !gap.is_exponential })
}

/// Returns when an application begins.
fn begin(own: Number, times: Times) -> Option<Begin> {
    let least = if own.least == 0.0 { Duration::ZERO } else { duration(own.least)? };
    if own.is_fixed() {
        return Some(Begin::At(least));
    }
    let period = match times {
        Times::Periodic(period) => period,
        Times::Random { .. } => Duration::ZERO,
    };
    let is_period = own.most.is_finite() && duration(own.most - own.least) == Some(period);
    Some(Begin::Within { start: least, is_guess: !is_period })
}
