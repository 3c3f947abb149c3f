use super::*;

/// Numbers of a linear congruential generator.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        let high = usize::try_from(self.0 >> 33).expect("31 bits");
        high % limit
    }
}

fn join(links: &mut [Vec<Neighbor>], [a, b]: [usize; 2]) {
    let next = |links: &[Vec<Neighbor>], own: usize| u16::try_from(links[own].len()).unwrap();
    let port = next(links, a);
    let back = next(links, b) + u16::from(a == b);
    let mut add = |from: usize, to, port, back| {
        let switch = number(to);
        links[from].push(Neighbor { switch, port, back });
    };
    add(a, b, port, back);
    add(b, a, back, port);
}

/// A search from each switch, which knows no trees.
fn all_pairs(links: &[Vec<Neighbor>]) -> Vec<Vec<Option<u16>>> {
    let mut ports = vec![vec![None; links.len()]; links.len()];
    for to in 0..links.len() {
        let mut queue = VecDeque::from([to]);
        let mut seen = vec![false; links.len()];
        seen[to] = true;
        while let Some(at) = queue.pop_front() {
            for own in &links[at] {
                let next = own.switch as usize;
                if !core::mem::replace(&mut seen[next], true) {
                    ports[next][to] = Some(own.back);
                    queue.push_back(next);
                }
            }
        }
    }
    ports
}

/// Trees, several of them, rings with trees on them, parallel links, links of a switch to itself.
#[test]
fn every_pair_has_the_port_that_a_search_finds() {
    for seed in 0..400 {
        let mut draw = Draw(seed);
        let switches = 1 + draw.below(24);
        let mut links = vec![Vec::new(); switches];
        for switch in 1..switches {
            if draw.below(8) > 0 {
                join(&mut links, [switch, draw.below(switch)]);
            }
        }
        for _ in 0..draw.below(4) {
            join(&mut links, [draw.below(switches), draw.below(switches)]);
        }
        let expected = all_pairs(&links);
        let towards = Towards::new(&links);
        for (from, expected) in expected.iter().enumerate() {
            let found: Vec<Option<u16>> = (0..switches).map(|to| towards.port(from, to)).collect();
            assert_eq!(&found, expected, "seed {seed}, from {from}");
        }
    }
}

#[test]
fn a_plant_without_a_loop_needs_no_search() {
    let mut links = vec![Vec::new(); 10_000];
    for switch in 1..links.len() {
        join(&mut links, [switch, (switch - 1) / 3]);
    }
    let towards = Towards::new(&links);
    assert_eq!(towards.core.rows.len(), 1);
    // Both are behind switch 1, whose port 0 leads up.
    assert_eq!(towards.port(4, 5), Some(0));
    assert_eq!(towards.port(1, 5), Some(2));
    assert_eq!(towards.port(0, 9_999), Some(0));
}

#[test]
fn a_search_is_for_a_destination_in_use() {
    let mut links = vec![Vec::new(); 10_000];
    for switch in 0..links.len() {
        let next = (switch + 1) % links.len();
        join(&mut links, [switch, next]);
    }
    let towards = Towards::new(&links);
    assert_eq!(towards.port(10, 11), towards.port(10, 20));
    let searched = towards.core.rows.iter().filter(|row| row.get().is_some());
    assert_eq!(searched.count(), 2);
}
