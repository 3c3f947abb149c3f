//! Several profiles of one device made one.
//!
//! Costs are estimated again from all round trips together, as if they had been one series. Figures of
//! other kinds, and of series that kept no round trips, are means weighted by the inverse squares of
//! their intervals. What differs clearly between series is no figure of one device: it stays unknown.

use rtether_model::quantity::{Duration, Instant};
use rtether_proto::identify::{Costs, Exchange, Observation, Path, Sent, Volley};

use super::{Method, Profile, Range, Series};

/// Series differ clearly if they are apart by more than this many times both halves of their intervals:
/// of series of one device, fewer than one in a million are.
const CLEARLY: i64 = 2;

/// A profile with its name, such as that of its file.
pub type Named = (String, Profile);

/// Makes one profile of several.
///
/// # Errors
/// If they are not of one device.
pub fn merge(all: &[Named]) -> Result<Profile, String> {
    let [(name, first), others @ ..] = all else {
        return Err("there is no profile to merge".to_owned());
    };
    for (other_name, other) in others {
        for (what, own, of) in [
            ("device", Some(&first.device), Some(&other.device)),
            ("firmware", first.firmware.as_ref(), other.firmware.as_ref()),
        ] {
            if own != of {
                let [own, of] = [own, of].map(|text| text.map_or("nothing", String::as_str));
                return Err(format!(
                    "`{name}` and `{other_name}` are not of one device: `{what}` is `{own}` and `{of}`; \
                     merge profiles of one device and firmware only"
                ));
            }
        }
    }
    let mut protocols: Vec<&str> = Vec::new();
    for series in all.iter().flat_map(|(_, own)| &own.requests) {
        if !protocols.contains(&series.protocol.as_str()) {
            protocols.push(&series.protocol);
        }
    }
    let requests = protocols.into_iter().map(|protocol| {
        let of: Vec<(&str, &Series)> = all
            .iter()
            .filter_map(|(name, own)| Some((name.as_str(), own.series(protocol)?)))
            .collect();
        one_of(&of)
    });
    let mut merged = Profile {
        date: all.iter().map(|(_, own)| own.date.clone()).max().unwrap_or_default(),
        address: same(all, |own| own.address.as_ref()),
        host: same(all, |own| own.host.as_ref()),
        stack_from: same(all, |own| own.stack_from.as_ref()),
        reply_from: same(all, |own| own.reply_from.as_ref()),
        requests: requests.collect(),
        ..first.clone()
    };
    merged.choose();
    Ok(merged)
}

/// Returns what all profiles say, if it is the same.
fn same<'p>(all: &'p [Named], part: impl Fn(&'p Profile) -> Option<&'p String>) -> Option<String> {
    let first = part(&all.first()?.1);
    all.iter().all(|(_, own)| part(own) == first).then(|| first.cloned())?
}

/// Makes one series of several of one protocol.
fn one_of(all: &[(&str, &Series)]) -> Series {
    if let [(_, only)] = all {
        return (*only).clone();
    }
    let mut merged = Series::new(all[0].1.protocol.clone(), method(all));
    for (_, own) in all {
        merged.sent = merged.sent.saturating_add(own.sent);
        merged.answered = merged.answered.saturating_add(own.answered);
        merged.lost = merged.lost.saturating_add(own.lost);
    }
    let trips = trips(all);
    // A series that kept none would not count.
    let is_whole = all.iter().all(|(_, own)| !own.trips.is_empty());
    if is_whole {
        merged.keep(&trips);
        costs(&mut merged, all, &trips);
    } else {
        for key in ["fixed", "request_octet", "answer_octet", "both_octets", "jitter"] {
            note(&mut merged, key, all);
        }
        let longest = all.iter().max_by_key(|(_, own)| own.answered);
        merged.histogram = longest.map(|(_, own)| own.histogram.clone()).unwrap_or_default();
    }
    for key in ["receive", "scan"] {
        note(&mut merged, key, all);
    }
    words(&mut merged, all);
    for misfit in all.iter().flat_map(|(_, own)| &own.misfits) {
        if merged.misfits.iter().all(|own| own.kind != misfit.kind) {
            merged.misfits.push(misfit.clone());
        }
    }
    // One that failed counts for all, one that is missing leaves it open.
    let trials = all.iter().map(|(_, own)| own.confirmed);
    merged.confirmed = match trials.clone().flatten().find(|trial| !trial.holds) {
        None => trials.collect::<Option<Vec<_>>>().and_then(|all| all.first().copied()),
        failed => failed,
    };
    merged
}

/// Notes a figure that is weighted, if any series has looked for it.
fn note(merged: &mut Series, key: &str, all: &[(&str, &Series)]) {
    if all.iter().any(|(_, own)| own.figure(key).is_some() || own.reason(key).is_some()) {
        merged.note(key, weighted(key, all));
    }
}

