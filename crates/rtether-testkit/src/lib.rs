//! What tests of several crates share: random numbers, folders, programs that they run, the traffic
//! of a plant, and how a test says that it cannot run.
//!
//! Plants are built by `Network::add` and `Network::join` of the model. The crate uses nothing of
//! ours, so that what is tested and what it is compared with share no more than their [`Dice`].
//!
//! # Modules
//!
//! What tests share: `Dice`, random numbers; `Run` and `Ended`, programs that a test runs and what
//! it expects of them; `Machine`, one with another kernel; `Folder`, a folder of its own; `skip`, how
//! it says that it cannot run here; `follows_schema` and `read_document`, results against their
//! schemas.
//!
//! **Invariant:** no crate is built with it except for its tests.

#![allow(clippy::missing_panics_doc, reason = "whatever is not as a test needs it ends the test")]

mod bay;
mod dice;
mod folder;
mod host;
mod machine;
mod program;
mod schema;

pub use bay::{Arrival, BAY, Bay, Does, Fault, STRANGER};
pub use dice::Dice;
pub use folder::Folder;
pub use host::{is_root, namespaces, processor_time, skip};
pub use machine::{Machine, kernel};
pub use program::{
    Ended, Finish, Run, c_library, example, handles_signals, repeated, signal, signal_group,
    until_says, wait_for,
};
pub use schema::{follows_schema, read_document};
