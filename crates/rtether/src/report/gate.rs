//! What a check found, in the forms that tools for changes read: SARIF 2.1.0 (OASIS), annotations of
//! GitHub workflows, and `JUnit` XML.
//!
//! A finding is a mistake in the scenario, at its place, or a stream whose requirement does not
//! hold, at the flow. In `JUnit` each stream is a test case, held or not.

use std::fmt::Write;

use rtether_report::markup::{Element, Markup, element};
use serde_json::{Value, json};

use super::checked::{Checked, Stream};
use super::sums::Summed;
use super::text::time;
use crate::scenario::render::position;
use crate::scenario::{Loaded, Replacement, Severity, Source, Span, codes};
use crate::words::{Column, Conclusion, Verdict};

/// A mistake, or a requirement that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// Stable name: the code of a diagnostic, or the verdict on a stream.
    pub code: &'static str,
    /// What is wrong, in a sentence.
    pub message: String,
    /// Where: the main place first.
    pub places: Vec<Place>,
    /// Edits that would mend it, with their words.
    pub fixes: Vec<(String, Replacement)>,
}

/// A place in a file. Lines and columns count from 1, columns in characters; the end is behind the
/// last character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file as it was named.
    pub file: String,
    /// First line and column.
    pub begin: (usize, usize),
    /// Line and column behind the last character.
    pub end: (usize, usize),
    /// Why it is shown; may be empty.
    pub label: String,
}

impl Place {
    fn of(sources: &[Source], span: Span, label: &str) -> Option<Self> {
        let source = sources.get(span.source as usize)?;
        Some(Self {
            file: source.name.clone(),
            begin: position(&source.text, span.start),
            end: position(&source.text, span.end),
            label: label.to_owned(),
        })
    }
}

/// Returns the mistakes in a scenario, in the order of the file.
pub fn mistakes(loaded: &Loaded) -> Vec<Finding> {
    let found = loaded.diagnostics.iter().map(|diagnostic| {
        let labels = core::iter::once(&diagnostic.primary).chain(&diagnostic.secondary);
        let places = labels.filter_map(|own| Place::of(&loaded.sources, own.span, &own.text));
        let helps = diagnostic.help.iter().map(|help| format!("; {help}"));
        Finding {
            severity: diagnostic.severity,
            code: diagnostic.code,
            message: diagnostic.title.clone() + &helps.collect::<String>(),
            places: places.collect(),
            fixes: diagnostic
                .edits()
                .map(|(help, edit)| {
                    let place = Replacement::of(edit, &loaded.sources);
                    (help.text.clone(), place)
                })
                .collect(),
        }
    });
    found.collect()
}

/// Returns what a check fails for: streams whose requirements do not hold, at their flows in the
/// scenario that was read, and [`further`].
pub fn failures(loaded: &Loaded, checked: &Checked) -> Vec<Finding> {
    let found = checked.streams().filter_map(|stream| {
        let verdict = stream.assessment.verdict;
        if !verdict.is_failure() && verdict != Verdict::NoAnswer {
            return None;
        }
        let flow = stream.record.flow_id().index();
        let span = loaded.places.flows.get(flow).copied();
        let place = span.and_then(|span| Place::of(&loaded.sources, span, ""));
        Some(Finding {
            severity: if verdict.is_failure() { Severity::Error } else { Severity::Warning },
            code: verdict.name(),
            message: format!("{}: {}", checked.stream_name(&stream), reasons(&stream)),
            places: place.into_iter().collect(),
            fixes: helped(checked, &stream),
        })
    });
    let others = further(checked).into_iter().filter_map(|other| {
        let (kind, code, message) = other.outcome?;
        let severity = if kind == FAILURE || checked.conclusion != Conclusion::NoAnswer {
            Severity::Error
        } else {
            Severity::Warning
        };
        Some(Finding {
            severity,
            code,
            message: format!("{}: {message}", other.name),
            places: Vec::new(),
            fixes: Vec::new(),
        })
    });
    found.chain(others).collect()
}

/// Returns the edits that would help a stream, if it is the one that was looked at.
fn helped(checked: &Checked, stream: &Stream<'_>) -> Vec<(String, Replacement)> {
    let help = checked.help.as_ref();
    let help = help.filter(|help| help.stream == stream.index);
    let changes = help.iter().flat_map(|help| help.changes.iter().flatten());
    let edits = changes.filter_map(|own| Some((own.words.clone(), own.written.clone()?)));
    edits.collect()
}

