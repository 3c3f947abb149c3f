//! What is sent to a device and heard of it, with the frames around it.

use alloc::vec::Vec;

use rtether_model::quantity::Bytes;

use super::answer::Outcome;

/// A request to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The message.
    pub octets: Vec<u8>,
    /// Octets of the frame around it, from addresses to check sequence, without tag.
    pub frame: Bytes,
}

/// A message that answers a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// Bits of the packet's name and the mask that they are of; `None` if the answer tells of the
    /// latest packet only.
    pub token: Option<(u32, u32)>,
    /// Octets of the frame around it, as for [`Request::frame`].
    pub frame: Bytes,
    /// What it says.
    pub outcome: Outcome,
}
