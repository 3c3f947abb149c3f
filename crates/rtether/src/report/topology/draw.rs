//! Draws a placed network as SVG.

use rtether_model::network::{Link, LinkId, Network, NodeKind};

use super::super::bars::load_class;
use super::super::markup::{Element, Markup, element};
use super::super::text::{columns, percent, real_len, shorten};
use super::{Area, Layout, Wire};

/// Nodes and links highlighted initially: the path of one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Highlight {
    /// Positions of nodes.
    pub nodes: Vec<u32>,
    /// Positions of links.
    pub links: Vec<u32>,
}

/// Approximate width of a character in a station's name; switch names are bold and use [`BOLD`].
pub(super) const CHARACTER: f64 = 7.0;
const BOLD: f64 = 8.8;
/// Small drawings are enlarged up to this width, by at most [`MOST_SCALE`].
const LARGE: f64 = 1100.0;
const MOST_SCALE: f64 = 1.3;
/// Space for the load in a station's box.
pub(super) const LOAD: f64 = 46.0;

/// Returns the drawing. `loads` are the utilization of each link, sending from its first end and
/// from its second.
pub fn draw(
    network: &Network,
    layout: &Layout,
    loads: &[(f64, f64)],
    highlight: &Highlight,
) -> Markup {
    let load = |id: LinkId| loads.get(id.index()).copied().unwrap_or_default();
    let (width, height) = (layout.width, layout.height);
    let scale = (LARGE / width).clamp(1.0, MOST_SCALE);
    let mut svg = element("svg")
        .class("topology")
        .attr("viewBox", format!("0 0 {width:.0} {height:.0}"))
        .attr("width", format!("{:.0}", width * scale))
        .attr("height", format!("{:.0}", height * scale))
        .attr("style", format!("min-width:{width:.0}px"))
        .attr("role", "img")
        .attr("aria-label", "Topology with the load of each link");
    let wires = || layout.wires.iter().zip(&network.links);
    svg = svg.children(wires().map(|(wire, _)| {
        let path = path_of(&wire.route);
        element("path").class("way").attr("d", path)
    }));
    svg = svg.children(wires().map(|(wire, link)| {
        let on = highlight.links.contains(&wire.link.0);
        draw_wire(network, wire, link, load(wire.link), on)
    }));
    let station_load = station_loads(network, loads);
    svg = svg.children(
        network
            .iter_nodes()
            .zip(&layout.nodes)
            .map(|((id, node), area)| {
                let on = highlight.nodes.contains(&id.0);
                let group = element("g").attr("id", format!("node-{}", id.0));
                match node.kind {
                    NodeKind::Switch(_) => draw_switch(group, &node.name, area, on, "switch"),
                    NodeKind::Hub(_) => draw_switch(group, &node.name, area, on, "hub"),
                    NodeKind::EndStation(_) => {
                        draw_station(group, &node.name, area, on, station_load[id.index()])
                    }
                }
            }),
    );
    svg.into()
}

/// Load and state of an end station's link.
#[derive(Clone, Copy, Debug)]
enum Attachment {
    None,
    Standby,
    Load(f64),
}

fn station_loads(network: &Network, loads: &[(f64, f64)]) -> Vec<Attachment> {
    let mut found = vec![Attachment::None; network.nodes.len()];
    for (id, link) in network.iter_links() {
        let (there, back) = loads.get(id.index()).copied().unwrap_or_default();
        let own = if link.standby {
            Attachment::Standby
        } else {
            Attachment::Load(there.max(back))
        };
        for end in link.ends {
            found[end.node.index()] = own;
        }
    }
    found
}

fn draw_wire(
    network: &Network,
    wire: &Wire,
    link: &Link,
    (there, back): (f64, f64),
    on: bool,
) -> Element {
    let load = there.max(back);
    let state = if link.standby {
        "standby"
    } else {
        load_class(load)
    };
    let [a, b] = link.ends.map(|end| network.node(end.node).name.as_str());
    let rate = link.rate;
    let words = if link.standby {
        format!("{a} - {b}, {rate}, standby")
    } else {
        let (there, back) = (percent(there), percent(back));
        format!("{a} - {b}, {rate}: {a} to {b} {there}, {b} to {a} {back}")
    };
    let marked = if on { " on" } else { "" };
    let mut group = element("g")
        .attr("id", format!("link-{}", wire.link.0))
        .class(format!("link{marked}"))
        .child(element("title").text(words))
        .child(element("path").class("hot").attr("d", path_of(&wire.route)))
        .child(
            element("path")
                .class(state)
                .attr("d", path_of(&wire.route[wire.own_from..])),
        );
    if let Some((x, y, anchor)) = wire.label {
        let text = if link.standby {
            "standby".into()
        } else {
            percent(load)
        };
        group = group.child(text_at(x, y, anchor).class("load").text(text));
    }
    group
}

/// Draws a switch or hub; `kind` is its class and the first word of its title.
fn draw_switch(group: Element, name: &str, area: &Area, on: bool, kind: &str) -> Element {
    let (x, y) = area.middle();
    let label = match kind {
        "hub" => fitted(&format!("{name} (hub)"), area.width - 12.0, BOLD),
        _ => fitted(name, area.width - 12.0, BOLD),
    };
    let title = element("title").text(format!("{kind} {name}"));
    let marked = if on { " on" } else { "" };
    let group = group.class(format!("{kind}{marked}")).child(title);
    group
        .child(shape(area, 6))
        .child(text_at(x, y + 4.5, "middle").text(label))
}

fn draw_station(
    group: Element,
    name: &str,
    area: &Area,
    on: bool,
    attachment: Attachment,
) -> Element {
    let y = area.y + area.height / 2.0 + 4.0;
    let label = fitted(name, area.width - LOAD - 9.0, CHARACTER);
    let title = element("title").text(format!("station {name}"));
    let load = match attachment {
        Attachment::None => "no link".into(),
        Attachment::Standby => "standby".into(),
        Attachment::Load(load) => percent(load),
    };
    let group = group
        .class(if on { "station on" } else { "station" })
        .child(title);
    group
        .child(shape(area, 4))
        .child(text_at(area.x + 7.0, y, "start").text(label))
        .child(
            text_at(area.right() - 6.0, y, "end")
                .class("load")
                .text(load),
        )
}

/// Shortens a name until it fits.
fn fitted(name: &str, width: f64, character: f64) -> String {
    let fits = |text: &String| real_len(columns(text)) * character <= width;
    let lengths = (4..=name.chars().count().clamp(4, 100)).rev();
    let mut texts = lengths.map(|length| shorten(name, length));
    texts.find(fits).unwrap_or_else(|| shorten(name, 4))
}

fn shape(area: &Area, corner: u32) -> Element {
    element("rect")
        .attr("x", format!("{:.1}", area.x))
        .attr("y", format!("{:.1}", area.y))
        .attr("width", format!("{:.1}", area.width))
        .attr("height", format!("{:.1}", area.height))
        .attr("rx", corner)
}

fn text_at(x: f64, y: f64, anchor: &str) -> Element {
    element("text")
        .attr("x", format!("{x:.1}"))
        .attr("y", format!("{y:.1}"))
        .attr("text-anchor", anchor)
}

fn path_of(corners: &[(f64, f64)]) -> String {
    let points = corners.iter().map(|(x, y)| format!("{x:.1} {y:.1}"));
    format!("M{}", points.collect::<Vec<_>>().join("L"))
}
