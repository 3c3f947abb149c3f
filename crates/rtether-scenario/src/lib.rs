//! What is written: scenario files, their syntax, diagnostics and lowering to the model.
//!
//! [`load`] reads a file and returns the [`Scenario`] that the engines use, together with every
//! mistake and its place. The format is a table of keys (`keys`), from which the [`schema()`] for
//! editors and the [`reference`](mod@reference) are made. Stages: `tree` (YAML with places),
//! `assemble` (`include`, `generate` and `overrides`, in this order), `reader` (typed values), `lower` (to
//! the model), `check` (the plant as a whole). Configurations of [`shim`]s share keys, reader and lowering.
//!
//! Files are untrusted: size, depth and the output of generators are limited.
//!
//! # Modules
//!
//! The language of scenarios and of shim configurations, from text to the model; `rtether`
//! re-exports it as `rtether::scenario`.
//!
//! `tree` is YAML with places (`tree::short` reads maps on one line without the library), `include`
//! adds the files that a scenario names, whose texts a loader of the caller gives, `taken` puts the
//! stacks of profiles in place, `overrides` and
//! `additions` change it, `keys` is the table of all keys, from which `reader`, `schema` and
//! `reference` take types, limits, words and descriptions; `lower` fills the model (what needs the
//! whole plant, as the registration of VLANs, at its end), `generate` writes substations into the
//! tree, `assemble` says in which order all that happens, `check`
//! looks at the plant as a whole, `codes` and `render` are the messages, `span` has places in
//! the text and `help` the edits that messages propose; `mend` and `set` give these their range,
//! `tried` reads again what comes of one, `fix` makes one after the other; `settled` writes changes into
//! the text of a file, `paths` takes their selectors apart, `pieces` leaves parts of a scenario out. `template` and `profiles`
//! are what `rtether new` writes and the stacks of the papers' devices.
//!
//! **Invariant:** a word cannot be in the table without its meaning (`keys::words`), so no word is
//! read as another.
//!
//! **Invariant:** every mistake is reported at once and with its place; input of any size or depth
//! ends with a scenario or a message.

mod additions;
mod assemble;
mod change;
mod check;
pub mod codes;
mod device;
pub mod diagnostic;
mod fix;
mod generate;
mod help;
mod include;
mod keys;
mod lower;
mod mend;
mod overrides;
mod paths;
mod pieces;
pub mod plan;
pub mod profile;
pub mod profiles;
mod reader;
pub mod reference;
pub mod render;
mod scalar;
mod schema;
mod selector;
mod set;
mod settled;
pub mod shim;
mod slips;
mod span;
mod suggest;
mod taken;
pub mod template;
mod tree;
mod tried;
mod units;
mod written;

pub use change::Override;
pub use check::Domains;
pub use codes::Severity;
pub use device::is_file as is_profile;
pub use diagnostic::quote;
pub use diagnostic::{Diagnostic, Label, Source, Span};
pub use fix::{Fix, Fixed, Made, Which};
pub use help::{Edit, EditJson, Help, Replacement};
pub use include::Loader;
pub use pieces::Pieces;
pub use plan::{
    About, Assumption, Assumptions, Cost, Design, Freedom, Identified, Limit, Loss, Priced,
    Requirement, RunPlan, Scenario, Stage, Statistic, Sum,
};
pub use scalar::scalar;
pub use schema::{profile_schema, schema, shim_schema};
pub use suggest::nearest_name;
pub use tree::MAX_FILE_SIZE;
pub use written::Written;

use diagnostic::Sink;
use lower::Plant;
use reader::Reader;
pub use rtether_model::flow::FlowId;
use taken::Taken;
pub use tree::{Data, Value};

