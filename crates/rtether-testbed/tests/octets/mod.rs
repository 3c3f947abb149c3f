//! What comes from outside, as any octets. The checks are those of the fuzz targets `shim_config`,
//! `control`, `ssh`, `idl` and `msg`; here they run over the corpora.

#![cfg(target_os = "linux")]

mod control;
mod idl;
mod msg;
mod shim_config;
mod ssh;

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the octets of a corpus.
fn corpus_of(target: &str) -> Vec<Vec<u8>> {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let entries = fs::read_dir(corpora.join(target)).expect("a corpus");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let read = |path| fs::read(path).expect("a readable file");
    paths.iter().map(read).collect()
}

// Files of a corpus must be more than errors.

#[test]
fn corpus_of_configurations() {
    let corpus = corpus_of("shim_config");
    let known = corpus.iter().filter(|octets| shim_config::check(octets));
    assert!(known.count() >= 3);
}

#[test]
fn corpus_of_requests() {
    let corpus = corpus_of("control");
    let known = corpus.iter().filter(|octets| control::check(octets));
    assert!(known.count() >= 3);
}

#[test]
fn corpus_of_agents() {
    let corpus = corpus_of("ssh");
    let known: usize = corpus.iter().map(|octets| ssh::check(octets)).sum();
    assert!(known >= 20, "{known}");
}

#[test]
fn corpus_of_types() {
    let corpus = corpus_of("idl");
    let known: usize = corpus.iter().map(|octets| idl::check(octets)).sum();
    assert!(known >= 5, "{known}");
}

#[test]
fn corpus_of_messages() {
    let corpus = corpus_of("msg");
    let known = corpus.iter().filter(|octets| msg::check(octets));
    assert!(known.count() >= 3);
}
