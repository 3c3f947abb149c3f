//! A plan against what a plant sends, while it sends it.
//!
//! A [`Watch`] first learns which stream is which planned flow, by [`against`](crate::against) on
//! some seconds of traffic; from then on it judges frame by frame: times, size and tag of planned
//! flows, and what belongs to none. It has no clock and no socket: frames and times are handed to
//! it, and it tells [`Alert`]s.
//!
//! It is made to run for months. Every table has a limit: flows are those of the plan, strangers are
//! the last thousand, and alerts of one kind for one flow are told again only after a pause; others
//! are counted. Nothing is kept of frames.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use rtether_model::quantity::Duration;
use rtether_model::wire::Encapsulation;
use schemars::JsonSchema;
use serde::Serialize;

use crate::against::{self, Deviation, Row, Times, Way, against};
use crate::import::{Learner, Lesson, Options, Sight, StreamKey};
use crate::scenario::{self, Scenario};

mod grid;
mod monitor;
mod output;

use monitor::{Monitor, Note};
pub(crate) use output::WatchJson;
pub use output::{Outcome, metrics};
use rtether_report::text::{few, plain_line};

/// Most streams that are not in the plan; the one not seen for longest is forgotten.
const MAX_STRANGERS: usize = 1_000;
/// Most alerts in one pause; others are counted.
const MAX_ALERTS: u32 = 100;
/// Least and longest time that it learns if none is stated, in nanoseconds.
const LEARN: (i64, i64) = (10_000_000_000, 600_000_000_000);

/// How to watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Time for learning which stream is which flow; `None` for three and a half of the longest
    /// planned periods, at least ten seconds and at most ten minutes.
    pub learn: Option<Duration>,
    /// Pause after which the same deviation of a flow is told again.
    pub pause: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { learn: None, pause: Duration::from_ms(10_000) }
    }
}

/// Something that an operator should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alert {
    /// When, in nanoseconds of the clock that frames are stamped with.
    pub at: i64,
    /// How a flow differs from the plan; `None` for a remark.
    pub deviation: Option<Deviation>,
    /// Name of the flow, as planned if it is; empty if it is about none.
    pub flow: String,
    /// What was seen.
    pub text: String,
}

impl Alert {
    /// Returns it as a line of text, with the time in UTC (RFC 3339).
    pub fn line(&self) -> String {
        let mut line = moment(self.at);
        if let Some(deviation) = self.deviation {
            _ = write!(line, " {}", deviation.name());
        }
        if !self.flow.is_empty() {
            _ = write!(line, " {}:", plain_line(&self.flow));
        }
        _ = write!(line, " {}", self.text);
        line
    }

    /// Returns it as one object of JSON, without a newline.
    ///
    /// # Panics
    /// Never: its members have text as names.
    pub fn json(&self) -> String {
        let alert = AlertJson {
            at_ns: self.at,
            deviation: self.deviation.map(Deviation::name),
            flow: &self.flow,
            text: &self.text,
        };
        serde_json::to_string(&alert).expect("names are text")
    }
}

/// An alert as one line of JSON.
#[derive(Serialize)]
struct AlertJson<'a> {
    at_ns: i64,
    deviation: Option<&'static str>,
    flow: &'a str,
    text: &'a str,
}

/// Returns nanoseconds since 1970 as date and time, by the proleptic Gregorian calendar.
fn moment(at: i64) -> String {
    const DAY: i64 = 86_400;
    let (seconds, rest) = (at.div_euclid(1_000_000_000), at.rem_euclid(1_000_000_000));
    let (days, second) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    // Years begin in March, so that a leap day is the last one: 400 of them have 146 097 days.
    let day = days + 719_468;
    let (era, day) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!(
        "{:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        era * 400 + year + next,
        second / 3_600,
        second / 60 % 60,
        second % 60,
        rest / 1_000_000
    )
}

/// What takes alerts.
pub type Tell<'t> = &'t mut dyn FnMut(&Alert);

/// Frames so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counts {
    /// Frames seen.
    pub frames: u64,
    /// Of them, those that keep the network going, which no plan has.
    pub service: u64,
    /// Of them, those whose headers could not be read.
    pub unread: u64,
    /// Frames dropped before they were seen.
    pub dropped: u64,
    /// Deviations that were told.
    pub alerts: u64,
    /// Alerts that were only counted.
    pub untold: u64,
    /// Streams beyond the plan that were forgotten for others.
    pub forgotten: u64,
}

