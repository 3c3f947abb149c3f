//! The side that answers the probes of [`super::Paths`].

use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::wire;

use super::message::{self, Malformed};

/// Answers may take 1/`SHARE` of the link's time.
const SHARE: i64 = 50;
/// Largest number of answers in a burst.
const BURST: i64 = 16;

/// Why a probe is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declined {
    /// It is not a probe.
    Malformed(Malformed),
    /// There were too many probes.
    TooMany,
}

/// Answers probes with the same number of octets, using at most a fiftieth of the link's time, so
/// that probes with forged senders cannot be used to flood a station.
#[derive(Clone, Copy, Debug)]
pub struct Answers {
    /// Average interval between two answers.
    every: Duration,
    /// Time saved up for further answers.
    saved: Duration,
    updated_at: Instant,
}

impl Answers {
    /// Creates the answering side for a link of this rate.
    pub fn new(now: Instant, rate: BitRate) -> Self {
        let every = wire::occupancy(wire::MIN_FRAME + TAG, rate) * SHARE;
        Self { every, saved: every * BURST, updated_at: now }
    }

    /// Turns a probe into its answer, in place; `received_at` and `now` are by this host's clock.
    ///
    /// # Errors
    /// If it is not a probe, or there have been too many recently.
    pub fn answer(
        &mut self,
        payload: &mut [u8],
        received_at: Instant,
        now: Instant,
    ) -> Result<(), Declined> {
        let passed = (now - self.updated_at).max(Duration::ZERO);
        self.updated_at = self.updated_at.max(now);
        self.saved = (self.saved + passed.min(self.every * BURST)).min(self.every * BURST);
        if self.saved < self.every {
            return Err(Declined::TooMany);
        }
        message::answer(payload, received_at, now).map_err(Declined::Malformed)?;
        self.saved -= self.every;
        Ok(())
    }
}

/// Size of a tag.
const TAG: Bytes = Bytes::new(4);

#[cfg(test)]
mod tests {
    use super::super::message::{Kind, Message, SIZE_MIN};
    use super::*;

    fn request() -> [u8; SIZE_MIN] {
        let mut payload = [0; SIZE_MIN];
        let request = Message { session: 7, sequence: 8, kind: Kind::Request };
        assert!(request.write(&mut payload));
        payload
    }

    /// Oracle: by hand. A tagged frame of 68 octets is 88 on the wire, 704 bit: 70.4 us at 10
    /// Mbit/s, so a fiftieth of the time allows one every 3.52 ms; 16 may leave at once.
    #[test]
    fn answers_take_a_fiftieth_of_the_link() {
        let at = |us| Instant::ZERO + Duration::from_us(us);
        let mut side = Answers::new(at(0), BitRate::from_mbps(10));
        let mut ask = |us| side.answer(&mut request(), at(us), at(us)).is_ok();
        assert_eq!((0..100).filter(|_| ask(0)).count(), 16);
        assert!(!ask(3_519));
        assert!(ask(3_520) && !ask(3_520));
        let over_a_second = (1..=10_000).filter(|n| ask(3_520 + n * 100)).count();
        // 1 s / 3.52 ms = 284.09.
        assert_eq!(over_a_second, 284);
        // The saved time is limited.
        let much_later = 100_000_000;
        assert_eq!((0..100).filter(|_| ask(much_later)).count(), 16);
    }

    #[test]
    fn what_is_no_probe_is_neither_answered_nor_charged() {
        let mut side = Answers::new(Instant::ZERO, BitRate::from_mbps(10));
        let now = Instant::ZERO;
        for _ in 0..100 {
            let mut answer = request();
            answer[3] = 2;
            let declined = side.answer(&mut answer, now, now);
            let foreign = Malformed::Foreign { offset: 3 };
            assert_eq!(declined, Err(Declined::Malformed(foreign)));
        }
        let received_at = Instant::ZERO + Duration::from_us(5);
        let mut payload = request();
        assert_eq!(side.answer(&mut payload, received_at, received_at), Ok(()));
        let hold = Duration::ZERO;
        let kind = Kind::Reply { hold, received_at };
        assert_eq!(Message::parse(&payload).map(|found| found.kind), Ok(kind));
    }
}
