//! `pub`: samples of a topic over RTPS.

use std::path::PathBuf;

use clap::Args;
use rtether_testbed::Duration;
use rtether_testbed::topics::{self, Ownership, PublishOptions, Representation, SIZE_MAX, span};

use super::confine;
use super::domain::{Version, tracing};
use super::quantity::{positive, time};
use super::topic::{TopicArgs, options, qos, run_topic};
use super::types;
use crate::exit::Exit;
use crate::{number, terminal};

/// Arguments of `pub`.
#[derive(Args, Debug)]
#[command(after_help = PUB_NOTES)]
pub(crate) struct PubArgs {
    #[command(flatten)]
    pub(crate) topic: TopicArgs,
    /// Time between samples
    #[arg(long, value_name = "TIME", default_value = "100 ms", value_parser = time)]
    pub(crate) period: Duration,
    /// Extra octets of each sample
    #[arg(short, long, value_name = "OCTETS", default_value_t = 0, conflicts_with = "described", value_parser = number::within(0_u32..=SIZE_MAX))]
    pub(crate) size: u32,
    /// With --idl or --msg: value of the samples, such as `color: RED, x: 1`; omitted members are zero or
    /// empty
    #[arg(long, value_name = "MEMBERS", requires = "described", conflicts_with = "values")]
    pub(crate) value: Option<String>,
    /// With --idl or --msg: YAML or JSON file with a value or a list of values, written in turn; - reads one
    /// value per line of standard input until it ends
    #[arg(long, value_name = "FILE", requires = "described")]
    pub(crate) values: Option<PathBuf>,
    /// With --idl or --msg: describe the type to others, who then need no file of it
    #[arg(long, requires = "described")]
    pub(crate) describe_type: bool,
    /// Color of shapes, the key of their instances
    #[arg(long, value_name = "COLOR", default_value = "BLUE", conflicts_with = "described", value_parser = color)]
    pub(crate) shape_color: String,
    /// Exclusive ownership with this strength: the strongest writer of an instance owns it
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::strength)]
    pub(crate) strength: Option<i32>,
    /// With --rtps 1.0 and --strength: how long its last sample keeps weaker writers away [default:
    /// --deadline, or for ever]
    #[arg(long, value_name = "TIME", requires = "strength", value_parser = time)]
    pub(crate) persistence: Option<Duration>,
    /// Time after which a sample expires [default: never]
    #[arg(long, value_name = "TIME", value_parser = positive)]
    pub(crate) lifespan: Option<Duration>,
    /// With --reliable: how long to wait at the end until readers have acknowledged everything
    #[arg(long, value_name = "TIME", default_value = "5 s", value_parser = time)]
    pub(crate) linger: Duration,
    /// DSCP of IP packets; its upper three bits are the PCP, inside the host and in frames on
    /// --device
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = number::within(0_u8..=63))]
    pub(crate) dscp: u8,
}

const PUB_NOTES: &str = "Example: rtether pub Square --reliable --period 20ms\n\nExit codes: 0 all was written and every deadline held, 1 a deadline was \
missed or a reliable reader has not acknowledged everything within --linger, 3 no reader, 4 the machine cannot do it, 130 interrupted.";

/// Runs `pub`.
pub(crate) fn run(arguments: &PubArgs) -> Exit {
    let topic = &arguments.topic;
    if arguments.persistence.is_some() && topic.domain.version != Version::One {
        // In 2.5 the deadline that a writer offers is how long its last sample counts.
        terminal::complain("`--persistence` needs `--rtps 1.0`; RTPS 2.5 has `--deadline`");
        return Exit::WrongInput;
    }
    let prepared = types::kind(topic).and_then(|kind| {
        let values = types::values(arguments.value.as_deref(), arguments.values.as_deref(), &kind)?;
        Ok((kind, values, tracing(&topic.domain)?))
    });
    let (kind, values, trace) = match prepared {
        Ok(prepared) => prepared,
        Err(exit) => return exit,
    };
    let mut qos = qos(topic, vec![topic.xcdr.map(Representation::from).unwrap_or_default()]);
    if let Some(strength) = arguments.strength {
        qos.ownership = Ownership::Exclusive;
        qos.strength = strength;
        qos.persistence = arguments.persistence.map(span);
    }
    if let Some(lifespan) = arguments.lifespan {
        qos.lifespan = span(lifespan);
    }
    qos.transport_priority = arguments.dscp.into();
    let mut topic_options = options(topic, kind, qos, trace);
    topic_options.participant.type_lookup = arguments.describe_type;
    topic_options.participant.confinement = match confine::wished(&topic.confine) {
        Ok(confinement) => confinement,
        Err(exit) => return exit,
    };
    let options = PublishOptions {
        topic: topic_options,
        period: arguments.period,
        size: arguments.size,
        linger: arguments.linger,
        color: arguments.shape_color.clone(),
        describes: arguments.describe_type,
    };
    run_topic(topic, &options.topic, |stop, on| topics::publish(&options, values, stop, on))
}

fn color(text: &str) -> Result<String, String> {
    if text.is_empty() || text.len() > 128 {
        return Err("write 1 to 128 octets".into());
    }
    Ok(text.to_owned())
}
