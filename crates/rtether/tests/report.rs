//! Reports of made-up plants: right words, same bytes, well-formed, safe against hostile names.

use rtether::adversary;
use rtether::bound::Bounds;
use rtether::check::{Options, add_found, check, known};
use rtether::report::format::{Format, Render};
use rtether::report::table::{Screen, Table};
use rtether::report::{self, Checked, Verdicts, csv, html, json};
use rtether::scenario::{Override, load, load_with};
use rtether::verdict::assess;
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::record::TransferRecord;
use rtether_testkit::read_document;

use crate::plants;

/// Calls `check` with the checked of a plant.
fn with<T>(plant: &plants::Builder, check: impl Fn(&Checked) -> T) -> T {
    let results = plant.results();
    let assessments = assess(&plant.scenario, &results);
    let checked = Checked::new(plant.scenario.clone(), results.clone(), assessments.clone());
    check(&checked.with_source("name: <example> & more\n"))
}

fn table(checked: &Checked) -> String {
    Verdicts::from(checked).render(Format::Table, Screen::default())
}

fn markdown(checked: &Checked, all: bool) -> String {
    let verdicts = Verdicts { all, ..checked.into() };
    verdicts.render(Format::Md, Screen::default())
}

fn everything(checked: &Checked) -> Vec<String> {
    let all = json::Options { buckets: true, histogram: true };
    let mut texts = vec![
        json::text(checked, all),
        table(checked),
        markdown(checked, true),
        html::render(checked),
    ];
    texts.extend(csv::files(checked).into_iter().map(|(_, text)| text));
    texts
}

#[test]
fn json_of_a_small_plant() {
    let document = with(&plants::line(), |checked| json::text(checked, json::Options::default()));
    insta::assert_snapshot!(document);
}

#[test]
fn tables_of_a_small_plant() {
    let plant = plants::line();
    let wide = with(&plant, table);
    insta::assert_snapshot!("table_wide", wide);
    let screen = Screen { width: Some(80), ascii: true, ..Screen::default() };
    let narrow = with(&plant, |checked| Verdicts::from(checked).render(Format::Table, screen));
    assert!(narrow.lines().take(10).all(|line| line.chars().count() <= 80), "{narrow}");
    insta::assert_snapshot!("table_narrow", narrow);
    insta::assert_snapshot!("table_markdown", with(&plant, |checked| markdown(checked, false)));
}

/// Oracle: written by hand from the documented rules.
#[test]
fn one_table_has_every_format() {
    let name = "a".repeat(50);
    let rows = [(name.as_str(), Some(Duration::from_ps(1_500))), ("b|", None)];
    let table = Table::of(rows)
        .both("flow", "flow", |row| row.0)
        .shown("again", |row| row.0)
        .number("delay", "delay_ns", |row| row.1)
        .file("is_late", |row| row.1.is_none())
        .shown("never", |_| ())
        .optional()
        .done();
    let csv = format!("flow,delay_ns,is_late\n{name},1.5,0\nb|,,1\n");
    assert_eq!(table.csv(), csv);
    let objects = format!(
        "{{\"flow\":\"{name}\",\"delay_ns\":1.5,\"is_late\":false}}\n\
         {{\"flow\":\"b|\",\"delay_ns\":null,\"is_late\":true}}\n"
    );
    assert_eq!(table.ndjson(), objects);
    let markdown = table.markdown();
    assert!(markdown.starts_with("| flow | again | delay |\n| --- | --- | --: |\n"));
    assert!(markdown.ends_with("| b\\| | b\\| | - |\n"), "{markdown}");
    let at = |width| {
        let screen = Screen { width: Some(width), ..Screen::default() };
        table.draw(screen)
    };
    let short = format!("{}\u{2026}{}", "a".repeat(14), "a".repeat(13));
    let line = format!(" {short}   {short}   1.5 ns");
    assert_eq!(at(80).lines().nth(2), Some(line.as_str()));
    let card =
        format!("flow   {name}\nagain  {name}\ndelay  1.5 ns\n\nflow   b|\nagain  b|\ndelay  -");
    assert_eq!(at(79), card);
}

