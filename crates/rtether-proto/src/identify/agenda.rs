//! Which volley comes next.

use alloc::vec::Vec;

use rtether_model::quantity::Duration;

use super::sizes::Sizes;
use super::volley::Volley;
use crate::smoother::random::Random;

/// Requests of a measurement without load, of which three sizes of request and answer have thirty
/// each.
const REQUESTS: u16 = 270;
/// Repetitions of each volley with load that asks for means.
const REPEATS: usize = 30;
/// Repetitions of the burst that loses packets: what is lost depends on the moment.
const BURSTS: u16 = 8;
/// Repetitions of the question which request is answered first.
const TURNS: usize = 10;
/// Silent packets ahead of a request.
const SILENT: [u16; 5] = [0, 1, 2, 4, 8];
/// Requests in a train, and before one of high priority.
const TRAIN: u16 = 8;
/// Time after a burst that may lose packets.
const PAUSE: Duration = Duration::from_secs(5);

/// How much is asked, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Number of requests without load.
    pub requests: u16,
    /// Mean time between two packets; each gap is between a half and three halves of it, since equal
    /// gaps may keep step with the scan of the device.
    pub gap: Duration,
    /// Requests in the longest burst.
    pub burst: u16,
}

impl Default for Pace {
    /// Eight requests a second, and bursts of up to 256.
    fn default() -> Self {
        Self { requests: REQUESTS, gap: Duration::from_ms(125), burst: 256 }
    }
}

/// The volleys to come.
#[derive(Clone, Debug)]
pub(super) struct Agenda {
    sizes: Sizes,
    pace: Pace,
    random: Random,
    depth: Option<Depth>,
    /// The last is next.
    listed: Vec<Volley>,
}

impl Agenda {
    /// Single requests. All sizes come once, in random order, before any comes again: a device that
    /// becomes slower meanwhile then adds nothing to the slopes.
    pub(super) fn quiet(sizes: Sizes, pace: Pace, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let grid = sizes.grid();
        let asked = grid.iter().cycle().take(usize::from(pace.requests));
        let mut listed: Vec<Volley> =
            asked.map(|&sizes| Volley::request(sizes, drawn(pace.gap, &mut random))).collect();
        for round in listed.chunks_mut(grid.len()) {
            shuffle(round, &mut random);
        }
        Self { sizes, pace, random, depth: None, listed }
    }

    /// Bursts of growing length and, when the depth of the queue is known, volleys that fit into it.
    pub(super) fn load(sizes: Sizes, pace: Pace, seed: u64) -> Self {
        let random = Random::new(seed);
        let depth = Some(Depth::new(pace.burst));
        Self { sizes, pace, random, depth, listed: Vec::new() }
    }

    /// Returns whether the volley under way may lose packets.
    pub(super) const fn expects_losses(&self) -> bool {
        self.depth.is_some()
    }

    /// Returns the next volley; `lost` says whether the one before has lost a packet.
    pub(super) fn next(&mut self, lost: Option<bool>) -> Option<Volley> {
        if let Some(depth) = &mut self.depth {
            if let Some(requests) = depth.next(lost) {
                let sizes = self.sizes.smallest();
                let gap = if lost.is_some() { PAUSE } else { self.pace.gap };
                return Some(Volley { sizes, silent: 0, requests, high: false, gap });
            }
            let room = depth.answered;
            self.depth = None;
            self.list_what_fits(room);
        }
        self.listed.pop()
    }

    /// Lists the volleys of which no packet is lost if a burst of `room` requests was answered.
    fn list_what_fits(&mut self, room: u16) {
        let sizes = self.sizes.smallest();
        let plain = Volley::request(sizes, Duration::ZERO);
        for silent in SILENT.into_iter().filter(|silent| *silent < room) {
            self.listed.extend([Volley { silent, ..plain }; REPEATS]);
        }
        if room >= 2 {
            self.listed.extend([Volley { requests: TRAIN.min(room), ..plain }; REPEATS]);
        }
        // One that is served, one that waits, and the one that may overtake it.
        if room >= 3 {
            let requests = TRAIN.min(room - 1);
            self.listed.extend([Volley { requests, high: true, ..plain }; TURNS]);
        }
        shuffle(&mut self.listed, &mut self.random);
        let gap = self.pace.gap;
        // Behind a volley there is as much time as its packets would have had one by one.
        let mut packets = 1;
        for volley in self.listed.iter_mut().rev() {
            volley.gap = drawn(gap, &mut self.random) * packets;
            packets = i64::from(volley.silent + volley.requests + u16::from(volley.high));
        }
    }
}

/// Looks for the longest burst of which all requests are answered.
#[derive(Clone, Copy, Debug)]
struct Depth {
    /// Longest burst without a loss.
    answered: u16,
    /// Shortest burst with one.
    lossy: Option<u16>,
    burst: u16,
    most: u16,
    /// Repetitions to come of the shortest burst with a loss.
    repeats: u16,
}

impl Depth {
    fn new(most: u16) -> Self {
        Self { answered: 0, lossy: None, burst: 0, most: most.max(1), repeats: BURSTS }
    }

    fn next(&mut self, lost: Option<bool>) -> Option<u16> {
        match lost {
            Some(true) => {
                self.lossy = Some(self.lossy.map_or(self.burst, |lossy| lossy.min(self.burst)));
                // A shorter burst that was answered had a better moment.
                self.answered = self.answered.min(self.burst - 1);
            }
            Some(false) => self.answered = self.answered.max(self.burst),
            None => {}
        }
        self.burst = match self.lossy {
            None if self.burst >= self.most => return None,
            None => (self.burst * 2).clamp(1, self.most),
            Some(lossy) if self.answered + 1 < lossy => self.answered + (lossy - self.answered) / 2,
            // A device that does not answer one request is left alone.
            Some(_) if self.repeats == 0 || self.answered == 0 => return None,
            Some(lossy) => {
                self.repeats -= 1;
                lossy
            }
        };
        Some(self.burst)
    }
}

/// Draws a gap around its mean.
fn drawn(mean: Duration, random: &mut Random) -> Duration {
    mean / 2 + Duration::from_ps(random.up_to(mean.as_ps()))
}

/// Puts items in random order.
pub(super) fn shuffle<T>(items: &mut [T], random: &mut Random) {
    for last in (1..items.len()).rev() {
        // An index fits, as it is at most the length.
        let bits = random.next() % (last as u64 + 1);
        if let Ok(other) = usize::try_from(bits) {
            items.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(most: u16, holds: u16) -> (Vec<u16>, u16) {
        let mut depth = Depth::new(most);
        let (mut lost, mut bursts) = (None, Vec::new());
        while let Some(burst) = depth.next(lost) {
            bursts.push(burst);
            lost = Some(burst > holds);
        }
        (bursts, depth.answered)
    }

    /// Oracle: by hand.
    #[test]
    fn the_longest_burst_without_a_loss_is_found() {
        // Then 9 is answered, so that 10 is the shortest; it is repeated.
        let (bursts, found) = search(256, 9);
        assert_eq!(bursts[..8], [1, 2, 4, 8, 16, 12, 10, 9]);
        assert_eq!((&bursts[8..], found), (&[10; 8][..], 9));
        assert_eq!(search(20, 100), ([1, 2, 4, 8, 16, 20].to_vec(), 20));
        for holds in 0..70 {
            assert_eq!(search(256, holds).1, holds);
        }
    }
}
