//! Scenarios of designs, put together of what was read before.
//!
//! Reading a large scenario takes as long as bounding it. An edit of flows changes these flows alone,
//! so that each is read once with each of its values; all other edits change the network, which is read
//! once with each set of them. What is read with such a set has to be what is put together, else the
//! designs with that set are read as a whole. What comes of a search is read as a whole in any case.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use rtether_model::flow::Flow;
use rtether_model::network::Network;

use super::parameter::set;
use super::space::{Point, Space};
use crate::scenario::{Freedom, Scenario, Written};

/// What a flow is set to: nothing if it is as written.
type Setting = Vec<(Freedom, String)>;
/// Edits of a network, as paths with their values.
type Set = Vec<(String, String)>;

/// What was read.
pub(super) struct Readings {
    written: Written,
    /// What is neither network nor flows.
    frame: Scenario,
    /// Each flow with what it has been set to.
    flows: Vec<BTreeMap<Setting, Flow>>,
    /// Networks with the sets of edits that were read; `None` if such designs are read as a whole.
    networks: BTreeMap<Set, Option<Network>>,
    /// Settings with which flows could not be read.
    failed: BTreeSet<Setting>,
    /// Whether all designs are read as a whole.
    is_whole: bool,
}

/// A design by what it changes.
struct Composition {
    network: Set,
    flows: Vec<Setting>,
}

impl Readings {
    /// Begins with the scenario as it is written; `is_whole` is whether all designs are read as a whole.
    pub(super) fn new(scenario: &Scenario, written: &Written, is_whole: bool) -> Self {
        let written = written.clone();
        let mut frame = scenario.clone();
        let network = std::mem::take(&mut frame.network);
        let flows = std::mem::take(&mut frame.flows);
        let flows = flows.into_iter().map(|flow| BTreeMap::from([(Setting::new(), flow)]));
        let networks = BTreeMap::from([(Set::new(), Some(network))]);
        let (flows, failed) = (flows.collect(), BTreeSet::new());
        Self { written, frame, flows, networks, failed, is_whole }
    }

    /// Returns the number of flows.
    pub(super) const fn flows(&self) -> usize {
        self.flows.len()
    }

    /// Reads what these designs have that was not read before.
    pub(super) fn prepare(&mut self, space: &Space, points: &[&Point]) {
        if self.is_whole {
            return;
        }
        let parts: Vec<Composition> = points.iter().map(|point| self.parts(space, point)).collect();
        self.read_flows(space, &parts);
        let mut new: BTreeMap<&Set, usize> = BTreeMap::new();
        for (number, own) in parts.iter().enumerate() {
            if !self.networks.contains_key(&own.network) {
                new.entry(&own.network).or_insert(number);
            }
        }
        let read: Vec<(Set, Option<Network>)> = new
            .into_par_iter()
            .map(|(own, number)| {
                let read = self.written.with_all(&space.changes(points[number]));
                (own.clone(), read.and_then(|read| self.network_of(read, &parts[number])))
            })
            .collect();
        self.networks.extend(read);
    }

    /// Returns the network of a scenario that was read; `None` if it is not the one put together.
    fn network_of(&self, read: Scenario, parts: &Composition) -> Option<Network> {
        let own = self.together(parts, read.network)?;
        (own.flows == read.flows && own.sums == read.sums).then_some(own.network)
    }

    /// Returns the scenario of a design that was prepared; `None` if it is none.
    pub(super) fn scenario(&self, space: &Space, point: &Point) -> Option<Scenario> {
        let parts = (!self.is_whole).then(|| self.parts(space, point));
        let own = parts.and_then(|parts| {
            let network = self.networks.get(&parts.network)?.as_ref()?;
            self.together(&parts, network.clone())
        });
        own.or_else(|| self.written.with_all(&space.changes(point)))
    }

    fn parts(&self, space: &Space, point: &Point) -> Composition {
        let mut parts =
            Composition { network: Set::new(), flows: vec![Setting::new(); self.flows.len()] };
        for (own, value) in space.parameters.iter().zip(point).filter(|(_, value)| **value > 0) {
            let changes = &own.values[usize::from(*value)];
            let Some(freedom) = own.freedom.filter(|_| !own.flows.is_empty()) else {
                let all = changes.iter().map(|own| (own.path.clone(), own.value.clone()));
                parts.network.extend(all);
                continue;
            };
            let value = own.shown(*value);
            for flow in &own.flows {
                let setting = &mut parts.flows[*flow];
                // The last one counts.
                setting.retain(|(other, _)| *other != freedom);
                setting.push((freedom, value.clone()));
                setting.sort_unstable();
            }
        }
        parts
    }

