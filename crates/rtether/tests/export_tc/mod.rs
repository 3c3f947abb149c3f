//! Settings of Linux, read by Linux: the kernel of an emulated machine runs the scripts on devices
//! without wires, and shows what it has been told. Oracle: that kernel, and numbers worked out by
//! hand.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use rtether::export::{Exported, Reasons, Target, export};
use rtether::scenario::load;
use rtether_testkit::{Folder, Machine, Run};
use serde_json::{Value, json};

/// Modules that scripts need.
const MODULES: &str = "8021q bridge dummy sch_prio sch_cbs sch_etf sch_ets sch_ingress cls_flower \
                       cls_matchall act_skbedit act_vlan";

/// Shaped, strict and plain ports, VLANs, default priorities, stations with queues and in two
/// networks. A frame of `v` takes 1000 + 18 + 4 + 20 octets of the wire, one of `c` 238 + 4.
const PLANT: &str = "rtether: 1
name: line
nodes:
  a: { stack: zero, priorities: { queues: 2 }, transmit_queues: { strategy: select, selection: strict, ring: 64, limit: [50, 20] } }
  b: { stack: zero, driver_queue: 20 kB }
  c: { stack: zero, selection: edf }
switches:
  s1:
    ports: 4
    queues: 4
    pcp_map: [0, 0, 1, 1, 2, 2, 3, 3]
    selection: cbs
    idle_slopes: [0 bit/s, 0 bit/s, 20 Mbit/s, 10 Mbit/s]
    buffer: 64 KiB
    addresses: learning
    aging: 5 min
    port_settings:
      1: { trunk: [5, 7], native: 1 }
      2: { access: 5, default_pcp: 6, selection: strict }
      3: { trunk: all, selection: strict, thresholds: [10 kB, 11 kB, 12 kB, 13 kB] }
  s2: { ports: 3, selection: fcfs, buffer: 64 KiB, multicast: unmanaged }
