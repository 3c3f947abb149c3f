//! Judged claims in every format.

use rtether_report::document::{self, Document};
use rtether_report::format::{Part, Render};
use rtether_report::number::Ns;
use rtether_report::table::{Cell, Screen, Table};
use rtether_report::text::{plain_line, plural, time, time_or_dash, wrapped};
use schemars::JsonSchema;
use serde::Serialize;

use super::{CERTIFICATE, Claimed, Judged, Judgment, Ruling, Run};
use crate::words::Conclusion;

/// Claims of a file, and what became of each.
#[derive(Serialize, JsonSchema)]
pub(crate) struct JudgeJson<'a> {
    /// Title of the scenario.
    scenario: &'a str,
    conclusion: Conclusion,
    /// The result in words.
    summary: String,
    /// Plants that were tried to refute claims.
    tried: u64,
    /// Seed of the search.
    seed: u64,
    /// Whether a signal ended it early.
    partial: bool,
    /// Each claim, in the order of its file.
    claims: Vec<ClaimJson<'a>>,
    /// Runs that refute claims.
    runs: Vec<RunJson<'a>>,
}

impl Document for JudgeJson<'_> {
    const SCHEMA: &'static str = "rtether.judge/1";
}

#[derive(Serialize, JsonSchema)]
struct ClaimJson<'a> {
    /// Name of the flow.
    name: &'a str,
    /// Name of the listener; `null` if the claim is about all of them.
    listener: Option<&'a str>,
    /// What is claimed: `bound`, `reached` or `no-loss`.
    claim: &'static str,
    /// Longest time that it allows; `null` without one.
    claimed_ns: Option<Ns>,
    /// The method that claims it, if the file says so.
    by: Option<&'a str>,
    /// Line of the file, counted from 1; `null` if it has no line for each claim.
    line: Option<usize>,
    /// `proved`, `open`, `refuted` or `contradiction`.
    verdict: &'static str,
    /// Largest delay that was found; `null` if none was looked for.
    found_ns: Option<Ns>,
    /// Longest time that is proved; `null` without a bound.
    proved_ns: Option<Ns>,
    /// Longest time by the claims of the certificate, which its checker tests; `null` without claims, or
    /// without `--out`.
    certificate_ns: Option<Ns>,
    /// Packets lost in the runs that were looked at.
    lost: u64,
    /// Why there is no proof, or of what the bound is a proof only.
    lack: Option<&'a str>,
    /// The run that refutes it, by position in `runs`.
    run: Option<usize>,
}

#[derive(Serialize, JsonSchema)]
struct RunJson<'a> {
    /// The stream.
    stream: &'a str,
    /// Largest delay in the run; `null` if nothing arrives.
    latency_ns: Option<Ns>,
    /// Packets lost in the run.
    lost: u64,
    /// How long it runs.
    for_ns: Ns,
    /// Flows that are left of the plant.
    flows: usize,
    /// The scenario, which `rtether sim` repeats.
    text: &'a str,
}

const fn word(claimed: Claimed) -> &'static str {
    match claimed {
        Claimed::Bound(_) => "bound",
        Claimed::Reached => "reached",
        Claimed::NoLoss => "no-loss",
    }
}

impl Judged {
    /// Returns the claim in words.
    pub(super) fn claim_words(&self) -> String {
        match (self.claim.claimed, self.limit) {
            (Claimed::Bound(_), limit) => time_or_dash(limit),
            (Claimed::Reached, limit) => format!("reached {}", time_or_dash(limit)),
            (Claimed::NoLoss, _) => "no loss".to_owned(),
        }
    }

    /// Returns what the ruling rests on.
    fn basis(&self, runs: &[Run]) -> String {
        match self.ruling {
            Ruling::Proved => self
                .proved
                .map_or_else(String::new, |proved| format!("takes at most {}", time(proved))),
            Ruling::Open => self.lack.clone().unwrap_or_default(),
            Ruling::Refuted | Ruling::Contradiction => {
                self.run.and_then(|run| runs.get(run)).map_or_else(String::new, Run::words)
            }
        }
    }
}

