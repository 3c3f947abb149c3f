//! The end of `pub` and `sub` as one JSON document.

use rtether::report::document::{Document, Members};
use rtether::verdict::Conclusion;
use schemars::JsonSchema;
use serde::Serialize;

use super::delay_output::DelaysJson;
use super::{Summary, by_version};

/// The last line of `rtether pub` and `rtether sub`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TopicJson<'a> {
    /// `writer` or `reader`.
    role: &'static str,
    /// `PASS`, `FAIL` (a deadline was missed, a sample was not acknowledged, or fewer came than
    /// `--count`), `NO ANSWER` (no sample, or nobody to read them), `INTERRUPTED` or `NOT MEASURED`.
    conclusion: Conclusion,
    /// Samples written or read, without those that only report the end of an instance.
    samples: u64,
    /// Whether the reader is reliable, so that writers tell it what is lost; `null` for writers.
    reliable: Option<bool>,
    /// Samples lost for good, of those that writers owed; at least that many if the reader is not
    /// reliable.
    lost: u64,
    /// Samples written before the reader was there, and not in the history that it asks for.
    not_owed: u64,
    /// Samples announced by reliable writers that had not come by the end.
    missing: u64,
    /// Samples received that were not read by the end.
    waiting: u64,
    /// Samples replaced by later ones before they were read; `--depth` says how many are kept.
    replaced: u64,
    /// Samples refused for lack of room.
    rejected: u64,
    /// Samples dropped for a stronger writer, or because of the minimum separation.
    filtered: u64,
    /// Samples too old before they were read.
    expired: u64,
    /// Samples that are not values of the type.
    malformed: u64,
    /// Samples declared gone in the name of a writer that never had them: another host speaks in its
    /// name, and `lost` may be wrong, too.
    contradicted: u64,
    /// How often a deadline of the policies was missed.
    deadlines_missed: u64,
    /// Parts of datagrams from addresses that their participant has not announced.
    impostors: u64,
    /// Datagrams of versions of RTPS that are not spoken here, by version.
    other_versions: Members<String, u64>,
    /// Datagrams over other devices than the one chosen.
    elsewhere: u64,
    /// Fragments without room, and samples given up for others.
    crowded: u64,
    /// Endpoints of others that matched.
    matched: u64,
    /// Endpoints of others on the topic that did not match.
    mismatched: u64,
    /// Whether every reliable reader has everything; `null` for readers.
    acknowledged: Option<bool>,
    /// Samples that a reliable reader had not acknowledged by the end; `null` for readers.
    unacknowledged: Option<u64>,
    /// With `--delay`: delays of the samples; else `null`.
    delays: Option<DelaysJson<'a>>,
    /// Why it ended before its time, or `null`.
    ended_early: Option<&'a str>,
}

impl Document for TopicJson<'_> {
    const SCHEMA: &'static str = "rtether.topic/1";
    const HEAD: &'static [(&'static str, &'static str)] =
        &[("event", "summary"), ("schema", Self::SCHEMA)];
}

impl<'a> TopicJson<'a> {
    pub(super) fn of(summary: &'a Summary) -> Self {
        let is_writer = summary.is_writer;
        Self {
            role: if is_writer { "writer" } else { "reader" },
            conclusion: summary.conclusion(),
            samples: summary.samples,
            reliable: (!is_writer).then_some(summary.is_reliable),
            lost: summary.lost,
            not_owed: summary.not_owed,
            missing: summary.missing,
            waiting: summary.waiting,
            replaced: summary.replaced,
            rejected: summary.rejected,
            filtered: summary.filtered,
            expired: summary.expired,
            malformed: summary.malformed,
            contradicted: summary.contradicted,
            deadlines_missed: summary.deadlines_missed,
            impostors: summary.impostors,
            other_versions: by_version(&summary.versions),
            elsewhere: summary.elsewhere,
            crowded: summary.crowded,
            matched: summary.matched,
            mismatched: summary.mismatched,
            acknowledged: is_writer.then_some(summary.is_acknowledged),
            unacknowledged: is_writer.then_some(summary.unacknowledged),
            delays: summary.delays.as_ref().map(DelaysJson::of),
            ended_early: summary.ended.as_deref(),
        }
    }
}
