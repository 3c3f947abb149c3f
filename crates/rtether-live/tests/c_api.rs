//! The C library: its examples with each other and with the Rust side, over loopback; misuse under
//! the address sanitizer; the header as C and as C++.
//!
//! Oracles: the compiler with all warnings; the values implied by the publisher's period, which the
//! subscriber prints; the output and samples of `rtps_peer`, which links no C; the statuses that
//! the header promises. Needs `cc`; a test that cannot run prints why, and is counted.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on may panic, and says what it has seen"
)]

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use rtether_live::rtps::{Domain, DomainOptions};
use rtether_rtps::engine::{Discovery, NewWriter, TopicName};
use rtether_rtps::qos::Qos;
use rtether_rtps::time::Duration;
use rtether_rtps::wire::v1::Role;
use rtether_testkit::{Run, c_library, example, skip};

const STRICT: &[&str] = &["-Wall", "-Wextra", "-Werror", "-pedantic"];
/// Private libraries listed in `rtether.pc`.
const SYSTEM: &[&str] = &["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc"];

fn here(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("c")
}

fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output();
    found.is_ok_and(|output| output.status.success())
}

/// Runs a command to completion; on failure the panic message contains its output.
fn done(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Builds both libraries once, in the profile of the tests, next to the header.
fn libraries() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let to = folder();
        c_library(&to);
        to
    })
}

/// Returns a compiler command with the include folders.
fn compiler(program: &str, standard: &str) -> Command {
    let mut command = Command::new(program);
    command.arg(standard).args(STRICT);
    // For example, a sanitizer with which the library was built.
    if let Ok(more) = std::env::var("RTETHER_C_FLAGS") {
        command.args(more.split_whitespace());
    }
    for folder in ["include", "examples/c"] {
        command.arg("-I").arg(here(folder));
    }
    command
}

/// Compiles a program against the shared or the static library.
fn compiled(source: &str, name: &str, is_static: bool, extra: &[&str]) -> PathBuf {
    let libraries = libraries();
    let out = libraries.join(name);
    let mut command = compiler("cc", "-std=c11");
    command.args(extra).arg("-o").arg(&out);
    command.args([here(source), here("examples/c/shape.c")]);
    if is_static {
        command.arg(libraries.join("librtether.a")).args(SYSTEM);
    } else {
        let path = format!("-Wl,-rpath,{}", libraries.display());
        command.arg("-L").arg(libraries).args(["-lrtether", "-lpthread", &path]);
    }
    done(&mut command);
    out
}

/// Compiles the program of samples over RTPS 1.0.
fn numbered(name: &str) -> PathBuf {
    compiled("tests/c/numbered.c", name, false, &[])
}

/// A manager of RTPS 1.0 on loopback, in a thread, until it is dropped.
struct Managed {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Managed {
    fn new(domain: &str) -> Self {
        let mut manager = Domain::open(&DomainOptions {
            domain: domain.parse().unwrap(),
            interface: Some(Ipv4Addr::LOCALHOST),
            multicast: false,
            ..DomainOptions::rtps1(Role::Manager)
        })
        .unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                let look = manager.now() + Duration::from_ms(20);
                manager.step(look).unwrap();
            }
        });
        let thread = Some(thread);
        Self { is_over, thread }
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Returns the numbers of the samples that a subscription has printed.
fn numbers(lines: &[String]) -> Vec<u32> {
    let samples = lines.iter().filter_map(|line| line.strip_prefix("sample ")?.split(' ').next());
    samples.map(|number| number.parse().unwrap()).collect()
}

/// Returns the peer without C.
fn peer() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| example("rtether-live", "rtps_peer"))
}

/// Returns a domain that concurrent runs on this host are unlikely to use.
fn domain(offset: u32) -> String {
    (100 + (std::process::id() * 8 + offset) % 120).to_string()
}

/// Runs a subscriber and a publisher at the same time; returns the subscriber's output.
fn exchange(mut subscriber: Command, mut publisher: Command) -> Vec<String> {
    subscriber.stdout(Stdio::piped()).stderr(Stdio::piped());
    let subscriber = subscriber.spawn().unwrap();
    let published = publisher.output().unwrap();
    let output = subscriber.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let words = [&output.stderr[..], &published.stdout, &published.stderr].concat();
    assert!(
        output.status.success() && published.status.success(),
        "{text}{}\nrepeat: cargo test -p rtether-live --test c_api",
        String::from_utf8_lossy(&words)
    );
    text.lines().map(str::to_owned).collect()
}

