//! Shim configurations.

use rtether_model::endnode::{Detector, Layer};
use rtether_model::mac::MacAddress;
use rtether_model::network::{Pcp, Vid};
use rtether_model::quantity::{BitRate, Duration};
use rtether_model::shim::{Backend, Probing, Settings, Signal, Tags};
use rtether_model::smoother::Mode;

use super::layer::Parts;
use super::version;
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::help::Help;
use crate::keys::table::{BACKEND, PROBES, SIGNAL, SIGNAL_FROM, TAGS, WAITING};
use crate::reader::{At, Fields, Reader, bits_per_second};
use crate::tree::Data;
use crate::units::Quantity;

/// Range of link rates. At the lowest, a full frame takes 0.19 s; the highest is the fastest
/// Ethernet rate supported.
const RATES: (BitRate, BitRate) = (BitRate::from_bps(64_000), BitRate::from_mbps(400_000));
/// Range of the interval between two counter readings: shorter would keep a core busy, longer would
/// report congestion that is over.
const READINGS: (Duration, Duration) = (Duration::from_us(100), Duration::from_secs(1));
/// Range of the interval between two probes: shorter adds load, longer reports congestion that is
/// over.
const PROBINGS: (Duration, Duration) = (Duration::from_ms(1), Duration::from_secs(1));

/// Reads the whole file; `None` after a mistake.
pub(crate) fn shim(reader: &mut Reader<'_>, top: &Fields<'_>) -> Option<(Backend, Settings)> {
    let errors = reader.sink.errors();
    version(reader, top);
    let backend = reader.meaning(top, &BACKEND);
    reader.require(top, "rate");
    let rate = rate(reader, top);
    let layer = Parts::read(reader, top).join(reader);
    let layer = layer.map_or_else(Layer::default, |layer| *layer);
    let tags = tags(reader, top, layer.table.count());
    let signal = signal(reader, top);
    let probes = probes(reader, top);
    let core = reader.count(top, "core");
    let priority = reader.small(top, "priority").map(|priority| priority.value);
    let waiting = reader.meaning(top, &WAITING);
    refuse_to_be_deaf(reader, top, &layer, signal);
    if reader.sink.errors() > errors {
        return None;
    }
    let settings = Settings {
        tags,
        signal,
        probes,
        core: core.and_then(|core| usize::try_from(core.value).ok()),
        priority,
        waiting,
        ..Settings::new(layer, rate?)
    };
    Some((backend, settings))
}

