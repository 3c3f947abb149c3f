//! The publisher: moving shapes, one round per period, from the start even without subscribers.

use rtether_rtps::engine::{Participant, PublisherId};
use rtether_rtps::filter::Judge;
use rtether_rtps::qos::{AccessScope, Reliability};
use rtether_rtps::time::{Duration, Instant};
use rtether_rtps::typed::{Publication, PublicationOptions, PublishError};
use rtether_rtps::types::ShapeType;
use rtether_rtps::writer::WriteError;

use super::keep::Keeper;
use super::options::{Final, Options};
use super::session::Session;
use super::{Failure, print};

/// Maximum coordinates, in pixels.
const AREA: (i32, i32) = (240, 270);
/// Movement per round, in pixels.
const STEP: (i32, i32) = (5, 7);
/// Longest wait for acknowledgments at the end.
const ACKNOWLEDGED: Duration = Duration::from_s(1);
/// Time between checks for room.
const LOOK: Duration = Duration::from_ms(1);

struct Topic {
    name: String,
    publication: Publication<ShapeType>,
    keeper: Option<Keeper>,
}

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let mut session = Session::open(options)?;
    let colors: Vec<String> = options.colors().collect();
    let participant = session.domain.participant_mut();
    let publisher = participant.create_publisher();
    let publisher = publisher.ok_or_else(|| Failure::begin("there are too many publishers"))?;
    let mut topics = create(&mut session, publisher, options)?;
    let mut shape = ShapeType {
        shapesize: options.size,
        additional_payload_size: vec![255; options.payload],
        ..ShapeType::default()
    };
    // With smaller scopes each writer has sets of its own.
    let is_group = options.qos.presentation.scope == AccessScope::Group;
    let group = is_group.then_some(publisher);
    let mut round = 0;
    while !session.is_over() && options.rounds.is_none_or(|rounds| round < rounds) {
        move_on(&mut shape, round, options);
        let (is_first, is_last) = in_set(round, options);
        if is_first {
            begin_sets(&mut session, &topics, group);
        }
        for topic in &mut topics {
            for color in &colors {
                shape.color.clone_from(color);
                if let Some(keeper) = &mut topic.keeper {
                    keeper.keep(&shape)?;
                }
                publish(&mut session, &mut topic.publication, &shape)?;
                if options.shows {
                    print::sample(&topic.name, &shape);
                }
            }
        }
        if is_last {
            end_sets(&mut session, &topics, group)?;
        }
        round += 1;
        // A late round also delays the next one.
        let due = session.domain.now() + options.write_period;
        session.work(due)?;
    }
    if !session.is_over() {
        end(&mut session, &mut topics, &colors, options)?;
    }
    let now = session.domain.now();
    for topic in &topics {
        let participant = session.domain.participant_mut();
        participant.delete_writer(now, topic.publication.id());
    }
    session.domain.flush().map_err(Failure::run)
}

fn create(
    session: &mut Session,
    publisher: PublisherId,
    options: &Options,
) -> Result<Vec<Topic>, Failure> {
    let mut topics = Vec::new();
    let color = options.color.as_deref().unwrap_or("BLUE");
    for name in options.topics() {
        let now = session.domain.now();
        let (participant, qos) = (session.domain.participant_mut(), options.qos.clone());
        let more = PublicationOptions {
            judge: Some(Judge::of::<ShapeType>()),
            publisher: Some(publisher),
            separates: false,
        };
        let publication = Publication::open(participant, now, &name, qos, more);
        let publication = publication.map_err(Failure::begin)?;
        session.writers.insert(publication.id(), name.clone());
        print::line(format_args!("Create writer for topic: {name} color: {color}"));
        let mut topic = Topic { keeper: Keeper::open(options, &name)?, name, publication };
        if let Some(keeper) = &topic.keeper {
            for shape in keeper.left(options.qos.lifespan) {
                publish(session, &mut topic.publication, &shape)?;
            }
        }
        topics.push(topic);
    }
    Ok(topics)
}

fn publish(
    session: &mut Session,
    publication: &mut Publication<ShapeType>,
    shape: &ShapeType,
) -> Result<(), Failure> {
    until_there_is_room(session, |participant, now| publication.publish(participant, now, shape))
}

