//! The limit as table, JSON and CSV; the page is in `output/page.rs`.

mod page;

use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};
use rtether_model::flow::FlowId;
use rtether_model::quantity::{BitRate, Duration};
use serde_json::{Value, json as value};

use super::load::rounded;
use super::{Access, DEPTH, End, Limit, Share, Station, Trial};
use crate::characters::is_unseen;
use crate::report::json::ns;
use crate::report::text::{exact_ns, percent, plain_line, plural, time};
use crate::scenario::Scenario;
use crate::sheet::write;
pub use page::html;

/// Name and version of the JSON format.
pub const SCHEMA: &str = "rtether.limit/1";

/// Largest number of flows named in a sentence.
const NAMED: usize = 4;

/// Note shown with every probability of collisions.
const STATISTICAL: &str = "statistical, not a bound";

/// Returns the result in one sentence.
fn sentence(limit: &Limit) -> String {
    let target = format!(
        "miss ratio of at most {} with {} confidence",
        limit.question.miss_ratio,
        exact_percent(limit.question.confidence)
    );
    match (limit.end, limit.passing()) {
        (End::Found { .. }, Some(trial)) => {
            let failing = limit.failing().map_or(0.0, |trial| trial.load_bps);
            format!(
                "The limit is {}, {:.3} times the present load of {}: it keeps a {target}, {} do \
                 not.",
                rate(trial.load_bps),
                trial.factor,
                rate(limit.present_bps),
                rate(failing)
            )
        }
        (End::Unlimited { .. }, Some(trial)) => format!(
            "No limit found: even {}, more than the links of the stations carry, meets a \
             {target}.",
            rate(trial.load_bps)
        ),
        (End::Never, _) => {
            let least = limit.trials.iter().map(|trial| trial.load_bps);
            format!(
                "No load meets a {target}, not even {}: deadlines are missed without the scaled \
                 flows. Look at the others with `rtether check`, or scale more of them with \
                 `--flows`.",
                rate(least.fold(f64::INFINITY, f64::min))
            )
        }
        (End::TooFew { runs: Some(runs) }, _) => format!(
            "The packets simulated are too few to show a {target}, even if none of them were \
             late: use `--runs {runs}` or a longer `--for`, or relax the target."
        ),
        (End::TooFew { runs: None }, _) => format!(
            "A flow with a deadline released no packets, so that no {target} can be shown: use a \
             longer `--for`, or start the flow earlier."
        ),
        (End::Interrupted | End::Found { .. } | End::Unlimited { .. }, _) => {
            "Interrupted: the limit was not found; the loads below were tried.".into()
        }
    }
}

/// Returns a share in percent with all its digits: 99.99 % is not shown as 100 %.
fn exact_percent(share: f64) -> String {
    let digits = format!("{:.6}", share * 100.0);
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{digits} %")
}

/// Returns a rate with at most four digits.
fn rate(bps: f64) -> String {
    let mut bps = rounded(bps);
    let mut unit = 1;
    while bps / unit >= 10_000 {
        unit *= 10;
    }
    bps = (bps + unit / 2) / unit * unit;
    BitRate::from_bps(bps).to_string()
}

fn flow_name(scenario: &Scenario, flow: FlowId) -> &str {
    &scenario.flows[flow.index()].name
}

/// Returns the names of the first scaled flows and the number of the others.
fn flow_names(scenario: &Scenario, limit: &Limit) -> String {
    let some = limit.flows.iter().take(NAMED);
    let names: Vec<&str> = some.map(|&id| flow_name(scenario, id)).collect();
    let more = match limit.flows.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", names.join(", "))
}

/// Returns the trials from the lowest load to the highest.
fn by_load(limit: &Limit) -> Vec<&Trial> {
    let mut trials: Vec<&Trial> = limit.trials.iter().collect();
    trials.sort_by(|a, b| a.factor.total_cmp(&b.factor));
    trials
}

