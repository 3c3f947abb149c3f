//! System programs that tests and steps run: found, installed, or asked for.

use std::cell::OnceCell;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::repo::{Repo, TextFile};

/// A program that tests run and that a minimal system lacks.
struct Tool {
    /// Names under which it may be installed.
    names: &'static [&'static str],
    /// Tests find its path in this variable, and skip themselves if it is not set; without a
    /// variable they look for the name in the search path.
    variable: Option<&'static str>,
    packages: &'static [&'static str],
    /// What it is needed for.
    purpose: &'static str,
}

impl Tool {
    const fn named(
        names: &'static [&'static str],
        packages: &'static [&'static str],
        purpose: &'static str,
    ) -> Self {
        Self { names, variable: None, packages, purpose }
    }

    const fn given_in(self, variable: &'static str) -> Self {
        Self { variable: Some(variable), ..self }
    }
}

/// Programs missing on a freshly installed Debian system; those it has, such as `cp` and `setpriv`,
/// are `ESSENTIAL`.
const TOOLS: &[Tool] = &[
    Tool::named(
        &["chromium", "chromium-browser", "google-chrome"],
        &["chromium", "fonts-liberation"],
        "to look at the report in a browser",
    )
    .given_in("RTETHER_CHROMIUM"),
    Tool::named(&["tshark"], &["tshark"], "to read captures with another decoder")
        .given_in("RTETHER_TSHARK"),
    Tool::named(&["ip"], &["iproute2"], "to make hosts on this machine, as root")
        .given_in("RTETHER_IP"),
    Tool::named(
        &["idlc"],
        &["g++", "cyclonedds-dev", "cyclonedds-tools", "libfastrtps-dev", "libfastcdr-dev"],
        "to exchange samples with other implementations of RTPS",
    )
    .given_in("RTETHER_IDLC"),
    Tool::named(
        &["valgrind"],
        &["valgrind", "libc6-dbg"],
        "to see every access of the C library to memory",
    )
    .given_in("RTETHER_VALGRIND"),
    Tool::named(
        &["python3"],
        &["python3", "python3-venv"],
        "to call the module from Python, and to read reports with packages of Python",
    )
    .given_in("RTETHER_PYTHON"),
    Tool::named(&["node", "nodejs"], &["nodejs"], "to check certificates with a second checker")
        .given_in("RTETHER_NODE"),
    Tool::named(&["lp_solve"], &["lp-solve"], "to bound plants with panco")
        .given_in("RTETHER_LP_SOLVE"),
    Tool::named(
        &["qemu-system-x86_64"],
        &["qemu-system-x86"],
        "to try settings in an emulated machine",
    ),
    Tool::named(&["cpio"], &["cpio"], "to fill the memory of an emulated machine"),
    Tool::named(&["depmod"], &["kmod"], "to give modules to the kernel of an emulated machine"),
    Tool::named(&["parallel"], &["parallel"], "to run shards of a study side by side"),
    Tool::named(&["slurmctld"], &["slurmctld"], "to run a study as an array of jobs, as root"),
    Tool::named(&["slurmd"], &["slurmd"], "to run a study as an array of jobs, as root"),
    Tool::named(&["sbatch"], &["slurm-client"], "to run a study as an array of jobs, as root"),
    Tool::named(&["zsh"], &["zsh"], "to try examples of the help"),
    Tool::named(&["fish"], &["fish"], "to try examples of the help"),
    Tool::named(&["tc"], &["iproute2"], "to put queues on devices, as root"),
    Tool::named(&["cc"], &["gcc", "libc6-dev"], "to build C programs on the library"),
    Tool::named(&["c++"], &["g++"], "to read the header as C++"),
    Tool::named(&["ssh"], &["openssh-client"], "to run scenarios between hosts"),
    Tool::named(&["ssh-keygen"], &["openssh-client"], "to make keys for hosts of tests"),
    Tool::named(&["sshd"], &["openssh-server"], "to reach hosts that tests make on this machine"),
    Tool::named(&["systemd-analyze"], &["systemd"], "to check the unit of the shim"),
    Tool::named(&["snmpd"], &["snmpd"], "to be identified as a device, as root"),
    Tool::named(&["tcpdump"], &["tcpdump"], "to see what is sent, as root"),
    Tool::named(&["kill"], &["procps"], "to send signals to programs"),
    Tool::named(&["sysctl"], &["procps"], "to set up hosts of tests"),
];

/// Programs that every Debian system has (in essential packages, or part of a shell).
#[cfg(test)]
const ESSENTIAL: &[&str] = &[
    "apt-cache",
    "apt-config",
    "apt-get",
    "cat",
    "chmod",
    "chroot",
    "cp",
    "gzip",
    "id",
    "mkdir",
    "mkfifo",
    "mount",
    "prlimit",
    "rm",
    "setarch",
    "setpriv",
    "sh",
    "sha256sum",
    "sleep",
    "timeout",
    "true",
    "umount",
    "unshare",
];

