//! Kinds of packets with a cost of their own in a task or a real-time stack.

use crate::visitor::Content;

/// What a packet carries, as far as its cost depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A message in one packet or fragment.
    Message,
    /// A data segment of a connection for messages: to the task a message, to the stack a segment.
    MessageSegment,
    /// A data segment of a bulk flow.
    Data,
    /// A TCP segment without data.
    Control,
    /// An RTPS datagram without a sample; tasks ignore it.
    Middleware,
}

impl From<Content> for Kind {
    fn from(content: Content) -> Self {
        match content {
            Content::Datagram => Self::Message,
            Content::Segment => Self::Data,
            Content::Acknowledgement => Self::Control,
        }
    }
}
