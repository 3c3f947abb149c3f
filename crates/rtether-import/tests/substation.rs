//! Whole files: the bay of the guide, and a substation of another tool.

use std::fs;
use std::path::Path;

use rtether_import::{Class, Code, Frequency, Options, Plan, import};
use rtether_model::quantity::Duration;

fn read(path: &str) -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::read(root.join(path)).expect("a file of the repository")
}

fn plan(path: &str, options: &Options) -> Plan {
    let name = path.rsplit('/').next().expect("a name");
    import(name, &read(path), options).expect("a plan")
}

fn bay() -> Plan {
    plan("../../docs/guides/bay.scd", &Options::new())
}

fn count(plan: &Plan, name: &str) -> usize {
    let count = plan.counts.iter().find(|count| count.name == name);
    count.expect("a known name").number
}

/// Oracle: IEEE 802.3by and 802.3bs. Links of listeners that are not named are no slower.
#[test]
fn subnetworks_have_any_rate_of_ethernet() {
    let text = String::from_utf8(read("../../docs/guides/bay.scd")).expect("text");
    for (megabits, words) in [("25000", "25 Gbit/s"), ("400000", "400 Gbit/s")] {
        let text = text.replace(">100</BitRate>", &format!(">{megabits}</BitRate>"));
        let plan = import("bay.scd", text.as_bytes(), &Options::new()).expect("a plan");
        assert!(plan.findings.iter().all(|found| found.code != Code::BadValue), "{megabits}");
        // Two relays, control, and the listeners that are not named.
        for port in 1..=4 {
            let link = format!("\"SwitchA:{port}\"], rate: {words} }}");
            assert!(plan.scenario.contains(&link), "{}", plan.scenario);
        }
    }
}

/// Returns the lines of a flow, without comments.
fn flow<'a>(plan: &'a Plan, name: &str) -> Vec<&'a str> {
    let lines = plan.scenario.lines();
    let begin = format!("  - name: {name}");
    let mut lines = lines.skip_while(move |line| *line != begin);
    assert!(lines.next().is_some(), "no flow `{name}`");
    let own = lines.take_while(|line| line.starts_with("    "));
    own.map(|line| line.split('#').next().unwrap_or_default().trim()).collect()
}

/// Oracle: counted in the file by hand. Of twelve GOOSE blocks seven have no subscriber: no `ExtRef`
/// names them.
#[test]
fn what_a_substation_holds() {
    let plan = plan("tests/data/autogen-substation-demo.scd", &Options::new());
    assert_eq!(plan.format, "IEC 61850 SCL, edition 2.1");
    for (name, number) in [
        ("devices", 11),
        ("access_points", 23),
        ("subnetworks", 3),
        ("goose_blocks", 12),
        ("sampled_value_blocks", 4),
        ("published", 16),
        ("unsubscribed", 7),
        ("flows", 28),
        ("streams", 28),
    ] {
        assert_eq!(count(&plan, name), number, "{name}");
    }
    let codes = plan.findings.iter().map(|finding| finding.code);
    assert!(codes.eq([Code::NoSubscriber; 7]), "{:?}", plan.findings);
}

/// Oracle: 80 samples a period at 50 Hz are 4000 in a second; eight values with quality and an
/// identifier of 9 octets are 5 more than the 94 of a capture with one of 4.
#[test]
fn sampled_values_of_a_substation() {
    let plan = plan("tests/data/autogen-substation-demo.scd", &Options::new());
    let lines = flow(&plan, "AA2__E01Q04A1/MUnn/MSVCB01");
    assert!(lines.contains(&"rate: 4000 /s"), "{lines:?}");
    assert!(lines.contains(&"size: 99 B"), "{lines:?}");
    assert!(lines.contains(&"to: [AA2__E01Q01A1.PB4_A]"), "{lines:?}");
}

/// Oracle: worked out by hand. References of 25 and 19 octets, an identifier of 5, five integers of 7
/// octets, a time of 10, two booleans of 3; data of 3, 5 and 2 + 4 + 5 + 10: 137 in all, and three
/// for tag and length. `00A` is hexadecimal.
#[test]
fn goose_of_the_bay() {
    let plan = bay();
    let lines = flow(&plan, "Relay1/LD0/gcbTrip event");
    assert_eq!(
        lines,
        [
            "class: goose",
            "description: \"multicast address 01-0C-CD-01-00-01, APPID 0001\"",
            "from: Relay1.S1",
            "to: [Relay2.S1, Control]",
            "over: goose",
            "min_gap: 4 ms",
            "size: 140 B",
            "pcp: 6",
            "vlan: 10",
            "deadline: 3 ms",
        ]
    );
    let lines = flow(&plan, "Relay1/LD0/gcbTrip heartbeat");
    assert!(lines.contains(&"period: 1 s"), "{lines:?}");
    assert!(!lines.iter().any(|line| line.starts_with("deadline")));
}

