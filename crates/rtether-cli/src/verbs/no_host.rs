//! Stands in for `host` where there is no Linux: no verbs, and `check` without measurements.

#![allow(
    clippy::unnecessary_wraps,
    clippy::unused_self,
    reason = "the signatures are those of Linux"
)]

use std::path::Path;

use clap::{Args, Subcommand};
use rtether::measured::Evidence;
use rtether::scenario::Scenario;

use crate::drafts::Draft;
use crate::exit::Exit;
use crate::progress::Pace;

/// None.
#[derive(Debug, Subcommand)]
pub(crate) enum HostVerb {}

/// None.
pub(crate) const HANDLES_SIGNALS: &[&str] = &[];

impl HostVerb {
    pub(crate) const fn run(&self) -> Exit {
        match *self {}
    }

    pub(crate) const fn handles_signals(&self) -> bool {
        match *self {}
    }
}

/// Arguments of `check` for measurements: none.
#[derive(Args, Clone, Debug)]
pub(crate) struct CheckLive {}

impl CheckLive {
    pub(crate) const fn is_asked(&self) -> bool {
        false
    }

    pub(crate) const fn packets(&self) -> Option<&Path> {
        None
    }
}

/// No test bed.
#[derive(Default)]
pub(crate) struct TestBed;

/// No measurements.
#[derive(Default)]
pub(crate) struct Measured {
    pub(crate) evidence: Evidence,
    pub(crate) unwritten: Option<String>,
}

impl TestBed {
    pub(crate) const fn plan(_: &CheckLive, _: &Scenario, _: bool) -> Result<Self, Exit> {
        Ok(Self)
    }

    pub(crate) fn measure(self, _: &Scenario, _: Option<Draft>, _: Pace) -> Result<Measured, Exit> {
        Ok(Measured::default())
    }
}

pub(crate) const fn is_output_closed() -> bool {
    false
}
