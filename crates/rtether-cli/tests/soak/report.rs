//! The report: counts at the end, and details of each loss without a cause.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use crate::account::{Cause, Ledger, Window};
use crate::flow::Kind;
use crate::shim::{Memory, Told};

/// Most losses of a flow listed individually.
const TOLD_MAX: usize = 40;

/// Counts of a soak.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) rounds: u64,
    /// Rounds without a window, in which counts must be equal.
    pub(crate) calm: u64,
    pub(crate) sets: u64,
    pub(crate) hang_ups: u64,
    pub(crate) refused: u64,
    pub(crate) asked: u64,
    pub(crate) mtus: u64,
    /// Of the shim's device, and of the other one.
    pub(crate) flaps: [u64; 2],
    pub(crate) kills: u64,
    /// Kills of shim and watchdog.
    pub(crate) unwatched: u64,
    pub(crate) ends: u64,
    /// Attempts to start a shim that found the lock taken.
    pub(crate) tries: u64,
    /// Datagrams lost outside of all windows.
    pub(crate) policy: u64,
    pub(crate) transferred: u64,
    /// Datagrams that the stack refused because a device was down.
    pub(crate) not_taken: u64,
    pub(crate) memory: MemoryLog,
    sent: [u64; 5],
    lost: [u64; 5],
    by_cause: [u64; 4],
    windows: [(u64, u64, u64); 4],
    drops: Vec<(String, u64)>,
    bypassed: u64,
    longest: [u64; 5],
}

impl Tally {
    /// Records the ledger of a flow, and returns how many datagrams were lost outside of all
    /// windows.
    pub(crate) fn note(&mut self, kind: Kind, ledger: &Ledger, windows: &[Window]) -> u64 {
        let index = kind as usize;
        self.sent[index] += ledger.sent;
        self.lost[index] += u64::try_from(ledger.lost.len()).unwrap();
        self.longest[index] = self.longest[index].max(ledger.longest);
        let mut outside = 0;
        for lost in &ledger.lost {
            match lost.cause(windows) {
                Some(cause) => self.by_cause[cause as usize] += 1,
                None => outside += 1,
            }
        }
        outside
    }

    pub(crate) fn note_window(&mut self, cause: Cause, length: u64) {
        let (count, sum, longest) = &mut self.windows[cause as usize];
        *count += 1;
        *sum += length;
        *longest = length.max(*longest);
    }

    pub(crate) fn note_drops(&mut self, before: &Told, now: &Told) {
        self.bypassed += now.bypassed.saturating_sub(before.bypassed);
        for (name, count) in &now.drops {
            let earlier = before.drops.iter().find(|(other, _)| other == name);
            let more = count.saturating_sub(earlier.map_or(0, |(_, count)| *count));
            match self.drops.iter_mut().find(|(other, _)| other == name) {
                Some((_, sum)) => *sum += more,
                None => self.drops.push((name.clone(), more)),
            }
        }
    }

    /// Returns the table.
    pub(crate) fn table(&self) -> String {
        let mut text = String::new();
        let mut row = |name: &str, value: String| writeln!(text, "{name:<44} {value}").unwrap();
        let (sent, lost) = (self.sent.iter().sum::<u64>(), self.lost.iter().sum::<u64>());
        row("rounds, of these without mishap", format!("{}, {}", self.rounds, self.calm));
        row("datagrams sent", sent.to_string());
        row("datagrams received", (sent - lost).to_string());
        for (kind, (sent, lost)) in Kind::ALL.iter().zip(self.sent.iter().zip(self.lost)) {
            let longest = self.longest[*kind as usize] / 1_000_000;
            let name = format!("  {kind:?}: sent, lost, longest time on the way");
            row(&name, format!("{sent}, {lost}, {longest} ms"));
        }
        row("lost: dropped and counted by the shim", self.policy.to_string());
        for cause in Cause::ALL {
            let (count, sum, longest) = self.windows[cause as usize];
            let mean = sum / count.max(1) / 1_000_000;
            let name = format!("lost: {cause:?}; windows, mean, longest");
            let by = self.by_cause[cause as usize];
            row(&name, format!("{by}; {count}, {mean} ms, {} ms", longest / 1_000_000));
        }
        let explained = self.policy + self.by_cause.iter().sum::<u64>();
        row("lost otherwise", (lost - explained).to_string());
        row("not taken by the stack", self.not_taken.to_string());
        row("TCP, octets in order", self.transferred.to_string());
        row(
            "reloads by `set`, by SIGHUP, refused",
            format!("{}, {}, {}", self.sets, self.hang_ups, self.refused),
        );
        row("kills, of these with the watchdog", format!("{}, {}", self.kills, self.unwatched));
        row("orderly ends, starts that had to wait", format!("{}, {}", self.ends, self.tries));
        row("link flaps: own device, far device", format!("{}, {}", self.flaps[0], self.flaps[1]));
        row("MTU changes, status queries", format!("{}, {}", self.mtus, self.asked));
        for (name, count) in self.drops.iter().filter(|(_, count)| *count > 0) {
            row(&format!("the shim counts: {name}"), count.to_string());
        }
        row("the shim counts: bypassed", self.bypassed.to_string());
        text + &self.memory.table()
    }
}

