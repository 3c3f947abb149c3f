//! Compares a packet's time in the end nodes with the stacks of the scenario.
//!
//! If a node is left to this host, its stack in the scenario stands for the host's: the host must
//! be as fast, and adds nothing. If it is emulated, the scenario's stack has already taken its
//! time, and the host's own time comes on top.

use rtether_live::station::{Answered, Arrived, Sent};
use rtether_model::flow::Flow;
use rtether_model::histogram::Histogram;
use rtether_model::network::{Cost, Jitter, NodeId, Stack};
use rtether_model::quantity::{Bytes, Duration};

use super::Measured;
use rtether::report::text::{plain_line, time_or_dash};
use rtether::scenario::Scenario;

/// The stacks at both ends of a stream.
pub(super) struct Profile {
    talker: End,
    listener: End,
}

/// End node of a stream.
enum End {
    /// Played by this host; the longest times that its stack may take to send and to receive.
    Host([Duration; 2]),
    /// Its stack is emulated.
    Emulated,
}

impl End {
    fn of(scenario: &Scenario, node: NodeId, flow: &Flow) -> Self {
        let Some(station) = scenario.network.end_station(node) else {
            return Self::Host([Duration::ZERO; 2]);
        };
        if station.emulate {
            return Self::Emulated;
        }
        // What is not known may be the most.
        let mut slowest = station.clone();
        slowest.slow_down();
        let sizes = [Some(flow.payload), flow.reply.map(|reply| reply.payload)];
        let sizes = sizes.into_iter().flatten();
        let frames = sizes.map(|payload| flow.frames(payload));
        let of_each = frames.map(|frames| {
            let [full, last] = [frames.full, frames.last].map(|size| most(&slowest.stack, size));
            let all = i64::from(frames.count - 1);
            [full[0] * all + last[0], full[1] * all + last[1]]
        });
        let none = most(&slowest.stack, Bytes::ZERO);
        Self::Host(of_each.fold(none, |a, b| [a[0].max(b[0]), a[1].max(b[1])]))
    }

    fn send(&self, spent: Duration) -> Option<Duration> {
        self.beyond(spent, 0)
    }

    fn receive(&self, spent: Option<Duration>) -> Option<Duration> {
        self.beyond(spent?, 1)
    }

    /// Returns what the host added to the scenario's stack; `None` if it should have added nothing
    /// but took longer than that stack.
    fn beyond(&self, spent: Duration, way: usize) -> Option<Duration> {
        match self {
            Self::Host(most) => (spent <= most[way]).then_some(Duration::ZERO),
            Self::Emulated => Some(spent),
        }
    }
}

impl Profile {
    pub(super) fn of(scenario: &Scenario, flow: &Flow, listener: NodeId) -> Self {
        Self {
            talker: End::of(scenario, flow.talker, flow),
            listener: End::of(scenario, listener, flow),
        }
    }

    /// Returns an upper limit on what the host added to a packet's latency beyond the end nodes of
    /// the scenario; `None` if the host was outside its profile for this packet, or this is
    /// unknown.
    ///
    /// The sending call takes at least as long as the sending stack, on virtual devices longer, so
    /// the result errs only to one side: a packet may wrongly count as outside, and the host's own
    /// part may be too large, never too small.
    pub(super) fn beyond(
        &self,
        sent: &Sent,
        answered: Option<&Answered>,
        arrived: &Arrived,
    ) -> Option<Duration> {
        let there = self.talker.send(sent.call)?;
        if !arrived.is_answer {
            return Some(there + self.listener.receive(arrived.receive)?);
        }
        let answered = answered?;
        let turn = self.listener.receive(answered.receive)? + self.listener.send(answered.call)?;
        Some(there + turn + self.talker.receive(arrived.receive)?)
    }
}

fn is_emulated(scenario: &Scenario, node: NodeId) -> bool {
    let station = scenario.network.end_station(node);
    station.is_some_and(|station| station.emulate)
}

/// Returns the names of the emulated stations.
pub fn emulated(scenario: &Scenario) -> Vec<&str> {
    let nodes = scenario.network.iter_nodes();
    let own = nodes.filter(|(id, _)| is_emulated(scenario, *id));
    own.map(|(_, node)| node.name.as_str()).collect()
}

