//! `cargo xtask test`: every check and every test on a clean checkout, summarized in one line at
//! the end.

mod changed;
mod kernel;
mod long;
mod schedule;
mod tally;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::args::TestOptions;
use crate::child::{heed_signals, is_interrupted, succeeds};
use crate::part::Part;
use crate::program::{self, Class, Program};
use crate::repo::Repo;
use crate::{bare_root, generate, needs, playground, record, tidy, upkeep, wheel};
use changed::Choice;
use schedule::{Schedule, Task};
use tally::Tally;

/// Tests that cannot run here append a line to the file named by this variable.
const SKIP_LOG: &str = "RTETHER_SKIP_LOG";
/// Set for long tests, which may then use more seeds.
const NIGHTLY: &str = "RTETHER_NIGHTLY";

/// Runs all parts, continues after a failed one, and prints the summary.
pub(crate) fn run(repo: &Repo, options: &TestOptions) -> Result<bool> {
    heed_signals()?;
    let is_strict = options.no_skip || is_set(env::var("CI").ok().as_deref());
    let folder = folder(repo)?;
    let choice = match &options.changed {
        Some(since) => changed::choose(repo, since)?,
        None => Choice::everything("as usual"),
    };
    let times_file = folder.join("part-times");
    let mut run = TestRun {
        repo,
        nightly: options.nightly,
        records: options.record,
        choice,
        started: Instant::now(),
        times: record::read_times(&times_file),
        tally: Tally::default(),
        skips_read: 0,
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
    for (index, part) in parts.iter().enumerate() {
        run.check(*part, &parts[index + 1..])?;
        if is_interrupted() {
            println!("interrupted");
            return Ok(false);
        }
    }
    // Times of a choice say nothing of the next run.
    if options.changed.is_none() {
        record::keep_times(&times_file, &run.times);
    }
    Ok(run.finish(is_strict))
}

/// Returns whether a switch in the environment is on.
fn is_set(value: Option<&str>) -> bool {
    !matches!(value, None | Some("" | "0" | "false"))
}

/// Returns the folder of build output.
fn folder(repo: &Repo) -> Result<PathBuf> {
    let metadata = repo.metadata()?;
    let target = metadata["target_directory"].as_str().context("no target directory")?;
    fs::create_dir_all(target).with_context(|| format!("making {target}"))?;
    Ok(PathBuf::from(target))
}

/// One run of `cargo xtask test`.
struct TestRun<'a> {
    repo: &'a Repo,
    nightly: bool,
    /// Whether what passes is written into the table of the long run.
    records: bool,
    /// What is checked and run.
    choice: Choice,
    started: Instant,
    /// How long each part took in the last run that had it.
    times: BTreeMap<String, Duration>,
    tally: Tally,
    /// Octets of the log below that are counted.
    skips_read: usize,
    skip_log: PathBuf,
    /// Folder of the outputs of test programs.
    logs: PathBuf,
    /// Programs built for an earlier part.
    programs: Option<Rc<[Program]>>,
    /// Environment variables that name system programs.
    tools: Option<Vec<(&'static str, PathBuf)>>,
}

impl TestRun<'_> {
    /// Runs one part, and prints its time and its counts. A part that fails as a whole is one failed
    /// test, and a part without tests of its own (lints) a passed one.
    fn check(&mut self, part: Part, left: &[Part]) -> Result<()> {
        let name = part.name();
        println!(
            "--- {name} (after {}){}",
            elapsed(self.started.elapsed()),
            self.ahead(part, left)
        );
        let begin = Instant::now();
        let before = (self.tally.figures(), self.tally.executions);
        let outcome = self.perform(part).unwrap_or_else(|error| {
            println!("{name}: {error:#}");
            false
        });
        self.read_skips();
        if !outcome && self.tally.figures()[1] == before.0[1] {
            self.tally.fail(name);
        }
        if outcome && self.tally.figures() == before.0 {
            self.tally.pass();
        }
        let now = self.tally.figures();
        let [passed, failed, skipped] =
            [0, 1, 2].map(|index: usize| now[index].saturating_sub(before.0[index]));
        let result = record::Outcome {
            time: begin.elapsed(),
            passed,
            failed,
            skipped,
            executions: self.tally.executions - before.1,
        };
        let verdict = if outcome && failed == 0 { "ok" } else { "FAILED" };
        println!("--- {name}: {verdict}, {}, {result}", elapsed(result.time));
        if is_interrupted() {
            return Ok(());
        }
        self.times.insert(name.to_owned(), result.time);
        if self.records && verdict == "ok" {
            record::write(self.repo, part, &result)?;
        }
        Ok(())
    }

    /// Says what is left after a part, and how long it took last time, as far as that is known.
    fn ahead(&self, part: Part, left: &[Part]) -> String {
        let mut text = String::new();
        if let Some(time) = self.times.get(part.name()) {
            text = format!(", {} last time", elapsed(*time));
        }
        if !left.is_empty() {
            let names: Vec<&str> = left.iter().map(|part| part.name()).collect();
            text = format!("{text}; then {}", names.join(", "));
        }
        let ahead = std::iter::once(&part).chain(left);
        let times: Option<Vec<Duration>> =
            ahead.map(|part| self.times.get(part.name()).copied()).collect();
        match times.filter(|_| !left.is_empty()) {
            Some(times) => {
                format!("{text}: {} if all goes as last time", elapsed(times.iter().sum()))
            }
            None => text,
        }
    }

    /// Takes in the tests that have skipped themselves since the last call.
    fn read_skips(&mut self) {
        let log = fs::read_to_string(&self.skip_log).unwrap_or_default();
        self.tally.read_skips(log.get(self.skips_read..).unwrap_or_default());
        self.skips_read = log.len();
    }

    fn perform(&mut self, part: Part) -> Result<bool> {
        match part {
            // Its pages come with the programs, which builds the command only once.
            Part::Tidy => tidy::run(self.repo, false),
            Part::Format => succeeds(&mut self.repo.cargo(&["fmt", "--all", "--check"])),
            Part::Clippy => succeeds(
                self.repo
                    .cargo(&["clippy", "--all-targets"])
                    .args(self.choice.arguments())
                    .args(["--", "--deny", "warnings"]),
            ),
            Part::Targets => self.targets(),
            Part::Tests | Part::Waits | Part::Computes | Part::Measures | Part::Documentation => {
                self.tests(part)
            }
            Part::Long(long) => self.long(long),
            Part::Benches => self.benches(),
            Part::Fuzz => self.fuzz(),
            Part::Sanitizers => self.sanitizers(),
            Part::Licenses => self.licenses(),
            Part::Packages => self.packages(),
            Part::Wheel => self.wheel(),
            Part::BareRoot => self.bare_root(&[]),
            Part::FurnishedRoot => self.bare_root(bare_root::FURTHER),
        }
    }

    /// Builds the wheel, and tries it here and on an older system.
    fn wheel(&mut self) -> Result<bool> {
        let proved = wheel::build_and_prove(self.repo)?;
        if let Some(reason) = &proved.skipped {
            self.tally.skip(reason);
        }
        Ok(proved.is_good)
    }

    /// Compiles what is said to run elsewhere: what a browser loads, and in a long run the library without any system,
    /// the portable participant for Windows, the command for macOS, and engines for a processor
    /// without an operating system; and the fuzz targets, which share files with tests.
    fn targets(&mut self) -> Result<bool> {
        const BARE: &str = "thumbv7em-none-eabihf";
        const TARGETS: [(&str, &str, &[&str]); 6] = [
            (playground::TARGET, playground::PACKAGE, &["--bins"]),
            ("wasm32-unknown-unknown", "rtether", &["--lib"]),
            (BARE, "rtether-rtps", &["--lib"]),
            (BARE, "rtether-proto", &["--lib"]),
            ("x86_64-pc-windows-gnu", "rtether-rtps", &["--example", "portable"]),
            // As far as can be told without Apple's libraries, which a program would be linked to.
            ("aarch64-apple-darwin", "rtether-cli", &["--bins"]),
        ];
        let mut is_good = true;
        for (target, package, what) in &TARGETS[..if self.nightly { TARGETS.len() } else { 1 }] {
            if !self.choice.has_package(package) {
                continue;
            }
            if !upkeep::provide_target(self.repo, target) {
                let how = format!("targets: needs `rustup target add {target}`");
                self.tally.skip(&how);
                continue;
            }
            let arguments = ["check", "--package", package, "--target", target];
            is_good &= succeeds(self.repo.cargo(&arguments).args(*what))?;
        }
        let mut fuzz =
            self.repo.cargo(&["check", "--locked", "--manifest-path", "fuzz/Cargo.toml"]);
        // They are not linked, so that the fuzzer itself need not be built.
        Ok(is_good & succeeds(fuzz.env("CUSTOM_LIBFUZZER_PATH", "./libfuzzer.a"))?)
    }

    /// Runs the test programs of a part.
    fn tests(&mut self, part: Part) -> Result<bool> {
        self.provide()?;
        let mut tasks = Vec::new();
        if part != Part::Documentation {
            let Some(programs) = self.programs()? else {
                return Ok(false);
            };
            let own = programs.iter().filter(|own| {
                let (package, label) = own.target();
                self.choice.has(package, label) && part.has(own)
            });
            tasks.extend(own.map(|own| self.task(own)));
        }
        let documented = self.choice.documented();
        if matches!(part, Part::Tests | Part::Documentation) && !documented.is_empty() {
            tasks.push(self.documentation(&documented));
        }
        Schedule::new(&self.logs, tasks)?.run(&mut self.tally)
    }

    /// Builds the test programs, once; `None` if one fails to build.
    fn programs(&mut self) -> Result<Option<Rc<[Program]>>> {
        if self.programs.is_none() {
            let packages = self.choice.arguments();
            let built = program::build(self.repo, &self.logs, &packages, self.nightly)?;
            self.programs = built.map(Rc::from);
            if self.programs.is_some() && self.choice.has_package("rtether-cli") {
                self.check_pages()?;
            }
        }
        if self.programs.is_none() {
            self.tally.fail("a test program cannot be built");
        }
        Ok(self.programs.clone())
    }

    /// Compares the generated pages with what the command says that the tests have built.
    fn check_pages(&mut self) -> Result<()> {
        let findings = generate::check(self.repo, &generate::command(self.repo)?)?;
        for finding in &findings {
            println!("{finding}");
        }
        if findings.is_empty() {
            self.tally.pass();
        } else {
            self.tally.fail("generated pages");
        }
        Ok(())
    }

    /// Looks for the system programs that tests run, once.
    fn provide(&mut self) -> Result<()> {
        if self.tools.is_none() {
            let mut tools = needs::provide(self.repo)?;
            tools.extend(kernel::provide(self.repo, &kernel::USUAL));
            if self.nightly {
                tools.extend(kernel::provide(self.repo, &kernel::REAL_TIME));
            }
            self.tools = Some(tools);
        }
        Ok(())
    }

    /// Sets the environment of tests.
    fn equip(&self, command: &mut Command) {
        command.env(SKIP_LOG, &self.skip_log);
        let tools = self.tools.iter().flatten();
        command.envs(tools.map(|(variable, path)| (variable, path)));
    }

    /// Returns a run of a test program, as cargo would start it.
    fn task(&self, program: &Program) -> Task {
        let mut command = Command::new(&program.executable);
        command.args(&program.arguments).current_dir(&program.folder);
        command.env("CARGO_MANIFEST_DIR", &program.folder);
        // Cargo has built the examples, too.
        command.env("RTETHER_BUILT", "1");
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
            must_count: false,
        }
    }

    fn documentation(&self, packages: &[String]) -> Task {
        let mut command = self.repo.cargo(&["test", "--no-fail-fast", "--doc"]);
        self.equip(command.args(packages));
        Task {
            name: "examples in the documentation".to_owned(),
            class: Class::Computes,
            command,
            repeat: format!("cargo test {} --doc", packages.join(" ")),
            must_count: false,
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
