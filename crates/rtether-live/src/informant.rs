//! Details of itself that a responder adds to replies on request.

use std::collections::VecDeque;

use rtether_proto::probe::details::{self, Details, Earlier};
use rtether_proto::probe::message::Message;

use crate::host;
use crate::timestamping::{RealNs, Sent, StampPoint};
use crate::wall::real_now;

/// Interval at which the kernel's clock error is read, in nanoseconds.
const ASK: RealNs = 1_000_000_000;
/// Replies kept for stamps that may still arrive.
const WAITING: usize = 8;

/// Fills in the details of replies.
#[derive(Debug)]
pub(crate) struct Informant {
    pub(crate) is_stamped: bool,
    host: [u8; 16],
    clock_error_us: Option<u32>,
    asked_at: RealNs,
    /// Number of payloads sent on the socket.
    number: u32,
    /// The request being answered.
    sequence: u32,
    sent: VecDeque<(u32, Earlier)>,
}

impl Informant {
    pub(crate) fn new() -> Self {
        Self {
            is_stamped: false,
            // An identity of zeros means unknown.
            host: host::identity().unwrap_or_default(),
            clock_error_us: None,
            asked_at: 0,
            number: 0,
            sequence: 0,
            sent: VecDeque::with_capacity(WAITING),
        }
    }

    /// Fills in the details of a reply that asks for them.
    pub(crate) fn inform(&mut self, reply: &mut [u8], arrived_at: Option<RealNs>) {
        if !details::are_in(reply) {
            return;
        }
        let read_at = real_now();
        if (read_at - self.asked_at).abs() > ASK {
            self.clock_error_us = host::clock_error_us();
            self.asked_at = read_at;
        }
        self.sequence = Message::parse(reply).map_or(0, |message| message.sequence);
        let details = Details {
            host: self.host,
            clock_error_us: self.clock_error_us,
            arrived_at: arrived_at.filter(|_| self.is_stamped),
            read_at,
            answered_at: real_now(),
            earlier: self.sent.back().map_or_else(Earlier::default, |(_, earlier)| *earlier),
        };
        details.write(reply);
    }

    /// Notes that a payload was sent.
    pub(crate) fn on_send(&mut self) {
        if !self.is_stamped {
            return;
        }
        if self.sent.len() == WAITING {
            self.sent.pop_front();
        }
        let earlier = Earlier { sequence: self.sequence, ..Earlier::default() };
        self.sent.push_back((self.number, earlier));
        self.number = self.number.wrapping_add(1);
    }

    /// Takes a stamp.
    pub(crate) fn on_stamp(&mut self, stamp: Sent) {
        let mut all = self.sent.iter_mut().rev();
        if let Some((_, reply)) = all.find(|(number, _)| *number == stamp.number) {
            match stamp.place {
                StampPoint::Queue => reply.queued_at = Some(stamp.at),
                StampPoint::Driver => reply.driver_at = Some(stamp.at),
            }
        }
    }
}