    /// Reads the flows with all settings that are missing.
    fn read_flows(&mut self, space: &Space, parts: &[Composition]) {
        let settings = parts.iter().flat_map(|own| self.flows.iter().zip(&own.flows));
        let missing = settings.filter(|(known, setting)| !known.contains_key(*setting));
        let missing: BTreeSet<&Setting> = missing.map(|(_, setting)| setting).collect();
        let missing = missing.into_iter().filter(|own| !self.failed.contains(*own));
        let missing: Vec<Setting> = missing.cloned().collect();
        let read: Vec<Option<Vec<(usize, Flow)>>> =
            missing.par_iter().map(|setting| self.set_flows(space, setting)).collect();
        for (setting, flows) in missing.into_iter().zip(read) {
            let Some(flows) = flows else {
                self.failed.insert(setting);
                continue;
            };
            for (number, flow) in flows {
                self.flows[number].insert(setting.clone(), flow);
            }
        }
    }

    /// Reads all flows that may have a setting, with it; `None` if that is no scenario, or has another
    /// network.
    fn set_flows(&self, space: &Space, setting: &Setting) -> Option<Vec<(usize, Flow)>> {
        let all: BTreeSet<usize> = (0..self.flows.len()).collect();
        let (mut changes, mut meant) = (Vec::new(), all.clone());
        for (freedom, value) in setting {
            let (edits, flows) = match freedom {
                // Any flow may have any priority.
                Freedom::Pcp => (set("flows[*].pcp", value), all.clone()),
                Freedom::Queues
                | Freedom::Selection
                | Freedom::Layers
                | Freedom::Window
                | Freedom::Segment
                | Freedom::Smoother
                | Freedom::Routes
                | Freedom::Limits
                | Freedom::Links => space.with_value(*freedom, value),
            };
            changes.extend(edits);
            meant.retain(|own| flows.contains(own));
        }
        let read = self.written.with_all(&changes)?;
        let network = self.networks.get(&Set::new())?.as_ref()?;
        let flows = read.flows.into_iter().enumerate();
        (read.network == *network)
            .then(|| flows.filter(|(number, _)| meant.contains(number)).collect())
    }

    /// Puts a scenario together; `None` if a flow is missing.
    fn together(&self, parts: &Composition, network: Network) -> Option<Scenario> {
        let flows = self.flows.iter().zip(&parts.flows);
        let flows = flows.map(|(known, setting)| known.get(setting).cloned());
        Some(Scenario { network, flows: flows.collect::<Option<_>>()?, ..self.frame.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;
    use crate::scenario::load;

    /// Oracle: the scenario read as a whole, with edits drawn from all that are possible.
    #[test]
    fn what_is_put_together_is_what_is_read() {
        for (name, text) in [
            ("goose-multicast", include_str!("../../../../scenarios/goose-multicast.yaml")),
            ("bottling-line", include_str!("../../../../scenarios/bottling-line.yaml")),
            ("substation", include_str!("../../../../scenarios/substation.yaml")),
        ] {
            let scenario = load(name, text).scenario.expect("a scenario");
            let written = Written::from(text.to_owned());
            let space = Space::new(&scenario, &written);
            let mut readings = Readings::new(&scenario, &written, false);
            let mut dice = Dice::of(&[1]);
            for trial in 0..12 {
                let values = space.parameters.iter().map(|own| {
                    let value = dice.index(own.values.len());
                    if dice.chance(8 * trial) { u8::try_from(value).expect("few") } else { 0 }
                });
                let point: Point = values.collect();
                readings.prepare(&space, &[&point]);
                let changes = space.changes(&point);
                let read = written.with_all(&changes);
                let own = readings.scenario(&space, &point);
                let [own, read] =
                    [own, read].map(|own| own.map(|own| (own.network, own.flows, own.sums)));
                assert_eq!(own, read, "{name}: {changes:?}");
            }
            assert!(!readings.is_whole);
            let whole = readings.networks.values().filter(|own| own.is_none()).count();
            assert!(whole * 2 < readings.networks.len(), "{whole} of {}", readings.networks.len());
        }
    }
}
