"""The rules: the longest wait that arrival curves allow at a server, as `docs/reference/certificate.md` has
them; their theorems are at the heads of files in `crates/rtether-bounds/src/discipline`. Every function
returns whole picoseconds, or None for no limit."""

from bisect import bisect_left, bisect_right
from fractions import Fraction
from heapq import heappop, heappush
from math import gcd

from rtether_verify import curves, frames
from rtether_verify.curves import ONE, PLACES, STEPS_MAX
from rtether_verify.reading import Malformed

#: Horizon of the first look at a busy period, and rounds towards the beginning of a service.
FIRST, ROUNDS = 1_000_000, 1 << 12
#: Longest look at a busy period, an hour.
HORIZON_MAX = 3600 * 10**12
#: Steps of stairs at a server that is full.
STEPS_FULL = 1 << 10
#: Different services of a class that are looked at.
COSTS_MAX = 8
#: Octets of a link that a frame takes besides its own.
OVERHEAD = frames.PREAMBLE + frames.GAP
#: Splits of a busy period at most; beyond, what is left counts as a whole.
SPLITS_MAX = 1 << 16
#: Rounds towards the longest stay.
ROUNDS_MAX = 1 << 10
#: Looks at the curve of a group for one class at one server.
LOOKS_MAX = 1 << 26


def up(work):
    """Returns work in whole picoseconds, rounded up."""
    return -(-work >> PLACES)


def first_horizon(loads, base):
    """Returns how far to look first: few steps, even if packets come every picosecond."""
    horizon = max(FIRST, 2 * (base + sum(load.work() for load in loads)))
    while horizon > 1 and curves.count(loads, horizon) > STEPS_MAX:
        horizon //= 2
    return horizon


def most_work(loads, unit=1):
    """Returns `sup (a(t) - t)`: the most work there is at once in order of arrival. There are `unit`
    parts in a picosecond."""
    if not loads:
        return 0
    parts = list(curves.groups(loads).values())
    ends = [curves.tail(part) for part in parts]
    if None in ends or curves.is_overload(ends):
        return None
    horizon = first_horizon(loads, 0)
    # A server that is full may still be done with all that came at some time.
    limit = STEPS_MAX if sum(end[1] for end in ends) < ONE else STEPS_FULL
    while True:
        all_pieces = []
        for part in parts:
            stairs = None if any(load.jitter is None for load in part) else curves.Stairs(part, horizon)
            found = curves.pieces(stairs, curves.line(part), horizon)
            before = (0, 0, 0)
            for piece in found:
                all_pieces.append((piece, before))
                before = piece
        most, is_over = _sweep(all_pieces, horizon)
        if is_over:
            return up(most)
        if curves.count(loads, 4 * horizon) > limit or horizon > HORIZON_MAX * unit:
            rate = sum(own[1] for own in ends)
            if rate > ONE:
                return None
            rest = sum(own[0] for own in ends) - (ONE - rate) * horizon
            return up(max(most, rest))
        horizon *= 4


def _sweep(all_pieces, horizon):
    """Follows the sum of all groups; returns its largest distance above time, and whether all that
    came is served before the horizon."""
    all_pieces.sort(key=lambda own: own[0][0])
    value = slope = most = at = 0
    last = len(all_pieces)
    index = 0
    while index < last:
        time = all_pieces[index][0][0]
        if time > horizon:
            break
        value += slope * (time - at)
        at = time
        while index < last and all_pieces[index][0][0] == time:
            (_, new, rise), (since, old, fell) = all_pieces[index]
            value += new - (old + fell * (time - since))
            slope += rise - fell
            index += 1
        end = min(all_pieces[index][0][0], horizon) if index < last else horizon
        most = max(most, value - (time << PLACES))
        final = value + slope * (end - 1 - time)
        if end > time:
            most = max(most, final - (end - 1 << PLACES))
            if final <= end << PLACES:
                return most, True
    return most, False


