//! Policy changes of existing endpoints (DDS 1.4, 2.2.3): the endpoint is announced again and
//! matched anew.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Participant, ReaderId, WriterId};
use crate::discovery::EndpointData;
use crate::filter::FilterError;
use crate::qos::Qos;
use crate::time::Instant;
use crate::writer::ChangeKind;

/// Why policies were not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// The endpoint does not exist.
    #[error("the endpoint does not exist")]
    Unknown,
    /// Policies that cannot change after creation.
    #[error("cannot change after the endpoint is created: {}", .0.join(", "))]
    Immutable(Vec<&'static str>),
    /// The reader has no filter.
    #[error("the reader has no filter")]
    NoFilter,
    /// The parameters do not fit the filter.
    #[error(transparent)]
    Filter(#[from] FilterError),
}

/// Returns the names of immutable policies that differ.
fn immutable(old: &Qos, new: &Qos) -> Vec<&'static str> {
    let is_reliability = old.reliability == new.reliability && old.max_blocking == new.max_blocking;
    let all = [
        (is_reliability, "reliability"),
        (old.durability == new.durability, "durability"),
        (old.history == new.history, "history"),
        (old.limits == new.limits, "resource limits"),
        (old.liveliness == new.liveliness, "liveliness"),
        (old.ownership == new.ownership, "ownership"),
        (old.destination_order == new.destination_order, "destination order"),
        (old.presentation == new.presentation, "presentation"),
        (old.representations == new.representations, "data representation"),
    ];
    let differ = all.into_iter().filter(|(is_same, _)| !is_same);
    differ.map(|(_, name)| name).collect()
}

/// Changes the policies of an endpoint; returns it if any differs.
fn change(
    endpoint: Option<&mut EndpointData>,
    new: &Qos,
) -> Result<Option<EndpointData>, ChangeError> {
    let endpoint = endpoint.ok_or(ChangeError::Unknown)?;
    let differ = immutable(&endpoint.qos, new);
    if !differ.is_empty() {
        return Err(ChangeError::Immutable(differ));
    }
    if endpoint.qos == *new {
        return Ok(None);
    }
    endpoint.qos.clone_from(new);
    Ok(Some(endpoint.clone()))
}

impl Participant {
    /// Changes what a writer offers: deadline, latency budget, strength, partitions, transport
    /// priority, lifespan and user data. A new lifespan also applies to samples in the history;
    /// deadlines restart.
    ///
    /// # Errors
    /// Another policy differs; nothing is changed.
    pub fn set_writer_qos(
        &mut self,
        now: Instant,
        id: WriterId,
        qos: Qos,
    ) -> Result<(), ChangeError> {
        let qos = self.policies(qos, true);
        let local = self.writers.get_mut(id.0).and_then(Option::as_mut);
        let local = local.ok_or(ChangeError::Unknown)?;
        let Some(endpoint) = change(local.endpoint.as_mut(), &qos)? else {
            return Ok(());
        };
        local.writer.set_qos(now, qos);
        self.publish_endpoint(now, true, &endpoint, ChangeKind::Alive);
        self.match_own_writer(now, id);
        Ok(())
    }

    /// Changes what a reader requests: deadline, latency budget, partitions, time-based filter and
    /// user data. Deadlines restart.
    ///
    /// # Errors
    /// Another policy differs; nothing is changed.
    pub fn set_reader_qos(
        &mut self,
        now: Instant,
        id: ReaderId,
        qos: Qos,
    ) -> Result<(), ChangeError> {
        let qos = self.policies(qos, false);
        let local = self.readers.get_mut(id.0).and_then(Option::as_mut);
        let local = local.ok_or(ChangeError::Unknown)?;
        let Some(endpoint) = change(local.endpoint.as_mut(), &qos)? else {
            return Ok(());
        };
        local.reader.set_qos(now, qos);
        self.publish_endpoint(now, false, &endpoint, ChangeKind::Alive);
        self.match_own_reader(now, id);
        Ok(())
    }

    /// Changes the parameters of a reader's content filter, for samples received from now on.
    ///
    /// # Errors
    /// Parameters are missing, or do not fit the members with which they are compared; nothing is
    /// changed.
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
