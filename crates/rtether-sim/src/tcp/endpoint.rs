//! One end of a connection that carries data both ways.
//!
//! Joins the engines of the two directions: a segment with data also carries the acknowledgement of
//! the other direction, so that an answer sent soon enough needs no separate one (RFC 1122,
//! 4.2.3.2). The connection has long been open and never ends, without handshake and FIN.

use rtether_model::quantity::{Bytes, Instant};

use super::segment::Segment;
use super::{Config, Receiver, Sender, SenderStatistics};

/// Sends and receives.
///
/// The drain rule of the engines holds, with one exception: data that the application writes at
/// once in response to a segment may follow `handle_segment` directly, and then carries its
/// acknowledgement.
#[derive(Clone, Debug)]
pub struct Endpoint {
    sender: Sender,
    receiver: Receiver,
}

impl Endpoint {
    /// Returns one end of an open, idle connection whose other end has the same parameters.
    ///
    /// # Panics
    /// If `config` has a size, a count or a timeout of zero.
    pub fn connected(config: Config) -> Self {
        Self {
            sender: Sender::connected(config, config.receive_window),
            receiver: Receiver::connected(config),
        }
    }

    /// Makes `size` more octets available for sending.
    pub fn write(&mut self, now: Instant, size: Bytes) {
        self.sender.write(now, size);
    }

    /// Handles a segment of the other end.
    pub fn handle_segment(&mut self, now: Instant, segment: &Segment) {
        self.sender.handle_segment(now, segment);
        self.receiver.handle_segment(now, segment);
    }

    /// Handles the timers that are due.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.sender.handle_timeout(now);
        self.receiver.handle_timeout(now);
    }

    /// Returns the next segment to send now, if any.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        // Only a segment without data counts as a duplicate acknowledgement (RFC 5681, 2), and the
        // other end needs those to detect a hole.
        if self.receiver.has_holes()
            && let Some(duplicate) = self.poll_ack(now)
        {
            return Some(duplicate);
        }
        if let Some(segment) = self.sender.poll_transmit(now) {
            let ack = self.receiver.take_ack();
            return Some(Segment { ack, ..segment });
        }
        self.poll_ack(now)
    }

    /// Returns when to call `handle_timeout`, if ever.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let timers = [self.sender.poll_timeout(), self.receiver.poll_timeout()];
        timers.into_iter().flatten().min()
    }

    /// Returns the octets handed to the application, in order and without gaps.
    pub fn delivered(&self) -> Bytes {
        self.receiver.delivered()
    }

    /// Returns the octets written and not yet acknowledged.
    pub fn backlog(&self) -> Bytes {
        self.sender.backlog()
    }

    /// Returns the counters and estimates of the sending direction.
    pub fn statistics(&self) -> SenderStatistics {
        self.sender.statistics()
    }

    /// Checks the invariants after a call; the error names the one violated.
    pub fn invariants(&self) -> Result<(), &'static str> {
        self.sender.invariants()?;
        self.receiver.invariants()
    }

    fn poll_ack(&mut self, now: Instant) -> Option<Segment> {
        let seq = self.sender.end_of_sent();
        let ack = self.receiver.poll_transmit(now)?;
        Some(Segment { seq, ..ack })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtether_model::quantity::Duration;

    const START: Instant = Instant::ZERO;

    fn pair() -> [Endpoint; 2] {
        let config = Config { nagle: false, ..Config::default() };
        [(); 2].map(|()| Endpoint::connected(config))
    }

    /// Writes `octets` and returns the one segment this causes.
    fn say(end: &mut Endpoint, now: Instant, octets: u64) -> Segment {
        end.write(now, Bytes::new(octets));
        let segment = end.poll_transmit(now).unwrap();
        assert_eq!(end.poll_transmit(now), None);
        segment
    }

    #[test]
    fn an_answer_carries_the_acknowledgement() {
        // Oracle: RFC 1122, 4.2.3.2, by hand.
        let [mut a, mut b] = pair();
        let request = say(&mut a, START, 100);
        assert_eq!((request.seq, request.ack, request.len), (1, 1, 100));
        b.handle_segment(START, &request);
        assert_eq!(b.poll_timeout(), Some(START + Duration::from_ms(40)));
        let answer = say(&mut b, START, 50);
        assert_eq!((answer.seq, answer.ack, answer.len), (1, 101, 50));
        // Only the retransmission timer is left: 1 s before the first measurement.
        assert_eq!(b.poll_timeout(), Some(START + Duration::from_secs(1)));
        a.handle_segment(START, &answer);
        assert_eq!((a.delivered().get(), a.backlog().get()), (50, 0));

        // Without data to send, the acknowledgement waits, then goes alone, with the next number.
        let due = a.poll_timeout().unwrap();
        assert_eq!(due, START + Duration::from_ms(40));
        assert_eq!(a.poll_transmit(START), None);
        a.handle_timeout(due);
        let alone = a.poll_transmit(due).unwrap();
        assert_eq!((alone.seq, alone.ack, alone.len), (101, 51, 0));
        assert!(alone.is_pure_ack());
        b.handle_segment(due, &alone);
        assert_eq!((a.poll_timeout(), b.poll_timeout()), (None, None));
        assert_eq!((a.invariants(), b.invariants()), (Ok(()), Ok(())));
    }

    #[test]
    fn a_hole_is_told_without_data() {
        // Oracle: RFC 5681, 2 and 3.2, by hand: three duplicates without data mean a loss.
        let [mut a, mut b] = pair();
        let lost = say(&mut a, START, 100);
        for number in 1..=3 {
            let late = say(&mut a, START, 100);
            b.write(START, Bytes::new(10));
            b.handle_segment(START, &late);
            let duplicate = b.poll_transmit(START).unwrap();
            assert!(duplicate.is_pure_ack() && duplicate.ack == 1);
            assert_eq!(b.poll_transmit(START).unwrap().len, 10);
            a.handle_segment(START, &duplicate);
            assert_eq!(a.statistics().fast_retransmits, u64::from(number == 3));
        }
        let again = a.poll_transmit(START).unwrap();
        assert_eq!((again.seq, again.len), (lost.seq, 400));
        b.handle_segment(START, &again);
        assert_eq!(b.delivered().get(), 400);
    }
}
