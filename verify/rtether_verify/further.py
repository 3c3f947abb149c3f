"""Further rules: idle slopes at ports of switches, queues of end stations. What they
return is as in `rules`."""

from fractions import Fraction
from math import ceil, gcd

from rtether_verify import curves
from rtether_verify.curves import ONE, Load
from rtether_verify.reading import Malformed
from rtether_verify.rules import OVERHEAD, RULES, behind, by_rate, heavier, lesser, most_work, turns_of_octets

#: Steps at a server that are looked at one by one, and rounds towards the end of its busy period.
STEPS_DUE, ROUNDS_DUE = 1 << 12, 1 << 12
#: Terms of the sums at one server at most: some ten seconds.
TERMS_DUE = 10**8


def chosen(loads, is_chosen):
    """Returns the packets of some queues."""
    return [load for load in loads if is_chosen(load.queue)]


def longest(loads):
    """Returns the longest service of some packets."""
    return max((load.cost for load in loads), default=0)


def class_of(queue):
    """Returns the class of a queue of a stack that sorts: each has one for packets to be sent, and
    above it one for received packets."""
    return queue // 2


# Idle slopes (IEEE 802.1Q, 8.6.8.2).


def slower(loads, rate, share):
    """Returns loads as they are in units in which a server that does `share / rate` of its work does one
    unit in each unit of time, so that nothing is rounded."""
    scaled = lambda time: None if time is None else time * share
    return [load.but(cost=load.cost * rate, own=load.own * rate, period=load.period * share,
                     jitter=scaled(load.jitter), slack=load.slack * share, spacing=load.spacing * share,
                     ratio=-(-load.ratio * rate // share), enough=load.enough * share) for load in loads]


def shared(latency, own, high, rate, share):
    """Waits of queues that get `share / rate` of a server behind a latency. It may pause unless that is all
    of it, so that packets under way do not count."""
    if rate == share:
        return behind(latency, own, high)
    found = by_rate(latency * share, slower(own, rate, share), slower(high, rate, share), share)
    return found and [-(-most // share) for most in found]


def growth(loads):
    """Returns burst and exact rate of a line above all work of some queues, or None."""
    burst, rate = 0, Fraction(0)
    for part in curves.groups(loads).values():
        end, limit = curves.tail(part), curves.line(part)
        if end is None:
            return None
        exact = [Fraction(limit[1], ONE)] if limit is not None else []
        if all(load.jitter is not None for load in part):
            exact.append(sum(Fraction(load.work(), load.period) for load in part))
        burst, rate = burst + end[0], rate + min(exact)
    return burst, rate


def credit(queue, loads, server):
    """A queue with an idle slope, or one without among such queues."""
    rate, slopes = server.rate, server.turns
    own, above = chosen(loads, lambda other: other == queue), chosen(loads, lambda other: other > queue)
    plain = chosen(above, lambda other: not slopes[other])
    takes_turns = server.quanta is not None and server.quanta[queue] > 0
    # Among turns a lower frame is one of those that count anyway.
    front, left = 0 if takes_turns else longest(chosen(loads, lambda other: other < queue)), rate
    for other in {load.queue for load in above if slopes[load.queue]}:
        # A frame begins without a debt, and ends with one that its slope pays.
        debt = longest(chosen(above, lambda own: own == other)) * (rate - slopes[other])
        front += -(-debt // rate) + 1
        left -= slopes[other]
    if left <= 0:
        return None
    common = gcd(rate, left)
    if takes_turns:
        plain = [load for load in loads if not slopes[load.queue]]
        return _below_slopes(queue, plain, server, front, (rate // common, left // common))
    if not slopes[queue]:
        rate, left = rate // common, left // common
        return shared(-(-front * rate // left) + 1, own, plain, rate, left)
    grown = growth(plain)
    if grown is None:
        return None
    rest = Fraction(left, rate) - grown[1]
    if rest <= 0 or Fraction(slopes[queue], rate) > rest:
        return None
    work = front + -(-grown[0] // ONE)
    latency = -(-work * rest.denominator // rest.numerator) + 1
    common = gcd(rate, slopes[queue])
    return shared(latency, own, [], rate // common, slopes[queue] // common)


def _below_slopes(queue, loads, server, front, part):
    """The lowest queues take turns of octets in what slopes above leave."""
    rate, share = part
    latency = -(-front * rate // share) + 1
    own, others = chosen(loads, lambda other: other == queue), chosen(loads, lambda other: other != queue)
    until_empty = shared(latency, own, others, rate, share)
    is_whole = rate == share
    in_turn = chosen(loads, lambda other: server.quanta[other])
    base, each = turns_of_octets(queue, in_turn, server.octet, server.quanta)
    # In such small units what an octet brings is whole.
    rate, share = rate * each.denominator, share * each.denominator
    latency = -(-(latency * share + base * rate) // share)
    wait = behind if is_whole else lambda base, own, high: by_rate(base, own, high, share)
    found = wait(latency * share, _brought(own, each, server.octet, rate, share),
                    slower(chosen(loads, lambda other: not server.quanta[other]), rate, share))
    return lesser(until_empty, found and [-(-most // share) for most in found])


def _brought(own, each, octet, rate, share):
    """Returns slower packets with what their octets bring."""
    more = [each * rate * (load.cost // octet - OVERHEAD) for load in own]
    return [load for slow, extra in zip(slower(own, rate, share), more)
            for load in heavier([slow], extra.numerator, extra.denominator)]


# Earliest deadline first.


def deadline(queue, loads, server):
    """The packet that is due first goes first; those without a local deadline, in queue 0, are below all."""
    if not queue:
        return RULES["priority"](queue, loads)
    own, lower = chosen(loads, lambda other: other > 0), longest(chosen(loads, lambda other: other == 0))
    if any(load.jitter is None for load in own):
        return None
    if sum(Fraction(load.work(), load.period) for load in own) >= 1:
        return None
    end, known = _busy(own, max(lower, longest(own))), {}
    steps = sum(end // load.period + 2 for load in own)
    if steps > STEPS_DUE:
        return [end] * len(own)
    if steps * len(own) * len({(load.due, load.cost) for load in own}) > TERMS_DUE:
        raise Malformed(f"more than {TERMS_DUE} terms at one server by deadlines; split the plant")
    for load in own:
        key = (load.due, load.cost)
        if key not in known:
            known[key] = min(_due(own, lower, load, end), end)
    return [known[load.due, load.cost] for load in own]


def _work(load, span):
    return load.work() * ((span + load.jitter) // load.period + 1)


def _busy(loads, before):
    """Returns the longest time for which there is always a packet."""
    rate = sum(Fraction(load.work(), load.period) for load in loads)
    burst = before + sum(Fraction(load.work() * (load.period + load.jitter), load.period) for load in loads)
    most, length = ceil(burst / (1 - rate)), before
    for _ in range(ROUNDS_DUE):
        longer = before + sum(_work(load, length) for load in loads)
        if longer <= length:
            return min(length, most)
        length = longer
    return most


def _due(loads, lower, own, end):
    """Returns the longest wait of a packet: of those due later one may be in service, all that are due by
    then go first if they come before it begins."""
    times = {0}
    for load in loads:
        # What comes by `x` counts for a packet that comes `load.due - own.due` later.
        first = load.period - load.jitter % load.period + load.due - own.due
        first += max(-first // load.period, 0) * load.period
        times.update([load.due - own.due, *range(first, end + 1, load.period)])
    most = 0
    for time in sorted(own for own in times if 0 <= own <= end):
        late = longest([load for load in loads if load.due - time > own.due])
        begin, counted = time, [load for load in loads if time + own.due >= load.due]
        while True:
            needed = max(late, lower) - own.cost + sum(
                _work(load, min(time + own.due - load.due, begin)) for load in counted)
            if needed <= begin:
                break
            begin = needed
        most = max(most, begin - time)
    return most


# Receive queues of a stack.


def highest(queue, loads, server):
    """The highest class first, without preemption; directions take turns within a class."""
    own = chosen(loads, lambda other: other == queue)
    high = chosen(loads, lambda other: other != queue and class_of(other) >= class_of(queue))
    return behind(longest(chosen(loads, lambda other: class_of(other) < class_of(queue))), own, high)


def promoting(queue, loads, server):
    """Heads of all queues but the top one rise after a number of selections."""
    picks = server.layer.picks
    own, others = chosen(loads, lambda other: other == queue), chosen(loads, lambda other: other != queue)
    until_empty = behind(0, own, others)
    if picks < 2 or queue % 2 == 0 or any(load.queue % 2 == 0 for load in loads):
        is_sent_alone = not any(load.queue % 2 for load in loads)
        return highest(queue, loads, server) if is_sent_alone else until_empty
    lower = longest(chosen(loads, lambda other: class_of(other) < class_of(queue)))
    higher = chosen(loads, lambda other: other > queue)
    rounds = behind(2 * lower, heavier(own, lower, picks - 1), heavier(higher, lower, picks - 1))
    return lesser(until_empty, rounds)


def flag(queue, loads, server):
    """A packet of the top queue lets one pass that is below it, or any; so does a time without one."""
    top, idle = 2 * (len(server.layer.limits) - 1) + 1, server.layer.idle
    own, sent = chosen(loads, lambda other: other == queue), chosen(loads, lambda other: other % 2 == 0)
    is_below = lambda other: class_of(other) < class_of(queue)
    lower, received = longest(chosen(loads, is_below)), chosen(loads, lambda other: other % 2)
    lower_received = longest(chosen(received, is_below))
    passing = lower_received if server.layer.below_top else 0
    if queue % 2 == 0:
        return _sent_by_flag(queue, loads, server, top, passing, lower)
    if queue == top:
        high = chosen(loads, lambda other: other != queue and class_of(other) == class_of(top))
        return behind(lower, heavier(own, passing), high)
    if idle is None:
        return None
    first = chosen(received, lambda other: other == top)
    between = chosen(received, lambda other: queue < other < top)
    by_top = behind(lower_received + idle, own, between + heavier(first, idle) + sent)
    if not server.layer.below_top:
        return by_top
    extra = idle + longest(first)
    by_turns = behind(max(lower_received, longest(first)), heavier(own, extra), heavier(between, extra) + sent)
    return lesser(by_top, by_turns)


def _sent_by_flag(queue, loads, server, top, passing, lower):
    """Packets to be sent: received ones that were held back may come all at once."""
    own = chosen(loads, lambda other: other == queue)
    high = chosen(loads, lambda other: other % 2 == 0 and other > queue)
    for inbound in range(queue + 1, top + 1, 2):
        held = chosen(loads, lambda other: other == inbound)
        if inbound == top:
            high += heavier(held, passing)
        elif held:
            waits = flag(inbound, loads, server)
            if waits is None:
                return None
            high += [load.but(jitter=None if load.jitter is None else load.jitter + most, slack=load.slack + most)
                     for load, most in zip(held, waits)]
    return behind(lower + passing, own, high)


# Transmit queues above the ring of a port.


def moderate(queue, loads, server):
    """High frames enter the ring at once, a low one when it is empty."""
    own_layer = server.layer
    is_high = queue >= own_layer.high_from
    limit = own_layer.high_from if is_high else queue
    base = longest(chosen(loads, lambda other: other < limit))
    if own_layer.sends_empty and base:
        base += longest(loads)
    if is_high:
        return _high(queue, loads, server, base)
    return behind(base, chosen(loads, lambda other: other == queue), chosen(loads, lambda other: other > queue))


def _high(queue, loads, server, base, extra=0, beside=()):
    """High frames share the ring: in order of arrival if all fit, else the others count as higher."""
    own = heavier(chosen(loads, lambda other: other == queue), extra)
    others = heavier(chosen(loads, lambda other: other != queue and other >= server.layer.high_from), extra)
    alone = len(own)
    own += beside
    by_class = behind(base, own, others)
    found = by_class and by_class[:alone]
    if others and _fits(own + others, base, server.layer.ring):
        in_order = behind(base, own + others, [])
        found = lesser(found, in_order and in_order[:alone])
    return found


def _fits(loads, base, ring):
    """Returns whether all frames that may be there at once fit the ring: each brings one at most, and two
    are in front."""
    work = most_work(loads)
    shortest = max(min(load.own for load in loads), 1)
    return work is not None and 2 * ((work + base) // shortest + 1) + 2 <= ring


def strict(queue, loads, server):
    """High frames enter at once, each with a low one behind it; after a time without any, a low one."""
    own_layer, idle = server.layer, server.layer.idle
    first = own_layer.high_from
    low, high = longest(chosen(loads, lambda other: other < first)), longest(chosen(loads, lambda other: other >= first))
    if queue >= first:
        beside = [Load(None, low, (max(idle, 1), 1, 0))] if idle is not None and low else []
        found = _high(queue, loads, server, 0, low, beside)
        return found and [max(most - low, 0) for most in found]
    if idle is None:
        return None
    own, between = chosen(loads, lambda other: other == queue), chosen(loads, lambda other: queue < other < first)
    full = own_layer.ring * longest(loads)
    return behind(2 * full, heavier(own, idle + high), heavier(between, idle + high))


def rings(queue, loads, server):
    """The highest classes have a ring each, the port serves the highest first; the others share one."""
    layer, own = server.layer, chosen(loads, lambda other: other == queue)
    common = len(layer.limits) - layer.rings
    alone = lambda lower: lower if layer.ring == 1 else 0
    if queue > common:
        lower = longest(chosen(loads, lambda other: other < queue))
        high = chosen(loads, lambda other: other > queue)
        return behind(lower, heavier(own, alone(lower)), heavier(high, alone(lower)))
    until_empty = behind(0, own, chosen(loads, lambda other: other != queue))
    most = longest(chosen(loads, lambda other: other <= common))
    waiting = most_work(heavier(chosen(loads, lambda other: other > common), alone(most)))
    if waiting is None:
        return until_empty
    base = layer.ring * most + waiting + most
    return lesser(until_empty, behind(base, own, chosen(loads, lambda other: other > queue)))


RULES.update(credit=credit, deadline=deadline, highest=highest, promoting=promoting, flag=flag, moderate=moderate,
             strict=strict, rings=rings)