/// A stream that is not in the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stranger {
    name: String,
    frames: u64,
    last: i64,
}

/// The planned flows of a stream: GOOSE has two of them.
#[derive(Clone, Copy, Debug, Default)]
struct Binding {
    usual: Option<usize>,
    event: Option<usize>,
    /// Number of the last event, whether it is being repeated, and the last frame.
    state: Option<u64>,
    is_event: bool,
    last: i64,
}

/// Which stations of the plan are which on the wire.
#[derive(Debug, Default)]
struct Stations {
    by_name: BTreeMap<String, [u8; 6]>,
    by_address: BTreeMap<[u8; 6], String>,
}

impl Stations {
    fn note(&mut self, name: &str, address: Option<[u8; 6]>) {
        if let Some(address) = address.filter(|_| !name.is_empty()) {
            self.by_name.insert(name.to_owned(), address);
            self.by_address.insert(address, name.to_owned());
        }
    }

    /// Returns whether a station of the plan may have an address; `None` is that of a group.
    fn agrees(&self, name: &str, address: Option<[u8; 6]>) -> bool {
        let Some(address) = address else {
            return name.is_empty();
        };
        let known = self.by_name.get(name);
        let owner = self.by_address.get(&address);
        !name.is_empty()
            && known.is_none_or(|known| *known == address)
            && owner.is_none_or(|owner| owner == name)
    }

    fn knows(&self, name: &str) -> bool {
        name.is_empty() || self.by_name.contains_key(name)
    }
}

/// How many alerts were told since a begin.
#[derive(Debug, Default)]
struct Budget {
    /// By the monotonic clock: stamps of frames lie before the present time, and a real clock may be
    /// set back, so either could begin a new pause with each alert.
    begin: i64,
    told: u32,
    untold: u64,
}

/// Compares what a plant sends with its plan.
#[derive(Debug)]
pub struct Watch {
    plan: Scenario,
    pause: i64,
    /// Ways of the plan, in the order of [`against`](crate::against).
    monitors: Vec<Monitor>,
    streams: HashMap<StreamKey, Binding>,
    strangers: BTreeMap<StreamKey, Stranger>,
    stations: Stations,
    /// While it learns.
    learner: Option<Learner>,
    learn: i64,
    begin: Option<i64>,
    now: i64,
    /// The monotonic clock at the last tick.
    clock: i64,
    budget: Budget,
    counts: Counts,
}

impl Watch {
    /// Begins to learn.
    pub fn new(plan: Scenario, settings: Settings) -> Self {
        let monitors: Vec<Monitor> = against::ways(&plan).into_iter().map(Monitor::new).collect();
        let longest = monitors.iter().filter_map(Monitor::period).max();
        let usual = longest.unwrap_or(0).saturating_mul(7) / 2;
        let learn = settings.learn.map(Duration::as_ns_floor);
        Self {
            plan,
            pause: settings.pause.as_ns_floor(),
            monitors,
            streams: HashMap::new(),
            strangers: BTreeMap::new(),
            stations: Stations::default(),
            learner: Some(Learner::default()),
            learn: learn.unwrap_or_else(|| usual.clamp(LEARN.0, LEARN.1)),
            begin: None,
            now: i64::MIN,
            clock: 0,
            budget: Budget::default(),
            counts: Counts::default(),
        }
    }

    /// Returns how long it learns.
    pub const fn learning(&self) -> Duration {
        Duration::from_ns(self.learn)
    }

    /// Returns of which flows the plan cannot tell that frames were lost, in words; `None` if of all.
    pub fn blind(&self) -> Option<String> {
        let open = self.monitors.iter().filter(|own| !own.counts_losses());
        let names: Vec<String> = open.map(|own| own.way.name.clone()).collect();
        let names = few(&names)?;
        Some(format!("lost frames cannot be told without a period: {names}"))
    }

    /// Returns what was counted.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Takes a frame: when it came, its octets as far as they are there, and their number on the
    /// wire without check sequence.
    pub fn take(&mut self, at: i64, octets: &[u8], length: usize, tell: Tell<'_>) {
        self.counts.frames += 1;
        let Some(sight) = Sight::read(octets, length) else {
            self.counts.unread += 1;
            return;
        };
        if sight.is_service() {
            self.counts.service += 1;
            return;
        }
        if sight.is_part() {
            return;
        }
        self.now = self.now.max(at);
        self.begin.get_or_insert(at);
        match &mut self.learner {
            Some(learner) => learner.take(at, &sight),
            None => self.judge(at, &sight, tell),
        }
    }

