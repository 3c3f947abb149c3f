//! The answers, each by functions of `rtether`.

use std::sync::Arc;

use rtether::bound::{self, Bounds, Duration};
use rtether::check::{self, Options};
use rtether::design;
use rtether::import::{self, Imported};
use rtether::report::format::{Format, Render};
use rtether::report::table::Screen;
use rtether::report::{Checked, Verdicts, html};
use rtether::run::{self, Progress};
use rtether::scenario::{self, Scenario, Written};
use rtether::why::{self, Choice, Explainer, Stream};
use serde_json::{Map, Value, json};

use crate::Tell;
use crate::question::Question;

/// Answers a question by its member `do`.
pub(crate) fn answer(question: &Question<'_>, tell: &Tell) -> Result<Value, String> {
    match question.text("do") {
        "load" => Ok(load(question)),
        "check" => check(question, tell),
        "bound" => bounds(question),
        "design" => design(question, tell),
        "explain" => prevented(question, tell),
        "why" => explain(question, tell),
        "import" => import(question),
        other => Err(format!("there is no question `{other}`")),
    }
}

/// Files of others are not within reach of a page.
fn alone(_: &str) -> Result<String, String> {
    Err("a page has one file: paste the content of this one in its place".to_owned())
}

fn loaded(question: &Question<'_>) -> scenario::Loaded {
    let (name, text) = (question.text("name"), question.text("text"));
    scenario::load_from(name, text, &alone, &[], &[])
}

/// Returns the scenario, and how it is written.
fn plant(question: &Question<'_>) -> Result<(Scenario, Written), String> {
    let loaded = loaded(question);
    let written = Written::of(&loaded, Vec::new());
    Ok((loaded.into_scenario()?, written))
}

/// Tells what is wrong, and which edits mend it.
fn load(question: &Question<'_>) -> Value {
    let loaded = loaded(question);
    let name = loaded.scenario.as_ref().map(|scenario| &scenario.name);
    json!({
        "diagnostics": loaded.json(),
        "mends": mends(&loaded),
        "name": name,
    })
}

/// Returns the edits that were tried, as the octets to replace.
fn mends(loaded: &scenario::Loaded) -> Value {
    let diagnostics = loaded.diagnostics.iter().enumerate();
    let edits = diagnostics.flat_map(|(index, diagnostic)| {
        let helps = diagnostic.help.iter().enumerate();
        helps.filter_map(move |(help, own)| Some((index, help, own.edit.as_ref()?)))
    });
    let tried = edits.filter(|(_, _, edit)| edit.is_tried && edit.span.source == 0);
    let told = tried.map(|(index, help, edit)| {
        let (start, end) = (edit.span.start, edit.span.end);
        json!({ "diagnostic": index, "help": help, "start": start, "end": end, "text": edit.new })
    });
    told.collect()
}

/// Returns a result in the forms that the page uses.
fn shown(result: &dyn Render) -> Map<String, Value> {
    let mut shown = Map::new();
    let json = result.render(Format::Json, Screen::default());
    shown.insert("json".to_owned(), json.into());
    shown.insert("html".to_owned(), result.fragment().into());
    shown
}

/// Least number of steps of a simulation between two words of it; a step is milliseconds of work.
const STEPS: u32 = 64;

/// Returns the progress of a simulation of that many runs, which tells each percent, and meanwhile that
/// it goes on.
fn progress(scenario: &Scenario, runs: u32, tell: &Tell) -> Progress {
    let run = scenario.run.duration.as_ps();
    let whole = i128::from(run.saturating_mul(runs.into()).max(1));
    let (tell, mut told, mut steps) = (Arc::clone(tell), 0, 0_u32);
    Progress::telling(move |simulated| {
        let percent = i64::try_from(i128::from(simulated.as_ps()) * 100 / whole);
        let percent = percent.unwrap_or(100).min(100);
        if percent != told || steps.is_multiple_of(STEPS) {
            tell(&percent.to_string());
        }
        (told, steps) = (percent, steps.wrapping_add(1));
    })
}

