//! Lets a prober ask a device.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use rtether_model::quantity::{Duration, Instant};
use rtether_proto::identify::request::{Dialect, Heard, Outcome};
use rtether_proto::identify::{Ask, End, Prober};

use super::{Line, Received};
use crate::clock::Clock;
use crate::meter::is_passing;

/// How long a wait lasts until a stop is looked for.
const LOOK: Duration = Duration::from_ms(50);
/// Messages in a row that are read before the prober is asked again.
const READS: usize = 64;
/// Messages that are no answers which end a measurement: a device that sends so much is not what it
/// seems to be.
const ODD_MAX: u64 = 10_000;

/// What came that no answer is, and what became of sending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Oddities {
    /// Messages that are no answers of the protocol, or longer than any.
    pub malformed: u64,
    /// Answers from another address.
    pub foreign: u64,
    /// Answers to no packet that was sent.
    pub unknown: u64,
    /// Answers that refuse what was asked; they count as answers.
    pub refused: u64,
    /// Requests that this host could not send.
    pub unsent: u64,
}

/// A prober at work.
pub struct Interview<'a> {
    prober: Prober,
    dialect: &'a Dialect,
    line: &'a mut dyn Line,
    clock: Clock,
    oddities: Oddities,
}

impl<'a> Interview<'a> {
    /// Returns an interview that has not begun.
    pub fn new(prober: Prober, dialect: &'a Dialect, line: &'a mut dyn Line, clock: Clock) -> Self {
        Self { prober, dialect, line, clock, oddities: Oddities::default() }
    }

    /// Asks until the prober is done, or `stop` is set, which ends with `None`. `watch` is called
    /// after each request.
    ///
    /// # Errors
    /// If the line is of no further use; what was observed remains.
    pub fn run(
        &mut self,
        stop: &AtomicBool,
        mut watch: impl FnMut(&Prober),
    ) -> io::Result<Option<End>> {
        while !stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            match self.prober.poll(now) {
                Ask::Done(end) => return Ok(Some(end)),
                Ask::Wait(until) => {
                    self.line.wait((until - now).min(LOOK))?;
                    self.receive()?;
                }
                Ask::Send(packet) => {
                    let request = self.dialect.request(&packet);
                    let Some(request) = request else {
                        self.oddities.unsent += 1;
                        continue;
                    };
                    let at = self.clock.now();
                    let sent = if packet.high {
                        self.line.send_high(packet.id, &request.octets)
                    } else {
                        self.line.send(packet.id, &request.octets)
                    };
                    match sent {
                        Ok(()) => self.prober.sent(packet.id, at, request.frame),
                        Err(error) if is_passing(&error) => self.oddities.unsent += 1,
                        Err(error) => return Err(error),
                    }
                    watch(&self.prober);
                    // Answers to a burst come while it is sent.
                    self.receive()?;
                }
            }
        }
        Ok(None)
    }

    /// Returns the prober with what was observed, and what else came.
    pub fn finish(self) -> (Prober, Oddities) {
        (self.prober, self.oddities)
    }

    /// Reads what has come.
    fn receive(&mut self) -> io::Result<()> {
        for _ in 0..READS {
            let received = self.line.receive()?;
            let now = self.clock.now();
            match received {
                Received::Nothing => return Ok(()),
                Received::TooLong => self.oddities.malformed += 1,
                Received::Foreign(message) => {
                    let is_ours = !matches!(self.dialect.read(message), Ok(None));
                    self.oddities.foreign += u64::from(is_ours);
                }
                Received::Message(message) => match self.dialect.read(message) {
                    Ok(Some(heard)) => self.hear(&heard, now),
                    Ok(None) => {}
                    Err(_) => self.oddities.malformed += 1,
                },
            }
            let Oddities { malformed, foreign, unknown, .. } = self.oddities;
            let doubled = self.prober.counters().doubled + self.prober.counters().unknown;
            if malformed + foreign + unknown + doubled > ODD_MAX {
                let error = format!("more than {ODD_MAX} messages came that are no answers");
                return Err(io::Error::new(io::ErrorKind::InvalidData, error));
            }
        }
        Ok(())
    }

    fn hear(&mut self, heard: &Heard, now: Instant) {
        let latest = u32::try_from(self.prober.counters().sent).ok();
        let id = match heard.token {
            Some((bits, mask)) => self.prober.named(bits, mask),
            None => latest.and_then(|sent| sent.checked_sub(1)),
        };
        match id {
            Some(id) => self.prober.answered(id, now, heard.frame),
            None => self.oddities.unknown += 1,
        }
        self.oddities.refused += u64::from(matches!(heard.outcome, Outcome::Refused(_)));
    }
}

/// Sends one message and waits for an answer, for at most this time; what is no answer is passed
/// over. `None` if there is none, or `stop` is set.
///
/// # Errors
/// Those of the line.
pub fn ask(
    line: &mut dyn Line,
    dialect: &Dialect,
    message: &[u8],
    patience: Duration,
    stop: &AtomicBool,
) -> io::Result<Option<Heard>> {
    let clock = Clock::start();
    let until = clock.now() + patience;
    line.send(0, message)?;
    loop {
        let now = clock.now();
        if now >= until || stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        line.wait((until - now).min(LOOK))?;
        if let Received::Message(message) = line.receive()?
            && let Ok(Some(heard)) = dialect.read(message)
        {
            return Ok(Some(heard));
        }
    }
}
