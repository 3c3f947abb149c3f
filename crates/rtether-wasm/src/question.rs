//! A question, as the page writes it.

use rtether::import::File;
use serde_json::Value;

/// One line of JSON, and files.
pub(crate) struct Question<'a> {
    head: Value,
    /// Files to import, in the order in which they were dropped.
    pub(crate) files: Vec<(String, &'a [u8])>,
}

impl<'a> Question<'a> {
    /// Reads the line, and divides the octets behind it into files.
    pub(crate) fn read(octets: &'a [u8]) -> Result<Self, String> {
        let end = octets.iter().position(|&octet| octet == b'\n');
        let (line, rest) = octets.split_at(end.unwrap_or(octets.len()));
        let head: Value = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        let mut rest = rest.get(1..).unwrap_or_default();
        let mut files = Vec::new();
        for file in head["files"].as_array().into_iter().flatten() {
            let size = file["size"].as_u64().and_then(|size| size.try_into().ok());
            let (own, others) = size
                .and_then(|size| rest.split_at_checked(size))
                .ok_or("a file is shorter than it says")?;
            let name = file["name"].as_str().unwrap_or("file");
            files.push((name.to_owned(), own));
            rest = others;
        }
        Ok(Self { head, files })
    }

    /// Returns a member that is a text; empty if there is none.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.head[name].as_str().unwrap_or_default()
    }

    /// Returns whether a member is true.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.head[name] == true
    }

    /// Returns the files as importers take them.
    pub(crate) fn sources(&self) -> Vec<File<'_>> {
        let files = self.files.iter();
        files.map(|(name, octets)| File { name, octets }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_follow_the_line() {
        let octets = b"{\"do\":\"import\",\"files\":[{\"name\":\"a\",\"size\":2},{\"name\":\"b\",\"size\":1}]}\nxyz";
        let question = Question::read(octets).unwrap();
        assert_eq!(question.text("do"), "import");
        let expected: [(String, &[u8]); 2] = [("a".into(), b"xy"), ("b".into(), b"z")];
        assert_eq!(question.files, expected);
        let short = b"{\"files\":[{\"name\":\"a\",\"size\":4}]}\nxyz";
        assert!(Question::read(short).is_err());
        assert!(Question::read(b"no JSON").is_err());
    }
}
