//! Real servers: what they say of themselves, what is predicted of them, and what is on the wire.
//!
//! Oracle: the servers' own settings, and what `tcpdump` has captured, not our counters.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use rtether_testkit::{Ended, Finish, Folder, Run, signal, skip, wait_for};
use serde_json::Value;

use super::{exits_as_said, figure};
use crate::hosts::{FAR, Hosts, NEAR};

/// A program in a host, ended with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a program in a host.
fn start(host: &str, program: &Path, arguments: &[&str]) -> Server {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", host]).arg(program).args(arguments);
    Server(
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap(),
    )
}

/// Returns whether a program of the system is there; skips the test if not.
fn has(program: &str) -> bool {
    // What it says of such an option does not matter.
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        skip(&format!("needs {program}"));
    }
    found
}

/// Starts an agent that says what it is, and waits until it answers.
fn agent(hosts: &Hosts, folder: &Folder) -> Server {
    folder
        .write("snmpd.conf", "rocommunity public\nsysDescr ACME P1 relay\nagentAddress udp:161\n");
    let file = folder.file("snmpd.conf");
    let own = start(&hosts.far, Path::new("snmpd"), &["-f", "-Lo", "-C", "-c", &file]);
    answers(hosts, "snmp");
    own
}

fn answers(hosts: &Hosts, way: &str) {
    wait_for(way, || hosts.identify(&["--list", "--via", way]).code == Some(0));
}

