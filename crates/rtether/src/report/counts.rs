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
    /// Of these, streams without a packet that violates a requirement; this is not a proof.
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
    /// Streams without an applicable requirement.
    pub unjudged: usize,
}

impl Counts {
    /// Returns the number of failures.
    pub const fn failed(&self) -> usize {
        self.late + self.lost + self.not_proved
    }

    pub(super) fn add(&mut self, assessment: &Assessment) {
        self.streams += 1;
        let standing = assessment.standing();
        self.proved += usize::from(standing == Standing::Proved);
        self.hold(standing);
        match assessment.verdict {
            Verdict::Ok => self.ok += 1,
            Verdict::Late => self.late += 1,
            Verdict::Lost => self.lost += 1,
            Verdict::NotProved => self.not_proved += 1,
            Verdict::NoAnswer => self.no_answer += 1,
            Verdict::Unjudged => self.unjudged += 1,
        }
    }

    pub(super) fn hold(&mut self, standing: Standing) {
        if let Some(packets) = standing.packets() {
            self.held += 1;
            self.packets += packets;
        }
    }

    /// Returns the nonzero counts, worst last:
    /// `12 proved, 688 held in 34400 packets (not proved), 2 late`.
    pub fn words(&self) -> String {
        self.words_of("")
    }

    /// Like [`Self::words`], with the source of the packets: ` of 8 runs`.
    pub(super) fn words_of(&self, runs: &str) -> String {
        let packets = match self.packets {
            1 => "1 packet".to_owned(),
            packets => format!("{packets} packets"),
        };
        let held = format!("held in {packets}{runs} (not proved)");
        let parts = [
            (self.proved, "proved"),
            (self.held, held.as_str()),
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
