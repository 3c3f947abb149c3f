//! Two hosts with a wire between them.

use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rtether_testkit::{Ended, Run, skip};

pub(crate) const NEAR: &str = "10.78.31.1";
pub(crate) const FAR: &str = "10.78.31.2";

/// Two hosts with a wire; removed on drop.
pub(crate) struct Hosts {
    pub(crate) near: String,
    pub(crate) far: String,
}

/// Runs `ip` with the words of a line; returns what it prints, or why it failed.
pub(crate) fn ip(line: &str) -> Result<String, String> {
    let output = Command::new("ip").args(line.split_whitespace()).output();
    let ended = Ended::from(output.map_err(|error| error.to_string())?);
    if ended.code == Some(0) { Ok(ended.out) } else { Err(format!("ip {line}: {}", ended.err)) }
}

impl Hosts {
    pub(crate) fn new() -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let tag = format!("rtether-top{}-{number}", std::process::id());
        let hosts = Self { near: format!("{tag}a"), far: format!("{tag}b") };
        match hosts.build() {
            Ok(()) => Some(hosts),
            Err(reason) => {
                skip(&reason);
                None
            }
        }
    }

    fn build(&self) -> Result<(), String> {
        let Self { near, far } = self;
        ip(&format!("netns add {near}"))?;
        ip(&format!("netns add {far}"))?;
        ip(&format!("link add wire netns {near} type veth peer name wire netns {far}"))?;
        for (host, address) in [(near, NEAR), (far, FAR)] {
            ip(&format!("-n {host} address add {address}/24 dev wire"))?;
            ip(&format!("-n {host} link set wire up"))?;
            // Two participants of one host communicate by it.
            ip(&format!("-n {host} link set lo up"))?;
        }
        for host in [near, far] {
            // Until the kernel has seen the carrier, it drops what is sent.
            while !ip(&format!("-n {host} -br link show wire"))?.contains(" UP ") {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        Ok(())
    }

    /// Returns the command, run in one of the hosts.
    pub(crate) fn command(host: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("ip");
        let program = env!("CARGO_BIN_EXE_rtether");
        command.args(["netns", "exec", host, program]);
        command.args(arguments);
        command
    }

    /// Starts the words of a line in one of the hosts.
    pub(crate) fn start(host: &str, line: &str) -> Child {
        Self::command(host, &[]).args(line.split(' ')).start()
    }

    /// Starts the managers of RTPS 1.0 of both, which know each other by address.
    pub(crate) fn managers(&self) -> [Child; 2] {
        [(&self.near, FAR), (&self.far, NEAR)]
            .map(|(host, peer)| Self::start(host, &format!("manager --peer {peer} --json")))
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for host in [&self.near, &self.far] {
            // Missing if it could not be created.
            let _ = ip(&format!("netns delete {host}"));
        }
    }
}
