//! Readers that come late, look seldom, keep little or want few samples, and talkers that say
//! good-bye: what scenarios do not say of applications, for studies of what becomes of samples.

use alloc::boxed::Box;

use rtether_model::flow::Flow;
use rtether_model::quantity::Duration;
use rtether_rtps::qos::{History, Qos};
use rtether_rtps::time;

use super::naming::{kind, named};
use super::{Due, Publications, clock};
use crate::topic::policies;

/// How the application of a listener reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Habit {
    /// When its reader comes; the talker does not wait for one that comes later than the start.
    pub from: Duration,
    /// Time between two looks at its queue; zero to take each sample at once.
    pub every: Duration,
    /// Samples that the queue keeps; `None` for all.
    pub depth: Option<u32>,
    /// Most samples that the queue takes; `None` for the limit of the engine.
    pub room: Option<u32>,
    /// Shortest time between two samples.
    pub separation: Duration,
}

/// A reader that comes.
pub(super) struct Coming {
    topic: alloc::string::String,
    qos: Qos,
}

impl Publications {
    /// Gives the listener of a stream of this flow a habit, before the run.
    pub(crate) fn set_habit(&mut self, stream: u32, flow: &Flow, habit: Habit) {
        let Some((topic, place)) = self.listener_of(stream) else {
            return;
        };
        let (_, is_reliable) = kind(flow).unwrap_or_default();
        let mut qos = policies(is_reliable, flow.dscp, false);
        if let Some(depth) = habit.depth {
            qos.history = History::KeepLast(depth);
        }
        qos.limits.samples = habit.room;
        qos.time_based_filter = time::Duration::from_ns(habit.separation.as_ps() / 1_000);
        let listener = &mut self.topics[topic as usize].listeners[place as usize];
        listener.habit = habit;
        let coming = Coming { topic: flow.name.clone(), qos };
        let party = &mut self.parties[listener.party as usize];
        party.participant.delete_reader(clock(0), listener.reader);
        let coming = Due::Come(Box::new(coming), [topic, place]);
        party.plan(habit.from.as_ps(), coming);
    }

    /// Returns topic and place of the listener of a stream.
    fn listener_of(&self, stream: u32) -> Option<(u32, u32)> {
        (0u32..).zip(&self.topics).find_map(|(index, topic)| {
            let mut listeners = (0u32..).zip(&topic.listeners);
            let found = listeners.find(|(_, listener)| listener.stream == stream);
            found.map(|(place, _)| (index, place))
        })
    }

    /// Has the talker of a stream say good-bye at a time.
    pub(crate) fn end_talker(&mut self, stream: u32, at: Duration) {
        if let Some((topic, _)) = self.listener_of(stream) {
            let party = self.topics[topic as usize].party;
            self.parties[party as usize].plan(at.as_ps(), Due::Leave);
        }
    }

    pub(super) fn come(&mut self, coming: &Coming, [topic, place]: [u32; 2], now: i64) {
        let listener = &mut self.topics[topic as usize].listeners[place as usize];
        let party = &mut self.parties[listener.party as usize];
        let name = named(&coming.topic);
        let (at, qos) = (clock(now), coming.qos.clone());
        if let Some(reader) = party.participant.create_reader(at, name, None, qos) {
            listener.reader = reader;
        }
        self.plan_look([topic, place], now);
    }

    /// Plans the next look of a listener that does not take each sample at once.
    pub(super) fn plan_look(&mut self, [topic, place]: [u32; 2], now: i64) {
        let listener = &self.topics[topic as usize].listeners[place as usize];
        let every = listener.habit.every.as_ps();
        if every > 0 {
            let party = &mut self.parties[listener.party as usize];
            party.plan(now + every, Due::Look([topic, place]));
        }
    }

    pub(super) fn leave(&mut self, party: u32) {
        self.parties[party as usize].participant.leave();
        let topics = self.topics.iter_mut();
        for topic in topics.filter(|topic| topic.party == party) {
            topic.has_left = true;
        }
    }
}
