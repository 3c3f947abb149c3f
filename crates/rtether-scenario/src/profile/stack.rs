//! What a scenario takes from a profile, in the words of a scenario.
//!
//! **What is taken.** Let a request of `a` octets and its answer of `b` cost `F + p a + q b` and a
//! jitter, with `F`, `p` and `q` in their intervals. Receiving takes `p` an octet, sending `q`. If it is
//! known that receiving alone takes `r` of `F`, at least that is its cost, and at most is left for
//! sending; what remains of `F` is a sum whose split is not known. By how much `p` and `q` may be above
//! their estimates at the largest frame is in that sum, too: bounds hold then for all of the intervals.
//!
//! **Jitter.** Only that of both directions together is known. Each direction gets half of it up to
//! its 99 % quantile, so that round trips are as measured, and all of its largest value, which one
//! direction may have alone.

use std::fmt::Write as _;

use rtether_model::network::Servers;
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::wire::MAX_TAGGED_FRAME;
use rtether_proto::identify::Order;

use super::words::{servers_word, time};
use crate::device::{MAX_FRAME, Profile, Range, Series};

/// The smallest frame.
const SMALLEST: i64 = 64;
/// Largest cost of an octet that a scenario takes.
const MOST_OCTET: Duration = Duration::from_ms(1);
/// Largest cost of a packet, and of its jitter.
const LONGEST: Duration = Duration::from_secs(1_000);
/// Shares of a jitter, in percent, below its largest value.
const SHARES: [usize; 7] = [0, 5, 25, 50, 75, 95, 99];

/// Returns the lines of `stack:`; `None` if no series has a fixed cost.
pub(super) fn stack(profile: &Profile) -> Option<String> {
    let series = profile.series(profile.stack_from.as_deref()?)?;
    // A scenario takes an hour at most, with all that is added here.
    let fixed = series.fixed.filter(|fixed| fixed.high <= LONGEST)?;
    let [request, answer] = octets(series);
    let [least, most] = receiving(series, fixed, request);
    let send = (fixed.low - most).max(Duration::ZERO);
    let receive = least.min(fixed.low - send);
    let rest = fixed.low - send - receive;
    let wide = above(request) + above(answer);
    let mut out = String::from("stack:\n");
    let _ = writeln!(out, "  send: {}", cost(send, answer.value));
    let _ = writeln!(out, "  receive: {}", cost(receive, request.value));
    let upper = rest + (fixed.high - fixed.low) + wide;
    if upper > Duration::ZERO {
        let _ = writeln!(out, "  both: {{ unknown: {} .. {} }}", time(rest), time(upper));
    }
    out.push_str(&jitter(series, fixed, [request, answer]).unwrap_or_default());
    if series.servers == Some(Servers::PerDirection) {
        let _ = writeln!(out, "  servers: {}", servers_word(Servers::PerDirection));
    }
    if let Some(queue) = series.queue {
        // The shortest that a scenario has: one packet waits.
        let _ = writeln!(out, "  stack_queue: {}", queue.max(1));
    }
    if series.order == Some(Order::Priority) {
        out.push_str(
            "  priorities: { queues: 8 }\n  receive_queues: { selection: highest-first }\n",
        );
    }
    Some(out)
}

/// Returns the lines of `reply:`; `None` if no series is about answers of the application.
pub(super) fn reply(profile: &Profile) -> Option<String> {
    let series = profile.series(profile.reply_from.as_deref()?)?;
    let stack = profile.series(profile.stack_from.as_deref().unwrap_or_default());
    let stack = stack.filter(|own| own.protocol != series.protocol);
    let after = series.fixed.zip(stack.and_then(|own| own.fixed));
    // The most that the application can take of it: bounds hold for all of both intervals.
    let after = after.map_or(Duration::ZERO, |(own, stack)| own.high - stack.low);
    let mut out = format!("reply:\n  after: {}\n", time(after));
    if let Some(scan) = series.scan.filter(|scan| scan.value > Duration::ZERO) {
        let _ = writeln!(out, "  scan: {}", time(scan.value));
    }
    Some(out)
}

