//! TCP transfers and connection parameters.

use rtether_model::flow::{Bulk, Bursts, TcpParameters, Traffic, Transfer};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::wire::Encapsulation;

use super::MAX_TRANSFERS;
use super::links::head;
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::help::Help;
use crate::keys::table::{BULK_TRANSFER, BURSTS, TCP};
use crate::plan::RunPlan;
use crate::reader::{Fields, Reader, bits_per_second};
use crate::units::Quantity;

/// Reads the transfers of a flow.
pub(super) fn bulk(reader: &mut Reader<'_>, fields: &Fields<'_>, run: &RunPlan) -> Option<Bulk> {
    let tcp = tcp(reader, fields);
    let rate = reader.quantity(fields, "rate", Quantity::BitRate);
    if let Some(rate) = rate.filter(|rate| rate.value < 1_000) {
        let found = bits_per_second(rate.value).to_string();
        let why = "of an application";
        reader.out_of_range("rate", rate.span, "at least 1 kbit/s", &found, why);
    }
    let mut bursts = None;
    let transfers = if fields.has("bursts") {
        for key in ["total", "every", "transfers"] {
            reader.conflict(fields, "bursts", key);
        }
        bursts = Some(read_bursts(reader, fields)?);
        Vec::new()
    } else if fields.has("transfers") {
        for key in ["start", "total", "every"] {
            reader.conflict(fields, "transfers", key);
        }
        listed(reader, fields)?
    } else {
        repeated(reader, fields, run)?
    };
    Some(Bulk { transfers, bursts, rate: rate.map(|rate| bits_per_second(rate.value)), tcp })
}

fn read_bursts(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Bursts> {
    let inner = reader.one(fields, "bursts", &BURSTS)?;
    reader.require(&inner, "size");
    let size = nonempty(reader, &inner, "size");
    let mean_gap = reader.positive_time(&inner, "mean_gap");
    Some(Bursts { size: size?, mean_gap: mean_gap.map(|gap| gap.value) })
}

fn listed(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Vec<Transfer>> {
    let mut list = Vec::new();
    for item in reader.items(fields, "transfers") {
        let owner = format!("a transfer of {}", fields.owner);
        let inner = reader.fields(item, &BULK_TRANSFER, owner, head(item))?;
        let given = reader.require(&inner, "at") & reader.require(&inner, "size");
        let start = reader.time(&inner, "at");
        let size = nonempty(reader, &inner, "size");
        if let (true, Some(start), Some(size)) = (given, start, size) {
            list.push(Transfer { start: start.value, size: Some(size) });
        }
    }
    if list.is_empty() {
        let place = fields.key_span("transfers").unwrap_or(fields.at);
        let title = format!("{} has no transfers", fields.owner);
        reader.report(
            Diagnostic::new(&codes::MISSING_KEY, title, place, "the list is empty")
                .help(Help::example("transfers: [{ at: 2 s, size: 1 MB }]")),
        );
    }
    list.sort_by_key(|transfer| transfer.start);
    Some(list)
}

fn nonempty(reader: &mut Reader<'_>, fields: &Fields<'_>, key: &str) -> Option<Bytes> {
    let size = reader.size(fields, key)?;
    if size.value == Bytes::ZERO {
        let why = "an empty transfer takes no time";
        reader.out_of_range(key, size.span, "at least 1 B", "0 B", why);
        return None;
    }
    Some(size.value)
}

fn repeated(reader: &mut Reader<'_>, fields: &Fields<'_>, run: &RunPlan) -> Option<Vec<Transfer>> {
    let start = reader.time(fields, "start");
    let start = start.map_or(Duration::ZERO, |time| time.value);
    let size = nonempty(reader, fields, "total");
    let once = vec![Transfer { start, size }];
    let Some(every) = reader.positive_time(fields, "every") else {
        return Some(once);
    };
    if !fields.has("total") {
        let title = format!("{} has no `total`", fields.owner);
        let label = "how much to send each time";
        reader.report(
            Diagnostic::new(&codes::MISSING_KEY, title, every.span, label)
                .help(Help::add("total: 1 MB")),
        );
        return None;
    }
    let stop = reader.time(fields, "stop").map_or(run.duration, |stop| stop.value);
    let end = stop.as_ps().min(run.duration.as_ps());
    let count = (end - start.as_ps()).max(0) / every.value.as_ps() + 1;
    if usize::try_from(count).is_ok_and(|count| count > MAX_TRANSFERS) || count > 1_000_000_000 {
        let found = every.value.to_string();
        let why = "more than a million transfers";
        let rule = "a larger part of the run";
        reader.out_of_range("every", every.span, rule, &found, why);
        return None;
    }
    let starts = (0..count).map(|n| start + every.value * n);
    let within = starts.filter(|&at| at == start || at.as_ps() < end);
    Some(within.map(|start| Transfer { start, size }).collect())
}

/// Reports a deadline for a transfer that only ends with the run.
pub(super) fn check_end(reader: &mut Reader<'_>, fields: &Fields<'_>, traffic: Option<&Traffic>) {
    let (Some(Traffic::Bulk(bulk)), Some(span)) = (traffic, fields.key_span("deadline")) else {
        return;
    };
    if bulk.transfers.iter().all(|transfer| transfer.size.is_some()) {
        return;
    }
    let title = format!("{} sends until the run ends, and has a deadline", fields.owner);
    let label = "of a file, from the time it is due to its last octet";
    reader.report(
        Diagnostic::new(&codes::MISSING_KEY, title, span, label)
            .help("add `total: 1 MB`, the size of the file")
            .help("add `transfers: [{ at: 2 s, size: 1 MB }]` for several"),
    );
}

/// Reads the TCP parameters of both ends.
pub(super) fn tcp(reader: &mut Reader<'_>, fields: &Fields<'_>) -> TcpParameters {
    let mut tcp = TcpParameters::default();
    let Some(inner) = reader.one(fields, "tcp", &TCP) else {
        return tcp;
    };
    let most = Encapsulation::Tcp.max_payload();
    if let Some(segment) = reader.size(&inner, "segment") {
        if segment.value == Bytes::ZERO || segment.value > most {
            let rule = format!("1 B to {most}");
            let found = segment.value.to_string();
            let why = "a frame carries 1500 B, 40 B of them headers";
            reader.out_of_range("segment", segment.span, &rule, &found, why);
        }
        tcp.segment = segment.value;
    }
    if let Some(window) = reader.size(&inner, "window") {
        let most = Bytes::new(1 << 30);
        if window.value < tcp.segment || window.value > most {
            let rule = format!("from one segment, {}, to 1 GiB", tcp.segment);
            let found = window.value.to_string();
            let why = "RFC 7323 scales windows to 1 GiB";
            reader.out_of_range("window", window.span, &rule, &found, why);
        }
        tcp.window = window.value;
    }
    if let Some(count) = reader.count(&inner, "initial_window") {
        tcp.initial_window = u32::try_from(count.value).unwrap_or(10);
    }
    if let Some(count) = reader.count(&inner, "ack_every") {
        tcp.ack_every = u32::try_from(count.value).unwrap_or(2);
    }
    for (key, slot, most) in [
        ("ack_delay", &mut tcp.ack_delay, Duration::from_secs(10)),
        ("min_rto", &mut tcp.min_rto, Duration::from_secs(60)),
    ] {
        if let Some(time) = reader.positive_time(&inner, key) {
            if time.value > most {
                let found = time.value.to_string();
                let rule = format!("at most {most}");
                reader.out_of_range(key, time.span, &rule, &found, "of a connection");
            }
            *slot = time.value;
        }
    }
    tcp
}
