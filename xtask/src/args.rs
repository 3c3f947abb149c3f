//! Command line of `cargo xtask`.

use std::path::PathBuf;

use crate::interop::Suite;
use crate::part::Part;

/// What `cargo xtask help` prints.
pub(crate) const USAGE: &str = "\
usage: cargo xtask <command>

  test [--nightly [--record]] [--no-skip] [--part NAME]...
                                set up, then run every check and every test, or the named parts;
                                --record writes what has passed into docs/nightly.md
  test --changed [--since REV] [--no-skip]
                                the same for what the changes of this branch can affect: commits
                                since it left `main`, or since REV, and what is not committed
  bare-root [COMMAND...]        a bare Debian root; runs README's two commands there, or clones and
                                runs the command
  tidy                          crate edges, circles of modules, words, links, dependency reasons
  house [REV]                   figures of code, comments, tests and prose, of this checkout or a commit
  generate                      write the generated reference pages and the C header
  bless                         accept new snapshots, for review with `git diff`
  bench [ARGS]                  run the benchmarks; ARGS go to `cargo bench`
  bench --compare REV           build an older commit, and compare instructions, times and results
  fuzz [--seconds N]            run each fuzz target for N seconds (default 60)
  interop                       build what interoperability tests run, and say how
  interop --suite FOLDER [--peer PROGRAM] [-- ARGS]
                                run the suite of the OMG with our program, in both roles against
                                PROGRAM; ARGS go to its script
  c-library [FOLDER]            build the C library, shared and static, into FOLDER (default target/c)
  playground [FOLDER]           build the page with rtether in it, into FOLDER (default
                                target/playground)
  book [FOLDER]                 build the documentation with search and playground as pages to open
                                without a server, into FOLDER (default target/book)
  profile                       count what the program does on typical work, and build it arranged by
                                that; prints where it is
  dist [--prove] [--only SYSTEM] [--profile FILE] [FOLDER]
                                build what users get, into FOLDER (default target/packages); with
                                --prove tried in empty roots, built twice, and compared; SYSTEM is
                                for example linux-x86_64, or c-library; FILE has the counts of a release, to build
                                it again
  wheel [--prove] [FOLDER]      build the wheel for Python, into FOLDER (default target/wheels); with
                                --prove tried in an environment of its own
  help                          this text

`test` fails on a skipped test with --no-skip, or when the variable CI is set.";

/// Default number of seconds for each fuzz target.
const FUZZ_SECONDS: u32 = 60;

/// The command to run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Help,
    Test(TestOptions),
    BareRoot { command: Vec<String> },
    Tidy,
    House { revision: Option<String> },
    Generate,
    Interop { suite: Option<Suite> },
    CLibrary { folder: Option<String> },
    Dist(Dist),
    Profile,
    Playground { folder: Option<String> },
    Book { folder: Option<String> },
    Wheel(Wheel),
    Bless,
    Bench { rest: Vec<String> },
    Compare { revision: String },
    Fuzz { seconds: u32 },
}

/// Switches of `cargo xtask dist`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Dist {
    pub(crate) folder: Option<String>,
    /// Whether everything is tried, and built twice.
    pub(crate) proves: bool,
    /// The only system for which to build.
    pub(crate) only: Option<String>,
    /// Counts by which the program is arranged, instead of new ones.
    pub(crate) profile: Option<String>,
}

/// Switches of `cargo xtask wheel`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Wheel {
    pub(crate) folder: Option<String>,
    /// Whether it is tried.
    pub(crate) proves: bool,
}

/// Switches of `cargo xtask test`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct TestOptions {
    /// Adds the long runs.
    pub(crate) nightly: bool,
    /// Writes what has passed into the table of the long run.
    pub(crate) record: bool,
    /// Whether a skipped test counts as failed.
    pub(crate) no_skip: bool,
    /// Parts to run; empty for all.
    pub(crate) parts: Vec<Part>,
    /// Runs only what changes since then can affect.
    pub(crate) changed: Option<Since>,
}

/// The commit with which files are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Since {
    /// Where this branch left `main`.
    Branch,
    /// Where it left this revision.
    Revision(String),
}

