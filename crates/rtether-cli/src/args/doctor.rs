//! Arguments of `doctor`.

use clap::Args;
use clap::builder::PossibleValuesParser;
use rtether_testbed::Duration;
use rtether_testbed::doctor::GOALS;

/// Arguments of `doctor`.
#[derive(Args, Debug)]
#[command(after_help = DOCTOR_CODES)]
pub(crate) struct DoctorArgs {
    /// Examine this host through ssh instead; it needs rtether there
    pub(crate) host: Option<String>,
    /// Check whether this is possible; may be given several times
    #[arg(long = "for", value_name = "WHAT", value_parser = PossibleValuesParser::new(GOALS.map(|goal| goal.name)))]
    pub(crate) goals: Vec<String>,
    /// How long to watch for gaps in which nothing runs; `0 s` to skip
    #[arg(long, value_name = "TIME", default_value = "1 s", value_parser = watch)]
    pub(crate) watch: Duration,
    /// Do not probe queueing disciplines and the like in a scratch namespace
    #[arg(long)]
    pub(crate) no_probe: bool,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    /// Print one CSV row per finding
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
}

const DOCTOR_CODES: &str = "Exit codes: 0 examined, and what --for asks is possible, 2 the host \
cannot be examined, 4 what --for asks is not possible; the remedy is printed, 130 interrupted.";

/// Parses a time of at most an hour.
fn watch(text: &str) -> Result<Duration, String> {
    match rtether::scenario::time(text)? {
        time if time > Duration::from_secs(3_600) => Err("write at most 3600 s".into()),
        time => Ok(time),
    }
}
