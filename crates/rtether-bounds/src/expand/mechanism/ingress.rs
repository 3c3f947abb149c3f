//! Records what the rules of a switch port make of frames that arrive.

use alloc::vec;
use alloc::vec::Vec;

use rtether_model::ingress::{Exceed, Police};
use rtether_model::network::{PortId, Switch};

use crate::analysis::{IngressPart, Reason};
use crate::classify::Way;
use crate::expand::{Token, Walker};
use crate::frame::Frame;
use crate::ingress::{deciding, marked};
use crate::output_limit::Limit;
use crate::passage::{Passage, Policer};

/// Branches of a packet that are followed to their end. More are possible only where frames circulate.
const BRANCHES_MAX: u32 = 64;

/// Where the packets of a message part, so that they may take two queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::expand) struct Split {
    port: PortId,
    part: IngressPart,
}

impl Split {
    /// Returns why a flow that parts has no bound.
    pub(in crate::expand) const fn reason(self) -> Reason {
        let Self { port, part } = self;
        Reason::Ingress { port, part }
    }
}

impl Walker<'_> {
    /// Applies the rules of a port to frames that it has taken in; returns them as they go on, in two
    /// or more branches if they may take different queues.
    pub(in crate::expand) fn treat(
        &mut self,
        switch: &Switch,
        port: PortId,
        way: &Way<'_>,
        token: Token,
    ) -> Vec<Token> {
        let rules = switch.ingress_at(port.port);
        if rules.is_empty() {
            return vec![token];
        }
        let decide = deciding(switch, rules, way, &token.frame);
        let mut branches: Vec<Token> = Vec::new();
        let mut part = IngressPart::Fragments;
        for number in decide {
            let rule = number.map(|number| &rules[number]);
            let mut kept = token;
            kept.frame = marked(rule, &token.frame);
            let police = rule.and_then(|rule| rule.police);
            let (Some(police), Some(number)) = (police, number) else {
                branches.push(kept);
                continue;
            };
            let policer = Policer { port, rule: u16::try_from(number).unwrap_or(u16::MAX) };
            let demoted = self.police(policer, police, &token.frame, &mut kept);
            branches.push(kept);
            if let Some(frame) = demoted {
                part = IngressPart::Demotion;
                branches.push(frame);
            }
        }
        self.tell_apart(branches, Split { port, part })
    }

    /// Applies a policer to frames; returns those that it demotes. The marks of its rule are for frames
    /// that keep the limit: one that is demoted has the code point with which it has `arrived`.
    fn police(
        &mut self,
        policer: Policer,
        police: Police,
        arrived: &Frame,
        kept: &mut Token,
    ) -> Option<Token> {
        let [_, size] = kept.frame.tagged_sizes();
        if !self.exceeded.contains(&policer) {
            let next = u32::try_from(self.plant.visits.len()).unwrap_or(u32::MAX);
            self.plant.passages.push(Passage {
                policer,
                police,
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
        let number = self.sites.number_of(policer.port);
        let own = Limit::of_policer(police, kept.frame.tagged_sizes(), (number, policer.rule));
        let known = kept.limit.map_or(0, |limit| limit.distance());
        kept.limit = own.filter(|own| own.distance() >= known).or(kept.limit);
        demoted
    }

    /// Drops branches that equal another one, and numbers the others.
    fn tell_apart(&mut self, branches: Vec<Token>, split: Split) -> Vec<Token> {
        let mut all: Vec<Token> = Vec::new();
        for branch in branches {
            let is_same = |known: &Token| {
                let parts = |own: &Token| (own.frame, own.limit, own.is_policed);
                parts(known) == parts(&branch)
            };
            if !all.iter().any(is_same) {
                all.push(branch);
            }
        }
        if all.len() > 1 {
            for (number, branch) in all.iter_mut().enumerate() {
                branch.split.get_or_insert(split);
                if number > 0 {
                    self.branches += 1;
                    branch.branch = self.branches;
                    if self.branches - self.first_branch <= BRANCHES_MAX {
                        self.budget += self.links_max();
                    }
                }
            }
        }
        all
    }
}
