//! What became of all samples of a topic, at every reader of random plants: with losses, readers that
//! come late, look seldom, keep little or want few samples, and talkers that say good-bye.
//!
//! Oracle: what the writer has written. The figures come from the reader's counters, from what its
//! application has taken, and from its position.
//!
//! `RTETHER_NIGHTLY=1` draws a thousand plants; `RTETHER_SEED` repeats one.

use rtether_model::flow::{Phase, Traffic};
use rtether_model::network::{NodeId, Stack};
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::record::{Record, SampleRecord};
use rtether_model::wire::{Encapsulation, RtpsVersion};
use rtether_sim::Habit;
use rtether_sim::observe::NoObserver;
use rtether_testkit::Dice;

use crate::support::{Plant, periodic, plain_switch};

const END: Duration = Duration::from_ms(4_000);
const LEAVES: Duration = Duration::from_ms(2_500);

/// A plant with one topic, and what its applications do.
struct Case {
    plant: Plant,
    is_reliable: bool,
    has_errors: bool,
    habits: Vec<Option<Habit>>,
    leaves: bool,
}

impl Case {
    fn draw(dice: &mut Dice) -> Self {
        let mut plant = Plant::default();
        let switch = plant.switch(plain_switch());
        let stations: Vec<NodeId> =
            (0..dice.between(2, 4)).map(|_| plant.station(Stack::Zero)).collect();
        for station in &stations {
            plant.join(switch, *station, dice.pick(&[10, 100]));
        }
        let version = dice.pick(&[RtpsVersion::V1_0, RtpsVersion::V2_5, RtpsVersion::V2_5]);
        let is_reliable = dice.chance(60);
        let mut flow = periodic("topic", stations[0], stations[1]);
        flow.listeners = stations[1..].to_vec();
        flow.encapsulation = Encapsulation::Rtps { version, is_reliable };
        flow.payload = Bytes::new(dice.between(8, 1_300));
        let period = Duration::from_us(dice.time(3_000, 40_000));
        flow.traffic = Traffic::periodic(period, Phase::Fixed(Duration::ZERO));
        plant.flow(flow);
        let has_errors = dice.chance(60);
        if has_errors {
            let errors = dice.small(0, 200_000_000);
            for link in &mut plant.network.links {
                link.errors_per_billion = errors;
            }
        }
        let habits = stations[1..].iter().map(|_| habit(dice)).collect();
        let leaves = dice.chance(50);
        Self { plant, is_reliable, has_errors, habits, leaves }
    }

    fn run(&self, seed: u64) -> Record {
        let mut simulation = self.plant.simulation(seed);
        for (stream, habit) in (0..).zip(&self.habits) {
            if let Some(habit) = habit {
                simulation.set_habit(stream, &self.plant.flows[0], *habit);
            }
        }
        if self.leaves {
            simulation.end_talker(0, LEAVES);
        }
        simulation.run_until(Instant::ZERO + END, &mut NoObserver);
        simulation.invariants().unwrap();
        simulation.finish()
    }
}

/// How a listener reads; `None` if it takes each sample at once, all the time.
fn habit(dice: &mut Dice) -> Option<Habit> {
    dice.chance(70).then(|| Habit {
        from: Duration::from_ms(dice.pick(&[0, 0, 400, 1_700])),
        every: Duration::from_ms(dice.pick(&[0, 15, 120, 400])),
        depth: dice.pick(&[None, Some(1), Some(3)]),
        room: dice.pick(&[None, Some(4)]),
        separation: Duration::from_ms(dice.pick(&[0, 0, 25])),
    })
}

fn check(seed: u64) -> SampleRecord {
    let case = Case::draw(&mut Dice::new(seed));
    let record = case.run(seed);
    let mut sum = SampleRecord::default();
    for (stream, habit) in record.streams.iter().zip(&case.habits) {
        let samples = stream.samples.expect("a topic");
        let said = format!("seed {seed}: {samples:?}, {habit:?}, {:?}", case.plant.flows[0]);
        assert_eq!(samples.accounted(), samples.written, "{said}");
        // What is lost right before a good-bye is not known to the reader; its queue is looked at.
        if case.leaves && !case.has_errors {
            assert_eq!(samples.under_way, 0, "{said}");
        }
        if case.is_reliable && !case.has_errors {
            assert_eq!(samples.lost, 0, "{said}");
        }
        if habit.is_none() {
            assert_eq!(samples.replaced + samples.rejected + samples.filtered, 0, "{said}");
        }
        sum.merge(&samples);
    }
    sum
}

#[test]
fn every_sample_has_one_figure_in_simulation() {
    let seeds = match std::env::var("RTETHER_SEED") {
        Ok(seed) => {
            check(seed.parse().expect("a number"));
            return;
        }
        Err(_) if std::env::var("RTETHER_NIGHTLY").is_ok_and(|value| value == "1") => 1_000,
        Err(_) => 60,
    };
    let mut sum = SampleRecord::default();
    for seed in 0..seeds {
        sum.merge(&check(seed));
    }
    let SampleRecord {
        written,
        taken,
        lost,
        rejected,
        replaced,
        filtered,
        expired,
        not_owed,
        under_way,
    } = sum;
    println!("{sum:?}");
    assert!(written > 10_000, "{written}");
    // No flow has a lifespan.
    assert_eq!(expired, 0);
    let all = [taken, lost, rejected, replaced, filtered, not_owed, under_way];
    assert!(all.iter().all(|one| *one > 0), "each happens: {sum:?}");
}
