//! The servers of an end station's stack: costs, jitter, queues.

use alloc::boxed::Box;

use rtether_model::network::{Cost, Jitter, RtosStack, Servers, Stack};

use crate::layer::Kind;
use crate::packet::{Fifo, NONE};
use crate::random::Draw;

/// The servers of a stack.
pub(crate) struct StackState {
    pub(crate) servers: u8,
    pub(crate) server: [Server; 2],
    send: Cost,
    receive: Cost,
    /// Costs by kind of packet instead of those above.
    rtos: Option<Box<RtosStack>>,
    jitter: Jitter,
    has_jitter: bool,
    draw: Draw,
    /// Whether the cost depends on more than size and direction: on the kind of the packet, or on a
    /// draw of its own.
    pub(crate) asks: bool,
    /// Packets waiting, their limit and the largest number seen.
    pub(crate) waiting: u32,
    pub(crate) limit: u32,
    pub(crate) waiting_max: u32,
    pub(crate) busy: i64,
}

/// One processor of a stack.
pub(crate) struct Server {
    pub(crate) queue: Fifo,
    /// Packet in service, or [`NONE`].
    pub(crate) serving: u32,
    pub(crate) slot: u32,
}

impl StackState {
    /// Creates an idle stack; its slots are set later.
    pub(crate) fn new(stack: &Stack, limit: u32, draw: Draw) -> Self {
        let (servers, send, receive, jitter) = match stack {
            Stack::Zero => (0, Cost::default(), Cost::default(), Jitter::default()),
            Stack::IpRate { service } => {
                let cost = Cost {
                    base: *service,
                    ..Cost::default()
                };
                (1, cost, cost, Jitter::default())
            }
            Stack::Rtos(rtos) => (1, Cost::default(), Cost::default(), rtos.jitter.clone()),
            Stack::Linear(linear) => {
                let servers = match linear.servers {
                    Servers::Shared => 1,
                    Servers::PerDirection => 2,
                };
                (servers, linear.send, linear.receive, linear.jitter.clone())
            }
        };
        let rtos = match stack {
            Stack::Rtos(rtos) => Some(Box::new(rtos.clone())),
            Stack::Zero | Stack::IpRate { .. } | Stack::Linear(_) => None,
        };
        let server = || Server {
            queue: Fifo::default(),
            serving: NONE,
            slot: NONE,
        };
        Self {
            servers,
            server: [server(), server()],
            send,
            receive,
            asks: rtos.is_some(),
            rtos,
            has_jitter: jitter != Jitter::default(),
            jitter,
            draw,
            waiting: 0,
            limit,
            waiting_max: 0,
            busy: 0,
        }
    }

    /// Returns the number of packets in the stack.
    pub(crate) fn occupancy(&self) -> u64 {
        let serving = self
            .server
            .iter()
            .filter(|server| server.serving != NONE)
            .count();
        u64::from(self.waiting) + serving as u64
    }

    /// Returns the server for received packets.
    pub(crate) const fn receiving_server(&self) -> u8 {
        if self.servers == 2 { 1 } else { 0 }
    }

    /// Returns whether a server has nothing to do.
    pub(crate) const fn is_idle(&self, server: u8) -> bool {
        self.server[server as usize].serving == NONE
    }

    /// Draws the jitter of each packet from outside by frame instead of from one sequence.
    pub(crate) const fn draw_by_frame(&mut self) {
        self.asks |= self.has_jitter;
    }

    /// Begins a new sequence of draws.
    pub(crate) fn seed(&mut self, words: &[u64]) {
        self.draw = Draw::seeded(crate::random::mix(words));
    }

    /// Returns the cost of a packet regardless of its kind.
    #[inline]
    pub(crate) fn cost(&mut self, size: i64, is_outbound: bool) -> i64 {
        let cost = if is_outbound { self.send } else { self.receive };
        self.with_jitter(cost, size, is_outbound)
    }

    /// Returns the cost of a packet, by its kind if the stack charges by kind.
    #[cold]
    pub(crate) fn cost_of_kind(&mut self, size: i64, kind: Kind, is_outbound: bool) -> i64 {
        let Some(rtos) = &self.rtos else {
            return self.cost(size, is_outbound);
        };
        let cost = match kind {
            Kind::Message | Kind::Middleware => rtos.datagram,
            Kind::MessageSegment | Kind::Data => rtos.segment,
            Kind::Control => rtos.acknowledgement,
        };
        self.with_jitter(cost, size, is_outbound)
    }

    #[inline]
    fn with_jitter(&mut self, cost: Cost, size: i64, is_outbound: bool) -> i64 {
        let fixed = cost.base.as_ps() + cost.per_octet.as_ps() * size;
        if self.has_jitter {
            fixed + self.draw.jitter(&self.jitter, is_outbound)
        } else {
            fixed
        }
    }
}
