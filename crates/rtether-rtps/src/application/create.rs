//! Creation of publications, subscriptions and patterns.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::marker::PhantomData;

use super::handle::Token;
use super::notice::{Notice, PublicationCounters, RawSample, Untyped};
use super::options::{Mode, PublicationOptions, SubscriptionOptions};
use super::slots::{Listener, Pattern, PublicationSlot, Raw, ReaderSlot, SubscriptionSlot, Typed};
use super::{Context, NoRoom, PublicationHandle, SubscriptionHandle};
use crate::cdr::Data;
use crate::discovery::EndpointData;
use crate::engine::{NewWriter, ReaderId, TopicName};
use crate::qos::Qos;
use crate::reader::KeyOf;
use crate::typed::{self, Outlet, Received};

/// Topics that a pattern accepts; in the names of topic and type, `*` stands for any characters,
/// `?` for one, `[a-c]` for one of these.
#[derive(Clone, Debug)]
pub struct PatternOptions<'a> {
    /// Pattern of topic names.
    pub topic: &'a str,
    /// Maximum number of readers.
    pub readers_max: usize,
    /// Options of each reader.
    pub options: SubscriptionOptions,
}

impl Context<'_> {
    /// Creates a publication of a topic (R137).
    ///
    /// # Errors
    /// The limit of endpoints is reached.
    pub fn publish<T: Data>(
        &mut self,
        topic: &str,
        options: &PublicationOptions,
    ) -> Result<PublicationHandle<T>, NoRoom> {
        let name = typed::name::<T>(topic);
        let new = (options.qos(), options.separates);
        let (number, token) = self.add_publication(name, T::HAS_KEY, new)?;
        Ok(PublicationHandle::new(number, token))
    }

    /// Creates a publication of octets, which the application encodes.
    ///
    /// # Errors
    /// The limit of endpoints is reached.
    pub fn publish_raw(
        &mut self,
        name: TopicName<'_>,
        has_key: bool,
        qos: Qos,
    ) -> Result<PublicationHandle<Untyped>, NoRoom> {
        let (number, token) = self.add_publication(name, has_key, (qos, false))?;
        Ok(PublicationHandle::new(number, token))
    }

    fn add_publication(
        &mut self,
        name: TopicName<'_>,
        has_key: bool,
        (qos, separates): (Qos, bool),
    ) -> Result<(u32, Token), NoRoom> {
        let new = NewWriter { name, has_key, qos, judge: None, publisher: None, separates };
        // No other error is possible.
        let outlet = Outlet::open(self.participant, self.now, new).map_err(|_| NoRoom)?;
        let number = self.number();
        let token = Token::default();
        self.application.writers.insert(outlet.id, number);
        let slot = PublicationSlot {
            token: Some(token.clone()),
            outlet,
            timer: None,
            told: None,
            critical: None,
            is_critical: false,
            counters: PublicationCounters::default(),
        };
        self.application.publications.insert(number, slot);
        Ok((number, token))
    }

    /// Creates a subscription to a topic (R138). `callback` is called with each sample and notice,
    /// immediately or when [`Self::pull`] is called.
    ///
    /// # Errors
    /// The limit of endpoints is reached.
    pub fn subscribe<T: Data + 'static>(
        &mut self,
        topic: &str,
        options: &SubscriptionOptions,
        callback: impl FnMut(&mut Context<'_>, Notice<Received<T>>) + Send + 'static,
    ) -> Result<SubscriptionHandle<T>, NoRoom> {
        self.subscribe_with(topic, options.mode, options.qos(), callback)
    }

    /// Creates a subscription to a topic with any policies.
    ///
    /// # Errors
    /// The limit of endpoints is reached.
    pub fn subscribe_with<T: Data + 'static>(
        &mut self,
        topic: &str,
        mode: Mode,
        qos: Qos,
        mut callback: impl FnMut(&mut Context<'_>, Notice<Received<T>>) + Send + 'static,
    ) -> Result<SubscriptionHandle<T>, NoRoom> {
        let callback = move |context: &mut Context<'_>, _: &str, notice: Notice<Received<T>>| {
            callback(context, notice);
        };
        let keys: Option<KeyOf> = T::HAS_KEY.then_some(KeyOf::Function(typed::key_of::<T>));
        let name = typed::name::<T>(topic);
        let listener = typed_listener(callback);
        let (number, token) = self.add_subscription(name, keys, mode, qos, listener)?;
        Ok(SubscriptionHandle::new(number, token))
    }

    /// Creates a subscription to octets, which the application decodes; `keys` is required for
    /// topics with a key.
    ///
    /// # Errors
    /// The limit of endpoints is reached.
    pub fn subscribe_raw(
        &mut self,
        name: TopicName<'_>,
        keys: Option<KeyOf>,
        mode: Mode,
        qos: Qos,
        mut callback: impl FnMut(&mut Context<'_>, Notice<RawSample<'_>>) + Send + 'static,
    ) -> Result<SubscriptionHandle<Untyped>, NoRoom> {
        let callback = move |context: &mut Context<'_>, _: &str, notice: Notice<RawSample<'_>>| {
            callback(context, notice);
        };
        let listener = raw_listener(callback);
        let (number, token) = self.add_subscription(name, keys, mode, qos, listener)?;
        Ok(SubscriptionHandle::new(number, token))
    }

    fn add_subscription(
        &mut self,
        name: TopicName<'_>,
        keys: Option<KeyOf>,
        mode: Mode,
        qos: Qos,
        listener: Box<dyn Listener>,
    ) -> Result<(u32, Token), NoRoom> {
        let reader = self.participant.create_reader(self.now, name, keys, qos);
        let id = reader.ok_or(NoRoom)?;
        let mut slot = subscription(mode, listener);
        slot.readers.push(reader_slot(id, name));
        let (number, token) = self.add_slot(slot);
        self.application.readers.insert(id, number);
        Ok((number, token))
    }

    fn add_slot(&mut self, mut slot: SubscriptionSlot) -> (u32, Token) {
        let number = self.number();
        let token = Token::default();
        slot.token = Some(token.clone());
        self.application.subscriptions.insert(number, slot);
        (number, token)
    }

    /// Creates a subscription to all remote topics of a type whose names match a pattern, as they
    /// are found. `accepts` is asked before each topic is taken, and `callback` also gets the
    /// topic. A topic is removed when its last publication is gone.
    pub fn subscribe_pattern<T: Data + 'static>(
        &mut self,
        pattern: &PatternOptions<'_>,
        accepts: impl FnMut(&EndpointData) -> bool + Send + 'static,
        callback: impl FnMut(&mut Context<'_>, &str, Notice<Received<T>>) + Send + 'static,
    ) -> SubscriptionHandle<T> {
        let listener = typed_listener(callback);
        let keys: Option<KeyOf> = T::HAS_KEY.then_some(KeyOf::Function(typed::key_of::<T>));
        let accepts = Box::new(accepts);
        let (number, token) = self.add_pattern(pattern, T::NAME, keys, accepts, listener);
        SubscriptionHandle::new(number, token)
    }

    fn add_pattern(
        &mut self,
        pattern: &PatternOptions<'_>,
        type_name: &'static str,
        keys: Option<KeyOf>,
        accepts: super::slots::Accepts,
        listener: Box<dyn Listener>,
    ) -> (u32, Token) {
        self.participant.watch();
        let mut slot = subscription(pattern.options.mode, listener);
        slot.pattern = Some(Pattern {
            topic: pattern.topic.to_owned(),
            type_name,
            keys,
            qos: pattern.options.qos(),
            readers_max: pattern.readers_max,
            accepts,
        });
        let (number, token) = self.add_slot(slot);
        // Its topics have names that nobody can announce yet.
        self.participant.discover_all(self.now);
        let known = self.participant.endpoints();
        let known = known.filter(|(is_writer, _)| *is_writer);
        let known: Vec<EndpointData> = known.map(|(_, data)| data.clone()).collect();
        for writer in &known {
            self.offer(number, writer);
        }
        (number, token)
    }

    /// Offers the topic of a publication to a pattern.
    pub(super) fn offer(&mut self, number: u32, writer: &EndpointData) {
        let slot = self.application.subscriptions.get_mut(&number);
        let Some((slot, pattern)) =
            slot.and_then(|slot| Some((&slot.readers, slot.pattern.as_mut()?)))
        else {
            return;
        };
        let is_same = |reader: &ReaderSlot| {
            reader.topic == writer.topic && reader.type_name == writer.type_name
        };
        if slot.iter().any(is_same) || !pattern.is_match(writer) {
            return;
        }
        if slot.len() >= pattern.readers_max {
            self.application.counters.patterns_full += 1;
            return;
        }
        if !(pattern.accepts)(writer) {
            return;
        }
        let name = TopicName { topic: &writer.topic, type_name: &writer.type_name };
        let (keys, qos) = (pattern.keys.clone(), pattern.qos.clone());
        let Some(id) = self.participant.create_reader(self.now, name, keys, qos) else {
            self.application.counters.patterns_full += 1;
            return;
        };
        self.application.readers.insert(id, number);
        if let Some(slot) = self.application.subscriptions.get_mut(&number) {
            slot.readers.push(reader_slot(id, name));
        }
    }

    fn number(&mut self) -> u32 {
        let number = self.application.next;
        // Does not wrap in practice: entity numbers have 24 bits, and patterns are few.
        self.application.next = number.wrapping_add(1);
        number
    }
}

fn reader_slot(id: ReaderId, name: TopicName<'_>) -> ReaderSlot {
    ReaderSlot { id, topic: name.topic.to_owned(), type_name: name.type_name.to_owned(), lost: 0 }
}

fn subscription(mode: Mode, listener: Box<dyn Listener>) -> SubscriptionSlot {
    SubscriptionSlot {
        token: None,
        mode,
        listener: Some(listener),
        readers: Vec::new(),
        pattern: None,
        notices: VecDeque::new(),
        malformed: 0,
    }
}

fn typed_listener<T: Data + 'static>(
    callback: impl FnMut(&mut Context<'_>, &str, Notice<Received<T>>) + Send + 'static,
) -> Box<dyn Listener> {
    Box::new(Typed { callback, malformed: 0, of: PhantomData })
}

fn raw_listener(
    callback: impl FnMut(&mut Context<'_>, &str, Notice<RawSample<'_>>) + Send + 'static,
) -> Box<dyn Listener> {
    Box::new(Raw { callback, payload: Vec::new(), key: Vec::new() })
}
