//! Nothing: with a library, `cargo test --doc` counts what these commands depend on among what it needs.
//! Cargo then has the same builds of it as for the tests; without, it builds most of the workspace anew
//! for a handful of examples, since what both procedural macros and a program use has other flags if
//! only the macros are built (`lto = "off"` is not passed to those).
