//! The system changes that a shim makes, as commands that can be repeated by hand, and how to undo
//! them.
//!
//! The changes are two or three filters and, where there was none, the `clsact` that holds them. A
//! filter's handle records whether the `clsact` is ours, so that a later process can remove what a
//! dead shim left behind.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::divert::{self, Diversion};
use super::settings::hears;
use super::tap::{MTU, QUEUE, Tap};
use super::{Settings, ShimError};
use crate::filter;
use crate::link::Device;
use crate::namespace::{CommandLine, PREFIX};

/// Preference of our filters: ahead of those that the kernel numbers itself.
const ORDER: u32 = 49_000;
/// Handles of filters in a `clsact` that existed before, and in one of ours.
const HANDLES: [u32; 2] = [1, 2];
/// Usual mount point of the BPF file system.
const PROGRAMS: &str = "/sys/fs/bpf";

/// The steps to set up a device.
#[derive(Clone, Debug)]
pub struct Plan {
    device: String,
    index: i32,
    parts: Parts,
    has_clsact: bool,
    folder: Folder,
}

/// The TAPs through which kernel and shim exchange frames.
#[derive(Debug)]
pub(super) struct Taps {
    /// Frames sent by the stack.
    pub(super) stack: Tap,
    /// Frames from the wire to the stack, if these pass the shim.
    pub(super) wire: Option<Tap>,
}

/// What is attached at ingress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parts {
    /// Nothing: only transmitted frames pass the shim.
    Transmit,
    /// A program that removes tags.
    Strip,
    /// A program that diverts frames through the shim.
    Receive,
}

/// Where the programs are pinned until they are attached.
#[derive(Clone, Debug)]
struct Folder {
    path: PathBuf,
    /// Whether a BPF file system has to be mounted there.
    is_mounted: bool,
}

/// A filter that holds one of our programs.
#[derive(Clone, Copy, Debug)]
enum Filter {
    FromStack,
    FromWire,
    Strip,
    Received,
}

impl Filter {
    /// Returns the name of its program, by which it is recognized.
    fn program(self) -> String {
        let name = match self {
            Self::FromStack => "from-stack",
            Self::FromWire => "from-wire",
            Self::Strip => "strip",
            Self::Received => "received",
        };
        format!("{PREFIX}{name}")
    }

    fn way(self) -> &'static str {
        match self {
            Self::FromStack => "egress",
            Self::FromWire | Self::Strip | Self::Received => "ingress",
        }
    }
}

impl Plan {
    /// Inspects the device and plans the set-up.
    pub(super) fn new(device: &str, settings: &Settings) -> Result<Self, ShimError> {
        let index = Device::named(device)?.index();
        let state = State::of(device)?;
        if let Some(foreign) = state.foreign {
            return Err(foreign);
        }
        Ok(Self {
            device: device.to_owned(),
            index,
            parts: Parts::of(settings),
            // The remains of a dead shim are removed first.
            has_clsact: state.has_clsact && !state.is_all_ours(),
            folder: Folder::new(),
        })
    }

    /// Returns equivalent commands, in order. The shim itself opens the TAPs directly, so that they
    /// disappear with it.
    pub fn commands(&self) -> Vec<CommandLine> {
        let mut commands = Vec::new();
        let wire = self.is_receiving().then_some('r');
        for way in ['s'].into_iter().chain(wire) {
            let tap = tap_name(way, self.index);
            commands.push(words(&format!("ip tuntap add dev {tap} mode tap")));
            commands.extend(tap_up(&tap));
        }
        commands.extend(self.folder.open());
        commands.extend(self.attach());
        commands.extend(self.folder.close());
        commands
    }

    /// Returns the commands that undo the set-up.
    pub fn undo(&self) -> Vec<CommandLine> {
        let filters = self.filters();
        let own = filters.iter().filter(|(device, _)| *device == self.device);
        let handle = self.handle();
        let ours: Vec<_> = own.map(|(_, filter)| (filter.way(), handle)).collect();
        undo(&self.device, !self.has_clsact, &ours)
    }

    /// Opens the TAPs.
    pub(super) fn open_taps(&self) -> Result<Taps, ShimError> {
        let open = |way| {
            let name = tap_name(way, self.index);
            Tap::open(&name)?
                .ok_or_else(|| ShimError::Running { device: self.device.clone(), tap: name })
        };
        Ok(Taps { stack: open('s')?, wire: self.is_receiving().then(|| open('r')).transpose()? })
    }

