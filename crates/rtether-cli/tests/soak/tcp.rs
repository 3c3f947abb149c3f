//! A TCP transfer that lasts as long as the soak: its octets must arrive unchanged.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use socket2::SockRef;

use crate::bed::{Bed, PATIENCE, Side};
use crate::flow::{Control, is_later};

const PORT: u16 = 7_500;
/// Send buffer, small so that pauses are short.
const BUFFER: usize = 128 << 10;
/// Pause between writes, so that the transfer leaves some of the machine to others without a shim.
const PAUSE: Duration = Duration::from_micros(500);
/// Period of the octets, a prime.
const PATTERN: usize = 65_521;

/// The transfer and its state.
#[derive(Default)]
pub(crate) struct Transfer {
    sent: AtomicU64,
    received: AtomicU64,
    is_wrong: AtomicBool,
    has_ended: AtomicBool,
}

impl Transfer {
    pub(crate) fn start(self: &Arc<Self>, bed: &Arc<Bed>, control: &Arc<Control>) {
        let (ready, is_ready) = std::sync::mpsc::channel();
        let (this, place) = (Arc::clone(self), Arc::clone(bed));
        std::thread::spawn(move || {
            place.enter(Side::Far);
            let listener = TcpListener::bind((Side::Far.address(), PORT)).unwrap();
            drop((place, ready.send(())));
            let (stream, _) = listener.accept().unwrap();
            this.receive(stream);
        });
        is_ready.recv().unwrap();
        let (this, place, watch) = (Arc::clone(self), Arc::clone(bed), Arc::clone(control));
        let (ready, is_ready) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            place.enter(Side::Near);
            let stream = TcpStream::connect((Side::Far.address(), PORT)).unwrap();
            drop((place, ready.send(())));
            this.send(stream, &watch);
        });
        is_ready.recv().unwrap();
    }

    fn send(&self, mut stream: TcpStream, control: &Control) {
        SockRef::from(&stream).set_send_buffer_size(BUFFER).unwrap();
        stream.set_write_timeout(Some(Duration::from_millis(50))).unwrap();
        let pattern = pattern();
        let mut at = 0;
        while !control.is_over() {
            control.rest();
            match stream.write(&pattern[at..PATTERN.min(at + (16 << 10))]) {
                Ok(size) => {
                    at = (at + size) % PATTERN;
                    self.sent.fetch_add(u64::try_from(size).unwrap(), Ordering::AcqRel);
                    std::thread::sleep(PAUSE);
                }
                Err(error) if is_later(error.kind()) => {}
                Err(error) => panic!("TCP: {error}"),
            }
        }
        stream.shutdown(std::net::Shutdown::Write).unwrap();
    }

    fn receive(&self, mut stream: TcpStream) {
        let (pattern, mut octets) = (pattern(), vec![0; PATTERN]);
        let mut at = 0;
        loop {
            let size = stream.read(&mut octets[..PATTERN - at]).unwrap();
            if size == 0 {
                break;
            }
            if octets[..size] != pattern[at..at + size] {
                self.is_wrong.store(true, Ordering::Release);
            }
            at = (at + size) % PATTERN;
            self.received.fetch_add(u64::try_from(size).unwrap(), Ordering::AcqRel);
        }
        self.has_ended.store(true, Ordering::Release);
    }

    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Acquire)
    }

    /// Waits for the end of the transfer once the soak is over; returns what is wrong with it.
    pub(crate) fn finish(&self) -> Result<(), String> {
        let begin = Instant::now();
        while !self.has_ended.load(Ordering::Acquire) {
            if begin.elapsed() > 2 * PATIENCE {
                return Err("the TCP connection does not come to its end".into());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let (sent, received) = (self.sent.load(Ordering::Acquire), self.received());
        if self.is_wrong.load(Ordering::Acquire) || sent != received {
            return Err(format!(
                "TCP: {sent} octets sent, {received} received, and not the same ones"
            ));
        }
        Ok(())
    }
}

fn pattern() -> Vec<u8> {
    let octets = (0..PATTERN).map(|at| u8::try_from(at * 31 % 251).unwrap());
    octets.collect()
}
