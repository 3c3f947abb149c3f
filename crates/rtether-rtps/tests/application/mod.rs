//! Publications with send callbacks, immediate and pulled subscriptions, and notices to the
//! application, in virtual time.

mod discovery;
mod publications;
mod queues;
mod subscriptions;
mod world;