/// Parses the arguments after `cargo xtask`; the error names the mistake.
pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> Result<Command, String> {
    let Some(verb) = args.next() else {
        return Err("no command given".to_owned());
    };
    let rest: Vec<String> = args.collect();
    match verb.as_str() {
        "help" | "--help" | "-h" => Ok(Command::Help),
        "test" => parse_test(&rest).map(Command::Test),
        "bare-root" => Ok(Command::BareRoot { command: rest }),
        "tidy" => no_arguments(&verb, &rest, Command::Tidy),
        "house" => parse_folder(&verb, &rest).map(|revision| Command::House { revision }),
        "generate" => no_arguments(&verb, &rest, Command::Generate),
        "interop" => parse_interop(&rest).map(|suite| Command::Interop { suite }),
        "c-library" => parse_folder(&verb, &rest).map(|folder| Command::CLibrary { folder }),
        "playground" => parse_folder(&verb, &rest).map(|folder| Command::Playground { folder }),
        "book" => parse_folder(&verb, &rest).map(|folder| Command::Book { folder }),
        "wheel" => parse_wheel(&rest),
        "dist" => parse_dist(&rest).map(Command::Dist),
        "profile" => no_arguments(&verb, &rest, Command::Profile),
        "bless" => no_arguments(&verb, &rest, Command::Bless),
        "bench" => parse_bench(rest),
        "fuzz" => parse_fuzz(&rest).map(|seconds| Command::Fuzz { seconds }),
        _ => Err(format!("no command `{verb}`")),
    }
}

fn parse_bench(rest: Vec<String>) -> Result<Command, String> {
    match rest.first().map(String::as_str) {
        Some("--compare") => match &rest[1..] {
            [revision] => Ok(Command::Compare { revision: revision.clone() }),
            _ => Err("`bench --compare` needs one commit, branch or tag".to_owned()),
        },
        _ => Ok(Command::Bench { rest }),
    }
}

fn no_arguments(verb: &str, rest: &[String], command: Command) -> Result<Command, String> {
    match rest.first() {
        None => Ok(command),
        Some(extra) => Err(format!("`{verb}` takes no argument, found `{extra}`")),
    }
}

fn parse_folder(verb: &str, rest: &[String]) -> Result<Option<String>, String> {
    match rest {
        [] => Ok(None),
        [folder] if !folder.starts_with('-') => Ok(Some(folder.clone())),
        _ => Err(format!("`{verb}` takes one folder")),
    }
}

fn parse_wheel(rest: &[String]) -> Result<Command, String> {
    let Dist { folder, proves, only, profile } = parse_dist(rest)?;
    if only.is_some() || profile.is_some() {
        return Err("`wheel` has no option but `--prove`".to_owned());
    }
    Ok(Command::Wheel(Wheel { folder, proves }))
}

fn parse_dist(rest: &[String]) -> Result<Dist, String> {
    let mut options = Dist::default();
    let mut rest = rest.iter();
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "--prove" => options.proves = true,
            "--only" => options.only = Some(rest.next().ok_or("`--only` needs a system")?.clone()),
            "--profile" => {
                options.profile = Some(rest.next().ok_or("`--profile` needs a file")?.clone());
            }
            folder if !folder.starts_with('-') && options.folder.is_none() => {
                options.folder = Some(folder.to_owned());
            }
            _ => {
                return Err(format!("`dist` takes one folder, and has no option `{arg}`"));
            }
        }
    }
    Ok(options)
}

fn parse_test(rest: &[String]) -> Result<TestOptions, String> {
    let mut options = TestOptions::default();
    let (mut changed, mut since) = (false, None);
    let mut rest = rest.iter();
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "--part" => {
                let name = rest.next().ok_or("`--part` needs a name")?;
                options.parts.push(Part::named(name)?);
            }
            "--nightly" => options.nightly = true,
            "--no-skip" => options.no_skip = true,
            "--record" => options.record = true,
            "--changed" => changed = true,
            "--since" => since = Some(rest.next().ok_or("`--since` needs a revision")?.clone()),
            _ => return Err(format!("`test` has no option `{arg}`")),
        }
    }
    if options.record && !options.nightly {
        return Err("`--record` goes with `--nightly`".to_owned());
    }
    if since.is_some() && !changed {
        return Err("`--since` goes with `--changed`".to_owned());
    }
    options.changed = changed.then(|| since.map_or(Since::Branch, Since::Revision));
    if changed && (options.nightly || !options.parts.is_empty()) {
        return Err("`--changed` chooses the parts itself".to_owned());
    }
    Ok(options)
}

fn parse_interop(rest: &[String]) -> Result<Option<Suite>, String> {
    let (mut folder, mut peer) = (None, None);
    let mut rest = rest.iter();
    while let Some(name) = rest.next() {
        let place = match name.as_str() {
            "--" => break,
            "--suite" => &mut folder,
            "--peer" => &mut peer,
            _ => return Err(format!("`interop` has no option `{name}`")),
        };
        let value = rest.next().ok_or(format!("`{name}` needs a path"))?;
        *place = Some(PathBuf::from(value));
    }
    let rest: Vec<String> = rest.cloned().collect();
    match folder {
        Some(folder) => Ok(Some(Suite { folder, peer, rest })),
        None if peer.is_none() && rest.is_empty() => Ok(None),
        None => Err("`interop` needs `--suite FOLDER` for that".to_owned()),
    }
}

