//! Plants whose stations keep gaps of flows.

use rtether_model::flow::{Delivery, Flow, Traffic};
use rtether_model::quantity::{Bytes, Duration};
use rtether_testkit::Dice;

use crate::bounds::plant::{Plant, Variety};
use crate::bounds::policed::soundness;
use crate::bounds::{CASES, dice};

impl Plant {
    /// Returns a full plant, or one with policers, in which most flows have a gap.
    pub(crate) fn spaced(number: u64) -> Self {
        let mut plant = if number.is_multiple_of(2) {
            Self::random(number.wrapping_add(1 << 47), Variety::Full)
        } else {
            Self::policed(number.wrapping_add(1 << 47))
        };
        let mut dice = dice(number.wrapping_add(1 << 48));
        for flow in &mut plant.flows {
            if dice.chance(70) {
                space(&mut dice, flow);
                flow.gap = flow.kept_gap(&plant.network);
            }
        }
        plant
    }
}

/// Gives a flow a gap, and makes most of what cannot have one able to.
fn space(dice: &mut Dice, flow: &mut Flow) {
    let is_adaptive = matches!(flow.traffic, Traffic::Adaptive { .. });
    if !is_adaptive && dice.chance(80) {
        flow.reply = None;
    }
    if flow.is_fragmented() {
        flow.payload = Bytes::new(1_000);
    }
    if flow.delivery == Delivery::Unicast {
        flow.listeners.truncate(1);
    }
    let releases = flow.traffic.releases();
    let each =
        releases.map_or(Duration::from_ms(1), |own| own.period / i64::from(own.burst.max(1)));
    // Exactly as fast as the flow, somewhat faster, far faster, or too slow.
    let percent = dice.pick(&[100, 100, 100, 97, 50, 20, 3, 110]);
    flow.gap = Some(each * percent / 100);
}

/// Oracle: the simulator, and its policers.
#[test]
fn gaps_keep_to_their_bounds() {
    let test = "gaps_keep_to_their_bounds";
    let (mut tightness, met) = soundness([CASES, 2_000], test, Plant::spaced);
    tightness.print("plants with gaps");
    let is_one = std::env::var_os("RTETHER_CASE").is_some();
    assert!(is_one || tightness.bounded * 3 > tightness.streams);
    assert!(is_one || met.kept > 50);
}
