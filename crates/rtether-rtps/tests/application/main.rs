//! Publications with send callbacks, subscriptions that call back or are pulled, and all that an
//! application may be told, in virtual time.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod discovery;
mod publications;
mod queues;
mod subscriptions;
mod world;
