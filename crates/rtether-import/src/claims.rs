//! What other tools, vendors and reports claim of a plant: bounds on delays, deadlines that are reached, flows that lose
//! nothing. Read are CSV, bounds of rtether in JSON, and results of Saihu, which has those of xTFA,
//! panco and `DiscoDNC`.
//!
//! Times are cut to whole picoseconds, which decides nothing: bounds and simulated delays are whole,
//! so that one is below a claim exactly if it is below the claim that is cut.

use rtether_model::quantity::Duration;
use serde_json::{Map, Value};

use crate::columns::{picoseconds, unit_of_time};
use crate::error::ImportError;
use crate::table::{Cells, Table};
use crate::text::quote;

/// Most claims.
const MOST: usize = 200_000;
/// Titles of the columns that name a flow, and that have its bound.
const FLOWS: [&str; 3] = ["flow", "name", "stream"];
const BOUNDS: [&str; 5] = ["bound", "delay", "latency", "wcrt", "claim"];
/// Words for a deadline that is reached, and for a flow that loses nothing.
const REACHED: [&str; 3] = ["reached", "schedulable", "met"];
const NO_LOSS: [&str; 2] = ["no loss", "lossless"];
/// What a cell or a value may be.
const WANTED: &str = "a time with its unit, as 120 us, or `reached`, or `no loss`";

/// Which columns there are to be.
const COLUMNS: &str = "name the columns `flow` and `bound_us` (or `_ns`, `_ms`, `_s`), or `bound` with \
                       a unit in each cell";

/// What is claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// No packet takes longer.
    Bound(Duration),
    /// Every packet arrives within the deadline of its flow.
    Reached,
    /// No packet is lost.
    NoLoss,
}

/// A claim about a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Name of the flow.
    pub flow: String,
    /// Name of the listener; `None` means all of them.
    pub listener: Option<String>,
    /// What is claimed.
    pub claimed: Claimed,
    /// By which method, if the file says so.
    pub by: Option<String>,
    /// Line of the file, counted from 1, if it has one for each claim.
    pub line: Option<usize>,
}

/// Reads claims.
///
/// # Errors
/// If the file is none of these, with its line and what to write there.
pub fn claims(name: &str, octets: &[u8]) -> Result<Vec<Claim>, ImportError> {
    let text = crate::read(&crate::File { name, octets })?;
    let claims = if text.trim_start().starts_with('{') {
        of_json(name, &text)?
    } else {
        of_table(&Table::read(name, &text)?)?
    };
    if claims.is_empty() {
        let what = "it claims nothing".to_owned();
        return Err(ImportError::new(name, None, what, "give a flow and its bound in each row"));
    }
    if claims.len() > MOST {
        let what = format!("it has more than {MOST} claims");
        return Err(ImportError::new(name, None, what, "judge a part of it"));
    }
    Ok(claims)
}

/// A column of times.
struct Times {
    column: usize,
    unit: Unit,
}

/// The unit of a column of times.
#[derive(Clone, Copy)]
enum Unit {
    /// Each cell has its own.
    OfCells,
    /// The title has it.
    OfTitle(Duration),
}

fn of_table(table: &Table) -> Result<Vec<Claim>, ImportError> {
    let flow = FLOWS.iter().find_map(|title| table.find(title));
    let flow = flow.ok_or_else(|| table.lacks(FLOWS[0], COLUMNS))?;
    let listener = table.find("listener");
    let by = table.find("method").or_else(|| table.find("by"));
    let titles = table.titles().enumerate();
    let mut times = titles.filter_map(|(column, title)| Some((column, unit_in(title)?)));
    let (column, unit) = times.next().ok_or_else(|| table.lacks(BOUNDS[0], COLUMNS))?;
    let times = Times { column, unit };
    let mut claims = Vec::new();
    for row in table.rows() {
        let Some(claimed) = in_cell(row, &times)? else { continue };
        claims.push(Claim {
            flow: row.cell(flow).to_owned(),
            listener: name_in(row, listener),
            claimed,
            by: name_in(row, by),
            line: Some(row.line),
        });
    }
    Ok(claims)
}

/// Returns the name in a cell, if there is one.
fn name_in(row: Cells<'_>, column: Option<usize>) -> Option<String> {
    let cell = row.cell(column?);
    (!cell.is_empty()).then(|| cell.to_owned())
}

