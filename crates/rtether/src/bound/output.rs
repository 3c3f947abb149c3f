//! Bounds as table, JSON and CSV.

use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};
use rtether_bounds::{Analysis, PortBound, StreamBound};
use rtether_model::quantity::Duration;
use serde_json::{Value, json};

use super::{counts, peer, place_name, reason, responsible, verdict};
use crate::report::text::{exact_ns, percent, plain_line, plural, time, time_or_dash};
use crate::scenario::Scenario;

/// Parts of a million as a share.
#[allow(clippy::cast_precision_loss, reason = "for display")]
fn share(ppm: u64) -> f64 {
    ppm as f64 / 1e6
}

/// Returns the bounds as a table, with the busiest ports below.
pub fn table(scenario: &Scenario, analysis: &Analysis) -> String {
    let mut table = Table::new();
    let rule = LineStyle::none().fill('\u{2500}').junction('\u{2500}');
    table.load_style(TableStyle::new().header_separator(rule));
    table.set_header([
        "flow",
        "talker > listener",
        "bound",
        "deadline",
        "slack",
        "verdict",
        "most of it, or why there is none",
    ]);
    for stream in &analysis.streams {
        table.add_row(row(scenario, stream));
    }
    for column in 2..5 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let found = counts(scenario, analysis);
    let words = [
        (found.ok, "ok"),
        (found.late, "late"),
        (found.unknown, "without a bound"),
        (found.unjudged, "without a deadline"),
    ];
    let words = words.into_iter().filter(|(number, _)| *number > 0);
    let words: Vec<String> = words
        .map(|(number, word)| format!("{number} {word}"))
        .collect();
    format!(
        "{}\n{}\n\nbusiest ports  {}\n{}: {}. A bound holds if nothing is lost for lack of \
         memory.\n",
        plain_line(&scenario.name),
        table.trim_fmt(),
        busiest(scenario, analysis),
        plural(analysis.streams.len(), "stream"),
        words.join(", ")
    )
}

fn row(scenario: &Scenario, stream: &StreamBound) -> Vec<Cell> {
    let flow = &scenario.flows[stream.flow.index()];
    let name = |id| scenario.network.node(id).name.clone();
    let bound = stream.bound.as_ref().ok();
    let remark = match &stream.bound {
        Ok(bound) => responsible(scenario, bound).map_or_else(String::new, |(place, share)| {
            format!("{} {place}", percent(share))
        }),
        Err(why) => reason(scenario, why),
    };
    let cells = [
        flow.name.clone(),
        format!("{} > {}", name(flow.talker), name(stream.listener)),
        bound.map_or_else(|| "none".into(), |bound| time(bound.latency)),
        time_or_dash(flow.deadline),
        bound
            .and_then(|bound| bound.slack)
            .map_or_else(|| "-".into(), signed),
        verdict(scenario, stream).to_owned(),
        remark,
    ];
    cells.into_iter().map(Cell::new).collect()
}

fn signed(span: Duration) -> String {
    if span.is_negative() {
        format!("-{}", time(Duration::ZERO - span))
    } else {
        time(span)
    }
}

fn busiest(scenario: &Scenario, analysis: &Analysis) -> String {
    let mut ports: Vec<&PortBound> = analysis.ports.iter().collect();
    ports.sort_by_key(|port| std::cmp::Reverse(port.utilization_ppm.unwrap_or(u64::MAX)));
    let words = ports.into_iter().take(3).map(|port| {
        let load = port
            .utilization_ppm
            .map_or_else(|| "unlimited".into(), |ppm| percent(share(ppm)));
        format!("{} {load}", port_name(scenario, port))
    });
    words.collect::<Vec<_>>().join(", ")
}

fn port_name(scenario: &Scenario, port: &PortBound) -> String {
    let name = |id| scenario.network.node(id).name.as_str();
    let peer = peer(scenario, port.port).map_or("nowhere", name);
    format!("{} > {peer}", name(port.port.node))
}

