//! The parts of `cargo xtask test`, each of which can be run alone.

use super::program::{Class, Program};

/// The soak program, which is a separate part of a long run.
const SOAK: &str = "rtether-cli soak";

/// A part of the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Tidy,
    Format,
    Clippy,
    Tests,
    Waits,
    Computes,
    Measures,
    Documentation,
    Soak,
    Benches,
    Fuzz,
    Sanitizers,
    Licenses,
    BareRoot,
}

/// Name of each part, and its purpose.
const PARTS: &[(Part, &str, &str)] = &[
    (Part::Tidy, "tidy", "rules of this repository"),
    (Part::Format, "format", "rustfmt"),
    (Part::Clippy, "clippy", "lints"),
    (
        Part::Tests,
        "tests",
        "all test programs and the examples in the documentation",
    ),
    (Part::Waits, "waits", "of the tests, the programs that wait"),
    (
        Part::Computes,
        "computes",
        "of the tests, the programs that compute",
    ),
    (
        Part::Measures,
        "measures",
        "of the tests, the programs that measure",
    ),
    (
        Part::Documentation,
        "documentation",
        "of the tests, the examples in the documentation",
    ),
    (Part::Soak, "soak", "the soak of the shim"),
    (Part::Benches, "benches", "one pass over the benchmarks"),
    (Part::Fuzz, "fuzz", "each fuzz target for a limited time"),
    (
        Part::Sanitizers,
        "sanitizers",
        "the live crate and the C library with AddressSanitizer",
    ),
    (
        Part::Licenses,
        "licenses",
        "licenses, sources and known flaws of dependencies",
    ),
    (
        Part::BareRoot,
        "bare-root",
        "the whole command in a bare Debian root",
    ),
];

impl Part {
    /// Parts that run before each change is merged.
    const USUAL: &[Self] = &[Self::Tidy, Self::Format, Self::Clippy, Self::Tests];
    /// Additional parts of a long run.
    const LONG: &[Self] = &[
        Self::Soak,
        Self::Benches,
        Self::Fuzz,
        Self::Sanitizers,
        Self::Licenses,
        Self::BareRoot,
    ];

    /// Returns the parts of a whole run.
    pub(super) fn of_run(is_nightly: bool) -> Vec<Self> {
        let long = if is_nightly { Self::LONG } else { &[] };
        [Self::USUAL, long].concat()
    }

    /// Returns whether the part builds programs of chosen packages.
    pub(super) const fn needs_programs(self) -> bool {
        !matches!(self, Self::Tidy | Self::Format)
    }

    pub(super) fn name(self) -> &'static str {
        let entry = PARTS.iter().find(|(part, ..)| *part == self);
        entry.map_or("", |(_, name, _)| name)
    }

    /// Returns the part with this name; the error lists them all.
    pub(crate) fn named(name: &str) -> Result<Self, String> {
        let entry = PARTS.iter().find(|(_, own, _)| *own == name);
        entry.map(|(part, ..)| *part).ok_or_else(|| {
            let lines = PARTS
                .iter()
                .map(|(_, name, what)| format!("  {name:<14} {what}\n"));
            format!("no part `{name}`; there are\n{}", lines.collect::<String>())
        })
    }

    /// Returns whether a test program belongs to this part.
    pub(super) fn has(self, program: &Program, is_nightly: bool) -> bool {
        let is_soak = program.name == SOAK;
        let of = |class| program.class == class && !(is_soak && is_nightly);
        match self {
            Self::Tests => !(is_soak && is_nightly),
            Self::Waits => of(Class::Waits),
            Self::Computes => of(Class::Computes),
            Self::Measures => of(Class::Measures),
            Self::Soak => is_soak,
            Self::Tidy
            | Self::Format
            | Self::Clippy
            | Self::Documentation
            | Self::Benches
            | Self::Fuzz
            | Self::Sanitizers
            | Self::Licenses
            | Self::BareRoot => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_a_name_of_its_own() {
        for (part, name, _) in PARTS {
            assert_eq!(Part::named(name), Ok(*part));
            assert_eq!(part.name(), *name);
        }
        let all = Part::of_run(true);
        assert!(all.iter().all(|part| !part.name().is_empty()));
        assert!(Part::named("nothing").unwrap_err().contains("bare-root"));
    }

    #[test]
    fn the_soak_is_apart_in_a_long_run() {
        let program = |name: &str, class| Program {
            name: name.to_owned(),
            class,
            executable: "x".into(),
            folder: ".".into(),
            arguments: Vec::new(),
            repeat: String::new(),
        };
        let soak = program(SOAK, Class::Measures);
        assert!(Part::Tests.has(&soak, false) && Part::Measures.has(&soak, false));
        assert!(!Part::Tests.has(&soak, true) && !Part::Measures.has(&soak, true));
        assert!(Part::Soak.has(&soak, true));
        let other = program("rtether-sim it", Class::Computes);
        assert!(Part::Tests.has(&other, true) && Part::Computes.has(&other, true));
        assert!(!Part::Waits.has(&other, true) && !Part::Soak.has(&other, true));
    }
}
