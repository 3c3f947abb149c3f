//! Services that run out of system resources: descriptors, threads, room in a socket; and the rights they
//! give up.

use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::net::{TcpStream, UdpSocket};
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rtether_testkit::{Ended, Run, is_root, read_document, repeated, signal};

use crate::rtether;

/// Longest wait for something that takes milliseconds on an idle machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running service on a loopback port chosen by the system.
struct Service {
    child: Child,
    at: String,
}

impl Service {
    /// Starts it with limits set by `prlimit`.
    fn start(limits: &[&str], arguments: &[&str]) -> Self {
        let mut child = Command::new("prlimit")
            .args(limits)
            .arg(env!("CARGO_BIN_EXE_rtether"))
            .args(arguments)
            .start();
        let mut line = String::new();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        said.read_line(&mut line).unwrap();
        let (_, rest) = line.split_once(" at ").unwrap_or_else(|| panic!("it says `{line}`"));
        let at = rest.split([' ', ',']).next().unwrap().to_owned();
        Self { child, at }
    }

    fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }

    /// Ends it as by Ctrl-C and returns its final output.
    fn end(mut self) -> String {
        self.signal("-INT");
        let mut text = String::new();
        let mut output = self.child.stdout.take().unwrap();
        output.read_to_string(&mut text).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0), "{text}");
        text
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.at).unwrap()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It has ended already if the test got that far.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Returns what a service sends before it closes on its own; `None` if it waits for a request.
fn heard(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut said = Vec::new();
    let read = repeated(|| stream.read_to_end(&mut said));
    match read {
        Ok(_) => Some(said),
        Err(error) if error.kind() == ErrorKind::WouldBlock => None,
        Err(error) => panic!("{error}"),
    }
}

/// Opens `count` silent connections; returns the connections served, and what the others were told.
fn crowd(service: &Service, count: usize) -> (Vec<TcpStream>, Vec<Vec<u8>>) {
    let all: Vec<TcpStream> = (0..count).map(|_| service.connect()).collect();
    // Waits until all of them are served or told, however busy the machine is.
    let begin = Instant::now();
    let (mut served, mut told) = (all, Vec::new());
    while begin.elapsed() < PATIENCE && told.is_empty() {
        let mut silent = Vec::new();
        for mut stream in served {
            let pause = Some(Duration::from_millis(50));
            stream.set_read_timeout(pause).unwrap();
            match heard(&mut stream) {
                Some(said) => told.push(said),
                None => silent.push(stream),
            }
        }
        served = silent;
    }
    (served, told)
}

/// Repeats a request until it is answered, which happens once earlier clients have gone.
fn comes_back(mut ask: impl FnMut() -> Ended) {
    let begin = Instant::now();
    loop {
        let output = ask();
        if output.code == Some(0) {
            return;
        }
        assert!(begin.elapsed() < PATIENCE, "{}", output.err);
        sleep(Duration::from_millis(50));
    }
}

/// Oracle: there is room for 16 connections, but not for as many descriptors.
#[test]
fn an_echo_without_descriptors_says_so_and_comes_back() {
    let arguments = [
        "echo",
        "--via",
        "tcp",
        "127.0.0.1:0",
        "--limit-peer",
        "16",
        "--limit-idle",
        "5 min",
        "--json",
    ];
    let service = Service::start(&["--nofile=16:16"], &arguments);
    let (served, told) = crowd(&service, 16);
    assert!(!served.is_empty() && !told.is_empty(), "{}", told.len());
    for said in &told {
        assert!(said.ends_with(b"rtether echo: busy"), "{said:?}");
    }
    let ping = || {
        let arguments = ["ping", &service.at, "--via", "tcp", "-n", "1"];
        rtether().args(arguments).run()
    };
    let refused = ping();
    assert_ne!(refused.code, Some(0));
    refused.says("as many connections as it takes");
    drop(served);
    comes_back(ping);
    let document = read_document(&service.end());
    let count = document["connections_refused"].as_u64().unwrap();
    assert!(count > told.len() as u64, "{document:#}");
    assert!(document["answered"].as_u64() >= Some(1), "{document:#}");
}