/// Oracle: the width; reviewed by eye.
#[test]
fn tables_fit_the_terminal() {
    for width in [60, 80, 120, 200] {
        let screen = Screen { width: Some(width), ..Screen::default() };
        let text =
            with(&plants::line(), |checked| Verdicts::from(checked).render(Format::Table, screen));
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(usize::from(width)), "{text}");
        insta::assert_snapshot!(format!("table_{width}"), text);
    }
}

#[test]
fn a_large_plant_is_shown_by_class() {
    let plant = plants::substation(10);
    let [short, all] = [false, true].map(|all| {
        with(&plant, |checked| {
            let verdicts = Verdicts { all, ..checked.into() };
            verdicts.render(Format::Table, Screen::default())
        })
    });
    let streams = plant.results().record.streams.len();
    assert!(streams > 600, "{streams}");
    assert!(short.lines().count() < 30, "{short}");
    assert!(all.lines().count() > streams);
    insta::assert_snapshot!("table_classes", short);
}

#[test]
fn colors_change_nothing_but_colors() {
    let plain = with(&plants::line(), table);
    let screen = Screen { color: true, ..Screen::default() };
    let mut colored =
        with(&plants::line(), |checked| Verdicts::from(checked).render(Format::Table, screen));
    assert!(colored.contains("\u{1b}[1;31mLATE\u{1b}[0m"), "{colored}");
    assert!(colored.contains("\u{1b}[36mheld\u{1b}[0m"), "{colored}");
    for code in ["\u{1b}[1;31m", "\u{1b}[36m", "\u{1b}[0m"] {
        colored = colored.replace(code, "");
    }
    assert_eq!(plain, colored);
}

#[test]
fn equal_inputs_give_equal_bytes() {
    let plant = plants::line();
    assert!(with(&plant, everything) == with(&plant, everything));
}

#[test]
fn csv_files_are_rectangular_and_carry_units() {
    let files = with(&plants::line(), csv::files);
    let shared = with(&plants::workshop(), csv::files);
    for (name, text) in files.iter().chain(&shared) {
        let mut reader = ::csv::Reader::from_reader(text.as_bytes());
        let units = ["ns", "packets", "frames", "bytes", "ratio", "bps"];
        let plain = [
            "flow",
            "class",
            "talker",
            "listener",
            "verdict",
            "node",
            "port",
            "peer",
            "kind",
            "worst_seed",
            "worst_place",
            "basis",
            "only_if",
            "sim_basis",
            "bound_basis",
            "measured_basis",
            "failed_column",
            "failed_place",
            "timeouts",
            "medium",
            "attempt",
            "direction",
            "queue",
            "congestion_signals",
            "stage",
            "rule",
            "assumptions",
        ];
        for column in reader.headers().unwrap() {
            let unit = column.rsplit('_').next().unwrap();
            assert!(units.contains(&unit) || plain.contains(&column), "{name}: {column}");
        }
        assert!(reader.records().all(|row| row.is_ok()), "{name}");
    }
    // These plants have no transfers and no stages; `losses_silence_transfers_...` has one, and
    // `stages` has stages.
    for (name, text) in &shared {
        let is_full = text.lines().count() > 1;
        assert!(is_full || ["transfers.csv", "stages.csv"].contains(name), "{name}");
    }
    let flows = &files[0].1;
    insta::assert_snapshot!("flows_head", flows.lines().take(2).collect::<Vec<_>>().join("\n"));
}

