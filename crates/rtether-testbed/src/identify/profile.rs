//! The profile of a device, of which a scenario takes its stack.

use std::time::{SystemTime, UNIX_EPOCH};

use rtether::scenario::profile::{self, Profile, Tail, Trial};
use rtether_live::host::files::Files;
use rtether_model::quantity::Duration;
use rtether_proto::identify::{Confirmation, Load, Misfit, Unidentified};

use super::{Identified, Method, Series};

/// Seconds of a day, and days of four centuries.
const DAY: u64 = 86_400;
const ERA: u64 = 146_097;

impl Identified {
    /// Returns the profile, of this day and host. Series of one protocol are one there: with load it
    /// knows more.
    pub fn profile(&self) -> Profile {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let days = since.map_or(0, |since| since.as_secs() / DAY);
        let mut own = Profile {
            device: self.identity.clone().unwrap_or_else(|| self.target.clone()),
            address: self.address.map(|address| address.to_string()),
            date: date(days),
            host: Files::default().text("proc/sys/kernel/hostname"),
            ..Profile::default()
        };
        for series in &self.series {
            let word = series.asked.protocol.word();
            match own.requests.iter_mut().find(|known| known.protocol == word) {
                Some(known) => add(known, series),
                None => own.requests.push(of(series)),
            }
        }
        own.choose();
        own
    }
}

/// Returns what a series without load has shown.
fn of(series: &Series) -> profile::Series {
    let method = match series.method {
        Method::Quiet => profile::Method::Quiet,
        Method::Load => profile::Method::Load,
        Method::Capture => profile::Method::Capture,
    };
    let mut own = profile::Series::new(series.asked.protocol.word(), method);
    let costs = &series.costs;
    own.note("fixed", costs.fixed);
    own.note("request_octet", costs.request_octet);
    own.note("answer_octet", costs.answer_octet);
    own.note("both_octets", costs.both_octets);
    own.note("jitter", costs.jitter);
    own.note("scan", series.cycle.map(|cycle| cycle.period));
    for warning in series.warnings() {
        own.leave_open("warning", &warning);
    }
    own.misfits = series.misfits.iter().copied().map(misfit).collect();
    own.keep(&series.trips);
    own.confirmed = series.confirmation.as_ref().and_then(|own| own.as_ref().ok()).map(trial);
    count(&mut own, series);
    if series.method == Method::Quiet && own.confirmed.is_none() {
        own.leave_open("confirmed", "the series ended before");
    }
    match &series.load {
        Some(load) => loaded(&mut own, load),
        None => {
            for figure in ["receive", "servers", "order", "queue"] {
                own.leave_open(figure, "no load was sent");
            }
        }
    }
    own
}

/// Adds what load has shown to a series without.
fn add(own: &mut profile::Series, series: &Series) {
    let Some(load) = &series.load else { return };
    own.method = profile::Method::Load;
    own.unknown.retain(|known| known.why != "no load was sent");
    count(own, series);
    loaded(own, load);
    for found in series.misfits.iter().copied().map(misfit) {
        if own.misfits.iter().all(|known| known.kind != found.kind) {
            own.misfits.push(found);
        }
    }
    for warning in series.warnings() {
        own.leave_open("warning", &warning);
    }
}

fn misfit(found: Misfit) -> profile::Misfit {
    profile::Misfit { kind: found.kind(), why: found.to_string() }
}

fn count(own: &mut profile::Series, series: &Series) {
    own.sent += series.counters.sent;
    own.answered += series.counters.answered;
    own.lost += series.counters.lost;
}

fn loaded(own: &mut profile::Series, load: &Load) {
    own.note("receive", load.receive);
    own.servers = known(own, "servers", load.servers);
    own.order = known(own, "order", load.order);
    own.queue = known(own, "queue", load.queue);
}

fn known<T>(own: &mut profile::Series, figure: &str, found: Result<T, Unidentified>) -> Option<T> {
    found.map_err(|why| own.leave_open(figure, &why.to_string())).ok()
}

fn tail(p50: Duration, p99: Duration) -> Tail {
    Tail { p50: p50.max(Duration::ZERO), p99: p99.max(Duration::ZERO) }
}

fn trial(confirmation: &Confirmation) -> Trial {
    let [median, high] = confirmation.quantiles;
    Trial {
        holds: confirmation.is_confirmed(),
        predicted: tail(median.predicted.value, high.predicted.value),
        measured: tail(median.measured.value, high.measured.value),
    }
}

/// Returns a day since 1970 as in ISO 8601. Years begin in March here, so that leap days are last.
fn date(days: u64) -> String {
    let days = days + 719_468;
    let (era, day) = (days / ERA, days % ERA);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = match month {
        0..10 => (400 * era + year, month + 3),
        _ => (400 * era + year + 1, month - 9),
    };
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use rtether_model::quantity::{Bytes, Instant};
    use rtether_proto::identify::{Confirmation, Exchange, Observation, Path, Sent, Volley};

    use super::super::{Asked, Protocol, Share};
    use super::*;

    /// Answers to 120 requests, after up to four steps of 10 ms.
    fn stepped() -> Vec<Observation> {
        let sizes = Exchange { request: Bytes::new(64), answer: Bytes::new(64) };
        let all = (0..120).map(|number| {
            let late = Duration::from_ms(number * 7 % 5 * 10) + Duration::from_us(300 + number);
            let answered = Some(Instant::ZERO + late);
            let packets = vec![Sent { at: Instant::ZERO, answered, sizes }];
            Observation { volley: Volley::request(sizes, Duration::ZERO), packets }
        });
        all.collect()
    }

    /// Oracle: by hand. A series predicts itself, and yet it is not as the model has it.
    #[test]
    fn what_does_not_fit_is_kept_with_its_picture() {
        let (seen, path) = (stepped(), Path::default());
        let mut series = Series::of(Asked::usual(Protocol::Echo), Method::Quiet, &seen, &path);
        let trial = Confirmation::of(&series.costs, &seen, &path);
        assert!(trial.as_ref().is_ok_and(Confirmation::is_confirmed), "{trial:?}");
        series.confirmation = Some(trial);
        assert_eq!(series.is_confirmed(), Some(false), "{:?}", series.misfits);
        let identified = Identified {
            target: "10.0.0.2".into(),
            address: None,
            identity: None,
            share: Share::default(),
            series: vec![series],
            silent: Vec::new(),
            is_interrupted: false,
        };
        let profile = identified.profile();
        let own = &profile.requests[0];
        assert_eq!(own.misfits[0].kind.word(), "steps");
        assert_eq!(own.histogram.iter().map(|bin| bin.count).sum::<u64>(), 120);
        let assumed = profile.assumptions();
        assert!(assumed[0].contains("multiples of 10"), "{assumed:?}");
        assert!(profile.to_yaml().contains("misfits:"));
    }

    /// Oracle: `date -u -d @SECONDS +%F` of GNU.
    #[test]
    fn days_are_dates() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (20_787, "2026-11-30"),
        ] {
            assert_eq!(date(days), expected);
        }
    }
}
