//! Cost of this host's network stack: round trips, split by the kernel's receive stamps.
//!
//! Both ends run on this host, so all times are of one clock. The cost of sending is the time from
//! the `send` call to the peer's receive stamp; the cost of receiving, from there to the peer's
//! return from `recvmsg`.

mod port;
mod stamp;

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use rtether_model::quantity::{Duration, Instant};

use crate::clock::Clock;
use crate::link::{Device, MacAddress};
use crate::namespace::{CommandError, Namespace, join};
use crate::stall::{Stalls, Watcher};
use crate::thread::{Placement, PlacementError};
use crate::wait::{Waiter, Waiting};
use port::{Ends, Port};

/// Smallest payload, in octets: the message between the ends.
pub const SIZE_MIN: usize = 40;
/// Largest payload that fits one frame with IP and UDP, in octets.
pub const SIZE_MAX: usize = 1_472;
const MAGIC: [u8; 4] = *b"RTCA";
/// Number of a message that gets no answer.
const WAKE: u32 = u32::MAX;
/// Round trips that do not count: caches warm up, and the kernel starts stamping.
const WARM_UP: u32 = 50;
/// An answer later than this is lost.
const PATIENCE: Duration = Duration::from_ms(200);
/// Losses in a row after which the peer counts as unreachable.
const HOPELESS: u32 = 10;
const HOPELESS_TEXT: &str = "nothing comes back; spinning needs two cores that nothing else at a \
    real-time priority holds (`--cores`, `--waiting block`)";
const PORT: u16 = 7_256;
const DEVICE: &str = "wire";
const NEAR: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 2);
const LOOK: Duration = Duration::from_ms(20);
/// A spinning far end goes to sleep after this long without a request; requests further apart find
/// it asleep.
const SPIN_MAX: Duration = Duration::from_ms(10);
const REST: std::time::Duration = std::time::Duration::from_micros(500);

/// How payloads travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// UDP over IPv4.
    Udp,
    /// Ethernet frames from `AF_PACKET`.
    Raw,
    /// ICMP echo, answered by the kernel: round trips only.
    Icmp,
}

/// Path between the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// The loopback device of one namespace.
    Loopback,
    /// A veth pair between two namespaces.
    Veth,
}

/// Two namespaces that stand for hosts, removed when dropped.
pub struct Bench {
    near: Namespace,
    far: Namespace,
    /// Ethernet addresses, near and far.
    addresses: [MacAddress; 2],
}

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// Path measured over.
    pub path: Path,
    /// Protocol that carries the payload.
    pub protocol: Protocol,
    /// Payload size, in octets.
    pub size: usize,
    /// Blocking or spinning.
    pub waiting: Waiting,
    /// Number of round trips.
    pub samples: u32,
    /// Time between requests.
    pub interval: Duration,
    /// Placement of both ends, near and far.
    pub placements: [Placement; 2],
}

/// One round trip, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// From the request's `send` to the answer's `recvmsg`.
    pub total: i64,
    /// Its parts, unless the kernel of the far end answers.
    pub parts: Option<Parts>,
}

/// The parts of a round trip, forward and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// From `send` to the peer's stamp.
    pub send: [i64; 2],
    /// From the stamp to the return of `recvmsg`.
    pub receive: [i64; 2],
}

/// Result of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Round trips without a stall of the host.
    pub round_trips: Vec<RoundTrip>,
    /// Round trips that touched a stall of the host.
    pub stalled: u32,
    /// Stalls seen by the watchers, on all cores.
    pub stalls: u32,
    /// Requests without an answer.
    pub lost: u32,
    /// Answers without a stamp, or with an implausible one, as after a step of the clock.
    pub unstamped: u32,
}