/// Simulates, proves and judges; with `report`, the page of `check --report` is made as well.
fn check(question: &Question<'_>, tell: &Tell) -> Result<Value, String> {
    let (mut scenario, written) = plant(question)?;
    let has_report = question.is("report");
    if !has_report {
        scenario.run.bucket = Duration::ZERO;
    }
    let options = Options { explains: has_report, ..Options::default() };
    let progress = progress(&scenario, scenario.run.runs, tell);
    let results = run::simulate(&scenario, &progress).map_err(|error| error.to_string())?;
    tell("proving");
    let mut checked = check::conclude(scenario, results, options);
    if !has_report {
        tell(&format!("verdict {}", Value::from(judged(&checked))));
    }
    check::add_help(&mut checked, written);
    let mut shown = judged(&checked);
    if has_report {
        shown.insert("report".to_owned(), html::render(&checked).into());
    }
    Ok(shown.into())
}

/// Returns a verdict in the forms that the page uses.
fn judged(checked: &Checked) -> Map<String, Value> {
    let mut shown = shown(&Verdicts::from(checked));
    shown.insert("verdict".to_owned(), html::verdict(checked).as_str().into());
    let notes = checked.notes.iter().map(|note| note.text.as_str());
    shown.insert("notes".to_owned(), notes.collect());
    shown.insert("streams".to_owned(), streams(checked));
    shown.insert("plan".to_owned(), html::plan(checked).as_str().into());
    shown
}

/// Lists the streams, worst first, with what became of each.
fn streams(checked: &Checked) -> Value {
    let order = checked.worst_first().into_iter();
    let told = order.map(|index| {
        let stream = checked.stream(index);
        json!({
            "name": checked.stream_name(&stream),
            "standing": stream.standing().name(),
        })
    });
    told.collect()
}

fn bounds(question: &Question<'_>) -> Result<Value, String> {
    let (scenario, _) = plant(question)?;
    let analysis = bound::analyze(&scenario);
    let bounds = Bounds { scenario: &scenario, analysis: &analysis };
    Ok(shown(&bounds).into())
}

/// Searches for settings under which every deadline is proved; the answer has the new text.
fn design(question: &Question<'_>, tell: &Tell) -> Result<Value, String> {
    let (scenario, written) = plant(question)?;
    let progress = designing(tell);
    let found = design::design(&scenario, &written, design::Question::default(), &progress);
    let outcome = found.map_err(|error| error.to_string())?;
    let mut shown = shown(&design::Answer { outcome: &outcome });
    let edits = outcome.edits.iter().map(|own| own.path.as_str());
    shown.insert("edits".to_owned(), edits.collect());
    shown.insert("text".to_owned(), outcome.text.clone().into());
    Ok(shown.into())
}

/// Says what prevents the deadline of a flow.
fn prevented(question: &Question<'_>, tell: &Tell) -> Result<Value, String> {
    let (scenario, written) = plant(question)?;
    let (progress, flow) = (designing(tell), question.text("flow"));
    let found = design::explain(&scenario, &written, flow, design::Question::default(), &progress);
    Ok(shown(&found.map_err(|error| error.to_string())?).into())
}

/// Returns the progress of a search for a design, which tells each design that was tried.
fn designing(tell: &Tell) -> design::Progress {
    let tell = Arc::clone(tell);
    design::Progress::telling(move |progress| tell(&progress.words()))
}

