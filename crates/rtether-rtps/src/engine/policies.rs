//! Policies that change while their endpoint lives (DDS 1.4, 2.2.3): it is announced again, and whoever
//! no longer fits, or does now, is told apart anew.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Participant, ReaderId, WriterId};
use crate::discovery::EndpointData;
use crate::filter::FilterError;
use crate::qos::Qos;
use crate::time::{Duration, Instant};
use crate::writer::ChangeKind;

/// Why policies stay as they are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// There is no such endpoint.
    #[error("there is no such endpoint")]
    Unknown,
    /// Some may not change once the endpoint is there.
    #[error("cannot change while the endpoint is there: {}", .0.join(", "))]
    Immutable(Vec<&'static str>),
    /// The reader has no filter.
    #[error("the reader has no filter")]
    NoFilter,
    /// The parameters do not fit the filter.
    #[error(transparent)]
    Filter(#[from] FilterError),
}

/// Returns which policies differ that may not.
fn immutable(old: &Qos, new: &Qos) -> Vec<&'static str> {
    let is_reliability = old.reliability == new.reliability && old.max_blocking == new.max_blocking;
    let all = [
        (is_reliability, "reliability"),
        (old.durability == new.durability, "durability"),
        (old.history == new.history, "history"),
        (old.limits == new.limits, "resource limits"),
        (old.liveliness == new.liveliness, "liveliness"),
        (old.ownership == new.ownership, "ownership"),
        (
            old.destination_order == new.destination_order,
            "destination order",
        ),
        (old.presentation == new.presentation, "presentation"),
        (
            old.representations == new.representations,
            "data representation",
        ),
    ];
    let differ = all.into_iter().filter(|(is_same, _)| !is_same);
    differ.map(|(_, name)| name).collect()
}

fn check(endpoint: Option<&EndpointData>, new: &Qos) -> Result<(), ChangeError> {
    let differ = immutable(&endpoint.ok_or(ChangeError::Unknown)?.qos, new);
    if differ.is_empty() {
        Ok(())
    } else {
        Err(ChangeError::Immutable(differ))
    }
}

impl Participant {
    /// Changes what a writer offers: deadline, latency budget, strength, partitions, transport priority,
    /// lifespan and user data. A new lifespan holds for what is in the history, too; deadlines begin anew.
    ///
    /// # Errors
    /// If anything else differs; nothing changes then.
    pub fn set_writer_qos(
        &mut self,
        now: Instant,
        id: WriterId,
        qos: Qos,
    ) -> Result<(), ChangeError> {
        let local = self.writers.get_mut(id.0).and_then(Option::as_mut);
        let local = local.ok_or(ChangeError::Unknown)?;
        check(local.endpoint.as_ref(), &qos)?;
        let endpoint = local.endpoint.as_mut().ok_or(ChangeError::Unknown)?;
        if endpoint.qos == qos {
            return Ok(());
        }
        endpoint.qos.clone_from(&qos);
        let endpoint = endpoint.clone();
        local.writer.set_qos(now, qos);
        self.publish_endpoint(now, true, &endpoint, ChangeKind::Alive);
        self.match_own_writer(now, id);
        Ok(())
    }

    /// Changes what a reader asks for: deadline, latency budget, partitions, time-based filter and user
    /// data. Deadlines begin anew.
    ///
    /// # Errors
    /// If anything else differs; nothing changes then.
    pub fn set_reader_qos(
        &mut self,
        now: Instant,
        id: ReaderId,
        qos: Qos,
    ) -> Result<(), ChangeError> {
        let local = self.readers.get_mut(id.0).and_then(Option::as_mut);
        let local = local.ok_or(ChangeError::Unknown)?;
        check(local.endpoint.as_ref(), &qos)?;
        let endpoint = local.endpoint.as_mut().ok_or(ChangeError::Unknown)?;
        if endpoint.qos == qos {
            return Ok(());
        }
        endpoint.qos.clone_from(&qos);
        let endpoint = endpoint.clone();
        local.reader.set_qos(now, qos);
        self.publish_endpoint(now, false, &endpoint, ChangeKind::Alive);
        self.match_own_reader(now, id);
        Ok(())
    }

    /// Changes the parameters of a reader's content filter, for samples that come from now on.
    ///
    /// # Errors
    /// If there are not enough of them, or they are not of the kinds of the members with which they are
    /// compared; nothing changes then.
    pub fn set_filter_parameters(
        &mut self,
        now: Instant,
        id: ReaderId,
        parameters: &[&str],
    ) -> Result<(), ChangeError> {
        let local = self.readers.get_mut(id.0).and_then(Option::as_mut);
        let local = local.ok_or(ChangeError::Unknown)?;
        let (filter, judge) = local.reader.filter.as_mut().ok_or(ChangeError::NoFilter)?;
        let mut changed = filter.clone();
        changed.set_parameters(parameters)?;
        judge.check(&changed)?;
        *filter = changed;
        let endpoint = local.endpoint.as_mut().ok_or(ChangeError::Unknown)?;
        if let Some(said) = &mut endpoint.content_filter {
            said.parameters = parameters.iter().map(|text| String::from(*text)).collect();
        }
        let endpoint = endpoint.to_owned();
        self.publish_endpoint(now, false, &endpoint, ChangeKind::Alive);
        self.match_own_reader(now, id);
        Ok(())
    }
}

/// Returns when the next sample of an instance is due that is there now.
pub(crate) fn due_anew(now: Instant, deadline: Duration, is_alive: bool) -> Option<Instant> {
    (is_alive && !deadline.is_infinite()).then(|| now + deadline)
}
