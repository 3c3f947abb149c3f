//! Lists of flows as CSV, with a list of links beside them if there is one.
//!
//! [`crate::table`] reads rows, `flows` what a row says, `network` stations, switches and ways; this file
//! writes the scenario.

mod flows;
mod network;

use std::collections::BTreeSet;

use rtether_model::quantity::Duration;

use crate::File;
use crate::cabling::Cabling;
use crate::columns::Columns;
use crate::error::ImportError;
use crate::options::Options;
use crate::plan::{Assumption, Code, Count, Finding, Plan};
use crate::sheet::{Names, Sheet, rate, scalar, time};
use crate::stacks::Stacks;
use crate::table::Table;
use crate::text::{plain, quote};
pub(crate) use flows::Row;
use network::Network;

/// Rate of links that nothing states, in megabits per second.
const USUAL_RATE: u64 = 1_000;
/// Largest message in one frame without further headers.
const ONE_FRAME: u64 = 1500;
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
    plan(&made, &rows, links.as_ref(), options.cabling(), findings)
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
    links: Option<&Table>,
    cabling: Option<&Cabling>,
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
    let (scenario, assumptions) = write(made, rows, &network);
    let count = |name, title, number| Count { name, title, number };
    Ok(Plan {
        format: made.format.to_owned(),
        scenario,
        assumptions,
        findings,
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

fn write(made: &Made<'_>, rows: &[Row], network: &Network) -> (String, Vec<Assumption>) {
    let mut sheet = Sheet::default();
    let name = made.name;
    let title = name.rsplit_once('.').map_or(name, |(title, _)| title);
    let from = plain(name, 80);
    let what = made.what;
    sheet.line(&format!("# From {from} ({what}) by `rtether import`."));
    let list = if made.is_frame { "file" } else { "list" };
    sheet.line(&format!(
        "# What the {list} does not say is marked `assumed`: check these lines first."
    ));
    sheet.line("rtether: 1");
    sheet.line(&format!("name: {}", scalar(&plain(title, 80))));
    sheet.line("");
    let used: BTreeSet<&String> =
        rows.iter().flat_map(|row| row.to.iter().chain([&row.from])).collect();
    let stacks = stacks(rows);
    let why = format!("the {list} states no cost of stacks");
    stacks.write(&mut sheet, used.iter().copied(), &why);
    sheet.line("");
    sheet.line("nodes:");
    for node in network.stations().filter(|node| used.contains(&(*node).to_owned())) {
        sheet.line(&format!(
            "  {}: {{ stack: {} }}",
            scalar(network.named(node)),
            stacks.of(&node.to_owned())
        ));
    }
    switches(&mut sheet, network);
    links(&mut sheet, network, &used);
    sheet.line("");
    sheet.line("flows:");
    let mut names = Names::default();
    let run = duration(rows);
    for (number, row) in rows.iter().enumerate() {
        let name = names.take(&row.name);
        flow(&mut sheet, row, &name, network, made.is_frame);
        if row.burst == 1 && row.phase.is_none() {
            sheet.phase(&name, row.period, run, number);
        }
    }
    sheet.line("");
    let line = format!("run: {{ for: {} }}", time(run));
    let is_short = rows.iter().any(|row| row.period.as_ps() > run.as_ps() / 2);
    let why = if is_short {
        "long enough for a first look; slow flows have one packet"
    } else {
        "several periods of every flow"
    };
    sheet.assumed(&line, "run.for", why);
    sheet.accept(rows.iter().any(|row| row.deadline.is_some()));
    sheet.done()
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

fn switches(sheet: &mut Sheet, network: &Network) {
    if network.switches().next().is_none() {
        return;
    }
    sheet.line("");
    sheet.line("switches:");
    for (node, switch) in network.switches() {
        let name = network.named(node);
        sheet.line(&format!("  {}:", scalar(name)));
        sheet.line(&format!("    ports: {}", switch.ports.max(1)));
        let latency = format!("    latency: {}", time(switch.latency));
        let queues = format!("    queues: {}", switch.queues);
        if network.is_stated {
            sheet.explained(&latency, "t_proc");
            sheet.explained(&queues, "q_num");
        } else {
            let key = |key: &str| format!("switches.{name}.{key}");
            let why = if network.is_cabled {
                "store and forward, time of the switch itself"
            } else {
                "one switch; there is no list of links"
            };
            let least = Duration::from_ps(switch.latency.as_ps() / 10);
            let ends = format!("{} .. {}", time(least), time(switch.latency));
            let latency = format!("    latency: {{ unknown: {ends} }}");
            sheet.assumed(&latency, &key("latency"), why);
            sheet.assumed(&queues, &key("queues"), "one for each priority, highest first");
        }
    }
}

fn links(sheet: &mut Sheet, network: &Network, used: &BTreeSet<&String>) {
    sheet.line("");
    sheet.line("links:");
    let kept = network.links.iter().filter(|link| {
        let mut ends = link.ends.iter();
        ends.all(|(node, _)| network.is_switch(node) || used.contains(node))
    });
    for (number, link) in kept.enumerate() {
        let ends = link.ends.each_ref().map(|(node, port)| match port {
            0 => scalar(network.named(node)),
            port => scalar(&format!("{}:{port}", network.named(node))),
        });
        let propagation = match link.propagation {
            Duration::ZERO => String::new(),
            span => format!(", propagation: {}", time(span)),
        };
        let rate = rate(link.megabits.unwrap_or(USUAL_RATE));
        let line = format!("  - {{ ends: [{}, {}], rate: {rate}{propagation} }}", ends[0], ends[1]);
        let why = if network.is_stated {
            "a rate of 1 is 1 Gbit/s"
        } else if link.megabits.is_some() {
            sheet.explained(&line, &link.source);
            continue;
        } else if network.is_cabled {
            "the list of links states no rate"
        } else {
            "there is no list of links"
        };
        sheet.assumed(&line, &format!("links.{number}"), why);
    }
}

fn flow(sheet: &mut Sheet, row: &Row, name: &str, network: &Network, is_frame: bool) {
    let key = |key: &str| format!("flows.{name}.{key}");
    sheet.line(&format!("  - name: {}", scalar(name)));
    sheet.line(&format!("    from: {}", scalar(network.named(&row.from))));
    let to: Vec<String> = row.to.iter().map(|to| scalar(network.named(to))).collect();
    sheet.line(&format!("    to: [{}]", to.join(", ")));
    if row.to.len() > 1 {
        sheet.assumed("    delivery: multicast", &key("delivery"), "one frame for all listeners");
    }
    if network.has_ring() {
        let ways = row.to.iter().filter_map(|to| network.way(&row.from, to));
        let ways = ways.map(|way| {
            let nodes: Vec<String> = way.iter().map(|node| scalar(network.named(node))).collect();
            format!("[{}]", nodes.join(", "))
        });
        let ways: Vec<String> = ways.collect();
        let ways = match ways.as_slice() {
            [one] => one.clone(),
            ways => format!("[{}]", ways.join(", ")),
        };
        sheet.assumed(&format!("    route: {ways}"), &key("route"), "the shortest way");
    }
    if is_frame {
        sheet.line("    over: raw");
    } else if row.size <= ONE_FRAME {
        sheet.assumed("    over: raw", &key("over"), "the size is that of the payload of a frame");
    } else {
        sheet.assumed("    over: udp", &key("over"), "more than a frame holds, so in fragments");
    }
    if row.burst > 1 {
        sheet.line(&format!("    min_gap: {}", time(row.period)));
        sheet.line(&format!("    burst: {}", row.burst));
    } else {
        sheet.line(&format!("    period: {}", time(row.period)));
    }
    for (key, span) in [("phase", row.phase), ("jitter", row.jitter)] {
        if let Some(span) = span {
            sheet.line(&format!("    {key}: {}", time(span)));
        }
    }
    sheet.line(&format!("    size: {} B", row.size));
    for (key, number) in [("pcp", row.pcp), ("vlan", row.vlan)] {
        if let Some(number) = number {
            sheet.line(&format!("    {key}: {number}"));
        }
    }
    if let Some(deadline) = row.deadline {
        sheet.line(&format!("    deadline: {}", time(deadline)));
    }
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