class Level:
    """What comes from one server: a class, and those that go before it."""

    def __init__(self, own, high, horizon):
        limited = lambda part: all(load.jitter is not None for load in part)
        self.own = curves.Stairs(own, horizon) if limited(own) else None
        self.high = curves.Stairs(high, horizon) if limited(high) else None
        self.own_line = curves.line(own) if own else None
        self.high_line = curves.line(high) if high else None
        self.line = curves.line(own + high) if own and high else None
        self.has_high = bool(high)

    def own_at(self, time):
        return _lower(self.own, self.own_line, time)

    def work(self, own, start):
        total = own + _lower(self.high, self.high_line, start)
        return total if self.line is None else min(total, self.line[0] + self.line[1] * start)

    def holding(self, time, start):
        """Returns which limits hold, and how fast the work grows with the beginning of service."""
        held = _is_line(self.own, self.own_line, time)
        above = _is_line(self.high, self.high_line, start)
        total = self.own_at(time) + _lower(self.high, self.high_line, start)
        joint = self.line is not None and self.line[0] + self.line[1] * start < total
        slope = self.line[1] if joint else self.high_line[1] if above else 0
        return (held, joint, above, self.high.step(start) if self.high else 0), slope


def _lower(stairs, limit, time):
    if stairs is None:
        return limit[0] + limit[1] * time
    value = stairs.at(time)
    return value if limit is None else min(value, limit[0] + limit[1] * time)


def _is_line(stairs, limit, time):
    return limit is not None and (stairs is None or limit[0] + limit[1] * time < stairs.at(time))


