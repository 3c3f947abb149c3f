//! The coordinator, which starts agents and collects their reports.

use std::sync::atomic::Ordering;
use std::time::{Duration as Span, Instant as Moment};

use rtether_live::clock::monotonic_ns;
use rtether_live::host;
use rtether_model::network::NodeId;
use rtether_model::quantity::Duration;

use super::HostClock;
use super::agents::{Agents, PATIENCE, Phase, Turn};
use super::clocks::{Course, Estimate};
use super::hosts::Deployment;
use super::merge::{self, NodeClock};
use super::records::Report;
use super::session::Session;
use super::wire::{Order, Role, StationAddresses, TEXT_MAX, Word};
use super::{HostError, HostReport, Source};
use crate::testbed::measured::Measured;
use crate::testbed::run::{length, put_together};
use crate::testbed::{Options, Progress};
use rtether::scenario::Scenario;

/// From the order to start to the start, in nanoseconds, besides the delay of the connections.
const LEAD: i64 = 500_000_000;

struct Coordinator<'r> {
    scenario: &'r Scenario,
    source: Source<'r>,
    options: &'r Options,
    progress: &'r Progress,
    agents: Agents<'r>,
    /// Clock of each session: sessions with equal numbers share a clock, and 0 is the
    /// coordinator's.
    groups: Vec<usize>,
}

/// Start of a run, by the coordinator's clock, and the offset assumed for each clock.
struct Begun {
    start: i64,
    taken: Vec<i64>,
}

/// Runs a scenario between hosts.
pub(super) fn run(
    scenario: &Scenario,
    source: Source<'_>,
    deployment: &Deployment,
    options: &Options,
    progress: &Progress,
) -> Result<Measured, HostError> {
    let mut coordinator = Coordinator {
        scenario,
        source,
        options,
        progress,
        agents: Agents::start(deployment, progress)?,
        groups: Vec::new(),
    };
    coordinator.introduce()?;
    coordinator.place()?;
    let before = coordinator.compare_clocks();
    coordinator.agents.first_failure()?;
    let begun = coordinator.begin(&before)?;
    coordinator.wait_for_end()?;
    let after = coordinator.compare_clocks();
    let clocks = coordinator.clocks(&before, &after, &begun);
    let reports = coordinator.collect()?;
    Ok(coordinator.measured(reports, &clocks))
}

fn soon() -> Moment {
    Moment::now() + PATIENCE
}

