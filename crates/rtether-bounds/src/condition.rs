//! What must drop nothing for a bound to be a proof that packets arrive in time.
//!
//! A place *may drop* a packet if a memory there may need more than it has ([`crate::memory`]), if a
//! step of a rule may stop it there, such as a policer that is not proved kept and drops what exceeds
//! it, or if bit errors may destroy frames on its link. The analysis takes the plant as if no memory
//! were ever full; losses by bit errors and by rules are in its curves already.
//!
//! **Loops.** A flow is *open* if a missing packet never makes it send another, or send earlier: its
//! releases are those of its source, a reply is released by the request that arrived. It is *closed* if
//! its curve rests on answers: a window of TCP, messages over TCP that leave at once, copies of both that
//! switches flood until they know an address, requests that wait for their answers, the requests of address resolution, the messages about channels.
//!
//! **Theorem 1.** Where only open flows come to places that may drop for lack of memory, each packet that
//! is delivered has taken at most its bound, and no other memory is ever full. *Proof.* Every curve of the
//! analysis is an upper bound on the packets in any window, and every wait is the longest that any arrivals
//! within the curves can cause. Take a run, and the first moment at which a packet waits for longer than
//! its bound, more packets arrive in a window than a curve allows, or a memory holds more than its need.
//! Until then, the packets at each place are some of those that would be there without drops in the same
//! curves: a drop takes packets out of windows and adds none, since the sources are open. So all arrivals
//! up to that moment are within the curves, and nothing can be exceeded at it. The order in which a full
//! memory chooses what to drop plays no part.
//!
//! **Theorem 2.** If nothing is dropped at the places that may drop packets of closed flows for lack of
//! memory, the same holds of all streams. *Proof.* Then no closed flow misses an answer before the first
//! violation, so its curve holds until then, and the proof above goes through.
//!
//! **Who is concerned.** If such a place does drop, its closed flows may send again at any time: at none
//! of their places a number is known any more. What shares a place with them may wait longer there and
//! come denser to all later places, but not to earlier ones; a memory or a policer that they share may
//! overflow or be exceeded; and a closed flow that is late may send again itself. The closure of these
//! three rules is what [`Reach`] computes, for 64 sets of places at once: a stream outside of it has an
//! input, at each of its places, as if nothing had been dropped. (*Proof* by the first violation among the
//! streams outside.)
//!
//! **Words.** A stream that the closure reaches is proved *if nothing is dropped* at the places that it
//! comes from: without that its number is void. Any other stream with a bound is proved *if delivered*
//! where a place on its own way may drop: the number holds for each packet that arrives. Where no place on
//! its way may drop, each packet arrives, by theorem 1 in time: that alone is *proved*. Of a stream in two
//! networks each packet arrives if the way in one of them drops nothing.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;

use rtether_model::network::{Network, PortId};

use crate::analysis::{Condition, Dropper, Effect};
use crate::index::NONE;
use crate::memory::{Store, Which, node_of};
use crate::output_limit::Limiter;
use crate::passage::RuleStep;
use crate::plant::{Plant, ServerKind, Stream};

/// What may drop packets, and the conditions of all streams.
pub(crate) struct Conditions {
    pub(crate) droppers: Vec<Dropper>,
    /// One for each result, as [`Plant::results`].
    pub(crate) streams: Vec<Option<Condition>>,
}

/// Finds the conditions of a plant in which `flows` are the user's.
pub(crate) fn conditions(
    network: &Network,
    flows: usize,
    plant: &Plant,
    stores: &[Store],
) -> Conditions {
    let places = Places::new(network, plant, stores);
    let reach = Reach::new(plant, flows, stores, &places);
    let streams = plant.results().map(|copies| {
        let each = copies.iter().filter_map(|copy| places.on_way(plant, copy, &reach));
        joined(&each.collect::<Vec<_>>())
    });
    let streams = streams.collect();
    Conditions { droppers: places.droppers, streams }
}

/// What is known of one way of a stream: what may drop its packets, and what voids its number.
struct Way {
    drops: BTreeSet<u32>,
    voids: BTreeSet<u32>,
}

/// Joins the ways of a stream in two networks.
fn joined(ways: &[Way]) -> Option<Condition> {
    let arrives = ways.iter().any(|way| way.drops.is_empty());
    let voids: BTreeSet<u32> = ways.iter().flat_map(|way| &way.voids).copied().collect();
    let effect = match (voids.is_empty(), arrives) {
        (true, true) => return None,
        (true, false) => Effect::IfDelivered,
        (false, _) => Effect::IfNothingDropped,
    };
    let drops = ways.iter().flat_map(|way| &way.drops).copied();
    let drops: BTreeSet<u32> = drops.filter(|_| !arrives).collect();
    Some(Condition { effect, droppers: drops.union(&voids).copied().collect() })
}

