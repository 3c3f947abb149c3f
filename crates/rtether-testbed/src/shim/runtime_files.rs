//! Where to find a shim: its lock, its state and its control socket.
//!
//! Each device in each network namespace has its own place, since two namespaces may have devices
//! of the same name. The lock is held while the shim exists and is released when its process ends,
//! however it ends, so there is no need to check whether a process number has been reused.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Default folder of places.
pub const RUNTIME: &str = "/run/rtether";

/// Longest device name (`IFNAMSIZ` less the terminating zero).
const NAME_MAX: usize = 15;
/// Longest path of a Unix socket, without the terminating zero (`unix(7)`).
const SOCKET_MAX: usize = 107;
/// Interval between attempts to take a lock held by another process.
const AGAIN: Duration = Duration::from_millis(10);

/// File names for one device of one network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeFiles {
    folder: PathBuf,
    stem: String,
    device: String,
}

/// Why a place cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeFilesError {
    /// No device can have this name.
    #[error(
        "`{0}` cannot be the name of a device: 1 to 15 characters without spaces, `/` and `:`; \
         `ip link` lists the devices"
    )]
    Name(String),
    /// The path of the control socket is too long.
    #[error(
        "`{path}` is too long for a Unix socket; set RUNTIME_DIRECTORY to a shorter path",
        path = .0.display()
    )]
    Path(PathBuf),
    /// Access to a file or folder failed.
    #[error("{action} `{path}`: {source}; {remedy}", path = path.display())]
    File {
        /// What was attempted.
        action: &'static str,
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
        /// Suggested remedy.
        remedy: &'static str,
    },
}

const AS_ROOT: &str = "run as root, or set RUNTIME_DIRECTORY to a folder of your own";

fn failed(action: &'static str, path: &Path) -> impl Fn(io::Error) -> RuntimeFilesError {
    move |source| RuntimeFilesError::File { action, path: path.to_owned(), source, remedy: AS_ROOT }
}

impl RuntimeFiles {
    /// Returns the place of a device in the calling thread's namespace. `runtime` is [`RUNTIME`],
    /// or the folder provided by the service manager.
    pub fn of(runtime: &Path, device: &str) -> Result<Self, RuntimeFilesError> {
        if !is_device_name(device) {
            return Err(RuntimeFilesError::Name(device.to_owned()));
        }
        let own = Path::new("/proc/thread-self/ns/net");
        let namespace = fs::metadata(own).map_err(failed("looking at", own))?;
        let place = Self {
            folder: runtime.to_owned(),
            stem: format!("shim-{}-{device}", namespace.ino()),
            device: device.to_owned(),
        };
        match place.socket() {
            path if path.as_os_str().len() > SOCKET_MAX => Err(RuntimeFilesError::Path(path)),
            _ => Ok(place),
        }
    }

    /// Returns the name of the device.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Returns the path of the control socket.
    pub fn socket(&self) -> PathBuf {
        self.file("sock")
    }

    /// Returns the path of the state file, which outlives the process.
    pub fn state(&self) -> PathBuf {
        self.file("json")
    }

    fn file(&self, ending: &str) -> PathBuf {
        self.folder.join(format!("{}.{ending}", self.stem))
    }

    /// Creates the folder.
    pub fn make(&self) -> Result<(), RuntimeFilesError> {
        let made = DirBuilder::new().recursive(true).mode(0o755).create(&self.folder);
        made.map_err(failed("making", &self.folder))
    }

    /// Takes the lock; `None` if another process still holds it after `patience`.
    pub fn lock(&self, patience: Duration) -> Result<Option<Lock>, RuntimeFilesError> {
        let path = self.file("lock");
        let begin = Instant::now();
        loop {
            let mut options = OpenOptions::new();
            options.create(true).truncate(false).write(true).mode(0o600);
            let file = options.open(&path).map_err(failed("opening", &path))?;
            match file.try_lock() {
                Ok(()) if is_at(&file, &path) => return Ok(Some(Lock { file, path })),
                // The previous holder has just removed the file.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) if begin.elapsed() >= patience => return Ok(None),
                Err(TryLockError::WouldBlock) => std::thread::sleep(AGAIN),
                Err(TryLockError::Error(error)) => return Err(failed("locking", &path)(error)),
            }
        }
    }

