//! A scenario as it was written, to be read again with one more change.

use crate::overrides::Override;
use crate::plan::Scenario;
use crate::tree::{Data, Value};
use crate::{load_with, tree};

/// Text of a scenario file, and the values replaced in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Content of the file.
    pub text: String,
    /// Values replaced, in order.
    pub changes: Vec<Override>,
}

impl From<String> for Written {
    /// A file as it is.
    fn from(text: String) -> Self {
        let changes = Vec::new();
        Self { text, changes }
    }
}

impl Written {
    /// Reads the scenario with one more change; `None` if that is a mistake.
    pub fn with(&self, change: &Override) -> Option<Scenario> {
        let changes: Vec<Override> = self.changes.iter().chain([change]).cloned().collect();
        load_with("", &self.text, &changes).scenario
    }

    /// Returns the value at a path of keys; `None` if it is not written.
    pub fn value(&self, path: &str) -> Option<String> {
        let replaced = self.changes.iter().rev().find(|change| change.path == path);
        if let Some(change) = replaced {
            return Some(change.value.clone());
        }
        let root = tree(&self.text).ok()?;
        let value = path.split('.').try_fold(&root, |at, key| entry(at, key))?;
        match &value.data {
            Data::Scalar(text) => Some(text.clone()),
            Data::Null | Data::List(_) | Data::Map(_) => None,
        }
    }
}

fn entry<'v>(at: &'v Value, key: &str) -> Option<&'v Value> {
    let Data::Map(entries) = &at.data else {
        return None;
    };
    let entry = entries.iter().find(|entry| entry.key == key)?;
    Some(&entry.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_comes_after_those_that_were_made() {
        // By hand: the period of the file is 1 ms.
        let text = "rtether: 1\nnodes: { a: { stack: zero }, b: { stack: zero } }\n\
            links: [{ ends: [a, b], rate: 100 Mbit/s }]\n\
            flows: [{ name: f, from: a, to: b, period: 1 ms, size: 60 B }]\n\
            run: { for: 1 s }\n";
        let written = Written {
            text: text.to_owned(),
            changes: vec![Override::new("--set", "run.for", "2 s")],
        };
        assert_eq!(written.value("run.for").as_deref(), Some("2 s"));
        assert_eq!(written.value("rtether").as_deref(), Some("1"));
        assert_eq!(written.value("flows"), None);
        let changed = written.with(&Override::new("--set", "flows.f.period", "4 ms"));
        let changed = changed.expect("a good change");
        assert_eq!(changed.run.duration.to_string(), "2 s");
        assert_eq!(
            written.with(&Override::new("--set", "flows.g.period", "4 ms")),
            None
        );
    }
}
