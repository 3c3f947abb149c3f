//! The port of each switch towards every other one, without a table of all pairs.
//!
//! Switches that the others reach over one link only form trees, together with those behind them.
//! There the way is the only one: down if the destination is below, else up. The switches that
//! remain, the core, are those between which there may be several ways; of a plant without a loop
//! that is one switch. For each destination in the core that is asked for, a breadth-first search
//! finds the ports of the others once.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::OnceCell;

/// No port.
const NONE: u16 = u16::MAX;

/// A link from one switch to another, by their numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Neighbor {
    /// Number of the other switch.
    pub(super) switch: u32,
    /// Own port.
    pub(super) port: u16,
    /// Port of the other switch.
    pub(super) back: u16,
}

/// Ports towards switches.
#[derive(Clone, Debug)]
pub(super) struct Towards {
    places: Vec<Place>,
    /// Trees that hang on a switch, in the order of their numbers.
    branches: Vec<Branch>,
    core: Core,
}

/// Where a switch is in its tree.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// Its number in a walk that comes to a switch before those behind it, and the last number
    /// behind it.
    first: u32,
    last: u32,
    /// Number in the core of the switch that its tree hangs on.
    core: u32,
    /// Port towards that one; [`NONE`] at itself.
    up: u16,
    /// Its own part of the branches.
    branches: (u32, u32),
}

/// A tree that hangs on a switch: the number of its first place, and the port towards it.
#[derive(Clone, Copy, Debug)]
struct Branch {
    first: u32,
    port: u16,
}

/// The switches that remain without the trees.
#[derive(Clone, Debug)]
struct Core {
    /// Links to others in the core, by port.
    links: Vec<Vec<Neighbor>>,
    /// By destination, once it was asked for: the port of each member towards it.
    rows: Vec<OnceCell<Box<[u16]>>>,
    /// Which members are joined by links: the least of them.
    component: Vec<u32>,
}

impl Towards {
    /// Finds the trees among switches with these links, each in the order of ports.
    pub(super) fn new(links: &[Vec<Neighbor>]) -> Self {
        let uplinks = Uplinks::new(links);
        let mut places = vec![Place::default(); links.len()];
        let mut members = Vec::new();
        let mut next = 0;
        // Behind a number follow those of the switches behind it.
        let mut free = vec![0; links.len()];
        for switch in (0..links.len()).filter(|&switch| uplinks.of[switch].is_none()) {
            let last = next + uplinks.sizes[switch] - 1;
            places[switch] = Place {
                first: next,
                last,
                core: number(members.len()),
                up: NONE,
                branches: (0, 0),
            };
            free[switch] = next + 1;
            next = last + 1;
            members.push(number(switch));
        }
        for &switch in uplinks.order.iter().rev() {
            let Some(up) = uplinks.of[switch as usize] else {
                continue;
            };
            let above = up.switch as usize;
            let first = free[above];
            let size = uplinks.sizes[switch as usize];
            free[above] = first + size;
            free[switch as usize] = first + 1;
            places[switch as usize] = Place {
                first,
                last: first + size - 1,
                core: places[above].core,
                up: up.port,
                branches: (0, 0),
            };
        }
        let branches = uplinks.branches(&mut places);
        Self { core: Core::new(links, &members, &places), places, branches }
    }

    /// Returns the port of one switch towards another; `None` for itself or without a way.
    pub(super) fn port(&self, from: usize, to: usize) -> Option<u16> {
        let (own, target) = (&self.places[from], &self.places[to]);
        if from == to {
            return None;
        }
        if own.first < target.first && target.first <= own.last {
            let (start, end) = own.branches;
            let branches = &self.branches[start as usize..end as usize];
            let behind = branches.partition_point(|branch| branch.first <= target.first);
            return Some(branches[behind - 1].port);
        }
        if own.up == NONE {
            let port = self.core.row(target.core)[own.core as usize];
            return (port != NONE).then_some(port);
        }
        let component = |place: &Place| self.core.component[place.core as usize];
        (component(own) == component(target)).then_some(own.up)
    }
}

