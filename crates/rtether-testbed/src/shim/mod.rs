//! The end-node layer on a real interface: configuration, and a running shim.
//!
//! [`service::run`] sets a shim up, answers requests ([`control`]), and takes it down. If its
//! process dies, the [`watchdog`] process restores the device; [`down`](down::down) also does so,
//! for anything left behind.

mod backend;
pub mod config;
pub mod control;
pub mod down;
pub mod notify;
pub mod output;
pub mod runtime_files;
pub mod service;
pub mod state;
pub mod watchdog;

pub(crate) use backend::PlanJson;
pub use backend::Shim as AnyShim;
pub use backend::{Commands, is_wrong_input, prepare};
pub(crate) use output::{ShimJson, StatusJson};
pub use rtether_live::shim::{Backend, Direction, Refusal, Settings, ShimError, Status};