/// The places that may drop packets.
struct Places {
    droppers: Vec<Dropper>,
    /// By place: memory that may overflow, and whose packets it drops.
    memories: BTreeMap<u32, Vec<(u32, Which)>>,
    /// By place: its link, if it has bit errors.
    links: BTreeMap<u32, u32>,
    /// Steps of rules that may drop frames, by the port at which these arrive.
    rules: Vec<(PortId, u32)>,
    /// The other ends of links.
    peers: BTreeMap<PortId, PortId>,
}

impl Places {
    fn new(network: &Network, plant: &Plant, stores: &[Store]) -> Self {
        let used = network.links.iter().filter(|link| !link.standby);
        let ends = used.flat_map(|link| {
            let [a, b] = link.ends;
            [(a, b), (b, a)]
        });
        let mut places = Self {
            droppers: Vec::new(),
            memories: BTreeMap::new(),
            links: BTreeMap::new(),
            rules: Vec::new(),
            peers: ends.collect(),
        };
        for store in stores.iter().filter(|store| !store.memory.suffices()) {
            let number = places.add(Dropper::Memory(store.memory));
            for &server in &store.servers {
                let own = places.memories.entry(server).or_default();
                own.push((number, store.which));
            }
        }
        for &RuleStep { port, rule, cause } in &plant.exceeded {
            let rules = network.switch(port.node).map(|switch| switch.ingress_at(port.port));
            let own = rules.and_then(|rules| rules.get(usize::from(rule)));
            if own.is_some_and(|own| own.drops(cause)) {
                let number = places.add(Dropper::Rule(port, rule, cause));
                places.rules.push((port, number));
            }
        }
        for (index, server) in (0u32..).zip(&plant.servers) {
            let is_used = !plant.members.of(index).is_empty();
            let (ServerKind::Switch(port) | ServerKind::Station(port)) = server.kind else {
                continue;
            };
            if server.is_lossy && is_used {
                let number = places.add(Dropper::Link(port));
                places.links.insert(index, number);
            }
        }
        places
    }

    fn add(&mut self, dropper: Dropper) -> u32 {
        let number = u32::try_from(self.droppers.len()).unwrap_or(NONE);
        self.droppers.push(dropper);
        number
    }

    /// Returns the memories that may drop a packet at a visit.
    fn full_for<'a>(&'a self, plant: &'a Plant, visit: usize) -> impl Iterator<Item = u32> + 'a {
        let visit = &plant.visits[visit];
        let own = self.memories.get(&visit.server).into_iter().flatten();
        own.filter(|(_, which)| which.holds(visit)).map(|(number, _)| *number)
    }

    /// Returns the rules that may drop a packet on its way to a visit.
    fn rules_before(&self, plant: &Plant, visit: usize) -> Vec<u32> {
        let visit = &plant.visits[visit];
        let Some(parent) = plant.visits.get(visit.parent as usize).filter(|_| visit.is_policed)
        else {
            return Vec::new();
        };
        let node = node_of(plant.servers[visit.server as usize].kind);
        let at_node = self.rules.iter().filter(|(port, _)| port.node == node);
        let at_node: Vec<(PortId, u32)> = at_node.copied().collect();
        let from = match plant.servers[parent.server as usize].kind {
            ServerKind::Switch(port) | ServerKind::Station(port) => self.peers.get(&port),
            ServerKind::Stack { .. }
            | ServerKind::Router(_)
            | ServerKind::Tasks { .. }
            | ServerKind::Gap(_)
            | ServerKind::Smoother(_) => None,
        };
        let own: Vec<u32> = at_node
            .iter()
            .filter(|(port, _)| Some(port) == from)
            .map(|(_, number)| *number)
            .collect();
        // Behind a hub the port is another.
        if own.is_empty() { at_node.into_iter().map(|(_, number)| number).collect() } else { own }
    }

    /// Returns what is on the way of a stream; `None` without a bound.
    fn on_way(&self, plant: &Plant, stream: &Stream, reach: &Reach) -> Option<Way> {
        let &(last, _) = stream.end.as_ref().ok()?;
        let mut drops = BTreeSet::new();
        let mut at = last;
        while at != NONE {
            let visit = &plant.visits[at as usize];
            drops.extend(self.full_for(plant, at as usize));
            drops.extend(self.rules_before(plant, at as usize));
            drops.extend(self.links.get(&visit.server));
            at = visit.parent;
        }
        let voids = reach.roots_of(last).collect();
        Some(Way { drops, voids })
    }
}

