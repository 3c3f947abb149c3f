use rtether_model::quantity::{Duration, Instant};
use rtether_proto::probe::{Counters, Event, Sample};
use rtether_report::format::{Format, Render};
use rtether_report::table::Screen;

use super::*;

fn us(us: i64) -> Duration {
    Duration::from_us(us)
}

fn sample(sequence: u32, series: u32, round_trip: i64) -> Sample {
    Sample {
        sequence,
        series,
        sent_at: Instant::ZERO + us(1_000 * i64::from(sequence)),
        round_trip: us(round_trip),
        is_reordered: false,
    }
}

fn measured(series: &[&[i64]]) -> Measurement {
    let subject = Subject {
        target: "10.0.0.2".into(),
        via: "udp".into(),
        command: String::new(),
        payload: 64,
        series: u32::try_from(series.len()).expect("few"),
        samples: u32::try_from(series[0].len()).expect("few"),
        deadline: Some(us(8)),
    };
    let mut measurement = Measurement::new(subject);
    let mut sequence = 0;
    for (number, values) in (0..).zip(series) {
        for &value in *values {
            measurement.record(Event::Sample(sample(sequence, number, value)));
            sequence += 1;
        }
    }
    measurement.counters = Counters {
        sent: u64::from(sequence) + 2,
        answered: u64::from(sequence),
        lost: 2,
        ..Counters::default()
    };
    measurement
}

#[test]
fn statistics_by_hand() {
    // 2, 4, 4, 4, 5, 5, 7, 9: mean 5, sum of squares about it 32: mdev 2, s = sqrt(32 / 7) = 2.138.
    let measurement = measured(&[&[9, 2, 4, 4, 5, 4, 5, 7]]);
    let all = measurement.all().expect("samples");
    assert_eq!((all.count, all.min, all.max), (8, us(2), us(9)));
    assert_eq!((all.mean, all.median, all.mdev), (us(5), us(4), us(2)));
    assert_eq!(all.standard_deviation, Duration::from_ps(2_138_089));
    // 3 + 1 + 1 + 1 + 0 + 0 + 2 + 4 = 12.
    assert_eq!(all.mean_deviation, Duration::from_ns(1_500));
    assert_eq!(all.quartiles, [us(4), us(5)]);
    assert_eq!(all.percentiles, [us(9); 3]);
}

#[test]
fn both_combined_deviations_by_hand() {
    // Within: variances 2 and 2 (n - 1 = 1 each), pooled 2. Total: 1, 3, 11, 13 about 7:
    // (36 + 16 + 16 + 36) / 3 = 34.667, whose root is 5.8878406; rounded down twice.
    let combined = measured(&[&[1, 3], &[11, 13]]).combined().expect("series");
    assert_eq!(combined.pooled_within, Duration::from_ps(1_414_213));
    assert_eq!(combined.total, Duration::from_ps(5_887_839));
}

/// Oracle: by hand. Twenty batches of ten with means of 9.8 and 10.2, one after the other: their
/// deviation is 0.2 times the root of 20/19, and its root of 20th part 0.045883. Single times
/// deviate by 1, so that all 200 count as independent: 1 / (1 / 19 + 15 / 200) = 7.835 degrees of
/// freedom, whose 97.5 % quantile is 2.314482 (`SciPy` 1.15).
#[test]
fn the_mean_settles_with_the_size() {
    let mut times = Vec::new();
    for batch in 0..20 {
        let low = if batch % 2 == 0 { 6 } else { 4 };
        times.extend((0..10).map(|at| if at < low { 9 } else { 11 }));
    }
    let settling = measured(&[&times]).settling().expect("two hundred samples");
    let half = settling.half_interval.expect("independent batches");
    assert!((half.as_ns_f64() - 106.2).abs() < 1.0, "{half}");
    // (0.1062 / 0.1)^2 times two hundred.
    let enough = settling.enough.expect("a half interval");
    assert!((224..=227).contains(&enough), "{enough}");
    let first: Vec<_> = settling.means.iter().map(|m| (m.count, m.mean.as_ns_f64())).collect();
    assert_eq!(first, [(10, 9_800.0), (20, 10_000.0), (50, 9_960.0), (100, 10_000.0)]);
    let first = measured(&[&[8; 10], &[10; 90]]).settling().expect("enough");
    assert_eq!(first.means[0].mean, us(8));
    assert!((first.means[0].apart - 1.8 / 9.8).abs() < 1e-9);
    assert_eq!(measured(&[&[8; 99]]).settling(), None);
}

#[test]
fn losses_are_misses() {
    let measurement = measured(&[&[9, 2, 4, 4, 5, 4, 5, 7]]);
    let misses = measurement.misses().expect("a deadline");
    // Eight samples tell no spread.
    assert_eq!((misses.misses, misses.due, misses.interval), (3, 10, None));
}

/// Oracle: a hundred samples in one block of late ones say no more than a few independent ones;
/// spread evenly, they are as good as independent ones, and the interval holds their share.
#[test]
fn misses_in_a_row_are_not_independent() {
    let block: Vec<i64> = (0..400).map(|at| if at < 100 { 50 } else { 4 }).collect();
    let spread: Vec<i64> = (0..400).map(|at| if at % 4 == 1 { 50 } else { 4 }).collect();
    let interval = |times: &[i64]| measured(&[times]).misses().expect("a deadline").interval;
    assert_eq!(interval(&block), None);
    let (low, high) = interval(&spread).expect("enough");
    assert!(low > 0.2 && low < 0.25 && high > 0.25 && high < 0.31, "{low} {high}");
}

