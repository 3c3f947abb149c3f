//! What an import has written, for tests.

use rtether_import::Plan;

/// Returns the lines of a plan without comments and the space around them.
pub(crate) fn lines(plan: &Plan) -> Vec<&str> {
    let lines = plan.scenario.lines();
    let lines = lines.map(|line| line.split(" #").next().unwrap_or_default().trim());
    lines.collect()
}

/// Returns the lines of a flow.
pub(crate) fn flow<'p>(lines: &[&'p str], name: &str) -> Vec<&'p str> {
    let head = format!("- name: {name}");
    let begin = lines.iter().position(|line| *line == head);
    let begin = begin.unwrap_or_else(|| panic!("{name}: {lines:#?}")) + 1;
    let rest = lines.get(begin..).unwrap_or_default().iter();
    let own = rest.take_while(|line| !line.is_empty() && !line.starts_with('-'));
    own.copied().collect()
}
