//! From the wire to the stack: classes, receive queues, tag removal.

use rtether_model::endnode::{Layer, Receive};
use rtether_model::quantity::Instant;
use rtether_proto::endnode::{Classifier, Event, MAX_CLASSES, QueueStats, ReceiveQueues};

use super::frames::{self, Pool};
use super::status::{Direction, QueueStatus, Traffic};
use super::tap::Tap;
use super::{Settings, ShimError, Tags};

type Frame = Vec<u8>;

/// The receive path of the shim.
pub(super) struct ReceiveSide {
    classifier: Classifier,
    /// `None` if frames keep their order of arrival.
    queues: Option<ReceiveQueues<Frame>>,
    /// The only frame that can wait without queues.
    next: Option<Frame>,
    /// Counters of queues that earlier settings had, by class.
    before: [QueueStats; MAX_CLASSES],
    tags: Tags,
    pub(super) traffic: Traffic,
    pub(super) dropped: u64,
    pub(super) refused: u64,
}

impl ReceiveSide {
    pub(super) fn new(settings: &Settings) -> Result<Self, ShimError> {
        Ok(Self {
            classifier: classifier(&settings.layer)?,
            queues: queues(&settings.layer)?,
            next: None,
            before: Default::default(),
            tags: settings.tags,
            traffic: Traffic::default(),
            dropped: 0,
            refused: 0,
        })
    }

    /// Applies new settings. Waiting frames go to the stack first, which always takes them.
    pub(super) fn set(
        &mut self,
        now: Instant,
        settings: &Settings,
        stack: &Tap,
        pool: &mut Pool,
    ) -> Result<(), ShimError> {
        let (classifier, queues) = (classifier(&settings.layer)?, queues(&settings.layer)?);
        while self.waiting() > 0 {
            if !self.deliver(now, stack, pool)
                && let Some(queues) = &mut self.queues
            {
                // An empty frame of the highest class releases low frames that algorithm C holds
                // back.
                queues.handle_frame(now, Frame::new(), queues.count() - 1);
            }
        }
        let classes = 0..self.queues.as_ref().map_or(0, ReceiveQueues::count);
        let counted: Vec<_> = classes.filter_map(|class| self.stats(class)).collect();
        for (before, counted) in self.before.iter_mut().zip(counted) {
            *before = counted;
        }
        (self.classifier, self.queues, self.tags) = (classifier, queues, settings.tags);
        Ok(())
    }

    /// Returns whether a frame can be taken from the wire: with queues, always.
    pub(super) fn has_room(&self) -> bool {
        self.queues.is_some() || self.next.is_none()
    }

    /// Takes a frame from the wire.
    pub(super) fn take(&mut self, now: Instant, octets: &[u8], pool: &mut Pool) {
        self.traffic.taken += 1;
        let (mut frame, parsed) = pool.frame(octets);
        frames::strip(&mut frame, &parsed, &self.tags);
        let Some(queues) = &mut self.queues else {
            self.next = Some(frame);
            return;
        };
        let class = self.classifier.classify(&parsed.key).class;
        queues.handle_frame(now, frame, class);
        self.dropped += drain(queues, pool);
    }

    /// Hands the next frame to the stack, which is always ready; returns whether there was one.
    pub(super) fn deliver(&mut self, now: Instant, stack: &Tap, pool: &mut Pool) -> bool {
        let frame = match &mut self.queues {
            Some(queues) => {
                let frame = queues.select(now);
                self.dropped += drain(queues, pool);
                frame
            }
            None => self.next.take(),
        };
        let Some(frame) = frame else {
            return false;
        };
        match stack.write(&frame) {
            // The empty frame that `set` uses to release others.
            _ if frame.is_empty() => {}
            Ok(()) => {
                self.traffic.frames += 1;
                self.traffic.octets += frame.len() as u64;
            }
            Err(_) => self.refused += 1,
        }
        pool.free(frame);
        true
    }

    /// Returns when a frame that is held back may go on even if no other frame comes.
    pub(super) fn due(&self) -> Option<Instant> {
        let queues = self.queues.as_ref()?;
        queues.poll_timeout().map(|(due, _)| due)
    }

    /// Releases frames that are due.
    pub(super) fn handle_timeout(&mut self, now: Instant, pool: &mut Pool) {
        if let Some(queues) = &mut self.queues
            && queues.poll_timeout().is_some_and(|(due, _)| due <= now)
        {
            queues.handle_timeout(now);
            self.dropped += drain(queues, pool);
        }
    }

    /// Returns the number of waiting frames.
    pub(super) fn waiting(&self) -> u64 {
        let queued = self.queues.as_ref().map_or(0, ReceiveQueues::waiting);
        queued + u64::from(self.next.is_some())
    }

    pub(super) fn queues(&self) -> impl Iterator<Item = QueueStatus> {
        let classes = 0..self.queues.as_ref().map_or(0, ReceiveQueues::count);
        let of = |class| Some(QueueStatus::of(Direction::Receive, class, &self.stats(class)?));
        classes.filter_map(of)
    }

    /// Returns the counters of a class since the shim began, across changes of settings.
    fn stats(&self, class: u8) -> Option<QueueStats> {
        let now = self.queues.as_ref()?.stats(class);
        let before = self.before.get(usize::from(class))?;
        Some(QueueStats {
            accepted: before.accepted + now.accepted,
            dropped: before.dropped + now.dropped,
            released: before.released + now.released,
            waited_ps: before.waited_ps + now.waited_ps,
            waited_max: before.waited_max.max(now.waited_max),
            ..now
        })
    }
}

/// Drains the events; returns the number of frames dropped.
fn drain(queues: &mut ReceiveQueues<Frame>, pool: &mut Pool) -> u64 {
    let mut dropped = 0;
    while let Some(event) = queues.poll_event() {
        if let Event::Dropped { frame, .. } = event {
            pool.free(frame);
            dropped += 1;
        }
    }
    dropped
}

pub(super) fn classifier(layer: &Layer) -> Result<Classifier, ShimError> {
    let made = Classifier::new(layer.table, layer.rules.clone());
    let made = made.map_err(|error| ShimError::Layer(error.to_string()))?;
    Ok(made.icmp_unclassified(layer.icmp_unclassified))
}

fn queues(layer: &Layer) -> Result<Option<ReceiveQueues<Frame>>, ShimError> {
    match &layer.receive {
        Some(Receive::Queues(config)) => {
            let made = ReceiveQueues::new(config);
            made.map(Some).map_err(|error| ShimError::Layer(error.to_string()))
        }
        // Stack instances were refused before.
        Some(Receive::Instances { .. }) | None => Ok(None),
    }
}
