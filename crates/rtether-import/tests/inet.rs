//! Networks of INET: NED and `omnetpp.ini`.

use rtether_import::{Class, Code, File, ImportError, Options, Plan, import_all};
use rtether_model::quantity::Duration;

use written::{flow, lines};

use crate::written;

/// A line of cells, each a switch with two sensors, and a controller at the first.
const NED: &str = r#"
package plant; // cells
import inet.networks.base.TsnNetworkBase;

module CellSwitch extends TsnSwitch
{
    parameters:
        hasEgressTrafficShaping = default(true);
}

network Cells extends TsnNetworkBase
{
    parameters:
        @display("bgb=500,200");
        int cells = default(2);
        string label @enum("a", "b") = default("a");
        *.eth[*].bitrate = default(100Mbps);
        **.clock.x = 5;
    types:
        channel Long extends EthernetLink
        {
            length = 200m;
        }
    submodules:
        sensor[2 * cells]: <default("TsnDevice")> like IEthernetNetworkNode {
            @display("p=1,2;i=device/card");
        }
        cell[cells]: CellSwitch {
            gates:
                ethg[4];
        }
        controller: TsnDevice;
        clock: <default("")> like IEthernetNetworkNode if typename != "";
        visualizer: IntegratedCanvasVisualizer;
    connections allowunconnected:
        for i = 0..cells - 1, for k = 0..1 {
            sensor[2 * i + k].ethg++ <--> EthernetLink <--> cell[i].ethg[k];
        }
        cell[i].ethg[2] <--> Long <--> cell[i + 1].ethg[3] for i = 0..cells - 2, if i % 2 == 0;
        controller.ethg++ <--> Eth1G { delay = 1us; } <--> cell[0].ethg[3];
        clock.ethg++ <--> Eth1G <--> cell[0].ethg++ if exists(clock);
}
"#;

const INI: &str = r#"# what cells send
[General]
network = plant.Cells
sim-time-limit = 0.2s
*.sensor[*].numApps = 1
*.sensor[*].app[0].typename = "UdpSourceApp"
*.sensor[0..1].app[0].display-name = "near"
*.sensor[*].app[0].io.destAddress = "controller"
*.sensor[*].app[0].io.destPort = 1000 # of all
*.sensor[*].app[0].source.packetLength = 1500B - 58B
*.sensor[3].app[0].source.productionInterval = 1ms + exponential(2ms)
*.sensor[2].app[0].source.productionInterval = uniform(1ms, 3ms)
*.sensor[*].app[0].source.productionInterval = 500us
*.sensor[1].app[0].source.initialProductionOffset = 20us + uniform(0s, 500us)
*.sensor[*].hasOutgoingStreams = true
*.sensor[*].bridging.streamIdentifier.identifier.mapping = [{stream: "s", packetFilter: expr(udp.destPort == 1000)},
    {stream: "t", packetFilter: expr(has(udp))}]
*.sensor[*].bridging.streamCoder.encoder.mapping = [{stream: "s", pcp: 6, vlan: 7}, {stream: "t", pcp: 1}]
*.controller.numApps = 4
*.controller.app[0..1].typename = "UdpBasicApp"
*.controller.app[0].destAddresses = "sensor[0]%eth0"
*.controller.app[1].destAddresses = "sensor[1]"
*.controller.app[0..1].messageLength = intuniform(20, 40) * 1B
*.controller.app[0..1].sendInterval = 10ms
*.controller.app[0..1].startTime = 5ms
*.controller.app[0..1].display-name = "setpoint"
*.controller.app[2].typename = "UdpSinkApp"
*.controller.app[3].typename = "TcpSessionApp"
*.cell[*].eth[*].macLayer.queue.numTrafficClasses = 4
*.cell[*].eth[3].macLayer.queue.transmissionSelectionAlgorithm[3].typename = "Ieee8021qCreditBasedShaper"
*.cell[*].eth[3].macLayer.queue.transmissionSelectionAlgorithm[3].idleSlope = 60.5Mbps
*.cell[1].eth[*].macLayer.queue.transmissionGate[0].durations = [20us, 80us]
*.gateScheduleConfigurator.configuration = [{source: "sensor[0]", application: "app[0]", maxLatency: 400us}]
"#;

fn files<'f>(texts: &[(&'f str, &'f str)]) -> Vec<File<'f>> {
    let files = texts.iter().map(|(name, text)| File { name, octets: text.as_bytes() });
    files.collect()
}

fn plan(ned: &str, ini: &str, options: &Options) -> Result<Plan, ImportError> {
    import_all(&files(&[("Plant.ned", ned), ("omnetpp.ini", ini)]), options)
}

