//! Profiles of devices. Oracles: that a profile is read as it was written, the values in a file,
//! snapshots of every message, and the schema.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use rtether_model::network::Servers;
use rtether_model::quantity::{Bytes, Duration};
use rtether_proto::identify::{Exchange, Figure, MisfitKind, Order};
use rtether_scenario::profile::{
    Bin, MAX_TRIPS, Method, Misfit, NotKnown, Profile, Range, Series, Tail, Trial, Trips,
};
use rtether_scenario::{codes, load, profile_schema, reference, render};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Times up to ten days, most of them of devices.
fn time() -> impl Strategy<Value = Duration> {
    let ps = prop_oneof![
        1 => 0..=864_000_000_000_000_000_i64,
        3 => 0..=10_000_000_000_i64,
        3 => (0..=1_000_i64).prop_map(|us| us * 1_000_000),
        1 => Just(0),
    ];
    ps.prop_map(Duration::from_ps)
}

fn range() -> impl Strategy<Value = Range> {
    [time(), time(), time()].prop_map(|mut ends| {
        ends.sort_unstable();
        Range { low: ends[0], value: ends[1], high: ends[2] }
    })
}

/// Texts with everything that YAML reads in another way, but nothing that nobody sees.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,40}",
        "\\PC{0,20}"
            .prop_filter("seen", |own| { !own.chars().any(rtether_model::characters::is_unseen) }),
        Just("null".to_owned()),
        Just("~".to_owned()),
        Just("- a: {b}".to_owned()),
        Just("x # y".to_owned()),
        Just("1e3".to_owned()),
    ]
}

fn bins() -> impl Strategy<Value = Vec<Bin>> {
    prop::collection::vec((1..1_000_000_i64, 0..1_000_000_i64, 0..=u64::MAX >> 1), 0..20).prop_map(
        |parts| {
            let mut at = Duration::ZERO;
            let bins = parts.into_iter().map(|(width, gap, count)| {
                let from = at + Duration::from_ps(gap);
                at = from + Duration::from_ps(width);
                Bin { from, to: at, count }
            });
            bins.collect()
        },
    )
}

fn trips() -> impl Strategy<Value = Vec<Trips>> {
    let one = (1..2_000_u64, 1..2_000_u64, prop::collection::vec(time(), 0..9));
    prop::collection::vec(one, 0..5).prop_map(|all| {
        let all = all.into_iter().map(|(request, answer, times)| {
            let [request, answer] = [request, answer].map(Bytes::new);
            Trips { request, answer, times }
        });
        all.collect()
    })
}

/// What is not known, and what does not fit; boxed, since a strategy of many parts fills the stack.
fn told() -> BoxedStrategy<(Vec<NotKnown>, Vec<Misfit>)> {
    let kinds = vec![MisfitKind::Steps, MisfitKind::Pauses, MisfitKind::Threads];
    let misfit = (prop::sample::select(kinds), text()).prop_map(|(kind, why)| Misfit { kind, why });
    let unknown = (text(), text()).prop_map(|(figure, why)| NotKnown { figure, why });
    (prop::collection::vec(unknown, 0..4), prop::collection::vec(misfit, 0..3)).boxed()
}

prop_compose! {
    fn series()(
        protocol in "[a-z][a-z0-9-]{0,9}",
        method in prop::sample::select(vec![Method::Quiet, Method::Load, Method::Capture]),
        counts in [0..=u64::MAX >> 1, 0..=1_000_u64, 0..=9_u64],
        figures in prop::array::uniform7(prop::option::of(range())),
        servers in prop::option::of(prop::sample::select(vec![Servers::Shared, Servers::PerDirection])),
        order in prop::option::of(prop::sample::select(vec![Order::Arrival, Order::Priority])),
        queue in prop::option::of(0..10_000_000_u32),
        (unknown, misfits) in told(),
        histogram in bins(),
        trips in trips(),
        trial in prop::option::of((any::<bool>(), [time(), time(), time(), time()])),
    ) -> Series {
        let [fixed, request_octet, answer_octet, both_octets, receive, jitter, scan] = figures;
        let [sent, answered, lost] = counts;
        let confirmed = trial.map(|(holds, [a, b, c, d])| Trial {
            holds,
            predicted: Tail { p50: a, p99: b },
            measured: Tail { p50: c, p99: d },
        });
        Series {
            sent, answered, lost, fixed, request_octet, answer_octet, both_octets, receive, jitter,
            servers, order, queue, scan, unknown, misfits, histogram, trips, confirmed,
            ..Series::new(protocol, method)
        }
    }
}

