//! `sub`: the samples of a topic over RTPS.

use clap::Args;
use rtether_testbed::Duration;
use rtether_testbed::topics::{self, Ownership, Representation, SubscribeOptions, span};

use super::confine;
use super::domain::tracing;
use super::quantity::time;
use super::topic::{TopicArgs, options, qos, run_topic};
use super::types;
use crate::exit::Exit;

/// Arguments of `sub`.
#[derive(Args, Debug)]
#[command(after_help = SUB_NOTES)]
pub(crate) struct SubArgs {
    #[command(flatten)]
    pub(crate) topic: TopicArgs,
    /// Exclusive ownership, as offered by writers with `--strength`
    #[arg(long)]
    pub(crate) exclusive: bool,
    /// Minimum separation of the samples of an instance; those in between are dropped
    #[arg(long, value_name = "TIME", default_value = "0 s", value_parser = time)]
    pub(crate) filter: Duration,
    /// Show how long samples take, by the time stamps of their writers, and what the clocks allow
    /// to say
    #[arg(long)]
    pub(crate) delay: bool,
    /// With --delay: largest difference between the clocks of the hosts, as a synchronization tells
    #[arg(long, value_name = "TIME", requires = "delay", value_parser = time)]
    pub(crate) clock_error: Option<Duration>,
}

const SUB_NOTES: &str = "Example: rtether sub Square --deadline 50ms --count 100\n\nExit codes: 0 samples came and every deadline held, 1 a deadline was missed \
or fewer than --count came, 3 none came, 4 the machine cannot do it, 130 interrupted.";

/// Runs `sub`.
pub(crate) fn run(arguments: &SubArgs) -> Exit {
    let topic = &arguments.topic;
    let prepared = types::kind(topic).and_then(|kind| Ok((kind, tracing(&topic.domain)?)));
    let (kind, trace) = match prepared {
        Ok(prepared) => prepared,
        Err(exit) => return exit,
    };
    let encodings = match topic.xcdr {
        Some(xcdr) => vec![xcdr.into()],
        None => vec![Representation::Xcdr1, Representation::Xcdr2],
    };
    let mut qos = qos(topic, encodings);
    if arguments.exclusive {
        qos.ownership = Ownership::Exclusive;
    }
    qos.time_based_filter = span(arguments.filter);
    let mut topic_options = options(topic, kind, qos, trace);
    topic_options.participant.confinement = match confine::wished(&topic.confine) {
        Ok(confinement) => confinement,
        Err(exit) => return exit,
    };
    let options = SubscribeOptions {
        topic: topic_options,
        delay: arguments.delay,
        clock_error: arguments.clock_error,
    };
    run_topic(topic, &options.topic, |stop, on| {
        topics::subscribe(&options, stop, on)
    })
}
