//! Access scheme of a collision domain: the engine, and what its stations are about to hear.
//!
//! A frame is heard by each station when its last bit arrives there. Control frames are no packets:
//! the medium carries them, stations take them in below their drivers.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use rtether_model::access::{Access, CLASSES, Domain, ORDINARY};
use rtether_model::network::NodeId;
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::wire::wire_time;
use rtether_proto::access::{Control, Engine, Heard, Message, Queue, Return, Turn};

use crate::agenda::{Agenda, NEVER};
use crate::packet::NONE;

/// Name of every control frame at the medium.
pub(crate) const CONTROL_FRAME: u32 = NONE - 1;

/// The access scheme of one collision domain.
pub(crate) struct AccessState {
    engine: Engine,
    posts: Vec<Post>,
    /// What stations will hear, by time and order of the frames.
    ears: BTreeMap<(i64, u64), Ear>,
    ears_so_far: u64,
    slot: u32,
    /// Numbers of control frames that reach no station, ascending.
    lost: Vec<u64>,
    rate: BitRate,
    control: u64,
    control_time: Duration,
    /// Whether the last control frame was lost.
    was_lost: bool,
    aboard: Vec<Cargo>,
    relays: Vec<Relay>,
    returned: Option<Returned>,
}

/// A summation frame that has come back.
pub(crate) struct Returned {
    at: i64,
    /// The master's station.
    pub(crate) master: u32,
    pub(crate) back: Return,
    /// What was in it. The next frame may be under way before this is handled.
    pub(crate) cargo: Vec<Cargo>,
}

/// A frame in a summation frame that is under way.
#[derive(Clone, Copy)]
pub(crate) struct Cargo {
    /// Station that has put it in.
    pub(crate) station: u32,
    pub(crate) id: u32,
    pub(crate) class: u8,
}

/// A frame that the master has got back and passes on.
#[derive(Clone, Copy)]
pub(crate) struct Relay {
    /// Port that sent it.
    pub(crate) sender: u32,
    /// Station of the medium that takes it out.
    pub(crate) to: u32,
    /// Port of that station.
    pub(crate) receiver: u32,
    pub(crate) id: u32,
    pub(crate) class: u8,
}

/// A station of the medium.
#[derive(Clone, Copy)]
struct Post {
    /// When it asks again for its turn.
    wake: i64,
    /// Control frame that it is sending.
    control: Option<Control>,
    /// What the data frame that it is sending tells those who hear it.
    data: Heard,
    silent_from: i64,
    /// Octets of the largest frame of each class that it may send.
    largest: [u64; CLASSES],
}

/// Something that a station is about to hear.
struct Ear {
    station: u32,
    from: u32,
    heard: Heard,
}

impl AccessState {
    /// Creates the state for the nodes of a domain, in the order of the medium's stations.
    pub(crate) fn new(access: &Access, domain: &Domain, stations: &[NodeId]) -> Box<Self> {
        let post = |node: &NodeId| {
            let member = access.members.iter().find(|own| own.node == *node);
            let mut silent = access.faults.silent.iter();
            let silent = silent.find(|(own, _)| own == node);
            Post {
                wake: NEVER,
                control: None,
                data: Heard::Data { class: 0, note: 0 },
                silent_from: silent.map_or(NEVER, |(_, from)| from.as_ps()),
                largest: member.map_or([0; CLASSES], |own| own.largest.map(Bytes::get)),
            }
        };
        let mut lost = access.faults.lost.clone();
        lost.sort_unstable();
        let engine = Engine::new(access, domain, stations);
        let mut posts: Vec<Post> = stations.iter().map(post).collect();
        for (station, post) in (0u32..).zip(&mut posts) {
            if engine.is_member(station) {
                post.wake = 0;
            }
        }
        Box::new(Self {
            engine,
            posts,
            ears: BTreeMap::new(),
            ears_so_far: 0,
            slot: NONE,
            lost,
            rate: domain.rate,
            control: 0,
            control_time: Duration::ZERO,
            was_lost: false,
            aboard: Vec::new(),
            relays: Vec::new(),
            returned: None,
        })
    }

    pub(crate) const fn set_slot(&mut self, slot: u32) {
        self.slot = slot;
    }

    /// Returns whether a station of the medium follows the scheme.
    pub(crate) fn is_member(&self, station: u32) -> bool {
        self.engine.is_member(station)
    }

    /// Returns whether a station may send frames of this class and size.
    pub(crate) fn admits(&self, station: u32, class: u8, size: u64) -> bool {
        size <= self.posts[station as usize].largest[usize::from(class)]
    }

    /// Returns whether a station is sending a control frame.
    pub(crate) fn is_controlling(&self, station: u32) -> bool {
        self.posts[station as usize].control.is_some()
    }

    /// Returns the control frame that a station is sending.
    pub(crate) fn controlling(&self, station: u32) -> Option<Control> {
        self.posts[station as usize].control
    }

    /// Asks the engine what a station does; it is not sending.
    pub(crate) fn poll(&mut self, now: i64, station: u32, queue: &Queue) -> Turn {
        // A frame may come to its queue in the picosecond in which it hears something.
        self.listen(now);
        let post = &mut self.posts[station as usize];
        post.wake = NEVER;
        if now >= post.silent_from {
            return Turn::Silent;
        }
        let turn = self.engine.poll(Instant::from_ps(now), station, queue);
        match turn {
            Turn::Control(control) => post.control = Some(control),
            Turn::Data { class, note } => post.data = Heard::Data { class, note },
            Turn::NotBefore(time) => post.wake = time.as_ps(),
            Turn::Load { .. } | Turn::Silent => {}
        }
        turn
    }