#[test]
fn json_parses_back_with_exact_sums() {
    let document =
        with(&plants::line(), |checked| json::document(checked, json::Options::default()));
    let back = read_document(&document.to_string());
    assert_eq!(back, document);
    for flow in document["flows"].as_array().unwrap() {
        let worst = &flow["sim"]["worst"];
        let parts = worst["segments"].as_object().unwrap().values();
        let sum: f64 = parts.map(|part| part.as_f64().unwrap()).sum();
        assert!((sum - worst["latency_ns"].as_f64().unwrap()).abs() < 1e-3);
        assert!(flow["bound_ns"].is_null() && flow["measured"].is_null());
        assert!(flow["sim"]["buckets"].is_null() && flow["sim"]["histogram"].is_null());
    }
}

/// Oracle: the document that is made in memory.
#[test]
fn json_written_piece_by_piece_is_the_same() {
    let same = |result: &dyn Render| {
        let mut written = Vec::new();
        result.write_json(&mut written).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), result.json());
    };
    for plant in [plants::line(), plants::workshop(), plants::hostile()] {
        with(&plant, |checked| same(&Verdicts::from(checked)));
        same(&Bounds {
            scenario: &plant.scenario,
            analysis: &rtether::bound::analyze(&plant.scenario),
        });
    }
}

#[test]
fn pages_are_well_formed_offline_and_small() {
    let plants = [
        plants::line(),
        plants::star(),
        plants::chain(5, false),
        plants::chain(6, true),
        plants::substation(10),
        plants::workshop(),
        plants::hostile(),
        plants::Builder::new("empty"),
    ];
    for plant in plants {
        let page = with(&plant, html::render);
        let name = &plant.scenario.name;
        assert!(page.len() < 3_000_000, "{name}: {} octets", page.len());
        let document = parse(&page);
        for node in document.descendants().filter(roxmltree::Node::is_element) {
            for attribute in node.attributes() {
                let is_local = !matches!(attribute.name(), "src" | "href")
                    || attribute.value().starts_with('#');
                assert!(is_local, "{name}: {attribute:?}");
                assert!(!attribute.name().starts_with("on"), "{name}: {attribute:?}");
            }
        }
        let ids: Vec<&str> =
            document.descendants().filter_map(|node| node.attribute("id")).collect();
        let mut unique = ids.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(ids.len(), unique.len(), "{name}: an id repeats");
    }
}

#[test]
fn shared_media_and_layers_are_shown_everywhere() {
    let plant = plants::workshop();
    let document = with(&plant, |checked| json::document(checked, json::Options::default()));
    let shared = serde_json::json!({
        "media": document["media"],
        "switch port": document["ports"][0],
        "press": document["nodes"][3],
    });
    insta::assert_snapshot!("json_shared", format!("{shared:#}"));
    let render = |checked: &Checked| table(checked);
    insta::assert_snapshot!("table_shared", with(&plant, render));
    let files = with(&plant, csv::files);
    let names = ["media.csv", "collisions.csv", "layer-queues.csv", "smoothers.csv"];
    let texts = files.iter().filter(|(name, _)| names.contains(name));
    let texts: Vec<String> = texts.map(|(name, text)| format!("{name}\n{text}")).collect();
    insta::assert_snapshot!("csv_shared", texts.join("\n"));
    let page = with(&plant, html::render);
    for part in ["id=\"media\"", "id=\"layers\"", "class=\"hub", ">hub1 (hub)<", ", 2 hubs,"] {
        assert!(page.contains(part), "{part}");
    }
    // Every wire of the domain shows the load of the domain, 36 %.
    assert!(page.contains("hub1 - hub2, 10 Mbit/s: hub1 to hub2 36 %, hub2 to hub1 36 %"));
    let markdown = with(&plant, |checked| markdown(checked, false));
    assert!(markdown.contains("| shared medium |") && markdown.contains("| hub1, hub2 |"));
}

#[test]
fn plants_without_hubs_say_nothing_of_them() {
    let page = with(&plants::line(), html::render);
    assert!(!page.contains("id=\"media\"") && !page.contains("id=\"layers\""));
    let text = with(&plants::line(), table);
    assert!(!text.contains("shared medium") && !text.contains("layer queue"));
}

