//! Profiles on the command line. Oracle: the documented exit codes, and what the files say.

use rtether_testkit::{Ended, Folder};

use super::run_in;

const PROFILE: &str = "rtether: 1
profile: { device: Relay, date: 2026-11-30, stack_from: echo }
stack: { send: 40 us, receive: 50 us }
requests:
  - protocol: echo
    method: quiet
    fixed: { value: 90 us, low: 88 us, high: 92 us }
    histogram: [{ from: 88 us, to: 90 us, count: 3 }, { from: 90 us, to: 92 us, count: 9 }]
";
const PLANT: &str = "rtether: 1
nodes: { a: { stack: devices/relay.yaml }, b: { stack: zero } }
links: [{ ends: [a, b], rate: 100 Mbit/s }]
flows: [{ name: f, from: a, to: b, period: 4 ms, size: 64 B, deadline: 3 ms }]
run: { for: 100 ms }
";
const STUDY: &str = "study: 1
scenario: plant.yaml
parameters: { nodes.a.stack.send: [20 us, 60 us] }
";

fn folder() -> Folder {
    let folder = Folder::new("profile");
    folder.write("plant.yaml", PLANT);
    folder.write("devices/relay.yaml", PROFILE);
    folder.write(
        "devices/later.yaml",
        PROFILE.replace("90 us, low: 88 us, high: 92", "99 us, low: 97 us, high: 101"),
    );
    folder.write("study.yaml", STUDY);
    folder
}

#[test]
fn profiles_are_shown_compared_and_merged() {
    let folder = folder();
    let shown = run_in(&folder, "profile show devices/relay.yaml --csv --svg relay.svg");
    shown.exits(0);
    let csv = shown.out.lines().nth(1).unwrap_or_default();
    assert!(csv.starts_with("echo,fixed,90000,88000,92000"), "{}", shown.out);
    assert!(folder.read("relay.svg").contains("</svg>"));
    run_in(&folder, "profile show devices/relay.yaml --svg a --report a").exits(2);
    run_in(&folder, "profile diff devices/relay.yaml devices/relay.yaml").exits(0);
    let differs = run_in(&folder, "profile diff devices/relay.yaml devices/later.yaml --json");
    differs.exits(1);
    let json: serde_json::Value = serde_json::from_str(&differs.out).unwrap();
    assert_eq!(
        (&json["schema"], &json["differing"]),
        (&"rtether.profile-diff/1".into(), &1.into())
    );
    let merged =
        run_in(&folder, "profile merge devices/relay.yaml devices/relay.yaml -o both.yaml");
    merged.exits(0);
    run_in(&folder, "profile diff devices/relay.yaml both.yaml").exits(0);
    // Without a file, the profile itself is printed.
    let printed = run_in(&folder, "profile merge devices/relay.yaml devices/relay.yaml");
    assert_eq!(printed.out, folder.read("both.yaml"));
    folder.write("other.yaml", PROFILE.replace("Relay", "Drive"));
    let refused = run_in(&folder, "profile merge devices/relay.yaml other.yaml");
    assert!(refused.code == Some(2) && refused.err.contains("`device`"), "{}", refused.err);
    folder.write("wrong.yaml", PROFILE.replace("88 us", "88"));
    let wrong = run_in(&folder, "profile show wrong.yaml");
    assert!(wrong.code == Some(2) && wrong.err.contains("wrong.yaml:7:"), "{}", wrong.err);
    run_in(&folder, "profile show gone.yaml").exits(2);
    run_in(&folder, "schema --profile").exits(0);
}

/// Oracle: what the file says.
#[test]
fn a_page_has_the_picture_its_table_and_what_is_not_known() {
    let folder = folder();
    let more = "    unknown: [{ figure: scan, why: nothing repeats in step }]\n    misfits: [{ kind: pauses, \
                why: 5 of 100 answers are late }]\n";
    folder.write("odd.yaml", format!("{PROFILE}{more}"));
    run_in(&folder, "profile show devices/relay.yaml --report page.html").exits(0);
    let page = folder.read("page.html");
    for said in
        ["WITHOUT A TRIAL", "Relay", "</svg>", "3 of 12", "All that was looked for is known"]
    {
        assert!(page.contains(said), "{said}: {page}");
    }
    run_in(&folder, "profile show odd.yaml --report page.html").exits(0);
    let page = folder.read("page.html");
    for said in ["NOT CONFIRMED", "5 of 100 answers are late", "nothing repeats in step"] {
        assert!(page.contains(said), "{said}: {page}");
    }
    let bare: String =
        PROFILE.split_inclusive('\n').filter(|line| !line.contains("histogram")).collect();
    folder.write("bare.yaml", bare);
    run_in(&folder, "profile show bare.yaml --report page.html").exits(0);
    assert!(folder.read("page.html").contains("No series has kept its round trips"));
}