/// Returns what is required besides streams, and what else keeps a check from being met: sums,
/// contradictions, an early end. A check that is not met has a case that is not held.
fn further(checked: &Checked) -> Vec<Case> {
    let suite = &checked.scenario.name;
    let case =
        |name: String, outcome| Case { class: suite.clone(), name, outcome, output: String::new() };
    let mut cases: Vec<Case> = checked
        .sums()
        .into_iter()
        .map(|sum| {
            let outcome = not_held(sum.verdict, || sum_in_words(&sum));
            case(sum.name, outcome)
        })
        .collect();
    let errors = checked.notes.iter().filter(|note| note.is_error);
    cases.extend(errors.map(|note| {
        let outcome = (ERROR, "check", note.text.clone());
        case("check".into(), Some(outcome))
    }));
    let verdicts = checked.streams().map(|stream| stream.assessment.verdict);
    let fails = |verdict: Verdict| verdict.is_failure() || verdict == Verdict::NoAnswer;
    let is_told = verdicts.into_iter().any(fails) || cases.iter().any(|own| own.outcome.is_some());
    let is_partial = checked.results.partial;
    if is_partial || (checked.conclusion != Conclusion::Met && !is_told) {
        let message = if is_partial {
            "interrupted: what is held is held so far".to_owned()
        } else {
            checked.summary()
        };
        cases.push(case("check".into(), Some((ERROR, "check", message))));
    }
    cases
}

/// Returns a sum that is not held in words.
fn sum_in_words(sum: &Summed) -> String {
    let value = match sum.failed {
        Some(Column::Bound) => sum.bound.value,
        Some(Column::Measured) => sum.measured.value,
        Some(Column::Simulated) | None => sum.simulated.value,
    };
    let value = value.map_or_else(|| "nothing".to_owned(), time);
    format!("{value} of {}", time(sum.limit))
}

/// Returns why a verdict is what it is.
fn reasons(stream: &Stream<'_>) -> String {
    let own = &stream.assessment;
    if own.reasons.is_empty() && own.verdict == Verdict::NoAnswer {
        return "nothing was delivered or due".to_owned();
    }
    own.reasons.join("; ")
}

/// Returns findings as SARIF 2.1.0, one run, with a line end.
pub fn sarif(findings: &[Finding]) -> String {
    let mut used: Vec<&str> = findings.iter().map(|finding| finding.code).collect();
    used.sort_unstable();
    used.dedup();
    let rules = used.iter().map(|code| rule(code));
    let results = findings.iter().map(|finding| {
        let mut places = finding.places.iter().map(location);
        let main: Vec<Value> = places.next().into_iter().collect();
        let mut result = json!({
            "ruleId": finding.code,
            "level": finding.severity.name(),
            "message": { "text": finding.message },
            "locations": main,
        });
        let related: Vec<Value> = places.collect();
        if !related.is_empty() {
            result["relatedLocations"] = related.into();
        }
        if !finding.fixes.is_empty() {
            let fixes = finding.fixes.iter().map(fix);
            result["fixes"] = fixes.collect::<Vec<_>>().into();
        }
        result
    });
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "rtether",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.collect::<Vec<_>>(),
            } },
            "columnKind": "unicodeCodePoints",
            "results": results.collect::<Vec<_>>(),
        }],
    });
    format!("{document:#}\n")
}

/// Returns an edit as a fix (SARIF 2.1.0, 3.55).
fn fix((words, edit): &(String, Replacement)) -> Value {
    json!({
        "description": { "text": words },
        "artifactChanges": [{
            "artifactLocation": { "uri": uri(&edit.file) },
            "replacements": [{
                "deletedRegion": {
                    "startLine": edit.begin.0,
                    "startColumn": edit.begin.1,
                    "endLine": edit.end.0,
                    "endColumn": edit.end.1,
                },
                "insertedContent": { "text": edit.new },
            }],
        }],
    })
}