/// By visit, which places may have made its number void by dropping packets of closed flows.
struct Reach {
    /// Places whose drops void numbers; the one at position `n` has bit `n % 64`.
    roots: Vec<u32>,
    /// By visit; empty without such a place.
    masks: Vec<u64>,
}

impl Reach {
    fn new(plant: &Plant, flows: usize, stores: &[Store], places: &Places) -> Self {
        let is_closed = |flow: u32| {
            let source = &plant.sources[flow as usize];
            flow as usize >= flows || source.closed.is_some() || plant.is_prompt(flow)
        };
        let mut closed: Vec<bool> = (0u32..).take(plant.sources.len()).map(is_closed).collect();
        for visit in &plant.visits {
            // The copies that a switch floods of a connection are counted by what may be under way.
            let limit = plant.limit_of(visit);
            closed[visit.flow as usize] |= limit.is_some_and(|limit| limit.by == Limiter::Table);
        }
        let mut roots = BTreeSet::new();
        for (index, visit) in plant.visits.iter().enumerate() {
            if closed[visit.flow as usize] {
                roots.extend(places.full_for(plant, index));
            }
        }
        let roots: Vec<u32> = roots.into_iter().collect();
        if roots.is_empty() {
            return Self { roots, masks: Vec::new() };
        }
        let mut spread = Spread {
            plant,
            closed,
            of_flow: vec![0; plant.sources.len()],
            of_server: vec![0; plant.servers.len()],
            masks: vec![0; plant.visits.len()],
            together: stores.iter().filter(|store| store.servers.len() > 1).collect(),
        };
        for (index, visit) in plant.visits.iter().enumerate() {
            if spread.closed[visit.flow as usize] {
                for number in places.full_for(plant, index) {
                    let position = roots.binary_search(&number).unwrap_or(0);
                    spread.of_flow[visit.flow as usize] |= 1 << (position % 64);
                }
            }
        }
        while spread.step() {}
        Self { masks: spread.masks, roots }
    }

    /// Returns the places that may have made the number at a visit void.
    fn roots_of(&self, visit: u32) -> impl Iterator<Item = u32> {
        let mask = self.masks.get(visit as usize).copied().unwrap_or(0);
        let own = self.roots.iter().enumerate();
        own.filter(move |(position, _)| mask >> (position % 64) & 1 == 1).map(|(_, root)| *root)
    }
}

/// The closure on its way.
struct Spread<'a> {
    plant: &'a Plant,
    closed: Vec<bool>,
    of_flow: Vec<u64>,
    of_server: Vec<u64>,
    masks: Vec<u64>,
    /// Memory that several places share.
    together: Vec<&'a Store>,
}

impl Spread<'_> {
    /// Applies each rule once; returns whether that changed anything. Masks only grow, so that it ends.
    fn step(&mut self) -> bool {
        let mut has_changed = false;
        for (index, visit) in self.plant.visits.iter().enumerate() {
            let flow = visit.flow as usize;
            let before = self.masks[index];
            let parent = self.masks.get(visit.parent as usize).copied().unwrap_or(0);
            let mut mask = before | parent | self.of_server[visit.server as usize];
            if self.closed[flow] {
                mask |= self.of_flow[flow];
                self.of_flow[flow] |= mask;
            }
            self.masks[index] = mask;
            has_changed |= mask != before;
            self.of_server[visit.server as usize] |= mask;
        }
        for store in &self.together {
            let all = store.servers.iter().map(|&server| self.of_server[server as usize]);
            let all = all.fold(0, |all, own| all | own);
            for &server in &store.servers {
                has_changed |= self.of_server[server as usize] != all;
                self.of_server[server as usize] = all;
            }
        }
        has_changed | self.pass_policers()
    }

    /// Passes on what comes to a policer to all flows behind it.
    fn pass_policers(&mut self) -> bool {
        let mut at = BTreeMap::new();
        for passage in &self.plant.passages {
            let mask = self.masks.get(passage.parent as usize).copied().unwrap_or(0);
            *at.entry(passage.step).or_insert(0) |= mask;
        }
        let mut has_changed = false;
        for passage in &self.plant.passages {
            let [begin, end] = passage.visits.map(|visit| visit as usize);
            for mask in self.masks.get_mut(begin..end).into_iter().flatten() {
                let after = *mask | at[&passage.step];
                has_changed |= after != *mask;
                *mask = after;
            }
        }
        has_changed
    }
}
