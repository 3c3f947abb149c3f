//! `cargo xtask tidy`: the project's rules that no compiler checks.

mod catalogue;
mod codes;
mod dependencies;
mod edges;
mod glossary;
mod length;
mod links;
mod words;

use std::fmt;

use anyhow::Result;

use crate::generate;
use crate::repo::Repo;

/// A violation of a rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) path: String,
    /// Counted from 1; `None` if the finding concerns the whole file.
    pub(crate) line: Option<usize>,
    /// What is wrong, and what to do.
    pub(crate) message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// Checks every rule and prints the violations.
pub(crate) fn run(repo: &Repo) -> Result<bool> {
    let files = repo.text_files()?;
    let metadata = repo.metadata()?;
    let mut findings = edges::check(&metadata);
    findings.extend(dependencies::check(repo, &metadata));
    findings.extend(words::check(&files));
    findings.extend(codes::check(&files));
    findings.extend(glossary::check(&files));
    findings.extend(catalogue::check(repo, &files));
    findings.extend(links::check(repo, &files));
    findings.extend(generate::check(repo).unwrap_or_else(|error| vec![not_generated(&error)]));
    for finding in &findings {
        println!("{finding}");
    }
    // No rule: a limit cuts one idea into several files.
    for long in length::check(&files) {
        println!("note: {long}");
    }
    match findings.len() {
        0 => println!("tidy: {} files, nothing to do", files.len()),
        1 => println!("tidy: 1 finding"),
        count => println!("tidy: {count} findings"),
    }
    Ok(findings.is_empty())
}

/// A command that does not build must not hide the other findings.
fn not_generated(error: &anyhow::Error) -> Finding {
    Finding {
        path: "docs/reference".to_owned(),
        line: None,
        message: format!("{error:#}"),
    }
}
