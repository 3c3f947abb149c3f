//! The receiving side, which accepts connections.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rtether_model::quantity::Instant;
use socket2::SockRef;

use super::super::mark::Mark;
use super::super::{Arrived, Log, RECORDS_MAX, StationError};
use super::{
    CONNECTIONS_MAX, ENDLESS, FileLog, HEADER, Header, LOOK, PORT, Run, TcpIncoming, is_pause,
};
use crate::clock::Clock;
use crate::link::mark;
use crate::option;

/// Largest window that stays fixed without a larger buffer: the system's limit has room for it.
const WINDOW_FIXED_MAX: u32 = 64 * 1_024;
/// Octets per read.
const BUFFER: usize = 64 * 1_024;

/// Accepts the connections of a station.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    incoming: Vec<TcpIncoming>,
}

/// State shared by all connections.
struct Shared<'a> {
    run: Run<'a>,
    incoming: &'a [TcpIncoming],
    log: Mutex<(Log, Vec<FileLog>)>,
    open: AtomicUsize,
}

impl Server {
    /// Listens at an address, in the namespace of the calling thread.
    ///
    /// # Errors
    /// If the port is taken.
    pub fn open(address: Ipv4Addr, incoming: Vec<TcpIncoming>) -> Result<Self, StationError> {
        let failed = |source| StationError::Socket {
            doing: format!("listening at {address}:{PORT}"),
            source,
        };
        let listener = TcpListener::bind(SocketAddrV4::new(address, PORT)).map_err(failed)?;
        // A granted window is not taken back, so connections must start with it.
        let windows: Option<Vec<u32>> = incoming.iter().map(|own| own.window).collect();
        if let Some(largest) = windows.and_then(|windows| windows.into_iter().max()) {
            clamp_window(&listener, largest).map_err(failed)?;
            if largest <= WINDOW_FIXED_MAX {
                // The kernel raises clamp and buffer together unless the buffer has been set.
                let buffer = usize::try_from(largest).unwrap_or(usize::MAX) * 2;
                let socket = SockRef::from(&listener);
                socket.set_recv_buffer_size(buffer).map_err(failed)?;
            }
        }
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Self { listener, incoming })
    }

    /// Serves until `end` or `stop`; returns what arrived.
    pub fn run(self, clock: Clock, end: Instant, stop: &AtomicBool) -> (Log, Vec<FileLog>) {
        let shared = Shared {
            run: Run { clock, end, stop },
            incoming: &self.incoming,
            log: Mutex::default(),
            open: AtomicUsize::new(0),
        };
        std::thread::scope(|scope| {
            while !shared.run.is_over() {
                let Ok((stream, _)) = self.listener.accept() else {
                    std::thread::sleep(LOOK);
                    continue;
                };
                if shared.open.load(Ordering::Relaxed) >= CONNECTIONS_MAX {
                    shared.odd();
                    continue;
                }
                shared.open.fetch_add(1, Ordering::Relaxed);
                let shared = &shared;
                scope.spawn(move || {
                    if shared.serve(stream).is_err() {
                        shared.odd();
                    }
                    shared.open.fetch_sub(1, Ordering::Relaxed);
                });
            }
        });
        shared.log.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared<'_> {
    fn odd(&self) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.0.oddities.foreign += 1;
    }

    /// Fills `to`; `false` if the connection or the run ends before.
    fn fill(&self, stream: &mut TcpStream, mut to: &mut [u8]) -> io::Result<bool> {
        while !to.is_empty() {
            if self.run.is_over() {
                return Ok(false);
            }
            match stream.read(to) {
                Ok(0) => return Ok(false),
                Ok(count) => to = &mut to[count..],
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Writes all of `octets`; `false` if the run ends before.
    fn put(&self, stream: &mut TcpStream, mut octets: &[u8]) -> io::Result<bool> {
        while !octets.is_empty() {
            if self.run.is_over() {
                return Ok(false);
            }
            match stream.write(octets) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => octets = &octets[count..],
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(LOOK))?;
        stream.set_write_timeout(Some(LOOK))?;
        stream.set_nodelay(true)?;
        let mut header = [0; HEADER];
        if !self.fill(&mut stream, &mut header)? {
            return Ok(());
        }
        let header = Header::read(header);
        let known = self.incoming.iter().find(|own| own.stream == header.stream);
        if let Some(own) = known {
            let marks = own.tagging.options();
            mark(&SockRef::from(&stream), stream.peer_addr()?, marks)?;
            if let Some(window) = own.window {
                clamp_window(&stream, window)?;
            }
        }
        match known.map(|own| (own, own.message)) {
            Some((own, Some(size))) if header.is_messages => self.messages(stream, own, size),
            Some((_, None)) if !header.is_messages => self.file(stream, &header),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    fn file(&self, mut stream: TcpStream, header: &Header) -> io::Result<()> {
        let mut buffer = vec![0; BUFFER];
        let mut delivered = 0;
        let mut finished_at = None;
        while !self.run.is_over() {
            match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    delivered += count as u64;
                    if header.size != ENDLESS && delivered >= header.size {
                        finished_at.get_or_insert(self.run.clock.now());
                    }
                }
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error),
            }
        }
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if log.1.len() == RECORDS_MAX {
            log.0.oddities.unrecorded += 1;
            return Ok(());
        }
        log.1.push(FileLog {
            stream: header.stream,
            number: header.number,
            started_at: None,
            finished_at,
            delivered,
            retransmissions: 0,
        });
        Ok(())
    }

    fn messages(&self, mut stream: TcpStream, own: &TcpIncoming, size: usize) -> io::Result<()> {
        let mut message = vec![0; size];
        let mut answer = vec![0; own.answer.map_or(0, |(size, _)| size)];
        while self.fill(&mut stream, &mut message)? {
            let now = self.run.clock.now();
            let Some(mark) = Mark::read(&message).filter(|mark| mark.stream == own.stream) else {
                return Err(io::ErrorKind::InvalidData.into());
            };
            if let Some((_, thinking)) = own.answer {
                self.run.sleep_until(now + thinking.takes(now));
                let mark = Mark { is_answer: true, ..mark };
                mark.write(&mut answer);
                if !self.put(&mut stream, &answer)? {
                    let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
                    log.0.oddities.unsent += 1;
                }
                continue;
            }
            let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
            if log.0.arrived.len() == RECORDS_MAX {
                log.0.oddities.unrecorded += 1;
                continue;
            }
            log.0.arrived.push(Arrived {
                stream: own.stream,
                number: mark.number,
                released_at: mark.released_at,
                latency: now - mark.released_at,
                receive: None,
                is_answer: false,
            });
        }
        Ok(())
    }
}

/// Limits the window of a connection, or of connections accepted from a listener, to `octets`.
fn clamp_window(socket: &impl AsFd, octets: u32) -> io::Result<()> {
    let value = libc::c_int::try_from(octets).unwrap_or(libc::c_int::MAX);
    option::set(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, &value)
}
