//! Admission: the engines of [`rtether_proto::admission`] with one timer, and the flows that ask.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use rtether_model::admission::{Admission, Refusal};
use rtether_model::mac::MacAddress;
use rtether_model::network::{Network, NodeId};
use rtether_model::quantity::{Duration, Instant};
use rtether_model::record::{AdmissionRecord, ChannelRecord};
use rtether_proto::admission::{Contract, Decision, Manager, Party, Transmit};

use crate::agenda::{Agenda, NEVER};
use crate::packet::NONE;
use crate::trace::frame;

/// A message on its way to a station.
pub(crate) struct Outgoing {
    pub(crate) source: u32,
    pub(crate) destination: u32,
    pub(crate) octets: Vec<u8>,
}

/// A flow that asks before it begins.
struct Channel {
    /// Station of the talker.
    talker: u32,
    contract: Contract,
    asked: Option<Instant>,
    decided: Option<(Instant, Result<(), Refusal>)>,
}

/// The manager, the stations, and their flows.
pub(crate) struct AdmissionState {
    manager: Manager,
    /// Station of the manager.
    at: u32,
    /// By station.
    parties: Vec<Party>,
    addresses: Vec<MacAddress>,
    stations: BTreeMap<MacAddress, u32>,
    /// By number of the flow, which is that of the channel, too.
    channels: BTreeMap<u32, Channel>,
    /// When flows end, the earliest last.
    stops: Vec<(Instant, u32)>,
    transmits: VecDeque<Outgoing>,
    granted: VecDeque<u32>,
    slot: u32,
    /// Flow of the first station's messages; those of the others follow.
    first_flow: u32,
}

/// Returns the address of a station, as captures show it.
pub(crate) fn address_of(node: NodeId) -> MacAddress {
    MacAddress(frame::mac(2, node.0))
}

impl AdmissionState {
    /// Creates the state of a plant with these stations, whose messages belong to flows from
    /// `first_flow` on.
    pub(crate) fn new(
        config: Admission,
        network: &Network,
        stations: &[NodeId],
        first_flow: u32,
    ) -> Self {
        let addresses: Vec<MacAddress> = stations.iter().copied().map(address_of).collect();
        let manager = address_of(config.manager);
        let numbered = (0u32..).zip(&addresses);
        let stations: BTreeMap<_, _> = numbered.map(|(number, &own)| (own, number)).collect();
        let parties = addresses.iter();
        Self {
            manager: Manager::new(config, network, address_of),
            at: stations.get(&manager).copied().unwrap_or(NONE),
            parties: parties.map(|&own| Party::new(config, own, manager)).collect(),
            addresses,
            stations,
            channels: BTreeMap::new(),
            stops: Vec::new(),
            transmits: VecDeque::new(),
            granted: VecDeque::new(),
            slot: NONE,
            first_flow,
        }
    }

