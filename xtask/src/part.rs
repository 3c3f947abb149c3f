//! The parts of `cargo xtask test`, each of which can be run alone. A part of a long
//! run is meant to take at most half an hour on two cores; `docs/nightly.md` says how long it took.

use std::collections::BTreeSet;

use crate::program::{Class, Program};

/// A part of the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Tidy,
    Format,
    Clippy,
    Targets,
    Tests,
    Waits,
    Computes,
    Measures,
    Documentation,
    /// Tests that are too long to run before each change is merged.
    Long(&'static Long),
    Benches,
    Fuzz,
    Sanitizers,
    Licenses,
    Packages,
    Wheel,
    BareRoot,
    FurnishedRoot,
}

/// A group of long tests.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Long {
    name: &'static str,
    purpose: &'static str,
    /// `package target::prefix`: the tests of a program whose names begin so.
    pub(crate) tests: &'static [&'static str],
}

impl Long {
    /// Returns whether its programs are built with `--release`: what experiments of the papers and
    /// designs check is in their results, and assertions on the way make them take hours.
    pub(crate) fn is_release(&self) -> bool {
        matches!(self.name, "long-papers" | "long-help" | "long-designs")
    }

    /// Returns whether its tests open the page of the playground, which is built first.
    pub(crate) fn needs_page(&self) -> bool {
        self.name == "long-playground"
    }

    /// Returns the packages of its programs, as arguments of cargo.
    pub(crate) fn packages(&self) -> Vec<String> {
        let packages = self.tests.iter().filter_map(|test| test.split(' ').next());
        let packages: BTreeSet<&str> = packages.collect();
        let options = packages.into_iter().map(|own| ["--package", own]);
        options.flatten().map(str::to_owned).collect()
    }
}

/// Name of each part, and its purpose.
const PARTS: &[(Part, &str, &str)] = &[
    (Part::Tidy, "tidy", "rules of this repository"),
    (Part::Format, "format", "rustfmt"),
    (Part::Clippy, "clippy", "lints"),
    (
        Part::Targets,
        "targets",
        "the library compiles for browsers, a participant for Windows, the command for macOS, engines for bare processors; the fuzz targets compile",
    ),
    (Part::Tests, "tests", "all test programs and the examples in the documentation"),
    (Part::Waits, "waits", "of the tests, the programs that wait"),
    (Part::Computes, "computes", "of the tests, the programs that compute"),
    (Part::Measures, "measures", "of the tests, the programs that measure"),
    (Part::Documentation, "documentation", "of the tests, the examples in the documentation"),
    (Part::Benches, "benches", "one pass over the benchmarks"),
    (Part::Fuzz, "fuzz", "each fuzz target for two minutes, one per core at once"),
    (Part::Sanitizers, "sanitizers", "the live crate and the C library with AddressSanitizer"),
    (Part::Licenses, "licenses", "licenses, sources and known flaws of dependencies"),
    (
        Part::Packages,
        "packages",
        "what users get: built twice, run in empty roots, and crates ready to publish",
    ),
    (
        Part::Wheel,
        "wheel",
        "the wheel for Python in an empty environment and on Debian 11: results, Arrow, types, time of a call",
    ),
    (
        Part::BareRoot,
        "bare-root",
        "the two commands of README in a bare Debian root, with every test",
    ),
    (
        Part::FurnishedRoot,
        "furnished-root",
        "the same in a root with fifty further packages, of which tests find programs",
    ),
];

