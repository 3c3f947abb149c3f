//! Nodes with one application each, on a network without delay or loss by default.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use rtether_rtps::application::{Application, Context, PublicationHandle, PublicationOptions};
use rtether_rtps::engine::{Config, Participant};
use rtether_rtps::guid::GuidPrefix;
use rtether_rtps::locator::{Locator, Origin};
use rtether_rtps::time::{Duration, Instant};
use rtether_rtps::types::Ping;

pub(crate) const MS: i64 = 1_000_000;
/// Lease of each node.
pub(crate) const LEASE: Duration = Duration::from_ms(1_000);

pub(crate) struct Node {
    pub(crate) participant: Participant,
    pub(crate) application: Application,
}

pub(crate) struct World {
    pub(crate) now: i64,
    pub(crate) nodes: Vec<Option<Node>>,
    /// Nodes cut off from the network.
    pub(crate) cut: BTreeSet<usize>,
    /// Every `loss`-th datagram is lost.
    pub(crate) loss: Option<u64>,
    pub(crate) sent: u64,
    /// Node whose application is not dispatched.
    watched: Option<usize>,
    buffer: Vec<u8>,
}

pub(crate) fn address(node: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 1, u8::try_from(node + 1).unwrap())
}

pub(crate) fn participant(node: usize, name: &str, now: Instant) -> Participant {
    let mut config = Config::new(GuidPrefix([u8::try_from(node + 1).unwrap(); 12]), 0, [7; 16]);
    config.metatraffic_unicast = vec![Locator::udp(address(node), 7_410)];
    config.default_unicast.clone_from(&config.metatraffic_unicast);
    config.announce_to = vec![Locator::udp(Ipv4Addr::new(239, 255, 0, 1), 7_400)];
    config.lease = LEASE;
    config.announce_period = Duration::from_ms(300);
    name.clone_into(&mut config.name);
    Participant::new(config, now)
}

impl World {
    pub(crate) fn new(nodes: usize) -> Self {
        let nodes = (0..nodes).map(|node| {
            Some(Node {
                participant: participant(node, "node", Instant::ZERO),
                application: Application::new(),
            })
        });
        Self {
            now: 0,
            nodes: nodes.collect(),
            cut: BTreeSet::new(),
            loss: None,
            sent: 0,
            watched: None,
            buffer: Vec::new(),
        }
    }

    pub(crate) fn clock(&self) -> Instant {
        Instant::from_ns(self.now)
    }

    pub(crate) fn node(&mut self, node: usize) -> &mut Node {
        self.nodes[node].as_mut().unwrap()
    }

    /// Returns access to the application of a node.
    pub(crate) fn at(&mut self, node: usize) -> Context<'_> {
        let now = self.clock();
        let node = self.node(node);
        node.application.context(&mut node.participant, now)
    }

    /// Creates a publication with ordinary options.
    pub(crate) fn publish(&mut self, node: usize, topic: &str) -> PublicationHandle<Ping> {
        let options = PublicationOptions::default();
        self.at(node).publish(topic, &options).unwrap()
    }

    /// Runs what is due at a node and sends its datagrams; returns whether there were any.
    fn run(&mut self, from: usize) -> bool {
        let now = self.clock();
        let mut is_any = false;
        let mut buffer = std::mem::take(&mut self.buffer);
        if let Some(node) = &mut self.nodes[from] {
            if node.participant.poll_timeout() <= now {
                node.participant.handle_timeout(now);
            }
            if self.watched != Some(from) {
                node.application.dispatch(&mut node.participant, now);
            }
        }
        while let Some(node) = &mut self.nodes[from]
            && let Some(transmit) = node.participant.poll_transmit(now, &mut buffer)
        {
            is_any = true;
            let Locator::Udp(to) = transmit.to else {
                panic!("not a place of this network");
            };
            for other in 0..self.nodes.len() {
                let is_group = to.ip().is_multicast() && other != from;
                if is_group || to.ip() == address(other) {
                    self.carry(from, other, &buffer);
                }
            }
        }
        self.buffer = buffer;
        is_any
    }

    fn carry(&mut self, from: usize, to: usize, datagram: &[u8]) {
        self.sent += 1;
        let is_lost = self.loss.is_some_and(|loss| self.sent.is_multiple_of(loss));
        if is_lost || self.cut.contains(&from) || self.cut.contains(&to) {
            return;
        }
        let now = self.clock();
        if let Some(node) = &mut self.nodes[to] {
            let origin = Origin::Ip(address(from).into());
            node.participant.handle_datagram(now, origin, datagram);
            if self.watched != Some(to) {
                node.application.dispatch(&mut node.participant, now);
            }
        }
    }

    /// Delivers datagrams until none are left.
    pub(crate) fn settle(&mut self) {
        for _ in 0..10_000 {
            let mut is_any = false;
            for node in 0..self.nodes.len() {
                is_any |= self.run(node);
            }
            if !is_any {
                return;
            }
        }
        panic!("there is no end of it");
    }

    fn due(&self) -> i64 {
        let nodes = self.nodes.iter().flatten();
        let due = nodes.map(|node| {
            let own = node.participant.poll_timeout();
            own.min(node.application.poll_timeout(&node.participant))
        });
        due.fold(Instant::NEVER, Instant::min).as_ns()
    }

    /// Advances time to `until`.
    pub(crate) fn run_until(&mut self, until: i64) {
        let mut idle = 0;
        loop {
            self.settle();
            let due = self.due();
            if due > until {
                self.now = until;
                return;
            }
            idle = if due <= self.now { idle + 1 } else { 0 };
            assert!(idle < 1_000, "something is due forever");
            self.now = due.max(self.now);
            if idle > 0 {
                self.now += 1;
            }
        }
    }

    /// Like [`Self::run_until`], without dispatching the application of a node.
    pub(crate) fn run_watched(&mut self, node: usize, until: i64) {
        self.watched = Some(node);
        self.run_until(until);
        self.watched = None;
    }

    pub(crate) fn run_for(&mut self, time: i64) {
        self.run_until(self.now + time);
    }

    /// Advances time while all hosts stand still.
    pub(crate) fn stall(&mut self, time: i64) {
        self.now += time;
    }
}

pub(crate) fn ping(sequence: u32) -> Ping {
    Ping { sequence, ..Ping::default() }
}

/// Record kept by callbacks.
#[derive(Debug)]
pub(crate) struct Log<T>(Arc<Mutex<Vec<T>>>);

impl<T> Clone for Log<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Log<T> {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Vec::new())))
    }

    pub(crate) fn push(&self, one: T) {
        self.0.lock().unwrap().push(one);
    }

    /// Returns and clears the record.
    pub(crate) fn take(&self) -> Vec<T> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}
