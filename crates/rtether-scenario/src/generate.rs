//! Generators of whole plants.

use super::diagnostic::Span;
use super::keys::table::GENERATE;
use super::lower::Plant;
use super::plan::RunPlan;
use super::reader::{Fields, Reader};

mod substation;

/// A generator whose nodes exist and whose flows are still to be made.
pub(super) struct Pending {
    substation: substation::Parameters,
    span: Span,
}

/// Makes nodes and links.
pub(super) fn nodes(
    reader: &mut Reader<'_>,
    top: &Fields<'_>,
    plant: &mut Plant,
) -> Option<Pending> {
    let fields = reader.one(top, "generate", &GENERATE)?;
    let span = fields.key_span("substation")?;
    let errors = reader.sink.errors();
    let substation = substation::parameters(reader, &fields)?;
    substation::nodes(reader, plant, &substation, span);
    if reader.sink.errors() > errors {
        // Other names may be missing now; checking flows would only repeat this mistake.
        plant.names_are_missing = true;
        return None;
    }
    Some(Pending { substation, span })
}

/// Makes the generated flows, after those written out in the file.
pub(super) fn flows(reader: &mut Reader<'_>, plant: &mut Plant, pending: &Pending, run: &RunPlan) {
    substation::flows(reader, plant, &pending.substation, pending.span, run);
}