/// Oracle: by hand. Interfaces are numbered by gates; light takes 5 ns a metre of cable, and a cable
/// without a length has 10 m; priorities have the queues of IEEE 802.1Q, table 8-5.
#[test]
fn modules_are_nodes_and_connections_links() {
    let plan = plan(NED, INI, &Options::new()).unwrap_or_else(|error| panic!("{error}"));
    let lines = lines(&plan);
    for line in [
        "name: Cells",
        "controller: { stack: station }",
        "\"sensor[3]\": { stack: station }",
        "- { ends: [\"sensor[3]\", \"cell[1]:2\"], rate: 100 Mbit/s, propagation: 50 ns }",
        "- { ends: [\"cell[0]:3\", \"cell[1]:4\"], rate: 100 Mbit/s, propagation: 1 us }",
        "- { ends: [controller, \"cell[0]:4\"], rate: 100 Mbit/s, propagation: 1 us }",
        "pcp_map: [0, 0, 1, 1, 2, 2, 3, 3]",
        "4: { selection: cbs, idle_slopes: [0 bit/s, 0 bit/s, 0 bit/s, 60500000 bit/s] }",
        "run: { for: 200 ms }",
    ] {
        assert!(lines.contains(&line), "{line}\n{}", plan.scenario);
    }
    let links = lines.iter().filter(|line| line.starts_with("- { ends"));
    assert_eq!(links.count(), 6);
    let counts: Vec<usize> = plan.counts.iter().map(|count| count.number).collect();
    assert_eq!(counts, [5, 5, 2, 6]);
    let found: Vec<(usize, Code)> = plan.findings.iter().map(|own| (own.line, own.code)).collect();
    assert_eq!(found, [(28, Code::NotRead), (32, Code::NotRead)], "{:?}", plan.findings);
}

/// Oracle: by hand.
#[test]
fn applications_are_flows() {
    let plan = plan(NED, INI, &Options::new()).unwrap_or_else(|error| panic!("{error}"));
    let lines = lines(&plan);
    assert_eq!(
        flow(&lines, "\"sensor[0] near\""),
        [
            "from: \"sensor[0]\"",
            "to: [controller]",
            "period: 500 us",
            "phase: 0 s",
            "size: 1442 B",
            "pcp: 6",
            "vlan: 7",
            "deadline: 400 us",
        ]
    );
    let near = flow(&lines, "\"sensor[1] near\"");
    assert!(near.contains(&"start: 20 us") && !near.iter().any(|line| line.starts_with("phase")));
    let random = flow(&lines, "\"sensor[3].app[0]\"");
    assert!(random.contains(&"min_gap: 1 ms") && random.contains(&"mean_gap: 3 ms"));
    let uniform = flow(&lines, "\"sensor[2].app[0]\"");
    assert!(uniform.contains(&"min_gap: 1 ms") && uniform.contains(&"mean_gap: 2 ms"));
    assert_eq!(
        flow(&lines, "setpoint"),
        [
            "from: controller",
            "to: [\"sensor[0]\", \"sensor[1]\"]",
            "period: 10 ms",
            "phase: 5 ms",
            "size: 40 B",
        ]
    );
    // What was assumed: stacks, two latencies, four cables of 10 m, one mean, and one size.
    let keys: Vec<&str> = plan.assumptions.iter().map(|own| own.key.as_str()).collect();
    assert_eq!(keys.len(), 9, "{keys:?}");
    let stated = Options::new().with_deadline(Class::Periodic, Some(Duration::from_ms(2)));
    let plan = self::plan(NED, INI, &stated).expect("a plan");
    assert_eq!(plan.scenario.matches("deadline: 2 ms").count(), 3);
}

/// Oracle: the `OMNeT++` manual on sections, by hand.
#[test]
fn one_section_is_imported() {
    let both = format!(
        "{INI}[Config Fast]\nextends = Base\n[Slow]\n*.sensor[*].app[0].source.productionInterval = 2ms\n\
         [Base]\nabstract = true\n*.sensor[*].app[0].source.productionInterval = 100us\n"
    );
    let periods = |text: &str, options: &Options| {
        let plan = plan(NED, text, options).unwrap_or_else(|error| panic!("{error}"));
        plan.scenario.matches("period: 100 us").count()
    };
    assert_eq!(periods(&both, &Options::new()), 0);
    assert_eq!(periods(&both, &Options::new().with_config("Fast".into())), 4);
    let none = both.replace("network = ", "abstract = true\nnetwork = ");
    let error = plan(NED, &none, &Options::new()).expect_err("two sections");
    assert!(error.remedy.contains("--config NAME, of `Fast`, `Slow`"), "{error}");
    let wrong = Options::new().with_config("Slower".into());
    let error = plan(NED, &both, &wrong).expect_err("no section");
    assert!(error.what.contains("no section `Slower`"), "{error}");
}

