use proptest::prelude::*;
use rtether_model::network::{Buffer, EndStation, Link, Node, PortId, Stack, Switch};
use rtether_model::quantity::{BitRate, Bytes, Duration};

use super::*;

fn station(name: String) -> Node {
    let station = EndStation::new(Stack::Zero);
    Node { name, kind: NodeKind::EndStation(station) }
}

fn switch(name: String) -> Node {
    let switch = Switch { buffer: Buffer::per_port(Bytes::new(1)), ..Switch::new(0) };
    Node { name, kind: NodeKind::Switch(switch) }
}

fn join(a: usize, b: usize) -> Link {
    let port = |node: usize| PortId::first(NodeId(u32::try_from(node).unwrap()));
    Link::new([port(a), port(b)], BitRate::from_mbps(100))
}

/// Switches first, then stations; links between switches, then one per station.
fn network(switches: usize, edges: &[(usize, usize)], stations: &[usize]) -> Network {
    let mut nodes: Vec<Node> = (0..switches).map(|i| switch(format!("sw{i}"))).collect();
    nodes.extend((0..stations.len()).map(|i| station(format!("station-{i}"))));
    let mut links: Vec<Link> = edges.iter().map(|&(a, b)| join(a, b)).collect();
    let attached = stations.iter().enumerate();
    links.extend(attached.map(|(i, &at)| join(at, switches + i)));
    Network { nodes, links, ..Network::default() }
}

fn check(network: &Network) -> Layout {
    let layout = layout(network);
    for (i, a) in layout.nodes.iter().enumerate() {
        assert!(a.x >= 0.0 && a.y >= 0.0, "{a:?}");
        assert!(a.right() <= layout.width && a.y + a.height <= layout.height, "{a:?}");
        for b in &layout.nodes[i + 1..] {
            assert!(!a.overlaps(b), "{a:?} {b:?}");
        }
    }
    // Between its ends, no wire runs behind a box.
    for wire in &layout.wires {
        for part in wire.route.windows(2) {
            let [(x1, y1), (x2, y2)] = [part[0], part[1]];
            let line = Area {
                x: x1.min(x2),
                y: y1.min(y2),
                width: (x1 - x2).abs(),
                height: (y1 - y2).abs(),
            };
            for area in &layout.nodes {
                let inner = Area {
                    x: area.x + 0.5,
                    y: area.y + 0.5,
                    width: area.width - 1.0,
                    height: area.height - 1.0,
                };
                assert!(!inner.overlaps(&line), "{wire:?} {area:?}");
            }
        }
    }
    layout
}

#[test]
fn a_star_fits_the_page() {
    let layout = check(&network(1, &[], &[0; 18]));
    assert!(layout.width <= PAGE && layout.height < 500.0, "{} {}", layout.width, layout.height);
}

#[test]
fn a_line_is_one_row_and_a_ring_two() {
    let line = [(0, 1), (1, 2), (2, 3), (3, 4)];
    let layout = check(&network(5, &line, &[0, 1, 2, 3, 4]));
    let top = layout.nodes[0].y;
    assert!(layout.nodes[..5].iter().all(|area| area.y <= top));
    assert!(layout.nodes[..5].windows(2).all(|pair| pair[0].x < pair[1].x));
    let ring = [(0, 1), (1, 2), (2, 3), (0, 3)];
    let layout = check(&network(4, &ring, &[0, 1, 2, 3]));
    let [first, second, third, last] = [0, 1, 2, 3].map(|node| layout.nodes[node]);
    assert!(first.x < second.x && last.x < third.x && first.y < last.y && second.y < third.y);
}

#[test]
fn a_substation_fits_the_page() {
    let edges: Vec<(usize, usize)> = (1..=10).map(|bay| (0, bay)).collect();
    let stations: Vec<usize> = (0..130).map(|i| i % 11).collect();
    let layout = check(&network(11, &edges, &stations));
    assert!(layout.width <= PAGE, "{}", layout.width);
    assert!(layout.height < 1_400.0, "{}", layout.height);
}

#[test]
fn hubs_are_cells_like_switches() {
    let stations = [0, 1, 1, 2];
    let switched = network(3, &[(0, 1), (1, 2)], &stations);
    let mut shared = switched.clone();
    for node in &mut shared.nodes[..2] {
        node.kind = NodeKind::Hub(rtether_model::network::Hub {
            rate: BitRate::from_mbps(10),
            delay: Duration::ZERO,
            backoff: rtether_model::network::Backoff::Standard,
            ports: 8,
        });
    }
    assert_eq!(check(&shared), check(&switched));
}

