//! Records what the rules of a switch port make of frames that arrive.

use alloc::vec;
use alloc::vec::Vec;

use rtether_model::network::{PortId, Switch};

use crate::analysis::{IngressPart, Reason};
use crate::classify::Way;
use crate::expand::{Token, Walker};
use crate::ingress::deciding;

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
            let Some(number) = number else {
                branches.push(token);
                continue;
            };
            let at = (port, u16::try_from(number).unwrap_or(u16::MAX));
            let (kept, demoted) = self.pass_steps(at, &rules[number], token);
            if demoted.is_some() {
                part = IngressPart::Demotion;
            }
            branches.push(kept);
            branches.extend(demoted);
        }
        self.tell_apart(branches, Split { port, part })
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
