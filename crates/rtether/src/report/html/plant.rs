//! The plant: links and nodes.

use rtether_model::quantity::Duration;
use rtether_model::record::{NodeRecord, PortRecord};

use super::super::checked::Checked;
use super::super::markup::Markup;
use super::super::page::{DataTable, TableCell};
use super::super::text::count;
use super::cells::time_cell;
use super::{MOST_ROWS, left_out};

pub(super) fn load_cell(share: f64) -> TableCell {
    TableCell::gauge(share)
}

/// Returns a cell with a count, aligned as a number.
pub fn number(value: u64) -> TableCell {
    TableCell::number(count(value), value)
}

/// Returns the table of sending ports.
pub(super) fn ports(checked: &Checked) -> Markup {
    let record = &checked.results.record;
    let observed = record.observed;
    let mut ports: Vec<&PortRecord> = record.ports.iter().collect();
    ports.sort_by(|a, b| {
        let by_load = b.utilization(observed).total_cmp(&a.utilization(observed));
        by_load.then(a.port.cmp(&b.port))
    });
    let names = [
        ("link", false),
        ("load", false),
        ("rate", true),
        ("frames sent", true),
        ("dropped", true),
        ("corrupted", true),
        ("largest backlog", true),
        ("queues: largest depth", false),
    ];
    let rows = ports.iter().take(MOST_ROWS).map(|port| {
        let failed = port.dropped > 0;
        (port_row(checked, port, observed), failed)
    });
    let mut all = left_out(ports.len(), "sending port", "busiest");
    all.push(table(&names, rows.collect()));
    all
}

fn port_row(checked: &Checked, port: &PortRecord, observed: Duration) -> Vec<TableCell> {
    let node = checked.node_name(port.port.node);
    let peer = checked.peer_name(port.port).unwrap_or("\u{2013}");
    let rate = checked.scenario.network.links[port.link.index()].rate;
    let depths: Vec<String> = port.queues.iter().map(|q| q.depth_max.to_string()).collect();
    let dropped = number(port.dropped);
    vec![
        TableCell::text(format!("{node} > {peer}")).class("name"),
        load_cell(port.utilization(observed)),
        TableCell::number(rate, rate.as_bps()),
        number(port.sent),
        if port.dropped > 0 { dropped.class("n over") } else { dropped },
        number(port.corrupted),
        TableCell::number(format!("{} B", count(port.backlog_max.get())), port.backlog_max.get()),
        TableCell::text(depths.join(" / ")),
    ]
}

/// Returns the table of nodes.
pub(super) fn nodes(checked: &Checked) -> Markup {
    let record = &checked.results.record;
    let observed = record.observed;
    let mut nodes: Vec<&NodeRecord> = record.nodes.iter().collect();
    nodes.sort_by(|a, b| b.stack_busy.cmp(&a.stack_busy).then(a.node.cmp(&b.node)));
    let names = [
        ("node", false),
        ("kind", false),
        ("load of the stack", false),
        ("longest queue", true),
        ("dropped", true),
        ("released", true),
        ("delivered", true),
        ("frames arrived", true),
        ("copied", true),
        ("filtered", true),
        ("bad FCS", true),
        ("stack busy", true),
    ];
    let rows = nodes.iter().take(MOST_ROWS).map(|node| {
        let failed = node.stack_dropped > 0;
        (node_row(checked, node, observed), failed)
    });
    let mut all = left_out(nodes.len(), "node", "busiest stacks");
    all.push(table(&names, rows.collect()));
    all
}

fn node_row(checked: &Checked, node: &NodeRecord, observed: Duration) -> Vec<TableCell> {
    let kind = checked.kind_name(node.node);
    let dropped = number(node.stack_dropped);
    let load = load_cell(node.stack_utilization(observed));
    let none = TableCell::text("\u{2013}").sorted_by("");
    vec![
        TableCell::text(checked.node_name(node.node)).class("name"),
        TableCell::text(kind),
        if kind == "station" { load } else { none },
        number(node.stack_queue_max.into()),
        if node.stack_dropped > 0 { dropped.class("n over") } else { dropped },
        number(node.released),
        number(node.delivered),
        number(node.arrived),
        number(node.copied),
        number(node.filtered),
        number(node.discarded),
        time_cell(Some(node.stack_busy)),
    ]
}

/// Returns a table: column names, and whether a column is numeric; rows, and whether a row contains
/// a failure.
pub fn table(names: &[(&str, bool)], rows: Vec<(Vec<TableCell>, bool)>) -> Markup {
    let table = DataTable {
        columns: names.iter().map(|&(name, number)| (name.to_owned(), number)).collect(),
        filter: rows.len() > 8,
        rows,
    };
    table.render()
}
