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