/// The groups of long tests.
const LONG: &[Long] = &[
    Long {
        name: "long-rtps",
        purpose: "publish-subscribe: 100 000 plants with faults, all samples counted in 1 000, 100 participants",
        tests: &[
            "rtether-rtps it::faults::nothing_is_lost_in_a_hundred_thousand_plants",
            "rtether-rtps it::counts::sum::every_sample_of_a_thousand_plants",
            "rtether-rtps it::scale::many_find_each_other",
            "rtether-rtps it::demand::the_matches_of_many_plants",
        ],
    },
    Long {
        name: "long-journal",
        purpose: "the store of samples: 100 000 runs on a disk with faults",
        tests: &["rtether-live lib::rtps::store::tests::faults::no_confirmed_sample"],
    },
    Long {
        name: "long-interop",
        purpose: "publish-subscribe with other implementations: further cases",
        tests: &[
            "rtether-live interop::further_cases",
            "rtether-live interop::all_cases",
            "rtether-cli live::topic_tools::fast_dds_asks",
        ],
    },
    Long {
        name: "long-simulator",
        purpose: "the simulator: 20 000 random plants, 10 000 with hubs, 100 participants",
        tests: &[
            "rtether-sim it::random::",
            "rtether-sim it::hub::books_balance_on_random_plants",
            "rtether-sim it::discovery::",
            "rtether-sim it::samples::",
        ],
    },
    Long {
        name: "long-identify",
        purpose: "devices identified from outside: 200 simulated ones and 8 played by the emulator, with hidden parameters; servers, and what is sent",
        tests: &[
            "rtether-sim it::identify::",
            "rtether-live it::identify::",
            "rtether-cli live::identify::",
        ],
    },
    Long {
        name: "long-bounds",
        purpose: "bounds against the simulator: 10 000 random plants of most kinds; flows admitted to them, and places that are exactly full",
        tests: &[
            "rtether it::bounds::admitted::",
            "rtether it::bounds::bounds_of_plain_plants",
            "rtether it::bounds::nothing_simulated",
            "rtether it::bounds::full::",
        ],
    },
    Long {
        name: "long-ports",
        purpose: "the same by kind of port and station: deficit round robin, shapers, routes, layers, latencies, windows, and wider plants",
        tests: &[
            "rtether it::bounds::deficit_round_robin",
            "rtether it::bounds::flows_with_routes",
            "rtether it::bounds::layers_keep",
            "rtether it::bounds::shaped_ports",
            "rtether it::bounds::switches_of_varying_latency",
            "rtether it::bounds::wide::",
            "rtether it::bounds::windows::",
        ],
    },
    Long {
        name: "long-rules",
        purpose: "the same where switches police, stations resolve addresses, ask for channels, take turns or are in two networks, and packets pass routers",
        tests: &[
            "rtether it::bounds::access::",
            "rtether it::bounds::asking::",
            "rtether it::bounds::policed::",
            "rtether it::bounds::redundant::",
            "rtether it::bounds::resolving::",
            "rtether it::bounds::routers_keep",
            "rtether it::bounds::spaced::",
        ],
    },
    Long {
        name: "long-stacks",
        purpose: "bounds of a port and the stack behind it: 10 000 random plants simulated, 10 000 climbed",
        tests: &["rtether it::bounds::behind::"],
    },
    Long {
        name: "long-proofs",
        purpose: "bounds of replies and of messages over TCP, parts of bounds, edits, and how tight bounds are",
        tests: &[
            "rtether it::bounds::composition::",
            "rtether it::bounds::counterexamples::",
            "rtether it::bounds::deadlines::",
            "rtether it::bounds::incremental::",
            "rtether it::bounds::messages::",
            "rtether it::bounds::polls::",
            "rtether it::bounds::routed::",
            "rtether it::bounds::tightness::",
        ],
    },
    Long {
        name: "long-unknown",
        purpose: "costs that are not known, sums of both directions, and answers at scans: 10 000 random plants of each against the simulator; what 5 000 verdicts rest on",
        tests: &[
            "rtether it::bounds::scanned::",
            "rtether it::bounds::split::",
            "rtether it::bounds::unknown::",
            "rtether it::assumed::what_counts",
        ],
    },
    Long {
        name: "long-blame",
        purpose: "a place that is blamed is at fault: 10 000 random plants of each kind with that place free; rules that meet nothing",
        tests: &["rtether-sim it::blame::", "rtether it::idle_rules::"],
    },
    Long {
        name: "long-adversary",
        purpose: "what the search finds is allowed and simulates as claimed: 2 000 random plants; claims judged about 1 000",
        tests: &["rtether it::adversary::", "rtether it::judged::"],
    },
    Long {
        name: "long-readers",
        purpose: "exports read by the tools that they are for: schedules of tsnkit replayed",
        tests: &["rtether it::readers::tsnkit"],
    },
    Long {
        name: "long-public",
        purpose: "what others have published: files of the field imported and checked, bounds of Saihu beside ours; needs their folders",
        tests: &["rtether it::public::", "rtether it::readers::saihu"],
    },
    Long {
        name: "long-words",
        purpose: "what is proved arrives in time: 10 000 random plants with small memory, policers and bit errors",
        tests: &["rtether it::bounds::words::"],
    },
    Long {
        name: "long-help",
        purpose: "what would help does: 10 000 random plants; 500 designs against all of their space, 100 explained",
        tests: &[
            "rtether it::bounds::helped::",
            "rtether it::designed::exhaustive::",
            "rtether it::designed::explained::",
        ],
    },
    Long {
        name: "long-designs",
        purpose: "200 designs of 500 to 5000 flows beside priorities by deadline, by period and in one class",
        tests: &["rtether it::designed::large::"],
    },
    Long {
        name: "long-confidence",
        purpose: "95 % means 95 %: 2 000 experiments a cell against an exact queue, and 1 000 searches for a limit",
        tests: &["rtether it::confidence::"],
    },
    Long {
        name: "long-sweep",
        purpose: "studies: killed at random moments, with 100 seeds",
        tests: &["rtether-cli sweep::killing"],
    },
    Long {
        name: "long-import",
        purpose: "imports: a capture of ten million packets; as many frames watched",
        tests: &["rtether-import it::captures::packets_are_read", "rtether it::watch::ten_million"],
    },
    Long {
        name: "long-playground",
        purpose: "the page with rtether in it, in a browser: the results of the command, and its use; the book",
        tests: &["rtether-cli playground::page::", "rtether-cli playground::book::"],
    },
    Long {
        name: "long-watch",
        purpose: "half an hour of traffic without faults, watched at a wire",
        tests: &["rtether-cli live::watch::half_an_hour"],
    },
    Long {
        name: "long-papers",
        purpose: "all experiments of the papers, and the pages that show them",
        tests: &[
            "rtether-papers reproduce::all_experiments_judge_as_before",
            "rtether-cli docs::limit",
        ],
    },
    Long {
        name: "long-live",
        purpose: "this host: figures of the kernel shim, a busy host, the end of every verb; round trips on a real-time kernel",
        tests: &[
            "rtether-live lib::shim::kernel::tests::figures",
            "rtether-live lib::shim::kernel::program::tests::",
            "rtether-live it::shim::decides::a_busy_host",
            "rtether-live it::shim_kernel::figures::",
            "rtether-cli live::stop::sigterm_ends_every_verb_within_a_second",
            "rtether-cli live::real_time::",
        ],
    },
    Long {
        name: "soak-user",
        purpose: "a shim in user space for 15 minutes",
        tests: &["rtether-cli soak::user"],
    },
    Long {
        name: "soak-kernel",
        purpose: "a shim in the kernel for 15 minutes",
        tests: &["rtether-cli soak::kernel"],
    },
];

