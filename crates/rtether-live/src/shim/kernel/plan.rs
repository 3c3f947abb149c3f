//! What is done to the device, step by step, and how each step is undone.
//!
//! The name of the egress filter says what was there before, so that whoever takes down what a dead
//! shim has left knows it too: whether `clsact` is ours, and which segmentation was on. That filter
//! therefore comes first and goes last.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;

use rtether_model::quantity::{BitRate, Bytes};

use super::commands::{self, Parameters};
use super::netlink::{Hook, Netlink, PREFERENCE};
use super::program::{self, Counts, Policy};
use super::segmentation::{self, Features};
use super::shape::{self, Shape};
use crate::bpf::{self, Instruction, Kind};
use crate::namespace::CommandLine;
use crate::shim::{Settings, ShimError};

/// Handle of a root and parent of what hangs directly at a device.
const AT_DEVICE: u32 = u32::MAX;
/// Begins the names of our filters.
const NAME: &str = "kernel-rtether";

/// What was at the device before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Before {
    pub(super) has_clsact: bool,
    /// Segmentation that was wanted.
    pub(super) segmentation: Features,
}

impl Before {
    /// Returns the name of a filter that says so.
    pub(super) fn name(&self) -> String {
        let words: Vec<String> = self
            .segmentation
            .0
            .iter()
            .map(|word| format!("{word:x}"))
            .collect();
        let clsact = u8::from(self.has_clsact);
        format!("{NAME}-egress:clsact={clsact}:off={}", words.join("."))
    }

    /// Reads such a name.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let rest = name.strip_prefix(NAME)?.strip_prefix("-egress:clsact=")?;
        let (clsact, words) = rest.split_once(":off=")?;
        let words = words.split('.').map(|word| u32::from_str_radix(word, 16));
        Some(Self {
            has_clsact: clsact == "1",
            segmentation: Features(words.collect::<Result<_, _>>().ok()?),
        })
    }
}

/// What has to be done to a device and what for.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(super) device: String,
    pub(super) index: i32,
    pub(super) shape: Shape,
    before: Before,
    /// Names of the segmentation features that are switched off.
    features: Vec<String>,
    strips: bool,
    pub(super) queues: Vec<CommandLine>,
}

/// A part of what a shim puts at a device.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    PlaceOfFilters,
    Filter(Hook),
    Segmentation,
    Queues,
}

impl Plan {
    /// Looks at a device and plans what to do to it; changes nothing.
    pub(super) fn new(
        device: &str,
        index: i32,
        settings: &Settings,
        smoother: Option<(BitRate, Bytes)>,
    ) -> Result<Self, ShimError> {
        let mut netlink = Netlink::open().map_err(asking)?;
        let queues = netlink.queues(index).map_err(asking)?;
        let up = || ShimError::Up {
            device: device.to_owned(),
        };
        if let Some(root) = queues.iter().find(|queue| queue.parent == AT_DEVICE) {
            match root.handle >> 16 {
                0 => {}
                handle if handle == u32::from(shape::ROOT) => return Err(up()),
                _ => {
                    return Err(ShimError::Root {
                        device: device.to_owned(),
                        kind: root.kind.clone(),
                    });
                }
            }
        }
        if found_before(&mut netlink, index)?.is_some() {
            return Err(up());
        }
        if queues.iter().any(|queue| queue.kind == "ingress") {
            return Err(ShimError::Occupied {
                device: device.to_owned(),
                what: "an ingress queue",
                way: "ingress",
                qdisc: "ingress",
            });
        }
        let wanted = segmentation::wanted(device);
        let (features, names) = wanted.map_err(ShimError::system("reading features"))?;
        let shape = Shape::of(&settings.layer);
        let parameters = parameters(device, &shape, settings, smoother);
        Ok(Self {
            device: device.to_owned(),
            index,
            before: Before {
                has_clsact: queues.iter().any(|queue| queue.kind == "clsact"),
                segmentation: features,
            },
            features: names,
            strips: settings.tags.strip,
            queues: commands::set_up(&parameters),
            shape,
        })
    }

    fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        if !self.before.has_clsact {
            parts.push(Part::PlaceOfFilters);
        }
        parts.push(Part::Filter(Hook::Egress));
        if self.strips {
            parts.push(Part::Filter(Hook::Ingress));
        }
        if !self.before.segmentation.is_empty() {
            parts.push(Part::Segmentation);
        }
        parts.push(Part::Queues);
        parts
    }

    /// Returns the commands that do the same, in order. Programs and features are put in place
    /// without them, since no program holds the former and not every host has `ethtool`.
    pub fn commands(&self) -> Vec<CommandLine> {
        let device = &self.device;
        let mut all = Vec::new();
        for part in self.parts() {
            match part {
                Part::PlaceOfFilters => all.push(commands::place_of_filters(device)[0].clone()),
                Part::Filter(hook) => all.push(add_filter(device, hook)),
                Part::Segmentation => all.push(self.switch("off")),
                Part::Queues => all.extend(self.queues.iter().cloned()),
            }
        }
        all
    }

    /// Returns the commands that undo it, in order.
    pub fn undo(&self) -> Vec<CommandLine> {
        let device = &self.device;
        let parts = self.parts().into_iter().rev();
        let undo = |part| match part {
            Part::PlaceOfFilters => commands::place_of_filters(device)[1].clone(),
            Part::Filter(hook) => commands::remove_filter(device, hook),
            Part::Segmentation => self.switch("on"),
            Part::Queues => commands::remove(device),
        };
        parts.map(undo).collect()
    }

    fn switch(&self, to: &str) -> CommandLine {
        let words: Vec<String> = self
            .features
            .iter()
            .map(|name| format!("{name} {to}"))
            .collect();
        let (device, words) = (&self.device, words.join(" "));
        CommandLine::words(&format!("ethtool -K {device} {words}"))
    }

    /// Carries it out; if a step fails, those before it are undone.
    pub(super) fn run(&self, programs: &Programs) -> Result<(), ShimError> {
        let done = self.run_parts(programs);
        if done.is_err() {
            // What cannot be undone either is left to a later call of `restore`.
            let _ = restore(&self.device, self.index);
        }
        done
    }

    fn run_parts(&self, programs: &Programs) -> Result<(), ShimError> {
        let mut netlink = Netlink::open().map_err(asking)?;
        for part in self.parts() {
            match part {
                Part::PlaceOfFilters => {
                    commands::place_of_filters(&self.device)[0].run()?;
                }
                Part::Filter(hook) => {
                    self.attach(&mut netlink, hook, programs)?;
                }
                Part::Segmentation => {
                    let switched =
                        segmentation::switch(&self.device, &self.before.segmentation, false);
                    switched.map_err(ShimError::system("switching segmentation off"))?;
                }
                Part::Queues => {
                    for command in &self.queues {
                        command.run()?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Carries out other settings of the same shape. Frames that wait stay, and none is let go in
    /// between.
    pub(super) fn change(
        &mut self,
        netlink: &mut Netlink,
        settings: &Settings,
        programs: &Programs,
        smoother: Option<(BitRate, Bytes)>,
    ) -> Result<(), ShimError> {
        self.shape = Shape::of(&settings.layer);
        let parameters = parameters(&self.device, &self.shape, settings, smoother);
        for command in commands::change(&parameters) {
            command.run()?;
        }
        self.attach(netlink, Hook::Egress, programs)?;
        if settings.tags.strip {
            self.attach(netlink, Hook::Ingress, programs)?;
        } else if self.strips {
            commands::remove_filter(&self.device, Hook::Ingress).run()?;
        }
        self.strips = settings.tags.strip;
        Ok(())
    }

    /// Puts the program of a hook in place, also of one that is there.
    fn attach(
        &self,
        netlink: &mut Netlink,
        hook: Hook,
        programs: &Programs,
    ) -> Result<(), ShimError> {
        let (program, name) = match hook {
            Hook::Egress => (&programs.egress, self.before.name()),
            Hook::Ingress => (&programs.ingress, format!("{NAME}-ingress")),
        };
        let attached = netlink.attach(self.index, hook, program, &name);
        attached.map_err(ShimError::program("attaching a program"))
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for command in self.commands() {
            writeln!(f, "{command}")?;
        }
        Ok(())
    }
}

/// Both programs, loaded.
#[derive(Debug)]
pub(super) struct Programs {
    egress: OwnedFd,
    ingress: OwnedFd,
}

impl Programs {
    /// Writes and loads them.
    pub(super) fn load(
        settings: &Settings,
        shape: &Shape,
        counts: &Counts,
    ) -> Result<Self, ShimError> {
        let layer = &settings.layer;
        let policy = Policy {
            table: &layer.table,
            rules: &layer.rules,
            icmp_unclassified: layer.icmp_unclassified,
            real_time: layer.smoother.map(|smoothing| smoothing.rule),
            queues: shape.queues,
            tags: settings.tags,
        };
        let load = |code: &[Instruction]| {
            let loaded = bpf::load(Kind::Classifier, code);
            loaded.map_err(ShimError::program("loading a program"))
        };
        Ok(Self {
            egress: load(&program::egress(&policy, counts))?,
            ingress: load(&program::ingress(settings.tags.vid))?,
        })
    }
}

/// Returns what the commands need to know of settings.
pub(super) fn parameters<'a>(
    device: &'a str,
    shape: &'a Shape,
    settings: &Settings,
    smoother: Option<(BitRate, Bytes)>,
) -> Parameters<'a> {
    Parameters {
        device,
        shape,
        rate: settings.rate,
        is_tagging: settings.tags.insert.is_some(),
        smoother,
        untagged: settings.layer.table.class_of(None),
    }
}

/// Removes what a shim of this back end has put at a device of the calling thread's namespace, if
/// there is anything; returns whether there was.
pub(super) fn restore(device: &str, index: i32) -> Result<bool, ShimError> {
    let mut netlink = Netlink::open().map_err(asking)?;
    let queues = netlink.queues(index).map_err(asking)?;
    let ours = u32::from(shape::ROOT) << 16;
    let has_queues = queues.iter().any(|queue| queue.handle == ours);
    if has_queues {
        commands::remove(device).run()?;
    }
    let Some(before) = found_before(&mut netlink, index)? else {
        return Ok(has_queues);
    };
    if !before.segmentation.is_empty() {
        let switched = segmentation::switch(device, &before.segmentation, true);
        switched.map_err(ShimError::system("switching segmentation on"))?;
    }
    let [ingress, egress] = [Hook::Ingress, Hook::Egress].map(|hook| netlink.filters(index, hook));
    let (ingress, egress) = (ingress.map_err(asking)?, egress.map_err(asking)?);
    let is_ours = |name: &Option<String>| name.as_ref().is_some_and(|name| name.starts_with(NAME));
    let all = || ingress.iter().chain(&egress);
    if !before.has_clsact && all().all(|filter| is_ours(&filter.name)) {
        // The filters go with it.
        commands::place_of_filters(device)[1].run()?;
        return Ok(true);
    }
    for (hook, filters) in [(Hook::Ingress, ingress), (Hook::Egress, egress)] {
        if filters.iter().any(|filter| is_ours(&filter.name)) {
            commands::remove_filter(device, hook).run()?;
        }
    }
    Ok(true)
}

/// Returns what the egress filter says that was there before it.
fn found_before(netlink: &mut Netlink, index: i32) -> Result<Option<Before>, ShimError> {
    let filters = netlink.filters(index, Hook::Egress).map_err(asking)?;
    let mut names = filters.iter().filter_map(|filter| filter.name.as_deref());
    Ok(names.find_map(Before::parse))
}

/// Returns the command that shows how a filter is put in place.
fn add_filter(device: &str, hook: Hook) -> CommandLine {
    let hook = hook.name();
    CommandLine::words(&format!(
        "tc filter add dev {device} {hook} pref {PREFERENCE} handle 1 protocol all bpf \
         direct-action object-pinned {NAME}-{hook}"
    ))
}

fn asking(source: io::Error) -> ShimError {
    ShimError::system("asking the kernel about queues and filters")(source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_before_is_written_and_read() {
        for has_clsact in [false, true] {
            let before = Before {
                has_clsact,
                segmentation: Features(vec![0x0043_0000, 0, 0x8000_0001]),
            };
            assert_eq!(Before::parse(&before.name()), Some(before));
        }
        for other in ["", "rtether-from-stack", "kernel-rtether-ingress", "egress"] {
            assert_eq!(Before::parse(other), None, "{other}");
        }
    }
}
