//! Files that appear complete or not at all.
//!
//! A file is opened before the work begins, so that an unwritable name does not waste a run. It has
//! a temporary name until it is complete; incomplete files are removed, also when the command is
//! ended at once. Pipes and devices are written directly.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::exit::Exit;
use crate::folder::{self, Folder, Kind, Resolved};
use crate::terminal;

/// Incomplete drafts.
static OPEN: Mutex<Vec<(Arc<Folder>, OsString)>> = Mutex::new(Vec::new());
/// Number of drafts so far, which makes their names unique.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A file being written.
#[derive(Debug)]
pub(crate) struct Draft {
    /// The requested name.
    path: PathBuf,
    /// `None` for pipes and devices.
    names: Option<Names>,
    file: Option<BufWriter<File>>,
}

/// A file that is complete and on disk, still under the name of its draft.
#[derive(Debug)]
pub(crate) struct Complete(Draft);

/// Names of a draft.
#[derive(Debug)]
struct Names {
    folder: Arc<Folder>,
    /// Name until it is complete.
    draft: OsString,
    /// Final name.
    target: OsString,
}

/// Destination of the octets of a file.
enum Target {
    /// A path in `/proc` or `/dev`, by this name.
    System(PathBuf),
    /// A pipe or device in a directory.
    Pipe(Folder, OsString),
    /// A file, which need not exist yet.
    File(Folder, OsString),
}