/// Programs that single steps look for themselves, with advice on how to get them.
#[cfg(test)]
const OF_STEPS: &[&str] = &[
    "bash",
    "cargo",
    "debootstrap",
    "dpkg",
    "dpkg-deb",
    "git",
    "rustc",
    "rustup",
    "tar",
    "valgrind",
    "x86_64-w64-mingw32-gcc",
];

/// Returns the variables to set for the tests: one for each available tool that has one.
///
/// A tool that no test runs is neither looked up nor installed.
pub(crate) fn provide(repo: &Repo) -> Result<Vec<(&'static str, PathBuf)>> {
    let files = repo.text_files()?;
    let installer = Installer::default();
    let mut found = Vec::new();
    for tool in TOOLS.iter().filter(|tool| tool.is_wanted(&files)) {
        match (tool.provide(&installer), tool.variable) {
            (Some(path), Some(variable)) => {
                println!("{}: {}", tool.names[0], path.display());
                found.push((variable, path));
            }
            (Some(_), None) => {}
            (None, _) => tool.ask(),
        }
    }
    Ok(found)
}

/// Finds or installs a program that one step needs; advises how to get it otherwise.
pub(crate) fn provide_one(
    names: &'static [&'static str],
    packages: &'static [&'static str],
    purpose: &'static str,
) -> Option<PathBuf> {
    let tool = Tool::named(names, packages, purpose);
    let found = tool.provide(&Installer::default());
    if found.is_none() {
        tool.ask();
    }
    found
}

impl Tool {
    /// Returns whether a source file of a crate names its variable, or the program in quotes, alone
    /// or as the first word of a command.
    fn is_wanted(&self, files: &[TextFile]) -> bool {
        let name = self.names[0];
        let signs = match self.variable {
            Some(variable) => vec![variable.to_owned()],
            None => vec![format!("\"{name}\""), format!("\"{name} ")],
        };
        let is_named = |file: &TextFile| signs.iter().any(|sign| file.text.contains(sign));
        let mut of_crates = files.iter().filter(|file| file.path.starts_with("crates/"));
        of_crates.any(is_named)
    }

    fn provide(&self, installer: &Installer) -> Option<PathBuf> {
        if let Some(path) = self.find() {
            installer.complete(&path, self.packages);
            return Some(path);
        }
        installer.install(self.packages).then(|| self.find()).flatten()
    }

    fn find(&self) -> Option<PathBuf> {
        let given = self.variable.and_then(env::var_os).map(PathBuf::from);
        let search = env::var_os("PATH").unwrap_or_default();
        given.filter(|path| path.is_file()).or_else(|| find_in(&search, self.names))
    }

    /// Reports what is missing, and how to get it.
    fn ask(&self) {
        let name = self.names[0];
        println!("{name} is missing; it is needed {}", self.purpose);
        println!("help: on Debian or Ubuntu: sudo apt-get install {}", self.packages.join(" "));
        match self.variable {
            Some(variable) => {
                println!("help: elsewhere install {name} and set {variable} to its path");
            }
            None => println!("help: elsewhere install {name} where the search path finds it"),
        }
    }
}

/// Installs packages if that needs no question: as root on Debian and its derivatives.
#[derive(Default)]
struct Installer {
    is_updated: OnceCell<()>,
}

impl Installer {
    /// Installs what else a tool needs, if its program is there as a part of a package. A program that
    /// came in another way may have brought the rest, too.
    fn complete(&self, program: &Path, packages: &[&str]) {
        if packages.len() < 2 || !Self::is_able() {
            return;
        }
        if !dpkg(&["-S".as_ref(), program.as_os_str()]) {
            return;
        }
        let missing: Vec<&str> =
            packages.iter().copied().filter(|own| !dpkg(&["-s".as_ref(), own.as_ref()])).collect();
        if !missing.is_empty() {
            self.install(&missing);
        }
    }

    fn is_able() -> bool {
        Path::new("/etc/debian_version").exists() && is_root()
    }

    fn install(&self, packages: &[&str]) -> bool {
        if !Self::is_able() {
            return false;
        }
        println!("installing {}", packages.join(" "));
        // An outdated package list may be enough, so a failed update is not fatal.
        self.is_updated.get_or_init(|| {
            apt_get(&["update", "-q"]);
        });
        let _quiet = NoServices::declare();
        let args = [&["install", "-y", "-q", "--no-install-recommends"], packages].concat();
        apt_get(&args)
    }
}

