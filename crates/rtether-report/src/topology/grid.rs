//! Row and column of each cell of the drawing.

use std::collections::VecDeque;

/// A position on the grid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spot {
    pub(super) row: usize,
    pub(super) column: usize,
}

/// Cells on a grid.
#[derive(Debug)]
pub(super) struct Grid {
    /// Position of each cell.
    pub(super) spots: Vec<Spot>,
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Whether the cells form one line or ring and are consecutive on the grid.
    is_chain: bool,
}

impl Grid {
    /// Places `cells`, connected by `edges`, with at most `per_row` in a row.
    pub(super) fn new(cells: usize, edges: &[(usize, usize)], per_row: usize) -> Self {
        let mut neighbors = vec![Vec::new(); cells];
        for &(a, b) in edges {
            neighbors[a].push(b);
            neighbors[b].push(a);
        }
        let chain = chain(&neighbors, edges.len());
        let is_chain = chain.is_some();
        let rows = match chain {
            Some(order) => chain_rows(&order, edges.len() == cells, per_row),
            None => layers(&neighbors, per_row),
        };
        let columns = rows.iter().map(Vec::len).max().unwrap_or(1).max(1);
        let mut spots = vec![Spot::default(); cells];
        for (row, members) in rows.iter().enumerate() {
            let indent = if is_chain { 0 } else { (columns - members.len()) / 2 };
            let backwards = is_chain && row % 2 == 1;
            for (position, &cell) in members.iter().enumerate() {
                let column = indent + position;
                let column = if backwards { columns - 1 - column } else { column };
                spots[cell] = Spot { row, column };
            }
        }
        Self { spots, rows: rows.len(), columns, is_chain }
    }

    /// Returns the upper of two cells first; in the same row, the left one.
    pub(super) fn downwards(&self, a: usize, b: usize) -> (usize, usize) {
        if self.spots[a] <= self.spots[b] { (a, b) } else { (b, a) }
    }

    /// Returns whether links run down alongside the outer columns.
    pub(super) fn is_folded(&self) -> bool {
        self.is_chain && self.rows > 1
    }

    /// Returns whether a link needs the channel above the lower cell.
    pub(super) fn runs_across(&self, from: usize, to: usize) -> bool {
        let (from, to) = (self.spots[from], self.spots[to]);
        let beside = from.row == to.row && from.column.abs_diff(to.column) == 1;
        let below = self.is_chain && from.column == to.column && from.row + 1 == to.row;
        !beside && !below
    }
}

/// Returns the cells in order if they form one line or one ring.
fn chain(neighbors: &[Vec<usize>], edges: usize) -> Option<Vec<usize>> {
    let cells = neighbors.len();
    let is_chain = cells >= 2
        && (edges + 1 == cells || edges == cells)
        && neighbors.iter().all(|near| (1..=2).contains(&near.len()));
    if !is_chain {
        return None;
    }
    let first = (0..cells).find(|&cell| neighbors[cell].len() == 1).unwrap_or(0);
    let mut order = vec![first];
    let mut seen = vec![false; cells];
    seen[first] = true;
    while let Some(&next) = neighbors[*order.last()?].iter().find(|&&cell| !seen[cell]) {
        seen[next] = true;
        order.push(next);
    }
    (order.len() == cells).then_some(order)
}

/// A line folds at the end of a row; a ring fills two rows if possible.
fn chain_rows(order: &[usize], is_ring: bool, per_row: usize) -> Vec<Vec<usize>> {
    let length = order.len();
    let length = if is_ring { length.div_ceil(2) } else { balanced(length, per_row) };
    let row = length.min(per_row).max(1);
    order.chunks(row).map(<[usize]>::to_vec).collect()
}

/// Returns the row length that divides the cells most evenly.
fn balanced(cells: usize, per_row: usize) -> usize {
    let rows = cells.div_ceil(per_row.max(1)).max(1);
    cells.div_ceil(rows)
}

/// Returns layers around the center of each connected component, split into rows.
fn layers(neighbors: &[Vec<usize>], per_row: usize) -> Vec<Vec<usize>> {
    let mut rows = Vec::new();
    let mut placed = vec![false; neighbors.len()];
    // Single-cell components share rows.
    let mut single = Vec::new();
    for start in 0..neighbors.len() {
        if placed[start] {
            continue;
        }
        let part: Vec<usize> = distances(neighbors, start).into_iter().map(|(c, _)| c).collect();
        if part.len() == 1 {
            placed[start] = true;
            single.push(start);
            continue;
        }
        let eccentricity = |&cell: &usize| {
            let farthest = distances(neighbors, cell).last().map_or(0, |&(_, d)| d);
            (farthest, usize::MAX - neighbors[cell].len(), cell)
        };
        let root = part.iter().copied().min_by_key(eccentricity).unwrap_or(start);
        let found = distances(neighbors, root);
        for layer in found.chunk_by(|a, b| a.1 == b.1) {
            let members: Vec<usize> = layer.iter().map(|&(cell, _)| cell).collect();
            for &cell in &members {
                placed[cell] = true;
            }
            let row = balanced(members.len(), per_row).max(1);
            rows.extend(members.chunks(row).map(<[usize]>::to_vec));
        }
    }
    if !single.is_empty() {
        let row = balanced(single.len(), per_row).max(1);
        rows.extend(single.chunks(row).map(<[usize]>::to_vec));
    }
    rows
}

/// Returns every reachable cell with its distance, nearest first.
fn distances(neighbors: &[Vec<usize>], start: usize) -> Vec<(usize, usize)> {
    let mut seen = vec![false; neighbors.len()];
    seen[start] = true;
    let mut queue = VecDeque::from([(start, 0)]);
    let mut found = Vec::new();
    while let Some((cell, distance)) = queue.pop_front() {
        found.push((cell, distance));
        for &next in &neighbors[cell] {
            if !std::mem::replace(&mut seen[next], true) {
                queue.push_back((next, distance + 1));
            }
        }
    }
    found
}
