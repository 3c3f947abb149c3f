//! rtether: know, prove, measure and control application-to-application delay over Ethernet.
//!
//! One scenario file describes the plant. [`scenario`] reads it and reports every mistake with its
//! place; [`check()`] simulates it, proves bounds and judges each stream against what the scenario accepts;
//! [`report`] writes tables, JSON, CSV and one HTML page.
//!
//! The library does not print, exit or read arguments: that is left to the command line.
//!
//! # Modules
//!
//! The public API. `check` (everything in one call: simulation, proof, measured values, judgment,
//! conclusion), `certificate` (claims that a checker of others can test), `run` (replications in parallel, progress, cancellation), `stats` (confidence
//! intervals: `unit` divides runs into independent parts, `interval` tells what their spread
//! shows), `trace` (captures and per-packet files), `assumed` (what a verdict rests on; `touching`
//! says which assumptions count), `beneath` (which files a file may name; the only module that
//! opens any), `why` (the timeline of one packet, the parts of a bound), `adversary` (a search for
//! releases that delay streams most, within what the scenario allows: `part` takes the flows that
//! share places with a stream, `freedom` says what is open, `window` where in the run to look,
//! `climb` plans and moves, `hunt` takes all streams in batches that are the same on any machine,
//! `found` is a result as changes of the scenario; it has no clock), `tightness` (how near the largest delay
//! that is found comes to the least proved, and what makes the difference), `sums` (requirements over
//! several flows in one column), `diff` (two results compared), `against` (what was seen, flow by
//! flow, against a plan, also as a page), `watch` (the same frame by frame as they come, without
//! clock and socket), `import` (plans of other tools' files, loaded before they are returned),
//! `help` (which changes would lower a bound below its deadline, as edits), `fix` (edits that
//! messages propose, made and checked), `fail` (the check again for every single failure),
//! `design` (settings under which every deadline is proved, with the fewest edits: `space` says what
//! may change, `trial` bounds one design, `search` climbs, `prune` takes edits back that nothing
//! needs, `obstacle` has conditions that no design in the space meets; `explain` looks for flows and
//! costs that prevent a deadline, which `burden` takes away), `judge` (claims of anyone: proved, refuted by
//! a run that `shrink` makes as small as it can be, or open), `dice` (random numbers of searches),
//! `profile` (devices as they were identified), `discovery` (what discovery over RTPS takes on each link), `documents` (each kind of JSON with its schema), `export` (the plant for other tools,
//! or why they cannot express it), `words` (of verdicts, and what each stands for), `verdict`,
//! `place`, `domain` and `timeline` (what reports show of a plant and of a packet), `report` (a
//! `Checked` in each format: `verdicts`, `csv`, `json`, `html`; `gate` has the forms that servers
//! read, `sums` shows requirements over several flows, `worst` explains the worst streams), `bound` (proved bounds with the names of the
//! scenario, and analyses based on them: admission, what-if, sensitivity; `bound::statistical`, a
//! model of shared media, and `bound::waits`, one of aperiodic flows at switches), `limit` (the
//! load at which deadlines still hold, by bisection), `sweep` (studies: many values and seeds of
//! one scenario; `study` is their file, `sample` draws values, `point` is one run with its name and
//! result, `answer` what all results tell), `compare` (the plant under each access scheme), `csma`
//! (closed forms of shared Ethernet), `meter` (statistics of round trips), `measured` (measurements
//! shown next to simulation and bound), `volume` (what flows send on each link, with their frames
//! multiplied out).
//!
//! **Invariant:** it does not print, exit or read arguments, and depends on no operating system:
//! sockets and threads of a host are those of `rtether-testbed`; `cargo xtask test` compiles it for
//! browsers.
//!
//! **API boundary:** everything that a user interface offers goes through this crate; the command
//! line contains nothing that a library user would miss.

pub mod adversary;
pub mod against;
pub mod beneath;
pub mod bound;
pub mod certificate;
pub mod check;
pub mod compare;
pub mod csma;
pub mod design;
mod dice;
pub mod diff;
pub mod discovery;
pub mod documents;
pub mod domain;
pub mod export;
pub mod fail;
pub mod fix;
pub mod help;
pub mod import;
pub mod judge;
pub mod limit;
mod load;
pub mod measured;
pub mod meter;
pub mod place;
pub mod profile;
pub mod report;
mod rules;
pub mod run;
pub mod stages;
pub mod stats;
pub mod sums;
pub mod sweep;
pub mod tightness;
pub mod timeline;
mod touching;
pub mod trace;
pub mod verdict;
pub mod volume;
pub mod watch;
pub mod why;
mod words;

pub use bound::assumed;
pub use check::check;
pub use report::Checked;
pub use rtether_model::characters;
pub use rtether_report::sheet;
pub use rtether_scenario as scenario;
pub use rtether_scenario::profiles;