    /// Makes a station ask again at this time: its queues held back the frame of its turn.
    pub(crate) fn wake_at(&mut self, station: u32, time: i64) {
        self.posts[station as usize].wake = time;
    }

    /// Notes that the last bit of a station's frame leaves, which stations hear after the delay
    /// from it to them.
    pub(crate) fn ended(&mut self, now: i64, from: u32, delay: impl Fn(u32) -> i64) {
        let post = &mut self.posts[from as usize];
        let control = post.control.take();
        let is_lost = control.is_some_and(|control| {
            self.control += 1;
            let data = self.rate.time_ceil(control.message.carried());
            self.control_time += wire_time(control.size, self.rate) - data;
            self.lost.binary_search(&self.control).is_ok()
        });
        self.was_lost = is_lost;
        let heard = control.map_or(post.data, |control| Heard::Control(control.message));
        for station in (0u32..).take(self.posts.len()) {
            if let Some(way) = self.engine.way(station) {
                let heard = if is_lost { Heard::Noise } else { heard };
                self.will_hear(now + way.as_ps(), station, from, heard);
            } else if !is_lost || station == from {
                let after = if station == from { 0 } else { delay(station) };
                self.will_hear(now + after, station, from, heard);
            }
        }
    }

    /// Returns the time from a bit of a summation frame at the master to the same bit at a station.
    pub(crate) fn way(&self, station: u32) -> i64 {
        self.engine.way(station).map_or(0, Duration::as_ps)
    }

    /// Returns whether the last control frame was lost.
    pub(crate) const fn was_lost(&self) -> bool {
        self.was_lost
    }

    /// Puts a frame into the summation frame that passes.
    pub(crate) fn load(&mut self, cargo: Cargo) {
        self.aboard.push(cargo);
    }

    /// Returns the frames in the summation frame that is under way.
    pub(crate) fn aboard(&self) -> &[Cargo] {
        &self.aboard
    }

    /// Takes these out of it.
    pub(crate) fn unload(&mut self) -> Vec<Cargo> {
        core::mem::take(&mut self.aboard)
    }

    /// Keeps a frame until the master passes it on.
    pub(crate) fn keep(&mut self, relay: Relay) {
        self.relays.push(relay);
    }

    /// Returns the frames that the master has to pass on.
    pub(crate) fn relays(&self) -> &[Relay] {
        &self.relays
    }

    /// Takes those that it passes on with this frame: ordinary ones behind the mailbox that they
    /// were in, if it writes one then, and all others with process data.
    pub(crate) fn pass_on(&mut self, message: &Message) -> Vec<Relay> {
        let all = matches!(message, Message::Process { .. });
        let ordinary = matches!(message, Message::Mailbox { of: None, .. });
        let goes = |relay: &&Relay| all || ordinary && relay.class == ORDINARY;
        let (gone, kept) = self.relays.iter().partition(goes);
        self.relays = kept;
        gone
    }

    /// Takes the news of a summation frame that is back at its master.
    pub(crate) const fn take_returned(&mut self) -> Option<Returned> {
        self.returned.take()
    }

    /// Notes that the signal of a station begins, or ends without having been a frame.
    pub(crate) fn signalled(
        &mut self,
        now: i64,
        from: u32,
        begins: bool,
        delay: impl Fn(u32) -> i64,
    ) {
        if !self.engine.hears_begin() {
            return;
        }
        let heard = if begins { Heard::Busy } else { Heard::Noise };
        for station in (0u32..).take(self.posts.len()) {
            if station != from {
                let way = self.engine.way(station).map(Duration::as_ps);
                let after = way.unwrap_or_else(|| delay(station));
                self.will_hear(now + after, station, from, heard);
            }
        }
    }

    fn will_hear(&mut self, at: i64, station: u32, from: u32, heard: Heard) {
        let ear = Ear { station, from, heard };
        self.ears.insert((at, self.ears_so_far), ear);
        self.ears_so_far += 1;
    }

    /// Notes that the medium has given up the frame of a station.
    pub(crate) fn given_up(&mut self, now: i64, station: u32) {
        let post = &mut self.posts[station as usize];
        post.control = None;
        post.wake = now;
    }

    /// Lets stations hear what is due; they may do something then.
    fn listen(&mut self, now: i64) {
        while let Some(entry) = self.ears.first_entry()
            && entry.key().0 <= now
        {
            let ((at, _), ear) = entry.remove_entry();
            let time = Instant::from_ps(at);
            let back = self.engine.hear(time, ear.station, ear.from, &ear.heard);
            if let Some(back) = back {
                self.returned =
                    Some(Returned { at, master: ear.station, back, cargo: self.unload() });
            }
            self.posts[ear.station as usize].wake = now;
        }
    }

    /// Lets stations hear what is due, and returns those that may do something now, in order.
    pub(crate) fn wake(&mut self, now: i64) -> Vec<u32> {
        self.listen(now);
        let posts = (0u32..).zip(&self.posts);
        let awake = posts.filter(|(_, post)| post.wake <= now);
        awake.map(|(station, _)| station).collect()
    }

    /// Sets the timer for what is due next.
    pub(crate) fn set_timer(&self, agenda: &mut Agenda) {
        let heard = self.ears.first_key_value().map(|(key, _)| key.0);
        let woken = self.posts.iter().map(|post| post.wake).min();
        let returned = self.returned.as_ref().map(|own| own.at);
        let next = heard.into_iter().chain(woken).chain(returned).min();
        agenda.set(self.slot, next.unwrap_or(NEVER));
    }

    /// Returns the number of control frames sent, and their time.
    pub(crate) const fn control(&self) -> (u64, Duration) {
        (self.control, self.control_time)
    }
}
