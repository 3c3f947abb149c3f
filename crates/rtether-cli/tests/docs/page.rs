//! The content of a Markdown page: fenced blocks, and the comments about them.

use std::ops::Range;

/// A page.
pub(crate) struct Page {
    /// Relative to the root of the repository.
    pub(crate) path: String,
    pub(crate) lines: Vec<String>,
    pub(crate) blocks: Vec<Block>,
}

/// A fenced block.
pub(crate) struct Block {
    pub(crate) language: String,
    /// Its lines without the fences, counted from 0.
    pub(crate) lines: Range<usize>,
    pub(crate) marks: Vec<Mark>,
}

/// A comment on the line above a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// `not run: REASON`; also for drawings and files of other programs.
    NotRun,
    /// `not compared: REASON`: the commands run, their output depends on the machine.
    NotCompared,
    /// `file: NAME`: the block is this file for the commands that follow.
    File(String),
    /// `fragment`: a part of a scenario.
    Fragment,
    /// `shim`: a configuration of a shim.
    Shim,
    /// `exit: N`, or `exit: N or M` if it depends on the machine: exit code of the last command.
    Exit(Vec<i32>),
    /// `setup: COMMAND`: run before the block.
    Setup(String),
    /// `together: N s`: the commands run at the same time in a separate network until the last of
    /// them ends, at most this long; then the others are ended. The output is that of the last.
    Together(u32),
    /// `output: measured`: words and columns are compared, numbers and their units are not.
    Measured,
    /// `output: errors`: what commands run together print to standard error.
    Errors,
    /// `long: REASON`: runs only with `RTETHER_NIGHTLY`.
    Long,
    /// `output: lines 2-5, 7`: these lines of the whole output, counted from 1.
    Lines(Vec<Range<usize>>),
}

impl Mark {
    /// Returns whether it says what of an output is compared.
    const fn is_of_output(&self) -> bool {
        matches!(self, Self::Measured | Self::Errors | Self::Lines(_))
    }
}

impl Page {
    /// Parses a page.
    ///
    /// # Errors
    /// Unknown comments, or blocks without an end.
    pub(crate) fn read(path: &str, text: &str) -> Result<Self, String> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let mut blocks = Vec::new();
        let mut at = 0;
        while at < lines.len() {
            let Some(language) = lines[at].strip_prefix("```") else {
                at += 1;
                continue;
            };
            let end = (at + 1..lines.len()).find(|&line| lines[line] == "```");
            let end = end.ok_or_else(|| format!("{path}:{}: a block without an end", at + 1))?;
            let place = |error| format!("{path}:{}: {error}", at + 1);
            let marks = marks(&lines[..at]).map_err(place)?;
            let language = language.trim().to_owned();
            // Above a command it would have no effect.
            let misplaced = marks.iter().find(|mark| mark.is_of_output() && language != "text");
            if let Some(mark) = misplaced {
                let error = format!("{mark:?} belongs above the output, a block of `text`");
                return Err(place(error));
            }
            blocks.push(Block { language, lines: at + 1..end, marks });
            at = end + 1;
        }
        let path = path.to_owned();
        Ok(Self { path, lines, blocks })
    }

    pub(crate) fn text(&self, block: &Block) -> String {
        self.lines[block.lines.clone()].join("\n")
    }

    /// Returns the start of a block, for messages.
    pub(crate) fn place(&self, block: &Block) -> String {
        format!("{}:{}", self.path, block.lines.start)
    }
}

impl Block {
    pub(crate) fn has(&self, mark: &Mark) -> bool {
        self.marks.contains(mark)
    }

    pub(crate) fn exits(&self) -> &[i32] {
        let mut exits = self.marks.iter().filter_map(|mark| {
            if let Mark::Exit(codes) = mark { Some(codes.as_slice()) } else { None }
        });
        exits.next().unwrap_or(&[0])
    }

    pub(crate) fn file(&self) -> Option<&str> {
        self.marks
            .iter()
            .find_map(|mark| if let Mark::File(name) = mark { Some(name.as_str()) } else { None })
    }

