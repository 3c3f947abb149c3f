//! Traffic smoothers.

use rtether_model::endnode::{Detector, Smoothing, TosMatch};
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::smoother::{
    Adaptive, Config, Fixed, Increase, Limits, Mode, Nt, Rule, TurnBucket,
};
use rtether_proto::smoother::{ConfigError, Smoother};

use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::help::Help;
use crate::keys::Texts;
use crate::keys::table::{CLASSIFY, DETECTOR, DETECTORS, DOUBLING, DetectorKind, MODE};
use crate::reader::{At, Fields, Reader, bits_per_second};
use crate::units::{self, Quantity};

/// Modes whose refresh period adapts to congestion between two limits.
const ADAPTIVE: &[&str] = &["himd", "slow-start", "linear"];
/// Modes that hold packets back.
const HOLDING: &[&str] = &["fixed", "himd", "slow-start", "linear", "nt", "rtether"];

/// Keys that only some modes have, with those modes.
const MODE_KEYS: &[(&str, &[&str])] = &[
    ("depth", HOLDING),
    ("period", HOLDING),
    ("hold", ADAPTIVE),
    ("tick", ADAPTIVE),
    ("delta", &["himd", "nt"]),
    ("halve_every", &["slow-start"]),
    ("rate_step", &["linear", "rtether"]),
    ("doubling", ADAPTIVE),
    ("shift_refresh", ADAPTIVE),
    ("forgive_debt", ADAPTIVE),
    ("depth_step", &["nt"]),
    ("jitter", &["nt"]),
    ("growth_percent", &["himd", "slow-start", "linear", "rtether"]),
    ("guard", &["rtether"]),
    ("window", &["rtether"]),
    ("target", &["rtether"]),
    ("gain", &["rtether"]),
    ("threshold", &["rtether"]),
    ("detector", &["himd", "slow-start", "linear", "nt"]),
];

