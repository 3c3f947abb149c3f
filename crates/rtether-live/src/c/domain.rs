//! Domains (R150): creating, stepping, stopping and destroying them.

use std::ffi::c_char;
use std::net::Ipv4Addr;
use std::sync::Arc;

use rtether_rtps::engine::Discovery;
use rtether_rtps::wire::v1::Role;

use super::dispatch::LOOK;
use super::event::{EventCall, EventFn};
use super::handle::DomainHandle;
use super::memory::{Grows, User, answer, choice, init, read, span, text, texts};
use super::monitor::{Monitor, destroy, now, on};
use super::policy::{DiscoveryKind, ProtocolVersion};
use super::status::{Failure, Status, guard};
use super::table::{self, register};
use crate::rtps::{Domain, DomainError, DomainOptions};
use crate::wait::Waiting;

/// Options of a domain on this host.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// `sizeof(rtether_domain_options)`.
    pub size: usize,
    /// The domain, 0 to 232.
    pub domain: u32,
    /// Human-readable name, or NULL.
    pub name: *const c_char,
    /// IPv4 address of this host that selects the network; datagrams from other devices are
    /// dropped. NULL selects the first device that is up, and then accepts datagrams from any.
    pub interface_address: *const c_char,
    /// IPv4 addresses of hosts that multicast does not reach. In RTPS 1.0 those of the managers to
    /// which it announces itself; none means that of this host.
    pub peers: *const *const c_char,
    /// Their number.
    pub peers_len: usize,
    /// Whether to announce to the multicast group of the domain and to listen there: 0 or 1.
    /// Without effect in RTPS 1.0.
    pub multicast: i32,
    /// Whether samples may also be multicast: 0 or 1.
    pub multicast_data: i32,
    /// Whether a waiting thread polls instead of sleeping, which takes a whole core and saves the
    /// wake-up: 0 or 1.
    pub spin: i32,
    /// Lease: how long others wait for the next announcement, in nanoseconds. In RTPS 1.0 at least
    /// 180 s, which is that of ORTE.
    pub lease_ns: i64,
    /// Maximum size of a datagram, in octets; larger samples are sent in fragments. RTPS 1.0 has no
    /// fragments: there a sample of up to 65479 octets is one datagram.
    pub datagram_max: usize,
    /// Called for events other than samples; or NULL.
    pub on_event: EventFn,
    /// Passed to it.
    pub user: *mut std::ffi::c_void,
    /// An `rtether_protocol`.
    pub protocol: i32,
    /// An `rtether_discovery`; RTPS 1.0 has only that of all.
    // It takes what was padding: zero after `_init` of a version without it, and so the default,
    // and a library without it has the same matches.
    pub discovery: i32,
}

// SAFETY: `repr(C)`, the size first, and all members are numbers or pointers that may be NULL.
unsafe impl Grows for Options {
    const FIRST: usize = std::mem::offset_of!(Self, protocol);
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
    protocol: ProtocolVersion::Rtps2_5 as i32,
    discovery: DiscoveryKind::All as i32,
};

/// # Safety
/// As for `rtether_domain_create`.
unsafe fn options(
    given: *const Options,
) -> Result<(DomainOptions, Option<(EventCall, User)>), Failure> {
    if given.is_null() {
        return Ok((DomainOptions::default(), None));
    }
    // SAFETY: guaranteed by the caller.
    let given = unsafe { read(given, DEFAULTS) }?;
    let domain = u16::try_from(given.domain);
    let unknown = |_| Failure::argument(format!("domain {} does not exist", given.domain));
    let all = [(ProtocolVersion::Rtps2_5 as i32, false), (ProtocolVersion::Rtps1_0 as i32, true)];
    let is_v1 = choice(given.protocol, "protocol", &all)?;
    let mut usual = DomainOptions::default();
    let mut lease = span(given.lease_ns, "lease_ns")?;
    if is_v1 {
        usual = DomainOptions::rtps1(Role::Application);
        lease = lease.max(usual.lease);
    }
    let mut options = DomainOptions {
        domain: domain.map_err(unknown)?,
        multicast: truth(given.multicast, "multicast")?,
        multicast_data: truth(given.multicast_data, "multicast_data")?,
        lease,
        datagram_max: given.datagram_max,
        discovery: discovery(given.discovery, is_v1)?,
        ..usual
    };
    if !(512..=65_507).contains(&given.datagram_max) {
        return Err(Failure::argument("datagram_max is 512 to 65507 octets"));
    }
    if truth(given.spin, "spin")? {
        options.waiting = Waiting::Spin;
    }
    if !given.name.is_null() {
        // SAFETY: guaranteed by the caller.
        unsafe { text(given.name, "the name") }?.clone_into(&mut options.name);
    }
    if !given.interface_address.is_null() {
        // SAFETY: guaranteed by the caller.
        let own = unsafe { text(given.interface_address, "interface_address") }?;
        options.interface = Some(address(own)?);
    }
    // SAFETY: guaranteed by the caller.
    let peers = unsafe { texts(given.peers, given.peers_len, "peers") }?;
    let peers = peers.iter().map(|peer| address(peer));
    options.peers = peers.collect::<Result<_, _>>()?;
    Ok((options, given.on_event.map(|call| (call, given.user))))
}

