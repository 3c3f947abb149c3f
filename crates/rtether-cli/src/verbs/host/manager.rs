//! `manager`: the manager of this host in a domain of RTPS 1.0.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Arg, Args};
use rtether_testbed::Duration;
use rtether_testbed::topics::{ParticipantOptions, Protocol, Role, SpyOptions};

use super::confine::{self, ConfineArgs};
use super::domain::{DomainArgs, Version, only_all, participant, tracing};
use super::quantity::positive;
use super::spy::look;
use super::stop::Stop;
use crate::exit::Exit;
use crate::format::FormatArgs;
use crate::stop::Care;

/// Arguments of `manager`.
#[derive(Args, Debug)]
#[command(after_help = MANAGER_NOTES, mut_arg("version", only_1_0), mut_arg("discovery", only_all), mut_arg("ethertype", |it| it.hide(true)))]
pub(crate) struct ManagerArgs {
    #[command(flatten)]
    pub(crate) domain: DomainArgs,
    #[command(flatten)]
    pub(crate) confine: ConfineArgs,
    /// Duration [default: until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = positive)]
    pub(crate) duration: Option<Duration>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

const MANAGER_NOTES: &str = "Each host with applications of RTPS 1.0 needs one. Managers find each other at --peer, both ways, or by multicast \
without it.\n\nExample: rtether manager --peer 10.0.0.2\n\nExit codes: 0 it ran to its end, 2 wrong input, 4 the machine cannot do it, 130 interrupted.";

/// There are no managers in other versions.
fn only_1_0(version: Arg) -> Arg {
    let only = PossibleValuesParser::new(["1.0"]).map(|_| Version::One);
    version.default_value("1.0").value_parser(only).hide(true)
}

/// Runs `manager`.
pub(crate) fn run(arguments: &ManagerArgs) -> Exit {
    let stop = Stop::new(Care::None);
    let trace = match tracing(&arguments.domain) {
        Ok(trace) => trace,
        Err(exit) => return exit,
    };
    let confinement = match confine::wished(&arguments.confine) {
        Ok(confinement) => confinement,
        Err(exit) => return exit,
    };
    let domain = &arguments.domain;
    let options = SpyOptions {
        participant: ParticipantOptions {
            protocol: Protocol::Rtps1(Role::Manager),
            // A list is meant to be complete.
            multicast: !domain.no_multicast && domain.peer.is_empty(),
            confinement,
            ..participant(domain, None, None, trace)
        },
        duration: arguments.duration,
        rates: false,
        ros: false,
        fail_on: None,
    };
    look(&options, &stop, arguments.format)
}
