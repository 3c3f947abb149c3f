//! Files of bulk flows: the reports of both ends, and latencies of files with a deadline.

use std::collections::BTreeMap;

use rtether_live::station::tcp::FileLog;
use rtether_live::station::{Arrived, Sent};
use rtether_model::flow::{Bulk, Flow, Traffic};
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::record::TransferRecord;
use rtether_sim::release::Releases;

use super::measured::MeasuredStream;
use super::station_logs::Records;
use rtether::scenario::Scenario;

/// Merges the reports of both ends on each file.
pub(super) fn list(streams: &mut [MeasuredStream], files: &[FileLog]) {
    let mut all: BTreeMap<(u16, u32), TransferRecord> = BTreeMap::new();
    // Only the sender knows when a file began; a file without a sender is not ours.
    for file in files {
        let Some(started_at) = file.started_at else {
            continue;
        };
        let record = TransferRecord {
            started_at,
            finished_at: None,
            delivered: Bytes::ZERO,
            retransmissions: file.retransmissions,
            timeouts: 0,
        };
        all.insert((file.stream, file.number), record);
    }
    for file in files.iter().filter(|file| file.started_at.is_none()) {
        if let Some(record) = all.get_mut(&(file.stream, file.number)) {
            record.finished_at = file.finished_at;
            record.delivered = Bytes::new(file.delivered);
        }
    }
    for ((stream, _), record) in all {
        if let Some(own) = streams.get_mut(usize::from(stream)) {
            own.transfers.push(record);
        }
    }
}

/// Records the files of flows with a deadline as samples, from the time each was due to its last
/// octet. A file that has not arrived counts once it is late.
pub(super) fn take_in(
    scenario: &Scenario,
    files: &[FileLog],
    [warmup, duration]: [Duration; 2],
    seed: u64,
    packets: &mut [Records],
) {
    let mut stream = 0u16;
    for flow in &scenario.flows {
        let own = packets.get_mut(usize::from(stream));
        if let (Traffic::Bulk(bulk), Some(deadline), Some(own)) =
            (&flow.traffic, flow.deadline, own)
        {
            let finished = files.iter().filter(|file| file.stream == stream);
            let finished = finished.filter_map(|file| Some((file.number, file.finished_at?)));
            let finished: BTreeMap<u32, Instant> = finished.collect();
            for (number, due) in (0u32..).zip(due(flow, bulk, files, (stream, seed), duration)) {
                let is_late = Instant::ZERO + duration - due > deadline;
                let arrived = finished.get(&number);
                if due.since_start() < warmup || !(is_late || arrived.is_some()) {
                    continue;
                }
                let sent =
                    Sent { stream, number, at: due, call: Duration::ZERO, late: Duration::ZERO };
                own.sent.insert(number, sent);
                if let Some(&at) = arrived {
                    let arrived = Arrived {
                        stream,
                        number,
                        released_at: due,
                        latency: Ord::max(at - due, Duration::ZERO),
                        receive: None,
                        is_answer: false,
                    };
                    own.arrived.insert(number, arrived);
                }
            }
        }
        stream += u16::try_from(flow.listeners.len()).unwrap_or(0);
    }
}

/// Returns when the files of a stream were due before the end of the run, by number. A file that
/// follows the previous one without a gap is due when it begins; so is one that begins early by the
/// clock of another host.
fn due(
    flow: &Flow,
    bulk: &Bulk,
    files: &[FileLog],
    (stream, seed): (u16, u64),
    duration: Duration,
) -> Vec<Instant> {
    let end = Instant::ZERO + duration;
    let begun = files.iter().filter(|file| file.stream == stream);
    let begun = begun.filter_map(|file| Some((file.number, file.started_at?)));
    let begun: BTreeMap<u32, Instant> = begun.collect();
    let listed = bulk.transfers.iter();
    let mut due: Vec<Instant> = listed.map(|file| Instant::ZERO + file.start).collect();
    match bulk.bursts.map(|bursts| bursts.mean_gap) {
        None => {}
        Some(None) => {
            let from = u32::try_from(due.len()).unwrap_or(u32::MAX);
            due.extend(begun.range(from..).map(|(_, &at)| at));
        }
        Some(Some(mean_interval)) => {
            let random = Flow { traffic: Traffic::Poisson { mean_interval }, ..flow.clone() };
            let mut releases = Releases::new(&random, seed);
            let first = releases.first();
            let all = std::iter::successors(first, |&at| releases.next(at));
            due.extend(all.take_while(|&at| at < end).take(FILES_MAX));
        }
    }
    let numbered = (0u32..).zip(due);
    let due = numbered.map(|(number, due)| begun.get(&number).map_or(due, |&at| due.min(at)));
    due.take_while(|&at| at < end).collect()
}

/// Largest number of files of one stream, as in its station.
const FILES_MAX: usize = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use rtether::scenario;

    /// Oracle: by hand. Files are due at 0, 10, 20, 30 and 95 ms of a run of 100 ms with a deadline
    /// of 8 ms: the first falls into the warm-up, the second is in time although it began late, the
    /// third is late, the fourth has not arrived and is late, and the last is under way.
    #[test]
    fn files_are_late_from_when_they_were_due() {
        let text = "
rtether: 1
nodes: { a: { stack: zero }, b: { stack: zero } }
links: [{ ends: [a, b], rate: 100 Mbit/s }]
flows:
  - name: files
    from: a
    to: b
    deadline: 8 ms
    transfers:
      - { at: 0 s, size: 1 kB }
      - { at: 10 ms, size: 1 kB }
      - { at: 20 ms, size: 1 kB }
      - { at: 30 ms, size: 1 kB }
      - { at: 95 ms, size: 1 kB }
";
        let loaded = scenario::load("test.yaml", text);
        let scenario = loaded.scenario.expect("valid");
        let at = |ms| Instant::ZERO + Duration::from_ms(ms);
        let log = |number, started: Option<i64>, finished: Option<i64>| FileLog {
            stream: 0,
            number,
            started_at: started.map(at),
            finished_at: finished.map(at),
            delivered: 1_000,
            retransmissions: 0,
        };
        let files = [
            log(0, Some(0), None),
            log(1, Some(13), None),
            log(2, Some(20), None),
            log(0, None, Some(4)),
            log(1, None, Some(18)),
            log(2, None, Some(29)),
        ];
        let mut records = [Records::default()];
        let times = [Duration::from_ms(5), Duration::from_ms(100)];
        take_in(&scenario, &files, times, 1, &mut records);
        let [own] = records;
        assert_eq!(own.sent.keys().copied().collect::<Vec<_>>(), [1, 2, 3]);
        let latencies = own.arrived.values().map(|file| file.latency);
        let expected = [8, 9].map(Duration::from_ms);
        assert_eq!(latencies.collect::<Vec<_>>(), expected);
    }
}
