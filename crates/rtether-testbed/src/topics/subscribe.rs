//! The subscribing side.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use rtether_live::host::clock::discipline;
use rtether_model::quantity::Duration;
use rtether_rtps::guid::Guid;
use rtether_rtps::qos::Reliability;
use rtether_rtps::reader::{InstanceState, SampleInfo};
use rtether_rtps::time;

use super::outlet::{Inlet, inlet};
use super::session::Session;
use super::{Clocks, Delays, Happening, Member, Said, Sample, SubscribeOptions, Summary, shown};
use crate::{LiveError, why_ended};

/// Reads until the number of samples is reached, the time is over, or `stop` is set.
///
/// # Errors
/// If nothing could be read.
pub fn subscribe(
    wish: &SubscribeOptions,
    stop: &AtomicBool,
    mut on: impl FnMut(Said<'_>),
) -> Result<Summary, LiveError> {
    let options = &wish.topic;
    options.check()?;
    // A confined participant may no longer ask.
    let clock = discipline().ok();
    let (mut domain, confined) = options.participant.open("rtether sub", options.thread)?;
    let mut subscription = inlet(&mut domain, options)?;
    let guid = domain.participant().reader_guid(subscription.id());
    let own = (guid.unwrap_or_default(), false);
    let mut session = Session::new(domain, options, own, stop);
    on(Said::Happening(&session.opened(options.participant.domain, confined)));
    let mut reading = Reading {
        samples: 0,
        count: options.count.unwrap_or(u64::MAX),
        delays: wish.delay.then(|| Delays::new(clock)),
        clock_error: wish.clock_error,
    };
    let ended = reading.all(&mut session, subscription.as_mut(), &mut on);
    let participant = session.domain.participant();
    let counters = participant.reader_counters(subscription.id());
    Ok(Summary {
        is_writer: false,
        samples: reading.samples,
        matched: session.matched,
        mismatched: session.mismatched,
        is_reliable: options.qos.reliability == Reliability::Reliable,
        lost: counters.lost,
        not_owed: counters.not_owed,
        replaced: counters.replaced,
        missing: participant.lacking(subscription.id()),
        waiting: u64::try_from(participant.waiting(subscription.id())).unwrap_or(u64::MAX),
        rejected: counters.rejected,
        filtered: counters.filtered,
        expired: counters.expired,
        malformed: counters.malformed + subscription.malformed(),
        contradicted: counters.contradicted,
        deadlines_missed: session.deadlines_missed,
        impostors: participant.counters().impostors,
        versions: participant.counters().versions,
        elsewhere: session.domain.elsewhere(),
        crowded: participant.counters().crowded,
        unacknowledged: 0,
        is_acknowledged: false,
        delays: reading.delays,
        wanted: options.count,
        is_interrupted: stop.load(Ordering::Relaxed),
        ended: ended.err().map(|error| why_ended(&error)),
    })
}

/// What has been read.
struct Reading {
    samples: u64,
    count: u64,
    delays: Option<Delays>,
    clock_error: Option<Duration>,
}

impl Reading {
    fn all(
        &mut self,
        session: &mut Session<'_>,
        subscription: &mut dyn Inlet,
        on: &mut impl FnMut(Said<'_>),
    ) -> io::Result<()> {
        while !session.is_over() {
            let tell = &mut |happening: &Happening| on(Said::Happening(happening));
            session.step(session.end, tell)?;
            let now = session.domain.now();
            while self.samples < self.count {
                let participant = session.domain.participant_mut();
                let Some((info, members)) = subscription.take(participant, now) else {
                    break;
                };
                let sample = sample(session, &info, members);
                if info.is_valid {
                    self.samples += 1;
                    self.delay(session, info.writer, sample.latency);
                }
                on(Said::Sample(&sample));
            }
            if self.samples >= self.count {
                break;
            }
        }
        Ok(())
    }

    fn delay(&mut self, session: &mut Session<'_>, writer: Guid, delay: Option<Duration>) {
        let Some(delays) = &mut self.delays else {
            return;
        };
        let error = self.clock_error;
        delays.add(writer, delay, || {
            let is_here = session.domain.participant().is_on_this_host(writer.prefix);
            let clocks = match error {
                _ if is_here => Clocks::One,
                Some(error) => Clocks::Within(error),
                None => Clocks::Unknown,
            };
            (session.who(writer.prefix), clocks)
        });
    }
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
