//! Runs the commands of a page in a separate folder.

use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rtether_testkit::follows_schema;
use serde_json::Value;

use crate::page::{Block, Mark, Page, commands};
use crate::{compare, root};

/// Far longer than any command of a page takes, even without optimization on a busy machine.
const LONGEST: Duration = Duration::from_secs(400);

static ALONE: Mutex<()> = Mutex::new(());

/// Outcome of a block of commands.
enum Outcome {
    /// Everything printed and, for commands run together, the errors separately.
    Printed(String, String),
    /// This machine cannot do it.
    Skipped,
}

/// Mistakes of a page, and its new text for `RTETHER_BLESS=1`.
pub(crate) struct PageResult {
    pub(crate) mistakes: Vec<String>,
    pub(crate) text: String,
    /// Commands that this machine cannot run.
    pub(crate) skipped: Vec<String>,
}

/// A folder for the commands of a page, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(page: &str) -> Self {
        let name = page.replace(['/', '.'], "-");
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("docs-{name}"));
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(&path).expect("a folder can be made");
        std::os::unix::fs::symlink(root().join("docs"), path.join("docs"))
            .expect("a link can be made");
        // A link would lead out of the folder of a study, whose scenario is there.
        copy(&root().join("scenarios"), &path.join("scenarios"));
        Self(path)
    }
}

/// Copies a folder with all that is in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).expect("a folder can be made");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).expect("a file can be copied");
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// Runs all commands of a page and compares their outputs.
pub(crate) fn run(page: &Page) -> PageResult {
    let folder = Folder::new(&page.path);
    let mut lines = page.lines.clone();
    let mut found = PageResult { mistakes: Vec::new(), text: String::new(), skipped: Vec::new() };
    // New outputs are inserted from the end of the page, so that places stay valid.
    let mut outputs: Vec<(&Block, Vec<String>)> = Vec::new();
    let mut last: Option<Outcome> = None;
    for block in &page.blocks {
        let place = page.place(block);
        let text = page.text(block);
        if let Some(name) = block.file() {
            fs::write(folder.0.join(name), format!("{text}\n")).expect("a file can be written");
        }
        if block.has(&Mark::NotRun) {
            if block.language == "sh" {
                last = None;
            }
            continue;
        }
        if block.has(&Mark::Long) && std::env::var_os("RTETHER_NIGHTLY").is_none() {
            last = Some(Outcome::Skipped);
            continue;
        }
        let result = match block.language.as_str() {
            "sh" => match commands_of(&folder.0, block, &text) {
                Ok(outcome) => {
                    match &outcome {
                        Outcome::Skipped => found.skipped.push(place.clone()),
                        Outcome::Printed(printed, _) => follow_schemas(printed),
                    }
                    last = Some(outcome);
                    Ok(None)
                }
                Err(mistake) => {
                    last = Some(Outcome::Skipped);
                    Err(mistake)
                }
            },
            "text" => compared(page, block, last.as_ref()),
            _ => other(block, &text).map(|()| None),
        };
        match result {
            Ok(None) => {}
            Ok(Some(shown)) => {
                let message = "prints something else now (RTETHER_BLESS=1 writes it):";
                let all = shown.join("\n");
                found.mistakes.push(format!("{place}: {message}\n{all}\n"));
                outputs.push((block, shown));
            }
            Err(mistake) => found.mistakes.push(format!("{place}: {mistake}")),
        }
    }
    for (block, shown) in outputs.into_iter().rev() {
        lines.splice(block.lines.clone(), shown);
    }
    found.text = lines.join("\n") + "\n";
    found
}

/// Returns what a block should show, if it shows something else.
fn compared(
    page: &Page,
    block: &Block,
    last: Option<&Outcome>,
) -> Result<Option<Vec<String>>, String> {
    let (printed, errors) = match last {
        _ if block.has(&Mark::NotCompared) => return Ok(None),
        Some(Outcome::Skipped) => return Ok(None),
        Some(Outcome::Printed(printed, errors)) => (printed, errors),
        None => {
            let advice = "say why by `<!-- not run: ... -->`";
            return Err(format!("no command before it prints this; {advice}"));
        }
    };
    let of_errors = block.has(&Mark::Errors);
    let shown = compare::shown(block, if of_errors { errors } else { printed });
    let old = &page.lines[block.lines.clone()];
    Ok((!compare::is_same(block, old, &shown)).then_some(shown))
}

