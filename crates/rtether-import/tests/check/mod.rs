//! What holds for the import of any octets; for tests and the fuzz targets.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "tests and fuzz targets have it as a module, and need a part of it"
)]

use rtether_import::{File, Frequency, ImportError, Options, Plan, import, import_all, is_capture};

/// Imports octets and checks what holds in any case. Returns whether they gave a plan.
///
/// # Panics
///
/// Panics if an error has no remedy, or if a plan is not consistent in itself.
pub fn check(octets: &[u8]) -> bool {
    let options = Options::new();
    let result = import("plant.scd", octets, &options);
    // In UTF-16, too, each line end has one such octet at least.
    let last = octets.split(|octet| *octet == b'\n').count();
    // Of a capture it is the number of a packet; gzip may hold very many.
    let last = if is_capture(octets) { usize::MAX } else { last };
    let Some(plan) = checked(result, last) else {
        return false;
    };
    let stated = options.with_frequency(Frequency::HZ_50);
    let again = import("plant.scd", octets, &stated).expect("the same file");
    assert_eq!(again.findings, plan.findings);
    true
}

/// Imports files that are separated by lines of `%%` as `check` does.
///
/// # Panics
///
/// As `check`.
pub fn check_parts(names: &[&str], octets: &[u8]) -> bool {
    let mut parts = vec![Vec::new()];
    for line in octets.split_inclusive(|octet| *octet == b'\n') {
        match parts.last_mut() {
            Some(part) if line != b"%%\n" => part.extend_from_slice(line),
            _ => parts.push(Vec::new()),
        }
    }
    let files = names.iter().zip(&parts);
    let files: Vec<File<'_>> = files.map(|(name, octets)| File { name, octets }).collect();
    let last = octets.split(|octet| *octet == b'\n').count();
    checked(import_all(&files, &Options::new()), last).is_some()
}

/// Checks a result; `last` is the largest number of a line.
fn checked(result: Result<Plan, ImportError>, last: usize) -> Option<Plan> {
    let plan = match result {
        Ok(plan) => plan,
        Err(error) => {
            assert!(!error.what.is_empty() && !error.remedy.is_empty(), "{error}");
            assert!(error.line != Some(0), "{error}");
            assert!(error.to_string().lines().count() == 1, "{error}");
            return None;
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
    for finding in &plan.findings {
        assert!((1..=last).contains(&finding.line), "{finding:?}");
        assert!(!finding.text.contains('\n'), "{finding:?}");
    }
    Some(plan)
}
