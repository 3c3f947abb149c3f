//! A station that asks for channels, and consents to those of others.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};

use rtether_model::admission::{Admission, Refusal};
use rtether_model::mac::MacAddress;
use rtether_model::quantity::Instant;

use super::{Body, ChannelId, Contract, Message, Transmit, Tries};

/// What has become of a request of this station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The station's number for the channel.
    pub number: u32,
    /// Granted, or why not.
    pub answer: Result<(), Refusal>,
}

/// A channel that this station has asked for.
#[derive(Debug)]
struct Own {
    contract: Contract,
    state: State,
    /// Releases sent.
    releases: u32,
}

#[derive(Debug)]
enum State {
    Asking(Tries),
    Granted,
    /// The manager has not confirmed the end.
    Leaving(Tries),
    Over,
}

/// The side of a station; channels are told apart by numbers of the host.
#[derive(Debug)]
pub struct Party {
    config: Admission,
    own: MacAddress,
    manager: MacAddress,
    /// As many as the host has asked for.
    channels: BTreeMap<u32, Own>,
    /// Those of others to which it has consented, [`Admission::accepts`] at most.
    accepted: BTreeSet<ChannelId>,
    transmits: VecDeque<Transmit>,
    decisions: VecDeque<Decision>,
    malformed: u64,
}

impl Party {
    /// Creates the side of the station with the address `own`.
    pub const fn new(config: Admission, own: MacAddress, manager: MacAddress) -> Self {
        Self {
            config,
            own,
            manager,
            channels: BTreeMap::new(),
            accepted: BTreeSet::new(),
            transmits: VecDeque::new(),
            decisions: VecDeque::new(),
            malformed: 0,
        }
    }

    /// Asks for a channel; a number that has been used is not asked again.
    pub fn ask(&mut self, now: Instant, number: u32, contract: Contract) {
        if self.channels.contains_key(&number) {
            return;
        }
        let own = Own {
            contract,
            state: State::Asking(Tries::begin(now, self.config.retry)),
            releases: 0,
        };
        self.request(number, own.contract.clone());
        self.channels.insert(number, own);
    }

    /// Gives a channel back, or a request up. There is no decision about it from now on.
    pub fn release(&mut self, now: Instant, number: u32) {
        let own = self.channels.get(&number);
        if own.is_some_and(|own| matches!(own.state, State::Asking(_) | State::Granted)) {
            self.leave(now, number);
        }
    }

    /// Takes the payload of a frame.
    pub fn handle(&mut self, now: Instant, from: MacAddress, octets: &[u8]) {
        let message = Message::parse(octets).filter(|_| from == self.manager);
        let Some(Message { channel, body }) = message else {
            self.malformed += 1;
            return;
        };
        let is_own = channel.talker == self.own;
        match body {
            Body::Answer(answer) if is_own => self.answered(now, channel.number, answer),
            Body::Released if is_own => self.released(channel.number),
            Body::Offer(contract) if contract.listeners.contains(&self.own) => {
                let has_room = self.accepted.len() < self.config.accepts as usize;
                let takes_part =
                    self.accepted.contains(&channel) || (has_room && self.accepted.insert(channel));
                self.send(channel, Body::Consent(takes_part));
            }
            Body::Release if !is_own => {
                self.accepted.remove(&channel);
                self.send(channel, Body::Released);
            }
            Body::Request(_)
            | Body::Answer(_)
            | Body::Offer(_)
            | Body::Consent(_)
            | Body::Release
            | Body::Released => self.malformed += 1,
        }
    }

    /// Repeats what has not been answered, or gives it up.
    pub fn handle_timeout(&mut self, now: Instant) {
        let due = self.channels.iter().filter_map(|(&number, own)| {
            let due = own.due().is_some_and(|due| due <= now);
            due.then_some(number)
        });
        let due: VecDeque<u32> = due.collect();
        for number in due {
            self.expire(now, number);
        }
    }

    /// Returns when [`Self::handle_timeout`] has something to do.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.channels.values().filter_map(Own::due).min()
    }

    /// Returns the next message to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }

    /// Returns the next decision.
    pub fn poll_decision(&mut self) -> Option<Decision> {
        self.decisions.pop_front()
    }

    /// Returns whether it holds a channel.
    pub fn holds(&self, number: u32) -> bool {
        let own = self.channels.get(&number);
        own.is_some_and(|own| matches!(own.state, State::Granted))
    }

    /// Returns the number of channels to which it has consented as a listener.
    pub fn accepted(&self) -> usize {
        self.accepted.len()
    }

    /// Returns the number of frames that were malformed, or not for it.
    pub const fn malformed(&self) -> u64 {
        self.malformed
    }

    fn answered(&mut self, now: Instant, number: u32, answer: Result<(), Refusal>) {
        let Some(own) = self.channels.get_mut(&number) else {
            self.malformed += 1;
            return;
        };
        match (&own.state, answer) {
            (State::Asking(_), _) => {
                own.state = match answer {
                    Ok(()) => State::Granted,
                    Err(_) => State::Over,
                };
                self.decisions.push_back(Decision { number, answer });
            }
            // Granted after the talker gave up.
            (State::Over, Ok(())) => self.leave(now, number),
            // Answers to requests that were repeated.
            (State::Granted | State::Leaving(_) | State::Over, _) => {}
        }
    }

    fn released(&mut self, number: u32) {
        let own = self.channels.get_mut(&number);
        if let Some(own) = own.filter(|own| matches!(own.state, State::Leaving(_))) {
            own.state = State::Over;
        }
    }

    fn expire(&mut self, now: Instant, number: u32) {
        let Some(own) = self.channels.get_mut(&number) else {
            return;
        };
        match &mut own.state {
            State::Asking(tries) => {
                if tries.again(now, self.config.retry, self.config.attempts) {
                    let contract = own.contract.clone();
                    self.request(number, contract);
                } else {
                    let answer = Err(Refusal::Unanswered);
                    self.decisions.push_back(Decision { number, answer });
                    self.leave(now, number);
                }
            }
            State::Leaving(tries) => {
                tries.due = now + self.config.retry;
                self.repeat_release(number);
            }
            State::Granted | State::Over => {}
        }
    }

    fn leave(&mut self, now: Instant, number: u32) {
        if let Some(own) = self.channels.get_mut(&number) {
            own.state = State::Leaving(Tries::begin(now, self.config.retry));
            self.repeat_release(number);
        }
    }

    /// Sends a release, unless there have been [`Admission::attempts`] of this channel.
    fn repeat_release(&mut self, number: u32) {
        let Some(own) = self.channels.get_mut(&number) else {
            return;
        };
        if own.releases >= self.config.attempts {
            own.state = State::Over;
            return;
        }
        own.releases += 1;
        let talker = self.own;
        self.send(ChannelId { talker, number }, Body::Release);
    }

    fn request(&mut self, number: u32, contract: Contract) {
        let talker = self.own;
        self.send(ChannelId { talker, number }, Body::Request(contract));
    }

    fn send(&mut self, channel: ChannelId, body: Body) {
        self.transmits.push_back(Transmit { to: self.manager, message: Message { channel, body } });
    }
}

impl Own {
    const fn due(&self) -> Option<Instant> {
        match self.state {
            State::Asking(tries) | State::Leaving(tries) => Some(tries.due),
            State::Granted | State::Over => None,
        }
    }
}
