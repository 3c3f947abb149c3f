//! Frames of stations in two networks, until all their copies have ended.

use alloc::vec::Vec;

/// One frame, sent once or twice.
#[derive(Default)]
struct Frame {
    /// Its number among those of its station.
    sequence: u16,
    /// Copies in transit, those made by switches included.
    copies: u32,
    /// Stations that have taken a copy.
    taken: Vec<u32>,
    /// Streams that have lost one of their two copies.
    lost: Vec<usize>,
}

/// All of them, by number.
#[derive(Default)]
pub(crate) struct Twins {
    frames: Vec<Frame>,
    free: Vec<u32>,
}

impl Twins {
    /// Adds a frame with one copy and returns its number.
    pub(crate) fn add(&mut self, sequence: u16) -> u32 {
        let frame = Frame { sequence, copies: 1, ..Frame::default() };
        if let Some(number) = self.free.pop() {
            self.frames[number as usize] = frame;
            return number;
        }
        self.frames.push(frame);
        u32::try_from(self.frames.len() - 1).unwrap_or(u32::MAX)
    }

    /// Returns the number of a frame among those of its station.
    pub(crate) fn sequence(&self, number: u32) -> u16 {
        self.frames[number as usize].sequence
    }

    /// Counts another copy.
    pub(crate) fn copy(&mut self, number: u32) {
        self.frames[number as usize].copies += 1;
    }

    /// Ends a copy, and forgets the frame with the last one.
    pub(crate) fn end(&mut self, number: u32) {
        let frame = &mut self.frames[number as usize];
        frame.copies -= 1;
        if frame.copies == 0 {
            self.free.push(number);
        }
    }

    /// Takes a copy that has arrived at a station; `false` if it is not the first.
    pub(crate) fn take(&mut self, number: u32, station: u32) -> bool {
        let frame = &mut self.frames[number as usize];
        let is_first = !frame.taken.contains(&station);
        if is_first {
            frame.taken.push(station);
        }
        is_first
    }

    /// Returns whether a station has taken a copy.
    pub(crate) fn is_taken(&self, number: u32, station: u32) -> bool {
        self.frames[number as usize].taken.contains(&station)
    }

    /// Notes the loss of a copy of a stream; `false` if it is the second.
    pub(crate) fn lose(&mut self, number: u32, stream: usize) -> bool {
        let frame = &mut self.frames[number as usize];
        let is_first = !frame.lost.contains(&stream);
        if is_first {
            frame.lost.push(stream);
        }
        is_first
    }
}
