//! Layout of the plant: position of each node and route of each link.
//!
//! Every switch or hub is a *cell*: its box, with its stations listed below. Cells are placed on a
//! grid: lines of switches and rings keep their shape, everything else becomes layers around the
//! central switch. Links between cells run through the free columns and rows of the grid, never
//! behind a box. The layout depends on the network alone, so equal plants look equal. Of a large
//! network, [`fold`](fn@fold) leaves out sub-trees that are equal to one that is drawn.

mod draw;
mod fold;
mod grid;

pub use draw::{Drawing, Highlight, Mark, draw};
pub use fold::{Folded, fold, unfolded};

use rtether_model::network::{LinkId, Network, NodeId, NodeKind};

use super::text::{self, real_len};
use grid::{Grid, Spot};

/// A box; the origin is the top left of the drawing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Area {
    /// Left edge.
    pub x: f64,
    /// Top edge.
    pub y: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
}

impl Area {
    /// Returns whether two boxes overlap.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.x < other.x + other.width
            && other.x < self.x + self.width
            && self.y < other.y + other.height
            && other.y < self.y + self.height
    }

    fn right(&self) -> f64 {
        self.x + self.width
    }

    fn middle(&self) -> (f64, f64) {
        (self.x + self.width / 2.0, self.y + self.height / 2.0)
    }
}

/// How a link is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Wire {
    /// The link.
    pub link: LinkId,
    /// Corners of the route; may share parts with other links of the same switch.
    pub route: Vec<(f64, f64)>,
    /// Index in `route` from which the link is alone: the part that shows the load.
    pub own_from: usize,
    /// Position and text anchor of the load label; stations show it in their box.
    pub label: Option<(f64, f64, &'static str)>,
}

/// A complete layout.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// Width of the drawing.
    pub width: f64,
    /// Height of the drawing.
    pub height: f64,
    /// Box of each node, in the order of the network.
    pub nodes: Vec<Area>,
    /// Links, in the order of the network.
    pub wires: Vec<Wire>,
}

/// Preferred maximum width of a drawing.
const PAGE: f64 = 1160.0;
const SWITCH_HEIGHT: f64 = 30.0;
const CHIP_HEIGHT: f64 = 20.0;
const CHIP_PITCH: f64 = 25.0;
/// Space left of each column of stations for the lines to them.
const SPINE: f64 = 18.0;
/// Distance from the top of the switch to its first station.
const CHIP_TOP: f64 = SWITCH_HEIGHT + 14.0;
/// Gap between two cells, where links run down.
const GAP: f64 = 54.0;
const MARGIN: f64 = 46.0;
/// Margin if links run alongside the outer columns, with their load labels outside.
const MARGIN_FOLDED: f64 = 82.0;
/// Height above a row of cells for links that run across.
const CHANNEL: f64 = 44.0;
const TRACK: f64 = 6.0;

/// Sizes that all cells of a drawing share.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    chip: f64,
    columns: usize,
    cell: f64,
}

/// Lays out a network.
pub fn layout(network: &Network) -> Layout {
    let cells = Cells::new(network);
    let candidates = (1..=4).map(|columns| {
        let sizes = cells.sizes(network, columns);
        place(network, &cells, sizes)
    });
    let fits = |layout: &Layout| layout.width <= PAGE + 1.0;
    let cost = |layout: &Layout| {
        let too_wide = if fits(layout) { 0.0 } else { 1e9 };
        too_wide + layout.height + layout.width / 4.0
    };
    candidates.min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or_default()
}

/// Assignment of stations to switches.
#[derive(Debug)]
struct Cells {
    /// Switch or hub of each cell; `None` in a last cell for stations without one.
    switches: Vec<Option<NodeId>>,
    /// Stations of each cell.
    stations: Vec<Vec<NodeId>>,
    /// Cell of each node.
    cell_of: Vec<usize>,
}

impl Cells {
    fn new(network: &Network) -> Self {
        let is_switch =
            |id: NodeId| matches!(network.node(id).kind, NodeKind::Switch(_) | NodeKind::Hub(_));
        let ids = || network.iter_nodes().map(|(id, _)| id);
        let mut switches: Vec<Option<NodeId>> =
            ids().filter(|&id| is_switch(id)).map(Some).collect();
        let mut cell_of = vec![switches.len(); network.nodes.len()];
        for (cell, switch) in switches.iter().enumerate() {
            if let Some(switch) = switch {
                cell_of[switch.index()] = cell;
            }
        }
        let mut stations = vec![Vec::new(); switches.len() + 1];
        // The first of each station.
        let mut switch_of = vec![None; network.nodes.len()];
        for link in &network.links {
            let [a, b] = link.ends.map(|end| end.node);
            for (own, peer) in [(a, b), (b, a)] {
                let known = &mut switch_of[own.index()];
                *known = known.or_else(|| is_switch(peer).then_some(peer));
            }
        }
        for station in ids().filter(|&id| !is_switch(id)) {
            let switch: Option<NodeId> = switch_of[station.index()];
            let cell = switch.map_or(switches.len(), |switch| cell_of[switch.index()]);
            cell_of[station.index()] = cell;
            stations[cell].push(station);
        }
        if stations[switches.len()].is_empty() {
            stations.pop();
        } else {
            switches.push(None);
        }
        Self { switches, stations, cell_of }
    }

