//! A census in all formats.

use std::fmt::Write;

use rtether_model::quantity::Duration;
use serde_json::{Map, Value, json};

use super::by_version;
use super::rates::Rate;
use super::ros_output;
use super::spy::{Census, EndpointRow, FailOn};
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

/// Returns a rate as a JSON object.
fn rate_object(rate: Rate) -> Value {
    json!({
        "samples": rate.samples,
        "payload_bytes": rate.octets,
        "missed": rate.missed,
        "span_ns": rate.span.as_ns_floor(),
        "rate_millihertz": rate.samples_per_second_milli(),
        "rate_bytes_per_second": rate.octets_per_second(),
    })
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
        json(self)
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

/// Returns one JSON document.
fn json(census: &Census) -> String {
    let participants = census.participants.iter().map(|one| {
        json!({
            "identity": one.prefix,
            "name": one.name,
            "vendor": one.vendor,
            "version": one.version,
            "address": one.address,
            "lease_ns": one.lease.map(Duration::as_ns_floor),
        })
    });
    let endpoints = census.endpoints.iter().map(|one| {
        let policies = one.policies.iter();
        let policies = policies.map(|(name, value)| (name.replace([' ', '-'], "_"), json!(value)));
        json!({
            "identity": one.guid,
            "topic": one.topic,
            "type": one.type_name,
            "role": role(one.is_writer),
            "participant": one.who,
            "policies": policies.collect::<Map<String, Value>>(),
            "rate": one.rate.map(rate_object),
            "node": census.ros.as_ref().and_then(|graph| graph.owners.get(&one.guid)),
            "type_hash": one.seen.hash,
        })
    });
    let apart = census.apart.iter().map(|pair| {
        json!({
            "topic": pair.topic,
            "writer": pair.writer,
            "reader": pair.reader,
            "identities": pair.identities,
            "reason": pair.reason.to_string(),
        })
    });
    let document = json!({
        "schema": "rtether.spy/1",
        "domain": census.domain,
        "conclusion": census.conclusion().map(Conclusion::word),
        "summary": summary(census),
        "participants": participants.collect::<Vec<_>>(),
        "endpoints": endpoints.collect::<Vec<_>>(),
        "mismatches": apart.collect::<Vec<_>>(),
        "mismatches_cut": census.is_cut,
        "ros": census.ros.as_ref().map(ros_output::json),
        "impostors": census.impostors,
        "other_versions": by_version(&census.versions),
        "ended_early": census.ended,
    });
    format!("{document:#}\n")
}