impl Part {
    /// Parts that run before each change is merged.
    const USUAL: &[Self] = &[Self::Tidy, Self::Format, Self::Clippy, Self::Targets, Self::Tests];
    /// The same in a long run, where the tests are run by class.
    const BY_CLASS: &[Self] = &[
        Self::Tidy,
        Self::Format,
        Self::Clippy,
        Self::Targets,
        Self::Documentation,
        Self::Waits,
        Self::Computes,
        Self::Measures,
    ];
    /// Additional parts of a long run, beside the long tests.
    const FURTHER: &[Self] = &[
        Self::Benches,
        Self::Fuzz,
        Self::Sanitizers,
        Self::Licenses,
        Self::Packages,
        Self::Wheel,
        Self::BareRoot,
        Self::FurnishedRoot,
    ];

    /// Returns the parts of a whole run.
    pub(crate) fn of_run(is_nightly: bool) -> Vec<Self> {
        if !is_nightly {
            return Self::USUAL.to_vec();
        }
        let long: Vec<Self> = LONG.iter().map(Self::Long).collect();
        [Self::BY_CLASS, &long, Self::FURTHER].concat()
    }

    /// Returns whether the part builds programs of chosen packages.
    pub(crate) const fn needs_programs(self) -> bool {
        !matches!(self, Self::Tidy | Self::Format)
    }

