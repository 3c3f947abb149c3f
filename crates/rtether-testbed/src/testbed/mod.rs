//! A scenario on this host: a network namespace for each end station, links and switches between
//! them, and the scenario's flows through ordinary sockets (R133).
//!
//! [`Plan`] lists the commands, which can be read before they are run; [`run()`] executes them,
//! measures, and removes the test bed, also after a failure. What a killed run left behind is
//! removed by the next run, or by [`clean`].

mod commands;
mod document;
mod duties;
mod emulation;
mod files;
mod host_report;
mod judged;
mod kernel;
mod layers;
mod measured;
mod output;
mod packet_rows;
mod packets;
mod page;
mod profile;
mod refuse;
mod run;
pub mod ssh;
mod station_logs;
mod streams;
mod work;

use std::fmt;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use rtether_live::filter;
use rtether_live::link::MacAddress;
use rtether_live::namespace::{self, CommandLine, PREFIX};
use rtether_model::network::{NodeId, NodeKind};
use rtether_model::quantity::Duration;

use rtether::scenario::Scenario;

pub(crate) use document::LiveJson;
pub use emulation::Emulation;
pub use judged::Run;
pub use layers::{HostLayer, Replayed};
pub use measured::{Measured, MeasuredStream, Oddities, Worst};
pub use packet_rows::packets_csv;
pub use packets::{PACKETS_MAX, Packet, Packets};
pub use page::html;
pub use profile::emulated;
pub use rtether_live::emulator::EmulatorError;
pub use run::run_load;
pub use run::{Progress, Stood, length, run, stand};

/// Largest number of end stations on one host.
pub const STATIONS_MAX: usize = 100;
/// Prefix of the names of test-bed namespaces.
const NAMES: &str = "live-";
/// Prefix for [`super::calibrate`].
pub(super) const CALIBRATE: &str = "calibrate-";

/// What carries frames between the stations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// The kernel: virtual Ethernet devices, bridges, and queueing disciplines for rates and
    /// priorities.
    #[default]
    Kernel,
    /// The switches and hubs of the simulator, in real time.
    Emulated,
    /// The network between real hosts, which are reached by ssh (see [`ssh`]).
    Ssh,
}

impl Backend {
    /// Returns the name used on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Emulated => "emulated",
            Self::Ssh => "ssh",
        }
    }
}

/// Options of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// What carries frames.
    pub backend: Backend,
    /// How long flows release packets; packets of the first tenth, at most one second, do not
    /// count.
    pub duration: Duration,
    /// Seed of the releases.
    pub seed: u64,
    /// Real-time priority of the stations; that of the emulator is higher by five. `None` for
    /// ordinary priority.
    pub priority: Option<u8>,
}

/// An end station of the test bed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// The node of the scenario.
    pub node: NodeId,
    /// Its namespace; empty for the namespace of the program.
    pub namespace: String,
    /// Its IP address.
    pub ip: Ipv4Addr,
    /// Its Ethernet address.
    pub mac: MacAddress,
}

/// Name of the device of every host.
pub const DEVICE: &str = "eth0";

/// Why a scenario cannot be run live.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// It contains something that this backend does not support.
    #[error("this scenario cannot be run with `--backend {backend}`:\n{}", list(.reasons))]
    Unsupported {
        /// The backend.
        backend: &'static str,
        /// What and where, with a remedy; one sentence each.
        reasons: Vec<String>,
    },
    /// A command of the set-up failed.
    #[error("{source}{}", remedy(.source))]
    Command {
        /// The command and its output.
        #[from]
        source: namespace::CommandError,
    },
    /// The kernel refuses the programs that handle tags.
    #[error(
        "loading packet filters for tags of UDP flows: {0}; it needs root and a kernel with \
         CONFIG_NET_CLS_BPF; or leave out `pcp` and `vlan` of UDP flows"
    )]
    Filter(std::io::Error),
    /// The network cannot be emulated here.
    #[error("emulator: {0}")]
    Emulator(#[from] EmulatorError),
    /// A station could not start.
    #[error("station `{station}`: {source}")]
    Station {
        /// Its name.
        station: String,
        /// The reason.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Stopped before anything was measured.
    #[error("interrupted before anything was measured; what had been made is removed")]
    Interrupted,
    /// A named host cannot take part.
    #[error(transparent)]
    Host(#[from] ssh::HostError),
}

fn list(reasons: &[String]) -> String {
    let lines: Vec<String> = reasons.iter().map(|reason| format!("  - {reason}")).collect();
    lines.join("\n")
}

fn remedy(error: &namespace::CommandError) -> &'static str {
    let message = &error.message;
    if message.contains("ermitted") || message.contains("denied") {
        "; network namespaces need root: run it with `sudo`"
    } else if message.contains("No such file") {
        "; install iproute2, which has the programs `ip` and `tc`"
    } else {
        ""
    }
}

/// One step of the set-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A command.
    Command(CommandLine),
    /// Pins the two programs that push and pop the tags of packets of ordinary sockets in this
    /// folder (`rtether_live::filter`).
    Pin(PathBuf),
}