    pub(crate) fn together(&self) -> Option<u32> {
        self.marks
            .iter()
            .find_map(|mark| if let Mark::Together(seconds) = mark { Some(*seconds) } else { None })
    }
}

/// Parses the comments directly above a block.
fn marks(before: &[String]) -> Result<Vec<Mark>, String> {
    let mut marks = Vec::new();
    for line in before.iter().rev() {
        let comment = line.strip_prefix("<!-- ");
        let Some(comment) = comment.and_then(|text| text.strip_suffix(" -->")) else {
            break;
        };
        let (word, rest) = comment.split_once(": ").unwrap_or((comment, ""));
        let wrong = || Err(format!("nobody knows the mark `{comment}`"));
        match (word, rest) {
            ("not run" | "not compared", "") => return Err(format!("`{word}` needs a reason")),
            ("not run", _) => marks.push(Mark::NotRun),
            ("not compared", _) => marks.push(Mark::NotCompared),
            ("file", name) if !name.is_empty() => marks.push(Mark::File(name.to_owned())),
            ("fragment", "") => marks.push(Mark::Fragment),
            ("shim", "") => marks.push(Mark::Shim),
            ("exit", codes) => match codes.split(" or ").map(str::parse).collect() {
                Ok(codes) => marks.push(Mark::Exit(codes)),
                Err(_) => return wrong(),
            },
            ("setup", command) => marks.insert(0, Mark::Setup(command.to_owned())),
            ("together", time) => match time.strip_suffix(" s").map(str::parse) {
                Some(Ok(seconds)) => marks.push(Mark::Together(seconds)),
                _ => return wrong(),
            },
            ("output", "measured") => marks.push(Mark::Measured),
            ("output", "errors") => marks.push(Mark::Errors),
            ("long", reason) if !reason.is_empty() => marks.push(Mark::Long),
            ("output", what) => match what.strip_prefix("lines ").and_then(ranges) {
                Some(ranges) => marks.push(Mark::Lines(ranges)),
                None => return wrong(),
            },
            _ => return wrong(),
        }
    }
    Ok(marks)
}

/// Parses `2-5, 7`.
fn ranges(text: &str) -> Option<Vec<Range<usize>>> {
    let one = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (first > 0).then_some(first - 1..last)
    };
    text.split(',').map(one).collect()
}

/// Splits a shell block into commands: lines joined by `\` or within quotes are one.
pub(crate) fn commands(text: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        if open {
            let last = commands.last_mut().expect("an open command");
            last.push('\n');
            last.push_str(line);
        } else if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        } else {
            commands.push(line.to_owned());
        }
        let last = commands.last().expect("a command");
        open = last.ends_with('\\') || last.matches('\'').count() % 2 == 1;
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_marks_are_read() {
        // Oracle: the text, by eye.
        let text = "a\n<!-- exit: 1 -->\n```sh\nx \\\n  y\n\n# no\nz 'a\nb'\n```\n\n<!-- output: lines 2-3, 5 -->\n```text\nq\n```\n";
        let page = Page::read("p.md", text).unwrap();
        assert_eq!(page.blocks.len(), 2);
        assert_eq!(page.blocks[0].exits(), [1]);
        let found = commands(&page.text(&page.blocks[0]));
        assert_eq!(found, ["x \\\n  y", "z 'a\nb'"]);
        assert!(page.blocks[1].has(&Mark::Lines(vec![1..3, 4..5])));
        assert!(Page::read("p.md", "<!-- not run -->\n```sh\nx\n```\n").is_err());
        assert!(Page::read("p.md", "<!-- typo: x -->\n```sh\nx\n```\n").is_err());
        // What is compared belongs above what is compared.
        for mark in ["output: lines 1-2", "output: measured", "output: errors"] {
            for (language, is_output) in [("text", true), ("sh", false)] {
                let page = format!("<!-- {mark} -->\n```{language}\nx\n```\n");
                assert_eq!(Page::read("p.md", &page).is_ok(), is_output, "{mark}");
            }
        }
    }
}
