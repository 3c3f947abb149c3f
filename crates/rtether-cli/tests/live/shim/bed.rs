//! Two namespaces with a wire, and shims in them.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rtether_testkit::{Ended, Finish, Folder, Run, signal, skip};
use serde_json::Value;

use crate::hosts::ip;

/// Priority queues and tags at 100 Mbit/s.
pub(crate) const CONFIG: &str = "
rtether: 1
rate: 100 Mbit/s
priorities: { queues: 2, rules: [{ dscp: 46, queue: 1 }] }
transmit_queues: { strategy: strict, ring: 1 }
tags: { strip: true }
";

/// The same in the kernel.
pub(crate) const KERNEL: &str = "
rtether: 1
backend: kernel
rate: 100 Mbit/s
priorities: { queues: 2, rules: [{ dscp: 46, queue: 1 }] }
transmit_queues: { strategy: moderate }
tags: { strip: true }
smoother: { mode: himd, period: 150 us .. 20 ms, detector: { kind: backlog, low: 3 kB, high: 12 kB } }
";

const FAR: &str = "10.79.9.2";
/// Longer than anything here takes, even on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Two hosts; removed on drop, with what was started in them.
pub(crate) struct Bed {
    tag: String,
    folder: Folder,
    echoes: Vec<Child>,
}

