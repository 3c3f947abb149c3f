//! `sub`: the samples of a topic over RTPS.

use std::sync::atomic::Ordering;

use clap::Args;
use rtether_testbed::Duration;
use rtether_testbed::topics::{
    self, AnnouncedOptions, Ownership, Representation, SubscribeOptions, TopicType, span,
};

use super::confine;
use super::domain::{participant_of, tracing};
use super::quantity::time;
use super::socket::refuse;
use super::stop::Stop;
use super::topic::{TopicArgs, is_announced, on_the_wire, options, qos, run_topic};
use super::types;
use crate::exit::Exit;
use crate::stop::Care;
use crate::terminal;

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

/// Asks the participants that have the topic for its type.
fn find(topic: &TopicArgs) -> Result<TopicType, Exit> {
    let options = AnnouncedOptions {
        participant: participant_of(&topic.domain, &topic.frames, None),
        topic: on_the_wire(topic),
        duration: topic.duration,
    };
    let stop = Stop::new(Care::None);
    let found = topics::announced(&options, &stop).map_err(|error| refuse(&error))?;
    let Some(found) = found else {
        if stop.load(Ordering::Relaxed) {
            return Err(Exit::Interrupted);
        }
        terminal::tell(&format!("nobody writes or reads `{}`", options.topic));
        return Err(Exit::NoAnswer);
    };
    let name = found.kind.type_name();
    terminal::tell(&format!("{} describes the type: {name}", found.who));
    Ok(found.kind)
}

/// Runs `sub`.
pub(crate) fn run(arguments: &SubArgs) -> Exit {
    let topic = &arguments.topic;
    let kind = if is_announced(topic) { find(topic) } else { types::kind(topic) };
    let prepared = kind.and_then(|kind| Ok((kind, tracing(&topic.domain)?)));
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
    run_topic(topic, &options.topic, |stop, on| topics::subscribe(&options, stop, on))
}
