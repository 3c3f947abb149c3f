//! Frequent requests to the kernel over netlink, without running a program: statistics of classes
//! and devices, the rate of a class, and the two filters.

use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration as Sleep;

use rtether_model::quantity::{BitRate, Bytes};
use socket2::{Domain, Protocol, Socket, Type};

use super::message::{Message, Received, Traffic, find, long, messages, number, text};
use super::shape;

const NEW_LINK: u16 = 16;
const GET_LINK: u16 = 18;
const NEW_QDISC: u16 = 36;
const GET_QDISC: u16 = 38;
const NEW_CLASS: u16 = 40;
const GET_CLASS: u16 = 42;
const NEW_FILTER: u16 = 44;
const GET_FILTER: u16 = 46;
const NEW_STATS: u16 = 92;
const GET_STATS: u16 = 94;
const ERROR: u16 = 2;
const DONE: u16 = 3;

const REQUEST: u16 = 1;
const ACKNOWLEDGE: u16 = 4;
const DUMP: u16 = 0x300;
const REPLACE: u16 = 0x100;
const CREATE: u16 = 0x400;

/// Attributes of queues, classes and filters (`linux/rtnetlink.h`, `linux/pkt_sched.h`,
/// `linux/pkt_cls.h`, `linux/gen_stats.h`).
const KIND: u16 = 1;
const OPTIONS: u16 = 2;
const STATISTICS: u16 = 7;
const STATISTICS_BASIC: u16 = 1;
const STATISTICS_QUEUE: u16 = 3;
/// Offset of the drop counter in `STATISTICS_QUEUE`.
const QUEUE_DROPS: usize = 8;
const STATISTICS_PACKETS: u16 = 8;
const HTB_PARAMETERS: u16 = 1;
const BPF_DESCRIPTOR: u16 = 6;
const BPF_NAME: u16 = 7;
const BPF_FLAGS: u16 = 8;
const BPF_DIRECT_ACTION: u32 = 1;
/// `struct ifinfomsg`, and an attribute that follows it.
const LINK_HEADER: usize = 16;
const LINK_MTU: u16 = 4;
/// Counters of a device (`struct rtnl_link_stats64`).
const LINK_STATISTICS: u16 = 1;

/// Large enough for any answer: a device has fewer than a hundred classes of some 200 octets each.
const BUFFER: usize = 32 << 10;
/// Timeout for an answer; the kernel normally answers at once.
const PATIENCE: Sleep = Sleep::from_secs(2);

/// A netlink socket in the namespace where it was opened.
#[derive(Debug)]
pub(super) struct Netlink {
    socket: Socket,
    sequence: u32,
    buffer: Vec<u8>,
}

/// Counters of an HTB class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ClassCounters {
    /// Lower half of its handle.
    pub(super) minor: u16,
    /// Octets sent, without Ethernet header.
    pub(super) octets: u64,
    /// Frames sent.
    pub(super) frames: u64,
    /// Frames dropped because the queue was full; counted by the class's own queue.
    pub(super) dropped: u64,
    /// Frames waiting.
    pub(super) waiting: u32,
    /// Octets waiting, without Ethernet header.
    pub(super) backlog: u32,
}

/// Counters of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DeviceCounters {
    pub(super) received: Way,
    pub(super) sent: Way,
    /// Collisions seen by the driver.
    pub(super) collisions: u64,
}

/// Frames in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) frames: u64,
    /// Without check sequence.
    pub(super) octets: u64,
}

impl Way {
    /// Returns the increase since an earlier reading.
    pub(super) fn since(self, before: Self) -> Self {
        Self {
            frames: self.frames.saturating_sub(before.frames),
            octets: self.octets.saturating_sub(before.octets),
        }
    }
}

/// A queue of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Queue {
    pub(super) kind: String,
    pub(super) handle: u32,
    pub(super) parent: u32,
}

/// A filter of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Filter {
    /// Name, if the filter is a BPF program.
    pub(super) name: Option<String>,
}

/// Hook that a filter is attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hook {
    Ingress,
    Egress,
}

impl Hook {
    /// Handle of the hook (`TC_H_CLSACT`, `TC_H_MIN_INGRESS`, `TC_H_MIN_EGRESS`).
    const fn parent(self) -> u32 {
        match self {
            Self::Ingress => 0xFFFF_FFF2,
            Self::Egress => 0xFFFF_FFF3,
        }
    }

    /// Returns its name for `tc`.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ingress => "ingress",
            Self::Egress => "egress",
        }
    }
}

/// Preference of both filters: `RT`.
pub(super) const PREFERENCE: u16 = shape::ROOT;

