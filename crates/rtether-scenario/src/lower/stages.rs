//! Stages of the run.

use rtether_model::quantity::Duration;

use super::check_name;
use super::links::head;
use crate::codes;
use crate::diagnostic::{Diagnostic, Span, quote};
use crate::keys::table::STAGE;
use crate::plan::Stage;
use crate::reader::{Fields, Reader};

/// Most stages of a run; each has a record of every stream.
const MAX_STAGES: usize = 20;

/// Reads `stages:` of a run of this length; those that are wrong are reported and left out.
pub(super) fn stages(reader: &mut Reader<'_>, run: &Fields<'_>, length: Duration) -> Vec<Stage> {
    let items = reader.items(run, "stages");
    if items.len() > MAX_STAGES {
        let rule = format!("a list of at most {MAX_STAGES}");
        let found = items.len().to_string();
        let why = "each keeps figures of every flow";
        reader.out_of_range("stages", items[MAX_STAGES].span, &rule, &found, why);
        return Vec::new();
    }
    let mut stages: Vec<(Stage, Span)> = Vec::new();
    for item in items {
        let owner = "a stage".to_owned();
        let Some(fields) = reader.fields(item, &STAGE, owner, head(item)) else {
            continue;
        };
        reader.require(&fields, "name");
        reader.require(&fields, "from");
        let name = reader.scalar(&fields, "name");
        let from = reader.time(&fields, "from");
        let (Some(name), Some(from)) = (name, from) else {
            continue;
        };
        check_name(reader, "stage", name.value, name.span, &[]);
        if let Some((_, first)) = stages.iter().find(|(stage, _)| stage.name == name.value) {
            let title = format!("two stages are named {}", quote(name.value));
            let second =
                Diagnostic::new(&codes::DUPLICATE_NAME, title, name.span, "the second one");
            reader
                .report(second.also(*first, "the first one").help("give one of them another name"));
            continue;
        }
        let previous = stages.last().map(|(stage, _)| stage.from);
        if previous.is_some_and(|previous| from.value <= previous) || from.value >= length {
            let rule = "after the start of the stage before it, and before the end of the run";
            let found = from.value.to_string();
            reader.out_of_range("from", from.span, rule, &found, "a stage lasts until the next");
            continue;
        }
        let stage = Stage { name: name.value.to_owned(), from: from.value };
        stages.push((stage, name.span));
    }
    stages.into_iter().map(|(stage, _)| stage).collect()
}
