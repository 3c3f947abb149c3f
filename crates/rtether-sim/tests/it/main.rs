//! Integration tests of the simulator: worked arithmetic, properties, determinism.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod access;
mod adaptive;
mod admission;
mod arp;
mod blame;
mod bursts;
mod closed_forms;
mod deadlines;
mod delays;
mod discovery;
mod emulation;
mod files;
mod fragments;
mod golden;
mod hub;
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
mod spacing;
mod support;
