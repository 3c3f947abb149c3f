//! A path with selectors as the paths of single values: `flows[class=bulk].pcp` is `flows.a.pcp` and
//! `flows.b.pcp`.

use super::overrides;
use super::selector::Selector;
use super::tree::{Data, Value};

/// Returns the path of each value that a path means; the path itself without a selector, and none
/// where nothing meets one.
pub(super) fn single(root: &Value, path: &str) -> Vec<String> {
    let brackets = path.match_indices('[');
    let mut selectors =
        brackets.filter_map(|(at, _)| Some((at, Selector::parse(&path[at + 1..])?)));
    let Some((at, selector)) = selectors.next() else {
        return vec![path.to_owned()];
    };
    let Some(collection) = overrides::find(root, &path[..at]) else {
        return Vec::new();
    };
    let rest = &path[at + 1 + selector.length..];
    elements(collection)
        .filter(|(_, key, element)| selector.selects(*key, element))
        .flat_map(|(name, _, _)| single(root, &format!("{}.{name}{rest}", &path[..at])))
        .collect()
}

/// Returns the elements of a collection: what a path calls each, and its key in a map.
fn elements(collection: &Value) -> Box<dyn Iterator<Item = (String, Option<&str>, &Value)> + '_> {
    match &collection.data {
        Data::Null | Data::Scalar(_) => Box::new(std::iter::empty()),
        Data::Map(entries) => Box::new(
            entries.iter().map(|own| (own.key.clone(), Some(own.key.as_str()), &own.value)),
        ),
        Data::List(items) => Box::new(items.iter().enumerate().map(|(number, item)| {
            let name = item.name().map_or_else(|| number.to_string(), str::to_owned);
            (name, None, item)
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Sink;
    use crate::tree;

    /// Oracle: by eye.
    #[test]
    fn a_selector_is_the_paths_of_what_it_means() {
        let text = "switches: { sw.1: { queues: 2 }, sw.2: { queues: 4 } }\n\
            links: [{ rate: 1 }, { rate: 2 }]\n\
            flows: [{ name: a, class: x }, { name: b.c, class: y }, { name: d, class: x }]\n";
        let root = tree::parse(0, text, &mut Sink::default()).expect("YAML");
        for (path, paths) in [
            ("flows[class=x].pcp", "flows.a.pcp flows.d.pcp"),
            ("flows[name=b*][class=y].pcp", "flows.b.c.pcp"),
            ("switches[*].queues", "switches.sw.1.queues switches.sw.2.queues"),
            ("links[rate=2].length", "links.1.length"),
            ("links[1].length", "links[1].length"),
            ("flows[class=z].pcp", ""),
            ("nodes[*].stack", ""),
        ] {
            assert_eq!(single(&root, path).join(" "), paths);
        }
    }
}
