//! The type of a topic, as its endpoints describe it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use rtether_live::rtps::Domain;
use rtether_model::quantity::Duration;
use rtether_rtps::cdr::Data;
use rtether_rtps::discovery::EndpointData;
use rtether_rtps::engine::Discovery;
use rtether_rtps::guid::{Guid, GuidPrefix};
use rtether_rtps::time::{self, Instant};
use rtether_rtps::types::{Octets, Ping, ShapeType};
use rtether_rtps::xtypes::lookup::ASKED_MAX;
use rtether_rtps::xtypes::{Hash, Library, TypeId};

use super::session::{LOOK, named};
use super::text::clean;
use super::{ParticipantOptions, TopicType, span};
use crate::{LiveError, Thread};

/// How long an answer may take before the question is repeated, and how often it is asked.
const PATIENCE: time::Duration = time::Duration::from_ms(700);
const ATTEMPTS: u32 = 6;
/// How long to wait for an endpoint with a description once there is one without.
const BARE: time::Duration = time::Duration::from_s(3);

/// Which topic, and how long to look for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnouncedOptions {
    /// Where to join.
    pub participant: ParticipantOptions,
    /// The topic.
    pub topic: String,
    /// How long to wait; `None` for no limit.
    pub duration: Option<Duration>,
}

/// The type of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announced {
    /// The type.
    pub kind: TopicType,
    /// Name and place of the participant that described it.
    pub who: String,
    /// How many descriptions it took.
    pub descriptions: usize,
}

/// Finds the type of a topic: a built-in one by its name, any other by asking a participant that has
/// a writer or a reader of the topic. `None` if stopped, or the time is over and nobody has the
/// topic.
///
/// # Errors
/// The participant cannot be opened; nobody describes the type; or it has what is not supported.
pub fn announced(
    options: &AnnouncedOptions,
    stop: &AtomicBool,
) -> Result<Option<Announced>, LiveError> {
    let participant = ParticipantOptions {
        // The subscription that follows gives up rights, and writes the trace.
        confinement: None,
        trace: None,
        type_lookup: true,
        // It has no topic yet by which to find others.
        discovery: Discovery::All,
        ..options.participant.clone()
    };
    let (mut domain, _) = participant.open("rtether sub", Thread::default())?;
    let duration = options.duration.map_or(time::Duration::INFINITE, span);
    let end = domain.now() + duration;
    let mut search = Search::default();
    while domain.now() < end && !stop.load(Ordering::Relaxed) {
        let look = (domain.now() + LOOK).min(end);
        let stepped = domain.step(look);
        stepped.map_err(|error| LiveError::Topic(format!("looking for the topic: {error}")))?;
        while domain.participant_mut().poll_event().is_some() {}
        if let Some(found) = search.look(&mut domain, &options.topic)? {
            return Ok(Some(found));
        }
    }
    search.reason().map_or(Ok(None), |why| Err(LiveError::Topic(why)))
}

/// A type that is being asked for.
struct Question {
    from: GuidPrefix,
    root: Hash,
    type_name: String,
    library: Library,
    asked_at: Instant,
    attempts: u32,
}

#[derive(Default)]
struct Search {
    question: Option<Question>,
    /// Endpoints that were of no use.
    failed: BTreeSet<Guid>,
    current: Option<Guid>,
    why: Option<String>,
    /// An endpoint without a description, and since when.
    bare: Option<(String, Instant)>,
}

impl Search {
    fn look(&mut self, domain: &mut Domain, topic: &str) -> Result<Option<Announced>, LiveError> {
        self.take_replies(domain);
        if self.question.is_none()
            && let Some(found) = self.choose(domain, topic)
        {
            return Ok(Some(found));
        }
        if self.question.is_some() {
            return Ok(self.ask(domain));
        }
        // Nobody is left to ask.
        let is_over = |since: &Instant| domain.now() - *since > BARE;
        let is_late = self.bare.as_ref().is_some_and(|(_, since)| is_over(since));
        if is_late || (self.bare.is_none() && self.why.is_some()) {
            return Err(LiveError::Topic(self.reason().unwrap_or_default()));
        }
        Ok(None)
    }

