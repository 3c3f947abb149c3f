//! Catalogue codes named in sources are explained in `docs/catalogue.md`.

use crate::finding::Finding;
use crate::repo::TextFile;

const PAGE: &str = "docs/catalogue.md";

/// First letters of codes.
const LETTERS: &str = "KRSW";

/// Checks the comments of all sources and scenarios.
pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    let page = files.iter().find(|file| file.path == PAGE);
    let page = page.map_or("", |page| page.text.as_str());
    let sources = files.iter().filter(|file| is_source(&file.path));
    let findings = sources.flat_map(|file| {
        let lines = file.text.lines().enumerate();
        lines.flat_map(move |(index, line)| {
            let unknown = codes(line).filter(|code| !page.contains(&format!("\n| {code} |")));
            unknown.map(move |code| Finding {
                path: file.path.clone(),
                line: Some(index + 1),
                message: format!("`{code}` has no row in {PAGE}"),
            })
        })
    });
    findings.collect()
}

fn is_source(path: &str) -> bool {
    let (_, ending) = path.rsplit_once('.').unwrap_or_default();
    (path.starts_with("crates/") && ending == "rs")
        || (path.starts_with("scenarios/") && ending == "yaml")
}

/// Returns the codes in the comment of a line: a letter and one to three digits.
fn codes(line: &str) -> impl Iterator<Item = &str> {
    let comment = line.trim_start();
    let is_comment = comment.starts_with("//") || comment.starts_with('#');
    let words = comment.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(move |word| is_comment && is_code(word))
}

fn is_code(word: &str) -> bool {
    let Some((letter, digits)) = word.split_at_checked(1) else {
        return false;
    };
    LETTERS.contains(letter)
        && (1..=3).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_in_comments_have_a_row() {
        // Oracle: by eye. R9 has no row; C012 is a claim, `let` is no comment, W4 is known.
        let file = |path: &str, text: &str| TextFile { path: path.into(), text: text.into() };
        let files = [
            file(PAGE, "# x\n| W4 | 002 | limits |\n"),
            file("crates/x/src/a.rs", "/// As W4 and R9 say; C012.\nlet R77 = 1;\n"),
            file("docs/b.md", "// R10"),
        ];
        let findings = check(&files);
        let places: Vec<_> =
            findings.iter().map(|found| (found.path.as_str(), found.line)).collect();
        assert_eq!(places, [("crates/x/src/a.rs", Some(1))]);
        assert!(findings[0].message.contains("`R9`"));
    }
}