/// Parses YAML, of which JSON is a subset, into a tree whose nodes know their places.
pub fn tree(text: &str) -> Result<Value, Box<Diagnostic>> {
    let mut sink = Sink::default();
    let value = tree::parse(0, text, &mut sink);
    match (value, sink.finish().into_iter().next()) {
        (_, Some(mistake)) => Err(Box::new(mistake)),
        (Some(value), None) => Ok(value),
        // Unreachable: without a diagnostic there is a tree.
        (None, None) => Ok(Value { span: Span::default(), data: Data::Null }),
    }
}

/// Parses a time in scenario syntax: `250 us`.
///
/// # Errors
/// A message with an example.
pub fn time(text: &str) -> Result<rtether_model::quantity::Duration, String> {
    let wrong =
        || "write a number with its unit, for example 2 ms (ps, ns, us, ms or s)".to_owned();
    let ps = units::read(text, units::Quantity::Time).map_err(|_| wrong())?;
    let ps = i64::try_from(ps).map_err(|_| wrong())?;
    Ok(rtether_model::quantity::Duration::from_ps(ps))
}

/// Parses a bit rate in scenario syntax: `100 Mbit/s`.
///
/// # Errors
/// A message with an example.
pub fn rate(text: &str) -> Result<rtether_model::quantity::BitRate, String> {
    let wrong = || {
        "write a number with its unit, for example 100 Mbit/s (bit/s, kbit/s, Mbit/s or Gbit/s)"
            .to_owned()
    };
    let bps = units::read(text, units::Quantity::BitRate).map_err(|_| wrong())?;
    match bps {
        0 => Err(wrong()),
        bps => Ok(rtether_model::quantity::BitRate::from_bps(bps)),
    }
}

/// Parses a size in scenario syntax: `10 MB`.
///
/// # Errors
/// A message with an example.
pub fn size(text: &str) -> Result<rtether_model::quantity::Bytes, String> {
    let size = units::read(text, units::Quantity::Size);
    size.map(rtether_model::quantity::Bytes::new)
        .map_err(|_| "write a number with its unit, for example 10 MB".to_owned())
}

/// The result of reading a file.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The scenario; `None` if there are errors.
    pub scenario: Option<Scenario>,
    /// The scenario without the flows that were added, with everything that follows from its flows
    /// (turns at hubs, VLANs that ports register) as that file alone has it; `None` if no flows were
    /// added, or if there are errors.
    pub without_added: Option<Scenario>,
    /// All diagnostics, in file order; a scenario can still have warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts that spans point into: the file, one for each override, added flows, and the files
    /// that it includes.
    pub sources: Vec<Source>,
    /// Where nodes, links and flows of the scenario were declared.
    pub places: DeclarationSpans,
    /// Index of the first file that is included.
    first_included: usize,
    /// How far reading came.
    stage: ReadingStage,
}

/// How far reading came: mistakes hide those that would be found later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ReadingStage {
    /// Not to the end: it is no scenario.
    Text,
    /// To the end, but some parts are wrong.
    Parts,
    /// The plant was checked as a whole.
    Whole,
}

/// Where things were declared, in the order of the scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeclarationSpans {
    /// Of each node.
    pub nodes: Vec<Span>,
    /// Of each link.
    pub links: Vec<Span>,
    /// Of each flow.
    pub flows: Vec<Span>,
}

impl Loaded {
    /// Returns all diagnostics as text for a terminal.
    pub fn text(&self, style: render::Style) -> String {
        render::all(&self.diagnostics, &self.sources, style)
    }

    /// Returns the scenario.
    ///
    /// # Errors
    /// All diagnostics as text, if any is an error.
    pub fn into_scenario(self) -> Result<Scenario, String> {
        let words = self.text(render::Style::Plain);
        self.scenario.ok_or(words)
    }

    /// Returns the file with this number; `None` if it is the value of an option.
    fn file(&self, source: u32) -> Option<&Source> {
        let index = source as usize;
        let is_file = index == 0 || index >= self.first_included;
        self.sources.get(index).filter(|_| is_file)
    }

    /// Returns the files that were included, with the names that messages give them.
    pub fn included(&self) -> &[Source] {
        self.sources.get(self.first_included..).unwrap_or(&[])
    }

