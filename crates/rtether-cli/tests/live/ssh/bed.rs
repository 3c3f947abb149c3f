//! Two hosts and a coordinator as network namespaces: the plant's link between the hosts, and a
//! separate network from the coordinator to each, for ssh.

use std::fs::read_to_string;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rtether_testkit::{Folder, Run, is_root, skip};

use super::live;

pub(super) struct Bed {
    name: String,
    pub(super) folder: Folder,
    path: String,
    daemons: Vec<Child>,
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path);
    folders.any(|folder| folder.join(program).is_file())
}

fn run(command: &str) {
    let mut words = command.split_whitespace();
    let mut program = Command::new(words.next().unwrap());
    program.args(words).run().exits(0);
}

impl Bed {
    /// Creates hosts `a` and `b`; the clock of `b` is ahead by `ahead` seconds. `None`, with the
    /// reason on standard error, if that is not possible.
    pub(super) fn new(test: &str, ahead: u32) -> Option<Self> {
        if !is_root() {
            return None;
        }
        let programs = ["ip", "unshare", "ssh", "sshd", "ssh-keygen"];
        if let Some(missing) = programs.into_iter().find(|program| !is_there(program)) {
            skip(&format!(
                "needs `{missing}`: iproute2, util-linux, openssh-client and openssh-server"
            ));
            return None;
        }
        let time = ["unshare", "--time", "--monotonic", "1", "--fork", "true"];
        let probe = Command::new(time[0]).args(&time[1..]).output();
        if ahead > 0 && !probe.is_ok_and(|output| output.status.success()) {
            skip("needs time namespaces (CONFIG_TIME_NS)");
            return None;
        }
        let name = format!("rtether-ssh-{}-{test}", std::process::id());
        let folder = Folder::new(test);
        let mut bed = Self { path: String::new(), name, folder, daemons: Vec::new() };
        bed.cable();
        bed.keys();
        bed.daemon("a", 0);
        bed.daemon("b", ahead);
        bed.wait();
        Some(bed)
    }

    fn namespace(&self, host: &str) -> String {
        format!("{}-{host}", self.name)
    }

    fn cable(&self) {
        let [a, b, coordinator] = ["a", "b", "coordinator"].map(|host| self.namespace(host));
        for name in [&a, &b, &coordinator] {
            run(&format!("ip netns add {name}"));
            run(&format!("ip -n {name} link set lo up"));
        }
        let connect = |[one, own]: [&str; 2], [other, theirs]: [&str; 2], net: &str| {
            run(&format!(
                "ip link add {own} netns {one} type veth peer name {theirs} netns {other}"
            ));
            for (name, device, host) in [(one, own, 1), (other, theirs, 2)] {
                run(&format!("ip -n {name} address add {net}.{host}/24 dev {device}"));
                run(&format!("ip -n {name} link set {device} up"));
            }
        };
        connect([&a, "plant"], [&b, "plant"], "10.78.0");
        connect([&coordinator, "to-a"], [&a, "office"], "10.78.1");
        connect([&coordinator, "to-b"], [&b, "office"], "10.78.2");
    }

    fn keys(&mut self) {
        let at = self.folder.path().display().to_string();
        for key in ["user", "host"] {
            Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(self.folder.path().join(key))
                .run()
                .exits(0);
        }
        let programs = self.folder.path().join("programs");
        std::fs::create_dir(&programs).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_rtether"), programs.join("rtether"))
            .unwrap();
        self.folder.write(
            "sshd_config",
            format!(
                "HostKey {at}/host\nAuthorizedKeysFile {at}/user.pub\nStrictModes no\nUsePAM no\n\
                 PidFile none\nPermitRootLogin yes\nSetEnv PATH={at}/programs:/usr/bin:/bin\n"
            ),
        );
        self.folder.write(
            "ssh_config",
            format!(
                "Host a\n  HostName 10.78.1.2\nHost b\n  HostName 10.78.2.2\nHost *\n  User root\n  \
                 IdentityFile {at}/user\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  \
                 LogLevel ERROR\n"
            ),
        );
        let real = std::env::var_os("PATH").unwrap_or_default();
        let real = std::env::split_paths(&real).map(|folder| folder.join("ssh"));
        let real = real.into_iter().find(|program| program.is_file()).unwrap();
        let script = format!("exec {} -F {at}/ssh_config \"$@\"", real.display());
        self.path = self.folder.script("ssh", &script);
    }

