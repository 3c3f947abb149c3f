//! Stations by their addresses, and the switches between them.

use std::collections::{BTreeMap, BTreeSet};

use super::copies::{Attached, Copies};
use super::flows::Flow;
use super::frame::Mac;
use super::label;
use super::network::Network;
use super::streams::Streams;
use crate::draft::{Basis, Draft};
use crate::sheet::Names;
use crate::stacks::Stacks;

/// Names of stations.
pub(super) struct Stations {
    names: BTreeMap<Mac, String>,
    comments: BTreeMap<Mac, String>,
    pub(super) unknown: String,
    switch: String,
    second: Option<Second>,
}

/// A second network, where frames have the numbers of redundant ones.
struct Second {
    switch: String,
    /// Whether a ring (HSR) is what two networks stand for.
    is_ring: bool,
    attached: BTreeMap<Mac, Option<Attached>>,
}

impl Second {
    /// Returns whether a station is in it: all but those whose own frames have no numbers.
    fn has(&self, mac: Mac) -> bool {
        self.attached.get(&mac) != Some(&Some(Attached::Once))
    }

    /// Says how a station is in both networks.
    fn place(&self, mac: Mac, station: &mut Draft) {
        let basis = match self.attached.get(&mac).copied().flatten() {
            Some(Attached::Once) => return,
            Some(Attached::Twice) => Basis::Follows("its frames have the trailer of PRP".into()),
            Some(Attached::Ring) => Basis::Assumed(
                "its frames have the tag of HSR, as long as the trailer of PRP; two networks stand \
                 for the ring"
                    .into(),
            ),
            None => Basis::Assumed("it sends nothing here; as the others do".into()),
        };
        station.give("redundancy", "prp", basis);
    }
}

impl Stations {
    pub(super) fn name(
        (streams, copies): (&Streams, &Copies),
        flows: &[Flow],
        network: &Network,
    ) -> Self {
        let ends = flows.iter().flat_map(|flow| [Some(flow.talker), flow.listener]);
        let ends: BTreeSet<Mac> = ends.flatten().collect();
        let mut names = Names::default();
        let mut named = BTreeMap::new();
        let mut comments = BTreeMap::new();
        for mac in ends {
            let station = streams.stations.get(&mac).cloned().unwrap_or_default();
            named.insert(mac, names.take(&label::station(mac, &station)));
            let mut addresses: Vec<String> =
                station.addresses.iter().copied().map(label::ip).collect();
            addresses.insert(0, label::mac(mac));
            comments.insert(mac, addresses.join(", "));
        }
        let unknown = if network.has_unknown { names.take("unknown") } else { String::new() };
        let switch = names.take("switch");
        let second = copies.is_ring().map(|is_ring| Second {
            switch: names.take("switch B"),
            is_ring,
            attached: named.keys().map(|mac| (*mac, copies.attached(*mac))).collect(),
        });
        Self { names: named, comments, unknown, switch, second }
    }

    pub(super) fn named(&self, mac: Mac) -> &str {
        self.names.get(&mac).map_or("", String::as_str)
    }

    /// Returns the addresses of all stations; `None` stands for members of groups.
    pub(super) fn keys(&self) -> Vec<Option<Mac>> {
        let unknown = (!self.unknown.is_empty()).then_some(None);
        self.names.keys().copied().map(Some).chain(unknown).collect()
    }

    /// Returns the drafts of the stations.
    pub(super) fn drafts(&self, stacks: &Stacks<Option<Mac>>) -> Vec<Draft> {
        let own = self.names.iter().map(|(mac, name)| {
            let addresses = self.comments.get(mac).cloned().unwrap_or_default();
            let stack = stacks.of(&Some(*mac));
            let mut station = Draft::station(name, stack, Basis::Follows(addresses));
            if let Some(second) = &self.second {
                second.place(*mac, &mut station);
            }
            station
        });
        let unknown = (!self.unknown.is_empty()).then(|| {
            let why = "stands for the members of groups, which a capture does not name";
            let basis = Basis::Assumed(why.into());
            let mut station = Draft::station(&self.unknown, stacks.of(&None), basis);
            if self.second.is_some() {
                station.state("redundancy", "prp");
            }
            station
        });
        own.chain(unknown).collect()
    }

    /// Returns the switches, each with the names of the stations at its ports.
    pub(super) fn networks(&self) -> Vec<(&str, Vec<&str>)> {
        let unknown = (!self.unknown.is_empty()).then_some((None, &self.unknown));
        let names = self.names.iter().map(|(mac, name)| (Some(*mac), name));
        let members: Vec<(Option<Mac>, &String)> = names.chain(unknown).collect();
        let all = members.iter().map(|(_, name)| name.as_str()).collect();
        let mut networks = vec![(self.switch.as_str(), all)];
        networks.extend(self.second.as_ref().map(|second| {
            let twice = members.iter().filter(|(mac, _)| mac.is_none_or(|mac| second.has(mac)));
            (second.switch.as_str(), twice.map(|(_, name)| name.as_str()).collect())
        }));
        networks
    }

    /// Returns the draft of a switch.
    pub(super) fn switch(&self, name: &str, ports: usize) -> Draft {
        let mut switch = Draft::new(name);
        let why = match &self.second {
            None => "one switch; a capture does not show the cables",
            Some(second) if second.is_ring => {
                "one switch for each direction of the ring, which is not modeled"
            }
            Some(_) => "one switch for each network; a capture does not show the cables",
        };
        switch.assume("ports", ports, why);
        switch.assume_usual();
        switch.assume("multicast", "unmanaged", "no filters: multicast reaches every port");
        switch
    }
}
