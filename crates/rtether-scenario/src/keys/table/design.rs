//! The keys of `rtether design`: what it may change.

use super::{Key, Kind, Optional, Section, Words, key};
use crate::plan::Freedom;

/// What may be changed, and the word for it.
pub(crate) static ALLOW: Words<Freedom> = Words::new(
    "allow",
    &[
        ("pcp", Freedom::Pcp),
        ("queues", Freedom::Queues),
        ("selection", Freedom::Selection),
        ("layers", Freedom::Layers),
        ("window", Freedom::Window),
        ("segment", Freedom::Segment),
        ("smoother", Freedom::Smoother),
        ("routes", Freedom::Routes),
        ("limits", Freedom::Limits),
        ("links", Freedom::Links),
    ],
);

pub(super) const DESIGN_KEY: Key = key(
    "design",
    Kind::One(&DESIGN),
    Optional,
    "{ allow: [pcp, queues] }",
    "What `rtether design` may change so that every deadline is proved; no other verb looks at it. Without it, all that costs no hardware.",
);

pub(crate) static DESIGN: Section = Section {
    name: "design",
    noun: "`design`",
    description: "What `rtether design` may change. An edit is one line of its table, however many flows or nodes a selector means, and costs 1.",
    keys: &[
        key(
            ALLOW.key,
            Kind::Values(&Kind::Word(&ALLOW)),
            Optional,
            "[pcp, layers]",
            "What may change; what is not named is fixed. `pcp`: priorities of flows. `queues`: number of queues of switches. `selection`: strict priority in place of another selection of switches. `layers`: stack instances and moderate transmit queues of nodes. `window` and `segment`: those of TCP. `smoother`: smoothers of nodes that send over TCP. `routes`: ways of flows around each link between switches. `limits`: memory of nodes for packets, and buffers of switches. `links`: faster links. All but buffers and links if not given.",
        ),
        key(
            "cost",
            Kind::Changes,
            Optional,
            "{ layers: 3, stacks.busbar.rate: 10 per 10 % }",
            "What edits cost, if not 1, and what else may change: a word of `allow` with the cost of each such edit; or the path of a number that may be raised, with the cost of each step in percent. Numbers that are not named here stay.",
        ),
        key(
            "keep",
            Kind::Values(&Kind::Text),
            Optional,
            "[flows.trip, \"nodes[stack=relay]\"]",
            "Flows, nodes, stacks and switches that stay as they are, by paths as those of `--set`.",
        ),
    ],
};
