//! The `tc` commands that create, change and remove the queues.

use rtether_model::quantity::{BitRate, Bytes};
use rtether_model::wire::{self, wire_size};

use super::netlink::{Hook, PREFERENCE};
use super::shape::{self, AHEAD, LINK, ROOT, SMOOTHER, Shape, Treatment};
use crate::namespace::CommandLine;

/// Wire octets in addition to the datagram: addresses and type, check sequence, preamble, gap.
const OVERHEAD: u64 = wire_size(wire::HEADER).get() + wire::FCS.get();
/// Shortest frame with preamble and gap.
const SHORTEST: u64 = wire_size(wire::MIN_FRAME).get();
/// The kernel counts the Ethernet header; the smoother counts datagrams only.
const HEADER: i32 = -14;
/// The length that the queues see does not include a tag pushed here.
const TAG: u64 = wire::TAG.get();
/// Rate of a splitter, in multiples of the link rate: it splits packets and must not delay them.
const SPLITTER: u64 = 64;
/// Largest frame overhead in addition to the datagram: addresses and type, four tags.
const LONGEST: u32 = 14 + 16;
/// Practically zero guaranteed rate: a leaf sends only what it borrows.
const NONE: &str = "8bit";

/// Parameters of the commands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameters<'a> {
    pub(super) device: &'a str,
    pub(super) shape: &'a Shape,
    /// Link rate.
    pub(super) rate: BitRate,
    /// Whether frames get a tag.
    pub(super) is_tagging: bool,
    /// Rate and burst of the smoother; `None` without one.
    pub(super) smoother: Option<(BitRate, Bytes)>,
    /// MTU of the device, in octets.
    pub(super) mtu: u32,
    /// Queue for packets that match no filter.
    pub(super) untagged: u8,
}

/// Returns the commands that create root, classes and queues, in order.
pub(super) fn set_up(parameters: &Parameters<'_>) -> Vec<CommandLine> {
    let Parameters { device, shape, .. } = parameters;
    let untagged = parameters.untagged.min(shape.queues - 1);
    let default = Treatment::Passing as u16 + u16::from(untagged);
    let root = format!(
        "tc qdisc add dev {device} root handle {ROOT:x}: stab overhead {HEADER} htb default {default:x}"
    );
    let mut commands = vec![CommandLine::words(&root)];
    commands.extend(classes(parameters, "add"));
    commands.extend(queues(parameters, "add"));
    commands
}

/// Returns the commands that change the parameters of classes and queues of the same shape.
pub(super) fn change(parameters: &Parameters<'_>) -> Vec<CommandLine> {
    let mut commands = classes(parameters, "change");
    commands.extend(queues(parameters, "change"));
    commands
}

/// Returns the command that removes everything below the root.
pub(super) fn remove(device: &str) -> CommandLine {
    CommandLine::words(&format!("tc qdisc del dev {device} root handle {ROOT:x}:"))
}

/// Returns the commands that create and remove `clsact`, which holds the filters.
pub(super) fn place_of_filters(device: &str) -> [CommandLine; 2] {
    ["add", "del"].map(|verb| CommandLine::words(&format!("tc qdisc {verb} dev {device} clsact")))
}

/// Returns the command that removes one of our filters.
pub(super) fn remove_filter(device: &str, hook: Hook) -> CommandLine {
    let hook = hook.name();
    CommandLine::words(&format!("tc filter del dev {device} {hook} pref {PREFERENCE}"))
}

fn classes(parameters: &Parameters<'_>, verb: &str) -> Vec<CommandLine> {
    let Parameters { shape, .. } = parameters;
    let rate = parameters.rate.as_bps();
    let link = format!("{rate}bit");
    let tag = if parameters.is_tagging { TAG } else { 0 };
    let on_wire = format!("overhead {} mpu {}", OVERHEAD + tag, SHORTEST + tag);
    let class = |parent: u16, minor: u16, own: &str, rest: String| {
        let parent =
            if parent == 0 { format!("{ROOT:x}:") } else { format!("{ROOT:x}:{parent:x}") };
        let (device, quantum) = (parameters.device, shape::QUANTUM);
        CommandLine::words(&format!(
            "tc class {verb} dev {device} parent {parent} classid {ROOT:x}:{minor:x} htb rate {own} \
             {rest} burst 1 quantum {quantum}"
        ))
    };
    let ceiling = |rate: &str| format!("ceil {rate} cburst 1 {on_wire}");
    let mut commands = vec![class(0, LINK, &link, ceiling(&link))];
    if let Some((rate, burst)) = parameters.smoother {
        let (rate, burst) = (rate.as_bps().max(8), burst.get());
        let law = format!("ceil {rate}bit cburst {burst}b");
        commands.push(class(LINK, SMOOTHER, NONE, law));
        commands.push(class(SMOOTHER, AHEAD, &link, ceiling(&link)));
    }
    // Only the link limits the leaves: with the link rate as their own ceiling, rounding could make
    // a lower-priority leaf ready slightly before a higher one.
    let twice = format!("{}bit", rate.saturating_mul(2));
    commands.extend(shape.leaves.iter().map(|leaf| {
        let priority = shape.queues - 1 - leaf.queue;
        let rest = format!("{} prio {priority}", ceiling(&twice));
        class(leaf.parent(), leaf.minor(), NONE, rest)
    }));
    commands
}

