//! Two of our engines and a wire; the clock jumps from event to event.

use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_sim::tcp::{Config, Receiver, Segment, Sender, State};

use crate::tcp::bottleneck::{Agenda, Bottleneck, Wire};

/// IPv4 and TCP headers.
const HEADERS: Bytes = Bytes::new(40);

enum Arrival {
    AtReceiver(Segment),
    AtSender(Segment),
}

/// Expected deliveries of the receiver, in the simplest form.
#[derive(Default)]
struct Ledger {
    arrived: Vec<bool>,
    prefix: usize,
}

impl Ledger {
    fn record(&mut self, segment: &Segment) {
        let index = |seq: u64| usize::try_from(seq - 1).expect("sizes of a test");
        if segment.len == 0 {
            return;
        }
        let (start, end) = (index(segment.seq), index(segment.seq + u64::from(segment.len)));
        if self.arrived.len() < end {
            self.arrived.resize(end, false);
        }
        self.arrived[start..end].fill(true);
        while self.arrived.get(self.prefix) == Some(&true) {
            self.prefix += 1;
        }
    }
}

/// Sum of the times without delivery that only a timeout explains.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Silence {
    last: Instant,
    total: Duration,
}

impl Silence {
    const THRESHOLD: Duration = Duration::from_ms(500);

    pub(crate) fn record(&mut self, now: Instant) {
        self.total = self.until(now);
        self.last = now;
    }

    /// Returns the sum up to `now`, including a silence that has not ended.
    pub(crate) fn until(&self, now: Instant) -> Duration {
        let gap = now - self.last;
        if gap > Self::THRESHOLD { self.total + gap } else { self.total }
    }
}

pub(crate) struct Pair {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    pub(crate) forward: Bottleneck,
    pub(crate) now: Instant,
    pub(crate) silence: Silence,
    backward: Bottleneck,
    agenda: Agenda<Arrival>,
    ledger: Option<Ledger>,
}

impl Pair {
    pub(crate) fn new(config: Config, forward: Wire, backward: Wire, seed: u64) -> Self {
        Self {
            sender: Sender::new(config),
            receiver: Receiver::new(config),
            forward: Bottleneck::new(forward, seed),
            now: Instant::ZERO,
            silence: Silence::default(),
            backward: Bottleneck::new(backward, !seed),
            agenda: Agenda::new(),
            ledger: None,
        }
    }

    /// Checks every delivery against the segments that have arrived.
    pub(crate) fn checked(mut self) -> Self {
        self.ledger = Some(Ledger::default());
        self
    }

    pub(crate) fn transmit(&mut self) {
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            let arrivals = self.forward.offer(self.now, HEADERS + segment.payload_size());
            for at in arrivals.into_iter().flatten() {
                self.agenda.push(at, Arrival::AtReceiver(segment));
            }
        }
        while let Some(segment) = self.receiver.poll_transmit(self.now) {
            for at in self.backward.offer(self.now, HEADERS).into_iter().flatten() {
                self.agenda.push(at, Arrival::AtSender(segment));
            }
        }
        self.check();
    }

    /// Returns the time of the next event.
    pub(crate) fn next(&self) -> Option<Instant> {
        let timeouts = [self.sender.poll_timeout(), self.receiver.poll_timeout()];
        timeouts.into_iter().chain([self.agenda.next()]).flatten().min()
    }

    /// Handles all events up to and at `until`.
    pub(crate) fn run(&mut self, until: Instant) {
        self.transmit();
        while let Some(at) = self.next().filter(|at| *at <= until) {
            assert!(at >= self.now, "an event in the past");
            self.now = at;
            while let Some(arrival) = self.agenda.pop(at) {
                match arrival {
                    Arrival::AtReceiver(segment) => self.deliver(&segment),
                    Arrival::AtSender(segment) => self.sender.handle_segment(at, &segment),
                }
                self.transmit();
            }
            self.sender.handle_timeout(at);
            self.receiver.handle_timeout(at);
            self.transmit();
        }
        self.now = until;
    }

    fn deliver(&mut self, segment: &Segment) {
        let before = self.receiver.delivered();
        self.receiver.handle_segment(self.now, segment);
        let after = self.receiver.delivered();
        assert!(after >= before, "delivered data taken back");
        if after > before {
            self.silence.record(self.now);
        }
        if let Some(ledger) = &mut self.ledger {
            ledger.record(segment);
            let possible = u64::try_from(ledger.prefix).expect("sizes of a test");
            let statistics = self.receiver.statistics();
            if statistics.refused_ranges + statistics.refused_window == 0 {
                assert_eq!(after.get(), possible, "delivered what did not arrive, or too little");
            } else {
                assert!(after.get() <= possible, "delivered what did not arrive");
            }
        }
    }

    fn check(&self) {
        assert_eq!(self.sender.invariants(), Ok(()));
        assert_eq!(self.receiver.invariants(), Ok(()));
        if self.sender.state() == State::Done {
            assert!(self.receiver.is_done(), "the sender is done before the receiver");
        }
        let acked = self.sender.statistics().bytes_acked;
        assert!(acked <= self.receiver.delivered(), "acknowledged before delivered");
    }
}
