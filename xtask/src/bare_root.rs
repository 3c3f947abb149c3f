//! Runs the commands of README on a newly installed system: do they work as they stand?
//!
//! debootstrap creates a Debian root with the packages that README names. The toolchain of this
//! machine is mounted read-only, and its package settings are copied, since they may be needed to
//! reach a mirror. The address to clone is that of this checkout; nothing else of README is changed.
//! Mounts and processes are in separate namespaces, and end with them.

use std::env;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::child::{output_of, succeeds};
use crate::needs::{is_root, provide_one};
use crate::repo::Repo;

/// What README clones; here, this checkout.
const ADDRESS: &str = "https://github.com/rtether/rtether";
/// Settings of this machine that downloads need; no others are passed.
const VARIABLES: &[&str] = &[
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "CARGO_HTTP_PROXY",
    "CARGO_NET_GIT_FETCH_WITH_CLI",
    "RUSTUP_AUTO_INSTALL",
];
/// Path of this checkout inside, as a repository without files; a clone of it has the name that a clone
/// of the address has.
const CHECKOUT: &str = "/opt/rtether";
/// Path of the machine's certificates inside: packages may overwrite those of the system.
const CERTIFICATES: &str = "/etc/ssl/machine.crt";
/// Fifty packages of an engineer's machine. Tests look for many of these programs, and run more of
/// their own if they find one.
pub(crate) const FURTHER: &[&str] = &[
    "avahi-daemon",
    "bash-completion",
    "bpftool",
    "bridge-utils",
    "busybox",
    "chromium",
    "chrony",
    "clang",
    "cmake",
    "cyclonedds-tools",
    "dnsmasq",
    "docker.io",
    "ethtool",
    "fish",
    "gdb",
    "gnuplot-nox",
    "golang-go",
    "graphviz",
    "iperf3",
    "iputils-ping",
    "jq",
    "libpcap-dev",
    "libssl-dev",
    "linuxptp",
    "locales-all",
    "maven",
    "meson",
    "mosquitto",
    "nftables",
    "nginx-light",
    "ninja-build",
    "nmap",
    "nodejs",
    "openjdk-17-jdk-headless",
    "openssh-server",
    "postgresql",
    "python3-dev",
    "python3-numpy",
    "python3-pandas",
    "python3-venv",
    "redis-server",
    "rsync",
    "ruby",
    "snmpd",
    "socat",
    "tmux",
    "tshark",
    "valgrind",
    "wget",
    "zsh",
];

/// Outcome of the test.
pub(crate) enum Outcome {
    /// The command ended; whether it succeeded, and its output.
    Ended(bool, String),
    /// Not possible here; the reason.
    Skipped(String),
}

/// The two commands of README, and what must be installed before them.
#[derive(Debug, PartialEq, Eq)]
struct FirstSteps {
    packages: Vec<String>,
    /// Lines of a shell, the first of which clones.
    lines: Vec<String>,
}

impl FirstSteps {
    fn of(readme: &str) -> Result<Self> {
        let section = readme.split("\n## ");
        let mut section = section.filter(|text| text.starts_with("Two commands\n"));
        let section = section.next().context("README has no section `Two commands`")?;
        let packages =
            section.split_once("apt install ").and_then(|(_, rest)| rest.split_once('`'));
        let (packages, _) = packages.context("README names no packages")?;
        let blocks = section.split("```sh\n").skip(1);
        let blocks = blocks.filter_map(|rest| Some(rest.split_once("```")?.0));
        let lines: Vec<String> = blocks.flat_map(str::lines).map(str::to_owned).collect();
        if !lines.iter().any(|line| line.contains(ADDRESS)) {
            bail!("README does not clone {ADDRESS}");
        }
        Ok(Self { packages: packages.split(' ').map(str::to_owned).collect(), lines })
    }

    /// Returns a script that installs further packages and clones this checkout; with a command, it
    /// stands for all that follows.
    fn script(&self, further: &[&str], command: &[String]) -> String {
        let install = match further {
            [] => String::new(),
            _ => format!(
                "apt-get -q update\nDEBIAN_FRONTEND=noninteractive apt-get -qy \
                 --no-install-recommends install {}\n",
                further.join(" ")
            ),
        };
        let lines = self.lines.iter().map(|line| line.replace(ADDRESS, CHECKOUT));
        let lines: Vec<String> = lines.collect();
        let enters = lines.iter().position(|line| line.starts_with("cd "));
        match command {
            [] => install + &lines.join("\n"),
            _ => install + &lines[..enters.map_or(1, |at| at + 1)].join("\n") + "\nexec \"$@\"",
        }
    }
}

