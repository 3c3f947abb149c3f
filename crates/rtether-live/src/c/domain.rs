//! Domains (R150): made, stepped, stopped and destroyed.

use std::ffi::c_char;
use std::net::Ipv4Addr;
use std::sync::Arc;

use rtether_rtps::time::{Duration, Instant};

use super::event::{EventCall, EventFn};
use super::handle::{DomainHandle, destroy, now, on, put};
use super::memory::{Grows, User, init, read, span, text, texts};
use super::status::{Failure, Status, guard};
use super::table::{self, register};
use crate::rtps::{Domain, DomainError, DomainOptions};
use crate::wait::Waiting;

/// A span of time without an end, in nanoseconds.
pub const RTETHER_INFINITE: i64 = 9_223_372_036_854_775_807;

/// A thread that waits looks at least so often whether it is to stop.
const LOOK: Duration = Duration::from_ms(20);

/// What a domain is to be on this host.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// `sizeof(rtether_domain_options)`.
    pub size: usize,
    /// The domain, 0 to 232.
    pub domain: u32,
    /// A name for people, or NULL.
    pub name: *const c_char,
    /// The IPv4 address of this host whose network it talks to; what comes over another device is
    /// dropped. NULL for the first device that is up, and then datagrams may come over any.
    pub interface_address: *const c_char,
    /// IPv4 addresses of hosts that groups do not reach.
    pub peers: *const *const c_char,
    /// How many.
    pub peers_len: usize,
    /// Whether it announces itself to the group of the domain and listens there: 0 or 1.
    pub multicast: i32,
    /// Whether samples may go to a group, too: 0 or 1.
    pub multicast_data: i32,
    /// Whether a thread that waits keeps asking instead of sleeping, which takes a whole core and saves
    /// the wake-up: 0 or 1.
    pub spin: i32,
    /// How long others wait for its next announcement, in nanoseconds.
    pub lease_ns: i64,
    /// Octets of a datagram at most; samples that need more are sent in fragments.
    pub datagram_max: usize,
    /// Is told what happens besides samples; or NULL.
    pub on_event: EventFn,
    /// Is handed to it.
    pub user: *mut std::ffi::c_void,
}

// SAFETY: `repr(C)`, the size first, and all members are numbers or pointers that may be NULL.
unsafe impl Grows for Options {
    const FIRST: usize = size_of::<Self>();
}

const DEFAULTS: Options = Options {
    size: size_of::<Options>(),
    domain: 0,
    name: std::ptr::null(),
    interface_address: std::ptr::null(),
    peers: std::ptr::null(),
    peers_len: 0,
    multicast: 1,
    multicast_data: 0,
    spin: 0,
    lease_ns: 10_000_000_000,
    datagram_max: 1_472,
    on_event: None,
    user: std::ptr::null_mut(),
};

/// # Safety
/// As for `rtether_domain_create`.
unsafe fn options(
    given: *const Options,
) -> Result<(DomainOptions, Option<(EventCall, User)>), Failure> {
    if given.is_null() {
        return Ok((DomainOptions::default(), None));
    }
    // SAFETY: the caller's.
    let given = unsafe { read(given, DEFAULTS) }?;
    let domain = u16::try_from(given.domain);
    let unknown = |_| Failure::argument(format!("there is no domain {}", given.domain));
    let mut options = DomainOptions {
        domain: domain.map_err(unknown)?,
        multicast: truth(given.multicast, "multicast")?,
        multicast_data: truth(given.multicast_data, "multicast_data")?,
        lease: span(given.lease_ns, "lease_ns")?,
        datagram_max: given.datagram_max,
        ..DomainOptions::default()
    };
    if !(512..=65_507).contains(&given.datagram_max) {
        return Err(Failure::argument("datagram_max is 512 to 65507 octets"));
    }
    if truth(given.spin, "spin")? {
        options.waiting = Waiting::Spin;
    }
    if !given.name.is_null() {
        // SAFETY: the caller's.
        unsafe { text(given.name, "the name") }?.clone_into(&mut options.name);
    }
    if !given.interface_address.is_null() {
        // SAFETY: the caller's.
        let own = unsafe { text(given.interface_address, "interface_address") }?;
        options.interface = Some(address(own)?);
    }
    // SAFETY: the caller's.
    let peers = unsafe { texts(given.peers, given.peers_len, "peers") }?;
    let peers = peers.iter().map(|peer| address(peer));
    options.peers = peers.collect::<Result<_, _>>()?;
    Ok((options, given.on_event.map(|call| (call, given.user))))
}

fn truth(number: i32, name: &str) -> Result<bool, Failure> {
    super::memory::choice(number, name, &[(0, false), (1, true)])
}

fn address(text: &str) -> Result<Ipv4Addr, Failure> {
    let parsed = text.parse();
    parsed.map_err(|_| Failure::argument(format!("`{text}` is no IPv4 address")))
}