/// Oracle: by hand, 40 us of the stack and 9.44 us of a frame of 118 octets with its preamble.
#[test]
fn verbs_take_the_stacks_of_profiles() {
    let folder = folder();
    let bound = run_in(&folder, "bound plant.yaml --json");
    bound.exits(0);
    assert!(bound.out.contains("\"bound_ns\": 49440"), "{}", bound.out);
    let edited = run_in(&folder, "bound plant.yaml --json --set nodes.a.stack.send=90us");
    assert!(edited.out.contains("\"bound_ns\": 99440"), "{}", edited.out);
    // It was not confirmed, which a strict reader does not take.
    let checked = run_in(&folder, "check plant.yaml");
    checked.exits(0);
    let words = "The stack of 1 station is identified, `devices/relay.yaml`.";
    assert!(checked.out.contains(words), "{}", checked.out);
    assert!(checked.out.contains("if 1 assumption holds"), "{}", checked.out);
    run_in(&folder, "check plant.yaml --strict").exits(3);
    run_in(&folder, "sweep study.yaml --out out").exits(0);
    let limited = run_in(&folder, "limit plant.yaml --miss 1e-1 --runs 1");
    assert!(!limited.err.contains("relay.yaml"), "{}", limited.err);
    run_in(&folder, "export plant.yaml --to yaml --out whole").exits(0);
    let whole = run_in(&folder, "check whole/plant.yaml");
    assert!(whole.out.contains("if 1 assumption holds"), "{}", whole.out);
}

/// Oracle: which folder the profile is beneath.
#[test]
fn profiles_are_beneath_the_folder() {
    let folder = folder();
    folder.write("plants/plant.yaml", PLANT.replace("devices/", "../devices/"));
    let refused = run_in(&folder, "bound plants/plant.yaml");
    assert!(
        refused.code == Some(2) && refused.err.contains("--include-from devices"),
        "{}",
        refused.err
    );
    run_in(&folder, "bound plants/plant.yaml --include-from devices").exits(0);
}

const LIST: &str =
    "from,to,size,period,deadline\nplc,drive,64 B,2 ms,1 ms\nplc,relay,64 B,4 ms,2 ms\n";

/// Returns the number of assumptions of an import.
fn number(ended: &Ended) -> usize {
    ended.json()["assumptions"].as_array().map(Vec::len).expect("a list")
}

#[test]
fn an_import_takes_profiles() {
    let folder = folder();
    folder.write("list.csv", LIST);
    let before = run_in(&folder, "import list.csv --json");
    before.exits(0);
    let one = run_in(&folder, "import list.csv --json --profile relay=devices/relay.yaml");
    one.exits(0);
    assert_eq!(number(&one), number(&before));
    let all = "--profile relay=devices/relay.yaml --profile plc=devices/relay.yaml --profile drive=devices/later.yaml";
    let every = run_in(&folder, &format!("import list.csv --json {all}"));
    every.exits(0);
    assert_eq!(number(&every), number(&before) - 1, "{}", every.out);
    run_in(&folder, &format!("import list.csv -o all.yaml {all}")).exits(0);
    let checked = run_in(&folder, "check all.yaml");
    checked.exits(0);
    let words = "The stacks of 3 stations are identified";
    assert!(checked.out.contains(words), "{}", checked.out);
    for (wrong, why) in [
        ("relay", "write a station and its profile"),
        ("relay=gone.yaml", "gone.yaml"),
        ("gone=devices/relay.yaml", "no station is named `gone`"),
        ("relay=list.csv", "write a station"),
    ] {
        let refused = run_in(&folder, &format!("import list.csv --profile {wrong}"));
        assert!(refused.code == Some(2) && refused.err.contains(why), "{}", refused.err);
    }
}
