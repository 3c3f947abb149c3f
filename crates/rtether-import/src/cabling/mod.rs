//! Who is cabled to whom, where the plant's own file does not say it: a list of links as CSV, or
//! the neighbors that a switch has heard by LLDP, as `lldpcli -f json` prints them.

mod csv;
mod lldp;

use std::collections::BTreeMap;

use crate::error::ImportError;
use crate::{File, check_size, text};

/// Most links.
const MAX_LINKS: usize = 20_000;
/// Longest name of a node or port.
const LONGEST: usize = 200;

/// Links between nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cabling {
    links: Vec<Cable>,
}

/// A link, and where it is stated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cable {
    /// Node and port at each end; a port without a name is empty.
    pub(crate) ends: [(String, String); 2],
    /// Rate in megabits per second.
    pub(crate) megabits: Option<u64>,
    /// File, and line if there is one.
    pub(crate) source: String,
}

impl Cabling {
    /// Reads files of links. A file of LLDP is that of the host whose name it has.
    ///
    /// # Errors
    ///
    /// If one is neither a list of links nor neighbors by LLDP, or has none.
    pub fn read(files: &[File<'_>]) -> Result<Self, ImportError> {
        let mut all = Vec::new();
        for file in files {
            check_size(file)?;
            let text = text::decode(file.octets).map_err(|wrong| {
                ImportError::new(file.name, wrong.line, wrong.what, "save it as UTF-8")
            })?;
            let found = if is_lldp(&text) {
                lldp::read(file.name, &text)?
            } else {
                csv::read(file.name, &text)?
            };
            if found.is_empty() {
                let what = "it has no links".to_owned();
                return Err(ImportError::new(file.name, None, what, "give those of a switch"));
            }
            all.extend(found);
            if all.len() > MAX_LINKS {
                let what = format!("there are more than {MAX_LINKS} links");
                return Err(ImportError::new(file.name, None, what, "give a part of them"));
            }
        }
        Ok(Self { links: once(all) })
    }

    pub(crate) fn links(&self) -> &[Cable] {
        &self.links
    }

    /// Returns the same links between nodes that are called otherwise.
    pub(crate) fn renamed(&self, name: impl Fn(&str) -> String) -> Self {
        let links = self.links.iter().map(|cable| Cable {
            ends: cable.ends.clone().map(|(node, port)| (name(&node), port)),
            ..cable.clone()
        });
        Self { links: once(links.collect()) }
    }

    /// Returns the nodes with the number of their links.
    pub(crate) fn degrees(&self) -> BTreeMap<&str, usize> {
        let mut degrees = BTreeMap::new();
        for (node, _) in self.links.iter().flat_map(|cable| &cable.ends) {
            *degrees.entry(node.as_str()).or_default() += 1;
        }
        degrees
    }
}

/// Returns whether a text looks like neighbors by LLDP.
pub(crate) fn is_lldp(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

/// Takes each link once: two hosts may both have seen it. A port without a name is whichever of
/// the other's links is left.
fn once(all: Vec<Cable>) -> Vec<Cable> {
    let mut kept: Vec<Cable> = Vec::new();
    let mut known: BTreeMap<[String; 2], Vec<usize>> = BTreeMap::new();
    for cable in all {
        let mut nodes = cable.ends.clone().map(|(node, _)| node);
        nodes.sort();
        let same = known.entry(nodes).or_default();
        let mut found = same.iter().copied();
        let again = found.find(|&number| kept.get(number).is_some_and(|own| is_same(own, &cable)));
        if let Some(own) = again.and_then(|number| kept.get_mut(number)) {
            own.megabits = own.megabits.or(cable.megabits);
        } else {
            same.push(kept.len());
            kept.push(cable);
        }
    }
    kept
}

/// Returns whether two links between the same nodes may be one.
fn is_same(one: &Cable, other: &Cable) -> bool {
    let [a, b] = &other.ends;
    let other = if one.ends[0].0 == a.0 { [a, b] } else { [b, a] };
    let mut ends = one.ends.iter().zip(other);
    ends.all(|((_, port), (_, again))| port == again || port.is_empty() || again.is_empty())
}
