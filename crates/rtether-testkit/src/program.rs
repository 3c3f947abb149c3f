//! Programs that tests run, and what is expected of them.

use std::fs;
use std::io::{self, BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::schema::follows_schema;

/// Longer than anything here takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Exit code and output of a program that has ended.
#[derive(Debug)]
pub struct Ended {
    /// What was run, for messages.
    command: String,
    /// Exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
        Self {
            command: String::new(),
            code: output.status.code(),
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }
}

impl Ended {
    /// Asserts the exit code.
    #[track_caller]
    pub fn exits(&self, code: i32) -> &Self {
        let Self { command, out, err, .. } = self;
        assert_eq!(self.code, Some(code), "{command}\n{out}{err}");
        self
    }

    /// Asserts that standard error contains a text.
    #[track_caller]
    pub fn says(&self, text: &str) -> &Self {
        let Self { command, err, .. } = self;
        assert!(err.contains(text), "{command}\nnot `{text}`:\n{err}");
        self
    }

    /// Asserts that standard output contains a text.
    #[track_caller]
    pub fn shows(&self, text: &str) -> &Self {
        let Self { command, out, .. } = self;
        assert!(out.contains(text), "{command}\nnot `{text}`:\n{out}");
        self
    }

    /// Returns standard output as a JSON document, which follows its schema if it is a result.
    #[track_caller]
    pub fn json(&self) -> Value {
        let document = serde_json::from_str(&self.out);
        let document = document.unwrap_or_else(|error| panic!("{error}: {self:?}"));
        follows_schema(&document);
        document
    }
}

/// Runs a program; a program that cannot be started ends the test.
pub trait Run {
    /// Runs it to its end.
    fn run(&mut self) -> Ended;

    /// Starts it, and keeps its output for [`Finish::finish`].
    fn start(&mut self) -> Child;
}

impl Run for Command {
    #[track_caller]
    fn run(&mut self) -> Ended {
        let output = self.output().expect("it can be started");
        Ended { command: format!("{self:?}"), ..output.into() }
    }

    #[track_caller]
    fn start(&mut self) -> Child {
        let piped = self.stdout(Stdio::piped()).stderr(Stdio::piped());
        piped.spawn().expect("it can be started")
    }
}

/// Set where cargo has built the examples together with the tests.
const BUILT: &str = "RTETHER_BUILT";

/// Returns the path of an example of a package, which is built unless cargo has done so with all tests.
/// Alone, it needs fewer features of what it depends on, so that most of that would be built again.
pub fn example(package: &str, name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the program of the test");
    let folder = test.parent().and_then(Path::parent);
    let path = folder.expect("a folder of builds").join("examples").join(name);
    if std::env::var_os(BUILT).is_none() || !path.exists() {
        Command::new(env!("CARGO"))
            .args(["build", "-q", "-p", package, "--example", name])
            .run()
            .exits(0);
    }
    path
}

/// Builds the C library into a folder of the calling test, in the profile of the tests: shared and
/// static. Cargo builds a library of another kind for one package alone, with what it depends on; that is
/// not optimized, since it takes longer to build than the tests take.
pub fn c_library(folder: &Path) {
    let mut build = Command::new(env!("CARGO"));
    build.args(["rustc", "-q", "-p", "rtether-live", "--lib"]);
    for package in ["rtether-model", "rtether-proto", "rtether-rtps", "rtether-sim"] {
        build.args(["--config", &format!("profile.dev.package.{package}.opt-level=0")]);
    }
    build
        .args(["--features", "c", "--crate-type", "cdylib,staticlib", "--"])
        .args(["-C", "link-arg=-Wl,-soname,librtether.so.0"])
        .run()
        .exits(0);
    let test = std::env::current_exe().expect("the program of the test");
    let target = test.parent().and_then(Path::parent);
    let built = target.expect("a folder of builds");
    // A program still running from an earlier test keeps its library.
    let _ = fs::remove_dir_all(folder);
    let copy = |from, to| fs::copy(built.join(from), folder.join(to));
    let copied = fs::create_dir_all(folder)
        .and_then(|()| copy("librtether_live.so", "librtether.so.0"))
        .and_then(|_| copy("librtether_live.a", "librtether.a"))
        .and_then(|_| fs::hard_link(folder.join("librtether.so.0"), folder.join("librtether.so")));
    copied.expect("a folder with the library");
}

/// Waits for a program.
pub trait Finish {
    /// Waits for its end.
    fn finish(self) -> Ended;
}

impl Finish for Child {
    #[track_caller]
    fn finish(self) -> Ended {
        let output = self.wait_with_output();
        output.expect("it can be waited for").into()
    }
}

/// Waits until a program that was started says a line with a text; what it says later can be read
/// from the lines returned, and has to be read or kept until its end.
#[track_caller]
pub fn until_says(child: &mut Child, text: &str) -> Lines<BufReader<ChildStderr>> {
    let said = child.stderr.take().expect("its errors are piped");
    let mut lines = BufReader::new(said).lines();
    let mut words = lines.by_ref().map_while(Result::ok);
    assert!(words.any(|line| line.contains(text)), "not `{text}`");
    lines
}

/// Sends a process a signal, such as `-INT`.
#[track_caller]
pub fn signal(process: u32, name: &str) {
    let mut kill = Command::new("kill");
    kill.args([name, &process.to_string()]).run().exits(0);
}

/// Sends a signal to a process and all others of its group, as a terminal does.
#[track_caller]
pub fn signal_group(process: u32, name: &str) {
    let mut kill = Command::new("kill");
    kill.args([name, "--", &format!("-{process}")]).run().exits(0);
}

/// Repeats a call that a signal has interrupted, such as that of any child that ends: the kernel
/// does not restart calls with a time-out.
///
/// # Errors
/// Any other error of the call.
pub fn repeated<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Returns whether a process handles SIGTERM (`proc_pid_status(5)`).
#[must_use]
pub fn handles_signals(process: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status"));
    let status = status.unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    caught.is_some_and(|mask| mask >> 14 & 1 == 1)
}

/// Waits until `is_so` holds, longer than anything takes on a busy machine.
#[track_caller]
pub fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}