/// Returns the unit in the title of a column of bounds: `bound`, `bound_us`, `delay (ms)`,
/// `latency [ns]`; `None` for another column.
fn unit_in(title: &str) -> Option<Unit> {
    let lower = title.trim().to_ascii_lowercase();
    let word = BOUNDS.iter().find(|word| lower.starts_with(**word))?;
    match lower[word.len()..].trim_matches(|c: char| " _()[]".contains(c)) {
        "" => Some(Unit::OfCells),
        unit => unit_of_time(unit).map(Unit::OfTitle),
    }
}

/// Returns what a cell claims; nothing if it is empty.
fn in_cell(row: Cells<'_>, times: &Times) -> Result<Option<Claimed>, ImportError> {
    let cell = row.cell(times.column);
    if cell.is_empty() {
        return Ok(None);
    }
    if let Some(word) = in_words(cell) {
        return Ok(Some(word));
    }
    let begin = cell.find(|c: char| c.is_alphabetic() && c != 'e' && c != 'E');
    let (number, unit) = cell.split_at(begin.unwrap_or(cell.len()));
    let unit = match (unit.trim(), times.unit) {
        ("", Unit::OfTitle(unit)) => Some(unit),
        (unit, _) => unit_of_time(unit),
    };
    let time = unit.and_then(|unit| picoseconds(number.trim(), unit));
    let time = time.ok_or_else(|| row.wrong(times.column, WANTED))?;
    Ok(Some(Claimed::Bound(time)))
}

fn in_words(text: &str) -> Option<Claimed> {
    let text = text.trim().to_ascii_lowercase();
    if REACHED.contains(&text.as_str()) {
        Some(Claimed::Reached)
    } else if NO_LOSS.contains(&text.as_str()) {
        Some(Claimed::NoLoss)
    } else {
        None
    }
}

fn of_json(name: &str, text: &str) -> Result<Vec<Claim>, ImportError> {
    // Python writes what has no limit as a word that JSON does not have.
    let text = text.replace(": Infinity", ": null").replace(": NaN", ": null");
    let root: Map<String, Value> = serde_json::from_str(&text).map_err(|error| {
        let what = format!("it is not JSON: {}", crate::text::plain(&error.to_string(), 200));
        ImportError::new(name, Some(error.line()), what, "write it again")
    })?;
    if let Some(delays) = root.get("flow_e2e_delay").and_then(Value::as_object) {
        return of_saihu(name, &root, delays);
    }
    match root.get("streams").and_then(Value::as_array) {
        Some(streams) if root.get("schema").is_some_and(|own| *own == "rtether.bound/1") => {
            Ok(streams.iter().filter_map(of_ours).collect())
        }
        _ => {
            let what = "it has no bounds that are known here".to_owned();
            let remedy = "give CSV, the JSON of `rtether bound`, or the results of Saihu in JSON";
            Err(ImportError::new(name, None, what, remedy))
        }
    }
}

/// A stream without a bound claims nothing.
fn of_ours(stream: &Value) -> Option<Claim> {
    let bound = stream.get("bound_ns")?.as_number()?.to_string();
    Some(Claim {
        flow: text_at(stream, "name")?,
        listener: text_at(stream, "listener"),
        claimed: Claimed::Bound(picoseconds(&bound, Duration::from_ns(1))?),
        by: text_at(stream, "method"),
        line: None,
    })
}

fn text_at(value: &Value, key: &str) -> Option<String> {
    Some(value.get(key)?.as_str()?.to_owned())
}