class Busy:
    """The busy period of a class behind `base`, below those that go before it."""

    def __init__(self, base, own, high, unit=1):
        self.base, self.all, self.most = base << PLACES, own + high, HORIZON_MAX * unit
        parts, above = curves.groups(own), curves.groups(high)
        names = dict.fromkeys(list(parts) + list(above))
        self.parts = [(parts.get(name, []), above.get(name, [])) for name in names]
        self.horizon, self.left = first_horizon(self.all, base), LOOKS_MAX

    def look(self):
        self.levels = [Level(*pair, self.horizon) for pair in self.parts]
        times = {0, self.horizon}
        for level in self.levels:
            if level.own is not None:
                times.update(time for time in level.own.times if time < self.horizon)
        self.times = sorted(times)

    def waits(self, enough):
        """Returns the longest wait of packets with each of these services, or None; less than that if none
        waits longer than is enough."""
        tails = self.tails()
        # Below others, a server that is full is never done.
        if tails is None or sum(end[1] for end in tails) >= ONE:
            return None
        self.look()
        while (count := self.steps()) is None:
            if curves.count(self.all, 4 * self.horizon) > STEPS_MAX or self.horizon > self.most:
                return self.coarse(tails, enough)
            self.horizon *= 4
            self.look()
        return {cost: self.longest(count, cost, most) for cost, most in enough.items()}

    def coarse(self, tails, enough):
        """Returns the same where the busy period does not end before the horizon: beyond it, straight lines
        take the place of stairs."""
        (burst, rate), (above, rising) = tails
        count, found = self.known(min(enough)), {}
        for cost, most in enough.items():
            since = self.times[count]
            work = max(self.base - (cost << PLACES) + burst + rate * since + above, 0)
            rest = work // (ONE - rising) + 1 - since
            found[cost] = max(self.longest(count, cost, most) if count else 0, rest, 0)
        return found

    def tails(self):
        """Returns straight lines above the class and above those before it, or None."""
        sums = [[0, 0], [0, 0]]
        for own, high in self.parts:
            ends = [curves.tail(part) if part else (0, 0) for part in (own, high)]
            if None in ends:
                return None
            both = curves.line(own + high) if own and high else None
            if both is not None and both[1] < ends[0][1] + ends[1][1]:
                ends = [(0, 0), both]
            for total, end in zip(sums, ends):
                total[0] += end[0]
                total[1] += end[1]
        return sums

    def solve(self, time, cost, known):
        """Returns the least beginning of service, or a later one, of a packet that comes at `time`."""
        fixed, growing = self.base - (cost << PLACES), []
        for level in self.levels:
            own = level.own_at(time)
            if level.has_high:
                growing.append((level, own))
            else:
                fixed += own
        needed = lambda at: max(up(fixed + sum(level.work(own, at) for level, own in growing)), 0)
        start, below, stride, rounds = known, known - 1, 0, 0
        while (least := needed(start)) > start:
            self.left -= len(self.levels)
            if self.left < 0:
                raise Malformed(f"more than {LOOKS_MAX} looks at the arrivals at one server; split the plant")
            if least > self.horizon:
                return least
            if rounds > ROUNDS:
                stride = 2 * stride + 1000
            below, start, rounds = least - 1, max(least, start + stride), rounds + 1
        while start - below > 1:
            middle = (start + below) // 2
            if needed(middle) <= middle:
                start = middle
            else:
                below = middle
        return start

    def end(self, step):
        """Returns when all is served that came before the next step."""
        return self.solve(self.times[step + 1] - 1, 0, self.times[step])

    def steps(self):
        """Returns how many steps of the class a busy period has; None if it is not over."""
        step = 0
        while step + 1 < len(self.times):
            end = self.end(step)
            if end <= self.times[step + 1]:
                return step + 1
            step = bisect_left(self.times, end) - 1
        return None

    def known(self, cost):
        """Returns how many steps end before the horizon."""
        low, high = 0, len(self.times) - 1
        while low < high:
            middle = (low + high) // 2
            last = self.last(middle)
            if self.solve(last, cost, last) <= self.horizon:
                low = middle + 1
            else:
                high = middle
        return low

    def last(self, step):
        """Returns the last arrival of a step that may wait longest: with stairs alone, the first."""
        time = self.times[step]
        moves = any(
            level.line is not None or _is_line(level.own, level.own_line, time) for level in self.levels
        )
        return min(self.times[step + 1] - 1, self.end(step)) if moves else time

    def longest(self, count, cost, enough):
        """Returns the longest wait of packets that come in the first steps, if it is more than enough."""

        def at(time, known):
            return time, self.solve(time, cost, max(time, known))

        first = at(0, 0)
        last = at(self.last(count - 1), first[1])
        longest = max(first[1] - first[0], last[1] - last[0])
        spans = [(first[0] - last[1], first, last, 0, count)]
        for _ in range(SPLITS_MAX):
            if not spans or -spans[0][0] <= max(longest, enough):
                return longest
            _, first, last, start, end = heappop(spans)
            if end - start == 1:
                middle = self.split(first, last)
                if middle is None:
                    continue
                before = after = at(middle, first[1])
                step = end
            else:
                step = start + (end - start) // 2
                before = at(self.last(step - 1), first[1])
                after = at(self.times[step], before[1])
            for time, begin in (before, after):
                longest = max(longest, begin - time)
            heappush(spans, (first[0] - before[1], first, before, start, step))
            heappush(spans, (after[0] - last[1], after, last, start if step == end else step, end))
        return max([longest] + [-span[0] for span in spans])

    def split(self, first, last):
        """Returns an arrival between two; None if none of them waits longer than both."""
        if last[0] - first[0] <= 1:
            return None
        slope, is_same = 0, True
        for level in self.levels:
            one, rise = level.holding(*first)
            slope += rise
            is_same = is_same and one == level.holding(*last)[0]
        if is_same and (slope < ONE or (first[0] == first[1] and last[0] == last[1])):
            return None
        for level in self.levels:
            if level.own is not None and _is_line(level.own, level.own_line, first[0]):
                burst, rate = level.own_line
                meets = -(-(level.own.at(first[0]) - burst) // rate) if rate else last[0]
                for time in (meets - 1, meets):
                    if first[0] < time < last[0]:
                        return time
        return (first[0] + last[0]) // 2


def by_rate(base, own, high, unit=1):
    """Longest times of a class behind `base` work, below those that go before it, until all that was
    in front is done, less the work that each packet has itself (`load.own`)."""
    if not high:
        most = most_work(own, unit)
        return None if most is None else [max(base + most - load.own, 0) for load in own]
    costs = sorted({load.own for load in own})
    # A packet with more work of its own waits less by as much, or not at all.
    known = costs[::-(-len(costs) // COSTS_MAX)]
    smaller, enough = {cost: known[bisect_right(known, cost) - 1] for cost in costs}, {}
    for load in own:
        least = smaller[load.own]
        most = load.enough + load.own - least
        enough[least] = min(enough.get(least, most), most)
    found = Busy(base, own, high, unit).waits(enough)
    if found is None:
        return None
    return [max(found[smaller[load.own]] - (load.own - smaller[load.own]), 0) for load in own]


def behind(base, own, high):
    """Waits of a class behind `base` work, below those that go before it, without preemption: the
    lesser of what rates and what packets under way allow."""
    both = [found for found in (by_rate(base, own, high), stay(base, own, high)) if found is not None]
    return [min(each) for each in zip(*both)] if both else None


def arrival(queue, loads, server=None):
    """In order of arrival: what came before, and comes at the same moment, goes first."""
    return behind(0, loads, [])


def priority(queue, loads, server=None):
    """Strict priority: one packet of a lower queue may be in service, higher ones go first."""
    own = [load for load in loads if load.queue == queue]
    high = [load for load in loads if load.queue > queue]
    return behind(max((load.cost for load in loads if load.queue < queue), default=0), own, high)


def preemption(queue, loads, server=None):
    """A higher queue interrupts: from its arrival on until it is done a packet shares the server with
    what came before it in its queue and what comes in higher ones."""
    own = [load.but(own=0, enough=load.enough + load.cost) for load in loads if load.queue == queue]
    found = behind(0, own, [load for load in loads if load.queue > queue])
    return found and [max(most - load.cost, 0) for most, load in zip(found, own)]


def gap(queue, loads, server=None):
    """The gap of a flow: each frame leaves when the gap has passed since the one before."""
    found = []
    for load in loads:
        apart, burst, period, jitter = load.cost, load.burst, load.period, load.jitter
        if jitter is None or apart * burst > period:
            return None
        points = jitter // period + 1
        here = (points * burst - 1) * apart
        found.append(max(here, here + burst * apart - (points * period - jitter)))
    return found


def heavier(loads, extra, of=1):
    """Returns loads each of whose packets brings `extra / of` more work, rounded up."""
    more = -(-extra // of)
    return [load.but(cost=load.cost + more, ratio=load.ratio + -(-(more << PLACES) // max(load.spacing, 1)))
            for load in loads]


def lesser(one, other):
    """Returns the lesser of two waits of each packet; either may be unknown."""
    if one is None or other is None:
        return one or other
    return [min(both) for both in zip(one, other)]


def frames_in_turn(queue, loads, server):
    """Turns of a number of frames; a queue with the number zero goes before all turns."""
    turns, queues = server.turns, {load.queue for load in loads}
    first = [other for other in queues if not turns[other]]
    if queue in first or len(first) > 1:
        return priority(queue, loads) if first == [queue] and queue == max(queues) else None
    own = [load for load in loads if load.queue == queue]
    others = [load for load in loads if load.queue != queue]
    until_empty = behind(0, own, others)
    longest = {other: max(load.cost for load in others if load.queue == other)
               for other in queues if other != queue and other not in first}
    round_ = sum(turns[other] * most for other, most in longest.items())
    base = max(longest.values(), default=0) + round_ - round_ // turns[queue]
    above = [load for load in others if load.queue in first]
    return lesser(until_empty, behind(base, heavier(own, round_, turns[queue]), above))


def turns_of_octets(queue, loads, octet, turns):
    """Returns what other queues may bring before the first octet of a queue that takes turns with them,
    and for each of its octets besides, the work of what `loads` has."""

    def size(work):
        return work // octet - OVERHEAD

    def sizes(of):
        each = [(size(load.own), size(load.cost)) for load in loads if load.queue == of]
        ones = [most if least == most else 1 for least, most in each]
        return min(own[0] for own in each), max(own[1] for own in each), gcd(turns[of], *ones)

    quantum, (_, _, step), base, each = turns[queue], sizes(queue), 0, Fraction(0)
    for other in {load.queue for load in loads if load.queue != queue}:
        shortest, longest, grain = sizes(other)
        wire = octet * (shortest + OVERHEAD)
        base += -(-wire * (turns[other] * (quantum - step) + quantum * (longest - grain)) // (quantum * shortest))
        each += Fraction(wire * turns[other], quantum * shortest)
    return base, each


def octets_in_turn(queue, loads, server):
    """Turns of a number of octets, of which a queue keeps what its next frame does not fit into."""
    own = [load for load in loads if load.queue == queue]
    until_empty = behind(0, own, [load for load in loads if load.queue != queue])
    base, each = turns_of_octets(queue, loads, server.octet, [max(own, 1) for own in server.turns])
    more = []
    for load in own:
        extra = each * (load.cost // server.octet - OVERHEAD)
        more += heavier([load], extra.numerator, extra.denominator)
    return lesser(until_empty, behind(base, more, []))


#: Rules by their names in a certificate: each returns the waits of the loads of a queue, in their order.
RULES = {"arrival": arrival, "priority": priority, "preemption": preemption, "gap": gap,
         "frames": frames_in_turn, "octets": octets_in_turn}


def least_stay(base, own, high):
    """Returns the least `x` with all work of a window of length `x`, and what connections have under
    way, done within `x`; `None` without one."""
    parts = []
    for loads, is_class in ((own, True), (high, False)):
        for part in curves.groups(loads).values():
            held = [load for load in part if is_class and load.under_way]
            rest = [load for load in part if not (is_class and load.under_way)]
            most = sum(load.cost * load.under_way for load in held) << PLACES
            steps, limit = curves.bucket(rest), curves.line(part)
            if steps is None and limit is None:
                return None
            parts.append((most, rest if steps is not None else None, steps, limit))
    burst, rate = base << PLACES, 0
    for most, _, steps, limit in parts:
        ends = [end for end in ((most + steps[0], steps[1]) if steps else None, limit) if end]
        end = min(ends, key=lambda own: own[1])
        burst, rate = burst + end[0], rate + end[1]
    if rate >= ONE:
        return None

    def work(x):
        total = base << PLACES
        for most, rest, _, limit in parts:
            line = None if limit is None else limit[0] + limit[1] * x
            if rest is not None:
                stairs = most + (sum(load.work() * ((x + load.jitter) // load.period + 1)
                                     for load in rest) << PLACES)
                line = stairs if line is None else min(stairs, line)
            total += line
        return up(total)

    x = 0
    for _ in range(ROUNDS_MAX):
        least = work(x)
        if least <= x:
            return x
        x = least
    return burst // (ONE - rate) + 1


def stay(base, own, high):
    """Waits of a class of which some flows are limited by their packets under way."""
    if not any(load.under_way for load in own):
        return None
    # One of the class may be in service when the last packet that goes before it comes.
    base += max(load.cost for load in own) if high else 0
    found, known, total = least_stay(base, own, high), {}, 0
    for load in own:
        name = load.connection if load.connection is not None else ("alone", load.visit)
        if load.under_way:
            known.setdefault(name, []).append(load.cost * load.under_way)
    if any(len(both) > 1 for both in known.values()):
        # A segment or an acknowledgement for each of them, not both.
        total = sum(max(both) for both in known.values())
        rest = [load for load in own if not load.under_way]
        joint = least_stay(base + total, rest, high)
        found = joint if found is None else found if joint is None else min(found, joint)
    return None if found is None else [max(found - load.own, 0) for load in own]