/// Reads `smoother:`.
pub(super) fn smoother(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Smoothing> {
    reader.require(fields, MODE.key);
    let word = reader.word(fields, &MODE)?;
    for (key, modes) in MODE_KEYS {
        if !modes.contains(&word.text) {
            let what = format!("a smoother in mode `{}`", word.text);
            reader.misplaced(fields, &[key], &what);
        }
    }
    let errors = reader.sink.errors();
    let mut mode = word.means;
    match &mut mode {
        Mode::None => {}
        Mode::Fixed(own) => fixed(reader, fields, own),
        Mode::Adaptive(own) => adaptive(reader, fields, own),
        Mode::Nt(own) => nt(reader, fields, own),
        Mode::Rtether(own) => places(reader, fields, own),
    }
    let is_nt = matches!(mode, Mode::Nt(_));
    let limits = Limits::default();
    let config = Config {
        mode,
        limits: Limits {
            real_time_packets: packets(reader, fields, "real_time_limit"),
            bulk_packets: packets(reader, fields, "bulk_limit"),
            ..limits
        },
    };
    let smoothing = Smoothing {
        config,
        rule: rule(reader, fields, is_nt),
        ring: reader.frames(fields, "ring", 2),
        detector: detector(reader, fields, is_nt),
    };
    (reader.sink.errors() == errors).then_some(())?;
    engine_takes(reader, fields, config)?;
    Some(smoothing)
}

fn packets(reader: &mut Reader<'_>, fields: &Fields<'_>, key: &str) -> usize {
    usize::try_from(reader.frames(fields, key, 1000)).unwrap_or(usize::MAX)
}

/// Reports what the engine refuses, at the key that causes it.
fn engine_takes(reader: &mut Reader<'_>, fields: &Fields<'_>, config: Config) -> Option<()> {
    let Err(error) = Smoother::<()>::new(Instant::ZERO, config) else {
        return Some(());
    };
    let parameter = match error {
        ConfigError::NotPositive(name)
        | ConfigError::TooLarge(name)
        | ConfigError::AboveWhole(name) => name,
        ConfigError::Reversed { low, .. } => low,
        ConfigError::NeverServed => "depth_step",
        ConfigError::Shrinks => "growth_percent",
    };
    let key = match parameter {
        "period_min" | "period_max" => "period",
        "depth_max" => "depth",
        "interval" => "halve_every",
        "step" => "rate_step",
        "threshold_percent" => "threshold",
        "target_percent" => "target",
        "gain_percent" => "gain",
        other => other,
    };
    let rule = match error {
        ConfigError::NotPositive(_) => "more than zero",
        ConfigError::TooLarge(_) => "at most one day, or 1 GB",
        ConfigError::Reversed { .. } if key == "depth_step" => "at most `depth`",
        ConfigError::Reversed { .. } => "from the smaller to the larger",
        ConfigError::NeverServed => "at least 1500 B",
        ConfigError::Shrinks => "at least 100",
        ConfigError::AboveWhole(_) => "at most 100 %",
    };
    let why = match error {
        ConfigError::NeverServed => "else the largest packet is never served",
        ConfigError::Shrinks => "else congestion makes the rate grow",
        ConfigError::NotPositive(_)
        | ConfigError::TooLarge(_)
        | ConfigError::AboveWhole(_)
        | ConfigError::Reversed { .. } => "outside what a smoother can do",
    };
    let known = fields.section.find(key).and_then(|_| fields.get(key));
    let (span, found) = match known {
        Some(entry) => (entry.value.span, reader.scalar(fields, key)),
        None => (fields.at, None),
    };
    let found = found.map_or_else(|| "less".to_owned(), |text| text.value.to_owned());
    reader.out_of_range(key, span, rule, &format!("`{found}`"), why);
    None
}

fn fixed(reader: &mut Reader<'_>, fields: &Fields<'_>, own: &mut Fixed) {
    set_size(reader, fields, "depth", &mut own.depth);
    let Some(text) = reader.scalar(fields, "period") else {
        return;
    };
    if text.value.contains("..") {
        let title = "`period` is one time in mode `fixed`, found a range";
        let label = "this period does not change";
        reader.report(
            Diagnostic::new(&codes::WRONG_QUANTITY, title, text.span, label)
                .help(Help::example("period: 36 ms")),
        );
    } else if let Some(period) = reader.positive_time(fields, "period") {
        own.period = period.value;
    }
}

fn adaptive(reader: &mut Reader<'_>, fields: &Fields<'_>, own: &mut Adaptive) {
    set_size(reader, fields, "depth", &mut own.depth);
    set_time(reader, fields, "hold", &mut own.hold);
    set_time(reader, fields, "tick", &mut own.tick);
    if let Some((low, high)) = reader.time_range(fields, "period") {
        (own.period_min, own.period_max) = (low, high);
    }
    match &mut own.increase {
        Increase::Harmonic(delta) => set_time(reader, fields, "delta", delta),
        Increase::SlowStart(interval) => set_time(reader, fields, "halve_every", interval),
        Increase::Linear(step) => rate_step(reader, fields, step),
    }
    growth(reader, fields, &mut own.growth_percent);
    own.doubling = reader.meaning(fields, &DOUBLING);
    own.shift_refresh = reader.flag(fields, "shift_refresh").unwrap_or(false);
    own.forgive_debt = reader.flag(fields, "forgive_debt").unwrap_or(false);
}

fn nt(reader: &mut Reader<'_>, fields: &Fields<'_>, own: &mut Nt) {
    set_size(reader, fields, "depth", &mut own.depth_max);
    set_size(reader, fields, "depth_step", &mut own.depth_step);
    if let Some((low, high)) = reader.time_range(fields, "period") {
        (own.period_min, own.period_max) = (low, high);
    }
    set_time(reader, fields, "delta", &mut own.delta);
    set_time(reader, fields, "jitter", &mut own.jitter);
}

fn places(reader: &mut Reader<'_>, fields: &Fields<'_>, own: &mut TurnBucket) {
    set_size(reader, fields, "depth", &mut own.depth);
    set_time(reader, fields, "guard", &mut own.guard);
    if let Some((low, high)) = reader.time_range(fields, "period") {
        (own.period_min, own.period_max) = (low, high);
    }
    set_time(reader, fields, "window", &mut own.window);
    for (key, slot) in
        [("target", &mut own.target_percent), ("threshold", &mut own.threshold_percent)]
    {
        if let Some(percent) = parts(reader, fields, key, 10_000_000, "1 %") {
            *slot = u8::try_from(percent).unwrap_or(u8::MAX);
        }
    }
    if let Some(percent) = parts(reader, fields, "gain", 10_000_000, "1 %") {
        own.gain_percent = u16::try_from(percent).unwrap_or(u16::MAX);
    }
    rate_step(reader, fields, &mut own.step);
    growth(reader, fields, &mut own.growth_percent);
}

fn growth(reader: &mut Reader<'_>, fields: &Fields<'_>, slot: &mut u16) {
    if let Some(percent) = reader.count(fields, "growth_percent") {
        *slot = u16::try_from(percent.value).unwrap_or(u16::MAX);
    }
}

fn rate_step(reader: &mut Reader<'_>, fields: &Fields<'_>, slot: &mut BitRate) {
    if let Some(rate) = reader.quantity(fields, "rate_step", Quantity::BitRate) {
        *slot = bits_per_second(rate.value);
    }
}

fn set_size(reader: &mut Reader<'_>, fields: &Fields<'_>, key: &str, slot: &mut Bytes) {
    if let Some(size) = reader.size(fields, key) {
        *slot = size.value;
    }
}

fn set_time(reader: &mut Reader<'_>, fields: &Fields<'_>, key: &str, slot: &mut Duration) {
    if let Some(time) = reader.time(fields, key) {
        *slot = time.value;
    }
}

fn rule(reader: &mut Reader<'_>, fields: &Fields<'_>, is_nt: bool) -> Rule {
    let otherwise = if is_nt { Rule::NT } else { Rule::LINUX };
    let Some(At { value: text, span }) = reader.scalar(fields, CLASSIFY.key) else {
        return otherwise;
    };
    if let Some(rule) = CLASSIFY.means(text) {
        return rule;
    }
    if units::read_count(text).is_err() {
        let forms = [CLASSIFY.texts(), vec!["a DSCP 0 to 63"]].concat();
        reader.unknown_word(CLASSIFY.key, text, span, &forms);
        return otherwise;
    }
    let Some(dscp) = reader.count_in(CLASSIFY.key, text, span, (0, 63)) else {
        return otherwise;
    };
    let tos = TosMatch::dscp(u8::try_from(dscp).unwrap_or(0));
    Rule::TypeOfService { mask: tos.mask, values: [tos.value; 2] }
}

/// Keys that only some detectors have, with those detectors.
const DETECTOR_KEYS: &[(&str, &[&str])] = &[
    ("visibility", &["collisions"]),
    ("floor", &["clearing-rate"]),
    ("low", &["backlog"]),
    ("high", &["backlog"]),
    ("threshold", &["utilization", "marks"]),
    ("window", &["utilization", "marks"]),
    ("excess", &["probe-delay"]),
    ("epoch", &["probe-delay"]),
];
/// The optional ones among [`DETECTOR_KEYS`].
const DETECTOR_OPTIONAL: [&str; 2] = ["visibility", "epoch"];

fn detector(reader: &mut Reader<'_>, fields: &Fields<'_>, is_nt: bool) -> Detector {
    // Packet status is polled while others are queued (catalogue 3b, NT CheckCollisions).
    let visibility_per_million = if is_nt { 250_000 } else { 1_000_000 };
    let otherwise = Detector::OwnCollisions { visibility_per_million };
    let Some(inner) = reader.one(fields, "detector", &DETECTOR) else {
        return otherwise;
    };
    reader.require(&inner, DETECTORS.key);
    let Some(kind) = reader.word(&inner, &DETECTORS) else {
        return otherwise;
    };
    for (key, owners) in DETECTOR_KEYS {
        if !owners.contains(&kind.text) {
            let what = format!("a detector of kind `{}`", kind.text);
            reader.misplaced(&inner, &[key], &what);
        } else if !DETECTOR_OPTIONAL.contains(key) {
            reader.require(&inner, key);
        }
    }
    let read = match kind.means {
        DetectorKind::ClearingRate => clearing_rate(reader, &inner),
        DetectorKind::Backlog => backlog(reader, &inner),
        DetectorKind::Utilization => share(reader, &inner)
            .map(|(threshold_percent, window)| Detector::Utilization { threshold_percent, window }),
        DetectorKind::Marks => share(reader, &inner)
            .map(|(threshold_percent, window)| Detector::Marks { threshold_percent, window }),
        DetectorKind::ProbeDelay => probe_delay(reader, &inner),
        DetectorKind::Collisions => {
            let seen = parts(reader, &inner, "visibility", 1_000, "1 ppm");
            seen.map(|visibility_per_million| Detector::OwnCollisions { visibility_per_million })
        }
    };
    read.unwrap_or(otherwise)
}

fn clearing_rate(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Detector> {
    let floor = reader.quantity(fields, "floor", Quantity::BitRate)?;
    let floor = bits_per_second(floor.value);
    Some(Detector::ClearingRate { floor })
}

fn backlog(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Detector> {
    let (low, high) = (reader.size(fields, "low"), reader.size(fields, "high"));
    let (low, high) = (low?, high?);
    if low.value > high.value {
        let rule = format!("at most `high`, {}", high.value);
        let why = "congestion would end before it begins";
        reader.out_of_range("low", low.span, &rule, &low.value.to_string(), why);
    }
    let (low, high) = (low.value, high.value);
    Some(Detector::Backlog { low, high })
}

fn probe_delay(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Detector> {
    let excess = reader.positive_time(fields, "excess")?.value;
    let epoch = reader.positive_time(fields, "epoch");
    let epoch = epoch.map_or(Duration::from_secs(10), |epoch| epoch.value);
    Some(Detector::ProbeDelay { excess, epoch })
}

/// Reads a percentage and the window over which it is measured.
fn share(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<(u8, Duration)> {
    let threshold = parts(reader, fields, "threshold", 10_000_000, "1 %");
    let window = reader.positive_time(fields, "window");
    Some((u8::try_from(threshold?).ok()?, window?.value))
}

/// Reads a ratio of at most one as a whole number of units of `part` billionths.
fn parts(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    key: &str,
    part: u64,
    unit: &str,
) -> Option<u32> {
    let ratio = reader.quantity(fields, key, Quantity::Ratio)?;
    if !ratio.value.is_multiple_of(part) {
        let title = format!("`{key}` counts whole parts of {unit}");
        let label = format!("a whole multiple of {unit} is needed");
        reader.report(Diagnostic::new(&codes::VALUE_TOO_FINE, title, ratio.span, label));
        return None;
    }
    u32::try_from(ratio.value / part).ok()
}
