//! A request to end as a flag.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::stop::{Care, Work};

/// A flag set by a signal, for work that polls it.
pub(crate) struct Stop {
    flag: Arc<AtomicBool>,
    _work: Work,
}

impl Stop {
    pub(crate) fn new(care: Care) -> Self {
        let flag = Arc::new(AtomicBool::new(false));
        let on_signal = Arc::clone(&flag);
        let ask = move || on_signal.store(true, Ordering::Relaxed);
        Self { flag, _work: Work::new(care, ask) }
    }
}

impl Deref for Stop {
    type Target = AtomicBool;

    fn deref(&self) -> &AtomicBool {
        &self.flag
    }
}
