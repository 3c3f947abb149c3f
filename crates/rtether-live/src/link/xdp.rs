//! Raw Ethernet through `AF_XDP`: frames pass between the driver and memory shared with the kernel,
//! bypassing its network stack.
//!
//! Uses queue 0 of a device in copy mode, which every driver supports; frames of other types stay
//! with the kernel. Frames of an `EtherType` that the card does not spread over its queues arrive
//! at queue 0.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

use ::xdp::packet::Packet;
use ::xdp::slab::{HeapSlab, Slab};
use ::xdp::socket::{SocketError, XdpSocket, XdpSocketBuilder};
use ::xdp::umem::{FrameSize, Umem, UmemCfgBuilder};
use ::xdp::{RingConfigBuilder, WakableRings, nic::NicIndex};

use super::bpf::{self, Attached};
use rtether_model::mac::MacAddress;

use super::device::{Device, DeviceError};
use super::frame::{self, HEADER, RawOptions, TAG};
use super::{Link, Service, Stamped};

const QUEUE: u32 = 0;
/// Slots of each ring, and frames queued in it for the kernel to fill.
const RING: u32 = 64;
/// Frames of 2048 octets: half for the kernel to fill, half to send.
const FRAMES: u32 = 2 * RING;
/// Largest frame, in octets: the kernel reserves 256 of each for itself.
const FRAME_MAX: usize = 1_792;
/// Attempts to bind and to attach. The kernel releases a closed socket's queue and program 3 to 21
/// ms later, on a busy machine later still, so both are tried for half a second.
const BIND_TRIES: u32 = 250;
const BIND_PAUSE: Duration = Duration::from_millis(2);
/// Empty reads after which the socket is asked whether it still has a device.
const EMPTY_READS: u32 = 1 << 14;
/// Looks at the ring per call: each is far cheaper than a clock reading.
const LOOKS: u32 = 32;

/// An `AF_XDP` socket on one device, with the program that delivers its frames.
pub struct Xdp {
    // Drop order: first no more frames arrive, then the socket goes, then the memory.
    _program: Attached,
    rings: WakableRings,
    socket: XdpSocket,
    umem: Umem,
    received: HeapSlab,
    /// The frame returned last.
    used: Option<Packet>,
    sending: HeapSlab,
    own: MacAddress,
    /// Frames from other stations are ignored.
    peer: Option<MacAddress>,
    options: RawOptions,
    payload_max: usize,
    frame: Vec<u8>,
    empty_reads: u32,
}

impl Xdp {
    /// Returns a socket that communicates with one station.
    pub fn connect(name: &str, peer: MacAddress, options: RawOptions) -> Result<Self, DeviceError> {
        let mut this = Self::bind(name, options)?;
        this.peer = Some(peer);
        Ok(this)
    }

    /// Returns a socket that receives frames from any station.
    pub fn bind(name: &str, options: RawOptions) -> Result<Self, DeviceError> {
        let device = Device::named(name)?;
        let failed = |doing| move |source| refused(name, doing, source);
        let index = u32::try_from(device.index)
            .map_err(|_| failed("the device")(io::ErrorKind::InvalidInput.into()))?;
        let (socket, rings, umem) = open(index).map_err(failed("opening the socket"))?;
        let mut this = Self {
            _program: attach(index, &socket)
                .map_err(|(doing, source)| refused(name, doing, source))?,
            rings,
            socket,
            received: HeapSlab::with_capacity(1),
            used: None,
            sending: HeapSlab::with_capacity(1),
            own: device.address,
            peer: None,
            options,
            payload_max: device.mtu().min(FRAME_MAX - HEADER - TAG),
            frame: Vec::with_capacity(FRAME_MAX),
            empty_reads: 0,
            umem,
        };
        // SAFETY: the frames go to the kernel, and come back by the rings of the same socket.
        let queued = unsafe {
            let rings = &mut this.rings;
            rings.fill_ring.enqueue(&mut this.umem, RING as usize, false)
        };
        queued.map_err(failed("giving frames to the kernel"))?;
        Ok(this)
    }

    /// Returns the address of the device.
    pub fn address(&self) -> MacAddress {
        self.own
    }

    /// Returns the largest payload, in octets.
    pub fn payload_max(&self) -> usize {
        self.payload_max
    }
}