    /// Notes the time, in nanoseconds of the same clock, and of one that is never set, by which pauses
    /// go: learning ends, and flows fall silent. To be called at least several times in the shortest
    /// pause that should be noticed.
    pub fn tick(&mut self, now: i64, clock: i64, tell: Tell<'_>) {
        self.clock = self.clock.max(clock);
        self.settle(now, tell);
        let begin = *self.begin.get_or_insert(now);
        self.now = self.now.max(now);
        if self.learner.is_some() {
            if now - begin >= self.learn {
                self.conclude(now, tell);
            }
            return;
        }
        for number in 0..self.monitors.len() {
            let mut notes = Vec::new();
            self.monitors[number].check(now, &mut |note| notes.push(note));
            for note in notes {
                self.say(now, number, &note, tell);
            }
        }
    }

    /// Notes that frames were dropped before they were seen: no flow has missed one for that.
    pub fn skip(&mut self, now: i64, frames: u64, tell: Tell<'_>) {
        self.counts.dropped += frames;
        for monitor in &mut self.monitors {
            monitor.cut();
        }
        self.remark(now, format!("{frames} frames were dropped before they were seen"), tell);
    }

    /// Ends learning: binds streams to flows, and tells what deviates so far.
    fn conclude(&mut self, now: i64, tell: Tell<'_>) {
        let learner = self.learner.take().unwrap_or_default();
        let frames = learner.frames();
        let learned = learner.plan("seen", &Options::new());
        let seen = learned.as_ref().and_then(|(plan, _)| {
            // What an import writes is a scenario.
            scenario::load("seen", &plan.scenario).scenario
        });
        let Some((seen, lessons)) = seen.zip(learned.map(|(_, lessons)| lessons)) else {
            for number in 0..self.monitors.len() {
                self.miss(now, number, tell);
            }
            self.remark(now, format!("learned no flow from {frames} frames"), tell);
            return;
        };
        let by_name: BTreeMap<&str, &Lesson> =
            seen.flows.iter().map(|flow| flow.name.as_str()).zip(&lessons).collect();
        let found = against(&self.plan, &seen);
        for (number, row) in found.rows.iter().enumerate() {
            let lesson = row.seen.as_ref();
            let lesson = lesson.and_then(|way| by_name.get(way.name.as_str()).copied());
            self.learn(now, number, row, lesson, tell);
        }
        let bound = self.monitors.iter().filter(|own| own.is_bound()).count();
        let text = format!(
            "learned {bound} of {} planned flows from {frames} frames",
            self.monitors.len()
        );
        self.remark(now, text, tell);
    }

    fn learn(
        &mut self,
        now: i64,
        number: usize,
        row: &Row,
        lesson: Option<&Lesson>,
        tell: Tell<'_>,
    ) {
        match (&row.planned, lesson) {
            (Some(_), Some(lesson)) => {
                self.bind(number, lesson.stream, lesson.is_fixed);
                // Times are judged frame by frame from now on: on a few seconds of them, one late
                // frame hides a period.
                let times = [Deviation::Faster, Deviation::Slower, Deviation::Late];
                let others = row.deviations.iter().filter(|own| !times.contains(own));
                for deviation in others {
                    let text =
                        row.seen.as_ref().map_or_else(String::new, against_words(*deviation));
                    let note = Note::new(*deviation, text);
                    self.say(now, number, &note, tell);
                }
            }
            (Some(_), None) => self.miss(now, number, tell),
            (None, Some(lesson)) if !self.streams.contains_key(&lesson.stream) => {
                let name = row.seen.as_ref().map_or_else(String::new, |way| way.name.clone());
                self.meet(now, lesson.stream, || name, tell);
            }
            (None, _) => {
                // A second tag of a stream that is planned: its frames are judged from now on.
            }
        }
    }

    /// Tells that a planned flow was not seen, if it should have been.
    fn miss(&mut self, now: i64, number: usize, tell: Tell<'_>) {
        if self.monitors[number].period().is_some() {
            let note = Note::new(Deviation::Missing, "not seen while learning".to_owned());
            self.say(now, number, &note, tell);
        }
    }

