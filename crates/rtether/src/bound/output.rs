//! Bounds as table and CSV.

use std::collections::BTreeMap;

use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};
use rtether_bounds::{Analysis, FlowLimit, PortBound, StreamBound};
use rtether_model::quantity::Duration;

use super::{MODEL, Statistical, counts, peer, reason, responsible, statistical, verdict};
use crate::report::text::{exact_ns, percent, plain_line, plural, time, time_or_dash};
use crate::scenario::Scenario;
use crate::sheet::Sheet;

/// Converts millionths to a share.
#[allow(clippy::cast_precision_loss, reason = "for display")]
pub(super) fn share(ppm: u64) -> f64 {
    ppm as f64 / 1e6
}

/// Returns the bounds as a table, with the busiest ports below.
pub fn table(scenario: &Scenario, analysis: &Analysis) -> String {
    let mut table = Table::new();
    let rule = LineStyle::none().fill('\u{2500}').junction('\u{2500}');
    table.load_style(TableStyle::new().header_separator(rule));
    let statistical = statistical(scenario);
    let has_statistical = statistical.iter().any(Option::is_some);
    let mut header = vec![
        "flow",
        "talker > listener",
        "bound",
        "deadline",
        "slack",
        "verdict",
    ];
    if has_statistical {
        header.push("statistical");
    }
    header.push("largest part, or why there is no bound");
    table.set_header(header);
    for (stream, said) in analysis.streams.iter().zip(statistical) {
        let said = has_statistical.then(|| words_or_dash(said));
        table.add_row(row(scenario, stream, said));
    }
    for column in 2..5 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let found = counts(scenario, analysis);
    let words = [
        (found.ok, "proved"),
        (found.late, "not proved"),
        (found.unknown, "without a bound"),
        (found.unjudged, "without a deadline"),
    ];
    let words = words.into_iter().filter(|(number, _)| *number > 0);
    let words: Vec<String> = words
        .map(|(number, word)| format!("{number} {word}"))
        .collect();
    let footnote = if has_statistical {
        format!("{MODEL}\n")
    } else {
        String::new()
    };
    format!(
        "{}\n{}\n\n{footnote}busiest ports  {}\n{}{}: {}. A bound holds if nothing is lost \
         for lack of memory.\n",
        plain_line(&scenario.name),
        table.trim_fmt(),
        busiest(scenario, analysis),
        open_flows(scenario, analysis),
        plural(analysis.streams.len(), "stream"),
        words.join(", ")
    )
}

/// Returns one row; `said` is the statistical column, if there is one.
fn row(scenario: &Scenario, stream: &StreamBound, said: Option<String>) -> Vec<Cell> {
    let flow = &scenario.flows[stream.flow.index()];
    let name = |id| scenario.network.node(id).name.clone();
    let bound = stream.bound.as_ref().ok();
    let remark = match &stream.bound {
        Ok(bound) => responsible(scenario, bound).map_or_else(String::new, |(place, share)| {
            format!("{} {place}", percent(share))
        }),
        Err(why) => reason(scenario, why),
    };
    let mut cells = vec![
        flow.name.clone(),
        format!("{} > {}", name(flow.talker), name(stream.listener)),
        bound.map_or_else(|| "none".into(), |bound| time(bound.latency)),
        time_or_dash(flow.deadline),
        bound
            .and_then(|bound| bound.slack)
            .map_or_else(|| "-".into(), signed),
        super::words(verdict(scenario, stream)),
    ];
    cells.extend(said);
    cells.push(remark);
    cells.into_iter().map(Cell::new).collect()
}

fn words_or_dash(said: Option<Statistical>) -> String {
    said.map_or_else(|| "-".into(), |said| said.words())
}

pub(super) fn signed(span: Duration) -> String {
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

/// Returns in words what limits a flow with unlimited releases.
pub(super) fn flow_limit(scenario: &Scenario, limit: FlowLimit) -> String {
    let name = |node| scenario.network.node(node).name.as_str();
    match limit {
        FlowLimit::Window => "window".into(),
        FlowLimit::Smoother(node) => format!("smoother of {}", name(node)),
        FlowLimit::Stack(node) => format!("stack of {}", name(node)),
        FlowLimit::Line => "line rate".into(),
    }
}

/// Returns one line on what limits the flows with unlimited releases; empty without any.
fn open_flows(scenario: &Scenario, analysis: &Analysis) -> String {
    let mut limits: BTreeMap<String, usize> = BTreeMap::new();
    for open in &analysis.open_flows {
        *limits.entry(flow_limit(scenario, open.limit)).or_default() += 1;
    }
    let words = limits.iter().map(|(limit, flows)| match flows {
        1 => format!("1 flow by {limit}"),
        _ => format!("{flows} flows by {limit}"),
    });
    let words: Vec<String> = words.collect();
    if words.is_empty() {
        return String::new();
    }
    format!("bulk limited   {}\n", words.join(", "))
}

pub(super) fn port_name(scenario: &Scenario, port: &PortBound) -> String {
    let name = |id| scenario.network.node(id).name.as_str();
    let peer = peer(scenario, port.port).map_or("nowhere", name);
    format!("{} > {peer}", name(port.port.node))
}

/// Returns one CSV row per stream.
pub fn csv(scenario: &Scenario, analysis: &Analysis) -> String {
    let mut writer = Sheet::from_writer(Vec::new());
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
        "late_statistical_ratio",
        "reason",
    ];
    drop(writer.write_record(header));
    for (stream, said) in analysis.streams.iter().zip(statistical(scenario)) {
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
                said.map_or_else(String::new, |said| said.late_ratio.to_string()),
                stream
                    .bound
                    .as_ref()
                    .err()
                    .map_or_else(String::new, |why| reason(scenario, why)),
            ]),
        );
    }
    writer.into_text()
}
