//! The end-node layer in front of a real interface: its configuration, and a shim at work.
//!
//! [`service::run`] sets a shim up, answers what others ask ([`control`]), and takes it down. If its
//! process dies, the one of [`watchdog`] restores the device; [`down`](down::down) does so too, for
//! whatever was left.

mod backend;
pub mod config;
pub mod control;
pub mod down;
pub mod notify;
pub mod output;
pub mod place;
pub mod service;
pub mod state;
pub mod watchdog;

pub(crate) use backend::Shim as AnyShim;
pub use backend::{Commands, is_wrong_input, prepare};
pub use rtether_live::shim::{Backend, Direction, Refusal, Settings, ShimError, Status};
