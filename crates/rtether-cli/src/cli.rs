//! The definition of the command line.

use clap::Parser;

use crate::terminal::ColorChoice;
use crate::verbs::Verb;

/// Know, prove, measure and control application-to-application delay over Ethernet.
#[derive(Debug, Parser)]
#[command(
    name = "rtether",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
    /// When to use colors; `auto` respects pipes and the variable `NO_COLOR`
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
}

const EXIT_CODES: &str = "Exit codes: 0 every requirement holds, 1 one does not, 2 wrong input \
(also one that cannot be read), 3 no answer, 4 the machine cannot do it (a file cannot be written), 5 a simulated delay exceeds its proved bound (please report it), or a measured one does with the host inside its stated profile, 130 interrupted.";
