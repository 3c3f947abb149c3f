//! The filter of a rule: frames above its size are dropped, and if it blocks, all that come later.
//!
//! Which flows have such frames follows from their sizes alone, whatever their arrivals. A flow that has
//! none, at a filter that does not block or that no flow of its rule makes block, passes as if there were
//! no filter. Any other may lose packets there ([`Walker::filter`]): the bound holds for those that
//! arrive, since what passes is a part of what came, and each frame behind is at most as large as the
//! filter lets through.
//!
//! **Smaller frames behind it.** The arrival curves of datagrams count packets, and each costs at most
//! what the largest frame that passes costs. This is not so where a limit before the filter counts
//! octets, or the window of a connection: more of smaller packets may come then. Such flows keep their
//! sizes. A packet that passes may be one of the smallest before, so that only the space between those
//! is kept.

use rtether_model::ingress::{Cause, Filter};
use rtether_model::network::PortId;

use crate::expand::{Token, Walker};
use crate::frame::Kind;
use crate::passage::{Passage, RuleStep};

impl Walker<'_> {
    /// Applies the filter of a rule to frames.
    pub(super) fn filter(
        &mut self,
        (port, rule): (PortId, u16),
        filter: Filter,
        token: &mut Token,
    ) {
        let step = RuleStep { port, rule, cause: Cause::Oversize };
        let most = i64::try_from(filter.largest_frame().get()).unwrap_or(i64::MAX);
        let [_, largest] = token.frame.sizes;
        let is_oversize = largest > most;
        let is_known = self.exceeded.contains(&step);
        if is_oversize && !is_known {
            // All flows are followed again, since a filter that blocks concerns others too.
            let next = self.next_visit();
            self.plant.passages.push(Passage {
                step,
                police: None,
                flow: self.flow,
                parent: token.visit,
                gap: token.gap,
                size: largest,
                frames: token.frame.count,
                visits: [next; 2],
            });
        }
        token.is_policed |= is_oversize || (filter.block && is_known);
        let counts_packets = token.frame.kind == Kind::Datagram && !self.is_open;
        if is_oversize && counts_packets && token.limit.is_none() {
            token.frame.sizes = token.frame.sizes.map(|size| size.min(most));
            token.spacing = token.spacing.map(|[small, large]| [small.min(large); 2]);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use rtether_model::flow::{Flow, Phase, Traffic};
    use rtether_model::ingress::{Cause, Filter, IngressRule};
    use rtether_model::network::{EndStation, Network, NodeId, NodeKind, PortId, Stack, Switch};
    use rtether_model::quantity::{BitRate, Bytes, Duration};

    use crate::{Analysis, Dropper, Effect, analyze};

    const SWITCH: NodeId = NodeId(0);

    /// Analyzes two flows to one station, each every millisecond: `big` of 1518 octets and `small` of 64.
    /// They come from stations of their own, or both from one, behind a port with these rules. All links
    /// have 100 Mbit/s.
    fn analysis(rules: Vec<IngressRule>, from: [u32; 2]) -> Analysis {
        let mut network = Network::default();
        network.add("switch", NodeKind::Switch(Switch::new(0)));
        for name in ["one", "other", "sink"] {
            let station = network.add(name, NodeKind::EndStation(EndStation::new(Stack::Zero)));
            network.join(SWITCH, station, BitRate::from_mbps(100));
        }
        if let NodeKind::Switch(switch) = &mut network.nodes[0].kind {
            switch.ports[0].ingress = Some(rules);
        }
        analyze(&network, &[flow("big", from[0], 1_472), flow("small", from[1], 18)])
    }

    fn flow(name: &str, from: u32, payload: u64) -> Flow {
        let every = Traffic::periodic(Duration::from_ms(1), Phase::Random);
        Flow::new(name.into(), NodeId(from), vec![NodeId(3)], Bytes::new(payload), every)
    }

    fn rule(max_sdu: u64, block: bool) -> IngressRule {
        let filter = Filter { max_sdu: Bytes::new(max_sdu), block };
        IngressRule { filter: Some(filter), ..IngressRule::default() }
    }

    fn latencies(analysis: &Analysis) -> [Duration; 2] {
        [0, 1].map(|stream| analysis.streams[stream].bound.as_ref().expect("a bound").latency)
    }

    fn effects(analysis: &Analysis) -> [Option<Effect>; 2] {
        [0, 1].map(|stream| analysis.condition(stream).map(|own| own.effect))
    }

    #[test]
    fn a_flow_that_fits_stays_proved() {
        let free = analysis(Vec::new(), [1, 2]);
        for block in [false, true] {
            let filtered = analysis(vec![rule(1_500, block)], [1, 2]);
            assert_eq!(latencies(&filtered), latencies(&free));
            assert_eq!((effects(&filtered), &filtered.droppers[..]), ([None; 2], &[][..]));
        }
    }

    /// Oracle: by hand. A frame of 64 octets takes 5.12 us and 0.64 us of preamble at 100 Mbit/s, twice,
    /// and waits at the egress for the frame of the other station with preamble and gap: 1538 octets are
    /// 123.04 us, and of the largest that passes, 300 + 18 + 20 octets, 27.04 us.
    #[test]
    fn others_wait_for_the_largest_frame_that_passes() {
        let free = analysis(Vec::new(), [1, 2]);
        assert_eq!(latencies(&free)[1], Duration::from_ns(2 * 5_760 + 123_040));
        let filtered = analysis(vec![rule(300, false)], [1, 2]);
        assert_eq!(latencies(&filtered)[1], Duration::from_ns(2 * 5_760 + 27_040));
        assert_eq!(effects(&filtered), [Some(Effect::IfDelivered), None]);
        let dropper = Dropper::Rule(PortId::first(SWITCH), 0, Cause::Oversize);
        assert_eq!(filtered.droppers, [dropper]);
    }

    #[test]
    fn a_filter_that_blocks_promises_no_delivery() {
        // Both flows come from one station.
        let filtered = analysis(vec![rule(300, false)], [1, 1]);
        assert_eq!(effects(&filtered), [Some(Effect::IfDelivered), None]);
        let blocked = analysis(vec![rule(300, true)], [1, 1]);
        assert_eq!(effects(&blocked), [Some(Effect::IfDelivered); 2]);
        // Another rule, or another port, is another stream.
        let own = IngressRule { from: vec![NodeId(2)], ..rule(300, true) };
        assert_eq!(effects(&analysis(vec![own], [1, 1])), [None; 2]);
        assert_eq!(effects(&analysis(vec![rule(300, true)], [1, 2]))[1], None);
    }
}
