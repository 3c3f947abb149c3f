//! A census as tables, JSON and CSV.

use std::fmt::Write;

use comfy_table::{LineStyle, Table, TableStyle};
use rtether_model::quantity::Duration;
use serde_json::{Map, Value, json};

use super::output::row;
use super::spy::{Census, EndpointRow};
use crate::report::text::{plural, time};

fn table(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    let rule = LineStyle::none().fill('\u{2500}').junction('\u{2500}');
    table.load_style(TableStyle::new().header_separator(rule));
    table.set_header(header);
    for row in rows {
        table.add_row(row);
    }
    table.to_string()
}

fn lease(lease: Option<Duration>) -> String {
    lease.map_or_else(|| "infinite".to_owned(), time)
}

fn policies(endpoint: &EndpointRow) -> String {
    let each = endpoint.policies.iter();
    let each = each.map(|(name, value)| format!("{name}: {value}"));
    each.collect::<Vec<_>>().join("; ")
}

const fn role(is_writer: bool) -> &'static str {
    if is_writer { "writer" } else { "reader" }
}

/// Returns tables of participants, of their endpoints, and of those that do not meet.
pub fn census_table(census: &Census) -> String {
    let mut text = format!(
        "Domain {}: {}, {}\n",
        census.domain,
        plural(census.participants.len(), "participant"),
        plural(census.endpoints.len(), "endpoint"),
    );
    if !census.participants.is_empty() {
        let rows = census.participants.iter().map(|one| {
            vec![
                one.name.clone(),
                one.vendor.clone(),
                one.version.clone(),
                one.address.clone(),
                lease(one.lease),
                one.prefix.clone(),
            ]
        });
        let header = [
            "participant",
            "vendor",
            "RTPS",
            "address",
            "lease",
            "identity",
        ];
        _ = writeln!(text, "\n{}", table(&header, rows));
    }
    if !census.endpoints.is_empty() {
        let rows = census.endpoints.iter().map(|one| {
            vec![
                one.topic.clone(),
                one.type_name.clone(),
                role(one.is_writer).to_owned(),
                one.who.clone(),
                policies(one),
            ]
        });
        let header = ["topic", "type", "role", "participant", "other than default"];
        _ = writeln!(text, "\n{}", table(&header, rows));
    }
    if census.apart.is_empty() {
        text.push_str("\nall writers and readers of a topic match\n");
        return text;
    }
    _ = writeln!(
        text,
        "\n{} do not match:",
        plural(census.apart.len(), "pair")
    );
    for pair in &census.apart {
        let (topic, reason) = (&pair.topic, &pair.reason);
        let (writer, reader) = (&pair.writer, &pair.reader);
        _ = writeln!(
            text,
            "  `{topic}`: {writer} writes, {reader} reads: {reason}"
        );
    }
    if census.is_cut {
        text.push_str("  and perhaps others; these are too many to compare them all\n");
    }
    text
}

/// Returns one JSON document.
pub fn census_json(census: &Census) -> String {
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
        })
    });
    let apart = census.apart.iter().map(|pair| {
        json!({
            "topic": pair.topic,
            "writer": pair.writer,
            "reader": pair.reader,
            "reason": pair.reason.to_string(),
        })
    });
    let document = json!({
        "schema": "rtether.spy/1",
        "domain": census.domain,
        "participants": participants.collect::<Vec<_>>(),
        "endpoints": endpoints.collect::<Vec<_>>(),
        "mismatches": apart.collect::<Vec<_>>(),
        "mismatches_cut": census.is_cut,
        "ended_early": census.ended,
    });
    format!("{document:#}\n")
}

/// Returns one CSV row per endpoint; participants without any have a row as well.
pub fn census_csv(census: &Census) -> String {
    let header = [
        "topic",
        "type",
        "role",
        "identity",
        "participant",
        "policies",
    ];
    let mut text = row(header.into_iter().map(str::to_owned));
    for one in &census.endpoints {
        let cells = [
            one.topic.clone(),
            one.type_name.clone(),
            role(one.is_writer).to_owned(),
            one.guid.clone(),
            one.who.clone(),
            policies(one),
        ];
        text.push_str(&row(cells.into_iter()));
    }
    let lonely = census.participants.iter().filter(|one| {
        let mut endpoints = census.endpoints.iter();
        !endpoints.any(|endpoint| endpoint.guid.starts_with(&one.prefix))
    });
    for one in lonely {
        let (identity, name) = (one.prefix.clone(), one.name.clone());
        let empty = String::new;
        let cells = [empty(), empty(), "none".to_owned(), identity, name, empty()];
        text.push_str(&row(cells.into_iter()));
    }
    text
}
