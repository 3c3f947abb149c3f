//! The output files of `check` and `sim`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use rtether::report::gate::{self, Finding};
use rtether::report::{self, Checked};

use crate::drafts::{self, Draft};
use crate::exit::Exit;
use crate::folder::Made;
use crate::format::FormatArgs;
use crate::{files, terminal};

/// Where results go.
#[derive(Args, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Output {
    /// Write one self-contained HTML page
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Link the report to the playground at this place, a file or an address, with the scenario
    #[arg(long, value_name = "PAGE", requires = "report")]
    pub(crate) playground: Option<String>,
    /// Write all results into a directory: result.json, CSV files and report.html
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) gate: GateArgs,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    /// One row per stream, however many there are
    #[arg(long)]
    pub(crate) all: bool,
    /// Print the verdict line only
    #[arg(short, long, conflicts_with_all = ["json", "csv", "format", "all", "histogram", "buckets"])]
    pub(crate) quiet: bool,
    /// Add distributions to JSON
    #[arg(long)]
    pub(crate) histogram: bool,
    /// Add delay over time to JSON
    #[arg(long)]
    pub(crate) buckets: bool,
}

impl Output {
    /// Returns whether anything shows delay over time, which takes memory for each stream and slice.
    pub(crate) const fn shows_time(&self) -> bool {
        self.buckets || self.report.is_some() || self.out.is_some()
    }
}

/// Results for tools that let changes pass or not.
#[derive(Args, Debug)]
pub(crate) struct GateArgs {
    /// Write the verdicts as `JUnit` XML, a test case for each stream
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Write a SARIF file: mistakes and failed requirements, each at its line
    #[arg(long, value_name = "FILE")]
    pub(crate) sarif: Option<PathBuf>,
    /// Print mistakes and failed requirements as annotations of GitHub workflows, on standard error
    #[arg(long)]
    pub(crate) annotations: bool,
}

/// The files of [`GateArgs`], opened before the run.
pub(crate) struct Gates {
    junit: Option<Draft>,
    sarif: Option<Draft>,
    annotations: bool,
}

impl Gates {
    /// Opens the files.
    fn open(arguments: &GateArgs) -> Result<Self, String> {
        let open = |path: &Option<PathBuf>| path.as_deref().map(Draft::open).transpose();
        Ok(Self {
            junit: open(&arguments.junit)?,
            sarif: open(&arguments.sarif)?,
            annotations: arguments.annotations,
        })
    }

    /// Opens the files beside several scenarios.
    pub(crate) fn open_apart<'p>(
        scenarios: impl Iterator<Item = &'p Path>,
        arguments: &GateArgs,
    ) -> Result<Self, String> {
        let all = arguments.files().collect::<Vec<_>>();
        for scenario in scenarios {
            drafts::check_distinct(scenario, &all)?;
        }
        Self::open(arguments)
    }

    /// Writes what became of a scenario that cannot be run; returns what could not be written.
    pub(crate) fn write_mistakes(
        scenario: &Path,
        output: &Output,
        mistakes: &[Finding],
    ) -> Vec<String> {
        let all = output.gate.files().collect::<Vec<_>>();
        let gates = drafts::check_distinct(scenario, &all).and_then(|()| Self::open(&output.gate));
        match gates {
            Ok(gates) => {
                let name = scenario.display().to_string();
                gates.write(mistakes, || gate::junit_of_mistakes(&name, mistakes))
            }
            Err(message) => vec![message],
        }
    }

    /// Writes findings and verdicts; returns what could not be written.
    pub(crate) fn write(self, findings: &[Finding], junit: impl FnOnce() -> String) -> Vec<String> {
        if self.annotations {
            terminal::tell(gate::annotations(findings).trim_end());
        }
        let junit = self.junit.map(|draft| draft.write(&junit()));
        let sarif = self.sarif.map(|draft| draft.write(&gate::sarif(findings)));
        let written = [junit, sarif].into_iter().flatten();
        written.filter_map(Result::err).collect()
    }
}

impl GateArgs {
    /// Returns whether any of them is asked for.
    pub(crate) const fn is_asked(&self) -> bool {
        self.annotations || self.junit.is_some() || self.sarif.is_some()
    }

    fn files(&self) -> impl Iterator<Item = (&'static str, PathBuf)> + use<> {
        let junit = self.junit.clone().map(|path| ("--junit", path));
        let sarif = self.sarif.clone().map(|path| ("--sarif", path));
        junit.into_iter().chain(sarif)
    }
}

/// Files of a result directory, besides those of [`report::csv::NAMES`].
const OTHERS: [&str; 2] = ["result.json", "report.html"];