fn rate(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<BitRate> {
    let At { value, span } = reader.quantity(fields, "rate", Quantity::BitRate)?;
    let rate = bits_per_second(value);
    if (RATES.0..=RATES.1).contains(&rate) {
        return Some(rate);
    }
    let rule = format!("{} to {}", RATES.0, RATES.1);
    let why = "the rate of the link, on the wire";
    reader.out_of_range("rate", span, &rule, &rate.to_string(), why);
    None
}

fn tags(reader: &mut Reader<'_>, top: &Fields<'_>, queues: u8) -> Tags {
    let Some(fields) = reader.one(top, "tags", &TAGS) else {
        return Tags::default();
    };
    let insert = insert(reader, &fields, queues);
    let vlan = reader.count(&fields, "vlan");
    let vid = vlan.and_then(|vlan| Vid::new(u16::try_from(vlan.value).ok()?));
    let strip = reader.flag(&fields, "strip").unwrap_or(false);
    if !fields.has("insert") && !strip {
        let title = "`tags` neither puts tags in nor takes any off";
        let label = "this has no effect";
        reader.report(
            Diagnostic::new(&codes::MISSING_KEY, title, fields.at, label)
                .help("write `tags: { insert: [0, 6], strip: true }`, or remove `tags`"),
        );
    }
    Tags { insert, vid: vid.unwrap_or(Vid::PRIORITY_ONLY), strip }
}

/// Reads the PCP of each queue.
fn insert(reader: &mut Reader<'_>, fields: &Fields<'_>, queues: u8) -> Option<[Pcp; 8]> {
    let span = fields.get("insert")?.value.span;
    let list = reader.values(fields, "insert")?;
    if list.len() != usize::from(queues) {
        let title = format!("`insert` needs {queues} priorities, found {}", list.len());
        let label = "one for each queue, from queue 0";
        let values: Vec<String> = (0..queues).map(|queue| queue.to_string()).collect();
        reader.report(
            Diagnostic::new(&codes::VALUE_OUT_OF_RANGE, title, span, label)
                .help(Help::example(format!("insert: [{}]", values.join(", ")))),
        );
        return None;
    }
    let mut insert = [Pcp::default(); 8];
    for (slot, pcp) in insert.iter_mut().zip(list) {
        *slot = Pcp::new(u8::try_from(pcp).ok()?)?;
    }
    Some(insert)
}

fn signal(reader: &mut Reader<'_>, top: &Fields<'_>) -> Signal {
    let Some(fields) = reader.one(top, "signal", &SIGNAL) else {
        return Signal::default();
    };
    reader.require(&fields, SIGNAL_FROM.key);
    let from = reader.word(&fields, &SIGNAL_FROM);
    let every = reader.time(&fields, "every");
    if let Some(At { value, span }) = every
        && !(READINGS.0..=READINGS.1).contains(&value)
    {
        let rule = format!("{} to {}", READINGS.0, READINGS.1);
        let why = "time between two readings of the driver's counter";
        reader.out_of_range("every", span, &rule, &value.to_string(), why);
    }
    let Some(mut from) = from else {
        return Signal::default();
    };
    match &mut from.means {
        Signal::DriverCollisions { every: own } => *own = every.map_or(*own, |every| every.value),
        Signal::Port | Signal::Reports => {
            let what = format!("a signal from `{}`", from.text);
            reader.misplaced(&fields, &["every"], &what);
        }
    }
    from.means
}

fn probes(reader: &mut Reader<'_>, top: &Fields<'_>) -> Option<Probing> {
    let fields = reader.one(top, "probes", &PROBES)?;
    let mut to = Vec::new();
    for item in reader.items(&fields, "to") {
        let Data::Scalar(text) = &item.data else {
            reader.wrong_type(&fields, "to", item, "a list of Ethernet addresses");
            return None;
        };
        let Ok(address) = text.parse::<MacAddress>() else {
            let title = format!("`{text}` is not an Ethernet address");
            let label = "six octets in hexadecimal are needed";
            reader.report(Diagnostic::new(&codes::WRONG_TYPE, title, item.span, label).help(
                "`ip neighbor` shows those of other stations, for example 02:00:00:00:00:07",
            ));
            continue;
        };
        if to.contains(&address) {
            let title = format!("`{text}` is named twice");
            let label = "one path is probed once";
            reader.report(Diagnostic::new(&codes::DUPLICATE_KEY, title, item.span, label));
        }
        to.push(address);
    }
    let mut every = Duration::from_ms(10);
    if let Some(At { value, span }) = reader.time(&fields, "every") {
        if !(PROBINGS.0..=PROBINGS.1).contains(&value) {
            let rule = format!("{} to {}", PROBINGS.0, PROBINGS.1);
            let why = "time between two probes to one station";
            reader.out_of_range("every", span, &rule, &value.to_string(), why);
        }
        every = value;
    }
    Some(Probing { to, every })
}

/// Reports a smoother that waits for collisions without a signal that reports them.
fn refuse_to_be_deaf(reader: &mut Reader<'_>, top: &Fields<'_>, layer: &Layer, signal: Signal) {
    let Some(smoothing) = layer.smoother else {
        return;
    };
    let waits = match smoothing.config.mode {
        Mode::None | Mode::Fixed(_) => false,
        Mode::Adaptive(_) | Mode::Nt(_) => {
            matches!(smoothing.detector, Detector::OwnCollisions { .. })
        }
        Mode::Rtether(_) => true,
    };
    if !waits || signal != Signal::Port {
        return;
    }
    let key = if top.has("signal") { "signal" } else { "smoother" };
    let place = top.key_span(key).unwrap_or(top.at);
    let title = "the smoother waits for collisions but no signal reports them";
    let label = "so it assumes that the network is idle";
    reader.report(
        Diagnostic::new(&codes::NO_COLLISIONS_SEEN, title, place, label)
            .help("on half duplex: `signal: { from: driver }`")
            .help("else give the smoother another detector, for example `detector: { kind: backlog, low: 3 kB, high: 12 kB }`"),
    );
}