/// Creates the root, installs further packages, runs README's commands there, or the clone and the
/// given command, and removes everything.
pub(crate) fn run(repo: &Repo, further: &[&str], command: &[String]) -> Result<Outcome> {
    if !is_root() {
        return Ok(Outcome::Skipped("needs root".to_owned()));
    }
    let purpose = "to make a system without anything installed";
    let Some(debootstrap) = provide_one(&["debootstrap"], &["debootstrap"], purpose) else {
        return Ok(Outcome::Skipped("needs debootstrap".to_owned()));
    };
    let Some((mirror, suite)) = mirror() else {
        let reason = "needs a Debian system whose package lists say where packages are";
        return Ok(Outcome::Skipped(reason.to_owned()));
    };
    let readme = fs::read_to_string(repo.root.join("README.md")).context("reading README.md")?;
    let steps = FirstSteps::of(&readme)?;
    let toolchain = Toolchain::find()?;
    let root = Root::make(repo, "bare-root")?;
    println!("a bare {suite} in {}", root.0.display());
    let mut make = Command::new("debootstrap");
    make.args(["--variant=minbase", &format!("--include={}", steps.packages.join(","))]);
    make.arg(&suite).arg(&root.0).arg(&mirror);
    println!("{}", debootstrap.display());
    if !succeeds(make.stdout(std::process::Stdio::null()))? {
        bail!("debootstrap failed; see above and {}", root.0.display());
    }
    root.settle(repo)?;
    let script = steps.script(further, command);
    println!("{script}");
    let shell = ["sh", "-ec", &script, "sh"].map(str::to_owned);
    let command = [&shell, command].concat();
    let (is_good, output) = output_of(&mut root.inside(&toolchain, &command))?;
    Ok(Outcome::Ended(is_good, output))
}

/// The toolchain of this machine.
struct Toolchain {
    cargo: PathBuf,
    rustup: PathBuf,
}

impl Toolchain {
    fn find() -> Result<Self> {
        let folder = |variable: &str, name: &str| {
            let home = || env::home_dir().map(|home| home.join(name));
            env::var_os(variable).map(PathBuf::from).or_else(home)
        };
        let cargo = folder("CARGO_HOME", ".cargo").context("there is no CARGO_HOME")?;
        let rustup = folder("RUSTUP_HOME", ".rustup").context("there is no RUSTUP_HOME")?;
        if !cargo.join("bin/cargo").is_file() || !rustup.join("toolchains").is_dir() {
            bail!("needs a toolchain of rustup in {}", rustup.display());
        }
        Ok(Self { cargo, rustup })
    }
}

/// Returns the package mirror and release of this machine, from its own lists.
pub(crate) fn mirror() -> Option<(String, String)> {
    let mut lists = vec![PathBuf::from("/etc/apt/sources.list")];
    let folder = fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten();
    lists.extend(folder.flatten().map(|entry| entry.path()));
    lists.sort();
    lists.iter().find_map(|list| {
        let text = fs::read_to_string(list).ok()?;
        match list.extension().and_then(|name| name.to_str()) {
            Some("sources") => read_stanzas(&text),
            Some("list") => read_lines(&text),
            _ => None,
        }
    })
}

/// Parses a list with one line per source (sources.list(5)).
fn read_lines(text: &str) -> Option<(String, String)> {
    text.lines().find_map(|line| {
        let (first, rest) = line.split_once(char::is_whitespace)?;
        // Options are in brackets.
        let rest = rest.trim_start();
        let rest = match rest.strip_prefix('[') {
            Some(options) => options.split_once(']')?.1,
            None => rest,
        };
        let mut words = rest.split_whitespace();
        let (uri, suite) = (words.next()?, words.next()?);
        let is_main = words.any(|word| word == "main") && !suite.contains(['-', '/']);
        (first == "deb" && is_main).then(|| (uri.to_owned(), suite.to_owned()))
    })
}

