//! A census in all formats.

use std::fmt::Write;

use rtether_model::quantity::Duration;
use schemars::JsonSchema;
use serde::Serialize;

use super::by_version;
use super::rates::Rate;
use super::ros_output::{self, GraphJson};
use super::spy::{Census, EndpointRow, FailOn, Pair, ParticipantRow};
use rtether::report::document::{self, Document, Members};
use rtether::report::format::{Part, Render};
use rtether::report::table::{Cell, Rows, Screen, Table};
use rtether::report::text::{plural, time};
use rtether::verdict::Conclusion;

fn lease(lease: Option<Duration>) -> String {
    lease.map_or_else(|| "infinite".to_owned(), time)
}

fn policies(endpoint: &EndpointRow) -> String {
    let each = endpoint.policies.iter();
    let each = each.map(|(name, value)| format!("{name}: {value}"));
    each.collect::<Vec<_>>().join("; ")
}

fn thousandths(number: u64) -> String {
    format!("{}.{:03}", number / 1_000, number % 1_000)
}

const fn role(is_writer: bool) -> &'static str {
    if is_writer { "writer" } else { "reader" }
}

impl Render for Census {
    /// Participants, their endpoints, and the pairs that do not match.
    fn parts(&self, _: Screen) -> Vec<Part> {
        if let Some(graph) = &self.ros {
            return ros_output::parts(self, graph, [&dropped(self), &verdict(self)]);
        }
        let head = format!(
            "Domain {}: {}, {}\n",
            self.domain,
            plural(self.participants.len(), "participant"),
            plural(self.endpoints.len(), "endpoint"),
        );
        let mut parts = vec![Part::Lines(head)];
        for table in [participants(self), endpoints(self)] {
            if !table.is_empty() {
                parts.extend([Part::Lines("\n".into()), table.into()]);
            }
        }
        let mut text = dropped(self);
        mismatches(&mut text, self);
        text.push_str(&verdict(self));
        parts.push(text.into());
        parts
    }

    /// One row per endpoint, and one per participant without endpoints.
    fn rows(&self) -> Table {
        let lonely = self.participants.iter().filter(|one| {
            let mut endpoints = self.endpoints.iter();
            !endpoints.any(|endpoint| endpoint.guid.starts_with(&one.prefix))
        });
        let lonely = Table::of(lonely)
            .file("role", |_| "none")
            .file("identity", |one| &one.prefix)
            .file("participant", |one| &one.name)
            .done();
        endpoints(self).append(&lonely)
    }

    fn json(&self) -> String {
        document::text(&SpyJson::of(self))
    }
}

/// Returns the line of the verdict; empty if there is none.
fn verdict(census: &Census) -> String {
    summary(census).map_or_else(String::new, |summary| format!("{summary}\n"))
}

/// Returns the verdict in a sentence; `None` if nothing is judged.
fn summary(census: &Census) -> Option<String> {
    let conclusion = census.conclusion()?;
    let mut found = vec![
        plural(census.participants.len(), "participant"),
        plural(census.endpoints.len(), "endpoint"),
    ];
    let pairs = match census.count(FailOn::Mismatch) {
        0 => "all writers and readers of a topic match".to_owned(),
        1 => "1 pair does not match".to_owned(),
        count => format!("{count} pairs do not match"),
    };
    found.push(pairs);
    let of_ros = [
        (FailOn::Hash, "topic", "with different type hashes"),
        (FailOn::Name, "name", "of several nodes"),
        (FailOn::OneSided, "topic or service", "with one side only"),
    ];
    for (what, noun, which) in of_ros {
        let count = census.count(what);
        // What is not asked about is no part of the verdict.
        let is_asked = census.fail_on.as_ref().is_some_and(|all| all.contains(&what));
        if is_asked && count > 0 {
            let noun = noun.replace(" or ", if count == 1 { " or " } else { "s or " });
            found.push(format!("{} {which}", plural(count, &noun)));
        }
    }
    if census.participants.is_empty() {
        found = vec!["no other participant was found".to_owned()];
    }
    Some(conclusion.sentence(&format!("{}.", found.join(", "))))
}

/// Returns what was dropped, in words.
fn dropped(census: &Census) -> String {
    let mut text = String::new();
    if census.impostors > 0 {
        let count = usize::try_from(census.impostors).unwrap_or(usize::MAX);
        _ = writeln!(
            text,
            "\n{} dropped: from addresses that the participant in question has not announced",
            plural(count, "message")
        );
    }
    if !census.versions.is_empty() {
        let versions = &census.versions;
        _ = writeln!(text, "\nDatagrams dropped: {versions}{}", hint(census));
    }
    text
}