    /// Returns why there is no type, if a participant has the topic.
    fn reason(&self) -> Option<String> {
        let bare = self.bare.as_ref();
        let bare = bare.map(|(who, _)| {
            format!("{who} does not describe its type; name the type by `--idl` or `--msg`")
        });
        self.why.clone().or(bare)
    }

    fn fail(&mut self, why: String) {
        self.question = None;
        self.failed.extend(self.current.take());
        self.why = Some(why);
    }

    /// Chooses an endpoint whose participant is asked, writers first; returns a built-in type.
    fn choose(&mut self, domain: &Domain, topic: &str) -> Option<Announced> {
        let participant = domain.participant();
        let who = |guid: Guid| {
            let mut all = participant.participants();
            let found = all.find(|one| one.prefix == guid.prefix);
            found.map_or_else(|| guid.prefix.to_string(), named)
        };
        let all = participant.endpoints();
        let mut all: Vec<(bool, &EndpointData)> =
            all.filter(|(_, one)| one.topic == topic && !self.failed.contains(&one.guid)).collect();
        all.sort_by_key(|(is_writer, one)| (!is_writer, one.type_hash.is_none(), one.guid));
        let (_, first) = all.first()?;
        let built_in = match first.type_name.as_str() {
            ShapeType::NAME => Some(TopicType::Shape),
            Octets::NAME => Some(TopicType::Octets),
            Ping::NAME => Some(TopicType::Ping),
            _ => None,
        };
        if let Some(kind) = built_in {
            return Some(Announced { kind, who: who(first.guid), descriptions: 0 });
        }
        let described = all.iter().find_map(|(_, one)| Some((one, one.type_hash?)));
        let Some((endpoint, root)) = described else {
            let what = format!("`{}` of {}", clean(&first.type_name), who(first.guid));
            self.bare.get_or_insert((what, domain.now()));
            return None;
        };
        self.current = Some(endpoint.guid);
        self.question = Some(Question {
            from: endpoint.guid.prefix,
            root,
            type_name: endpoint.type_name.clone(),
            library: Library::default(),
            asked_at: Instant::from_ns(i64::MIN),
            attempts: 0,
        });
        None
    }

    fn take_replies(&mut self, domain: &mut Domain) {
        while let Some(reply) = domain.participant_mut().poll_types() {
            let Some(question) = self.question.as_mut().filter(|one| one.from == reply.from) else {
                continue;
            };
            let missing = question.library.missing(&TypeId::Hash(question.root));
            let mut failed = None;
            for (hash, object) in reply.types {
                if missing.contains(&hash)
                    && let Err(error) = question.library.insert(hash, &object)
                {
                    failed = Some(error.to_string());
                }
            }
            // The next questions need not wait.
            question.asked_at = Instant::from_ns(i64::MIN);
            question.attempts = 0;
            if let Some(why) = failed {
                let name = clean(&question.type_name);
                self.fail(format!("`{name}`: {why}"));
            }
        }
    }

    /// Asks for what is missing; returns the type once nothing is.
    fn ask(&mut self, domain: &mut Domain) -> Option<Announced> {
        let question = self.question.as_mut()?;
        let name = clean(&question.type_name);
        let root = TypeId::Hash(question.root);
        let missing = question.library.missing(&root);
        if missing.is_empty() {
            return match question.library.structure(&root, &question.type_name) {
                Ok(structure) => {
                    let mut all = domain.participant().participants();
                    let from = question.from;
                    let who = all.find(|one| one.prefix == from).map(named);
                    Some(Announced {
                        kind: TopicType::Described(structure),
                        who: who.unwrap_or_else(|| from.to_string()),
                        descriptions: question.library.len(),
                    })
                }
                Err(error) => {
                    self.fail(format!("`{name}`: {error}"));
                    None
                }
            };
        }
        let now = domain.now();
        if question.asked_at.as_ns() != i64::MIN && now - question.asked_at < PATIENCE {
            return None;
        }
        question.attempts += 1;
        question.asked_at = now;
        let hashes = missing.get(..ASKED_MAX).unwrap_or(&missing);
        let serves = domain.participant_mut().ask_types(now, question.from, hashes);
        if question.attempts > ATTEMPTS {
            let why = if serves {
                "its participant does not answer"
            } else {
                "its participant does not describe types"
            };
            self.fail(format!("`{name}`: {why}; name the type by `--idl` or `--msg`"));
        }
        None
    }
}
