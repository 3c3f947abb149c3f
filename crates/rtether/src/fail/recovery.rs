//! What a recovery costs: the protocol is not modeled, only its stated time.
//!
//! Streams that take another way afterwards lose every packet that is released until then.

use rtether_model::flow::{Flow, Traffic};
use rtether_model::quantity::Duration;

use crate::scenario::{Loss, Scenario};

/// A stream that does not survive the recovery: it loses more packets than are accepted, or the
/// recovery takes longer than its deadline or period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted {
    /// Position in the record of the whole plant.
    pub stream: usize,
    /// Most packets released during the recovery; `None` if nothing limits them.
    pub packets: Option<u64>,
}

/// Returns the streams among these that do not survive a recovery of this time.
pub fn interrupted(
    scenario: &Scenario,
    rerouted: &[usize],
    recovery: Duration,
) -> Vec<Interrupted> {
    let flows = scenario.flows.iter();
    let flows: Vec<&Flow> =
        flows.flat_map(|flow| flow.listeners.iter().map(move |_| flow)).collect();
    let lost = rerouted.iter().map(|&stream| (stream, flows[stream]));
    lost.filter(|(_, flow)| !survives(scenario, flow, recovery))
        .map(|(stream, flow)| Interrupted { stream, packets: released(flow, recovery) })
        .collect()
}

fn survives(scenario: &Scenario, flow: &Flow, recovery: Duration) -> bool {
    if recovery == Duration::ZERO || !flow.is_real_time() {
        return true;
    }
    let lines = scenario.accept.iter().filter(|line| line.matches(flow));
    let accepted: Vec<Loss> = lines.filter_map(|line| line.lost).collect();
    let period = match flow.traffic {
        Traffic::Periodic { period, .. } => Some(period),
        Traffic::Sporadic { .. }
        | Traffic::Poisson { .. }
        | Traffic::Flood { .. }
        | Traffic::Adaptive { .. }
        | Traffic::Bulk(_) => None,
    };
    let is_longer = |limit: Option<Duration>| limit.is_some_and(|limit| recovery > limit);
    // A share is one of what the flow releases in a run.
    let lost = released(flow, recovery);
    let all = released(flow, scenario.run.duration).unwrap_or_default();
    let is_beyond = |loss: &Loss| lost.is_none_or(|lost| !loss.permits(lost, all));
    let is_too_many = accepted.iter().any(is_beyond);
    !is_too_many && !is_longer(flow.deadline) && !is_longer(period)
}

/// Returns the most packets to a listener that a flow releases within a time; `None` if nothing
/// limits them.
fn released(flow: &Flow, within: Duration) -> Option<u64> {
    let count = |within: Duration, gap: Duration| {
        let whole = within.as_ps().checked_add(gap.as_ps() - 1)?;
        u64::try_from(whole.checked_div(gap.as_ps())?).ok()
    };
    match flow.traffic {
        Traffic::Periodic { period, release_jitter, .. } => count(within + release_jitter, period),
        Traffic::Sporadic { min_gap, burst, .. } => {
            count(within, min_gap)?.checked_mul(u64::from(burst))
        }
        Traffic::Flood { interval } => count(within, interval),
        Traffic::Poisson { .. } | Traffic::Adaptive { .. } | Traffic::Bulk(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use rtether_model::flow::Phase;
    use rtether_model::network::NodeId;
    use rtether_model::quantity::Bytes;

    use super::*;

    /// Oracle: counted on fingers.
    #[test]
    fn packets_by_hand() {
        let flow = |traffic| {
            let listeners = vec![NodeId(1)];
            Flow::new("x".into(), NodeId(0), listeners, Bytes::new(64), traffic)
        };
        let periodic = |period, jitter| {
            flow(Traffic::Periodic {
                period: Duration::from_ms(period),
                phase: Phase::Random,
                release_jitter: Duration::from_ms(jitter),
            })
        };
        let within = |flow: &Flow, ms| released(flow, Duration::from_ms(ms));
        assert_eq!(within(&periodic(4, 0), 8), Some(2));
        assert_eq!(within(&periodic(4, 0), 9), Some(3));
        assert_eq!(within(&periodic(4, 0), 1), Some(1));
        assert_eq!(within(&periodic(4, 1), 8), Some(3));
        let sporadic = |gap| {
            flow(Traffic::Sporadic {
                min_gap: Duration::from_ms(gap),
                mean_gap: Duration::from_ms(20),
                burst: 3,
            })
        };
        assert_eq!(within(&sporadic(10), 11), Some(6));
        assert_eq!(within(&sporadic(0), 11), None);
        let poisson = flow(Traffic::Poisson { mean_interval: Duration::from_ms(1) });
        assert_eq!(within(&poisson, 5), None);
    }
}
