//! The end-node layer on a real device, invisible to the stack above it.

mod error;
mod handle;
pub mod kernel;
mod place;
#[expect(
    dead_code,
    reason = "for the back end in user space, which is on its way"
)]
mod settings;
mod status;

pub use error::ShimError;
pub use handle::Handle;
pub use settings::{Backend, Refusal, Settings, Signal, Tags};
pub use status::{
    Direction, Directions, Drops, QueueStatus, SmootherStatus, Status, Traffic, Waited,
};
