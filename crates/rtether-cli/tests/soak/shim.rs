//! `rtether shim` as a process, and its output.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rtether_testkit::follows_schema;
use serde_json::Value;

use crate::account::Dropped;
use crate::bed::{Bed, PATIENCE, run};

/// A shim at work.
pub(crate) struct Shim {
    child: Child,
    /// Lines that it prints.
    said: Receiver<String>,
}

/// A status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) dropped: Dropped,
    /// Frames queued.
    pub(crate) waiting: u64,
    /// Frames that bypassed it.
    pub(crate) bypassed: u64,
    /// Configurations accepted and refused.
    pub(crate) reloads: [u64; 2],
    pub(crate) drops: Vec<(String, u64)>,
}

/// Resources of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) resident_kib: u64,
    pub(crate) files: usize,
    pub(crate) threads: u64,
}

impl Shim {
    /// Starts a shim and waits until it is at work. An error contains its output.
    pub(crate) fn start(bed: &Bed, config: &str) -> Result<Self, String> {
        let path = bed.file("shim.yaml", config);
        let mut command = bed.rtether(&["shim", "up", "wire", "--config", &path, "--json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (say, said) = channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                drop(say.send(line));
            }
        });
        let mut this = Self { child, said };
        let mut all = String::new();
        let begin = Instant::now();
        loop {
            let left = PATIENCE.saturating_sub(begin.elapsed());
            match this.said.recv_timeout(left) {
                Ok(line) if line.contains("running") => return Ok(this),
                Ok(line) => all = all + &line + "\n",
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    drop(this.child.kill());
                    drop(this.child.wait());
                    return Err(format!("no shim is running: {all}{config}"));
                }
            }
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns what it has printed since the last call.
    pub(crate) fn said(&self) -> Vec<String> {
        self.said.try_iter().collect()
    }

    /// Returns whether it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    pub(crate) fn signal(&self, name: &str) -> Result<(), String> {
        run(&format!("kill {name} {}", self.pid())).map(drop)
    }

    /// Kills it; `with_watchdog` kills its watchdog first.
    pub(crate) fn kill(mut self, with_watchdog: bool) -> Result<(), String> {
        if with_watchdog {
            // Stopped, it cannot start another watchdog.
            self.signal("-STOP")?;
            let pid = self.pid();
            let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
            for child in children.unwrap_or_default().split_whitespace() {
                run(&format!("kill -KILL {child}"))?;
            }
        }
        self.child.kill().map_err(|error| error.to_string())?;
        self.child.wait().map_err(|error| error.to_string())?;
        Ok(())
    }

    /// Ends it in order and returns its last status.
    pub(crate) fn end(mut self) -> Result<Told, String> {
        self.signal("-TERM")?;
        let begin = Instant::now();
        while self.child.try_wait().map_err(|e| e.to_string())?.is_none() {
            if begin.elapsed() > PATIENCE {
                drop(self.child.kill());
                drop(self.child.wait());
                return Err("the shim does not end".into());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let mut text = String::new();
        let mut output = self.child.stdout.take().unwrap();
        output.read_to_string(&mut text).unwrap();
        let status = self.child.wait().map_err(|error| error.to_string())?;
        if !status.success() {
            return Err(format!("the shim ended with {status}: {:?}", self.said()));
        }
        Told::read(&text)
    }

    /// Requests its status.
    pub(crate) fn ask(bed: &Bed) -> Result<Told, String> {
        Told::read(&command(bed, &["shim", "status", "wire", "--json"], 0)?)
    }

    /// Requests its status until the counters of all `ways` have been renewed twice, and returns it
    /// with a time: what the status lacks happened later. The shim had read the counters of the first renewal when it
    /// published them, so it read those of the second after the last request that got the old ones.
    pub(crate) fn ask_anew(
        bed: &Bed,
        ways: &[&str],
        now: impl Fn() -> u64,
    ) -> Result<(Told, u64), String> {
        let ask = || {
            let text = command(bed, &["shim", "status", "wire", "--json"], 0)?;
            serde_json::from_str::<Value>(&text).map_err(|error| error.to_string())
        };
        let mut asked = now();
        let mut old = ask()?;
        let mut renewed = 0;
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            let again = now();
            let new = ask()?;
            // Flows in both directions never pause for long.
            let is_renewed = ways.iter().all(|way| new[way] != old[way]);
            if is_renewed {
                renewed += 1;
                old = new;
            } else if renewed == 0 {
                asked = again;
            }
            if renewed == 2 {
                return Ok((Told::of(&old), asked));
            }
        }
        Err(format!(
            "the status of the shim stands still: renewed {renewed} times in {:?}, last {old}",
            begin.elapsed()
        ))
    }

    /// Returns the resources of its process.
    pub(crate) fn memory(&self) -> Result<Memory, String> {
        let folder = format!("/proc/{}", self.pid());
        let status = fs::read_to_string(format!("{folder}/status")).map_err(|e| e.to_string())?;
        let number = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key));
            let word = line.and_then(|line| line.split_whitespace().next());
            word.and_then(|word| word.parse().ok())
                .ok_or_else(|| format!("no {key} in {folder}/status"))
        };
        let files = fs::read_dir(format!("{folder}/fd")).map_err(|e| e.to_string())?;
        Ok(Memory {
            resident_kib: number("VmRSS:")?,
            files: files.count(),
            threads: number("Threads:")?,
        })
    }
}

