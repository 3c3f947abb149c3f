//! Two participants in steady state allocate nothing for the samples between them.
//!
//! Oracle: a counting allocator. It counts only on the thread of the test, since the harness has
//! threads of its own. With sockets it needs root and iproute2; a test that cannot run prints why,
//! and is counted.
#![allow(
    unsafe_code,
    reason = "an allocator cannot be written without; it hands everything on to that of the system"
)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rtether_live::namespace::Namespace;
use rtether_live::rtps::{Domain, DomainOptions, EthernetOptions};
use rtether_rtps::application::{Application, Notice, PublicationOptions, SubscriptionOptions};
use rtether_rtps::cdr::Data;
use rtether_rtps::engine::{Config, NewSample, Participant, ReaderId, TopicName, WriterId};
use rtether_rtps::guid::GuidPrefix;
use rtether_rtps::locator::{Locator, Origin};
use rtether_rtps::qos::{History, Qos, Reliability};
use rtether_rtps::time::{Duration, Instant};

use rtether_testkit::skip;

thread_local! {
    /// Whether to count, and the count: without a destructor and with a constant initial value, so
    /// that access allocates nothing itself.
    static IS_COUNTED: Cell<bool> = const { Cell::new(false) };
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

fn note() {
    if IS_COUNTED.get() {
        COUNT.set(COUNT.get() + 1);
    }
}

// SAFETY: every request is passed on unchanged to the allocator of the system, which keeps the
// contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: the caller keeps the contract of the layout.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note();
        // SAFETY: the caller got `at` from this allocator, that is from the system.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Sample sent each period.
#[derive(Default, Data)]
#[rtps(final)]
struct Setpoint {
    number: u64,
    axes: [i32; 6],
}

const NAME: TopicName<'_> = TopicName { topic: "allocations", type_name: "Octets" };
/// Time between samples.
const PERIOD: i64 = 1_000_000;
const MS: i64 = 1_000_000;

struct Pair {
    now: i64,
    participants: [Participant; 2],
    buffer: Vec<u8>,
    datagrams: u64,
    taken: u64,
}

fn participant(number: u8) -> Participant {
    let mut config = Config::new(GuidPrefix([number; 12]), 0, [number; 16]);
    config.metatraffic_unicast = vec![Locator::udp(Ipv4Addr::new(10, 0, 1, number), 7_410)];
    config.default_unicast.clone_from(&config.metatraffic_unicast);
    config.announce_to = vec![Locator::udp(Ipv4Addr::new(239, 255, 0, 1), 7_400)];
    Participant::new(config, Instant::ZERO)
}

impl Pair {
    fn clock(&self) -> Instant {
        Instant::from_ns(self.now)
    }

    /// Delivers datagrams between the two until none are left.
    fn carry(&mut self) {
        let now = self.clock();
        let mut is_any = true;
        while is_any {
            is_any = false;
            for from in 0..2 {
                self.participants[from].handle_timeout(now);
                while self.participants[from].poll_transmit(now, &mut self.buffer).is_some() {
                    let number = u8::try_from(from + 1).unwrap();
                    let origin = Origin::Ip(Ipv4Addr::new(10, 0, 1, number).into());
                    self.participants[1 - from].handle_datagram(now, origin, &self.buffer);
                    self.datagrams += 1;
                    is_any = true;
                }
            }
        }
    }

    fn run_until(&mut self, until: i64) {
        while self.now < until {
            self.carry();
            let due = self.participants.iter().map(Participant::poll_timeout);
            let due = due.fold(Instant::NEVER, Instant::min).as_ns();
            self.now = due.clamp(self.now + 1, until);
        }
    }

    /// Runs applications for `periods` periods.
    fn run_applications(&mut self, applications: &mut [Application; 2], periods: i64) {
        for _ in 0..periods {
            self.now += PERIOD;
            // Samples of one reach the other at once, and so do the answers.
            for _ in 0..3 {
                let now = self.clock();
                for (application, participant) in
                    applications.iter_mut().zip(&mut self.participants)
                {
                    application.dispatch(participant, now);
                }
                self.carry();
            }
        }
    }

    fn samples(&mut self, count: i64, writer: WriterId, reader: ReaderId) {
        let payload = [7; 64];
        for _ in 0..count {
            self.run_until(self.now + PERIOD);
            let now = self.clock();
            let sample = NewSample::value(&payload);
            let written = self.participants[0].write(now, writer, &sample);
            assert!(written.is_ok());
            self.carry();
            let take = |_: &_, payload: &[u8], _: &[u8]| payload.len();
            while let Some(len) = self.participants[1].take(now, reader, take) {
                assert_eq!(len, 64);
                self.taken += 1;
            }
        }
    }
}

#[test]
fn samples_of_participants_that_have_started_allocate_nothing() {
    let mut qos = Qos::writer();
    qos.reliability = Reliability::Reliable;
    qos.history = History::KeepAll;
    qos.limits.samples = Some(256);
    let mut pair = Pair {
        now: 0,
        participants: [participant(1), participant(2)],
        buffer: Vec::with_capacity(1_472),
        datagrams: 0,
        taken: 0,
    };
    let [one, other] = &mut pair.participants;
    let now = Instant::ZERO;
    let writer = one.create_writer(now, NAME, false, qos.clone()).unwrap();
    let reader = other.create_reader(now, NAME, None, qos).unwrap();
    pair.run_until(100 * MS);
    assert_eq!(pair.participants[0].readers_of(writer), 1);
    pair.samples(1_000, writer, reader);
    let (taken, datagrams) = (pair.taken, pair.datagrams);

    IS_COUNTED.set(true);
    pair.samples(10_000, writer, reader);
    IS_COUNTED.set(false);

    let (taken, datagrams) = (pair.taken - taken, pair.datagrams - datagrams);
    println!("{} allocations, {taken} samples, {datagrams} datagrams", COUNT.get());
    assert_eq!(taken, 10_000);
    assert_eq!(COUNT.get(), 0);
}

/// Returns two participants on the loopback device of a host.
fn neighbors(ethernet: Option<EthernetOptions>) -> [Domain; 2] {
    let options = DomainOptions { ethernet, ..DomainOptions::default() };
    [(); 2].map(|()| Domain::open(&options).unwrap())
}

/// Sends samples from one to the other; returns how many arrived.
fn carry([one, other]: &mut [Domain; 2], writer: WriterId, reader: ReaderId, count: u32) -> u32 {
    let mut taken = 0;
    for _ in 0..count {
        let now = one.now();
        let sample = NewSample::value(&[7; 64]);
        let written = one.participant_mut().write(now, writer, &sample);
        assert!(written.is_ok());
        one.flush().unwrap();
        for _ in 0..10 {
            other.step(other.now()).unwrap();
            one.step(one.now()).unwrap();
            let now = other.now();
            let take = |_: &_, payload: &[u8], _: &[u8]| assert_eq!(payload.len(), 64);
            let participant = other.participant_mut();
            if participant.take(now, reader, take).is_some() {
                taken += 1;
                break;
            }
        }
    }
    taken
}

#[test]
fn sockets_and_frames_allocate_nothing() {
    let host = match Namespace::create(&format!("al{}", std::process::id())) {
        Ok(host) => host,
        Err(error) => return skip(&error.to_string()),
    };
    host.enter().unwrap();
    for ethernet in [None, Some(EthernetOptions::on("lo"))] {
        let name = if ethernet.is_some() { "frames" } else { "UDP" };
        let mut pair = neighbors(ethernet);
        let mut qos = Qos::writer();
        qos.reliability = Reliability::Reliable;
        qos.history = History::KeepAll;
        qos.limits.samples = Some(256);
        let now = pair[0].now();
        let writer = pair[0].participant_mut();
        let writer = writer.create_writer(now, NAME, false, qos.clone()).unwrap();
        let reader = pair[1].participant_mut();
        let reader = reader.create_reader(now, NAME, None, qos).unwrap();
        while pair[0].participant().readers_of(writer) == 0
            || pair[1].participant().writers_of(reader) == 0
        {
            for domain in &mut pair {
                domain.step(domain.now()).unwrap();
            }
        }
        carry(&mut pair, writer, reader, 1_000);

        COUNT.set(0);
        IS_COUNTED.set(true);
        let taken = carry(&mut pair, writer, reader, 10_000);
        IS_COUNTED.set(false);

        println!("{name}: {} allocations, {taken} samples", COUNT.get());
        assert_eq!((taken, COUNT.get()), (10_000, 0), "{name}");
    }
}

/// The same pair with one application each, one with a send callback, the other with a receive
/// callback.
#[test]
fn callbacks_of_applications_that_have_started_allocate_nothing() {
    let mut applications = [Application::new(), Application::new()];
    let mut pair = Pair {
        now: 0,
        participants: [participant(1), participant(2)],
        buffer: Vec::with_capacity(1_472),
        datagrams: 0,
        taken: 0,
    };
    let had = Arc::new(AtomicU64::new(0));
    let [one, other] = &mut applications;
    let mut context = one.context(&mut pair.participants[0], Instant::ZERO);
    let publication =
        context.publish::<Setpoint>("allocations", &PublicationOptions::default()).unwrap();
    let period = Duration::from_ns(PERIOD);
    context.send_every(&publication, period, Setpoint::default(), |_, value| {
        value.number += 1;
        true
    });
    let strict = SubscriptionOptions {
        reliability: Reliability::Reliable,
        ..SubscriptionOptions::default()
    };
    let log = Arc::clone(&had);
    let mut context = other.context(&mut pair.participants[1], Instant::ZERO);
    let subscription = context.subscribe::<Setpoint>("allocations", &strict, move |_, notice| {
        if let Notice::Sample(received) = notice {
            log.store(received.value.unwrap().number, Relaxed);
        }
    });
    pair.run_applications(&mut applications, 1_100);
    let begin = had.load(Relaxed);
    assert!(begin > 1_000);

    IS_COUNTED.set(true);
    pair.run_applications(&mut applications, 10_000);
    IS_COUNTED.set(false);

    println!("{} allocations", COUNT.get());
    assert_eq!(had.load(Relaxed) - begin, 10_000);
    assert_eq!(COUNT.get(), 0);
    drop(subscription);
}

#[test]
fn the_count_counts() {
    IS_COUNTED.set(true);
    drop(std::hint::black_box(vec![1, 2, 3]));
    IS_COUNTED.set(false);
    assert!(COUNT.get() > 0);
}