fn discovery(number: i32, is_v1: bool) -> Result<Discovery, Failure> {
    let all = [
        (DiscoveryKind::All as i32, Discovery::All),
        (DiscoveryKind::OnDemand as i32, Discovery::OnDemand),
    ];
    let discovery = choice(number, "discovery", &all)?;
    if is_v1 && discovery != Discovery::All {
        return Err(Failure::argument("RTPS 1.0 has no `discovery` on demand"));
    }
    Ok(discovery)
}

fn truth(number: i32, name: &str) -> Result<bool, Failure> {
    choice(number, name, &[(0, false), (1, true)])
}

fn address(text: &str) -> Result<Ipv4Addr, Failure> {
    let parsed = text.parse();
    parsed.map_err(|_| Failure::argument(format!("`{text}` is not an IPv4 address")))
}

/// Fills in the defaults: domain 0, the first device, multicast for discovery only, sleeping.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_domain_options_init(options: *mut Options, size: usize) -> Status {
    // SAFETY: the caller guarantees `size` octets there.
    guard(|| unsafe { init(options, size, DEFAULTS) })
}

/// Opens the sockets of a participant. NULL options mean the defaults. Before the domain is
/// stepped, nothing is sent except explicitly, and no callback is called, so that everything can be
/// prepared first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_domain_create(
    given: *const Options,
    domain: *mut *mut DomainHandle,
) -> Status {
    guard(|| {
        // SAFETY: guaranteed by the caller.
        unsafe { answer(domain, std::ptr::null_mut()) }?;
        // SAFETY: guaranteed by the caller.
        let (options, on_event) = unsafe { options(given) }?;
        let opened = Domain::open(&options).map_err(|error| {
            let status = match error {
                DomainError::Domain(_) | DomainError::Interface(_) | DomainError::Lease => {
                    Status::Argument
                }
                DomainError::Ports { .. } => Status::Limit,
                DomainError::Socket { .. }
                | DomainError::Manager { .. }
                | DomainError::Group { .. }
                | DomainError::Device(_)
                | DomainError::Down(_)
                | DomainError::Ethernet(_) => Status::System,
            };
            Failure::new(status, error.to_string())
        })?;
        let handle = register(Arc::new(Monitor::new(opened, on_event)))?;
        // SAFETY: guaranteed by the caller.
        unsafe { answer(domain, handle) }
    })
}

/// Says good-bye and closes the sockets. Publications and subscriptions end, but their handles must
/// still be destroyed, before or after. NULL is ignored. On `RTETHER_STATUS_BUSY`, as within a
/// callback, the domain remains.
#[unsafe(no_mangle)]
pub extern "C" fn rtether_domain_destroy(domain: *mut DomainHandle) -> Status {
    destroy(domain, |handle| {
        handle.with_poisoned(|domain| {
            let mut core = domain.core()?;
            // After a panic the step was not marked as ended.
            if core.is_stepping && !domain.is_poisoned() {
                let text = "a domain cannot be destroyed from within its callbacks";
                return Err(Failure::new(Status::Busy, text));
            }
            core.writers.clear();
            core.readers.clear();
            core.types.clear();
            core.domain = None;
            Ok(())
        })
    })
}

/// Sends what is due, waits for a datagram or timer for at most `limit_ns`, and handles it, calling
/// callbacks. 0 does not wait.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_domain_step(domain: *mut DomainHandle, limit_ns: i64) -> Status {
    let step = |domain: &Monitor, _: &Monitor| {
        let until = now() + span(limit_ns, "limit_ns")?;
        domain.stepping(|domain| domain.step(until))
    };
    on(domain, step)
}

/// Steps until `limit_ns` has passed, which may be `RTETHER_INFINITE`, or `rtether_domain_stop` is
/// called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_domain_run(domain: *mut DomainHandle, limit_ns: i64) -> Status {
    let run = |domain: &Monitor, _: &Monitor| {
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

/// Ends `rtether_domain_run` and the functions that wait, within 20 ms, or the next such call if
/// none is running. May be called by signal handlers and other threads; has no effect on a
/// destroyed domain.
#[unsafe(no_mangle)]
pub extern "C" fn rtether_domain_stop(domain: *mut DomainHandle) {
    table::stop(domain);
}

/// Returns the time of the library's clock (`CLOCK_MONOTONIC`), in nanoseconds.
#[unsafe(no_mangle)]
pub extern "C" fn rtether_now() -> i64 {
    crate::clock::monotonic_ns()
}

/// Gets the number of known remote participants.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_domain_participants(
    domain: *mut DomainHandle,
    count: *mut usize,
) -> Status {
    let say = |domain: &Monitor, _: &Monitor| {
        let known = domain.core()?.live()?.participant().participants().count();
        // SAFETY: guaranteed by the caller.
        unsafe { answer(count, known) }
    };
    on(domain, say)
}
