//! Requirements.

use rtether_model::flow::Flow;
use rtether_model::quantity::Duration;

use super::Plant;
use super::links::head;
use crate::codes;
use crate::diagnostic::{Diagnostic, Span, quote};
use crate::help::Help;
use crate::keys::table::{ACCEPT, DEADLINE, MOST_LOST, PROVED, STATISTIC};
use crate::plan::{Limit, Loss, Requirement, Statistic, Sum};
use crate::reader::{At, Fields, Reader, picoseconds};
use crate::suggest;
use crate::tree::{Data, Entry};
use crate::units::Quantity;

/// Reads `accept:`; without it, no packet may be lost or late.
pub(crate) fn accept(
    reader: &mut Reader<'_>,
    top: &Fields<'_>,
    plant: &Plant,
    flows_are_complete: bool,
) -> (Vec<Requirement>, Vec<Sum>) {
    if let Some(entry) = top.get(PROVED.key)
        && let Data::Scalar(text) = &entry.value.data
        && let Some(requirement) = PROVED.means(text)
    {
        return (vec![requirement()], Vec::new());
    }
    let items = reader.items(top, "accept");
    if items.is_empty() {
        return (vec![Requirement::default_for_all()], Vec::new());
    }
    let (mut list, mut sums) = (Vec::new(), Vec::new());
    for item in items {
        let owner = "a line of `accept`".to_owned();
        let Some(fields) = reader.fields(item, &ACCEPT, owner, head(item)) else {
            continue;
        };
        if fields.has("sum") {
            sums.extend(sum(reader, &fields, plant, flows_are_complete));
            continue;
        }
        reader.conflict(&fields, "flow", "max");
        reader.require(&fields, "flow");
        let flow = reader.scalar(&fields, "flow");
        let requirement = Requirement {
            flow: flow.map_or("*", |flow| flow.value).to_owned(),
            simulated: statistics(reader, &fields, "sim"),
            measured: statistics(reader, &fields, "live"),
            bound: limit(reader, &fields, "bound"),
            lost: loss(reader, &fields),
            miss_per_billion: reader
                .quantity(&fields, "missed", Quantity::Ratio)
                .map(|ratio| ratio.value),
        };
        if !["sim", "live", "bound", "lost", "missed"].iter().any(|key| fields.has(key)) {
            let title = "this line of `accept` requires nothing";
            let label = "belongs to this";
            reader.report(
                Diagnostic::new(&codes::NOTHING_REQUIRED, title, fields.at, label)
                    .help("add `sim: deadline` or `lost: 0`"),
            );
        }
        if let Some(flow) = flow.filter(|_| flows_are_complete) {
            check_match(reader, plant, &requirement, flow);
            check_use(reader, plant, &requirement, &fields);
        }
        list.push(requirement);
    }
    if flows_are_complete {
        check_deadlines(reader, plant, &list);
    }
    (list, sums)
}

/// Reads a line with `sum`.
fn sum(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    plant: &Plant,
    flows_are_complete: bool,
) -> Option<Sum> {
    for key in ["flow", "sim", "live", "bound", "lost", "missed"] {
        reader.conflict(fields, "sum", key);
    }
    reader.require(fields, "max");
    let items = reader.items(fields, "sum");
    let entry = fields.get("sum")?;
    if matches!(entry.value.data, Data::List(_)) && items.len() < 2 {
        let title = "`sum` needs at least two flows";
        let help =
            "name them, as in `sum: [request, reply]`, or write `{ flow: request, sim: 2 ms }`";
        let label = "of a single flow, the latency is the sum";
        let span = entry.value.span;
        reader.report(Diagnostic::new(&codes::INVALID_SUM, title, span, label).help(help));
    }
    let mut flows = Vec::new();
    for item in items {
        let Data::Scalar(name) = &item.data else {
            reader.wrong_type(fields, "sum", item, "names of flows");
            continue;
        };
        if flows_are_complete {
            check_summand(reader, plant, name, item.span);
        }
        flows.push(name.clone());
    }
    let max = reader.time(fields, "max")?.value;
    Some(Sum { flows, max })
}