    fn sizes(&self, network: &Network, columns: usize) -> Sizes {
        let names = network.iter_nodes().map(|(_, node)| text::columns(&node.name));
        let longest = real_len(names.max().unwrap_or(0));
        let chip = (longest * draw::CHARACTER + draw::LOAD + 12.0).clamp(96.0, 200.0);
        let most = self.stations.iter().map(Vec::len).max().unwrap_or(0);
        let columns = columns.min(most.max(1));
        let cell = real_len(columns) * (SPINE + chip) + SPINE / 2.0;
        Sizes { chip, columns, cell: cell.max(120.0) }
    }

    /// Returns pairs of cells joined by a link, each pair once.
    fn edges(&self, network: &Network) -> Vec<(usize, usize)> {
        let mut edges: Vec<(usize, usize)> = network
            .links
            .iter()
            .map(|link| link.ends.map(|end| self.cell_of[end.node.index()]))
            .filter(|[a, b]| a != b)
            .map(|[a, b]| (a.min(b), a.max(b)))
            .collect();
        edges.sort_unstable();
        edges.dedup();
        edges
    }
}

fn place(network: &Network, cells: &Cells, sizes: Sizes) -> Layout {
    let pitch = sizes.cell + GAP;
    let room = ((PAGE - 2.0 * MARGIN_FOLDED + GAP) / pitch).floor();
    let per_row = (1..64usize).take_while(|&n| real_len(n) <= room).last().unwrap_or(1);
    let grid = Grid::new(cells.switches.len(), &cells.edges(network), per_row);
    let tracks = tracks(network, cells, &grid);
    let mut tops = Vec::new();
    let mut y = 8.0;
    for row in 0..grid.rows {
        let across = tracks.iter().filter(|(r, _)| *r == row).count();
        y += if across == 0 { 8.0 } else { CHANNEL + TRACK * real_len(across) };
        tops.push(y);
        let in_row = grid.spots.iter().zip(&cells.stations).filter(|(spot, _)| spot.row == row);
        let most = in_row.map(|(_, stations)| stations.len()).max().unwrap_or(0);
        let lines = real_len(most.div_ceil(sizes.columns));
        y += CHIP_TOP + lines * CHIP_PITCH + 6.0;
    }
    let margin = grid.margin();
    let corner = |spot: Spot| (margin + real_len(spot.column) * pitch, tops[spot.row]);
    let mut nodes = vec![Area::default(); network.nodes.len()];
    for (cell, &spot) in grid.spots.iter().enumerate() {
        place_cell(cells, cell, corner(spot), sizes, &mut nodes);
    }
    let router = Router { cells, grid: &grid, tracks: &tracks, tops: &tops, nodes: &nodes };
    let wires = network.iter_links().map(|(id, link)| router.wire(id, link.ends.map(|e| e.node)));
    Layout {
        width: 2.0 * margin + real_len(grid.columns) * pitch - GAP,
        height: y + 8.0,
        wires: wires.collect(),
        nodes,
    }
}

impl Grid {
    fn margin(&self) -> f64 {
        if self.is_folded() { MARGIN_FOLDED } else { MARGIN }
    }
}

fn place_cell(cells: &Cells, cell: usize, at: (f64, f64), sizes: Sizes, nodes: &mut [Area]) {
    let (x, y) = at;
    if let Some(switch) = cells.switches[cell] {
        nodes[switch.index()] = Area { x, y, width: sizes.cell, height: SWITCH_HEIGHT };
    }
    let stations = &cells.stations[cell];
    // Fill column by column, all with the same number of lines.
    let lines = stations.len().div_ceil(sizes.columns).max(1);
    for (number, station) in stations.iter().enumerate() {
        let (column, line) = (real_len(number / lines), real_len(number % lines));
        nodes[station.index()] = Area {
            x: x + column * (SPINE + sizes.chip) + SPINE,
            y: y + CHIP_TOP + line * CHIP_PITCH,
            width: sizes.chip,
            height: CHIP_HEIGHT,
        };
    }
}

/// Returns the tracks in use: row, and the switch whose links run along it.
fn tracks(network: &Network, cells: &Cells, grid: &Grid) -> Vec<(usize, usize)> {
    let mut tracks = Vec::new();
    for (a, b) in cells.edges(network) {
        let (from, to) = grid.downwards(a, b);
        if grid.runs_across(from, to) {
            tracks.push((grid.spots[to].row, from));
        }
    }
    tracks.sort_unstable();
    tracks.dedup();
    tracks
}

