//! `cargo xtask tidy`: the project's rules that no compiler checks.

mod catalogue;
mod circles;
mod codes;
mod dependencies;
mod edges;
mod formats;
mod glossary;
mod length;
mod links;
mod listed;
mod nightly;
mod style;
mod words;

use anyhow::Result;

use crate::finding::Finding;
use crate::generate;
use crate::repo::Repo;

/// Checks every rule and prints the violations; generated pages only if this is to build the
/// command.
pub(crate) fn run(repo: &Repo, builds: bool) -> Result<bool> {
    let files = repo.text_files()?;
    let metadata = repo.metadata()?;
    let mut findings = edges::check(&metadata);
    findings.extend(dependencies::check(repo, &metadata));
    findings.extend(words::check(&files));
    findings.extend(codes::check(&files));
    findings.extend(formats::check(&files));
    findings.extend(glossary::check(&files));
    findings.extend(catalogue::check(repo, &files));
    findings.extend(circles::check(&files));
    findings.extend(listed::check(&files));
    findings.extend(nightly::check(&files));
    findings.extend(links::check(repo, &files));
    findings.extend(style::check(&files));
    if builds {
        let pages = generate::build(repo).and_then(|command| generate::check(repo, &command));
        findings.extend(pages.unwrap_or_else(|error| vec![not_generated(&error)]));
    }
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
    Finding { path: "docs/reference".to_owned(), line: None, message: format!("{error:#}") }
}
