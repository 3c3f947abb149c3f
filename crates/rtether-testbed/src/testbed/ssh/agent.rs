//! The agent, which plays an end station on its host.
//!
//! Three threads besides those of the station: one reads the orders of the coordinator and answers
//! clock requests at once, one carries out the other orders, and the caller's watches that the
//! coordinator is still there. If it is gone, the caller gets an error and ends the program with
//! all its threads.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration as Span;

use rtether_live::clock::{monotonic_and_real_ns, monotonic_ns};
use rtether_live::host;

use super::records;
use super::station::{Event, Player, Ready, StationLogs};
use super::wire::{self, FORMAT, Lines, Order, Reading, Role, Word};
use crate::ssh::harmless;
use rtether::scenario::MAX_FILE_SIZE;

/// The coordinator sends something every second; after this silence it counts as gone.
const SILENCE: i64 = 15_000_000_000;
/// How often the silence is checked.
const LOOK: Span = Span::from_secs(1);
/// Orders queued.
const WAITING: usize = 16;
/// Largest number of overrides of a scenario.
const CHANGES_MAX: usize = 10_000;

/// Why an agent ended early.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// It cannot carry out an order; the coordinator has been told.
    #[error("{why}")]
    Refused {
        /// The reason, with a remedy.
        why: String,
        /// Whether the order is wrong, rather than this host.
        is_input: bool,
    },
    /// The coordinator sent something else.
    #[error(
        "the input is not from a coordinator of rtether: {0}; `rtether live --backend ssh` is one"
    )]
    Malformed(String),
    /// The connection ended.
    #[error("the coordinator is gone")]
    Closed,
}

/// Sends words, one per line.
struct Outlet<W>(Arc<Mutex<W>>);

impl<W> Clone for Outlet<W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<W: Write> Outlet<W> {
    fn say(&self, word: &Word) -> Result<(), AgentError> {
        let Some(line) = wire::line(word) else {
            return Err(unfit("what was found does not fit a line".into()));
        };
        let mut outlet = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let written = outlet.write_all(line.as_bytes());
        written.and_then(|()| outlet.flush()).map_err(|_| AgentError::Closed)
    }
}

/// Plays an end station as ordered by the coordinator at the other end of `input` and `output`,
/// until the coordinator is gone. The program should then exit: threads may remain that wait for
/// it.
///
/// # Errors
/// Why it ended early.
pub fn serve(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<(), AgentError> {
    let outlet = Outlet(Arc::new(Mutex::new(output)));
    let heard = Arc::new(AtomicI64::new(monotonic_ns()));
    let (events, orders) = mpsc::sync_channel(WAITING);
    let (ended, end) = mpsc::sync_channel(1);
    let reader = (outlet.clone(), Arc::clone(&heard), events.clone());
    std::thread::spawn(move || {
        let (outlet, heard, events) = reader;
        listen(input, &outlet, &heard, &events);
    });
    std::thread::spawn(move || {
        let mut agent = Agent { outlet, orders, events };
        let result = agent.run();
        if let Err(error) = &result {
            // The coordinator may be gone.
            drop(agent.tell(error));
        }
        drop(ended.send(result));
    });
    loop {
        match end.recv_timeout(LOOK) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(unfit("a thread of it ended".into()));
            }
        }
        if monotonic_ns() - heard.load(Ordering::Relaxed) > SILENCE {
            return Err(AgentError::Closed);
        }
    }
}

/// Forwards orders, and answers clock requests.
fn listen<W: Write>(
    input: impl Read,
    outlet: &Outlet<W>,
    heard: &AtomicI64,
    events: &SyncSender<Event>,
) {
    let mut lines = Lines::new(input);
    loop {
        let line = lines.next();
        let (monotonic, real) = monotonic_and_real_ns();
        heard.store(monotonic, Ordering::Relaxed);
        let event = match line {
            Ok(Some(line)) => match wire::parse(&line) {
                Ok(Order::Tick) => continue,
                Ok(Order::Clock(number)) => {
                    let reading =
                        Reading { number, monotonic, real, error_us: host::clock_error_us() };
                    if outlet.say(&Word::Clock(reading)).is_ok() {
                        continue;
                    }
                    Event::Closed
                }
                Ok(order) => Event::Order(order),
                Err(what) => Event::Malformed(what),
            },
            Ok(None) => Event::Closed,
            Err(what) => Event::Malformed(what),
        };
        let is_last = !matches!(event, Event::Order(_));
        if events.send(event).is_err() || is_last {
            return;
        }
    }
}

