//! `check --fix`: the edits that messages propose, as a diff or in the files.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use rtether::check;
use rtether::fix::{self, Ended, Fix, Made, Mended, Which};
use rtether::report::Checked;
use rtether::report::format::Format;
use rtether::report::text::plural;
use rtether::scenario::{Scenario, Written};
use serde_json::Value;

use super::{CheckVerb, exit, simulate, unless_asked};
use crate::drafts::{self, Draft};
use crate::exit::Exit;
use crate::{scenario, terminal};

/// Arguments that mend.
#[derive(Args, Debug)]
pub(crate) struct FixArgs {
    /// Show the edits that mend mistakes as a diff; with `all` also those whose value is an example,
    /// and the first of what would help
    #[arg(
        long,
        value_name = "WHICH",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "certain",
        conflicts_with_all = [
            "live", "live_packets", "report", "out", "junit", "sarif", "annotations", "csv", "format",
            "all", "quiet", "histogram", "buckets", "baseline", "adversarial", "adversarial_out",
            "fail",
        ]
    )]
    fix: Option<Fixes>,
    /// Write the edits of `--fix` into the files
    #[arg(long, requires = "fix")]
    write: bool,
}

/// Which edits are made.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Fixes {
    /// Those that follow from what is written
    Certain,
    /// Also those with an example value or one of several meanings, and what would help
    All,
}

impl FixArgs {
    /// Returns which edits are asked for.
    pub(super) fn which(&self) -> Option<Which> {
        self.fix.map(|which| match which {
            Fixes::Certain => Which::Certain,
            Fixes::All => Which::All,
        })
    }
}

/// Mends all scenarios; the exit code is the worst of theirs.
pub(super) fn run(verb: &CheckVerb, which: Which) -> Exit {
    let is_json = verb.check.output.format.format() == Format::Json;
    let mut documents = Vec::new();
    let mut worst = Exit::Ok;
    for path in verb.scenarios() {
        match mend(verb, path, which) {
            Ok((ended, document)) => {
                worst = worst.worse(ended);
                documents.push(document);
            }
            Err(ended) => worst = worst.worse(ended),
        }
        if worst == Exit::Interrupted {
            break;
        }
    }
    if is_json {
        let text = match documents.as_slice() {
            [one] if verb.more.is_empty() => format!("{one:#}\n"),
            all => format!("{:#}\n", Value::from(all)),
        };
        worst = worst.worse(terminal::print(&text));
    }
    worst
}

/// Mends one of them, and says what became of it.
fn mend(verb: &CheckVerb, path: &Path, which: Which) -> Result<(Exit, Value), Exit> {
    let arguments = &verb.check;
    if verb.fix.write && path == Path::new("-") {
        terminal::complain(
            "`--write` writes into the scenario's file, and standard input is none: leave it out for \
             the diff alone, or name the file",
        );
        return Err(Exit::WrongInput);
    }
    let (text, overrides) = scenario::read_text(path, &arguments.overrides)?;
    let name = path.display().to_string();
    let beneath = arguments.overrides.overrides.include_from.beneath(path);
    let read = |path: &str| scenario::further(&beneath, path);
    let fix = Fix { name: &name, text: &text, read: &read, overrides: &overrides, which };
    let mut stopped = Exit::Interrupted;
    let mended = fix::mend(&fix, |scenario, written| {
        let checked = judged(verb, scenario, written);
        checked.map_err(|exit| stopped = exit).ok()
    });
    let mended = mended.map_err(|Ended| stopped)?;
    let is_json = arguments.output.format.format() == Format::Json;
    if !is_json {
        let printed = terminal::print(&mended.diff);
        if printed != Exit::Ok {
            return Err(printed);
        }
    }
    let unwritten = verb.fix.write.then(|| write(&mended)).and_then(Result::err);
    let is_written = verb.fix.write && unwritten.is_none() && !mended.diff.is_empty();
    scenario::show(&mended.loaded, arguments.overrides.overrides.message_format);
    tell(&name, &mended, is_written);
    let document = mended.json(is_written);
    if let Some(message) = unwritten {
        terminal::complain(&message);
        return Ok((Exit::Unfit, document));
    }
    Ok((code(&mended, is_written), document))
}

