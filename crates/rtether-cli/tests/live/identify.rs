//! `identify` as its users see it: Linux between two namespaces, and devices that break the rules.
//!
//! What a device costs on a busy test host is no figure to rely on: tests look at counts, sizes and
//! words, and at the exit code, which follows from the document.

#![allow(clippy::print_stdout, reason = "figures of servers are wanted")]

mod peers;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rtether_testkit::{Ended, Finish, Folder, Run, signal, wait_for};
use serde_json::Value;

use crate::hosts::{FAR, Hosts};
use crate::rtether;

impl Hosts {
    fn identify(&self, arguments: &[&str]) -> Ended {
        Self::command(&self.near, &["identify", FAR]).args(arguments).run()
    }

    /// Returns a counter of the far host's kernel (`/proc/net/snmp`).
    fn counter(&self, of: &str, name: &str) -> u64 {
        let text = Command::new("ip")
            .args(["netns", "exec", &self.far, "cat", "/proc/net/snmp"])
            .run()
            .out;
        let mut lines = text.lines().filter(|line| line.starts_with(of));
        let [names, values] = [lines.next(), lines.next()].map(|line| line.unwrap().split(' '));
        let (_, value) = names.zip(values).find(|(own, _)| *own == name).unwrap();
        value.parse().unwrap()
    }
}

/// Returns the figure of a series; `null` if it is not known.
fn figure<'a>(series: &'a Value, name: &str) -> &'a Value {
    let all = series["figures"].as_array().unwrap();
    &all.iter().find(|own| own["name"] == name).unwrap()["value_ns"]
}

/// Asserts that the exit code is that of the document's verdict, which a busy host may decide.
fn exits_as_said(ended: &Ended) -> Value {
    let document = ended.json();
    ended.exits(i32::from(document["conclusion"] != "PASS"));
    document
}

/// Oracle: the kernel of the far host, which counts requests, answers and refused connections.
#[test]
fn linux_answers_echoes_and_refuses_connections() {
    let Some(hosts) = Hosts::new() else { return };
    let ways = ["--via", "echo", "--via", "closed", "-n", "60", "--json"];
    let ended = hosts.identify(&ways);
    let document = exits_as_said(&ended);
    let series = document["series"].as_array().unwrap();
    assert_eq!(series.len(), 2, "{document}");
    for own in series {
        // Sixty, and 22 of another size.
        assert_eq!((&own["sent"], &own["lost"]), (&82.into(), &0.into()), "{own}");
        assert!(figure(own, "fixed").is_number(), "{own}");
        assert_eq!(own["round_trips_ns"].as_array().unwrap().len(), 60);
        assert_eq!(own["predicted"].as_array().unwrap().len(), 2);
        assert_eq!(own["warnings"].as_array().unwrap().len(), 0, "{own}");
    }
    assert!(figure(&series[0], "both octets").is_number(), "{document}");
    // One more asks whether there is an answer.
    assert_eq!(hosts.counter("Icmp:", "InEchos"), 83);
    assert_eq!(hosts.counter("Tcp:", "OutRsts"), 83);
    ended.says("none that writes").says("22 of another size");
    assert!(document["host_ns"].as_f64().is_some_and(|ns| ns > 0.0), "{document}");
}

