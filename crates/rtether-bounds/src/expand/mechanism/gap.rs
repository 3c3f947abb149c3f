//! Records how long a talker holds the frames of a flow with a gap ([`crate::discipline`]).

use crate::classify::Way;
use crate::expand::{Token, Walker};
use crate::index::NONE;
use crate::output_limit::Limit;
use crate::plant::Gap;
use crate::stack::Service;

impl Walker<'_> {
    /// Visits the place where a flow keeps its gap, if it has one. Frames leave it when their service begins.
    pub(in crate::expand) fn keep_gap(&mut self, way: &Way<'_>, token: &mut Token) {
        let own = self.gaps.get(self.flow as usize);
        let server = own.copied().unwrap_or(NONE);
        let (Some(gap), true) = (way.flow.kept_gap(self.network), server != NONE) else {
            return;
        };
        let gap = gap.as_ps();
        self.visit(token, server, 0, Service::fixed(gap, gap), false);
        token.gap = Gap::default();
        token.limit = Some(Limit::of_gap(gap));
    }
}