/// Simulates, proves and judges.
fn judged(verb: &CheckVerb, mut scenario: Scenario, written: Written) -> Result<Checked, Exit> {
    scenario.assumptions.is_strict = verb.check.strict.strict;
    scenario.run.bucket = rtether::bound::Duration::ZERO;
    let (results, _) = simulate(&scenario, verb.check.pace, [None, None])?;
    if results.partial {
        return Err(Exit::Interrupted);
    }
    unless_asked(|progress| {
        let options =
            check::Options { progress: Arc::clone(progress), ..check::Options::default() };
        let mut checked = check::conclude(scenario, results, options);
        check::add_help_while(&mut checked, written, progress);
        // What would help is needed here, not only shown.
        if progress.is_cancelled() { Err(Exit::Interrupted) } else { Ok(checked) }
    })
}

/// Returns the exit code of the check of what stands in the files now.
fn code(mended: &Mended, is_written: bool) -> Exit {
    if is_written || mended.diff.is_empty() {
        let after = mended.after.as_ref();
        return after.map_or(Exit::WrongInput, |own| exit(own.conclusion, false));
    }
    mended.before.map_or(Exit::WrongInput, Exit::from)
}

/// Says how many edits there are, and which are left.
fn tell(name: &str, mended: &Mended, is_written: bool) {
    let fixed = &mended.fixed;
    let place = |own: &Made| {
        let (line, column) = own.at.begin;
        format!("{}:{line}:{column}: {}: {}", own.at.file, own.title, own.help)
    };
    let made = match (fixed.made.len(), is_written) {
        (0, _) => "no edit to make".to_owned(),
        (count, true) => format!("{} written", plural(count, "edit")),
        (count, false) => format!("{}; `--write` writes them", plural(count, "edit")),
    };
    terminal::tell(&format!("{name}: {made}"));
    for own in &fixed.taken_back {
        terminal::tell(&format!(
            "taken back, since it leaves more mistakes or a worse check: {}",
            place(own)
        ));
    }
    for own in &fixed.left {
        terminal::tell(&format!("yours to choose (`--fix=all` makes it): {}", place(own)));
    }
    if fixed.is_cut {
        terminal::tell("more edits are left: call it again after `--write`");
    }
    if let Some(checked) = &mended.after {
        // The exit code is that of the files as they are.
        let is_shown = !is_written && !mended.diff.is_empty();
        let what_if = if is_shown { "with these edits: " } else { "" };
        terminal::tell(&format!("{what_if}{}", checked.summary()));
    }
}

/// Writes all files, or none.
fn write(mended: &Mended) -> Result<(), String> {
    let files = &mended.fixed.files;
    let mut complete = Vec::new();
    for (name, text) in files {
        let path = Path::new(name);
        let failed = |error: std::io::Error| {
            format!(
                "writing `{name}`: {error}; nothing is written, and the diff is what `patch` takes"
            )
        };
        if !fs::metadata(path).map_err(failed)?.is_file() {
            return Err(format!("writing `{name}`: it is no file; nothing is written"));
        }
        // A file that may not be written is not replaced either.
        OpenOptions::new().write(true).open(path).map_err(failed)?;
        let now = fs::read_to_string(path).map_err(failed)?;
        if mended.originals.get(name) != Some(&now) {
            return Err(format!("writing `{name}`: it changed meanwhile; nothing is written"));
        }
        let draft = Draft::open(path)?;
        complete.push(draft.complete(|file| file.write_all(text.as_bytes()))?);
    }
    drafts::publish(&complete)
}
