//! TSN requirements of users, in XML and JSON.

use rtether_import::{Cabling, Class, Code, File, ImportError, Options, Plan, import};

use written::{flow, lines};

use crate::written;

/// A setpoint to two drives, and samples that come three at once, as of IEEE 802.1Qdj.
const JSON: &str = r#"{
  "ieee802-dot1q-tsn-config-uni:tsn-uni": { "domain": [ { "domain-id": "cell", "cuc": [ { "cuc-id": "1", "stream": [
    {
      "stream-id": "00-1B-19-00-00-01:00-2A",
      "talker": {
        "stream-rank": { "rank": 1 },
        "end-station-interfaces": [ { "mac-address": "00-1B-19-00-00-01", "interface-name": "eth0" } ],
        "data-frame-specification": [
          { "index": 0, "ieee802-mac-addresses": { "destination-mac-address": "01-00-5E-00-00-2A" } },
          { "index": 1, "ieee802-vlan-tag": { "priority-code-point": 6, "vlan-id": 20 } }
        ],
        "traffic-specification": {
          "interval": { "numerator": 1, "denominator": 1000 },
          "max-frames-per-interval": 1, "max-frame-size": 128, "transmission-selection": 0,
          "time-aware": { "earliest-transmit-offset": 5000, "latest-transmit-offset": 8000, "jitter": 500 }
        },
        "user-to-network-requirements": { "num-seamless-trees": 1, "max-latency": 500000 }
      },
      "listener": [
        { "index": 0, "end-station-interfaces": [ { "mac-address": "00:1b:19:00:00:02", "interface-name": "eth0" } ],
          "user-to-network-requirements": { "num-seamless-trees": 1, "max-latency": 400000 } },
        { "index": 1, "end-station-interfaces": [ { "mac-address": "00-1B-19-00-00-03", "interface-name": "eth0" } ] }
      ]
    },
    {
      "stream-id": "00-1B-19-00-00-02:00-01",
      "talker": {
        "end-station-interfaces": [ { "mac-address": "00-1B-19-00-00-02", "interface-name": "eth0" } ],
        "data-frame-specification": [
          { "index": 0, "ieee802-mac-addresses": { "destination-mac-address": "01-00-5E-00-00-2A" } },
          { "index": 1, "ieee802-vlan-tag": { "priority-code-point": 5, "vlan-id": 20 } }
        ],
        "traffic-specification": {
          "interval": { "numerator": 1, "denominator": 3000 },
          "max-frames-per-interval": 3, "max-frame-size": 1500, "transmission-selection": 1
        },
        "user-to-network-requirements": { "num-seamless-trees": 2, "max-latency": 0 }
      },
      "listener": [ { "index": 0, "end-station-interfaces": [ { "mac-address": "00-1B-19-00-00-01", "interface-name": "eth0" } ] } ]
    }
  ] } ] } ] }
}"#;

/// One stream with a request, as earlier drafts have it, in a reply of NETCONF.
const XML: &str = r#"<?xml version="1.0"?>
<rpc-reply xmlns="urn:ietf:params:xml:ns:netconf:base:1.0" message-id="1"><data>
  <u:tsn-uni xmlns:u="urn:ieee:std:802.1Q:yang:ieee802-dot1q-tsn-types-upc-version">
    <u:stream-list>
      <u:stream-id>00-1B-19-00-00-01:00-2A</u:stream-id>
      <u:request>
        <u:talker>
          <u:end-station-interfaces>
            <u:mac-address>00-1B-19-00-00-01</u:mac-address>
            <u:interface-name>eth0</u:interface-name>
          </u:end-station-interfaces>
          <u:traffic-specification>
            <u:interval><u:numerator>1</u:numerator><u:denominator>500</u:denominator></u:interval>
            <u:max-frames-per-interval>1</u:max-frames-per-interval>
            <u:max-frame-size>64</u:max-frame-size>
          </u:traffic-specification>
          <u:user-to-network-requirements><u:max-latency>250000</u:max-latency></u:user-to-network-requirements>
        </u:talker>
        <u:listeners-list>
          <u:index>1</u:index>
          <u:end-station-interfaces><u:mac-address>00-1B-19-00-00-02</u:mac-address></u:end-station-interfaces>
        </u:listeners-list>
      </u:request>
      <u:configuration><u:talker><u:accumulated-latency>1</u:accumulated-latency></u:talker></u:configuration>
    </u:stream-list>
  </u:tsn-uni>
</data></rpc-reply>
"#;

fn plan(text: &str, options: &Options) -> Result<Plan, ImportError> {
    import("uni.json", text.as_bytes(), options)
}

