//! The topology with load and verdict of each link, paths to mark, and streams over a link.

use std::collections::BTreeMap;

use rtether_model::network::{LinkId, Network, NodeId, PortId};
use rtether_model::route::Routing;
use serde_json::json;

use super::super::checked::Checked;
use super::super::markup::{Element, Markup, element};
use super::super::topology::{self, Drawing, Folded, Highlight, Mark};
use super::{MOST_ROWS, is_small, verdicts};
use crate::words::Standing;

/// Networks with more nodes are folded.
const FOLD_FROM: usize = 60;
/// Most links and nodes to choose from.
const MOST_PLACES: usize = 1_000;
/// Most paths to choose from.
const MOST_PATHS: usize = 200;

/// Draws the topology with link loads, verdicts and the path of the worst stream.
pub(super) fn topology(checked: &Checked) -> Markup {
    let (streams, plant, paths) = placed(checked);
    let on_offer = streams_on_offer(checked, &streams);
    let offered: Vec<(String, &Highlight)> = on_offer
        .into_iter()
        .map(|place| (title(checked, streams[place]), &paths[place]))
        .filter(|(_, path)| !path.nodes.is_empty())
        .collect();
    let first = offered.first().map(|(_, path)| (*path).clone());
    let mut all = tools(&offered, &plant.folded.network);
    all.push(drawn(&plant, first.unwrap_or_default()));
    let said = element("p").attr("id", "over-said").attr("role", "status");
    all.push(said);
    all.push(verdicts::chosen(checked, "over-streams"));
    all.push(ways(&paths[..paths.len().min(MOST_ROWS)]));
    all
}

/// Draws the same without a choice of streams: the path of the worst is marked. It needs no script,
/// and brings no style.
pub fn plan(checked: &Checked) -> Markup {
    let (_, plant, paths) = placed(checked);
    let first = paths.into_iter().find(|path| !path.nodes.is_empty());
    drawn(&plant, first.unwrap_or_default())
}

/// Returns the streams, worst first, what is drawn, and the path of each stream in it.
fn placed(checked: &Checked) -> (Vec<usize>, Plant, Vec<Highlight>) {
    let routing = Routing::new(&checked.scenario.network);
    let streams = checked.worst_first();
    let paths: Vec<_> =
        streams.iter().map(|&index| checked.path_of(&routing, &checked.stream(index))).collect();
    let plant = Plant::new(checked, &streams, &paths);
    let paths = paths
        .into_iter()
        .map(|path| path.map_or_else(Highlight::default, |path| plant.drawn(&path)))
        .collect();
    (streams, plant, paths)
}

/// Draws a plant, with the legend below.
fn drawn(plant: &Plant, highlight: Highlight) -> Markup {
    let network = &plant.folded.network;
    let drawing = Drawing {
        loads: &plant.loads,
        links: &marks(&plant.links),
        nodes: &marks(&plant.nodes),
        times: &plant.folded.times,
        highlight,
    };
    let drawing = topology::draw(network, &topology::layout(network), &drawing);
    let scroll = element("div").class("scroll plan").attr("tabindex", "0");
    let mut all = Markup::from(scroll.child(drawing));
    all.push(legend(plant));
    all
}

fn title(checked: &Checked, index: usize) -> String {
    let stream = checked.stream(index);
    let name = checked.stream_name(&stream);
    format!("{}: {name}", stream.standing().name())
}

fn marks(standings: &[Standing]) -> Vec<Mark> {
    standings.iter().map(|&standing| mark(standing)).collect()
}

/// Returns how a standing is drawn; signs are for those that are no success.
fn mark(standing: Standing) -> Mark {
    let (class, sign) = match standing {
        Standing::Proved => ("v-proved", ""),
        Standing::Held { .. } => ("v-held", ""),
        Standing::Late | Standing::Lost | Standing::NotProved => ("v-failed", "\u{2717} "),
        Standing::NoAnswer
        | Standing::IfDelivered
        | Standing::IfNothingDropped
        | Standing::NoBound => ("v-open", "? "),
        Standing::NoDeadline | Standing::Unjudged => ("v-none", ""),
    };
    let word = standing.said();
    Mark { class, sign, word }
}

