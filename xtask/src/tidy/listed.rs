//! Every file of tests is in a test program: cargo builds no file that nothing lists, and its tests
//! would never run.

use crate::finding::Finding;
use crate::repo::TextFile;

/// The list of a package's tests.
const MAIN: &str = "/tests/main.rs";

/// Finds files and folders beside a `tests/main.rs` that it does not list.
pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    let mains = files.iter().filter(|file| file.path.ends_with(MAIN));
    mains.flat_map(|main| missing(main, files)).collect()
}

fn missing(main: &TextFile, files: &[TextFile]) -> Vec<Finding> {
    let folder = main.path.trim_end_matches("main.rs");
    let beside = files.iter().filter_map(|file| {
        let rest = file.path.strip_prefix(folder)?;
        let module = rest.strip_suffix("/mod.rs").or_else(|| rest.strip_suffix(".rs"))?;
        (!module.contains('/') && module != "main").then_some((&file.path, module))
    });
    let missing = beside.filter(|(_, module)| {
        let line = format!("mod {module};");
        !main.text.lines().any(|own| own == line)
    });
    missing
        .map(|(path, module)| Finding {
            path: path.clone(),
            line: None,
            message: format!("no test of it runs: write `mod {module};` in {}", main.path),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> TextFile {
        TextFile { path: path.to_owned(), text: text.to_owned() }
    }

    // Oracle: by eye.
    #[test]
    fn what_no_program_lists_is_found() {
        let files = [
            file("crates/a/tests/main.rs", "mod x;\nmod y;\n"),
            file("crates/a/tests/x.rs", ""),
            file("crates/a/tests/x/deep.rs", ""),
            file("crates/a/tests/y/mod.rs", ""),
            file("crates/a/tests/z.rs", ""),
            file("crates/b/tests/own.rs", ""),
        ];
        let found: Vec<_> = check(&files).into_iter().map(|own| own.path).collect();
        assert_eq!(found, ["crates/a/tests/z.rs"]);
    }
}