    /// Lets a flow ask before it begins.
    pub(crate) fn add(
        &mut self,
        flow: u32,
        talker: u32,
        contract: Contract,
        stop: Option<Duration>,
    ) {
        let channel = Channel { talker, contract, asked: None, decided: None };
        self.channels.insert(flow, channel);
        if let Some(stop) = stop {
            self.stops.push((Instant::ZERO + stop, flow));
            self.stops.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    /// Gives it the timer.
    pub(crate) const fn set_slot(&mut self, slot: u32) {
        self.slot = slot;
    }

    /// Returns the flow of the messages of a station.
    pub(crate) const fn flow_of(&self, station: u32) -> u32 {
        self.first_flow + station
    }

    /// Returns whether a flow has to wait, and asks for it if it has not asked yet.
    pub(crate) fn holds(&mut self, now: Instant, flow: u32) -> bool {
        let Some(channel) = self.channels.get_mut(&flow) else {
            return false;
        };
        if channel.asked.is_none() {
            channel.asked = Some(now);
            let (talker, contract) = (channel.talker, channel.contract.clone());
            self.parties[talker as usize].ask(now, flow, contract);
            self.drain(talker);
            return true;
        }
        !matches!(channel.decided, Some((_, Ok(()))))
    }

    /// Takes a message that a station has received from another.
    pub(crate) fn handle(&mut self, now: Instant, station: u32, from: u32, octets: &[u8]) {
        let from = self.addresses[from as usize];
        if station == self.at {
            self.manager.handle(now, from, octets);
            self.drain_manager();
        } else {
            self.parties[station as usize].handle(now, from, octets);
            self.drain(station);
        }
        self.note_decisions(now, station);
    }

    /// Handles the timer: messages without an answer, and flows that end.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.manager.handle_timeout(now);
        self.drain_manager();
        while let Some((_, flow)) = self.stops.pop_if(|(stop, _)| *stop <= now) {
            if let Some(channel) = self.channels.get(&flow) {
                self.parties[channel.talker as usize].release(now, flow);
            }
        }
        for station in 0..u32::try_from(self.parties.len()).unwrap_or(u32::MAX) {
            self.parties[station as usize].handle_timeout(now);
            self.drain(station);
            self.note_decisions(now, station);
        }
    }

    /// Returns the next message to send.
    pub(crate) fn poll_transmit(&mut self) -> Option<Outgoing> {
        self.transmits.pop_front()
    }

    /// Returns the next flow that may begin.
    pub(crate) fn poll_granted(&mut self) -> Option<u32> {
        self.granted.pop_front()
    }

    /// Returns the flows among which deadlines are divided.
    pub(crate) fn division(&self) -> impl Iterator<Item = u32> {
        self.manager.division().iter().map(|(id, _)| id.number)
    }

    /// Returns how often deadlines have been divided.
    pub(crate) const fn divisions(&self) -> u64 {
        self.manager.divisions()
    }

    /// Sets the timer.
    pub(crate) fn set_timer(&self, agenda: &mut Agenda) {
        let parties = self.parties.iter().filter_map(Party::next_timeout);
        let stop = self.stops.last().map(|(stop, _)| *stop);
        let next = parties.chain(stop).chain(self.manager.next_timeout()).min();
        let next = next.map_or(NEVER, |at| (at - Instant::ZERO).as_ps());
        agenda.set(self.slot, next);
    }

    /// Returns what became of the request of a flow; `None` if it need not ask.
    pub(crate) fn channel(&self, flow: u32) -> Option<ChannelRecord> {
        let channel = self.channels.get(&flow)?;
        let mut record = ChannelRecord::default();
        match channel.decided {
            None => record.undecided = 1,
            Some((_, Err(refusal))) => record.refused[refusal.index()] = 1,
            Some((at, Ok(()))) => {
                let wait = channel.asked.map_or(Duration::ZERO, |asked| at - asked);
                record.granted = 1;
                record.wait_max = wait;
                record.wait_sum_ps = i128::from(wait.as_ps());
            }
        }
        Some(record)
    }

    /// Returns the counters of a station, if it is the manager.
    pub(crate) fn record(&self, station: u32) -> Option<AdmissionRecord> {
        (station == self.at).then(|| self.manager.record())
    }

    /// Checks the books of the manager.
    ///
    /// # Panics
    /// If it has granted more than it may.
    pub(crate) fn invariants(&self) {
        self.manager.invariants();
    }

    fn note_decisions(&mut self, now: Instant, station: u32) {
        while let Some(decision) = self.parties[station as usize].poll_decision() {
            let Decision { number, answer } = decision;
            if let Some(channel) = self.channels.get_mut(&number) {
                channel.decided = Some((now, answer));
                self.granted.extend(answer.is_ok().then_some(number));
            }
        }
    }

    fn drain(&mut self, station: u32) {
        while let Some(transmit) = self.parties[station as usize].poll_transmit() {
            self.send(station, &transmit);
        }
    }

    fn drain_manager(&mut self) {
        while let Some(transmit) = self.manager.poll_transmit() {
            self.send(self.at, &transmit);
        }
    }

    fn send(&mut self, source: u32, transmit: &Transmit) {
        // The manager answers stations that have sent something, and offers to those it knows.
        if let Some(&destination) = self.stations.get(&transmit.to) {
            self.transmits.push_back(Outgoing {
                source,
                destination,
                octets: transmit.message.to_octets(),
            });
        }
    }
}