const PLANT: &str = "rtether: 1
nodes: { probe: { stack: zero }, plc: { stack: { send: 1 ms, receive: 1 ms } } }
switches: { sw: { ports: 2, latency: 900 ms } }
links:
  - { ends: [probe, \"sw:1\"], rate: 100 Mbit/s }
  - { ends: [\"sw:2\", plc], rate: 10 Mbit/s, propagation: 200 ms }
flows: [{ name: f, from: probe, to: plc, period: 1 s, size: 64 B }]
run: { for: 1 s }
";

/// Oracle: by hand. A frame of 64 octets with its preamble takes 5.76 us and 57.6 us at 100 and 10
/// Mbit/s, and both ways 900 ms in the switch and 200 ms on the wire; an answer comes in 2 s, so that
/// what is left of each round trip is negative.
#[test]
fn the_network_of_a_scenario_is_taken_out() {
    let Some(hosts) = Hosts::new() else { return };
    let folder = Folder::new("identify-path");
    folder.write("plant.yaml", PLANT);
    let file = folder.file("plant.yaml");
    let ways = ["--path", &file, "--from", "probe", "--to", "plc"];
    let ended = hosts
        .identify(&[&ways[..], &["--via", "echo", "-n", "60", "--json", "--with-host"]].concat());
    let document = exits_as_said(&ended);
    assert_eq!(document["network"], "from probe to plc in the scenario");
    assert_eq!(document["network_ns"], 2_200_126_720_u64, "{document}");
    let own = &document["series"][0];
    assert_eq!(own["lost"], 0, "{own}");
    let trips = own["round_trips_ns"].as_array().unwrap();
    let is_less = trips.iter().all(|trip| trip.as_f64().is_some_and(|ns| ns < -200e6));
    assert!(trips.len() == 60 && is_less, "{document}");
    let warnings = own["warnings"].to_string();
    assert!(warnings.contains("took longer when they were measured alone"), "{warnings}");
    hosts
        .identify(&["--path", &file, "--from", "probe", "--to", "sw"])
        .exits(2)
        .says("`sw` is no end station of the scenario");
}

/// Oracle: what runs in the far host: nothing but its kernel.
#[test]
fn a_list_says_what_is_answered_and_why_not() {
    let Some(hosts) = Hosts::new() else { return };
    let ended = hosts
        .identify(&["--list", "--json", "--via", "echo", "--via", "modbus", "--via", "closed"]);
    ended.exits(0);
    let document = ended.json();
    let all = document["protocols"].as_array().unwrap();
    let said: Vec<_> =
        all.iter().map(|own| (&own["protocol"], &own["answers"], &own["reason"])).collect();
    let null = Value::Null;
    assert_eq!(
        said,
        [
            (&"echo".into(), &true.into(), &null),
            (&"modbus".into(), &false.into(), &"the port is closed".into()),
            (&"closed".into(), &true.into(), &null),
        ]
    );
    hosts.identify(&["--list", "--via", "enip"]).exits(3).shows("the port is closed");
}

/// Oracle: the documented exit codes, and that the kernel of the far host has seen nothing.
#[test]
fn load_is_sent_only_if_it_is_asked_for() {
    let Some(hosts) = Hosts::new() else { return };
    let mut command = Hosts::command(&hosts.near, &["identify", FAR, "--load", "--with-host"]);
    command.stdin(Stdio::null()).run().exits(2).says("write --yes").says("load by echo");
    assert_eq!(hosts.counter("Icmp:", "InEchos"), 0);
    hosts.identify(&["--yes"]).exits(2);
    hosts.identify(&["--path", "x.yaml"]).exits(2);
    hosts.identify(&["--via", "telnet"]).exits(2).says("echo, closed");
    hosts.identify(&["-n", "10"]).exits(2).says("from 60");
}

/// Oracle: the documented exit code, and counters of both sides.
#[test]
fn ctrl_c_keeps_what_is_known() {
    let Some(hosts) = Hosts::new() else { return };
    let line = ["identify", FAR, "--via", "echo", "--with-host", "--json"];
    let child = Hosts::command(&hosts.near, &line).start();
    wait_for("some requests", || hosts.counter("Icmp:", "InEchos") > 10);
    signal(child.id(), "-INT");
    let ended = child.finish();
    ended.exits(130);
    let document = ended.json();
    let sent = document["series"][0]["sent"].as_u64().unwrap();
    assert_eq!(document["conclusion"], "INTERRUPTED");
    assert_eq!(hosts.counter("Icmp:", "InEchos"), sent + 1);
    let known = document["series"][0]["round_trips_ns"].as_array().unwrap().len() as u64;
    assert!(known >= 9 && known >= sent - 1, "{document}");
}

/// Answers datagrams of `rtether echo`, each once as it should, and more.
fn misbehave(device: &UdpSocket) {
    let other = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut buffer = [0; 2_048];
    for number in 0_u32.. {
        let Ok((octets, peer)) = device.recv_from(&mut buffer) else { return };
        let reply = &mut buffer[..octets];
        reply[3] = 2;
        // A client that has ended meanwhile is no reason to end.
        let _ = match number % 10 {
            // From another address.
            2 => other.send_to(reply, peer),
            // Malformed, and longer than anything.
            3 => device.send_to(&reply[..20], peer),
            4 => device.send_to(&vec![0; 60_000], peer),
            // To nothing that was asked.
            5 => device.send_to(&[&reply[..8], &[0x7F; 16]].concat(), peer),
            // Twice.
            6 => device.send_to(reply, peer),
            _ => Ok(0),
        };
        let _ = device.send_to(reply, peer);
    }
}

/// Oracle: what the device has sent, counted by hand: 82 requests behind one.
#[test]
fn a_device_that_breaks_the_rules_is_warned_of() {
    let device = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = device.local_addr().unwrap().port();
    thread::spawn(move || misbehave(&device));
    let way = format!("echo-rtether:{port}");
    let ended = rtether()
        .args(["identify", "127.0.0.1", "--via", &way, "-n", "60", "--json", "--with-host"])
        .run();
    let document = exits_as_said(&ended);
    let own = &document["series"][0];
    assert_eq!((&own["sent"], &own["lost"]), (&82.into(), &0.into()), "{document}");
    let warnings: Vec<&str> =
        own["warnings"].as_array().unwrap().iter().map(|own| own.as_str().unwrap()).collect();
    let expected = [
        "8 answered twice",
        "8 answers to nothing that was asked",
        "16 malformed",
        "9 from another address",
    ];
    assert_eq!(warnings, expected, "{document}");
}

/// Answers datagrams of `rtether echo` after up to three times 50 ms, of which few are three.
fn dawdle(device: &UdpSocket) {
    let mut buffer = [0; 2_048];
    for number in 0_u64.. {
        let Ok((octets, peer)) = device.recv_from(&mut buffer) else { return };
        buffer[3] = 2;
        let steps = [0, 1, 2, 0, 1, 0, 2, 1, 0, 1, 2, 3][usize::try_from(number % 12).unwrap()];
        thread::sleep(Duration::from_millis(50 * steps));
        let _ = device.send_to(&buffer[..octets], peer);
    }
}

/// Oracle: what the device does, whatever its figures predict; the profile keeps the picture.
#[test]
fn a_device_that_the_model_does_not_have_is_named() {
    let device = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let way = format!("echo-rtether:{}", device.local_addr().unwrap().port());
    thread::spawn(move || dawdle(&device));
    let folder = Folder::new("identify-misfit");
    let file = folder.file("device.yaml");
    let line = ["identify", "127.0.0.1", "--via", &way, "-n", "96", "--json", "--with-host"];
    let page = folder.file("page.html");
    let ended = rtether().args(line).args(["-o", &file, "--report", &page]).run();
    ended.exits(1);
    let page = folder.read("page.html");
    assert!(page.contains("</svg>") && page.contains("answers are delayed by"), "{page}");
    let own = &ended.json()["series"][0];
    assert_eq!((&own["confirmed"], &own["misfits"][0]["kind"]), (&false.into(), &"steps".into()));
    let why = own["misfits"][0]["why"].as_str().unwrap();
    println!("{why}");
    // In milliseconds, of a busy host.
    let step: f64 = why.split(' ').nth(6).unwrap().parse().unwrap();
    assert!((48.0..52.0).contains(&step) && why.contains("at least 4"), "{why}");
    let shown = rtether().args(["profile", "show", &file]).run();
    shown.exits(0).shows("not confirmed").shows("not as the model has it: answers are delayed");
    assert!(folder.read("device.yaml").contains("histogram:"));
}

/// Speaks Modbus over one connection, at most `most` requests, and then writes megabytes; returns
/// whether the other end closed in order.
fn serve(listener: &TcpListener, most: usize) -> bool {
    let (mut stream, _) = listener.accept().unwrap();
    let mut request = [0; 12];
    for _ in 0..most {
        // The identity has one octet less.
        if stream.read_exact(&mut request[..11]).is_err() {
            return true;
        }
        let [high, low, .., unit, function] = *request.first_chunk::<8>().unwrap();
        let answer = if function == 3 {
            stream.read_exact(&mut request[11..]).unwrap();
            let octets = 2 * request[11];
            let head = [high, low, 0, 0, 0, 3 + octets, unit, 3, octets];
            [&head[..], &vec![0; octets.into()][..]].concat()
        } else {
            vec![high, low, 0, 0, 0, 3, unit, 0x80 | function, 1]
        };
        stream.write_all(&answer).unwrap();
    }
    let end = stream.read(&mut request);
    if matches!(end, Ok(0)) {
        return true;
    }
    let mut flood = stream.try_clone().unwrap();
    let _ = flood.write_all(&vec![0xFF; 4 << 20]);
    false
}

fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let way = format!("modbus:{}", listener.local_addr().unwrap().port());
    (listener, way)
}

/// Oracle: what a read of the other end returns: nothing after a FIN, an error after a reset.
#[test]
fn connections_are_closed_in_order() {
    let (listener, way) = listen();
    let server = thread::spawn(move || serve(&listener, 1));
    rtether().args(["identify", "127.0.0.1", "--list", "--via", &way]).run().exits(0).shows("yes");
    assert!(server.join().unwrap());
}

/// Oracle: the documented exit code: it answered, and nothing was confirmed.
#[test]
fn megabytes_end_the_measurement() {
    let (listener, way) = listen();
    let server = thread::spawn(move || serve(&listener, 20));
    let ended =
        rtether().args(["identify", "127.0.0.1", "--via", &way, "--json", "--with-host"]).run();
    ended.exits(1);
    let own = &ended.json()["series"][0];
    assert_eq!((&own["confirmed"], &own["answered"]), (&false.into(), &18.into()), "{own}");
    assert!(own["warnings"].to_string().contains("65541 octets"), "{own}");
    assert!(!server.join().unwrap());
}
