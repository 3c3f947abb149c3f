//! Any octets as what an agent or a coordinator says over ssh. Oracles: no panic in either of them,
//! up to the table of what was measured; what is read is said and read again the same; what is kept
//! of it is limited.

use rtether::report::format::{Format, Render};
use rtether::report::table::Screen;
use rtether::scenario::{Scenario, load};
use rtether_testbed::testbed::Run;
use rtether_testbed::testbed::ssh::heard;

const PLANT: &str = "
rtether: 1
nodes: { a: { stack: zero }, b: { stack: zero } }
switches: { sw: { ports: 2 } }
links:
  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"sw:2\"], rate: 100 Mbit/s }
flows:
  - { name: f, from: a, to: b, period: 2 ms, size: 64 B, deadline: 1 ms }
  - { name: g, from: a, to: b, period: 2 ms, size: 64 B, reply: { size: 64 B } }
  - { name: h, kind: bulk, from: b, to: a, total: 10 kB, deadline: 1 s }
";

fn plant() -> Scenario {
    let loaded = load("plant.yaml", PLANT).into_scenario();
    loaded.unwrap_or_else(|words| panic!("{words}"))
}

/// Returns how many lines were orders or words.
pub(crate) fn check(octets: &[u8]) -> usize {
    thread_local! {
        static SCENARIO: Scenario = plant();
    }
    SCENARIO.with(|scenario| {
        let heard = heard(scenario, octets);
        assert!(heard.is_said_alike);
        // A hundred of each host.
        assert!(heard.measured.errors.len() <= 200);
        let assessments = heard.measured.assess(scenario);
        let run = Run { scenario, measured: &heard.measured, assessments: &assessments };
        let _ = run.render(Format::Table, Screen::default());
        let _ = run.json();
        heard.orders + heard.words
    })
}