/// Every CSV file is described on the page that explains the format.
#[test]
fn the_format_is_documented() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/results.md");
    let page = std::fs::read_to_string(path).unwrap();
    let plant = plants::workshop();
    let results = plant.results();
    let assessments = assess(&plant.scenario, &results);
    let checked = Checked::new(plant.scenario.clone(), results.clone(), assessments.clone());
    let searched = searched();
    for (name, _) in csv::files(&checked).into_iter().chain(csv::files(&searched)) {
        assert!(page.contains(&format!("`{name}`")), "{name} is not documented");
    }
}

/// Returns a plant of which an adversary has found something.
fn searched() -> Checked {
    let plant = "rtether: 1
nodes: { a: { stack: zero }, b: { stack: zero } }
links: [{ ends: [a, b], rate: 100 Mbit/s }]
flows:
  - { name: f, from: a, to: b, period: 1 ms, size: 80 B, deadline: 1 ms }
  - { name: g, from: a, to: b, period: 1 ms, size: 80 B }
run: { for: 20 ms }
";
    let scenario = load("searched.yaml", plant).into_scenario().unwrap();
    let mut checked = check(&scenario, Options::default()).unwrap();
    let progress = adversary::Progress::begin(adversary::Effort::Plants(20));
    let (bounds, seen) = known(&checked);
    let outcome = adversary::attack(&scenario, (&bounds, &seen), &progress);
    assert!(outcome.found.iter().any(Option::is_some), "{outcome:?}");
    add_found(&mut checked, outcome);
    checked
}

fn parse(page: &str) -> roxmltree::Document<'_> {
    let page = page.strip_prefix("<!DOCTYPE html>\n").unwrap();
    roxmltree::Document::parse(page).unwrap()
}

#[test]
fn hostile_names_stay_names() {
    let plant = plants::hostile();
    let page = with(&plant, html::render);
    let document = parse(&page);
    let count = |name| {
        document
            .descendants()
            .filter(|node| node.has_tag_name(("http://www.w3.org/1999/xhtml", name)))
            .filter(|node| node.attribute("type") != Some("application/json"))
            .count()
    };
    assert_eq!((count("script"), count("img"), count("b")), (1, 0, document_bold(&page)));
    assert!(!page.contains("<script>alert") && !page.contains('\u{202e}'));
    let title = document.descendants().find(|node| node.has_tag_name("title")).unwrap();
    assert!(title.text().unwrap().starts_with("<script>alert(1)</script> \"quoted\" & 'single'"));
    let terminal = with(&plant, table);
    assert!(!terminal.contains('\u{1b}'), "{terminal:?}");
    let markdown = with(&plant, |checked| markdown(checked, true));
    assert!(!markdown.contains("<b>") && !markdown.contains("<img"), "{markdown}");
}

/// Counts the bold elements the page itself writes: one name each.
fn document_bold(page: &str) -> usize {
    page.matches("<b>").count()
}

#[test]
fn proved_bounds_are_shown_where_there_are_any() {
    let plant = plants::line();
    let results = plant.results();
    let assessments = assess(&plant.scenario, &results);
    let bound = rtether_model::quantity::Duration::from_ms(3);
    let mut checked = Checked::new(plant.scenario.clone(), results, assessments);
    for judged in &mut checked.judged {
        judged.bound = Some(bound);
    }
    assert!(html::render(&checked).contains("bound 3 ms"));
    assert!(table(&checked).contains("bound"));
    let document = json::document(&checked, json::Options::default());
    assert_eq!(document["flows"][0]["bound_ns"], 3_000_000);
}

#[test]
fn the_summary_names_the_worst() {
    with(&plants::line(), |checked| {
        let summary = checked.summary();
        let start = "FAIL. 6 streams: 4 held in 8000 packets of 4 runs of 2 s, 4 sets of phases (not proved), \
            1 without a deadline, 1 late. \
            Worst: poll io exceeds its deadline 200 us by ";
        assert!(summary.starts_with(start), "{summary}");
    });
}

