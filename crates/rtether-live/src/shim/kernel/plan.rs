//! The steps that set the shim up on a device, and how each is undone.
//!
//! The name of the egress filter records whether `clsact` existed before, so that a later process
//! can take down what a dead shim left behind.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;

use rtether_model::endnode::Detector;
use rtether_model::quantity::{BitRate, Bytes};

use super::commands::{self, Parameters};
use super::netlink::{Hook, Netlink, PREFERENCE};
use super::program::{self, Counts, Echoes, Policy};
use super::shape::{self, Shape};
use crate::bpf::{self, Instruction, ProgramType};
use crate::namespace::CommandLine;
use crate::shim::{Settings, ShimError};

/// Parent of qdiscs attached directly to a device (`TC_H_ROOT`).
const AT_DEVICE: u32 = u32::MAX;
/// Prefix of our filters' names.
const NAME: &str = "kernel-rtether";

/// Returns the name of the egress filter.
fn egress_name(has_clsact: bool) -> String {
    let whose = if has_clsact { "theirs" } else { "ours" };
    format!("{NAME}-egress:clsact={whose}")
}

/// Returns whether `clsact` existed before, from the name of a filter; `None` if the filter is not
/// our egress filter.
fn has_had_clsact(name: &str) -> Option<bool> {
    [false, true].into_iter().find(|&has_clsact| egress_name(has_clsact) == name)
}

/// The steps to set up a device, and the data they need.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(super) device: String,
    pub(super) index: i32,
    pub(super) shape: Shape,
    /// MTU: largest datagram or other payload.
    pub(super) mtu: u32,
    has_clsact: bool,
    /// A filter is attached at ingress.
    has_ingress: bool,
    pub(super) queues: Vec<CommandLine>,
}

/// A part of the set-up.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    PlaceOfFilters,
    Filter(Hook),
    Queues,
}

impl Plan {
    /// Inspects a device and plans its set-up; changes nothing.
    pub(super) fn new(
        device: &str,
        index: i32,
        settings: &Settings,
        smoother: Option<(BitRate, Bytes)>,
    ) -> Result<Self, ShimError> {
        let mut netlink = Netlink::open().map_err(asking)?;
        let queues = netlink.queues(index).map_err(asking)?;
        let up = || ShimError::Up { device: device.to_owned() };
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
        let mtu = netlink.mtu(index).map_err(asking)?;
        let shape = Shape::of(&settings.layer);
        let parameters = parameters(device, &shape, settings, smoother, mtu);
        Ok(Self {
            device: device.to_owned(),
            index,
            mtu,
            has_clsact: queues.iter().any(|queue| queue.kind == "clsact"),
            has_ingress: has_ingress(settings),
            queues: commands::set_up(&parameters),
            shape,
        })
    }

    fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        if !self.has_clsact {
            parts.push(Part::PlaceOfFilters);
        }
        parts.push(Part::Filter(Hook::Egress));
        if self.has_ingress {
            parts.push(Part::Filter(Hook::Ingress));
        }
        parts.push(Part::Queues);
        parts
    }

    /// Returns equivalent commands, in order, for display. The shim attaches its programs directly,
    /// since they are not in files.
    pub fn commands(&self) -> Vec<CommandLine> {
        let device = &self.device;
        let mut all = Vec::new();
        for part in self.parts() {
            match part {
                Part::PlaceOfFilters => all.push(commands::place_of_filters(device)[0].clone()),
                Part::Filter(hook) => all.push(add_filter(device, hook)),
                Part::Queues => all.extend(self.queues.iter().cloned()),
            }
        }
        all
    }

    /// Returns the commands that undo the set-up, in order.
    pub fn undo(&self) -> Vec<CommandLine> {
        let device = &self.device;
        let parts = self.parts().into_iter().rev();
        let undo = |part| match part {
            Part::PlaceOfFilters => commands::place_of_filters(device)[1].clone(),
            Part::Filter(hook) => commands::remove_filter(device, hook),
            Part::Queues => commands::remove(device),
        };
        parts.map(undo).collect()
    }

    /// Carries out the plan; if a step fails, the earlier steps are undone.
    pub(super) fn run(&self, programs: &Programs) -> Result<(), ShimError> {
        let done = self.run_parts(programs);
        if done.is_err() {
            // A step that cannot be undone is left to a later call of `restore`.
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
                Part::Queues => {
                    CommandLine::run_batch(&self.queues)?;
                }
            }
        }
        Ok(())
    }

    /// Adapts the splitters to a new MTU.
    pub(super) fn set_mtu(&mut self, mtu: u32, settings: &Settings) -> Result<(), ShimError> {
        self.mtu = mtu;
        let parameters = parameters(&self.device, &self.shape, settings, None, mtu);
        CommandLine::run_batch(&commands::queues(&parameters, "change"))?;
        Ok(())
    }

    /// Applies other settings of the same shape. Waiting frames stay queued, and none is released
    /// early.
    pub(super) fn change(
        &mut self,
        netlink: &mut Netlink,
        settings: &Settings,
        programs: &Programs,
        smoother: Option<(BitRate, Bytes)>,
    ) -> Result<(), ShimError> {
        self.shape = Shape::of(&settings.layer);
        let parameters = parameters(&self.device, &self.shape, settings, smoother, self.mtu);
        CommandLine::run_batch(&commands::change(&parameters))?;
        self.attach(netlink, Hook::Egress, programs)?;
        let had_ingress = std::mem::replace(&mut self.has_ingress, has_ingress(settings));
        if self.has_ingress {
            self.attach(netlink, Hook::Ingress, programs)?;
        } else if had_ingress {
            commands::remove_filter(&self.device, Hook::Ingress).run()?;
        }
        Ok(())
    }

    /// Attaches the program of a hook, replacing an earlier one.
    fn attach(
        &self,
        netlink: &mut Netlink,
        hook: Hook,
        programs: &Programs,
    ) -> Result<(), ShimError> {
        let (program, name) = match hook {
            Hook::Egress => (&programs.egress, egress_name(self.has_clsact)),
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

/// Both filter programs, loaded.
#[derive(Debug)]
pub(super) struct Programs {
    egress: OwnedFd,
    ingress: OwnedFd,
}

impl Programs {
    /// Assembles and loads them.
    pub(super) fn load(
        settings: &Settings,
        shape: &Shape,
        counts: &Counts,
        echoes: &Echoes,
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
            let loaded = bpf::load(ProgramType::Classifier, code);
            loaded.map_err(ShimError::program("loading a program"))
        };
        Ok(Self {
            egress: load(&program::egress(&policy, counts))?,
            ingress: load(&program::ingress(
                counts_marks(settings).then_some(echoes),
                settings.tags.strip.then_some(settings.tags.vid),
            ))?,
        })
    }
}

/// Returns whether the ingress program counts echoes of marks.
fn counts_marks(settings: &Settings) -> bool {
    let detector = settings.layer.smoother.map(|smoothing| smoothing.detector);
    matches!(detector, Some(Detector::Marks { .. }))
}

fn has_ingress(settings: &Settings) -> bool {
    settings.tags.strip || counts_marks(settings)
}

/// Derives the parameters of the commands from the settings.
pub(super) fn parameters<'a>(
    device: &'a str,
    shape: &'a Shape,
    settings: &Settings,
    smoother: Option<(BitRate, Bytes)>,
    mtu: u32,
) -> Parameters<'a> {
    Parameters {
        mtu,
        device,
        shape,
        rate: settings.rate,
        is_tagging: settings.tags.insert.is_some(),
        smoother,
        untagged: settings.layer.table.class_of(None),
    }
}

/// Removes everything that a shim of this back end has put on a device in the calling thread's
/// namespace; returns whether there was anything.
pub(super) fn restore(device: &str, index: i32) -> Result<bool, ShimError> {
    let mut netlink = Netlink::open().map_err(asking)?;
    let queues = netlink.queues(index).map_err(asking)?;
    let ours = u32::from(shape::ROOT) << 16;
    let has_queues = queues.iter().any(|queue| queue.handle == ours);
    if has_queues {
        commands::remove(device).run()?;
    }
    let Some(has_had_clsact) = found_before(&mut netlink, index)? else {
        return Ok(has_queues);
    };
    let [ingress, egress] = [Hook::Ingress, Hook::Egress].map(|hook| netlink.filters(index, hook));
    let (ingress, egress) = (ingress.map_err(asking)?, egress.map_err(asking)?);
    let is_ours = |name: &Option<String>| name.as_ref().is_some_and(|name| name.starts_with(NAME));
    let all = || ingress.iter().chain(&egress);
    if !has_had_clsact && all().all(|filter| is_ours(&filter.name)) {
        // Removing `clsact` removes the filters too.
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

/// Returns whether `clsact` existed before, as recorded by our egress filter; `None` without that
/// filter.
fn found_before(netlink: &mut Netlink, index: i32) -> Result<Option<bool>, ShimError> {
    let filters = netlink.filters(index, Hook::Egress).map_err(asking)?;
    let mut names = filters.iter().filter_map(|filter| filter.name.as_deref());
    Ok(names.find_map(has_had_clsact))
}

/// Returns the command that stands for attaching a filter.
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
    fn a_filter_says_whose_its_place_is() {
        for has_clsact in [false, true] {
            let name = egress_name(has_clsact);
            assert_eq!(has_had_clsact(&name), Some(has_clsact));
        }
        for other in ["", "rtether-from-stack", "kernel-rtether-ingress", "egress"] {
            assert_eq!(has_had_clsact(other), None, "{other}");
        }
    }
}
