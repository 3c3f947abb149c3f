//! Parts of a long run.

use std::rc::Rc;

use anyhow::{Context, Result};

use super::schedule::{Schedule, Task};
use super::{NIGHTLY, TestRun};
use crate::bare_root;
use crate::book;
use crate::child::{output_of, succeeds};
use crate::dist;
use crate::part::Long;
use crate::playground;
use crate::program::{self, Class};
use crate::upkeep;

/// Tests find the page of the playground by this variable.
const PAGE: &str = "RTETHER_PLAYGROUND";
/// And the first page of the book by this one.
const BOOK: &str = "RTETHER_BOOK";
/// Seconds for each fuzz target in a long run.
const FUZZ_SECONDS: u32 = 120;
/// Architectures with `AddressSanitizer`, and their targets.
const SANITIZED: &[(&str, &str)] =
    &[("x86_64", "x86_64-unknown-linux-gnu"), ("aarch64", "aarch64-unknown-linux-gnu")];

impl TestRun<'_> {
    /// Runs long tests, one program after the other or side by side, as their classes permit.
    pub(super) fn long(&mut self, long: &Long) -> Result<bool> {
        self.provide()?;
        let programs = if long.is_release() {
            let mut options = long.packages();
            options.push(program::RELEASE.to_owned());
            program::build(self.repo, &self.logs, &options, false)?.map(Rc::from)
        } else if self.programs.is_none() {
            // Alone, it needs no other programs.
            program::build(self.repo, &self.logs, &long.packages(), false)?.map(Rc::from)
        } else {
            self.programs()?
        };
        let Some(programs) = programs else {
            return Ok(false);
        };
        let page = long.needs_page().then(|| playground::build_usual(self.repo));
        let page = page.transpose()?;
        let book = page.as_ref().map(|page| book::build_usual(self.repo, page));
        let book = book.transpose()?;
        let mut tasks = Vec::new();
        for group in long.tests {
            let (program, prefix) = group.split_once("::").unwrap_or((group, ""));
            let whole = programs.iter().find(|own| own.name == program);
            let whole = whole.with_context(|| format!("there is no program `{program}`"))?;
            let (prefix, mut task) = (prefix.to_owned(), self.task(&whole.only(prefix)?));
            task.command.arg("--include-ignored").env(NIGHTLY, "1");
            task.must_count = true;
            if let Some(page) = &page {
                task.command.env(PAGE, page);
            }
            if let Some(book) = &book {
                task.command.env(BOOK, book);
            }
            if !prefix.is_empty() {
                task.name = format!("{program}::{prefix}");
            }
            tasks.push(task);
        }
        Schedule::new(&self.logs, tasks)?.run(&mut self.tally)
    }

    pub(super) fn benches(&mut self) -> Result<bool> {
        upkeep::provide_instruction_counter(self.repo)?;
        let mut command = self.repo.cargo(&["test", "--workspace", "--benches"]);
        let (is_good, output) = output_of(&mut command)?;
        self.tally.read_output(&output);
        // A benchmark runs without the test harness, and counts nothing.
        if is_good {
            self.tally.pass();
        }
        Ok(is_good)
    }

    /// Runs each fuzz target for a limited time, as many at once as there are cores.
    pub(super) fn fuzz(&mut self) -> Result<bool> {
        upkeep::provide_cargo_command(self.repo, "fuzz");
        let names = match upkeep::fuzz_targets(self.repo)? {
            upkeep::FuzzTargets::Missing(how) => {
                self.tally.skip(&format!("fuzz: {how}"));
                return Ok(true);
            }
            upkeep::FuzzTargets::Ready(names) => names,
        };
        if !succeeds(&mut upkeep::cargo_fuzz(self.repo, &["build"]))? {
            return Ok(false);
        }
        let limit = format!("-max_total_time={FUZZ_SECONDS}");
        let tasks = names.iter().map(|name| Task {
            name: format!("fuzz {name}"),
            class: Class::Computes,
            command: upkeep::cargo_fuzz(self.repo, &["run", name, "--", &limit]),
            repeat: format!("cargo +nightly fuzz run {name}"),
            must_count: true,
        });
        Schedule::new(&self.logs, tasks.collect())?.run(&mut self.tally)
    }

    /// Runs the tests of the only crate with `unsafe` code, and of its C library, with every memory
    /// access checked. The pinned compiler has the sanitizer behind a switch.
    pub(super) fn sanitizers(&mut self) -> Result<bool> {
        self.provide()?;
        let here = SANITIZED.iter().find(|(arch, _)| *arch == std::env::consts::ARCH);
        let Some((_, target)) = here.filter(|_| cfg!(target_os = "linux")) else {
            self.tally.skip("sanitizers: AddressSanitizer is not run on this machine's kind");
            return Ok(true);
        };
        let mut is_good = true;
        for tests in [&["--lib"][..], &["--test", "it", "--test", "c_api"]] {
            let fixed = ["test", "--no-fail-fast", "--package", "rtether-live", "--features", "c"];
            let mut command = self.repo.cargo(&fixed);
            self.equip(command.args(tests));
            // A library with the sanitizer cannot run under valgrind, which is used in the ordinary
            // tests.
            command.args(["--", "--skip", "valgrind_finds_nothing"]);
            command
                .env("RUSTC_BOOTSTRAP", "1")
                .env("RUSTFLAGS", "-Zsanitizer=address")
                // Also for the programs that the tests build.
                .env("CARGO_BUILD_TARGET", target)
                .env("CARGO_TARGET_DIR", self.logs.with_file_name("sanitizers"))
                .env("RTETHER_C_FLAGS", "-fsanitize=address")
                .env("ASAN_OPTIONS", "detect_leaks=0");
            let (has_passed, output) = output_of(&mut command)?;
            self.tally.read_output(&output);
            is_good &= has_passed;
        }
        Ok(is_good)
    }

    /// Checks licenses and sources of dependencies, and known vulnerabilities if the network
    /// permits.
    pub(super) fn licenses(&mut self) -> Result<bool> {
        if !upkeep::provide_cargo_command(self.repo, "deny") {
            self.tally.skip("licenses: needs cargo-deny; run `cargo install --locked cargo-deny`");
            return Ok(true);
        }
        let rules = ["deny", "check", "bans", "licenses", "sources"];
        let good = succeeds(&mut self.repo.cargo(&rules))?;
        if !succeeds(&mut self.repo.cargo(&["deny", "fetch", "db"]))? {
            self.tally.skip("advisories: the list of known flaws cannot be fetched");
            return Ok(good);
        }
        let flawless = succeeds(&mut self.repo.cargo(&["deny", "check", "advisories"]))?;
        Ok(good && flawless)
    }

    /// Makes the packages and tries them; each statement counts as a test.
    pub(super) fn packages(&mut self) -> Result<bool> {
        let folder = self.logs.with_file_name("packages");
        let proofs = dist::prove(self.repo, &folder, &dist::Choice::of(None)?)?;
        for proof in &proofs {
            match proof.skipped() {
                Some(reason) => self.tally.skip(&reason),
                None if proof.is_good() => self.tally.pass(),
                None => self.tally.fail(&proof.to_string()),
            }
        }
        Ok(proofs.iter().all(dist::Proof::is_good))
    }

    pub(super) fn bare_root(&mut self, further: &[&str]) -> Result<bool> {
        match bare_root::run(self.repo, further, &[])? {
            bare_root::Outcome::Ended(is_good, output) => {
                self.tally.read_output(&output);
                Ok(is_good)
            }
            bare_root::Outcome::Skipped(reason) => {
                self.tally.skip(&format!("bare root: {reason}"));
                Ok(true)
            }
        }
    }
}
