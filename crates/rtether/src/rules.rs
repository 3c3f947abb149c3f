//! Rules of switches for frames that arrive: what each cause to stop a frame is called, and counted
//! as.

use rtether_model::ingress::Cause;
use rtether_model::record::IngressRecord;
use schemars::JsonSchema;
use serde::Serialize;

/// What is shown above the table of rules.
pub(crate) const NOTE: &str = "Frames that each rule decided on, and those of them above the limit of \
    its policer, which were dropped or demoted, larger than its filter lets through, or blocked since \
    one was larger, which were dropped. Ports and rules count from 1.";

/// Counters of a rule, each with its column in files and on the page.
pub(crate) const COUNTERS: [(Cause, &str, &str); Cause::ALL.len()] = [
    (Cause::Exceeded, "exceeded_frames", "above the limit"),
    (Cause::Oversize, "oversize_frames", "too large"),
    (Cause::Blocked, "blocked_frames", "blocked"),
];

/// A rule at a port.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RuleJson {
    /// The port, counted from 1.
    port: u16,
    /// The rule, counted from 1.
    rule: u16,
    /// Frames that it decided on.
    matched: u64,
    /// Those of them above the limit of its policer.
    exceeded: u64,
    /// Those of them larger than its filter lets through (`NotPassingSDUCount`).
    oversize: u64,
    /// Those of them that its filter dropped since an earlier one was larger.
    blocked: u64,
}

impl RuleJson {
    pub(crate) const fn of(own: &IngressRecord) -> Self {
        Self {
            port: own.port + 1,
            rule: own.rule + 1,
            matched: own.counts.matched,
            exceeded: own.counts.of(Cause::Exceeded),
            oversize: own.counts.of(Cause::Oversize),
            blocked: own.counts.of(Cause::Blocked),
        }
    }
}

/// Returns what stopped a frame, in words.
pub(crate) const fn stopped_by(cause: Cause) -> &'static str {
    match cause {
        Cause::Exceeded => "a policer of the switch, whose limit it exceeded",
        Cause::Oversize => "a filter of the switch, for which it was too large (`max_sdu`)",
        Cause::Blocked => "a filter of the switch, blocked since an earlier frame was too large",
    }
}

/// Returns the name of the step that stops frames for a cause.
pub(crate) const fn step(cause: Cause) -> &'static str {
    match cause {
        Cause::Exceeded => "policer",
        Cause::Oversize | Cause::Blocked => "filter",
    }
}

/// Returns why a step may stop frames.
pub(crate) const fn may_stop(cause: Cause) -> &'static str {
    match cause {
        Cause::Exceeded => "not proved kept",
        Cause::Oversize | Cause::Blocked => "frames above its `max_sdu`",
    }
}

/// Returns what lets all frames pass.
pub(crate) const fn to_pass(cause: Cause) -> &'static str {
    match cause {
        Cause::Exceeded => "policers whose limits its flows keep",
        Cause::Oversize | Cause::Blocked => "a `max_sdu` that all frames of its rule keep",
    }
}
