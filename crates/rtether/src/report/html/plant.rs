//! The plant: topology, links, nodes.

use rtether_model::network::{LinkId, PortId};
use rtether_model::quantity::Duration;
use rtether_model::record::{NodeRecord, PortRecord};
use rtether_model::route::Routing;

use super::super::bars::gauge;
use super::super::checked::Checked;
use super::super::markup::{Element, Markup, element};
use super::super::page::{DataTable, TableCell};
use super::super::text::count;
use super::super::topology::{self, Highlight};
use super::is_small;
use super::verdicts::time_cell;

/// Most paths to choose from.
const MOST_PATHS: usize = 200;

/// Draws the topology with link loads and the path of the worst stream.
pub(super) fn topology(checked: &Checked) -> Markup {
    let network = &checked.scenario.network;
    let routing = Routing::new(network);
    let paths: Vec<(String, Highlight)> = streams_on_offer(checked)
        .into_iter()
        .filter_map(|index| {
            let stream = checked.stream(index);
            let (nodes, links) = checked.path_of(&routing, &stream)?;
            let name = format!(
                "{}: {}",
                stream.standing().name(),
                checked.stream_name(&stream)
            );
            Some((name, Highlight { nodes, links }))
        })
        .collect();
    let none = Highlight::default();
    let marked = paths.first().map_or(&none, |(_, path)| path);
    let layout = topology::layout(network);
    let drawing = topology::draw(network, &layout, &loads(checked), marked);
    let mut all = chooser(&paths);
    let scroll = element("div").class("scroll").attr("tabindex", "0");
    all.push(scroll.child(drawing));
    let mut nodes = network.iter_nodes();
    all.push(legend(nodes.any(|(id, _)| network.hub(id).is_some())));
    all
}

/// Returns the streams to choose from: all of a small plant; of a large one, those that failed and
/// the worst of each class.
fn streams_on_offer(checked: &Checked) -> Vec<usize> {
    let order = checked.worst_first();
    if is_small(checked) {
        return order;
    }
    let firsts: Vec<usize> = checked
        .groups()
        .iter()
        .map(|group| group.streams[0])
        .collect();
    let is_wanted =
        |index: &usize| checked.stream(*index).verdict().is_failure() || firsts.contains(index);
    order
        .into_iter()
        .filter(is_wanted)
        .take(MOST_PATHS)
        .collect()
}

/// Returns the list of paths; without the script, the name of the highlighted one.
fn chooser(paths: &[(String, Highlight)]) -> Markup {
    let Some((first, _)) = paths.first() else {
        return Markup::default();
    };
    let options = paths.iter().map(|(name, path)| {
        let nodes = path.nodes.iter().map(|node| format!("node-{node}"));
        let links = path.links.iter().map(|link| format!("link-{link}"));
        let parts: Vec<String> = nodes.chain(links).collect();
        let name = super::super::text::shorten(name, 80);
        element("option").attr("value", parts.join(" ")).text(name)
    });
    let none = element("option").attr("value", "").text("no path");
    let select = element("select")
        .attr("id", "path")
        .children(options)
        .child(none);
    let label = element("label").text("Marked path ").child(select);
    let tools = element("div")
        .class("tools")
        .attr("hidden", "hidden")
        .child(label);
    let plain = element("noscript").child(
        element("p")
            .class("note")
            .text(format!("Marked path: {first}")),
    );
    [tools, plain].into_iter().collect()
}

fn legend(has_hub: bool) -> Markup {
    let steps = [
        ("u0", "below 5 %"),
        ("u1", "5 to 25 %"),
        ("u2", "25 to 50 %"),
        ("u3", "50 to 75 %"),
        ("u4", "75 % and more"),
    ];
    let entries = steps.map(|(class, text)| {
        let line = element("path").class(class).attr("d", "M1 6H29");
        let key = element("svg")
            .attr("viewBox", "0 0 30 12")
            .attr("width", 30)
            .attr("height", 12);
        element("span")
            .child(key.attr("aria-hidden", "true").child(line))
            .text(text)
    });
    let legend = element("div").class("legend loads").children(entries);
    if has_hub {
        return legend.child(hub_entry()).into();
    }
    legend.into()
}

fn hub_entry() -> Element {
    let shape = element("rect")
        .attr("x", 1)
        .attr("y", 1)
        .attr("width", 28)
        .attr("height", 12)
        .attr("rx", 3);
    let key = element("svg")
        .class("hub")
        .attr("viewBox", "0 0 30 14")
        .attr("width", 30)
        .attr("height", 14);
    let text = "hub: its links share one medium, whose load all of them show";
    element("span")
        .child(key.attr("aria-hidden", "true").child(shape))
        .text(text)
}

/// Returns the load of each link, sending from its first end and from its second.
fn loads(checked: &Checked) -> Vec<(f64, f64)> {
    let record = &checked.results.record;
    let observed = record.observed;
    let mut loads = vec![(0.0, 0.0); checked.scenario.network.links.len()];
    for port in &record.ports {
        let load = port.utilization(observed);
        let is_first = is_first_end(checked, port.link, port.port);
        if let Some(slot) = loads.get_mut(port.link.index()) {
            if is_first {
                slot.0 = load;
            } else {
                slot.1 = load;
            }
        }
    }
    // On a shared medium both ends of a link have the same load.
    for domain in checked.domains() {
        let load = domain.record.utilization(observed);
        for link in &domain.links {
            loads[link.index()] = (load, load);
        }
    }
    loads
}

fn is_first_end(checked: &Checked, link: LinkId, port: PortId) -> bool {
    let link = checked.scenario.network.links.get(link.index());
    link.is_some_and(|link| link.ends[0] == port)
}

pub(super) fn load_cell(share: f64) -> TableCell {
    TableCell::markup(gauge(share)).sorted_by(share)
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
    let rows = ports.iter().map(|port| {
        let failed = port.dropped > 0;
        (port_row(checked, port, observed), failed)
    });
    table(&names, rows.collect())
}

fn port_row(checked: &Checked, port: &PortRecord, observed: Duration) -> Vec<TableCell> {
    let node = checked.node_name(port.port.node);
    let peer = checked.peer_name(port.port).unwrap_or("\u{2013}");
    let rate = checked.scenario.network.links[port.link.index()].rate;
    let depths: Vec<String> = port
        .queues
        .iter()
        .map(|q| q.depth_max.to_string())
        .collect();
    let dropped = number(port.dropped);
    vec![
        TableCell::text(format!("{node} > {peer}")).class("name"),
        load_cell(port.utilization(observed)),
        TableCell::number(rate, rate.as_bps()),
        number(port.sent),
        if port.dropped > 0 {
            dropped.class("n over")
        } else {
            dropped
        },
        number(port.corrupted),
        TableCell::number(
            format!("{} B", count(port.backlog_max.get())),
            port.backlog_max.get(),
        ),
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
    let rows = nodes.iter().map(|node| {
        let failed = node.stack_dropped > 0;
        (node_row(checked, node, observed), failed)
    });
    table(&names, rows.collect())
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
        if node.stack_dropped > 0 {
            dropped.class("n over")
        } else {
            dropped
        },
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
        columns: names
            .iter()
            .map(|&(name, number)| (name.to_owned(), number))
            .collect(),
        filter: rows.len() > 8,
        rows,
    };
    table.render()
}
