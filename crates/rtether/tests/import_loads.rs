//! What an import writes, a check takes: generated files of every format, and files of the field.
//! Oracle: the loader; where it says no, the import has said so.

#[allow(dead_code, reason = "these tests need a part of it")]
#[path = "../../rtether-import/tests/capture/mod.rs"]
mod capture;

use std::fmt::Write as _;

use capture::{ethernet, ipv4, pcap, udp};
use proptest::prelude::*;
use rtether::check::{Options as CheckOptions, check};
use rtether::import::{Code, File, Options, Plan, import, import_all};

use rtether::scenario::{self, Severity};
use rtether_model::network::{NodeKind, Redundancy};
use rtether_testkit::Dice;

/// Imports files; what comes of it loads, and says what it warns of.
fn taken(files: &[(&str, &[u8])]) -> Option<Plan> {
    let files = files.iter().map(|(name, octets)| File { name, octets });
    let files: Vec<File<'_>> = files.collect();
    let plan = import_all(&files, &Options::new()).ok()?;
    let loaded = scenario::load("plan.yaml", &plan.scenario);
    let words = loaded.text(scenario::render::Style::Plain);
    assert!(loaded.scenario.is_some(), "{words}\n{}", plan.scenario);
    let mut warnings = loaded.diagnostics.iter();
    let has_warning = warnings.any(|found| found.severity == Severity::Warning);
    let is_told = plan.findings.iter().any(|found| found.code == Code::Plant);
    assert_eq!(has_warning, is_told, "{words}");
    Some(plan)
}

/// A stream of a capture: protocol over IP or type, who, how often, and how much.
#[derive(Clone, Debug)]
struct Traffic {
    kind: Kind,
    from: u8,
    to: u16,
    period_us: u64,
    size: usize,
    tos: u8,
    tag: Option<u16>,
}

#[derive(Clone, Debug)]
enum Kind {
    Ip(u8),
    Ip6(u8),
    Type(u16),
    /// A length in place of a type.
    Length,
}

impl Traffic {
    fn frame(&self) -> Vec<u8> {
        let data = vec![0x45; self.size];
        let inside = match self.kind {
            Kind::Ip(17) => udp(4000, 5000, &data),
            Kind::Ip(6) => {
                let mut head = vec![0x30, 0x39, 0, 80, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18];
                head.extend([0; 6]);
                head.extend(&data);
                head
            }
            Kind::Ip(_) | Kind::Ip6(_) | Kind::Type(_) | Kind::Length => data,
        };
        let (kind, inside) = match self.kind {
            Kind::Ip(protocol) => {
                let to = u8::try_from(self.to & 0xff).expect("an octet");
                let mut packet = ipv4(self.from, to, protocol, &inside);
                packet[1] = self.tos;
                (0x0800, packet)
            }
            Kind::Ip6(protocol) => {
                let length = u16::try_from(inside.len()).expect("it fits").to_be_bytes();
                let mut packet = vec![0x60 | self.tos >> 4, self.tos << 4, 0, 0];
                packet.extend([length[0], length[1], protocol, 64]);
                packet.extend([self.from; 16]);
                packet.extend([7; 16]);
                packet.extend(inside);
                (0x86DD, packet)
            }
            Kind::Type(kind) => (kind, inside),
            Kind::Length => (u16::try_from(self.size.max(3)).expect("a length"), inside),
        };
        ethernet(self.from, self.to, self.tag, kind, &inside)
    }
}

const PROTOCOLS: &[u8] = &[1, 2, 6, 17, 47, 50, 51, 58, 89, 112, 132];
const TYPES: &[u16] = &[0x88B8, 0x88BA, 0x8892, 0x88CC, 0x88B5, 0x0806, 0x892F];

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        4 => prop::sample::select(PROTOCOLS).prop_map(Kind::Ip),
        2 => prop::sample::select(PROTOCOLS).prop_map(Kind::Ip6),
        2 => prop::sample::select(TYPES).prop_map(Kind::Type),
        1 => Just(Kind::Length),
    ]
}

fn traffic() -> impl Strategy<Value = Traffic> {
    let to = prop_oneof![1_u16..6, 0x100_u16..0x104];
    let tag = proptest::option::of(any::<u16>());
    let period = prop_oneof![20_u64..5_000, Just(1_000_u64), 100_000_u64..90_000_000];
    let size = prop_oneof![0_usize..1_400, 1_350_usize..1_460];
    (kind(), 1_u8..6, to, period, size, any::<u8>(), tag).prop_map(
        |(kind, from, to, period_us, size, tos, tag)| Traffic {
            kind,
            from,
            to,
            period_us,
            size,
            tos,
            tag,
        },
    )
}