/// Returns Python with the servers installed.
fn python() -> Option<PathBuf> {
    let Some(python) = env::var_os("RTETHER_PYTHON") else {
        skip("needs Python, whose path is in RTETHER_PYTHON");
        return None;
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("identify");
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/identify.txt");
    let own = folder.join("bin/python");
    let made = Command::new(python).args(["-m", "venv"]).arg(&folder).run();
    let installed = (made.code == Some(0)).then(|| {
        Command::new(&own).args(["-m", "pip", "install", "--quiet", "-r"]).arg(list).run()
    });
    match installed {
        Some(Ended { code: Some(0), .. }) => Some(own),
        failed => {
            skip(&format!("needs packages of Python: {failed:?}"));
            None
        }
    }
}

const MODBUS: &str = "
from pymodbus import ModbusDeviceIdentification as Identity
from pymodbus.server import StartTcpServer
from pymodbus.simulator import DataType, SimData, SimDevice
identity = Identity(info_name={'VendorName': 'ACME', 'ProductCode': 'P1', 'MajorMinorRevision': '2.3'})
registers = SimData(0, count=200, values=7, datatype=DataType.REGISTERS)
StartTcpServer(SimDevice(1, [registers]), identity=identity, address=('0.0.0.0', 502))
";

const OPCUA: &str = "
import asyncio
from asyncua import Server
async def main():
    server = Server()
    await server.init()
    server.set_endpoint('opc.tcp://0.0.0.0:4840/')
    server.set_server_name('ACME P1')
    async with server:
        await asyncio.sleep(3600)
asyncio.run(main())
";

/// Prints what was found of a server.
fn show(document: &Value) {
    let own = &document["series"][0];
    let took = own["took_ns"].as_f64().unwrap() / 1e9;
    println!("{}: {} packets in {took:.0} s", own["protocol"], own["sent"]);
    for name in ["fixed", "answer octet", "50 %", "99 %"] {
        println!("  {name}: {} ns", figure(own, name));
    }
    println!("  predicted: {}", own["predicted"]);
}

/// Oracle: the description that the agent was given.
#[test]
fn an_agent_is_identified() {
    let Some(hosts) = Hosts::new() else { return };
    if !has("snmpd") {
        return;
    }
    let folder = Folder::new("identify-snmp");
    let _agent = agent(&hosts, &folder);
    let ended = hosts.identify(&["--via", "snmp", "-n", "60", "--json", "--with-host"]);
    let document = exits_as_said(&ended);
    show(&document);
    let own = &document["series"][0];
    assert_eq!(document["device"], "ACME P1 relay");
    assert_eq!((&own["sent"], &own["lost"]), (&82.into(), &0.into()), "{own}");
    // Getbulk lets the size of answers be chosen.
    assert!(figure(own, "answer octet").is_number(), "{own}");
}

/// Oracle: the delay that the board is given, and the kernel of its host, which answers ARP. Without the
/// right to raw frames, ARP is not asked, and said so.
#[test]
fn a_board_answers_commands_and_arp() {
    let Some(hosts) = Hosts::new() else { return };
    let program = Path::new(env!("CARGO_BIN_EXE_rtether"));
    let _board = start(&hosts.far, program, &["echo", "--via", "cndep", "--delay", "2 ms"]);
    answers(&hosts, "cndep");
    let ways = ["--via", "arp", "--via", "cndep"];
    let ended = hosts.identify(&[&ways[..], &["-n", "60", "--json", "--with-host"]].concat());
    let document = exits_as_said(&ended);
    let series = document["series"].as_array().unwrap();
    for own in series {
        println!("{}: {} ns", own["protocol"], figure(own, "fixed"));
        assert_eq!((&own["sent"], &own["lost"]), (&82.into(), &0.into()), "{own}");
        assert_eq!(own["warnings"].as_array().unwrap().len(), 0, "{own}");
    }
    let fixed = figure(&series[1], "fixed").as_f64().unwrap();
    assert!((2e6..20e6).contains(&fixed), "{document}");
    let mut bare = Command::new("ip");
    bare.args(["netns", "exec", &hosts.near, "setpriv", "--bounding-set", "-net_raw"]);
    let bare = bare.arg(program).args(["identify", FAR, "--list"]).args(ways).run();
    bare.exits(0).shows("not asked: needs root or CAP_NET_RAW");
}

/// Oracle: the identities that the servers were given.
#[test]
#[ignore = "long"]
fn servers_in_python_are_identified() {
    let Some(hosts) = Hosts::new() else { return };
    let Some(python) = python() else { return };
    let folder = Folder::new("identify-python");
    folder.write("modbus.py", MODBUS);
    folder.write("opcua.py", OPCUA);
    let _modbus = start(&hosts.far, &python, &[&folder.file("modbus.py")]);
    let _opcua = start(&hosts.far, &python, &[&folder.file("opcua.py")]);
    let enip = ["-m", "cpppo.server.enip", "-a", "0.0.0.0:44818", "Tag=INT[10]"];
    let _enip = start(&hosts.far, &python, &enip);
    for (way, identity) in [
        ("modbus", "ACME P1 2.3"),
        ("enip", "1756-L61/B LOGIX5561 20.11"),
        ("opcua", "ACME P1 urn:freeopcua.github.io:python:server"),
    ] {
        answers(&hosts, way);
        let ended = hosts.identify(&["--via", way, "--json"]);
        let document = exits_as_said(&ended);
        show(&document);
        let own = &document["series"][0];
        assert_eq!(document["device"], identity);
        // As many as a server lets a channel be without a session, and 70 on another one.
        let sent = if way == "opcua" { 260 } else { 370 };
        assert_eq!((&own["sent"], &own["lost"]), (&sent.into(), &0.into()), "{own}");
        assert_eq!(figure(own, "answer octet").is_number(), way == "modbus");
        assert_eq!(figure(own, "request octet").is_number(), way == "opcua");
    }
}

/// Returns the lines of a capture that a filter leaves.
fn lines(file: &str, filter: &str) -> Vec<String> {
    let ended = Command::new("tcpdump").args(["-nn", "-tt", "-r", file, filter]).run();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.out.lines().map(str::to_owned).collect()
}

/// Oracle: what `tcpdump` has captured in 60 s of a run as it is by default: at most ten messages in
/// any second, 600 in all, each answered before the next, and none that sets anything. The same file
/// tells of the device what the run itself found, less what the host takes.
#[test]
#[ignore = "long"]
fn by_default_little_is_sent_and_nothing_written() {
    let Some(hosts) = Hosts::new() else { return };
    if !has("snmpd") || !has("tcpdump") {
        return;
    }
    let folder = Folder::new("identify-wire");
    let _agent = agent(&hosts, &folder);
    let file = folder.file("wire.pcap");
    let tcpdump = start(&hosts.near, Path::new("tcpdump"), &["-i", "wire", "-U", "-w", &file]);
    wait_for("a capture", || Path::new(&file).exists());
    sleep(Duration::from_secs(1));
    let child = Hosts::command(&hosts.near, &["identify", FAR, "--json", "--with-host"]).start();
    sleep(Duration::from_mins(1));
    signal(child.id(), "-INT");
    let ended = child.finish();
    ended.exits(130);
    sleep(Duration::from_secs(1));
    drop(tcpdump);
    // Of TCP, segments with data, as the manual page of pcap-filter has it.
    let data = "(tcp and (((ip[2:2] - ((ip[0]&0xf)<<2)) - ((tcp[12]&0xf0)>>2)) != 0))";
    let all = lines(&file, &format!("icmp or udp port 161 or {data}"));
    let is_asked = |line: &str| line.contains(&format!("IP {NEAR}"));
    let times: Vec<f64> = all.iter().filter(|line| is_asked(line)).map(|line| time(line)).collect();
    println!("{} requests in 60 s", times.len());
    assert!((200..=600).contains(&times.len()), "{}", times.len());
    assert!(times.windows(11).all(|own| own[10] - own[0] > 0.999), "{times:?}");
    let mut outstanding = 0;
    for line in &all {
        outstanding += if is_asked(line) { 1 } else { -1 };
        assert!((0..=1).contains(&outstanding), "{line}");
        assert!(!line.contains("SetRequest"), "{line}");
    }
    let live = &ended.json()["series"][0];
    let seen = hosts.identify(&["--capture", &file, "--json"]);
    let seen = &seen.exits(0).json()["series"][0];
    let [whole, part] = [live, seen].map(|own| figure(own, "50 %").as_f64().unwrap());
    println!("median {whole} ns by the host, {part} ns on the wire");
    assert!(part > 0.0 && part < whole, "{seen}");
}

/// Returns the time of a line of `tcpdump` in seconds.
fn time(line: &str) -> f64 {
    line.split(' ').next().unwrap().parse().unwrap()
}