/// Returns the description of a code.
fn rule(code: &str) -> Value {
    let known = codes::ALL.iter().find(|known| known.name == code);
    let (summary, advice) = match known {
        Some(known) => (known.summary, known.advice),
        None => match code {
            "late" => ("Packets are later than a requirement allows.", ""),
            "lost" => ("More packets are lost than a requirement allows.", ""),
            "not-proved" => ("A proved bound exceeds its limit.", ""),
            "check" => ("The check as a whole is not met.", ""),
            "no-answer" => ("Nothing was delivered or due, so nothing can be said.", ""),
            _ => ("", ""),
        },
    };
    let mut rule = json!({ "id": code, "shortDescription": { "text": summary } });
    if !advice.is_empty() {
        rule["fullDescription"] = json!({ "text": advice });
    }
    rule
}

fn location(place: &Place) -> Value {
    let mut location = json!({
        "physicalLocation": {
            "artifactLocation": { "uri": uri(&place.file) },
            "region": {
                "startLine": place.begin.0,
                "startColumn": place.begin.1,
                "endLine": place.end.0,
                "endColumn": place.end.1,
            },
        },
    });
    if !place.label.is_empty() {
        location["message"] = json!({ "text": place.label });
    }
    location
}

/// Returns a file name as a relative reference of RFC 3986, or an absolute path without a scheme.
fn uri(file: &str) -> String {
    let mut out = String::new();
    for octet in file.bytes() {
        match octet {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(octet));
            }
            b'\\' => out.push('/'),
            _ => {
                let _ = write!(out, "%{octet:02X}");
            }
        }
    }
    out
}

/// Returns findings as workflow commands of GitHub, one per line: they show up beside the lines of a
/// change.
pub fn annotations(findings: &[Finding]) -> String {
    let lines = findings.iter().map(|finding| {
        let command = finding.severity.name();
        let mut properties = Vec::new();
        if let Some(place) = finding.places.first() {
            properties.push(format!("file={}", property(&place.file)));
            properties.push(format!("line={}", place.begin.0));
            properties.push(format!("endLine={}", place.end.0));
            // Columns are only allowed within one line.
            if place.begin.0 == place.end.0 {
                properties.push(format!("col={}", place.begin.1));
                properties.push(format!("endColumn={}", place.end.1));
            }
        }
        properties.push(format!("title={}", property(finding.code)));
        let (properties, message) = (properties.join(","), data(&finding.message));
        format!("::{command} {properties}::{message}\n")
    });
    lines.collect()
}

