//! A participant with one endpoint, and the events reported about it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use rtether_live::clock::monotonic_and_real_ns;
use rtether_live::confine::Confined;
use rtether_live::rtps::Domain;
use rtether_rtps::discovery::{EndpointData, ParticipantData};
use rtether_rtps::engine::{Event, Participant};
use rtether_rtps::guid::{Guid, GuidPrefix};
use rtether_rtps::time::{Duration, Instant};

use super::relation::{Reason, reason};
use super::text::{clean, place};
use super::{Happening, TopicOptions, span};

/// Longest time between two checks for the end.
pub(crate) const LOOK: Duration = Duration::from_ms(100);
/// Largest number of mismatching endpoints remembered with their reason.
const APART_MAX: usize = 1_024;

/// Returns the name and place of a participant.
pub(super) fn named(data: &ParticipantData) -> String {
    let name = match data.name.as_str() {
        "" => data.prefix.to_string(),
        name => format!("`{}`", clean(name)),
    };
    let places = [&data.default_unicast, &data.metatraffic_unicast];
    match places.into_iter().flatten().next() {
        Some(locator) => format!("{name} at {}", place(locator)),
        None => name,
    }
}

/// Names of participants, including those just gone.
#[derive(Default)]
pub(super) struct Names(BTreeMap<GuidPrefix, String>);

impl Names {
    pub(super) fn of(&mut self, participant: &Participant, prefix: GuidPrefix) -> String {
        let found = participant.participants().find(|one| one.prefix == prefix);
        if let Some(found) = found {
            self.0.insert(prefix, named(found));
        }
        let known = self.0.get(&prefix).cloned();
        known.unwrap_or_else(|| prefix.to_string())
    }

    pub(super) fn forget(&mut self, prefix: GuidPrefix) {
        self.0.remove(&prefix);
    }
}

/// A participant with one endpoint.
pub(super) struct Session<'a> {
    pub(super) domain: Domain,
    own: EndpointData,
    is_writer: bool,
    names: Names,
    apart: BTreeMap<Guid, Reason>,
    matched_now: BTreeSet<Guid>,
    pub(super) matched: u64,
    pub(super) mismatched: u64,
    pub(super) deadlines_missed: u64,
    looked_at: Instant,
    stop: &'a AtomicBool,
    pub(super) begin: Instant,
    pub(super) end: Instant,
    /// Time of day at the origin of the clock, in nanoseconds.
    wall_offset: i64,
}

impl<'a> Session<'a> {
    pub(super) fn new(
        domain: Domain,
        options: &TopicOptions,
        (guid, is_writer): (Guid, bool),
        stop: &'a AtomicBool,
    ) -> Self {
        let own = EndpointData {
            guid,
            topic: options.topic.clone(),
            type_name: options.kind.type_name().to_owned(),
            qos: options.qos.clone(),
            unicast: Vec::new(),
            multicast: Vec::new(),
            expects_inline_qos: false,
            content_filter: None,
            type_hash: None,
            type_information: Vec::new(),
            group: None,
        };
        let begin = domain.now();
        let (monotonic, real) = monotonic_and_real_ns();
        let duration = options.duration;
        Self {
            domain,
            own,
            is_writer,
            names: Names::default(),
            apart: BTreeMap::new(),
            matched_now: BTreeSet::new(),
            matched: 0,
            mismatched: 0,
            deadlines_missed: 0,
            looked_at: begin,
            stop,
            begin,
            end: duration.map_or(Instant::NEVER, |duration| begin + span(duration)),
            wall_offset: real.saturating_sub(monotonic),
        }
    }

    /// Returns the time of day in nanoseconds.
    pub(super) fn wall_ns(&self, at: Instant) -> i64 {
        at.as_ns().saturating_add(self.wall_offset)
    }

    pub(super) fn opened(&self, domain: u16, confined: Option<Confined>) -> Happening {
        Happening::Opened { address: place(&self.domain.address()), domain, confined }
    }

