//! The manager: the table of channels, and the decision about each request.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use rtether_model::admission::{Admission, Refusal};
use rtether_model::flow::Flow;
use rtether_model::mac::MacAddress;
use rtether_model::network::{Network, NodeId};
use rtether_model::partition::is_in_time;
use rtether_model::quantity::{Duration, Instant};
use rtether_model::record::AdmissionRecord;
use rtether_model::route::Routing;

use super::{Body, ChannelId, Contract, Message, Transmit, Tries};

/// A channel that is offered, granted, or about to be forgotten.
#[derive(Debug)]
struct Channel {
    contract: Contract,
    state: State,
    /// Listeners that have not answered.
    awaited: Vec<MacAddress>,
    tries: Tries,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Offered,
    Granted,
    Ended {
        /// Why it was not granted; `None` if its talker has released it.
        refusal: Option<Refusal>,
        /// Until then its last frames may be under way.
        until: Option<Instant>,
    },
}

impl Channel {
    /// Returns whether its frames may be on the links.
    const fn is_reserved(&self) -> bool {
        match self.state {
            State::Offered | State::Granted => true,
            State::Ended { until, .. } => until.is_some(),
        }
    }

    fn due(&self) -> Option<Instant> {
        match self.state {
            State::Granted => None,
            State::Offered => Some(self.tries.due),
            State::Ended { until, .. } => {
                let told = (!self.awaited.is_empty()).then_some(self.tries.due);
                told.into_iter().chain(until).min()
            }
        }
    }
}

/// The management of a switch.
#[derive(Debug)]
pub struct Manager {
    config: Admission,
    network: Network,
    routing: Routing,
    stations: BTreeMap<MacAddress, NodeId>,
    /// [`Admission::channels`] at most.
    channels: BTreeMap<ChannelId, Channel>,
    /// The channels among which the deadlines were divided last, some of them released since then.
    division: Vec<(ChannelId, Flow)>,
    divisions: u64,
    transmits: VecDeque<Transmit>,
    record: AdmissionRecord,
}

impl Manager {
    /// Creates the manager of a plant, whose end stations have these addresses.
    pub fn new(
        config: Admission,
        network: &Network,
        address: impl Fn(NodeId) -> MacAddress,
    ) -> Self {
        let stations = network.iter_nodes().map(|(id, _)| id);
        let stations = stations.filter(|&id| network.end_station(id).is_some());
        Self {
            config,
            routing: Routing::new(network),
            network: network.clone(),
            stations: stations.map(|id| (address(id), id)).collect(),
            channels: BTreeMap::new(),
            division: Vec::new(),
            divisions: 0,
            transmits: VecDeque::new(),
            record: AdmissionRecord::default(),
        }
    }

    /// Takes the payload of a frame.
    pub fn handle(&mut self, now: Instant, from: MacAddress, octets: &[u8]) {
        let Some(Message { channel: id, body }) = Message::parse(octets) else {
            self.record.malformed += 1;
            return;
        };
        let is_talker = id.talker == from;
        match body {
            Body::Request(contract) if is_talker => self.request(now, id, contract),
            Body::Release if is_talker => self.release(now, id),
            Body::Consent(takes_part) if !is_talker => self.consent(now, id, from, takes_part),
            Body::Released if !is_talker => self.told(now, id, from),
            Body::Request(_)
            | Body::Answer(_)
            | Body::Offer(_)
            | Body::Consent(_)
            | Body::Release
            | Body::Released => self.record.malformed += 1,
        }
    }

    /// Repeats what has not been answered, gives it up, and forgets channels that have ended.
    pub fn handle_timeout(&mut self, now: Instant) {
        let due = self.channels.iter().filter_map(|(&id, own)| {
            let due = own.due().is_some_and(|due| due <= now);
            due.then_some(id)
        });
        let due: Vec<ChannelId> = due.collect();
        for id in due {
            self.expire(now, id);
        }
    }

