//! The publishing side.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use rtether_rtps::qos::{Durability, Reliability};
use rtether_rtps::time;
use rtether_rtps::typed::PublishError;
use rtether_rtps::writer::WriteError;

use super::outlet::{Next, Outlet, outlet};
use super::session::Session;
use super::{Happening, PublishOptions, Said, Sample, Summary, Values, shown, span};
use crate::{LiveError, why_ended};

/// From the first match to the first sample: the reader may learn of the match later.
const SETTLE: time::Duration = time::Duration::from_ms(500);
/// Interval at which to check again for room, or for a value.
const FULL: time::Duration = time::Duration::from_ms(1);

/// Writes until all samples are written, the time is over, or `stop` is set.
///
/// A volatile writer starts at the first match, since earlier samples would reach no reader. Others
/// start at once and, if a duration is given, stay for late readers.
///
/// # Errors
/// If nothing could be written.
pub fn publish(
    options: &PublishOptions,
    values: Values,
    stop: &AtomicBool,
    mut on: impl FnMut(Said<'_>),
) -> Result<Summary, LiveError> {
    options.topic.check()?;
    let topic = &options.topic;
    let (mut domain, confined) = topic.participant.open("rtether pub", topic.thread)?;
    let publication = outlet(&mut domain, options, values)?;
    let guid = domain.participant().writer_guid(publication.id());
    let own = (guid.unwrap_or_default(), true);
    let session = Session::new(domain, topic, own, stop);
    on(Said::Happening(&session.opened(topic.participant.domain, confined)));
    let mut writer = Writer { options, session, publication, written: 0, name: own.0.to_string() };
    let ended = writer.run(&mut on);
    let session = &writer.session;
    let participant = session.domain.participant();
    let is_acknowledged = participant.is_acknowledged(writer.publication.id());
    let unacknowledged = participant.unacknowledged(writer.publication.id());
    Ok(Summary {
        is_writer: true,
        samples: writer.written,
        matched: session.matched,
        mismatched: session.mismatched,
        deadlines_missed: session.deadlines_missed,
        impostors: session.domain.participant().counters().impostors,
        versions: session.domain.participant().counters().versions,
        elsewhere: session.domain.elsewhere(),
        crowded: session.domain.participant().counters().crowded,
        unacknowledged: if is_acknowledged { 0 } else { unacknowledged.max(1) },
        is_acknowledged,
        is_interrupted: stop.load(Ordering::Relaxed),
        ended: ended.err(),
        ..Summary::default()
    })
}

struct Writer<'a> {
    options: &'a PublishOptions,
    session: Session<'a>,
    publication: Box<dyn Outlet>,
    written: u64,
    name: String,
}

impl Writer<'_> {
    /// Writes all values; an error says why it ended early.
    fn run(&mut self, on: &mut impl FnMut(Said<'_>)) -> Result<(), String> {
        let failed = |error: io::Error| why_ended(&error);
        let qos = &self.options.topic.qos;
        let (is_volatile, is_reliable) =
            (qos.durability == Durability::Volatile, qos.reliability == Reliability::Reliable);
        if is_volatile {
            self.await_reader(on).map_err(failed)?;
        }
        self.write_all(on)?;
        let tell = &mut |happening: &Happening| on(Said::Happening(happening));
        let session = &mut self.session;
        let patience = session.domain.now() + span(self.options.linger);
        session.domain.flush().map_err(failed)?;
        // The linger time may extend beyond the end of writing.
        let end = std::mem::replace(&mut session.end, patience);
        while is_reliable
            && !session.domain.participant().is_acknowledged(self.publication.id())
            && !session.is_over()
            && session.domain.now() < patience
        {
            session.step(patience, tell).map_err(failed)?;
        }
        session.end = end;
        if !is_volatile && self.options.topic.duration.is_some() {
            session.wait(session.end, tell).map_err(failed)?;
        }
        Ok(())
    }

    fn await_reader(&mut self, on: &mut impl FnMut(Said<'_>)) -> io::Result<()> {
        let tell = &mut |happening: &Happening| on(Said::Happening(happening));
        let session = &mut self.session;
        while !session.is_matched() && !session.is_over() {
            session.step(session.end, tell)?;
        }
        let settled = session.domain.now() + SETTLE;
        session.wait(settled, tell)
    }

    fn write_all(&mut self, on: &mut impl FnMut(Said<'_>)) -> Result<(), String> {
        let count = self.options.topic.count.unwrap_or(u64::MAX);
        let mut due = self.session.domain.now();
        while self.written < count && !self.session.is_over() {
            let wall = self.session.wall_ns(self.session.domain.now());
            match self.publication.advance(self.written + 1, wall)? {
                Next::Ready => {}
                Next::Later => {
                    let tell = &mut |happening: &Happening| on(Said::Happening(happening));
                    let soon = self.session.domain.now() + FULL;
                    let stepped = self.session.step(soon, tell);
                    stepped.map_err(|error| why_ended(&error))?;
                    continue;
                }
                Next::Over => break,
            }
            let Some(sample) = self.write(on)? else {
                break;
            };
            self.written += 1;
            on(Said::Sample(&sample));
            due = due + span(self.options.period);
            if self.written < count {
                let tell = &mut |happening: &Happening| on(Said::Happening(happening));
                let waited = self.session.wait(due, tell);
                waited.map_err(|error| why_ended(&error))?;
                // With a period of zero there is no wait; process what has arrived.
                let now = self.session.domain.now();
                let stepped = self.session.step(now, tell);
                stepped.map_err(|error| why_ended(&error))?;
            }
        }
        Ok(())
    }

    /// Writes the current value once there is room; `None` if the run ends first.
    fn write(&mut self, on: &mut impl FnMut(Said<'_>)) -> Result<Option<Sample>, String> {
        let failed = |error: io::Error| why_ended(&error);
        loop {
            let session = &mut self.session;
            let now = session.domain.now();
            let participant = session.domain.participant_mut();
            match self.publication.publish(participant, now) {
                Ok(sequence) => {
                    session.domain.flush().map_err(failed)?;
                    return Ok(Some(Sample {
                        at: shown(now - session.begin),
                        sequence: sequence.0,
                        writer: self.name.clone(),
                        latency: None,
                        state: "alive",
                        members: self.publication.members(),
                    }));
                }
                Err(PublishError::Write(WriteError::Full)) => {
                    let tell = &mut |happening: &Happening| on(Said::Happening(happening));
                    session.step(now + FULL, tell).map_err(failed)?;
                    if session.is_over() {
                        return Ok(None);
                    }
                }
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}
