//! Sources of congestion signals: hub reports, and promiscuous mode for counting others' frames.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};

use rtether_model::endnode::Detector;
use rtether_model::quantity::Duration;
use socket2::{Domain, Socket, Type};

use crate::emulator::{COLLISION_ETHERTYPE, CollisionReport};
use crate::link::{Device, link_address};
use crate::option;
use crate::shim::{Settings, ShimError, Signal};

/// The source of congestion signals.
#[derive(Debug)]
pub(super) enum Ear {
    Nothing,
    Reports(Reports),
    /// The driver's counter, read at this interval.
    Driver(Duration),
    Medium {
        _all: Promiscuous,
    },
    /// The counters of the ingress program.
    Marks,
}

impl Ear {
    /// Opens the source on a device in the calling thread's namespace.
    pub(super) fn open(device: &str, settings: &Settings) -> Result<Self, ShimError> {
        let device = &Device::named(device)?;
        let failed = ShimError::system("opening a packet socket");
        let Some(smoothing) = settings.layer.smoother else {
            return Ok(Self::Nothing);
        };
        Ok(match (smoothing.detector, settings.signal) {
            (Detector::Utilization { .. }, _) => {
                let all = Promiscuous::open(device).map_err(failed)?;
                Self::Medium { _all: all }
            }
            (Detector::Marks { .. }, _) => Self::Marks,
            (Detector::OwnCollisions { .. }, Signal::Reports) => {
                Self::Reports(Reports::open(device).map_err(failed)?)
            }
            (Detector::OwnCollisions { .. }, Signal::DriverCollisions { every }) => {
                Self::Driver(every)
            }
            _ => Self::Nothing,
        })
    }
}

/// Returns the settings that determine the source.
pub(super) fn ear_of(settings: &Settings) -> (Signal, Option<Detector>) {
    let smoothing = settings.layer.smoother.as_ref();
    (settings.signal, smoothing.map(|smoothing| smoothing.detector))
}

/// A packet socket that receives collision reports only.
#[derive(Debug)]
pub(super) struct Reports {
    socket: Socket,
    /// Collision count of the latest report; `None` before the first.
    collisions: Option<u64>,
}

impl Reports {
    /// Listens on a device in the calling thread's namespace.
    pub(super) fn open(device: &Device) -> io::Result<Self> {
        let socket = Socket::new(Domain::PACKET, Type::RAW, None)?;
        socket.set_nonblocking(true)?;
        socket.bind(&link_address(device.index(), COLLISION_ETHERTYPE))?;
        Ok(Self { socket, collisions: None })
    }

    /// Returns the collisions reported since the last call.
    pub(super) fn take(&mut self) -> io::Result<u64> {
        let mut frame = [0; 128];
        let mut new = 0;
        loop {
            let length = match (&self.socket).read(&mut frame) {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(new),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // The socket reports once that the link is down, and works again when the link is
                // up.
                Err(error) if error.raw_os_error() == Some(libc::ENETDOWN) => continue,
                Err(error) => return Err(error),
            };
            // Ignore frames that are not collision reports.
            let Some(report) = CollisionReport::parse(&frame[..length]) else {
                continue;
            };
            // The count may have begun before the shim, or restarted.
            let before = self.collisions.replace(report.collisions);
            new += match before {
                Some(before) if report.collisions >= before => report.collisions - before,
                _ => u64::from(report.collisions > 0),
            };
        }
    }
}

impl AsFd for Reports {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Keeps a device in promiscuous mode while it lives, so that the device counts frames for other
/// stations too.
#[derive(Debug)]
pub(super) struct Promiscuous {
    _socket: Socket,
}

impl Promiscuous {
    /// Enables it on a device in the calling thread's namespace.
    pub(super) fn open(device: &Device) -> io::Result<Self> {
        // Without a protocol, the socket itself receives nothing.
        let socket = Socket::new(Domain::PACKET, Type::RAW, None)?;
        option::promiscuous(&socket, device.index())?;
        Ok(Self { _socket: socket })
    }
}
