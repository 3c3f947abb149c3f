//! The complete list of fitted items: values and readings that the papers leave open and that were
//! chosen in view of printed results.
//!
//! A claim about the same results is *calibrated*: a pass shows only that such a value exists. Each
//! experiment prints its part of the list; `docs/guides/reproduce.md` has all of it.

use super::basis::Basis;

/// A value or reading chosen because it brings a simulation close to a paper.
#[derive(Clone, Copy, Debug)]
pub struct Fitted {
    /// Prefixes of the ids of the experiments that use it, joined by `|`.
    pub experiments: &'static str,
    /// What the paper leaves open.
    pub what: &'static str,
    /// The choice.
    pub value: &'static str,
    /// The results it was fitted to.
    pub to: &'static str,
    /// Claims about exactly these results.
    pub claims: &'static [&'static str],
}

impl Fitted {
    /// Returns whether an experiment uses it.
    pub fn concerns(&self, experiment: &str) -> bool {
        let mut all = self.experiments.split('|');
        all.any(|beginning| experiment.starts_with(beginning))
    }

    /// Returns the entry as one sentence.
    pub fn words(&self) -> String {
        let claims = match self.claims {
            [] => "no claim speaks of that".to_owned(),
            claims => format!("calibrated by it: {}", claims.join(", ")),
        };
        format!(
            "Fitted: {}: {}, to {} ({claims}).",
            self.what, self.value, self.to
        )
    }
}

/// All fitted items, in the order of the papers.
pub const FITTED: &[Fitted] = &[
    Fitted {
        experiments: "skeie-flat|skeie-substation",
        what: "window of TCP",
        value: "7300 B",
        to: "the 0.85 ms of figure 3 during the upload (5840 B give 0.70 ms, 8760 B 1.18 ms)",
        claims: &["C008", "C009"],
    },
    Fitted {
        experiments: "skeie-substation",
        what: "what a maximum without file transfers is, and phases",
        value: "largest mean over a class and 1.6 s, random phases",
        to: "the maxima of figures 5 and 6, which single packets exceed twice",
        claims: &["C014", "C015"],
    },
    Fitted {
        experiments: "skeie-prio",
        what: "a passage of the stack",
        value: "101 us and a uniform jitter of 24.2 us",
        to: "mean and standard deviation of the round trip without load",
        claims: &[],
    },
    Fitted {
        experiments: "skeie-prio",
        what: "window of TCP",
        value: "7 segments",
        to: "the largest round trip of table 1 under transmit load, six full frames ahead",
        claims: &["C023", "C024", "C026"],
    },
    Fitted {
        experiments: "skeie-prio",
        what: "size of the files",
        value: "101 kB, one after the other",
        to: "the standard deviation of table 1 under transmit load (94 us; 1 MB gives less)",
        claims: &["C024", "C026"],
    },
    Fitted {
        experiments: "skeie-prio",
        what: "rate of the file that the master receives",
        value: "2 Mbit/s",
        to: "what the standard deviation of table 1 under receive load, 17.5 us, leaves room for",
        claims: &["C023", "C024", "C029"],
    },
    Fitted {
        experiments: "kakanakov-icmp|kakanakov-cndep",
        what: "stacks of the boards and their jitter",
        value: "the built-in stacks, such as `ep9302-icmp`",
        to: "column a of each table",
        claims: &["C040", "C041", "C042", "C044"],
    },
    Fitted {
        experiments: "kakanakov-icmp|kakanakov-cndep",
        what: "latency of the switch",
        value: "1.38 us, from its fabric, instead of the 25 to 45 us of the text",
        to: "the minima of column b, 11 to 17 us above those of column a",
        claims: &["C033"],
    },
    Fitted {
        experiments: "kakanakov-icmp|kakanakov-cndep",
        what: "full load",
        value: "100 % of the port, answers of the board included",
        to: "the maxima of column d, which an overloaded port exceeds",
        claims: &[],
    },
    Fitted {
        experiments: "kweon-linux",
        what: "period of the fixed rate, printed 3.6 ms",
        value: "36 ms",
        to: "the 25 s of a file in figure 7",
        claims: &["C056"],
    },
    Fitted {
        experiments: "kweon-linux",
        what: "time between reception and answer in the PCs",
        value: "none",
        to: "the 8.38 s of a file with ten active nodes in figure 7 (100 to 700 us give 3.8 s)",
        claims: &["C053", "C054"],
    },
    Fitted {
        experiments: "kweon-linux",
        what: "collisions that double the period; smoother of the monitor",
        value: "one report a packet; none",
        to: "figures 7 and 10 (doubling at every call: 34 to 36 s a file, throughput 0.22; a smoother \
             at the monitor: throughput 0.07 to 0.14)",
        claims: &["C053", "C054", "C061"],
    },
    Fitted {
        experiments: "kweon-nt",
        what: "share of its collisions that an NT driver sees",
        value: "0.25",
        to: "the throughput with four active nodes in figure 13 (0.3 and 0.2 give 0.37 and 0.63 of it)",
        claims: &["C068", "C070"],
    },
    Fitted {
        experiments: "dolejs-orte",
        what: "a passage of the stack",
        value: "260 us, an exponential jitter with a mean of 77.5 us, at most 255 us",
        to: "mean and maximum of loopback (0.67 and 1.03 ms), and the minimum of four nodes (0.7 ms) \
             less communication",
        claims: &["C078"],
    },
    Fitted {
        experiments: "kweon-deadline",
        what: "what a trial counts in the sum, of which the paper prints the total only",
        value: "a full frame with gap and one slot, and the longest back-off after each collision",
        to: "the 64.8 ms of 3.1",
        claims: &["C046"],
    },
    Fitted {
        experiments: "dolejs-hub",
        what: "what has 128 octets",
        value: "the UDP payload, 174 octets a frame",
        to: "delays up to 1 s at 66 666 packets/s, which frames of 128 octets never reach",
        claims: &["C074", "C075"],
    },
    Fitted {
        experiments: "dolejs-hub",
        what: "how packets arrive",
        value: "in step for the median, Poisson for the tails",
        to: "figure 2: medians near 100 us, tails from 40 000 packets/s on",
        claims: &["C072", "C073"],
    },
    Fitted {
        experiments: "valentim",
        what: "stacks",
        value: "lines through the round trips over loopback, one for each protocol",
        to: "table II, loopback",
        claims: &["C083", "C085", "C086", "C087", "C091"],
    },
    Fitted {
        experiments: "valentim",
        what: "network cards",
        value: "lines through what the 100 Mbit/s hub takes longer than loopback",
        to: "table II, 100 Mbit/s hub",
        claims: &["C083", "C085", "C091"],
    },
    Fitted {
        experiments: "valentim-rtt|valentim-switch-hub",
        what: "latency of the switch",
        value: "what its row of 64 B takes longer than the hub's, less a frame time",
        to: "table II, 100 Mbit/s switch, 64 B",
        claims: &["C089", "C090"],
    },
];