fn data(text: &str) -> String {
    let text = text.replace('%', "%25");
    text.replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Element of a requirement that does not hold.
const FAILURE: &str = "failure";
/// Element of what has no answer.
const ERROR: &str = "error";

/// Element, type and message of what is not held.
type Outcome = Option<(&'static str, &'static str, String)>;

/// Returns the outcome of a verdict.
fn not_held(verdict: Verdict, reasons: impl FnOnce() -> String) -> Outcome {
    match verdict {
        Verdict::Ok => None,
        Verdict::Unjudged => Some(("skipped", verdict.name(), "no requirement".to_owned())),
        Verdict::NoAnswer => Some((ERROR, verdict.name(), reasons())),
        Verdict::NotProved | Verdict::Lost | Verdict::Late => {
            Some((FAILURE, verdict.name(), reasons()))
        }
    }
}

/// A test case of `JUnit`.
struct Case {
    class: String,
    name: String,
    outcome: Outcome,
    /// What the test printed.
    output: String,
}

/// Returns the verdicts as `JUnit` XML: one suite for the scenario, one case for each stream and
/// each sum. What has no requirement is skipped; what has no answer is an error.
pub fn junit(checked: &Checked) -> String {
    suite(checked).document()
}

/// Returns the verdicts as a suite of `JUnit`, for a document with several.
pub fn suite(checked: &Checked) -> Suite {
    let suite = &checked.scenario.name;
    let cases = checked.streams().map(|stream| {
        let outcome = not_held(stream.assessment.verdict, || reasons(&stream));
        Case {
            class: match stream.flow.class.as_str() {
                "" => suite.clone(),
                class => format!("{suite}.{class}"),
            },
            name: checked.stream_name(&stream),
            outcome,
            output: figures(&stream),
        }
    });
    let cases: Vec<Case> = cases.chain(further(checked)).collect();
    let word = checked.conclusion.word();
    Suite::of(
        suite,
        &cases,
        &[
            ("conclusion", word.to_owned()),
            ("summary", checked.summary()),
            ("assumptions", checked.assumed.count().to_string()),
        ],
    )
}

/// Returns the mistakes of a scenario that cannot be run as `JUnit` XML: a case for each error.
pub fn junit_of_mistakes(scenario: &str, mistakes: &[Finding]) -> String {
    suite_of_mistakes(scenario, mistakes).document()
}

/// Returns the mistakes of a scenario that cannot be run as a suite of `JUnit`.
pub fn suite_of_mistakes(scenario: &str, mistakes: &[Finding]) -> Suite {
    let errors = mistakes.iter();
    let errors = errors.filter(|mistake| mistake.severity == Severity::Error);
    let cases = errors.map(|mistake| {
        let place = mistake.places.first();
        let line = place.map_or_else(String::new, |place| {
            format!("{}:{}:{}", place.file, place.begin.0, place.begin.1)
        });
        Case {
            class: scenario.to_owned(),
            name: line,
            outcome: Some((ERROR, mistake.code, mistake.message.clone())),
            output: String::new(),
        }
    });
    Suite::of(scenario, &cases.collect::<Vec<_>>(), &[])
}

/// The test cases of one scenario.
#[derive(Debug)]
pub struct Suite {
    name: String,
    tests: usize,
    failures: usize,
    errors: usize,
    element: Element,
}

impl Suite {
    fn of(name: &str, cases: &[Case], properties: &[(&str, String)]) -> Self {
        let count = |kind: &str| {
            let outcomes = cases.iter().filter_map(|case| case.outcome.as_ref());
            outcomes.filter(|(own, ..)| *own == kind).count()
        };
        let [failures, errors, skipped] = [FAILURE, ERROR, "skipped"].map(count);
        let suite = element("testsuite").attr("name", name);
        let suite = suite.attr("tests", cases.len()).attr("failures", failures);
        let suite = suite.attr("errors", errors).attr("skipped", skipped);
        let said = properties.iter();
        let said =
            said.map(|(name, value)| element("property").attr("name", *name).attr("value", value));
        let suite = if properties.is_empty() {
            suite
        } else {
            suite.child(element("properties").children(said))
        };
        Self {
            name: name.to_owned(),
            tests: cases.len(),
            failures,
            errors,
            element: suite.children(cases.iter().map(Case::element)),
        }
    }

    /// Returns a document of this suite alone.
    fn document(self) -> String {
        let name = self.name.clone();
        junit_of(&name, vec![self])
    }
}

/// Returns a document with a suite for each scenario.
pub fn junit_of(name: &str, suites: Vec<Suite>) -> String {
    let sum = |of: fn(&Suite) -> usize| suites.iter().map(of).sum::<usize>();
    let all = element("testsuites").attr("name", name);
    let all = all.attr("tests", sum(|own| own.tests));
    let all = all.attr("failures", sum(|own| own.failures));
    let all = all.attr("errors", sum(|own| own.errors));
    let all: Markup = all.children(suites.into_iter().map(|own| own.element)).into();
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", all.as_str())
}

impl Case {
    fn element(&self) -> Element {
        let case = element("testcase").attr("name", &self.name);
        let case = case.attr("classname", &self.class);
        let case = match &self.outcome {
            None => case,
            Some(("skipped", _, message)) => {
                case.child(element("skipped").attr("message", message))
            }
            Some((kind, name, message)) => {
                let found = element(kind).attr("message", message).attr("type", name);
                case.child(found.text(message))
            }
        };
        if self.output.is_empty() {
            case
        } else {
            case.child(element("system-out").text(&self.output))
        }
    }
}

/// Returns the figures of a stream in one line.
fn figures(stream: &Stream<'_>) -> String {
    let mut parts = Vec::new();
    if stream.record.latency.count > 0 {
        parts.push(format!("max {}", time(stream.record.latency.max)));
    }
    parts.extend(stream.bound.map(|bound| format!("bound {}", time(bound))));
    let deadline = stream.flow.deadline;
    parts.extend(deadline.map(|deadline| format!("deadline {}", time(deadline))));
    parts.join(", ")
}
