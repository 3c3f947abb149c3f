//! The words of a verdict, and what each stands for.

use std::borrow::Cow;

use rtether_bounds::Effect;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// Judgment on one stream; later variants outweigh earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The stream has no deadline and no requirement that could fail.
    Unjudged,
    /// Every requirement that matches the stream holds.
    Ok,
    /// Nothing was delivered or due, so there is no answer.
    NoAnswer,
    /// Failed: a bound exceeds its limit.
    NotProved,
    /// Failed: packets were lost.
    Lost,
    /// Failed: packets were late.
    Late,
}

impl Verdict {
    /// Returns the word used in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Unjudged => "unjudged",
            Self::NoAnswer => "no-answer",
            Self::NotProved => "not-proved",
            Self::Lost => "lost",
            Self::Late => "late",
        }
    }

    /// Returns whether a requirement failed.
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::NotProved | Self::Lost | Self::Late)
    }
}

/// Where a figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Simulation.
    Simulated,
    /// Proof.
    Bound,
    /// Measurement on a test bed.
    Measured,
}

impl Column {
    /// Returns the word used in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Simulated => "sim",
            Self::Bound => "bound",
            Self::Measured => "measured",
        }
    }
}

/// What the verdict on a stream rests on, in one column or over all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// No requirement on latency applies to this column.
    #[default]
    Unjudged,
    /// The bound is within the deadline and all limits, and nothing on the way may drop packets: each
    /// arrives in time.
    Proved,
    /// No packet violated a requirement; this proves nothing about the next.
    Held {
        /// Number of packets delivered.
        packets: u64,
    },
    /// There is neither a deadline nor another limit on its latency that could fail; what else is
    /// required of the stream holds.
    NoDeadline,
    /// Nothing was delivered or due.
    NoAnswer,
    /// There is no bound.
    NoBound,
    /// The bound is within the deadline for each packet that is delivered; some may be dropped.
    IfDelivered,
    /// The bound is within the deadline if nothing is dropped; a drop voids it.
    IfNothingDropped,
    /// The bound exceeds the deadline: packets may or may not be late.
    NotProved,
    /// Packets were lost.
    Lost,
    /// Packets were late.
    Late,
}

impl Standing {
    /// Returns the word used in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unjudged => "unjudged",
            Self::Proved => "proved",
            Self::Held { .. } => "held",
            Self::NoDeadline => "no-deadline",
            Self::NoAnswer => "no-answer",
            Self::NoBound => "no-bound",
            Self::IfDelivered => "if-delivered",
            Self::IfNothingDropped => "if-nothing-dropped",
            Self::NotProved => "not-proved",
            Self::Lost => "lost",
            Self::Late => "late",
        }
    }

    /// Returns the standing of a bound that meets its limit.
    pub const fn of_proof(condition: Option<Effect>) -> Self {
        match condition {
            None => Self::Proved,
            Some(Effect::IfDelivered) => Self::IfDelivered,
            Some(Effect::IfNothingDropped) => Self::IfNothingDropped,
        }
    }

    /// Returns the word; `None` if the column did not judge a latency.
    pub fn said(self) -> Option<&'static str> {
        (!matches!(self, Self::Unjudged | Self::NoDeadline)).then(|| self.name())
    }

    /// Returns the number of packets in which requirements held.
    pub const fn packets(self) -> Option<u64> {
        if let Self::Held { packets } = self { Some(packets) } else { None }
    }

    /// Returns the severity: the worst of several standings is the one with the highest. Nothing to
    /// judge ranks below all, what is proved below what merely held.
    pub const fn rank(self) -> u8 {
        match self {
            Self::Unjudged => 0,
            Self::NoDeadline => 1,
            Self::Proved => 2,
            Self::Held { .. } => 3,
            Self::NoAnswer => 4,
            Self::IfDelivered => 5,
            Self::IfNothingDropped => 6,
            Self::NoBound => 7,
            Self::NotProved => 8,
            Self::Lost => 9,
            Self::Late => 10,
        }
    }

    /// Returns the standing of a verdict that is no success.
    pub(crate) const fn failed(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Unjudged | Verdict::Ok => Self::Unjudged,
            Verdict::NoAnswer => Self::NoAnswer,
            Verdict::NotProved => Self::NotProved,
            Verdict::Lost => Self::Lost,
            Verdict::Late => Self::Late,
        }
    }
}