/// Oracle: the sizes of a capture of this identifier and data set: packets of 94 octets, frames of 94
/// + 8 + 14 + 4 = 120. Relay 1 binds the samples, relay 2 is named by the control block.
#[test]
fn sampled_values_of_the_bay() {
    let lines = flow(&bay(), "MU1/MU/msvcb01").join("; ");
    for part in ["to: [Relay1.P1, Relay2.P1]", "rate: 4000 /s", "size: 94 B", "pcp: 4", "vlan: 5"] {
        assert!(lines.contains(part), "{lines}");
    }
}

/// Oracle: the guide's file, which was written to hold one of each.
#[test]
fn what_is_found_in_the_bay() {
    let plan = bay();
    let codes: Vec<Code> = plan.findings.iter().map(|finding| finding.code).collect();
    assert_eq!(
        codes,
        [Code::SharedAddress, Code::UnusedCable, Code::NoSubscriber, Code::NoAddress,]
    );
    let text = String::from_utf8(read("../../docs/guides/bay.scd")).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    for (finding, part) in plan.findings.iter().zip([
        "cbName=\"gcbTrip\"",
        "L9",
        "name=\"gcbPosition\"",
        "name=\"gcbSpare\"",
    ]) {
        let line = lines[finding.line - 1];
        assert!(line.contains(part), "{finding:?}: {line}");
    }
}

/// Oracle: the cables of the file: L1 and L2 have two ends, one of them at the switch; L9 has one.
#[test]
fn cables_of_the_bay() {
    let plan = bay();
    let links: Vec<&str> = plan.scenario.lines().filter(|line| line.contains("ends:")).collect();
    let has = |ends: &str, comment: &str| {
        let mut links = links.iter();
        links.any(|line| line.contains(ends) && line.contains(comment))
    };
    assert!(has("[Relay1.S1, \"SwitchA:1\"]", "cable `L1`"), "{links:?}");
    assert!(has("[Relay2.S1, \"SwitchA:2\"]", "cable `L2`"), "{links:?}");
    assert!(has("[Control, \"SwitchA:3\"]", "no such cable"), "{links:?}");
    assert!(has("[MU1, \"ProcessBus:1\"]", "no such cable"), "{links:?}");
    assert_eq!(count(&plan, "switches"), 2);
}

/// Oracle: each comment that says `assumed` is in the list with its line, and nothing else.
#[test]
fn assumptions_are_comments_on_their_lines() {
    for path in ["../../docs/guides/bay.scd", "tests/data/autogen-substation-demo.scd"] {
        let plan = plan(path, &Options::new());
        let lines = plan.scenario.lines().enumerate();
        let marked: Vec<(usize, &str)> = lines
            .filter_map(|(number, line)| Some((number + 1, line.split_once("# assumed: ")?.1)))
            .collect();
        let listed: Vec<(usize, &str)> = plan
            .assumptions
            .iter()
            .map(|assumption| (assumption.line, assumption.text.as_str()))
            .collect();
        assert_eq!(marked, listed);
        assert!(!listed.is_empty());
    }
}

/// Oracle: IEC 61850-9-2LE at 60 Hz; what the user states is not assumed.
#[test]
fn what_the_user_states_is_taken() {
    let options = Options::new()
        .with_frequency(Frequency::parse("60").expect("hertz"))
        .with_deadline(Class::SampledValues, Some(Duration::from_ms(1)))
        .with_deadline(Class::Goose, None);
    let plan = plan("../../docs/guides/bay.scd", &options);
    let samples = flow(&plan, "MU1/MU/msvcb01");
    assert!(samples.contains(&"rate: 4800 /s"), "{samples:?}");
    assert!(samples.contains(&"deadline: 1 ms"), "{samples:?}");
    let trip = flow(&plan, "Relay1/LD0/gcbTrip event").join("; ");
    assert!(!trip.contains("deadline"), "{trip}");
    let of_samples = plan.assumptions.iter();
    let mut of_samples = of_samples.filter(|a| a.key.starts_with("flows.MU1"));
    assert_eq!(of_samples.next(), None);
}

#[test]
fn the_result_is_the_same_every_time() {
    assert_eq!(bay(), bay());
}

