//! Frames as they reach a device, tags included.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::store::PLACE;
use super::tap::Tap;
use crate::link::{Device, DeviceError};

/// Polling interval of an empty socket; nothing is measured here.
const NAP: Duration = Duration::from_millis(1);
/// Addresses, which precede a tag.
const ADDRESSES: usize = 12;

/// Captures the frames that arrive at a device of the calling thread's namespace until `stop`, at
/// most `limit` of them; later ones are ignored.
///
/// `ready` is called once no frame can be missed.
///
/// # Errors
/// If the device or the right to packet sockets is missing.
pub fn capture(
    device: &str,
    limit: usize,
    stop: &AtomicBool,
    ready: impl FnOnce(),
) -> Result<Vec<Vec<u8>>, DeviceError> {
    let failed = |source: io::Error| DeviceError::Socket { name: device.to_owned(), source };
    let tap = Tap::open(&[Device::named(device)?.index()]).map_err(failed)?;
    ready();
    let mut frames = Vec::new();
    let mut place = [0; PLACE];
    while frames.len() < limit {
        let Some(seen) = tap.receive(&mut place).map_err(failed)? else {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            std::thread::sleep(NAP);
            continue;
        };
        let octets = &place[..seen.length.min(PLACE)];
        let (addresses, rest) = octets.split_at(octets.len().min(ADDRESSES));
        let mut frame = addresses.to_vec();
        if let Some(control) = seen.tag {
            frame.extend([0x81, 0x00]);
            frame.extend(control.to_be_bytes());
        }
        frame.extend(rest);
        frames.push(frame);
    }
    Ok(frames)
}
