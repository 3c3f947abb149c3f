//! Two hosts on this machine with a wire between them.

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Longer than anything here takes, even on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// One of the hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The host of the shim.
    Near,
    /// The other one.
    Far,
}

impl Side {
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Near => Self::Far,
            Self::Far => Self::Near,
        }
    }

    /// Returns its address.
    pub(crate) const fn address(self) -> &'static str {
        match self {
            Self::Near => "10.79.10.1",
            Self::Far => "10.79.10.2",
        }
    }

    const fn mac(self) -> &'static str {
        match self {
            Self::Near => "02:79:10:00:00:01",
            Self::Far => "02:79:10:00:00:02",
        }
    }
}

/// Two hosts; removed on drop, with what was started in them.
pub(crate) struct Bed {
    tag: String,
}

impl Bed {
    /// Creates them, or returns why that is not possible here.
    pub(crate) fn new() -> Result<Self, String> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        if !Path::new("/dev/net/tun").exists() {
            return Err("needs /dev/net/tun".into());
        }
        let bed = Self { tag: format!("rtether-soak{}-{number}", std::process::id()) };
        bed.build()?;
        Ok(bed)
    }

    /// Returns why this machine does not support a back end.
    pub(crate) fn can_do(&self, backend: &str) -> Result<(), String> {
        if backend == "kernel" {
            for verb in ["add", "del"] {
                self.inside(Side::Near, &format!("tc qdisc {verb} dev wire root htb"))?;
            }
        }
        Ok(())
    }

    pub(crate) fn host(&self, side: Side) -> String {
        let letter = if side == Side::Near { 'a' } else { 'b' };
        format!("{}{letter}", self.tag)
    }

    fn build(&self) -> Result<(), String> {
        let hosts = [Side::Near, Side::Far];
        for side in hosts {
            run(&format!("ip netns add {}", self.host(side)))?;
        }
        let [near, far] = hosts.map(|side| self.host(side));
        run(&format!(
            "ip link add wire netns {near} address {} type veth peer name wire address {} netns {far}",
            Side::Near.mac(),
            Side::Far.mac()
        ))?;
        for side in hosts {
            self.inside(side, "sysctl -qw net.ipv6.conf.all.disable_ipv6=1")?;
            self.inside(side, "sysctl -qw net.ipv6.conf.default.disable_ipv6=1")?;
            let address = side.address();
            self.inside(side, &format!("ip address add {address}/24 dev wire"))?;
            self.inside(side, "ip link set wire mtu 1500")?;
            self.up(side)?;
        }
        for side in hosts {
            self.know_neighbors(side)?;
        }
        let begin = Instant::now();
        while hosts.iter().any(|&side| {
            let shown = self.inside(side, "ip -br link show wire");
            !shown.is_ok_and(|shown| shown.contains(" UP "))
        }) {
            if begin.elapsed() > PATIENCE {
                return Err("the devices do not come up".into());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Permanent neighbor entries: ARP requests are frames like any other, and losing one would
    /// cost those that wait for the answer.
    fn know_neighbors(&self, side: Side) -> Result<(), String> {
        let (address, mac) = (side.other().address(), side.other().mac());
        let command = format!("ip neighbor replace {address} lladdr {mac} dev wire nud permanent");
        self.inside(side, &command).map(drop)
    }

    fn up(&self, side: Side) -> Result<(), String> {
        self.inside(side, "ip link set wire up").map(drop)
    }

    /// Takes a device down for `pause`.
    pub(crate) fn flap(&self, side: Side, pause: Duration) -> Result<(), String> {
        self.inside(side, "ip link set wire down")?;
        std::thread::sleep(pause);
        self.up(side)?;
        self.know_neighbors(side)
    }

    /// Changes the MTU of both devices; no frame is ever longer than the other end accepts.
    pub(crate) fn set_mtu(&self, mtu: u32) -> Result<(), String> {
        let shown = self.inside(Side::Near, "cat /sys/class/net/wire/mtu")?;
        let present: u32 = shown.trim().parse().map_err(|_| shown)?;
        let mut order = [Side::Far, Side::Near];
        if mtu < present {
            order.reverse();
        }
        for side in order {
            self.inside(side, &format!("ip link set wire mtu {mtu}"))?;
        }
        Ok(())
    }

    /// Runs a command in a host.
    pub(crate) fn inside(&self, side: Side, command: &str) -> Result<String, String> {
        run(&format!("ip netns exec {} {command}", self.host(side)))
    }

    /// Moves the calling thread into a host, for sockets it opens.
    pub(crate) fn enter(&self, side: Side) {
        let file = File::open(format!("/run/netns/{}", self.host(side))).unwrap();
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
    }

    /// Returns the command `rtether` in the near host.
    pub(crate) fn rtether(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", &self.host(Side::Near)])
            .arg(env!("CARGO_BIN_EXE_rtether"))
            .args(arguments)
            .env("RUNTIME_DIRECTORY", self.folder("run"))
            .env_remove("NOTIFY_SOCKET")
            .env_remove("WATCHDOG_USEC")
            // Ctrl-C must reach only this process, which cleans up.
            .process_group(0)
            .stdin(Stdio::null());
        command
    }

    fn folder(&self, what: &str) -> PathBuf {
        std::env::temp_dir().join(format!("{}-{what}", self.tag))
    }

    /// Writes a configuration and returns the path of its file.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let folder = self.folder("files");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Returns the number of files of shims.
    pub(crate) fn files(&self) -> usize {
        fs::read_dir(self.folder("run")).map_or(0, Iterator::count)
    }

    /// Returns the processes in a host.
    pub(crate) fn processes(&self, side: Side) -> Vec<String> {
        let pids = run(&format!("ip netns pids {}", self.host(side))).unwrap_or_default();
        pids.lines().map(str::to_owned).collect()
    }

    /// Returns what the system reports about the near device.
    pub(crate) fn look(&self) -> String {
        let commands = [
            "ip address show dev wire",
            "ip route show",
            "tc qdisc show",
            "tc filter show dev wire ingress",
            "tc filter show dev wire egress",
        ];
        let said = commands.map(|command| self.inside(Side::Near, command).unwrap_or_default());
        said.concat()
    }

    /// Returns the frames that a device has lost before its stack, and those dropped for lack of
    /// room in sockets: losses of the bed, not of the shim.
    pub(crate) fn lost_behind(&self, side: Side) -> Result<u64, String> {
        let devices = self.inside(side, "cat /sys/class/net/wire/statistics/rx_dropped")?;
        let sockets = self.inside(side, "cat /proc/net/udp")?;
        let last = |line: &str| line.split_whitespace().last()?.parse::<u64>().ok();
        let sockets: u64 = sockets.lines().skip(1).filter_map(last).sum();
        Ok(sockets + devices.trim().parse::<u64>().map_err(|_| devices)?)
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        for side in [Side::Near, Side::Far] {
            for pid in self.processes(side) {
                drop(run(&format!("kill -KILL {pid}")));
            }
            drop(run(&format!("ip netns delete {}", self.host(side))));
        }
        for what in ["run", "files"] {
            drop(fs::remove_dir_all(self.folder(what)));
        }
    }
}

/// Runs a command and returns its output.
pub(crate) fn run(command: &str) -> Result<String, String> {
    let mut words = command.split(' ');
    let program = words.next().unwrap_or_default();
    let output = Command::new(program).args(words).process_group(0).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{command}: {error}"))?;
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).trim().to_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(format!("{command}: {}", text(&output.stderr)))
    }
}