/// Reports a name that is not that of a flow with one listener.
fn check_summand(reader: &mut Reader<'_>, plant: &Plant, name: &str, span: Span) {
    let Some(index) = plant.flows.iter().position(|flow| flow.name == name) else {
        let title = format!("no flow is named {}", quote(name));
        let label = "a `sum` takes names, not patterns";
        let names = plant.flows.iter().map(|flow| flow.name.as_str());
        let near = (!reader.sink.is_full()).then(|| suggest::nearest_name(name, names)).flatten();
        let help = near.map_or_else(|| "write the `name` of a flow".into(), Help::did_you_mean);
        reader.report(Diagnostic::new(&codes::UNMATCHED_ACCEPT, title, span, label).help(help));
        return;
    };
    let listeners = plant.flows[index].listeners.len();
    if listeners > 1 {
        let title = format!("flow {} has {listeners} listeners", quote(name));
        let label = "its latency to which of them?";
        let help = "write a flow of its own to the listener that is meant, and name that one";
        reader.report(
            Diagnostic::new(&codes::INVALID_SUM, title, span, label)
                .also(plant.flow_spans[index], "declared here")
                .help(help),
        );
    }
}

/// Reports conditions that apply to none of the flows a line matches.
fn check_use(
    reader: &mut Reader<'_>,
    plant: &Plant,
    requirement: &Requirement,
    fields: &Fields<'_>,
) {
    if requirement.flow.matches('*').count() > MOST_STARS {
        return;
    }
    let flows: Vec<&Flow> = plant.flows.iter().filter(|flow| requirement.matches(flow)).collect();
    if flows.is_empty() {
        return;
    }
    let mut idle = |key: &str, lacks: &str, help: &str| {
        let Some(span) = fields.key_span(key) else {
            return;
        };
        let title = format!("`{key}` applies to no flow that {} matches", quote(&requirement.flow));
        let label = format!("none of them {lacks}");
        reader.report(Diagnostic::new(&codes::IDLE_REQUIREMENT, title, span, label).help(help));
    };
    if flows.iter().all(|flow| flow.deadline.is_none()) {
        let lacks = "has a deadline";
        let help = "give the flow a `deadline`, or write a time such as `sim: 5 ms`";
        let has_deadline = |limits: &[(Statistic, Limit)]| {
            let mut limits = limits.iter();
            limits.any(|(_, limit)| *limit == Limit::Deadline)
        };
        if has_deadline(&requirement.simulated) {
            idle("sim", lacks, help);
        }
        if has_deadline(&requirement.measured) {
            idle("live", lacks, help);
        }
        if requirement.bound == Some(Limit::Deadline) {
            idle("bound", lacks, help);
        }
        if requirement.miss_per_billion.is_some() {
            idle("missed", lacks, "give the flow a `deadline`");
        }
    }
    if requirement.lost.is_some() && flows.iter().all(|flow| !flow.is_real_time()) {
        let lacks = "is anything but a flood or a bulk transfer, which may lose packets";
        idle("lost", lacks, "remove `lost`, or name other flows");
    }
}

/// Warns once about all deadlines that no line of `accept` judges.
fn check_deadlines(reader: &mut Reader<'_>, plant: &Plant, accept: &[Requirement]) {
    if accept.iter().any(|line| line.flow.matches('*').count() > MOST_STARS) {
        return;
    }
    let mut ignored = plant.flows.iter().zip(&plant.flow_spans).filter(|(flow, _)| {
        flow.deadline.is_some() && !accept.iter().any(|line| line.judges_deadline(flow))
    });
    let Some((flow, &span)) = ignored.next() else {
        return;
    };
    let others = match ignored.count() {
        0 => String::new(),
        1 => " and of another flow".to_owned(),
        more => format!(" and of {more} other flows"),
    };
    let name = quote(&flow.name);
    let title = format!("no line of `accept` judges the deadline of {name}{others}");
    let label = "a packet that is late would not fail";
    let help = "add `{ flow: \"*\", sim: deadline }` to `accept`";
    reader.report(Diagnostic::new(&codes::DEADLINE_NOT_JUDGED, title, span, label).help(help));
}

/// Patterns with more stars are slow to match against long names.
const MOST_STARS: usize = 3;

