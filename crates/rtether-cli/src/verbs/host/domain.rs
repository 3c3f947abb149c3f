//! Where a participant joins an RTPS domain, and its trace.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Arg, Args, ValueEnum};
use rtether_testbed::Vid;
use rtether_testbed::topics::{
    Discovery, EthernetOptions, Happening, ParticipantOptions, Peer, Ports, Protocol, Role, Trace,
};

use super::quantity::vid;
use crate::drafts;
use crate::exit::Exit;
use crate::{number, terminal};

/// Where in the network a participant is.
#[derive(Args, Debug)]
pub(crate) struct DomainArgs {
    /// RTPS: the domain
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = number::within(0_u16..=Ports::DOMAIN_MAX))]
    pub(crate) domain: u16,
    /// RTPS: version of the protocol: 2.5, or 1.0 as of ORTE, whose applications need a manager on
    /// their host, or at --peer
    #[arg(long = "rtps", value_name = "VERSION", default_value = "2.5")]
    pub(crate) version: Version,
    /// RTPS: address of this host that selects the network [default: the first that is not
    /// loopback]
    #[arg(long, value_name = "ADDRESS", value_parser = number::ipv4)]
    pub(crate) interface: Option<Ipv4Addr>,
    /// RTPS: address of a host that multicast does not reach, with --device of a station;
    /// repeatable
    #[arg(long, value_name = "ADDRESS", value_parser = peer)]
    pub(crate) peer: Vec<Peer>,
    /// RTPS: do not announce by multicast or listen to it; needs `--peer`, on one of the sides
    #[arg(long)]
    pub(crate) no_multicast: bool,
    /// RTPS: accept messages of a participant from any address, not only from those it has
    /// announced, and send to addresses that have never answered
    #[arg(long)]
    pub(crate) any_source: bool,
    /// RTPS: whose endpoints it exchanges: of all participants, or on demand, only of those that
    /// share a topic
    #[arg(long, value_name = "KIND", default_value = "all")]
    pub(crate) discovery: DiscoveryName,
    /// RTPS: `EtherType` of frames on --device
    #[arg(long, value_name = "TYPE", default_value = "0x88b6", value_parser = ethertype)]
    pub(crate) ethertype: u16,
    /// RTPS: write everything sent and received to this pcapng file, up to 1 GiB
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
}

/// Version of RTPS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Version {
    /// 2.5.
    #[value(name = "2.5")]
    Two,
    /// 1.0.
    #[value(name = "1.0")]
    One,
}

/// How the endpoints of others are discovered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiscoveryName {
    /// All of them.
    All,
    /// Those of participants that share a topic.
    OnDemand,
}

impl From<DiscoveryName> for Discovery {
    fn from(name: DiscoveryName) -> Self {
        match name {
            DiscoveryName::All => Self::All,
            DiscoveryName::OnDemand => Self::OnDemand,
        }
    }
}

/// Leaves only the discovery of all: for verbs that list a domain, and have no topic to share.
pub(super) fn only_all(discovery: Arg) -> Arg {
    let only = PossibleValuesParser::new(["all"]).map(|_| DiscoveryName::All);
    discovery.value_parser(only).hide(true)
}

/// Frames on a device.
#[derive(Args, Debug)]
pub(crate) struct FrameArgs {
    /// RTPS: use Ethernet frames on this device, without IP (needs the right to raw frames)
    #[arg(long, value_name = "NAME")]
    pub(crate) device: Option<String>,
    /// RTPS: VLAN in the tags of frames on --device
    #[arg(long, value_name = "N", value_parser = vid, requires = "device")]
    pub(crate) vlan: Option<Vid>,
}

pub(super) fn participant_of(
    domain: &DomainArgs,
    frames: &FrameArgs,
    trace: Option<Trace>,
) -> ParticipantOptions {
    participant(domain, frames.device.as_deref(), frames.vlan, trace)
}

/// Creates the file of a trace, if one is requested.
pub(crate) fn tracing(domain: &DomainArgs) -> Result<Option<Trace>, Exit> {
    let made = domain.trace.as_deref().map(|path| {
        let file = drafts::overwrite(path).map_err(|message| terminal::fail(&message))?;
        Trace::begin_in(file).map_err(|error| {
            terminal::fail(&format!("writing a trace to {}: {error}", path.display()))
        })
    });
    made.transpose()
}

/// Finishes a trace, once its participant is gone, and reports its outcome.
pub(crate) fn end_trace(participant: &ParticipantOptions) {
    let Some(trace) = &participant.trace else {
        return;
    };
    let traced = trace.finish();
    let count = traced.datagrams;
    terminal::tell(&match (traced.ended, traced.missing) {
        (None, 0) => format!("{count} datagrams in the trace"),
        (None, missing) => format!("{count} datagrams in the trace, {missing} did not fit a frame"),
        (Some(why), missing) => format!(
            "the trace ended after {count} datagrams, the last {missing} are missing: {why}"
        ),
    });
}

/// Returns where a participant joins.
pub(crate) fn participant(
    domain: &DomainArgs,
    device: Option<&str>,
    vlan: Option<Vid>,
    trace: Option<Trace>,
) -> ParticipantOptions {
    let ethernet = device.map(|device| EthernetOptions {
        ethertype: domain.ethertype,
        vlan: vlan.map_or(0, Vid::get),
        ..EthernetOptions::on(device)
    });
    ParticipantOptions {
        ethernet,
        domain: domain.domain,
        protocol: match domain.version {
            Version::Two => Protocol::Rtps2,
            Version::One => Protocol::Rtps1(Role::Application),
        },
        interface: domain.interface,
        peers: domain.peer.clone(),
        multicast: !domain.no_multicast,
        any_source: domain.any_source,
        type_lookup: false,
        discovery: domain.discovery.into(),
        trace,
        confinement: None,
    }
}

pub(super) fn tell(happening: &Happening) {
    let head = if happening.is_warning() { "warning: " } else { "" };
    terminal::tell(&format!("{head}{happening}"));
}

fn peer(text: &str) -> Result<Peer, String> {
    let wrong = |_| "write an address, such as 10.0.0.2 or 02:00:00:00:00:01".into();
    text.parse().map_err(wrong)
}

fn ethertype(text: &str) -> Result<u16, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u16::from_str_radix(digits, 16).map_err(|_| "write four hexadecimal digits".into())
}
