//! Random schedule of events, drawn from a seed.

use std::time::Duration;

/// Random numbers from a seed (`SplitMix64`), equal on every machine.
pub(crate) struct Dice(u64);

impl Dice {
    /// `number` distinguishes sequences from the same seed.
    pub(crate) fn new(seed: u64, number: u64) -> Self {
        let mut dice = Self(seed ^ number.wrapping_mul(0xD134_2543_DE82_EF95));
        dice.next();
        dice
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number in `from..=to`.
    pub(crate) fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.next() % (to - from + 1)
    }

    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.between(1, 100) <= percent
    }

    pub(crate) fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        let last = u64::try_from(all.len() - 1).unwrap();
        all[usize::try_from(self.between(0, last)).unwrap()]
    }
}

/// A step that must not lose a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Set another configuration over the control socket.
    Set,
    /// Write another configuration to the file, and send SIGHUP.
    HangUp,
    /// Set a configuration that is refused.
    Wrong,
    /// Ask for a status, in one of three forms.
    Ask(&'static str),
    /// Change the MTU of both devices.
    Mtu(u32),
}

/// A mishap that may lose frames for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mishap {
    /// `kill -9`; another shim is started some time after the watchdog has restored the device.
    Kill,
    /// `kill -9`; another shim is started at once.
    KillAndStart,
    /// `kill -9` for the shim and its watchdog; the next shim restores the device.
    KillBoth,
    /// An orderly end, and another shim.
    Restart,
    /// The device of the shim goes down for a while.
    NearDown,
    /// The device at the other end goes down for a while.
    FarDown,
}

/// Some seconds of load, after which nothing is under way.
#[derive(Debug)]
pub(crate) struct Round {
    /// Steps, and how long to wait before each.
    pub(crate) steps: Vec<(Duration, Step)>,
    /// A mishap, and the number of steps before it.
    pub(crate) mishap: Option<(usize, Mishap)>,
}

impl Round {
    /// Draws a round; with `keeps`, the process of the shim survives it.
    pub(crate) fn draw(dice: &mut Dice, length: Duration, keeps: bool) -> Self {
        let mut steps = Vec::new();
        let mut left = u64::try_from(length.as_millis()).unwrap();
        while left > 0 {
            let pause = dice.between(150, 1_200).min(left);
            left -= pause;
            steps.push((Duration::from_millis(pause), Step::draw(dice)));
        }
        let position = dice.between(0, u64::try_from(steps.len() - 1).unwrap());
        let mishap = Mishap::draw(dice, keeps);
        Self {
            mishap: mishap.map(|mishap| (usize::try_from(position).unwrap(), mishap)),
            steps,
        }
    }
}

impl Step {
    fn draw(dice: &mut Dice) -> Self {
        match dice.between(1, 100) {
            1..=45 => Self::Set,
            46..=60 => Self::HangUp,
            61..=65 => Self::Wrong,
            66..=80 => Self::Mtu(dice.pick(&[1_500, 1_500, 1_400, 1_280])),
            _ => Self::Ask(dice.pick(&["--json", "--metrics", ""])),
        }
    }
}

impl Mishap {
    fn draw(dice: &mut Dice, keeps: bool) -> Option<Self> {
        let choice = dice.between(1, 100);
        Some(match (keeps, choice) {
            (true, 1..=15) => Self::NearDown,
            (true, 16..=30) => Self::FarDown,
            (false, 1..=30) => Self::Kill,
            (false, 31..=50) => Self::KillAndStart,
            (false, 51..=65) => Self::KillBoth,
            (false, 66..=80) => Self::Restart,
            (false, 81..=86) => Self::NearDown,
            (false, 87..=92) => Self::FarDown,
            _ => return None,
        })
    }
}

#[test]
fn a_seed_is_a_schedule() {
    // Oracle: drawn twice; and by the reference code of SplitMix64 in its paper, the first number
    // of state 0 is 0xE220A8397B1DCDAF.
    assert_eq!(Dice(0).next(), 0xE220_A839_7B1D_CDAF);
    let draw = |seed| {
        format!(
            "{:?}",
            Round::draw(&mut Dice::new(seed, 3), Duration::from_secs(5), false)
        )
    };
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
}
