//! Shim configurations. Oracles: the values in a file, snapshots of every message, the schema, and
//! that any input has an answer.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use rtether_model::endnode::{Detector, Receive, ReceiveSelection, TransmitStrategy};
use rtether_model::mac::MacAddress;
use rtether_model::network::Vid;
use rtether_model::quantity::{BitRate, Duration};
use rtether_model::shim::Waiting;
use rtether_model::shim::{Backend, Signal};
use rtether_model::smoother::Mode;
use rtether_scenario::shim::{Config, load};
use rtether_scenario::{codes, reference, render, shim_schema};

const EXAMPLE: &str = "docs/guides/shim.yaml";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn bad() -> Vec<(String, String)> {
    let folder = root().join("crates/rtether-scenario/tests/bad/shim");
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut files: Vec<(String, String)> = entries
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "yaml"))
        .map(|path| {
            let name = path.file_stem().expect("a name").to_string_lossy();
            (name.into_owned(), fs::read_to_string(&path).expect("text"))
        })
        .collect();
    files.sort();
    files
}

fn good(text: &str) -> Config {
    let loaded = load("shim.yaml", text);
    let words = loaded.text(render::Style::Plain);
    assert!(words.is_empty(), "{words}");
    loaded.config.expect("no errors")
}

#[test]
fn every_key_arrives() {
    let config = good(
        "rtether: 1\n\
         x-note: { anything: 1 }\n\
         backend: kernel\n\
         rate: 10 Mbit/s\n\
         priorities: { queues: 3, rules: [{ dscp: 46, queue: 2 }] }\n\
         receive_queues: { selection: low-flag }\n\
         transmit_queues: { strategy: rings, rings: 2, ring: 4 }\n\
         smoother: { mode: himd, detector: { kind: collisions } }\n\
         tags: { insert: [1, 3, 6], vlan: 12, strip: true }\n\
         signal: { from: driver, every: 5 ms }\n\
         probes: { to: [02:00:00:00:00:07, 02-00-00-00-00-08], every: 20 ms }\n\
         core: 1\n\
         priority: 40\n\
         waiting: spin\n",
    );
    assert_eq!(config.backend, Backend::Kernel);
    let settings = config.settings;
    assert_eq!(settings.rate, BitRate::from_mbps(10));
    assert_eq!(settings.layer.table.count(), 3);
    assert_eq!(settings.layer.rules[0].class, 2);
    let Some(Receive::Queues(receive)) = settings.layer.receive else {
        panic!("{:?}", settings.layer.receive);
    };
    assert_eq!(receive.selection, ReceiveSelection::LOW_FLAG);
    let transmit = settings.layer.transmit.expect("given");
    assert_eq!(transmit.strategy, TransmitStrategy::Rings { count: 2 });
    assert_eq!(transmit.ring_limit, 4);
    let smoother = settings.layer.smoother.expect("given");
    assert!(matches!(smoother.config.mode, Mode::Adaptive(_)));
    let insert = settings.tags.insert.expect("given");
    let insert: Vec<u8> = insert.iter().map(|pcp| pcp.get()).collect();
    assert_eq!(insert[..3], [1, 3, 6]);
    assert_eq!(Some(settings.tags.vid), Vid::new(12));
    assert!(settings.tags.strip);
    let every = Duration::from_ms(5);
    assert_eq!(settings.signal, Signal::DriverCollisions { every });
    let probes = settings.probes.expect("given");
    let to = [7, 8].map(|last| MacAddress([2, 0, 0, 0, 0, last]));
    assert_eq!((&probes.to[..], probes.every), (&to[..], Duration::from_ms(20)));
    assert_eq!((settings.core, settings.priority), (Some(1), Some(40)));
    assert_eq!(settings.waiting, Waiting::Spin);
}

#[test]
fn a_detector_of_probe_delay_has_an_epoch_of_ten_seconds() {
    let detector = |text: &str| {
        let config = good(&format!(
            "rtether: 1\nrate: 10 Mbit/s\nprobes: {{ to: [02:00:00:00:00:07] }}\n\
             smoother: {{ mode: himd, detector: {{ kind: probe-delay, excess: 5 ms{text} }} }}\n"
        ));
        let every = config.settings.probes.expect("given").every;
        assert_eq!(every, Duration::from_ms(10));
        config.settings.layer.smoother.expect("given").detector
    };
    let with = |epoch| Detector::ProbeDelay {
        excess: Duration::from_ms(5),
        epoch: Duration::from_secs(epoch),
    };
    assert_eq!(detector(""), with(10));
    assert_eq!(detector(", epoch: 2 s"), with(2));
}