    /// Returns all diagnostics as one JSON array.
    pub fn json(&self) -> serde_json::Value {
        let list = self.diagnostics.iter();
        list.map(|diagnostic| render::json(diagnostic, &self.sources)).collect()
    }

    /// Returns all diagnostics as JSON, one object per line, without a trailing newline.
    pub fn json_lines(&self) -> String {
        let list = self.diagnostics.iter();
        let lines: Vec<String> =
            list.map(|diagnostic| render::json(diagnostic, &self.sources).to_string()).collect();
        lines.join("\n")
    }

    /// Returns whether any diagnostic is an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }
}

/// Reads a scenario. `source_name` is shown in diagnostics.
pub fn load(source_name: &str, text: &str) -> Loaded {
    load_with(source_name, text, &[])
}

/// Reads a scenario after replacing values in it, as `--set PATH=VALUE` does.
pub fn load_with(source_name: &str, text: &str, overrides: &[Override]) -> Loaded {
    load_and_add(source_name, text, overrides, &[])
}

/// Reads a scenario after replacing values and adding flows. Each text in `flows` is one flow or a
/// list of flows; [`Loaded::without_added`] is the scenario without them.
pub fn load_and_add(
    source_name: &str,
    text: &str,
    overrides: &[Override],
    flows: &[Source],
) -> Loaded {
    load_from(source_name, text, &include::none, overrides, flows)
}

/// Reads a scenario that may include other files, whose texts come from `read`, after replacing
/// values and adding flows as [`load_and_add`] does.
///
/// The paths that `read` is asked for are relative to where `source_name` is: `plants/own.yaml` if
/// `plants/line.yaml` includes `own.yaml`.
///
/// Edits that messages propose are tried: what does not mend its mistake, or makes others, is not
/// proposed as an edit.
pub fn load_from(
    source_name: &str,
    text: &str,
    read: &Loader<'_>,
    overrides: &[Override],
    flows: &[Source],
) -> Loaded {
    let mut loaded = load_once(source_name, text, read, overrides, flows);
    mend::place(&mut loaded);
    tried::try_edits(&mut loaded, |trial| {
        let text = if trial.source == 0 { &trial.text } else { text };
        let read = |path: &str| {
            if path == trial.name { Ok(trial.text.clone()) } else { read(path) }
        };
        load_once(source_name, text, &read, overrides, flows)
    });
    loaded
}

/// Reads a scenario without trying what messages propose.
fn load_once(
    source_name: &str,
    text: &str,
    read: &Loader<'_>,
    overrides: &[Override],
    flows: &[Source],
) -> Loaded {
    let mut sources = vec![Source { name: source_name.to_owned(), text: text.to_owned() }];
    sources.extend(overrides.iter().map(Override::source));
    sources.extend(flows.iter().cloned());
    let first_included = sources.len();
    let mut sink = Sink::default();
    let root = tree::parse(0, text, &mut sink);
    let mut taken = Taken::new(read, &Value { span: Span::default(), data: Data::Null });
    let mut is_generated = true;
    let root = root.map(|mut root| {
        let done = assemble::assemble(&mut root, read, &mut sources, overrides, &mut sink);
        (is_generated, taken) = (done.is_generated, done.taken);
        root
    });
    let file = root.clone().filter(|_| !flows.is_empty());
    let root = root.map(|mut root| {
        for (source, text) in (1..).zip(&sources[1..first_included]).skip(overrides.len()) {
            additions::apply(&mut root, source, text, &mut sink);
        }
        taken.replies(&mut root, &mut sink);
        root
    });
    let mut reader = Reader::new(sink, &sources);
    reader.names_are_missing = !is_generated;
    let identified = taken.places();
    let lowered = root.and_then(|root| lower_all(&mut reader, &root, &identified, source_name));
    let errors = reader.sink.errors();
    let stage = match lowered {
        None => ReadingStage::Text,
        Some(_) if reader.is_whole => ReadingStage::Whole,
        Some(_) => ReadingStage::Parts,
    };
    let mut diagnostics = reader.sink.finish();
    slips::name(&mut diagnostics, &sources);
    let (mut scenario, places) = match lowered {
        Some((scenario, places)) => ((errors == 0).then_some(scenario), places),
        None => (None, DeclarationSpans::default()),
    };
    let mut without_added = None;
    // Mistakes of the whole are likely those of the file as well.
    if let (Some(file), Some(_)) = (file, &scenario) {
        match additions::without(file, &sources, &identified, source_name) {
            Ok(alone) => without_added = Some(alone),
            Err(mistakes) => {
                diagnostics.extend(mistakes);
                scenario = None;
            }
        }
    }
    Loaded { scenario, without_added, diagnostics, sources, places, first_included, stage }
}