/// The only link of each switch towards the core.
struct Uplinks {
    /// By switch; `None` in the core.
    of: Vec<Option<Neighbor>>,
    /// Switches outside the core, those behind one before it.
    order: Vec<u32>,
    /// By switch: itself and those behind it.
    sizes: Vec<u32>,
}

impl Uplinks {
    /// Takes away switches with one link until none is left.
    fn new(links: &[Vec<Neighbor>]) -> Self {
        let mut left: Vec<usize> = links.iter().map(Vec::len).collect();
        let mut ends: VecDeque<usize> = (0..left.len()).filter(|&own| left[own] == 1).collect();
        let mut uplinks =
            Self { of: vec![None; links.len()], order: Vec::new(), sizes: vec![1; links.len()] };
        while let Some(switch) = ends.pop_front() {
            // The last two of a tree have the same link; one of them remains.
            if left[switch] != 1 {
                continue;
            }
            let is_left = |own: &&Neighbor| uplinks.of[own.switch as usize].is_none();
            let Some(&up) = links[switch].iter().find(is_left) else {
                continue;
            };
            let above = up.switch as usize;
            uplinks.of[switch] = Some(up);
            uplinks.order.push(number(switch));
            uplinks.sizes[above] += uplinks.sizes[switch];
            left[switch] = 0;
            left[above] -= 1;
            if left[above] == 1 {
                ends.push_back(above);
            }
        }
        uplinks
    }

    /// Lists the branches of each switch, and enters where they begin and end in its place.
    fn branches(&self, places: &mut [Place]) -> Vec<Branch> {
        let above = |switch: u32| self.of[switch as usize];
        let mut counts = vec![0; places.len()];
        for up in self.order.iter().filter_map(|&switch| above(switch)) {
            counts[up.switch as usize] += 1;
        }
        let mut start = 0;
        for (place, count) in places.iter_mut().zip(counts) {
            place.branches = (start, start);
            start += count;
        }
        let none = Branch { first: 0, port: NONE };
        let mut branches = vec![none; start as usize];
        // In the order in which numbers were given, so that those of a switch ascend.
        for &switch in self.order.iter().rev() {
            let first = places[switch as usize].first;
            if let Some(up) = above(switch) {
                let end = &mut places[up.switch as usize].branches.1;
                let port = up.back;
                branches[*end as usize] = Branch { first, port };
                *end += 1;
            }
        }
        branches
    }
}

impl Core {
    fn new(all: &[Vec<Neighbor>], members: &[u32], places: &[Place]) -> Self {
        let is_member = |own: &&Neighbor| places[own.switch as usize].up == NONE;
        let as_member =
            |own: &Neighbor| Neighbor { switch: places[own.switch as usize].core, ..*own };
        let links: Vec<Vec<Neighbor>> = members
            .iter()
            .map(|&switch| {
                let own = all[switch as usize].iter().filter(is_member);
                own.map(as_member).collect()
            })
            .collect();
        let mut component = vec![u32::MAX; members.len()];
        for first in 0..members.len() {
            let mut open = vec![first];
            while let Some(member) = open.pop() {
                if component[member] == u32::MAX {
                    component[member] = number(first);
                    open.extend(links[member].iter().map(|own| own.switch as usize));
                }
            }
        }
        Self { rows: vec![OnceCell::new(); members.len()], links, component }
    }

    /// Returns the port of each member towards one of them.
    fn row(&self, target: u32) -> &[u16] {
        self.rows[target as usize].get_or_init(|| self.search(target))
    }

    /// Searches breadth-first from `target`; every member reached stores its port back.
    fn search(&self, target: u32) -> Box<[u16]> {
        let mut row = vec![NONE; self.links.len()];
        let mut queue = VecDeque::from([target]);
        while let Some(member) = queue.pop_front() {
            for own in &self.links[member as usize] {
                let port = &mut row[own.switch as usize];
                if *port == NONE && own.switch != target {
                    *port = own.back;
                    queue.push_back(own.switch);
                }
            }
        }
        row.into_boxed_slice()
    }
}

/// Returns a position as a number; nodes are numbered by `u32`.
fn number(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
