//! Files in memory that fail as disks and systems do, by seed: unsynced content may be there or
//! not, sector by sector; a file that grew may contain zeros or old octets; names may be the old
//! ones; calls fail after part of their work; after a failed sync, pages read as new but are never
//! written (Rebello and others, USENIX ATC 2020).

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::super::disk::{Disk, Octets};

const SECTOR: usize = 512;
const PAGE: usize = 4_096;

/// Random numbers from a seed (splitmix64).
#[derive(Clone, Debug)]
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below a limit, which is not 0.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).expect("below a usize")
    }

    pub(super) fn one_of(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }
}

#[derive(Clone, Debug, Default)]
struct Inode {
    /// Content as readers see it.
    data: Vec<u8>,
    /// Content on the disk.
    durable: Vec<u8>,
    /// Pages that the next sync writes.
    dirty: BTreeSet<usize>,
}

#[derive(Clone, Debug)]
enum Naming {
    Made(PathBuf, usize),
    Moved(PathBuf, PathBuf, usize),
    Gone(PathBuf),
}

/// State of disk and system.
#[derive(Clone, Debug)]
pub(super) struct World {
    inodes: Vec<Inode>,
    names: BTreeMap<PathBuf, usize>,
    durable_names: BTreeMap<PathBuf, usize>,
    unsynced_names: Vec<Naming>,
    random: Random,
    calls: usize,
    /// Calls that fail.
    failing: Range<usize>,
    /// Call in which the process is killed.
    killed_at: Option<usize>,
    /// Whether it was killed.
    is_dead: bool,
}

/// Result of a call.
enum Outcome {
    Done,
    /// Fails after part of its work.
    Failed(io::Error),
}

#[derive(Clone, Debug)]
pub(super) struct Model(Rc<RefCell<World>>);

#[derive(Debug)]
pub(super) struct Handle(Rc<RefCell<World>>, usize);

impl Model {
    pub(super) fn new(seed: u64) -> Self {
        Self(Rc::new(RefCell::new(World {
            inodes: Vec::new(),
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            unsynced_names: Vec::new(),
            random: Random(seed),
            calls: 0,
            failing: 0..0,
            killed_at: None,
            is_dead: false,
        })))
    }

    /// Returns an independent copy.
    pub(super) fn twin(&self) -> Self {
        let twin = self.0.borrow().clone();
        Self(Rc::new(RefCell::new(twin)))
    }

    /// Starts a process in which some calls fail, or one kills it.
    pub(super) fn begin(&self, failing: Range<usize>, killed_at: Option<usize>) {
        let mut world = self.0.borrow_mut();
        world.calls = 0;
        world.failing = failing;
        world.killed_at = killed_at;
        world.is_dead = false;
    }

    pub(super) fn is_dead(&self) -> bool {
        self.0.borrow().is_dead
    }

    /// Cuts the power.
    pub(super) fn crash(&self) {
        self.0.borrow_mut().crash();
    }

    /// Returns the content of a file.
    pub(super) fn read(&self, path: &Path) -> Option<Vec<u8>> {
        let world = self.0.borrow();
        let inode = world.names.get(path)?;
        Some(world.inodes[*inode].data.clone())
    }

    /// Changes octets on the disk directly.
    pub(super) fn damage(&self, path: &Path, octets: &[u8]) {
        let mut world = self.0.borrow_mut();
        let inode = world.names[path];
        let inode = &mut world.inodes[inode];
        inode.data = octets.to_vec();
        inode.durable = octets.to_vec();
    }

    /// Returns the files whose names start with `start`.
    pub(super) fn names(&self, start: &str) -> Vec<PathBuf> {
        let world = self.0.borrow();
        let names = world.names.keys();
        let found = names.filter(|name| name.to_string_lossy().starts_with(start));
        found.cloned().collect()
    }
}

impl World {
    fn call(&mut self) -> Outcome {
        let call = self.calls;
        self.calls += 1;
        if self.killed_at.is_some_and(|at| call >= at) {
            self.is_dead = true;
            return Outcome::Failed(io::Error::other("killed"));
        }
        if self.failing.contains(&call) {
            let kinds = [io::ErrorKind::StorageFull, io::ErrorKind::Other];
            let kind = kinds[self.random.below(kinds.len())];
            return Outcome::Failed(kind.into());
        }
        Outcome::Done
    }

    /// A call that does all or nothing, regardless of the result it returns.
    fn whole_call(&mut self) -> (bool, io::Result<()>) {
        let was_dead = self.is_dead;
        match self.call() {
            Outcome::Done => (true, Ok(())),
            Outcome::Failed(error) => (!was_dead && self.random.one_of(2), Err(error)),
        }
    }

    fn sync(&mut self, inode: usize) -> io::Result<()> {
        if self.is_dead {
            return Err(io::Error::other("killed"));
        }
        let outcome = self.call();
        let is_dead = self.is_dead;
        let Inode { data, durable, dirty } = &mut self.inodes[inode];
        match outcome {
            Outcome::Done => {
                durable.resize(data.len(), 0);
                for page in std::mem::take(dirty) {
                    let range = page * PAGE..((page + 1) * PAGE).min(data.len());
                    durable[range.clone()].copy_from_slice(&data[range]);
                }
                Ok(())
            }
            Outcome::Failed(error) => {
                let before = durable.clone();
                *durable = mixed(data, &before, dirty, &mut self.random);
                if !is_dead {
                    // The pages are considered written.
                    dirty.clear();
                }
                Err(error)
            }
        }
    }

