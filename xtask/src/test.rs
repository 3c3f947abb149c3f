//! `cargo xtask test`: every check and every test on a clean checkout, summarized in one line at
//! the end.

mod changed;
mod long;
pub(crate) mod needs;
pub(crate) mod part;
mod program;
mod schedule;
mod tally;

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::args::TestOptions;
use crate::child::{heed_signals, is_interrupted, succeeds};
use crate::repo::Repo;
use crate::tidy;
use changed::Choice;
use part::Part;
use program::{Class, Program};
use schedule::{Schedule, Task};
use tally::Tally;

/// Tests that cannot run here append a line to the file named by this variable.
const SKIP_LOG: &str = "RTETHER_SKIP_LOG";
/// Set for long runs; tests may then use more seeds.
const NIGHTLY: &str = "RTETHER_NIGHTLY";

/// Runs all parts, continues after a failed one, and prints the summary.
pub(crate) fn run(repo: &Repo, options: &TestOptions) -> Result<bool> {
    heed_signals()?;
    let is_strict = options.no_skip || is_set(env::var("CI").ok().as_deref());
    let folder = folder(repo)?;
    let choice = if options.changed {
        changed::choose(repo, options.since.as_deref())?
    } else {
        Choice::everything("as usual")
    };
    if options.changed {
        choice.print();
    }
    let mut run = TestRun {
        repo,
        nightly: options.nightly,
        choice,
        started: Instant::now(),
        tally: Tally::default(),
        skip_log: folder.join("skipped-tests.log"),
        logs: folder.join("test-programs"),
        programs: None,
        tools: None,
    };
    fs::write(&run.skip_log, "").with_context(|| format!("clearing {}", run.skip_log.display()))?;
    let mut parts = options.parts.clone();
    if parts.is_empty() {
        parts = Part::of_run(options.nightly);
    }
    if run.choice.is_empty() {
        parts.retain(|part| !part.needs_programs());
    }
    let names: Vec<&str> = parts.iter().map(|part| part.name()).collect();
    println!("--- parts: {}", names.join(", "));
    for part in parts {
        run.check(part);
        if is_interrupted() {
            println!("interrupted");
            return Ok(false);
        }
    }
    run.tally
        .read_skips(&fs::read_to_string(&run.skip_log).unwrap_or_default());
    Ok(run.finish(is_strict))
}

/// Returns whether a switch in the environment is on.
fn is_set(value: Option<&str>) -> bool {
    !matches!(value, None | Some("" | "0" | "false"))
}

/// Returns the folder of build output.
fn folder(repo: &Repo) -> Result<PathBuf> {
    let metadata = repo.metadata()?;
    let target = metadata["target_directory"]
        .as_str()
        .context("no target directory")?;
    fs::create_dir_all(target).with_context(|| format!("making {target}"))?;
    Ok(PathBuf::from(target))
}

/// One run of `cargo xtask test`.
struct TestRun<'a> {
    repo: &'a Repo,
    nightly: bool,
    /// What is checked and run.
    choice: Choice,
    started: Instant,
    tally: Tally,
    skip_log: PathBuf,
    /// Folder of the outputs of test programs.
    logs: PathBuf,
    /// Programs built for an earlier part.
    programs: Option<Vec<Program>>,
    /// Environment variables that name system programs.
    tools: Option<Vec<(&'static str, PathBuf)>>,
}