/// Returns whether a coherent set begins with a round, and whether one ends with it.
fn in_set(round: u64, options: &Options) -> (bool, bool) {
    match round.checked_rem(options.set_rounds) {
        Some(at) if options.forms_sets() => (at == 0, at + 1 == options.set_rounds),
        _ => (false, false),
    }
}

fn begin_sets(session: &mut Session, topics: &[Topic], group: Option<PublisherId>) {
    print::line(format_args!("Started Coherent Set"));
    let participant = session.domain.participant_mut();
    match group {
        Some(publisher) => participant.begin_group_set(publisher),
        None => {
            for topic in topics {
                topic.publication.begin_set(participant);
            }
        }
    }
}

fn end_sets(
    session: &mut Session,
    topics: &[Topic],
    group: Option<PublisherId>,
) -> Result<(), Failure> {
    if let Some(publisher) = group {
        until_there_is_room(session, |participant, now| {
            Ok(participant.end_group_set(now, publisher)?)
        })?;
    }
    for topic in topics.iter().filter(|_| group.is_none()) {
        let publication = &topic.publication;
        until_there_is_room(session, |participant, now| publication.end_set(participant, now))?;
    }
    print::line(format_args!("Finished Coherent Set"));
    Ok(())
}

/// Moves the shape back and forth, and lets it grow.
fn move_on(shape: &mut ShapeType, round: u64, options: &Options) {
    let place = |step: i32, most: i32| {
        let way = u64::from(most.unsigned_abs());
        let at = (round * u64::from(step.unsigned_abs())) % (2 * way);
        i32::try_from(at.min(2 * way - at)).unwrap_or(0)
    };
    shape.x = place(STEP.0, AREA.0);
    shape.y = place(STEP.1, AREA.1);
    if options.size == 0 {
        shape.shapesize = match options.size_modulo {
            Some(modulo) => shape.shapesize % modulo + 1,
            None => shape.shapesize.checked_add(1).unwrap_or(1),
        };
    }
}

/// Writes and sends; waits while the history is full.
fn until_there_is_room<T>(
    session: &mut Session,
    mut write: impl FnMut(&mut Participant, Instant) -> Result<T, PublishError>,
) -> Result<(), Failure> {
    loop {
        let now = session.domain.now();
        match write(session.domain.participant_mut(), now) {
            Ok(_) => return session.domain.flush().map_err(Failure::run),
            Err(PublishError::Write(WriteError::Full)) if session.is_over() => return Ok(()),
            Err(PublishError::Write(WriteError::Full)) => session.work(now + LOOK)?,
            Err(error) => return Err(Failure::run(error)),
        }
    }
}

/// Ends the instances as requested, and waits until the readers have acknowledged this.
fn end(
    session: &mut Session,
    topics: &mut [Topic],
    colors: &[String],
    options: &Options,
) -> Result<(), Failure> {
    for topic in topics.iter_mut() {
        for color in colors {
            let key = ShapeType { color: color.clone(), ..ShapeType::default() };
            let now = session.domain.now();
            let participant = session.domain.participant_mut();
            let publication = &mut topic.publication;
            let done = match options.at_end {
                None => continue,
                Some(Final::Unregister) => publication.unregister(participant, now, &key),
                Some(Final::Dispose) => publication.dispose(participant, now, &key),
            };
            done.map_err(Failure::run)?;
            let is_gone = options.at_end == Some(Final::Dispose);
            if let Some(keeper) = topic.keeper.as_mut().filter(|_| is_gone) {
                keeper.forget(&key)?;
            }
        }
    }
    session.domain.flush().map_err(Failure::run)?;
    let patience = session.domain.now() + ACKNOWLEDGED;
    let is_done = |session: &Session| {
        let participant = session.domain.participant();
        let mut ids = topics.iter().map(|topic| topic.publication.id());
        options.qos.reliability == Reliability::BestEffort
            || ids.all(|id| participant.is_acknowledged(id))
    };
    while !is_done(session) && session.domain.now() < patience && !session.is_over() {
        let next = session.domain.now() + LOOK;
        session.work(next)?;
    }
    Ok(())
}
