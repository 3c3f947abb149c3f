//! Long work: on threads of its own, while the interpreter is free for others and Ctrl-C is heard.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration as WallDuration;

use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use rtether::import::Duration;
use rtether::run::Progress;

/// Time until Ctrl-C is heard, at most.
const LOOK: WallDuration = WallDuration::from_millis(50);

/// What is called with the part that is done, 0 to 1, while a simulation runs.
pub(crate) struct Listener {
    pub(crate) callback: Py<PyAny>,
    /// Simulated time of all replications.
    pub(crate) whole: Duration,
}

impl Listener {
    fn tell(&self, py: Python<'_>, progress: &Progress) -> PyResult<()> {
        let whole = self.whole.as_secs_f64();
        let part = progress.simulated().as_secs_f64() / whole;
        self.callback.call1(py, (part.min(1.0),)).map(drop)
    }
}

/// Runs `work` and returns what it returns; `jobs` is the number of threads, zero for that of cores.
///
/// The threads belong to this call: those of a pool that all calls share would be missing after a
/// fork, as `multiprocessing` makes them.
///
/// # Errors
/// What a handler of signals or the listener raises, `KeyboardInterrupt` for Ctrl-C: simulations end
/// then, other work is left to itself. `RuntimeError` for a panic.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    jobs: usize,
    listener: Option<&Listener>,
    work: impl FnOnce(&Arc<Progress>) -> T + Send + 'static,
) -> PyResult<T> {
    let progress = Arc::new(Progress::default());
    let (sender, receiver) = channel();
    let own = Arc::clone(&progress);
    let worker = thread::Builder::new().spawn(move || {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build();
        let done = pool.map(|pool| pool.install(|| work(&own)));
        // After an interruption nobody waits.
        drop(sender.send(done));
    });
    worker.map_err(|error| PyOSError::new_err(format!("starting a thread: {error}")))?;
    py.detach(move || {
        loop {
            match receiver.recv_timeout(LOOK) {
                Ok(done) => {
                    // It may have ended between two looks.
                    Python::attach(|py| listener.map_or(Ok(()), |own| own.tell(py, &progress)))?;
                    let none = |error| PyOSError::new_err(format!("starting threads: {error}"));
                    return done.map_err(none);
                }
                Err(RecvTimeoutError::Timeout) => {
                    let heard = Python::attach(|py| {
                        py.check_signals()?;
                        listener.map_or(Ok(()), |own| own.tell(py, &progress))
                    });
                    heard.inspect_err(|_| progress.cancel())?;
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(PyRuntimeError::new_err("a defect of rtether; see above"));
                }
            }
        }
    })
}
