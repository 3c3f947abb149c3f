//! The input limit for plants whose limit is known, and its output formats.

use rtether::limit::{
    self, End, Limit, LimitError, Misses, Question, Share, Stage, Station, Trial, TrialVerdict,
};
use rtether::report::format::{Format, Render};
use rtether::report::table::Screen;
use rtether::run::Progress;
use rtether::scenario::{self, Scenario};
use rtether_model::flow::FlowId;
use rtether_model::network::NodeId;
use rtether_model::quantity::Duration;
use rtether_testkit::read_document;

use crate::plants;

fn render(scenario: &Scenario, limit: &Limit, format: Format) -> String {
    limit::Answer { scenario, limit }.render(format, Screen::default())
}

/// Two flows of 20 and 10 Mbit/s and a small one with a deadline share the port to `c`. Their gaps
/// vary a little, so that a run forgets its phases.
const PORT: &str = "
rtether: 1
name: one port
nodes:
  a: { stack: zero }
  b1: { stack: zero }
  b2: { stack: zero }
  c: { stack: zero }
  d: { stack: zero }
switches:
  sw: { ports: 5, latency: 0 us, buffer: 256 KiB }
links:
  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s, length: 0 m }
  - { ends: [b1, \"sw:2\"], rate: 100 Mbit/s, length: 0 m }
  - { ends: [b2, \"sw:3\"], rate: 100 Mbit/s, length: 0 m }
  - { ends: [c, \"sw:4\"], rate: 100 Mbit/s, length: 0 m }
  - { ends: [d, \"sw:5\"], rate: 100 Mbit/s, length: 0 m }
flows:
  - { name: alarm, from: a, to: c, period: 1 ms, size: 64 B, deadline: 2 ms }
  - { name: big, class: load, from: b1, to: c, kind: sporadic, min_gap: 600 us, mean_gap: 615.2 us, size: 1472 B }
  - { name: small, class: load, from: b2, to: c, kind: sporadic, min_gap: 1200 us, mean_gap: 1230.4 us, size: 1472 B }
run: { for: 1 s, seeds: 4 }
";

fn port() -> Scenario {
    let loaded = scenario::load("port.yaml", PORT).into_scenario();
    loaded.unwrap_or_else(|words| panic!("{words}"))
}

fn question() -> Question {
    Question { flows: None, miss_ratio: 1e-2, confidence: 0.95, tolerance: 0.01 }
}

fn find(scenario: &Scenario, question: &Question) -> Limit {
    limit::find(scenario, question, &Progress::default()).unwrap()
}

/// Oracle: between two adjacent doubles there is nothing to try; from a bracket of one octave they
/// are 52 halvings away.
#[test]
fn the_search_ends_where_numbers_do() {
    let question = Question { tolerance: 1e-300, ..question() };
    let limit = find(&port(), &question);
    assert!(matches!(limit.end, End::Found { .. }), "{:?}", limit.end);
    assert!(limit.trials.len() < 70, "{}", limit.trials.len());
}

#[test]
fn the_limit_of_a_port_is_what_its_link_has_left() {
    // Oracle: the queue of the port grows without limit above 100 Mbit/s. The flow with the
    // deadline takes (64 + 46 + 20) * 8 bit every ms, 1.04 Mbit/s; 98.96 are left. An overload of
    // 0.3 % fills 2 ms within 0.7 s, so that more than 1 % of packets are late.
    let limit = find(&port(), &question());
    assert!(matches!(limit.end, End::Found { .. }), "{:?}", limit.end);
    let (low, high) = (limit.passing().unwrap(), limit.failing().unwrap());
    let left = 98.96e6;
    assert!(low.load_bps > left * 0.985 && low.load_bps < left * 1.003, "{}", low.load_bps);
    assert!(high.load_bps > left * 0.999 && high.load_bps < left * 1.015, "{}", high.load_bps);
    assert!((high.load_bps - low.load_bps) / high.load_bps <= 0.01);
    assert!((limit.present_bps - 30e6).abs() < 1e3, "{}", limit.present_bps);
    assert!(low.utilization > 0.97 && low.worst.missed == 0, "{low:?}");
    // Payload over wire octets: 1472 of 1538.
    assert!((low.throughput_bps / low.load_bps - 1472.0 / 1538.0).abs() < 0.01);
    // Equal shares are halves; proportional ones two thirds and one third. Datagrams are 1500 of
    // 1538 octets.
    let [first, second] = &limit.stations[..] else { panic!("{:?}", limit.stations) };
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-6;
    assert!(near(first.equal.limit_bps, low.load_bps / 2.0));
    assert!(near(first.by_need.limit_bps, low.load_bps * 2.0 / 3.0));
    assert!(near(second.by_need.limit_bps, low.load_bps / 3.0));
    let period = 1538.0 * 8.0 / first.equal.limit_bps;
    assert!(near(first.equal.period.as_secs_f64(), period));
    assert!(limit.access.is_empty());
}

#[test]
fn chosen_flows_alone_are_scaled() {
    // Oracle: 78.96 Mbit/s are left next to `big`, which keeps its 20.
    let question = Question { flows: Some("small".into()), tolerance: 0.02, ..question() };
    let limit = find(&port(), &question);
    let load = limit.passing().unwrap().load_bps;
    assert!(load > 78.96e6 * 0.975 && load < 78.96e6 * 1.005, "{load}");
    assert_eq!(limit.stations.len(), 1);
    let by_class = Question { flows: Some("lo*".into()), ..question };
    assert_eq!(find(&port(), &by_class).flows, [FlowId(1), FlowId(2)]);
}

#[test]
fn a_load_that_is_in_nobodys_way_has_no_limit() {
    let mut scenario = port();
    let elsewhere = scenario.network.find("d").unwrap();
    for flow in &mut scenario.flows[1..] {
        flow.listeners = vec![elsewhere];
    }
    let limit = find(&scenario, &question());
    let End::Unlimited { passing } = limit.end else { panic!("{:?}", limit.end) };
    // More than twice what the two links can carry.
    assert!(limit.trials[passing].load_bps > 400e6);
    assert_eq!(limit.present(), TrialVerdict::Pass);
}

#[test]
fn a_present_load_that_is_too_much_is_halved() {
    let mut scenario = port();
    for flow in &mut scenario.flows[1..] {
        let rtether_model::flow::Traffic::Sporadic { min_gap, mean_gap, .. } = &mut flow.traffic
        else {
            panic!("a sporadic flow")
        };
        (*min_gap, *mean_gap) = (*min_gap / 5, *mean_gap / 5);
    }
    let limit = find(&scenario, &question());
    let trial = limit.passing().unwrap();
    assert!(trial.factor < 1.0 && limit.present() == TrialVerdict::Fail);
    // One station at 100 Mbit/s fills its own link, so less reaches the port.
    assert!(trial.load_bps > 97e6, "{trial:?}");
}

#[test]
fn some_scenarios_miss_by_themselves() {
    let mut scenario = port();
    scenario.flows[0].deadline = Some(Duration::from_us(1));
    let limit = find(&scenario, &question());
    assert_eq!((limit.end, limit.passing()), (End::Never, None));
    assert_eq!(limit.trials.len(), 11);
}

#[test]
fn too_few_packets_say_how_many_runs_would_do() {
    // Student's t of 31 degrees of freedom leaves 5 % above 1.6955; Wilson's limit without a miss is
    // t^2 / (n + t^2), so that 1e-5 takes 287 470 packets: 287.5 runs of 1000.
    let question = Question { miss_ratio: 1e-5, ..question() };
    let limit = find(&port(), &question);
    let End::TooFew { runs: Some(runs) } = limit.end else { panic!("{:?}", limit.end) };
    assert_eq!(runs, 288);
    assert_eq!(limit.trials.len(), 2);
    let text = render(&port(), &limit, Format::Table);
    assert!(text.contains(&format!("`--runs {runs}`")), "{text}");
    // Of flows with a drawn phase, one run is one set of phases.
    let mut single = port();
    single.run.runs = 1;
    let phase = rtether_model::flow::Phase::Random;
    single.flows[1].traffic = rtether_model::flow::Traffic::periodic(Duration::from_us(600), phase);
    assert_eq!(find(&single, &question).end, End::TooFew { runs: Some(4) });
    let mut silent = port();
    silent.flows[0].start = Duration::from_secs(5);
    assert_eq!(find(&silent, &question).end, End::TooFew { runs: None });
}

#[test]
fn an_interrupted_search_says_so() {
    let progress = Progress::default();
    progress.cancel();
    let limit = limit::find(&port(), &question(), &progress).unwrap();
    assert_eq!((limit.end, limit.trials.len()), (End::Interrupted, 0));
    let document = read_document(&render(&port(), &limit, Format::Json));
    assert_eq!(document["partial"], true);
}

#[test]
fn errors_name_the_remedy() {
    let find = |scenario: &Scenario, flows: Option<&str>| {
        let question = Question { flows: flows.map(str::to_owned), ..question() };
        limit::find(scenario, &question, &Progress::default()).unwrap_err()
    };
    let mut plain = port();
    plain.flows[0].deadline = None;
    assert_eq!(find(&plain, None), LimitError::NoDeadline);
    let unknown = find(&port(), Some("nobody")).to_string();
    assert_eq!(unknown, "no flow or class matches `nobody`; known are `alarm`, `big`, `small`");
    let mut urgent = port();
    urgent.flows.truncate(1);
    let nothing = find(&urgent, None);
    assert_eq!(nothing, LimitError::NothingToScale);
    assert!(nothing.to_string().contains("`--flows`"));
    let mut bulk = port();
    bulk.flows[1].traffic = rtether_model::flow::Traffic::Bulk(rtether_model::flow::Bulk {
        transfers: Vec::new(),
        bursts: None,
        rate: None,
        tcp: rtether_model::flow::TcpParameters::default(),
    });
    let text = find(&bulk, None).to_string();
    assert!(text.contains("`big`") && text.contains("give it a `rate`"), "{text}");
}

/// A made-up answer for the workshop, whose hubs form one collision domain.
fn workshop() -> (Scenario, Limit) {
    let plant = plants::workshop();
    let record = plant.results().record;
    let trial = |factor: f64, missed, upper, verdict, stage| Trial {
        factor,
        load_bps: factor * 2e6,
        throughput_bps: factor * 1.8e6,
        utilization: 0.12 * factor,
        worst: Misses { flow: FlowId(2), missed, released: 8_000, upper: Some(upper) },
        verdict,
        stage,
    };
    let share = |limit_bps, us| Share { limit_bps, period: Duration::from_us(us) };
    let limit = Limit {
        question: question(),
        flows: vec![FlowId(5)],
        present_bps: 2e6,
        trials: vec![
            trial(1.0, 0, 0.000_374, TrialVerdict::Pass, Stage::Search),
            trial(2.0, 155, 0.022_1, TrialVerdict::Fail, Stage::Search),
            trial(1.5, 3, 0.000_97, TrialVerdict::Pass, Stage::Certification),
        ],
        end: End::Found { passing: 2, failing: 1 },
        stations: vec![Station {
            node: NodeId(8),
            present_bps: 2e6,
            other_bps: 0.0,
            equal: share(3e6, 4_102),
            by_need: share(3e6, 4_102),
        }],
        access: limit::analyze(&plant.scenario, &record),
    };
    (plant.scenario, limit)
}

#[test]
fn the_closed_form_stands_beside_the_simulation() {
    let (scenario, limit) = workshop();
    let [access] = &limit.access[..] else { panic!("{:?}", limit.access) };
    // 2 ms at 10 Mbit/s: one trial takes 1281.6 us at most, two take 51.2 + 2563.2 us. First
    // attempts that collided: 54 000 of 708 994.
    assert_eq!((access.medium.as_str(), access.collisions), ("hub1, hub2", 1));
    assert_eq!(access.longest_within, Some(Duration::from_ns(1_281_600)));
    assert_eq!(access.longest_beyond, Some(Duration::from_ns(2_614_400)));
    assert!((access.probability - 54_000.0 / 708_994.0).abs() < 1e-12);
    for text in [render(&scenario, &limit, Format::Table), render(&scenario, &limit, Format::Json)]
    {
        assert!(text.contains("statistical, not a bound"), "{text}");
    }
}

#[test]
fn every_end_has_its_sentence() {
    let (scenario, found) = workshop();
    for (end, words) in [
        (End::Found { passing: 2, failing: 1 }, "The limit is 3 Mbit/s"),
        (End::Unlimited { passing: 1 }, "No limit found: even 4 Mbit/s"),
        (End::Never, "No load meets a miss ratio of at most 0.01 with 95 % confidence, not even 2"),
        (End::TooFew { runs: Some(7) }, "use `--runs 7` or a longer `--for`"),
        (End::TooFew { runs: None }, "released no packets"),
        (End::Unsettled, "Needs a longer `warmup`"),
        (End::Interrupted, "The limit was not found"),
    ] {
        let limit = Limit { end, ..found.clone() };
        let page = limit::html(&scenario, &limit);
        roxmltree::Document::parse(page.strip_prefix("<!DOCTYPE html>\n").unwrap()).unwrap();
        for text in [
            render(&scenario, &limit, Format::Table),
            render(&scenario, &limit, Format::Json),
            page,
        ] {
            assert!(text.contains(words), "{end:?}: {text}");
        }
    }
}

#[test]
fn every_form_tells_the_same() {
    let (scenario, limit) = workshop();
    insta::assert_snapshot!("limit_table", render(&scenario, &limit, Format::Table));
    insta::assert_snapshot!("limit_json", render(&scenario, &limit, Format::Json));
    insta::assert_snapshot!("limit_csv", render(&scenario, &limit, Format::Csv));
    let page = limit::html(&scenario, &limit);
    let page = page.strip_prefix("<!DOCTYPE html>\n").unwrap();
    roxmltree::Document::parse(page).unwrap();
    for part in ["id=\"loads\"", "id=\"stations\"", "id=\"access\"", "limit 3 Mbit/s"] {
        assert!(page.contains(part), "{part}");
    }
    if let Some(directory) = std::env::var_os("RTETHER_SCREENSHOTS") {
        let path = std::path::Path::new(&directory).join("limit.html");
        std::fs::write(path, limit::html(&scenario, &limit)).unwrap();
    }
}