/// Returns which stations are emulated and what the host adds; `None` if there are none.
pub(super) fn said(scenario: &Scenario, measured: &Measured) -> Option<String> {
    let is_emulated = |node| is_emulated(scenario, node);
    let names = emulated(scenario);
    let names: Vec<String> = names.iter().map(|name| plain_line(name)).collect();
    if names.is_empty() {
        return None;
    }
    let (mut send, mut receive) = (Histogram::default(), Histogram::default());
    let flows = scenario.flows.iter();
    let ends = flows.flat_map(|flow| flow.listeners.iter().map(move |&node| (flow, node)));
    for ((flow, listener), stream) in ends.zip(&measured.streams) {
        if is_emulated(flow.talker) {
            send.merge(&stream.send);
        }
        let last = flow.reply.map_or(listener, |_| flow.talker);
        if is_emulated(last) {
            receive.merge(&stream.receive);
        }
    }
    Some(format!(
        "{}; this host's own come on top, p50 {} to send, {} to receive",
        names.join(", "),
        time_or_dash(send.quantile(1, 2)),
        time_or_dash(receive.quantile(1, 2))
    ))
}

/// Returns the longest time that a stack takes for a frame of this size, sending and receiving.
fn most(stack: &Stack, size: Bytes) -> [Duration; 2] {
    let with = |cost: Cost, jitter: &Jitter, is_outbound| {
        let rare = jitter.outliers.map_or(Duration::ZERO, |outliers| outliers.max);
        cost.of(size) + jitter.spread.max(is_outbound) + rare
    };
    match stack {
        Stack::Zero => [Duration::ZERO; 2],
        Stack::IpRate { service } => [*service; 2],
        Stack::Linear(linear) => {
            let interface = linear.interface.of(size);
            [(linear.send, true), (linear.receive, false)]
                .map(|(cost, is_outbound)| with(cost, &linear.jitter, is_outbound) + interface)
        }
        Stack::Rtos(rtos) => {
            [true, false].map(|is_outbound| with(rtos.datagram, &rtos.jitter, is_outbound))
        }
    }
}

#[cfg(test)]
mod tests {
    use rtether_model::quantity::Instant;

    use super::*;
    use rtether::scenario;

    const US: Duration = Duration::from_us(1);

    /// Node `a` is left to the host and takes 50 us either way; `b` is emulated with the same
    /// times.
    fn profiles() -> [Profile; 2] {
        let text = "
rtether: 1
stacks: { slow: { send: 50 us, receive: 50 us } }
nodes: { a: { stack: slow }, b: { stack: slow, emulate: true } }
links: [{ ends: [a, b], rate: 100 Mbit/s }]
flows:
  - { name: there, from: a, to: b, period: 10 ms, size: 64 B }
  - { name: question, from: b, to: a, period: 10 ms, size: 64 B, reply: { size: 64 B } }
";
        let scenario = scenario::load("test.yaml", text).scenario.expect("valid");
        assert_eq!(emulated(&scenario), ["b"]);
        let of = |flow: usize| {
            let flow = &scenario.flows[flow];
            Profile::of(&scenario, flow, flow.listeners[0])
        };
        [of(0), of(1)]
    }

    fn sent(call: i64) -> Sent {
        Sent { stream: 0, number: 0, at: Instant::ZERO, call: US * call, late: Duration::ZERO }
    }

    fn arrived(receive: Option<i64>, is_answer: bool) -> Arrived {
        Arrived {
            stream: 0,
            number: 0,
            released_at: Instant::ZERO,
            latency: US * 500,
            receive: receive.map(|us| US * us),
            is_answer,
        }
    }

    /// Oracle: by hand. Time within the scenario's stack adds nothing; time on top of an emulated
    /// one counts in full, if known.
    #[test]
    fn the_hosts_own_part_by_hand() {
        let [there, question] = profiles();
        let one_way = |call, receive| there.beyond(&sent(call), None, &arrived(receive, false));
        assert_eq!(one_way(50, Some(70)), Some(US * 70));
        assert_eq!(one_way(51, Some(70)), None);
        assert_eq!(one_way(50, None), None);
        let answered = |receive: Option<i64>, call| Answered {
            stream: 0,
            number: 0,
            receive: receive.map(|us| US * us),
            call: US * call,
        };
        let turn = |answered: Option<Answered>| {
            question.beyond(&sent(60), answered.as_ref(), &arrived(Some(80), true))
        };
        assert_eq!(turn(Some(answered(Some(50), 50))), Some(US * 140));
        assert_eq!(turn(Some(answered(Some(51), 50))), None);
        assert_eq!(turn(Some(answered(Some(50), 51))), None);
        assert_eq!(turn(Some(answered(None, 50))), None);
        assert_eq!(turn(None), None);
    }
}