/// Memory of one process over time.
#[derive(Default)]
pub(crate) struct MemoryLog {
    all: Vec<(u64, Memory)>,
}

impl MemoryLog {
    /// Largest growth, in KiB, after the warm-up of a long soak: room for 500 more waiting frames
    /// than ever before, with some rules. One frame in five hundred never freed would take more in
    /// 15 minutes.
    const GROWTH_MAX: u64 = 1_024;
    /// Largest growth, in KiB, after the warm-up of a short soak, whose longest queue may come late
    /// on a busy host: every queue of the shim full, 8 300 frames with 2 KiB each.
    const QUEUES_FULL: u64 = 8_300 * 2;
    /// Time after which a long soak has used everything once.
    const WARM_UP: Duration = Duration::from_mins(1);

    /// Starts again, for a process that stays.
    pub(crate) fn begin(&mut self) {
        self.all.clear();
    }

    pub(crate) fn note(&mut self, at: u64, memory: Memory) {
        self.all.push((at, memory));
    }

    /// Compares the largest values of the warm-up and of the rest.
    pub(crate) fn judge(&self, length: Duration) -> Result<(), String> {
        let (warm_up, growth_max) = if length < Self::WARM_UP * 5 {
            (length / 5, Self::QUEUES_FULL)
        } else {
            (Self::WARM_UP, Self::GROWTH_MAX)
        };
        let (early, late) = self.largest(u64::try_from(warm_up.as_nanos()).unwrap());
        if early == 0 || late > early + growth_max {
            return Err(format!("memory grows:\n{}", self.table()));
        }
        Ok(())
    }

    /// Returns the largest resident memory during and after the warm-up; 0 for none.
    fn largest(&self, warm_up: u64) -> (u64, u64) {
        let until = self.all.first().map_or(0, |(begin, _)| begin + warm_up);
        let of = |is_late: bool| {
            let part = self.all.iter().filter(|(at, _)| (*at > until) == is_late);
            part.map(|(_, memory)| memory.resident_kib).max().unwrap_or(0)
        };
        (of(false), of(true))
    }

    /// Returns the largest resident memory of each minute, which tells a leak from a queue that was
    /// longer once.
    fn by_minute(&self, begin: u64) -> String {
        let mut minutes: BTreeMap<u64, u64> = BTreeMap::new();
        for (at, memory) in &self.all {
            let largest = minutes.entry((at - begin) / 60_000_000_000).or_default();
            *largest = (*largest).max(memory.resident_kib);
        }
        let texts: Vec<String> = minutes.values().map(u64::to_string).collect();
        texts.join(" ")
    }

    fn table(&self) -> String {
        let (Some((begin, first)), Some((end, last))) = (self.all.first(), self.all.last()) else {
            return String::new();
        };
        let (early, late) = self.largest(u64::try_from(Self::WARM_UP.as_nanos()).unwrap());
        let values = |of: fn(&Memory) -> u64| {
            let largest = self.all.iter().map(|(_, memory)| of(memory)).max();
            format!("{}, {}, {}", of(first), of(last), largest.unwrap_or(0))
        };
        let mut text = String::new();
        for (name, value) in [
            ("seconds of the process that stays", ((end - begin) / 1_000_000_000).to_string()),
            ("resident KiB: first, last, largest", values(|memory| memory.resident_kib)),
            ("resident KiB, largest: first minute, rest", format!("{early}, {late}")),
            ("resident KiB, largest of each minute", self.by_minute(*begin)),
            (
                "open files: first, last, largest",
                values(|memory| u64::try_from(memory.files).unwrap()),
            ),
            ("threads: first, last, largest", values(|memory| memory.threads)),
        ] {
            writeln!(text, "{name:<44} {value}").unwrap();
        }
        text
    }
}

/// Lists the datagrams of a flow that were lost outside of all windows.
pub(crate) fn story(name: &str, ledger: &Ledger, windows: &[Window]) -> String {
    let outside = ledger.lost.iter().filter(|lost| lost.cause(windows).is_none());
    let all: Vec<_> = outside.collect();
    let mut text = format!("{name}: {} sent, {} lost outside\n", ledger.sent, all.len());
    for lost in all.iter().take(TOLD_MAX) {
        let [from, until] = [lost.from, lost.until].map(|time| time / 1_000);
        writeln!(text, "  number {}, between {from} us and {until} us", lost.number).unwrap();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_grows_is_found() {
        // By hand: the warm-up ends a minute after the first value, or a fifth of a short soak.
        let of = |length, values: &[(u64, u64)]| {
            let mut log = MemoryLog::default();
            for &(seconds, resident_kib) in values {
                let memory = Memory { resident_kib, files: 1, threads: 1 };
                log.note(seconds * 1_000_000_000, memory);
            }
            log.judge(Duration::from_secs(length)).is_ok()
        };
        let log = |values: &[(u64, u64)]| of(500, values);
        assert!(log(&[(5, 1_000), (64, 9_000), (66, 9_100), (490, 10_024)]));
        assert!(!log(&[(5, 1_000), (64, 9_000), (66, 9_100), (490, 10_025)]));
        assert!(!log(&[]));
        let short = |late| of(20, &[(1, 1_000), (5, 1_000), (19, late)]);
        assert!(short(17_600) && !short(17_601));
    }
}