#[test]
fn what_is_left_out_has_its_default() {
    let config = good("rtether: 1\nrate: 1 Gbit/s\n");
    assert_eq!(config.backend, Backend::User);
    let plain = rtether_model::shim::Settings::new(
        rtether_model::endnode::Layer::default(),
        BitRate::from_mbps(1000),
    );
    assert_eq!(config.settings, plain);
    assert_eq!(plain.tags.vid, Vid::PRIORITY_ONLY);
}

#[test]
fn wrong_files_say_what_is_wrong() {
    let files = bad();
    assert!(files.len() >= 15);
    for (name, text) in files {
        let loaded = load(&format!("{name}.yaml"), &text);
        assert!(!loaded.diagnostics.is_empty(), "{name}");
        assert_eq!(loaded.config.is_none(), loaded.has_errors(), "{name}");
        for diagnostic in &loaded.diagnostics {
            let known = codes::ALL.iter().any(|code| code.name == diagnostic.code);
            assert!(known, "{}", diagnostic.code);
        }
        insta::with_settings!({ snapshot_path => "bad/shim/snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, loaded.text(render::Style::Plain));
        });
    }
}

#[test]
fn a_refusal_points_at_the_option() {
    // Oracle: line and column of the key, counted by hand; the top of the file for an option that
    // was not written.
    let text = "rtether: 1\nrate: 10 Mbit/s\nsmoother: { mode: rtether }\n";
    for (option, line, column) in
        [("smoother.mode", 3, 13), ("smoother", 3, 1), ("receive_queues", 1, 1)]
    {
        let mut loaded = load("shim.yaml", text);
        loaded.diagnostics.clear();
        loaded.refuse(Backend::Kernel, option, "it needs every frame");
        assert!(loaded.config.is_none());
        let json = loaded.json();
        assert_eq!(json[0]["code"], "backend-cannot");
        assert_eq!(json[0]["spans"][0]["line"], line, "{option}");
        assert_eq!(json[0]["spans"][0]["column"], column, "{option}");
    }
}

#[test]
fn the_schema_takes_what_the_loader_takes() {
    let validator = jsonschema::validator_for(&shim_schema()).expect("the schema is one");
    let value = |text: &str| -> serde_json::Value { serde_saphyr::from_str(text).expect("YAML") };
    let example = read(EXAMPLE);
    good(&example);
    assert!(validator.is_valid(&value(&example)));
    // Checks that need the whole file (list lengths, conflicting keys) and limits of quantities are
    // beyond a schema.
    for (name, text) in bad() {
        let is_seen = ["typo", "backend", "rate", "version", "pcp", "scenario", "list"]
            .contains(&name.as_str());
        if is_seen {
            assert!(!validator.is_valid(&value(&text)), "{name}");
        }
    }
}

#[test]
fn documents_are_up_to_date() {
    let schema = serde_json::to_string_pretty(&shim_schema()).expect("a value") + "\n";
    for (path, text) in [
        ("docs/reference/shim.md", reference::shim_keys()),
        ("docs/reference/shim.schema.json", schema),
    ] {
        if std::env::var_os("RTETHER_BLESS").is_some() {
            fs::write(root().join(path), &text).expect("writable");
        }
        let old = fs::read_to_string(root().join(path)).unwrap_or_default();
        assert!(old == text, "{path} is not up to date: set RTETHER_BLESS=1");
    }
}

#[test]
fn the_guide_shows_configurations_that_load() {
    let page = read("docs/guides/shim.md");
    let blocks = page.split("```yaml\n").skip(1);
    let texts: Vec<&str> = blocks.filter_map(|block| block.split("```").next()).collect();
    let whole: Vec<&&str> = texts.iter().filter(|text| text.contains("rtether: 1")).collect();
    assert!(!whole.is_empty());
    for text in whole {
        good(text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Oracle: no panic, and a configuration if and only if there is no error.
    #[test]
    fn any_text_has_an_answer(octets in proptest::collection::vec(any::<u8>(), 0..300)) {
        let loaded = load("x", &String::from_utf8_lossy(&octets));
        prop_assert_eq!(loaded.config.is_none(), loaded.has_errors());
    }

    /// Likewise for a file with one part cut out and moved elsewhere.
    #[test]
    fn any_rearrangement_has_an_answer(from in 0usize..1200, length in 0usize..200, to in 0usize..1200) {
        let text = read(EXAMPLE);
        let mut chars: Vec<char> = text.chars().collect();
        let from = from.min(chars.len());
        let cut: Vec<char> = chars.drain(from..(from + length).min(chars.len())).collect();
        let to = to.min(chars.len());
        chars.splice(to..to, cut);
        let loaded = load("x", &chars.into_iter().collect::<String>());
        prop_assert_eq!(loaded.config.is_none(), loaded.has_errors());
        let _ = loaded.text(render::Style::Plain);
    }
}