fn method(all: &[(&str, &Series)]) -> Method {
    let [is_load, is_quiet] =
        [Method::Load, Method::Quiet].map(|method| all.iter().any(|(_, own)| own.method == method));
    match (is_load, is_quiet) {
        (true, _) => Method::Load,
        (false, true) => Method::Quiet,
        (false, false) => Method::Capture,
    }
}

fn trips(all: &[(&str, &Series)]) -> Vec<(Exchange, Duration)> {
    let groups = all.iter().flat_map(|(_, own)| &own.trips);
    let each = groups.flat_map(|own| {
        let exchange = Exchange { request: own.request, answer: own.answer };
        own.times.iter().map(move |time| (exchange, *time))
    });
    each.collect()
}

/// Estimates costs from all round trips, unless series differ.
fn costs(merged: &mut Series, all: &[(&str, &Series)], trips: &[(Exchange, Duration)]) {
    let observations: Vec<Observation> = trips
        .iter()
        .map(|(sizes, time)| {
            let answered = Some(Instant::ZERO + *time);
            let packets = vec![Sent { at: Instant::ZERO, answered, sizes: *sizes }];
            Observation { volley: Volley::request(*sizes, Duration::ZERO), packets }
        })
        .collect();
    let costs = Costs::estimate(&observations, &Path::default());
    for (key, figure) in [
        ("fixed", costs.fixed),
        ("request_octet", costs.request_octet),
        ("answer_octet", costs.answer_octet),
        ("both_octets", costs.both_octets),
        ("jitter", costs.jitter),
    ] {
        match differ(key, all) {
            Some(why) => merged.leave_open(key, &why),
            None => merged.note(key, figure),
        }
    }
}

/// Returns the mean of a figure, weighted by the inverse squares of the intervals.
fn weighted(key: &str, all: &[(&str, &Series)]) -> Result<Range, String> {
    if let Some(why) = differ(key, all) {
        return Err(why);
    }
    let known: Vec<Range> = all.iter().filter_map(|(_, own)| own.figure(key)).collect();
    if known.is_empty() {
        let why = all.iter().find_map(|(_, own)| own.reason(key));
        return Err(why.unwrap_or_default().to_owned());
    }
    let (mut weights, mut sum, mut below, mut above) = (0.0, 0.0, 0.0, 0.0);
    for range in &known {
        let ends = [range.value - range.low, range.high - range.value].map(ps);
        // What is exact weighs as if it were known to a picosecond.
        let half = f64::midpoint(ends[0], ends[1]).max(1.0);
        let weight = 1.0 / (half * half);
        weights += weight;
        sum += weight * ps(range.value);
        below += (weight * ends[0]).powi(2);
        above += (weight * ends[1]).powi(2);
    }
    #[allow(clippy::cast_possible_truncation, reason = "a mean is not above the largest of them")]
    let [value, below, above] = [sum / weights, below.sqrt() / weights, above.sqrt() / weights]
        .map(|own| Duration::from_ps(own.round() as i64));
    Ok(Range { value, low: (value - below).max(Duration::ZERO), high: value + above })
}

#[allow(clippy::cast_precision_loss, reason = "an estimate has no digit beyond 2^52")]
const fn ps(time: Duration) -> f64 {
    time.as_ps() as f64
}

/// Returns why a figure is none of one device, if its series differ clearly.
fn differ(key: &str, all: &[(&str, &Series)]) -> Option<String> {
    let known = all.iter().filter_map(|(name, own)| Some((name, own.figure(key)?)));
    for (name, one) in known.clone() {
        for (other_name, other) in known.clone() {
            let halves = (one.high - one.value) + (other.value - other.low);
            if other.value - one.value > halves * CLEARLY {
                let (one, other) = (one.value, other.value);
                return Some(format!(
                    "the series differ: {one} in {name}, {other} in {other_name}"
                ));
            }
        }
    }
    None
}

/// Takes what is no figure with an interval, if the series that know it agree.
fn words(merged: &mut Series, all: &[(&str, &Series)]) {
    merged.servers = agreed(merged, "servers", all, |own| own.servers);
    merged.order = agreed(merged, "order", all, |own| own.order);
    merged.queue = agreed(merged, "queue", all, |own| own.queue);
}

fn agreed<T: PartialEq>(
    merged: &mut Series,
    key: &str,
    all: &[(&str, &Series)],
    part: impl Fn(&Series) -> Option<T>,
) -> Option<T> {
    let mut known = all.iter().filter_map(|(name, own)| Some((name, part(own)?)));
    let Some((name, first)) = known.next() else {
        let why = all.iter().find_map(|(_, own)| own.reason(key));
        if let Some(why) = why {
            merged.leave_open(key, why);
        }
        return None;
    };
    if let Some((other, _)) = known.find(|(_, own)| *own != first) {
        merged.leave_open(key, &format!("the series differ: {name} and {other}"));
        return None;
    }
    Some(first)
}