fn parse_fuzz(rest: &[String]) -> Result<u32, String> {
    match rest {
        [] => Ok(FUZZ_SECONDS),
        [name, value] if name == "--seconds" => {
            value.parse().map_err(|_| format!("`--seconds` needs a whole number, found `{value}`"))
        }
        _ => Err("`fuzz` takes `--seconds N` only".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn every_command_is_understood() {
        let nightly = TestOptions { nightly: true, no_skip: true, ..TestOptions::default() };
        assert_eq!(parsed("test"), Ok(Command::Test(TestOptions::default())));
        assert_eq!(parsed("test --no-skip --nightly"), Ok(Command::Test(nightly)));
        let parts = TestOptions {
            nightly: true,
            record: true,
            parts: vec![Part::Fuzz, Part::BareRoot],
            ..TestOptions::default()
        };
        let changed = TestOptions {
            changed: Some(Since::Revision("HEAD~2".to_owned())),
            ..TestOptions::default()
        };
        assert_eq!(parsed("test --changed --since HEAD~2"), Ok(Command::Test(changed)));
        assert_eq!(
            parsed("test --nightly --record --part fuzz --part bare-root"),
            Ok(Command::Test(parts))
        );
        let command = vec!["cargo".to_owned(), "--version".to_owned()];
        assert_eq!(parsed("bare-root cargo --version"), Ok(Command::BareRoot { command }));
        assert_eq!(parsed("tidy"), Ok(Command::Tidy));
        let revision = Some("HEAD~1".to_owned());
        assert_eq!(parsed("house HEAD~1"), Ok(Command::House { revision }));
        assert_eq!(parsed("interop"), Ok(Command::Interop { suite: None }));
        let suite = Some(Suite {
            folder: PathBuf::from("s"),
            peer: Some(PathBuf::from("p")),
            rest: vec!["-x".to_owned(), "1".to_owned()],
        });
        assert_eq!(parsed("interop --suite s --peer p -- -x 1"), Ok(Command::Interop { suite }));
        let folder = Some("out".to_owned());
        assert_eq!(parsed("c-library out"), Ok(Command::CLibrary { folder }));
        let folder = Some("out".to_owned());
        assert_eq!(parsed("playground out"), Ok(Command::Playground { folder }));
        assert_eq!(parsed("fuzz"), Ok(Command::Fuzz { seconds: FUZZ_SECONDS }));
        assert_eq!(parsed("fuzz --seconds 5"), Ok(Command::Fuzz { seconds: 5 }));
        let rest = vec!["--bench".to_owned(), "star".to_owned()];
        assert_eq!(parsed("bench --bench star"), Ok(Command::Bench { rest }));
        let revision = "v1".to_owned();
        assert_eq!(parsed("bench --compare v1"), Ok(Command::Compare { revision }));
        assert!(parsed("bench --compare").is_err() && parsed("bench --compare a b").is_err());
    }

    #[test]
    fn packages_are_proved_or_made_of_given_counts() {
        let folder = Some("out".to_owned());
        assert_eq!(
            parsed("dist --prove out --only x"),
            Ok(Command::Dist(Dist {
                folder,
                proves: true,
                only: Some("x".to_owned()),
                profile: None,
            }))
        );
        assert_eq!(parsed("profile"), Ok(Command::Profile));
        let profile = Some("counts".to_owned());
        assert_eq!(
            parsed("dist --profile counts"),
            Ok(Command::Dist(Dist { profile, ..Dist::default() }))
        );
    }

    #[test]
    fn a_mistake_is_named() {
        assert_eq!(parsed("tset"), Err("no command `tset`".to_owned()));
        assert!(parsed("").is_err());
        assert!(parsed("tidy now").unwrap_err().contains("`now`"));
        assert!(parsed("fuzz --seconds long").unwrap_err().contains("`long`"));
        assert!(parsed("interop --peer p").unwrap_err().contains("--suite"));
        assert!(parsed("interop --suite").unwrap_err().contains("path"));
        assert!(parsed("wheel --only x").is_err());
        assert!(parsed("c-library --fast").is_err());
        assert!(parsed("dist --fast").is_err() && parsed("dist a b").is_err());
        assert!(parsed("test --part all").unwrap_err().contains("soak-user"));
        assert!(parsed("test --part").is_err());
        assert!(parsed("test --record").unwrap_err().contains("--nightly"));
        assert!(parsed("test --since main").is_err());
        assert!(parsed("test --changed --nightly").is_err());
        assert!(parsed("test --fast").unwrap_err().contains("`--fast`"));
    }
}
