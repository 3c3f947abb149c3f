//! Links between Markdown files have targets.

use crate::finding::Finding;
use crate::repo::{Repo, TextFile};

/// Checks that every link of a Markdown file to a local file has its target.
pub(super) fn check(repo: &Repo, files: &[TextFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.path.to_ascii_lowercase().ends_with(".md")) {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (line, target) in local_targets(&file.text) {
            if !repo.root.join(folder).join(&target).exists() {
                findings.push(Finding {
                    path: file.path.clone(),
                    line: Some(line),
                    message: format!("link to `{target}`, which does not exist"),
                });
            }
        }
    }
    findings
}

/// Returns the local link targets of a Markdown text with their lines, without `#section`.
fn local_targets(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut in_fence = false;
    for (index, line) in text.lines().enumerate() {
        let start = line.trim_start();
        if start.starts_with("```") || start.starts_with("~~~") {
            in_fence = !in_fence;
            continue;
        }
        if in_fence {
            continue;
        }
        let plain = without_code(line);
        let inline = plain.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let targets = inline.chain(definition(&plain)).filter_map(local_file);
        found.extend(targets.map(|target| (index + 1, target)));
    }
    found
}

/// Replaces `code` between backticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("code")
}

/// Returns the target of a `[name]: target` line.
fn definition(line: &str) -> Option<&str> {
    let (name, target) = line.strip_prefix('[')?.split_once("]:")?;
    (!name.is_empty() && !name.starts_with('^')).then(|| target.trim())
}

/// Returns the file of a link; `None` if it leads out of the tree or to the same page.
fn local_file(target: &str) -> Option<String> {
    let target = target.split_whitespace().next()?.trim_matches(['<', '>']);
    let file = target.split('#').next().unwrap_or_default();
    let is_elsewhere = file.contains("://") || file.starts_with("mailto:");
    (!file.is_empty() && !is_elsewhere).then(|| file.replace("%20", " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_links_images_and_definitions_are_read() {
        let text = "[a](docs/a.md#part) and ![b](b.png \"title\")\n\n[c]: <c.md>\n";
        let expected = [(1, "docs/a.md"), (1, "b.png"), (3, "c.md")];
        assert_eq!(local_targets(text), expected.map(|(line, file)| (line, file.to_owned())));
    }

    #[test]
    fn what_is_not_a_local_file_is_left_alone() {
        let text = "[a](https://example.org/x) [b](#part) `[c](c.md)` [d](mailto:x@example.org)\n\
                    ```\n[e](e.md)\n```\n[^f]: a note\n";
        assert_eq!(local_targets(text), []);
    }

    #[test]
    fn a_missing_target_is_found() {
        let repo = Repo::find().unwrap();
        let text = "[here](main.rs)\n[gone](no-such-file.md)\n".to_owned();
        let found = check(&repo, &[TextFile { path: "xtask/src/page.md".to_owned(), text }]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, Some(2));
    }
}
