//! `rtether admit`, and the questions answered by `rtether bound`, as their users see them.
//!
//! Oracle: the documented exit codes, and the arithmetic beside the scenario.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::process::Command;
use std::time::Duration;

use rtether_testkit::{Ended, Finish, Folder, Run, read_document, signal, until_says};

/// `f` alone takes 18.24 us; behind a frame of another talker, 28.32 us.
const SCENARIO: &str = "rtether: 1
nodes: { a: { stack: zero }, b: { stack: zero }, c: { stack: zero } }
switches:
  sw: { ports: 3, latency: 0 us, queues: 8 }
links:
  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s, length: 0 m }
  - { ends: [b, \"sw:2\"], rate: 100 Mbit/s, length: 0 m }
  - { ends: [c, \"sw:3\"], rate: 100 Mbit/s, length: 0 m }
flows:
  - { name: f, from: a, to: b, period: 1 ms, size: 60 B, deadline: 28 us }
run: { for: 1 s }
";

const G: &str = "{ name: g, from: c, to: b, period: 1 ms, size: 60 B, deadline: 1 ms }";

/// A directory with a scenario, removed at the end.
struct Plant(Folder);

impl Plant {
    fn new(test: &str, text: &str) -> Self {
        let plant = Self(Folder::new(test));
        plant.write("plant.yaml", text);
        plant
    }

    fn write(&self, name: &str, text: &str) {
        self.0.write(name, text);
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rtether"));
        command.args(arguments).current_dir(self.0.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        self.command(arguments).run()
    }

    /// Runs the command with the words of a line.
    fn line(&self, line: &str) -> Ended {
        self.run(&line.split(' ').collect::<Vec<_>>())
    }
}

#[test]
fn admission_is_in_the_exit_code() {
    let plant = Plant::new("admit", SCENARIO);
    plant.write("g.yaml", &format!("- {G}\n"));
    let Ended { code, out, err, .. } = plant.line("admit plant.yaml g.yaml");
    assert_eq!((code, err.as_str()), (Some(1), ""));
    let first = "FAIL. No: `f` to b would take up to 28.32 us instead of 18.24 us";
    assert_eq!(out.lines().nth(1).unwrap()[..first.len()], *first);
    let yes = plant.line("admit plant.yaml g.yaml --set flows.f.deadline=29us --json");
    assert_eq!(yes.exits(0).json()["answer"], "yes");
    let poisson = "{ name: g, from: c, to: b, kind: poisson, mean_gap: 1 ms, size: 60 B }";
    let unknown = plant.run(&["admit", "plant.yaml", "--flow", poisson, "--json"]);
    assert_eq!(unknown.exits(3).json()["answer"], "unknown");
    // An overload is a no, although a scenario with it would not load otherwise.
    let flood = G.replace("1 ms, size", "5 us, size");
    let Ended { code, out, err, .. } =
        plant.run(&["admit", "plant.yaml", "--flow", &flood, "--csv"]);
    assert_eq!(code, Some(1), "{err}");
    assert!(out.starts_with("flow,talker,listener,bound_before_ns,bound_after_ns,"));
    assert!(out.contains("ok,no-bound,\"overload: ") && err.contains("link-overload"));
}

#[test]
fn wrong_flows_are_shown_where_they_are() {
    let plant = Plant::new("wrong", SCENARIO);
    plant.write("empty.yaml", "# nothing\n");
    plant.write("used.yaml", &format!("- {}\n", G.replace("name: g", "name: f")));
    plant.write("typo.yaml", &format!("flows:\n  - {}\n", G.replace("from: c", "from: cc")));
    plant.write("broken.yaml", "- { name: g\n");
    for (file, expected) in [
        ("empty.yaml", &["missing-key", "empty.yaml", "no flow found"][..]),
        ("used.yaml", &["duplicate-name", "used.yaml:1:11", "plant.yaml:10:13"]),
        ("typo.yaml", &["unknown-node", "typo.yaml:2:22", "declare it"]),
        ("broken.yaml", &["syntax", "broken.yaml:1:3"]),
        ("nowhere.yaml", &["reading `nowhere.yaml`"]),
    ] {
        let Ended { code, out, err, .. } = plant.run(&["admit", "plant.yaml", file]);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{file}: {err}");
        for word in expected {
            assert!(err.contains(word), "{file}: {word} is not in {err}");
        }
    }
    plant.line("admit plant.yaml").exits(2);
    plant.line("admit - -").exits(2).says("cannot both come from standard input");
}

#[test]
fn what_if_ends_as_the_changed_scenario_does() {
    let plant =
        Plant::new("what-if", &format!("{SCENARIO}\n").replace("run:", &format!("  - {G}\nrun:")));
    plant
        .run(&["bound", "plant.yaml", "--what-if", "flows.f.deadline=29 us"])
        .exits(0)
        .shows("not proved > proved");
    let faster = ["--what-if", "links[1].rate=1 Gbit/s", "--what-if", "flows.f.deadline=11 us"];
    let all = [&["bound", "plant.yaml"], &faster[..], &["--json"]].concat();
    // 9.12 + 1.008 + 0.912 us.
    let document = plant.run(&all).exits(1).json();
    assert_eq!(document["schema"], "rtether.what-if/1");
    assert_eq!(document["changes"].as_array().unwrap().len(), 2);
    assert_eq!(document["streams"][0]["after"]["bound_ns"], 11_040);
    plant.line("bound plant.yaml --what-if flows.f.class=x").exits(1).shows("No change: 2 streams");
    let Ended { code, out, .. } = plant.line("bound plant.yaml --what-if flows.f.class=x --csv");
    assert_eq!((code, out.lines().count()), (Some(1), 1));
    for (change, expected) in [
        ("flows.ff.pcp=1", "there are `f`, `g`"),
        ("links[7].rate=1 Gbit/s", "positions go from 0 to 2"),
        ("link[1].rate=1 Gbit/s", "did you mean `links`?"),
        ("flows.f.pcpp=1", "did you mean `pcp`?"),
        ("flows.f.pcp=9", "`pcp` must be 0 to 7, found 9"),
        ("no equals sign", "is not of the form PATH=VALUE"),
    ] {
        let Ended { code, out, err, .. } = plant.run(&["bound", "plant.yaml", "--what-if", change]);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{change}: {err}");
        assert!(err.contains(expected) && err.contains("--what-if"), "{change}: {err}");
    }
    // The checks of the whole plant apply, and can be configured to allow it.
    plant
        .run(&["bound", "plant.yaml", "--what-if", "flows.f.period=5 us"])
        .exits(2)
        .says("link-overload");
    let allow = ["--set", "run.overload=allow", "--what-if", "flows.f.period=5 us"];
    plant.run(&[&["bound", "plant.yaml"], &allow[..]].concat()).exits(3).shows("overload: 201.6 %");
    // Mistakes without the change are not reported twice.
    let unused = SCENARIO.replace("c: { stack: zero }", "c: { stack: zero }, x: { stack: zero }");
    plant.write("unused.yaml", &unused);
    let err = plant.line("bound unused.yaml --what-if flows.f.pcp=1").err;
    assert_eq!(err.matches("`x`").count(), 1, "{err}");
}

#[test]
fn sensitivity_and_ports_come_in_all_forms() {
    let plant = Plant::new("forms", SCENARIO);
    let ended = plant.line("bound plant.yaml --sensitivity --json");
    let document = ended.exits(0).json();
    assert_eq!(document["schema"], "rtether.sensitivity/1");
    // Nine tenths of 9.12 us, on either link.
    assert_eq!(document["trials"][0]["gain_ns"], 8_208);
    let out = plant.line("bound plant.yaml --sensitivity --csv --flow f").out;
    assert!(out.starts_with("change,bound_ns,gain_ns,slack_ns,others_late_streams,edit\n"));
    plant.line("bound plant.yaml --sensitivity --flow fx").exits(2);
    let poisson = SCENARIO.replace("period: 1 ms", "kind: poisson, mean_gap: 1 ms");
    plant.write("poisson.yaml", &poisson);
    let Ended { code, out, err, .. } = plant.line("bound poisson.yaml --sensitivity");
    assert_eq!((code, out.as_str()), (Some(3), ""), "{err}");
    plant.line("bound plant.yaml --ports").exits(0).shows("6 ports, 0 stacks: 6 ok.");
    let out = plant.line("bound plant.yaml --ports --csv").out;
    assert_eq!(out.lines().count(), 1 + 6);
    plant.line("bound plant.yaml --ports --sensitivity").exits(2);
}

/// Every kind of change that is an edit of the file: a link, two forms of a stack, priorities.
const SLOW: &str = "rtether: 1
nodes:
  a: { stack: { send: 30 us + 3 ns/B, receive: 20.001 us } }
  b: { stack: slow }
  it's c: { stack: zero }
stacks: { slow: { rate: 30000 packets/s } }
switches: { sw: { ports: 3, queues: 8 } }
links:
  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"sw:2\"], rate: 10 Mbit/s }
  - { ends: [it's c, \"sw:3\"], rate: 100 Mbit/s }
flows:
  - { name: f, from: a, to: b, period: 10 ms, size: 60 B, deadline: 300 us }
  - { name: it's g, from: it's c, to: b, period: 10 ms, size: 1400 B, pcp: 3, deadline: 20 ms }
run: { for: 100 ms }
";

/// Oracle: the answer of `rtether bound` when the edit is pasted.
#[test]
fn what_would_help_helps_when_it_is_pasted() {
    let plant = Plant::new("help", SLOW);
    let bound_of = |file: &str, edit: Option<&str>| {
        let edit = edit.map_or_else(Vec::new, |edit| vec!["--set", edit]);
        let Ended { out, err, .. } = plant.run(&[&["bound", file, "--json"], &edit[..]].concat());
        let document = read_document(&out);
        let streams = document["streams"].as_array().unwrap().clone();
        let proved = streams.iter().filter(|stream| stream["verdict"] == "ok");
        (streams.clone(), proved.count(), err)
    };
    plant.write("generated.yaml", GENERATED);
    for (file, flow) in [("plant.yaml", "f"), ("generated.yaml", "bay02.ct3 > busbar")] {
        let Ended { code, out, err, .. } = plant.run(&["check", file, "--json"]);
        let help = &read_document(&out)["help"];
        assert_eq!((code, &help["flow"]), (Some(0), &flow.into()), "{err}");
        let pasted = |edit| bound_of(file, edit);
        let is_it = |stream: &&serde_json::Value| {
            (&stream["name"], &stream["listener"]) == (&help["flow"], &help["listener"])
        };
        let find = |streams: &[serde_json::Value]| streams.iter().find(is_it).unwrap().clone();
        let changes = help["changes"].as_array().unwrap();
        assert_eq!(changes.len(), 3, "{help:#}");
        let edits = changes.iter().filter_map(|change| change["edit"].as_str());
        assert!(edits.count() >= 2, "{help:#}");
        for change in changes {
            // One that no single value makes is named all the same.
            let Some(edit) = change["edit"].as_str() else {
                continue;
            };
            let (streams, proved, err) = pasted(Some(edit));
            let bound = find(&streams)["bound_ns"].as_f64();
            assert_eq!(bound, change["bound_ns"].as_f64(), "{edit}: {err}");
            assert_eq!(change["proved"], proved, "{edit}");
        }
        let (streams, proved, _) = pasted(None);
        assert_eq!(help["proved"], proved);
        let today = find(&streams)["bound_ns"].as_f64();
        assert_eq!(today, help["bound_ns"].as_f64());
    }
    // Of 150 flows in one queue, each can step back: too many trials to make unasked.
    let flows = (0..150).map(|n| {
        format!("  - {{ name: f{n}, from: a, to: b, period: 1 s, size: 60 B, pcp: 5, deadline: 1 us }}\n")
    });
    let begin = SCENARIO.find("  - { name: f,").unwrap();
    let many = format!("{}{}run: {{ for: 1 s }}\n", &SCENARIO[..begin], flows.collect::<String>());
    plant.write("many.yaml", &many);
    plant.line("check many.yaml").shows("There are many changes: `rtether bound --sensitivity");
    // Nothing is in need of help.
    let out = plant.line("check plant.yaml --json --set flows.f.deadline=1s");
    assert_eq!(out.json()["help"], serde_json::Value::Null);
}

/// Oracle: by hand. By itself `f` takes 18.24 us, the most of its deadline, and its phase is fixed; where
/// a frame of `h` comes just before it, `g` is late.
#[test]
fn what_a_search_finds_late_needs_help() {
    let text = "rtether: 1
nodes: { a: { stack: zero }, b: { stack: zero }, c: { stack: zero }, d: { stack: zero }, e: { stack: zero } }
switches: { sw: { ports: 5 } }
links:
  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"sw:2\"], rate: 100 Mbit/s }
  - { ends: [c, \"sw:3\"], rate: 100 Mbit/s }
  - { ends: [d, \"sw:4\"], rate: 100 Mbit/s }
  - { ends: [e, \"sw:5\"], rate: 100 Mbit/s }
flows:
  - { name: f, from: c, to: e, period: 100 ms, phase: 0 ms, size: 60 B, deadline: 20 us }
  - { name: g, from: a, to: d, period: 100 ms, size: 60 B, deadline: 30 us }
  - { name: h, from: b, to: d, period: 100 ms, size: 1400 B }
  - { name: k, from: b, to: e, period: 100 ms, phase: 50 ms, size: 60 B }
run: { for: 1 s, warmup: 0 s, seeds: 1 }
";
    let plant = Plant::new("found", text);
    let helped = |line: &str| read_document(&plant.line(line).out)["help"]["flow"].clone();
    assert_eq!(helped("check plant.yaml --json"), "f");
    assert_eq!(helped("check plant.yaml --json --adversarial 400"), "g");
}

const GENERATED: &str = "rtether: 1
generate:
  substation:
    feeder_bays: 1
    transformer_bays: 1
    link_rate: 100 Mbit/s
    pisa_rate: 10000 packets/s
    bay_rate: 20000 packets/s
    busbar_rate: 20000 packets/s
    deadline: 500 us
run: { for: 100 ms }
";

#[test]
fn ctrl_c_ends_the_trials_with_those_done() {
    // Thousands of flows through one strict port, each a candidate to step back.
    let flows = (0..4_000).map(|n| {
        let from = if n % 2 == 0 { "a" } else { "c" };
        format!("  - {{ name: f{n}, from: {from}, to: b, period: 1 s, size: 60 B, pcp: 5 }}\n")
    });
    let flows = flows.collect::<Vec<_>>().concat();
    let begin = SCENARIO.find("  - { name: f,").unwrap();
    let text = format!("{}{flows}run: {{ for: 1 s }}\n", &SCENARIO[..begin]);
    let plant = Plant::new("ctrl-c", &text);
    let mut child =
        plant.command(&["bound", "plant.yaml", "--sensitivity", "--json", "-v"]).start();
    let _said = until_says(&mut child, "changes to try");
    std::thread::sleep(Duration::from_secs(1));
    signal(child.id(), "-INT");
    let document = child.finish().exits(130).json();
    assert_eq!(document["partial"], true);
    assert!(document["trials"].as_array().unwrap().len() < 4_000);
}

/// Oracle: by hand. `g` reaches the port to `b` at 9.12 us and occupies it for 10.08 us; `f` comes at
/// 14.12 us, waits 5.08 us for the rest of it, and takes 18.24 us by itself.
#[test]
fn a_packet_is_followed_from_release_to_delivery() {
    let flows = "flows:
  - { name: g, from: c, to: b, period: 1 ms, size: 60 B, phase: 0 us }
  - { name: f, from: a, to: b, period: 1 ms, size: 60 B, phase: 5 us, deadline: 20 us }
run: { for: 10 ms }
";
    let text = format!("{}{flows}", SCENARIO.split("flows:").next().unwrap());
    let plant = Plant::new("why", &text);
    for which in ["worst", "late", "0"] {
        let Ended { code, out, err, .. } =
            plant.run(&["why", "plant.yaml", "f", "--packet", which, "--json"]);
        assert_eq!((code, err.as_str()), (Some(0), ""));
        let why = read_document(&out);
        assert_eq!(why["latency_ns"], 23_320);
        let hops = why["hops"].as_array().unwrap();
        let parts: Vec<_> =
            hops.iter().map(|hop| (hop["place"].as_str().unwrap(), &hop["ns"])).collect();
        let expected = [
            ("wire from a to sw", 9_120),
            ("switch queue of sw to b", 5_080),
            ("wire from sw to b", 9_120),
        ];
        assert_eq!(parts.len(), expected.len());
        for (part, expected) in parts.iter().zip(expected) {
            assert_eq!((part.0, part.1), (expected.0, &serde_json::json!(expected.1)));
        }
        let wait = &hops[1]["waits"][0];
        assert_eq!((&wait["flow"], &wait["cause"]), (&"g".into(), &"in service".into()));
        assert_eq!(wait["ns"], 5_080);
    }
    let Ended { code, out, .. } = plant.line("why plant.yaml f --svg f.svg");
    assert_eq!(code, Some(0));
    assert!(out.starts_with("f: packet 0 took 23.32 us (late, deadline 20 us)"), "{out}");
    let svg = plant.0.read("f.svg");
    assert!(svg.starts_with("<svg ") && svg.contains("`g` #0, in service: 5.08 us"));
}

/// Oracle: by hand. `f` and `g` meet at the port to `b`: `f` waits for a whole frame of `g` with its
/// gap, 10.08 us, and takes 18.24 us by itself. The pattern that does it is found.
#[test]
fn a_bound_is_explained_by_its_flows() {
    let flows = "flows:
  - { name: g, from: a, to: b, period: 1 ms, size: 60 B }
  - { name: f, from: c, to: b, period: 1 ms, size: 60 B, deadline: 28 us }
run: { for: 10 ms, warmup: 1 ms }
";
    let text = format!("{}{flows}", SCENARIO.split("flows:").next().unwrap());
    let plant = Plant::new("why-bound", &text);
    let Ended { code, out, err, .. } = plant.line("why plant.yaml f --bound --json");
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let why = read_document(&out);
    assert_eq!((&why["is_bound"], &why["latency_ns"]), (&true.into(), &28_320.into()));
    let hops = why["hops"].as_array().unwrap();
    let parts: Vec<_> = hops.iter().map(|hop| (&hop["place"], &hop["ns"])).collect();
    let expected = [
        ("wire from c to sw", 9_120),
        ("switch queue of sw to b", 10_080),
        ("wire from sw to b", 9_120),
    ];
    let expected = expected.map(|(place, ns)| (place.into(), ns.into()));
    assert_eq!(parts, expected.each_ref().map(|(place, ns)| (place, ns)));
    let wait = &hops[1]["waits"][0];
    assert_eq!((&wait["flow"], &wait["cause"]), (&"g".into(), &"same class".into()));
    assert_eq!((&wait["ns"], &wait["packet_ns"]), (&10_080.into(), &10_080.into()));
    assert_eq!(why["pattern"]["is_attained"], true);
    // The edits make it.
    let edits = why["pattern"]["edits"].as_array().unwrap();
    let mut check = vec!["check", "plant.yaml", "--json"];
    for edit in edits {
        check.extend(["--set", edit.as_str().unwrap()]);
    }
    let Ended { code, out, .. } = plant.run(&check);
    let checked = read_document(&out);
    let stream = &checked["flows"][1];
    assert_eq!((code, &stream["sim"]["max_ns"]), (Some(1), &28_320.into()));
    let Ended { code, out, .. } = plant.line("why plant.yaml f --bound --svg f.svg");
    assert_eq!(code, Some(0));
    let first = "f: bound 28.32 us, above its deadline 28 us\nby total flow\n";
    assert!(out.starts_with(first) && out.contains("The bound is attained"), "{out}");
    let svg = plant.0.read("f.svg");
    assert!(svg.contains("`g`, same class: 10.08 us"));
}

/// Oracle: the documented exit code; what would give a bound is the flow that has no limit.
#[test]
fn a_flow_without_a_bound_gets_a_remedy() {
    let text = SCENARIO.replace("period: 1 ms, size", "kind: poisson, mean_gap: 1 ms, size");
    let plant = Plant::new("why-no-bound", &text);
    let Ended { code, out, .. } = plant.line("why plant.yaml f --bound");
    assert_eq!(code, Some(3));
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[..2], ["f: no bound", "unlimited arrivals of `f`"]);
    let remedy = "What would give it one: a limit on it: `period` or `min_gap`";
    assert!(lines[3].starts_with(remedy), "{out}");
}

/// Oracle: by hand. The tenth full frame has arrived after 9 times 123.04 us and 122.08 us, at a port
/// with room for five.
#[test]
fn a_lost_packet_says_where_it_was_lost() {
    let text = SCENARIO
        .replace("latency: 0 us, queues: 8", "latency: 0 us, queues: 8, buffer: 8 kB")
        .replace("period: 1 ms, size: 60 B", "min_gap: 100 ms, burst: 10, size: 1472 B")
        .replace("ends: [b, \"sw:2\"], rate: 100 Mbit/s", "ends: [b, \"sw:2\"], rate: 10 Mbit/s");
    let plant = Plant::new("why-lost", &text);
    plant
        .line("why plant.yaml f --packet 9")
        .exits(3)
        .says(", it was lost at `sw` 1.229 ms later: the buffer of the port was full");
    plant
        .line("why plant.yaml f --packet 100000")
        .says("it was not released: the run is too short");
}

/// Oracle: the sum of the bounds, 18.24 us each.
#[test]
fn sums_of_bounds_decide_the_exit_code() {
    for (max, code) in [("36.48 us", 0), ("36.47 us", 1)] {
        let text = format!("{SCENARIO}accept: [{{ sum: [f, f], max: {max} }}]\n");
        let plant = Plant::new("bound-sums", &text);
        plant.line("bound plant.yaml").exits(code).shows("1 sum of delays: ");
        let out = plant.line("bound plant.yaml --csv").out;
        assert!(out.lines().nth(2).unwrap().starts_with("\"sum of f, f\","), "{out}");
    }
}

/// Oracle: the documented exit codes; an error names what there is.
#[test]
fn a_packet_that_is_not_there_is_not_explained() {
    let plant = Plant::new("why-not", SCENARIO);
    plant.line("why plant.yaml x").exits(2).says("there is no flow `x`; there are `f`");
    plant
        .line("why plant.yaml f --packet late")
        .exits(3)
        .says("no packet of `f` was late in 1 run");
    plant.line("why plant.yaml f --packet 1000").exits(3).says("packet 1000 of `f` did not arrive");
    plant
        .line("why plant.yaml f --packet best")
        .exits(2)
        .says("expected `worst`, `late` or the number");
}

/// Oracle: the deadlines written into the scenario, and the documented exit codes.
#[test]
fn results_are_compared() {
    let plant = Plant::new("diff", SCENARIO);
    let check = |file: &str, deadline: &str, more: &[&str]| {
        let set = format!("flows.f.deadline={deadline}");
        let arguments = [&["check", "plant.yaml", "--set", &set, "--out", file], more].concat();
        plant.run(&arguments)
    };
    check("loose", "28 us", &[]).exits(0);
    check("tight", "20 us", &[]).exits(0);
    check("late", "18 us", &[]).exits(1);
    let diff = |old: &str, new: &str, more: &[&str]| {
        let files = [old, new].map(|name| format!("{name}/result.json"));
        plant.run(&[&["diff", &files[0], &files[1]], more].concat())
    };
    let Ended { code, out, err, .. } = diff("loose", "loose", &[]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(out.ends_with("PASS. No change: 1 stream.\n"), "{out}");
    let Ended { code, out, .. } = diff("loose", "tight", &["--csv"]);
    assert_eq!(code, Some(0));
    assert!(out.lines().nth(1).unwrap().starts_with("worse,f,b,-8000,ok,ok,9760,1760,"), "{out}");
    let document = diff("tight", "late", &["--json"]).exits(1).json();
    assert_eq!(document["new_failures"], 1);
    assert_eq!(document["streams"][0]["gain_ns"], -2_000);
    assert_eq!(document["streams"][0]["after"]["verdict"], "late");
    let Ended { code, out, .. } = diff("late", "tight", &[]);
    assert_eq!(code, Some(0));
    assert!(out.contains("mended") && out.ends_with("1 mended; 0 unchanged.\n"), "{out}");

    // What failed in the baseline does not fail the check.
    let Ended { code, out, .. } = check("again", "18 us", &["--baseline", "late/result.json"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.ends_with("PASS. No change: 1 stream.\n"), "{out}");
    let baseline = ["--baseline", "tight/result.json", "--json"];
    let worse = check("worse", "18 us", &baseline);
    worse.exits(1).says("compared with the baseline: FAIL. 1 new failure");
    assert_eq!(worse.json()["schema"], "rtether.result/1");

    let quiet = ["--baseline", "tight/result.json", "--quiet"];
    let Ended { code, out, err, .. } = check("short", "18 us", &quiet);
    assert_eq!((code, out.lines().count()), (Some(1), 1), "{out}");
    assert!(err.contains("1 new failure"), "{err}");
    // Without a packet nothing is answered, in the baseline and now.
    let none = ["--for", "1 ns", "--runs", "1"];
    check("none", "18 us", &none);
    let again = [&none[..], &["--baseline", "none/result.json"]].concat();
    check("still", "18 us", &again).exits(3);

    plant
        .line("diff plant.yaml late/result.json")
        .exits(2)
        .says("`plant.yaml`: ")
        .says("prints a result");
    plant.line("check plant.yaml --baseline none.json").exits(2).says("none.json");
}

/// Oracle: the documented exit codes; by hand, each station has one link, and `f` needs two of three.
#[test]
fn single_failures_are_told_in_every_form() {
    let plant = Plant::new("fail", SCENARIO);
    let fail = |which: &str, more: &[&str]| {
        plant.run(&[&["check", "plant.yaml", "--fail", which], more].concat())
    };
    let Ended { code, out, err, .. } = fail("links", &["--csv"]);
    assert_eq!(code, Some(1), "{err}");
    let rows: Vec<&str> = out.lines().skip(1).collect();
    assert_eq!(rows.len(), 4);
    assert!(rows[0].starts_with("none,none,,0,0,0,0,0,0,0,,f,b,proved,"), "{out}");
    assert!(rows[1].starts_with("a - sw:1,link,,1,0,0,0,0,0,0,,f,b,cut-off,,FAIL"), "{out}");
    assert!(rows[3].starts_with("c - sw:3,link,,0,0,"), "{out}");
    let rows = fail("links", &["--format", "ndjson"]).out;
    assert_eq!(rows.lines().count(), 4);
    assert_eq!(read_document(rows.lines().nth(1).unwrap())["cut_off_streams"], 1);
    let ended = fail("switches", &["--json", "--recovery", "5 ms"]);
    let document = ended.exits(1).json();
    assert_eq!(document["schema"], "rtether.failures/1");
    assert_eq!(document["recovery_ns"], 5_000_000);
    assert_eq!(document["failures"][0]["cut_off"][0]["name"], "f");
    assert_eq!(document["intact"]["conclusion"], "PASS");
    let Ended { code, out, .. } = fail("trunks", &["-q"]);
    assert_eq!(code, Some(0));
    assert!(out.starts_with("PASS. There is nothing to fail."), "{out}");
    fail("links", &[]).exits(1).shows("3 single failures: 1 proved, 2 failed; 2 cut streams off.");
    plant.run(&["check", "plant.yaml", "--recovery", "5 ms"]).exits(2).says("--fail");
    // There is no page of failures, and so none that could link to the playground.
    for option in ["--baseline", "--report", "--playground"] {
        fail("links", &[option, "x"]).exits(2).says(option);
    }
}
