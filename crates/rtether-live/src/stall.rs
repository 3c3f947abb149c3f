//! Times at which this host stood still.
//!
//! A thread that reads the clock continuously, or is woken at known times, sees a gap if the
//! machine was stopped from outside or the processor was given to another task. Of the latter the
//! kernel keeps an account for each thread, which a thread that sleeps can read afterwards.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::thread::JoinHandle;

use rtether_model::quantity::{Duration, Instant};
use rtether_model::stall::Felt;
pub use rtether_model::stall::Stall;

use crate::clock::{Clock, to_std};
use crate::thread::Placement;

/// A gap longer than this is a stall: three times the 99.9th percentile of the wake-up time of a
/// real-time thread on an otherwise idle virtual machine (90 us).
pub const THRESHOLD: Duration = Duration::from_us(300);
/// Gaps kept; further ones are counted.
pub const KEPT: usize = 1 << 16;
/// Interval at which a watcher wakes up, and at which [`Sleeper`] reads its account at most.
const PERIOD: Duration = Duration::from_us(250);
/// Interval at which it does so beside a thread whose waits are short: a wake-up meets less than
/// one in a hundred round trips of 20 us on the same core, so that the 99th percentile is theirs.
const QUIET_PERIOD: Duration = Duration::from_ms(4);
/// Waits that have to end in each of [`QUIET`] intervals of [`PERIOD`] before it rests, and in one of
/// [`QUIET_PERIOD`] to rest on.
const WAITS: [u32; 2] = [4, 16];
const QUIET: u32 = 2;

/// Gaps found, in order of time for each watcher.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// The first [`KEPT`] gaps.
    pub found: Vec<Stall>,
    /// Number of further gaps.
    pub dropped: u64,
    felt: Felt,
}

impl Stalls {
    /// Returns when they are felt.
    pub fn felt(&self) -> &Felt {
        &self.felt
    }

    /// Adds the gaps of another watcher.
    pub fn extend(&mut self, other: Self) {
        self.found.extend(other.found);
        self.dropped += other.dropped;
        self.felt.extend(other.felt);
    }

    /// Moves all gaps to the time of another clock.
    pub fn shift(&mut self, shifted: impl Fn(Stall) -> Stall) {
        for stall in &mut self.found {
            *stall = shifted(*stall);
        }
        self.felt = self.found.iter().copied().collect();
    }

    /// Takes two clock readings that should follow each other after `expected`; `from` is not
    /// before that of the last call.
    pub fn look(&mut self, from: Instant, until: Instant, expected: Duration) {
        if until - from - expected <= THRESHOLD {
            return;
        }
        if self.found.len() < KEPT {
            self.found.push(Stall { from, until });
            self.felt.add(Stall { from, until });
        } else {
            self.dropped += 1;
        }
    }
}

/// What a thread waits for: what its watchers look at.
#[derive(Debug)]
pub struct Awaited {
    /// Since when, in nanoseconds.
    since: AtomicI64,
    /// How many waits have ended, modulo its size. The thread alone writes it.
    ended: AtomicU32,
}

/// Value of a thread that waits for nothing.
const NOTHING: i64 = i64::MAX;

impl Default for Awaited {
    fn default() -> Self {
        Self { since: AtomicI64::new(NOTHING), ended: AtomicU32::new(0) }
    }
}

impl Awaited {
    fn begin(&self, now: Instant) {
        let ns = now.since_start().as_ns_floor();
        self.since.store(ns, Ordering::Relaxed);
    }

    fn end(&self) {
        self.since.store(NOTHING, Ordering::Relaxed);
        let ended = self.ended.load(Ordering::Relaxed).wrapping_add(1);
        self.ended.store(ended, Ordering::Relaxed);
    }

    /// Returns for how long the thread has waited at `now`; `None` if for nothing.
    fn waited(&self, now: Instant) -> Option<Duration> {
        let since = self.since.load(Ordering::Relaxed);
        (since != NOTHING).then(|| now - (Instant::ZERO + Duration::from_ns(since)))
    }
}

