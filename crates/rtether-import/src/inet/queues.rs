//! Switches, with the queues of their ports.

use std::collections::BTreeMap;

use rtether_model::network::QueueMap;

use super::plant::{Node, Plant};
use super::value::{Unit, Value};
use super::{Notes, rate};
use crate::draft::{Draft, Text};
use crate::plan::Code;
use crate::text::quote;

/// Returns the draft of a switch.
pub(super) fn draft(name: &str, node: &Node, plant: &Plant<'_>, notes: &mut Notes<'_>) -> Draft {
    let mut switch = Draft::new(name);
    switch.state("ports", node.ports.last().map_or(1, |last| last + 1));
    switch.assume("latency", "0 us", "switches of INET take no time");
    let has = |what: &str| {
        let value = plant.value(&format!("{}.{what}", node.name));
        matches!(value, Some((Ok(Value::Flag(true)), _)))
    };
    if has("hasCutthroughSwitching") {
        switch.state("mode", "cut-through");
    }
    if !has("hasEgressTrafficShaping") {
        switch.state("selection", "fcfs");
        return switch;
    }
    let queues = plant.queues(node, notes);
    switch.state("queues", queues.count);
    // INET has the table that the standard recommends.
    let usual = QueueMap::RECOMMENDED.get(queues.count - 1).copied().unwrap_or_default();
    let map = queues.map.unwrap_or_else(|| usual.map(usize::from).to_vec());
    switch.state("pcp_map", Text::Numbers(map));
    let first = queues.slopes.values().next();
    let all_same = queues.slopes.len() == node.ports.len()
        && queues.slopes.values().all(|own| Some(own) == first);
    match first {
        Some(slopes) if all_same => {
            switch.state("selection", "cbs");
            switch.state("idle_slopes", Text::Slopes(slopes.clone()));
        }
        None => switch.state("selection", "strict"),
        Some(_) => {
            switch.state("selection", "strict");
            // A scenario counts ports from one.
            let ports = queues.slopes.into_iter().map(|(port, slopes)| (port + 1, slopes));
            switch.state("port_settings", Text::Shapers(ports.collect()));
        }
    }
    switch
}

/// Settings of the queues of a switch.
struct Queues {
    count: usize,
    map: Option<Vec<usize>>,
    /// Idle slopes of the ports that have some, in bits in a second.
    slopes: BTreeMap<usize, Vec<u64>>,
}

impl Plant<'_> {
    /// Reads the queues of a switch.
    fn queues(&self, node: &Node, notes: &mut Notes<'_>) -> Queues {
        let mut queues = Queues { count: 0, map: None, slopes: BTreeMap::new() };
        let mut first = None;
        for port in &node.ports {
            let path = format!("{}.eth[{port}].macLayer.queue", node.name);
            let Some((count, place)) = self.value(&format!("{path}.numTrafficClasses")) else {
                continue;
            };
            let count = count.ok().and_then(|count| count.whole(8)).filter(|count| *count > 0);
            match (count, first) {
                (Some(count), None) => {
                    first = Some(count);
                    queues.count = count;
                }
                (Some(count), Some(first)) if count == first => {}
                _ => {
                    let what = format!(
                        "ports of {} with other numbers of queues, or none",
                        quote(&node.name)
                    );
                    notes.find(place, Code::BadValue, what);
                }
            }
        }
        queues.count = first.unwrap_or(8);
        for port in &node.ports {
            let path = format!("{}.eth[{port}].macLayer.queue", node.name);
            queues.map = queues.map.take().or_else(|| self.map(&path, queues.count));
            let slopes: Vec<u64> =
                (0..queues.count).map(|class| self.slope(&path, class, notes)).collect();
            if slopes.iter().any(|own| *own > 0) {
                queues.slopes.insert(*port, slopes);
            }
        }
        queues
    }

    /// Returns the queue of each priority, if it is stated.
    fn map(&self, path: &str, count: usize) -> Option<Vec<usize>> {
        let (rows, _) = self.value(&format!("{path}.classifier.mapping"))?;
        let rows = rows.ok()?;
        let rows = rows.list().iter();
        let map: Vec<usize> =
            rows.filter_map(|row| row.list().get(count - 1)?.whole(count - 1)).collect();
        (map.len() == 8).then_some(map)
    }

    /// Returns the idle slope of a queue, 0 without a shaper.
    fn slope(&self, path: &str, class: usize, notes: &mut Notes<'_>) -> u64 {
        let own = format!("{path}.transmissionSelectionAlgorithm[{class}]");
        let Some((Ok(Value::Text(typename)), place)) = self.value(&format!("{own}.typename"))
        else {
            return 0;
        };
        if typename.is_empty() {
            return 0;
        }
        let slope = self.value(&format!("{own}.idleSlope"));
        let slope = slope.and_then(|(value, _)| value.ok()?.number());
        let slope = slope.filter(|own| own.unit == Unit::Rate && own.is_fixed());
        match slope.and_then(|own| rate(own.mean)) {
            Some(slope) if typename == "Ieee8021qCreditBasedShaper" => slope,
            _ => {
                let what = format!(
                    "shapers of the type {} are read with a fixed slope, if they are Ieee8021qCreditBasedShaper; this one is left out",
                    quote(&typename)
                );
                notes.find(place, Code::NotRead, what);
                0
            }
        }
    }
}