/// A capture of all streams, each with some frames.
fn captured(all: &[Traffic]) -> Vec<u8> {
    let mut frames = Vec::new();
    for (number, own) in all.iter().enumerate() {
        let frame = own.frame();
        for n in 0..8 + 5 * number as u64 {
            frames.push((n * own.period_us * 1_000 + 1_000_000_000, frame.clone()));
        }
    }
    frames.sort();
    pcap(&frames)
}

/// A list of flows with the keys of a scenario as titles.
fn list(rows: &[(u8, u8, u64, u64, u64)]) -> String {
    let mut text = "name,from,to,period,size,deadline,pcp\n".to_owned();
    for (from, to, period, size, deadline) in rows {
        let _ = writeln!(text, "f,n{from},n{to},{period} us,{size} B,{deadline} us,{}", size % 8);
    }
    text
}

/// A network of Saihu whose ports count from `first`.
fn saihu(first: usize, flows: &[(usize, usize, u64, u64)]) -> String {
    let port = |node: usize, number: usize| format!("s{node}-o{}", number + first);
    let mut servers = String::new();
    for node in 0..4 {
        for number in 0..3 {
            let _ = write!(
                servers,
                r#"{}{{"name":"{}","service_curve":{{"latencies":["10us"],"rates":["100Mbps"]}}}}"#,
                if servers.is_empty() { "" } else { "," },
                port(node, number)
            );
        }
    }
    // From the port of a talker through the switch to one of its ports.
    let flow = |(number, (talker, out, burst, rate)): (usize, &(usize, usize, u64, u64))| {
        format!(
            r#"{{"name":"f{number}","path":["{}","{}"],"arrival_curve":{{"bursts":["{burst}B"],"rates":["{rate}kbps"]}},"max_packet_length":"{}B"}}"#,
            port(*talker, 0),
            port(3, *out),
            (*burst).min(1500)
        )
    };
    let flows: Vec<String> = flows.iter().enumerate().map(flow).collect();
    format!(r#"{{"network":{{"name":"n"}},"flows":[{}],"servers":[{servers}]}}"#, flows.join(","))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn captures(all in prop::collection::vec(traffic(), 1..6)) {
        taken(&[("x.pcap", &captured(&all))]);
    }

    #[test]
    fn lists(rows in prop::collection::vec((0_u8..4, 4_u8..8, prop_oneof![50_u64..9_000, 50_u64..86_400_000_000], 0_u64..65_600, 1_u64..9_000_000), 1..6)) {
        taken(&[("x.csv", list(&rows).as_bytes())]);
    }

    #[test]
    fn networks_of_output_ports(flows in prop::collection::vec((0_usize..3, 0_usize..3, 64_u64..4_000, 1_u64..30_000), 1..6)) {
        let plans = [0, 1].map(|first| taken(&[("n.json", saihu(first, &flows).as_bytes())]));
        let [zero, one] = plans.map(|plan| plan.map(|plan| plan.scenario));
        // The names of listeners have the numbers of the file.
        let less = |text: String| (1..4).fold(text, |text, n| text.replace(&format!("-o{n}."), &format!("-o{}.", n - 1)));
        prop_assert_eq!(zero, one.map(less));
    }

    /// Devices of a station whose values are any: addresses, times, sizes of texts.
    #[test]
    fn stations(
        mac in prop_oneof![Just("01-0C-CD-01-00-01".to_owned()), "[0-9A-F]{2}(-[0-9A-F]{2}){5}"],
        appid in "[0-9A-F]{0,5}",
        times in (0_u32..100_000, 0_u32..100_000),
        pcp in 0_u32..12,
        vid in "[0-9A-F]{0,4}",
        bitrate in "[0-9]{0,5}",
    ) {
        let bay = include_str!("../../../docs/guides/bay.scd");
        let text = bay
            .replace("01-0C-CD-01-00-01", &mac)
            .replace(r#"<P type="APPID">0001</P>"#, &format!(r#"<P type="APPID">{appid}</P>"#))
            .replace(">4</MinTime>", &format!(">{}</MinTime>", times.0))
            .replace(">1000</MaxTime>", &format!(">{}</MaxTime>", times.1))
            .replace(r#"<P type="VLAN-PRIORITY">6</P>"#, &format!(r#"<P type="VLAN-PRIORITY">{pcp}</P>"#))
            .replace(r#"<P type="VLAN-ID">00A</P>"#, &format!(r#"<P type="VLAN-ID">{vid}</P>"#))
            .replace("multiplier=\"M\">100<", &format!("multiplier=\"M\">{bitrate}<"));
        taken(&[("x.scd", text.as_bytes())]);
    }
}

/// Networks that are drawn.
const DRAWN: u64 = 300;

/// Draws TSN requirements as JSON: intervals, sizes, offsets and tags of any kind, talkers that listen,
/// streams that have the same name.
fn requirements(number: u64) -> String {
    let mut dice = Dice::new(number ^ 0x0CC);
    let mac = |dice: &mut Dice| format!("00-1B-19-00-00-0{}", 1 + dice.index(4));
    let streams = (0..=dice.index(5)).map(|_| {
        let from = mac(&mut dice);
        let listeners = (0..dice.pick(&[1, 1, 1, 2, 3, 0])).map(|index| {
            let to = mac(&mut dice);
            let latency = dice.pick(&["0", "1", "400000", "4294967295", "-1"]);
            format!(
                r#"{{"index":{index},"end-station-interfaces":[{{"mac-address":"{to}","interface-name":"eth0"}}],"user-to-network-requirements":{{"max-latency":{latency}}}}}"#
            )
        });
        let listeners: Vec<String> = listeners.collect();
        let group = dice.pick(&["01-00-5E-00-00-2A", "00-1B-19-00-00-02", "FF-FF-FF-FF-FF-FF"]);
        let pcp = dice.pick(&["0", "6", "7", "8", "-1", "\"x\""]);
        let vid = dice.pick(&["0", "1", "20", "4094", "4095", "70000"]);
        let numerator = dice.pick(&["1", "1", "1", "3", "0", "1000000000"]);
        let denominator = dice.pick(&["1000", "1000", "3", "1", "0", "1000000"]);
        let frames = dice.pick(&["1", "1", "1", "3", "0", "20"]);
        let size = dice.pick(&["1", "64", "128", "1500", "1522", "9000", "65535", "0"]);
        let offsets = dice.pick(&[(0, 0, 0), (5_000, 8_000, 500), (8_000, 5_000, 0), (0, 2_000_000_000, 9_999_999)]);
        let (early, late, jitter) = offsets;
        format!(
            r#"{{"stream-id":"00-1B-19-00-00-01:00-0{}","talker":{{"stream-rank":{{"rank":1}},
            "end-station-interfaces":[{{"mac-address":"{from}","interface-name":"eth0"}}],
            "data-frame-specification":[{{"index":0,"ieee802-mac-addresses":{{"destination-mac-address":"{group}"}}}},
            {{"index":1,"ieee802-vlan-tag":{{"priority-code-point":{pcp},"vlan-id":{vid}}}}}],
            "traffic-specification":{{"interval":{{"numerator":{numerator},"denominator":{denominator}}},
            "max-frames-per-interval":{frames},"max-frame-size":{size},"transmission-selection":0,
            "time-aware":{{"earliest-transmit-offset":{early},"latest-transmit-offset":{late},"jitter":{jitter}}}}},
            "user-to-network-requirements":{{"num-seamless-trees":1,"max-latency":500000}}}},
            "listener":[{}]}}"#,
            dice.index(4),
            listeners.join(",")
        )
    });
    let streams: Vec<String> = streams.collect();
    format!(
        r#"{{"ieee802-dot1q-tsn-config-uni:tsn-uni":{{"domain":[{{"domain-id":"d","cuc":[{{"cuc-id":"1","stream":[{}]}}]}}]}}}}"#,
        streams.join(",")
    )
}

