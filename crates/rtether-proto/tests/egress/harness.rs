//! A host in virtual time: keeps the rings, sends one frame at a time, drains after every call and
//! keeps its own accounts.

use std::collections::{BTreeSet, VecDeque};

use rtether_model::endnode::{Detector, Layer, Smoothing, TransmitConfig, TransmitStrategy};
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::smoother::{Config, Mode, Rule};
use rtether_proto::egress::{Egress, Offered, Seeds};
use rtether_proto::smoother::Class;

/// Timers start together with the engine.
pub(crate) const IN_STEP: Seeds = Seeds { jitter: 0, phase: 0, visibility: 0 };

pub(crate) const RATE: BitRate = BitRate::from_mbps(10);

pub(crate) fn at(us: i64) -> Instant {
    Instant::ZERO + Duration::from_us(us)
}

/// An IP datagram in a frame: 14 octets before, 4 after it.
pub(crate) fn datagram(octets: u64, smoothed: Class, class: u8) -> Offered {
    Offered {
        size: Bytes::new((octets + 18).max(64)),
        class,
        datagram: Some((Bytes::new(octets), smoothed)),
    }
}

/// A frame that is not IP.
pub(crate) fn other(octets: u64, class: u8) -> Offered {
    Offered { size: Bytes::new(octets), class, datagram: None }
}

pub(crate) fn smoothing(mode: Mode, ring: u32, detector: Detector) -> Smoothing {
    Smoothing { config: Config::new(mode), rule: Rule::LINUX, ring, detector }
}

/// A layer with a smoother only.
pub(crate) fn smoothed(mode: Mode, ring: u32, detector: Detector) -> Layer {
    Layer { smoother: Some(smoothing(mode, ring, detector)), ..Layer::default() }
}

/// A layer with transmit queues only.
pub(crate) fn queued(strategy: TransmitStrategy, ring_limit: u32, queue_limits: &[u32]) -> Layer {
    Layer {
        transmit: Some(TransmitConfig {
            ring_limit,
            queue_limits: queue_limits.to_vec(),
            high_from: None,
            strategy,
        }),
        ..Layer::default()
    }
}

/// A port with its engine. Frames are numbered in order of arrival.
pub(crate) struct Host {
    pub(crate) egress: Egress<usize>,
    pub(crate) now: Instant,
    pub(crate) offered: Vec<Offered>,
    /// Frames handed out, with the time, in order; without refused ones.
    pub(crate) handed: Vec<(Instant, usize)>,
    pub(crate) dropped: Vec<usize>,
    pub(crate) refused: Vec<usize>,
    pub(crate) out: Vec<usize>,
    rings: Vec<VecDeque<usize>>,
    /// The frame on the wire, and its ring.
    sending: Option<(usize, u8)>,
    /// Number of frames that a ring of the host can hold.
    pub(crate) room: usize,
}

impl Host {
    pub(crate) fn new(layer: &Layer) -> Self {
        let egress = Egress::new(Instant::ZERO, layer, RATE, IN_STEP).expect("a good layer");
        Self::with(egress)
    }

    pub(crate) fn with(egress: Egress<usize>) -> Self {
        Self {
            egress,
            now: Instant::ZERO,
            offered: Vec::new(),
            handed: Vec::new(),
            dropped: Vec::new(),
            refused: Vec::new(),
            out: Vec::new(),
            rings: vec![VecDeque::new(); 8],
            sending: None,
            room: usize::MAX,
        }
    }

    pub(crate) fn offer(&mut self, offered: Offered) -> usize {
        let frame = self.offered.len();
        self.offered.push(offered);
        self.egress.offer(self.now, frame, offered);
        self.drain();
        frame
    }

    /// Begins to send the oldest frame of the highest ring, if the wire is idle.
    pub(crate) fn begin(&mut self) -> bool {
        if self.sending.is_some() {
            return false;
        }
        let Some(ring) = self.rings.iter().rposition(|ring| !ring.is_empty()) else {
            return false;
        };
        let frame = self.rings[ring][0];
        let ring = u8::try_from(ring).expect("eight rings");
        self.sending = Some((frame, ring));
        self.egress.begin(self.now, ring);
        true
    }

    /// The frame on the wire is out.
    pub(crate) fn complete(&mut self, attempts: u32) -> bool {
        let Some((frame, ring)) = self.sending.take() else {
            return false;
        };
        self.rings[usize::from(ring)].pop_front();
        self.out.push(frame);
        self.egress.handle_completion(self.now, attempts);
        self.drain();
        true
    }

    /// Lets time pass and handles timeouts when they are due.
    pub(crate) fn wait_until(&mut self, end: Instant) {
        while let Some(due) = self.egress.poll_timeout().filter(|due| *due <= end) {
            self.now = self.now.max(due);
            self.egress.handle_timeout(self.now);
            self.drain();
        }
        self.now = self.now.max(end);
    }

    /// Sends the frames in the rings back to back, up to a time.
    pub(crate) fn send_until(&mut self, end: Instant) {
        while self.begin() {
            let frame = self.sending.map_or(0, |(frame, _)| frame);
            let wire = self.offered[frame].size + Bytes::new(20);
            let done = self.now + RATE.time_ceil(wire);
            if done > end {
                break;
            }
            self.wait_until(done);
            self.complete(1);
        }
        self.wait_until(end);
    }

    pub(crate) fn drain(&mut self) {
        while let Some(handed) = self.egress.poll_transmit(self.now) {
            let ring = &mut self.rings[usize::from(handed.ring)];
            if ring.len() >= self.room {
                self.refused.push(handed.frame);
                self.egress.refuse(self.now, handed.ring);
            } else {
                ring.push_back(handed.frame);
                self.handed.push((self.now, handed.frame));
            }
        }
        while let Some(frame) = self.egress.poll_dropped() {
            self.dropped.push(frame);
        }
        self.check();
    }

    /// Checks that every frame is in exactly one place, by the host's accounts.
    fn check(&self) {
        self.egress.invariants();
        let mut seen = BTreeSet::new();
        let handed = self.handed.iter().map(|(_, frame)| frame);
        let gone = handed.chain(&self.dropped).chain(&self.refused);
        for frame in gone.chain(self.egress.frames()) {
            assert!(seen.insert(*frame), "frame {frame} is in two places");
        }
        assert_eq!(seen.len(), self.offered.len(), "frames are lost");
        let in_rings: usize = self.rings.iter().map(VecDeque::len).sum();
        assert_eq!(self.egress.in_rings(), in_rings);
        assert_eq!(self.handed.len(), self.out.len() + in_rings);
    }

    /// Returns the number of frames in the longest ring.
    pub(crate) fn longest_ring(&self) -> usize {
        self.rings.iter().map(VecDeque::len).max().unwrap_or(0)
    }

    /// Returns the frames handed out, in order.
    pub(crate) fn order(&self) -> Vec<usize> {
        self.handed.iter().map(|(_, frame)| *frame).collect()
    }
}
