//! What an import has written, as the loader sees it: a plan that is returned loads.

use std::collections::BTreeMap;

use rtether_import::{Code, File, Finding, ImportError, Options, Plan, Source};

use crate::scenario::{self, Diagnostic, Severity, quote};

/// The scenario, for messages: it has no file yet, so that profiles are relative to nothing.
const IMPORTED: &str = "";

/// Reads a file of another tool. `name` is the file's, for messages and for the title.
///
/// # Errors
///
/// If it cannot be read, or if what it says is no plant that the loader takes.
pub fn import(name: &str, octets: &[u8], options: &Options) -> Result<Plan, ImportError> {
    import_all(&[File { name, octets }], options)
}

/// Reads files of another tool that belong together, such as a list of flows and one of links, one
/// file of SCL for each device, or several captures.
///
/// # Errors
///
/// As [`import`].
pub fn import_all(files: &[File<'_>], options: &Options) -> Result<Plan, ImportError> {
    let name = files.first().map_or("", |file| file.name);
    loading(name, rtether_import::import_all(files, options)?, options)
}

/// Reads captures that belong together, packet by packet, however large they are.
///
/// # Errors
///
/// If one is none, if all of them together show no flow, or as [`import`].
pub fn import_captures(sources: Vec<Source<'_>>, options: &Options) -> Result<Plan, ImportError> {
    let name = sources.first().map(|source| source.name.clone());
    let plan = rtether_import::import_captures(sources, options)?;
    loading(&name.unwrap_or_default(), plan, options)
}

/// Returns the plan if its scenario loads, with what the loader warns of among the findings.
fn loading(name: &str, mut plan: Plan, options: &Options) -> Result<Plan, ImportError> {
    if let Some(unknown) = plan.identified.unknown.first() {
        return Err(ImportError {
            file: name.to_owned(),
            line: None,
            what: format!("no station is named {}, which has a profile", quote(unknown)),
            remedy: "name a station of the scenario: import once without profiles to see them"
                .to_owned(),
        });
    }
    let loaded =
        scenario::load_from(IMPORTED, &plan.scenario, &|path| text(path, options), &[], &[]);
    let is_error = |found: &&Diagnostic| found.severity == Severity::Error;
    let mut errors = loaded.diagnostics.iter().filter(is_error);
    if let Some(first) = errors.next() {
        let further = match errors.count() {
            0 => String::new(),
            others => format!(", and {others} more"),
        };
        return Err(ImportError {
            file: name.to_owned(),
            line: None,
            what: format!("the plant that it describes is refused: {}{further}", words(first)),
            remedy: "correct it there, or import a part of it".to_owned(),
        });
    }
    let mut warnings: BTreeMap<&str, (&Diagnostic, usize)> = BTreeMap::new();
    for warning in &loaded.diagnostics {
        warnings.entry(warning.code).or_insert((warning, 0)).1 += 1;
    }
    for (first, count) in warnings.into_values() {
        let further = match count {
            1 => String::new(),
            _ => format!(", and {} more of this kind", count - 1),
        };
        plan.findings.push(Finding {
            line: 1,
            code: Code::Plant,
            text: format!("{}{further}", words(first)),
        });
    }
    plan.findings.sort();
    Ok(plan)
}

/// Returns the text of a profile.
fn text(path: &str, options: &Options) -> Result<String, String> {
    let mut profiles = options.profiles().iter();
    let found = profiles.find(|own| own.file.strip_prefix("./").unwrap_or(&own.file) == path);
    found.map(|own| own.text.clone()).ok_or_else(|| "it was not given".to_owned())
}

/// Says what the loader has found, in one line.
fn words(found: &Diagnostic) -> String {
    let label = match found.primary.text.as_str() {
        "" => String::new(),
        label => format!(" ({label})"),
    };
    format!("{}{label}", found.title).replace('\n', " ")
}
