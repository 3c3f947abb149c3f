//! The side that reads.

use std::io;
use std::sync::atomic::AtomicBool;

use rtether_rtps::reader::InstanceState;
use rtether_rtps::time;
use rtether_rtps::typed::{Received, Subscription};
use rtether_rtps::types::{Octets, Ping, ShapeType};

use super::session::Session;
use super::{Happening, Kind, Said, Sample, Show, Summary, TopicOptions, no_room, shown};
use crate::live::{LiveError, why_ended};

/// Reads until there are as many samples as wished for, the time is over, or until `stop`.
///
/// # Errors
/// If nothing can be read at all.
pub fn subscribe(
    options: &TopicOptions,
    stop: &AtomicBool,
    on: impl FnMut(Said<'_>),
) -> Result<Summary, LiveError> {
    options.check()?;
    match options.kind {
        Kind::Shape => subscribe_as::<ShapeType>(options, stop, on),
        Kind::Octets => subscribe_as::<Octets>(options, stop, on),
        Kind::Ping => subscribe_as::<Ping>(options, stop, on),
    }
}

fn subscribe_as<T: Show>(
    options: &TopicOptions,
    stop: &AtomicBool,
    mut on: impl FnMut(Said<'_>),
) -> Result<Summary, LiveError> {
    let mut domain = options.place.open("rtether sub", options.thread)?;
    let (now, participant) = (domain.now(), domain.participant_mut());
    let subscription =
        Subscription::<T>::create(participant, now, &options.topic, options.qos.clone());
    let mut subscription = subscription.ok_or_else(no_room)?;
    let guid = participant.reader_guid(subscription.id());
    let own = (guid.unwrap_or_default(), false);
    let mut session = Session::new::<T>(domain, options, own, stop);
    on(Said::Happening(&session.opened(options.place.domain)));
    let mut samples = 0;
    let count = options.count.unwrap_or(u64::MAX);
    let ended = read_all(
        &mut session,
        &mut subscription,
        (&mut samples, count),
        &mut on,
    );
    let counters = session
        .domain
        .participant()
        .reader_counters(subscription.id());
    Ok(Summary {
        is_writer: false,
        samples,
        matched: session.matched,
        mismatched: session.mismatched,
        lost: counters.lost,
        rejected: counters.rejected,
        filtered: counters.filtered,
        expired: counters.expired,
        malformed: counters.malformed + subscription.malformed(),
        deadlines_missed: session.deadlines_missed,
        is_acknowledged: false,
        ended: ended.err().map(|error| why_ended(&error)),
    })
}

fn read_all<T: Show>(
    session: &mut Session<'_>,
    subscription: &mut Subscription<T>,
    (samples, count): (&mut u64, u64),
    on: &mut impl FnMut(Said<'_>),
) -> io::Result<()> {
    while !session.is_over() {
        let tell = &mut |happening: &Happening| on(Said::Happening(happening));
        session.step(session.end, tell)?;
        let now = session.domain.now();
        while *samples < count {
            let participant = session.domain.participant_mut();
            let Some(received) = subscription.take(participant, now) else {
                break;
            };
            if received.info.is_valid {
                *samples += 1;
            }
            on(Said::Sample(&sample(session, &received)));
        }
        if *samples >= count {
            break;
        }
    }
    Ok(())
}

fn sample<T: Show>(session: &Session<'_>, received: &Received<T>) -> Sample {
    let info = &received.info;
    let came = session.wall_ns(info.received_at);
    let latency = info.source_time.map(|written| {
        let ns = came.saturating_sub(written.as_ns());
        shown(time::Duration::from_ns(ns))
    });
    let mut members = received.value.as_ref().map(T::members).unwrap_or_default();
    if !info.is_valid {
        // The rest has no value; the key of the types here is their first member.
        members.truncate(1);
    }
    Sample {
        at: shown(info.received_at - session.begin),
        sequence: info.sequence.0,
        writer: info.writer.to_string(),
        latency,
        state: match info.state {
            InstanceState::Alive => "alive",
            InstanceState::Disposed => "disposed",
            InstanceState::NoWriters => "no writers",
        },
        members,
    }
}