#[test]
fn neighbors_of_an_outlier_are_put_together() {
    let mut values = vec![10; 40];
    values[7] = 900;
    values[8] = 950;
    values[20] = 400;
    let outliers = measured(&[&values]).outliers();
    let found: Vec<_> = outliers
        .iter()
        .map(|one| (one.sample.sequence, one.sample.round_trip, one.count))
        .collect();
    assert_eq!(found, [(8, us(950), 2), (20, us(400), 1)]);
    // All quartiles equal: an excess of 1 % is not far out.
    assert!(measured(&[&[100, 100, 100, 101]]).outliers().is_empty());
}

#[test]
fn every_output_says_the_same() {
    let measurement = measured(&[&[9, 2, 4, 4], &[5, 4, 5, 7]]);
    let text = measurement.render(Format::Table, Screen::default());
    assert!(
        text.contains("FAIL. 8 of 10 requests answered, 2 lost, 1 later than 8 us.\n")
            && text.contains("median"),
        "{text}"
    );
    let document: serde_json::Value = serde_json::from_str(&measurement.json()).expect("JSON");
    assert_eq!(document["all"]["median_ns"], 4_000.0);
    assert_eq!(document["series"][1]["mean_ns"], 5_250.0);
    assert_eq!(document["misses"]["misses"], 3);
    let rows = measurement.rows().csv();
    assert_eq!(rows.lines().count(), 1 + 2 + 1, "{rows}");
    let raw = samples(&measurement).csv();
    assert_eq!(raw.lines().nth(1), Some("0,0,0,9000,0,0,10.0.0.2,"), "{raw}");
    let metrics = prometheus(&measurement);
    assert!(metrics.contains("rtether_probe_lost_total{target=\"10.0.0.2\",via=\"udp\"} 2"));
}

/// Oracle: R128: each row has the command and the controller, and so have summaries.
#[test]
fn rows_name_command_and_controller() {
    let mut measurement = measured(&[&[9, 2]]);
    measurement.subject.command = "GET 3".into();
    let raw = samples(&measurement).csv();
    let lines: Vec<&str> = raw.lines().collect();
    assert!(lines[0].ends_with(",target,command"), "{raw}");
    assert_eq!(lines[1], "0,0,0,9000,0,0,10.0.0.2,GET 3");
    let summary = measurement.rows().csv();
    assert!(
        summary
            .lines()
            .all(|line| line.ends_with(",10.0.0.2,GET 3") || line.ends_with(",target,command")),
        "{summary}"
    );
    let document: serde_json::Value = serde_json::from_str(&measurement.json()).expect("JSON");
    assert_eq!(document["command"], "GET 3");
}

/// Oracle: by hand; two cores see the first gap. What is called a stall is what was seen, and a round
/// trip after the aftermath of each is not hit.
#[test]
fn gaps_close_together_stay_apart() {
    let mut measurement = measured(&[&[9, 2, 4, 4]]);
    let at = |(from, until): (i64, i64)| Stall {
        from: Instant::ZERO + us(from),
        until: Instant::ZERO + us(until),
    };
    // Requests leave at 0, 1000, 2000 and 3000 us.
    let gaps = [(100, 400), (150, 420), (670, 970), (1_350, 1_650), (2_200, 2_500)];
    measurement.gaps = gaps.map(at).into_iter().collect();
    let seen = [(100, 420), (670, 970), (1_350, 1_650), (2_200, 2_500)].map(at);
    assert_eq!(measurement.gaps.seen(), seen);
    // Of the second gap 270 us are felt after 1000; the others are over or not yet there.
    let hit = measurement.samples.iter().map(|s| measurement.is_hit(s));
    assert_eq!(hit.collect::<Vec<_>>(), [false, true, false, false]);
    let text = measurement.render(Format::Table, Screen::default());
    assert!(text.contains("4 times, for up to 320 us"), "{text}");
}

#[test]
fn round_trips_hit_by_a_stall_are_told_apart() {
    let mut measurement = measured(&[&[9, 2, 4, 4]]);
    // Requests leave at 0, 1000, 2000 and 3000 us. The backlog of the first gap is cleared just as
    // the second leaves; the second gap begins within the third round trip.
    let at = |micros: i64| Instant::ZERO + us(micros);
    let gaps = [(500, 750), (2_003, 2_400)]
        .map(|(from, until)| Stall { from: at(from), until: at(until) });
    measurement.gaps = gaps.into_iter().collect();
    let hit = measurement.samples.iter().map(|s| measurement.is_hit(s));
    assert_eq!(hit.collect::<Vec<_>>(), [false, false, true, false]);
    let others = measurement.without_hit().expect("three");
    assert_eq!((others.count, others.mean, measurement.hit()), (3, us(5), 1));
    let text = measurement.render(Format::Table, Screen::default());
    assert!(text.contains("without stalls") && text.contains("2 times"), "{text}");
}
