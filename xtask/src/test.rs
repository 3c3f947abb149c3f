//! `cargo xtask test`: every check and every test on a clean checkout, with one line at the end.

mod needs;
mod tally;

use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::args::TestOptions;
use crate::repo::Repo;
use crate::{tidy, upkeep};
use tally::Tally;

/// Tests append a line to the file that this variable names when they cannot run here.
const SKIP_LOG: &str = "RTETHER_SKIP_LOG";
/// Set for long runs; tests may take more seeds when they see it.
const NIGHTLY: &str = "RTETHER_NIGHTLY";
/// Seconds for each fuzz target in a long run.
const FUZZ_SECONDS: u32 = 120;

/// Runs all steps, goes on after a failed one, and prints the summary.
pub(crate) fn run(repo: &Repo, options: TestOptions) -> Result<bool> {
    let is_strict = options.no_skip || is_set(env::var("CI").ok().as_deref());
    let mut run = TestRun {
        repo,
        nightly: options.nightly,
        started: Instant::now(),
        tally: Tally::default(),
        skip_log: skip_log(repo)?,
    };
    run.check("tidy", |run| tidy::run(run.repo));
    run.check("format", |run| {
        succeeds(&mut run.repo.cargo(&["fmt", "--all", "--check"]))
    });
    run.check("clippy", |run| {
        let args = [
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "--deny",
            "warnings",
        ];
        succeeds(&mut run.repo.cargo(&args))
    });
    run.check("tests", TestRun::tests);
    if options.nightly {
        run.check("benches", |run| {
            upkeep::provide_instruction_counter(run.repo)?;
            succeeds(&mut run.repo.cargo(&["test", "--workspace", "--benches"]))
        });
        run.check("fuzz", TestRun::fuzz);
        run.check("licenses", TestRun::licenses);
    }
    run.tally
        .read_skips(&fs::read_to_string(&run.skip_log).unwrap_or_default());
    Ok(run.finish(is_strict))
}

/// Tells whether a switch in the environment is on.
fn is_set(value: Option<&str>) -> bool {
    !matches!(value, None | Some("" | "0" | "false"))
}

/// Returns where tests log that they were skipped, without the log of an earlier run.
fn skip_log(repo: &Repo) -> Result<PathBuf> {
    let metadata = repo.metadata()?;
    let target = metadata["target_directory"]
        .as_str()
        .context("no target directory")?;
    fs::create_dir_all(target).with_context(|| format!("making {target}"))?;
    let path = PathBuf::from(target).join("skipped-tests.log");
    fs::write(&path, "").with_context(|| format!("clearing {}", path.display()))?;
    Ok(path)
}

/// Runs a command with its output on the terminal.
fn succeeds(command: &mut Command) -> Result<bool> {
    let status = command
        .status()
        .with_context(|| format!("running {command:?}"))?;
    Ok(status.success())
}

/// One run of `cargo xtask test`.
struct TestRun<'a> {
    repo: &'a Repo,
    nightly: bool,
    started: Instant,
    tally: Tally,
    skip_log: PathBuf,
}

impl TestRun<'_> {
    /// Runs one step, prints its times, and counts it as one failed test if it fails by itself.
    fn check(&mut self, name: &str, step: impl FnOnce(&mut Self) -> Result<bool>) {
        println!("--- {name} (after {})", elapsed(self.started.elapsed()));
        let begin = Instant::now();
        let failed_before = self.tally.failed;
        let outcome = step(self).unwrap_or_else(|error| {
            println!("{name}: {error:#}");
            false
        });
        if !outcome && self.tally.failed == failed_before {
            self.tally.fail(name);
        }
        let verdict = if outcome { "ok" } else { "FAILED" };
        println!("--- {name}: {verdict}, {}", elapsed(begin.elapsed()));
    }

    /// Runs the tests of all crates; in a long run the ignored ones too.
    fn tests(&mut self) -> Result<bool> {
        let tools = needs::provide(self.repo)?;
        if !self.nightly {
            return self.cargo_test(&["test", "--workspace", "--no-fail-fast"], &tools);
        }
        // Documentation examples marked `ignore` are not meant to run, so they stay out.
        let long = [
            "test",
            "--workspace",
            "--no-fail-fast",
            "--lib",
            "--bins",
            "--tests",
        ];
        let all = [&long[..], &["--examples", "--", "--include-ignored"]].concat();
        let code = self.cargo_test(&all, &tools)?;
        let examples = self.cargo_test(&["test", "--workspace", "--doc"], &tools)?;
        Ok(code && examples)
    }

    /// Runs one `cargo test`, passes its output on and counts its results.
    fn cargo_test(&mut self, args: &[&str], tools: &[(&str, PathBuf)]) -> Result<bool> {
        let mut command = self.repo.cargo(args);
        command.env(SKIP_LOG, &self.skip_log).stdout(Stdio::piped());
        command.envs(tools.iter().map(|(variable, path)| (variable, path)));
        if self.nightly {
            command.env(NIGHTLY, "1");
        }
        let failed_before = self.tally.failed;
        let mut child = command.spawn().context("running `cargo test`")?;
        if let Some(output) = child.stdout.take() {
            for line in BufReader::new(output).split(b'\n') {
                let line = String::from_utf8_lossy(&line?).into_owned();
                println!("{line}");
                self.tally.read_line(&line);
            }
        }
        let success = child.wait().context("waiting for `cargo test`")?.success();
        if !success && self.tally.failed == failed_before {
            self.tally
                .fail("`cargo test`: a test program did not build or did not end by itself");
        }
        Ok(success)
    }

    fn fuzz(&mut self) -> Result<bool> {
        match upkeep::fuzz_targets(self.repo)? {
            upkeep::FuzzTargets::Missing(how) => {
                self.tally.skip(&format!("fuzz: {how}"));
                Ok(true)
            }
            upkeep::FuzzTargets::Ready(names) => upkeep::fuzz_each(self.repo, &names, FUZZ_SECONDS),
        }
    }

    /// Checks licenses and sources of dependencies, and known flaws where the network allows.
    fn licenses(&mut self) -> Result<bool> {
        let version = self.repo.cargo(&["deny", "--version"]).output();
        if !version.is_ok_and(|output| output.status.success()) {
            self.tally
                .skip("licenses: needs cargo-deny; run `cargo install --locked cargo-deny`");
            return Ok(true);
        }
        let rules = ["deny", "check", "bans", "licenses", "sources"];
        let good = succeeds(&mut self.repo.cargo(&rules))?;
        if !succeeds(&mut self.repo.cargo(&["deny", "fetch", "db"]))? {
            self.tally
                .skip("advisories: the list of known flaws cannot be fetched");
            return Ok(good);
        }
        let flawless = succeeds(&mut self.repo.cargo(&["deny", "check", "advisories"]))?;
        Ok(good && flawless)
    }

    /// Prints what failed and what was skipped, and the one line that scripts read.
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

/// Writes a time for people, to a tenth of a second.
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