/// Files that one verb alone writes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OwnFiles<'a> {
    /// File for every frame of the first seed.
    pub(crate) pcap: Option<&'a Path>,
    /// File for every delivery of the first seed.
    pub(crate) packets: Option<&'a Path>,
    /// File for every measured packet; needs no run.
    pub(crate) live_packets: Option<&'a Path>,
    /// File for claims that others can check.
    pub(crate) certificate: Option<&'a Path>,
}

/// All files, opened before the run.
pub(crate) struct Outputs {
    report: Option<Draft>,
    gates: Gates,
    directory: Vec<(&'static str, Draft)>,
    /// Directories created. Declared after the files in them, since dropping removes only empty
    /// directories.
    made: Option<Made>,
    pub(crate) pcap: Option<Draft>,
    pub(crate) packets: Option<Draft>,
    pub(crate) live_packets: Option<Draft>,
    pub(crate) certificate: Option<Draft>,
}

impl Outputs {
    /// Opens all files; an error has been printed.
    pub(crate) fn open(scenario: &Path, output: &Output, own: OwnFiles<'_>) -> Result<Self, Exit> {
        let in_directory = |directory: &PathBuf| {
            let names = report::csv::NAMES.into_iter().chain(OTHERS);
            names.map(|name| (name, directory.join(name))).collect()
        };
        let directory: Vec<(&str, PathBuf)> =
            output.out.as_ref().map_or_else(Vec::new, in_directory);
        let mut all: Vec<(&str, PathBuf)> = Vec::new();
        all.extend(output.report.clone().map(|path| ("--report", path)));
        all.extend(output.gate.files());
        all.extend(own.pcap.map(|path| ("--pcap", path.into())));
        all.extend(own.packets.map(|path| ("--packets", path.into())));
        all.extend(own.live_packets.map(|path| ("--live-packets", path.into())));
        all.extend(own.certificate.map(|path| ("--certificate", path.into())));
        all.extend(directory.iter().map(|(_, path)| ("--out", path.clone())));
        drafts::check_distinct(scenario, &all).map_err(|message| {
            terminal::complain(&message);
            Exit::WrongInput
        })?;
        let open = |path: Option<&Path>| path.map(Draft::open).transpose();
        let opened = || -> Result<Self, String> {
            let made = output.out.as_deref().map(files::make_directory);
            Ok(Self {
                made: made.transpose()?,
                report: open(output.report.as_deref())?,
                gates: Gates::open(&output.gate)?,
                pcap: open(own.pcap)?,
                packets: open(own.packets)?,
                live_packets: open(own.live_packets)?,
                certificate: open(own.certificate)?,
                directory: directory
                    .iter()
                    .map(|(name, path)| Ok((*name, Draft::open(path)?)))
                    .collect::<Result<_, String>>()?,
            })
        };
        opened().map_err(|message| terminal::fail(&message))
    }

    /// Writes report, directory, and what gates read; `findings` are mistakes and failures. Returns
    /// what could not be written; the directory is written completely or not at all, everything else
    /// as far as possible.
    pub(crate) fn write(self, checked: &Checked, findings: &[Finding]) -> Vec<String> {
        let mut failed = self.gates.write(findings, || gate::junit(checked));
        if self.report.is_none() && self.directory.is_empty() {
            return failed;
        }
        let page = report::html::render(checked);
        if let Some(draft) = self.report {
            failed.extend(draft.write(&page).err());
        }
        match write_all(self.directory, checked, &page) {
            Ok(()) => {
                if let Some(made) = self.made {
                    made.keep();
                }
            }
            Err(message) => failed.push(message),
        }
        failed
    }
}

/// Writes all files of a directory, then gives them their final names.
fn write_all(
    directory: Vec<(&'static str, Draft)>,
    checked: &Checked,
    page: &str,
) -> Result<(), String> {
    if directory.is_empty() {
        return Ok(());
    }
    let everything = report::json::Options { buckets: true, histogram: true };
    let tables = report::csv::files(checked);
    let write = |(name, draft): (&str, Draft)| {
        let table = tables.iter().find(|(known, _)| *known == name);
        let write = |text: &str| draft.complete(|file| file.write_all(text.as_bytes()));
        match (name, table) {
            (_, Some((_, text))) => write(text),
            ("report.html", None) => write(page),
            (_, None) => write(&report::json::text(checked, everything)),
        }
    };
    let complete = directory.into_iter().map(write);
    drafts::publish(&complete.collect::<Result<Vec<_>, _>>()?)
}
