//! A `smoltcp` node with one socket, in virtual time.

use std::collections::VecDeque;

use rtether_model::quantity::{Duration, Instant};
use rtether_sim::tcp::CongestionControl;
use smoltcp::iface::{self, Interface, PollIngressSingleResult, SocketHandle, SocketSet};
use smoltcp::phy::{self, Device, DeviceCapabilities, Medium};
use smoltcp::socket::tcp;
use smoltcp::time::{Duration as StackDuration, Instant as StackInstant};
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};

use crate::tcp::pair::Silence;

/// The delay of acknowledgements, `smoltcp`'s default.
pub(crate) const ACK_DELAY_MS: u32 = 10;
/// Polls without effect after which a stack that asks for "now" waits for the next event: in some
/// runs `poll_at` would ask millions of times.
const PATIENCE: u32 = 16;

/// An interface whose packets stay in two queues.
#[derive(Default)]
struct Port {
    received: VecDeque<Vec<u8>>,
    sent: VecDeque<Vec<u8>>,
}

struct Received(Vec<u8>);
struct Sending<'a>(&'a mut VecDeque<Vec<u8>>);

impl phy::RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

impl phy::TxToken for Sending<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut packet = vec![0; len];
        let result = f(&mut packet);
        self.0.push_back(packet);
        result
    }
}

impl Device for Port {
    type RxToken<'a> = Received;
    type TxToken<'a> = Sending<'a>;

    fn receive(&mut self, _: StackInstant) -> Option<(Received, Sending<'_>)> {
        let packet = self.received.pop_front()?;
        Some((Received(packet), Sending(&mut self.sent)))
    }

    fn transmit(&mut self, _: StackInstant) -> Option<Sending<'_>> {
        Some(Sending(&mut self.sent))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = 1500;
        capabilities
    }
}

/// One `smoltcp` node with one socket.
pub(crate) struct Node {
    interface: Interface,
    port: Port,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
    pub(crate) octets_read: u64,
    pub(crate) silence: Silence,
    idle_polls: u32,
    pub(crate) wake: Option<Instant>,
}

fn stack_time(now: Instant) -> StackInstant {
    StackInstant::from_micros(now.as_ps() / 1_000_000)
}

impl Node {
    pub(crate) fn new(host: u8, window: u32, control: CongestionControl, seed: u64) -> Self {
        let mut port = Port::default();
        let mut config = iface::Config::new(HardwareAddress::Ip);
        config.random_seed = seed;
        let mut interface = Interface::new(config, &mut port, StackInstant::ZERO);
        interface.update_ip_addrs(|addresses| {
            addresses
                .push(IpCidr::new(IpAddress::v4(10, 0, 0, host), 24))
                .expect("room for one address");
        });
        let window = usize::try_from(window).expect("sizes of a test");
        let mut socket = tcp::Socket::new(
            tcp::SocketBuffer::new(vec![0; window]),
            tcp::SocketBuffer::new(vec![0; 2 * window]),
        );
        socket.set_congestion_control(match control {
            CongestionControl::NewReno => tcp::CongestionControl::Reno,
            CongestionControl::None => tcp::CongestionControl::None,
        });
        socket.set_ack_delay(Some(StackDuration::from_millis(u64::from(ACK_DELAY_MS))));
        let mut sockets = SocketSet::new(vec![]);
        let handle = sockets.add(socket);
        Self {
            interface,
            port,
            sockets,
            handle,
            octets_read: 0,
            silence: Silence::default(),
            idle_polls: 0,
            wake: None,
        }
    }

    pub(crate) fn listen(&mut self) {
        self.sockets.get_mut::<tcp::Socket>(self.handle).listen(5001).expect("a fresh socket");
    }

    pub(crate) fn connect(&mut self) {
        let socket = self.sockets.get_mut::<tcp::Socket>(self.handle);
        socket
            .connect(self.interface.context(), (IpAddress::v4(10, 0, 0, 2), 5001), 49_152)
            .expect("a fresh socket");
    }

    pub(crate) fn receive(&mut self, packet: Vec<u8>) {
        self.port.received.push_back(packet);
    }

    /// Lets the stack and the application work until both are idle, and returns the packets sent.
    pub(crate) fn work(&mut self, now: Instant, writes: bool) -> VecDeque<Vec<u8>> {
        let mut effect = !self.port.received.is_empty();
        for _ in 0..PATIENCE {
            let before = self.port.sent.len();
            let mut moved = false;
            // Read before acknowledging, or the stack advertises a window reduced by the data just
            // received.
            let time = stack_time(now);
            while self.interface.poll_ingress_single(time, &mut self.port, &mut self.sockets)
                != PollIngressSingleResult::None
            {
                moved |= self.application(now, writes);
            }
            moved |= self.application(now, writes);
            self.interface.poll_egress(time, &mut self.port, &mut self.sockets);
            let sent = self.port.sent.len() > before;
            effect |= moved || sent;
            if !moved && !sent {
                break;
            }
        }
        let at = self.interface.poll_at(stack_time(now), &self.sockets);
        let at = at.map(|at| Instant::from_ps(at.total_micros() * 1_000_000));
        self.idle_polls = if effect { 0 } else { self.idle_polls + 1 };
        self.wake = match at {
            Some(at) if at > now => Some(at),
            Some(_) if self.idle_polls < PATIENCE => Some(now + Duration::from_us(1)),
            Some(_) => Some(now + Duration::from_ms(1)),
            None => None,
        };
        std::mem::take(&mut self.port.sent)
    }

    /// Reads all available data and fills the transmit buffer; returns whether anything moved.
    fn application(&mut self, now: Instant, writes: bool) -> bool {
        let socket = self.sockets.get_mut::<tcp::Socket>(self.handle);
        let mut moved = 0;
        while socket.can_recv() {
            let read = socket.recv(|data| (data.len(), data.len())).expect("can receive");
            self.octets_read += u64::try_from(read).expect("sizes of a test");
            moved += read;
            self.silence.record(now);
        }
        while writes && socket.can_send() {
            moved += socket.send(|room| (room.len(), room.len())).expect("can send");
        }
        moved > 0
    }
}
