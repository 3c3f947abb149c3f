//! Exit codes, the same for every verb.

use std::process::ExitCode;

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

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Ok => 0,
            Exit::Failed => 1,
            Exit::WrongInput => 2,
            Exit::NoAnswer => 3,
            Exit::Unfit => 4,
            Exit::Contradiction => 5,
            Exit::Interrupted => 130,
        })
    }
}
