//! Publications with send callbacks, immediate and pulled subscriptions, and notices to the
//! application, in virtual time.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod discovery;
mod publications;
mod queues;
mod subscriptions;
mod world;
