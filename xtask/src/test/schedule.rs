//! Schedules test programs: waiting ones beside computing ones, measuring ones alone.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::elapsed;
use super::tally::Tally;
use crate::child::{Group, LOOK, is_interrupted, processor_time};
use crate::program::Class;

/// Waiting programs per core.
const WAITING_PER_CORE: usize = 2;
/// Interval at which to print what is running while nothing starts or ends.
const SAY: Duration = Duration::from_secs(30);
/// Longer than any program takes, even in a long run.
const LIMIT: Duration = Duration::from_hours(1);

/// One program to run.
pub(super) struct Task {
    pub(super) name: String,
    pub(super) class: Class,
    pub(super) command: Command,
    /// Command that repeats it.
    pub(super) repeat: String,
    /// Whether a run without a test is a failure: a name that no test has any more would pass.
    pub(super) must_count: bool,
}

struct Running {
    task: Task,
    group: Group,
    begin: Instant,
    /// File of its output.
    log: PathBuf,
}

/// How long a program took.
struct Took {
    name: String,
    class: Class,
    time: Duration,
    processor: Duration,
}

/// Runs tasks to completion; their outputs are kept in a folder and printed as a whole.
pub(super) struct Schedule<'a> {
    folder: &'a Path,
    cores: usize,
    waiting: Vec<Task>,
    running: Vec<Running>,
    took: Vec<Took>,
    count: usize,
    /// How long each program took in the last run that had it, in milliseconds.
    known: BTreeMap<String, u64>,
}

impl<'a> Schedule<'a> {
    pub(super) fn new(folder: &'a Path, mut tasks: Vec<Task>) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        let known = fs::read_to_string(folder.join("times")).unwrap_or_default();
        let known = read_times(&known);
        // The longest tasks of the last run start first, so that no long one is left at the end.
        let key = |task: &Task| {
            let time = known.get(&task.name).copied().unwrap_or(u64::MAX);
            (task.class, std::cmp::Reverse(time))
        };
        tasks.sort_by_key(key);
        Ok(Self {
            folder,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            count: tasks.len(),
            waiting: tasks,
            running: Vec::new(),
            took: Vec::new(),
            known,
        })
    }

    /// Returns whether all succeeded.
    pub(super) fn run(mut self, tally: &mut Tally) -> Result<bool> {
        let begin = Instant::now();
        let mut said = begin;
        let mut is_good = true;
        let mut processor = processor_time();
        while !(self.waiting.is_empty() && self.running.is_empty()) {
            if is_interrupted() {
                bail!("interrupted");
            }
            let has_begun = self.start_more()?;
            let ended = self.take_ended(&mut processor)?;
            for (running, status) in &ended {
                is_good &= report(running, *status, &self.took, tally)?;
            }
            if has_begun || !ended.is_empty() || said.elapsed() > SAY {
                said = Instant::now();
                println!("{}", self.progress());
            }
            sleep(LOOK);
        }
        self.conclude(begin.elapsed());
        Ok(is_good)
    }

    fn start_more(&mut self) -> Result<bool> {
        let mut has_begun = false;
        loop {
            let waiting: Vec<Class> = self.waiting.iter().map(|task| task.class).collect();
            let running: Vec<Class> = self.running.iter().map(|own| own.task.class).collect();
            let Some(index) = next(&waiting, &running, self.cores) else {
                return Ok(has_begun);
            };
            let mut task = self.waiting.remove(index);
            let log = self.folder.join(file_name(&task.name));
            let file = File::create(&log).with_context(|| format!("making {}", log.display()))?;
            let copy = file.try_clone().context("sharing a file")?;
            let group = Group::start(task.command.stdout(file).stderr(copy))?;
            self.running.push(Running { task, group, begin: Instant::now(), log });
            has_begun = true;
        }
    }

    /// Removes tasks that have ended, or have run for too long.
    fn take_ended(
        &mut self,
        processor: &mut Duration,
    ) -> Result<Vec<(Running, Option<ExitStatus>)>> {
        let mut ended = Vec::new();
        let mut index = 0;
        while index < self.running.len() {
            let own = &mut self.running[index];
            let status = own.group.ended()?;
            let time = own.begin.elapsed();
            if status.is_none() && time < LIMIT {
                index += 1;
                continue;
            }
            let own = self.running.remove(index);
            let so_far = processor_time();
            self.took.push(Took {
                name: own.task.name.clone(),
                class: own.task.class,
                time,
                processor: so_far.saturating_sub(*processor),
            });
            *processor = so_far;
            ended.push((own, status));
        }
        Ok(ended)
    }

