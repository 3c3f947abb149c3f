//! Exit codes, the same for every verb.

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
            Self::Ok => 0,
            Self::Failed => 1,
            Self::WrongInput => 2,
            Self::NoAnswer => 3,
            Self::Unfit => 4,
            Self::Contradiction => 5,
            Self::Interrupted => 130,
        }
    }
}