/// Oracle: the system limits the threads of the sink's user, and its clients need more.
#[test]
fn a_sink_without_threads_says_so_and_comes_back() {
    // Root becomes a user without other processes.
    if !is_root() {
        return;
    }
    let user = (1_000_000_000 + std::process::id()).to_string();
    let arguments = ["load", "--sink", "127.0.0.1:0", "--user", &user];
    let service = Service::start(&["--nproc=6:6"], &arguments);
    let (served, told) = crowd(&service, 12);
    assert!(!served.is_empty() && !told.is_empty(), "{}", told.len());
    let load = || {
        let arguments = ["load", &service.at, "--kind", "ftp-up", "--size", "10kB"];
        let files = ["--files", "1"];
        rtether().args(arguments).args(files).run()
    };
    let refused = load();
    assert_ne!(refused.code, Some(0));
    refused.says("no thread or no descriptor left");
    drop(served);
    comes_back(load);
    let said = service.end();
    assert!(said.contains("turned away"), "{said}");
}

/// Returns what is queued in the socket of a UDP port, in octets.
fn waiting(pid: u32, port: u16) -> u64 {
    let table = std::fs::read_to_string(format!("/proc/{pid}/net/udp")).unwrap();
    let local = format!(":{port:04X}");
    let mut rows = table.lines().map(|line| line.split_whitespace());
    let row = rows.find(|row| row.clone().nth(1).is_some_and(|at| at.ends_with(&local)));
    let queues = row.and_then(|mut row| row.nth(4)).unwrap();
    let (_, received) = queues.split_once(':').unwrap();
    u64::from_str_radix(received, 16).unwrap()
}

/// Oracle: each datagram sent is answered, malformed, or counted as dropped.
#[test]
fn an_echo_counts_what_its_socket_dropped() {
    const SENT: u64 = 20_000;
    let arguments = ["echo", "127.0.0.1:0", "--json"];
    let service = Service::start(&[], &arguments);
    let port = service.at.rsplit(':').next().unwrap().parse().unwrap();
    service.signal("-STOP");
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for _ in 0..SENT {
        repeated(|| socket.send_to(&[0xA5; 1_000], &service.at)).unwrap();
    }
    assert!(waiting(service.child.id(), port) > 0);
    service.signal("-CONT");
    let begin = Instant::now();
    while waiting(service.child.id(), port) > 0 {
        assert!(begin.elapsed() < PATIENCE, "the datagrams are not read");
        sleep(Duration::from_millis(10));
    }
    let document = read_document(&service.end());
    let count = |name: &str| document[name].as_u64().unwrap();
    assert!(count("overrun") > 0, "{document:#}");
    let all = count("answered") + count("malformed") + count("overrun");
    assert_eq!(all, SENT, "{document:#}");
}

/// Oracle: the kernel's report on every thread (`proc_pid_status(5)`).
#[test]
fn every_service_gives_up_its_rights() {
    // Of its own, so that tests beside this one do not meet its participants.
    let domain = (100 + std::process::id() % 100).to_string();
    let rtps = ["--interface", "127.0.0.1", "--domain", &domain];
    for (arguments, others) in [
        (&["echo", "127.0.0.1:0"][..], &[][..]),
        (&["echo", "127.0.0.1:0", "--via", "tcp"], &[]),
        (&["load", "--sink", "127.0.0.1:0"], &[]),
        (&["echo", "--via", "rtps"], &rtps),
        (&["pub", "Square"], &rtps),
        (&["sub", "Square"], &rtps),
        (&["spy"], &rtps),
    ] {
        let service = Service::start(&[], &[arguments, others].concat());
        let threads = std::fs::read_dir(format!("/proc/{}/task", service.child.id())).unwrap();
        let paths = threads.map(|thread| thread.unwrap().path().join("status"));
        let mut count = 0;
        for status in paths.filter_map(|path| std::fs::read_to_string(path).ok()) {
            let has =
                |line: &str| status.lines().any(|own| own.split_whitespace().eq(line.split(' ')));
            let none = "0".repeat(16);
            for set in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] {
                assert!(has(&format!("{set} {none}")), "{arguments:?}: {status}");
            }
            assert!(has("NoNewPrivs: 1"), "{arguments:?}: {status}");
            // Absent in a kernel without it.
            assert!(!has("Seccomp: 0"), "{arguments:?}: {status}");
            assert!(!has("Uid: 0 0 0 0") && !has("Gid: 0 0 0 0"), "{arguments:?}: {status}");
            count += 1;
        }
        assert!(count > 0, "{arguments:?}");
    }
}
