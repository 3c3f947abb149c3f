//! Tests of the public API: scenario in, verdict out; and of engines against each other.
//! Each file, or folder, is a module; `cargo test -p rtether --test it NAME::` runs one.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]
#![allow(clippy::print_stdout, reason = "figures, and what repeats a failure")]

mod adversary;
mod against;
mod answers;
mod assumed;
mod blame;
mod bounds;
mod capture;
mod compare;
mod conditions;
mod confidence;
mod designed;
mod export;
mod export_inet;
mod export_tc;
mod fail;
mod field;
mod fingerprints;
mod fix;
mod idle_rules;
mod import;
mod import_loads;
mod interrupt;
mod judged;
mod limit;
mod limit_hub;
mod meter;
mod plants;
mod profiles;
mod public;
#[path = "../../../validation/bounds.rs"]
mod published_bounds;
#[path = "../../../validation/routes.rs"]
mod published_routes;
mod readers;
mod report;
mod roundtrip;
mod screenshot;
mod stages;
mod statistical;
mod sums;
mod switches;
mod tightened;
mod verdict;
mod watch;
mod watched;