impl Netlink {
    /// Opens a socket in the namespace of the calling thread.
    pub(super) fn open() -> io::Result<Self> {
        let domain = Domain::from(libc::AF_NETLINK);
        let protocol = Protocol::from(libc::NETLINK_ROUTE);
        let socket = Socket::new(domain, Type::RAW, Some(protocol))?;
        socket.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { socket, sequence: 0, buffer: vec![0; BUFFER] })
    }

    /// Sets rate and burst of the smoother's class; sizes are those of IP datagrams.
    pub(super) fn set_rate(&mut self, device: i32, rate: BitRate, burst: Bytes) -> io::Result<()> {
        let about = Traffic {
            device,
            handle: shape::class(shape::SMOOTHER),
            parent: shape::class(shape::LINK),
            info: 0,
        };
        let message = Message::traffic(NEW_CLASS, REQUEST | ACKNOWLEDGE, about);
        let message = message
            .text(KIND, "htb")
            .nest(OPTIONS, |inner| inner.attribute(HTB_PARAMETERS, &htb_parameters(rate, burst)));
        self.ask(message, |_| {})
    }

    /// Attaches a program to a hook of a device, replacing ours if there is one.
    pub(super) fn attach(
        &mut self,
        device: i32,
        hook: Hook,
        program: &OwnedFd,
        name: &str,
    ) -> io::Result<()> {
        let all = u16::try_from(libc::ETH_P_ALL).unwrap_or(3).to_be();
        let about = Traffic {
            device,
            handle: 1,
            parent: hook.parent(),
            info: u32::from(PREFERENCE) << 16 | u32::from(all),
        };
        let flags = REQUEST | ACKNOWLEDGE | CREATE | REPLACE;
        let message = Message::traffic(NEW_FILTER, flags, about);
        let message = message.text(KIND, "bpf").nest(OPTIONS, |inner| {
            inner
                .attribute(BPF_DESCRIPTOR, &program.as_raw_fd().to_ne_bytes())
                .text(BPF_NAME, name)
                .attribute(BPF_FLAGS, &BPF_DIRECT_ACTION.to_ne_bytes())
        });
        self.ask(message, |_| {})
    }

    /// Returns the filters at a hook; an empty list without `clsact`.
    pub(super) fn filters(&mut self, device: i32, hook: Hook) -> io::Result<Vec<Filter>> {
        let about = Traffic { device, parent: hook.parent(), ..Traffic::default() };
        let mut found = Vec::new();
        let message = Message::traffic(GET_FILTER, REQUEST | DUMP, about);
        self.ask(message, |message| {
            if message.kind == NEW_FILTER
                && let Some((head, attributes)) = Traffic::split(message.body)
                // Skips the entry without a handle that the kernel lists for each preference.
                && head.handle != 0
            {
                let options = find(attributes, OPTIONS);
                let name = options.and_then(|options| find(options, BPF_NAME));
                found.push(Filter { name: name.map(text) });
            }
        })?;
        Ok(found)
    }

    /// Returns the queues of a device.
    pub(super) fn queues(&mut self, device: i32) -> io::Result<Vec<Queue>> {
        let mut found = Vec::new();
        let message = Message::traffic(GET_QDISC, REQUEST | DUMP, Traffic::default());
        self.ask(message, |message| {
            if message.kind == NEW_QDISC
                && let Some((head, attributes)) = Traffic::split(message.body)
                && head.device == device
            {
                found.push(Queue {
                    kind: find(attributes, KIND).map(text).unwrap_or_default(),
                    handle: head.handle,
                    parent: head.parent,
                });
            }
        })?;
        Ok(found)
    }

    /// Reads the counters of all classes of a device.
    pub(super) fn classes(&mut self, device: i32, into: &mut Vec<ClassCounters>) -> io::Result<()> {
        into.clear();
        let about = Traffic { device, ..Traffic::default() };
        let message = Message::traffic(GET_CLASS, REQUEST | DUMP, about);
        self.ask(message, |message| {
            if message.kind == NEW_CLASS {
                into.extend(read_class(message.body));
            }
        })
    }

    /// Reads the drop counters of the classes' queues.
    pub(super) fn drops(&mut self, device: i32, into: &mut [ClassCounters]) -> io::Result<()> {
        let message = Message::traffic(GET_QDISC, REQUEST | DUMP, Traffic::default());
        self.ask(message, |message| {
            if message.kind == NEW_QDISC
                && let Some((head, attributes)) = Traffic::split(message.body)
                && head.device == device
                && head.parent >> 16 == u32::from(shape::ROOT)
            {
                let own = into.iter_mut().find(|class| shape::class(class.minor) == head.parent);
                let statistics = find(attributes, STATISTICS);
                let queue = statistics.and_then(|statistics| find(statistics, STATISTICS_QUEUE));
                let dropped = queue.and_then(|queue| number(queue, QUEUE_DROPS));
                if let (Some(class), Some(dropped)) = (own, dropped) {
                    class.dropped = dropped.into();
                }
            }
        })
    }

    /// Returns the MTU of a device.
    pub(super) fn mtu(&mut self, device: i32) -> io::Result<u32> {
        let mut body = [0; LINK_HEADER];
        body[4..8].copy_from_slice(&device.to_ne_bytes());
        let mut found = None;
        let message = Message::new(GET_LINK, REQUEST | ACKNOWLEDGE, &body);
        self.ask(message, |message| {
            if message.kind == NEW_LINK {
                let attributes = message.body.get(LINK_HEADER..).unwrap_or_default();
                found = find(attributes, LINK_MTU).and_then(|mtu| number(mtu, 0));
            }
        })?;
        found.ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Returns the counters of a device.
    pub(super) fn device(&mut self, device: i32) -> io::Result<DeviceCounters> {
        let mut body = [0; 12];
        body[4..8].copy_from_slice(&device.to_ne_bytes());
        // Mask of the requested statistics: bit 0 is attribute 1.
        body[8..].copy_from_slice(&1_u32.to_ne_bytes());
        let mut counters = None;
        let message = Message::new(GET_STATS, REQUEST | ACKNOWLEDGE, &body);
        self.ask(message, |message| {
            if message.kind == NEW_STATS {
                counters = message.body.get(body.len()..).and_then(read_device);
            }
        })?;
        counters.ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Sends a request and passes each message of the answer to `take`.
    fn ask(&mut self, message: Message, mut take: impl FnMut(Received<'_>)) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let message = message.finish(self.sequence);
        self.socket.send(&message)?;
        loop {
            let length = match (&self.socket).read(&mut self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            for message in messages(&self.buffer[..length]) {
                if message.sequence != self.sequence {
                    // Answer to an earlier request that was given up.
                    continue;
                }
                match message.kind {
                    DONE => return Ok(()),
                    ERROR => return read_error(message.body),
                    _ => take(message),
                }
            }
        }
    }
}

/// An error code of zero is an acknowledgment.
fn read_error(body: &[u8]) -> io::Result<()> {
    match number(body, 0).map(u32::cast_signed) {
        Some(0) => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(code.wrapping_neg())),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// `struct tc_htb_opt`: a negligible guaranteed rate, and a ceiling.
fn htb_parameters(rate: BitRate, burst: Bytes) -> [u8; 44] {
    /// `TC_LINKLAYER_ETHERNET`: the kernel computes times from the rate, without tables.
    const ETHERNET: u8 = 1;
    let per_second = u32::try_from(rate.as_bps() / 8).unwrap_or(u32::MAX).max(1);
    let mut octets = [0; 44];
    for (start, rate) in [(0, 1), (12, per_second)] {
        octets[start + 1] = ETHERNET;
        octets[start + 8..start + 12].copy_from_slice(&u32::to_ne_bytes(rate));
    }
    for (start, value) in [(24, 1), (28, ticks(burst, per_second)), (32, shape::QUANTUM)] {
        octets[start..start + 4].copy_from_slice(&value.to_ne_bytes());
    }
    octets
}

/// Returns how long `amount` takes at `per_second` octets per second, in the kernel's packet
/// scheduler units of 64 ns (`PSCHED_SHIFT`).
fn ticks(amount: Bytes, per_second: u32) -> u32 {
    let ns = u128::from(amount.get()) * 1_000_000_000 / u128::from(per_second);
    u32::try_from(ns >> 6).unwrap_or(u32::MAX).max(1)
}

fn read_class(body: &[u8]) -> Option<ClassCounters> {
    let (head, attributes) = Traffic::split(body)?;
    if head.handle >> 16 != u32::from(shape::ROOT) {
        return None;
    }
    let statistics = find(attributes, STATISTICS)?;
    let basic = find(statistics, STATISTICS_BASIC)?;
    let queue = find(statistics, STATISTICS_QUEUE)?;
    // Kernels with 64-bit packet counters report them in another attribute.
    let frames = find(statistics, STATISTICS_PACKETS).and_then(|frames| long(frames, 0));
    Some(ClassCounters {
        minor: u16::try_from(head.handle & 0xFFFF).ok()?,
        octets: long(basic, 0)?,
        frames: frames.or_else(|| number(basic, 8).map(u64::from))?,
        dropped: 0,
        waiting: number(queue, 0)?,
        backlog: number(queue, 4)?,
    })
}

/// Reads `struct rtnl_link_stats64`: packets received and sent, octets received and sent, errors
/// (2), dropped (2), multicast, collisions.
fn read_device(attributes: &[u8]) -> Option<DeviceCounters> {
    let counters = find(attributes, LINK_STATISTICS)?;
    let at = |index: usize| long(counters, index * 8);
    Some(DeviceCounters {
        received: Way { frames: at(0)?, octets: at(2)? },
        sent: Way { frames: at(1)?, octets: at(3)? },
        collisions: at(9)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_are_times() {
        // By hand: 1500 octets at 4 Mbit/s take 3 ms, which is 46 875 times 64 ns.
        assert_eq!(ticks(Bytes::new(1500), 500_000), 46_875);
        assert_eq!(ticks(Bytes::new(1), 1_000_000_000), 1);
        let octets = htb_parameters(BitRate::from_mbps(4), Bytes::new(1500));
        assert_eq!(number(&octets, 20), Some(500_000));
        assert_eq!(number(&octets, 28), Some(46_875));
    }
}