/// Claims that hold by construction of the model, with the reason.
pub const CONSTRUCTED: &[(&str, &str)] = &[
    ("C001", "the paper's own arithmetic, repeated"),
    ("C002", "the paper's own arithmetic, repeated"),
    (
        "C003",
        "in part: a staircase lies below its leaky bucket, so that scheduling cannot exceed network \
         calculus; that simulation stays below is a theorem, which the program is checked by",
    ),
    (
        "C004",
        "in part: the hybrid takes the least of what both methods know and of what links let \
         through; that simulation stays below is a theorem, which the program is checked by",
    ),
    (
        "C034",
        "bulk in another VLAN leaves through another port and never meets the board's frames",
    ),
    (
        "C039",
        "the boards' stacks take 2 ms and more, and priority leaves one frame of 123 us each way at \
         the most",
    ),
    (
        "C045",
        "a theorem on the credit bucket, repeated by the engine",
    ),
    (
        "C047",
        "in part: end systems take no time here, where the paper's misses come from, and messages alone \
         use a hundredth of the medium",
    ),
    ("C069", "the law of the smoother lets no more through"),
    (
        "C079",
        "in part: all jitter was put into the stack, and two pairs at a switch never wait for each \
         other; that its size is that of loopback was fitted",
    ),
    (
        "C081",
        "in part: the stack's time does not depend on the size, and that of two links grows by 154 us \
         from 64 to 1024 octets beside 670 us of processing",
    ),
    ("C092", "both sides come from the one frame arithmetic"),
];

/// Returns both lists as Markdown tables.
pub fn tables() -> (String, String) {
    let mut fitted = String::from(
        "| experiments | what was open | chosen | fitted to | claims that are calibrated by it |\n\
         |---|---|---|---|---|\n",
    );
    for one in FITTED {
        let experiments = one.experiments.replace('|', "*, ") + "*";
        let claims = one.claims.join(", ");
        let Fitted {
            what, value, to, ..
        } = one;
        let row = [experiments.as_str(), what, value, to, &claims].join(" | ");
        fitted.extend(["| ", &row, " |\n"]);
    }
    let mut constructed = String::from("| claim | why it cannot fail |\n|---|---|\n");
    for (claim, why) in CONSTRUCTED {
        constructed.extend(["| ", claim, " | ", why, " |\n"]);
    }
    (fitted, constructed)
}

/// Returns what a verdict on a claim rests on.
pub fn basis(claim: &str) -> Basis {
    if CONSTRUCTED.iter().any(|(id, _)| *id == claim) {
        Basis::ByConstruction
    } else if FITTED.iter().any(|fitted| fitted.claims.contains(&claim)) {
        Basis::Calibrated
    } else {
        Basis::Predicted
    }
}

/// Returns the notes of an experiment about fitted items.
pub(super) fn notes(experiment: &str) -> Vec<String> {
    let fitted = FITTED.iter().filter(|fitted| fitted.concerns(experiment));
    let claims = super::reference::claims();
    let own = |id: &str| {
        claims
            .iter()
            .any(|claim| claim.id == id && claim.concerns(experiment))
    };
    let constructed = CONSTRUCTED.iter().filter(|(id, _)| own(id));
    let constructed = constructed.map(|(id, why)| format!("{id} holds by construction: {why}."));
    fitted.map(Fitted::words).chain(constructed).collect()
}

#[cfg(test)]
mod tests {
    use super::super::reference;
    use super::*;

    #[test]
    fn the_list_names_claims_and_experiments_that_exist() {
        // Oracle: `reference/`. A calibrated claim belongs to an experiment that uses the value.
        let (claims, experiments) = (reference::claims(), reference::experiments());
        for fitted in FITTED {
            for beginning in fitted.experiments.split('|') {
                assert!(
                    experiments.iter().any(|e| e.id.starts_with(beginning)),
                    "{beginning}"
                );
            }
            for id in fitted.claims {
                let claim = claims.iter().find(|claim| claim.id == *id).expect(id);
                let mut its = claim.experiments.split('|');
                assert!(its.any(|experiment| fitted.concerns(experiment)), "{id}");
            }
        }
        for (id, _) in CONSTRUCTED {
            assert!(claims.iter().any(|claim| claim.id == *id), "{id}");
        }
    }
}