    fn bind(&mut self, number: usize, stream: StreamKey, is_fixed: bool) {
        let monitor = &mut self.monitors[number];
        monitor.bind(is_fixed);
        self.stations.note(&monitor.way.from, Some(stream.talker()));
        self.stations.note(&monitor.way.to, stream.listener());
        let is_event = matches!(monitor.way.times, Times::Sporadic { .. })
            && monitor.way.encapsulation == Encapsulation::Goose;
        let binding = self.streams.entry(stream).or_default();
        if is_event {
            binding.event = Some(number);
        } else {
            binding.usual = Some(number);
        }
    }

    /// Judges a frame.
    fn judge(&mut self, at: i64, sight: &Sight<'_>, tell: Tell<'_>) {
        let stream = sight.stream();
        let (is_event, mut number) = self.sort(at, &stream, sight);
        if number.is_none() {
            number = self.candidate(sight, is_event);
            if let Some(number) = number {
                let was_missing = self.monitors[number].period().is_some();
                self.bind(number, stream, false);
                if was_missing {
                    let name = self.monitors[number].way.name.clone();
                    self.remark(at, format!("`{name}` is there now"), tell);
                }
            }
        }
        let Some(number) = number else {
            self.meet(at, stream, || sight.name(), tell);
            return;
        };
        let mut notes = Vec::new();
        self.monitors[number].take(at, sight, &mut |note| notes.push(note));
        for note in notes {
            self.say(at, number, &note, tell);
        }
    }

    /// Returns which flow of its stream a frame belongs to, and whether it reports an event.
    fn sort(&mut self, at: i64, stream: &StreamKey, sight: &Sight<'_>) -> (bool, Option<usize>) {
        let event = sight.event();
        let Some(binding) = self.streams.get_mut(stream) else {
            return (event.is_some_and(|(_, repetition)| repetition == 0), None);
        };
        let Some((state, repetition)) = event else {
            return (false, binding.usual.or(binding.event));
        };
        let gap = at - binding.last;
        let begins = binding.state.is_some_and(|own| own != state) || repetition == 0;
        binding.state = Some(state);
        binding.last = at;
        let period = binding.usual.and_then(|own| self.monitors[own].period());
        if begins && binding.event.is_some() {
            binding.is_event = true;
            if let Some(usual) = binding.usual {
                self.monitors[usual].cut();
            }
        } else if period.is_some_and(|period| gap >= period / 4 * 3) {
            binding.is_event = false;
        }
        match (binding.is_event, binding.usual, binding.event) {
            // Without a heartbeat in the plan, all frames are events.
            (_, None, event) => (true, event),
            (true, Some(_), event) => (true, event),
            (false, usual, _) => (false, usual),
        }
    }

    /// Returns a planned flow that no stream has yet, and to which a frame may belong.
    fn candidate(&self, sight: &Sight<'_>, is_event: bool) -> Option<usize> {
        let stream = sight.stream();
        let description = sight.description();
        let is_goose = sight.event().is_some();
        let may = |monitor: &&Monitor| {
            let way: &Way = &monitor.way;
            let is_periodic = matches!(way.times, Times::Periodic { .. });
            let names_group = way.description.contains("address");
            let is_known = self.stations.knows(&way.from) && self.stations.knows(&way.to);
            !monitor.is_bound()
                && way.encapsulation == sight.encapsulation()
                && self.stations.agrees(&way.from, Some(stream.talker()))
                && self.stations.agrees(&way.to, stream.listener())
                && (!names_group || way.description == description)
                && (!is_goose || is_periodic != is_event)
                && (is_known || names_group || way.times == Times::Open || way.size == sight.size())
        };
        let differs = |monitor: &Monitor| {
            let way = &monitor.way;
            let tag = sight.tag().unwrap_or_default() != way.tag.unwrap_or_default();
            (way.size != sight.size(), tag)
        };
        let found = self.monitors.iter().enumerate();
        let found = found.filter(|(_, monitor)| may(monitor));
        let best = found.min_by_key(|(number, monitor)| (differs(monitor), *number));
        best.map(|(number, _)| number)
    }

