//! Lists of flows as CSV, with a list of links beside them if there is one.
//!
//! [`crate::table`] reads rows, `flows` what a row says, `network` stations, switches and ways; this file
//! drafts the plant.

mod flows;
mod network;

use std::collections::BTreeSet;

use rtether_model::quantity::Duration;
use rtether_model::wire::MAX_FRAME_PAYLOAD;

use crate::File;
use crate::cabling::Cabling;
use crate::columns::Columns;
use crate::draft::{Basis, Draft, LinkDraft, PlantDraft, Text, Value, head};
use crate::error::ImportError;
use crate::options::Options;
use crate::plan::{Code, Count, Finding, Plan};
use crate::stacks::Stacks;
use crate::table::Table;
use crate::text::{plain, quote};
pub(crate) use flows::Row;
use network::{Network, Switch};

/// Rate of links that nothing states, in megabits per second.
const USUAL_RATE: u64 = 1_000;
/// Largest message in one frame without further headers.
const ONE_FRAME: u64 = MAX_FRAME_PAYLOAD.get();
/// Messages that a simulation may have, so that the first check is quick.
const MESSAGES: i64 = 1_000_000;
/// Longest run, in picoseconds.
const LONGEST_RUN: i64 = 10_000_000_000_000;

/// Most findings that are kept.
const MAX_FINDINGS: usize = 2000;

/// Returns whether a text looks like a list: a first line with two titles at least.
pub(crate) fn is_list(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    first.contains([',', ';', '\t'])
}