/// Returns everything as one JSON document, schema `rtether.bound/1`.
pub fn json(scenario: &Scenario, analysis: &Analysis) -> String {
    let streams = analysis.streams.iter();
    let ports = analysis.ports.iter().map(|port| {
        json!({
            "port": port_name(scenario, port),
            "utilization": port.utilization_ppm.map(share),
            "backlog_bytes": port.backlog.map(rtether_model::quantity::Bytes::get),
            "queueing_ns": nanoseconds(port.queueing),
        })
    });
    let stacks = analysis.stacks.iter().map(|stack| {
        json!({
            "node": scenario.network.node(stack.node).name,
            "serves": if stack.is_receiver { "receive" } else { "send" },
            "utilization": stack.utilization_ppm.map(share),
            "waiting_packets": stack.waiting,
            "queueing_ns": nanoseconds(stack.queueing),
        })
    });
    let document = json!({
        "schema": "rtether.bound/1",
        "scenario": scenario.name,
        "is_cyclic": analysis.effort.is_cyclic,
        "streams": streams.map(|stream| stream_json(scenario, stream)).collect::<Vec<_>>(),
        "ports": ports.collect::<Vec<_>>(),
        "stacks": stacks.collect::<Vec<_>>(),
    });
    format!("{document:#}\n")
}

fn stream_json(scenario: &Scenario, stream: &StreamBound) -> Value {
    let flow = &scenario.flows[stream.flow.index()];
    let name = |id| scenario.network.node(id).name.as_str();
    let bound = stream.bound.as_ref().ok();
    let hops = bound.map(|bound| {
        let hops = bound.hops.iter().map(|hop| {
            json!({
                "place": place_name(scenario, hop.place),
                "queueing_ns": nanoseconds(Some(hop.queueing)),
                "passage_ns": nanoseconds(Some(hop.passage)),
            })
        });
        hops.collect::<Vec<_>>()
    });
    json!({
        "name": flow.name,
        "talker": name(flow.talker),
        "listener": name(stream.listener),
        "deadline_ns": nanoseconds(flow.deadline),
        "bound_ns": nanoseconds(bound.map(|bound| bound.latency)),
        "min_ns": nanoseconds(bound.map(|bound| bound.latency_min)),
        "slack_ns": nanoseconds(bound.and_then(|bound| bound.slack)),
        "method": bound.map(|bound| bound.method.name()),
        "hops": hops,
        "verdict": verdict(scenario, stream),
        "reason": stream.bound.as_ref().err().map(|why| reason(scenario, why)),
    })
}

fn nanoseconds(span: Option<Duration>) -> Value {
    span.map_or(Value::Null, |span| json!(span.as_ns_f64()))
}

/// Returns one CSV row a stream.
pub fn csv(scenario: &Scenario, analysis: &Analysis) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let header = [
        "flow",
        "talker",
        "listener",
        "verdict",
        "deadline_ns",
        "bound_ns",
        "slack_ns",
        "method",
        "responsible",
        "reason",
    ];
    drop(writer.write_record(header));
    for stream in &analysis.streams {
        let flow = &scenario.flows[stream.flow.index()];
        let name = |id| scenario.network.node(id).name.clone();
        let bound = stream.bound.as_ref().ok();
        let exact =
            |span: Option<Duration>| span.map_or_else(String::new, |span| exact_ns(span.as_ps()));
        drop(
            writer.write_record([
                flow.name.clone(),
                name(flow.talker),
                name(stream.listener),
                verdict(scenario, stream).to_owned(),
                exact(flow.deadline),
                exact(bound.map(|bound| bound.latency)),
                exact(bound.and_then(|bound| bound.slack)),
                bound.map_or_else(String::new, |bound| bound.method.name().to_owned()),
                bound
                    .and_then(|bound| responsible(scenario, bound))
                    .map_or_else(String::new, |(place, _)| place),
                stream
                    .bound
                    .as_ref()
                    .err()
                    .map_or_else(String::new, |why| reason(scenario, why)),
            ]),
        );
    }
    // Writing into memory does not fail.
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