impl Run {
    /// Returns what it shows: `1.2 ms in a run of 3 of 742 flows, 4.1 ms long`.
    pub(super) fn words(&self) -> String {
        let own = &self.shrunk;
        let shown = match (own.latency, own.lost) {
            (Some(latency), 0) => time(latency),
            (Some(latency), lost) => format!("{} and {lost} lost", time(latency)),
            (None, lost) => format!("{lost} lost"),
        };
        let [left, all] = own.flows;
        let cut = if own.is_cut { ", interrupted" } else { "" };
        format!(
            "{shown} in a run of {left} of {}, {} long{cut}",
            plural(all, "flow"),
            time(own.until)
        )
    }
}

impl Judgment {
    fn table(&self) -> Table {
        Table::of(&self.claims)
            .both("flow", "flow", |own| &own.claim.flow)
            .both("listener", "listener", |own| own.claim.listener.as_ref())
            .optional()
            .both("by", "by", |own| own.claim.by.as_ref())
            .optional()
            .file("claim", |own| word(own.claim.claimed))
            .shown("claim", |own| own.claim_words())
            .file("claimed_ns", |own| own.limit)
            .both("verdict", "verdict", |own| {
                let word = own.ruling.name();
                let is_bad = matches!(own.ruling, Ruling::Refuted | Ruling::Contradiction);
                let shown = if is_bad { word.to_uppercase() } else { word.to_owned() };
                Cell::from(word).shown(shown)
            })
            .number("found", "found_ns", |own| own.found)
            .number("proved", "proved_ns", |own| own.proved)
            .number("certificate", "certificate_ns", |own| own.certificate)
            .optional()
            .file("lost", |own| own.lost)
            .both("rests on", "rests_on", |own| own.basis(&self.runs))
            .rank(1)
            .file("line", |own| own.claim.line)
            .done()
    }

    /// Returns the verdict in a sentence.
    pub fn summary(&self) -> String {
        self.conclusion().sentence(&self.said())
    }

    fn said(&self) -> String {
        let in_certificate = match self.in_certificate() {
            0 => String::new(),
            number => format!(" ({number} with claims in {CERTIFICATE})"),
        };
        let proved = format!("proved{in_certificate}{}", self.condition);
        let all = [
            (
                Ruling::Contradiction,
                "proved and refuted, which is a defect of rtether (please report it)",
            ),
            (Ruling::Refuted, "refuted by a run"),
            (Ruling::Proved, proved.as_str()),
            (Ruling::Open, "open"),
        ];
        let counts = all.map(|(ruling, word)| (self.count(ruling), word));
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts.map(|(count, word)| format!("{count} {word}")).collect();
        let tried = match self.tried {
            0 => String::new(),
            tried => format!(" {tried} plants tried (seed {}).", self.seed),
        };
        format!("{}: {}.{tried}", plural(self.claims.len(), "claim"), counts.join(", "))
    }
}

impl Render for Judgment {
    fn parts(&self, screen: Screen) -> Vec<Part> {
        let title = plain_line(&self.scenario);
        let summary = wrapped(&plain_line(&self.summary()), screen.width, 0);
        vec![format!("{title}\n{summary}\n\n").into(), self.table().into()]
    }

    /// One row for each claim.
    fn rows(&self) -> Table {
        self.table()
    }

    fn json(&self) -> String {
        let claims = self.claims.iter().map(|own| ClaimJson {
            name: &own.claim.flow,
            listener: own.claim.listener.as_deref(),
            claim: word(own.claim.claimed),
            claimed_ns: own.limit.map(Ns),
            by: own.claim.by.as_deref(),
            line: own.claim.line,
            verdict: own.ruling.name(),
            found_ns: own.found.map(Ns),
            proved_ns: own.proved.map(Ns),
            certificate_ns: own.certificate.map(Ns),
            lost: own.lost,
            lack: own.lack.as_deref(),
            run: own.run,
        });
        let runs = self.runs.iter().map(|run| RunJson {
            stream: &run.stream,
            latency_ns: run.shrunk.latency.map(Ns),
            lost: run.shrunk.lost,
            for_ns: Ns(run.shrunk.until),
            flows: run.shrunk.flows[0],
            text: &run.shrunk.text,
        });
        document::text(&JudgeJson {
            scenario: &self.scenario,
            conclusion: self.conclusion(),
            summary: self.summary(),
            tried: self.tried,
            seed: self.seed,
            partial: self.is_cut,
            claims: claims.collect(),
            runs: runs.collect(),
        })
    }
}