/// Reads `{"flow_e2e_delay": {FLOW: {METHOD: NUMBER}}, "units": {"flow_delay": UNIT}}`.
fn of_saihu(
    name: &str,
    root: &Map<String, Value>,
    delays: &Map<String, Value>,
) -> Result<Vec<Claim>, ImportError> {
    let unit = root.get("units").and_then(|units| units.get("flow_delay")?.as_str());
    let unit = unit.and_then(unit_of_time).ok_or_else(|| {
        let what = "it does not say in which unit delays of flows are".to_owned();
        ImportError::new(name, None, what, "give `units: { flow_delay: us }`, as Saihu does")
    })?;
    let mut claims = Vec::new();
    for (flow, methods) in delays {
        for (method, delay) in methods.as_object().into_iter().flatten() {
            // A method that found no bound claims nothing.
            let Value::Number(number) = delay else { continue };
            let time = picoseconds(&number.to_string(), unit).ok_or_else(|| {
                let what = format!("the delay of {} is {number}", quote(flow));
                ImportError::new(name, None, what, "give a time of at most a day")
            })?;
            claims.push(Claim {
                flow: flow.clone(),
                listener: None,
                claimed: Claimed::Bound(time),
                by: Some(method.clone()),
                line: None,
            });
        }
    }
    Ok(claims)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Claim>, ImportError> {
        claims("claims", text.as_bytes())
    }

    fn times(text: &str) -> Vec<i64> {
        let claims = read(text).expect("claims");
        let times = claims.iter().map(|claim| match claim.claimed {
            Claimed::Bound(time) => time.as_ps(),
            Claimed::Reached => -1,
            Claimed::NoLoss => -2,
        });
        times.collect()
    }

    /// Oracle: by hand.
    #[test]
    fn tables_are_read_with_units_in_title_or_cell() {
        assert_eq!(times("flow,bound_us\na,1.5\nb,2e1\nc,\n"), [1_500_000, 20_000_000]);
        assert_eq!(times("name;Delay (ms)\na;0.0000000019\n"), [1]);
        assert_eq!(times("stream,bound\na,955 us\nb,reached\nc,No loss\n"), [955_000_000, -1, -2]);
        let named = read("flow,listener,bound_ns,method\na,b,7,SFA\n").expect("claims");
        assert_eq!(named[0].listener.as_deref(), Some("b"));
        assert_eq!((named[0].by.as_deref(), named[0].line), (Some("SFA"), Some(2)));
    }

    /// Oracle: the documents of rtether and of Saihu (`example/demo_data.json`), in short.
    #[test]
    fn documents_are_read() {
        let ours = r#"{"schema": "rtether.bound/1", "streams": [
            {"name": "a", "listener": "x", "bound_ns": 1.25, "method": "total flow"},
            {"name": "b", "listener": "x", "bound_ns": null}]}"#;
        assert_eq!(times(ours), [1_250]);
        let saihu = r#"{"flow_e2e_delay": {"f0": {"DNC_SFA": 80.0501253132832, "x": Infinity}},
            "units": {"flow_delay": "us"}}"#;
        assert_eq!(times(saihu), [80_050_125]);
        assert_eq!(read(saihu).expect("claims")[0].by.as_deref(), Some("DNC_SFA"));
    }

    proptest::proptest! {
        /// Oracle: an answer, whatever the octets; a number of a unit is no more than a day.
        #[test]
        fn any_octets_have_an_answer(
            head in "(flow,bound_us\n|\\{\"flow_e2e_delay\": \\{|)",
            tail in "[-a0-9eE.,:;\"{} \n]{0,60}",
        ) {
            for claim in read(&(head + &tail)).unwrap_or_default() {
                if let Claimed::Bound(time) = claim.claimed {
                    proptest::prop_assert!((0..=86_400_000_000_000_000).contains(&time.as_ps()));
                }
            }
        }
    }

    #[test]
    fn mistakes_are_named_with_their_line_and_a_remedy() {
        for (text, line, part) in [
            ("flow,bound\na,7\n", Some(2), "a time with its unit"),
            ("flow,bound_us\nb,1\na,seven\n", Some(3), "a time with its unit"),
            ("flow,bound_us\na,-7\n", Some(2), "a time with its unit"),
            ("flow,bound_us\na,1e400\n", Some(2), "a time with its unit"),
            ("flow,size\na,7\n", Some(1), "`bound_us`"),
            ("from,bound_us\na,7\n", Some(1), "`flow`"),
            ("flow,bound_us\n", None, "each row"),
            ("{\"streams\": []}", None, "JSON of `rtether bound`"),
            ("{\"flow_e2e_delay\": {\"a\": {\"b\": 1}}}", None, "flow_delay"),
            ("{", Some(1), "write it again"),
        ] {
            let wrong = read(text).expect_err(text);
            assert_eq!(wrong.line, line, "{wrong}");
            assert!(wrong.to_string().contains(part), "{wrong}");
        }
    }
}
