//! How another thread ends the sleep of the one that drives a participant.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{EventfdFlags, eventfd};

/// Ends the sleep of the thread that drives a [`Domain`](super::Domain): its current call of
/// [`Domain::step`](super::Domain::step), or else its next one, returns early.
///
/// It reaches only a thread that waits by [`Waiting::Block`](crate::wait::Waiting::Block).
#[derive(Clone, Debug)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    pub(super) fn new() -> io::Result<Self> {
        let flags = EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC;
        Ok(Self(Arc::new(eventfd(0, flags)?)))
    }

    /// Wakes the thread; one call does for all that come before it has woken up.
    pub fn wake(&self) {
        // It fails only if it has been woken 2^64 - 2 times without noticing, and so is awake.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Forgets that it was woken.
    pub(super) fn rest(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::thread;
    use std::time::Duration as WallDuration;

    use rtether_rtps::time::Duration;

    use super::super::{Domain, DomainOptions};

    fn domain() -> Domain {
        Domain::open(&DomainOptions {
            domain: 231,
            interface: Some(Ipv4Addr::LOCALHOST),
            multicast: false,
            announce_period: Some(Duration::from_s(100)),
            lease: Duration::from_s(300),
            ..DomainOptions::default()
        })
        .unwrap()
    }

    /// Returns how long a step takes.
    fn sleeps(domain: &mut Domain, limit: Duration) -> Duration {
        let begun = domain.now();
        domain.step(begun + limit).unwrap();
        domain.now() - begun
    }

    /// Oracle: the clock.
    #[test]
    fn a_waker_ends_one_sleep_also_if_it_comes_first() {
        let mut domain = domain();
        let waker = domain.waker().unwrap();
        let long = Duration::from_s(20);
        for _ in 0..20 {
            sleeps(&mut domain, Duration::from_ms(10));
        }
        waker.wake();
        waker.clone().wake();
        assert!(sleeps(&mut domain, long) < Duration::from_s(10));
        // Both are forgotten.
        assert!(sleeps(&mut domain, Duration::from_ms(30)) >= Duration::from_ms(29));
        let other = domain.waker().unwrap();
        let thread = thread::spawn(move || {
            thread::sleep(WallDuration::from_millis(20));
            other.wake();
        });
        let slept = sleeps(&mut domain, long);
        thread.join().unwrap();
        assert!(slept > Duration::from_ms(10) && slept < Duration::from_s(10), "{slept:?}");
    }
}