/// Fills in the defaults: domain 0, the first device, multicast for discovery alone, sleeping.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_domain_options_init(options: *mut Options, size: usize) -> Status {
    // SAFETY: the caller has `size` octets there.
    guard(|| unsafe { init(options, size, DEFAULTS) })
}

/// Opens the sockets of a participant. NULL for the options takes the defaults. Nothing is sent and no
/// callback is called before the domain is stepped, but for what is sent explicitly, so that everything
/// can be made ready before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_domain_create(
    given: *const Options,
    domain: *mut *mut DomainHandle,
) -> Status {
    guard(|| {
        // SAFETY: the caller's.
        unsafe { put(domain, std::ptr::null_mut()) }?;
        // SAFETY: the caller's.
        let (options, on_event) = unsafe { options(given) }?;
        let opened = Domain::open(&options).map_err(|error| {
            let status = match error {
                DomainError::Domain(_) | DomainError::Interface(_) | DomainError::Lease => {
                    Status::Argument
                }
                DomainError::Ports { .. } => Status::Limit,
                DomainError::Socket { .. }
                | DomainError::Device(_)
                | DomainError::Down(_)
                | DomainError::Ethernet(_) => Status::System,
            };
            Failure::new(status, error.to_string())
        })?;
        let handle = register(Arc::new(DomainHandle::new(opened, on_event)))?;
        // SAFETY: the caller's.
        unsafe { put(domain, handle) }
    })
}

/// Says good-bye and closes the sockets. Publications and subscriptions are ended; their handles have
/// to be destroyed all the same, before or after. NULL is nothing to destroy. On
/// `RTETHER_STATUS_BUSY`, as from within a callback, the domain is still there.
#[unsafe(no_mangle)]
pub extern "C" fn rtether_domain_destroy(domain: *mut DomainHandle) -> Status {
    destroy(domain, |handle| {
        handle.with_poisoned(|domain| {
            let mut core = domain.core()?;
            // After a panic nobody has said that the step is over.
            if core.is_stepping && !domain.is_poisoned() {
                let text = "a domain cannot be destroyed from within its callbacks";
                return Err(Failure::new(Status::Busy, text));
            }
            core.publications.clear();
            core.subscriptions.clear();
            core.types.clear();
            core.domain = None;
            Ok(())
        })
    })
}

/// Sends what is due, waits until something comes or is due, but not longer than `limit_ns`, and takes
/// it in; callbacks are called meanwhile. 0 does not wait.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_domain_step(domain: *mut DomainHandle, limit_ns: i64) -> Status {
    let step = |domain: &DomainHandle, _: &DomainHandle| {
        let until = now() + span(limit_ns, "limit_ns")?;
        domain.stepping(|domain| domain.step(until))
    };
    on(domain, step)
}

/// Steps until `limit_ns` is over, which may be `RTETHER_INFINITE`, or `rtether_domain_stop` is called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_domain_run(domain: *mut DomainHandle, limit_ns: i64) -> Status {
    let run = |domain: &DomainHandle, _: &DomainHandle| {
        let until = now() + span(limit_ns, "limit_ns")?;
        domain.stepping(|domain| {
            while !domain.is_stopped() && now() < until {
                domain.step(until.min(now() + LOOK))?;
            }
            Ok(())
        })
    };
    on(domain, run)
}

/// Ends `rtether_domain_run` and the functions that wait, within 20 ms, or the next one if none runs.
/// It may be called by signal handlers and by other threads, and does nothing to a domain that has been
/// destroyed.
#[unsafe(no_mangle)]
pub extern "C" fn rtether_domain_stop(domain: *mut DomainHandle) {
    table::stop(domain);
}

/// Returns what the clock shows that the library goes by (`CLOCK_MONOTONIC`), in nanoseconds.
#[unsafe(no_mangle)]
pub extern "C" fn rtether_now() -> i64 {
    crate::clock::monotonic_ns()
}

/// Says how many other participants are known.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_domain_participants(
    domain: *mut DomainHandle,
    count: *mut usize,
) -> Status {
    let say = |domain: &DomainHandle, _: &DomainHandle| {
        let known = domain.core()?.live()?.participant().participants().count();
        // SAFETY: the caller's.
        unsafe { put(count, known) }
    };
    on(domain, say)
}

impl DomainHandle {
    /// Steps until something holds.
    ///
    /// # Errors
    /// If it does not in time, or the domain is stopped.
    pub(super) fn step_until(
        &self,
        limit_ns: i64,
        mut holds: impl FnMut(&mut super::handle::Core) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let until: Instant = now() + span(limit_ns, "limit_ns")?;
        self.stepping(|domain| {
            loop {
                let mut core = domain.core()?;
                if holds(&mut core)? {
                    return Ok(());
                }
                drop(core);
                let is_over = now() >= until;
                if is_over || domain.is_stopped() {
                    return Err(Failure::quiet(Status::Timeout));
                }
                domain.step(until.min(now() + LOOK))?;
            }
        })
    }
}
