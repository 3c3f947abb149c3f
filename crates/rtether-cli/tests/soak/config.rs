//! Random configurations: rules, rates, limits, queues, smoothers.

use std::fmt::Write;

use rtether_testkit::Dice;

/// Properties that stay the same for the lifetime of a shim.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    pub(crate) backend: &'static str,
    /// Whether received frames pass the shim.
    receives: bool,
    /// Whether there is a smoother; in the kernel it cannot be added or removed.
    smooths: bool,
}

impl Kept {
    pub(crate) fn draw(dice: &mut Dice, backend: &'static str) -> Self {
        let is_user = backend == "user";
        Self { backend, receives: is_user && dice.chance(70), smooths: dice.chance(50) }
    }

    /// Returns the properties that exercise the most code: received frames pass, and there is a
    /// smoother.
    pub(crate) fn all(backend: &'static str) -> Self {
        Self { backend, receives: backend == "user", smooths: true }
    }

    /// Returns the directions whose frames the shim counts. In user space, received frames that do
    /// not pass it are not counted.
    pub(crate) fn counts(self) -> &'static [&'static str] {
        if self.backend == "user" && !self.receives {
            &["transmitted"]
        } else {
            &["transmitted", "received"]
        }
    }
}

/// Draws a configuration. Frames of a kind (`flow::Kind`) always stay in the queues of that kind.
pub(crate) fn draw(dice: &mut Dice, kept: Kept) -> String {
    let Kept { backend, .. } = kept;
    let is_user = backend == "user";
    let rate = dice.pick(&[20, 40, 40, 80, 150]);
    let limits: Vec<String> =
        (0..4).map(|_| dice.pick(&[20, 50, 100, 200, 1_000]).to_string()).collect();
    let limits = limits.join(", ");
    let strategy = match dice.pick(&[0, 1, 2]) {
        0 => "strategy: moderate, ring: 1",
        1 => "strategy: rings, rings: 4, ring: 1",
        _ if is_user => "strategy: strict, ring: 2",
        _ => "strategy: moderate",
    };
    let mut text = format!(
        "rtether: 1\nbackend: {backend}\nrate: {rate} Mbit/s\npriorities:\n  queues: 4\n  \
         pcp_map: [0, 0, 0, 0, 0, 3, 0, 0]\n  rules:\n{}transmit_queues: {{ {strategy}, limit: \
         [{limits}] }}\n",
        rules(dice)
    );
    if kept.receives {
        let selection = dice.pick(&[
            "selection: highest-first",
            "selection: promoting, picks: 5",
            "selection: low-flag",
        ]);
        let limit = dice.pick(&[50, 200, 1_000]);
        writeln!(text, "receive_queues: {{ {selection}, limit: {limit} }}").unwrap();
    }
    let is_tagging = dice.chance(50);
    let strips = !kept.receives || dice.chance(50);
    text += match (is_tagging, strips) {
        (true, true) => "tags: { insert: [0, 1, 6, 4], strip: true }\n",
        (true, false) => "tags: { insert: [0, 1, 6, 4] }\n",
        (false, true) => "tags: { strip: true }\n",
        (false, false) => "",
    };
    if kept.smooths && (!is_user || dice.chance(60)) {
        let limit = dice.pick(&[100, 300]);
        let mode = dice.pick(&[
            "mode: fixed, period: 400 us",
            "mode: himd, period: 150 us .. 3 ms, hold: 1 ms, delta: 20 us, \
             detector: { kind: backlog, low: 3 kB, high: 12 kB }",
            "mode: slow-start, period: 200 us .. 2 ms, hold: 1 ms, halve_every: 50 ms, \
             detector: { kind: backlog, low: 2 kB, high: 9 kB }",
        ]);
        writeln!(text, "smoother: {{ {mode}, bulk_limit: {limit} }}").unwrap();
    }
    text
}

/// Draws equivalent rules in another form, except for one flow, which changes its queue.
fn rules(dice: &mut Dice) -> String {
    let roaming = dice.pick(&[0, 3]);
    let others = if dice.chance(40) { dice.between(1, 100) } else { 0 };
    let mut rules = String::new();
    for number in 0..others {
        let port = 4_000 + number;
        let from = format!("10.99.{number}.0/24");
        writeln!(rules, "    - {{ protocol: udp, from: {from}, port: {port}, queue: 3 }}").unwrap();
    }
    let ways = if dice.chance(50) {
        ["dscp: 46", "dscp: 10", "dscp: 18"]
    } else {
        [
            "protocol: udp, port: 7400-7419",
            "protocol: udp, port: 7420-7439",
            "protocol: udp, port: 7440-7459",
        ]
    };
    for (way, queue) in ways.into_iter().zip([2, 1, roaming]) {
        writeln!(rules, "    - {{ {way}, queue: {queue} }}").unwrap();
    }
    rules
}

/// Returns a configuration that every shim refuses.
pub(crate) fn wrong(kept: Kept) -> String {
    let other = if kept.backend == "user" { "kernel" } else { "user" };
    format!("rtether: 1\nbackend: {other}\nrate: 5 Mbit/s\n")
}
