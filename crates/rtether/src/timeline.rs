//! A timeline as bars: for drawings and for the page of a check.

use rtether_model::quantity::Duration;

/// A timeline, of a packet or of a bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bars {
    /// The sum of all parts.
    pub whole: Duration,
    /// The parts, without a gap.
    pub bars: Vec<Bar>,
}

/// A part, in time since the release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bar {
    /// Its name.
    pub name: String,
    /// When it begins.
    pub begin: Duration,
    /// When it ends.
    pub end: Duration,
    /// What other packets take of it.
    pub waits: Vec<Dark>,
}

/// A wait within a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dark {
    /// When it begins.
    pub begin: Duration,
    /// How long it lasts.
    pub time: Duration,
    /// Its kind.
    pub kind: Kind,
    /// Which packet, and what it does, without the time.
    pub name: String,
    /// The same with the time, and for a packet with when it began.
    pub title: String,
}

/// Kind of a wait, which has a color.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A frame that was in service, or one of a lower class.
    InService,
    /// Frames ahead.
    Ahead,
    /// Packets of higher classes.
    Higher,
    /// Collisions.
    Collision,
    /// Packets of the flow itself, pauses, rounding.
    Earlier,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 5] =
        [Self::InService, Self::Ahead, Self::Higher, Self::Collision, Self::Earlier];

    /// Returns what it means.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::InService => "one already in service",
            Self::Ahead => "ahead of it",
            Self::Higher => "of higher classes",
            Self::Collision => "collisions",
            Self::Earlier => "own burst, pause, rounding",
        }
    }
}

impl Bars {
    /// Returns the kinds of its waits.
    pub fn kinds(&self) -> impl Iterator<Item = Kind> {
        let has = |kind: &Kind| {
            let mut waits = self.bars.iter().flat_map(|bar| &bar.waits);
            waits.any(|wait| wait.kind == *kind)
        };
        Kind::ALL.into_iter().filter(has)
    }
}

/// Streams of a check, explained.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explained {
    /// The streams, worst first.
    pub streams: Vec<ExplainedStream>,
    /// Which streams these are, and what is left out.
    pub note: String,
}

/// A stream with its worst packet and its bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedStream {
    /// Position in the record.
    pub index: usize,
    /// The worst packet: its headline and its timeline.
    pub packet: Option<(String, Bars)>,
    /// The bound: its headline and its parts.
    pub bound: Option<(String, Bars)>,
}
