//! What the stack of this host costs: round trips, taken apart by the kernel's receive stamps.
//!
//! Both ends run on this host, so that all times are of one clock. From the call of `send` to the
//! peer's receive stamp is the cost of sending, from there to the peer's return from `recvmsg`
//! that of receiving.

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
use port::{Place, Port};

/// The smallest payload that holds what the ends tell each other.
pub const SIZE_MIN: usize = 40;
/// The largest that fits one frame with IP and UDP.
pub const SIZE_MAX: usize = 1_472;
const MAGIC: [u8; 4] = *b"RTCA";
/// Number of a message that is not answered.
const WAKE: u32 = u32::MAX;
/// Round trips that do not count: caches warm up, and the kernel begins to stamp.
const WARM_UP: u32 = 50;
/// An answer that does not come in time is lost.
const PATIENCE: Duration = Duration::from_ms(200);
/// So many lost in a row mean that there is no way.
const HOPELESS: u32 = 10;
const HOPELESS_TEXT: &str = "nothing comes back; spinning needs two cores that nothing else at a \
    real-time priority holds (`--cores`, `--waiting block`)";
const PORT: u16 = 7_256;
const DEVICE: &str = "wire";
const NEAR: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 2);
const LOOK: Duration = Duration::from_ms(20);
/// A far end that spins goes to sleep if nothing comes for so long: requests further apart find it
/// asleep.
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

/// Over what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// The loopback device of one namespace.
    Loopback,
    /// A veth pair between two namespaces.
    Veth,
}

/// Two hosts on this one, removed when dropped.
pub struct Bench {
    near: Namespace,
    far: Namespace,
    /// Ethernet addresses, near and far.
    addresses: [MacAddress; 2],
}

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Over what.
    pub path: Path,
    /// How payloads travel.
    pub protocol: Protocol,
    /// Octets of payload.
    pub size: usize,
    /// Asleep or spinning.
    pub waiting: Waiting,
    /// Round trips.
    pub samples: u32,
    /// Between requests.
    pub interval: Duration,
    /// Where both ends run, near and far.
    pub placements: [Placement; 2],
}

/// One round trip, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// From the request's `send` to the answer's `recvmsg`.
    pub total: i64,
    /// Its parts, for protocols that the far end answers.
    pub parts: Option<Parts>,
}

/// The parts of a round trip, there and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// From `send` to the peer's stamp.
    pub send: [i64; 2],
    /// From the stamp to the return of `recvmsg`.
    pub receive: [i64; 2],
}

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Round trips in which the host did not stand still.
    pub round_trips: Vec<RoundTrip>,
    /// Round trips that touched a stall of the host.
    pub stalled: u32,
    /// Stalls that the watchers saw, all cores together.
    pub stalls: u32,
    /// Requests without an answer.
    pub lost: u32,
    /// Answers without a stamp, or with one that makes no sense, as after a step of the clock.
    pub unstamped: u32,
}

/// Why nothing can be measured.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// There can be no namespaces.
    #[error("{0}; run as root, with iproute2 installed (`rtether doctor --for calibrate`)")]
    Namespace(#[from] CommandError),
    /// A wish for a thread is not granted.
    #[error(transparent)]
    Placement(#[from] PlacementError),
    /// A socket failed.
    #[error("measuring the stack: {0}")]
    Socket(#[from] io::Error),
}

impl Bench {
    /// Makes both hosts; `name` tells them from those of others.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn create(name: &str) -> Result<Self, CalibrateError> {
        let near = Namespace::create(&format!("{name}a"))?;
        let far = Namespace::create(&format!("{name}b"))?;
        join(DEVICE, [(&near, NEAR), (&far, FAR)])?;
        let addresses = [hardware_address(&near)?, hardware_address(&far)?];
        Ok(Self {
            near,
            far,
            addresses,
        })
    }

    /// Measures until all round trips are there or until `stop`.
    ///
    /// # Errors
    /// If nothing comes back, or a wish is not granted.
    pub fn measure(&self, plan: &Plan, stop: &AtomicBool) -> Result<Measured, CalibrateError> {
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
                Watcher::start(
                    Placement {
                        priority,
                        ..placement
                    },
                    clock,
                )
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
                    // Nobody is to wait for an end that failed.
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

    /// Returns where both ends are; the far one of ICMP is the kernel.
    fn places(&self, plan: &Plan) -> (Place<'static>, Option<Place<'static>>) {
        let (own, peer) = match plan.path {
            Path::Loopback => (Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST),
            Path::Veth => (NEAR, FAR),
        };
        match plan.protocol {
            Protocol::Udp => {
                let (own, peer) = ((own, PORT).into(), (peer, PORT + 1).into());
                let far = Place::Udp {
                    own: peer,
                    peer: own,
                };
                (Place::Udp { own, peer }, Some(far))
            }
            Protocol::Raw => {
                let [own, peer] = self.addresses;
                let at = |peer| Place::Raw {
                    device: DEVICE,
                    peer,
                };
                (at(peer), Some(at(own)))
            }
            Protocol::Icmp => (Place::Icmp { peer }, None),
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

/// What the near end has seen.
#[derive(Default)]
struct Asked {
    /// Begin and end of each round trip, and what it took.
    seen: Vec<([Instant; 2], RoundTrip)>,
    lost: u32,
    unstamped: u32,
}

impl Asked {
    /// Takes out what touched a stall.
    fn judge(self, stalls: &Stalls) -> Measured {
        let all = self.seen.len();
        let kept = self.seen.into_iter();
        let kept = kept.filter(|([from, until], _)| !stalls.touch(*from, *until));
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

/// Asks, one request after the other.
fn ask(mut port: Port, plan: &Plan, stop: &AtomicBool, clock: Clock) -> io::Result<Asked> {
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
            // What comes late is nobody's answer.
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

/// What the far end says: its stamp, its receipt, its sending.
type Reply = [i64; 3];

/// Receipt, stamp, and what the far end says.
type Answer = (i64, Option<i64>, Option<Reply>);

/// Waits for the answer; returns its receipt, its stamp, and what the far end says.
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
            // An echo request of our own to loopback is seen here, too.
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

/// Takes a round trip apart; `None` if a part is missing or negative.
fn parts(begin: i64, end: i64, stamp: Option<i64>, reply: Reply) -> Option<Parts> {
    let [far_stamp, received, sent] = reply;
    let stamp = stamp?;
    let all = [
        far_stamp - begin,
        received - far_stamp,
        sent - received,
        stamp - sent,
        end - stamp,
    ];
    if far_stamp == 0 || all.iter().any(|part| *part < 0) {
        return None;
    }
    Some(Parts {
        send: [all[0], all[3]],
        receive: [all[1], all[4]],
    })
}

/// Answers until told to end.
fn answer(mut port: Port, plan: &Plan, is_over: &AtomicBool) -> io::Result<()> {
    let clock = Clock::start();
    let mut waiter = Waiter::new(plan.waiting, clock);
    // Spins only while requests come, so that it rests when the near end does. Both together must
    // leave the kernel's twentieth to other tasks.
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
            // The near end has just gone.
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