/// Why a measurement is not possible.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// Namespaces cannot be created.
    #[error("{0}; run as root, with iproute2 installed (`rtether doctor --for calibrate`)")]
    Namespace(#[from] CommandError),
    /// A placement of a thread was refused.
    #[error(transparent)]
    Placement(#[from] PlacementError),
    /// A socket failed.
    #[error("measuring the stack: {0}")]
    Socket(#[from] io::Error),
}

impl Bench {
    /// Creates both namespaces; `name` distinguishes them from others.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn create(name: &str) -> Result<Self, CalibrateError> {
        let near = Namespace::create(&format!("{name}a"))?;
        let far = Namespace::create(&format!("{name}b"))?;
        join(DEVICE, [(&near, NEAR), (&far, FAR)])?;
        let addresses = [hardware_address(&near)?, hardware_address(&far)?];
        Ok(Self { near, far, addresses })
    }

    /// Measures until all round trips are done or `stop` is set.
    ///
    /// # Errors
    /// If no answer arrives, or a placement is refused.
    pub fn measure(&self, plan: &Trial, stop: &AtomicBool) -> Result<Measured, CalibrateError> {
        let (is_ready, is_over) = (&AtomicBool::new(false), &AtomicBool::new(false));
        let (near, far) = self.places(plan);
        let clock = Clock::start();
        let has_far = far.is_some();
        let far_host = match plan.path {
            Path::Loopback => &self.near,
            Path::Veth => &self.far,
        };
        std::thread::scope(|scope| {
            let watchers = plan.placements.map(|placement| {
                let priority = placement.priority.or(Some(1));
                Watcher::start(Placement { priority, ..placement }, clock)
            });
            let answering = far.map(|far| {
                scope.spawn(move || {
                    let answered = far_host
                        .enter()
                        .and_then(|()| Port::open(far))
                        .map_err(CalibrateError::from)
                        .and_then(|port| {
                            plan.placements[1].apply()?;
                            is_ready.store(true, Ordering::Release);
                            Ok(answer(port, plan, is_over)?)
                        });
                    // Do not let the near end wait for an end that failed.
                    is_ready.store(true, Ordering::Release);
                    answered
                })
            });
            let asking = scope.spawn(move || -> Result<Asked, CalibrateError> {
                self.near.enter()?;
                while has_far && !is_ready.load(Ordering::Acquire) {
                    std::thread::sleep(REST);
                }
                let port = Port::open(near)?;
                plan.placements[0].apply()?;
                Ok(ask(port, plan, stop, clock)?)
            });
            let asked = asking.join().unwrap_or_else(|_| Err(ended().into()));
            is_over.store(true, Ordering::Relaxed);
            let mut stalls = Stalls::default();
            for watcher in watchers {
                stalls.extend(watcher.finish());
            }
            if let Some(answering) = answering {
                answering.join().unwrap_or_else(|_| Err(ended().into()))?;
            }
            Ok(asked?.judge(&stalls))
        })
    }

    /// Returns the places of both ends; the far end of ICMP is the kernel.
    fn places(&self, plan: &Trial) -> (Ends<'static>, Option<Ends<'static>>) {
        let (own, peer) = match plan.path {
            Path::Loopback => (Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST),
            Path::Veth => (NEAR, FAR),
        };
        match plan.protocol {
            Protocol::Udp => {
                let (own, peer) = ((own, PORT).into(), (peer, PORT + 1).into());
                let far = Ends::Udp { own: peer, peer: own };
                (Ends::Udp { own, peer }, Some(far))
            }
            Protocol::Raw => {
                let [own, peer] = self.addresses;
                let at = |peer| Ends::Raw { device: DEVICE, peer };
                (at(peer), Some(at(own)))
            }
            Protocol::Icmp => (Ends::Icmp { peer }, None),
        }
    }
}

fn ended() -> io::Error {
    io::Error::other("a measuring thread ended")
}

fn hardware_address(host: &Namespace) -> Result<MacAddress, CalibrateError> {
    let look = || -> io::Result<MacAddress> {
        host.enter()?;
        let device = Device::named(DEVICE).map_err(io::Error::other)?;
        Ok(device.address())
    };
    let found = std::thread::scope(|scope| scope.spawn(look).join());
    Ok(found.unwrap_or_else(|_| Err(ended()))?)
}

/// What the near end has recorded.
#[derive(Default)]
struct Asked {
    /// Start and end of each round trip, and its times.
    seen: Vec<([Instant; 2], RoundTrip)>,
    lost: u32,
    unstamped: u32,
}

impl Asked {
    /// Removes the round trips touched by a stall.
    fn judge(self, stalls: &Stalls) -> Measured {
        let all = self.seen.len();
        let kept = self.seen.into_iter();
        let kept = kept.filter(|([from, until], _)| !stalls.felt().touch(*from, *until));
        let round_trips: Vec<RoundTrip> = kept.map(|(_, round_trip)| round_trip).collect();
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let seen = u32::try_from(stalls.dropped).unwrap_or(u32::MAX);
        Measured {
            stalled: count(all - round_trips.len()),
            stalls: count(stalls.found.len()).saturating_add(seen),
            round_trips,
            lost: self.lost,
            unstamped: self.unstamped,
        }
    }
}

/// Sends one request after another.
fn ask(mut port: Port, plan: &Trial, stop: &AtomicBool, clock: Clock) -> io::Result<Asked> {
    let mut waiter = Waiter::new(plan.waiting, clock);
    let head = port.head();
    let mut payload = vec![0; head + plan.size];
    let mut buffer = vec![0; 2_048];
    let mut asked = Asked::default();
    let (mut due, mut lost_in_a_row) = (clock.now(), 0);
    for number in 0..WARM_UP + plan.samples {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        if waiter.is_rest_due(clock.now()) {
            waiter.rest();
            write_head(&mut payload[head..], WAKE);
            port.send(&mut payload)?;
            std::thread::sleep(REST);
            due = clock.now();
        }
        while clock.now() < due {
            waiter.wait(port.as_fd(), Some(due), false)?;
            // A late answer belongs to no current request.
            port.receive(&mut buffer)?;
        }
        due = due.max(clock.now() - plan.interval) + plan.interval;
        write_head(&mut payload[head..], number);
        let (from, begin) = (clock.now(), stamp::now());
        port.send(&mut payload)?;
        let answer = await_answer(&port, &mut waiter, &mut buffer, (number, head), clock)?;
        let Some((end, stamp, reply)) = answer else {
            asked.lost += 1;
            lost_in_a_row += 1;
            if lost_in_a_row >= HOPELESS {
                return Err(io::Error::new(io::ErrorKind::TimedOut, HOPELESS_TEXT));
            }
            continue;
        };
        lost_in_a_row = 0;
        if number < WARM_UP {
            continue;
        }
        let parts = match reply.map(|reply| parts(begin, end, stamp, reply)) {
            Some(None) => {
                asked.unstamped += 1;
                continue;
            }
            Some(parts) => parts,
            None => None,
        };
        let total = end - begin;
        let span = [from, clock.now()];
        asked.seen.push((span, RoundTrip { total, parts }));
    }
    Ok(asked)
}

/// Report of the far end: its stamp, its receipt, its sending.
type Reply = [i64; 3];

/// Receipt, stamp, and report of the far end.
type Answer = (i64, Option<i64>, Option<Reply>);

/// Waits for the answer; returns its receipt, its stamp, and the report of the far end.
fn await_answer(
    port: &Port,
    waiter: &mut Waiter,
    buffer: &mut [u8],
    (number, head): (u32, usize),
    clock: Clock,
) -> io::Result<Option<Answer>> {
    let until = clock.now() + PATIENCE;
    loop {
        waiter.wait(port.as_fd(), Some(until), true)?;
        if let Some((payload, stamp)) = port.receive(buffer)? {
            let end = stamp::now();
            // Our own echo request to loopback appears here, too.
            let is_answer = head == 0 || payload.first() == Some(&0);
            let message = payload.get(head..).unwrap_or_default();
            if is_answer && read_head(message) == Some(number) {
                let reply = (head == 0).then(|| read_reply(message)).flatten();
                return Ok(Some((end, stamp, reply)));
            }
        }
        if clock.now() >= until {
            return Ok(None);
        }
    }
}

/// Splits a round trip; `None` if a part is missing or negative.
fn parts(begin: i64, end: i64, stamp: Option<i64>, reply: Reply) -> Option<Parts> {
    let [far_stamp, received, sent] = reply;
    let stamp = stamp?;
    let all = [far_stamp - begin, received - far_stamp, sent - received, stamp - sent, end - stamp];
    if far_stamp == 0 || all.iter().any(|part| *part < 0) {
        return None;
    }
    Some(Parts { send: [all[0], all[3]], receive: [all[1], all[4]] })
}

/// Answers until `is_over`.
fn answer(mut port: Port, plan: &Trial, is_over: &AtomicBool) -> io::Result<()> {
    let clock = Clock::start();
    let mut waiter = Waiter::new(plan.waiting, clock);
    // Spins only while requests arrive, so that it rests when the near end does. The two together
    // must leave the kernel's 5 % to other tasks.
    let spinning = (plan.interval * 2 + Duration::from_ms(2)).min(SPIN_MAX);
    let mut buffer = vec![0; 2_048];
    let mut last = Instant::ZERO - SPIN_MAX;
    while !is_over.load(Ordering::Relaxed) {
        let is_awaited = clock.now() - last < spinning;
        waiter.wait(port.as_fd(), Some(clock.now() + LOOK), is_awaited)?;
        let Some((payload, stamp)) = port.receive(&mut buffer)? else {
            continue;
        };
        let received = stamp::now();
        last = clock.now();
        if payload.len() < SIZE_MIN || read_head(payload).is_none_or(|number| number == WAKE) {
            continue;
        }
        write_reply(payload, [stamp.unwrap_or(0), received, stamp::now()]);
        match port.send(payload) {
            // The near end has just closed its socket.
            Err(error) if error.kind() != io::ErrorKind::ConnectionRefused => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

fn write_head(message: &mut [u8], number: u32) {
    message[..4].copy_from_slice(&MAGIC);
    message[4..8].copy_from_slice(&number.to_be_bytes());
}

fn read_head(message: &[u8]) -> Option<u32> {
    let (magic, rest) = message.split_first_chunk::<4>()?;
    let number = rest.first_chunk::<4>()?;
    (*magic == MAGIC).then_some(u32::from_be_bytes(*number))
}

fn write_reply(message: &mut [u8], reply: Reply) {
    for (place, time) in message[8..32].chunks_exact_mut(8).zip(reply) {
        place.copy_from_slice(&time.to_be_bytes());
    }
}

fn read_reply(message: &[u8]) -> Option<Reply> {
    let times = message.get(8..32)?.as_chunks::<8>().0;
    Some(times.first_chunk::<3>()?.map(i64::from_be_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_round_trip_add_up() {
        // Oracle: by hand, with 5 ns between receipt and answer at the far end.
        let found = parts(100, 200, Some(170), [120, 150, 155]).expect("it makes sense");
        assert_eq!((found.send, found.receive), ([20, 15], [30, 30]));
        assert_eq!(parts(100, 200, None, [120, 150, 155]), None);
        assert_eq!(parts(100, 200, Some(170), [0, 150, 155]), None);
        // The clock was set back in between.
        assert_eq!(parts(100, 200, Some(170), [90, 150, 155]), None);
    }

    #[test]
    fn messages_are_read_as_written() {
        let mut message = [0; SIZE_MIN];
        write_head(&mut message, 7);
        write_reply(&mut message, [1, -2, i64::MAX]);
        assert_eq!(read_head(&message), Some(7));
        assert_eq!(read_reply(&message), Some([1, -2, i64::MAX]));
        assert_eq!(read_head(b"RTC"), None);
        assert_eq!(read_reply(&message[..31]), None);
    }
}
