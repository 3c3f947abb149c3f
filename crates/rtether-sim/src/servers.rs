//! The servers of an end station's stack: costs, jitter, queues.

use alloc::boxed::Box;

use rtether_model::network::{Cost, Jitter, RtosStack, Servers, Stack};
use rtether_model::quantity::Duration;
use rtether_model::record::NodeRecord;

use crate::agenda::{Agenda, NEVER};
use crate::kind::Kind;
use crate::packet::{Fifo, NONE, Pool};
use crate::random::Draw;

/// The servers of a stack: one FIFO server for both directions or one for each (catalogue 0.3). Its
/// queue is limited.
pub(crate) struct StackState {
    servers: u8,
    server: [Server; 2],
    send: Cost,
    receive: Cost,
    /// Costs by kind of packet instead of those above.
    rtos: Option<Box<RtosStack>>,
    jitter: Jitter,
    has_jitter: bool,
    draw: Draw,
    /// Whether the cost depends on more than size and direction: on the kind of the packet, or on a
    /// draw of its own.
    asks: bool,
    /// Packets waiting, their limit and the largest number seen.
    waiting: u32,
    limit: u32,
    waiting_max: u32,
    busy: i64,
}

/// One processor of a stack.
struct Server {
    queue: Fifo,
    /// Packet in service, or [`NONE`].
    serving: u32,
    slot: u32,
}

impl Server {
    fn serving(&self) -> Option<u32> {
        (self.serving != NONE).then_some(self.serving)
    }
}

/// What becomes of a packet that enters a stack.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry {
    /// This server is idle and serves it.
    Serve(u8),
    /// It waits.
    Wait,
    /// The queue is full.
    Full,
}

impl StackState {
    /// Creates an idle stack; its slots are set later.
    pub(crate) fn new(stack: &Stack, limit: u32, draw: Draw) -> Self {
        let (servers, send, receive, jitter) = match stack {
            Stack::Zero => (0, Cost::default(), Cost::default(), Jitter::default()),
            Stack::IpRate { service } => {
                let cost = Cost { base: *service, ..Cost::default() };
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
        let server = || Server { queue: Fifo::default(), serving: NONE, slot: NONE };
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

    /// Gives a server its timer.
    pub(crate) const fn set_slot(&mut self, server: u8, slot: u32) {
        self.server[server as usize].slot = slot;
    }

    /// Returns the number of servers; zero for zero processing time.
    pub(crate) const fn servers(&self) -> u8 {
        self.servers
    }

    /// Takes in a packet.
    #[inline]
    pub(crate) fn enter(&mut self, id: u32, is_outbound: bool, pool: &mut Pool) -> Entry {
        let number = u8::from(self.servers == 2 && !is_outbound);
        let server = &mut self.server[usize::from(number)];
        if server.serving == NONE {
            return Entry::Serve(number);
        }
        if self.waiting >= self.limit {
            return Entry::Full;
        }
        server.queue.push(pool, id);
        self.waiting += 1;
        self.waiting_max = self.waiting_max.max(self.waiting);
        Entry::Wait
    }

    /// Begins to serve a packet for the time `cost`, until `due`.
    #[inline]
    pub(crate) fn begin(&mut self, server: u8, id: u32, cost: i64, due: i64, agenda: &mut Agenda) {
        self.busy += cost;
        let server = &mut self.server[usize::from(server)];
        server.serving = id;
        agenda.set(server.slot, due);
    }

    /// Ends the service of a packet and returns it. The server then begins the next one, or rests.
    #[inline]
    pub(crate) const fn complete(&mut self, server: u8) -> u32 {
        core::mem::replace(&mut self.server[server as usize].serving, NONE)
    }

    /// Removes and returns the packet that has waited longest for a server.
    #[inline]
    pub(crate) fn next(&mut self, server: u8, pool: &Pool) -> Option<u32> {
        let next = self.server[usize::from(server)].queue.pop(pool)?;
        self.waiting -= 1;
        Some(next)
    }

    /// Clears the timer of a server that has nothing to do.
    #[inline]
    pub(crate) fn rest(&self, server: u8, agenda: &mut Agenda) {
        agenda.set(self.server[usize::from(server)].slot, NEVER);
    }

    /// Notes how many packets wait in the receive queues above the stack.
    pub(crate) fn note_waiting(&mut self, waiting: u64) {
        let waiting = u32::try_from(waiting).unwrap_or(u32::MAX);
        self.waiting_max = self.waiting_max.max(waiting);
    }

    /// Returns the packets being served or waiting.
    pub(crate) fn packets<'a>(&'a self, pool: &'a Pool) -> impl Iterator<Item = u32> + 'a {
        let servers = self.server.iter();
        servers.flat_map(|server| server.serving().into_iter().chain(server.queue.iter(pool)))
    }

    /// Enters its counters at `now` in the record of its node.
    pub(crate) fn count_in(&self, record: &mut NodeRecord, pool: &Pool, now: i64) {
        let serving = self.server.iter().filter_map(Server::serving);
        let ahead: i64 = serving.clone().map(|id| pool.get(id).due - now).sum();
        record.in_stack = u64::from(self.waiting) + serving.count() as u64;
        record.stack_queue_max = self.waiting_max;
        record.stack_busy = Duration::from_ps(self.busy - ahead);
    }

    /// Returns whether the cost of a packet depends on its kind, or on a draw of its own.
    #[inline]
    pub(crate) const fn asks(&self) -> bool {
        self.asks
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
        if self.has_jitter { fixed + self.draw.jitter(&self.jitter, is_outbound) } else { fixed }
    }
}
