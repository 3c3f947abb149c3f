//! Programs started by `cargo xtask`, none of which outlives it: Ctrl-C and SIGTERM end them with
//! all their descendants.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Interval at which to check whether a program has ended.
pub(crate) const LOOK: Duration = Duration::from_millis(20);
/// Time for a program to end by itself.
const PATIENCE: Duration = Duration::from_secs(2);

/// Handles Ctrl-C and SIGTERM from now on; see [`is_interrupted`].
pub(crate) fn heed_signals() -> Result<()> {
    ctrlc::set_handler(|| IS_INTERRUPTED.store(true, Ordering::Relaxed)).context("heeding Ctrl-C")
}

/// Returns whether the command should end.
pub(crate) fn is_interrupted() -> bool {
    IS_INTERRUPTED.load(Ordering::Relaxed)
}

/// A program in a separate process group, so that Ctrl-C at a terminal only reaches this process;
/// ended on drop with all its descendants.
pub(crate) struct Group {
    child: Child,
    has_ended: bool,
}

impl Group {
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let child = command.process_group(0).spawn();
        let child = child.with_context(|| format!("running {command:?}"))?;
        Ok(Self { child, has_ended: false })
    }

    /// Returns its exit status, once it has ended.
    pub(crate) fn ended(&mut self) -> Result<Option<ExitStatus>> {
        let status = self.child.try_wait().context("waiting for a program")?;
        self.has_ended |= status.is_some();
        Ok(status)
    }

    /// Waits for its end, or fails if the command is interrupted.
    pub(crate) fn wait(mut self) -> Result<ExitStatus> {
        loop {
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            if is_interrupted() {
                bail!("interrupted");
            }
            sleep(LOOK);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        // Descendants in groups of their own are found while it lives.
        let group = format!("-{}", self.child.id());
        let all = descendants(self.child.id());
        signal("-INT", std::slice::from_ref(&group));
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE && !self.ended().is_ok_and(|status| status.is_some()) {
            sleep(LOOK);
        }
        let left = all.into_iter().filter(|pid| is_alive(*pid)).map(|pid| pid.to_string());
        signal("-KILL", &left.chain([group]).collect::<Vec<_>>());
        // It has received a signal that cannot be blocked.
        drop(self.child.wait());
    }
}

fn signal(name: &str, targets: &[String]) {
    // Processes that have gone meanwhile are not an error.
    let kill = Command::new("kill").args([name, "--"]).args(targets).output();
    drop(kill);
}

fn is_alive(pid: u32) -> bool {
    fs::exists(format!("/proc/{pid}")).unwrap_or(false)
}

/// Returns a process with all its descendants.
fn descendants(root: u32) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_string_lossy().parse::<u32>();
        if let Ok(pid) = pid
            && let Some(parent) = stat(&pid.to_string(), 1)
            && let Ok(parent) = u32::try_from(parent)
        {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = vec![root];
    let mut next = 0;
    while let Some(pid) = found.get(next) {
        found.extend(children.remove(pid).unwrap_or_default());
        next += 1;
    }
    found
}

/// Returns a number of `/proc/PID/stat`, counted from the state of the process (proc(5)).
fn stat(pid: &str, index: usize) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may contain spaces and parentheses.
    let (_, fields) = text.rsplit_once(')')?;
    fields.split_whitespace().nth(index)?.parse().ok()
}

/// Returns the processor time of all programs that have ended so far, with their descendants.
pub(crate) fn processor_time() -> Duration {
    // 100 ticks per second, whatever the kernel itself counts in.
    let ticks = |index| stat("self", index).unwrap_or(0);
    Duration::from_millis((ticks(13) + ticks(14)) * 10)
}

/// Runs a command with its output on the terminal.
pub(crate) fn succeeds(command: &mut Command) -> Result<bool> {
    Ok(Group::start(command)?.wait()?.success())
}

/// Runs a command whose output people read and the caller evaluates; returns also the output.
pub(crate) fn output_of(command: &mut Command) -> Result<(bool, String)> {
    let mut group = Group::start(command.stdout(Stdio::piped()))?;
    let output = group.child.stdout.take().context("no output")?;
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            text.push_str(&line);
            text.push('\n');
        }
        text
    });
    let status = group.wait()?;
    let text = reader.join().unwrap_or_default();
    Ok((status.success(), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_has_started_ends_with_it() {
        // Oracle: the system. The inner process is in its own group and ignores the signals it can.
        let script = "setsid sh -c 'trap \"\" INT TERM; sleep 60; sleep 60' & wait";
        let group = Group::start(Command::new("sh").args(["-c", script])).unwrap();
        let root = group.child.id();
        let begin = Instant::now();
        let mut all = descendants(root);
        while all.len() < 3 {
            assert!(begin.elapsed() < Duration::from_secs(20), "{all:?}");
            sleep(LOOK);
            all = descendants(root);
        }
        drop(group);
        let is_running = |pid: &u32| {
            let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            // A process 1 that is no init does not collect what was left to it.
            let is_ours = status.contains("(sh)") || status.contains("(sleep)");
            is_ours && !status.contains(") Z")
        };
        while all.iter().any(is_running) {
            assert!(begin.elapsed() < Duration::from_secs(40), "{all:?}");
            sleep(LOOK);
        }
    }

    #[test]
    fn output_is_returned() {
        let mut command = Command::new("sh");
        let (is_good, output) = output_of(command.args(["-c", "echo a; echo b; exit 1"])).unwrap();
        assert!(!is_good);
        assert_eq!(output, "a\nb\n");
    }

    #[test]
    fn processor_time_is_that_of_programs_that_ended() {
        let before = processor_time();
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        assert!(succeeds(Command::new("sh").args(["-c", busy])).unwrap());
        assert!(processor_time() > before);
    }
}
