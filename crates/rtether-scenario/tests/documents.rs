//! Files made from the tables are up to date: schema, reference pages, templates.

use std::fs;
use std::path::{Path, PathBuf};

use rtether_scenario::template::{Template, template};
use rtether_scenario::{load, reference, render, schema};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn yaml_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "yaml"))
        .collect();
    paths.sort();
    paths
}

#[test]
fn templates_load_without_a_word() {
    for kind in Template::ALL {
        // Includes names that YAML would read as another type, or that would end the string.
        for name in ["plant", "3", "on: \"fire\" # \\ now", "Förderband"] {
            let text = template(kind, name);
            let loaded = load("new.yaml", &text);
            let words = loaded.text(render::Style::Plain);
            assert!(words.is_empty(), "{}: {words}", kind.name());
            assert_eq!(loaded.scenario.expect("no errors").name, name);
        }
        assert_eq!(Template::parse(kind.name()), Ok(kind));
    }
    assert!(Template::parse("tree").is_err());
}

#[test]
fn every_good_scenario_satisfies_the_schema() {
    let schema = schema();
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let mut paths = yaml_files(&root().join("scenarios"));
    paths.extend(yaml_files(&root().join("benches/scenarios")));
    let mut texts: Vec<(String, String)> = paths
        .iter()
        .map(|path| {
            let text = fs::read_to_string(path).expect("readable");
            (path.display().to_string(), text)
        })
        .collect();
    texts.extend(Template::ALL.map(|kind| (kind.name().to_owned(), template(kind, "plant"))));
    for (name, text) in texts {
        let value: serde_json::Value = serde_saphyr::from_str(&text).expect("YAML");
        let errors: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
    }
}

#[test]
fn the_schema_refuses_what_the_loader_refuses() {
    let schema = schema();
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    for name in [
        "missing-unit",
        "wrong-quantity",
        "unknown-key-typo",
        "pcp-out-of-range",
        "rate-in-megabits",
        "unknown-word",
        "missing-stack",
        "smoother-mode",
    ] {
        let path = root().join(format!("crates/rtether-scenario/tests/bad/{name}.yaml"));
        let text = fs::read_to_string(path).expect("readable");
        let value: serde_json::Value = serde_saphyr::from_str(&text).expect("YAML");
        assert!(!validator.is_valid(&value), "{name}");
    }
}

#[test]
fn the_schema_and_the_loader_agree_on_single_values() {
    // Oracle: the loader, on a plant with one part replaced.
    let schema = schema();
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let plant = "rtether: 1\n\
        nodes: { a: { stack: zero }, b: { stack: zero } }\n\
        links: [{ ends: [a, b], rate: 1 Gbit/s }]\n\
        flows: [{ name: f, from: a, to: b, period: 2 ms, size: 64 B }]\n";
    let loads = |text: &str| load("one.yaml", text).scenario.is_some();
    let replaced = [
        ("ends: [a, b]", "ends: [a]"),
        ("ends: [a, b]", "ends: [a, b, a]"),
        ("1 Gbit/s", "-1 Gbit/s"),
        ("1 Gbit/s", "0 Gbit/s"),
        ("period: 2 ms, ", ""),
        (", size: 64 B", ""),
        ("2 ms", "0 s"),
        ("2 ms", "+0.0e3 ms"),
        ("2 ms", "-2 ms"),
        ("2 ms", ".0 ms"),
        ("period: 2 ms", "min_gap: 0 us"),
        ("size: 64 B", "size: 64 B, deadline: 0 us"),
        ("size: 64 B", "size: -64 B"),
        ("a: { stack: zero }", "a: { stack: null }"),
        ("a: { stack: zero }", "a:"),
        ("name: f", "name: \"\""),
        ("2 ms", ".5 ms"),
        ("2 ms", "2. ms"),
        ("2 ms", "0.5e0 ms"),
        ("2 ms", "+1_000 us"),
        ("period: 2 ms", "rate: 500 packets/s"),
        ("period: 2 ms", "min_gap: 2 ms"),
        ("period: 2 ms", "kind: poisson, mean_gap: 2 ms"),
        ("period: 2 ms, size: 64 B", "over: tcp"),
        ("period: 2 ms, size: 64 B", "kind: bulk"),
        ("period: 2 ms, size: 64 B", "total: 1 MB"),
        ("size: 64 B", "size: 0 B"),
    ];
    let mut refused = 0;
    for (from, to) in replaced {
        assert!(plant.contains(from), "{from}");
        let text = plant.replacen(from, to, 1);
        let value: serde_json::Value = serde_saphyr::from_str(&text).expect("YAML");
        assert_eq!(validator.is_valid(&value), loads(&text), "{to}");
        refused += usize::from(!loads(&text));
    }
    assert_eq!((loads(plant), refused), (true, 16));
}

/// Compares a generated page with the one in the repository; `RTETHER_BLESS=1` writes it.
fn check_page(path: &str, text: &str) {
    let path = root().join(path);
    if std::env::var_os("RTETHER_BLESS").is_some() {
        fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
        fs::write(&path, text).expect("writable");
    }
    let old = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        old == text,
        "{} is not up to date: run the tests with RTETHER_BLESS=1",
        path.display()
    );
}

#[test]
fn reference_pages_are_up_to_date() {
    check_page("docs/reference/scenario.md", &reference::keys());
    check_page("docs/reference/diagnostics.md", &reference::diagnostics());
    let schema = serde_json::to_string_pretty(&schema()).expect("a value") + "\n";
    check_page("docs/reference/scenario.schema.json", &schema);
}

#[test]
fn documents_show_scenarios_that_load() {
    for (name, least) in [("docs/guides/scenario.md", 2), ("README.md", 1)] {
        let page = fs::read_to_string(root().join(name)).expect("a page");
        let mut blocks = 0;
        for block in page.split("```yaml\n").skip(1) {
            let text = block.split("```").next().expect("a closed block");
            // Fragments show one section; whole scenarios state their version.
            if text.contains("rtether: 1") {
                blocks += 1;
                let words = load(name, text).text(render::Style::Plain);
                assert!(words.is_empty(), "{words}\n{text}");
            }
        }
        assert!(blocks >= least, "{name} shows {blocks} scenarios");
    }
}