fn lower_all(
    reader: &mut Reader<'_>,
    root: &Value,
    places: &[device::Place],
    source_name: &str,
) -> Option<(Scenario, DeclarationSpans)> {
    let start = Span { end: root.span.start, ..root.span };
    if matches!(root.data, Data::Null) {
        reader.report(
            Diagnostic::new(&codes::MISSING_KEY, "the file is empty", start, "")
                .help("`rtether new NAME` writes a scenario to start from"),
        );
        return None;
    }
    let at = match &root.data {
        Data::Map(entries) => entries.first().map_or(start, |entry| entry.key_span),
        Data::Null | Data::Scalar(_) | Data::List(_) => start,
    };
    let top = reader.fields(root, &keys::table::SCENARIO, "the scenario".into(), at)?;
    let name = lower::header(reader, &top, source_name);
    let mut plant = Plant::default();
    plant.network.partition = reader.meaning(&top, &keys::table::PARTITION);
    plant.partition_span = top.get("partition").map(|own| own.value.span);
    let lower::Run { plan: mut run, stages, overload, places: run_places } =
        lower::run(reader, &top);
    lower::nodes(reader, &top, &mut plant);
    lower::switches(reader, &top, &mut plant);
    lower::routers(reader, &top, &mut plant);
    lower::hubs(reader, &top, &mut plant);
    lower::ingress(reader, &mut plant);
    lower::links(reader, &top, &mut plant);
    // If the plant has errors, checking flows against it would only repeat them.
    let plant_is_whole = reader.sink.errors() == 0;
    lower::flows(reader, &top, &mut plant, &run);
    lower::with_flows(reader, &top, &mut plant);
    let flows_are_complete = reader.sink.errors() == 0;
    lower::register(reader, &mut plant);
    if plant.flows.is_empty() && flows_are_complete {
        report_idle(reader, &top, at);
    }
    check::size::check(reader, &plant, &mut run, run_places);
    let (accept, sums) = lower::accept(reader, &top, &plant, flows_are_complete);
    if plant_is_whole {
        check::check(reader, &plant, overload);
    }
    let assumptions = lower::assumed(reader, &top, (root, places), &plant);
    let design = lower::design(reader, &top, root, &plant);
    plant.shrink();
    let places = DeclarationSpans {
        nodes: plant.node_spans,
        links: plant.link_spans,
        flows: plant.flow_spans,
    };
    let scenario = Scenario {
        name,
        network: plant.network,
        flows: plant.flows,
        run,
        stages,
        accept,
        sums,
        assumptions,
        design,
    };
    Some((scenario, places))
}

/// Reports that there are no flows.
fn report_idle(reader: &mut Reader<'_>, top: &reader::Fields<'_>, at: Span) {
    let title = "there are no flows, so there is nothing to run";
    let place = top.key_span("flows").unwrap_or(at);
    let help = Help::example(
        "flows: [{ name: setpoint, from: plc1, to: drive1, period: 2 ms, size: 64 B }]",
    );
    reader.report(Diagnostic::new(&codes::NOTHING_TO_RUN, title, place, "").help(help));
}
