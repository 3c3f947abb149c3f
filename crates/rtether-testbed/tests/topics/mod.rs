//! Topics in a domain on the loopback device: what `spy` and `sub` see of other participants.

#![cfg(target_os = "linux")]

mod demand;
mod ros;

use std::net::Ipv4Addr;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use rtether_live::rtps::{Domain, DomainOptions};
use rtether_testbed::topics::{Discovery, ParticipantOptions, Peer, Protocol};

/// Returns a domain of this process for one test: others may run at the same time.
fn domain(of: u16) -> u16 {
    100 + u16::try_from(process::id() % 30).unwrap_or(0) * 4 + of % 4
}

/// Returns a participant of the loopback device.
fn participant(domain: u16) -> ParticipantOptions {
    ParticipantOptions {
        ethernet: None,
        domain,
        protocol: Protocol::Rtps2,
        interface: Some(Ipv4Addr::LOCALHOST),
        peers: vec![Peer::Host(Ipv4Addr::LOCALHOST)],
        multicast: false,
        any_source: false,
        type_lookup: false,
        discovery: Discovery::All,
        trace: None,
        confinement: None,
    }
}

/// A participant that runs in a thread until it is dropped.
struct Other {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Other {
    /// Opens a participant; `prepare` gives it endpoints, `step` is called again and again.
    fn start(
        domain: u16,
        name: &str,
        prepare: impl FnOnce(&mut Domain) + Send + 'static,
        mut step: impl FnMut(&mut Domain) + Send + 'static,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let options = DomainOptions {
            domain,
            name: name.to_owned(),
            interface: Some(Ipv4Addr::LOCALHOST),
            peers: vec![Ipv4Addr::LOCALHOST],
            multicast: false,
            ..DomainOptions::default()
        };
        let is_over = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut domain = Domain::open(&options).expect("a participant");
            prepare(&mut domain);
            while !is_over.load(Ordering::Relaxed) {
                let until = domain.now() + rtether_rtps::time::Duration::from_ms(20);
                domain.step(until).expect("a step");
                step(&mut domain);
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            assert!(thread.join().is_ok(), "the other participant failed");
        }
    }
}
