//! The definition of the command line.

#[cfg(target_os = "linux")]
mod calibrate;
#[cfg(target_os = "linux")]
mod doctor;
#[cfg(target_os = "linux")]
mod live;
#[cfg(target_os = "linux")]
mod load;
mod number;
#[cfg(target_os = "linux")]
mod shim;
#[cfg(target_os = "linux")]
mod testbed;
#[cfg(target_os = "linux")]
mod topic;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

#[cfg(target_os = "linux")]
pub(crate) use calibrate::CalibrateArgs;
#[cfg(target_os = "linux")]
pub(crate) use doctor::DoctorArgs;
#[cfg(target_os = "linux")]
pub(crate) use live::{ConfineArgs, EchoArgs, PingArgs, SocketArgs, ThreadArgs, Way};
#[cfg(target_os = "linux")]
pub(crate) use load::LoadArgs;
#[cfg(target_os = "linux")]
pub(crate) use shim::{ConfigArgs, DeviceArgs, SetArgs, ShimArgs, ShimVerb, StatusArgs, UpArgs};
#[cfg(target_os = "linux")]
pub(crate) use testbed::LiveArgs;
#[cfg(target_os = "linux")]
pub(crate) use topic::{DomainArgs, FrameArgs, PubArgs, SpyArgs, SubArgs, TopicArgs};

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

/// Options of every verb besides its own arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Global {
    /// When to use colors.
    pub(crate) color: ColorChoice,
    /// No progress on standard error.
    pub(crate) no_progress: bool,
    /// Threads for replications; `None` for all cores.
    pub(crate) jobs: Option<NonZeroUsize>,
}

impl Cli {
    /// Returns the options besides the arguments of the verb; verbs that run nothing have no flags
    /// for them.
    pub(crate) fn global(&self) -> Global {
        let pace = match &self.verb {
            Verb::Check(arguments) => Some(arguments.pace),
            Verb::Sim(arguments) => Some(arguments.check.pace),
            Verb::Limit(arguments) => Some(arguments.pace),
            Verb::Reproduce(arguments) => Some(arguments.pace),
            Verb::Bound(arguments) => Some(Pace {
                no_progress: arguments.no_progress,
                jobs: None,
            }),
            #[cfg(target_os = "linux")]
            Verb::Live(arguments) => Some(Pace {
                no_progress: arguments.no_progress,
                jobs: None,
            }),
            #[cfg(target_os = "linux")]
            Verb::Ping(_)
            | Verb::Echo(_)
            | Verb::Calibrate(_)
            | Verb::Doctor(_)
            | Verb::LiveAgent
            | Verb::Load(_)
            | Verb::Pub(_)
            | Verb::Sub(_)
            | Verb::Spy(_)
            | Verb::Shim(_) => None,
            Verb::Admit(_)
            | Verb::New(_)
            | Verb::Schema { .. }
            | Verb::Completions { .. }
            | Verb::Man { .. } => None,
        };
        Global {
            color: self.color,
            no_progress: pace.is_some_and(|pace| pace.no_progress),
            jobs: pace.and_then(|pace| pace.jobs),
        }
    }
}

/// Flags of verbs that run for a while.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// No progress on standard error (the default if it is not a terminal)
    #[arg(long)]
    pub(crate) no_progress: bool,
    /// Threads for replications, at most four per core; results do not depend on it [default: all
    /// cores]
    #[arg(short, long, value_name = "N", value_parser = number::threads)]
    pub(crate) jobs: Option<NonZeroUsize>,
}