/// Returns how to see more, if there is a way.
fn hint(census: &Census) -> &'static str {
    if census.versions.iter().any(|(version, _)| version == [1, 0]) {
        "; `--rtps 1.0` joins the manager of a host"
    } else {
        ""
    }
}

fn participants(census: &Census) -> Table {
    Table::of(&census.participants)
        .shown("participant", |one| &one.name)
        .shown("vendor", |one| &one.vendor)
        .rank(3)
        .shown("RTPS", |one| &one.version)
        .rank(2)
        .shown("address", |one| &one.address)
        .shown("lease", |one| lease(one.lease))
        .rank(1)
        .shown("identity", |one| &one.prefix)
        .rank(1)
        .done()
}

fn endpoints(census: &Census) -> Table {
    Table::of(&census.endpoints)
        .both("topic", "topic", |one| &one.topic)
        .both("type", "type", |one| &one.type_name)
        .rank(2)
        .both("role", "role", |one| role(one.is_writer))
        .file("identity", |one| &one.guid)
        .both("participant", "participant", |one| &one.who)
        .when(census.has_rates, shown_rates)
        .shown("other than default", |one| policies(one))
        .rank(1)
        .file("policies", |one| policies(one))
        .when(census.has_rates, counted_rates)
        .when(census.ros.is_some(), of_ros)
        .done()
}

/// Adds the names of ROS to files.
fn of_ros(rows: Rows<&EndpointRow>) -> Rows<&EndpointRow> {
    rows.file("ros_kind", |one| one.seen.kind.name())
        .file("ros_name", |one| &one.seen.name)
        .file("ros_type", |one| &one.seen.type_name)
        .file("ros_node", |one| &one.seen.who)
        .file("type_hash", |one| one.seen.hash.clone())
}

/// Adds what a writer sends per second, empty for readers.
fn shown_rates<'a>(rows: Rows<&'a EndpointRow>) -> Rows<&'a EndpointRow> {
    let shown = |title: &'static str, rows: Rows<&'a EndpointRow>, text: fn(Rate) -> String| {
        rows.shown(title, move |one| one.rate.map_or_else(String::new, text))
    };
    let rows = shown("samples/s", rows, |rate| thousandths(rate.samples_per_second_milli()));
    let rows = shown("octets/s", rows, |rate| rate.octets_per_second().to_string());
    shown("missed", rows, |rate| rate.missed.to_string())
}

/// Adds what was counted of each writer.
fn counted_rates(rows: Rows<&EndpointRow>) -> Rows<&EndpointRow> {
    let of = |one: &&EndpointRow, count: fn(Rate) -> u64| -> Cell { one.rate.map(count).into() };
    rows.file("samples", |one| of(one, |rate| rate.samples))
        .file("payload_bytes", |one| of(one, |rate| rate.octets))
        .file("missed", |one| of(one, |rate| rate.missed))
        .file("span_ns", |one| of(one, |rate| u64::try_from(rate.span.as_ns_floor()).unwrap_or(0)))
}

fn mismatches(text: &mut String, census: &Census) {
    if census.apart.is_empty() {
        text.push('\n');
        return;
    }
    _ = writeln!(text, "\n{} do not match:", plural(census.apart.len(), "pair"));
    for pair in &census.apart {
        let (topic, reason) = (&pair.topic, &pair.reason);
        let (writer, reader) = (&pair.writer, &pair.reader);
        _ = writeln!(text, "  `{topic}`: {writer} writes, {reader} reads: {reason}");
    }
    if census.is_cut {
        text.push_str("  and possibly others; there are too many to compare all\n");
    }
}

/// Who publishes and subscribes in a domain.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SpyJson<'a> {
    /// The domain that was looked at.
    domain: u16,
    /// `PASS`, `FAIL` (what `--fail-on` names was found), `NO ANSWER` (nobody else is there),
    /// `INTERRUPTED` or `NOT MEASURED`; `null` of a manager, which judges nothing.
    conclusion: Option<Conclusion>,
    /// The verdict in a sentence; `null` likewise.
    summary: Option<String>,
    /// Participants of others.
    participants: Vec<ParticipantJson<'a>>,
    /// Their writers and readers, by topic.
    endpoints: Vec<EndpointJson<'a>>,
    /// Pairs of one topic that do not match.
    mismatches: Vec<PairJson<'a>>,
    /// Whether there are more pairs than were compared or are listed.
    mismatches_cut: bool,
    /// With `--ros`: the domain in the words of ROS; else `null`.
    ros: Option<GraphJson<'a>>,
    /// Parts of datagrams from addresses that their participant has not announced.
    impostors: u64,
    /// Datagrams of versions of RTPS that are not spoken here, by version.
    other_versions: Members<String, u64>,
    /// Why it ended before its time, or `null`.
    ended_early: Option<&'a str>,
}

