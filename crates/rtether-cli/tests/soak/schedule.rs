//! Random schedule of events, drawn from a seed.

use std::time::Duration;

use rtether_testkit::Dice;

/// Returns the random numbers of a seed; `number` distinguishes sequences from the same one.
pub(crate) fn dice(seed: u64, number: u64) -> Dice {
    let mut dice = Dice::new(seed ^ number.wrapping_mul(0xD134_2543_DE82_EF95));
    dice.bits();
    dice
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
        Self { mishap: mishap.map(|mishap| (usize::try_from(position).unwrap(), mishap)), steps }
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
    // Oracle: drawn twice.
    let draw =
        |seed| format!("{:?}", Round::draw(&mut dice(seed, 3), Duration::from_secs(5), false));
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
}
