//! `rtether load` and its sink, over loopback.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rtether_testkit::{Ended, Finish, Run, handles_signals, signal, wait_for};

use crate::rtether;

/// A sink on a separate port.
struct Sink {
    child: Child,
    address: String,
}

impl Sink {
    fn start(arguments: &[&str]) -> Self {
        let mut child = rtether().args(["load", "--sink", "127.0.0.1:0"]).args(arguments).start();
        let mut line = String::new();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        said.read_line(&mut line).unwrap();
        let (_, rest) = line.split_once("load at ").unwrap();
        let address = rest.split_once(',').unwrap().0.to_owned();
        Self { child, address }
    }

    fn load(&self, arguments: &[&str]) -> Ended {
        self.command(arguments).run()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = rtether();
        command.args(["load", &self.address, "--json"]).args(arguments);
        command
    }

    /// Ends it as by Ctrl-C and returns its last line.
    fn end(mut self) -> String {
        signal(self.child.id(), "-INT");
        let mut text = String::new();
        let mut output = self.child.stdout.take().unwrap();
        output.read_to_string(&mut text).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        text
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        // It has ended already if the test got that far.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn files_go_both_ways() {
    // Oracle: three files of a million octets each way, and the counts of the sink.
    let sink = Sink::start(&[]);
    let output = sink.load(&["--kind", "ftp-both", "--size", "1MB", "--files", "3"]);
    output.exits(0);
    let document = output.json();
    assert_eq!(document["schema"], "rtether.load/1");
    assert_eq!(document["sent_bytes"], 3_000_000);
    assert_eq!(document["received_bytes"], 3_000_000);
    assert_eq!(document["files"], 6);
    let least = document["file_time_min_ns"].as_f64().unwrap();
    assert!(least <= document["file_time_max_ns"].as_f64().unwrap() && least > 0.0);
    let said = sink.end();
    assert!(
        said.contains("6 connections, 0 turned away, 0 broken off idle, 0 malformed"),
        "{said}"
    );
    assert!(said.contains("3000000 B received, 3000000 B sent"), "{said}");
}

#[test]
fn datagrams_keep_their_rate() {
    // Oracle: 1000 octets of payload are 1066 on the wire, so 10 Mbit/s are at most 586 datagrams
    // in half a second plus one millisecond of catching up; loopback loses nothing. A busy host sends
    // fewer, since no more is caught up, but not each time.
    let sent = (0..5).map(|_| datagrams_sent()).find(|sent| *sent >= 300);
    assert!(sent.is_some(), "half of the rate is not kept once in five times");
}

/// Sends for half a second, and returns how many datagrams were sent, which is never too many.
fn datagrams_sent() -> u64 {
    let sink = Sink::start(&[]);
    let wish = ["--kind", "udp", "--size", "1000B", "--rate", "10Mbit/s", "--for", "500ms"];
    let output = sink.load(&[wish.as_slice(), &["--connections", "2"]].concat());
    output.exits(0);
    let document = output.json();
    let sent = document["datagrams_sent"].as_u64().unwrap();
    assert!((1..=592).contains(&sent), "{sent}");
    assert_eq!(document["datagrams_received"], sent);
    assert_eq!(document["datagrams_lost"], 0);
    assert!(sink.end().contains(&format!("{sent} datagrams")));
    sent
}

#[test]
fn an_interrupted_load_tells_what_was_done() {
    // Oracle: the exit code of an interruption, and figures confirmed by the sink.
    let sink = Sink::start(&[]);
    let load = sink.command(&["--kind", "greedy", "--for", "60s"]).start();
    wait_for("it can be interrupted", || handles_signals(load.id()));
    std::thread::sleep(Duration::from_millis(400));
    signal(load.id(), "-INT");
    let begin = Instant::now();
    let output = load.finish();
    assert!(begin.elapsed() < Duration::from_secs(10));
    output.exits(130);
    let document = output.json();
    assert_eq!(document["conclusion"], "INTERRUPTED");
    let sent = document["sent_bytes"].as_u64().unwrap();
    assert!(sent > 0);
    assert!(sink.end().contains(&format!("{sent} B received")));
}

#[test]
fn a_sink_has_limits() {
    // Oracle: the limits on its command line. 500 kB at 8 Mbit/s take half a second, of which 10 ms
    // may be caught up.
    let sink = Sink::start(&["--limit-connections", "1", "--limit-rate", "8Mbit/s"]);
    let first = sink.command(&["--size", "500kB", "--files", "1"]).start();
    std::thread::sleep(Duration::from_millis(150));
    sink.load(&["--size", "1kB", "--files", "1"]).exits(4).says("--limit-connections");
    let first = first.finish();
    let time = first.json()["file_time_min_ns"].as_f64().unwrap();
    assert!((480e6..5e9).contains(&time), "{time}");
    let said = sink.end();
    assert!(said.contains("1 connections, 1 turned away"), "{said}");
}

#[test]
fn strangers_get_nothing() {
    // Oracle: not an octet is sent back for any datagram, nor for an invalid hello.
    let sink = Sink::start(&[]);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    for payload in [b"RTLD-of-no-session-at-all".as_slice(), b"", b"RTLH\x01\x02"] {
        socket.send_to(payload, &sink.address).unwrap();
    }
    assert!(rtether_testkit::repeated(|| socket.recv(&mut [0; 64])).is_err());
    let mut stream = TcpStream::connect(&sink.address).unwrap();
    stream.write_all(&[b'x'; 24]).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, b"");
    let said = sink.end();
    assert!(
        said.contains("0 connections, 0 turned away, 0 broken off idle, 4 malformed"),
        "{said}"
    );
}

#[test]
fn a_sink_that_is_not_there_is_named() {
    // Oracle: a port without a listener, since it was just released.
    let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    drop(socket);
    rtether().args(["load", &address]).run().exits(4).says(&address).says("--sink");
    rtether().args(["load", "no such host"]).run().exits(2);
}