/// Oracle: the files, which hold nothing to import, or not what the format asks for.
#[test]
fn what_cannot_be_imported_is_refused_with_a_remedy() {
    let bay = String::from_utf8(read("../../docs/guides/bay.scd")).expect("text");
    let alone = &bay[..bay.find("<Communication>").expect("part")];
    let silent = bay.replace("GSE ldInst", "X ldInst").replace("/GSE>", "/X>");
    let silent = silent.replace("<SMV ", "<X ").replace("/SMV>", "/X>");
    for (text, part) in [
        (String::new(), "format is not known"),
        ("a b c\n1 2 3\n".into(), "format is not known"),
        ("a,b,c\n1,2,3\n".into(), "no column `src`"),
        ("<html/>".into(), "root element `html`"),
        ("<SCL/>".into(), "no devices"),
        ("<SCL><IED name='a'/></SCL>".into(), "control block"),
        (format!("{alone}</SCL>"), "no devices"),
        (silent, "none of its 4 control blocks has an address"),
        ("<!DOCTYPE SCL><SCL/>".into(), "document type"),
    ] {
        let error = import("x.scd", text.as_bytes(), &Options::new()).expect_err(part);
        assert!(error.what.contains(part), "{error}");
        assert!(!error.remedy.is_empty() && error.to_string().starts_with("x.scd:"));
    }
}

/// Reports of the bay: two to clients, one of a logical node of its own; one names no client.
const REPORTS: &str = r#"<ReportControl name="urcb" datSet="Trip" rptID="" buffered="false" bufTime="50" intgPd="2000" confRev="1">
    <TrgOps dchg="true" qchg="true" period="true"/><OptFields seqNum="true" timeStamp="true" reasonCode="true"/>
    <RptEnabled max="2"><ClientLN iedName="Control" apRef="S1" lnClass="ITCI" lnInst="1"/>
      <ClientLN iedName="Relay2" lnClass="ITCI" lnInst="1"/><ClientLN iedName="Gateway" lnClass="ITCI" lnInst="1"/></RptEnabled>
  </ReportControl>
  <ReportControl name="brcb" datSet="Missing" buffered="true" confRev="1"><TrgOps dchg="true"/>
    <RptEnabled max="1"><ClientLN iedName="Control" lnClass="ITCI" lnInst="1"/></RptEnabled></ReportControl>
  <ReportControl name="spare" datSet="Trip" buffered="false" confRev="1"><TrgOps dchg="true"/></ReportControl>
  "#;

/// Oracle: by hand. The members of `Trip` have 3 + 5 + (2 + 4 + 5 + 10) octets in BER, as for GOOSE;
/// the identifier is `Relay1LD0/LLN0$BR$urcb01`'s length of 24; options 5, number 5, time 8,
/// inclusion 2 + 2, three reasons of 4: 26 + 5 + 5 + 8 + 4 + 29 + 12 = 89 of results, 91 with tag
/// and length; 98 with the name, 102, 107, 111 and 11 before.
#[test]
fn reports_to_clients_are_messages_over_tcp() {
    let text = String::from_utf8(read("../../docs/guides/bay.scd")).expect("text");
    let text = text.replacen("<GSEControl", &format!("{REPORTS}<GSEControl"), 1);
    let plan = import("bay.scd", text.as_bytes(), &Options::new()).expect("a plan");
    let lines = flow(&plan, "Relay1/LD0/LLN0.urcb changes");
    let expected = [
        "class: report",
        "description: unbuffered report of data set Trip",
        "from: Relay1.S1",
        "to: [Relay2.S1, Control]",
        "over: tcp",
        "min_gap: 50 ms",
        "size: 122 B",
    ];
    assert_eq!(lines, expected, "{}", plan.scenario);
    let lines = flow(&plan, "Relay1/LD0/LLN0.urcb period");
    assert!(lines.contains(&"period: 2 s"), "{lines:?}");
    let lines = flow(&plan, "Relay1/LD0/LLN0.brcb changes");
    assert!(lines.contains(&"min_gap: 1 s"), "{lines:?}");
    assert!(lines.contains(&"to: [Control]"), "{lines:?}");
    assert_eq!((count(&plan, "report_blocks"), count(&plan, "reported")), (3, 2));
    let texts: Vec<&str> = plan.findings.iter().map(|own| own.text.as_str()).collect();
    assert!(texts.contains(&"the client `Gateway` is not in the file"), "{texts:?}");
    let unknown = "the size of `Relay1/LD0/LLN0.brcb` is not known: the data set `Missing` is not in \
                   the file";
    assert!(texts.contains(&unknown), "{texts:?}");
}