fn program(path: impl AsRef<OsStr>, args: &[&str]) -> Command {
    let mut command = Command::new(path);
    command.args(args);
    command
}

/// Expected output of a subscriber for `count` values of a publisher, which follow from its period.
fn values(count: u32, color: &str) -> Vec<String> {
    let lines = (1..=count).map(|x| format!("{color} {x} {} 30 0", 2 * x));
    lines.collect()
}

/// Output for the whole example: after its last period one more explicit value, then the end of the
/// shape.
fn all_of_the_example(count: u32, color: &str) -> Vec<String> {
    let mut lines = values(count, color);
    lines.push(format!("{color} -1 {} 30 0", 2 * count));
    lines.push(format!("{color} is gone"));
    lines.push("lost 0, malformed 0".to_owned());
    lines
}

#[test]
fn c_programs_exchange_samples() {
    if !has("cc") {
        return skip("needs cc");
    }
    let publisher = "examples/c/publisher.c";
    let subscriber = "examples/c/subscriber.c";
    let shared = [
        compiled(publisher, "publisher", false, &[]),
        compiled(subscriber, "subscriber", false, &[]),
    ];
    let contained = [
        compiled(publisher, "publisher-static", true, &[]),
        compiled(subscriber, "subscriber-static", true, &[]),
    ];
    let one = domain(0);
    let got = exchange(
        program(shared[1].clone(), &[&one, "127.0.0.1", "immediate"]),
        program(contained[0].clone(), &[&one, "127.0.0.1", "20", "GREEN"]),
    );
    assert_eq!(got, all_of_the_example(20, "GREEN"));
    let other = domain(1);
    let got = exchange(
        program(contained[1].clone(), &[&other, "127.0.0.1", "pulled"]),
        program(shared[0].clone(), &[&other, "127.0.0.1", "20", "RED", "xcdr2"]),
    );
    assert_eq!(got, all_of_the_example(20, "RED"));
}

#[test]
fn c_and_rust_exchange_samples() {
    if !has("cc") {
        return skip("needs cc");
    }
    let publisher = compiled("examples/c/publisher.c", "to-rust", false, &[]);
    let subscriber = compiled("examples/c/subscriber.c", "from-rust", false, &[]);
    let one = domain(2);
    let place = ["--domain", &one, "--interface", "127.0.0.1"];
    // Exclusive publications match exclusive subscriptions only.
    let policies = ["--reliable", "--strength", "0", "--depth", "0"];
    let rest = ["--durability", "transient-local", "--for", "20", "--count", "6"];
    let mut from_c = program(peer(), &["sub"]);
    from_c.args(place).args(policies).args(rest);
    let got = exchange(from_c, program(publisher, &[&one, "127.0.0.1", "5"]));
    let got: Vec<&str> = got.iter().filter_map(|line| line.strip_prefix("sample ")).collect();
    let mut expected = values(5, "BLUE");
    expected.push("BLUE -1 10 30 0".to_owned());
    assert_eq!(got, expected);

    let other = domain(3);
    let place = ["--domain", &other, "--interface", "127.0.0.1"];
    let mut to_c = program(peer(), &["pub", "--wait-match", "--reliable"]);
    to_c.args(place).args(["--depth", "0", "--count", "5", "--period", "5"]);
    to_c.args(["--color", "CYAN", "--size", "100", "--final", "dispose"]);
    let args = [other.as_str(), "127.0.0.1", "immediate", "shared"];
    let got = exchange(program(subscriber, &args), to_c);
    let mut expected = Vec::new();
    for x in 1..=5 {
        expected.push(format!("CYAN {x} {} 30 100", 2 * x));
    }
    expected.push("CYAN is gone".to_owned());
    expected.push("lost 0, malformed 0".to_owned());
    assert_eq!(got, expected);
}