impl Xdp {
    fn send_to(&mut self, payload: &[u8], to: MacAddress) -> io::Result<()> {
        if self.umem.allocatable() == 0 {
            self.tidy()?;
        }
        if self.sending.is_empty() {
            frame::write(&mut self.frame, to, self.own, self.options, payload);
            // SAFETY: the frame goes into a ring of the same socket, or stays in `sending`; both
            // are dropped with the memory.
            let packet = unsafe { self.umem.alloc() };
            let mut packet = packet.ok_or(io::ErrorKind::WouldBlock)?;
            if packet.append(&self.frame).is_err() {
                self.umem.free_packet(packet);
                return Err(io::Error::from_raw_os_error(libc::EMSGSIZE));
            }
            self.sending.push_front(packet);
        }
        let ring = self.rings.tx_ring.as_mut();
        let ring = ring.ok_or(io::ErrorKind::Unsupported)?;
        // SAFETY: the frame belongs to the memory of this socket.
        match unsafe { ring.send(&mut self.sending, true) } {
            Ok(_) => Ok(()),
            // The frame is in the ring; the kernel was busy and takes it with the next one.
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Copies the payload of the next frame for us to the start of `buffer`.
    fn next(&mut self, buffer: &mut [u8]) -> io::Result<Option<(Range<usize>, MacAddress)>> {
        self.tidy()?;
        loop {
            if self.received.is_empty() {
                let Some(ring) = self.rings.rx_ring.as_mut() else {
                    return Ok(None);
                };
                for _ in 0..LOOKS {
                    // SAFETY: received frames are given back below, before the memory goes.
                    if unsafe { ring.recv(&self.umem, &mut self.received) } > 0 {
                        break;
                    }
                }
            }
            let Some(packet) = self.received.pop_back() else {
                self.empty_reads += 1;
                if self.empty_reads.is_multiple_of(EMPTY_READS) {
                    self.check()?;
                }
                return Ok(None);
            };
            let found = frame::read(&packet, self.own);
            let ours = found.filter(|(_, from)| self.peer.is_none_or(|peer| peer == *from));
            let ours = ours.map(|(payload, from)| {
                let len = payload.len().min(buffer.len());
                buffer[..len].copy_from_slice(&packet[payload.start..payload.start + len]);
                (0..len, from)
            });
            self.used = Some(packet);
            if ours.is_some() {
                return Ok(ours);
            }
            self.tidy()?;
        }
    }

    /// Recycles frames: after the answer has been sent, while no peer is waiting for it.
    fn tidy(&mut self) -> io::Result<()> {
        if let Some(packet) = self.used.take() {
            self.umem.free_packet(packet);
            // SAFETY: as when the first frames were given to the kernel.
            unsafe { self.rings.fill_ring.enqueue(&mut self.umem, 1, false) }?;
        }
        if self.umem.allocatable() < RING as usize / 2 {
            // Frames sent meanwhile are free again.
            let sent = FRAMES as usize;
            self.rings.completion_ring.dequeue(&mut self.umem, sent);
        }
        Ok(())
    }

    /// Fails if the socket has lost its device, which a receiver cannot notice otherwise.
    fn check(&self) -> io::Result<()> {
        match rustix::net::sockopt::socket_error(self.as_fd()) {
            Ok(Err(error)) | Err(error) => Err(error.into()),
            Ok(Ok(())) => Ok(()),
        }
    }
}

/// Opens a socket with its rings and memory, and binds it.
fn open(device: u32) -> io::Result<(XdpSocket, WakableRings, Umem)> {
    let memory = UmemCfgBuilder {
        frame_size: FrameSize::TwoK,
        frame_count: FRAMES,
        ..UmemCfgBuilder::default()
    };
    let rings = RingConfigBuilder {
        rx_count: RING,
        tx_count: RING,
        fill_count: RING,
        completion_count: RING,
    };
    let invalid = |error: ::xdp::error::Error| io::Error::new(io::ErrorKind::InvalidInput, error);
    let (memory, config) = (memory.build().map_err(invalid)?, rings.build().map_err(invalid)?);
    let mut tries = 0;
    loop {
        let umem = Umem::map(memory)?;
        let mut builder = XdpSocketBuilder::new().map_err(cause)?;
        let (rings, mut flags) = builder.build_wakable_rings(&umem, config).map_err(cause)?;
        flags.force_copy();
        match builder.bind(NicIndex::new(device), QUEUE, flags).map_err(cause) {
            Ok(socket) => return Ok((socket, rings, umem)),
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) && tries < BIND_TRIES => {
                tries += 1;
                std::thread::sleep(BIND_PAUSE);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Attaches the program; one of a process that has just ended is detached a little later.
fn attach(device: u32, socket: &XdpSocket) -> Result<Attached, (&'static str, io::Error)> {
    let mut tries = 0;
    loop {
        match bpf::attach(device, QUEUE, socket.as_raw_fd()) {
            Err((_, error)) if error.raw_os_error() == Some(libc::EBUSY) && tries < BIND_TRIES => {
                tries += 1;
                std::thread::sleep(BIND_PAUSE);
            }
            attached => return attached,
        }
    }
}

fn cause(error: SocketError) -> io::Error {
    match error {
        SocketError::SocketCreation(inner)
        | SocketError::SetSockOpt { inner, .. }
        | SocketError::GetSockOpt { inner, .. }
        | SocketError::RingMap { inner, .. }
        | SocketError::Bind(inner) => inner,
    }
}

fn refused(name: &str, doing: &'static str, source: io::Error) -> DeviceError {
    let remedy = match source.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            "; run as root, or `sudo setcap cap_net_raw,cap_net_admin,cap_bpf+ep` on the program"
        }
        Some(libc::EBUSY) => {
            "; another program uses XDP on this device: `ip -details link show` names it"
        }
        Some(libc::EAFNOSUPPORT | libc::EOPNOTSUPP | libc::EINVAL) => {
            "; the kernel or the driver has no AF_XDP, use `--via raw`"
        }
        Some(libc::ENETDOWN) => "; `ip link set DEVICE up` starts it",
        _ => "",
    };
    DeviceError::Xdp { name: name.to_owned(), doing, source, remedy }
}

impl AsFd for Xdp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the socket is open for as long as `self` is borrowed.
        unsafe { BorrowedFd::borrow_raw(self.socket.as_raw_fd()) }
    }
}

impl Stamped for Xdp {}

impl Link for Xdp {
    fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        let peer = self.peer.unwrap_or(MacAddress([0xFF; 6]));
        self.send_to(payload, peer)
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Range<usize>>> {
        Ok(self.next(buffer)?.map(|(payload, _)| payload))
    }
}

impl Service for Xdp {
    type Peer = MacAddress;

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<(Range<usize>, MacAddress)>> {
        self.next(buffer)
    }

    fn answer(
        &mut self,
        buffer: &mut [u8],
        payload: Range<usize>,
        to: MacAddress,
    ) -> io::Result<()> {
        self.send_to(&buffer[payload], to)
    }
}
