//! Exit codes, the same for every verb.

use rtether::verdict::Conclusion;

/// Outcome of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Every requirement holds.
    Ok,
    /// A requirement does not hold.
    Failed,
    /// The command line or the scenario is wrong, or an input file cannot be read.
    WrongInput,
    /// No answer: too little was delivered to judge.
    NoAnswer,
    /// The machine cannot do it: a file cannot be written, or a thread cannot be started.
    Unfit,
    /// A simulated delay exceeds its proved bound: a defect of rtether.
    Contradiction,
    /// Ended by Ctrl-C; results so far were written and marked partial.
    Interrupted,
}

impl Exit {
    /// Returns the worse of two: that of a scenario that is wrong, then a defect of rtether, what the
    /// machine cannot do, what does not hold, and no answer. An interrupt ends all.
    pub(crate) fn worse(self, other: Self) -> Self {
        let rank = |exit: Self| match exit {
            Self::Ok => 0,
            Self::NoAnswer => 1,
            Self::Failed => 2,
            Self::Unfit => 3,
            Self::Contradiction => 4,
            Self::WrongInput => 5,
            Self::Interrupted => 6,
        };
        if rank(other) > rank(self) { other } else { self }
    }

    /// Returns the number.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Ok => Conclusion::Met.code(),
            Self::Failed => Conclusion::Failed.code(),
            Self::WrongInput => 2,
            Self::NoAnswer => Conclusion::NoAnswer.code(),
            Self::Unfit => Conclusion::Unmeasured.code(),
            Self::Contradiction => Conclusion::Contradiction.code(),
            Self::Interrupted => Conclusion::Interrupted.code(),
        }
    }
}

impl From<Conclusion> for Exit {
    fn from(conclusion: Conclusion) -> Self {
        match conclusion {
            Conclusion::Met => Self::Ok,
            Conclusion::Failed => Self::Failed,
            Conclusion::NoAnswer => Self::NoAnswer,
            Conclusion::Unmeasured => Self::Unfit,
            Conclusion::Interrupted => Self::Interrupted,
            Conclusion::Contradiction => Self::Contradiction,
        }
    }
}
