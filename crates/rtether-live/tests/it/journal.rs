//! Arbitrary octets as a journal. The checks are those of the fuzz target `journal`; here they run
//! over its corpus.

#[path = "journal/check.rs"]
mod check;

use std::fs;
use std::path::{Path, PathBuf};

/// Oracle: `check`. The corpus must not consist of errors only.
#[test]
fn corpus_of_journals() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/journal");
    let entries = fs::read_dir(folder).expect("a corpus");
    let paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    let kept = |path: &PathBuf| check::check(&fs::read(path).expect("a readable file"));
    let known = paths.iter().filter_map(kept).filter(|kept| *kept > 0);
    assert!(known.count() >= 3);
}

/// Oracle: a sample is there when the store is opened again. The last record of the file has the
/// maximum number.
#[test]
fn a_sample_is_kept_behind_the_highest_number() {
    let record = [5, 1, 4, 255, 255, 255, 255, 255, 255, 255, 255];
    let octets = [&[1][..], &record].concat();
    assert_eq!(check::check(&octets), Some(1));
}