    fn progress(&self) -> String {
        let running = self.running.iter().map(|own| {
            let time = elapsed(own.begin.elapsed());
            format!("{} ({time})", own.task.name)
        });
        let running = running.collect::<Vec<_>>().join(", ");
        let done = self.took.len();
        let left = self.waiting.len();
        let time = self
            .time_left()
            .map_or(String::new(), |time| format!(", {} if all goes as last time", elapsed(time)));
        format!("... {done} of {} done, {left} left{time}; running: {running}", self.count)
    }

    /// Returns the time until the end if every program takes as long as last time; `None` if one was
    /// not there.
    fn time_left(&self) -> Option<Duration> {
        let waiting = self.waiting.iter().map(|task| (task, Duration::ZERO));
        let running = self.running.iter();
        let running = running.map(|own| (&own.task, own.begin.elapsed()));
        let left = waiting.chain(running).map(|(task, gone)| {
            let time = Duration::from_millis(*self.known.get(&task.name)?);
            Some((task.class, time.saturating_sub(gone)))
        });
        let left: Vec<(Class, Duration)> = left.collect::<Option<_>>()?;
        Some(time_of(&left, self.cores))
    }

    /// Prints what took longest, and keeps the times for the next run.
    fn conclude(&mut self, time: Duration) {
        self.took.sort_by_key(|took| std::cmp::Reverse(took.time));
        println!("what took longest (with processor time):");
        for took in self.took.iter().take(12) {
            println!(
                "  {:>12} {:>12}  {} ({})",
                elapsed(took.time),
                elapsed(took.processor),
                took.name,
                took.class.name()
            );
        }
        let sum = |part: fn(&Took) -> Duration| self.took.iter().map(part).sum::<Duration>();
        println!(
            "{} programs in {}: {} one after the other, {} of processor time on {} cores",
            self.count,
            elapsed(time),
            elapsed(sum(|took| took.time)),
            elapsed(sum(|took| took.processor)),
            self.cores
        );
        for took in &self.took {
            let time = u64::try_from(took.time.as_millis()).unwrap_or(u64::MAX);
            self.known.insert(took.name.clone(), time);
        }
        let lines = self.known.iter();
        let lines = lines.map(|(name, time)| format!("{time} {name}\n"));
        // Without them the next run only uses another order.
        drop(fs::write(self.folder.join("times"), lines.collect::<String>()));
    }
}

/// Prints the output of a program that has ended, and counts its tests.
fn report(
    own: &Running,
    status: Option<ExitStatus>,
    took: &[Took],
    tally: &mut Tally,
) -> Result<bool> {
    let output = fs::read(&own.log).with_context(|| format!("reading {}", own.log.display()))?;
    let output = String::from_utf8_lossy(&output);
    let (counted_before, failed_before) = (tally.counted(), tally.failed);
    tally.read_output(&output);
    let has_succeeded = status.is_some_and(|status| status.success());
    let is_empty = has_succeeded && own.task.must_count && tally.counted() == counted_before;
    let is_good = has_succeeded && !is_empty;
    let how = match status {
        Some(_) if is_good => "ok".to_owned(),
        Some(_) if is_empty => "FAILED, ran no test".to_owned(),
        Some(status) => format!("FAILED, {status}"),
        None => format!("FAILED, still running after {}", elapsed(LIMIT)),
    };
    let took = took.iter().rev().find(|took| took.name == own.task.name);
    let times = took.map(|took| (elapsed(took.time), elapsed(took.processor)));
    let (time, processor) = times.unwrap_or_default();
    let (name, class) = (&own.task.name, own.task.class.name());
    println!("--- {name} ({class}): {how}, {time}, {processor} of processor time");
    print!("{output}");
    if !is_good {
        println!("repeat: {}", own.task.repeat);
        if tally.failed == failed_before {
            let reason = if is_empty { "ran no test" } else { "did not end by itself" };
            tally.fail(&format!("{name}: {reason}"));
        }
    }
    Ok(is_good)
}