prop_compose! {
    fn profile()(
        texts in [text(), text()],
        options in prop::array::uniform3(prop::option::of(text())),
        mut requests in prop::collection::vec(series(), 0..4),
        is_stated in [any::<bool>(), any::<bool>()],
    ) -> Profile {
        requests.sort_by(|a, b| a.protocol.cmp(&b.protocol));
        requests.dedup_by(|a, b| a.protocol == b.protocol);
        let [device, date] = texts;
        let [firmware, address, host] = options;
        let stack_from = requests.iter().find(|own| is_cost(own)).map(|own| own.protocol.clone());
        let reply_from = requests.iter().rfind(|own| is_cost(own)).map(|own| own.protocol.clone());
        let [stack_from, reply_from] =
            [(stack_from, is_stated[0]), (reply_from, is_stated[1])].map(|(own, is)| own.filter(|_| is));
        Profile { device, firmware, address, date, host, stack_from, reply_from, requests }
    }
}

/// What a scenario takes has to be a cost that a scenario has: an hour at most.
fn is_cost(own: &Series) -> bool {
    let all = [own.fixed, own.jitter, own.request_octet, own.answer_octet, own.both_octets];
    let times = own.trips.iter().flat_map(|trips| trips.times.iter().copied());
    let highest = all.iter().flatten().map(|range| range.high).chain(times);
    highest.max().is_none_or(|most| most < Duration::from_secs(60))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_profile_is_read_as_it_was_written(profile in profile()) {
        let text = profile.to_yaml();
        let read = Profile::from_yaml(&text, "device.yaml");
        prop_assert_eq!(read.map_err(|wrong| format!("{wrong}{text}")), Ok(profile));
    }
}

/// A device names itself, and may name itself anything.
#[test]
fn what_nobody_sees_is_not_written() {
    let device = format!("a\n\u{202e}b{}", "c".repeat(1_000));
    let profile = Profile { device, date: "2026-11-30".to_owned(), ..Profile::default() };
    let read = Profile::from_yaml(&profile.to_yaml(), "device.yaml").expect("a profile");
    assert_eq!(read.device, format!("a  b{}", "c".repeat(396)));
}

fn times(unit: fn(i64) -> Duration, ends: [i64; 3]) -> Range {
    let [value, low, high] = ends.map(unit);
    Range { value, low, high }
}

/// One series with every figure; values by hand.
fn found() -> Series {
    let us = Duration::from_us;
    let mut series = Series {
        sent: 5,
        answered: 4,
        lost: 1,
        fixed: Some(times(us, [320, 318, 324])),
        request_octet: Some(times(Duration::from_ns, [40, 40, 41])),
        answer_octet: Some(times(Duration::from_ns, [10, 10, 12])),
        receive: Some(times(us, [210, 208, 212])),
        jitter: Some(times(us, [10, 8, 15])),
        servers: Some(Servers::PerDirection),
        order: Some(Order::Priority),
        queue: Some(8),
        ..Series::new("closed", Method::Load)
    };
    let [request, answer] = [100, 1_000].map(Bytes::new);
    // The least that this request takes: 320 us + 100 * 40 ns + 1000 * 10 ns.
    let trips = [334, 336, 340, 354].map(|time| (Exchange { request, answer }, us(time)));
    series.keep(&trips);
    series
}

fn of(series: Series) -> Profile {
    let mut profile = Profile {
        device: "drive".to_owned(),
        date: "2026-11-30".to_owned(),
        requests: vec![series],
        ..Profile::default()
    };
    profile.choose();
    profile
}