struct Agent<W> {
    outlet: Outlet<W>,
    orders: Receiver<Event>,
    events: SyncSender<Event>,
}

impl<W: Write> Agent<W> {
    fn run(&mut self) -> Result<(), AgentError> {
        self.outlet.say(&Word::Hello {
            version: env!("CARGO_PKG_VERSION").into(),
            format: FORMAT.into(),
        })?;
        let order = self.order()?;
        let Order::Role(role) = order else {
            return Err(out_of_turn(&order));
        };
        let text = self.text()?;
        let player = player(&role, &text)?;
        self.outlet.say(&Word::Here(player.here.clone()))?;
        let order = self.order()?;
        let Order::Peers(addresses) = order else {
            return Err(out_of_turn(&order));
        };
        let stop = Arc::new(AtomicBool::new(false));
        let (begin, start) = mpsc::sync_channel(1);
        let ready =
            Ready { addresses, events: self.events.clone(), start, stop: Arc::clone(&stop) };
        std::thread::spawn(move || player.play(ready));
        let found = self.conduct(&begin, &stop)?;
        let order = self.order()?;
        if order != Order::Report {
            return Err(out_of_turn(&order));
        }
        records::say(&found, |word| self.outlet.say(word))?;
        // The coordinator closes the connection.
        match self.order() {
            Err(AgentError::Closed) => Ok(()),
            Err(error) => Err(error),
            Ok(order) => Err(out_of_turn(&order)),
        }
    }

    /// Reports to the coordinator why the agent cannot continue.
    fn tell(&self, error: &AgentError) -> Result<(), AgentError> {
        let is_input = match error {
            AgentError::Refused { is_input, .. } => *is_input,
            AgentError::Malformed(_) => true,
            AgentError::Closed => return Ok(()),
        };
        let why = harmless(&error.to_string());
        self.outlet.say(&Word::Failed { why, is_input })
    }

    /// Returns the next order.
    fn order(&self) -> Result<Order, AgentError> {
        match self.orders.recv() {
            Ok(Event::Order(order)) => Ok(order),
            Ok(Event::Malformed(what)) => Err(AgentError::Malformed(what)),
            Ok(Event::Closed | Event::Opened(_) | Event::Ended(_)) | Err(_) => {
                Err(AgentError::Closed)
            }
        }
    }

    /// Collects the scenario text.
    fn text(&self) -> Result<String, AgentError> {
        let mut text = String::new();
        loop {
            self.outlet.say(&Word::More)?;
            let order = self.order()?;
            let Order::Text(piece) = order else {
                return Err(out_of_turn(&order));
            };
            if piece.is_empty() {
                return Ok(text);
            }
            if text.len() + piece.len() > MAX_FILE_SIZE {
                return Err(AgentError::Malformed("a scenario without end".into()));
            }
            text.push_str(&piece);
        }
    }

    /// Starts and stops the station as ordered; returns what it found.
    fn conduct(
        &self,
        begin: &SyncSender<i64>,
        stop: &AtomicBool,
    ) -> Result<StationLogs, AgentError> {
        loop {
            match self.orders.recv() {
                Ok(Event::Opened(Ok(()))) => self.outlet.say(&Word::Ready)?,
                Ok(Event::Opened(Err(why)) | Event::Ended(Err(why))) => {
                    return Err(unfit(why));
                }
                Ok(Event::Order(Order::Start(at))) => {
                    // A second start has no receiver.
                    let _ = begin.try_send(at);
                }
                Ok(Event::Order(Order::Stop)) => stop.store(true, Ordering::Relaxed),
                Ok(Event::Ended(Ok(found))) => {
                    self.outlet.say(&Word::Done)?;
                    return Ok(found);
                }
                Ok(Event::Order(order)) => return Err(out_of_turn(&order)),
                Ok(Event::Malformed(what)) => return Err(AgentError::Malformed(what)),
                Ok(Event::Closed) | Err(_) => return Err(AgentError::Closed),
            }
        }
    }
}

fn player(role: &Role, text: &str) -> Result<Player, AgentError> {
    if role.changes.len() > CHANGES_MAX {
        return Err(AgentError::Malformed("too many changes".into()));
    }
    Player::new(role, text)
        .map_err(|refusal| AgentError::Refused { why: refusal.why, is_input: refusal.is_input })
}

fn unfit(why: String) -> AgentError {
    AgentError::Refused { why, is_input: false }
}

fn out_of_turn(order: &Order) -> AgentError {
    let text = harmless(&format!("{order:?}"));
    AgentError::Malformed(format!("`{text}` is out of turn"))
}
