//! Runs and compares every command and output in README and guides. Oracle: the command.
//!
//! CONTRIBUTING.md explains the comments above blocks. `RTETHER_BLESS=1` rewrites outputs.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod compare;
mod names;
mod page;
mod run;
mod yaml;

use std::fs;
use std::path::PathBuf;

use page::Page;
use rtether_testkit::skip;

pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> Page {
    let text = fs::read_to_string(root().join(path)).unwrap();
    Page::read(path, &text).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs the commands of a page.
fn check(test: &str, path: &str) {
    let page = read(path);
    let found = run::run(&page);
    let blesses = std::env::var_os("RTETHER_BLESS").is_some();
    if blesses {
        fs::write(root().join(path), &found.text).unwrap();
    }
    let stays = |mistake: &&String| !blesses || !mistake.contains("RTETHER_BLESS=1 writes it");
    let mistakes: Vec<_> = found.mistakes.iter().filter(stays).cloned().collect();
    assert!(
        mistakes.is_empty(),
        "{}\nrepeat it by `cargo test -p rtether-cli --test docs {test}`",
        mistakes.join("\n")
    );
    if !found.skipped.is_empty() {
        let places = found.skipped.join(", ");
        skip(&format!("no root with network namespaces for {places}"));
    }
}

macro_rules! pages {
    ($($name:ident: $path:literal,)*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name), $path);
        })*

        const PAGES: &[&str] = &[$($path),*];
    };
}

pages! {
    readme: "README.md",
    bounds: "docs/guides/bounds.md",
    what_if: "docs/guides/what-if.md",
    deadlines: "docs/guides/deadlines.md",
    c: "docs/guides/c.md",
    compare: "docs/guides/compare.md",
    first_hour: "docs/guides/first-hour.md",
    export: "docs/guides/export.md",
    failures: "docs/guides/failures.md",
    pipeline: "docs/guides/pipeline.md",
    host: "docs/guides/host.md",
    identify: "docs/guides/identify.md",
    import: "docs/guides/import.md",
    import_scl: "docs/guides/import-scl.md",
    import_lists: "docs/guides/import-lists.md",
    captures: "docs/guides/captures.md",
    install: "docs/guides/install.md",
    design: "docs/guides/design.md",
    judge: "docs/guides/judge.md",
    limit: "docs/guides/limit.md",
    live: "docs/guides/live.md",
    live_hosts: "docs/guides/live-hosts.md",
    measure: "docs/guides/measure.md",
    playground: "docs/guides/playground.md",
    python: "docs/guides/python.md",
    report: "docs/guides/report.md",
    reproduce: "docs/guides/reproduce.md",
    rtps: "docs/guides/rtps.md",
    rtps_types: "docs/guides/rtps-types.md",
    rtps_program: "docs/guides/rtps-program.md",
    scenario: "docs/guides/scenario.md",
    switches: "docs/guides/switches.md",
    profiles: "docs/guides/profiles.md",
    several_files: "docs/guides/several-files.md",
    shared_ethernet: "docs/guides/shared-ethernet.md",
    sweep: "docs/guides/sweep.md",
    why: "docs/guides/why.md",
    shim: "docs/guides/shim.md",
    models: "docs/models/README.md",
    models_shim: "docs/models/shim.md",
    models_access_schemes: "docs/models/access-schemes.md",
    models_congestion_signals: "docs/models/congestion-signals.md",
    models_end_node_layer: "docs/models/end-node-layer.md",
    models_rtps_suite: "docs/models/rtps-suite.md",
    models_smoother_laws: "docs/models/smoother-laws.md",
}

/// Pages of README and the two folders that have blocks.
fn pages_with_blocks() -> Vec<String> {
    let mut pages = vec!["README.md".to_owned()];
    for folder in ["docs/guides", "docs/models"] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            pages.push(format!("{folder}/{name}"));
        }
    }
    pages.retain(|path| path.rsplit('.').next() == Some("md") && !read(path).blocks.is_empty());
    pages
}

#[test]
fn no_page_is_left_out() {
    for path in pages_with_blocks() {
        assert!(PAGES.contains(&path.as_str()), "{path} shows blocks that nothing runs");
    }
}

#[test]
fn scenarios_and_their_parts_load() {
    let mistakes: Vec<_> = PAGES.iter().flat_map(|path| yaml::check(&read(path))).collect();
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}

/// Oracle: the verbs of the command. Those of agents and watchdogs are hidden.
#[test]
fn the_page_on_security_tells_of_every_verb() {
    let page = fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let (_, table) = page.split_once("## Verb by verb").unwrap();
    let (table, _) = table.split_once("\n## ").unwrap();
    let command = rtether_cli::command();
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let is_missing = |name: &&str| !table.contains(&format!("`{name}"));
    let missing: Vec<_> = verbs.map(clap::Command::get_name).filter(is_missing).collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn verbs_and_options_that_are_named_exist() {
    let mistakes: Vec<_> = PAGES.iter().flat_map(|path| names::check(&read(path))).collect();
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}
