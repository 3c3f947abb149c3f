//! The work of each thread of a test bed.

use std::sync::atomic::AtomicBool;

use rtether_live::clock::Clock;
use rtether_live::namespace;
use rtether_live::station::published::{TopicHost, Topics};
use rtether_live::station::tcp::{
    FileLog, Server, TcpIncoming, TcpOutgoing, TcpTraffic, send_files, send_messages,
};
use rtether_live::station::{Duties, Log, Station, StationError};
use rtether_live::thread::Placement;
use rtether_model::quantity::Instant;

use super::duties::{GRACE, HostDuties};
use super::{Host, Options};

/// One thread's work, before it has opened its sockets.
pub(super) enum Work {
    /// Packets of a host.
    Station(Duties),
    /// Connections that a host accepts.
    Server(Vec<TcpIncoming>),
    /// Files or messages over TCP.
    Sender(TcpOutgoing),
    /// Flows over RTPS.
    Topics(Topics),
}

/// The same with open sockets.
pub(super) enum Opened {
    Station(Box<Station>),
    Server(Server),
    Sender(Box<TcpOutgoing>),
    Topics(Box<TopicHost>),
}

/// What a thread saw.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) log: Log,
    pub(super) files: Vec<FileLog>,
    /// Why it ended early.
    pub(super) ended: Option<StationError>,
    /// Connections not established or broken.
    pub(super) refused: u64,
}

impl HostDuties {
    /// Returns the work of a host, one item per thread.
    pub(super) fn work(self) -> Vec<Work> {
        let mut work = vec![Work::Station(self.station)];
        if !(self.topics.published.is_empty() && self.topics.subscribed.is_empty()) {
            work.push(Work::Topics(self.topics));
        }
        if !self.tcp_incoming.is_empty() {
            work.push(Work::Server(self.tcp_incoming));
        }
        work.extend(self.tcp_outgoing.into_iter().map(Work::Sender));
        work
    }
}

impl Work {
    /// Opens the sockets, in the host's namespace if it has one. Files and servers get no priority:
    /// bulk traffic is meant to wait, and so are the programs behind it.
    pub(super) fn open(self, host: &Host, options: &Options) -> Result<Opened, StationError> {
        if !host.namespace.is_empty() {
            namespace::enter(&host.namespace).map_err(|source| StationError::Socket {
                doing: format!("entering the namespace {}", host.namespace),
                source,
            })?;
        }
        let is_urgent = match &self {
            Self::Station(_) | Self::Topics(_) => true,
            Self::Server(incoming) => incoming.iter().any(|own| own.message.is_some()),
            Self::Sender(outgoing) => matches!(outgoing.traffic, TcpTraffic::Messages { .. }),
        };
        let priority = options.priority.filter(|_| is_urgent);
        let placement = Placement { core: None, priority, lock_memory: priority.is_some() };
        placement.apply()?;
        Ok(match self {
            Self::Station(duties) => Opened::Station(Box::new(Station::open(duties)?)),
            Self::Server(incoming) => Opened::Server(Server::open(host.ip, incoming)?),
            Self::Sender(outgoing) => Opened::Sender(Box::new(outgoing)),
            Self::Topics(topics) => Opened::Topics(Box::new(TopicHost::open(topics)?)),
        })
    }
}

impl Opened {
    pub(super) fn run(self, clock: Clock, options: &Options, stop: &AtomicBool) -> Seen {
        let until = Instant::ZERO + options.duration;
        let end = until + GRACE;
        match self {
            Self::Station(station) => {
                let (log, ended) = station.run(clock, stop);
                Seen { log, ended, ..Seen::default() }
            }
            Self::Topics(host) => {
                let (log, ended) = host.run(clock, [until, end], stop);
                Seen { log, ended, ..Seen::default() }
            }
            Self::Server(server) => {
                let (log, files) = server.run(clock, end, stop);
                Seen { log, files, ..Seen::default() }
            }
            Self::Sender(outgoing) => match outgoing.traffic {
                TcpTraffic::Messages { .. } => {
                    let (log, ended) = send_messages(*outgoing, clock, [until, end], stop);
                    Seen { log, ended, ..Seen::default() }
                }
                TcpTraffic::Files { .. } => {
                    let (files, refused) = send_files(*outgoing, clock, until, stop);
                    Seen { files, refused, ..Seen::default() }
                }
            },
        }
    }
}