/// What is drawn: the network without its repetitions, and what is known of its links and nodes.
struct Plant {
    folded: Folded,
    loads: Vec<(f64, f64)>,
    links: Vec<Standing>,
    nodes: Vec<Standing>,
}

/// Nodes and links on the way of a stream.
type Path = (Vec<u32>, Vec<u32>);

impl Plant {
    fn new(checked: &Checked, streams: &[usize], paths: &[Option<Path>]) -> Self {
        let network = &checked.scenario.network;
        let mut links = vec![Standing::default(); network.links.len()];
        let mut nodes = vec![Standing::default(); network.nodes.len()];
        for (&index, path) in streams.iter().zip(paths) {
            let standing = checked.stream(index).standing();
            let Some((path_nodes, path_links)) = path else {
                continue;
            };
            worsen(&mut nodes, path_nodes.iter().copied(), standing);
            worsen(&mut links, path_links.iter().copied(), standing);
        }
        let folded = if network.nodes.len() > FOLD_FROM {
            let labels: Vec<u8> = links.iter().map(|standing| standing.rank()).collect();
            topology::fold(network, &labels)
        } else {
            topology::unfolded(network)
        };
        let mut plant = Self {
            loads: vec![(0.0, 0.0); folded.network.links.len()],
            links: vec![Standing::default(); folded.network.links.len()],
            nodes: vec![Standing::default(); folded.network.nodes.len()],
            folded,
        };
        // A link that stands for others has the largest load.
        for (link, (there, back)) in loads(checked).into_iter().enumerate() {
            let drawn = plant.folded.links[link].index();
            let own = &mut plant.loads[drawn];
            *own = (own.0.max(there), own.1.max(back));
            worsen(&mut plant.links, [plant.folded.links[link].0], links[link]);
        }
        for (node, standing) in nodes.into_iter().enumerate() {
            worsen(&mut plant.nodes, [plant.folded.nodes[node].0], standing);
        }
        plant
    }

    /// Returns a path in the drawing.
    fn drawn(&self, (nodes, links): &Path) -> Highlight {
        let node = |&node: &u32| self.folded.nodes[NodeId(node).index()].0;
        let link = |&link: &u32| self.folded.links[LinkId(link).index()].0;
        Highlight {
            nodes: nodes.iter().map(node).collect(),
            links: links.iter().map(link).collect(),
        }
    }
}

/// Keeps the worst of what is said of each place.
fn worsen(all: &mut [Standing], places: impl IntoIterator<Item = u32>, standing: Standing) {
    for place in places {
        let own = &mut all[NodeId(place).index()];
        if standing.rank() > own.rank() {
            *own = standing;
        }
    }
}

/// Returns the places in the order of all streams of those to choose from: all of a small plant; of a
/// large one, those that failed and the worst of each class.
fn streams_on_offer(checked: &Checked, streams: &[usize]) -> Vec<usize> {
    let all = 0..streams.len();
    if is_small(checked) {
        return all.collect();
    }
    let groups = checked.groups();
    let firsts: Vec<usize> = groups.iter().map(|group| group.streams[0]).collect();
    let is_wanted = |place: &usize| {
        let index = streams[*place];
        checked.stream(index).verdict().is_failure() || firsts.contains(&index)
    };
    all.filter(is_wanted).take(MOST_PATHS).collect()
}

/// Returns the lists of paths, and of links and nodes; without the script, the name of the
/// highlighted path.
fn tools(paths: &[(String, &Highlight)], network: &Network) -> Markup {
    let Some((first, _)) = paths.first() else {
        return Markup::default();
    };
    let list = |id: &'static str, none: &str| {
        let none = element("option").attr("value", "").text(none);
        element("select").attr("id", id).child(none)
    };
    let options = paths.iter().enumerate().map(|(number, (name, path))| {
        let nodes = path.nodes.iter().map(|node| format!("node-{node}"));
        let links = path.links.iter().map(|link| format!("link-{link}"));
        let parts: Vec<String> = nodes.chain(links).collect();
        let name = super::super::text::shorten(name, 80);
        let option = element("option").attr("value", parts.join(" "));
        let option = match number {
            0 => option.attr("selected", "selected"),
            _ => option,
        };
        option.text(name)
    });
    let path = list("path", "no path").children(options);
    let over = list("over", "no link").children(places(network));
    let tools = element("div").class("tools").attr("hidden", "hidden");
    let tools = tools
        .child(element("label").text("Marked path ").child(path))
        .child(element("label").text("Streams over ").child(over));
    let words = format!("Marked path: {first}");
    let plain = element("p").class("note").text(words);
    [tools, element("noscript").child(plain)].into_iter().collect()
}

