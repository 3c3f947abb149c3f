"""Limits that a server on the way puts on flows which have none themselves, or that wait for it."""

from collections import namedtuple

from rtether_verify import frames

#: `step` is the least distance of packets of one flow, of which the first `burst` may be `ahead` of it.
#: Of a processor: its key, the least services of the smallest and the largest packet, and that of the
#: smallest packet there is. `delay` is what answers may add; `begins` is set up to the first visit behind.
Limit = namedtuple("Limit", "by step burst ahead place services grain delay begins")
#: First retransmission timeout before a round trip is measured, in picoseconds (RFC 6298, 2.1), within
#: which an address is learned again.
TIMEOUT = 10**12


def spacing(token, place, bounds, least):
    """Returns the limit of a processor behind which packets are apart, if it is the widest on the way;
    `least` is its service of the smallest packet."""
    services = (bounds[0][0], bounds[1][0])
    apart = min(services)
    if not apart or (token.limit is not None and apart < distance(token.limit)):
        return token.limit
    if not least:
        return Limit("spacing", apart, 1, 0, None, (1, 1), 1, 0, True)
    return Limit("spacing", apart, 1, 0, place, services, least, 0, True)


def distance(limit):
    """Returns how far apart the largest packets behind a limit are."""
    return limit.step // limit.burst if limit.place is None else limit.services[1]


def of_answers(limit, flow):
    """Returns the limit of the answers to packets with this one."""
    if limit is None or flow.traffic.kind == "messages":
        return None
    late = flow.traffic.ack_delay if flow.traffic.kind == "file" else 0
    if flow.reply is not None:
        if frames.frames(flow.reply.payload, flow.over)[0] > 1 or frames.frames(flow.payload, flow.over)[0] > 1:
            return None
        late += flow.reply.longest - flow.reply.after
    # The smallest packet may have the largest answer.
    return limit._replace(services=(limit.services[0],) * 2, delay=limit.delay + late)


def of_table(aging, under_way):
    """Returns the limit of a switch that floods to an address it has forgotten."""
    if not under_way or aging <= TIMEOUT:
        return None
    return Limit("table", aging, under_way, TIMEOUT, None, (1, 1), 1, 0, True)


def together(pairs, since):
    """Flows without a limit of their own that one processor serves share its time: all but one of the
    packets that leave in a window were served in it. Changes their loads; `since` returns the least time
    that packets of a visit have been under way since then."""
    found = {}
    for load, visit in pairs:
        limit = visit.limit
        # What is claimed of arrivals that nothing limits fails elsewhere.
        if limit is not None and limit.place is not None:
            key = (limit.place, load.queue, load.group, limit.grain)
            found.setdefault(key, []).append((load, visit))
    for same in found.values():
        first, grain = same[0][0], same[0][1].limit.grain
        if len(same) == 1:
            continue
        most = max(
            -(-own[1] * grain // charge) for _, visit in same
            for own, charge in zip((visit.small, visit.large), visit.limit.services)
        )
        early = min(since(visit) for _, visit in same)
        late = max(since(visit) + load.jitter for load, visit in same)
        ahead = max(max(visit.limit.services) for _, visit in same)
        if not all(load.under_way for load, _ in same[1:]):
            # A window limits the packets of its own flow only.
            first.set(under_way=0, connection=None)
        for load, _ in same[1:]:
            load.burst = 0
        first.set(period=grain, burst=max(1, -(-most // max(first.cost, 1))), jitter=ahead + late - early)


def under_way_of(flow):
    """Returns the most packets that a flow which waits for answers has under way in each direction; of a
    connection in both together: whole segments of the window, a shorter one (RFC 896), one without data."""
    own = flow.traffic
    if own.kind == "adaptive":
        return 1
    if own.kind != "file":
        return 0
    segments = own.window // own.segment + 1
    if own.file is not None:
        segments = min(segments, -(-own.file // own.segment))
    return segments + 1


def within(flow):
    """Returns the time within which each packet of a flow that waits must be answered."""
    own = flow.traffic
    if own.kind == "adaptive":
        return own.timeout
    return min(own.timeout, TIMEOUT) - own.ack_delay


def since(ways, visit):
    """Returns the least time that packets of a visit have been under way since their limit."""
    least = 0
    while visit.limit is not None and not visit.limit.begins:
        least, visit = least + visit.least, ways.visits[visit.parent]
    return least
