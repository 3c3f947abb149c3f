//! Equal sub-trees, drawn once.
//!
//! Leaves are taken off the network until only rings, meshes or the center of the tree are left. Two
//! sub-trees at the same node are equal if their nodes are of the same kinds, and their links have the
//! same rates and labels; names do not matter.

use std::collections::BTreeMap;

use rtether_model::network::{LinkId, Network, NodeId, NodeKind};

/// Fewer equal sub-trees are drawn one by one.
const FROM: usize = 3;

/// A network with one of several equal sub-trees.
#[derive(Clone, Debug, PartialEq)]
pub struct Folded {
    /// What is drawn.
    pub network: Network,
    /// Node drawn for each node.
    pub nodes: Vec<NodeId>,
    /// Link drawn for each link.
    pub links: Vec<LinkId>,
    /// For each node drawn, the number of sub-trees that begin with it; mostly one.
    pub times: Vec<usize>,
}

/// Folds a network; links of equal sub-trees have equal labels.
pub fn fold(network: &Network, labels: &[u8]) -> Folded {
    let tree = Tree::new(network, labels);
    let mut stands_for: Vec<usize> = (0..network.nodes.len()).collect();
    let mut link_for: Vec<usize> = (0..network.links.len()).collect();
    let mut times = vec![1; network.nodes.len()];
    // Parents come before children.
    for &node in tree.order.iter().rev() {
        if stands_for[node] == node {
            for equal in tree.equal_children(network, node) {
                times[equal[0]] = equal.len();
                for &other in &equal[1..] {
                    tree.replace(other, equal[0], &mut stands_for, &mut link_for);
                }
            }
        }
    }
    reduced(network, &stands_for, &link_for, &times)
}

/// Leaves no sub-tree out.
pub fn unfolded(network: &Network) -> Folded {
    let count = network.nodes.len();
    let all = |count: usize| (0..count).collect::<Vec<usize>>();
    let (nodes, links) = (all(count), all(network.links.len()));
    reduced(network, &nodes, &links, &vec![1; count])
}

/// The network as trees that hang on what is left without them.
struct Tree {
    /// Nodes, children before their parents.
    order: Vec<usize>,
    /// Link to the parent.
    up: Vec<Option<usize>>,
    /// Children in the order of their shapes.
    children: Vec<Vec<usize>>,
    /// Equal for equal sub-trees with equal links to the parent.
    shapes: Vec<usize>,
}

/// What makes a sub-tree equal to another: kind, rate and label of the link to the parent, and
/// shapes of the children.
type Shape = (u8, u64, u8, Vec<usize>);

impl Tree {
    fn new(network: &Network, labels: &[u8]) -> Self {
        let count = network.nodes.len();
        let (mut order, up, parents) = peel(network);
        let is_peeled = |node: &usize| up[*node].is_some();
        order.extend((0..count).filter(|node| !is_peeled(node)));
        let mut children = vec![Vec::new(); count];
        let mut shapes = vec![0; count];
        let mut known: BTreeMap<Shape, usize> = BTreeMap::new();
        for &node in &order {
            let mut own = std::mem::take(&mut children[node]);
            own.sort_unstable_by_key(|&child| (shapes[child], child));
            let below = own.iter().map(|&child| shapes[child]).collect();
            children[node] = own;
            let Some(link) = up[node] else { continue };
            let rate = network.links[link].rate.as_bps();
            let label = labels.get(link).copied().unwrap_or(0);
            let shape = (kind(network, node), rate, label, below);
            let next = known.len();
            shapes[node] = *known.entry(shape).or_insert(next);
            children[parents[node]].push(node);
        }
        Self { order, up, children, shapes }
    }

    /// Returns the equal children of a node, several in each list, stations aside.
    fn equal_children(&self, network: &Network, node: usize) -> Vec<Vec<usize>> {
        let own = self.children[node].iter().copied();
        let own: Vec<usize> = own.filter(|&child| kind(network, child) > 0).collect();
        let equal = own.chunk_by(|&a, &b| self.shapes[a] == self.shapes[b]);
        let many = equal.filter(|equal| equal.len() >= FROM);
        many.map(<[usize]>::to_vec).collect()
    }

