//! The requirements of the papers: what they ask for, how far it is met, and what shows it.

use anyhow::{Context as _, Result};

/// Their file.
pub(crate) const FILE: &str = "crates/rtether-papers/reference/requirements.csv";

/// A requirement of the papers.
#[derive(Debug)]
pub(crate) struct Requirement {
    /// Without the letter.
    pub(crate) number: u32,
    /// Papers and sections.
    pub(crate) source: String,
    /// What is asked for, word for word.
    pub(crate) text: String,
    /// `yes`, `partly` or `missing`.
    pub(crate) met: String,
    /// Tests, commands and symbols, and words.
    pub(crate) shown_by: String,
}

/// Reads the text of the file.
pub(crate) fn requirements(table: &str) -> Result<Vec<Requirement>> {
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let head = reader.headers()?.clone();
    let read = |record: csv::Result<csv::StringRecord>| {
        let record = record?;
        let cell = |name: &str| {
            let at = head.iter().position(|own| own == name);
            let cell = at.and_then(|at| record.get(at)).with_context(|| format!("no `{name}`"))?;
            anyhow::Ok(cell.to_owned())
        };
        let code = cell("requirement")?;
        let number = code.strip_prefix('R').and_then(|number| number.parse().ok());
        Ok(Requirement {
            number: number.with_context(|| format!("`{code}` is no code of a requirement"))?,
            source: cell("source")?,
            text: cell("text")?,
            met: cell("met")?,
            shown_by: cell("shown_by")?,
        })
    };
    reader.records().map(read).collect()
}