/// Oracle: by hand. Of three switches in a ring each flow has a shortest way.
#[test]
fn rings_have_ways() {
    let ned = "network Ring { submodules: a: TsnDevice; b: TsnDevice; s[3]: TsnSwitch; connections: \
        for i=0..2 { s[i].ethg++ <--> Eth1G { length = 20m; } <--> s[(i + 1) % 3].ethg++; } \
        a.ethg++ <--> Eth1G <--> s[0].ethg++; s[2].ethg++ <--> { datarate = 10Mbps; } <--> b.ethg++; }";
    let ini = "network = Ring\n*.a.numApps = 1\n*.a.app[0].typename = \"UdpSourceApp\"\n\
        *.a.app[0].io.destAddress = \"b\"\n*.a.app[0].source.packetLength = 64B\n\
        *.a.app[0].source.productionInterval = 1ms\n";
    let ini = format!("[General]\n{ini}");
    // IEEE 802.3cd.
    let fast = plan(&ned.replace("10Mbps", "50Gbps"), &ini, &Options::new()).expect("a plan");
    assert!(fast.scenario.contains("- { ends: [\"s[2]:3\", b], rate: 50 Gbit/s }"));
    let plan = plan(ned, &ini, &Options::new()).unwrap_or_else(|error| panic!("{error}"));
    let lines = lines(&plan);
    assert!(lines.contains(&"route: [a, \"s[0]\", \"s[2]\", b]"), "{}", plan.scenario);
    assert!(lines.contains(&"- { ends: [\"s[2]:3\", b], rate: 10 Mbit/s }"), "{}", plan.scenario);
    assert!(lines.contains(&"run: { for: 10 ms }"));
}

/// What is changed in which file, a part of the line to blame, and what is wrong.
const CASES: [(&str, &str, &str, &str, &str); 10] = [
    (
        "Plant.ned",
        "Eth1G { delay = 1us; }",
        "Eth1G { delay = 1B; }",
        "controller.ethg",
        "`delay` of its channel has another unit",
    ),
    (
        "Plant.ned",
        "controller: TsnDevice",
        "controller: Router",
        "controller:",
        "`controller` is of the type `Router`",
    ),
    (
        "Plant.ned",
        "cell[0].ethg[3]",
        "cell[0].ethg[2]",
        "controller.ethg",
        "two links are at the port 2 of `cell[0]`",
    ),
    (
        "Plant.ned",
        "extends TsnNetworkBase",
        "extends Factory",
        "network Cells",
        "`Cells` extends `Factory`",
    ),
    ("Plant.ned", "cell[cells]:", "cell[many]:", "cell[", "the size of `cell`: `many` in it"),
    (
        "Plant.ned",
        "connections allow",
        "connection allow",
        "connection",
        "it is not NED: there is `allowunconnected`",
    ),
    (
        "Plant.ned",
        "default(2);",
        "default(1000000);",
        "sensor[2 *",
        "the size of `sensor`: it is no number up to",
    ),
    (
        "Plant.ned",
        "i = 0..cells - 1,",
        "i = 0..1000000000,",
        "sensor[2 * i",
        "loops have more than",
    ),
    ("omnetpp.ini", "plant.Cells", "Cell", "network =", "the network `Cell` is in no file"),
    ("omnetpp.ini", "sim-time", "include x.ini\nsim-time", "include", "it includes a file"),
];

#[test]
fn what_it_cannot_be_is_refused_with_its_place() {
    for (file, from, to, line, what) in CASES {
        let ned = if file == "Plant.ned" { NED.replacen(from, to, 1) } else { NED.into() };
        let ini = if file == "Plant.ned" { INI.into() } else { INI.replacen(from, to, 1) };
        assert!(ned != NED || ini != INI, "{from}");
        let error = plan(&ned, &ini, &Options::new()).expect_err(what);
        assert!(error.what.starts_with(what), "{error}");
        let text = if file == "Plant.ned" { ned } else { ini };
        let line = text.lines().position(|own| own.contains(line));
        let place = (file, line.map(|line| line + 1));
        assert_eq!((error.file.as_str(), error.line), place, "{error}");
    }
    for texts in [
        &[("a.ned", NED)][..],
        &[("o.ini", INI)],
        &[("a.ned", NED), ("b.ini", INI), ("c.ini", INI)],
    ] {
        assert!(import_all(&files(texts), &Options::new()).is_err());
    }
}

#[test]
fn values_that_name_each_other_are_no_deeper_than_one() {
    // Oracle: the stack of a test, which the product of both limits exceeds.
    let (open, close) = ("(".repeat(45), ")".repeat(45));
    for next in [0, 1] {
        let names = (0..28).map(|one| format!("int p{one} = {open}p{}{close};", one + next));
        let names: Vec<String> = names.collect();
        let ned =
            format!("network N {{ parameters: {} submodules: a[p0]: TsnDevice; }}", names.concat());
        let files = [("n.ned", ned.as_str()), ("omnetpp.ini", "[General]\nnetwork = N\n")];
        let files = files.map(|(name, text)| File { name, octets: text.as_bytes() });
        assert!(import_all(&files, &Options::new()).is_err());
    }
}