/// Returns the index of the waiting task that may start.
fn next(waiting: &[Class], running: &[Class], cores: usize) -> Option<usize> {
    let count = |class| running.iter().filter(|own| **own == class).count();
    if count(Class::Measures) > 0 {
        return None;
    }
    waiting.iter().position(|class| match class {
        Class::Waits => count(Class::Waits) < cores * WAITING_PER_CORE,
        Class::Computes => count(Class::Computes) < cores,
        // They come last, so that they have the machine to themselves in one go.
        Class::Measures => running.is_empty() && waiting.iter().all(|own| own == class),
    })
}

/// Returns how long programs take: waiting ones beside computing ones, then the measuring ones.
fn time_of(programs: &[(Class, Duration)], cores: usize) -> Duration {
    let of = |class| {
        let own = programs.iter().filter(move |(own, _)| *own == class);
        own.map(|(_, time)| *time)
    };
    let share = |class, places: usize| {
        let sum: Duration = of(class).sum();
        let longest = of(class).max().unwrap_or_default();
        longest.max(sum / u32::try_from(places).unwrap_or(1))
    };
    let side_by_side = share(Class::Computes, cores);
    side_by_side.max(share(Class::Waits, cores * WAITING_PER_CORE)) + of(Class::Measures).sum()
}

fn read_times(text: &str) -> BTreeMap<String, u64> {
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    let times = lines.filter_map(|(time, name)| Some((name.to_owned(), time.parse().ok()?)));
    times.collect()
}

fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = name.chars().map(plain).collect();
    format!("{name}.log")
}

#[cfg(test)]
mod tests {
    use super::*;
    use Class::{Computes, Measures, Waits};

    #[test]
    fn what_waits_runs_beside_what_computes() {
        assert_eq!(next(&[Computes, Waits], &[Computes, Computes], 2), Some(1));
        assert_eq!(next(&[Computes], &[Computes, Waits, Waits], 2), Some(0));
        assert_eq!(next(&[Computes], &[Computes, Computes], 2), None);
        assert_eq!(next(&[Waits], &[Waits; 4], 2), None);
        assert_eq!(next(&[], &[], 2), None);
    }

    #[test]
    fn what_measures_runs_alone_and_last() {
        assert_eq!(next(&[Measures], &[Waits], 2), None);
        assert_eq!(next(&[Measures], &[], 2), Some(0));
        assert_eq!(next(&[Measures, Computes], &[], 2), Some(1));
        assert_eq!(next(&[Waits, Computes], &[Measures], 2), None);
    }

    #[test]
    fn the_time_left_is_that_of_the_schedule() {
        let seconds = Duration::from_secs;
        // Two cores: 10 s of computing on each, beside 4 s of waiting; then 3 s of measuring.
        let mut programs = vec![(Computes, seconds(5)); 4];
        programs.extend([(Waits, seconds(8)); 2]);
        programs.push((Measures, seconds(3)));
        assert_eq!(time_of(&programs, 2), seconds(13));
        // No program is faster on two cores.
        assert_eq!(time_of(&[(Computes, seconds(9))], 2), seconds(9));
        assert_eq!(time_of(&[], 2), seconds(0));
    }

    #[test]
    fn programs_are_run_and_counted() {
        let folder = std::env::temp_dir().join(format!("xtask-schedule-{}", std::process::id()));
        let task = |name: &str, class, script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            Task { name: name.to_owned(), class, command, repeat: String::new(), must_count: true }
        };
        let good = "echo 'test result: ok. 3 passed; 0 failed; 1 ignored; finished'";
        let bad = "echo 'test a::b ... FAILED'; \
                   echo 'test result: FAILED. 1 passed; 1 failed; 0 ignored; finished'; exit 101";
        let tasks = vec![
            task("c", Measures, good),
            task("a", Computes, bad),
            task("b", Waits, "kill -KILL $$"),
            task("d", Waits, "echo 'test result: ok. 0 passed; 0 failed; 0 ignored; finished'"),
        ];
        let mut tally = Tally::default();
        let is_good = Schedule::new(&folder, tasks).unwrap().run(&mut tally).unwrap();
        assert!(!is_good);
        assert_eq!(tally.to_string(), "4 passed, 3 failed, 0 skipped");
        tally.failures.sort();
        assert_eq!(tally.failures, ["a::b", "b: did not end by itself", "d: ran no test"]);
        let times = fs::read_to_string(folder.join("times")).unwrap();
        assert_eq!(read_times(&times).len(), 4);
        fs::remove_dir_all(folder).unwrap();
    }
}
