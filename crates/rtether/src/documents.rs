//! All documents of this crate, with their schemas.

pub use rtether_report::document::Described;

use crate::{
    against, bound, certificate, compare, design, diff, discovery, fail, fix, import, judge, limit,
    meter,
};
use crate::{profile, report, sweep, tightness, volume, watch, why};

/// Every kind of document, by name.
pub const ALL: &[Described] = &[
    Described::of::<bound::AdmitJson<'_>>(),
    Described::of::<against::AgainstJson<'_>>(),
    Described::of::<bound::Document<'_>>(),
    Described::of::<certificate::CertificateJson<'_>>(),
    Described::of::<compare::CompareJson<'_>>(),
    Described::of::<design::DesignJson<'_>>(),
    Described::of::<bound::DiameterJson<'_>>(),
    Described::of::<diff::DiffJson<'_>>(),
    Described::of::<discovery::DiscoveryJson<'_>>(),
    Described::of::<design::ExplainedJson<'_>>(),
    Described::of::<fail::FailuresJson<'_>>(),
    Described::of::<fix::FixJson<'_>>(),
    Described::of::<import::ImportJson<'_>>(),
    Described::of::<judge::JudgeJson<'_>>(),
    Described::of::<limit::LimitJson<'_>>(),
    Described::of::<meter::PingJson<'_>>(),
    Described::of::<sweep::PointJson<'_>>(),
    Described::of::<profile::ProfileJson<'_>>(),
    Described::of::<profile::ProfileDiffJson<'_>>(),
    Described::of::<report::json::ResultJson<'_>>(),
    Described::of::<bound::SensitivityJson<'_>>(),
    Described::of::<sweep::SweepJson>(),
    Described::of::<tightness::TightnessJson<'_>>(),
    Described::of::<volume::VolumeJson>(),
    Described::of::<bound::WaitsJson<'_>>(),
    Described::of::<watch::WatchJson<'_>>(),
    Described::of::<bound::WhatIfJson<'_>>(),
    Described::of::<why::WhyJson<'_>>(),
];
