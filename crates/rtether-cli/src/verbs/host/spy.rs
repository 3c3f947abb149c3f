//! `spy`: the participants of an RTPS domain.

use std::sync::atomic::Ordering;

use clap::Args;
use rtether_testbed::Duration;
use rtether_testbed::topics::{self, Census, ParticipantOptions, SpyOptions};

use super::confine::{self, ConfineArgs};
use super::domain::{DomainArgs, FrameArgs, end_trace, participant_of, tell, tracing};
use super::quantity::positive;
use super::socket::refuse;
use super::stop::Stop;
use crate::exit::Exit;
use crate::format::FormatArgs;
use crate::stop::Care;
use crate::terminal;

/// Arguments of `spy`.
#[derive(Args, Debug)]
#[command(after_help = SPY_NOTES)]
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
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

const SPY_NOTES: &str = "Example: rtether spy --domain 7 --for 10s --rates\n\nExit codes: 0 all writers and readers of a topic match, 1 some \
do not, 3 no other participant was found, 4 the machine cannot do it, 130 interrupted.";

/// Runs `spy`.
pub(crate) fn run(arguments: &SpyArgs) -> Exit {
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
    };
    look(&options, &stop, arguments.format, |census| {
        if census.participants.is_empty() {
            Exit::NoAnswer
        } else if !census.apart.is_empty() {
            Exit::Failed
        } else {
            Exit::Ok
        }
    })
}

/// Looks at a domain and prints what was there; `judge` decides if nothing cut the look short.
pub(super) fn look(
    options: &SpyOptions,
    stop: &Stop,
    format: FormatArgs,
    judge: impl FnOnce(&Census) -> Exit,
) -> Exit {
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
        judge(&census)
    }
}
