//! Timelines of packets and parts of bounds as bars.

use rtether_bounds::ShareCause;
use rtether_model::quantity::Instant;
use rtether_report::text::time;

use super::{Cause, Wait, Why, WhyBound};
use crate::timeline::{Bar, Bars, Dark, Kind};

impl Why<'_> {
    /// Returns the timeline as bars.
    pub fn bars(&self) -> Bars {
        let since = |instant: Instant| instant - self.timeline.released_at;
        let parts = &self.timeline.parts;
        // What was waited for in the protocol, which may be thousands of frames, is one bar.
        let blocks = parts.chunk_by(|one, next| one.is_awaited && next.is_awaited);
        let bars = blocks.filter_map(|block| {
            let (part, last) = (block.first()?, block.last()?);
            if part.is_awaited {
                return Some(Bar {
                    name: "protocol".to_owned(),
                    begin: since(part.enter),
                    end: since(last.leave),
                    waits: Vec::new(),
                });
            }
            let waits = part.waits.iter().map(|wait| self.dark(wait, part.enter));
            Some(Bar {
                name: self.part_name(part),
                begin: since(part.enter),
                end: since(part.leave),
                waits: waits.collect(),
            })
        });
        Bars { whole: self.timeline.latency, bars: bars.collect() }
    }

    fn dark(&self, wait: &Wait, enter: Instant) -> Dark {
        let name = format!("{}, {}", self.frame_name(wait), wait.cause.name());
        Dark {
            begin: Ord::max(wait.since, enter) - self.timeline.released_at,
            time: wait.time,
            kind: match wait.cause {
                Cause::InService => Kind::InService,
                Cause::Ahead => Kind::Ahead,
                Cause::Collision => Kind::Collision,
            },
            title: format!("{name}: {} since {}", time(wait.time), time(wait.since.since_start())),
            name,
        }
    }
}

impl WhyBound<'_> {
    /// Returns the parts of the bound as bars; `None` without a bound.
    pub fn bars(&self) -> Option<Bars> {
        let parts = self.found.as_ref().ok()?;
        let bars = parts.hops.iter().map(|hop| {
            let mut now = hop.enter;
            let waits = hop.shares.iter().map(|share| {
                let begin = now;
                now += share.time;
                let name = format!("{}, {}", self.share_name(share), share.cause.name());
                Dark {
                    begin,
                    time: share.time,
                    kind: kind_of(share.cause),
                    title: format!("{name}: {}", time(share.time)),
                    name,
                }
            });
            Bar { name: hop.name.clone(), begin: hop.enter, end: hop.leave, waits: waits.collect() }
        });
        Some(Bars { whole: parts.composition.latency, bars: bars.collect() })
    }
}

const fn kind_of(cause: ShareCause) -> Kind {
    match cause {
        ShareCause::Lower => Kind::InService,
        ShareCause::SameClass | ShareCause::OtherQueue => Kind::Ahead,
        ShareCause::Higher => Kind::Higher,
        ShareCause::Own | ShareCause::Pause | ShareCause::Rounding => Kind::Earlier,
    }
}