    fn is_receiving(&self) -> bool {
        self.parts == Parts::Receive
    }

    /// Carries out the plan, with the TAPs open.
    pub(super) fn run(&self, taps: &Taps, settings: &Settings) -> Result<Diversion, ShimError> {
        detach(&self.device)?;
        for tap in [Some(&taps.stack), taps.wire.as_ref()].into_iter().flatten() {
            for command in tap_up(tap.name()) {
                command.run()?;
            }
        }
        let made = Diversion::new();
        let diversion = made.map_err(ShimError::program("making a map for programs"))?;
        let attached = self.attach_all(&diversion, taps, settings);
        // Attached filters do not need the pinned names of their programs.
        for command in self.folder.close() {
            let _ = command.run();
        }
        if let Err(error) = attached {
            let _ = detach(&self.device);
            return Err(error);
        }
        Ok(diversion)
    }

    fn attach_all(
        &self,
        diversion: &Diversion,
        taps: &Taps,
        settings: &Settings,
    ) -> Result<(), ShimError> {
        for command in self.folder.open() {
            command.run()?;
        }
        let wire = taps.wire.as_ref().map_or(0, Tap::index);
        for (_, filter) in self.filters() {
            let path = self.folder.path.join(filter.program());
            let pinned = match filter {
                Filter::FromStack => diversion.pin_from_stack(&path, taps.stack.index()),
                Filter::FromWire => diversion.pin_from_wire(&path, wire),
                Filter::Strip => divert::pin_strip(&path, settings.tags.vid),
                Filter::Received => divert::pin_received(&path, self.index),
            };
            pinned.map_err(ShimError::program("loading a program"))?;
        }
        for command in self.attach() {
            command.run()?;
        }
        Ok(())
    }

    /// Returns the filters with their devices, in order of attachment: the way back before the
    /// diversion.
    fn filters(&self) -> Vec<(String, Filter)> {
        let own = |filter| (self.device.clone(), filter);
        let back = || (tap_name('r', self.index), Filter::Received);
        match self.parts {
            Parts::Transmit => vec![own(Filter::FromStack)],
            Parts::Strip => vec![own(Filter::Strip), own(Filter::FromStack)],
            Parts::Receive => vec![back(), own(Filter::FromWire), own(Filter::FromStack)],
        }
    }

    fn handle(&self) -> u32 {
        HANDLES[usize::from(!self.has_clsact)]
    }

    fn attach(&self) -> Vec<CommandLine> {
        let mut commands = Vec::new();
        if self.is_receiving() {
            let back = tap_name('r', self.index);
            commands.push(words(&format!("tc qdisc add dev {back} clsact")));
        }
        if !self.has_clsact {
            commands.push(words(&format!("tc qdisc add dev {} clsact", self.device)));
        }
        let handle = self.handle();
        for (device, filter) in self.filters() {
            let command = words(&format!(
                "tc filter add dev {device} {} pref {ORDER} handle {handle} protocol all bpf \
                 direct-action object-pinned",
                filter.way()
            ));
            let path = self.folder.path.join(filter.program());
            commands.push(command.argument(path.display().to_string()));
        }
        commands
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

impl Parts {
    /// Received frames pass through the shim only if it has to process them.
    pub(super) fn of(settings: &Settings) -> Self {
        if settings.layer.receive.is_some() || hears(settings) {
            Self::Receive
        } else if settings.tags.strip {
            Self::Strip
        } else {
            Self::Transmit
        }
    }
}

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let is_there = mounts.lines().any(|line| {
            let mut words = line.split(' ').skip(1);
            words.next() == Some(PROGRAMS) && words.next() == Some("bpf")
        });
        let parent = Path::new(if is_there { PROGRAMS } else { "/run" });
        let name = format!("{PREFIX}shim-{}-{number}", std::process::id());
        Self { path: parent.join(name), is_mounted: !is_there }
    }

    fn open(&self) -> Vec<CommandLine> {
        let path = self.path.display();
        let mut commands = vec![words(&format!("mkdir {path}"))];
        if self.is_mounted {
            commands.push(words(&format!("mount -t bpf none {path}")));
        }
        commands
    }