    pub(crate) fn name(self) -> &'static str {
        self.names().0
    }

    pub(crate) fn purpose(self) -> &'static str {
        self.names().1
    }

    fn names(self) -> (&'static str, &'static str) {
        if let Self::Long(long) = self {
            return (long.name, long.purpose);
        }
        let entry = PARTS.iter().find(|(part, ..)| *part == self);
        entry.map_or(("", ""), |(_, name, purpose)| (name, purpose))
    }

    /// Returns every part.
    fn all() -> impl Iterator<Item = Self> {
        let long = LONG.iter().map(Self::Long);
        PARTS.iter().map(|(part, ..)| *part).chain(long)
    }

    /// Returns the part with this name; the error lists them all.
    pub(crate) fn named(name: &str) -> Result<Self, String> {
        Self::all().find(|part| part.name() == name).ok_or_else(|| {
            let lines =
                Self::all().map(|part| format!("  {:<14} {}\n", part.name(), part.purpose()));
            format!("no part `{name}`; there are\n{}", lines.collect::<String>())
        })
    }

    /// Returns whether a test program belongs to this part, without its long tests.
    pub(crate) fn has(self, program: &Program) -> bool {
        match self {
            Self::Tests => true,
            Self::Waits => program.class == Class::Waits,
            Self::Computes => program.class == Class::Computes,
            Self::Measures => program.class == Class::Measures,
            Self::Tidy
            | Self::Format
            | Self::Clippy
            | Self::Targets
            | Self::Documentation
            | Self::Long(_)
            | Self::Benches
            | Self::Fuzz
            | Self::Sanitizers
            | Self::Licenses
            | Self::Packages
            | Self::Wheel
            | Self::BareRoot
            | Self::FurnishedRoot => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::Repo;

    #[test]
    fn every_part_has_a_name_of_its_own() {
        for part in Part::all() {
            assert_eq!(Part::named(part.name()), Ok(part));
            assert!(!part.name().is_empty() && !part.purpose().is_empty());
        }
        assert!(Part::named("nothing").unwrap_err().contains("bare-root"));
    }

    #[test]
    fn a_program_belongs_to_the_part_of_its_class() {
        let program = Program {
            name: "rtether-sim it".to_owned(),
            class: Class::Computes,
            executable: "x".into(),
            folder: ".".into(),
            arguments: Vec::new(),
            repeat: String::new(),
        };
        assert!(Part::Tests.has(&program) && Part::Computes.has(&program));
        assert!(!Part::Waits.has(&program) && !Part::Fuzz.has(&program));
    }

    /// Returns the test program of a source, and its module in it. The tests of most packages are one
    /// program, whose main file is named.
    fn place(path: &str, joined: &BTreeSet<&str>) -> (String, String) {
        let (package, rest) = path["crates/".len()..].split_once('/').unwrap();
        let rest = rest.trim_end_matches(".rs");
        let rest = rest.trim_end_matches("/mod").trim_end_matches("/main");
        let (label, module) = match rest.strip_prefix("tests/") {
            Some(rest) if joined.contains(package) => ("it", rest.trim_start_matches("main")),
            Some(rest) => rest.split_once('/').unwrap_or((rest, "")),
            None => ("lib", rest.trim_start_matches("src/")),
        };
        let mut module = module.replace('/', "::");
        if !module.is_empty() {
            module.push_str("::");
        }
        (format!("{package} {label}"), module)
    }

    #[test]
    fn every_long_test_belongs_to_one_part() {
        let files = Repo::find().unwrap().text_files().unwrap();
        let mains = files.iter().filter_map(|file| file.path.strip_suffix("/tests/main.rs"));
        let joined = mains.filter_map(|folder| folder.strip_prefix("crates/")).collect();
        let groups = || LONG.iter().flat_map(|long| long.tests);
        let of_program = |program: &str| {
            let groups = groups()
                .filter(|group| **group == program || group.starts_with(&format!("{program}::")));
            groups.count()
        };
        let sources = files.iter().filter(|file| file.path.starts_with("crates/"));
        for file in sources.filter(|file| file.path.ends_with("rs")) {
            let (program, module) = place(&file.path, &joined);
            if file.text.contains("(\"RTETHER_NIGHTLY\")") {
                assert_ne!(of_program(&program), 0, "{} in no part", file.path);
            }
            for after in file.text.split("#[ignore = \"").skip(1) {
                let name = after.split_once("\nfn ").unwrap().1;
                let name = name.split_once('(').unwrap().0;
                let whole = format!("{program}::{module}{name}");
                let own = groups().filter(|group| whole.starts_with(**group));
                assert_eq!(own.count(), 1, "{whole}");
            }
        }
    }
}