impl Document for SpyJson<'_> {
    const SCHEMA: &'static str = "rtether.spy/1";
}

#[derive(Serialize, JsonSchema)]
struct ParticipantJson<'a> {
    /// Its identity (GUID prefix).
    identity: &'a str,
    /// Its name.
    name: &'a str,
    /// Vendor of the implementation.
    vendor: &'a str,
    /// Version of RTPS.
    version: &'a str,
    /// Address where it receives data.
    address: &'a str,
    /// How long each announcement is valid; `null` without an end.
    lease_ns: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
struct EndpointJson<'a> {
    /// Its identity (GUID).
    identity: &'a str,
    /// Name of the topic.
    topic: &'a str,
    /// Name of the type.
    #[serde(rename = "type")]
    type_name: &'a str,
    /// `writer` or `reader`.
    role: &'static str,
    /// Name and place of its participant.
    participant: &'a str,
    /// Policies other than the default, by name.
    policies: Members<String, &'a str>,
    /// With `--rates`, of writers: what they sent; else `null`.
    rate: Option<RateJson>,
    /// With `--ros`: its node; `null` without one.
    node: Option<&'a str>,
    /// Hash of its type, if it announces one, or `null`.
    type_hash: Option<&'a str>,
}

#[derive(Serialize, JsonSchema)]
struct RateJson {
    /// Samples after the first one, at which the time starts.
    samples: u64,
    /// Octets of their payloads, encapsulation included.
    payload_bytes: u64,
    /// Samples between the first and the last that did not arrive.
    missed: u64,
    /// Time that was counted.
    span_ns: i64,
    /// Samples per second, in thousandths.
    rate_millihertz: u64,
    /// Payload per second.
    rate_bytes_per_second: u64,
}

#[derive(Serialize, JsonSchema)]
struct PairJson<'a> {
    /// Name of the topic.
    topic: &'a str,
    /// Participant of the writer.
    writer: &'a str,
    /// Participant of the reader.
    reader: &'a str,
    /// Identities of the writer and the reader.
    identities: &'a [String; 2],
    /// Why they do not match.
    reason: String,
}

impl<'a> SpyJson<'a> {
    fn of(census: &'a Census) -> Self {
        let endpoints = census.endpoints.iter();
        Self {
            domain: census.domain,
            conclusion: census.conclusion(),
            summary: summary(census),
            participants: census.participants.iter().map(ParticipantJson::of).collect(),
            endpoints: endpoints.map(|one| EndpointJson::of(census, one)).collect(),
            mismatches: census.apart.iter().map(PairJson::of).collect(),
            mismatches_cut: census.is_cut,
            ros: census.ros.as_ref().map(GraphJson::of),
            impostors: census.impostors,
            other_versions: by_version(&census.versions),
            ended_early: census.ended.as_deref(),
        }
    }
}

impl<'a> ParticipantJson<'a> {
    fn of(one: &'a ParticipantRow) -> Self {
        Self {
            identity: &one.prefix,
            name: &one.name,
            vendor: &one.vendor,
            version: &one.version,
            address: &one.address,
            lease_ns: one.lease.map(Duration::as_ns_floor),
        }
    }
}

impl<'a> EndpointJson<'a> {
    fn of(census: &'a Census, one: &'a EndpointRow) -> Self {
        let policies = one.policies.iter();
        let policies = policies.map(|(name, value)| (name.replace([' ', '-'], "_"), &**value));
        let graph = census.ros.as_ref();
        Self {
            identity: &one.guid,
            topic: &one.topic,
            type_name: &one.type_name,
            role: role(one.is_writer),
            participant: &one.who,
            policies: Members(policies.collect()),
            rate: one.rate.map(RateJson::of),
            node: graph.and_then(|graph| graph.owners.get(&one.guid)).map(String::as_str),
            type_hash: one.seen.hash.as_deref(),
        }
    }
}

impl RateJson {
    fn of(rate: Rate) -> Self {
        Self {
            samples: rate.samples,
            payload_bytes: rate.octets,
            missed: rate.missed,
            span_ns: rate.span.as_ns_floor(),
            rate_millihertz: rate.samples_per_second_milli(),
            rate_bytes_per_second: rate.octets_per_second(),
        }
    }
}

impl<'a> PairJson<'a> {
    fn of(pair: &'a Pair) -> Self {
        Self {
            topic: &pair.topic,
            writer: &pair.writer,
            reader: &pair.reader,
            identities: &pair.identities,
            reason: pair.reason.to_string(),
        }
    }
}
