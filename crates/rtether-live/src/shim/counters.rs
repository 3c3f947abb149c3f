//! Kernel counters of devices in the network namespace in which they were opened.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Octets read: enough for some hundred devices. Later devices are not seen.
const READ_MAX: usize = 32 * 1024;

/// `/proc/net/dev` of one namespace.
#[derive(Debug)]
pub(super) struct Counters {
    file: File,
    text: Vec<u8>,
}

/// Counters of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DeviceCounters {
    /// Frames dropped on transmission for lack of room.
    pub(super) dropped: u64,
    /// Collisions seen by the driver.
    pub(super) collisions: u64,
}

impl Counters {
    /// Opens the counters of the calling thread's namespace; later reads stay in that namespace.
    pub(super) fn open() -> io::Result<Self> {
        Ok(Self { file: File::open("/proc/thread-self/net/dev")?, text: vec![0; READ_MAX] })
    }

    /// Reads the counters of a device; `None` if no device has this name.
    pub(super) fn read(&mut self, device: &str) -> io::Result<Option<DeviceCounters>> {
        let mut length = 0;
        while length < self.text.len() {
            let read = self.file.read_at(&mut self.text[length..], length as u64)?;
            if read == 0 {
                break;
            }
            length += read;
        }
        let text = String::from_utf8_lossy(&self.text[..length]);
        Ok(find(&text, device))
    }
}

/// A line has eight receive columns (octets, frames, errors, drops, ...) and then eight transmit
/// columns, of which the fourth is drops and the sixth collisions.
fn find(text: &str, device: &str) -> Option<DeviceCounters> {
    let row = text.lines().find_map(|line| {
        let (name, row) = line.split_once(':')?;
        (name.trim() == device).then_some(row)
    })?;
    let mut columns = row.split_ascii_whitespace().skip(8);
    let dropped = columns.nth(3)?.parse().ok()?;
    let collisions = columns.nth(1)?.parse().ok()?;
    Some(DeviceCounters { dropped, collisions })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: the header of the file, as printed by a 6.18 kernel.
    #[test]
    fn columns_by_hand() {
        let text = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:  100       2    0    0    0     0          0         0      100       2    0    0    0     0       0          0
  rts7: 1 2 3 4 5 6 7 8 11 12 13 14 15 16 17 18
";
        let found = DeviceCounters { dropped: 14, collisions: 16 };
        assert_eq!(find(text, "rts7"), Some(found));
        assert_eq!(find(text, "lo"), Some(DeviceCounters::default()));
        assert_eq!(find(text, "rts"), None);
        assert_eq!(find("rts7: 1 2", "rts7"), None);
    }
}