    fn close(&self) -> Vec<CommandLine> {
        let path = self.path.display();
        if self.is_mounted {
            vec![words(&format!("umount {path}")), words(&format!("rmdir {path}"))]
        } else {
            vec![words(&format!("rm -r {path}"))]
        }
    }
}

/// What is attached at the hooks of a device.
struct State {
    has_clsact: bool,
    /// Directions and handles of our filters.
    ours: Vec<(&'static str, u32)>,
    /// Why a shim cannot be set up.
    foreign: Option<ShimError>,
}

impl State {
    fn of(device: &str) -> Result<Self, ShimError> {
        let occupied =
            |what, way, qdisc| ShimError::Occupied { device: device.to_owned(), what, way, qdisc };
        let queues = words(&format!("tc qdisc show dev {device}")).run()?;
        let mut state =
            Self { has_clsact: queues.contains("qdisc clsact"), ours: Vec::new(), foreign: None };
        if queues.contains("qdisc ingress") {
            state.foreign = Some(occupied("an ingress queue", "ingress", "ingress"));
        }
        if !state.has_clsact {
            return Ok(state);
        }
        for way in ["egress", "ingress"] {
            let filters = words(&format!("tc filter show dev {device} {way}")).run()?;
            // Each filter is preceded by a line for its chain.
            let filters = filters.lines().filter(|line| line.contains(" handle "));
            // Filters that tag frames of a test bed's sockets are compatible with ours.
            let beside = format!(" {}", filter::NAMES);
            for filter in filters.filter(|line| !line.contains(&beside)) {
                let is_ours = filter.contains(&format!(" {PREFIX}"));
                let has = |handle| filter.contains(&format!(" handle {handle:#x} "));
                match HANDLES.into_iter().find(|&handle| is_ours && has(handle)) {
                    Some(handle) => state.ours.push((way, handle)),
                    None => state.foreign = Some(occupied("a filter", way, "clsact")),
                }
            }
        }
        Ok(state)
    }

    /// Returns whether everything attached is ours.
    fn is_all_ours(&self) -> bool {
        let made = |&(_, handle): &(_, u32)| handle == HANDLES[1];
        self.foreign.is_none() && self.ours.iter().any(made)
    }
}

/// Removes everything that a shim has put on a device in the calling thread's namespace.
///
/// Must not be called while the shim runs: it would go on without receiving any frames.
///
/// # Errors
/// If the device does not exist, or a command fails.
pub fn restore(device: &str) -> Result<(), ShimError> {
    let index = Device::named(device)?.index();
    detach(device)?;
    for way in ['s', 'r'] {
        let tap = tap_name(way, index);
        // The TAP disappears with the shim, but only after any process forked in the meantime has
        // closed its inherited descriptor.
        if Device::named(&tap).is_ok() {
            let removed = words(&format!("ip link del dev {tap}")).run();
            if Device::named(&tap).is_ok() {
                removed?;
            }
        }
    }
    Ok(())
}

/// Removes our filters.
fn detach(device: &str) -> Result<(), ShimError> {
    let state = State::of(device)?;
    if state.ours.is_empty() {
        return Ok(());
    }
    for command in undo(device, state.is_all_ours(), &state.ours) {
        command.run()?;
    }
    Ok(())
}

/// Returns the commands that remove our filters, by direction and handle, or the whole `clsact` if
/// it is ours and holds no other filters.
fn undo(device: &str, is_all_ours: bool, ours: &[(&str, u32)]) -> Vec<CommandLine> {
    if is_all_ours {
        return vec![words(&format!("tc qdisc del dev {device} clsact"))];
    }
    let remove = |&(way, handle): &(&str, u32)| {
        words(&format!(
            "tc filter del dev {device} {way} pref {ORDER} handle {handle} protocol all bpf"
        ))
    };
    ours.iter().map(remove).collect()
}

/// Returns the commands that configure a TAP.
fn tap_up(tap: &str) -> [CommandLine; 2] {
    [
        // Without a queue of its own, so that drops show in one counter only.
        format!("tc qdisc replace dev {tap} root noqueue"),
        format!("ip link set dev {tap} mtu {MTU} txqueuelen {QUEUE} up"),
    ]
    .map(|text| words(&text))
}

/// Returns the name of a TAP, unique in its namespace: the device number, and a letter for the
/// direction.
fn tap_name(way: char, device: i32) -> String {
    format!("rt{way}{device}")
}

fn words(text: &str) -> CommandLine {
    CommandLine::words(text)
}
