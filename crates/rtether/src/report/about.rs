//! What reports say of a stream besides its figures and its verdict. Each text is listed here, and
//! every report shows it in its own way.

use super::checked::{Checked, Stream};

/// Returns a text about a stream; empty if there is nothing to say.
type Text = fn(&Checked, &Stream<'_>) -> String;

/// Texts beside the name of a stream: on a page below it, in a table in a column with this title and
/// this rank on a narrow terminal, where the lowest is dropped first.
pub(crate) const BESIDE: [(&str, u8, Text); 2] =
    [("talker > listener", 3, path), ("description", 1, description)];

fn description(_: &Checked, stream: &Stream<'_>) -> String {
    stream.flow.description.clone()
}

/// Returns `talker > listener`, unless the stream is named so.
fn path(checked: &Checked, stream: &Stream<'_>) -> String {
    let path = checked.path_name(stream);
    if path == checked.stream_name(stream) { String::new() } else { path }
}

impl Checked {
    /// Returns the texts to show beside the name of a stream.
    pub fn notes(&self, stream: &Stream<'_>) -> Vec<String> {
        let texts = BESIDE.iter().map(|(_, _, text)| text(self, stream));
        texts.filter(|text| !text.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::check::{Options, check};
    use crate::report::format::{Format, Render};
    use crate::report::table::Screen;
    use crate::report::{Verdicts, html, json};
    use crate::scenario;

    /// Oracle: the text of the file.
    #[test]
    fn a_description_is_shown_where_there_is_room() {
        let text = "rtether: 1\n\
            nodes: { a: { stack: zero }, b: { stack: zero } }\n\
            links: [{ ends: [a, b], rate: 100 Mbit/s }]\n\
            run: { for: 10 ms }\n\
            flows:\n\
            - { name: x, from: a, to: b, period: 2 ms, size: 64 B, description: opens <valve> 2 }\n";
        let plant = scenario::load("test.yaml", text).scenario.expect("valid");
        let checked = check(&plant, Options::default()).expect("a result");
        let document = json::document(&checked, json::Options::default());
        assert_eq!(document["flows"][0]["description"], "opens <valve> 2");
        assert!(html::render(&checked).contains("<small>opens &lt;valve&gt; 2</small>"));
        let verdicts = Verdicts::from(&checked);
        let markdown = verdicts.render(Format::Md, Screen::default());
        assert!(markdown.contains("| a > b | opens &lt;valve> 2 |"));
        let shown = |width| {
            let width = Some(width);
            let screen = Screen { width, ..Screen::default() };
            let table = verdicts.render(Format::Table, screen);
            (table.contains("a > b"), table.contains("opens <valve> 2"))
        };
        assert_eq!((shown(200), shown(100)), ((true, true), (true, false)));
    }
}