    /// Returns whether a process holds the lock.
    pub fn is_taken(&self) -> Result<bool, RuntimeFilesError> {
        let path = self.file("lock");
        match File::open(&path) {
            Ok(file) => match file.try_lock_shared() {
                Ok(()) => Ok(false),
                Err(TryLockError::WouldBlock) => Ok(true),
                Err(TryLockError::Error(error)) => Err(failed("locking", &path)(error)),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(failed("opening", &path)(error)),
        }
    }

    /// Removes state file and socket.
    pub(crate) fn clear(&self) -> io::Result<()> {
        for path in [self.state(), self.socket()] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }
}

/// A held lock; dropping it removes its file.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // While the lock is held, the file at the path is this one, so no other lock is removed.
        if is_at(&self.file, &self.path) {
            // A leftover file is harmless: it is not locked.
            drop(fs::remove_file(&self.path));
        }
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let same = |(one, other): (fs::Metadata, fs::Metadata)| {
        (one.dev(), one.ino()) == (other.dev(), other.ino())
    };
    file.metadata().ok().zip(fs::metadata(path).ok()).is_some_and(same)
}

fn is_device_name(name: &str) -> bool {
    (1..=NAME_MAX).contains(&name.len())
        && name != "."
        && name != ".."
        && !name.chars().any(|c| c == '/' || c == ':' || c.is_whitespace() || c.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(test: &str) -> RuntimeFiles {
        let name = format!("rtether-place-{test}-{}", std::process::id());
        let place = RuntimeFiles::of(&std::env::temp_dir().join(name), "eth0").expect("a name");
        place.make().expect("writable");
        place
    }

    #[test]
    fn names_are_those_of_devices() {
        // Oracle: `dev_valid_name` of the kernel.
        for name in ["eth0", "enp3s0f0", "veth-a.100", "a", "fifteen-letters"] {
            assert!(is_device_name(name), "{name}");
        }
        for name in ["", ".", "..", "a/b", "../a", "a b", "a:b", "sixteen-letters-", "a\n"] {
            let error = RuntimeFiles::of(Path::new(RUNTIME), name).expect_err(name);
            assert!(matches!(error, RuntimeFilesError::Name(_)), "{name}");
        }
        let long = "x".repeat(100);
        let error = RuntimeFiles::of(Path::new(&long), "eth0").expect_err("too long");
        assert!(matches!(error, RuntimeFilesError::Path(_)));
    }

    #[test]
    fn there_is_one_lock() {
        let place = place("lock");
        assert!(!place.is_taken().expect("readable"));
        let lock = place.lock(Duration::ZERO).expect("writable").expect("free");
        assert!(place.is_taken().expect("readable"));
        assert!(place.lock(Duration::from_millis(30)).expect("writable").is_none());
        drop(lock);
        assert!(!place.is_taken().expect("readable"));
        assert!(place.lock(Duration::ZERO).expect("writable").is_some());
        assert_eq!(fs::read_dir(&place.folder).expect("readable").count(), 0);
        fs::remove_dir(&place.folder).expect("empty");
    }

    #[test]
    fn a_lock_is_never_held_twice() {
        // Oracle: a counter that only holders of the lock touch; a wrongly removed lock file would
        // let two in.
        use std::sync::atomic::{AtomicU32, Ordering};
        let place = place("race");
        let inside = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let lock = place.lock(Duration::from_secs(50));
                        let lock = lock.expect("writable").expect("in time");
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        assert_eq!(inside.fetch_sub(1, Ordering::SeqCst), 1);
                        drop(lock);
                        std::thread::yield_now();
                    }
                });
            }
        });
        fs::remove_dir(&place.folder).expect("empty");
    }
}
