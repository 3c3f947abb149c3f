//! Lists of flows and links.

use rtether_import::{Code, Columns, File, ImportError, Options, Plan, import, import_all};

/// As tsnkit writes it: octets and nanoseconds.
const FLOWS: &str = "id,src,dst,size,period,deadline,jitter
0,4,[5],400,2000000,1000000,2000000
1,5,\"[4, 6]\",100,500000,500000,500000
";

/// A ring of switches 1, 2 and 3, each with one station.
const LINKS: &str = "link,q_num,rate,t_proc,t_prop
\"(1, 2)\",8,1,2000,0
\"(2, 1)\",8,1,2000,0
\"(2, 3)\",8,1,2000,0
\"(3, 2)\",8,1,2000,0
\"(3, 1)\",8,1,3000,50
\"(1, 3)\",8,1,2000,50
\"(1, 4)\",8,1,2000,0
\"(4, 1)\",8,1,2000,0
\"(5, 2)\",8,1,2000,0
\"(2, 5)\",8,1,2000,0
\"(6, 3)\",8,1,2000,0
\"(3, 6)\",8,1,2000,0
";

fn both(flows: &str, links: &str) -> Result<Plan, ImportError> {
    let files = [("flows.csv", flows), ("links.csv", links)];
    let files = files.map(|(name, text)| File { name, octets: text.as_bytes() });
    import_all(&files, &Options::new())
}

fn has(plan: &Plan, lines: &[&str]) {
    let written: Vec<&str> = plan
        .scenario
        .lines()
        .map(|line| line.split(" #").next().unwrap_or_default().trim())
        .collect();
    for line in lines {
        assert!(written.contains(line), "{line}\n{}", plan.scenario);
    }
}

/// Oracle: the list, in which two stations are joined by a cable; a key of YAML without a value is
/// `null`, and no list of switches.
#[test]
fn without_switches_there_is_no_section_of_them() {
    let flows = "src,dst,size,period,deadline\na,b,100,1000000,1000000\n";
    let plan = both(flows, "link,rate\n\"(a, b)\",1\n").expect("a plan");
    assert!(!plan.scenario.contains("switches:"), "{}", plan.scenario);
    has(&plan, &["- { ends: [a, b], rate: 1 Gbit/s }"]);
}

/// Oracle: IEEE 802.3, clause 126.
#[test]
fn a_list_may_have_five_gigabits() {
    let five = LINKS.replacen("8,1,", "8,5,", 2);
    let plan = both(FLOWS, &five).expect("a plan");
    has(&plan, &["- { ends: [\"1:1\", \"2:1\"], rate: 5 Gbit/s }"]);
    let six = both(FLOWS, &LINKS.replacen("8,1,", "8,6,", 2)).expect_err("no rate");
    assert!(six.remedy.contains("a rate of Ethernet"), "{six}");
}

/// Oracle: the two lists. In a ring of three each way of two switches is the shortest.
#[test]
fn flows_and_links_of_tsnkit() {
    let plan = both(FLOWS, LINKS).expect("a plan");
    has(
        &plan,
        &[
            "- name: \"4 > 5\"",
            "period: 2 ms",
            "size: 400 B",
            "deadline: 1 ms",
            "route: [\"4\", \"1\", \"2\", \"5\"]",
            "route: [[\"5\", \"2\", \"1\", \"4\"], [\"5\", \"2\", \"3\", \"6\"]]",
            "delivery: multicast",
            "latency: 3 us",
            "- { ends: [\"3:2\", \"1:2\"], rate: 1 Gbit/s, propagation: 50 ns }",
        ],
    );
    let numbers: Vec<usize> = plan.counts.iter().map(|count| count.number).collect();
    // Flows, stations, switches, links.
    assert_eq!(numbers, [2, 3, 3, 6]);
    assert_eq!(plan.findings, []);
}

