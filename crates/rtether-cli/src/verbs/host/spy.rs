//! `spy`: the participants of an RTPS domain.

use std::sync::atomic::Ordering;

use clap::{Args, ValueEnum};
use rtether_testbed::Duration;
use rtether_testbed::topics::{self, ParticipantOptions, SpyOptions};

use super::confine::{self, ConfineArgs};
use super::domain::{
    DomainArgs, FrameArgs, Version, end_trace, only_all, participant_of, tell, tracing,
};
use super::quantity::positive;
use super::socket::refuse;
use super::stop::Stop;
use crate::exit::Exit;
use crate::format::FormatArgs;
use crate::stop::Care;
use crate::terminal;

/// Arguments of `spy`.
#[derive(Args, Debug)]
#[command(after_help = SPY_NOTES, mut_arg("discovery", only_all))]
pub(crate) struct SpyArgs {
    #[command(flatten)]
    pub(crate) domain: DomainArgs,
    #[command(flatten)]
    pub(crate) frames: FrameArgs,
    #[command(flatten)]
    pub(crate) confine: ConfineArgs,
    /// How long to listen
    #[arg(long = "for", value_name = "TIME", default_value = "5 s", value_parser = positive)]
    pub(crate) duration: Duration,
    /// Read every topic to measure its rates, as an additional best-effort reader
    #[arg(long)]
    pub(crate) rates: bool,
    /// Show what ROS 2 calls it: nodes, topics, services, actions, types and their hashes
    #[arg(long)]
    pub(crate) ros: bool,
    /// What makes the exit code 1, separated by commas [default: mismatch; with --ros also hash]
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    pub(crate) fail_on: Vec<FailOn>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// What is reported by the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// A writer and a reader of one topic do not match.
    Mismatch,
    /// ROS: two endpoints of one topic and type have different type hashes.
    Hash,
    /// ROS: two nodes have one name.
    Name,
    /// ROS: a topic has only writers or only readers, a service is called and not served.
    OneSided,
    /// Nothing.
    Never,
}

impl FailOn {
    const fn asked(self) -> Option<topics::FailOn> {
        match self {
            Self::Mismatch => Some(topics::FailOn::Mismatch),
            Self::Hash => Some(topics::FailOn::Hash),
            Self::Name => Some(topics::FailOn::Name),
            Self::OneSided => Some(topics::FailOn::OneSided),
            Self::Never => None,
        }
    }

    const fn needs_ros(self) -> bool {
        matches!(self, Self::Hash | Self::Name | Self::OneSided)
    }
}

const SPY_NOTES: &str = "Example: rtether spy --domain 7 --for 10s --rates\n         rtether spy --ros --fail-on mismatch,hash\n\nExit codes: 0 all writers and readers of a topic match, 1 some \
do not, or what --fail-on names was found, 3 no other participant was found, 4 the machine cannot do it, 130 interrupted.";

/// Runs `spy`.
pub(crate) fn run(arguments: &SpyArgs) -> Exit {
    let fail_on = match fail_on(arguments) {
        Ok(fail_on) => fail_on,
        Err(exit) => return exit,
    };
    let stop = Stop::new(Care::None);
    let trace = match tracing(&arguments.domain) {
        Ok(trace) => trace,
        Err(exit) => return exit,
    };
    let confinement = match confine::wished(&arguments.confine) {
        Ok(confinement) => confinement,
        Err(exit) => return exit,
    };
    let options = SpyOptions {
        participant: ParticipantOptions {
            confinement,
            ..participant_of(&arguments.domain, &arguments.frames, trace)
        },
        duration: Some(arguments.duration),
        rates: arguments.rates,
        ros: arguments.ros,
        fail_on: Some(fail_on),
    };
    look(&options, &stop, arguments.format)
}

/// Returns what makes the exit code 1.
fn fail_on(arguments: &SpyArgs) -> Result<Vec<topics::FailOn>, Exit> {
    let wrong = |message: &str| {
        terminal::complain(message);
        Err(Exit::WrongInput)
    };
    let given = &arguments.fail_on;
    if arguments.ros && arguments.domain.version == Version::One {
        return wrong("ROS 2 does not speak RTPS 1.0: leave out `--ros` or `--rtps`");
    }
    if !arguments.ros && given.iter().any(|what| what.needs_ros()) {
        return wrong("`--fail-on hash`, `name` and `one-sided` need `--ros`");
    }
    let usual: &[FailOn] =
        if arguments.ros { &[FailOn::Mismatch, FailOn::Hash] } else { &[FailOn::Mismatch] };
    let asked = if given.is_empty() { usual } else { given };
    Ok(asked.iter().filter_map(|what| what.asked()).collect())
}

/// Looks at a domain and prints what was there.
pub(super) fn look(options: &SpyOptions, stop: &Stop, format: FormatArgs) -> Exit {
    let census = topics::spy(options, stop, tell);
    end_trace(&options.participant);
    let census = match census {
        Ok(census) => census,
        Err(error) => return refuse(&error),
    };
    let printed = format.print(&census);
    if printed != Exit::Ok {
        printed
    } else if stop.load(Ordering::Relaxed) {
        Exit::Interrupted
    } else if let Some(why) = &census.ended {
        terminal::fail(&format!("it ended early: {why}"))
    } else {
        census.conclusion().map_or(Exit::Ok, Exit::from)
    }
}