    /// Returns when [`Self::handle_timeout`] has something to do.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.channels.values().filter_map(Channel::due).min()
    }

    /// Returns the next message to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }

    /// Returns the channels among which deadlines are divided, with their flows. A release divides
    /// nothing anew: with the parts as they are the others are in time, and with others they might
    /// not be.
    pub fn division(&self) -> &[(ChannelId, Flow)] {
        &self.division
    }

    /// Returns how often the deadlines have been divided.
    pub const fn divisions(&self) -> u64 {
        self.divisions
    }

    /// Returns whether a channel is granted.
    pub fn grants(&self, id: ChannelId) -> bool {
        let own = self.channels.get(&id);
        own.is_some_and(|own| matches!(own.state, State::Granted))
    }

    /// Returns the counters.
    pub fn record(&self) -> AdmissionRecord {
        AdmissionRecord {
            kept: u64::try_from(self.channels.len()).unwrap_or(u64::MAX),
            ..self.record
        }
    }

    /// Checks that it keeps no more than it may, and that every port can send it in time.
    ///
    /// # Panics
    /// If not.
    pub fn invariants(&self) {
        assert!(self.channels.len() <= self.config.channels as usize, "more channels than room");
        assert!(self.is_in_time(&self.division), "more was granted than ports can send");
        let has_part = |id: &ChannelId| self.division.iter().any(|(other, _)| other == id);
        assert!(
            self.reserved().all(|(id, _)| has_part(id)),
            "a channel without parts of its deadline"
        );
    }

    /// Returns when the manager repeats: in half of the time, so that a talker has its answer before
    /// it gives up.
    fn retry(&self) -> Duration {
        self.config.retry / 2
    }

    /// Returns the channels whose frames may be on the links.
    fn reserved(&self) -> impl Iterator<Item = (&ChannelId, &Channel)> {
        self.channels.iter().filter(|(_, own)| own.is_reserved())
    }

    fn is_in_time(&self, division: &[(ChannelId, Flow)]) -> bool {
        let flows: Vec<Flow> = division.iter().map(|(_, flow)| flow.clone()).collect();
        is_in_time(&self.network, &flows, &self.routing, self.config.other)
    }

    fn request(&mut self, now: Instant, id: ChannelId, contract: Contract) {
        self.record.requests += 1;
        if let Some(own) = self.channels.get(&id) {
            let answer = match own.state {
                _ if own.contract != contract => {
                    self.record.malformed += 1;
                    return;
                }
                State::Offered | State::Ended { refusal: None, .. } => return,
                State::Granted => Ok(()),
                State::Ended { refusal: Some(refusal), .. } => Err(refusal),
            };
            return self.answer(id, answer);
        }
        match self.divide(id, &contract) {
            Ok(()) => {
                let awaited = contract.listeners.clone();
                self.send(&awaited, id, &Body::Offer(contract.clone()));
                let channel = Channel {
                    contract,
                    state: State::Offered,
                    awaited,
                    tries: Tries::begin(now, self.retry()),
                };
                self.channels.insert(id, channel);
            }
            Err(refusal) => {
                self.record.refused += 1;
                self.answer(id, Err(refusal));
            }
        }
    }

    /// Divides the deadlines anew with one more channel, unless it has to be refused.
    fn divide(&mut self, id: ChannelId, contract: &Contract) -> Result<(), Refusal> {
        if self.channels.len() >= self.config.channels as usize {
            return Err(Refusal::Full);
        }
        let node = |address: &MacAddress| self.stations.get(address).copied();
        let listeners: Option<Vec<NodeId>> = contract.listeners.iter().map(node).collect();
        let ends = node(&id.talker).zip(listeners);
        let (talker, listeners) = ends.ok_or(Refusal::Unknown)?;
        let flow = contract.flow(talker, listeners);
        let has_way = |&listener| {
            let way = self.routing.flow_path(&self.network, &flow, listener);
            way.is_ok()
        };
        if !flow.listeners.iter().all(has_way) {
            return Err(Refusal::Unknown);
        }
        let mut with = self.division.clone();
        with.retain(|(other, _)| self.channels.get(other).is_some_and(Channel::is_reserved));
        with.push((id, flow));
        if !self.is_in_time(&with) {
            return Err(Refusal::Late);
        }
        self.division = with;
        self.divisions += 1;
        Ok(())
    }

    fn consent(&mut self, now: Instant, id: ChannelId, from: MacAddress, takes_part: bool) {
        let Some(own) = self.channels.get_mut(&id) else {
            // About a channel that is forgotten.
            return;
        };
        if !own.contract.listeners.contains(&from) {
            self.record.malformed += 1;
            return;
        }
        if !matches!(own.state, State::Offered) {
            return;
        }
        own.awaited.retain(|&awaited| awaited != from);
        if !takes_part {
            self.refuse(now, id, Refusal::Declined, Some(from));
        } else if own.awaited.is_empty() {
            own.state = State::Granted;
            self.record.granted += 1;
            self.answer(id, Ok(()));
        }
    }

    /// Refuses a channel that was offered, and tells its listeners but one.
    fn refuse(&mut self, now: Instant, id: ChannelId, refusal: Refusal, but: Option<MacAddress>) {
        self.record.refused += 1;
        self.answer(id, Err(refusal));
        let ended = State::Ended { refusal: Some(refusal), until: None };
        self.end(now, id, ended, but);
    }

    fn release(&mut self, now: Instant, id: ChannelId) {
        self.send(&[id.talker], id, &Body::Released);
        let Some(own) = self.channels.get(&id) else {
            return;
        };
        if let State::Ended { .. } = own.state {
            return;
        }
        self.record.released += 1;
        let ended = State::Ended { refusal: None, until: Some(now + own.contract.deadline) };
        self.end(now, id, ended, None);
    }

    fn end(&mut self, now: Instant, id: ChannelId, ended: State, but: Option<MacAddress>) {
        let tries = Tries::begin(now, self.retry());
        let Some(own) = self.channels.get_mut(&id) else {
            return;
        };
        let mut awaited = own.contract.listeners.clone();
        awaited.retain(|&listener| Some(listener) != but);
        own.state = ended;
        own.awaited.clone_from(&awaited);
        own.tries = tries;
        self.send(&awaited, id, &Body::Release);
        self.forget(now, id);
    }

    /// Notes that a listener knows of the end of a channel.
    fn told(&mut self, now: Instant, id: ChannelId, from: MacAddress) {
        let Some(own) = self.channels.get_mut(&id) else {
            return;
        };
        if matches!(own.state, State::Ended { .. }) {
            own.awaited.retain(|&awaited| awaited != from);
            self.forget(now, id);
        }
    }

    /// Forgets a channel that has ended if all listeners know and its last frame has arrived.
    fn forget(&mut self, now: Instant, id: ChannelId) {
        let Some(own) = self.channels.get_mut(&id) else {
            return;
        };
        if let State::Ended { until, .. } = &mut own.state {
            *until = until.filter(|&until| until > now);
            if own.awaited.is_empty() && until.is_none() {
                self.channels.remove(&id);
            }
        }
    }

    fn expire(&mut self, now: Instant, id: ChannelId) {
        let retry = self.retry();
        let Some(own) = self.channels.get_mut(&id) else {
            return;
        };
        let body = match own.state {
            State::Granted => return,
            State::Offered => Body::Offer(own.contract.clone()),
            State::Ended { .. } if own.tries.due <= now => Body::Release,
            State::Ended { .. } => return self.forget(now, id),
        };
        if own.tries.again(now, retry, self.config.attempts) {
            let awaited = own.awaited.clone();
            self.record.repeated += u64::try_from(awaited.len()).unwrap_or(u64::MAX);
            self.send(&awaited, id, &body);
        } else if let State::Ended { .. } = own.state {
            self.record.abandoned += u64::try_from(own.awaited.len()).unwrap_or(u64::MAX);
            own.awaited.clear();
        } else {
            self.refuse(now, id, Refusal::Silent, None);
        }
        self.forget(now, id);
    }

    fn answer(&mut self, id: ChannelId, answer: Result<(), Refusal>) {
        self.send(&[id.talker], id, &Body::Answer(answer));
    }

    fn send(&mut self, to: &[MacAddress], channel: ChannelId, body: &Body) {
        let transmits =
            to.iter().map(|&to| Transmit { to, message: Message { channel, body: body.clone() } });
        self.transmits.extend(transmits);
    }
}