pub(super) fn assumptions(profile: &Profile) -> Vec<String> {
    let name = profile.stack_from.as_deref();
    let Some(series) = name.and_then(|name| profile.series(name)) else {
        return vec!["no series shows the stack".to_owned()];
    };
    let mut found: Vec<String> =
        series.misfits.iter().map(|own| format!("not as the model has it: {}", own.why)).collect();
    let trial = match series.confirmed {
        Some(trial) if trial.holds => None,
        Some(_) => Some("not confirmed: a series that was not used came out otherwise"),
        None => Some("not confirmed: no further series was predicted and measured"),
    };
    found.extend(trial.map(str::to_owned));
    if series.request_octet.is_none() && series.answer_octet.is_none() {
        found.push(match series.both_octets {
            Some(_) => "an octet costs half each way: its sizes were alike".to_owned(),
            None => "an octet costs nothing: sizes were not varied".to_owned(),
        });
    }
    found
}

/// Returns what an octet costs to receive and to send. Where both had one size, each gets half.
fn octets(series: &Series) -> [Range; 2] {
    let half = series.both_octets.map(|own| Range {
        value: own.value / 2,
        low: own.low / 2,
        high: own.high / 2,
    });
    [series.request_octet, series.answer_octet].map(|own| {
        let own = own.or(half).unwrap_or_default();
        let [value, low, high] = [own.value, own.low, own.high].map(|end| end.min(MOST_OCTET));
        Range { value, low, high }
    })
}

/// Returns between what the fixed cost of receiving is.
fn receiving(series: &Series, fixed: Range, octet: Range) -> [Duration; 2] {
    let Some(receive) = series.receive else {
        return [Duration::ZERO, fixed.high];
    };
    // It was measured with the smallest request, and contains its share of the jitter.
    let jitter = series.jitter.map_or(Duration::ZERO, |own| own.high);
    let least = receive.low - octet.high * SMALLEST - jitter;
    let most = receive.high - octet.low * SMALLEST;
    [least, most].map(|end| end.max(Duration::ZERO).min(fixed.high))
}

/// Returns by how much the largest frame may cost more than estimated.
fn above(octet: Range) -> Duration {
    let most = i64::try_from(MAX_TAGGED_FRAME.get()).expect("a frame is short");
    (octet.high - octet.value) * most
}

fn cost(base: Duration, octet: Duration) -> String {
    if octet == Duration::ZERO { time(base) } else { format!("{} + {}/B", time(base), time(octet)) }
}

fn jitter(series: &Series, fixed: Range, octets: [Range; 2]) -> Option<String> {
    // What round trips have above the least is the wait for a scan, and not jitter.
    if series.scan.is_some() {
        return None;
    }
    let rest = residuals(series, fixed, octets);
    let Some(&most) = rest.last() else {
        let mean = series.jitter?.value.min(LONGEST);
        return (mean > Duration::ZERO).then(|| format!("  jitter: {}\n", time(mean)));
    };
    if most == Duration::ZERO {
        return None;
    }
    let mut points = Vec::new();
    for share in SHARES {
        let half = rest[share * (rest.len() - 1) / 100] / 2;
        points.push(format!("{{ share: {share} %, add: {} }}", time(half)));
    }
    points.push(format!("{{ share: 100 %, add: {} }}", time(most)));
    Some(format!("  jitter:\n    quantiles: [{}]\n", points.join(", ")))
}

/// Returns what the octets of a frame cost.
fn of(octet: Range, frame: Bytes) -> Duration {
    let size = frame.min(Bytes::new(MAX_FRAME));
    octet.value * i64::try_from(size.get()).expect("a frame is short")
}

/// Returns what round trips have above the least, in order.
fn residuals(series: &Series, fixed: Range, [request, answer]: [Range; 2]) -> Vec<Duration> {
    let mut rest: Vec<Duration> = Vec::new();
    for trips in &series.trips {
        let least = fixed.value + of(request, trips.request) + of(answer, trips.answer);
        rest.extend(
            trips.times.iter().map(|time| (*time - least).max(Duration::ZERO).min(LONGEST)),
        );
    }
    rest.sort_unstable();
    rest
}