/// Oracle: by hand, and IEEE 802.1Q, 46.2.3: an interval is a fraction of a second, sizes are without
/// headers, latencies in nanoseconds, and of several requirements the strictest counts. A third of a
/// millisecond is rounded down.
#[test]
fn streams_are_flows() {
    let plan = plan(JSON, &Options::new()).unwrap_or_else(|error| panic!("{error}"));
    let lines = lines(&plan);
    assert_eq!(
        flow(&lines, "\"00-1B-19-00-00-01/00-2A\""),
        [
            "from: \"00-1B-19-00-00-01\"",
            "to: [\"00-1B-19-00-00-02\", \"00-1B-19-00-00-03\"]",
            "delivery: multicast",
            "over: raw",
            "period: 1 ms",
            "phase: 4500 ns",
            "jitter: 4 us",
            "size: 128 B",
            "pcp: 6",
            "vlan: 20",
            "deadline: 400 us",
        ]
    );
    assert_eq!(
        flow(&lines, "\"00-1B-19-00-00-02/00-01\""),
        [
            "from: \"00-1B-19-00-00-02\"",
            "to: [\"00-1B-19-00-00-01\"]",
            "over: raw",
            "min_gap: 333333333 ps",
            "burst: 3",
            "size: 1500 B",
            "pcp: 5",
            "vlan: 20",
        ]
    );
    let found: Vec<(usize, Code)> = plan.findings.iter().map(|own| (own.line, own.code)).collect();
    assert_eq!(found, [(26, Code::SharedAddress), (26, Code::NotRead)]);
    let stated = Options::new().with_deadline(Class::Sporadic, None);
    let stated =
        stated.with_deadline(Class::Periodic, Some(rtether_model::quantity::Duration::from_ms(1)));
    let plan = self::plan(JSON, &stated).expect("a plan");
    assert!(plan.scenario.contains("deadline: 1 ms") && !plan.scenario.contains("400 us"));
}

/// Oracle: by hand. Addresses are the same in every form.
#[test]
fn xml_is_read_and_links_are_those_given() {
    let links = "node,neighbor,rate\nsw1,00:1b:19:00:00:01,100 Mbit/s\nsw1,sw2,1 Gbit/s\nsw2,00-1B-19-00-00-02,100 Mbit/s\n";
    let file = File { name: "links.csv", octets: links.as_bytes() };
    let cabling = Cabling::read(&[file]).expect("links");
    let plan = plan(XML, &Options::new().with_cabling(cabling));
    let plan = plan.unwrap_or_else(|error| panic!("{error}"));
    let lines = lines(&plan);
    for line in [
        "- { ends: [\"sw1:1\", \"00-1B-19-00-00-01\"], rate: 100 Mbit/s }",
        "- { ends: [\"sw1:2\", \"sw2:1\"], rate: 1 Gbit/s }",
        "period: 2 ms",
        "size: 64 B",
        "deadline: 250 us",
    ] {
        assert!(lines.contains(&line), "{line}\n{}", plan.scenario);
    }
    assert_eq!(plan.findings, []);
    assert_eq!(plan.counts[0].number, 1);
}

#[test]
fn what_is_not_stated_is_found_and_what_cannot_be_is_refused() {
    for (from, to, code) in [
        ("\"max-frame-size\": 128", "\"max-frame-size\": 1522", Code::TooLarge),
        ("\"max-frame-size\": 128, ", "", Code::UnknownSize),
        ("\"max-frames-per-interval\": 1,", "\"max-frames-per-interval\": 0,", Code::BadValue),
        (
            "\"listener\": [\n        { \"index\": 0",
            "\"other\": [\n        { \"index\": 0",
            Code::NoSubscriber,
        ),
        (
            "{ \"mac-address\": \"00:1b:19:00:00:02\", \"interface-name\": \"eth0\" }",
            "{ }",
            Code::NoInterface,
        ),
        ("\"denominator\": 1000", "\"denominator\": 0", Code::NotRead),
    ] {
        let text = JSON.replacen(from, to, 1);
        assert_ne!(text, JSON, "{from}");
        let plan = plan(&text, &Options::new()).unwrap_or_else(|error| panic!("{error}"));
        let found = plan.findings.iter().any(|own| own.line == 4 && own.code == code);
        assert!(found, "{code:?}: {:?}", plan.findings);
    }
    for (text, what) in [
        (
            XML.replace("500</u:den", "0</u:den"),
            "the stream `00-1B-19-00-00-01/00-2A`: its interval",
        ),
        (XML.replace("u:talker>", "u:sender>"), "it has no stream with a talker"),
        (XML.replace("</data>", ""), "the file ends before"),
        (JSON.replace("] } ] }\n}", ""), "it is not JSON"),
    ] {
        let error = plan(&text, &Options::new()).expect_err(what);
        let is_end = what.starts_with("the file ends") && error.what.starts_with("it is not XML");
        assert!(error.what.starts_with(what) || is_end, "{error}");
    }
}
