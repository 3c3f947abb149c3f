//! The same rules stepped bit by bit, with separate processes per station, as written in 4.2.8.
//!
//! Every quantity is a whole number of bit times. In each bit a station first decides, knowing
//! what it sensed in the bits before, and then senses the bit.

use alloc::collections::VecDeque;
use std::vec::Vec;

use super::super::Backoff;
use super::super::backoff::Dice;
use super::{End, Offer, Transmission};

/// The process Deference.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Deference {
    Watching,
    Busy,
    /// Silent bits so far.
    Gap(i64),
}

struct Station {
    queue: VecDeque<u64>,
    frame: Option<u64>,
    attempts: u32,
    ready: i64,
    deference: Deference,
    was_transmitting: bool,
    sending: Option<Transmission>,
    dice: Dice,
}

/// Returns the transmissions that end before `until`.
pub(super) fn run(
    backoff: Backoff,
    repeater: i64,
    stations: &[(i64, u64)],
    offers: &[Offer],
    until: i64,
) -> Vec<Transmission> {
    let mut all: Vec<Station> = stations.iter().map(|&(_, seed)| Station::new(seed)).collect();
    // Bits in which each station transmits.
    let mut sent = std::vec![std::vec![false; usize::try_from(until).unwrap()]; stations.len()];
    let mut done = Vec::new();
    for now in 0..until {
        for offer in offers.iter().filter(|offer| offer.at == now) {
            all[offer.station as usize].queue.push_back(offer.octets);
        }
        for (number, station) in (0..).zip(&mut all) {
            station.end(now, backoff, &mut done);
            station.decide(now, number);
            sent[number as usize][usize::try_from(now).unwrap()] = station.sending.is_some();
        }
        for (number, station) in all.iter_mut().enumerate() {
            let hears = (0..stations.len()).filter(|&other| other != number).any(|other| {
                let then = now - stations[number].0 - repeater - stations[other].0;
                usize::try_from(then).is_ok_and(|then| sent[other][then])
            });
            station.sense(now, hears);
        }
    }
    done.sort_unstable();
    done
}

impl Station {
    fn new(seed: u64) -> Self {
        Self {
            queue: VecDeque::new(),
            frame: None,
            attempts: 0,
            ready: 0,
            deference: Deference::Watching,
            was_transmitting: false,
            sending: None,
            dice: Dice::new(seed),
        }
    }

    fn end(&mut self, now: i64, backoff: Backoff, done: &mut Vec<Transmission>) {
        let Some(mut sending) = self.sending.filter(|sending| sending.end == now) else {
            return;
        };
        self.sending = None;
        if let Some(detected) = sending.detected {
            if detected - sending.start >= 512 {
                sending.end_of_frame = Some(End::Late);
            } else if self.attempts == 16 {
                sending.end_of_frame = Some(End::Excessive);
            } else {
                self.ready = now + 512 * self.dice.slots(backoff, self.attempts);
            }
        } else {
            sending.end_of_frame = Some(End::Sent(self.attempts));
        }
        if sending.end_of_frame.is_some() {
            self.frame = None;
        }
        done.push(sending);
    }

    fn decide(&mut self, now: i64, number: u32) {
        if self.sending.is_some() {
            return;
        }
        if self.frame.is_none() {
            self.frame = self.queue.pop_front();
            self.attempts = 0;
            self.ready = now;
        }
        if self.deference == Deference::Gap(96) {
            self.deference = Deference::Watching;
        }
        let Some(octets) = self.frame else { return };
        if self.deference == Deference::Watching && now >= self.ready {
            self.attempts += 1;
            let bits = i64::try_from((8 + octets) * 8).unwrap();
            self.sending = Some(Transmission {
                start: now,
                station: number,
                end: now + bits,
                detected: None,
                end_of_frame: None,
            });
        }
    }

    fn sense(&mut self, now: i64, hears: bool) {
        let transmits = self.sending.is_some();
        if let Some(sending) = &mut self.sending
            && hears
            && sending.detected.is_none()
        {
            sending.detected = Some(now);
            sending.end = now.max(sending.start + 64) + 32;
        }
        let carrier = hears || transmits;
        self.deference = match self.deference {
            Deference::Watching if carrier => {
                self.was_transmitting = transmits;
                Deference::Busy
            }
            Deference::Watching => Deference::Watching,
            Deference::Busy if carrier => {
                self.was_transmitting |= transmits;
                Deference::Busy
            }
            Deference::Busy => Deference::Gap(1),
            Deference::Gap(silent) if carrier && silent < 64 && !self.was_transmitting => {
                Deference::Busy
            }
            Deference::Gap(silent) => Deference::Gap(silent + 1),
        };
    }
}