/// Draws nodes and connections of INET: trees, rings, switches that nothing is connected to, any rates.
fn ned(dice: &mut Dice, switches: usize, stations: usize) -> String {
    let mut ned = "network Plant extends TsnNetworkBase\n{\n    submodules:\n".to_owned();
    for switch in 0..switches {
        let _ = writeln!(ned, "        s{switch}: TsnSwitch;");
    }
    for station in 0..stations {
        let kind = dice.pick(&["TsnDevice", "TsnDevice", "StandardHost"]);
        let _ = writeln!(ned, "        n{station}: {kind};");
    }
    ned.push_str("    connections:\n");
    let links = [
        "Eth10M",
        "Eth100M",
        "Eth1G",
        "Eth10G",
        "EthernetLink",
        "EthernetLink { datarate = 0bps; }",
        "EthernetLink { length = 100km; }",
    ];
    for station in 0..stations {
        let (link, switch) = (dice.pick(&links), dice.index(switches));
        let _ = writeln!(ned, "        n{station}.ethg++ <--> {link} <--> s{switch}.ethg++;");
    }
    let ring = usize::from(dice.index(3) == 0 && switches > 2);
    for switch in 1..switches + ring {
        let (link, other) = (dice.pick(&links), switch % switches);
        let _ = writeln!(ned, "        s{}.ethg++ <--> {link} <--> s{other}.ethg++;", switch - 1);
    }
    ned.push_str("}\n");
    ned
}