#[test]
fn losses_silence_transfers_and_interruption_are_shown() {
    let plant = plants::line();
    let mut results = plant.results();
    results.partial = true;
    let streams = &mut results.record.streams;
    streams[2] = rtether_model::record::StreamRecord {
        flow: 2,
        listener: streams[2].listener,
        ..Default::default()
    };
    streams[0].dropped = 3;
    streams[5].transfers.push(TransferRecord {
        started_at: Instant::from_ps(1_500),
        finished_at: None,
        delivered: Bytes::new(77),
        retransmissions: 2,
        timeouts: 1,
    });
    let assessments = assess(&plant.scenario, &results);
    let checked = Checked::new(plant.scenario.clone(), results.clone(), assessments.clone());
    let counts = checked.counts();
    assert_eq!((counts.lost, counts.no_answer, counts.ok), (1, 1, 4));
    let summary = checked.summary();
    let expected = "INTERRUPTED. 6 streams: 3 held in 6000 packets of 4 runs of 2 s, 4 sets of phases (not proved), \
        1 without a deadline, 1 no-answer, \
        1 lost. Worst: setpoint lost 3 of 2000 packets. The results are partial.";
    assert_eq!(summary, expected);
    let texts = everything(&checked);
    assert!(texts[0].contains("\"started_at_ns\": 1.5,"), "{}", texts[0]);
    let transfers = csv::transfers(&checked).csv();
    assert!(transfers.contains(",1.5,,77,2,1\n"), "{transfers}");
    let page = html::render(&checked);
    assert!(page.contains("id=\"transfers\"") && page.contains("not finished"));
    assert!(texts[1].contains("LOST") && texts[1].contains("no-answer"), "{}", texts[1]);
    parse(&texts[3]);
}

/// Oracle: line ends are the only control characters that may reach a terminal from a file.
#[test]
fn a_title_is_no_command_to_the_terminal() {
    let mut plant = plants::line();
    plant.scenario.name = "a\u{1b}]0;title\u{7}\u{9b}2Jb".into();
    let text = with(&plant, table);
    let bounds =
        Bounds { scenario: &plant.scenario, analysis: &rtether::bound::analyze(&plant.scenario) };
    for text in [text, bounds.render(Format::Table, Screen::default())] {
        let harmless = |c: char| c == '\n' || !c.is_control();
        assert!(text.chars().all(harmless), "{text:?}");
    }
}

/// Oracle: 160 bays of 64 streams are more than the rows of a table.
#[test]
fn tables_of_the_page_end_and_say_so() {
    let page = with(&plants::substation(160), html::render);
    let words =
        "of 10240 streams, failures and small margins first; the files of `--out` have all.";
    // By class, and all of them.
    assert_eq!(page.matches(words).count(), 2);
    let small = with(&plants::substation(10), html::render);
    assert!(!small.contains("The page has"));
}

/// Oracle: the same in two steps, with an analysis of its own for each.
#[test]
fn a_check_explains_its_worst_streams() {
    let text = include_str!("../../../scenarios/bottling-line.yaml");
    let short = ["for: 2100 ms", "warmup: 0 s", "seeds: 1"].map(|own| {
        let (key, value) = own.split_once(": ").unwrap();
        Override::new("--set", format!("run.{key}"), value)
    });
    let scenario = load_with("line.yaml", text, &short).scenario.unwrap();
    let options = Options { explains: true, ..Options::default() };
    let explained = check(&scenario, options).unwrap();
    let plain = check(&scenario, Options::default()).unwrap();
    assert!(plain.explained.streams.is_empty());
    let bounds = |checked: &Checked| format!("{:?}", checked.analysis);
    assert_eq!(bounds(&explained), bounds(&plain));
    let told = report::worst(&plain);
    assert!(!told.streams.is_empty());
    assert_eq!(format!("{:?}", explained.explained), format!("{told:?}"));
}
