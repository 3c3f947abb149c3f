"""Arrival curves: how much work a closed window of whole picoseconds may bring to a server.

Work is in picoseconds of service, in units of 2^-32. Curves that are equal for all that comes from one
server are a *group*: its stairs are `burst * (floor((t + jitter) / period) + 1)` packets for each visit,
its line is `longest + ratio * (t + slack)`, since all packets of a window but one were served there in it.
"""

from bisect import bisect_right

PLACES = 32
ONE = 1 << PLACES
#: Steps of stairs at one server at most; beyond, straight lines take their place.
STEPS_MAX = 1 << 16


class Load:
    """Arrivals of one visit. `jitter` is None where nothing limits them but the line; `under_way` is
    the most packets at once anywhere on their way, of a connection in both directions together."""

    __slots__ = ("visit", "queue", "cost", "own", "period", "burst", "jitter", "group", "ratio", "slack",
                 "spacing", "under_way", "connection", "enough", "due")

    def __init__(self, visit, cost, arrivals=None, **more):
        self.visit, self.queue, self.cost, self.own = visit, 0, cost, cost
        self.period, self.burst, self.jitter = arrivals or (1, 1, None)
        self.group, self.ratio, self.slack, self.spacing = None, 0, 0, 0
        # A rule need not look for what waits no longer than this.
        self.under_way, self.connection, self.enough, self.due = 0, None, 0, None
        self.set(**more)

    def set(self, **more):
        for name, value in more.items():
            setattr(self, name, value)

    def but(self, **more):
        """Returns the same with other values."""
        other = Load.__new__(Load)
        for name in self.__slots__:
            setattr(other, name, getattr(self, name))
        other.set(**more)
        return other

    def work(self):
        return self.cost * self.burst


def groups(loads):
    """Returns lists of loads that one server limits together; a load whose server does not is alone."""
    found = {}
    for load in loads:
        name = ("alone", load.visit) if load.group is None else load.group
        found.setdefault(name, []).append(load)
    return found


def line(loads):
    """Returns burst and rate of the line of a group, or None."""
    if loads[0].group is None:
        return None
    rate = max(load.ratio for load in loads)
    longest = max(load.cost for load in loads)
    return (longest << PLACES) + rate * max(load.slack for load in loads), rate


def bucket(loads):
    """Returns a straight line above the stairs of these loads, or None."""
    burst = rate = 0
    for load in loads:
        if load.jitter is None:
            return None
        own = -((-load.work() << PLACES) // load.period)
        burst += (load.work() << PLACES) + own * load.jitter
        rate += own
    return burst, rate


def tail(loads):
    """Returns whichever straight line of a group grows more slowly, or None."""
    known = [own for own in (bucket(loads), line(loads)) if own is not None]
    return min(known, key=lambda own: own[1]) if known else None


def is_overload(ends):
    """Returns whether lines grow faster than a server serves, even if rounding has made them steeper."""
    return sum(own[1] for own in ends) > ONE + (1 << 16)


class Stairs:
    """Sum of the stairs of some loads up to a horizon."""

    def __init__(self, loads, horizon):
        points = {}
        for load in loads:
            work, steps = load.work(), load.jitter // load.period + 1
            points[0] = points.get(0, 0) + work * steps
            time = steps * load.period - load.jitter
            while time <= horizon:
                points[time] = points.get(time, 0) + work
                time += load.period
        self.times, self.sums, total = sorted(points), [], 0
        for time in self.times:
            total += points[time]
            self.sums.append(total << PLACES)

    def at(self, time):
        step = bisect_right(self.times, time)
        return self.sums[step - 1] if step else 0

    def step(self, time):
        return bisect_right(self.times, time)


def count(loads, horizon):
    """Returns how many steps the stairs of these loads have up to a horizon, or more."""
    return sum(horizon // load.period + 2 for load in loads if load.jitter is not None)


def pieces(stairs, limit, horizon):
    """Returns the lower of stairs and line as pieces `(time, value, slope)`; either may be None."""
    if stairs is None:
        return [(0, *limit)]
    found = []
    ends = stairs.times[1:] + [horizon + 1]
    for time, total, end in zip(stairs.times, stairs.sums, ends):
        if limit is None or limit[0] + limit[1] * time >= total:
            found.append((time, total, 0))
            continue
        found.append((time, limit[0] + limit[1] * time, limit[1]))
        meets = -(-(total - limit[0]) // limit[1]) if limit[1] else end
        if meets < end:
            found.append((meets, total, 0))
    return found
