//! Random additions to the costs of a stack.

use rtether_model::empirical::{Empirical, Quantile, Quantiles, QuantilesError};
use rtether_model::network::{Jitter, Outliers, Spread};
use rtether_model::quantity::Duration;

use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::help::Help;
use crate::keys::table::{JITTER, OUTLIERS, QUANTILE};
use crate::reader::{At, Fields, Reader};
use crate::tree::Data;
use crate::units::Quantity;

/// Longest time any part of a stack may take for one packet.
pub(super) const LONGEST: Duration = Duration::from_secs(3600);

/// Reads `jitter` and `outliers` of a stack.
pub(super) fn jitter(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Jitter {
    Jitter {
        spread: spread(reader, fields).unwrap_or_default(),
        outliers: outliers(reader, fields),
    }
}

fn spread(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Spread> {
    let entry = fields.get("jitter")?;
    if !matches!(entry.value.data, Data::Map(_)) {
        let max = reader.time_up_to(fields, "jitter", LONGEST, "of a single packet")?;
        return Some(if max == Duration::ZERO { Spread::None } else { Spread::Uniform { max } });
    }
    let inner = reader.one(fields, "jitter", &JITTER)?;
    let tables = ["quantiles", "send", "receive"];
    if tables.iter().any(|key| inner.has(key)) {
        let formula = ["max", "mean"];
        reader.misplaced(&inner, &formula, "a jitter with quantiles");
        return measured(reader, &inner);
    }
    formula(reader, &inner)
}

/// Reads `max` and `mean`.
fn formula(reader: &mut Reader<'_>, inner: &Fields<'_>) -> Option<Spread> {
    reader.require(inner, "max");
    let max = reader.time_up_to(inner, "max", LONGEST, "of a single packet");
    let mean = reader.positive_time(inner, "mean");
    let max = max?;
    if !inner.has("mean") {
        return Some(Spread::Uniform { max });
    }
    let mean = mean?;
    if mean.value > max {
        let found = mean.value.to_string();
        let rule = format!("at most `max`, {max}");
        reader.out_of_range("mean", mean.span, &rule, &found, "larger draws become `max`");
    }
    let mean = mean.value;
    Some(Spread::Exponential { mean, max })
}

/// Reads one table for both directions, or one for each direction.
fn measured(reader: &mut Reader<'_>, inner: &Fields<'_>) -> Option<Spread> {
    let (send, receive) = if inner.has("quantiles") {
        reader.conflict(inner, "quantiles", "send");
        reader.conflict(inner, "quantiles", "receive");
        let both = quantiles(reader, inner, "quantiles")?;
        (both.clone(), both)
    } else {
        let given = reader.require(inner, "send") & reader.require(inner, "receive");
        given.then_some(())?;
        let send = quantiles(reader, inner, "send");
        let receive = quantiles(reader, inner, "receive");
        (send?, receive?)
    };
    Some(Spread::Empirical(Box::new(Empirical { send, receive })))
}

/// Reads a list of quantiles.
fn quantiles(reader: &mut Reader<'_>, inner: &Fields<'_>, key: &'static str) -> Option<Quantiles> {
    let items = reader.items(inner, key);
    let mut points = Vec::new();
    // One point above the maximum is enough to report that there are too many.
    for (index, item) in items.iter().take(Quantiles::MAX + 1).enumerate() {
        let owner = format!("point {} of `{key}`", index + 1);
        let fields = reader.fields(item, &QUANTILE, owner, item.span);
        points.push(fields.and_then(|fields| quantile(reader, &fields)));
    }
    let points: Option<Vec<Quantile>> = points.into_iter().collect();
    let place = inner.get(key).map_or(inner.at, |entry| entry.value.span);
    Quantiles::new(points?)
        .map_err(|error| {
            let index = match error {
                QuantilesError::Count { .. } => None,
                QuantilesError::First => Some(0),
                QuantilesError::Last => items.len().checked_sub(1),
                QuantilesError::Share { index } | QuantilesError::Value { index } => Some(index),
            };
            let span = index.and_then(|index| items.get(index)).map_or(place, |item| item.span);
            let title = format!("`{key}` is not a distribution");
            let label = error.to_string();
            let example = inner
                .section
                .find(key)
                .map(|key| Help::example(format!("{}: {}", key.name, key.example)));
            reader.report(
                Diagnostic::new(&codes::VALUE_OUT_OF_RANGE, title, span, label).help_if(example),
            );
        })
        .ok()
}

fn quantile(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Quantile> {
    let given = reader.require(fields, "share") & reader.require(fields, "add");
    let share = reader.quantity(fields, "share", Quantity::Ratio);
    let value = reader.time_up_to(fields, "add", LONGEST, "of a single packet");
    given.then_some(())?;
    let per_million = parts_of_a_million(reader, "share", share?)?;
    Some(Quantile { per_million, value: value? })
}

/// Returns a ratio in whole parts per million.
fn parts_of_a_million(reader: &mut Reader<'_>, key: &str, ratio: At<u64>) -> Option<u32> {
    if !ratio.value.is_multiple_of(1000) {
        let title = format!("`{key}` counts whole parts of a million");
        let label = "a whole multiple of 1 ppm is needed";
        reader.report(
            Diagnostic::new(&codes::VALUE_TOO_FINE, title, ratio.span, label)
                .help(Help::example(format!("{key}: 100 ppm"))),
        );
        return None;
    }
    u32::try_from(ratio.value / 1000).ok()
}

fn outliers(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Outliers> {
    let inner = reader.one(fields, "outliers", &OUTLIERS)?;
    let given = reader.require(&inner, "ratio") & reader.require(&inner, "delay");
    let ratio = reader.quantity(&inner, "ratio", Quantity::Ratio);
    let delay = reader.time_range(&inner, "delay");
    given.then_some(())?;
    let (ratio, (min, max)) = (ratio?, delay?);
    if max > LONGEST {
        let place = inner.get("delay").map_or(inner.at, |entry| entry.value.span);
        let found = max.to_string();
        reader.out_of_range("delay", place, "at most 3600 s", &found, "of a single packet");
    }
    let per_million = parts_of_a_million(reader, "ratio", ratio)?;
    Some(Outliers { per_million, min, max })
}