/// Explains the slowest packet of a stream, or with `bound` its proved bound.
fn explain(question: &Question<'_>, tell: &Tell) -> Result<Value, String> {
    let (scenario, _) = plant(question)?;
    let flow = question.text("flow");
    let stream = Stream::named(&scenario, flow);
    let stream = stream.ok_or_else(|| format!("there is no stream `{flow}`"))?;
    let none = || format!("`{flow}` has no such packet, or no bound");
    let (mut shown, picture) = if question.is("bound") {
        let mut found = Explainer::new(&scenario).explain(stream).ok_or_else(none)?;
        found.look_for_pattern();
        (shown(&found), found.draw())
    } else {
        let choice = match question.text("packet") {
            "late" => Choice::Late,
            _ => Choice::Worst,
        };
        let progress = progress(&scenario, 1, tell);
        let found = why::explain(&scenario, stream, choice, &progress);
        let found = found.map_err(|error| error.to_string())?.ok_or_else(none)?;
        (shown(&found), Some(found.draw()))
    };
    let picture = picture.map(|picture| picture.as_str().to_owned());
    shown.insert("svg".to_owned(), picture.into());
    Ok(shown.into())
}

/// Makes a scenario of files of another tool.
fn import(question: &Question<'_>) -> Result<Value, String> {
    let files = question.sources();
    let plan = import::import_all(&files, &import::Options::new());
    let plan = plan.map_err(|error| error.to_string())?;
    let names: Vec<&str> = question.files.iter().map(|(name, _)| &**name).collect();
    let imported = Imported { file: &names.join(", "), plan: &plan };
    let mut shown = shown(&imported);
    shown.insert("scenario".to_owned(), plan.scenario.clone().into());
    Ok(shown.into())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Oracle: percents in order, up to all of it, then the proof and the verdict.
    #[test]
    fn it_is_told_how_far_the_runs_are() {
        let text = "rtether: 1\nnodes: { a: { stack: zero }, b: { stack: zero } }\n\
            links: [{ ends: [a, b], rate: 100 Mbit/s }]\n\
            flows: [{ name: x, from: a, to: b, period: 2 ms, size: 64 B, deadline: 1 ms }]\n\
            run: { for: 10 s, seeds: 2 }\n";
        let line = json!({ "do": "check", "name": "x.yaml", "text": text }).to_string();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hears = Arc::clone(&heard);
        let answer = crate::answer_telling(line.as_bytes(), move |far| {
            hears.lock().unwrap().push(far.to_owned());
        });
        assert!(answer.contains("verdict"), "{answer}");
        let mut heard = heard.lock().unwrap().clone();
        let verdict = heard.pop().unwrap();
        let verdict = verdict.strip_prefix("verdict ").unwrap();
        let (verdict, answer): (Value, Value) =
            (serde_json::from_str(verdict).unwrap(), serde_json::from_str(&answer).unwrap());
        // Nothing is late here, so that nothing would help.
        assert_eq!(verdict, answer);
        assert_eq!(heard.pop().as_deref(), Some("proving"));
        let percents: Vec<u32> = heard.iter().map(|far| far.parse().unwrap()).collect();
        assert!(percents.is_sorted(), "{percents:?}");
        assert_eq!(percents.last(), Some(&100));
        assert!(percents.len() > 20, "{percents:?}");
    }

    #[test]
    fn an_edit_is_offered_if_it_mends() {
        let text = "rtether: 1\nnodes: { a: { stack: zero }, b: { stack: zero } }\n\
            links: [{ ends: [a, b], rate: 100 Mbit/s }]\n\
            flows: [{ name: x, from: a, to: b, perod: 2 ms, size: 64 B }]\n";
        let line = json!({ "do": "load", "name": "x.yaml", "text": text }).to_string();
        let question = Question::read(line.as_bytes()).unwrap();
        let answer = load(&question);
        let mend = &answer["mends"][0];
        let place = text.find("perod").unwrap();
        assert_eq!((mend["diagnostic"].as_u64(), &mend["text"]), (Some(0), &"period".into()));
        assert_eq!((&mend["start"], &mend["end"]), (&place.into(), &(place + 5).into()));
        assert_eq!(answer["name"], Value::Null);
    }
}