    fn apply(names: &mut BTreeMap<PathBuf, usize>, naming: &Naming) {
        match naming {
            Naming::Made(path, inode) => {
                names.insert(path.clone(), *inode);
            }
            Naming::Moved(from, to, inode) => {
                names.insert(to.clone(), *inode);
                if names.get(from) == Some(inode) {
                    names.remove(from);
                }
            }
            Naming::Gone(path) => {
                names.remove(path);
            }
        }
    }

    fn name(&mut self, naming: Naming) {
        Self::apply(&mut self.names, &naming);
        self.unsynced_names.push(naming);
    }

    fn crash(&mut self) {
        for inode in &mut self.inodes {
            let durable = mixed(&inode.data, &inode.durable, &inode.dirty, &mut self.random);
            inode.data.clone_from(&durable);
            inode.durable = durable;
            inode.dirty.clear();
        }
        for naming in std::mem::take(&mut self.unsynced_names) {
            if self.random.one_of(2) {
                Self::apply(&mut self.durable_names, &naming);
            }
        }
        self.names.clone_from(&self.durable_names);
    }
}

/// Returns possible disk content of a file with unsynced pages.
fn mixed(data: &[u8], durable: &[u8], dirty: &BTreeSet<usize>, random: &mut Random) -> Vec<u8> {
    let mut octets = durable.to_vec();
    if data.len() > durable.len() {
        let growth = data.len() - durable.len();
        let len = match random.below(3) {
            0 => durable.len(),
            1 => data.len(),
            _ => durable.len() + random.below(growth),
        };
        octets.resize(len, 0);
    }
    for page in dirty {
        let end = ((page + 1) * PAGE).min(octets.len());
        for start in (page * PAGE..end).step_by(SECTOR) {
            let range = start..(start + SECTOR).min(end);
            match random.below(5) {
                0 | 1 => octets[range.clone()].copy_from_slice(&data[range]),
                // Old content of the disk from before the file.
                2 if start >= durable.len() => {
                    octets[range].fill_with(|| random.next().to_le_bytes()[0]);
                }
                _ => {}
            }
        }
    }
    octets
}

impl Disk for Model {
    type File = Handle;

    fn open(&self, path: &Path) -> io::Result<Option<Handle>> {
        let mut world = self.0.borrow_mut();
        world.whole_call().1?;
        let inode = world.names.get(path);
        Ok(inode.map(|inode| Handle(Rc::clone(&self.0), *inode)))
    }

    fn create(&self, path: &Path, _: &Path) -> io::Result<Handle> {
        let mut world = self.0.borrow_mut();
        if world.names.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let (is_done, result) = world.whole_call();
        let inode = world.inodes.len();
        if is_done {
            world.inodes.push(Inode::default());
            world.name(Naming::Made(path.to_owned(), inode));
        }
        result.map(|()| Handle(Rc::clone(&self.0), inode))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        let inode = *world.names.get(from).ok_or(io::ErrorKind::NotFound)?;
        let (is_done, result) = world.whole_call();
        if is_done {
            world.name(Naming::Moved(from.to_owned(), to.to_owned(), inode));
        }
        result
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        let (is_done, result) = world.whole_call();
        if is_done && world.names.contains_key(path) {
            world.name(Naming::Gone(path.to_owned()));
        }
        result
    }

    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        world.whole_call().1?;
        for naming in std::mem::take(&mut world.unsynced_names) {
            World::apply(&mut world.durable_names, &naming);
        }
        Ok(())
    }

    fn random(&self) -> u64 {
        self.0.borrow_mut().random.next()
    }
}

impl Octets for Handle {
    fn len(&self) -> io::Result<u64> {
        let mut world = self.0.borrow_mut();
        world.whole_call().1?;
        Ok(world.inodes[self.1].data.len() as u64)
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        let mut world = self.0.borrow_mut();
        world.whole_call().1?;
        let at = usize::try_from(at).expect("a place in memory");
        let data = world.inodes[self.1].data.get(at..).unwrap_or_default();
        let count = data.len().min(into.len());
        into[..count].copy_from_slice(&data[..count]);
        Ok(count)
    }

    fn write_at(&self, at: u64, octets: &[u8]) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        let was_dead = world.is_dead;
        let outcome = world.call();
        let count = match outcome {
            Outcome::Done => octets.len(),
            Outcome::Failed(_) if was_dead => 0,
            Outcome::Failed(_) => world.random.below(octets.len() + 1),
        };
        let at = usize::try_from(at).expect("a place in memory");
        let inode = &mut world.inodes[self.1];
        if count > 0 {
            let end = at + count;
            let len = inode.data.len().max(end);
            inode.data.resize(len, 0);
            inode.data[at..end].copy_from_slice(&octets[..count]);
            inode.dirty.extend(at / PAGE..=(end - 1) / PAGE);
        }
        match outcome {
            Outcome::Done => Ok(()),
            Outcome::Failed(error) => Err(error),
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.0.borrow_mut().sync(self.1)
    }
}