/// Returns sentences on the probability of a miss by collisions; a share of zero is observed, not
/// proved.
fn access_words(scenario: &Scenario, access: &Access) -> Vec<String> {
    let name = flow_name(scenario, access.flow);
    let part = if access.accesses > 1 {
        format!(
            " ({} for each of its {} accesses)",
            access.deadline / i64::from(access.accesses),
            access.accesses
        )
    } else {
        String::new()
    };
    let collisions = usize::try_from(access.collisions).unwrap_or(0);
    let within = access.longest_within.map_or_else(String::new, |longest| {
        let trials = plural(collisions, "trial");
        format!(" getting through within {trials} takes at most {longest};")
    });
    let beyond = match access.longest_beyond {
        Some(longest) => {
            let collisions = plural(collisions, "collision");
            format!("after {collisions} it can take {longest} or more")
        }
        None => "only a frame that is given up after sixteen collisions is late".into(),
    };
    vec![
        format!(
            "Shared medium {}: the smallest deadline is {}{part}, of {name};{within} {beyond}.",
            access.medium, access.deadline
        ),
        format!(
            "That many collisions have a probability of {:.2e}, as observed in the simulation: \
             {STATISTICAL}, and without waiting behind other frames of the station.",
            access.probability
        ),
    ]
}

/// Returns the result in one line.
pub fn summary(limit: &Limit) -> String {
    sentence(limit) + "\n"
}

