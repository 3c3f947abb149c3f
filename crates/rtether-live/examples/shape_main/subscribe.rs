//! The subscriber: takes samples each period, and prints them.

use std::collections::BTreeMap;

use rtether_rtps::engine::{CreateError, NewFilter, SubscriberId};
use rtether_rtps::filter::Judge;
use rtether_rtps::qos::AccessScope;
use rtether_rtps::typed::{Received, Subscription, SubscriptionOptions};
use rtether_rtps::types::ShapeType;

use super::options::Options;
use super::session::Session;
use super::{Failure, print};

struct Topic {
    name: String,
    subscription: Subscription<ShapeType>,
}

/// A sample, and the index of its topic.
type Taken = (usize, Received<ShapeType>);

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let mut session = Session::open(options)?;
    let participant = session.domain.participant_mut();
    let subscriber = participant.create_subscriber();
    let subscriber = subscriber.ok_or_else(|| Failure::begin("there are too many subscribers"))?;
    let mut topics = create(&mut session, subscriber, options)?;
    let mut round = 0;
    while !session.is_over() && options.rounds.is_none_or(|rounds| round < rounds) {
        announce(options, round);
        let taken = take(&mut session, &mut topics, subscriber, options);
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

fn create(
    session: &mut Session,
    subscriber: SubscriberId,
    options: &Options,
) -> Result<Vec<Topic>, Failure> {
    let mut topics = Vec::new();
    let filter = filter(options);
    for name in options.topics() {
        let now = session.domain.now();
        let (participant, qos) = (session.domain.participant_mut(), options.qos.clone());
        let suffix = if filter.is_some() { "_filtered" } else { "" };
        let filtered = format!("{name}{suffix}");
        let parameters: Vec<&str> = filter.iter().filter_map(|(_, one)| one.as_deref()).collect();
        let filter = filter.as_ref().map(|(expression, _)| NewFilter {
            topic: &filtered,
            expression,
            parameters: &parameters,
            judge: Judge::of::<ShapeType>(),
        });
        let more = SubscriptionOptions { filter, subscriber: Some(subscriber) };
        let subscription = Subscription::open(participant, now, &name, qos, more);
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
        print::line(format_args!("Reading with ordered access, iteration {round}"));
    }
    if options.qos.presentation.is_coherent {
        print::line(format_args!("Reading coherent sets, iteration {round}"));
    }
}

/// Takes the waiting samples, in the order of presentation.
fn take(
    session: &mut Session,
    topics: &mut [Topic],
    subscriber: SubscriberId,
    options: &Options,
) -> Vec<Taken> {
    let mut taken = Vec::new();
    let now = session.domain.now();
    let participant = session.domain.participant_mut();
    while let Some(reader) = participant.next_in_group(now, subscriber) {
        let mut all = topics.iter_mut().enumerate();
        let next = all.find(|(_, topic)| topic.subscription.id() == reader);
        let Some((index, topic)) = next else { break };
        let received = topic.subscription.take(participant, now);
        taken.extend(received.map(|received| (index, received)));
    }
    let presentation = options.qos.presentation;
    if !options.takes_all || !presentation.is_ordered {
        return by_instance(taken);
    }
    match presentation.scope {
        AccessScope::Group => taken,
        AccessScope::Topic => {
            taken.sort_by_key(|(index, _)| *index);
            taken
        }
        AccessScope::Instance => by_instance(taken),
    }
}

/// Groups samples by instance, keeping their order.
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
