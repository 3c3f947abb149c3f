//! Streams per verdict, as numbers and in words.

use crate::verdict::{Assessment, Standing, Verdict};

/// Streams per verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All streams.
    pub streams: usize,
    /// Every requirement holds, proved or not.
    pub ok: usize,
    /// Of these, with a bound within every limit.
    pub proved: usize,
    /// Of these, streams held to a limit on their latency without a packet beyond it; this is not a
    /// proof.
    pub held: usize,
    /// Packets delivered in these held streams.
    pub packets: u64,
    /// Streams with late packets.
    pub late: usize,
    /// Streams with lost packets.
    pub lost: usize,
    /// Streams with a bound above its limit.
    pub not_proved: usize,
    /// Streams with nothing delivered or due.
    pub no_answer: usize,
    /// Streams without a deadline or another limit on their latency, of which nothing failed.
    pub no_deadline: usize,
    /// Streams whose deadline no requirement judges.
    pub unjudged: usize,
}

impl Counts {
    /// Returns the number of failures.
    pub const fn failed(&self) -> usize {
        self.late + self.lost + self.not_proved
    }

    /// Returns the number of streams whose latency was held against a limit, and not found beyond it.
    pub const fn judged(&self) -> usize {
        self.proved + self.held
    }

    pub(super) fn add(&mut self, assessment: &Assessment) {
        self.streams += 1;
        self.ok += usize::from(assessment.verdict == Verdict::Ok);
        self.stand(assessment.standing());
    }

    /// Counts the standing of a stream, over all columns or in one.
    pub(super) fn stand(&mut self, standing: Standing) {
        let slot = match standing {
            Standing::Proved => &mut self.proved,
            Standing::Held { packets } => {
                self.packets += packets;
                &mut self.held
            }
            Standing::NoDeadline => &mut self.no_deadline,
            Standing::Unjudged => &mut self.unjudged,
            Standing::NoAnswer
            | Standing::NoBound
            | Standing::IfDelivered
            | Standing::IfNothingDropped => &mut self.no_answer,
            Standing::NotProved => &mut self.not_proved,
            Standing::Lost => &mut self.lost,
            Standing::Late => &mut self.late,
        };
        *slot += 1;
    }

    /// Returns the nonzero counts, worst last:
    /// `12 proved, 148 held in 34400 packets (not proved), 540 without a deadline, 2 late`.
    pub fn words(&self) -> String {
        self.words_of(&Basis::default())
    }

    /// Like [`Self::words`], with what the words rest on.
    pub(super) fn words_of(&self, basis: &Basis) -> String {
        let packets = match self.packets {
            1 => "1 packet".to_owned(),
            packets => format!("{packets} packets"),
        };
        let proved = format!("proved{}", basis.proved);
        let held = format!("held in {packets}{} (not proved)", basis.held);
        let parts = [
            (self.proved, proved.as_str()),
            (self.held, held.as_str()),
            (self.no_deadline, "without a deadline"),
            (self.unjudged, "unjudged"),
            (self.no_answer, "no-answer"),
            (self.not_proved, "not proved"),
            (self.lost, "lost"),
            (self.late, "late"),
        ];
        let words: Vec<String> = parts
            .iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, word)| format!("{number} {word}"))
            .collect();
        words.join(", ")
    }
}

/// What the words of a verdict rest on, said behind each: empty, or text that begins with a blank.
#[derive(Clone, Debug, Default)]
pub(super) struct Basis {
    /// Behind *proved*: what the proofs assume.
    pub(super) proved: String,
    /// Behind *held in N packets*: the runs, and what was varied in them.
    pub(super) held: String,
}
