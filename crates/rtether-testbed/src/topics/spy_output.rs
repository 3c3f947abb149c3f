//! A census as tables, JSON and CSV.

use std::fmt::Write;

use comfy_table::{LineStyle, Table, TableStyle};
use rtether_model::quantity::Duration;
use serde_json::{Map, Value, json};

use super::output::row;
use super::rates::Rate;
use super::spy::{Census, EndpointRow};
use rtether::report::text::{plural, time};

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

/// Returns samples per second, octets per second and missed samples; empty cells for readers.
fn rate_cells(endpoint: &EndpointRow) -> [String; 3] {
    let Some(rate) = endpoint.rate else {
        return [const { String::new() }; 3];
    };
    [
        thousandths(rate.samples_per_second_milli()),
        rate.octets_per_second().to_string(),
        rate.missed.to_string(),
    ]
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

/// Returns tables of participants, their endpoints, and the pairs that do not match.
pub fn census_table(census: &Census) -> String {
    let mut text = format!(
        "Domain {}: {}, {}\n",
        census.domain,
        plural(census.participants.len(), "participant"),
        plural(census.endpoints.len(), "endpoint"),
    );
    if !census.participants.is_empty() {
        _ = writeln!(text, "\n{}", participants(census));
    }
    if !census.endpoints.is_empty() {
        _ = writeln!(text, "\n{}", endpoints(census));
    }
    if census.impostors > 0 {
        let count = usize::try_from(census.impostors).unwrap_or(usize::MAX);
        _ = writeln!(
            text,
            "\n{} dropped: from addresses that the participant in question has not announced",
            plural(count, "message")
        );
    }
    mismatches(&mut text, census);
    text
}

fn participants(census: &Census) -> String {
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
    table(&header, rows)
}

fn endpoints(census: &Census) -> String {
    let rows = census.endpoints.iter().map(|one| {
        let mut row = vec![
            one.topic.clone(),
            one.type_name.clone(),
            role(one.is_writer).to_owned(),
            one.who.clone(),
        ];
        if census.has_rates {
            row.extend(rate_cells(one));
        }
        row.push(policies(one));
        row
    });
    let mut header = vec!["topic", "type", "role", "participant"];
    if census.has_rates {
        header.extend(["samples/s", "octets/s", "missed"]);
    }
    header.push("other than default");
    table(&header, rows)
}

fn mismatches(text: &mut String, census: &Census) {
    if census.apart.is_empty() {
        text.push_str("\nall writers and readers of a topic match\n");
        return;
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
        text.push_str("  and possibly others; there are too many to compare all");
    }
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
            "rate": one.rate.map(rate_object),
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
        "impostors": census.impostors,
        "ended_early": census.ended,
    });
    format!("{document:#}\n")
}

/// Returns one CSV row per endpoint, and one per participant without endpoints.
pub fn census_csv(census: &Census) -> String {
    let header = [
        "topic",
        "type",
        "role",
        "identity",
        "participant",
        "policies",
    ];
    let rates = ["samples", "payload_bytes", "missed", "span_ns"];
    let rates = rates.into_iter().filter(|_| census.has_rates);
    let mut text = row(header.into_iter().chain(rates).map(str::to_owned));
    let counted = |one: Option<Rate>| {
        let numbers = one.map(|rate| {
            let span = u64::try_from(rate.span.as_ns_floor()).unwrap_or(0);
            [rate.samples, rate.octets, rate.missed, span].map(|number| number.to_string())
        });
        let numbers = numbers.unwrap_or_default().into_iter();
        numbers.filter(|_| census.has_rates)
    };
    for one in &census.endpoints {
        let cells = [
            one.topic.clone(),
            one.type_name.clone(),
            role(one.is_writer).to_owned(),
            one.guid.clone(),
            one.who.clone(),
            policies(one),
        ];
        text.push_str(&row(cells.into_iter().chain(counted(one.rate))));
    }
    let lonely = census.participants.iter().filter(|one| {
        let mut endpoints = census.endpoints.iter();
        !endpoints.any(|endpoint| endpoint.guid.starts_with(&one.prefix))
    });
    for one in lonely {
        let (identity, name) = (one.prefix.clone(), one.name.clone());
        let empty = String::new;
        let cells = [empty(), empty(), "none".to_owned(), identity, name, empty()];
        text.push_str(&row(cells.into_iter().chain(counted(None))));
    }
    text
}