#[test]
fn odd_networks_are_placed_too() {
    check(&Network::default());
    let mut pair = network(0, &[], &[]);
    pair.nodes = vec![station("a".into()), station("b".repeat(500))];
    pair.links = vec![join(0, 1)];
    check(&pair);
    check(&network(3, &[], &[0, 1, 1, 2]));
}

proptest! {
    #[test]
    fn boxes_never_overlap_and_wires_stay_outside(
        switches in 1usize..14,
        edges in prop::collection::vec((0usize..14, 0usize..14), 0..20),
        stations in prop::collection::vec(0usize..14, 0..60),
    ) {
        let fold = |(a, b): (usize, usize)| (a % switches, b % switches);
        let edges: Vec<_> = edges.into_iter().map(fold).filter(|(a, b)| a != b).collect();
        let stations: Vec<_> = stations.into_iter().map(|at| at % switches).collect();
        check(&network(switches, &edges, &stations));
    }
}

/// Oracle: by hand. Five bays of three stations at a center with one station.
#[test]
fn equal_bays_are_drawn_once() {
    let edges: Vec<(usize, usize)> = (1..=5).map(|bay| (0, bay)).collect();
    let stations: Vec<usize> = (0..16).map(|station| station % 6).collect();
    let plant = network(6, &edges, &stations);
    let labels = vec![1; plant.links.len()];
    let folded = fold(&plant, &labels);
    // Station 15 is the fourth of bay 3, which thus is another kind of bay; so are those with three.
    let names: Vec<&str> = folded.network.nodes.iter().map(|node| &*node.name).collect();
    let drawn = [
        "sw0",
        "sw1",
        "sw4",
        "sw5",
        "station-0",
        "station-1",
        "station-4",
        "station-5",
        "station-6",
        "station-7",
        "station-10",
        "station-11",
        "station-12",
        "station-13",
    ];
    assert_eq!(names, drawn);
    assert_eq!(folded.times[..4], [1, 3, 1, 1]);
    assert_eq!(folded.nodes[2], NodeId(1));
    assert_eq!(folded.links[1], folded.links[0]);
    check(&folded.network);
    // A label that differs keeps a bay apart, and two are too few to fold.
    let mut labels = labels;
    labels[2] = 2;
    assert_eq!(fold(&plant, &labels).network, plant);
}

#[test]
fn rings_and_chosen_links_are_drawn_as_they_are() {
    let ring = [(0, 1), (1, 2), (2, 3), (0, 3)];
    let plant = network(4, &ring, &[0, 1, 2, 3]);
    assert_eq!(fold(&plant, &[]), unfolded(&plant));
    assert_eq!(unfolded(&plant).network, plant);
}

proptest! {
    /// Oracle: whatever is left out, a link joins what stands for its ends, and has its rate and label.
    #[test]
    fn folded_links_join_folded_ends(
        parents in prop::collection::vec(0usize..1_000, 0..12),
        extra in prop::collection::vec((0usize..12, 0usize..12), 0..2),
        stations in prop::collection::vec(0usize..12, 0..30),
        marked in prop::collection::vec(0usize..50, 0..3),
    ) {
        let switches = parents.len() + 1;
        let mut edges: Vec<_> = parents.iter().enumerate().map(|(i, p)| (p % (i + 1), i + 1)).collect();
        let extra = extra.into_iter().map(|(a, b)| (a % switches, b % switches));
        edges.extend(extra.filter(|(a, b)| a != b));
        let stations: Vec<_> = stations.into_iter().map(|at| at % switches).collect();
        let plant = network(switches, &edges, &stations);
        let labels: Vec<u8> = (0..plant.links.len()).map(|link| marked.contains(&link).into()).collect();
        let folded = fold(&plant, &labels);
        check(&folded.network);
        for (link, drawn) in plant.links.iter().zip(&folded.links) {
            let mut ends = link.ends.map(|end| folded.nodes[end.node.index()]);
            let mut others = folded.network.links[drawn.index()].ends.map(|end| end.node);
            ends.sort_unstable();
            others.sort_unstable();
            prop_assert_eq!(ends, others);
        }
        for (drawn, link) in folded.network.iter_links() {
            let originals = folded.links.iter().zip(&labels).filter(|(own, _)| **own == drawn);
            let mut found: Vec<u8> = originals.map(|(_, label)| *label).collect();
            found.dedup();
            prop_assert_eq!(found.len(), 1, "{:?}", link);
        }
        let copies = |node: usize| folded.nodes.iter().filter(|own| own.index() == node).count();
        prop_assert!((0..folded.times.len()).all(|node| copies(node) >= folded.times[node]));
    }
}