    /// Lets a sub-tree stand for an equal one.
    fn replace(&self, old: usize, new: usize, nodes: &mut [usize], links: &mut [usize]) {
        let mut pairs = vec![(old, new)];
        while let Some((old, new)) = pairs.pop() {
            nodes[old] = new;
            if let (Some(from), Some(to)) = (self.up[old], self.up[new]) {
                links[from] = to;
            }
            let below = self.children[old].iter().zip(&self.children[new]);
            pairs.extend(below.map(|(&old, &new)| (old, new)));
        }
    }
}

/// Takes leaves off, round by round. Returns them in this order, and for each its link and node left
/// behind.
fn peel(network: &Network) -> (Vec<usize>, Vec<Option<usize>>, Vec<usize>) {
    let count = network.nodes.len();
    let mut links_of = vec![Vec::new(); count];
    for (number, link) in network.links.iter().enumerate() {
        for end in link.ends {
            links_of[end.node.index()].push(number);
        }
    }
    let mut degree: Vec<usize> = links_of.iter().map(Vec::len).collect();
    let mut up = vec![None; count];
    let mut parents = vec![0; count];
    let mut order: Vec<usize> = (0..count).filter(|&node| degree[node] == 1).collect();
    let mut gone = vec![false; network.links.len()];
    let mut at = 0;
    while let Some(&node) = order.get(at) {
        at += 1;
        let link = links_of[node].iter().copied().find(|&link| !gone[link]);
        // The last node of a tree has no link left.
        let Some(link) = link else { continue };
        gone[link] = true;
        let ends = network.links[link].ends.map(|end| end.node.index());
        let parent = if ends[0] == node { ends[1] } else { ends[0] };
        (up[node], parents[node]) = (Some(link), parent);
        degree[parent] -= 1;
        if degree[parent] == 1 {
            order.push(parent);
        }
    }
    order.retain(|&node| up[node].is_some());
    (order, up, parents)
}

fn kind(network: &Network, node: usize) -> u8 {
    match network.nodes[node].kind {
        NodeKind::EndStation(_) => 0,
        NodeKind::Switch(_) => 1,
        NodeKind::Hub(_) => 2,
    }
}

/// Leaves out what something else stands for.
fn reduced(network: &Network, nodes: &[usize], links: &[usize], times: &[usize]) -> Folded {
    let node_numbers = numbers(nodes);
    let is_drawn = |stands_for: &[usize], at: usize| stands_for[at] == at;
    let mut drawn = Network::default();
    for (at, node) in network.nodes.iter().enumerate() {
        if is_drawn(nodes, at) {
            drawn.nodes.push(node.clone());
        }
    }
    for (at, link) in network.links.iter().enumerate() {
        if is_drawn(links, at) {
            let mut link = *link;
            for end in &mut link.ends {
                end.node = NodeId(node_numbers[end.node.index()]);
            }
            drawn.links.push(link);
        }
    }
    let numbered = times.iter().enumerate();
    Folded {
        network: drawn,
        times: numbered.filter(|(at, _)| is_drawn(nodes, *at)).map(|(_, times)| *times).collect(),
        nodes: node_numbers.into_iter().map(NodeId).collect(),
        links: numbers(links).into_iter().map(LinkId).collect(),
    }
}

/// Returns the position, among those that stand for themselves, of what stands for each.
fn numbers(stands_for: &[usize]) -> Vec<u32> {
    let mut own = vec![0; stands_for.len()];
    let mut next = 0;
    for (at, &other) in stands_for.iter().enumerate() {
        if at == other {
            own[at] = next;
            next += 1;
        }
    }
    let last = |mut at: usize| {
        while stands_for[at] != at {
            at = stands_for[at];
        }
        own[at]
    };
    (0..stands_for.len()).map(last).collect()
}
