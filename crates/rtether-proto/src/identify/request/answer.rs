//! What a device answered.

use alloc::string::String;

use thiserror::Error;

/// Most characters of a text from a device.
pub const TEXT_MAX: usize = 120;

/// A message that answers a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The bits of the packet's name that the protocol carries; its `TOKEN` says which.
    pub token: u32,
    /// Octets of the message.
    pub octets: usize,
    /// What it says.
    pub outcome: Outcome,
}

/// A channel of OPC UA, as the device has opened it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Channel {
    /// Its number.
    pub id: u32,
    /// The number of its token.
    pub token: u32,
}

/// What an answer says. Each is an answer, and takes the device time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// What was asked for.
    Done,
    /// Not what was asked for: an exception, an error or a status of the protocol.
    Refused(u32),
    /// What the device says of itself: at most [`TEXT_MAX`] characters of ASCII without control
    /// characters; others are question marks.
    Identity(String),
    /// The handle of a session.
    Session(u32),
    /// A channel that was opened.
    Channel(Channel),
}

/// Why octets are no answer to a request of this module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Malformed {
    /// They end before what they contain does.
    #[error("the message ends too early")]
    Truncated,
    /// Others follow.
    #[error("octets follow the end of the message")]
    Trailing,
    /// A claimed length is above what an answer has.
    #[error("the message claims {octets} octets, but at most {max} are accepted")]
    TooLong {
        /// The claimed octets.
        octets: usize,
        /// The most octets.
        max: usize,
    },
    /// A field does not have a value that answers have.
    #[error("the {0} is not that of an answer")]
    Unexpected(&'static str),
}

/// Appends what a device says to a text, behind a space.
pub(super) fn append(text: &mut String, octets: &[u8]) {
    if !text.is_empty() && text.len() < TEXT_MAX {
        text.push(' ');
    }
    let visible = octets.iter().filter(|octet| !octet.is_ascii_control());
    let visible = visible.map(|&octet| if octet.is_ascii() { char::from(octet) } else { '?' });
    text.extend(visible.take(TEXT_MAX - text.len()));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: by hand.
    #[test]
    fn texts_are_short_and_visible() {
        let mut text = String::new();
        append(&mut text, b"a\x1b[31m\0\xff\x7f");
        append(&mut text, b"b\n");
        assert_eq!(text, "a[31m? b");
        append(&mut text, &[b'c'; 255]);
        append(&mut text, b"d");
        assert!(text.len() == TEXT_MAX && text.ends_with('c'));
    }
}
