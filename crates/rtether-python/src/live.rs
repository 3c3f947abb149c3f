//! Publish-subscribe: participants, publishers and subscribers, whose waits hear Ctrl-C.
#![allow(clippy::needless_pass_by_value, reason = "arguments that come from Python are owned")]

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use rtether::scenario::Source;
use rtether_testbed::topics::threaded::{
    self, Content, DomainError, DomainOptions, Failure, Kind, OpenError, Taken,
};
use rtether_testbed::topics::{Discovery, Durability, History, Qos, Reliability};

use crate::diagnose;

/// Time until Ctrl-C is heard, at most.
const LOOK: Duration = Duration::from_millis(50);

/// A participant of a domain.
#[pyclass(frozen, module = "rtether._rtether")]
pub(crate) struct Participant(threaded::Participant);

/// A writer.
#[pyclass(frozen, module = "rtether._rtether")]
pub(crate) struct Publisher(threaded::Publisher);

/// A reader.
#[pyclass(frozen, module = "rtether._rtether")]
pub(crate) struct Subscriber(threaded::Subscriber);

/// What an endpoint is to be.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Endpoint {
    topic: String,
    kind: Option<String>,
    idl: Option<String>,
    idl_name: String,
    reliable: bool,
    durability: String,
    depth: u32,
    limit: u32,
    partitions: Vec<String>,
}

impl Endpoint {
    fn kind(&self) -> PyResult<Kind> {
        let wrong = |message: String| PyValueError::new_err(message);
        let name = self.kind.as_deref();
        if let Some(text) = &self.idl {
            let source = Source { name: self.idl_name.clone(), text: text.clone() };
            return Kind::of_idl(&source, name).map_err(wrong);
        }
        match name {
            None | Some("octets") => Ok(Kind::Octets),
            Some(name) if (1..256).contains(&name.len()) => Ok(Kind::Payload(name.to_owned())),
            Some(_) => Err(wrong("the name of a type has 1 to 255 octets".to_owned())),
        }
    }

    fn qos(&self) -> PyResult<Qos> {
        let wrong = |message: &str| Err(PyValueError::new_err(message.to_owned()));
        let mut qos = Qos::reader();
        if self.reliable {
            qos.reliability = Reliability::Reliable;
        }
        qos.durability = match self.durability.as_str() {
            "volatile" => Durability::Volatile,
            "transient-local" => Durability::TransientLocal,
            _ => return wrong("`durability` is \"volatile\" or \"transient-local\""),
        };
        qos.history = match self.depth {
            0 => History::KeepAll,
            depth => History::KeepLast(depth),
        };
        if self.limit == 0 {
            return wrong("`limit` is at least 1");
        }
        qos.limits.samples = Some(self.limit);
        qos.partitions.clone_from(&self.partitions);
        Ok(qos)
    }
}

/// Returns the exception for a failure.
fn raised(failure: Failure) -> PyErr {
    let text = failure.to_string();
    match failure {
        Failure::Ended(_) | Failure::Endpoints => PyOSError::new_err(text),
        Failure::Content(_) => PyTypeError::new_err(text),
        Failure::Forked => PyRuntimeError::new_err(text),
        // Closed, as of files.
        Failure::Closed | Failure::Topic | Failure::Value(_) | Failure::Refused(_) => {
            PyValueError::new_err(text)
        }
    }
}

fn refused(error: OpenError) -> PyErr {
    let text = error.to_string();
    match error {
        OpenError::Domain(DomainError::Domain(_) | DomainError::Lease) => {
            PyValueError::new_err(text)
        }
        OpenError::Domain(_) | OpenError::Thread(_) => PyOSError::new_err(text),
    }
}

/// The longest wait, in seconds: beyond, nobody sees the difference.
const WAIT_MAX: f64 = 1e9;

/// Returns a number of seconds from Python as a time.
fn time(seconds: f64) -> PyResult<Duration> {
    // Not `min`, which takes the other one for NaN.
    let limited = if seconds > WAIT_MAX { WAIT_MAX } else { seconds };
    Duration::try_from_secs_f64(limited).map_err(|_| {
        // As Python writes it.
        let seconds = format!("{seconds:?}").to_lowercase();
        PyValueError::new_err(format!("{seconds} s is no time to wait"))
    })
}

/// Runs what waits for the interpreter: handlers of signals.
fn heard(py: Python<'_>) -> PyResult<()> {
    py.check_signals()
}

/// Lets `look` wait for something, a short time after the other, until it has it or the time is
/// over; the interpreter is free meanwhile.
///
/// # Errors
/// `KeyboardInterrupt` for Ctrl-C, or the failure of `look`.
fn patiently<T: Send>(
    py: Python<'_>,
    timeout: Option<f64>,
    look: impl Fn(Duration) -> Result<Option<T>, Failure> + Send,
) -> PyResult<Option<T>> {
    let begun = Instant::now();
    let patience = timeout.map(time).transpose()?;
    py.detach(move || {
        loop {
            let left = patience.map(|patience| patience.saturating_sub(begun.elapsed()));
            let found = look(left.unwrap_or(LOOK).min(LOOK)).map_err(raised)?;
            if found.is_some() || left.is_some_and(|left| left <= LOOK) {
                return Ok(found);
            }
            Python::attach(heard)?;
        }
    })
}

/// The same for what holds or does not; returns whether it does in time.
fn holds(
    py: Python<'_>,
    timeout: Option<f64>,
    look: impl Fn(Duration) -> Result<bool, Failure> + Send,
) -> PyResult<bool> {
    let met = patiently(py, timeout, move |left| Ok(look(left)?.then_some(())))?;
    Ok(met.is_some())
}

