//! What the sockets of all transports have in common.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::event::{PollFd, PollFlags, poll};

use super::alarm::Alarm;
use super::waker::Waker;

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
    /// On the error queue of the unicast socket.
    pub(super) error: bool,
}

impl Ready {
    /// There may be something anywhere.
    pub(super) const PERHAPS: Self = Self { own: true, group: true, error: false };

    /// Returns the sources to look at.
    pub(super) fn sources(self) -> impl Iterator<Item = Source> {
        let all = [(self.own, Source::Own), (self.group, Source::Group)];
        all.into_iter().filter(|(is, _)| *is).map(|(_, source)| source)
    }
}

/// Sockets besides the unicast one, alarm and waker.
const OTHERS: usize = 4;

/// Sleeps until one of them is readable or a signal arrives: the unicast socket, others, the alarm
/// and the waker, which then forgets.
pub(super) fn sleep<S: AsFd>(
    own: BorrowedFd<'_>,
    others: [Option<&S>; 2],
    alarm: &Alarm,
    waker: Option<&Waker>,
) -> io::Result<Ready> {
    let others = others.map(|other| other.map(AsFd::as_fd));
    let count = 1 + others.iter().flatten().count();
    let bells = [Some(alarm.as_fd()), waker.map(AsFd::as_fd)];
    let given = others.into_iter().chain(bells).flatten();
    let mut all: [PollFd<'_>; 1 + OTHERS] =
        std::array::from_fn(|_| PollFd::from_borrowed_fd(own, PollFlags::IN));
    let mut last = 0;
    for (place, fd) in all.iter_mut().skip(1).zip(given) {
        *place = PollFd::from_borrowed_fd(fd, PollFlags::IN);
        last += 1;
    }
    let sockets = all.get_mut(..=last).unwrap_or_default();
    match poll(sockets, None) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => {
            return Ok(Ready { own: false, group: false, error: false });
        }
        Err(error) => return Err(error.into()),
    }
    // An error is readable, too.
    let is_ready = |socket: &PollFd<'_>| !socket.revents().is_empty();
    if let Some(waker) = waker
        && sockets.last().is_some_and(is_ready)
    {
        waker.rest();
    }
    let own = sockets.first();
    let error = own.is_some_and(|own| own.revents().contains(PollFlags::ERR));
    let mut sockets = sockets.iter().take(count);
    Ok(Ready { own: sockets.next().is_some_and(is_ready), group: sockets.any(is_ready), error })
}
