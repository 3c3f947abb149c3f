//! The participant of a run, and its output.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rtether_live::rtps::{Domain, DomainOptions};
use rtether_rtps::engine::{Event, ReaderId, WriterId};
use rtether_rtps::matching::Mismatch;
use rtether_rtps::time::{Duration, Instant};

use super::options::Options;
use super::{Failure, print};

/// Longest time between checks whether to stop.
const LOOK: Duration = Duration::from_ms(50);
/// Time from an interrupt to exit without good-byes: if the terminal is no longer read, a line
/// being written may block forever.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(500);
/// Octets of a fragment's datagram that are not part of the sample.
const FRAGMENT_HEADS: usize = 172;

pub(crate) struct Session {
    pub(crate) domain: Domain,
    pub(crate) writers: BTreeMap<WriterId, String>,
    pub(crate) readers: BTreeMap<ReaderId, String>,
    missed: u64,
    is_over: Arc<AtomicBool>,
}

impl Session {
    pub(crate) fn open(options: &Options) -> Result<Self, Failure> {
        let mut place = DomainOptions {
            domain: options.domain,
            announce_period: options.announce_period,
            ..DomainOptions::default()
        };
        if let Some(fragment) = options.fragment {
            place.datagram_max = fragment + FRAGMENT_HEADS;
        }
        let domain = Domain::open(&place).map_err(Failure::begin)?;
        let is_over = Arc::new(AtomicBool::new(false));
        let on_signal = Arc::clone(&is_over);
        ctrlc::set_handler(move || interrupted(&on_signal)).map_err(Failure::begin)?;
        for topic in options.topics() {
            print::line(format_args!("Create topic: {topic}"));
        }
        Ok(Self { domain, writers: BTreeMap::new(), readers: BTreeMap::new(), missed: 0, is_over })
    }

    /// Returns whether the run was interrupted.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Runs the participant until `until`, or until the run is interrupted.
    pub(crate) fn work(&mut self, until: Instant) -> Result<(), Failure> {
        loop {
            let now = self.domain.now();
            let next = until.min(now + LOOK);
            self.domain.step(next).map_err(Failure::run)?;
            self.report();
            if self.domain.now() >= until || self.is_over() {
                return Ok(());
            }
        }
    }

    fn report(&mut self) {
        while let Some(event) = self.domain.participant_mut().poll_event() {
            self.tell(&event);
        }
    }

    fn tell(&mut self, event: &Event) {
        match event {
            Event::ReaderMatched { writer, .. } => self.tell_readers(*writer, 1),
            Event::ReaderUnmatched { writer, .. } => self.tell_readers(*writer, -1),
            Event::WriterMatched { reader, .. } => self.tell_writers(*reader, 1),
            Event::WriterUnmatched { reader, .. } => self.tell_writers(*reader, -1),
            Event::OfferedIncompatible { writer, policies, .. } => {
                let topic = self.writers.get(writer);
                incompatible("on_offered_incompatible_qos()", topic, policies);
            }
            Event::RequestedIncompatible { reader, policies, .. } => {
                let topic = self.readers.get(reader);
                incompatible("on_requested_incompatible_qos()", topic, policies);
            }
            Event::OfferedDeadlineMissed { writer, overdue } => {
                self.missed += u64::from(*overdue);
                let topic = self.writers.get(writer);
                let change = (self.missed, *overdue);
                missed("on_offered_deadline_missed()", topic, change);
            }
            Event::DeadlineMissed { reader, overdue } => {
                self.missed += u64::from(*overdue);
                let topic = self.readers.get(reader);
                let change = (self.missed, *overdue);
                missed("on_requested_deadline_missed()", topic, change);
            }
            Event::WriterSilent { reader, .. } => {
                let topic = name(self.readers.get(reader));
                print::line(format_args!("on_liveliness_changed() {topic}"));
            }
            Event::ParticipantFound { .. }
            | Event::ParticipantLost { .. }
            | Event::Refused { .. }
            | Event::Withheld { .. } => {}
        }
    }

    fn tell_readers(&self, writer: WriterId, change: i32) {
        let topic = name(self.writers.get(&writer));
        let count = self.domain.participant().readers_of(writer);
        print::line(format_args!(
            "on_publication_matched() {topic} : matched readers {count} (change = {change})"
        ));
    }

    fn tell_writers(&self, reader: ReaderId, change: i32) {
        let topic = name(self.readers.get(&reader));
        let count = self.domain.participant().writers_of(reader);
        print::line(format_args!(
            "on_subscription_matched() {topic} : matched writers {count} (change = {change})"
        ));
    }
}

fn interrupted(is_over: &AtomicBool) {
    is_over.store(true, Ordering::Relaxed);
    thread::sleep(PATIENCE);
    #[allow(clippy::exit, reason = "the other thread may wait for its terminal")]
    std::process::exit(0);
}

fn name(topic: Option<&String>) -> String {
    let topic = topic.map_or("", String::as_str);
    format!("topic: '{topic}'  type: 'ShapeType'")
}

fn incompatible(function: &str, topic: Option<&String>, policies: &[Mismatch]) {
    let topic = name(topic);
    for policy in policies.iter().map(|mismatch| mismatch.policy) {
        let (id, policy) = (policy.id(), policy.name().to_uppercase().replace(' ', "_"));
        print::line(format_args!("{function} {topic} : {id} ({policy})"));
    }
}

fn missed(function: &str, topic: Option<&String>, (total, change): (u64, u32)) {
    let topic = name(topic);
    print::line(format_args!("{function} {topic} : (total = {total}, change = {change})"));
}
