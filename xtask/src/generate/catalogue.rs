//! The table of requirements in the catalogue, made from their CSV file.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};

use crate::requirements::{Requirement, requirements};

/// Returns the sum and the table, from the text of the CSV file.
pub(super) fn section(table: &str) -> Result<String> {
    let all = requirements(table).context("reading the requirements")?;
    let count = |met: &str| all.iter().filter(|own| own.met == met).count();
    let mut out = format!(
        "\n{} yes, {} partly, {} missing.\n\n\
         | code | source | what it asks for | met | shown by |\n|---|---|---|---|---|\n",
        count("yes"),
        count("partly"),
        count("missing")
    );
    for Requirement { number, source, text, met, shown_by } in &all {
        let _ = writeln!(out, "| R{number} | {source} | {text} | {met} | {shown_by} |");
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: by hand.
    #[test]
    fn a_row_for_each_requirement_and_their_sum() {
        let table = "requirement,source,class,experiments,text,met,shown_by\n\
                     R1,000 I,core,,\"hubs, and switches\",yes,`rtether sim`\n\
                     R2,001,core,all,more,missing,\n";
        let expected = "\n1 yes, 0 partly, 1 missing.\n\n\
                        | code | source | what it asks for | met | shown by |\n\
                        |---|---|---|---|---|\n\
                        | R1 | 000 I | hubs, and switches | yes | `rtether sim` |\n\
                        | R2 | 001 | more | missing |  |\n";
        assert_eq!(section(table).expect("a table"), expected);
        assert!(section("requirement,source\nR1,000\n").is_err(), "columns are missing");
    }
}
