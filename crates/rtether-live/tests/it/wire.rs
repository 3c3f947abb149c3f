//! Two namespaces with a wire between them.

use std::error::Error;
use std::io;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rtether_live::link::{Device, MacAddress};
use rtether_live::namespace::{CommandError, Namespace, join};

use rtether_testkit::skip;

/// Two hosts; the names of the devices are the same in both.
pub(crate) struct Wire {
    pub(crate) near: Namespace,
    pub(crate) far: Namespace,
}

pub(crate) const NEAR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
pub(crate) const FAR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
pub(crate) const DEVICE: &str = "wire";

impl Wire {
    /// Creates both hosts; if that is not possible, prints why and returns `None`.
    pub(crate) fn new() -> Option<Self> {
        match Self::build() {
            Ok(wire) => Some(wire),
            Err(reason) => {
                skip(&reason.to_string());
                None
            }
        }
    }

    fn build() -> Result<Self, Box<dyn Error>> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let tag = format!("mt{}-{number}", std::process::id());
        let near = Namespace::create(&format!("{tag}a"))?;
        let far = Namespace::create(&format!("{tag}b"))?;
        join(DEVICE, [(&near, NEAR), (&far, FAR)])?;
        let this = Self { near, far };
        this.wait_for_carrier()?;
        Ok(this)
    }

    /// Before the kernel sees the carrier, it drops what is sent.
    pub(crate) fn wait_for_carrier(&self) -> Result<(), CommandError> {
        for host in [&self.near, &self.far] {
            let is_up = || -> Result<bool, CommandError> {
                let state = host.run(&format!("ip -br link show {DEVICE}"))?;
                Ok(state.contains(" UP "))
            };
            while !is_up()? {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        Ok(())
    }

    /// Returns the Ethernet address of the far host.
    pub(crate) fn far_address(&self) -> MacAddress {
        std::thread::scope(|scope| {
            let look = scope.spawn(|| {
                self.far.enter().unwrap();
                Device::named(DEVICE).unwrap().address()
            });
            look.join().unwrap()
        })
    }
}

/// Opens a socket where one was closed before, with retries.
///
/// Until it calls `exec`, a program that another test starts (`ip`) is a copy of this process with
/// all its open files, so that an address or an attached program remains in use after its socket
/// was closed; on a busy machine it waits for the processor meanwhile. A queue of `AF_XDP` is in
/// any case free only some time later. An address in use for another reason stays so: after ten
/// seconds this is a failure.
pub(crate) fn patient<T, E: Error + 'static>(open: impl Fn() -> Result<T, E>) -> T {
    for _ in 0..1_000 {
        match open() {
            Ok(socket) => return socket,
            Err(error) if is_in_use(&error) => std::thread::sleep(Duration::from_millis(10)),
            Err(error) => panic!("{error}"),
        }
    }
    panic!("still in use after ten seconds");
}

fn is_in_use(error: &(dyn Error + 'static)) -> bool {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    let mut causes = causes.filter_map(|error| error.downcast_ref::<io::Error>());
    let in_use = [io::ErrorKind::AddrInUse, io::ErrorKind::ResourceBusy];
    causes.any(|error| in_use.contains(&error.kind()))
}
