//! The record of a shim that remains when its process has gone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rtether::report::document::{self, Document};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::runtime_files::RuntimeFiles;

/// Largest file that is read.
const MAX_SIZE: u64 = 64 << 10;

/// The file of a shim that was set up and not yet taken down, for the time after its process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct State {
    /// Number of its process, which holds the lock of the place.
    pub pid: u32,
    /// Name of the device.
    pub device: String,
    /// Name of the back end.
    pub backend: String,
}

impl Document for State {
    const SCHEMA: &'static str = "rtether.shim-state/1";
}

impl State {
    /// Writes it atomically, before anything about the device is changed.
    pub(crate) fn write(&self, place: &RuntimeFiles) -> io::Result<()> {
        let path = place.state();
        let draft = path.with_extension("json.new");
        let mut options = OpenOptions::new();
        options.create(true).truncate(true).write(true).mode(0o600);
        let mut file = options.open(&draft)?;
        file.write_all(document::line(self).as_bytes())?;
        fs::rename(draft, path)
    }

    /// Reads it; `None` if it is missing or invalid. Restoring a device does not depend on it.
    pub fn read(place: &RuntimeFiles) -> Option<Self> {
        read(&place.state())
    }
}

fn read(path: &Path) -> Option<State> {
    let mut text = String::new();
    let file = File::open(path).ok()?;
    file.take(MAX_SIZE).read_to_string(&mut text).ok()?;
    let document: Value = serde_json::from_str(&text).ok()?;
    if document.get("schema")?.as_str()? != State::SCHEMA {
        return None;
    }
    let text = |key: &str| Some(document.get(key)?.as_str()?.to_owned());
    Some(State {
        pid: u32::try_from(document.get("pid")?.as_u64()?).ok()?,
        device: text("device")?,
        backend: text("backend")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtether_testkit::read_document;

    #[test]
    fn what_is_written_is_read() {
        let folder = std::env::temp_dir().join(format!("rtether-state-{}", std::process::id()));
        let place = RuntimeFiles::of(&folder, "eth0").expect("a name");
        place.make().expect("writable");
        assert_eq!(State::read(&place), None);
        let state = State { pid: 4711, device: "eth0".to_owned(), backend: "user".to_owned() };
        state.write(&place).expect("writable");
        read_document(&fs::read_to_string(place.state()).expect("a file"));
        assert_eq!(State::read(&place), Some(state));
        // Other content is not a valid state and must not panic.
        for text in ["", "{}", "[1]", "{\"schema\":\"rtether.shim-state/1\",\"pid\":-1}", "\u{0}"] {
            fs::write(place.state(), text).expect("writable");
            assert_eq!(State::read(&place), None, "{text}");
        }
        place.clear().expect("writable");
        fs::remove_dir(&folder).expect("empty");
    }
}
