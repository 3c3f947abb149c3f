//! Counts of passed, failed and skipped tests, read from the output of `cargo test`.

use std::fmt;

/// Results of all test programs together.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Tests that ended well, including those that skipped themselves.
    ended_well: u64,
    pub(super) failed: u64,
    /// Tests left to long runs.
    pub(super) ignored: u64,
    /// Inputs that fuzz targets have run.
    pub(super) executions: u64,
    /// Why tests were skipped, in the order of the reports.
    pub(super) skips: Vec<String>,
    /// Tests in `skips` that test programs counted as passed.
    skips_in_programs: u64,
    /// Names of failed tests and steps.
    pub(super) failures: Vec<String>,
}

impl Tally {
    /// Processes one line printed by `cargo test`.
    pub(super) fn read_line(&mut self, line: &str) {
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.ended_well += count_before(counts, "passed");
            self.failed += count_before(counts, "failed");
            self.ignored += count_before(counts, "ignored");
        } else if let Some(runs) = fuzzed(line) {
            self.ended_well += 1;
            self.executions += runs;
        } else if let Some(name) = failed_test(line) {
            self.failures.push(name.to_owned());
        }
    }

    /// Processes the output of a command. If the command is a run of this one, its summary counts,
    /// and not the tests before it.
    pub(super) fn read_output(&mut self, output: &str) {
        if let Some([passed, failed]) = output.lines().rev().find_map(summary) {
            self.ended_well += passed;
            self.failed += failed;
            for name in output.lines().filter_map(|line| line.strip_prefix("FAIL: ")) {
                self.failures.push(name.to_owned());
            }
            let skips = output.lines().filter_map(|line| line.strip_prefix("SKIP: "));
            let mut skips: Vec<String> = skips.map(str::to_owned).collect();
            skips.dedup();
            self.skips.extend(skips);
        } else {
            output.lines().for_each(|line| self.read_line(line));
        }
    }

    /// Returns how many tests have ended, well or not.
    pub(super) const fn counted(&self) -> u64 {
        self.ended_well + self.failed
    }

    /// Processes the log to which skipped tests wrote one line each.
    pub(super) fn read_skips(&mut self, log: &str) {
        for line in log.lines().map(str::trim).filter(|line| !line.is_empty()) {
            self.skips.push(line.strip_prefix("SKIP: ").unwrap_or(line).to_owned());
            self.skips_in_programs += 1;
        }
    }

    /// Counts a step that ended well.
    pub(super) fn pass(&mut self) {
        self.ended_well += 1;
    }

    /// Counts a step that could not run here.
    pub(super) fn skip(&mut self, reason: &str) {
        self.skips.push(reason.to_owned());
    }

    /// Counts a step that failed as a whole.
    pub(super) fn fail(&mut self, what: &str) {
        self.failed += 1;
        self.failures.push(what.to_owned());
    }

    /// Turns every skipped test into a failed one.
    pub(super) fn fail_skips(&mut self) {
        self.ended_well = self.passed();
        self.skips_in_programs = 0;
        for reason in std::mem::take(&mut self.skips) {
            self.fail(&format!("skipped: {reason}"));
        }
    }

    /// Returns the numbers of passed, failed and skipped tests.
    pub(super) fn figures(&self) -> [u64; 3] {
        let skipped = u64::try_from(self.skips.len()).unwrap_or(u64::MAX);
        [self.passed(), self.failed, skipped]
    }

    fn passed(&self) -> u64 {
        self.ended_well.saturating_sub(self.skips_in_programs)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [passed, failed, skipped] = self.figures();
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

/// Returns the number before a word such as `passed`, or 0.
fn count_before(counts: &str, word: &str) -> u64 {
    let words: Vec<&str> = counts.split([' ', ';', '.']).filter(|w| !w.is_empty()).collect();
    let pair = words.windows(2).find(|pair| pair[1] == word);
    pair.and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

/// Returns the number of inputs in the last line of a fuzz target, `Done 12 runs in 3 second(s)`.
fn fuzzed(line: &str) -> Option<u64> {
    let (runs, _) = line.strip_prefix("Done ")?.split_once(" runs in ")?;
    runs.parse().ok()
}

/// Returns passed and failed tests in the last line of this command.
fn summary(line: &str) -> Option<[u64; 2]> {
    let (passed, rest) = line.split_once(" passed, ")?;
    let (failed, rest) = rest.split_once(" failed, ")?;
    let skipped = rest.strip_suffix(" skipped")?;
    skipped.parse::<u64>().ok()?;
    Some([passed.parse().ok()?, failed.parse().ok()?])
}

/// Returns the name in a line such as `test queue::order ... FAILED`.
fn failed_test(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "test result: ok. 41 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; \
                        finished in 0.31s";
    const BAD: &str = "test result: FAILED. 5 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; \
                       finished in 0.01s";

    #[test]
    fn results_of_all_programs_are_added() {
        let mut tally = Tally::default();
        for line in ["running 43 tests", GOOD, "test a::b ... ok", "test c::d ... FAILED", BAD] {
            tally.read_line(line);
        }
        assert_eq!(tally.to_string(), "46 passed, 2 failed, 0 skipped");
        assert_eq!(tally.ignored, 2);
        assert_eq!(tally.failures, ["c::d"]);
    }

    #[test]
    fn a_skipped_test_is_not_a_passed_one() {
        let mut tally = Tally::default();
        tally.read_line(GOOD);
        tally.read_skips("SKIP: report: no browser\n\ntrace: no tshark\n");
        assert_eq!(tally.to_string(), "39 passed, 0 failed, 2 skipped");
        assert_eq!(tally.skips, ["report: no browser", "trace: no tshark"]);
    }

    #[test]
    fn a_skipped_step_takes_no_test_away() {
        let mut tally = Tally::default();
        tally.read_line(GOOD);
        tally.skip("fuzz: no cargo-fuzz");
        assert_eq!(tally.to_string(), "41 passed, 0 failed, 1 skipped");
    }

    #[test]
    fn the_summary_of_another_run_counts_instead_of_its_tests() {
        let mut tally = Tally::default();
        tally.read_output(&format!("{GOOD}\nSKIP: a: b\n41 passed, 0 failed, 1 skipped\n"));
        assert_eq!(tally.to_string(), "41 passed, 0 failed, 1 skipped");
        tally.read_output(GOOD);
        assert_eq!(tally.to_string(), "82 passed, 0 failed, 1 skipped");
    }

    #[test]
    fn a_fuzz_target_is_a_test() {
        // Oracle: the last line of libFuzzer.
        let mut tally = Tally::default();
        tally.read_line("Done 1234 runs in 121 second(s)");
        assert_eq!((tally.executions, tally.figures()), (1_234, [1, 0, 0]));
    }

    #[test]
    fn a_strict_run_turns_skips_into_failures() {
        let mut tally = Tally::default();
        tally.read_line(GOOD);
        tally.read_skips("trace: no tshark\n");
        tally.skip("fuzz: no cargo-fuzz");
        tally.fail_skips();
        assert_eq!(tally.to_string(), "40 passed, 2 failed, 0 skipped");
        assert_eq!(tally.failures[0], "skipped: trace: no tshark");
    }
}