/// Draws what the application of a station sends, and its priority.
fn application(dice: &mut Dice, station: usize, stations: usize) -> String {
    let to = dice.index(stations);
    let kind = dice.pick(&["UdpSourceApp", "UdpSourceApp", "UdpBasicApp", "TcpSessionApp"]);
    let size = dice.pick(&[
        "100B",
        "0B",
        "1472B",
        "1500B - 58B",
        "64KiB",
        "intuniform(20, 40) * 1B",
        "-3B",
    ]);
    let gap = dice.pick(&[
        "1ms",
        "1ms",
        "0s",
        "1ps",
        "uniform(1ms, 3ms)",
        "exponential(2ms)",
        "1ms + exponential(2ms)",
        "100000s",
        "-1s",
    ]);
    let start = dice.pick(&["0s", "5ms", "uniform(0s, 500us)", "100s"]);
    let pcp = dice.pick(&["0", "6", "7", "9"]);
    let app = format!("*.n{station}.app[0]");
    format!(
        "*.n{station}.numApps = 1\n{app}.typename = \"{kind}\"\n{app}.io.destAddress = \"n{to}\"\n\
         {app}.io.destPort = 1000\n{app}.destAddresses = \"n{to}\"\n\
         {app}.source.packetLength = {size}\n{app}.messageLength = {size}\n\
         {app}.source.productionInterval = {gap}\n{app}.sendInterval = {gap}\n\
         {app}.source.initialProductionOffset = {start}\n{app}.startTime = {start}\n\
         *.n{station}.hasOutgoingStreams = true\n\
         *.n{station}.bridging.streamIdentifier.identifier.mapping = [{{stream: \"s\", packetFilter: expr(udp.destPort == 1000)}}]\n\
         *.n{station}.bridging.streamCoder.encoder.mapping = [{{stream: \"s\", pcp: {pcp}}}]"
    )
}

/// Draws a network of INET, and what its applications send.
fn inet(number: u64) -> [String; 2] {
    let mut dice = Dice::new(number ^ 0x14E7);
    let (switches, stations) = (1 + dice.index(3), 2 + dice.index(3));
    let ned = ned(&mut dice, switches, stations);
    let mut ini = "[General]\nnetwork = Plant\n".to_owned();
    let run = dice.pick(&["1s", "0s", "1us", "100000s", "0.2s"]);
    let _ = writeln!(ini, "sim-time-limit = {run}");
    for station in 0..stations {
        ini += &application(&mut dice, station, stations);
        ini.push('\n');
    }
    let classes = dice.pick(&["1", "2", "4", "8", "0", "9"]);
    let slope = dice.pick(&["20Mbps", "0bps", "60.5Mbps", "200Gbps"]);
    let rate = dice.pick(&["100Mbps", "1Gbps", "0bps", "1bps"]);
    let _ = writeln!(
        ini,
        "*.*.eth[*].bitrate = {rate}\n*.s*.hasEgressTrafficShaping = true\n\
         *.s*.eth[*].macLayer.queue.numTrafficClasses = {classes}\n\
         *.s*.eth[*].macLayer.queue.transmissionSelectionAlgorithm[1].typename = \"Ieee8021qCreditBasedShaper\"\n\
         *.s*.eth[*].macLayer.queue.transmissionSelectionAlgorithm[1].idleSlope = {slope}"
    );
    [ned, ini]
}

/// What the loader says of a plant that has less than its flows need, which no import can mend.
const OVERLOADED: [&str; 2] = [" over a link of ", " add up to "];

