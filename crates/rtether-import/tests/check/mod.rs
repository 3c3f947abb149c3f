//! What holds for the import of any octets; for tests and the fuzz target.

use rtether_import::{Frequency, Options, import, is_capture};

/// Imports octets and checks what holds in any case. Returns whether they gave a plan.
///
/// # Panics
///
/// Panics if an error has no remedy, or if a plan is not consistent in itself.
#[allow(
    unreachable_pub,
    reason = "a test and a fuzz target have it as a module"
)]
pub fn check(octets: &[u8]) -> bool {
    let options = Options::new();
    let plan = match import("plant.scd", octets, &options) {
        Ok(plan) => plan,
        Err(error) => {
            assert!(
                !error.what.is_empty() && !error.remedy.is_empty(),
                "{error}"
            );
            assert!(error.line != Some(0), "{error}");
            assert!(error.to_string().lines().count() == 1, "{error}");
            return false;
        }
    };
    assert!(plan.scenario.ends_with('\n'));
    let lines: Vec<&str> = plan.scenario.lines().collect();
    for assumption in &plan.assumptions {
        let line = lines[assumption.line - 1];
        assert!(line.contains("# assumed: "), "{assumption:?}: {line}");
    }
    let marked = lines.iter().filter(|line| line.contains("# assumed: "));
    assert!(marked.count() >= plan.assumptions.len());
    // In UTF-16, too, each line end has one such octet at least.
    let last = octets.split(|octet| *octet == b'\n').count();
    // Of a capture it is the number of a packet; gzip may hold very many.
    let last = if is_capture(octets) { usize::MAX } else { last };
    for finding in &plan.findings {
        assert!((1..=last).contains(&finding.line), "{finding:?}");
        assert!(!finding.text.contains('\n'), "{finding:?}");
    }
    let stated = options.with_frequency(Frequency::HZ_50);
    let again = import("plant.scd", octets, &stated).expect("the same file");
    assert_eq!(again.findings, plan.findings);
    true
}
