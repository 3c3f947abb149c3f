//! A value to be replaced, as options and messages write it.

/// One replaced value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// Where, for example `flows.setpoint.period`.
    pub path: String,
    /// What to put there, in the syntax of the file.
    pub value: String,
    /// What diagnostics call it: `--set`, or the option that stands for it.
    pub flag: &'static str,
}

impl Override {
    /// Creates the override of `path` made by an option.
    pub fn new(flag: &'static str, path: impl Into<String>, value: impl Into<String>) -> Self {
        Self { path: path.into(), value: value.into(), flag }
    }

    /// Parses `PATH=VALUE` of `--set`; `None` without `=` or without a path.
    pub fn parse(text: &str) -> Option<Self> {
        Self::parse_for("--set", text)
    }

    /// Like [`Self::parse`], for another option.
    pub fn parse_for(option: &'static str, text: &str) -> Option<Self> {
        let (path, value) = split(text)?;
        let (path, value) = (path.trim(), value.trim());
        (!path.is_empty()).then(|| Self::new(option, path, value))
    }

    /// Returns `PATH=VALUE`.
    pub fn text(&self) -> String {
        format!("{}={}", self.path, self.value)
    }

    /// Returns it as an argument for a shell: `--set 'links[3].rate=1 Gbit/s'`.
    pub fn argument(&self) -> String {
        let text = self.text();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ".=_-/:+".contains(c);
        if text.chars().all(is_plain) {
            format!("--set {text}")
        } else {
            format!("--set '{}'", text.replace('\'', r"'\''"))
        }
    }
}

/// Splits at the first `=` outside of brackets; at the first of all if brackets do not close.
fn split(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0_usize;
    let outside = text.char_indices().find(|&(_, c)| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == '=' && depth == 0
    });
    match outside {
        Some((at, _)) => Some((&text[..at], &text[at + 1..])),
        None => text.split_once('='),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: by eye.
    #[test]
    fn a_path_ends_at_the_first_sign_outside_of_brackets() {
        for (text, path, value) in [
            ("flows.f.pcp=6", "flows.f.pcp", "6"),
            ("flows[class=a b].pcp=6", "flows[class=a b].pcp", "6"),
            ("nodes[name=x=y].stack={ a: [b=c] }", "nodes[name=x=y].stack", "{ a: [b=c] }"),
            ("nodes.a[b.x=1", "nodes.a[b.x", "1"),
        ] {
            let change = Override::parse(text).expect("a path and a value");
            assert_eq!((change.path.as_str(), change.value.as_str()), (path, value));
        }
        assert_eq!(Override::parse("flows"), None);
    }

    #[test]
    fn an_argument_is_one_word_of_a_shell() {
        // By hand, after the rules of POSIX shells for quotation marks.
        let argument = |path, value| Override::new("--set", path, value).argument();
        assert_eq!(argument("flows.f.pcp", "6"), "--set flows.f.pcp=6");
        let rate = argument("links[3].rate", "1 Gbit/s");
        assert_eq!(rate, "--set 'links[3].rate=1 Gbit/s'");
        let quoted = argument("flows.it's.pcp", "6");
        assert_eq!(quoted, r"--set 'flows.it'\''s.pcp=6'");
    }
}
