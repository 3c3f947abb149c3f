//! The subscriber: looks for samples each period, and shows them.

use std::collections::BTreeMap;

use rtether_rtps::engine::{CreateError, NewFilter};
use rtether_rtps::filter::Judge;
use rtether_rtps::qos::AccessScope;
use rtether_rtps::typed::{Received, Subscription};
use rtether_rtps::types::ShapeType;

use super::options::Options;
use super::session::Session;
use super::{Failure, print};

struct Topic {
    name: String,
    subscription: Subscription<ShapeType>,
}

/// A sample, and the topic of which it is.
type Taken = (usize, Received<ShapeType>);

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let mut session = Session::open(options)?;
    let mut topics = create(&mut session, options)?;
    let mut round = 0;
    while !session.is_over() && options.rounds.is_none_or(|rounds| round < rounds) {
        announce(options, round);
        let taken = take(&mut session, &mut topics, options);
        for (index, received) in &taken {
            if let Some(topic) = topics.get(*index) {
                show(&topic.name, received);
            }
        }
        round += 1;
        let due = session.domain.now() + options.read_period;
        session.work(due)?;
    }
    let now = session.domain.now();
    for topic in &topics {
        let participant = session.domain.participant_mut();
        participant.delete_reader(now, topic.subscription.id());
    }
    session.domain.flush().map_err(Failure::run)
}

/// Returns the condition of a content-filtered topic, and its parameter.
fn filter(options: &Options) -> Option<(&str, Option<String>)> {
    let quoted = |color: &String| format!("'{}'", color.replace('\'', "''"));
    match (&options.filter, &options.color) {
        (Some(text), _) => Some((text, None)),
        (None, Some(color)) => Some(("color = %0", Some(quoted(color)))),
        (None, None) => None,
    }
}

fn create(session: &mut Session, options: &Options) -> Result<Vec<Topic>, Failure> {
    let mut topics = Vec::new();
    let filter = filter(options);
    for name in options.topics() {
        let now = session.domain.now();
        let (participant, qos) = (session.domain.participant_mut(), options.qos.clone());
        let suffix = if filter.is_some() { "_filtered" } else { "" };
        let filtered = format!("{name}{suffix}");
        let parameters: Vec<&str> = filter
            .iter()
            .filter_map(|(_, one)| one.as_deref())
            .collect();
        let filter = filter.as_ref().map(|(expression, _)| NewFilter {
            topic: &filtered,
            expression,
            parameters: &parameters,
            judge: Judge::of::<ShapeType>(),
        });
        let subscription = Subscription::open(participant, now, &name, qos, filter);
        let subscription = subscription.map_err(|error| {
            if matches!(error, CreateError::Filter(_)) {
                print::line(format_args!("failed to create content filtered topic"));
            }
            Failure::begin(error)
        })?;
        session.readers.insert(subscription.id(), name.clone());
        print::line(format_args!("Create reader for topic: {filtered}"));
        topics.push(Topic { name, subscription });
    }
    Ok(topics)
}

fn announce(options: &Options, round: u64) {
    if options.qos.presentation.is_ordered {
        print::line(format_args!(
            "Reading with ordered access, iteration {round}"
        ));
    }
    if options.qos.presentation.is_coherent {
        print::line(format_args!("Reading coherent sets, iteration {round}"));
    }
}

/// Takes what is there, in the order of presentation.
fn take(session: &mut Session, topics: &mut [Topic], options: &Options) -> Vec<Taken> {
    let mut taken = Vec::new();
    for (index, topic) in topics.iter_mut().enumerate() {
        let now = session.domain.now();
        let participant = session.domain.participant_mut();
        while let Some(received) = topic.subscription.take(participant, now) {
            taken.push((index, received));
        }
    }
    let presentation = options.qos.presentation;
    let keeps_order = options.takes_all && presentation.is_ordered;
    match presentation.scope {
        AccessScope::Topic if keeps_order => taken,
        AccessScope::Group if keeps_order => {
            // Within a topic the sort changes nothing, as long as there is one publisher.
            taken.sort_by_key(|(_, received)| received.info.source_time);
            taken
        }
        AccessScope::Instance | AccessScope::Topic | AccessScope::Group => by_instance(taken),
    }
}

/// Puts the samples of an instance together, in their order.
fn by_instance(taken: Vec<Taken>) -> Vec<Taken> {
    let mut instances: BTreeMap<(usize, String), Vec<Taken>> = BTreeMap::new();
    for (index, received) in taken {
        let Some(shape) = &received.value else {
            continue;
        };
        let instance = instances.entry((index, shape.color.clone())).or_default();
        instance.push((index, received));
    }
    instances.into_values().flatten().collect()
}

fn show(topic: &str, received: &Received<ShapeType>) {
    let Some(shape) = &received.value else {
        return;
    };
    if received.info.is_valid {
        print::sample(topic, shape);
    }
    print::end(topic, &shape.color, received.info.state);
}
