//! Profiles compared and merged. Oracles: the estimates of a series that was not divided, arithmetic
//! by hand, and the schemas of documents.

use rtether::profile::{
    FIGURES, Found, Method, Misfit, Named, Profile, Range, Series, Shown, Tail, Trial, diff, merge,
};
use rtether::report::format::{Format, Render};
use rtether::report::table::Screen;
use rtether_model::network::Servers;
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_proto::identify::{
    Costs, Exchange, MisfitKind, Observation, Path, Sent, Unidentified, Volley,
};
use rtether_testkit::Dice;

const fn ns(ns: i64) -> Duration {
    Duration::from_ns(ns)
}

const fn range(value: i64, low: i64, high: i64) -> Range {
    Range { value: ns(value), low: ns(low), high: ns(high) }
}

fn named(name: &str, requests: Vec<Series>) -> Named {
    let (device, date) = ("drive".to_owned(), "2026-11-30".to_owned());
    let mut profile = Profile { device, date, requests, ..Profile::default() };
    profile.choose();
    (name.to_owned(), profile)
}

/// Round trips of a device with random costs, jitter of three shapes, and sizes in random order.
fn trips(dice: &mut Dice) -> Vec<(Exchange, Duration)> {
    let fixed = dice.time(5_000, 500_000);
    let [request_octet, answer_octet] = [(); 2].map(|()| dice.time(0, 60));
    let (jitter, shape) = (dice.time(1_000, 20_000), dice.pick(&[1, 2, 3]));
    let sizes = [64, 700, 1_500];
    let trips = (0..300).map(|_| {
        let [request, answer] = [(); 2].map(|()| dice.pick(&sizes));
        // One uniform number, the sum of two, or the larger one.
        let [one, other] = [(); 2].map(|()| dice.time(0, jitter));
        let random = match shape {
            1 => one + other,
            2 => one.min(other) * 2,
            _ => one.max(other),
        };
        let time = fixed + request_octet * request + answer_octet * answer + random;
        let [request, answer] = [request, answer].map(|own| Bytes::new(own.unsigned_abs()));
        (Exchange { request, answer }, ns(time))
    });
    trips.collect()
}

/// A series as the prober fills it.
fn series(trips: &[(Exchange, Duration)]) -> Series {
    let mut series = Series::new("closed", Method::Quiet);
    series.sent = trips.len() as u64;
    series.answered = series.sent;
    let observations = trips.iter().map(|(sizes, time)| Observation {
        volley: Volley::request(*sizes, Duration::ZERO),
        packets: vec![Sent {
            at: Instant::ZERO,
            answered: Some(Instant::ZERO + *time),
            sizes: *sizes,
        }],
    });
    let observations: Vec<Observation> = observations.collect();
    let costs = Costs::estimate(&observations, &Path::default());
    series.note("fixed", costs.fixed);
    series.note("request_octet", costs.request_octet);
    series.note("answer_octet", costs.answer_octet);
    series.note("both_octets", costs.both_octets);
    series.note("jitter", costs.jitter);
    series.note("scan", Err::<Range, _>(Unidentified::NoCycle));
    series.keep(trips);
    series
}

