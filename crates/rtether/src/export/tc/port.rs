//! The queues of a port.

use rtether_model::network::{Feature, Pcp, PortId, PortPlan, QueueMap};
use rtether_model::quantity::{BitRate, Bytes};
use rtether_model::wire::{FCS, MIN_FRAME, OVERHEAD};

use super::frames::{WHOLE, credits};
use super::{Plant, Script};

/// Returns whether [`Queues::write`] can say this plan: turns and shapers only apart.
pub(super) fn can_say(plan: &PortPlan) -> bool {
    plan.needs_only(&[Feature::Queues, Feature::OctetTurns])
        || plan.needs_only(&[Feature::Queues, Feature::Credits])
}

/// What is told of a port.
pub(super) struct Queues<'a> {
    /// Name of the device, as the shell expands it.
    pub(super) device: &'a str,
    /// Where the scenario says it, such as `switches.s1`.
    pub(super) source: &'a str,
    pub(super) port: PortId,
    pub(super) rate: BitRate,
    pub(super) map: QueueMap,
    pub(super) plan: PortPlan,
    pub(super) limits: &'a Limits,
}

/// What may wait.
pub(super) enum Limits {
    /// Octets of each queue, from addresses to FCS, with the key that says so.
    Octets([u64; 8], &'static str),
    /// Frames of each queue, lowest first.
    Frames(Vec<u32>, &'static str),
}

impl Limits {
    const fn key(&self) -> &'static str {
        match self {
            Self::Octets(_, key) | Self::Frames(_, key) => key,
        }
    }

    /// Returns the discipline of a queue, or of all in one.
    fn discipline(&self, queue: Option<u8>) -> String {
        match (self, queue) {
            (Self::Octets(octets, _), queue) => {
                let most = octets[usize::from(queue.unwrap_or(0))];
                format!("bfifo limit {}", most.min(u32::MAX.into()))
            }
            (Self::Frames(frames, _), Some(queue)) => {
                let most = frames.get(usize::from(queue)).copied().unwrap_or(1);
                format!("pfifo limit {most}")
            }
            (Self::Frames(frames, _), None) => {
                let most: u64 = frames.iter().map(|&own| u64::from(own)).sum();
                format!("pfifo limit {}", most.min(u32::MAX.into()))
            }
        }
    }
}

/// Says which octets count of a frame, which Linux hands over without its FCS.
fn stab(around: Bytes) -> String {
    let (overhead, least) = (FCS + around, MIN_FRAME + around);
    format!("stab overhead {} mpu {} linklayer ethernet", overhead.get(), least.get())
}

impl Queues<'_> {
    /// Writes the queues of the port.
    pub(super) fn write(&self, plant: &Plant<'_>, script: &mut Script) {
        let Self { device, source, .. } = self;
        let root = |stab: &str| format!("tc qdisc replace dev {device} root handle 1: {stab}");
        let count = self.map.count();
        let key = self.limits.key();
        if self.plan.queues() == 1 {
            script.say(&format!("{source}.selection: one queue; {source}.{key}"));
            script.clear(device);
            script.run(&format!("{} {}", root(&stab(Bytes::ZERO)), self.limits.discipline(None)));
            return;
        }
        let bands: Vec<String> = self.bands().map(|band| band.to_string()).collect();
        let bands = bands.join(" ");
        if self.plan.needs(Feature::OctetTurns) {
            let quanta = self.plan.quanta();
            let quanta: Vec<String> =
                (0..count).rev().map(|queue| quanta[usize::from(queue)].to_string()).collect();
            script.say(&format!(
                "{source}.selection: drr, band 0 is queue {}; {source}.quanta; pcp_map",
                count - 1
            ));
            script.clear(device);
            script.run(&format!(
                "{} ets bands {count} quanta {} priomap {bands}",
                root(&stab(Bytes::ZERO)),
                quanta.join(" ")
            ));
        } else if self.plan.needs(Feature::Credits) {
            script.say(&format!(
                "{source}.selection: cbs, strict among queues that may send, band 0 is queue {}; \
                 pcp_map",
                count - 1
            ));
            script.clear(device);
            script.run(&format!("{} prio bands {count} priomap {bands}", root(&stab(OVERHEAD))));
            self.shapers(plant, script);
        } else {
            script.say(&format!(
                "{source}.selection: strict, band 0 is queue {}; pcp_map",
                count - 1
            ));
            script.clear(device);
            script.run(&format!("{} prio bands {count} priomap {bands}", root(&stab(Bytes::ZERO))));
        }
        script.say(&format!("{source}.{key}, for each queue"));
        for queue in (0..count).rev() {
            let parent = if self.is_shaped(queue) {
                format!("{}:1", handle(queue))
            } else {
                format!("1:{}", count - queue)
            };
            script.run(&format!(
                "tc qdisc replace dev {device} parent {parent} {}",
                self.limits.discipline(Some(queue))
            ));
        }
    }

    /// Returns the band of each of the sixteen priorities of Linux; those above 7 do as their last
    /// three bits say.
    fn bands(&self) -> impl Iterator<Item = u8> + '_ {
        (0..16).map(|priority| self.map.count() - 1 - self.map.queue_of_value(priority))
    }

    fn is_shaped(&self, queue: u8) -> bool {
        self.plan.idle_slopes()[usize::from(queue)].as_bps() > 0
    }

    fn shapers(&self, plant: &Plant<'_>, script: &mut Script) {
        let count = self.map.count();
        let slopes = self.plan.idle_slopes();
        let slope = |queue: u8| slopes[usize::from(queue)].as_bps();
        let longest = |queue: u8| {
            let is_own = |pcp: Pcp| self.map.queue_of(pcp) == queue;
            plant.longest.at(self.port, is_own)
        };
        for queue in (0..count).rev().filter(|&queue| slope(queue) > 0) {
            let above = (queue + 1)..count;
            let shaped: Vec<(u64, u64)> = above
                .clone()
                .filter(|&other| slope(other) > 0)
                .filter_map(|other| Some((slope(other), longest(other)?)))
                .collect();
            let mut first = above.filter(|&other| slope(other) == 0);
            let front = first.all(|other| longest(other).is_none()).then_some(0);
            let own = longest(queue).unwrap_or(WHOLE);
            let told = credits(self.rate, (slope(queue), own), &shaped, front);
            script.say(&format!(
                "{}.idle_slopes: queue {queue}, {} of {}; its longest frame takes {own} octets of \
                 the wire",
                self.source,
                slopes[usize::from(queue)],
                self.rate
            ));
            if front.is_none() {
                script.also("queues above it have no shaper: nothing limits its credit");
            }
            script.run(&format!(
                "tc qdisc replace dev {} parent 1:{} handle {}: cbs idleslope {} sendslope {} \
                 hicredit {} locredit {} offload 0",
                self.device,
                count - queue,
                handle(queue),
                told.idle,
                told.send,
                told.high,
                told.low
            ));
        }
    }
}

/// Returns the handle of the shaper of a queue; numbers of `tc` are hexadecimal.
fn handle(queue: u8) -> String {
    format!("{:x}", 0x10 + queue)
}