/// Returns an option for each link and node drawn, with the links whose streams it stands for.
fn places(network: &Network) -> Vec<Element> {
    let option = |part: String, links: &[String], name: String| {
        let name = super::super::text::shorten(&name, 80);
        let option = element("option").attr("value", links.join(" "));
        option.attr("data-part", part).text(name)
    };
    let mut links_of = vec![Vec::new(); network.nodes.len()];
    let mut all = Vec::new();
    for (id, link) in network.iter_links() {
        let [a, b] = link.ends.map(|end| network.node(end.node).name.as_str());
        for end in link.ends {
            links_of[end.node.index()].push(id.0.to_string());
        }
        let own = [id.0.to_string()];
        all.push(option(format!("link-{}", id.0), &own, format!("{a} - {b}")));
    }
    for (id, node) in network.iter_nodes() {
        let links = &links_of[id.index()];
        all.push(option(format!("node-{}", id.0), links, node.name.clone()));
    }
    all.truncate(MOST_PLACES);
    all
}

/// Returns the links of all streams as data, in the order of their table.
fn ways(paths: &[Highlight]) -> Markup {
    let mut known: BTreeMap<&[u32], usize> = BTreeMap::new();
    let mut ways = Vec::new();
    let streams: Vec<usize> = paths
        .iter()
        .map(|path| {
            *known.entry(&path.links).or_insert_with(|| {
                ways.push(&path.links);
                ways.len() - 1
            })
        })
        .collect();
    let script = element("script").attr("id", "ways");
    let script = script.attr("type", "application/json");
    script.data(&json!({ "ways": ways, "streams": streams })).into()
}

const VERDICTS: [(Standing, &str); 5] = [
    (Standing::Proved, "all streams proved"),
    (Standing::Held { packets: 0 }, "held, not proved"),
    (Standing::NoAnswer, "? no answer or no bound"),
    (Standing::Late, "\u{2717} a stream failed"),
    (Standing::Unjudged, "no stream judged"),
];

/// Explains the colors and lines in use, the widths, hubs and piles.
fn legend(plant: &Plant) -> Markup {
    let key = |class: &str| {
        let line = element("path").class(class).attr("d", "M1 6H29");
        let key = element("svg").attr("viewBox", "0 0 30 12").attr("width", 30).attr("height", 12);
        key.attr("aria-hidden", "true").child(line)
    };
    let is_used = |class: &str| plant.links.iter().any(|&link| mark(link).class == class);
    let used = VERDICTS.iter().filter_map(|&(standing, words)| {
        let class = mark(standing).class;
        let line = key(&format!("u2 {class}"));
        is_used(class).then(|| element("span").child(line).text(words))
    });
    let widths = [("u0", "below 5 % load"), ("u4", "75 % and more")];
    let widths = widths.map(|(class, words)| element("span").child(key(class)).text(words));
    let mut all = element("div").class("legend loads");
    all = all.children(used).children(widths);
    let mut nodes = plant.folded.network.iter_nodes();
    if nodes.any(|(id, _)| plant.folded.network.hub(id).is_some()) {
        all = all.child(hub_entry());
    }
    if plant.folded.times.iter().any(|&times| times > 1) {
        let words =
            "\u{d7} N: drawn once for N equal sub-trees, with the largest load of each link";
        all = all.child(element("span").text(words));
    }
    all.into()
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
    element("span").child(key.attr("aria-hidden", "true").child(shape)).text(text)
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
