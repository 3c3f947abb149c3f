//! What reports say of a stream besides its figures and its verdict. Each text is listed here, and
//! every report shows it in its own way.

use super::checked::{Checked, Stream};

/// Returns a text about a stream; empty if there is nothing to say.
type Text = fn(&Checked, &Stream<'_>) -> String;

/// Members of a flow in JSON, with their meaning for the page on the format.
pub const MEMBERS: [(&str, &str, Text); 4] = [
    ("name", "name of the flow", |_, stream| {
        stream.flow.name.clone()
    }),
    ("class", "its class; empty if it has none", |_, stream| {
        stream.flow.class.clone()
    }),
    ("talker", "end station that sends", |checked, stream| {
        checked.node_name(stream.flow.talker).to_owned()
    }),
    (
        "listener",
        "end station that receives",
        |checked, stream| checked.node_name(stream.record.listener_id()).to_owned(),
    ),
];

/// Texts beside the name of a stream: on a page below it, in a table in a column with this title and
/// this rank on a narrow terminal, where the lowest is dropped first.
pub(crate) const BESIDE: [(&str, u8, Text); 1] = [("talker > listener", 3, path)];

/// Returns `talker > listener`, unless the stream is named so.
fn path(checked: &Checked, stream: &Stream<'_>) -> String {
    let path = checked.path_name(stream);
    if path == checked.stream_name(stream) {
        String::new()
    } else {
        path
    }
}

impl Checked {
    /// Returns the texts to show beside the name of a stream.
    pub fn notes(&self, stream: &Stream<'_>) -> Vec<String> {
        let texts = BESIDE.iter().map(|(_, _, text)| text(self, stream));
        texts.filter(|text| !text.is_empty()).collect()
    }
}