fn check_match(reader: &mut Reader<'_>, plant: &Plant, requirement: &Requirement, flow: At<&str>) {
    if flow.value.matches('*').count() > MOST_STARS {
        let title = format!("{} has more than three `*`", quote(flow.value));
        let label = "name the flows more closely";
        reader.report(Diagnostic::new(&codes::VALUE_OUT_OF_RANGE, title, flow.span, label));
        return;
    }
    if plant.flows.iter().any(|f| requirement.matches(f)) {
        return;
    }
    let names = plant
        .flows
        .iter()
        .flat_map(|flow: &Flow| [flow.name.as_str(), flow.class.as_str()])
        .filter(|name| !name.is_empty());
    let near = (!reader.sink.is_full()).then(|| suggest::nearest_name(flow.value, names)).flatten();
    let title = format!("no flow matches {}", quote(flow.value));
    let label = "this line would judge nothing";
    let help = near.map(|near| Help::did_you_mean(format!("flow: {near}")));
    reader.report(Diagnostic::new(&codes::UNMATCHED_ACCEPT, title, flow.span, label).help_if(help));
}

fn limit(reader: &mut Reader<'_>, fields: &Fields<'_>, key: &str) -> Option<Limit> {
    let At { value: text, .. } = reader.scalar(fields, key)?;
    let limit = DEADLINE.means(text);
    limit.or_else(|| reader.time(fields, key).map(|time| Limit::Time(time.value)))
}

/// Reads the value of `lost`: whole numbers count packets, everything else is a share of them.
fn loss(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Loss> {
    let At { value: text, span } = reader.scalar(fields, "lost")?;
    if text.contains(['%', '.']) || text.contains("pp") {
        let ratio = reader.quantity(fields, "lost", Quantity::Ratio)?;
        return Some(Loss::PerBillion(ratio.value));
    }
    let count = reader.count_in("lost", text, span, (0, MOST_LOST))?;
    Some(Loss::Count(count))
}

/// Reads the value of `sim` or `live`.
fn statistics(reader: &mut Reader<'_>, fields: &Fields<'_>, key: &str) -> Vec<(Statistic, Limit)> {
    let Some(entry) = fields.get(key) else {
        return Vec::new();
    };
    let Data::Map(entries) = &entry.value.data else {
        let limit = limit(reader, fields, key);
        return limit.map(|limit| (Statistic::Max, limit)).into_iter().collect();
    };
    let mut list = Vec::new();
    for entry in entries {
        let Some(statistic) = statistic(&entry.key) else {
            // Of its value nothing is known, either.
            no_statistic(reader, key, entry);
            continue;
        };
        let limit = statistic_limit(reader, fields, key, entry);
        list.extend(limit.map(|limit| (statistic, limit)));
    }
    list
}

fn no_statistic(reader: &mut Reader<'_>, key: &str, entry: &Entry) {
    let title = format!("{} is not a statistic", quote(&entry.key));
    let label = "`mean`, `max`, or a quantile such as `p50` or `p99.9`";
    let help = if let (own @ ("lost" | "missed"), Data::Scalar(value)) =
        (entry.key.as_str(), &entry.value.data)
    {
        let words =
            format!("write it beside `{key}`, as in `{{ {key}: deadline, {own}: {value} }}`");
        Some(words.into())
    } else {
        let words = ["mean", "max", "p50", "p99.9", "p99"];
        let near = suggest::nearest(&entry.key, words.into_iter());
        near.map(Help::did_you_mean)
    };
    reader.report(Diagnostic::new(&codes::UNKNOWN_KEY, title, entry.key_span, label).help_if(help));
}

fn statistic_limit(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    key: &str,
    entry: &Entry,
) -> Option<Limit> {
    let Data::Scalar(text) = &entry.value.data else {
        reader.wrong_type(fields, key, &entry.value, "a time or `deadline`");
        return None;
    };
    if let Some(limit) = DEADLINE.means(text) {
        return Some(limit);
    }
    let (key, span) = (entry.key.as_str(), entry.value.span);
    let ps = reader.quantity_of(fields, key, text, span, Quantity::Time)?;
    let time: Duration = picoseconds(ps);
    Some(Limit::Time(time))
}

/// Parses `mean`, `median`, `max`, `p50`, `p99.9`.
fn statistic(name: &str) -> Option<Statistic> {
    if let Some(statistic) = STATISTIC.means(name) {
        return Some(statistic);
    }
    let digits = name.strip_prefix('p')?;
    let (whole_part, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if whole_part.is_empty() || whole_part.len() > 2 || fraction.len() > 6 {
        return None;
    }
    if !is_number(whole_part) || !is_number(fraction) || digits.ends_with('.') {
        return None;
    }
    let scale = 10u64.pow(u32::try_from(fraction.len()).ok()?);
    let part: u64 = format!("{whole_part}{fraction}").parse().ok()?;
    (part > 0).then_some(Statistic::Quantile { part, whole: 100 * scale })
}