/// When to use colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The verb.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Judge every flow of a scenario against its deadline: the main verb
    Check(CheckArgs),
    /// Simulate a scenario, with traces on request; proved bounds are not judged
    Sim(SimArgs),
    /// Prove how long packets can take at most, without simulation
    Bound(BoundArgs),
    /// Decide whether flows may be added: yes if all deadlines are proved to hold with them
    Admit(AdmitArgs),
    /// Find the highest load of other traffic at which deadlines still hold
    Limit(LimitArgs),
    /// Measure round trips to a host
    #[cfg(target_os = "linux")]
    Ping(PingArgs),
    /// Answer the requests of `ping`, or act as a controller board
    #[cfg(target_os = "linux")]
    Echo(EchoArgs),
    /// Publish samples of a topic over RTPS
    #[cfg(target_os = "linux")]
    Pub(PubArgs),
    /// Subscribe to a topic over RTPS and show its samples
    #[cfg(target_os = "linux")]
    Sub(SubArgs),
    /// List the participants of an RTPS domain, and the writers and readers that do not match
    #[cfg(target_os = "linux")]
    Spy(SpyArgs),
    /// Run a scenario on this host, between network namespaces, or on real hosts, and measure it
    #[cfg(target_os = "linux")]
    Live(LiveArgs),
    /// Play an end station for `live --backend ssh` of another host, over standard input and output
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    LiveAgent,
    /// Generate background load, or receive it
    #[cfg(target_os = "linux")]
    Load(LoadArgs),
    /// Measure the cost of this host's network stack, and write a profile of it for scenarios
    #[cfg(target_os = "linux")]
    Calibrate(CalibrateArgs),
    /// Check whether this host is fit for measurements, and how to fix what is not
    #[cfg(target_os = "linux")]
    Doctor(DoctorArgs),
    /// Write a commented scenario that already passes
    New(NewArgs),
    /// Run the end-node layer between the stack of this host and a device: queues, tags, smoother
    #[cfg(target_os = "linux")]
    Shim(ShimArgs),
    /// Print the JSON Schema of scenario files, for editors
    Schema {
        /// The schema of `shim` configurations instead
        #[arg(long)]
        shim: bool,
    },
    /// Repeat experiments of the five papers and judge their claims
    Reproduce(ReproduceArgs),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page of the command or of a verb
    Man {
        /// The verb, for example `check`
        verb: Option<String>,
    },
}

/// Arguments of `check`.
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// Scenario file, or `-` for standard input
    pub(crate) scenario: PathBuf,
    #[cfg(target_os = "linux")]
    #[command(flatten)]
    pub(crate) live: testbed::CheckLive,
    #[command(flatten)]
    pub(crate) overrides: RunOverrides,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) pace: Pace,
}

/// Arguments of `sim`.
#[derive(Args, Debug)]
pub(crate) struct SimArgs {
    #[command(flatten)]
    pub(crate) check: CheckArgs,
    /// Write every frame of the first seed as pcapng, one interface per port
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<PathBuf>,
    /// Write one CSV line per delivered packet of the first seed
    #[arg(long, value_name = "FILE")]
    pub(crate) packets: Option<PathBuf>,
}

/// Arguments of `bound`.
#[derive(Args, Debug)]
#[command(after_help = BOUND_CODES)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct BoundArgs {
    /// Scenario file, or `-` for standard input
    pub(crate) scenario: PathBuf,
    /// Show the effect of changing a value of the scenario, for example `flows.setpoint.pcp=6` or
    /// `links[3].rate=1Gbit/s`; may be given several times
    #[arg(long, value_name = "PATH=VALUE", conflicts_with_all = ["sensitivity", "ports"])]
    pub(crate) what_if: Vec<String>,
    /// Try single changes and rank them by their gain for the stream with the least slack
    #[arg(long, conflicts_with = "ports")]
    pub(crate) sensitivity: bool,
    /// Rank them for this flow instead
    #[arg(long, value_name = "NAME", requires = "sensitivity")]
    pub(crate) flow: Option<String>,
    /// No progress on standard error (the default if it is not a terminal)
    #[arg(long, requires = "sensitivity")]
    pub(crate) no_progress: bool,
    /// Show ports and stacks instead of streams: utilization, longest wait, memory
    #[arg(long)]
    pub(crate) ports: bool,
    #[command(flatten)]
    pub(crate) overrides: Overrides,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    /// Print one CSV row per stream, port or change
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Write one self-contained HTML page with the parts of each bound
    #[arg(long, value_name = "FILE", conflicts_with_all = ["what_if", "sensitivity"])]
    pub(crate) report: Option<PathBuf>,
    /// Analysis methods
    #[arg(long, value_name = "WHICH", value_enum, default_value_t, conflicts_with_all = ["what_if", "sensitivity"])]
    pub(crate) methods: MethodChoice,
}