/// Oracle: the profile of the whole series, within whose intervals the merged figures have to be.
#[test]
fn two_halves_make_the_whole() {
    let mut figures = 0;
    for case in 0..30 {
        let trips = trips(&mut Dice::new(case));
        let (first, second) = trips.split_at(trips.len() / 2);
        let halves = [("a.yaml", first), ("b.yaml", second)];
        let halves = halves.map(|(name, half)| named(name, vec![series(half)]));
        let merged = merge(&halves).expect("one device");
        let (_, whole) = named("whole.yaml", vec![series(&trips)]);
        let [merged, whole] = [&merged, &whole].map(|own| &own.requests[0]);
        assert_eq!((merged.sent, merged.answered), (whole.sent, whole.answered));
        assert_eq!(merged.histogram, whole.histogram);
        for key in FIGURES {
            let (Some(own), Some(expected)) = (merged.figure(key), whole.figure(key)) else {
                assert_eq!(
                    merged.figure(key).is_some(),
                    whole.figure(key).is_some(),
                    "{case} {key}"
                );
                assert_eq!(merged.reason(key), whole.reason(key), "{case} {key}");
                continue;
            };
            assert!((expected.low..=expected.high).contains(&own.value), "{case} {key}: {own:?}");
            // As sure as the whole: the estimate is the same but for the order of the sums.
            let [width, all] = [own, expected].map(|own| (own.high - own.low).as_ns_f64());
            assert!((width - all).abs() < 1.0, "{case} {key}: {own:?} {expected:?}");
            figures += 1;
        }
        // So it does if it was a file in between.
        let files = halves.map(|(name, half)| {
            let text = half.to_yaml();
            (name.clone(), Profile::from_yaml(&text, &name).expect("a profile"))
        });
        assert_eq!(&merge(&files).expect("one device").requests[0], merged);
    }
    assert!(figures > 100, "{figures}");
}

fn loaded(receive: Option<Range>, servers: Option<Servers>, queue: Option<u32>) -> Vec<Series> {
    let mut series = Series::new("closed", Method::Load);
    (series.receive, series.servers, series.queue) = (receive, servers, queue);
    vec![series]
}

fn merged(one: Vec<Series>, other: Vec<Series>) -> Series {
    let both = [named("a.yaml", one), named("b.yaml", other)];
    merge(&both).expect("one device").requests.remove(0)
}

/// Oracle: by hand: one trial that failed counts for all, and none is confirmed for another.
#[test]
fn what_is_merged_is_confirmed_if_all_of_it_is() {
    let tail = Tail { p50: Duration::from_us(90), p99: Duration::from_us(99) };
    for (one, other, expected) in [
        (Some(true), Some(true), Some(true)),
        (Some(true), None, None),
        (None, Some(true), None),
        (Some(true), Some(false), Some(false)),
        (None, Some(false), Some(false)),
    ] {
        let [one_series, other_series] = [one, other].map(|holds| {
            let confirmed = holds.map(|holds| Trial { holds, predicted: tail, measured: tail });
            vec![Series { confirmed, ..Series::new("closed", Method::Quiet) }]
        });
        let found = merged(one_series, other_series).confirmed.map(|trial| trial.holds);
        assert_eq!(found, expected, "{one:?} {other:?}");
    }
}

/// Oracle: by hand: each kind once, as the first file says it.
#[test]
fn what_does_not_fit_stays() {
    let [one, other] = [&["a"][..], &["b", "c"]].map(|whys| {
        let kinds = [MisfitKind::Pauses, MisfitKind::Steps];
        let misfits = kinds.into_iter().zip(whys);
        let misfits = misfits.map(|(kind, why)| Misfit { kind, why: (*why).to_owned() });
        vec![Series { misfits: misfits.collect(), ..Series::new("closed", Method::Quiet) }]
    });
    let found = merged(one, other).misfits;
    let found: Vec<_> = found.iter().map(|own| (own.kind, own.why.as_str())).collect();
    assert_eq!(found, [(MisfitKind::Pauses, "a"), (MisfitKind::Steps, "c")]);
}

/// Oracle: by hand. Two intervals of one width make one that is smaller by the root of two; one that is
/// ten times as wide weighs a hundredth.
#[test]
fn figures_without_round_trips_are_weighted() {
    let shared = Some(Servers::Shared);
    let one = merged(
        loaded(Some(range(1_000, 900, 1_100)), shared, Some(8)),
        loaded(Some(range(1_100, 1_000, 1_200)), None, Some(8)),
    );
    let found = one.receive.expect("a mean");
    assert_eq!(found.value, ns(1_050));
    assert!(((found.high - found.low).as_ns_f64() - 200.0 / 2_f64.sqrt()).abs() < 0.01);
    assert_eq!((one.servers, one.queue), (shared, Some(8)));
    let other = merged(
        loaded(Some(range(1_000, 900, 1_100)), None, None),
        loaded(Some(range(2_010, 1_010, 3_010)), None, None),
    );
    assert_eq!(other.receive.expect("a mean").value, ns(1_010));
    // What differs clearly is no figure of one device.
    let apart = merged(
        loaded(Some(range(1_000, 900, 1_100)), shared, Some(8)),
        loaded(Some(range(9_000, 8_900, 9_100)), Some(Servers::PerDirection), Some(9)),
    );
    assert_eq!((apart.receive, apart.servers, apart.queue), (None, None, None));
    assert_eq!(apart.reason("receive"), Some("the series differ: 1 us in a.yaml, 9 us in b.yaml"));
    assert!(apart.reason("servers").is_some() && apart.reason("queue").is_some());
}