impl Draft {
    /// Opens a file for writing; the error gives the reason and a remedy.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let opened = target(path).and_then(|target| {
            Ok(match target {
                Target::System(name) => (OpenOptions::new().write(true).open(name)?, None),
                Target::Pipe(folder, name) => (folder.pipe(&name)?, None),
                Target::File(folder, name) => {
                    let (file, names) = begin(folder, name)?;
                    (file, Some(names))
                }
            })
        });
        let (file, names) = opened.map_err(|error| explain(path, &error))?;
        Ok(Self { path: path.into(), names, file: Some(BufWriter::new(file)) })
    }

    /// Writes the contents by `fill` and gives the file its final name.
    pub(crate) fn fill(
        self,
        fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<(), String> {
        publish(&[self.complete(fill)?])
    }

    /// Returns the requested name.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the contents and gives the file its final name.
    pub(crate) fn write(self, text: &str) -> Result<(), String> {
        self.fill(|file| file.write_all(text.as_bytes()))
    }

    /// Writes the contents by `fill`, and waits until they are on disk. The final name comes later.
    pub(crate) fn complete(
        mut self,
        fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<Complete, String> {
        if let Some(mut file) = self.file.take() {
            let written = fill(&mut file).and_then(|()| file.flush());
            let synced = written.and_then(|()| match &self.names {
                Some(_) => sync(file.get_ref()),
                None => Ok(()),
            });
            if let Err(error) = synced {
                // Its buffer holds what could not be written, and would try again on drop.
                let _ = file.into_parts();
                return Err(format!("writing `{}`: {error}", self.path.display()));
            }
        }
        Ok(Complete(self))
    }
}

/// Gives files their final names: all of them, or none as far as the file system permits. The names
/// are on disk afterwards.
pub(crate) fn publish(files: &[Complete]) -> Result<(), String> {
    let mut done: Vec<(&Names, bool)> = Vec::new();
    for Complete(draft) in files {
        let Some(names) = &draft.names else { continue };
        match names.publish() {
            Ok(is_exchanged) => done.push((names, is_exchanged)),
            Err(error) => {
                for (names, is_exchanged) in done.into_iter().rev() {
                    names.take_back(is_exchanged);
                }
                return Err(format!("writing `{}`: {error}", draft.path.display()));
            }
        }
    }
    for Complete(draft) in files {
        terminal::detail(|| format!("wrote {}", draft.path.display()));
    }
    let mut last: Option<&Arc<Folder>> = None;
    for (names, _) in &done {
        if last.is_none_or(|last| !Arc::ptr_eq(last, &names.folder)) {
            names.folder.sync();
        }
        last = Some(&names.folder);
    }
    Ok(())
}

impl Names {
    /// Gives a file its final name; returns whether the draft name now holds the replaced file.
    fn publish(&self) -> io::Result<bool> {
        let (draft, target) = (&self.draft, &self.target);
        // A replaced file can be restored as long as it has a name.
        if self.folder.status(target)?.is_some() && self.folder.exchange(draft, target).is_ok() {
            return Ok(true);
        }
        self.folder.rename(draft, target)?;
        Ok(false)
    }

    /// Undoes [`publish`](Self::publish) as far as possible.
    fn take_back(&self, is_exchanged: bool) {
        let (draft, target) = (&self.draft, &self.target);
        drop(if is_exchanged {
            self.folder.exchange(draft, target)
        } else {
            self.folder.rename(target, draft)
        });
    }
}

/// Opens a file that is written as contents arrive, and truncates it if it exists. It has no draft:
/// even part of the contents is useful.
pub(crate) fn overwrite(path: &Path) -> Result<File, String> {
    let opened = target(path).and_then(|target| match target {
        Target::System(name) => OpenOptions::new().write(true).open(name),
        Target::Pipe(folder, name) => folder.pipe(&name),
        Target::File(folder, name) => folder.overwrite(&name),
    });
    opened.map_err(|error| explain(path, &error))
}

/// Waits until a file is on disk; some file systems do not support that.
fn sync(file: &File) -> io::Result<()> {
    match file.sync_all() {
        Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(()),
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(()),
        synced => synced,
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(names) = self.names.take() {
            // The draft, or the file it has replaced; nothing if it was renamed.
            drop(names.folder.remove(&names.draft));
            forget(&names);
        }
    }
}

/// Removes all drafts when a command ends at once. No draft can be opened afterwards.
pub(crate) fn abandon() {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    for (folder, draft) in open.drain(..) {
        drop(folder.remove(&draft));
    }
    std::mem::forget(open);
}

/// Checks that no two outputs are the same file and that none is the input. Each comes with the
/// name of its flag.
pub(crate) fn check_distinct(input: &Path, outputs: &[(&str, PathBuf)]) -> Result<(), String> {
    let file = |path: &Path| match target(path) {
        Ok(Target::File(folder, name)) => Some(folder.name_of(&name)),
        Ok(Target::System(_) | Target::Pipe(..)) | Err(_) => None,
    };
    let input = fs::canonicalize(input).ok();
    let mut seen: Vec<(&str, PathBuf)> = Vec::new();
    for (flag, path) in outputs {
        let Some(target) = file(path) else { continue };
        let shown = path.display();
        if input.as_ref() == Some(&target) {
            return Err(format!("`{flag}` would replace the scenario `{shown}`"));
        }
        if let Some((other, _)) = seen.iter().find(|(_, known)| *known == target) {
            return Err(format!("`{other}` and `{flag}` would both write `{shown}`"));
        }
        seen.push((flag, target));
    }
    Ok(())
}

/// Opens the only output of a verb, which must not be its input; an error has been printed. `flag`
/// names the output.
pub(crate) fn open_apart(
    input: &Path,
    flag: &str,
    path: Option<&Path>,
) -> Result<Option<Draft>, Exit> {
    let Some(path) = path else {
        return Ok(None);
    };
    check_distinct(input, &[(flag, path.into())]).map_err(|message| {
        terminal::complain(&message);
        Exit::WrongInput
    })?;
    let draft = Draft::open(path).map_err(|message| terminal::fail(&message))?;
    Ok(Some(draft))
}

fn forget(names: &Names) {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.retain(|(folder, draft)| !Arc::ptr_eq(folder, &names.folder) || *draft != names.draft);
}

/// Creates a draft beside its final file, with the same permissions if that exists.
fn begin(folder: Folder, target: OsString) -> io::Result<(File, Names)> {
    let mode = folder.status(&target)?.map(|(_, mode)| mode);
    let folder = Arc::new(folder);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut draft = target.clone();
        draft.push(format!(".{}-{number}.part", process::id()));
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        match folder.create(&draft, mode) {
            Ok(file) => {
                open.push((Arc::clone(&folder), draft.clone()));
                let names = Names { folder, draft, target };
                return Ok((file, names));
            }
            // Left behind by another process with this number.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

fn target(path: &Path) -> io::Result<Target> {
    let (folder, name) = match folder::resolve(path)? {
        Resolved::System(name) => return Ok(Target::System(name)),
        Resolved::In(folder, name) => (folder, name),
    };
    match folder.status(&name)? {
        None | Some((Kind::File, _)) => Ok(Target::File(folder, name)),
        Some((Kind::Folder, _)) => Err(ErrorKind::IsADirectory.into()),
        Some(_) => Ok(Target::Pipe(folder, name)),
    }
}

fn explain(path: &Path, error: &io::Error) -> String {
    format!("writing `{}`: {}", path.display(), why(path, error))
}

/// Returns the reason, with a remedy if there is one.
fn why(path: &Path, error: &io::Error) -> String {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    match (error.kind(), parent) {
        (ErrorKind::NotFound, Some(parent)) if !parent.exists() => {
            let parent = parent.display();
            format!("there is no directory `{parent}`; make it first")
        }
        (ErrorKind::IsADirectory, _) => "it is a directory; give the name of a file".to_owned(),
        _ => error.to_string(),
    }
}
