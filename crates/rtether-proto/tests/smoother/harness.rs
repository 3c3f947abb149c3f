//! A driver in virtual time that follows the drain rule and checks the invariants after every step.

use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_proto::smoother::{
    Cause, Class, Config, Event, Fixed, Limits, Mode, Signal, Smoother, Transmission,
};

/// A packet that left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Departure {
    pub(crate) at: Instant,
    pub(crate) class: Class,
    pub(crate) size: u64,
    /// Number in order of arrival, across both classes.
    pub(crate) frame: usize,
    pub(crate) waited: Duration,
    /// Number of refreshes before it.
    pub(crate) refreshes: usize,
}

/// A smoother with its driver.
pub(crate) struct Driver {
    pub(crate) smoother: Smoother<usize>,
    pub(crate) now: Instant,
    /// How late timeouts are handled.
    pub(crate) lateness: Duration,
    pub(crate) departures: Vec<Departure>,
    pub(crate) events: Vec<Event>,
    /// Times of the refreshes.
    pub(crate) refreshed: Vec<Instant>,
    arrivals: usize,
}

impl Driver {
    pub(crate) fn new(mode: Mode) -> Self {
        Self::with(Config::new(mode))
    }

    pub(crate) fn with(config: Config) -> Self {
        Self {
            smoother: Smoother::new(Instant::ZERO, config).expect("a good configuration"),
            now: Instant::ZERO,
            lateness: Duration::ZERO,
            departures: Vec::new(),
            events: Vec::new(),
            refreshed: Vec::new(),
            arrivals: 0,
        }
    }

    /// Offers a packet; the driver has room for `room` packets.
    pub(crate) fn enqueue_with_room(&mut self, class: Class, size: u64, room: usize) -> bool {
        let frame = self.arrivals;
        self.arrivals += 1;
        let taken = self.smoother.enqueue(self.now, frame, Bytes::new(size), class);
        self.drain(room);
        taken.is_ok()
    }

    pub(crate) fn enqueue(&mut self, class: Class, size: u64) -> bool {
        self.enqueue_with_room(class, size, usize::MAX)
    }

    pub(crate) fn signal(&mut self, signal: Signal) {
        self.smoother.handle_signal(self.now, signal);
        self.drain(usize::MAX);
    }

    /// A packet is out whose transmission began `ago` before.
    pub(crate) fn complete(&mut self, class: Class, ago: Duration, attempts: u32) {
        let started_at = (self.now - ago).max(Instant::ZERO);
        let sent = Transmission { started_at, attempts };
        self.smoother.handle_completion(self.now, class, sent);
        self.drain(usize::MAX);
    }

    /// A station kept the medium busy for `busy`.
    pub(crate) fn hear(&mut self, busy: Duration) {
        self.smoother.handle_busy(self.now, busy);
        self.drain(usize::MAX);
    }

    pub(crate) fn set(&mut self, config: Config) {
        let set = self.smoother.set(self.now, config);
        set.expect("a good configuration");
        self.drain(usize::MAX);
    }

    /// Lets time pass, handling all timeouts that fall due.
    pub(crate) fn advance(&mut self, span: Duration) {
        let end = self.now + span;
        while let Some((due, _)) = self.smoother.poll_timeout() {
            let at = (due + self.lateness).max(self.now);
            if at > end {
                break;
            }
            self.now = at;
            self.smoother.handle_timeout(at);
            self.drain(usize::MAX);
        }
        self.now = end;
    }

    /// Takes up to `room` packets that may leave, then the events.
    pub(crate) fn drain(&mut self, room: usize) {
        self.collect_events();
        for _ in 0..room {
            let Some(packet) = self.smoother.poll_transmit(self.now) else {
                break;
            };
            self.departures.push(Departure {
                at: self.now,
                class: packet.class,
                size: packet.size.get(),
                frame: packet.frame,
                waited: packet.waited,
                refreshes: self.refreshed.len(),
            });
        }
        self.collect_events();
        self.smoother.invariants();
    }

    fn collect_events(&mut self) {
        while let Some(event) = self.smoother.poll_event() {
            if let Event::CreditsChanged { at, cause, .. } = event
                && cause == Cause::Refresh
            {
                self.refreshed.push(at);
            }
            self.events.push(event);
        }
    }

    pub(crate) fn sent(&self, class: Class) -> u64 {
        let of_class = self.departures.iter().filter(|d| d.class == class);
        of_class.map(|departure| departure.size).sum()
    }
}

pub(crate) fn fixed(depth: u64, period: Duration) -> Mode {
    Mode::Fixed(Fixed { depth: Bytes::new(depth), period })
}

/// A configuration whose limits no test reaches.
pub(crate) fn unlimited(mode: Mode) -> Config {
    Config { mode, limits: Limits { bulk_packets: usize::MAX, ..Limits::default() } }
}
