//! Notifies the system's service manager of the shim's state (`sd_notify(3)`).
//!
//! The protocol is one datagram of `NAME=value` lines to a Unix socket, so no library is needed.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// Connection to the service manager.
#[derive(Debug)]
pub struct Notifier {
    socket: UnixDatagram,
    manager: SocketAddr,
}

/// A notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News<'a> {
    /// The shim is running.
    Ready,
    /// The shim is about to end.
    Stopping,
    /// The shim is alive.
    Alive,
    /// A status line for the user.
    Status(&'a str),
}

impl Notifier {
    /// Connects to the socket named by the variable `NOTIFY_SOCKET`: a path, or `@` and an abstract
    /// name.
    ///
    /// # Errors
    /// If the name is invalid, or no socket can be opened.
    pub fn new(name: &OsStr) -> io::Result<Self> {
        let manager = match name.as_bytes() {
            [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
            [b'/', ..] => SocketAddr::from_pathname(name)?,
            _ => return Err(io::Error::from(io::ErrorKind::InvalidInput)),
        };
        let socket = UnixDatagram::unbound()?;
        // A manager that does not read must not block the shim.
        socket.set_nonblocking(true)?;
        Ok(Self { socket, manager })
    }

    /// Sends a notification.
    ///
    /// # Errors
    /// If the manager is gone or does not read.
    pub fn tell(&self, news: News<'_>) -> io::Result<()> {
        let text = match news {
            News::Ready => "READY=1".to_owned(),
            News::Stopping => "STOPPING=1".to_owned(),
            News::Alive => "WATCHDOG=1".to_owned(),
            News::Status(line) => {
                let line: String =
                    line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
                format!("STATUS={line}")
            }
        };
        self.socket.send_to_addr(text.as_bytes(), &self.manager)?;
        Ok(())
    }
}

/// Returns how often the manager expects a sign of life: half of `WATCHDOG_USEC`; `None` if
/// `WATCHDOG_PID` names another process (`sd_watchdog_enabled(3)`).
pub fn interval(usec: Option<&OsStr>, pid: Option<&OsStr>, own_pid: u32) -> Option<Duration> {
    let number = |text: &OsStr| text.to_str()?.parse::<u64>().ok();
    if let Some(pid) = pid
        && number(pid) != Some(own_pid.into())
    {
        return None;
    }
    let usec = number(usec?)?;
    (usec > 0).then(|| Duration::from_micros(usec / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(socket: &UnixDatagram) -> String {
        let mut octets = [0; 200];
        // A signal may arrive first, such as the end of another test's child.
        let size = loop {
            match socket.recv(&mut octets) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                received => break received.expect("a datagram"),
            }
        };
        String::from_utf8(octets[..size].to_vec()).expect("text")
    }

    #[test]
    fn the_manager_reads_what_is_told() {
        // Oracle: the lines of `sd_notify(3)`, received on our own socket of either kind.
        let path = std::env::temp_dir().join(format!("rtether-notify-{}", std::process::id()));
        let abstract_name = format!("rtether-notify-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&abstract_name).expect("a name");
        for (name, manager) in [
            (path.clone().into_os_string(), UnixDatagram::bind(&path)),
            (format!("@{abstract_name}").into(), UnixDatagram::bind_addr(&address)),
        ] {
            let manager = manager.expect("a socket");
            manager.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
            let notifier = Notifier::new(&name).expect("a socket");
            for (news, line) in [
                (News::Ready, "READY=1"),
                (News::Alive, "WATCHDOG=1"),
                (News::Stopping, "STOPPING=1"),
                (News::Status("2 frames\nREADY=0"), "STATUS=2 frames READY=0"),
            ] {
                notifier.tell(news).expect("sent");
                assert_eq!(read(&manager), line);
            }
            // A manager that is gone or does not read causes an error, not a wait.
            drop(manager);
            assert!(notifier.tell(News::Alive).is_err());
        }
        std::fs::remove_file(path).expect("made above");
    }

    #[test]
    fn names_that_are_none_are_refused() {
        for name in ["", "relative/path", "vsock:1:2"] {
            assert!(Notifier::new(OsStr::new(name)).is_err(), "{name}");
        }
    }

    #[test]
    fn the_interval_is_half_of_what_is_asked_for() {
        let text = |text: &'static str| Some(OsStr::new(text));
        let half = Some(Duration::from_secs(1));
        assert_eq!(interval(text("2000000"), None, 7), half);
        assert_eq!(interval(text("2000000"), text("7"), 7), half);
        assert_eq!(interval(text("2000000"), text("8"), 7), None);
        for wrong in ["0", "", "-1", "soon"] {
            assert_eq!(interval(text(wrong), None, 7), None, "{wrong}");
        }
        assert_eq!(interval(None, None, 7), None);
    }
}
