//! Transport of a participant.

use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::ops::Range;

use rtether_rtps::engine::Config;
use rtether_rtps::locator::{Locator, Origin};

use super::alarm::Alarm;
use super::ethernet::Ethernet;
use super::socket::{Ready, Source};
use super::udp::Udp;
use super::waker::Waker;
use super::watch::Envelope;
use super::{DomainError, DomainOptions};

/// Sockets of a participant.
#[derive(Debug)]
pub(super) enum Transport {
    Udp(Udp),
    Ethernet(Ethernet),
}

impl Transport {
    /// Opens the sockets, and sets the locators in `config`; also returns the participant number on
    /// this host.
    pub(super) fn open(
        options: &DomainOptions,
        config: &mut Config,
    ) -> Result<(Self, u16), DomainError> {
        Ok(match &options.ethernet {
            None => {
                let (udp, number) = Udp::open(options, config)?;
                (Self::Udp(udp), number)
            }
            Some(frames) => {
                let (ethernet, number) = Ethernet::open(options, frames, config)?;
                (Self::Ethernet(ethernet), number)
            }
        })
    }

    /// Sends a datagram; the priority is its DSCP, whose upper three bits are the PCP.
    pub(super) fn send(&self, datagram: &[u8], to: Locator, priority: i32) -> io::Result<()> {
        match (self, to) {
            (Self::Udp(udp), Locator::Udp(to)) => udp.send(datagram, to, priority),
            (Self::Ethernet(ethernet), Locator::Ethernet { address, port, .. }) => {
                ethernet.send(datagram, address, port, priority)
            }
            // The engine chooses no locator of another kind.
            _ => Err(io::ErrorKind::AddrNotAvailable.into()),
        }
    }

    /// Returns the position of the next datagram in `buffer`, and its sender unless the frame
    /// contains it; `None` if none waits.
    pub(super) fn receive(
        &self,
        source: Source,
        buffer: &mut [u8],
    ) -> io::Result<Option<(Range<usize>, Option<SocketAddrV4>)>> {
        match self {
            Self::Udp(udp) => udp.receive(source, buffer),
            Self::Ethernet(ethernet) if source == Source::Own => {
                Ok(ethernet.receive(buffer)?.map(|range| (range, None)))
            }
            Self::Ethernet(_) => Ok(None),
        }
    }

    /// Passes the locators at which nobody listens, as their hosts say, to `tell`.
    pub(super) fn read_errors(&self, mut tell: impl FnMut(Locator)) -> io::Result<()> {
        match self {
            Self::Udp(udp) => udp.read_errors(|address| tell(Locator::Udp(address))),
            Self::Ethernet(_) => Ok(()),
        }
    }

    /// Returns the origin of a datagram, from its sender or envelope.
    pub(super) fn origin(&self, from: Option<SocketAddrV4>, head: &[u8]) -> Option<Origin> {
        match self {
            Self::Udp(_) => from.map(|from| Origin::Ip((*from.ip()).into())),
            Self::Ethernet(ethernet) => ethernet.origin(head),
        }
    }

    /// Returns the envelope of a datagram sent.
    pub(super) fn sent_in(&self, to: Locator, priority: i32) -> Option<Envelope> {
        match (self, to) {
            (Self::Udp(udp), Locator::Udp(SocketAddr::V4(to))) => Some(Envelope::Udp {
                from: udp.address(),
                to,
                dscp: u8::try_from(priority.clamp(0, 63)).unwrap_or(0),
            }),
            (Self::Ethernet(ethernet), Locator::Ethernet { address, port, .. }) => {
                Some(ethernet.sent_in(address, port, priority))
            }
            _ => None,
        }
    }

    /// Returns the envelope of a datagram received.
    pub(super) fn came_in(
        &self,
        source: Source,
        from: Option<SocketAddrV4>,
        head: &[u8],
    ) -> Option<Envelope> {
        match self {
            Self::Udp(udp) => {
                Some(Envelope::Udp { from: from?, to: udp.address_of(source)?, dscp: 0 })
            }
            Self::Ethernet(_) => super::ethernet::came_in(head),
        }
    }

    /// Sleeps until a datagram arrives, the alarm rings, the waker wakes or a signal arrives;
    /// returns what there is to receive.
    pub(super) fn sleep(&self, alarm: &Alarm, waker: Option<&Waker>) -> io::Result<Ready> {
        match self {
            Self::Udp(udp) => udp.sleep(alarm, waker),
            Self::Ethernet(ethernet) => ethernet.sleep(alarm, waker),
        }
    }
}