impl Coordinator<'_> {
    /// Assigns every agent its station; each reports its device and addresses.
    fn introduce(&mut self) -> Result<(), HostError> {
        let pieces = pieces(self.source.text);
        let changes = self.source.changes.iter();
        let changes = changes.map(|change| (change.path.clone(), change.value.clone()));
        let changes: Vec<_> = changes.collect();
        let role = |session: &Session<'_>| Role {
            node: session.remote.node.0,
            device: session.remote.device.clone(),
            priority: self.options.priority,
            changes: changes.clone(),
        };
        let mut given: Vec<usize> = vec![0; self.agents.sessions.len()];
        let handle = |agents: &mut Agents<'_>, index: usize, word: Word| {
            let session = &mut agents.sessions[index];
            if let Word::Hello { version, format } = &word
                && !session.has_greeted
            {
                session.greet(version, format)?;
                let role = Order::Role(role(session));
                session.say(&role, "what `--set` replaces")?;
                return Ok(Turn::Waiting);
            }
            if word == Word::More && given[index] <= pieces.len() {
                // An empty text ends the scenario.
                let piece = pieces.get(given[index]).copied().unwrap_or_default();
                given[index] += 1;
                let order = Order::Text(piece.to_owned());
                session.say(&order, "a part of the scenario")?;
                return Ok(Turn::Waiting);
            }
            if let Word::Here(here) = &word
                && given[index] > pieces.len()
            {
                session.here = Some(here.clone());
                self.progress.commands.fetch_add(1, Ordering::Relaxed);
                return Ok(Turn::Done);
            }
            Err(agents.out_of_turn(index, &word))
        };
        self.agents.gather("connecting", Phase::SetUp, soon, handle)
    }

    /// Tells every agent the addresses of the others; each opens its sockets.
    fn place(&mut self) -> Result<(), HostError> {
        self.groups = self.group();
        self.look_for_neighbors()?;
        let addresses = (0..).zip(&self.agents.sessions);
        let addresses = addresses.filter_map(|(index, session)| {
            let here = session.here.as_ref()?;
            let group = self.groups[index];
            Some(StationAddresses {
                ip: here.ip,
                mac: here.mac.clone(),
                watches: !self.groups[..index].contains(&group),
            })
        });
        let order = Order::Peers(addresses.collect());
        for session in &mut self.agents.sessions {
            session.say(&order, "the list of hosts")?;
        }
        let handle = |agents: &mut Agents<'_>, index: usize, word: Word| {
            if word == Word::Ready {
                return Ok(Turn::Done);
            }
            Err(agents.out_of_turn(index, &word))
        };
        let doing = "opening sockets";
        self.agents.gather(doing, Phase::SetUp, soon, handle)
    }

    /// Numbers the clocks.
    fn group(&self) -> Vec<usize> {
        let mut known = vec![host::clock_identity()];
        let number = |session: &Session<'_>| {
            let clock = session.here.as_ref().and_then(|here| here.clock.clone());
            // A host whose clock has no identity gets a number of its own.
            let found = known.iter().position(|one| one.is_some() && *one == clock);
            found.unwrap_or_else(|| {
                known.push(clock);
                known.len() - 1
            })
        };
        self.agents.sessions.iter().map(number).collect()
    }

    /// Refuses flows between stations in one network namespace.
    fn look_for_neighbors(&self) -> Result<(), HostError> {
        let network = |node: NodeId| {
            let of = |session: &&Session<'_>| session.remote.node == node;
            let session = self.agents.sessions.iter().find(of)?;
            session.here.as_ref()?.network.as_ref()
        };
        let name = |node: NodeId| self.scenario.network.node(node).name.clone();
        for flow in &self.scenario.flows {
            for &listener in flow.listeners.iter().filter(|node| **node != flow.talker) {
                let both = network(flow.talker).zip(network(listener));
                if both.is_some_and(|(talker, listener)| talker == listener) {
                    return Err(HostError::SameHost { a: name(flow.talker), b: name(listener) });
                }
            }
        }
        Ok(())
    }

    /// Returns an estimate for each clock, by number; `None` for the coordinator's own, and for one
    /// whose hosts have all failed.
    fn compare_clocks(&mut self) -> Vec<Option<Estimate>> {
        let count = self.groups.iter().max().map_or(0, |last| last + 1);
        let mut found = vec![None; count];
        for (group, estimate) in found.iter_mut().enumerate().skip(1) {
            while estimate.is_none() {
                let mut sessions = self.agents.sessions.iter().zip(&self.groups);
                let index = sessions.position(|(session, of)| session.is_alive() && *of == group);
                let Some(index) = index else {
                    break;
                };
                *estimate = self.agents.compare_clock(index);
            }
        }
        found
    }

    /// Orders a simultaneous start.
    fn begin(&mut self, before: &[Option<Estimate>]) -> Result<Begun, HostError> {
        let slowest = before.iter().flatten();
        let slowest = slowest.map(|known| known.exchanged.error).max();
        let start = monotonic_ns() + LEAD + slowest.unwrap_or(0).saturating_mul(4);
        let taken = before.iter().map(Option::as_ref);
        let taken = taken.map(|known| known.map_or(0, |known| known.best().ns));
        let taken: Vec<i64> = taken.collect();
        for (session, group) in self.agents.sessions.iter_mut().zip(&self.groups) {
            let at = start.saturating_add(taken[*group]);
            session.say(&Order::Start(at), "the start")?;
        }
        self.progress.is_running.store(true, Ordering::Relaxed);
        Ok(Begun { start, taken })
    }

    /// Waits for the end of the run. Hosts that drop out are noted.
    fn wait_for_end(&mut self) -> Result<(), HostError> {
        let length = length(self.options).as_ps() / 1_000;
        let length = Span::from_nanos(u64::try_from(length).unwrap_or(0));
        let end = soon() + length;
        let handle = |agents: &mut Agents<'_>, index: usize, word: Word| {
            if word == Word::Done {
                return Ok(Turn::Done);
            }
            Err(agents.out_of_turn(index, &word))
        };
        let doing = "at the end of the run";
        self.agents.gather(doing, Phase::Run, || end, handle)
    }

    /// Returns the clocks of all nodes whose host is still there.
    fn clocks(
        &self,
        before: &[Option<Estimate>],
        after: &[Option<Estimate>],
        begun: &Begun,
    ) -> Vec<NodeClock> {
        let course = |group: usize| {
            let before = before.get(group).copied().flatten()?;
            let after = after.get(group).copied().flatten()?;
            let taken = begun.taken[group];
            Some(Course::new(before, after, taken, begun.start))
        };
        let sessions = self.agents.sessions.iter().zip(&self.groups);
        let sessions = sessions.filter(|(session, _)| session.is_alive());
        let clocks = sessions.map(|(session, &group)| NodeClock {
            node: session.remote.node,
            group,
            course: course(group),
        });
        // Without an estimate after the run, all hosts with this clock have failed.
        clocks.filter(|clock| clock.group == 0 || clock.course.is_some()).collect()
    }

    /// Collects the reports.
    fn collect(&mut self) -> Result<Vec<(NodeId, Report)>, HostError> {
        self.agents.say_to_all(&Order::Report);
        let mut reports: Vec<Report> = Vec::new();
        reports.resize_with(self.agents.sessions.len(), Report::default);
        let handle = |agents: &mut Agents<'_>, index: usize, word: Word| {
            let is_last = reports[index].take(word);
            let malformed = |what: &str| agents.sessions[index].malformed(what.into());
            let is_last = is_last.map_err(malformed)?;
            Ok(if is_last { Turn::Done } else { Turn::Waiting })
        };
        self.agents.gather("reporting", Phase::Report, soon, handle)?;
        let sessions = self.agents.sessions.iter().zip(reports);
        let sessions = sessions.filter(|(session, _)| session.is_alive());
        let reports = sessions.map(|(session, report)| (session.remote.node, report));
        Ok(reports.collect())
    }

    fn measured(&self, reports: Vec<(NodeId, Report)>, clocks: &[NodeClock]) -> Measured {
        let has_reported = |node: NodeId| reports.iter().any(|(of, _)| *of == node);
        let clocks = clocks.iter().filter(|clock| has_reported(clock.node));
        let clocks: Vec<NodeClock> = clocks.copied().collect();
        let mut ends = merge::ends(self.scenario);
        let mut collected = merge::collect(reports, &clocks, &mut ends);
        let sessions = self.agents.sessions.iter();
        let failures = sessions.clone().filter_map(|s| s.failure.as_ref());
        collected.errors.extend(failures.map(ToString::to_string));
        let is_partial = self.progress.stop.load(Ordering::Relaxed);
        let mut measured = put_together(self.scenario, self.options, collected, None, is_partial);
        merge::withhold(self.scenario, &mut measured.streams, &ends, &clocks);
        let known = measured.streams.iter().filter(|s| s.withheld.is_none());
        let most = known.map(|stream| stream.uncertainty).max();
        measured.tolerance = most.unwrap_or(Duration::ZERO);
        let hosts = sessions.filter_map(|session| {
            let here = session.here.as_ref()?;
            let clock = clocks.iter().find(|c| c.node == session.remote.node);
            let said = |clock: &NodeClock| clock.course.map_or(HostClock::Same, |c| c.said());
            Some(HostReport {
                node: session.remote.node,
                target: session.remote.target.clone(),
                device: here.device.clone(),
                addresses: [here.ip.to_string(), here.mac.clone()],
                clock: clock.map(said),
            })
        });
        measured.hosts = hosts.collect();
        measured
    }
}

/// Splits a text into pieces that fit a line each.
fn pieces(text: &str) -> Vec<&str> {
    let mut rest = text;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let end = rest.floor_char_boundary(TEXT_MAX);
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces
}