    /// Starts a daemon, which needs its own `/run`.
    fn daemon(&mut self, host: &str, ahead: u32) {
        let config = self.folder.path().join("sshd_config");
        let clock = match ahead {
            0 => String::new(),
            ahead => format!("unshare --time --monotonic {ahead} --fork --kill-child "),
        };
        let script = format!(
            "mount -t tmpfs none /run && mkdir /run/sshd && \
             exec {clock}$(command -v sshd) -D -e -f {}",
            config.display()
        );
        let log = self.folder.file(&format!("sshd-{host}.log"));
        let daemon = Command::new("ip")
            .args(["netns", "exec", &self.namespace(host), "sh", "-c", &script])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(log).unwrap())
            .spawn()
            .unwrap();
        self.daemons.push(daemon);
    }

    fn wait(&self) {
        for host in ["a", "b"] {
            let begun = Instant::now();
            let mut command = self.within("ssh");
            command.args(["-o", "BatchMode=yes", host, "true"]);
            while command.run().code != Some(0) {
                let log = read_to_string(self.folder.path().join(format!("sshd-{host}.log")));
                assert!(begun.elapsed() < Duration::from_secs(20), "{log:?}");
                std::thread::sleep(Duration::from_millis(100));
            }
        }
    }

    /// Returns a command on the coordinator's host.
    fn within(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        let name = self.namespace("coordinator");
        command.args(["netns", "exec", &name, program]);
        command.env("PATH", &self.path);
        command
    }

    /// Returns the command that runs a scenario between `a` and `b`.
    pub(super) fn live(&self, scenario: &str) -> Command {
        let scenario = self.folder.write("plant.yaml", scenario);
        let live = live(&scenario, &["a=a%plant", "b=b%plant"]);
        let mut command = self.within(&live.get_program().to_string_lossy());
        command.args(live.get_args());
        command
    }

    /// Returns the processes of a host, with their commands.
    fn processes(&self, host: &str) -> Vec<(String, String)> {
        let name = self.namespace(host);
        let listed = Command::new("ip").args(["netns", "pids", &name]).run().out;
        let command = |pid: &str| {
            let line = read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            (pid.to_owned(), line.replace('\0', " "))
        };
        listed.lines().map(command).collect()
    }

    fn agent(&self, host: &str) -> Option<String> {
        let mut processes = self.processes(host).into_iter();
        let found = processes.find(|(_, line)| line.starts_with("rtether live-agent"));
        found.map(|(pid, _)| pid)
    }

    /// Kills the agent of a host.
    pub(super) fn kill_agent(&self, host: &str) {
        run(&format!("kill -KILL {}", self.agent(host).unwrap()));
    }

    /// Returns the agents on both hosts, and the clients on the coordinator's host.
    pub(super) fn left(&self) -> Vec<String> {
        let hosts = ["a", "b", "coordinator"].iter();
        let all = hosts.flat_map(|host| self.processes(host));
        let lines = all.map(|(_, line)| line);
        lines.filter(|line| line.contains("live-agent")).collect()
    }

    /// Waits until nothing is left.
    pub(super) fn until_nothing_is_left(&self, limit: Duration) {
        let begun = Instant::now();
        while !self.left().is_empty() {
            assert!(begun.elapsed() < limit, "{:?}", self.left());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until both agents run stations, which have threads.
    pub(super) fn until_agents_run(&self) {
        let begun = Instant::now();
        let is_running = |host: &str| {
            let pid = self.agent(host).unwrap_or_default();
            let threads = std::fs::read_dir(format!("/proc/{pid}/task"));
            // Threads: caller, reader, worker, player, station.
            threads.is_ok_and(|threads| threads.count() >= 5)
        };
        while !(is_running("a") && is_running("b")) {
            assert!(begun.elapsed() < Duration::from_secs(30), "no agents");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        for daemon in &mut self.daemons {
            // Errors are ignored.
            drop(daemon.kill());
            drop(daemon.wait());
        }
        for host in ["a", "b", "coordinator"] {
            let name = self.namespace(host);
            drop(Command::new("ip").args(["netns", "delete", &name]).output());
        }
    }
}