/// Checks a block that is neither commands nor output.
fn other(block: &Block, text: &str) -> Result<(), String> {
    match block.language.as_str() {
        // `yml` is YAML of other programs.
        "yaml" | "yml" | "idl" => Ok(()),
        // Run by the tests of `rtether-python`.
        "py" => Ok(()),
        "c" | "rust" if is_quoted(text) => Ok(()),
        "c" | "rust" => Err("no example of crates/rtether-live has these lines".into()),
        other => Err(format!("a block of `{other}`; commands are `sh`, what they print is `text`")),
    }
}

/// Holds results in JSON, alone or one on each line, against their schemas.
fn follow_schemas(printed: &str) {
    let whole = serde_json::from_str::<Value>(printed).into_iter();
    let lines = printed.lines().filter_map(|line| serde_json::from_str(line).ok());
    whole.chain(lines).for_each(|document| follows_schema(&document));
}

fn commands_of(folder: &Path, block: &Block, text: &str) -> Result<Outcome, String> {
    for mark in &block.marks {
        if let Mark::Setup(command) = mark {
            let (code, printed) = shell(folder, command)?;
            if code != 0 {
                return Err(format!("`{command}` ended with {code}:\n{printed}"));
            }
        }
    }
    let all = commands(text);
    let is_root = rustix::process::geteuid().is_root();
    let needs_root = block.together().is_some() || all.iter().any(|line| line.starts_with("sudo "));
    if needs_root && !(is_root && has_namespaces()) {
        return Ok(Outcome::Skipped);
    }
    // Measurements have the machine to themselves, as far as this test is concerned.
    let _alone = needs_root.then(|| ALONE.lock().unwrap_or_else(PoisonError::into_inner));
    if let Some(seconds) = block.together() {
        return together(folder, block, &all, seconds);
    }
    let mut said = String::new();
    for (index, command) in all.iter().enumerate() {
        let (code, printed) = shell(folder, command)?;
        let is_last = index + 1 == all.len();
        let expected = if is_last { block.exits() } else { &[0] };
        if !expected.contains(&code) {
            return Err(format!(
                "`{command}` ends with {code}, not with {expected:?} (`<!-- exit: {code} -->` above \
                 the block if that is right):\n{printed}"
            ));
        }
        said.push_str(&printed);
    }
    Ok(Outcome::Printed(said, String::new()))
}

fn has_namespaces() -> bool {
    let made = Command::new("unshare").args(["-n", "true"]).output();
    made.is_ok_and(|output| output.status.success())
}

/// The command that a reader types, as run by this test: from this build, without `sudo`.
fn typed(command: &str) -> String {
    let command = command.replacen("cargo run --release -- ", "rtether ", 1);
    command.strip_prefix("sudo ").unwrap_or(&command).to_owned()
}

fn prepared(folder: &Path, script: &str) -> Command {
    let binary = Path::new(env!("CARGO_BIN_EXE_rtether"));
    let own = binary.parent().expect("a folder").display();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("sh");
    command
        .args(["-c", script])
        .current_dir(folder)
        .env("PATH", format!("{own}:{path}"))
        .env("NO_COLOR", "1")
        .env_remove("COLUMNS")
        .env("HOME", folder);
    command
}

/// Runs a command; returns its exit code and its output, including errors.
fn shell(folder: &Path, command: &str) -> Result<(i32, String), String> {
    execute(prepared(folder, &format!("exec 2>&1\n{}", typed(command))), command)
}

