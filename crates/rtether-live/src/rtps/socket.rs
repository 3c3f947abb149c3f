//! What the sockets of all transports have in common.

use std::io;

use rustix::event::{PollFd, poll};

/// Socket from which to receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The unicast socket.
    Own,
    /// The multicast socket, if separate.
    Group,
}

/// What there is to receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ready {
    /// At [`Source::Own`].
    pub(super) own: bool,
    /// At [`Source::Group`].
    pub(super) group: bool,
}

impl Ready {
    /// There may be something anywhere.
    pub(super) const PERHAPS: Self = Self {
        own: true,
        group: true,
    };

    /// Returns the sources to look at.
    pub(super) fn sources(self) -> impl Iterator<Item = Source> {
        let all = [(self.own, Source::Own), (self.group, Source::Group)];
        all.into_iter()
            .filter(|(is, _)| *is)
            .map(|(_, source)| source)
    }
}

/// Sleeps until one of them is readable or a signal arrives: the unicast socket, others, and the
/// alarm.
pub(super) fn sleep(sockets: &mut [PollFd<'_>]) -> io::Result<Ready> {
    match poll(sockets, None) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => {
            return Ok(Ready {
                own: false,
                group: false,
            });
        }
        Err(error) => return Err(error.into()),
    }
    // An error is readable, too.
    let mut is_ready = sockets.iter().map(|socket| !socket.revents().is_empty());
    let own = is_ready.next().unwrap_or(false);
    let _alarm = is_ready.next_back();
    Ok(Ready {
        own,
        group: is_ready.any(|is| is),
    })
}