/// Parses a list of stanzas (deb822 format).
fn read_stanzas(text: &str) -> Option<(String, String)> {
    text.split("\n\n").find_map(|stanza| {
        let field = |name: &str| {
            let mut lines = stanza.lines();
            let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            Some(value?.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        };
        let has = |name: &str, word: &str| {
            field(name).is_some_and(|all| all.iter().any(|one| one == word))
        };
        let is_main = has("Types", "deb") && has("Components", "main") && !has("Enabled", "no");
        let uri = field("URIs").filter(|_| is_main)?.into_iter().next()?;
        let suite = field("Suites")?.into_iter().next()?;
        (!suite.contains(['-', '/'])).then_some((uri, suite))
    })
}

/// The folder of a system, removed on drop.
pub(crate) struct Root(PathBuf);

impl Root {
    /// Makes an empty folder of this name where builds go.
    pub(crate) fn make(repo: &Repo, name: &str) -> Result<Self> {
        let target = repo.metadata()?;
        let target = target["target_directory"].as_str().context("no target directory")?;
        let folder = Path::new(target).join(name);
        let root = Self(folder);
        // Left by an earlier run that was killed: nothing is mounted there outside of its
        // namespace, which has gone with it.
        root.remove()?;
        fs::create_dir_all(&root.0).with_context(|| format!("making {}", root.0.display()))?;
        Ok(root)
    }

    fn remove(&self) -> Result<()> {
        if !self.0.exists() {
            return Ok(());
        }
        let mut remove = Command::new("rm");
        // In a separate group: a signal to this process should not stop it.
        remove.args(["-rf", "--one-file-system"]).process_group(0);
        remove.arg(&self.0);
        let output = remove.output().context("removing the root")?;
        if !output.status.success() {
            bail!("removing it: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(())
    }

    /// Returns where a path inside is outside.
    pub(crate) fn path(&self, inside: &str) -> PathBuf {
        self.0.join(inside.trim_start_matches('/'))
    }

    /// Adds what the machine needs to reach packages, and the clone.
    fn settle(&self, repo: &Repo) -> Result<()> {
        // Installed packages must not start services: the network is that of the machine.
        self.write("/usr/sbin/policy-rc.d", "#!/bin/sh\nexit 101\n")?;
        let mut executable = Command::new("chmod");
        succeeds(executable.arg("755").arg(self.path("/usr/sbin/policy-rc.d")))?;
        // The machine's own lists replace debootstrap's.
        self.write("/etc/apt/sources.list", "")?;
        for path in [
            "/etc/apt/sources.list",
            "/etc/apt/sources.list.d",
            "/etc/apt/auth.conf",
            "/etc/apt/auth.conf.d",
            "/etc/apt/keyrings",
            "/etc/apt/trusted.gpg.d",
            "/usr/share/keyrings",
            "/etc/hosts",
            "/etc/resolv.conf",
        ] {
            self.copy(path)?;
        }
        let given = env::var_os("SSL_CERT_FILE").map(PathBuf::from);
        let usual = || PathBuf::from("/etc/ssl/certs/ca-certificates.crt");
        fs::copy(given.unwrap_or_else(usual), self.path(CERTIFICATES))
            .context("copying the machine's certificates")?;
        self.write("/etc/apt/apt.conf.d/99machine", &apt_settings()?)?;
        let mut clone = Command::new("git");
        clone.args(["clone", "--quiet", "--bare", "--no-hardlinks"]);
        clone.arg(&repo.root).arg(self.path(CHECKOUT));
        if !succeeds(&mut clone)? {
            bail!("this checkout cannot be cloned");
        }
        let programs = self.path("/opt/cargo/bin");
        fs::create_dir_all(&programs).with_context(|| format!("making {}", programs.display()))?;
        Ok(())
    }

    fn write(&self, path: &str, text: &str) -> Result<()> {
        let path = self.path(path);
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))
    }

    /// Copies a path of this machine, including the files of a folder; links are followed.
    fn copy(&self, path: &str) -> Result<()> {
        let from = Path::new(path);
        if from.is_dir() {
            fs::create_dir_all(self.path(path)).with_context(|| format!("making {path}"))?;
            for entry in fs::read_dir(from).with_context(|| format!("listing {path}"))? {
                let entry = entry?;
                if entry.path().is_file() {
                    self.copy(&format!("{path}/{}", entry.file_name().to_string_lossy()))?;
                }
            }
        } else if from.is_file() {
            fs::copy(from, self.path(path)).with_context(|| format!("copying {path}"))?;
        }
        Ok(())
    }

    /// Returns a command that runs in the home of root. Its mounts are only visible there, and all its
    /// processes end with the first one.
    fn inside(&self, toolchain: &Toolchain, command: &[String]) -> Command {
        let script = r#"
set -e
root=$1 cargo=$2 rustup=$3
shift 3
# As a mount of its own: `ip netns exec` changes how mounts below `/` propagate.
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t tmpfs tmpfs "$root/run"
mkdir "$root/run/netns" "$root/run/lock"
bind() { mount --bind "$1" "$2" && mount -o remount,bind,ro "$2"; }
bind "$cargo/bin" "$root/opt/cargo/bin"
mkdir -p "$root$rustup"
bind "$rustup" "$root$rustup"
[ ! -f "$cargo/config.toml" ] || cp "$cargo/config.toml" "$root/opt/cargo/"
exec chroot "$root" sh -c 'cd && exec "$@"' sh "$@"
"#;
        let mut inside = Command::new("unshare");
        inside.args(["--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"]);
        inside.args(["sh", "-c", script, "sh"]);
        inside.args([&self.0, &toolchain.cargo, &toolchain.rustup]);
        inside.args(command).env_clear();
        inside.env("HOME", "/root").env("LANG", "C.UTF-8").env("TERM", "dumb");
        inside
            .env("CARGO_HOME", "/opt/cargo")
            // Under the same path as outside: rustup's links are absolute.
            .env("RUSTUP_HOME", &toolchain.rustup);
        for variable in ["SSL_CERT_FILE", "CARGO_HTTP_CAINFO", "GIT_SSL_CAINFO", "PIP_CERT"] {
            inside.env(variable, CERTIFICATES);
        }
        inside.env(
            "PATH",
            "/opt/cargo/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        );
        let settings = VARIABLES.iter().filter_map(|name| Some((name, env::var_os(name)?)));
        inside.envs(settings);
        inside
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            println!("{}: {error:#}", self.0.display());
        }
    }
}

/// Returns this machine's settings of the package manager that concern the network.
fn apt_settings() -> Result<String> {
    let dump = Command::new("apt-config").arg("dump").output();
    let dump = dump.context("running apt-config")?;
    let text = String::from_utf8_lossy(&dump.stdout);
    let lines = text.lines().filter(|line| {
        let is_way = line.starts_with("Acquire::http") || line.starts_with("Acquire::Check");
        is_way && !line.ends_with("\"\";")
    });
    Ok(lines.collect::<Vec<_>>().join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_readme_says_is_run_but_for_the_address() {
        // Oracle: written by hand.
        let readme = "# x\n\n## Two commands\n\nIt takes `sudo apt install gcc git` first.\n\n\
                      ```sh\ngit clone https://github.com/rtether/rtether\ncd rtether\n\
                      cargo run\n```\n\nand\n\n```sh\ncargo xtask test\n```\n\n## More\n```sh\nno\n```\n";
        let steps = FirstSteps::of(readme).expect("the section");
        assert_eq!(steps.packages, ["gcc", "git"]);
        let all = "git clone /opt/rtether\ncd rtether\ncargo run\ncargo xtask test";
        assert_eq!(steps.script(&[], &[]), all);
        let other = steps.script(&[], &["true".to_owned()]);
        assert_eq!(other, "git clone /opt/rtether\ncd rtether\nexec \"$@\"");
        let with_more = steps.script(&["jq", "zsh"], &[]);
        let (install, rest) = with_more.rsplit_once("jq zsh\n").expect("the packages first");
        assert!(install.contains("apt-get") && rest == all, "{with_more}");
        assert!(FirstSteps::of("# x\n\n## Two commands\n").is_err());
    }

    #[test]
    fn further_packages_are_fifty_that_readme_does_not_name() {
        let readme = include_str!("../../README.md");
        let steps = FirstSteps::of(readme).expect("the section");
        let further: std::collections::BTreeSet<_> = FURTHER.iter().collect();
        assert_eq!(further.len(), 50);
        assert!(!steps.packages.iter().any(|name| further.contains(&name.as_str())));
    }

    #[test]
    fn readme_has_what_the_fresh_system_runs() {
        let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
        let steps =
            FirstSteps::of(&fs::read_to_string(readme).expect("README")).expect("the section");
        assert_eq!(steps.lines.len(), 4, "{steps:?}");
    }

    #[test]
    fn the_mirror_is_that_of_the_release() {
        let text = "# deb http://x none main\n\
                    deb [signed-by=/k] http://packages.example/security bookworm-security main\n\
                    deb [arch=amd64 signed-by=/k] http://packages.example/debian bookworm main\n";
        let expected = ("http://packages.example/debian".to_owned(), "bookworm".to_owned());
        assert_eq!(read_lines(text), Some(expected.clone()));
        let text = "Types: deb\nURIs: http://packages.example/tools\nSuites: ./\nComponents: main\n\n\
                    Types: deb\n# a snapshot\nURIs: http://packages.example/debian\n\
                    Suites: bookworm bookworm-updates\nComponents: main\nSigned-By: /k\n";
        assert_eq!(read_stanzas(text), Some(expected));
        assert_eq!(read_stanzas(&text.replace("Types: deb", "Types: deb-src")), None);
    }
}