fn execute(mut prepared: Command, command: &str) -> Result<(i32, String), String> {
    let child = prepared.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| format!("`{command}` does not start: {error}"))?;
    let mut out = child.stdout.take().expect("a pipe");
    let reader = std::thread::spawn(move || {
        let mut octets = Vec::new();
        drop(out.read_to_end(&mut octets));
        String::from_utf8_lossy(&octets).into_owned()
    });
    let start = Instant::now();
    loop {
        let ended = child.try_wait().map_err(|error| error.to_string())?;
        if let Some(status) = ended {
            let printed = reader.join().unwrap_or_default();
            return Ok((status.code().unwrap_or(-1), printed));
        }
        if start.elapsed() > LONGEST {
            end(child);
            return Err(format!("`{command}` has not ended after {LONGEST:?}"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Ends a shell and the program that it runs, which would go on without it.
fn end(mut shell: Child) {
    let id = shell.id();
    let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
    drop(shell.kill());
    drop(shell.wait());
    for child in children.unwrap_or_default().split_whitespace() {
        drop(Command::new("kill").args(["-KILL", child]).status());
    }
}

/// Devices with the addresses used on pages, so that one host plays both.
const NETWORK: &str = "ip link set lo up
ip link add eth0 type veth peer name eth1
ip link set eth0 up
ip link set eth1 up
ip address add 10.0.0.1/24 dev eth0
ip address add 10.0.0.2/24 dev eth1
";

/// Waits until a command has begun and waits for something itself, or has ended; on a busy machine that
/// takes more than a moment. One that never waits is given half a minute.
const READY: &str = "ready() {
n=0 calm=0
while [ $n -lt 300 ] && [ $calm -lt 3 ]; do
case $(sed 's/.*) //; s/ .*//' /proc/$1/stat 2> /dev/null) in
S) calm=$((calm + 1)) ;;
R | D) calm=0 ;;
*) return ;;
esac
sleep 0.1
n=$((n + 1))
done
}
";

/// Runs commands at the same time in a separate network and ends those that continue.
fn together(folder: &Path, block: &Block, all: &[String], seconds: u32) -> Result<Outcome, String> {
    let mut script = format!("{NETWORK}{READY}");
    let last = all.len().saturating_sub(1);
    for (index, command) in all.iter().enumerate() {
        let bare = typed(command);
        let bare = bare.split(" #").next().unwrap_or_default();
        _ = write!(script, "{bare} > {index}.out 2> {index}.err &\np{index}=$!\nsleep 1\n");
        if index < last {
            _ = writeln!(script, "ready $p{index}");
        }
    }
    _ = write!(
        script,
        "n=0\nwhile kill -0 $p{last} 2> /dev/null && [ $n -lt {seconds}0 ]; do\n\
         sleep 0.1\nn=$((n + 1))\ndone\n"
    );
    for index in (0..all.len()).rev() {
        _ = write!(script, "kill -TERM $p{index} 2> /dev/null\nwait $p{index}\necho {index} $?\n");
    }
    fs::write(folder.join("together.sh"), script).map_err(|error| error.to_string())?;
    let mut own = prepared(folder, "exec unshare -n sh together.sh");
    own.stderr(Stdio::null());
    let (_, codes) = execute(own, "together.sh")?;
    let printed = |index: usize, kind: &str| {
        let path = folder.join(format!("{index}.{kind}"));
        fs::read_to_string(path).unwrap_or_default()
    };
    for (index, command) in all.iter().enumerate() {
        let start = format!("{index} ");
        let code = codes.lines().find_map(|line| line.strip_prefix(&start));
        let is_expected = |code: &str| {
            let of_last = block.exits().iter().any(|exit| exit.to_string() == code);
            ["0", "130"].contains(&code) || (index == last && of_last)
        };
        match code {
            Some(code) if is_expected(code) => {}
            // This machine cannot do it.
            Some("4") => return Ok(Outcome::Skipped),
            _ => {
                let (out, err) = (printed(index, "out"), printed(index, "err"));
                return Err(format!(
                    "`{command}` ends neither with 0 nor with 130:\n{codes}{out}{err}"
                ));
            }
        }
    }
    Ok(Outcome::Printed(printed(last, "out"), printed(last, "err")))
}

/// Returns whether an example contains the lines of each paragraph, in order.
fn is_quoted(text: &str) -> bool {
    let trimmed = |text: &str| {
        let lines = text.lines().map(|line| format!("{}\n", line.trim()));
        lines.collect::<String>()
    };
    let paragraphs: Vec<String> = text.split("\n\n").map(trimmed).collect();
    let folders = ["", "c", "shape_main", "rtps_peer"];
    let folders = folders.map(|name| root().join("crates/rtether-live/examples").join(name));
    let files = folders.iter().filter_map(|folder| fs::read_dir(folder).ok());
    let mut files = files.flatten().filter_map(|entry| Some(entry.ok()?.path()));
    files.any(|path| {
        let file = fs::read_to_string(path).unwrap_or_default();
        let file = trimmed(&file);
        paragraphs.iter().all(|paragraph| file.contains(paragraph))
    })
}