const BOUND_CODES: &str = "Exit codes: 0 every bound meets its deadline, 1 one does not, 3 a flow \
with a deadline has no bound, and the reason is given. With --what-if they tell of the scenario after the \
change; --sensitivity ends with 0, or with 3 if there is no bound to lower.";

/// Arguments of `admit`.
#[derive(Args, Debug)]
#[command(after_help = ADMIT_CODES)]
pub(crate) struct AdmitArgs {
    /// Scenario file, or `-` for standard input
    pub(crate) scenario: PathBuf,
    /// File with a flow, or a list of flows, as under `flows:` in a scenario
    #[arg(required_unless_present = "flow")]
    pub(crate) file: Option<PathBuf>,
    /// A flow, for example '{ name: x, from: a, to: b, period: 1 ms, size: 100 B, deadline: 1 ms
    /// }'; may be given several times
    #[arg(long, value_name = "FLOW")]
    pub(crate) flow: Vec<String>,
    #[command(flatten)]
    pub(crate) overrides: Overrides,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    /// Print one CSV row per stream whose bound changes
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
}

/// Analysis methods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum MethodChoice {
    /// All; the smallest bound of each stream counts.
    #[default]
    All,
    /// Total flow analysis only, which is faster.
    TotalFlow,
}

impl From<MethodChoice> for rtether::bound::Methods {
    fn from(choice: MethodChoice) -> Self {
        match choice {
            MethodChoice::All => Self::All,
            MethodChoice::TotalFlow => Self::TotalFlow,
        }
    }
}

const ADMIT_CODES: &str = "Exit codes: 0 yes, 1 no: a deadline would be missed or a place \
overloaded, 3 a flow with a deadline would have no bound.";

/// Arguments of `limit`.
#[derive(Args, Debug)]
#[command(after_help = LIMIT_CODES)]
pub(crate) struct LimitArgs {
    /// Scenario file, or `-` for standard input
    pub(crate) scenario: PathBuf,
    /// Flows whose load is scaled: name, class or a pattern with `*` [default: all without deadline]
    #[arg(long, value_name = "PATTERN")]
    pub(crate) flows: Option<String>,
    /// Largest ratio of late or lost packets of each flow with a deadline
    #[arg(long, value_name = "RATIO", default_value = "1e-3", value_parser = share)]
    pub(crate) miss: f64,
    /// Confidence of the answer
    #[arg(long, value_name = "RATIO", default_value = "95%", value_parser = share)]
    pub(crate) confidence: f64,
    /// Distance between the load that passes and the load that fails
    #[arg(long, value_name = "RATIO", default_value = "2%", value_parser = tolerance)]
    pub(crate) tolerance: f64,
    #[command(flatten)]
    pub(crate) overrides: RunOverrides,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    /// Print loads and limits of stations as CSV
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Print the answer as one line only
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Write one self-contained HTML page with charts
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) pace: Pace,
}

const LIMIT_CODES: &str = "Exit codes: 0 the present load is within the limit, 1 it is not, \
3 too few packets to say.";

