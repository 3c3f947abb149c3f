//! All documents of this crate, with their schemas.

use rtether::documents::Described;

use crate::{calibrate, doctor, echo, identify, load, shim, testbed, topics};

/// Every kind of document, by name.
pub const ALL: &[Described] = &[
    Described::of::<calibrate::CalibrateJson<'_>>(),
    Described::of::<doctor::Report>(),
    Described::of::<echo::EchoJson>(),
    Described::of::<identify::IdentifyJson<'_>>(),
    Described::of::<identify::ListingJson<'_>>(),
    Described::of::<testbed::LiveJson<'_>>(),
    Described::of::<load::LoadJson<'_>>(),
    Described::of::<shim::ShimJson<'_>>(),
    Described::of::<shim::PlanJson<'_>>(),
    Described::of::<shim::state::State>(),
    Described::of::<topics::SpyJson<'_>>(),
    Described::of::<topics::TopicJson<'_>>(),
];