/// How long the calling thread has been ready to run without a core, by the kernel's account
/// (`/proc/thread-self/schedstat`).
#[derive(Debug)]
struct Account(File);

impl Account {
    /// Returns the account of the calling thread; `None` if the kernel keeps none.
    fn open() -> Option<Self> {
        let account = Self(File::open("/proc/thread-self/schedstat").ok()?);
        // The time of a thread that has just begun may still be zero.
        let [.., turns] = account.read()?;
        (turns > 0).then_some(account)
    }

    /// Returns for how long it ran and how long it waited for a core, in nanoseconds, and how often
    /// it has been given one.
    fn read(&self) -> Option<[i64; 3]> {
        let mut text = [0; 80];
        let len = self.0.read_at(&mut text, 0).ok()?;
        let text = std::str::from_utf8(text.get(..len)?).ok()?;
        let mut numbers = text.split_ascii_whitespace().map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some([next()?, next()?, next()?])
    }

    fn waited(&self) -> Duration {
        Duration::from_ns(self.read().map_or(0, |[_, waited, _]| waited))
    }
}

/// Finds the stalls of a thread that sleeps between events, without waking it.
///
/// It reads the thread's account after a sleep longer than [`THRESHOLD`], and at most every
/// 250 us between shorter ones, so that it knows how much of it is new. The account says nothing
/// about a host that stood still as a whole; that is what the [`Watcher`] beside it sees.
#[derive(Debug)]
pub struct Sleeper {
    awaited: Arc<Awaited>,
    account: Option<Account>,
    /// What the account showed last, and when.
    last: (Duration, Instant),
    since: Instant,
    stalls: Stalls,
}

impl Sleeper {
    /// Returns one for the calling thread, at `now`.
    pub fn new(now: Instant) -> Self {
        let account = Account::open();
        let shown = account.as_ref().map_or(Duration::ZERO, Account::waited);
        Self {
            awaited: Arc::default(),
            account,
            last: (shown, now),
            since: now,
            stalls: Stalls::default(),
        }
    }

    /// Returns what watchers look at; `None` if the kernel keeps no account, so that they must not
    /// rest.
    pub fn awaited(&self) -> Option<Arc<Awaited>> {
        self.account.is_some().then(|| Arc::clone(&self.awaited))
    }

    /// Takes that the thread goes to sleep, until something comes that it `waits` for or until a
    /// time that it has set.
    pub fn falls_asleep(&mut self, now: Instant, waits: bool) {
        self.since = now;
        if waits {
            self.awaited.begin(now);
        }
    }

    /// Takes that it has woken up, and records a stall if it waited for a core for too long.
    pub fn wakes(&mut self, now: Instant) {
        self.awaited.end();
        let Some(account) = &self.account else {
            return;
        };
        let (shown, read_at) = self.last;
        let is_long = now - self.since > THRESHOLD;
        if !is_long && now - read_at < PERIOD {
            return;
        }
        let waited = account.waited();
        self.last = (waited, now);
        // What was waited since the last reading but before this sleep is at most that time.
        let least = waited - shown - (self.since - read_at);
        if is_long && least > Duration::ZERO {
            let least = least.min(now - self.since);
            self.stalls.look(now - least, now, Duration::ZERO);
        }
    }

    /// Returns the stalls found.
    pub fn stalls(&self) -> &Stalls {
        &self.stalls
    }
}

/// A thread that sleeps for short times and records when a sleep takes too long.
///
/// For measurements that block: they cannot distinguish a late reply from a late wake-up.
#[derive(Debug)]
pub struct Watcher {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Stalls>>,
}

impl Watcher {
    /// Starts a watcher on the core of `placement`, one priority above it, since at equal priority
    /// it would wait for the measurement and record that as a stall.
    pub fn start(placement: Placement, clock: Clock) -> Self {
        Self::start_beside(placement, clock, None)
    }

