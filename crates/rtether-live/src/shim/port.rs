//! Sends past the device's filters and queues, and receives the hub's reports.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rtether_model::quantity::Duration;
use socket2::{Domain, Protocol, Socket, Type};

use super::ShimError;
use super::tap::is_later;
use crate::emulator::COLLISION_ETHERTYPE;
use crate::link::{Device, DeviceError, link_address};
use crate::option;
use crate::timestamping;
use crate::wall::real_now;

/// Send buffer: octets that may be on their way through the driver.
const BUFFER: usize = 4 << 20;

/// Result of sending a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// The driver has it.
    Out,
    /// The device is down.
    Down,
    /// The device or its driver rejected it.
    Refused,
}

/// A report is read within this time; an apparently older one means that the clock was set.
const AGE_MAX: Duration = Duration::from_ms(100);

/// Packet sockets on the device.
#[derive(Debug)]
pub(super) struct Port {
    socket: Socket,
    /// Receives reports of a hub, and probes.
    reports: Option<Socket>,
    device: String,
}

impl Port {
    /// Opens a socket that sends out of the device. With `is_told` it also receives hub reports;
    /// with `listens` it puts the device in promiscuous mode.
    pub(super) fn open(
        name: &str,
        device: &Device,
        is_told: bool,
        listens: bool,
    ) -> Result<Self, ShimError> {
        let failed = |source| DeviceError::Socket { name: name.to_owned(), source };
        let reports = is_told.then(|| {
            let socket = bound(device, COLLISION_ETHERTYPE)?;
            timestamping::enable(socket.as_fd())?;
            Ok(socket)
        });
        Ok(Self {
            socket: sender(device, listens).map_err(failed)?,
            reports: reports.transpose().map_err(failed)?,
            device: name.to_owned(),
        })
    }

    /// Sends a frame.
    ///
    /// # Errors
    /// If the device has been removed.
    pub(super) fn send(&self, frame: &[u8]) -> Result<Sent, ShimError> {
        let Err(source) = self.socket.send(frame) else {
            return Ok(Sent::Out);
        };
        match source.raw_os_error() {
            Some(libc::ENETDOWN) => Ok(Sent::Down),
            Some(libc::ENXIO | libc::ENODEV) => Err(self.gone(source)),
            _ => Ok(Sent::Refused),
        }
    }

    /// Reads the next report and returns its length and age; `None` if none is waiting.
    ///
    /// # Errors
    /// If the device has been removed.
    pub(super) fn receive(
        &self,
        buffer: &mut [u8],
    ) -> Result<Option<(usize, Duration)>, ShimError> {
        let Some(socket) = &self.reports else {
            return Ok(None);
        };
        match timestamping::receive(socket.as_fd(), buffer) {
            Ok((length, stamp, _)) => {
                let ns = stamp.map_or(0, |stamp| real_now().saturating_sub(stamp));
                let is_possible = (0..=AGE_MAX.as_ns_floor()).contains(&ns);
                let age = Duration::from_ns(if is_possible { ns } else { 0 });
                Ok(Some((length, age)))
            }
            Err(error) if is_later(&error) => Ok(None),
            // The device went down; it may come up again.
            Err(error) if error.raw_os_error() == Some(libc::ENETDOWN) => Ok(None),
            Err(source) => Err(self.gone(source)),
        }
    }

    /// Returns the descriptor that becomes readable when a report has come.
    pub(super) fn reports(&self) -> Option<BorrowedFd<'_>> {
        self.reports.as_ref().map(Socket::as_fd)
    }

    fn gone(&self, source: io::Error) -> ShimError {
        let device = self.device.clone();
        ShimError::Gone { device, source }
    }
}

fn sender(device: &Device, listens: bool) -> io::Result<Socket> {
    // Without a protocol, the socket receives nothing.
    let socket = bound(device, 0)?;
    // Frames go directly to the driver, past the device's filters and queues.
    let on: libc::c_int = 1;
    set(&socket, libc::PACKET_QDISC_BYPASS, &on)?;
    if listens {
        option::promiscuous(&socket, device.index())?;
    }
    // The system may grant less.
    let _ = socket.set_send_buffer_size(BUFFER);
    Ok(socket)
}

fn bound(device: &Device, ethertype: u16) -> io::Result<Socket> {
    let protocol = Protocol::from(i32::from(ethertype.to_be()));
    let socket = Socket::new(Domain::PACKET, Type::RAW, Some(protocol))?;
    socket.set_nonblocking(true)?;
    socket.bind(&link_address(device.index(), ethertype))?;
    Ok(socket)
}

/// Sets an option of packet sockets.
fn set<T: Copy>(socket: &Socket, name: libc::c_int, value: &T) -> io::Result<()> {
    option::set(socket, libc::SOL_PACKET, name, value)
}