impl Drop for Shim {
    fn drop(&mut self) {
        // It has ended already, unless the soak has failed.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Runs `rtether` and returns its output; any other exit code is an error.
pub(crate) fn command(bed: &Bed, arguments: &[&str], code: i32) -> Result<String, String> {
    let output = bed.rtether(arguments).output().map_err(|e| e.to_string())?;
    if output.status.code() == Some(code) {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{arguments:?} ended with {}: {said}", output.status))
}

impl Told {
    fn read(text: &str) -> Result<Self, String> {
        let document: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        follows_schema(&document);
        Ok(Self::of(&document))
    }

    fn of(document: &Value) -> Self {
        let mut told = Self {
            bypassed: sum(&document["bypassed"]),
            reloads: ["taken", "refused"].map(|key| number(&document["reloads"][key])),
            ..Self::default()
        };
        let mut in_queues = [0, 0];
        for queue in document["queues"].as_array().into_iter().flatten() {
            let is_out = queue["direction"] == "transmit";
            let kind = match (is_out, number(&queue["queue"])) {
                (true, 2) => 0,
                (true, 1) => 1,
                (true, _) => 2,
                (false, 2) => 3,
                (false, 1) => 4,
                // Acknowledgments.
                (false, _) => continue,
            };
            told.dropped.of_kind[kind] += number(&queue["dropped"]);
        }
        for queue in document["queues"].as_array().into_iter().flatten() {
            told.waiting += number(&queue["depth_frames"]);
            in_queues[usize::from(queue["direction"] != "transmit")] += number(&queue["dropped"]);
        }
        for class in ["real_time", "bulk"] {
            told.waiting += number(&document["smoother"][class]["depth_packets"]);
        }
        let drops = &document["drops"];
        let of = |keys: &[&str]| keys.iter().map(|key| number(&drops[*key])).sum::<u64>();
        let beyond = |all: u64, queues: u64| all.saturating_sub(queues);
        told.dropped.out = beyond(number(&drops["transmit_full"]), in_queues[0])
            + of(&["stack_overrun", "port_down", "port_refused", "abandoned"]);
        told.dropped.into = beyond(number(&drops["receive_full"]), in_queues[1])
            + of(&["wire_overrun", "stack_refused"]);
        let named = drops.as_object().into_iter().flatten();
        told.drops = named.map(|(key, count)| (key.clone(), number(count))).collect();
        told
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

fn sum(object: &Value) -> u64 {
    object.as_object().into_iter().flatten().map(|(_, value)| number(value)).sum()
}
