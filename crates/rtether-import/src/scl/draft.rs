//! The draft of the plant.

use std::collections::BTreeSet;

use rtether_model::quantity::Duration;

use super::flow::{Flow, Release};
use super::flows::Published;
use super::model::Model;
use super::networks::{Network, networks, run, stacks};
use super::notes::Notes;
use super::topology::{Link, Station, Topology};
use crate::draft::{Basis, Draft, LinkDraft, PlantDraft, Text, Value};
use crate::options::{Class, Options};
use crate::text::quote;

/// Drafts the plant. `head` are the lines of its first comment.
pub(super) fn draft(
    head: Vec<String>,
    title: String,
    (model, topology): (&Model<'_>, &Topology),
    published: &Published,
    options: &Options,
    notes: &mut Notes,
) -> PlantDraft {
    let networks = networks(model, published, notes);
    let run = run(topology, published, &networks);
    let stacks = stacks(topology, published, &networks);
    let numbers: Vec<usize> = (0..topology.stations.len()).collect();
    let flows = published.flows.iter().enumerate().map(|(number, flow)| {
        let network = &networks[flow.subnetwork];
        Drafter { flow, topology, options, network, run }.draft(number)
    });
    let mut classes = published.flows.iter().map(|flow| flow.class);
    PlantDraft {
        head,
        title,
        stacks: stacks.drafts(numbers.iter(), "SCL states no cost of devices"),
        stations: topology
            .stations
            .iter()
            .zip(&numbers)
            .map(|(own, number)| station(own, stacks.of(number), model))
            .collect(),
        idle: topology.idle.clone(),
        switches: switches(topology, &networks),
        links: topology.links.iter().map(|own| link(own, topology, &networks, options)).collect(),
        flows: flows.collect(),
        run: Value::assumed(run, "long enough for every flow to be seen".into()),
        has_deadlines: Some(classes.any(|class| options.deadline(class).time.is_some())),
    }
}

fn station(station: &Station, stack: String, model: &Model<'_>) -> Draft {
    let basis = if station.is_unknown {
        Basis::Assumed("stands for the listeners that the file does not name".into())
    } else if let Some(device) = station.part_of {
        let device = quote(model.devices[device].name);
        let why = format!("an interface of {device}, whose processor the others do not load");
        Basis::Assumed(why)
    } else {
        Basis::Stated
    };
    Draft::station(&station.name, stack, basis)
}

fn switches(topology: &Topology, networks: &[Network]) -> Vec<Draft> {
    let switches = topology.switches.iter().map(|own| {
        let mut switch = Draft::new(&own.name);
        let ports = own.ports.max(1);
        if own.is_device {
            switch.state("ports", ports);
        } else {
            let why = "one switch; the file does not say how this subnetwork is cabled";
            switch.assume("ports", ports, why);
        }
        switch.assume_usual();
        networks[own.subnetwork].filter(&mut switch);
        switch
    });
    switches.collect()
}

fn link(link: &Link, topology: &Topology, networks: &[Network], options: &Options) -> LinkDraft {
    let network = &networks[link.subnetwork];
    let usual = network.rate.value;
    let is_unknown = link.ends.iter().any(|(node, _)| topology.is_unknown(*node));
    let megabits = match link.megabits {
        Some(stated) => stated,
        None if is_unknown => network.room(),
        None => usual,
    };
    let mut why = Vec::new();
    let mut known = Vec::new();
    match &link.source {
        Some(source) => known.push(source.clone()),
        None if options.cabling().is_some() => {
            why.push("no link of `--switches` names it".to_owned());
        }
        None => why.push("no such cable in the file".to_owned()),
    }
    if link.is_standby {
        why.push("it closes a ring, so it carries nothing".to_owned());
    }
    match &network.rate.basis {
        _ if link.megabits.is_some() => {}
        _ if megabits != usual => why.push("fast enough for all listeners".to_owned()),
        Basis::Assumed(reason) => why.push(reason.clone()),
        Basis::Follows(reason) => known.push(format!("rate as {reason}")),
        Basis::Stated => {}
    }
    let basis = if why.is_empty() {
        Basis::Follows(known.join(", "))
    } else {
        why.extend(known);
        Basis::Assumed(why.join(", "))
    };
    LinkDraft {
        ends: link.ends.map(|end| topology.end(end)),
        megabits,
        propagation: Duration::ZERO,
        is_standby: link.is_standby,
        basis,
    }
}

/// Drafts one flow.
struct Drafter<'a> {
    flow: &'a Flow,
    topology: &'a Topology,
    options: &'a Options,
    network: &'a Network,
    run: Duration,
}

impl Drafter<'_> {
    fn draft(&self, number: usize) -> Draft {
        let flow = self.flow;
        let mut draft = Draft::described(&flow.name, flow.class, &flow.description);
        draft.state("from", Text::Name(self.station(flow.talker)));
        self.listeners(&mut draft);
        draft.state(
            "over",
            match flow.class {
                Class::Goose | Class::Heartbeat => "goose",
                Class::Report => "tcp",
                Class::SampledValues | Class::Periodic | Class::Sporadic | Class::Bulk => "sv",
            },
        );
        self.release(&mut draft, number);
        draft.give("size", Text::Octets(flow.size.value), flow.size.basis.clone());
        if let Some(Value { value, basis }) = &flow.priority {
            draft.give("pcp", u64::from(*value), basis.clone());
        }
        draft.state_all([("vlan", flow.vlan.map(u64::from))]);
        self.deadline(&mut draft);
        draft
    }

    fn station(&self, interface: usize) -> String {
        let station = self.topology.station(interface);
        station.map_or_else(String::new, |station| self.topology.stations[station].name.clone())
    }

    fn listeners(&self, draft: &mut Draft) {
        let names: BTreeSet<usize> = self.flow.listeners.iter().copied().collect();
        if !names.is_empty() {
            let names = names.into_iter().map(|to| self.station(to));
            draft.state("to", Text::Names(names.collect()));
            return;
        }
        let unknown = self.topology.unknown(self.flow.subnetwork);
        let name = unknown.map(|station| self.topology.stations[station].name.clone());
        let to = Text::Names(vec![name.unwrap_or_default()]);
        draft.assume("to", to, "the file names no subscriber");
    }

    fn release(&self, draft: &mut Draft, number: usize) {
        let flow = self.flow;
        let Release { key, text, basis, gap } = &flow.release;
        if flow.class != Class::Goose {
            draft.give(key, text.clone(), basis.clone());
            draft.spread(*gap, self.run, number);
            return;
        }
        let often = "events come as often as it allows";
        let factor = self.network.factor;
        let why = match (basis, factor) {
            (Basis::Assumed(why), 1) => format!("{why}; {often}"),
            (Basis::Assumed(why), _) => format!("{why}; events come {factor} times as rarely"),
            (Basis::Stated | Basis::Follows(_), 1) => format!("MinTime; {often}"),
            (Basis::Stated | Basis::Follows(_), _) => {
                format!("{factor} times MinTime; events that often would overload the network")
            }
        };
        let gap = Duration::from_ps(gap.as_ps().saturating_mul(factor));
        draft.assume("min_gap", gap, &why);
    }

    fn deadline(&self, draft: &mut Draft) {
        let name = self.flow.class.name();
        let deadline = self.options.deadline(self.flow.class);
        let Some(span) = deadline.time else {
            return;
        };
        if deadline.is_stated {
            draft.explain("deadline", span, &format!("--deadline {name}"));
        } else {
            draft.assume("deadline", span, &format!("IEC 61850-5; --deadline {name}=TIME"));
        }
    }
}