/// Imports what was drawn. What is a plan loads; what is none is refused by the import, which knows the
/// file, and by the loader behind it only for its load.
fn all_taken(draw: impl Fn(u64) -> Vec<(&'static str, String)>, least: usize) {
    let mut plans = 0;
    let mut late = Vec::new();
    for number in 0..DRAWN {
        let texts = draw(number);
        let texts = texts.iter();
        let texts: Vec<(&str, &[u8])> =
            texts.map(|(name, text)| (*name, text.as_bytes())).collect();
        if taken(&texts).is_some() {
            plans += 1;
            continue;
        }
        let files = texts.iter().map(|(name, octets)| File { name, octets });
        let files: Vec<File<'_>> = files.collect();
        let error = import_all(&files, &Options::new()).expect_err("no plan");
        let is_load = OVERLOADED.iter().any(|words| error.what.contains(words));
        if error.what.contains("is refused") && !is_load {
            late.push(format!("{number}: {}", error.what));
        }
    }
    assert!(late.is_empty(), "{}", late.join("\n"));
    assert!(plans >= least, "{plans}");
}

#[test]
fn requirements_of_streams() {
    all_taken(|number| vec![("uni.json", requirements(number))], 100);
}

#[test]
fn networks_of_inet() {
    let draw = |number| {
        let [ned, ini] = inet(number);
        vec![("Plant.ned", ned), ("omnetpp.ini", ini)]
    };
    all_taken(draw, 40);
}

/// Returns a frame of type 88B5 with the number of HSR or of PRP.
fn numbered(from: u8, to: u16, number: u16, is_ring: bool, lane: u8) -> Vec<u8> {
    let [high, low] = number.to_be_bytes();
    let data = [7; 100];
    if is_ring {
        let tag = [lane << 4, 106, high, low, 0x88, 0xB5];
        ethernet(from, to, None, 0x892F, &[&tag[..], &data].concat())
    } else {
        let trailer = [high, low, 0xA0 | lane << 4, 106, 0x88, 0xFB];
        ethernet(from, to, None, 0x88B5, &[&data[..], &trailer].concat())
    }
}

/// Oracle: how the capture was made, and IEC 62439-3: 1 and 2 number their frames, 3 does not, 4 sends
/// none. What numbers its frames is in two networks; so is, assumed, what sends none.
#[test]
fn stations_of_redundant_networks_are_in_two() {
    for is_ring in [true, false] {
        let mut frames = Vec::new();
        for number in 0..200_u16 {
            let now = u64::from(number) * 1_000_000;
            for lane in [0, 1] {
                let later = now + u64::from(lane) * 40_000;
                frames.push((later, numbered(1, 2, number, is_ring, lane)));
                frames.push((later + 1_000, numbered(2, 4, 2 * number, is_ring, lane)));
                frames.push((later + 2_000, numbered(2, 0x101, 2 * number + 1, is_ring, lane)));
            }
            let plain = ipv4(3, 2, 17, &udp(4000, 5000, &[1; 60]));
            frames.push((now + 500_000, ethernet(3, 2, None, 0x0800, &plain)));
        }
        frames.sort();
        let plan = taken(&[("x.pcap", &pcap(&frames))]).expect("a plan");
        let loaded = scenario::load("x.yaml", &plan.scenario).into_scenario();
        let plant = loaded.unwrap_or_else(|words| panic!("{words}\n{}", plan.scenario));
        let twice = plant.network.iter_nodes().filter_map(|(id, node)| {
            let station = plant.network.end_station(id)?;
            Some((node.name.clone(), station.redundancy))
        });
        let twice: Vec<(String, Option<Redundancy>)> = twice.collect();
        let prp = Some(Redundancy::Prp);
        let of = |name: &str, is: Option<Redundancy>| (name.to_owned(), is);
        let expected = [
            of("02-00-00-00-00-01", prp),
            of("10.0.0.2", prp),
            of("10.0.0.3", None),
            of("02-00-00-00-00-04", prp),
            of("unknown", prp),
        ];
        assert_eq!(twice, expected, "{}", plan.scenario);
        // Two networks with a port for each station of theirs.
        let ports: Vec<usize> = plant
            .network
            .nodes
            .iter()
            .filter_map(|node| match &node.kind {
                NodeKind::Switch(switch) => Some(switch.ports.len()),
                NodeKind::EndStation(_) | NodeKind::Hub(_) => None,
            })
            .collect();
        assert_eq!(ports, [5, 4]);
        // What is not seen is assumed; what the trailer says is not.
        let assumed = plan.assumptions.iter().filter(|own| own.key.ends_with(".redundancy"));
        assert_eq!(assumed.count(), if is_ring { 3 } else { 1 }, "{}", plan.scenario);
        let sizes: Vec<u64> = plant.flows.iter().map(|flow| flow.payload.get()).collect();
        assert_eq!(sizes.iter().filter(|size| **size == 100).count(), 3, "{sizes:?}");
        let checked = check(&plant, CheckOptions::default()).expect("a run");
        let counts = checked.counts();
        let failed = (counts.lost, counts.late, counts.no_answer);
        assert_eq!(failed, (0, 0, 0), "{}", checked.summary());
    }
}

/// What fuzzing has kept: files of every format, most of them broken.
#[test]
fn the_corpus() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/import");
    let mut plans = 0;
    for entry in std::fs::read_dir(root).expect("a corpus") {
        let octets = std::fs::read(entry.expect("an entry").path()).expect("readable");
        plans += usize::from(taken(&[("x", &octets)]).is_some());
    }
    assert!(plans >= 3, "{plans}");
}

