//! What a device costs, asked from outside: the prober and its estimates.
//!
//! [`Prober`] has the schedule and matches answers. It knows neither clock nor socket nor protocol:
//!
//! 1. [`Prober::poll`] returns a packet to send, a time to wait for, or the end.
//! 2. The host makes the packet in some protocol whose [`Sizes`] it has named, such as those of
//!    [`request`], sends it, and reports when that was ([`Prober::sent`]) and when the answer came
//!    ([`Prober::answered`]), with the octets of both frames as they were.
//! 3. [`Prober::observations`] has the measured times, from which figures follow: [`Costs`] and
//!    [`Cycle`], with load [`Load`]. Each has an interval, or a reason why it is not known
//!    ([`Unidentified`]).
//!
//! [`Prober::quiet`] has one request outstanding and sends at most ten in any second. It stops after
//! three losses, or if the device becomes slower. [`Prober::load`] sends bursts that double until a
//! request is lost, and then only what the device has shown to hold.
//!
//! [`Misfit`] names what a device does that the model does not have; then no figure describes it.
//!
//! [`Confirmation`] holds a series of a size that no estimate has used ([`Sizes::unused`]) against
//! what the costs predict.
//!
//! A scan hides the costs of a device from requests that its application answers; requests that its
//! stack answers (echo, closed ports) show them.

mod agenda;
mod confirm;
mod cost;
mod cycle;
mod figure;
mod line;
mod load;
mod misfit;
mod order;
mod path;
mod periodogram;
mod prober;
mod quantile;
mod replay;
pub mod request;
mod sizes;
mod volley;

pub use agenda::Pace;
pub use confirm::{Compared, Confirmation};
pub use cost::Costs;
pub use cycle::Cycle;
pub use figure::{Figure, Unidentified};
pub use load::Load;
pub use misfit::{Misfit, MisfitKind};
pub use order::Order;
pub use path::Path;
pub use prober::{Ask, Counters, End, Packet, Prober};
pub use quantile::Quantile;
pub use sizes::{Exchange, Sizes, Span};
pub use volley::{Observation, Sent, Volley};

#[cfg(test)]
mod tests;