/// Result of a verb that judges: the requirements, and everything that contradicts the figures. Its
/// word is the first of every verdict, and its code the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// Every requirement holds.
    Met,
    /// A requirement does not hold.
    Failed,
    /// Nothing was delivered or due on a stream with requirements, or its bound rests on an assumption
    /// that does not hold.
    NoAnswer,
    /// The measurement ended early with an error.
    Unmeasured,
    /// The user interrupted it.
    Interrupted,
    /// A packet was simulated or measured beyond a proved bound whose assumptions hold.
    Contradiction,
}

impl Serialize for Conclusion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.word().serialize(serializer)
    }
}

impl JsonSchema for Conclusion {
    fn schema_name() -> Cow<'static, str> {
        "Conclusion".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words = Self::ALL.map(Self::word);
        json_schema!({
            "description": "The first word of the verdict, which goes with the exit code: `PASS` (0), \
                `FAIL` (1), `NO ANSWER` (3), `NOT MEASURED` (4), `CONTRADICTION` (5) or \
                `INTERRUPTED` (130).",
            "enum": words,
        })
    }
}

impl Conclusion {
    const ALL: [Self; 6] = [
        Self::Met,
        Self::Failed,
        Self::NoAnswer,
        Self::Unmeasured,
        Self::Contradiction,
        Self::Interrupted,
    ];

    /// Returns the first word of a verdict, and the exit code that goes with it: the only place that
    /// knows either.
    const fn said(self) -> (&'static str, u8) {
        match self {
            Self::Met => ("PASS", 0),
            Self::Failed => ("FAIL", 1),
            Self::NoAnswer => ("NO ANSWER", 3),
            Self::Unmeasured => ("NOT MEASURED", 4),
            Self::Contradiction => ("CONTRADICTION", 5),
            Self::Interrupted => ("INTERRUPTED", 130),
        }
    }

    /// Returns the first word of a verdict, alike in every form.
    pub const fn word(self) -> &'static str {
        self.said().0
    }

    /// Returns the exit code of a command that ends with it.
    pub const fn code(self) -> u8 {
        self.said().1
    }

    /// Returns a verdict: the word, and what it rests on.
    pub fn sentence(self, basis: &str) -> String {
        format!("{}. {basis}", self.word()).trim_end().to_owned()
    }

    /// Returns what follows where everything meets its limit or something does not; `None` is no
    /// answer.
    pub const fn meets(answer: Option<bool>) -> Self {
        match answer {
            Some(true) => Self::Met,
            Some(false) => Self::Failed,
            None => Self::NoAnswer,
        }
    }

    /// Returns whether what is judged holds; `None` if it is no answer.
    pub const fn holds(self) -> Option<bool> {
        match self {
            Self::Met => Some(true),
            Self::NoAnswer => None,
            Self::Failed | Self::Unmeasured | Self::Interrupted | Self::Contradiction => {
                Some(false)
            }
        }
    }

    /// Returns the conclusion from the verdicts alone.
    pub fn of(verdicts: impl IntoIterator<Item = Verdict>, is_partial: bool) -> Self {
        match verdicts.into_iter().max() {
            _ if is_partial => Self::Interrupted,
            Some(verdict) if verdict.is_failure() => Self::Failed,
            Some(Verdict::NoAnswer) => Self::NoAnswer,
            Some(_) | None => Self::Met,
        }
    }
}
