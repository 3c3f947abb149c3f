//! First releases of flows, chosen among the times that a run might draw.

use std::collections::BTreeMap;

use rtether_model::quantity::Duration;

use super::Plant;
use super::links::head;
use crate::codes;
use crate::diagnostic::{Diagnostic, quote};
use crate::help::Help;
use crate::keys::table::RELEASES;
use crate::reader::{Fields, Reader, picoseconds};
use crate::suggest;

/// Reads `releases:`, once all flows and the manager of channels are known.
pub(crate) fn releases(reader: &mut Reader<'_>, top: &Fields<'_>, plant: &mut Plant) {
    let items = reader.items(top, "releases");
    // Flows with mistakes are not there, and would only be missed.
    if items.is_empty() || reader.sink.errors() > 0 {
        return;
    }
    let names = plant.flows.iter().enumerate();
    let numbers: BTreeMap<String, usize> =
        names.map(|(number, flow)| (flow.name.clone(), number)).collect();
    let mut seen = BTreeMap::new();
    for item in items {
        let owner = "a line of `releases`".to_owned();
        let Some(fields) = reader.fields(item, &RELEASES, owner, head(item)) else {
            continue;
        };
        reader.require(&fields, "flow");
        reader.require(&fields, "at");
        let times = reader.values(&fields, "at");
        let (Some(flow), Some(times)) = (reader.scalar(&fields, "flow"), times) else {
            continue;
        };
        let Some(&number) = numbers.get(flow.value) else {
            let title = format!("no flow is named {}", quote(flow.value));
            let near = suggest::nearest_name(flow.value, numbers.keys().map(String::as_str));
            let help = near.map(Help::did_you_mean);
            let unknown = Diagnostic::new(&codes::BAD_RELEASES, title, flow.span, "");
            reader.report(unknown.help_if(help));
            continue;
        };
        if let Some(first) = seen.insert(number, flow.span) {
            let title = format!("{} has releases twice", quote(flow.value));
            let twice =
                Diagnostic::new(&codes::DUPLICATE_NAME, title, flow.span, "the second time");
            let help = "write all its times in one line";
            reader.report(twice.also(first, "the first time").help(help));
            continue;
        }
        let own = &mut plant.flows[number];
        own.releases = times.into_iter().map(picoseconds).collect::<Vec<Duration>>();
        if let Some(why) = plant.flows[number].obstacle_to_releases(&plant.network) {
            let title = format!("{} cannot be released at these times", quote(flow.value));
            let place = fields.get("at").map_or(flow.span, |entry| entry.value.span);
            let wrong = Diagnostic::new(&codes::BAD_RELEASES, title, place, why);
            let help = "choose times that a run might draw";
            reader.report(wrong.help(help));
        }
    }
}