/// Keeps packages from starting services while it lives, such as `sshd` on port 22: tests start
/// what they need. An existing policy of the system's owner stays.
struct NoServices(Option<&'static Path>);

impl NoServices {
    const POLICY: &str = "/usr/sbin/policy-rc.d";
    /// 101 means "not allowed" (invoke-rc.d(8)).
    const TEXT: &str =
        "#!/bin/sh\n# Of `cargo xtask test`; removed once it has installed.\nexit 101\n";

    fn declare() -> Self {
        let path = Path::new(Self::POLICY);
        let is_ours = fs::read_to_string(path).is_ok_and(|text| text == Self::TEXT);
        if path.exists() && !is_ours {
            return Self(None);
        }
        let written = fs::write(path, Self::TEXT);
        #[cfg(unix)]
        let written = written.and_then(|()| {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(path, fs::Permissions::from_mode(0o755))
        });
        if let Err(error) = written {
            println!("{}: {error}", Self::POLICY);
        }
        Self(Some(path))
    }
}

impl Drop for NoServices {
    fn drop(&mut self) {
        if let Some(path) = self.0 {
            // It may not have been written.
            drop(fs::remove_file(path));
        }
    }
}

fn find_in(search: &OsStr, names: &[&str]) -> Option<PathBuf> {
    let candidates =
        names.iter().flat_map(|name| env::split_paths(search).map(move |folder| folder.join(name)));
    candidates.into_iter().find(|path| path.is_file())
}

pub(crate) fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// Returns whether Debian's list of packages says yes.
fn dpkg(args: &[&OsStr]) -> bool {
    let output = Command::new("dpkg").args(args).output();
    output.is_ok_and(|output| output.status.success())
}

pub(crate) fn apt_get(args: &[&str]) -> bool {
    let mut command = Command::new("apt-get");
    command.args(args).env("DEBIAN_FRONTEND", "noninteractive");
    let Ok(output) = command.output() else {
        return false;
    };
    if !output.status.success() {
        println!("apt-get {}:\n{}", args.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    output.status.success()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str) -> &'static Tool {
        TOOLS.iter().find(|tool| tool.names[0] == name).unwrap()
    }

    #[test]
    fn a_tool_is_wanted_when_a_crate_names_it() {
        let file =
            |path: &str, text: &str| TextFile { path: path.to_owned(), text: text.to_owned() };
        let given = "env::var_os(\"RTETHER_TSHARK\")";
        let of_a_crate = [file("crates/rtether/tests/trace.rs", given)];
        assert!(tool("tshark").is_wanted(&of_a_crate));
        assert!(!tool("tshark").is_wanted(&[file("CONTRIBUTING.md", given)]));
        assert!(!tool("chromium").is_wanted(&of_a_crate));
        let by_name = |text: &str| tool("sshd").is_wanted(&[file("crates/a/tests/b.rs", text)]);
        assert!(by_name("Command::new(\"sshd\")") && by_name("run(\"sshd -D\")"));
        assert!(!by_name("the daemon sshd"));
    }

    #[test]
    fn every_program_that_is_run_is_declared() {
        // Oracle: the words after `Command::new(` in all sources; each is a tool, part of every
        // system, or looked for by the step that runs it.
        let repo = Repo::find().unwrap();
        let of_tools = TOOLS.iter().flat_map(|tool| tool.names);
        let known: Vec<&str> = of_tools.chain(ESSENTIAL).chain(OF_STEPS).copied().collect();
        let mut count = 0;
        for file in repo.text_files().unwrap() {
            let is_source = ["crates/", "xtask/"].map(|folder| file.path.starts_with(folder));
            if !is_source.contains(&true)
                || Path::new(&file.path).extension() != Some(OsStr::new("rs"))
            {
                continue;
            }
            for rest in file.text.split("Command::new(\"").skip(1) {
                let program = rest.split('"').next().unwrap();
                // Our own, arguments of clap, and texts of tests.
                if program.starts_with('/') || file.path == "xtask/src/needs.rs" {
                    continue;
                }
                count += 1;
                assert!(
                    known.contains(&program),
                    "{}: `{program}` is run; add it to TOOLS in xtask/src/needs.rs",
                    file.path
                );
            }
        }
        assert!(count > 20, "{count}");
    }

    #[test]
    fn the_first_name_that_exists_is_found() {
        let repo = Repo::find().unwrap();
        let search = env::join_paths([repo.root.join("docs"), repo.root.clone()]).unwrap();
        let found = find_in(&search, &["no-such-file", "Cargo.toml"]);
        assert_eq!(found, Some(repo.root.join("Cargo.toml")));
        assert_eq!(find_in(&search, &["no-such-file"]), None);
    }
}