/// Routes links between boxes.
struct Router<'a> {
    cells: &'a Cells,
    grid: &'a Grid,
    tracks: &'a [(usize, usize)],
    tops: &'a [f64],
    nodes: &'a [Area],
}

impl Router<'_> {
    fn wire(&self, link: LinkId, ends: [NodeId; 2]) -> Wire {
        let cells = ends.map(|node| self.cells.cell_of[node.index()]);
        let is_switch =
            ends.map(|node| self.cells.switches[self.cells.cell_of[node.index()]] == Some(node));
        match is_switch {
            [true, true] => self.between(link, cells[0], cells[1]),
            [true, false] => self.to_station(link, ends[0], ends[1]),
            [false, true] => self.to_station(link, ends[1], ends[0]),
            [false, false] => self.direct(link, ends),
        }
    }

    /// Routes from the switch down the line left of the station's column.
    fn to_station(&self, link: LinkId, switch: NodeId, station: NodeId) -> Wire {
        let (from, to) = (self.nodes[switch.index()], self.nodes[station.index()]);
        let (spine, y) = (to.x - SPINE + 7.0, to.middle().1);
        Wire {
            link,
            route: vec![(spine, from.y + from.height), (spine, y), (to.x, y)],
            own_from: 1,
            label: None,
        }
    }

    /// Routes between two stations without a switch.
    fn direct(&self, link: LinkId, ends: [NodeId; 2]) -> Wire {
        let [a, b] = ends.map(|node| self.nodes[node.index()]);
        let x = a.x.min(b.x) - 8.0;
        let (from, to) = (a.middle().1, b.middle().1);
        Wire {
            link,
            route: vec![(a.x, from), (x, from), (x, to), (b.x, to)],
            own_from: 0,
            label: None,
        }
    }

    fn between(&self, link: LinkId, a: usize, b: usize) -> Wire {
        let (from, to) = self.grid.downwards(a, b);
        let area = |cell: usize| {
            let switch = self.cells.switches[cell];
            switch.map_or_else(Area::default, |switch| self.nodes[switch.index()])
        };
        let (start, end) = (area(from), area(to));
        let (spot, target) = (self.grid.spots[from], self.grid.spots[to]);
        let y = start.middle().1;
        if spot.row == target.row && spot.column.abs_diff(target.column) == 1 {
            let (left, right) = if start.x < end.x { (start, end) } else { (end, start) };
            let middle = left.right().midpoint(right.x);
            return Wire {
                link,
                route: vec![(left.right(), y), (right.x, y)],
                own_from: 0,
                label: Some((middle, y - 6.0, "middle")),
            };
        }
        if !self.grid.runs_across(from, to) {
            return self.along_one_column(link, start, end, spot);
        }
        let track = self.track_of(target.row, from);
        let across = self.tops[target.row] - 34.0 - TRACK * real_len(track);
        let (middle, down) = (end.middle().0, end.y);
        let tail = [(middle, across), (middle, down)];
        let mut route = if spot.row == target.row {
            let out = start.middle().0 - 14.0;
            vec![(out, start.y), (out, across)]
        } else {
            let lane = 12.0 + TRACK * real_len(track % 5);
            let is_left =
                target.column < spot.column || (target.column == spot.column && spot.column > 0);
            let out = if is_left { start.x } else { start.right() };
            let lane = if is_left { out - lane } else { out + lane };
            vec![(out, y), (lane, y), (lane, across)]
        };
        route.extend(tail);
        Wire {
            link,
            own_from: route.len() - 2,
            route,
            label: Some((middle + 7.0, down - 12.0, "start")),
        }
    }

    /// Routes alongside the column of two cells, one directly below the other.
    fn along_one_column(&self, link: LinkId, start: Area, end: Area, spot: Spot) -> Wire {
        let is_right = spot.column > 0 && spot.column + 1 >= self.grid.columns;
        let (out, lane) = if is_right {
            (start.right(), start.right() + 14.0)
        } else {
            (start.x, start.x - 14.0)
        };
        let (from, to) = (start.middle().1, end.middle().1);
        let anchor = if is_right { "start" } else { "end" };
        let beside = if is_right { lane + 6.0 } else { lane - 6.0 };
        Wire {
            link,
            route: vec![(out, from), (lane, from), (lane, to), (out, to)],
            own_from: 0,
            label: Some((beside, from.midpoint(to), anchor)),
        }
    }

    fn track_of(&self, row: usize, from: usize) -> usize {
        let in_row = self.tracks.iter().filter(|(r, _)| *r == row);
        in_row.into_iter().position(|(_, cell)| *cell == from).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