/// Oracle: the files' own words: nothing of them is left out without a finding.
#[test]
fn what_no_flow_can_say_is_found() {
    let of = |kind, to| Traffic {
        kind,
        from: 1,
        to,
        period_us: 1000,
        size: 100,
        tos: 46 << 2,
        tag: None,
    };
    for (kind, to) in [
        (Kind::Ip(2), 0x101),
        (Kind::Ip(89), 0x105),
        (Kind::Ip(112), 0x112),
        (Kind::Ip(47), 2),
        (Kind::Ip(50), 2),
        (Kind::Ip(6), 0x101),
        (Kind::Ip6(17), 2),
    ] {
        let all = [of(kind.clone(), to), of(Kind::Ip(17), 3)];
        let plan = taken(&[("x.pcap", &captured(&all))]).expect("a plan");
        let codes: Vec<Code> = plan.findings.iter().map(|found| found.code).collect();
        assert!(codes.contains(&Code::NotRead), "{kind:?}: {codes:?}");
        assert!(plan.scenario.contains("dscp: 46"), "UDP keeps its own");
    }
}

/// Bursts that are rare, which a short run has more often: what they cost then, a station can do.
#[test]
fn rare_bursts_overload_no_assumed_stack() {
    let frame = ethernet(1, 2, None, 0x0800, &ipv4(1, 2, 17, &udp(4000, 5000, &[0; 60])));
    let mut frames = Vec::new();
    for burst in 0..4_u64 {
        for number in 0..5_000 {
            let at = burst * 30_000_000_000 + number * 2_000 * (1 + number % 3);
            frames.push((at, frame.clone()));
        }
    }
    frames.sort();
    taken(&[("x.pcap", &pcap(&frames))]).expect("a plan");
}

/// Bulk alone, and a flow each day beside one each millisecond: a run of a day would not end.
#[test]
fn what_stands_alone_or_is_slow_has_a_short_run() {
    let bulk = Traffic {
        kind: Kind::Ip(6),
        from: 1,
        to: 2,
        period_us: 200,
        size: 1_400,
        tos: 0,
        tag: None,
    };
    taken(&[("x.pcap", &captured(&[bulk]))]).expect("a plan");
    let text = "name,from,to,period,size\nfast,a,b,1 ms,64\nbackup,b,a,86400 s,1000 B\n";
    let plan = import("x.csv", text.as_bytes(), &Options::new()).expect("a plan");
    let loaded = scenario::load("x.yaml", &plan.scenario).into_scenario();
    let run = loaded.expect("a plan").run.duration;
    assert!(run.as_ps() <= 10_000_000_000_000, "{run:?}");
    assert!(plan.scenario.contains("period: 86400 s"));
    assert!(plan.scenario.contains("phase:"), "{}", plan.scenario);
}

/// Sizes that the loader refuses are told by the import, not by the check after it.
#[test]
fn a_plant_that_is_refused_is_not_written() {
    let text = "src,dst,size,period,deadline\na,b,1500,1000,1000\n";
    let links = "link,rate\n\"(a, b)\",1\n";
    let files = [("f.csv", text), ("l.csv", links)]
        .map(|(name, text)| File { name, octets: text.as_bytes() });
    let wrong = import_all(&files, &Options::new()).expect_err("too much");
    assert!(wrong.what.contains("refused"), "{wrong}");
    assert!(!wrong.to_string().contains('\n'), "{wrong}");
}
