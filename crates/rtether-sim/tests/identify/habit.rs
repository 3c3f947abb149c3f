//! What applications do that the model of a device does not have.

use rtether_model::network::{Cost, Jitter, LinearStack, Servers};
use rtether_model::quantity::{Duration, Instant};
use rtether_testkit::Dice;

use super::device::Device;

/// A habit, with its state and its random numbers.
#[derive(Clone, Debug)]
pub(super) enum Habit {
    /// Answers wait for a random number of steps.
    Steps { step: Duration, steps: i64, dice: Dice },
    /// Answers wait until a pause is over.
    Pauses { every: Duration, length: Duration, pause: [Instant; 2], dice: Dice },
    /// Two threads serve requests, each one after the other.
    Threads { cost: Duration, free: [Instant; 2], dice: Dice },
}

impl Habit {
    /// Steps of 1 to 10 ms, of which an answer waits for up to 2 to 19.
    pub(super) fn steps(dice: &mut Dice) -> Self {
        let step = Duration::from_ns(dice.time(1_000_000, 10_000_000));
        Self::Steps { step, steps: dice.time(2, 19), dice: Dice::new(dice.between(0, 1 << 32)) }
    }

    /// Pauses of 10 to 100 ms, which take 4 to 15 % of the time.
    pub(super) fn pauses(dice: &mut Dice) -> Self {
        let length = Duration::from_ns(dice.time(10_000_000, 100_000_000));
        let every = length * 100 / dice.time(4, 15);
        let dice = Dice::new(dice.between(0, 1 << 32));
        Self::Pauses { every, length, pause: [Instant::ZERO; 2], dice }
    }

    /// Two threads, which take 0.2 to 5 ms for a request.
    pub(super) fn threads(dice: &mut Dice) -> Self {
        let cost = Duration::from_ns(dice.time(200_000, 5_000_000));
        let dice = Dice::new(dice.between(0, 1 << 32));
        Self::Threads { cost, free: [Instant::ZERO; 2], dice }
    }

    /// Returns when an answer leaves that is ready now; times do not go back.
    pub(super) fn leaves(&mut self, ready: Instant) -> Instant {
        match self {
            Self::Steps { step, steps, dice } => ready + *step * dice.time(0, *steps),
            Self::Pauses { every, length, pause, dice } => {
                while ready >= pause[1] {
                    let [gap, length] =
                        [*every, *length].map(|mean| mean * dice.time(50, 150) / 100);
                    let start = pause[1] + gap;
                    *pause = [start, start + length];
                }
                if ready >= pause[0] { pause[1] } else { ready }
            }
            Self::Threads { cost, free, dice } => {
                let thread = usize::from(free[1] < free[0]);
                // Of any length: parts of a hundred would be steps.
                let more = Duration::from_ps(dice.time(0, cost.as_ps() / 5));
                let done = free[thread].max(ready) + *cost + more;
                free[thread] = done;
                done
            }
        }
    }
}

/// Returns a device whose stack takes far less than its application.
pub(super) fn quick(dice: &mut Dice) -> Device {
    let [send, receive] = [(); 2].map(|()| Cost {
        base: Duration::from_ns(dice.time(2_000, 10_000)),
        per_octet: Duration::from_ns(dice.time(0, 10)),
    });
    Device {
        stack: LinearStack {
            send,
            receive,
            interface: Cost::default(),
            jitter: Jitter::default(),
            servers: dice.pick(&[Servers::Shared, Servers::PerDirection]),
        },
        queue: dice.small::<u32>(8, 64),
        cycle: Duration::ZERO,
        has_priority: false,
    }
}