impl Bed {
    pub(crate) fn new() -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut bed = Self {
            tag: format!("rtether-mts{}-{number}", std::process::id()),
            folder: Folder::new("shim"),
            echoes: Vec::new(),
        };
        if !Path::new("/dev/net/tun").exists() {
            skip("needs /dev/net/tun");
            return None;
        }
        if let Err(reason) = bed.build() {
            skip(&reason);
            return None;
        }
        bed.echoes.push(bed.start_echo(&[]));
        Some(bed)
    }

    /// Returns the configurations of the back ends that this machine supports.
    pub(crate) fn configs(&self) -> Vec<&'static str> {
        let near = self.near();
        let tc = |what: &str| ip(&format!("netns exec {near} tc qdisc {what} dev wire root htb"));
        if let Err(reason) = tc("add").and_then(|_| tc("del")) {
            skip(&format!("back end kernel: {reason}"));
            return vec![CONFIG];
        }
        vec![CONFIG, KERNEL]
    }

    fn near(&self) -> String {
        format!("{}a", self.tag)
    }

    fn far(&self) -> String {
        format!("{}b", self.tag)
    }

    fn build(&self) -> Result<(), String> {
        let (near, far) = (self.near(), self.far());
        ip(&format!("netns add {near}"))?;
        ip(&format!("netns add {far}"))?;
        ip(&format!("link add wire netns {near} type veth peer name wire netns {far}"))?;
        for (host, address) in [(&near, "10.79.9.1"), (&far, FAR)] {
            ip(&format!("-n {host} address add {address}/24 dev wire"))?;
            ip(&format!("-n {host} link set wire up"))?;
        }
        for host in [&near, &far] {
            // Until the kernel has seen the carrier, it drops what is sent; an address is tentative
            // until duplicate address detection is done.
            let up = || ip(&format!("-n {host} -br link show wire"));
            let tentative = || ip(&format!("-n {host} address show wire tentative"));
            while !up()?.contains(" UP ") || !tentative()?.is_empty() {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        Ok(())
    }

    /// Answers messages over TCP until the namespace is removed.
    pub(crate) fn echo_over_tcp(&mut self) {
        let echo = self.start_echo(&["--via", "tcp"]);
        self.echoes.push(echo);
    }

    fn start_echo(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(&self.far(), &["echo"]);
        command.args(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = lines.next().unwrap().unwrap();
        assert!(line.contains("answering at"), "{line}");
        child
    }

    /// Returns the folder of state and sockets.
    pub(crate) fn runtime(&self) -> PathBuf {
        std::env::temp_dir().join(&self.tag)
    }

    fn command(&self, host: &str, arguments: &[&str]) -> Command {
        let mut command = self.inside_of(host, Path::new(env!("CARGO_BIN_EXE_rtether")));
        command.args(arguments);
        command
    }

    /// Returns a command that runs a program in the near host.
    pub(crate) fn inside(&self, program: &Path) -> Command {
        self.inside_of(&self.near(), program)
    }

    fn inside_of(&self, host: &str, program: &Path) -> Command {
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", host])
            .arg(program)
            .env("RUNTIME_DIRECTORY", self.runtime())
            .env_remove("NOTIFY_SOCKET")
            .env_remove("WATCHDOG_USEC");
        command
    }

    /// Runs the command in the near host.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        self.command(&self.near(), arguments).run()
    }

    /// Runs the words of a line.
    pub(crate) fn line(&self, line: &str) -> Ended {
        self.run(&line.split(' ').collect::<Vec<_>>())
    }

    /// Writes a configuration into a file that stays until the end.
    pub(crate) fn file(&self, text: &str) -> String {
        self.folder.write("shim.yaml", text)
    }

    /// Starts a shim on the near device and waits until it is at work.
    pub(crate) fn up(&self, config: &str, variables: &[(&str, &str)]) -> Child {
        self.start(&self.near(), config, variables)
    }

    pub(crate) fn up_far(&self, config: &str) -> Child {
        self.start(&self.far(), config, &[])
    }

    fn start(&self, host: &str, config: &str, variables: &[(&str, &str)]) -> Child {
        let arguments = ["shim", "up", "wire", "--config", &self.file(config)];
        let mut command = self.command(host, &arguments);
        command.envs(variables.iter().copied());
        until_at_work(command.start())
    }

    /// Ends a shim in order.
    pub(crate) fn end(&self, shim: Child) {
        signal(shim.id(), "-TERM");
        finish(shim).exits(0);
        assert_eq!(self.files(), [""; 0]);
    }

    /// Returns the status of the near shim.
    pub(crate) fn status(&self) -> Value {
        let output = self.line("shim status wire --json");
        output.exits(0);
        output.json()
    }

    /// Starts requests to the far host.
    pub(crate) fn start_ping(&self, count: u32, interval: &str) -> Child {
        self.start_requests(count, interval, &["--timeout", "500ms"])
    }

    /// Starts messages to the far host, with enough time to retransmit segments.
    pub(crate) fn ping_over_tcp(&self, count: u32, interval: &str) -> Child {
        self.start_requests(count, interval, &["--timeout", "20s", "--via", "tcp"])
    }

    fn start_requests(&self, count: u32, interval: &str, others: &[&str]) -> Child {
        let count = count.to_string();
        let arguments = ["ping", FAR, "-n", &count, "-i", interval, "--json"];
        let mut command = self.command(&self.near(), &[&arguments, others].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().unwrap()
    }

    /// Sends `count` requests and returns how many were lost.
    pub(crate) fn ping(&self, count: u32, interval: &str) -> u64 {
        lost(self.start_ping(count, interval))
    }

    /// Returns what the system reports about the near device.
    pub(crate) fn look(&self) -> String {
        let near = self.near();
        let mut text = String::new();
        for what in [
            "address show dev wire",
            "route show",
            "-6 route show",
            "link show",
            "neighbor show nud permanent",
        ] {
            text += &ip(&format!("-n {near} {what}")).unwrap();
        }
        for what in [
            "tc qdisc show",
            "tc class show dev wire",
            "tc filter show dev wire ingress",
            "tc filter show dev wire egress",
            "cat /proc/sys/net/ipv6/conf/wire/disable_ipv6",
        ] {
            text += &ip(&format!("netns exec {near} {what}")).unwrap_or_default();
        }
        text
    }

    /// Gives the TAP name of a shim on the near device to another kind of device.
    pub(crate) fn take_name_of_tap(&self) {
        let near = self.near();
        let shown = ip(&format!("-n {near} -o link show dev wire")).unwrap();
        let index = shown.split(':').next().unwrap().trim();
        ip(&format!("-n {near} link add rts{index} type veth peer name other")).unwrap();
    }

    pub(crate) fn remove_device(&self) {
        ip(&format!("-n {} link delete wire", self.near())).unwrap();
    }

    /// Returns the names of the files of shims.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.runtime()).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
    }

    /// Returns the processes of the near host.
    pub(crate) fn processes(&self) -> Vec<String> {
        let pids = ip(&format!("netns pids {}", self.near())).unwrap();
        pids.lines().map(str::to_owned).collect()
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        // Without iproute2 there is nothing to remove.
        for host in [self.near(), self.far()] {
            for pid in ip(&format!("netns pids {host}")).unwrap_or_default().lines() {
                drop(Command::new("kill").args(["-KILL", pid]).status());
            }
            drop(ip(&format!("netns delete {host}")));
        }
        for echo in &mut self.echoes {
            drop(echo.wait());
        }
        drop(fs::remove_dir_all(self.runtime()));
    }
}

/// Waits until a shim reports that it is running.
pub(crate) fn until_at_work(mut shim: Child) -> Child {
    // Octet by octet, so that the rest stays for the final output.
    let mut said = String::new();
    let mut output = shim.stderr.take().unwrap();
    while !said.contains("running") {
        let mut octet = [0];
        let size = output.read(&mut octet).unwrap();
        assert!(size > 0, "it ended: {said}");
        said.push(char::from(octet[0]));
    }
    shim.stderr = Some(output);
    shim
}

/// Waits for the end of a process, and kills it if it takes too long.
pub(crate) fn finish(child: Child) -> Ended {
    let pid = child.id();
    let (ended, end) = std::sync::mpsc::channel();
    std::thread::spawn(move || ended.send(child.finish()));
    end.recv_timeout(PATIENCE).unwrap_or_else(|_| {
        signal(pid, "-KILL");
        panic!("process {pid} does not end");
    })
}

/// Waits for the requests started and returns how many were lost.
pub(crate) fn lost(ping: Child) -> u64 {
    let output = finish(ping);
    let document = output.json();
    document["counters"]["lost"].as_u64().unwrap()
}
