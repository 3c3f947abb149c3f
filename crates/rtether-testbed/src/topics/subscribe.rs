//! The subscribing side.

use std::io;
use std::sync::atomic::AtomicBool;

use rtether_rtps::reader::{InstanceState, SampleInfo};
use rtether_rtps::time;

use super::outlet::{Inlet, inlet};
use super::session::Session;
use super::{Happening, Member, Said, Sample, Summary, TopicOptions, shown};
use crate::{LiveError, why_ended};

/// Reads until the number of samples is reached, the time is over, or `stop` is set.
///
/// # Errors
/// If nothing could be read.
pub fn subscribe(
    options: &TopicOptions,
    stop: &AtomicBool,
    mut on: impl FnMut(Said<'_>),
) -> Result<Summary, LiveError> {
    options.check()?;
    let (mut domain, confined) = options.participant.open("rtether sub", options.thread)?;
    let mut subscription = inlet(&mut domain, options)?;
    let guid = domain.participant().reader_guid(subscription.id());
    let own = (guid.unwrap_or_default(), false);
    let mut session = Session::new(domain, options, own, stop);
    on(Said::Happening(
        &session.opened(options.participant.domain, confined),
    ));
    let mut samples = 0;
    let count = options.count.unwrap_or(u64::MAX);
    let ended = read_all(
        &mut session,
        subscription.as_mut(),
        (&mut samples, count),
        &mut on,
    );
    let participant = session.domain.participant();
    let counters = participant.reader_counters(subscription.id());
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
        impostors: participant.counters().impostors,
        versions: participant.counters().versions,
        elsewhere: session.domain.elsewhere(),
        crowded: participant.counters().crowded,
        unacknowledged: 0,
        is_acknowledged: false,
        ended: ended.err().map(|error| why_ended(&error)),
    })
}

fn read_all(
    session: &mut Session<'_>,
    subscription: &mut dyn Inlet,
    (samples, count): (&mut u64, u64),
    on: &mut impl FnMut(Said<'_>),
) -> io::Result<()> {
    while !session.is_over() {
        let tell = &mut |happening: &Happening| on(Said::Happening(happening));
        session.step(session.end, tell)?;
        let now = session.domain.now();
        while *samples < count {
            let participant = session.domain.participant_mut();
            let Some((info, members)) = subscription.take(participant, now) else {
                break;
            };
            if info.is_valid {
                *samples += 1;
            }
            on(Said::Sample(&sample(session, &info, members)));
        }
        if *samples >= count {
            break;
        }
    }
    Ok(())
}

fn sample(session: &Session<'_>, info: &SampleInfo, members: Vec<Member>) -> Sample {
    let came = session.wall_ns(info.received_at);
    let latency = info.source_time.map(|written| {
        let ns = came.saturating_sub(written.as_ns());
        shown(time::Duration::from_ns(ns))
    });
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