#[pymethods]
impl Participant {
    /// Joins a domain.
    #[new]
    #[pyo3(signature = (domain, interface, peers, multicast, name, discovery))]
    fn new(
        py: Python<'_>,
        domain: u16,
        interface: Option<&str>,
        peers: Vec<String>,
        multicast: bool,
        name: String,
        discovery: &str,
    ) -> PyResult<Self> {
        let discovery = match discovery {
            "all" => Discovery::All,
            "on-demand" => Discovery::OnDemand,
            other => {
                let message = format!("`discovery` is \"all\" or \"on-demand\", not `{other}`");
                return Err(PyValueError::new_err(message));
            }
        };
        let address = |text: &str| {
            text.parse::<Ipv4Addr>().map_err(|_| {
                PyValueError::new_err(format!("`{text}` is no address, such as 10.0.0.2"))
            })
        };
        let options = DomainOptions {
            domain,
            interface: interface.map(address).transpose()?,
            peers: peers.iter().map(|peer| address(peer)).collect::<PyResult<_>>()?,
            multicast,
            name,
            discovery,
            ..DomainOptions::default()
        };
        let opened = py.detach(|| threaded::Participant::open(&options));
        opened.map(Self).map_err(refused)
    }

    /// Its address and port.
    #[getter]
    fn address(&self) -> &str {
        self.0.address()
    }

    fn publisher(&self, py: Python<'_>, endpoint: Endpoint) -> PyResult<Publisher> {
        let (kind, qos) = (endpoint.kind()?, endpoint.qos()?);
        let made = py.detach(|| self.0.publisher(&endpoint.topic, kind, qos));
        made.map(Publisher).map_err(raised)
    }

    fn subscriber(&self, py: Python<'_>, endpoint: Endpoint) -> PyResult<Subscriber> {
        let (kind, qos) = (endpoint.kind()?, endpoint.qos()?);
        let made = py.detach(|| self.0.subscriber(&endpoint.topic, kind, qos));
        made.map(Subscriber).map_err(raised)
    }

    /// Leaves the domain.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.0.close());
    }
}

#[pymethods]
impl Publisher {
    /// Writes octets; their number, or `None` if there was no room.
    #[pyo3(signature = (data, timeout))]
    fn write(&self, py: Python<'_>, data: &[u8], timeout: Option<f64>) -> PyResult<Option<i64>> {
        let content = Content::Octets(data.to_vec());
        patiently(py, timeout, |left| self.0.write(&content, left))
    }

    /// Writes a value, given as JSON.
    #[pyo3(signature = (json, timeout))]
    fn write_json(
        &self,
        py: Python<'_>,
        json: String,
        timeout: Option<f64>,
    ) -> PyResult<Option<i64>> {
        let content = Content::Json(json);
        patiently(py, timeout, |left| self.0.write(&content, left))
    }

    #[pyo3(signature = (count, timeout))]
    fn await_readers(&self, py: Python<'_>, count: usize, timeout: Option<f64>) -> PyResult<bool> {
        holds(py, timeout, |left| self.0.await_readers(count, left))
    }

    #[pyo3(signature = (timeout))]
    fn await_acknowledged(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<bool> {
        holds(py, timeout, |left| self.0.await_acknowledged(left))
    }

    #[getter]
    fn readers(&self, py: Python<'_>) -> PyResult<usize> {
        py.detach(|| self.0.readers()).map_err(raised)
    }

    #[getter]
    fn unacknowledged(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| self.0.unacknowledged()).map_err(raised)
    }

    #[getter]
    fn mismatches(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        py.detach(|| self.0.mismatches()).map_err(raised)
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| self.0.close());
    }
}

#[pymethods]
impl Subscriber {
    /// Takes the next sample: the members of `rtether.Sample`.
    #[pyo3(signature = (timeout))]
    fn take<'py>(
        &self,
        py: Python<'py>,
        timeout: Option<f64>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let taken = patiently(py, timeout, |left| self.0.take(left))?;
        taken.map(|taken| sample(py, &taken)).transpose()
    }

    #[pyo3(signature = (count, timeout))]
    fn await_writers(&self, py: Python<'_>, count: usize, timeout: Option<f64>) -> PyResult<bool> {
        holds(py, timeout, |left| self.0.await_writers(count, left))
    }

    #[getter]
    fn writers(&self, py: Python<'_>) -> PyResult<usize> {
        py.detach(|| self.0.writers()).map_err(raised)
    }

    #[getter]
    fn mismatches(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        py.detach(|| self.0.mismatches()).map_err(raised)
    }

    /// The members of `rtether.Counts`.
    fn counts(&self, py: Python<'_>) -> PyResult<[u64; 12]> {
        let counts = py.detach(|| self.0.counts()).map_err(raised)?;
        Ok([
            counts.taken,
            counts.waiting,
            counts.missing,
            counts.replaced,
            counts.lost,
            counts.not_owed,
            counts.rejected,
            counts.filtered,
            counts.expired,
            counts.malformed,
            counts.deferred,
            counts.contradicted,
        ])
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| self.0.close());
    }
}

fn sample<'py>(py: Python<'py>, taken: &Taken) -> PyResult<Bound<'py, PyTuple>> {
    let (data, value) = match &taken.content {
        Content::Octets(octets) => (octets.as_slice(), None),
        Content::Json(json) => (&[][..], Some(diagnose::parse(py, json)?)),
    };
    (
        PyBytes::new(py, data),
        value,
        taken.sent_ns,
        taken.received_ns,
        taken.writer.as_str(),
        taken.sequence,
        taken.state.name(),
    )
        .into_pyobject(py)
}