/// Oracle: by hand. Receiving takes at least 208 us less 64 * 41 ns and 15 us of jitter, 190.376 us, and
/// at most 212 us less 64 * 40 ns, 209.44 us; sending at least 318 us less that. What is left of 318
/// us is 19.064 us, up to 324 us are 6 us more, and octets may take 1522 * (1 ns + 2 ns) more.
/// Jitters are 0, 2, 6 and 20 us.
#[test]
fn a_stack_holds_all_of_the_intervals() {
    let text = of(found()).to_yaml();
    let stack = "stack:\n  send: 108.56 us + 10 ns/B\n  receive: 190.376 us + 40 ns/B\n  \
        both: { unknown: 19.064 us .. 29.63 us }\n  jitter:\n    quantiles: [\
        { share: 0 %, add: 0 ns }, { share: 5 %, add: 0 ns }, { share: 25 %, add: 0 ns }, \
        { share: 50 %, add: 1 us }, { share: 75 %, add: 3 us }, { share: 95 %, add: 3 us }, \
        { share: 99 %, add: 3 us }, { share: 100 %, add: 20 us }]\n  \
        servers: per-direction\n  stack_queue: 8\n  priorities: { queues: 8 }\n  \
        receive_queues: { selection: highest-first }\n";
    assert!(text.contains(stack), "{text}");
    // Without more than the sum, the sum is all.
    let least = Series { request_octet: None, answer_octet: None, receive: None, ..found() };
    let text = of(Series { trips: Vec::new(), jitter: None, ..least }).to_yaml();
    assert!(
        text.contains("send: 0 ns\n  receive: 0 ns\n  both: { unknown: 318 us .. 324 us }"),
        "{text}"
    );
    // An octet whose direction is not known costs half each way.
    let octets =
        Some(Range { value: Duration::from_ns(50), ..found().both_octets.unwrap_or_default() });
    let alike = Series { request_octet: None, answer_octet: None, both_octets: octets, ..found() };
    let text = of(alike).to_yaml();
    assert!(text.contains(" + 25 ns/B\n  receive: "), "{text}");
    // A scenario reads what the file says.
    let stack = text.split("stack:\n").nth(1).and_then(|rest| rest.split("requests:").next());
    let stack = stack.expect("a stack").replace("\n  ", "\n    ");
    let scenario = format!(
        "rtether: 1\nstacks:\n  d:\n    {}\nnodes: {{ a: {{ stack: d }}, b: {{ stack: zero }} }}\n\
         links: [{{ ends: [a, b], rate: 100 Mbit/s }}]\n\
         flows: [{{ name: f, from: a, to: b, period: 1 ms, size: 60 B }}]\n",
        stack.trim()
    );
    let loaded = load("s.yaml", &scenario);
    assert!(loaded.scenario.is_some(), "{}{scenario}", loaded.text(render::Style::Plain));
}

/// Oracle: by hand. The application answers within a scan, and takes up to 400 us less 318 us before.
#[test]
fn a_scan_is_that_of_the_application() {
    let us = Duration::from_us;
    let scanned = Series {
        fixed: Some(times(us, [400; 3])),
        scan: Some(times(us, [10_000; 3])),
        ..Series::new("modbus", Method::Quiet)
    };
    let mut profile = of(found());
    profile.requests.push(scanned);
    (profile.stack_from, profile.reply_from) = (None, None);
    profile.choose();
    assert_eq!(profile.stack_from.as_deref(), Some("closed"));
    assert_eq!(profile.reply_from.as_deref(), Some("modbus"));
    let text = profile.to_yaml();
    assert!(text.contains("reply:\n  after: 82 us\n  scan: 10 ms\n"), "{text}");
}

fn trial(holds: bool) -> Trial {
    let tail = Tail { p50: Duration::ZERO, p99: Duration::ZERO };
    Trial { holds, predicted: tail, measured: tail }
}

/// Oracle: by hand.
#[test]
fn a_profile_says_what_it_assumes() {
    let whole = Series { confirmed: Some(trial(true)), ..found() };
    assert!(of(whole.clone()).assumptions().is_empty());
    let refuted = of(Series { confirmed: Some(trial(false)), ..whole.clone() }).assumptions();
    assert!(refuted.len() == 1 && refuted[0].starts_with("not confirmed: "), "{refuted:?}");
    let alone = of(Series { confirmed: None, ..whole.clone() }).assumptions();
    assert!(alone.len() == 1 && alone[0] != refuted[0], "{alone:?}");
    let misfits = vec![Misfit { kind: MisfitKind::Pauses, why: "it stops".to_owned() }];
    let other = of(Series { misfits, ..whole.clone() }).assumptions();
    assert_eq!(other, ["not as the model has it: it stops"]);
    let sizes = of(Series { request_octet: None, answer_octet: None, ..whole }).assumptions();
    assert!(sizes.len() == 1 && sizes[0].contains("octet"), "{sizes:?}");
}