/// Returns the queue of each leaf, behind a splitter of packets that stand for several frames.
///
/// TCP hands over up to 64 KiB in one piece, regardless of the device's features, and HTB would
/// send it in one piece. A token bucket filter splits packets larger than its burst, and with a
/// high rate it does not delay them.
pub(super) fn queues(parameters: &Parameters<'_>, verb: &str) -> Vec<CommandLine> {
    let Parameters { device, shape, mtu, .. } = parameters;
    let rate = parameters.rate.as_bps().saturating_mul(SPLITTER);
    let burst = mtu.saturating_add(LONGEST);
    let leaves = shape.leaves.iter();
    let commands = leaves.flat_map(|leaf| {
        let (limit, minor) = (leaf.limit, leaf.minor());
        // The bucket passes its limit on to its inner queue; the second command sets the queue's
        // own.
        [
            format!(
                "tc qdisc {verb} dev {device} parent {ROOT:x}:{minor:x} handle 52{minor:02x}: tbf \
                 rate {rate}bit burst {burst}b limit {limit}"
            ),
            format!(
                "tc qdisc {verb} dev {device} parent 52{minor:02x}:1 handle 53{minor:02x}: pfifo \
                 limit {limit}"
            ),
        ]
    });
    commands.map(|text| CommandLine::words(&text)).collect()
}

#[cfg(test)]
mod tests {
    use rtether_model::endnode::{Layer, TransmitConfig, TransmitStrategy};

    use super::*;

    fn text(layer: &Layer, is_tagging: bool, smoother: Option<(BitRate, Bytes)>) -> String {
        let shape = Shape::of(layer);
        let commands = set_up(&Parameters {
            device: "eth0",
            shape: &shape,
            rate: BitRate::from_mbps(100),
            is_tagging,
            smoother,
            mtu: 1500,
            untagged: layer.table.class_of(None),
        });
        let lines = commands.iter().map(|command| format!("{command}\n"));
        lines.collect()
    }

    #[test]
    fn two_queues_without_a_smoother() {
        // Oracle: by hand. 38 octets besides the datagram, at least 84 in total, 4 more with a tag.
        let layer = Layer {
            transmit: Some(TransmitConfig {
                ring_limit: 16,
                queue_limits: vec![100, 50],
                high_from: None,
                strategy: TransmitStrategy::MODERATE,
            }),
            ..Layer::default()
        };
        let expected = "\
tc qdisc add dev eth0 root handle 5254: stab overhead -14 htb default 10
tc class add dev eth0 parent 5254: classid 5254:1 htb rate 100000000bit ceil 100000000bit cburst 1 overhead 42 mpu 88 burst 1 quantum 1514
tc class add dev eth0 parent 5254:1 classid 5254:10 htb rate 8bit ceil 200000000bit cburst 1 overhead 42 mpu 88 prio 1 burst 1 quantum 1514
tc class add dev eth0 parent 5254:1 classid 5254:11 htb rate 8bit ceil 200000000bit cburst 1 overhead 42 mpu 88 prio 0 burst 1 quantum 1514
tc qdisc add dev eth0 parent 5254:10 handle 5210: tbf rate 6400000000bit burst 1530b limit 100
tc qdisc add dev eth0 parent 5210:1 handle 5310: pfifo limit 100
tc qdisc add dev eth0 parent 5254:11 handle 5211: tbf rate 6400000000bit burst 1530b limit 50
tc qdisc add dev eth0 parent 5211:1 handle 5311: pfifo limit 50
";
        assert_eq!(text(&layer, true, None), expected);
    }
}