/// Oracle: the list, with titles and units of another tool. Two flows of one name are told apart.
#[test]
fn columns_that_the_user_names() {
    let text = "PCP;StreamName;SourceNode;DestinationNode;Size;Period;Deadline
7;a;plc;drive;64;250;125.5
;a;plc;drive, panel;1501;1000;
";
    let text = text.replace("drive, panel", "\"drive;panel\"");
    let columns = Columns::parse(
        "name=StreamName,from=SourceNode,to=DestinationNode,size=Size,period=Period:us,deadline=Deadline:us,pcp=PCP",
    )
    .expect("columns");
    let options = Options::new().with_columns(columns);
    let plan = import("list.csv", text.as_bytes(), &options).expect("a plan");
    has(
        &plan,
        &[
            "- name: a",
            "- name: a-2",
            "period: 250 us",
            "deadline: 125500 ns",
            "pcp: 7",
            "over: raw",
            "over: udp",
            "to: [drive, panel]",
            "- { ends: [plc, \"switch:3\"], rate: 1 Gbit/s }",
        ],
    );
    let codes: Vec<Code> = plan.findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, [Code::SameName]);
    assert_eq!(plan.findings[0].line, 3);
}

/// Oracle: the list, in the words of scenarios; a size may stand alone, and a deadline is not needed.
#[test]
fn keys_of_scenarios_are_titles() {
    let text = "name,from,to,period,size,deadline
a,x,y,2 ms,64 B,1.5 ms
b,y,x,250us,100,
";
    let plan = import("list.csv", text.as_bytes(), &Options::new()).expect("a plan");
    has(
        &plan,
        &[
            "- name: a",
            "from: x",
            "period: 2 ms",
            "size: 64 B",
            "deadline: 1500 us",
            "period: 250 us",
            "size: 100 B",
        ],
    );
    let wrong = text.replace("2 ms", "2");
    let wrong = import("list.csv", wrong.as_bytes(), &Options::new()).expect_err("no unit");
    assert_eq!(wrong.line, Some(2));
    assert!(wrong.remedy.contains("a time with its unit"), "{wrong}");
}

/// Oracle: each list has one mistake.
#[test]
fn mistakes_have_a_place_and_a_remedy() {
    let flow = |row: &str| format!("src,dst,size,period,deadline\n{row}\n");
    let cases = [
        ("src,dst,size\na,b,1\n".to_owned(), Some(1), "no column `period`"),
        (flow("a,b,x,1000,1000"), Some(2), "`size` is `x`"),
        (flow("a,b,100000,1000,1000"), Some(2), "`size` is `100000`"),
        (flow("a,b,100,0,1000"), Some(2), "`period` is `0`"),
        (flow("a,b,100,-1,1000"), Some(2), "`period` is `-1`"),
        (flow("a,a,100,1000,1000"), Some(2), "`dst` is `a`"),
        (flow("a,[],100,1000,1000"), Some(2), "`dst` is `[]`"),
        (flow(",b,100,1000,1000"), Some(2), "`src` is ``"),
        (flow(""), None, "no rows"),
    ];
    for (text, line, part) in cases {
        let wrong = import("x.csv", text.as_bytes(), &Options::new()).expect_err(part);
        assert!(wrong.what.contains(part), "{wrong}");
        assert_eq!(wrong.line, line, "{wrong}");
    }
    for (links, part) in [
        ("link,rate\n\"(4, 5)\",7\n", "`rate` is `7`"),
        ("link,rate\n\"(4, 4)\",1\n", "`link` is `(4, 4)`"),
        ("link,rate\n\"(4, 5)\",1\n", "no link leads to the station `6`"),
        (
            "link,rate\n\"(4, 1)\",1\n\"(5, 1)\",1\n\"(6, 2)\",1\n\"(2, 3)\",1\n",
            "no links lead from `5` to `6`",
        ),
        ("link,rate\n\"(4, 5)\",1\n\"(5, 6)\",1\n", "has 2 links"),
        (FLOWS, "2 of the files are lists of flows"),
        ("<SCL/>", "it is XML"),
    ] {
        let wrong = both(FLOWS, links).expect_err(part);
        assert!(wrong.what.contains(part), "{wrong}");
        assert!(!wrong.remedy.is_empty());
    }
}

/// Oracle: each comment that says `assumed` is in the list with its line.
#[test]
fn assumptions_are_comments_on_their_lines() {
    let plan = both(FLOWS, LINKS).expect("a plan");
    let lines: Vec<&str> = plan.scenario.lines().collect();
    assert!(!plan.assumptions.is_empty());
    for assumption in &plan.assumptions {
        assert!(lines[assumption.line - 1].ends_with(&format!("# assumed: {}", assumption.text)));
    }
    let marked = lines.iter().filter(|line| line.contains("# assumed: "));
    assert_eq!(marked.count(), plan.assumptions.len());
}