/// Oracle: by hand. No time is below zero, and what a series keeps is limited.
#[test]
fn figures_and_trips_are_kept_as_files_take_them() {
    let ns = Duration::from_ns;
    let range = Range::from(Figure { value: ns(-5), low: ns(-9), high: ns(3) });
    assert_eq!(range, Range { value: ns(0), low: ns(0), high: ns(3) });
    let mut series = Series::new("echo", Method::Quiet);
    let trips = (0..10_000_i64).map(|own| {
        let request = Bytes::new(64 + own.unsigned_abs() % 2);
        (Exchange { request, answer: Bytes::new(64) }, ns(own))
    });
    let trips: Vec<_> = trips.collect();
    series.keep(&trips);
    let kept: usize = series.trips.iter().map(|own| own.times.len()).sum();
    // Every third one.
    assert_eq!((kept, kept <= MAX_TRIPS), (3_334, true));
    assert_eq!(series.trips[0].times[..3], [0, 6, 12].map(ns));
    assert_eq!(series.histogram.len(), 40);
    assert_eq!(series.histogram.iter().map(|bin| bin.count).sum::<u64>(), 10_000);
}

fn bad() -> Vec<(String, String)> {
    let folder = root().join("crates/rtether-scenario/tests/bad/profile");
    let entries = fs::read_dir(folder).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("readable").path());
    let yaml = paths.filter(|path| path.extension().is_some_and(|ending| ending == "yaml"));
    let mut files: Vec<(String, String)> = yaml
        .map(|path| {
            let name = path.file_stem().expect("a name").to_string_lossy();
            (name.into_owned(), fs::read_to_string(&path).expect("text"))
        })
        .collect();
    files.sort();
    files
}

#[test]
fn wrong_files_say_what_is_wrong() {
    let files = bad();
    assert!(files.len() >= 10);
    for (name, text) in files {
        let wrong = Profile::from_yaml(&text, &format!("{name}.yaml")).expect_err(&name);
        for diagnostic in &wrong.list {
            let known = codes::ALL.iter().any(|code| code.name == diagnostic.code);
            assert!(known, "{}", diagnostic.code);
        }
        insta::with_settings!({ snapshot_path => "bad/profile/snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, wrong.to_string());
        });
    }
}

fn value(text: &str) -> serde_json::Value {
    serde_saphyr::from_str(text).expect("YAML")
}

#[test]
fn the_schema_takes_what_the_reader_takes() {
    let validator = jsonschema::validator_for(&profile_schema()).expect("the schema is one");
    let text = of(found()).to_yaml();
    assert!(validator.is_valid(&value(&text)), "{text}");
    // Order and size are beyond a schema.
    for (name, text) in bad() {
        let is_seen =
            ["empty", "method", "missing", "text", "typo", "unit"].contains(&name.as_str());
        assert_eq!(validator.is_valid(&value(&text)), !is_seen, "{name}");
    }
}

#[test]
fn the_reference_is_current() {
    let schema = serde_json::to_string_pretty(&profile_schema()).expect("a value") + "\n";
    for (path, expected) in [
        ("docs/reference/profile.md", reference::profile_keys()),
        ("docs/reference/profile.schema.json", schema),
    ] {
        if std::env::var_os("RTETHER_BLESS").is_some() {
            fs::write(root().join(path), &expected).expect("a file to write");
        }
        let found = fs::read_to_string(root().join(path)).unwrap_or_default();
        assert!(found == expected, "{path}: renew it with RTETHER_BLESS=1");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Oracle: an answer, whatever the text.
    #[test]
    fn any_text_has_an_answer(profile in profile(), at in 0..4_000_usize, noise in "\\PC{0,3}") {
        let mut text = profile.to_yaml();
        let at = (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.insert_str(at, &noise);
        let _ = Profile::from_yaml(&text, "device.yaml");
        text.truncate(at);
        let _ = Profile::from_yaml(&text, "device.yaml");
    }
}
