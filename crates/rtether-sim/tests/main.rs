//! Tests of the simulator.
//! Each file, or folder, is a module; `cargo test -p rtether-sim --test it NAME::` runs one.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]
#![allow(clippy::print_stdout, reason = "figures, and what repeats a failure")]

mod access;
mod adaptive;
mod admission;
mod arp;
mod blame;
mod bursts;
mod capture;
mod closed_forms;
mod deadlines;
mod delays;
mod discovery;
mod emulation;
mod files;
mod fragments;
mod golden;
mod hub;
mod identify;
mod ingress;
mod layer;
mod messages;
mod mirror;
mod own;
mod publications;
mod random;
mod redundancy;
mod refusals;
mod router;
mod routes;
mod samples;
mod shaper;
#[path = "../../../validation/shared-medium.rs"]
mod shared_medium;
mod spacing;
mod support;
mod tcp;