/// Parses a share between zero and one, both excluded: `1e-3`, `0.1 %`, `100 ppm`.
fn share(text: &str) -> Result<f64, String> {
    let (number, parts) = [("%", 1e2), ("ppm", 1e6), ("", 1.0)]
        .into_iter()
        .find_map(|(name, parts)| Some((text.strip_suffix(name)?.trim_end(), parts)))
        .unwrap_or((text, 1.0));
    let value = number.parse::<f64>().map(|value| value / parts);
    match value {
        Ok(value) if value > 0.0 && value < 1.0 => Ok(value),
        Ok(_) | Err(_) => {
            Err("write a ratio between 0 and 1, for example 1e-3, 0.1% or 100ppm".into())
        }
    }
}

/// Parses a share of at least a millionth, the smallest that a test can resolve.
fn tolerance(text: &str) -> Result<f64, String> {
    match share(text)? {
        value if value < 1e-6 => Err("write at least 1e-6, for example 2% or 1e-3".into()),
        value => Ok(value),
    }
}

/// Changes to a scenario.
#[derive(Args, Debug, Default)]
pub(crate) struct Overrides {
    /// Override a value of the scenario, for example flows.setpoint.period=1ms
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    /// Format of error messages
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub(crate) message_format: MessageFormat,
}

/// Changes to a scenario to be simulated.
#[derive(Args, Debug, Default)]
pub(crate) struct RunOverrides {
    #[command(flatten)]
    pub(crate) overrides: Overrides,
    /// Seed of the first replication
    #[arg(long, value_name = "N", value_parser = number::seed)]
    pub(crate) seed: Option<u64>,
    /// Number of replications
    #[arg(long, value_name = "N", value_parser = number::within(0..=u32::MAX))]
    pub(crate) runs: Option<u32>,
    /// Simulated time of each replication
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// Start of each replication left out of the statistics
    #[arg(long, value_name = "TIME")]
    pub(crate) warmup: Option<String>,
}

/// Format of diagnostics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum MessageFormat {
    /// Text with source line and caret.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// Where results go.
#[derive(Args, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Output {
    /// Write one self-contained HTML page
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Write all results into a directory: result.json, CSV files and report.html
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON document and nothing else; short for --format json
    #[arg(long)]
    pub(crate) json: bool,
    /// Output format
    #[arg(
        long,
        value_name = "FORM",
        default_value = "table",
        conflicts_with = "json"
    )]
    pub(crate) format: Format,
    /// One row per stream, however many there are
    #[arg(long)]
    pub(crate) all: bool,
    /// Print the verdict line only
    #[arg(short, long, conflicts_with_all = ["json", "format", "all", "histogram", "buckets"])]
    pub(crate) quiet: bool,
    /// Add distributions to JSON
    #[arg(long)]
    pub(crate) histogram: bool,
    /// Add delay over time to JSON
    #[arg(long)]
    pub(crate) buckets: bool,
}

impl Output {
    /// Returns the output format.
    pub(crate) fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }
}

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table for the terminal.
    Table,
    /// A Markdown table.
    Md,
    /// One CSV row per stream.
    Csv,
    /// One JSON document.
    Json,
}

/// Arguments of `new`.
#[derive(Args, Debug)]
pub(crate) struct NewArgs {
    /// File to write; .yaml is added to a name without extension [default: the shape]
    pub(crate) name: Option<PathBuf>,
    /// Shape of the plant: line, star, ring, substation or hub
    #[arg(long, value_name = "SHAPE", default_value = "star")]
    pub(crate) template: String,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) force: bool,
}

/// Arguments of `reproduce`.
#[derive(Args, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct ReproduceArgs {
    /// Experiments, or `all`
    #[arg(required_unless_present = "list")]
    pub(crate) experiments: Vec<String>,
    /// List the experiments
    #[arg(long)]
    pub(crate) list: bool,
    /// Simulate or compute (the default)
    #[arg(long)]
    pub(crate) sim: bool,
    /// Measure on this host, over emulated networks between namespaces (Linux, root)
    #[arg(long, conflicts_with = "sim")]
    pub(crate) live: bool,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    /// Print comparisons and claims as CSV
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Write one self-contained HTML page with the figures
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) pace: Pace,
}