/// Oracle: how many endpoints two participants have that share no topic with the program: one that
/// discovers on demand none, one that discovers all both.
#[test]
fn c_programs_discover_on_demand() {
    if !has("cc") {
        return skip("needs cc");
    }
    let two = compiled("tests/c/demand.c", "demand", false, &[]);
    let one = domain(7);
    let mut others = [Discovery::OnDemand, Discovery::All].map(|discovery| {
        let mut other = Domain::open(&DomainOptions {
            domain: one.parse().unwrap(),
            interface: Some(Ipv4Addr::LOCALHOST),
            discovery,
            ..DomainOptions::default()
        })
        .unwrap();
        let now = other.now();
        let name = TopicName { topic: "another", type_name: "word" };
        let new = NewWriter {
            name,
            has_key: false,
            qos: Qos::writer(),
            judge: None,
            publisher: None,
            separates: false,
        };
        other.participant_mut().add_writer(now, new).unwrap();
        other
    });
    let mut command = Command::new(&two);
    command.args([&one, "127.0.0.1"]).stdin(Stdio::piped());
    let mut running = command.start();
    let end = others[0].now() + Duration::from_s(20);
    let known = |other: &Domain| {
        let participant = other.participant();
        let all = participant.participants();
        let of_c = all.filter(|one| one.name.starts_with("C "));
        let of_c: Vec<_> = of_c.map(|one| one.prefix).collect();
        let endpoints = participant.endpoints();
        let endpoints = endpoints.filter(|(_, one)| of_c.contains(&one.guid.prefix));
        (of_c.len(), endpoints.count())
    };
    while others.each_ref().map(known) != [(2, 0), (2, 2)] && others[0].now() < end {
        for other in &mut others {
            let look = other.now() + Duration::from_ms(5);
            other.step(look).unwrap();
        }
    }
    let mut first = String::new();
    let mut lines = BufReader::new(running.stdout.take().unwrap());
    lines.read_line(&mut first).unwrap();
    // Participants that have matched have told their endpoints to all that are to know them.
    assert_eq!(first, "a sample\n");
    assert_eq!(others.each_ref().map(known), [(2, 0), (2, 2)]);
    drop(running.stdin.take());
    assert!(running.wait().unwrap().success());
}

/// Oracle: the numbers written, all of them and in order; those that are broken are printed.
#[test]
fn c_programs_exchange_samples_over_rtps_1_0() {
    if !has("cc") {
        return skip("needs cc");
    }
    let numbered = numbered("numbered");
    let one = domain(5);
    let _manager = Managed::new(&one);
    for size in ["small", "large"] {
        let line = |verb: &str| {
            let words = format!("{verb} Numbers {size} strict 60 5 1 1000 0 0 {one} 127.0.0.1");
            let mut command = Command::new(&numbered);
            command.args(words.split(' '));
            command
        };
        let got = exchange(line("sub"), line("pub"));
        assert_eq!(numbers(&got), (1..=60).collect::<Vec<u32>>(), "{got:?}");
        assert_eq!(got.len(), 60, "{got:?}");
    }
}