    pub(super) fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.domain.now() >= self.end
    }

    pub(super) fn is_matched(&self) -> bool {
        !self.matched_now.is_empty()
    }

    /// Waits for an arrival or a due time, at most [`LOOK`] and not beyond `until`, and reports the
    /// events.
    pub(super) fn step(
        &mut self,
        until: Instant,
        tell: &mut dyn FnMut(&Happening),
    ) -> io::Result<()> {
        let look = self.domain.now() + LOOK;
        self.domain.step(until.min(look).min(self.end))?;
        self.report(tell);
        Ok(())
    }

    /// Waits until `until`, or until the run ends.
    pub(super) fn wait(
        &mut self,
        until: Instant,
        tell: &mut dyn FnMut(&Happening),
    ) -> io::Result<()> {
        while !self.is_over() && self.domain.now() < until {
            self.step(until, tell)?;
        }
        Ok(())
    }

    fn report(&mut self, tell: &mut dyn FnMut(&Happening)) {
        while let Some(event) = self.domain.participant_mut().poll_event() {
            if let Some(happening) = self.happening(event) {
                tell(&happening);
            }
        }
        let now = self.domain.now();
        if now - self.looked_at >= LOOK {
            self.looked_at = now;
            // A step of the clock of the day must not falsify later samples.
            let (monotonic, real) = monotonic_and_real_ns();
            self.wall_offset = real.saturating_sub(monotonic);
            self.look_for_strangers(tell);
        }
    }

    pub(super) fn who(&mut self, prefix: GuidPrefix) -> String {
        self.names.of(self.domain.participant(), prefix)
    }

    fn happening(&mut self, event: Event) -> Option<Happening> {
        Some(match event {
            Event::ParticipantFound { prefix, .. } => Happening::Found { who: self.who(prefix) },
            Event::ParticipantLost { prefix, why } => {
                let who = self.who(prefix);
                self.names.forget(prefix);
                self.apart.retain(|guid, _| guid.prefix != prefix);
                Happening::Gone { who, why }
            }
            Event::ReaderMatched { reader: other, .. }
            | Event::WriterMatched { writer: other, .. } => {
                self.matched += 1;
                self.matched_now.insert(other);
                if self.apart.remove(&other).is_some() {
                    self.mismatched -= 1;
                }
                let who = self.who(other.prefix);
                Happening::Matched { who }
            }
            Event::ReaderUnmatched { reader: other, .. }
            | Event::WriterUnmatched { writer: other, .. } => {
                self.matched_now.remove(&other);
                let who = self.who(other.prefix);
                Happening::Unmatched { who }
            }
            Event::OfferedIncompatible { reader: other, policies, .. }
            | Event::RequestedIncompatible { writer: other, policies, .. } => {
                return self.apart(other, Reason::Policies(policies));
            }
            Event::WriterSilent { writer, .. } => {
                Happening::Silent { who: self.who(writer.prefix) }
            }
            Event::Refused { origin, refused } => Happening::refused(origin, refused),
            Event::Withheld { to } => Happening::withheld(to),
            Event::DeadlineMissed { overdue, .. }
            | Event::OfferedDeadlineMissed { overdue, .. } => {
                self.deadlines_missed += u64::from(overdue);
                Happening::DeadlineMissed { overdue }
            }
        })
    }

    /// Reports once why an endpoint does not match, and again if the reason changes.
    fn apart(&mut self, other: Guid, reason: Reason) -> Option<Happening> {
        let is_known = self.apart.get(&other) == Some(&reason);
        if is_known || (self.apart.len() >= APART_MAX && !self.apart.contains_key(&other)) {
            return None;
        }
        if self.apart.insert(other, reason.clone()).is_none() {
            self.mismatched += 1;
        }
        let who = self.who(other.prefix);
        Some(Happening::Apart { who, reason })
    }

    /// Finds endpoints on the topic that the engine does not report, since type or partition
    /// differ.
    fn look_for_strangers(&mut self, tell: &mut dyn FnMut(&Happening)) {
        let own = &self.own;
        let others = self.domain.participant().endpoints();
        let others = others
            .filter(|(is_writer, other)| *is_writer != self.is_writer && other.topic == own.topic);
        let found = others.filter_map(|(_, other)| {
            let reason = if self.is_writer { reason(own, other) } else { reason(other, own) };
            Some((other.guid, reason?))
        });
        let found: Vec<(Guid, Reason)> = found.take(APART_MAX).collect();
        for (other, reason) in found {
            if let Some(happening) = self.apart(other, reason) {
                tell(&happening);
            }
        }
    }
}
