//! XML or JSON of an instance of YANG, without prefixes and namespaces.

use roxmltree::Node;
use serde_json::Value;

use crate::error::ImportError;
use crate::scl::xml;
use crate::text::plain;

/// Most nodes of a document.
const MOST: usize = 2_000_000;

/// A leaf, or a container, or one entry of a list.
#[derive(Debug, Default)]
pub(super) struct Item {
    pub(super) name: String,
    pub(super) text: String,
    /// Line, counted from 1; JSON has none but in streams.
    pub(super) line: usize,
    pub(super) children: Vec<Self>,
}

/// Returns a name without its module or prefix.
fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

impl Item {
    /// Reads a document.
    pub(super) fn read(name: &str, text: &str) -> Result<Self, ImportError> {
        let mut count = 0;
        let root = if text.trim_start().starts_with('<') {
            let document = xml::parse(text)
                .map_err(|own| ImportError::new(name, own.line, own.what, own.remedy))?;
            let lines = xml::Lines::new(text);
            Self::of_element(document.root_element(), &lines, &mut count)
        } else {
            let value: Value = serde_json::from_str(text).map_err(|error| {
                let what = format!("it is not JSON: {}", plain(&error.to_string(), 200));
                ImportError::new(name, Some(error.line().max(1)), what, "export it again")
            })?;
            let mut root = Self { line: 1, ..Self::default() };
            root.add("", &value, &mut count);
            root
        };
        if count > MOST {
            let what = format!("it has more than {MOST} nodes");
            return Err(ImportError::new(name, None, what, "import a part of it"));
        }
        Ok(root)
    }

    fn of_element(node: Node<'_, '_>, lines: &xml::Lines, count: &mut usize) -> Self {
        *count += 1;
        let mut item = Self {
            name: node.tag_name().name().to_owned(),
            text: node.text().unwrap_or_default().trim().to_owned(),
            line: lines.at(node.range().start),
            children: Vec::new(),
        };
        for child in node.children().filter(Node::is_element) {
            if *count > MOST {
                break;
            }
            item.children.push(Self::of_element(child, lines, count));
        }
        item
    }

    /// Adds a value of JSON; each of an array is an entry of a list.
    fn add(&mut self, name: &str, value: &Value, count: &mut usize) {
        *count += 1;
        if *count > MOST {
            return;
        }
        let mut item = Self { name: local(name).to_owned(), line: 1, ..Self::default() };
        match value {
            Value::Array(list) => {
                for own in list {
                    self.add(name, own, count);
                }
                return;
            }
            Value::Object(map) => {
                for (name, own) in map {
                    item.add(name, own, count);
                }
            }
            Value::String(text) => text.trim().clone_into(&mut item.text),
            Value::Number(number) => item.text = number.to_string(),
            Value::Bool(flag) => item.text = flag.to_string(),
            Value::Null => {}
        }
        self.children.push(item);
    }

    /// Returns the first child of a name.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|own| own.name == name)
    }

    /// Returns the children of some names.
    pub(super) fn all<'i>(&'i self, names: &'i [&str]) -> impl Iterator<Item = &'i Self> {
        let children = self.children.iter();
        children.filter(|own| names.contains(&own.name.as_str()))
    }

    /// Returns the text of the first leaf of a name in or below it.
    pub(super) fn leaf(&self, name: &str) -> Option<&str> {
        let own = self.get(name).map(|own| own.text.as_str());
        let own = own.filter(|text| !text.is_empty());
        own.or_else(|| self.children.iter().find_map(|child| child.leaf(name)))
    }
}