impl TestRun<'_> {
    /// Runs one part, prints its times, and counts it as one failed test if it fails as a whole.
    fn check(&mut self, part: Part) {
        let name = part.name();
        println!("--- {name} (after {})", elapsed(self.started.elapsed()));
        let begin = Instant::now();
        let failed_before = self.tally.failed;
        let outcome = self.perform(part).unwrap_or_else(|error| {
            println!("{name}: {error:#}");
            false
        });
        if !outcome && self.tally.failed == failed_before {
            self.tally.fail(name);
        }
        let verdict = if outcome { "ok" } else { "FAILED" };
        println!("--- {name}: {verdict}, {}", elapsed(begin.elapsed()));
    }

    fn perform(&mut self, part: Part) -> Result<bool> {
        match part {
            Part::Tidy => tidy::run(self.repo),
            Part::Format => succeeds(&mut self.repo.cargo(&["fmt", "--all", "--check"])),
            Part::Clippy => succeeds(
                self.repo
                    .cargo(&["clippy", "--all-targets"])
                    .args(self.choice.arguments())
                    .args(["--", "--deny", "warnings"]),
            ),
            Part::Tests
            | Part::Waits
            | Part::Computes
            | Part::Measures
            | Part::Documentation
            | Part::Soak => self.tests(part),
            Part::Benches => self.benches(),
            Part::Fuzz => self.fuzz(),
            Part::Sanitizers => self.sanitizers(),
            Part::Licenses => self.licenses(),
            Part::BareRoot => self.bare_root(),
        }
    }

    /// Runs the test programs of a part; in a long run also their long tests.
    fn tests(&mut self, part: Part) -> Result<bool> {
        self.provide()?;
        let mut tasks = Vec::new();
        if part != Part::Documentation {
            if self.programs.is_none() {
                self.programs = program::build(
                    self.repo,
                    &self.logs,
                    &self.choice.arguments(),
                    self.nightly,
                )?;
            }
            let Some(programs) = &self.programs else {
                self.tally.fail("a test program cannot be built");
                return Ok(false);
            };
            let own = programs.iter().filter(|own| {
                let (package, label) = own.target();
                self.choice.has(package, label) && part.has(own, self.nightly)
            });
            tasks.extend(own.map(|own| self.task(own)));
        }
        let documented = self.choice.documented();
        if matches!(part, Part::Tests | Part::Documentation) && !documented.is_empty() {
            tasks.push(self.documentation(&documented));
        }
        Schedule::new(&self.logs, tasks)?.run(&mut self.tally)
    }

    /// Looks for the system programs that tests run, once.
    fn provide(&mut self) -> Result<()> {
        if self.tools.is_none() {
            self.tools = Some(needs::provide(self.repo)?);
        }
        Ok(())
    }

    /// Sets the environment of tests.
    fn equip(&self, command: &mut Command) {
        command.env(SKIP_LOG, &self.skip_log);
        let tools = self.tools.iter().flatten();
        command.envs(tools.map(|(variable, path)| (variable, path)));
        if self.nightly {
            command.env(NIGHTLY, "1");
        }
    }

    /// Returns a run of a test program, as cargo would start it.
    fn task(&self, program: &Program) -> Task {
        let mut command = Command::new(&program.executable);
        command
            .args(&program.arguments)
            .current_dir(&program.folder);
        if self.nightly {
            command.arg("--include-ignored");
        }
        command.env("CARGO_MANIFEST_DIR", &program.folder);
        if program.class == Class::Waits && env::var_os("RUST_TEST_THREADS").is_none() {
            // Waiting tests leave their core to others.
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            command.env("RUST_TEST_THREADS", (2 * cores).to_string());
        }
        self.equip(&mut command);
        Task {
            name: program.name.clone(),
            class: program.class,
            command,
            repeat: program.repeat.clone(),
        }
    }

    fn documentation(&self, packages: &[String]) -> Task {
        // Examples marked `ignore` are not meant to run, so long runs skip them, too.
        let mut command = self.repo.cargo(&["test", "--no-fail-fast", "--doc"]);
        self.equip(command.args(packages));
        Task {
            name: "examples in the documentation".to_owned(),
            class: Class::Computes,
            command,
            repeat: format!("cargo test {} --doc", packages.join(" ")),
        }
    }

    /// Prints failed and skipped tests, and the summary line for scripts.
    fn finish(mut self, is_strict: bool) -> bool {
        println!("--- done, {}", elapsed(self.started.elapsed()));
        for reason in &self.tally.skips {
            println!("SKIP: {reason}");
        }
        if is_strict {
            self.tally.fail_skips();
        }
        for failure in &self.tally.failures {
            println!("FAIL: {failure}");
        }
        if self.tally.ignored > 0 {
            println!("{} long tests are left to `--nightly`", self.tally.ignored);
        }
        println!("{}", self.tally);
        self.tally.failed == 0
    }
}

/// Formats a time to a tenth of a second.
fn elapsed(time: Duration) -> String {
    let tenths = time.as_millis() / 100;
    let (minutes, seconds) = (tenths / 600, tenths % 600);
    if minutes == 0 {
        format!("{}.{} s", seconds / 10, seconds % 10)
    } else {
        format!("{minutes} min {} s", seconds / 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_for_people() {
        assert_eq!(elapsed(Duration::from_millis(1_260)), "1.2 s");
        assert_eq!(elapsed(Duration::from_secs(754)), "12 min 34 s");
    }

    #[test]
    fn a_switch_is_off_when_empty_or_false() {
        assert!(is_set(Some("1")) && is_set(Some("true")));
        assert!(!is_set(None) && !is_set(Some("")) && !is_set(Some("false")));
    }
}