links:
  - { ends: [a, \"s1:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"s1:2\"], rate: 10 Mbit/s }
  - { ends: [\"s1:3\", \"s2:1\"], rate: 100 Mbit/s }
  - { ends: [c, \"s2:2\"], rate: 100 Mbit/s }
flows:
  - { name: v, from: c, to: a, period: 1 ms, size: 1000 B, over: raw, pcp: 5, vlan: 5, deadline: 1 ms }
  - { name: w, from: c, to: a, period: 1 ms, size: 200 B, over: raw, pcp: 7, vlan: 5, deadline: 1 ms }
";

fn exported(text: &str) -> Result<Exported, Reasons> {
    let scenario = load("line.yaml", text).into_scenario().expect("a plant");
    export(&scenario, Target::Tc)
}

/// What a kernel says of each host: name and answers.
type Told = Vec<(String, Value)>;

/// Returns what a kernel says of the plants; `None` without one. It starts once for all tests.
fn kernel() -> Option<&'static Told> {
    static TOLD: OnceLock<Told> = OnceLock::new();
    let kernel = rtether_testkit::kernel("RTETHER_LINUX")?;
    Some(TOLD.get_or_init(|| {
        let mut files = exported(PLANT).expect("Linux can express it").files;
        let others = exported(&by_octets()).expect("Linux can express it").files;
        let switch = others.into_iter().find(|(name, _)| name == "s1.sh");
        files.extend(switch.map(|(_, text)| ("drr.sh".to_owned(), text)));
        told(&kernel, files, 5)
    }))
}

/// Runs scripts of hosts twice in an emulated machine, each with devices of its own, and returns
/// what the kernel then says of each: its queues, VLANs, links and filters.
fn told(kernel: &Path, scripts: Vec<(String, String)>, devices: u16) -> Told {
    let mut all = String::new();
    let each = |does: &str| -> String {
        let lines =
            (0..devices).map(|device| format!("link {}\n", does.replace('N', &device.to_string())));
        format!("ip -batch - << .\n{}.\n", lines.collect::<String>())
    };
    for (name, _) in &scripts {
        all += &each("add ethN type dummy");
        _ = write!(
            all,
            "rm -f /run/ethtool\necho BEGIN {name}\n(sh ./{name} 2>&1) || echo FAILED\n\
             (sh ./{name} 2>&1) || echo FAILED AGAIN\necho SAYS\n\
             tc -j qdisc show\necho SAYS\nbridge -j vlan show\necho SAYS\nip -j -d link show\n\
             echo SAYS\ntc -j filter show dev eth2 ingress\necho SAYS\ncat /run/ethtool\necho END\n\
             for d in br0 prp0; do ip link del $d 2> /dev/null; done\n"
        );
        all += &each("del ethN");
    }
    let count = scripts.len();
    let mut files = scripts;
    // Speeds are for devices with wires. Rings that are as they should be are an error of its own.
    let ethtool = "case \"$1 $(cat /run/ethtool 2> /dev/null)\" in \"-G \"*\"-G \"*) exit 80 ;; esac\n\
                   echo \"ethtool $*\" >> /run/ethtool";
    files.push(("bin/ethtool".to_owned(), ethtool.to_owned()));
    let machine = Machine {
        kernel: kernel.to_owned(),
        modules: MODULES,
        folders: "net/sched net/8021q net/802 net/bridge net/llc drivers/net/dummy.ko",
        programs: "ip tc bridge",
        own: "",
        memory: "256M",
    };
    let out = machine.run(&files, &all);
    let mut all = Vec::new();
    for part in out.split("BEGIN ").skip(1) {
        let (name, rest) = part.split_once('\n').expect("a name");
        let rest = rest.split("\nEND").next().unwrap_or_default();
        let mut says = rest.split("SAYS");
        let run = says.next().unwrap_or_default();
        assert!(run.trim().is_empty(), "{name}: {run}");
        let parts = says
            .map(|part| serde_json::from_str(part.trim()).unwrap_or_else(|_| json!(part.trim())));
        all.push((name.trim().to_owned(), parts.collect()));
    }
    assert_eq!(all.len(), count, "{out}");
    all
}

/// Returns the options of a queueing discipline.
fn queue<'v>(says: &'v Value, device: &str, parent: Option<&str>) -> (&'v str, &'v Value) {
    let all = says[0].as_array().expect("a list");
    let mut found = all.iter().filter(|own| {
        own["dev"] == device
            && match parent {
                None => own["root"] == true,
                Some(parent) => own["parent"] == parent,
            }
    });
    let found = found.next().unwrap_or_else(|| panic!("{device} {parent:?}: {all:#?}"));
    (found["kind"].as_str().expect("a kind"), &found["options"])
}

/// Returns a device.
fn link(says: &Value, name: &str) -> Value {
    let all = says[2].as_array().expect("a list");
    let found = all.iter().find(|own| own["ifname"] == name);
    found.unwrap_or_else(|| panic!("{name}: {all:#?}")).clone()
}

/// Oracle: by hand. Queue 3 with 10 of 100 Mbit/s: its longest frame takes 242 octets of the wire,
/// so it falls to -242 x 90 / 100 = -217.8 and rises to 1542 x 10 / 100 = 154.2; queue 2 below it,
/// 20 Mbit/s and 1042 octets: -1042 x 80 / 100 = -833.6, (1542 + 217.8) x 20 / 90 = 391.1.
#[test]
fn a_kernel_takes_the_lines_and_says_the_same() {
    let Some(all) = kernel() else {
        return;
    };
    let of = |file: &str| {
        let found = all.iter().find(|(name, _)| name == file);
        &found.unwrap_or_else(|| panic!("{file}")).1
    };
    let switch = of("s1.sh");
    let map = json!([3, 3, 2, 2, 1, 1, 0, 0, 3, 3, 2, 2, 1, 1, 0, 0]);
    let (kind, options) = queue(switch, "eth1", None);
    assert_eq!((kind, &options["bands"], &options["priomap"]), ("prio", &json!(4), &map));
    let slopes = |own: &Value| {
        let value = |key: &str| own[key].as_i64().expect("a number");
        ["idleslope", "sendslope", "hicredit", "locredit"].map(value)
    };
    let (kind, options) = queue(switch, "eth1", Some("1:1"));
    assert_eq!((kind, slopes(options)), ("cbs", [10_000, -90_000, 155, -218]));
    let (kind, options) = queue(switch, "eth1", Some("1:2"));
    assert_eq!((kind, slopes(options)), ("cbs", [20_000, -80_000, 392, -834]));
    for parent in ["13:1", "12:1", "1:3", "1:4"] {
        let (kind, options) = queue(switch, "eth1", Some(parent));
        assert_eq!((kind, &options["limit"]), ("bfifo", &json!(65_536)), "{parent}");
    }
    for (parent, limit) in [("1:1", 13_000), ("1:4", 10_000)] {
        let (kind, options) = queue(switch, "eth3", Some(parent));
        assert_eq!((kind, &options["limit"]), ("bfifo", &json!(limit)), "{parent}");
    }
    let plain = of("s2.sh");
    assert_eq!(queue(plain, "eth1", None).0, "bfifo");
    let snooping = |says| link(says, "br0")["linkinfo"]["info_data"]["mcast_snooping"].clone();
    assert_eq!((snooping(switch), snooping(plain)), (json!(1), json!(0)));
    let bridge = &link(switch, "br0")["linkinfo"]["info_data"];
    assert_eq!((&bridge["vlan_filtering"], &bridge["ageing_time"]), (&json!(1), &json!(30_000)));
}

#[test]
fn stations_have_the_queues_and_devices_of_their_flows() {
    let Some(all) = kernel() else {
        return;
    };
    let of = |file: &str| {
        let found = all.iter().find(|(name, _)| name == file);
        &found.unwrap_or_else(|| panic!("{file}")).1
    };
    let station = of("c.sh");
    let (kind, options) = queue(station, "eth0", Some("1:1"));
    assert_eq!((kind, &options["deadline_mode"]), ("etf", &json!("on")));
    let tagged = link(station, "eth0.5");
    let tagged = &tagged["linkinfo"]["info_data"];
    assert_eq!(
        (&tagged["id"], &tagged["egress_qos"][6]),
        (&json!(5), &json!({ "from": 7, "to": 7 }))
    );
    let (kind, options) = queue(of("b.sh"), "eth0", None);
    assert_eq!((kind, &options["limit"]), ("bfifo", &json!(20_000)));
    let (kind, options) = queue(of("a.sh"), "eth0", Some("1:1"));
    assert_eq!((kind, &options["limit"]), ("pfifo", &json!(20)));
}

/// Oracle: the limit of the kernel, IFNAMSIZ, and what `ethtool` says of a virtual device. Programs that
/// note their arguments stand for those of Linux.
#[test]
fn long_names_are_cut_and_queues_are_set_where_ethtool_cannot() {
    let folder = Folder::new("tc");
    for program in ["ip", "tc", "bridge"] {
        folder.script(program, "echo \"${0##*/} $*\" >> \"$LOG\"");
    }
    let path = folder.script("ethtool", "exit 75");
    for (name, text) in exported(PLANT).expect("Linux can express it").files {
        let log = folder.file(&format!("{name}.log"));
        let ran = Command::new("sh")
            .args([folder.write(&name, &text)])
            .envs([("PATH", &path), ("LOG", &log)])
            .envs(["DEV", "DEV1", "DEV2"].map(|device| (device, "enx001122334455")))
            .output()
            .expect("a shell");
        assert!(ran.status.success(), "{name}: {}", String::from_utf8_lossy(&ran.stderr));
        let noted = std::fs::read_to_string(&log).expect("lines");
        assert!(noted.contains("tc qdisc replace"), "{name}: {noted}");
        for line in noted.lines().filter(|line| line.contains(" type vlan ")) {
            let device = line.split(" name ").nth(1).and_then(|rest| rest.split(' ').next());
            assert_eq!(device.map(str::len), Some(15), "{line}");
        }
    }
}

#[test]
fn vlans_and_priorities_of_ports_are_those_of_the_plant() {
    let Some(all) = kernel() else {
        return;
    };
    let (_, says) = all.iter().find(|(name, _)| name == "s1.sh").expect("it");
    let vlans = says[1].as_array().expect("a list");
    let of = |name: &str| {
        let found = vlans.iter().find(|own| own["ifname"] == name).expect("a port");
        found["vlans"].clone()
    };
    let untagged = json!(["PVID", "Egress Untagged"]);
    assert_eq!(of("eth1"), json!([{ "vlan": 1, "flags": untagged }, { "vlan": 5 }, { "vlan": 7 }]));
    assert_eq!(of("eth2"), json!([{ "vlan": 5, "flags": untagged }]));
    assert_eq!(of("eth3").as_array().map(Vec::len), Some(4094));
    let filters = says[3].as_array().expect("a list").iter();
    let told: Vec<&Value> =
        filters.map(|own| &own["options"]).filter(|own| !own.is_null()).collect();
    // Priorities 0 to 7 of tags, and 6 without.
    assert_eq!(told.len(), 9, "{told:#?}");
    let last = told.iter().find(|own| own["keys"].is_null()).expect("the default");
    assert_eq!(last["actions"][0]["priority"], ":6");
    assert_eq!(last["actions"][1]["vlan_action"], "push");
    assert_eq!(
        (&last["actions"][1]["id"], &last["actions"][1]["priority"]),
        (&json!(5), &json!(6))
    );
    let speeds = says[4].as_str().expect("lines");
    assert!(speeds.contains("-s eth2 speed 10 duplex full autoneg on"), "{speeds}");
}

/// The plant with round robin by octets in place of shapers.
fn by_octets() -> String {
    PLANT.replace(
        "selection: cbs\n    idle_slopes: [0 bit/s, 0 bit/s, 20 Mbit/s, 10 Mbit/s]",
        "selection: drr\n    quanta: [1522, 3044, 6088, 9000]",
    )
}

/// Oracle: the format of `ets` in tc-ets(8): quanta are those of the bands, the first band first.
#[test]
fn round_robin_by_octets_is_ets() {
    let plant = by_octets();
    let scripts = exported(&plant).expect("Linux can express it");
    let (_, text) = scripts.files.iter().find(|(name, _)| name == "s1.sh").expect("it");
    let line = "ets bands 4 quanta 9000 6088 3044 1522 priomap 3 3 2 2 1 1 0 0 3 3 2 2 1 1 0 0";
    assert!(text.contains(line), "{text}");
}

#[test]
fn a_kernel_takes_round_robin_by_octets() {
    let Some(all) = kernel() else {
        return;
    };
    let (_, says) = all.iter().find(|(name, _)| name == "drr.sh").expect("it");
    let map = json!([3, 3, 2, 2, 1, 1, 0, 0, 3, 3, 2, 2, 1, 1, 0, 0]);
    let (kind, options) = queue(says, "eth1", None);
    assert_eq!(
        (kind, &options["quanta"], &options["priomap"]),
        ("ets", &json!([9000, 6088, 3044, 1522]), &map)
    );
}

#[test]
fn what_linux_cannot_do_is_refused_with_its_reason() {
    for (from, to, reason) in [
        ("selection: fcfs", "selection: edf", "s2: frames that a bridge forwards have no deadline"),
        ("selection: fcfs", "mode: cut-through", "s2: a bridge of Linux stores frames"),
        (
            "selection: strict, thresholds: [10 kB, 11 kB, 12 kB, 13 kB]",
            "selection: wrr, weights: [1, 1, 1, 1]",
            "s1: Linux has no round robin that counts frames",
        ),
        (
            "selection: cbs\n    idle_slopes: [0 bit/s, 0 bit/s, 20 Mbit/s, 10 Mbit/s]",
            "selection: cbs+drr\n    idle_slopes: [0 bit/s, 0 bit/s, 20 Mbit/s, 10 Mbit/s]\n    \
             quanta: [1522, 3044]",
            "s1: a port with this selection is not exported",
        ),
        (
            "strategy: select, selection: strict",
            "strategy: select, selection: cbs+drr, idle_slopes: [0 bit/s, 20 Mbit/s], quanta: [1522]",
            "a: Linux has no such selection above the ring",
        ),
        ("pcp: 7", "pcp: 0", "c: flows with a deadline need priorities above 0"),
        (
            "deadline: 1 ms }\n  - { name: w",
            "deadline: 1 ms, gap: 1 ms }\n  - { name: w",
            "v: Linux has no gap for single flows",
        ),
    ] {
        let plant = PLANT.replacen(from, to, 1);
        assert_ne!(plant, PLANT, "{from}");
        let reasons = exported(&plant).expect_err(to);
        let found = reasons.0.iter().any(|own| own.replace('`', "").starts_with(reason));
        assert!(found, "{reason}: {reasons:?}");
    }
}

/// Oracle: Linux 6.1, which refuses a VLAN there.
#[test]
fn a_vlan_in_two_networks_is_noted() {
    let plant = "rtether: 1
name: two
nodes: { a: { stack: zero, redundancy: prp }, b: { stack: zero, redundancy: prp } }
switches: { s1: { ports: 2 }, s2: { ports: 2 } }
links:
  - { ends: [a, \"s1:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"s1:2\"], rate: 100 Mbit/s }
  - { ends: [a, \"s2:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"s2:2\"], rate: 100 Mbit/s }
flows: [{ name: f, from: a, to: b, period: 1 ms, size: 40 B, pcp: 4, vlan: 5 }]
";
    let scripts = exported(plant).expect("Linux can express it");
    let noted = scripts.notes.iter().any(|note| note.starts_with("`a`, `b`: Linux 6.1 takes"));
    assert!(noted, "{:?}", scripts.notes);
    let (_, text) = scripts.files.iter().find(|(name, _)| name == "a.sh").expect("it");
    let line = "ip link add name \"$PRP\" type hsr slave1 \"$DEV1\" slave2 \"$DEV2\" proto 1";
    assert!(text.contains(line), "{text}");
}

/// Oracle: the shell reads each line, and nothing of the plant is more than a comment.
#[test]
fn names_of_the_plant_are_no_commands() {
    let plant = PLANT
        .replace("  b: {", "  \"$(touch x); `b`\": {")
        .replace("[b, ", "[\"$(touch x); `b`\", ");
    let scripts = exported(&plant).expect("Linux can express it");
    let folder = Folder::new("export_tc_names");
    for (name, text) in &scripts.files {
        let path = folder.write(name, text);
        Command::new("sh").args(["-n", &path]).run().exits(0);
        for line in text.lines().filter(|line| line.contains("touch")) {
            let before = line.split("touch").next().unwrap_or_default();
            assert!(before.contains('#'), "{line}");
        }
    }
    assert!(folder.names().contains(&"__touch_x____b_.sh".to_owned()), "{:?}", folder.names());
}
