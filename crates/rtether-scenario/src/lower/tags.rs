//! Priorities, VLANs, and the queues of priorities.

use rtether_model::network::{Pcp, QueueMap, Vid};

use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::help::Help;
use crate::reader::{Fields, Reader};

pub(super) fn pcp(reader: &mut Reader<'_>, fields: &Fields<'_>, key: &str) -> Option<Pcp> {
    let count = reader.count(fields, key)?.value;
    Pcp::new(u8::try_from(count).ok()?)
}

pub(super) fn vid(reader: &mut Reader<'_>, fields: &Fields<'_>, key: &str) -> Option<Vid> {
    let count = reader.count(fields, key)?.value;
    Vid::new(u16::try_from(count).ok()?)
}

/// Reads `queues` and `pcp_map`.
pub(super) fn queues(reader: &mut Reader<'_>, fields: &Fields<'_>, otherwise: u64) -> QueueMap {
    let count = reader.count(fields, "queues").map_or(otherwise, |count| count.value);
    let count = u8::try_from(count).unwrap_or(1);
    let standard = QueueMap::standard(count).expect("the table limits queues to 1..8");
    let Some(entry) = fields.get("pcp_map") else {
        return standard;
    };
    let Some(map) = reader.counts(fields, "pcp_map", (0, u64::from(count) - 1)) else {
        return standard;
    };
    let map: Vec<u8> = map.iter().filter_map(|&q| u8::try_from(q).ok()).collect();
    let Ok(map) = <[u8; 8]>::try_from(map.as_slice()) else {
        let title = format!("`pcp_map` needs 8 queues, found {}", map.len());
        let label = "one for each priority 0 to 7";
        let usual = (0..8).filter_map(Pcp::new);
        let usual: Vec<String> = usual.map(|pcp| standard.queue_of(pcp).to_string()).collect();
        let help = Help::example(format!("pcp_map: [{}]", usual.join(", ")));
        let place = entry.value.span;
        reader.report(Diagnostic::new(&codes::VALUE_OUT_OF_RANGE, title, place, label).help(help));
        return standard;
    };
    QueueMap::new(count, map).unwrap_or(standard)
}