impl Step {
    fn run(&self) -> Result<(), TestbedError> {
        match self {
            Self::Command(command) => {
                command.run()?;
                Ok(())
            }
            Self::Pin(folder) => filter::pin(folder).map_err(TestbedError::Filter),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(command) => command.fmt(f),
            Self::Pin(folder) => {
                write!(
                    f,
                    "# rtether pins its filters `{}` and `{}` in {}",
                    filter::PUSH,
                    filter::POP,
                    folder.display()
                )
            }
        }
    }
}

/// The commands that create a test bed and remove it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What carries frames.
    pub backend: Backend,
    /// Creates the test bed, in order.
    pub set_up: Vec<Step>,
    /// Removes it.
    pub tear_down: Vec<CommandLine>,
    /// End stations, in the order of nodes.
    pub hosts: Vec<Host>,
    /// Namespace of the emulator, and its devices in the order of hosts.
    pub emulator: Option<(String, Vec<String>)>,
    /// Namespaces of hosts with a shim on their device.
    pub shims: Vec<String>,
}

impl Plan {
    /// Plans a test bed; `tag` distinguishes it from others on this host.
    ///
    /// # Errors
    /// Everything in the scenario that this backend does not support.
    pub fn new(scenario: &Scenario, backend: Backend, tag: &str) -> Result<Self, TestbedError> {
        let mut reasons = refuse::reasons(scenario, backend);
        if backend == Backend::Ssh {
            reasons.push("its hosts have to be named; `ssh::Plan` takes them".into());
        }
        if !reasons.is_empty() {
            return Err(TestbedError::Unsupported { backend: backend.name(), reasons });
        }
        let hosts = hosts(scenario, tag);
        Ok(commands::plan(scenario, backend, tag, hosts))
    }

    /// Returns the host of a node.
    pub fn host(&self, node: NodeId) -> Option<&Host> {
        self.hosts.iter().find(|host| host.node == node)
    }
}

impl fmt::Display for Plan {
    /// Formats the plan as a shell script.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# makes the test bed")?;
        for step in &self.set_up {
            writeln!(f, "{step}")?;
        }
        for namespace in &self.shims {
            writeln!(f, "# rtether runs a shim at {DEVICE} of {namespace}")?;
        }
        writeln!(f, "# removes it")?;
        for command in &self.tear_down {
            writeln!(f, "{command}")?;
        }
        Ok(())
    }
}

fn hosts(scenario: &Scenario, tag: &str) -> Vec<Host> {
    let nodes = scenario.network.iter_nodes();
    let stations = nodes.filter(|(_, node)| matches!(node.kind, NodeKind::EndStation(_)));
    let hosts = (1u8..).zip(stations).map(|(number, (id, _))| Host {
        node: id,
        namespace: namespace_of(tag, id),
        ip: Ipv4Addr::new(10, 77, 0, number),
        mac: MacAddress([0x02, b'r', b't', 0, 0, number]),
    });
    hosts.collect()
}

/// Returns the name of a node's namespace, made of the number of the node, so that its name may be
/// any.
fn namespace_of(tag: &str, node: NodeId) -> String {
    format!("{PREFIX}{NAMES}{tag}-{}", node.0)
}

/// Removes what test beds, `calibrate` and `doctor` of ended processes left behind; returns the
/// names of the namespaces.
///
/// # Errors
/// If one cannot be removed.
pub fn clean() -> Result<Vec<String>, TestbedError> {
    let mut removed = Vec::new();
    for name in namespace::list(PREFIX) {
        if !is_left_behind(&name) {
            continue;
        }
        let deleted = CommandLine::words(&format!("ip netns delete {name}")).run();
        // Another run may be cleaning at the same time.
        if deleted.is_ok() || namespace::list(&name).contains(&name) {
            deleted?;
            removed.push(name);
        }
    }
    for entry in std::fs::read_dir(commands::RUN).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if is_left_behind(&name) {
            // It may be mounted or not, depending on when the process was killed.
            drop(CommandLine::words(&format!("umount {}", entry.path().display())).run());
            drop(std::fs::remove_dir(entry.path()));
            removed.push(name);
        }
    }
    Ok(removed)
}

/// Returns whether a name belongs to a process that has ended: the process number follows the name
/// of the verb.
fn is_left_behind(name: &str) -> bool {
    let verbs = [NAMES, CALIBRATE, crate::doctor::NAMES];
    let name = name.strip_prefix(PREFIX).unwrap_or_default();
    let rest = verbs.iter().find_map(|verb| name.strip_prefix(verb));
    let digits = rest.map(|rest| rest.split(|c: char| !c.is_ascii_digit()));
    let pid = digits.and_then(|mut parts| parts.next()?.parse::<u32>().ok());
    pid.is_some_and(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists())
}
