//! The verbs: one module each, with arguments and work.

mod admit;
mod adversary;
mod bound;
mod certify;
mod check;
mod compare;
mod completions;
mod design;
mod diff;
mod export;
mod fail;
mod import;
mod judge;
mod limit;
mod man;
mod new;
mod profile;
mod reproduce;
mod schema;
mod sim;
mod strict;
mod sweep;
mod volume;
mod why;

/// What needs sockets, namespaces and time stamps of Linux.
#[cfg(target_os = "linux")]
pub(crate) mod host;
#[cfg(not(target_os = "linux"))]
#[path = "no_host.rs"]
pub(crate) mod host;

use clap::Subcommand;

use crate::deferred::Deferred;
use crate::exit::Exit;

/// The verb.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Judge every flow of a scenario against its deadline: start here
    #[command(
        after_help = "Example: rtether check plant.yaml --report plant.html\nExample: rtether check plant.yaml --adversarial 30s --adversarial-out worst.yaml"
    )]
    Check(Deferred<check::CheckVerb>),
    /// Simulate a scenario without proofs, with traces on request
    #[command(after_help = "Example: rtether sim plant.yaml --pcap plant.pcapng")]
    Sim(Deferred<sim::SimArgs>),
    /// Show why a packet took as long as it did, and what it waited for
    Why(Deferred<why::WhyArgs>),
    /// Compare two results: margins gained and lost, new failures
    Diff(Deferred<diff::DiffArgs>),
    /// Run many values and seeds of a scenario, and say which matter
    Sweep(Deferred<sweep::SweepArgs>),
    /// Compare access schemes on the hubs of a plant, faults included
    Compare(Deferred<compare::CompareArgs>),
    /// Prove how long packets can take at most, without simulation
    Bound(Deferred<bound::BoundArgs>),
    /// Decide whether flows may be added with all deadlines proved
    Admit(Deferred<admit::AdmitArgs>),
    /// Find the fewest edits that prove every deadline
    Design(Deferred<design::DesignArgs>),
    /// Judge what anyone claims: proved, refuted by a run, or open
    Judge(Deferred<judge::JudgeArgs>),
    /// Find the highest load of other traffic that deadlines allow
    Limit(Deferred<limit::LimitArgs>),
    /// Multiply out the traffic of sampled values
    Volume(Deferred<volume::VolumeArgs>),
    #[command(flatten)]
    Host(host::HostVerb),
    /// Write a commented scenario that already passes
    New(Deferred<new::NewArgs>),
    /// Make a scenario of another tool's file, with all that is assumed
    Import(Deferred<import::ImportArgs>),
    /// Show, compare and merge profiles of devices
    Profile(Deferred<profile::ProfileArgs>),
    /// Write a scenario as another tool reads it
    Export(Deferred<export::ExportArgs>),
    /// Print the JSON Schema of scenario files, for editors
    Schema(Deferred<schema::SchemaArgs>),
    /// Repeat experiments of the five papers and judge their claims
    Reproduce(Deferred<reproduce::ReproduceArgs>),
    /// Print a completion script for a shell
    Completions(Deferred<completions::CompletionsArgs>),
    /// Print the manual page of the command or of a verb
    Man(Deferred<man::ManArgs>),
}

impl Verb {
    /// Runs it.
    pub(crate) fn run(&self) -> Exit {
        match self {
            Self::Check(arguments) => check::run(arguments),
            Self::Sim(arguments) => sim::run(arguments),
            Self::Why(arguments) => why::run(arguments),
            Self::Diff(arguments) => diff::run(arguments),
            Self::Sweep(arguments) => sweep::run(arguments),
            Self::Compare(arguments) => compare::run(arguments),
            Self::Bound(arguments) => bound::run(arguments),
            Self::Admit(arguments) => admit::run(arguments),
            Self::Design(arguments) => design::run(arguments),
            Self::Judge(arguments) => judge::run(arguments),
            Self::Limit(arguments) => limit::run(arguments),
            Self::Volume(arguments) => volume::run(arguments),
            Self::Host(verb) => verb.run(),
            Self::New(arguments) => new::run(arguments),
            Self::Import(arguments) => import::run(arguments),
            Self::Profile(arguments) => profile::run(arguments),
            Self::Export(arguments) => export::run(arguments),
            Self::Schema(arguments) => schema::run(arguments),
            Self::Reproduce(arguments) => reproduce::run(arguments),
            Self::Completions(arguments) => completions::run(arguments),
            Self::Man(arguments) => man::run(arguments),
        }
    }

    /// Returns whether it ends in its own way when signalled.
    pub(crate) const fn handles_signals(&self) -> bool {
        matches!(self, Self::Host(verb) if verb.handles_signals())
    }
}