/// Returns tables for the terminal.
pub fn table(scenario: &Scenario, limit: &Limit) -> String {
    let mut text = format!(
        "{}\n{}\nscaled         {}\n\n",
        plain_line(&scenario.name),
        sentence(limit),
        flow_names(scenario, limit)
    );
    let loads = by_load(limit);
    if !loads.is_empty() {
        let rows = loads.iter().map(|trial| load_row(scenario, trial).to_vec());
        text.extend([&draw(&LOAD_TITLES, &[4, 7], rows), "\n\n"]);
    }
    if !limit.stations.is_empty() {
        let rows = limit.stations.iter();
        let rows = rows.map(|station| station_row(scenario, station).to_vec());
        text.extend([&draw(&STATION_TITLES, &[0], rows), "\n"]);
        text.extend([
            &format!("RP: refresh period of a credit bucket, CBD = {DEPTH}"),
            "\n\n",
        ]);
    }
    for access in &limit.access {
        for line in access_words(scenario, access) {
            text.extend([&line, "\n"]);
        }
    }
    let mut text: String = text
        .chars()
        .map(|c| {
            if is_unseen(c) && c != '\n' {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect();
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

const LOAD_TITLES: [&str; 8] = [
    "load",
    "factor",
    "miss ratio",
    "upper limit",
    "worst flow",
    "throughput",
    "busiest",
    "verdict",
];

fn load_row(scenario: &Scenario, trial: &Trial) -> [String; 8] {
    let worst = &trial.worst;
    [
        rate(trial.load_bps),
        format!("{:.4}", trial.factor),
        format!("{} of {}", worst.missed, worst.released),
        format!("{:.3e}", worst.upper),
        flow_name(scenario, worst.flow).into(),
        rate(trial.throughput_bps),
        percent(trial.utilization),
        trial.verdict.name().into(),
    ]
}

const STATION_TITLES: [&str; 7] = [
    "station",
    "present",
    "other flows",
    "equal limit",
    "RP",
    "limit by need",
    "RP",
];

fn station_row(scenario: &Scenario, station: &Station) -> [String; 7] {
    [
        scenario.network.node(station.node).name.clone(),
        rate(station.present_bps),
        rate(station.other_bps),
        rate(station.equal.limit_bps),
        time(station.equal.period),
        rate(station.by_need.limit_bps),
        time(station.by_need.period),
    ]
}

fn draw(titles: &[&str], texts: &[usize], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    let rule = LineStyle::none().fill('\u{2500}').junction('\u{2500}');
    table.load_style(TableStyle::new().header_separator(rule));
    let cell = |(column, content): (usize, String)| {
        let alignment = if texts.contains(&column) {
            CellAlignment::Left
        } else {
            CellAlignment::Right
        };
        Cell::new(content).set_alignment(alignment)
    };
    let titles = titles.iter().map(|&title| title.to_owned());
    table.set_header(titles.enumerate().map(cell));
    for row in rows {
        table.add_row(row.into_iter().enumerate().map(cell));
    }
    table.trim_fmt()
}

/// Returns the word for how the search ended.
const fn end_name(end: End) -> &'static str {
    match end {
        End::Found { .. } => "found",
        End::Unlimited { .. } => "unlimited",
        End::Never => "never",
        End::TooFew { .. } => "too-few-packets",
        End::Interrupted => "interrupted",
    }
}

/// Returns one JSON document.
pub fn json(scenario: &Scenario, limit: &Limit) -> String {
    let name = |id: FlowId| flow_name(scenario, id);
    let question = &limit.question;
    let runs = match limit.end {
        End::TooFew { runs } => runs,
        End::Found { .. } | End::Unlimited { .. } | End::Never | End::Interrupted => None,
    };
    let found = |trial: Option<&Trial>| {
        trial.map_or(
            Value::Null,
            |trial| value!({ "factor": trial.factor, "load_bps": rounded(trial.load_bps) }),
        )
    };
    let stations = limit.stations.iter().map(|s| station(scenario, s));
    let access = limit.access.iter().map(|a| medium(scenario, a));
    let document = value!({
        "schema": SCHEMA,
        "version": env!("CARGO_PKG_VERSION"),
        "scenario": scenario.name,
        "partial": limit.end == End::Interrupted,
        "question": {
            "flows": limit.flows.iter().map(|&id| name(id)).collect::<Vec<_>>(),
            "miss_ratio": question.miss_ratio,
            "confidence": question.confidence,
            "tolerance": question.tolerance,
        },
        "end": end_name(limit.end),
        "summary": sentence(limit),
        "present_load_bps": rounded(limit.present_bps),
        "limit": found(limit.passing()),
        "too_much": found(limit.failing()),
        "runs_needed": runs,
        "loads": limit.trials.iter().map(|trial| value!({
            "factor": trial.factor,
            "load_bps": rounded(trial.load_bps),
            "throughput_bps": rounded(trial.throughput_bps),
            "utilization": trial.utilization,
            "worst_flow": name(trial.worst.flow),
            "missed": trial.worst.missed,
            "released": trial.worst.released,
            "miss_ratio_upper": trial.worst.upper,
            "verdict": trial.verdict.name(),
        })).collect::<Vec<_>>(),
        "cbd_bytes": DEPTH.get(),
        "stations": stations.collect::<Vec<_>>(),
        "access": access.collect::<Vec<_>>(),
    });
    format!("{document:#}\n")
}

fn station(scenario: &Scenario, station: &Station) -> Value {
    let share =
        |share: Share| value!({ "limit_bps": rounded(share.limit_bps), "rp_ns": ns(share.period) });
    value!({
        "name": scenario.network.node(station.node).name,
        "present_load_bps": rounded(station.present_bps),
        "other_load_bps": rounded(station.other_bps),
        "equal": share(station.equal),
        "by_need": share(station.by_need),
    })
}

fn medium(scenario: &Scenario, access: &Access) -> Value {
    let time = |span: Option<Duration>| span.map_or(Value::Null, ns);
    value!({
        "medium": access.medium,
        "flow": flow_name(scenario, access.flow),
        "deadline_ns": ns(access.deadline),
        "accesses": access.accesses,
        "collisions": access.collisions,
        "longest_within_ns": time(access.longest_within),
        "longest_beyond_ns": time(access.longest_beyond),
        "attempts": access.attempts.iter().map(|attempts| value!({
            "number": attempts.number,
            "made": attempts.made,
            "collided": attempts.collided,
        })).collect::<Vec<_>>(),
        "probability": access.probability,
        "note": STATISTICAL,
    })
}

/// Returns one CSV file; `kind` distinguishes loads and the two limits of stations.
pub fn csv(scenario: &Scenario, limit: &Limit) -> String {
    let names = [
        "kind",
        "name",
        "factor_ratio",
        "load_bps",
        "throughput_bps",
        "utilization_ratio",
        "missed_packets",
        "released_packets",
        "miss_ratio_upper",
        "verdict",
        "cbd_bytes",
        "rp_ns",
    ];
    let loads = limit.trials.iter().map(|trial| {
        vec![
            "load".into(),
            flow_name(scenario, trial.worst.flow).into(),
            trial.factor.to_string(),
            rounded(trial.load_bps).to_string(),
            rounded(trial.throughput_bps).to_string(),
            trial.utilization.to_string(),
            trial.worst.missed.to_string(),
            trial.worst.released.to_string(),
            trial.worst.upper.to_string(),
            trial.verdict.name().into(),
            String::new(),
            String::new(),
        ]
    });
    let stations = limit.stations.iter().flat_map(|station| {
        let shares = [("equal", station.equal), ("by need", station.by_need)];
        shares.map(|(kind, share)| share_row(scenario, station, kind, share))
    });
    write(&names, loads.chain(stations))
}

fn share_row(scenario: &Scenario, station: &Station, kind: &str, share: Share) -> Vec<String> {
    let mut row = vec![String::new(); 12];
    row[0] = format!("limit {kind}");
    row[1].clone_from(&scenario.network.node(station.node).name);
    row[3] = rounded(share.limit_bps).to_string();
    row[10] = DEPTH.get().to_string();
    row[11] = exact_ns(share.period.as_ps());
    row
}
