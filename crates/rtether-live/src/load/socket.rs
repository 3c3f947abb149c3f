//! Socket settings of a load.

use std::io;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, Type};

use super::LOOK;

/// Receive buffer for datagrams at the sink, in octets: 20 ms at 1 Gbit/s.
const BUFFER: usize = 4 << 20;
/// Connections queued for acceptance.
const BACKLOG: i32 = 64;
/// Limit on establishing a connection.
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) fn connect(peer: SocketAddr, dscp: u8) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(peer), Type::STREAM, Some(Protocol::TCP))?;
    mark(&socket, peer, dscp)?;
    socket.connect_timeout(&peer.into(), PATIENCE)?;
    let stream = TcpStream::from(socket);
    prepare(&stream)?;
    Ok(stream)
}

/// Sets timeouts, so that calls return from time to time.
pub(crate) fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(LOOK))?;
    stream.set_write_timeout(Some(LOOK))
}

pub(crate) fn datagrams_to(peer: SocketAddr, dscp: u8) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(peer), Type::DGRAM, Some(Protocol::UDP))?;
    mark(&socket, peer, dscp)?;
    socket.connect(&peer.into())?;
    socket.set_write_timeout(Some(LOOK))?;
    Ok(socket.into())
}

pub(crate) fn listen(at: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(at), Type::STREAM, Some(Protocol::TCP))?;
    // A sink that has just ended leaves connections in TIME-WAIT.
    socket.set_reuse_address(true)?;
    socket.bind(&at.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

pub(crate) fn receive_datagrams(at: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(at), Type::DGRAM, Some(Protocol::UDP))?;
    socket.bind(&at.into())?;
    // The kernel may grant less; losses are counted either way.
    socket.set_recv_buffer_size(BUFFER)?;
    socket.set_read_timeout(Some(LOOK))?;
    Ok(socket.into())
}

fn mark(socket: &Socket, peer: SocketAddr, dscp: u8) -> io::Result<()> {
    let tos = u32::from(dscp) << 2;
    match peer {
        _ if tos == 0 => Ok(()),
        SocketAddr::V4(_) => socket.set_tos_v4(tos),
        SocketAddr::V6(_) => socket.set_tclass_v6(tos),
    }
}

/// Sets the DSCP of an accepted connection.
pub(crate) fn mark_accepted(stream: &TcpStream, peer: SocketAddr, dscp: u8) -> io::Result<()> {
    mark(&SockRef::from(stream), peer, dscp)
}

/// Returns how many segments this end has retransmitted; `None` if the kernel does not report it.
pub(crate) fn retransmissions(stream: &TcpStream) -> Option<u64> {
    // SAFETY: all fields are integers, for which zero is a value.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = libc::socklen_t::try_from(size_of_val(&info)).ok()?;
    // SAFETY: pointer and length are those of a live value, which the kernel fills in part.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    (result == 0).then_some(u64::from(info.tcpi_total_retrans))
}