/// Oracle: D3 of the papers: the weaker publication is taken once the persistence of the last sample
/// of the stronger one is over, and never while that one writes.
#[test]
fn the_stronger_c_program_is_taken_in_rtps_1_0() {
    if !has("cc") {
        return skip("needs cc");
    }
    let numbered = numbered("numbered-strength");
    let one = domain(6);
    let _manager = Managed::new(&one);
    let line = |words: &str| {
        let mut command = Command::new(&numbered);
        command.args(format!("{words} {one} 127.0.0.1").split(' '));
        command.start()
    };
    let mut reading = line("sub Strength small best 0 0 1 0 0 0");
    let mut lines = BufReader::new(reading.stdout.take().unwrap()).lines();
    let mut sample = || {
        let line = lines.next().unwrap().unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(words[0], "sample", "{line}");
        (words[2].to_owned(), words[3].parse::<i64>().unwrap())
    };
    let mut strong = line("pub Strength small best 100000 20 5 700 0 0");
    let (of_strong, mut last) = sample();
    let mut weak = line("pub Strength small best 100000 20 2 700 0 0");
    // For two seconds both write.
    for _ in 0..100 {
        let (who, at) = sample();
        assert_eq!(who, of_strong);
        last = at;
    }
    // It says no good-bye.
    strong.kill().unwrap();
    strong.wait().unwrap();
    let first = loop {
        let (who, at) = sample();
        if who != of_strong {
            break at;
        }
        last = at;
    };
    // A sample is printed a little later than it arrives.
    assert!((600..5_000).contains(&(first - last)), "{last} {first}");
    for child in [&mut weak, &mut reading] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// Returns a command that runs a program at addresses that are the same each time, where the host
/// permits it: on kernels that draw 32 bits of them, a third of all runs below the `AddressSanitizer`
/// of GCC 12 die before `main`, since something is where it wants to be.
fn at_fixed_addresses(program: &Path) -> Command {
    let tried = Command::new("setarch").args(["-R", "true"]).output();
    if tried.is_ok_and(|tried| tried.status.success()) {
        let mut command = Command::new("setarch");
        command.arg("-R").arg(program);
        return command;
    }
    Command::new(program)
}

#[test]
fn misuse_is_refused_and_leaves_memory_alone() {
    if !has("cc") {
        return skip("needs cc");
    }
    let source = "tests/c/misuse.c";
    let probe = libraries().join("probe.c");
    fs::write(&probe, "int main(void) { return 0; }\n").unwrap();
    let mut sanitized = Command::new("cc");
    sanitized.args(["-fsanitize=address,undefined", "-o"]);
    sanitized.arg(libraries().join("probe")).arg(&probe);
    // The library is not instrumented. Memory filled when freed still reveals use after free: every
    // pointer in it is invalid.
    let filled = ("ASAN_OPTIONS", "max_free_fill_size=1048576:free_fill_byte=165");
    if sanitized.output().unwrap().status.success() {
        let extra = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover"];
        let misuse = compiled(source, "misuse", false, &extra);
        done(at_fixed_addresses(&misuse).env(filled.0, filled.1));
    } else {
        let misuse = compiled(source, "misuse", false, &[]);
        done(Command::new(misuse).env("MALLOC_PERTURB_", "165"));
        skip("memory is watched by its filling alone: needs libasan");
    }
}

/// Oracle: valgrind, which sees every memory access of library and program.
#[test]
fn valgrind_finds_nothing() {
    if !has("cc") {
        return skip("needs cc");
    }
    let Some(valgrind) = std::env::var_os("RTETHER_VALGRIND") else {
        return skip("needs RTETHER_VALGRIND, the path of valgrind");
    };
    let watched = |path: &Path, args: &[&str]| {
        let mut command = Command::new(&valgrind);
        command.args(["-q", "--error-exitcode=99", "--leak-check=full"]);
        command.arg("--errors-for-leak-kinds=definite").arg(path);
        command.args(args);
        command
    };
    let misuse = compiled("tests/c/misuse.c", "misuse-watched", false, &["-g"]);
    done(&mut watched(&misuse, &[]));
    let publisher = compiled("examples/c/publisher.c", "publisher-watched", false, &["-g"]);
    let subscriber = compiled("examples/c/subscriber.c", "subscriber-watched", false, &["-g"]);
    let one = domain(4);
    let got = exchange(
        watched(&subscriber, &[&one, "127.0.0.1", "immediate"]),
        watched(&publisher, &[&one, "127.0.0.1", "10", "BLUE"]),
    );
    assert_eq!(got, all_of_the_example(10, "BLUE"));
}

#[test]
fn the_header_is_cpp_too() {
    if !has("c++") {
        return skip("needs c++");
    }
    for source in ["publisher.c", "subscriber.c", "shape.c"] {
        let mut command = compiler("c++", "-std=c++17");
        command.args(["-fsyntax-only", "-x", "c++"]);
        done(command.arg(here("examples/c").join(source)));
    }
}

#[test]
fn the_header_is_cpp_of_1998_too() {
    if !has("c++") {
        return skip("needs c++");
    }
    let source = folder().join("header.cpp");
    fs::create_dir_all(folder()).unwrap();
    let text = "#include \"rtether.h\"\nint main() { return rtether_version() == NULL; }\n";
    fs::write(&source, text).unwrap();
    let mut command = compiler("c++", "-std=c++98");
    done(command.arg("-fsyntax-only").arg(source));
}
