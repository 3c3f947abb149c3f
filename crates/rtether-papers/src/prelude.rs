//! What every experiment uses.

pub(crate) use rtether::report::chart::{Axis, Style};
pub(crate) use rtether::run::Progress;
pub(crate) use rtether::scenario::Scenario;
pub(crate) use rtether_model::quantity::{BitRate, Bytes, Duration};

pub(crate) use crate::ReproduceError;
pub(crate) use crate::observe::{count_f64, extremes, listed, ratio};
pub(crate) use crate::page::{Outcome, Page, column, curve};
pub(crate) use crate::reference::{self, Value};