#[test]
fn other_devices_are_not_merged() {
    let one = named("a.yaml", Vec::new());
    let mut other = named("b.yaml", Vec::new());
    other.1.firmware = Some("V2".to_owned());
    let refused = merge(&[one.clone(), other]).expect_err("another firmware");
    assert!(refused.contains("`firmware` is `nothing` and `V2`") && refused.contains("b.yaml"));
    let mut other = named("b.yaml", Vec::new());
    other.1.device = "relay".to_owned();
    assert!(merge(&[one, other]).expect_err("another device").contains("relay"));
}

/// Oracle: by hand. Protocols of one file alone stay as they are.
#[test]
fn other_protocols_stay() {
    let [echo, snmp] = ["echo", "snmp"].map(|protocol| Series {
        fixed: Some(range(5, 4, 6)),
        ..Series::new(protocol, Method::Quiet)
    });
    let both = [named("a.yaml", vec![echo.clone()]), named("b.yaml", vec![snmp.clone()])];
    let merged = merge(&both).expect("one device");
    assert_eq!(merged.requests, [echo, snmp]);
}

fn found(fixed: Option<Range>, servers: Option<Servers>) -> Vec<Series> {
    let mut series = Series::new("echo", Method::Quiet);
    (series.fixed, series.servers) = (fixed, servers);
    vec![series]
}

/// Oracle: by hand.
#[test]
fn what_differs_beyond_its_interval_is_told() {
    let before = named("a.yaml", found(Some(range(100, 90, 110)), Some(Servers::Shared)));
    for (fixed, servers, differing) in [
        (Some(range(115, 109, 120)), Some(Servers::Shared), 0),
        (Some(range(115, 111, 120)), Some(Servers::Shared), 1),
        (Some(range(80, 70, 89)), Some(Servers::PerDirection), 2),
        (None, None, 0),
    ] {
        let after = named("b.yaml", found(fixed, servers));
        let compared = diff(&before, &after);
        assert_eq!(compared.count(), differing);
        assert_eq!(diff(&after, &before).count(), differing);
        let Some(Found::Time(known)) = &compared.figures()[0].found[0] else { panic!("a time") };
        assert_eq!(known.value, ns(100));
        for (format, _, _) in Format::ALL {
            let shown = compared.render(format, Screen::default());
            assert!(shown.contains("fixed"), "{shown}");
        }
    }
}

/// Oracle: by hand; the picture has a column for each bin.
#[test]
fn a_profile_is_shown_in_every_format() {
    let trips = trips(&mut Dice::new(7));
    let (_, profile) = named("a.yaml", vec![series(&trips)]);
    let shown = Shown { profile: &profile };
    for (format, name, _) in Format::ALL {
        let text = shown.render(format, Screen::default());
        assert!(text.contains("jitter"), "{name}: {text}");
        let why = "nothing repeats in step";
        assert!(text.contains(why), "{name}: {text}");
    }
    let json: serde_json::Value = serde_json::from_str(&shown.json()).expect("JSON");
    assert_eq!(json["schema"], "rtether.profile/1");
    assert_eq!(json["series"][0]["figures"][0]["figure"], "fixed");
    let picture = shown.picture().expect("a picture");
    assert!(picture.as_str().contains("Round trips of closed"), "{}", picture.as_str());
    let nothing = Profile::default();
    assert!(Shown { profile: &nothing }.picture().is_none());
}
