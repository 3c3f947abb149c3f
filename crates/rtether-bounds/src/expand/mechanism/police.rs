//! The policer of a rule: it limits the frames that pass it, or demotes the others.

use rtether_model::ingress::{Cause, Exceed, Police};
use rtether_model::network::PortId;

use crate::expand::{Token, Walker};
use crate::frame::Frame;
use crate::output_limit::Limit;
use crate::passage::{Passage, RuleStep};

impl Walker<'_> {
    /// Applies the policer of a rule to frames; returns those that it demotes. The marks of its rule
    /// are for frames that keep the limit: one that is demoted has the code point with which it has
    /// `arrived`.
    pub(super) fn police(
        &mut self,
        (port, rule): (PortId, u16),
        police: Police,
        arrived: &Frame,
        kept: &mut Token,
    ) -> Option<Token> {
        let step = RuleStep { port, rule, cause: Cause::Exceeded };
        let [_, size] = kept.frame.tagged_sizes();
        if !self.exceeded.contains(&step) {
            let next = self.next_visit();
            self.plant.passages.push(Passage {
                step,
                police: Some(police),
                flow: self.flow,
                parent: kept.visit,
                gap: kept.gap,
                size,
                frames: kept.frame.count,
                visits: [next; 2],
            });
            return None;
        }
        let demoted = match police.exceed {
            Exceed::Drop => None,
            Exceed::Demote(pcp) => {
                let mut frame = *arrived;
                frame.pcp = pcp.get();
                if frame == kept.frame {
                    return None;
                }
                Some(Token { frame, is_policed: true, ..*kept })
            }
        };
        kept.is_policed = true;
        let number = self.sites.number_of(port);
        let own = Limit::of_policer(police, kept.frame.tagged_sizes(), (number, rule));
        // An earlier limit that spaces packets further apart stays.
        let known = kept.limit.map_or(0, |limit| limit.distance());
        kept.limit = own.filter(|own| own.distance() >= known).or(kept.limit);
        demoted
    }
}
