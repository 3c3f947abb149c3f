//! Hubs.

use rtether_model::network::{Backoff, Hub, NodeKind};
use rtether_model::quantity::{BitRate, Duration};

use super::{Plant, check_name};
use crate::codes;
use crate::diagnostic::{Diagnostic, Span, quote};
use crate::keys::table::{BACKOFF, HUB};
use crate::reader::{Fields, Reader, bits_per_second};
use crate::units::Quantity;

/// Rates at which half duplex is modeled; others would need carrier extension, or have no half
/// duplex.
const HALF_DUPLEX_MBPS: [u64; 2] = [10, 100];

/// Reads `hubs:`.
pub(crate) fn hubs(reader: &mut Reader<'_>, top: &Fields<'_>, plant: &mut Plant) {
    let errors = reader.sink.errors();
    let entries = reader.named(top, "hubs");
    reader.names_are_missing |= reader.sink.errors() > errors;
    for entry in entries {
        check_name(reader, "hub", &entry.key, entry.key_span, &[':', '*']);
        let owner = format!("hub {}", quote(&entry.key));
        let fields = reader.fields(&entry.value, &HUB, owner, entry.key_span);
        // A hub with mistakes still has a name and ports that links may use.
        let hub = fields.and_then(|fields| hub(reader, &fields));
        let hub = hub.unwrap_or(Hub {
            rate: BitRate::from_mbps(10),
            delay: Duration::ZERO,
            backoff: Backoff::Standard,
            ports: 1024,
        });
        plant.add_node(reader, &entry.key, entry.key_span, NodeKind::Hub(hub));
    }
    plant.hubs_are_broken = reader.sink.errors() > errors;
}

fn hub(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Hub> {
    let given = reader.require(fields, "ports") & reader.require(fields, "rate");
    let ports = reader.count(fields, "ports");
    let rate = reader.quantity(fields, "rate", Quantity::BitRate);
    let rate = rate.and_then(|rate| {
        let value = bits_per_second(rate.value);
        runs_half_duplex(reader, value, rate.span, &fields.owner).then_some(value)
    });
    let second = Duration::from_secs(1);
    let delay = reader.time_up_to(fields, "delay", second, "of a hub");
    let backoff = reader.meaning(fields, &BACKOFF);
    given.then_some(())?;
    Some(Hub {
        rate: rate?,
        delay: delay.unwrap_or(Duration::ZERO),
        backoff,
        ports: u16::try_from(ports?.value).ok()?,
    })
}

/// Reports a rate without half duplex. Returns whether half duplex is possible.
pub(super) fn runs_half_duplex(
    reader: &mut Reader<'_>,
    rate: BitRate,
    span: Span,
    owner: &str,
) -> bool {
    let known = HALF_DUPLEX_MBPS.map(BitRate::from_mbps);
    if known.contains(&rate) {
        return true;
    }
    let title = format!("{owner} cannot run at {rate} half duplex");
    let label = "half duplex is for 10 and 100 Mbit/s";
    reader.report(
        Diagnostic::new(&codes::HALF_DUPLEX_RATE, title, span, label)
            .help("write `rate: 100 Mbit/s`, or use a switch and full duplex"),
    );
    false
}