    /// Counts a frame of a stream that is not in the plan.
    fn meet(&mut self, at: i64, stream: StreamKey, name: impl FnOnce() -> String, tell: Tell<'_>) {
        if let Some(stranger) = self.strangers.get_mut(&stream) {
            stranger.frames += 1;
            stranger.last = at;
            return;
        }
        if self.strangers.len() >= MAX_STRANGERS {
            let oldest = self.strangers.iter().min_by_key(|(_, own)| own.last);
            if let Some(oldest) = oldest.map(|(stream, _)| *stream) {
                self.strangers.remove(&oldest);
                self.counts.forgotten += 1;
            }
        }
        let name = name();
        let stranger = Stranger { name: name.clone(), frames: 1, last: at };
        self.strangers.insert(stream, stranger);
        let alert = Alert {
            at,
            deviation: Some(Deviation::NotPlanned),
            flow: name,
            text: "not in the plan".to_owned(),
        };
        self.tell(&alert, tell);
    }

    /// Counts a deviation of a planned flow, and tells it if it is new.
    fn say(&mut self, at: i64, number: usize, note: &Note, tell: Tell<'_>) {
        let (clock, pause) = (self.clock, self.pause);
        let monitor = &mut self.monitors[number];
        if !monitor.note(clock, note, pause) {
            return;
        }
        let alert = Alert {
            at,
            deviation: note.deviation,
            flow: monitor.way.name.clone(),
            text: note.text.clone(),
        };
        self.tell(&alert, tell);
    }

    fn remark(&mut self, at: i64, text: String, tell: Tell<'_>) {
        let alert = Alert { at, deviation: None, flow: String::new(), text };
        self.tell(&alert, tell);
    }

    fn tell(&mut self, alert: &Alert, tell: Tell<'_>) {
        if self.budget.told >= MAX_ALERTS {
            self.budget.untold += 1;
            self.counts.untold += 1;
            return;
        }
        self.budget.told += 1;
        self.counts.alerts += u64::from(alert.deviation.is_some());
        tell(alert);
    }

    /// Begins a new pause, and says how much the one before has swallowed.
    fn settle(&mut self, now: i64, tell: Tell<'_>) {
        if self.clock - self.budget.begin < self.pause {
            return;
        }
        let untold = self.budget.untold;
        self.budget = Budget { begin: self.clock, told: 0, untold: 0 };
        if untold > 0 {
            tell(&Alert {
                at: now,
                deviation: None,
                flow: String::new(),
                text: format!("{untold} more alerts are counted and not shown"),
            });
        }
    }

    /// Ends it.
    pub fn end(mut self, now: i64, tell: Tell<'_>) -> Outcome {
        if self.learner.is_some() && self.begin.is_some_and(|begin| now > begin) {
            self.conclude(now, tell);
        }
        self.outcome()
    }

    /// Returns how things stand.
    pub fn outcome(&self) -> Outcome {
        Outcome::of(self)
    }
}

/// Says what was seen of a deviation while learning.
fn against_words(deviation: Deviation) -> impl Fn(&Way) -> String {
    move |way| match deviation {
        Deviation::Size => format!("{} octets", way.size.get()),
        Deviation::Priority => format!("priority {}", way.tag.map_or(0, |(pcp, _)| pcp)),
        Deviation::Vlan => format!("VLAN {}", way.tag.map_or(0, |(_, vid)| vid)),
        Deviation::Missing
        | Deviation::NotPlanned
        | Deviation::Faster
        | Deviation::Slower
        | Deviation::Late => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: `date -u -d @SECONDS` of GNU coreutils.
    #[test]
    fn moments_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_868_799, "2000-02-29T23:59:59.000Z"),
            (1_709_164_800, "2024-02-29T00:00:00.000Z"),
            (1_735_689_599, "2024-12-31T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.000Z"),
        ] {
            assert_eq!(moment(seconds * 1_000_000_000), text);
        }
    }

    #[test]
    fn an_alert_is_a_line() {
        // By hand.
        let mut alert = Alert {
            at: 1_500_000,
            deviation: Some(Deviation::Late),
            flow: "a b".into(),
            text: "7 ms behind".into(),
        };
        let time = "1970-01-01T00:00:00.001Z";
        assert_eq!(alert.line(), format!("{time} late a b: 7 ms behind"));
        alert.deviation = None;
        alert.flow.clear();
        assert_eq!(alert.line(), format!("{time} 7 ms behind"));
    }
}
