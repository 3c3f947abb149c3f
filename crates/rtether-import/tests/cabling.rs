//! Who is cabled to whom. Oracle: the lists themselves; what lldpcli of lldpd 1.0.16 has printed on
//! three hosts joined by cables, with the description of the system left out.

use std::fs;
use std::path::Path;

use rtether_import::{Cabling, Code, File, ImportError, Options, Plan, import};

/// The switches of the bay in a line, two relays at the first.
const LINKS: &str = "node,port,neighbor,neighbor_port,rate
North,1,Relay1,S1,100 Mbit/s
North,2,Relay2.S1,,100 Mbit/s
North,9,South,9,1 Gbit/s
South,1,Control,,
Process,1,MU1,P1,
Process,2,Relay1,P1,
Process,3,Relay2,P1,
";

const HEARD: &str = r#"{ "lldp": { "interface": [
  { "p1": { "via": "LLDP", "rid": "2", "age": "0 day, 00:00:04",
      "chassis": { "ior1": { "id": { "type": "mac", "value": "96:cc:64:89:b9:f9" }, "mgmt-iface": "2",
        "capability": [ { "type": "Bridge", "enabled": false }, { "type": "Station", "enabled": true } ] } },
      "port": { "id": { "type": "mac", "value": "96:cc:64:89:b9:f9" }, "descr": "eth0", "ttl": "4",
        "auto-negotiation": { "supported": false, "enabled": false,
          "current": "10GbaseT - Four-pair Category 6A or better, full duplex mode only" } } } },
  { "p2": { "via": "LLDP", "rid": "1", "age": "0 day, 00:00:08",
      "chassis": { "ior2": { "id": { "type": "mac", "value": "12:83:e7:b1:d1:14" }, "mgmt-iface": "2" } },
      "port": { "id": { "type": "ifname", "value": "eth0" }, "ttl": "4",
        "auto-negotiation": { "current": "100BaseTXFD - 2-pair category 5 UTP, full duplex mode" } } } }
] } }"#;

/// The same link from the other end: one interface, which is no list then.
const HEARD_THERE: &str = r#"{ "lldp": { "interface": { "eth0": { "via": "LLDP", "rid": "1",
  "chassis": { "ios1": { "id": { "type": "mac", "value": "a6:80:63:e9:24:30" } } },
  "port": { "id": { "type": "mac", "value": "a6:80:63:e9:24:30" }, "descr": "p1", "ttl": "4" } } } } }"#;

fn cabling(files: &[(&str, &str)]) -> Result<Cabling, ImportError> {
    let files = files.iter().map(|(name, text)| File { name, octets: text.as_bytes() });
    let files: Vec<File<'_>> = files.collect();
    Cabling::read(&files)
}

fn bay(links: &str) -> Plan {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let octets =
        fs::read(root.join("../../docs/guides/bay.scd")).expect("a file of the repository");
    let cabling = cabling(&[("links.csv", links)]).expect("links");
    let options = Options::new().with_cabling(cabling);
    import("bay.scd", &octets, &options).expect("a plan")
}

/// Returns the lines of the links, without comments.
fn links(plan: &Plan) -> Vec<&str> {
    let lines = plan.scenario.lines().skip_while(|line| *line != "links:");
    let lines = lines.skip(1).take_while(|line| !line.is_empty());
    let lines = lines.map(|line| line.split(" #").next().unwrap_or_default().trim());
    lines.collect()
}

#[test]
fn a_list_of_links_takes_the_place_of_cables_in_scl() {
    let plan = bay(LINKS);
    let expected = [
        "- { ends: [\"North:1\", Relay1.S1], rate: 100 Mbit/s }",
        "- { ends: [\"North:2\", Relay2.S1], rate: 100 Mbit/s }",
        "- { ends: [\"North:3\", \"South:1\"], rate: 1 Gbit/s }",
        "- { ends: [\"South:2\", Control], rate: 100 Mbit/s }",
        "- { ends: [\"Process:1\", MU1], rate: 100 Mbit/s }",
        "- { ends: [\"Process:2\", Relay1.P1], rate: 100 Mbit/s }",
        "- { ends: [\"Process:3\", Relay2.P1], rate: 100 Mbit/s }",
    ];
    assert_eq!(links(&plan)[..7], expected, "{}", plan.scenario);
    // Listeners that the file does not name are at the switch of their subnetwork.
    assert!(links(&plan)[7].contains("StationBus.unknown"), "{}", plan.scenario);
    assert_eq!(links(&plan).len(), 8, "{}", plan.scenario);
    assert!(plan.scenario.contains("# links.csv:2"), "{}", plan.scenario);
    let cables = plan.findings.iter().filter(|own| own.code == Code::UnusedCable);
    assert_eq!(cables.count(), 0, "{:?}", plan.findings);
}

#[test]
fn what_cannot_be_a_link_is_found() {
    let links = format!("{LINKS}South,3,Relay1,,\nSouth,4,Relay1,S1,\nMU1,,Control,,\n");
    let plan = bay(&links);
    let cables = plan.findings.iter().filter(|own| own.code == Code::UnusedCable);
    let texts: Vec<&str> = cables.map(|own| own.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "the link of `MU1` and `Control` (links.csv:11) joins two stations, none of which is a switch",
            "the link of `South` and `Relay1` (links.csv:10) is the second one of a station, which has \
             one interface here",
            "the link of `South` and `Relay1` (links.csv:9) does not say which access point: name it \
             as its port",
        ]
    );
}

#[test]
fn neighbors_by_lldp_are_links() {
    let flows = "src,dst,size,period\nior1,ior2,100,1000000\n";
    let heard = cabling(&[("ios1.json", HEARD), ("ior1.json", HEARD_THERE)]).expect("links");
    let options = Options::new().with_cabling(heard);
    let plan = import("flows.csv", flows.as_bytes(), &options).expect("a plan");
    let expected = [
        "- { ends: [\"ios1:1\", ior1], rate: 10 Gbit/s }",
        "- { ends: [\"ios1:2\", ior2], rate: 100 Mbit/s }",
    ];
    assert_eq!(links(&plan), expected, "{}", plan.scenario);
}

#[test]
fn what_is_no_list_of_links_is_refused() {
    for (name, text, what) in [
        ("a.csv", "from,to\n1,2\n", "it has no column `node`"),
        ("a.csv", "node,neighbor\n", "it has no links"),
        ("a.csv", "node,neighbor\na,a\n", "`neighbor` is `a`"),
        ("a.csv", "node,neighbor,rate\na,b,100\n", "`rate` is `100`"),
        ("a.json", "{ \"lldp\": 1 }", "it is JSON without `lldp`"),
        (
            "a.json",
            "{ \"lldp\": { \"interface\": [ { \"e\": 1 } ] } }",
            "nothing says who is behind `e`",
        ),
        ("a.json", "{", "it is not JSON"),
    ] {
        let error = cabling(&[(name, text)]).expect_err(text);
        assert!(error.what.starts_with(what), "{error}");
    }
    let error = import("ios1.json", HEARD.as_bytes(), &Options::new()).expect_err("no flows");
    assert!(error.remedy.contains("--switches"), "{error}");
}