/// Reads a list of flows, and one of links.
pub(crate) fn import(files: &[(File<'_>, &str)], options: &Options) -> Result<Plan, ImportError> {
    let mut lists = Vec::new();
    let mut links = None;
    for (file, text) in files {
        let table = Table::read(file.name, text)?;
        if network::is_links(&table) {
            links = Some(table);
        } else {
            lists.push(table);
        }
    }
    let [list] = lists.as_slice() else {
        let name = files.first().map_or("", |(file, _)| file.name);
        let what = format!("{} of the files are lists of flows", lists.len());
        let remedy = "give one list of flows, and a list of links (`link`, `rate`) if there is one";
        return Err(ImportError::new(name, None, what, remedy));
    };
    let usual = if list.find("from").is_some() && list.find("to").is_some() {
        Columns::of_scenarios()
    } else {
        Columns::tsnkit()
    };
    let columns = options.columns().unwrap_or(&usual);
    let rows = flows::read(list, columns)?;
    let mut seen = BTreeSet::new();
    let again = rows.iter().filter(|row| !seen.insert(&row.name));
    let findings = again.map(|row| Finding {
        line: row.line,
        code: Code::SameName,
        text: format!("the name {} was given before; a number is added", quote(&row.name)),
    });
    let findings = findings.take(MAX_FINDINGS).collect();
    let made = Made {
        name: list.name(),
        what: "a list of flows",
        format: "list of flows (CSV)",
        is_frame: false,
    };
    let network = (links.as_ref(), options.cabling());
    plan(&made, &rows, network, options, findings)
}

/// What flows are made of.
#[derive(Debug)]
pub(crate) struct Made<'m> {
    /// Name of the file.
    pub(crate) name: &'m str,
    /// What it is, in a sentence and for itself.
    pub(crate) what: &'m str,
    pub(crate) format: &'m str,
    /// Whether sizes are stated to be those of the payload of a frame.
    pub(crate) is_frame: bool,
}

/// Makes a plan of flows and links.
pub(crate) fn plan(
    made: &Made<'_>,
    rows: &[Row],
    (links, cabling): (Option<&Table>, Option<&Cabling>),
    options: &Options,
    findings: Vec<Finding>,
) -> Result<Plan, ImportError> {
    let network = match (links, cabling) {
        (Some(links), None) => Network::read(links, rows)?,
        (None, Some(cabling)) => Network::cabled(made.name, cabling, rows)?,
        (None, None) => Network::star(made.name, rows)?,
        (Some(links), Some(_)) => {
            let what = "it is a list of links, and `--switches` another".to_owned();
            return Err(ImportError::new(links.name(), None, what, "give one of them"));
        }
    };
    check_ways(made.name, rows, &network)?;
    let (scenario, assumptions, identified) = draft(made, rows, &network).write(options);
    let count = |name, title, number| Count { name, title, number };
    Ok(Plan {
        format: made.format.to_owned(),
        scenario,
        assumptions,
        findings,
        identified,
        counts: vec![
            count("flows", "flows", rows.len()),
            count("stations", "stations", network.stations().count()),
            count("switches", "switches", network.switches().count()),
            count("links", "links", network.links.len()),
        ],
    })
}

/// Refuses flows between parts of the network that no link joins.
fn check_ways(name: &str, rows: &[Row], network: &Network) -> Result<(), ImportError> {
    let mut known = BTreeSet::new();
    for row in rows {
        for to in &row.to {
            if known.insert((&row.from, to)) && network.way(&row.from, to).is_none() {
                let what = format!("no links lead from {} to {}", quote(&row.from), quote(to));
                return Err(ImportError::new(name, Some(row.line), what, "add the missing ones"));
            }
        }
    }
    Ok(())
}

fn draft(made: &Made<'_>, rows: &[Row], network: &Network) -> PlantDraft {
    let list = if made.is_frame { "file" } else { "list" };
    let title = made.name.rsplit_once('.').map_or(made.name, |(title, _)| title);
    let used: BTreeSet<&String> =
        rows.iter().flat_map(|row| row.to.iter().chain([&row.from])).collect();
    let stacks = stacks(rows);
    let why = format!("the {list} states no cost of stacks");
    let run = duration(rows);
    PlantDraft {
        head: head(
            &format!("{} ({})", plain(made.name, 80), made.what),
            &format!("the {list} does not say"),
        ),
        title: plain(title, 80),
        stacks: stacks.drafts(used.iter().copied(), &why),
        stations: network
            .stations()
            .filter(|node| used.contains(node))
            .map(|node| Draft::station(network.named(node), stacks.of(node), Basis::Stated))
            .collect(),
        idle: Vec::new(),
        switches: network.switches().map(|own| switch(own, network)).collect(),
        links: links(network, &used),
        flows: rows.iter().enumerate().map(|own| flow(own, run, network, made.is_frame)).collect(),
        run: Value::assumed(run, why_so_long(rows, run)),
        has_deadlines: Some(rows.iter().any(|row| row.deadline.is_some())),
    }
}

/// Returns the stacks of stations, by name.
fn stacks(rows: &[Row]) -> Stacks<String> {
    let mut stacks = Stacks::new("station");
    for row in rows {
        let frames = row.burst.saturating_mul(row.size.div_ceil(ONE_FRAME).max(1));
        for end in row.to.iter().chain([&row.from]) {
            stacks.add(end.clone(), frames, row.period);
        }
    }
    stacks
}

fn switch((node, switch): (&str, Switch), network: &Network) -> Draft {
    let mut draft = Draft::new(network.named(node));
    draft.state("ports", switch.ports.max(1));
    if network.is_stated {
        draft.explain("latency", switch.latency, "t_proc");
        draft.explain("queues", switch.queues, "q_num");
        return draft;
    }
    let why = if network.is_cabled {
        "store and forward, time of the switch itself"
    } else {
        "one switch; there is no list of links"
    };
    let least = Duration::from_ps(switch.latency.as_ps() / 10);
    draft.assume("latency", Text::Between(least, switch.latency), why);
    draft.assume("queues", switch.queues, "one for each priority, highest first");
    draft
}

fn links(network: &Network, used: &BTreeSet<&String>) -> Vec<LinkDraft> {
    let kept = network.links.iter().filter(|link| {
        let mut ends = link.ends.iter();
        ends.all(|(node, _)| network.is_switch(node) || used.contains(node))
    });
    let drafts = kept.map(|link| LinkDraft {
        ends: link.ends.each_ref().map(|(node, port)| match port {
            0 => network.named(node).to_owned(),
            port => format!("{}:{port}", network.named(node)),
        }),
        megabits: link.megabits.unwrap_or(USUAL_RATE),
        propagation: link.propagation,
        is_standby: false,
        basis: if network.is_stated {
            Basis::Assumed("a rate of 1 is 1 Gbit/s".into())
        } else if link.megabits.is_some() {
            Basis::Follows(link.source.clone())
        } else if network.is_cabled {
            Basis::Assumed("the list of links states no rate".into())
        } else {
            Basis::Assumed("there is no list of links".into())
        },
    });
    drafts.collect()
}

fn flow((number, row): (usize, &Row), run: Duration, network: &Network, is_frame: bool) -> Draft {
    let named = |node: &str| network.named(node).to_owned();
    let mut flow = Draft::new(&row.name);
    flow.state("from", Text::Name(named(&row.from)));
    flow.state("to", Text::Names(row.to.iter().map(|to| named(to)).collect()));
    if row.to.len() > 1 {
        flow.assume("delivery", "multicast", "one frame for all listeners");
    }
    if network.has_ring() {
        let ways = row.to.iter().filter_map(|to| network.way(&row.from, to));
        let ways = ways.map(|way| way.into_iter().map(named).collect());
        flow.assume("route", Text::Ways(ways.collect()), "the shortest way");
    }
    if is_frame {
        flow.state("over", "raw");
    } else if row.size <= ONE_FRAME {
        flow.assume("over", "raw", "the size is that of the payload of a frame");
    } else {
        flow.assume("over", "udp", "more than a frame holds, so in fragments");
    }
    if row.burst > 1 {
        flow.state("min_gap", row.period);
        flow.state("burst", row.burst);
    } else {
        flow.state("period", row.period);
    }
    flow.state_all([("phase", row.phase), ("jitter", row.jitter)]);
    flow.state("size", Text::Octets(row.size));
    flow.state_all([("pcp", row.pcp), ("vlan", row.vlan)]);
    flow.state_all([("deadline", row.deadline)]);
    if row.burst == 1 && row.phase.is_none() {
        flow.spread(row.period, run, number);
    }
    flow
}

/// Returns ten of the longest periods, or less if that would be too many messages or too long: a
/// backup each day does not make a run of a day.
fn duration(rows: &[Row]) -> Duration {
    let longest = rows.iter().map(|row| row.period.as_ps()).max().unwrap_or(1);
    let rate: i128 =
        rows.iter().map(|row| 1_000_000_000_000_000_000 / i128::from(row.period.as_ps())).sum();
    let most = i128::from(MESSAGES) * 1_000_000_000_000_000_000 / rate.max(1);
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let span = longest.saturating_mul(10).min(most.max(longest.saturating_mul(2))).min(LONGEST_RUN);
    // Whole microseconds read better.
    Duration::from_us(span.div_euclid(1_000_000).max(1))
}

fn why_so_long(rows: &[Row], run: Duration) -> String {
    if rows.iter().any(|row| row.period.as_ps() > run.as_ps() / 2) {
        "long enough for a first look; slow flows have one packet".into()
    } else {
        "several periods of every flow".into()
    }
}
