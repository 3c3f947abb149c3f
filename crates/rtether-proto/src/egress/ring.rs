//! The rings below the engines, which hold frames from the moment they are handed out until the
//! port reports them complete.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use rtether_model::quantity::{Bytes, Duration, Instant};

use crate::smoother::Class;

/// A frame in a ring; the host has the frame itself and may deliver it before it is complete.
#[derive(Clone, Copy, Debug)]
pub(super) struct Descriptor {
    pub(super) since: Instant,
    /// Frame size.
    pub(super) size: Bytes,
    /// Class in the smoother; `None` if it bypassed the smoother.
    pub(super) class: Option<Class>,
}

/// One ring.
#[derive(Clone, Debug, Default)]
struct Ring {
    /// Oldest first.
    frames: VecDeque<Descriptor>,
    /// Number of these that the port has begun.
    begun: usize,
}

/// A frame that the port is sending.
#[derive(Clone, Copy, Debug)]
struct Begun {
    ring: u8,
    /// Start of its last transmission; before the first on a shared medium, when the medium got it.
    at: Instant,
}

/// A frame that is out or given up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Done {
    pub(super) ring: u8,
    pub(super) frame: Descriptor,
    /// Start of its last transmission.
    pub(super) started_at: Instant,
    /// How long it was at the head of the port's work.
    pub(super) busy: Duration,
}

/// All rings of a port.
#[derive(Clone, Debug)]
pub(super) struct Rings {
    all: Vec<Ring>,
    /// Frames that the port has begun but not completed, oldest first.
    on_wire: VecDeque<Begun>,
    /// When the last frame was out.
    cleared_at: Instant,
}

impl Rings {
    pub(super) fn new(now: Instant, count: u8) -> Self {
        Self {
            all: alloc::vec![Ring::default(); usize::from(count)],
            on_wire: VecDeque::new(),
            cleared_at: now,
        }
    }

    /// Raises the number of rings; it never falls, since a frame may be in any of them.
    pub(super) fn grow(&mut self, count: u8) {
        let count = self.all.len().max(usize::from(count));
        self.all.resize(count, Ring::default());
    }

    pub(super) fn push(&mut self, ring: u8, frame: Descriptor) {
        self.all[usize::from(ring)].frames.push_back(frame);
    }

    /// Takes back the newest frame of a ring, unless the port has begun it.
    pub(super) fn pop_newest(&mut self, ring: u8) -> Option<Descriptor> {
        let ring = self.all.get_mut(usize::from(ring))?;
        if ring.frames.len() <= ring.begun {
            return None;
        }
        ring.frames.pop_back()
    }

    /// Begins the oldest frame of a ring that has not been begun; `false` if there is none.
    pub(super) fn begin(&mut self, at: Instant, number: u8) -> bool {
        match self.all.get_mut(usize::from(number)) {
            Some(ring) if ring.begun < ring.frames.len() => {
                ring.begun += 1;
                self.on_wire.push_back(Begun { ring: number, at });
                true
            }
            _ => false,
        }
    }

    /// A transmission of the most recently begun frame starts; `false` if there is none.
    pub(super) fn attempt(&mut self, at: Instant) -> bool {
        match self.on_wire.back_mut() {
            Some(begun) => {
                begun.at = at;
                true
            }
            None => false,
        }
    }

    /// Completes the frame that was begun first.
    pub(super) fn complete(&mut self, now: Instant) -> Option<Done> {
        let Begun { ring, at } = self.on_wire.pop_front()?;
        let own = &mut self.all[usize::from(ring)];
        let frame = own.frames.pop_front()?;
        own.begun -= 1;
        let busy = now - frame.since.max(self.cleared_at);
        self.cleared_at = now;
        Some(Done { ring, frame, started_at: at, busy })
    }

    /// Returns the number of frames in each ring.
    pub(super) fn depths(&self) -> impl Iterator<Item = usize> {
        self.all.iter().map(|ring| ring.frames.len())
    }

    /// Returns the frame sizes in all rings.
    pub(super) fn sizes(&self) -> impl Iterator<Item = Bytes> {
        let frames = self.all.iter().flat_map(|ring| &ring.frames);
        frames.map(|frame| frame.size)
    }

    pub(super) fn invariants(&self) {
        for (ring, number) in self.all.iter().zip(0_u8..) {
            let begun = self.on_wire.iter().filter(|begun| begun.ring == number);
            assert_eq!(ring.begun, begun.count(), "frames begun of ring {number}");
            assert!(ring.begun <= ring.frames.len(), "begun what is not there");
        }
    }
}
