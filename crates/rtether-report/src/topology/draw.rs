//! Draws a placed network as SVG.

use rtether_model::network::{Link, Network, NodeKind};

use super::super::bars::load_class;
use super::super::markup::{Element, Markup, element};
use super::super::text::{columns, percent, real_len, shorten};
use super::{Area, Layout, Wire};

/// What is said about the parts of a network.
#[derive(Clone, Debug, Default)]
pub struct Drawing<'a> {
    /// Utilization of each link, sending from its first end and from its second.
    pub loads: &'a [(f64, f64)],
    /// How each link is marked, for the worst of the streams over it.
    pub links: &'a [Mark],
    /// How each node is marked, for the worst of the streams through it.
    pub nodes: &'a [Mark],
    /// Number of equal sub-trees that begin with each node.
    pub times: &'a [usize],
    /// Initially highlighted.
    pub highlight: Highlight,
}

/// How a node or link is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Class of the style sheet.
    pub class: &'static str,
    /// What precedes the label; empty if all is well.
    pub sign: &'static str,
    /// What is said of the worst stream; `None` if there is nothing to say.
    pub word: Option<&'static str>,
}

impl Default for Mark {
    fn default() -> Self {
        Self { class: "v-none", sign: "", word: None }
    }
}

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

/// Returns the drawing.
pub fn draw(network: &Network, layout: &Layout, drawing: &Drawing<'_>) -> Markup {
    let (width, height) = (layout.width, layout.height);
    let scale = (LARGE / width).clamp(1.0, MOST_SCALE);
    let mut svg = element("svg")
        .class("topology")
        .attr("viewBox", format!("0 0 {width:.0} {height:.0}"))
        .attr("width", format!("{:.0}", width * scale))
        .attr("height", format!("{:.0}", height * scale))
        .attr("style", format!("min-width:{width:.0}px"))
        .attr("role", "img")
        .attr("aria-label", "Topology with load and verdict of each link");
    svg = svg.children(layout.wires.iter().map(|wire| {
        let path = path_of(&wire.route);
        element("path").class("way").attr("d", path)
    }));
    let wires = layout.wires.iter().zip(&network.links);
    svg = svg.children(wires.map(|(wire, link)| drawing.wire(network, wire, link)));
    let station_load = station_loads(network, drawing.loads);
    let nodes = network.iter_nodes().zip(&layout.nodes);
    svg = svg.children(nodes.map(|((id, node), area)| {
        let place = DrawnNode {
            name: &node.name,
            area,
            is_on: drawing.highlight.nodes.contains(&id.0),
            mark: drawing.nodes.get(id.index()).copied().unwrap_or_default(),
            times: drawing.times.get(id.index()).copied().unwrap_or(1),
        };
        let group = element("g").attr("id", format!("node-{}", id.0));
        match node.kind {
            NodeKind::Switch(_) => place.switch(group, "switch"),
            NodeKind::Hub(_) => place.switch(group, "hub"),
            NodeKind::EndStation(_) => place.station(group, station_load[id.index()]),
        }
    }));
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
        let own =
            if link.standby { Attachment::Standby } else { Attachment::Load(there.max(back)) };
        for end in link.ends {
            found[end.node.index()] = own;
        }
    }
    found
}

impl Drawing<'_> {
    fn wire(&self, network: &Network, wire: &Wire, link: &Link) -> Element {
        let at = wire.link.index();
        let (there, back) = self.loads.get(at).copied().unwrap_or_default();
        let mark = self.links.get(at).copied().unwrap_or_default();
        let load = there.max(back);
        let state = if link.standby {
            "standby".into()
        } else {
            format!("{} {}", load_class(load), mark.class)
        };
        let is_on = self.highlight.links.contains(&wire.link.0);
        let marked = if is_on { " on" } else { "" };
        let words = link_words(network, link, (there, back), mark.word);
        let mut group = element("g")
            .attr("id", format!("link-{}", wire.link.0))
            .class(format!("link{marked}"))
            .child(element("title").text(words))
            .child(element("path").class("hot").attr("d", path_of(&wire.route)));
        let own = path_of(&wire.route[wire.own_from..]);
        group = group.child(element("path").class(state).attr("d", own));
        if let Some((x, y, anchor)) = wire.label {
            let text = if link.standby {
                "standby".into()
            } else {
                format!("{}{}", mark.sign, percent(load))
            };
            group = group.child(text_at(x, y, anchor).class("load").text(text));
        }
        group
    }
}

fn link_words(
    network: &Network,
    link: &Link,
    (there, back): (f64, f64),
    word: Option<&str>,
) -> String {
    let [a, b] = link.ends.map(|end| network.node(end.node).name.as_str());
    let rate = link.rate;
    if link.standby {
        return format!("{a} - {b}, {rate}, standby");
    }
    let (there, back) = (percent(there), percent(back));
    let loads = format!("{a} - {b}, {rate}: {a} to {b} {there}, {b} to {a} {back}");
    loads + &worst(word)
}

fn worst(word: Option<&str>) -> String {
    word.map_or_else(String::new, |word| format!("; worst stream: {word}"))
}

/// A node in its place.
struct DrawnNode<'a> {
    name: &'a str,
    area: &'a Area,
    is_on: bool,
    mark: Mark,
    times: usize,
}

impl DrawnNode<'_> {
    /// Draws a switch or hub; `kind` is its class and the first word of its title.
    fn switch(&self, group: Element, kind: &str) -> Element {
        let area = self.area;
        let (x, y) = area.middle();
        let label = match kind {
            "hub" => format!("{} (hub)", self.name),
            _ => self.name.to_owned(),
        };
        let times = match self.times {
            1 => String::new(),
            times => format!(" \u{d7} {times}"),
        };
        let room = area.width - 12.0 - real_len(times.chars().count()) * BOLD;
        let label = fitted(&label, room, BOLD) + &times;
        let words = match self.times {
            1 => format!("{kind} {}", self.name),
            times => format!("{kind} {}, one of {times} equal sub-trees", self.name),
        };
        let group = self.start(group, kind, &words);
        let group = if self.times > 1 { group.child(shape(&behind(area), 6)) } else { group };
        group.child(shape(area, 6)).child(text_at(x, y + 4.5, "middle").text(label))
    }

    fn station(&self, group: Element, attachment: Attachment) -> Element {
        let area = self.area;
        let y = area.y + area.height / 2.0 + 4.0;
        let room = area.width - LOAD - 9.0;
        let label = fitted(&format!("{}{}", self.mark.sign, self.name), room, CHARACTER);
        let load = match attachment {
            Attachment::None => "no link".into(),
            Attachment::Standby => "standby".into(),
            Attachment::Load(load) => percent(load),
        };
        let words = format!("station {}", self.name);
        self.start(group, "station", &words)
            .child(shape(area, 4))
            .child(text_at(area.x + 7.0, y, "start").text(label))
            .child(text_at(area.right() - 6.0, y, "end").class("load").text(load))
    }

    fn start(&self, group: Element, kind: &str, words: &str) -> Element {
        let class = self.mark.class;
        let marked = if self.is_on { " on" } else { "" };
        let said = worst(self.mark.word);
        group
            .class(format!("{kind} {class}{marked}"))
            .child(element("title").text(format!("{words}{said}")))
    }
}

/// Returns the edge of a box below, of a pile.
fn behind(area: &Area) -> Area {
    Area { x: area.x + 4.0, y: area.y - 4.0, ..*area }
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
