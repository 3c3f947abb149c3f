//! Streams: frames that belong together, at one point of capture.

use std::collections::{BTreeMap, HashMap};

use super::frame::{Frame, Goose, Ip, Mac, Over, Path, Tag, What, is_group};
use super::label::{Station, label};
use super::times::Times;

/// Most streams; frames of further ones are counted.
const MAX_STREAMS: usize = 20_000;
/// Frames of GOOSE that show how often it is repeated without an event.
const LEARNED: usize = 64;
/// A segment of TCP with this many octets is full, for links of any usual size of frames.
const FULL_SEGMENT: usize = 1200;

/// What tells streams apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    pub(super) interface: usize,
    pub(super) tag: Option<Tag>,
    pub(super) path: Path,
}

/// Frames of one stream so far.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    pub(super) key: Key,
    pub(super) over: Over,
    pub(super) dscp: u8,
    /// Name by its protocol, empty if that has none.
    pub(super) label: String,
    /// Number of the first packet, and its time.
    pub(super) first: (u64, i64),
    pub(super) frames: u64,
    /// Octets of applications, in all, and at least and at most in a frame.
    pub(super) octets: u64,
    pub(super) least: usize,
    pub(super) most: usize,
    /// Octets in full segments of TCP.
    pub(super) full: u64,
    pub(super) times: Kind,
}

/// When the frames of a stream come.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Plain(Box<Times>),
    Goose(Box<GooseTimes>),
}

/// GOOSE repeats a state at a period, and after an event faster for a while.
#[derive(Clone, Debug, Default)]
pub(super) struct GooseTimes {
    /// The first frames, and whether each shows an event.
    learned: Vec<(i64, bool)>,
    /// Period without events, in nanoseconds.
    usual: i64,
    state: Option<u64>,
    sequence: Option<u64>,
    is_event: bool,
    last: i64,
    pub(super) heartbeat: Times,
    pub(super) events: Times,
}

impl GooseTimes {
    fn take(&mut self, at: i64, goose: &Goose<'_>) {
        // A device that starts anew begins with its first numbers; a number also falls where it
        // reaches the end of its octets.
        let fell = self.sequence.filter(|before| goose.sequence < *before);
        let is_end = |last: u64| last >= 0xFFFF && last & last.wrapping_add(1) == 0;
        let is_new = fell.is_some_and(|before| !is_end(before));
        let is_changed = self.state.is_some_and(|state| state != goose.state);
        let is_first = self.sequence.is_none() && goose.sequence == 1;
        let begins = is_changed || is_new || is_first || goose.sequence == 0;
        self.state = Some(goose.state);
        self.sequence = Some(goose.sequence);
        if self.usual == 0 {
            self.learned.push((at, begins));
            if self.learned.len() == LEARNED {
                self.learn();
            }
        } else {
            self.sort(at, begins);
        }
    }

    /// Finds the usual period, and which of the first frames are events.
    fn learn(&mut self) {
        let learned = std::mem::take(&mut self.learned);
        let gaps = learned.windows(2).map(|pair| pair[1].0 - pair[0].0);
        let mut gaps: Vec<i64> = gaps.filter(|gap| *gap > 0).collect();
        gaps.sort_unstable();
        let longest = gaps.last().copied().unwrap_or(1);
        // Fast repetitions are shorter by far, and a lost frame doubles a gap.
        let slow: Vec<i64> = gaps.into_iter().filter(|gap| *gap >= longest / 4).collect();
        self.usual = slow.get(slow.len() / 2).copied().unwrap_or(1);
        for (at, begins) in learned {
            self.sort(at, begins);
        }
    }

    fn sort(&mut self, at: i64, begins: bool) {
        let gap = at - self.last;
        self.last = at;
        if begins {
            self.is_event = true;
            self.heartbeat.cut();
        } else if gap >= self.usual / 4 * 3 {
            self.is_event = false;
        }
        if self.is_event {
            self.events.take(at);
        } else {
            self.heartbeat.take(at);
        }
    }

    /// Returns it with all frames sorted.
    pub(super) fn settled(&self) -> Self {
        let mut done = self.clone();
        if done.usual == 0 {
            done.learn();
        }
        done
    }
}

impl Stream {
    fn new(key: Key, frame: &Frame<'_>, first: (u64, i64)) -> Self {
        let times = if matches!(frame.what, What::Goose(_)) {
            Kind::Goose(Box::default())
        } else {
            Kind::Plain(Box::default())
        };
        Self {
            key,
            over: frame.over,
            dscp: frame.dscp,
            label: label(frame),
            first,
            frames: 0,
            octets: 0,
            least: usize::MAX,
            most: 0,
            full: 0,
            times,
        }
    }

    fn take(&mut self, at: i64, frame: &Frame<'_>) {
        let size = frame.size;
        let octets = u64::try_from(size).unwrap_or(0);
        self.frames += 1;
        self.octets += octets;
        self.least = self.least.min(size);
        self.most = self.most.max(size);
        if matches!(frame.what, What::Segment(_)) && size >= FULL_SEGMENT {
            self.full += octets;
        }
        match (&mut self.times, frame.what) {
            (Kind::Goose(times), What::Goose(goose)) => times.take(at, &goose),
            (Kind::Goose(times), _) => times.events.take(at),
            (Kind::Plain(times), _) => times.take(at),
        }
    }
}

/// All streams of a capture.
#[derive(Debug, Default)]
pub(super) struct Streams {
    by_key: HashMap<Key, usize>,
    pub(super) all: Vec<Stream>,
    pub(super) stations: BTreeMap<Mac, Station>,
    /// Frames of streams beyond the largest number.
    pub(super) beyond: u64,
    /// Frames whose headers were cut off.
    pub(super) short: u64,
}

impl Streams {
    /// Takes a frame: the number of its packet, and its time.
    pub(super) fn take(&mut self, interface: usize, place: (u64, i64), frame: &Frame<'_>) {
        if frame.what == What::Fragment {
            return;
        }
        // What acknowledges is not sent by an application.
        if matches!(frame.what, What::Segment(segment) if segment.size == 0) {
            return;
        }
        let key = Key { interface, tag: frame.tag, path: frame.path };
        let next = self.all.len();
        let number = if next < MAX_STREAMS {
            *self.by_key.entry(key).or_insert(next)
        } else if let Some(number) = self.by_key.get(&key) {
            *number
        } else {
            self.beyond += 1;
            return;
        };
        if number == next {
            self.meet(&frame.path);
            self.all.push(Stream::new(key, frame, place));
        }
        self.all[number].take(place.1, frame);
    }

    /// Notes the stations of a new stream.
    fn meet(&mut self, path: &Path) {
        let macs = [path.source, path.destination];
        for (number, mac) in macs.into_iter().enumerate() {
            if is_group(mac) {
                continue;
            }
            let station = self.stations.entry(mac).or_default();
            let own = path.ends.map(|ends| ends[number]);
            let own = own.filter(|own| !own.is_unspecified() && !is_unspecified(*own));
            let Some(own) = own else { continue };
            let is_alike =
                |other: &&Ip| other.to_ipv4_mapped().is_some() == own.to_ipv4_mapped().is_some();
            if station.addresses.iter().filter(is_alike).count() < 2 {
                station.addresses.insert(own);
            }
        }
    }
}

fn is_unspecified(address: Ip) -> bool {
    address.to_ipv4_mapped().is_some_and(|own| own.is_unspecified())
}