    /// As [`Self::start`], but rests while a thread waits briefly or for nothing: it wakes up every
    /// 4 ms then, and every 250 us otherwise.
    pub fn start_beside(placement: Placement, clock: Clock, awaited: Option<Arc<Awaited>>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&stop);
        let placement = Placement {
            priority: placement.priority.map(|own| own.saturating_add(1).min(99)),
            lock_memory: false,
            ..placement
        };
        let thread = std::thread::spawn(move || {
            let mut stalls = Stalls::default();
            // The measurement itself has been granted this placement.
            let _ = placement.apply();
            let mut rhythm = Rhythm::default();
            let mut before = clock.now();
            while !is_over.load(Ordering::Relaxed) {
                let period = rhythm.period();
                std::thread::sleep(to_std(period));
                let now = clock.now();
                stalls.look(before, now, period);
                before = now;
                match &awaited {
                    Some(awaited) => rhythm.note(awaited, now),
                    None => rhythm = Rhythm::default(),
                }
            }
            stalls
        });
        Self { stop, thread: Some(thread) }
    }

    /// Stops it and returns its gaps.
    pub fn finish(mut self) -> Stalls {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take();
        let found = thread.and_then(|thread| thread.join().ok());
        found.unwrap_or_default()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// How often a watcher wakes up.
#[derive(Clone, Copy, Debug, Default)]
struct Rhythm {
    /// Wake-ups in a row at which all waits were short.
    quiet: u32,
    /// Waits that had ended at the last one.
    ended: u32,
}

impl Rhythm {
    const fn rests(self) -> bool {
        self.quiet >= QUIET
    }

    const fn period(self) -> Duration {
        if self.rests() { QUIET_PERIOD } else { PERIOD }
    }

    /// Takes what the thread beside it waits for.
    fn note(&mut self, awaited: &Awaited, now: Instant) {
        let ended = awaited.ended.load(Ordering::Relaxed);
        let is_quick = ended.wrapping_sub(self.ended) >= WAITS[usize::from(self.rests())];
        self.ended = ended;
        let is_quiet = match awaited.waited(now) {
            Some(waited) => is_quick && waited <= PERIOD,
            None => true,
        };
        self.quiet = if is_quiet { self.quiet.saturating_add(1) } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: i64) -> Instant {
        Instant::ZERO + Duration::from_us(us)
    }

    #[test]
    fn a_gap_beyond_the_threshold_is_a_stall() {
        let mut stalls = Stalls::default();
        stalls.look(us(0), us(300), Duration::ZERO);
        stalls.look(us(1_000), us(1_301), Duration::ZERO);
        stalls.look(us(3_000), us(3_800), Duration::from_us(500));
        let expected = Stall { from: us(1_000), until: us(1_301) };
        assert_eq!(stalls.found, [expected]);
    }

    /// Oracle: by hand; a stall from 10 to 15 ms is felt until 20 ms, and by another clock 1 s later.
    #[test]
    fn what_is_felt_moves_with_the_clock() {
        let mut stalls = Stalls::default();
        stalls.look(us(10_000), us(15_000), Duration::ZERO);
        let within = |stalls: &Stalls| stalls.felt().within(us(0), us(12_000));
        assert_eq!(within(&stalls), Duration::from_ms(2));
        let second = Duration::from_secs(1);
        stalls.shift(|Stall { from, until }| Stall { from: from + second, until: until + second });
        assert_eq!(within(&stalls), Duration::ZERO);
        let later = stalls.felt().within(us(1_000_000), us(1_100_000));
        assert_eq!(later, Duration::from_ms(10));
    }

    /// Oracle: by hand.
    #[test]
    fn a_watcher_rests_beside_short_waits_and_wakes_up_at_a_long_one() {
        let (awaited, mut rhythm) = (Awaited::default(), Rhythm::default());
        let waits = |count: u32| (0..count).for_each(|_| awaited.end());
        let mut look = |at: i64| {
            rhythm.note(&awaited, us(at));
            rhythm.period()
        };
        // Four waits in each 250 us, and a fifth one has begun.
        waits(4);
        awaited.begin(us(240));
        assert_eq!(look(250), PERIOD);
        waits(4);
        awaited.begin(us(490));
        assert_eq!(look(500), QUIET_PERIOD);
        waits(16);
        awaited.begin(us(4_490));
        assert_eq!(look(4_500), QUIET_PERIOD);
        // The fifth one takes long, or few end.
        assert_eq!(look(8_500), PERIOD);
        for at in 0..8 {
            waits(3);
            awaited.begin(us(8_740 + 250 * at));
            assert_eq!(look(8_750 + 250 * at), PERIOD);
        }
        // Nothing is awaited.
        awaited.end();
        assert_eq!(look(11_000), PERIOD);
        assert_eq!(look(11_250), QUIET_PERIOD);
        assert_eq!(look(15_250), QUIET_PERIOD);
    }

    /// A program of ordinary priority that takes most of a core.
    fn greedy(core: usize, until: &AtomicBool) {
        let placement = Placement { core: Some(core), ..Placement::default() };
        placement.apply().expect("an allowed core");
        while !until.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    }

    /// Oracle: the kernel's scheduler. A thread that shares its core with three greedy ones, each
    /// of which gets a slice of a millisecond or more, wakes up late; one that only sleeps long is
    /// not stalled.
    #[test]
    fn a_thread_that_waits_for_its_core_is_stalled_and_one_that_sleeps_is_not() {
        let Some(core) = crate::host::rights::cores().first().copied() else {
            return;
        };
        let clock = Clock::start();
        if Sleeper::new(clock.now()).awaited().is_none() {
            return;
        }
        let is_over = AtomicBool::new(false);
        let (alone, beside) = std::thread::scope(|scope| {
            let nap = |times: u32, length: Duration| {
                let mut sleeper = Sleeper::new(clock.now());
                let mut late = Duration::ZERO;
                for _ in 0..times {
                    let before = clock.now();
                    sleeper.falls_asleep(before, true);
                    std::thread::sleep(to_std(length));
                    let now = clock.now();
                    sleeper.wakes(now);
                    late = late.max(now - before - length);
                }
                (sleeper.stalls().clone(), late)
            };
            let alone = nap(1, Duration::from_ms(20));
            for _ in 0..3 {
                scope.spawn(|| greedy(core, &is_over));
            }
            let placement = Placement { core: Some(core), ..Placement::default() };
            placement.apply().expect("an allowed core");
            // Half a millisecond of work uses up what a thread that sleeps a lot has in advance.
            let beside = (0..50).map(|_| {
                let begun = clock.now();
                while clock.now() - begun < Duration::from_us(500) {}
                nap(1, Duration::from_us(100))
            });
            let beside: Vec<(Stalls, Duration)> = beside.collect();
            is_over.store(true, Ordering::Relaxed);
            (alone, beside)
        });
        let (stalls, late) = alone;
        assert!(stalls.found.is_empty() || late > THRESHOLD, "{stalls:?}");
        let late: Vec<&(Stalls, Duration)> =
            beside.iter().filter(|(_, late)| *late > THRESHOLD * 3).collect();
        for (stalls, late) in &late {
            let found = stalls.found.iter().map(|stall| stall.until - stall.from);
            let found = found.fold(Duration::ZERO, |sum, one| sum + one);
            assert!(found <= *late + Duration::from_us(100), "{found:?}, {late:?}");
        }
        // The account begins with the sleep, so that all of a delay is in it, unless the whole host
        // stood still.
        let told = late.iter().filter(|(stalls, _)| stalls.found.len() == 1);
        let told = told.count();
        assert!(told * 2 >= late.len(), "{told} of {}", late.len());
    }

    #[test]
    fn gaps_beyond_the_limit_are_counted() {
        let mut stalls = Stalls::default();
        for _ in 0..=KEPT {
            stalls.look(us(0), us(5_000), Duration::ZERO);
        }
        assert_eq!((stalls.found.len(), stalls.dropped), (KEPT, 1));
    }
}
