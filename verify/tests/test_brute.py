"""The rules against what the page of the format says, tried out picosecond by picosecond, and against queues
that are run packet by packet."""

import math
import os
import random
import unittest
from fractions import Fraction
from math import ceil
from unittest import mock

import plants  # noqa: F401
from rtether_verify import rules
from rtether_verify.curves import ONE, Load

#: Random queues for each rule.
ROUNDS = 1000 if "RTETHER_NIGHTLY" in os.environ else 15


def groups(loads):
    found = {}
    for load in loads:
        found.setdefault(load.visit if load.group is None else load.group, []).append(load)
    return found


def stairs(loads, time):
    """Work that these loads bring in a closed window, in units of 2^-32; None without a limit."""
    if any(load.jitter is None for load in loads):
        return None
    return ONE * sum(load.cost * load.burst * ((time + load.jitter) // load.period + 1) for load in loads)


def line(loads, time):
    """Work by the line of their group, or None."""
    if loads[0].group is None:
        return None
    rate, slack = max(load.ratio for load in loads), max(load.slack for load in loads)
    return max(load.cost for load in loads) * ONE + rate * (time + slack)


def least(*known):
    return min(own for own in known if own is not None)


def arrived(loads, time):
    return sum(least(stairs(own, time), line(own, time)) for own in groups(loads).values())


def needed(base, own, high, time, start):
    """Work to be done before a packet that came at `time`, if it begins at `start`, with its own."""
    total, first, second = base * ONE, groups(own), groups(high)
    for name in {**first, **second}:
        one, other = first.get(name, []), second.get(name, [])
        work = (arrived(one, time) if one else 0) + (arrived(other, start) if other else 0)
        if one and other:
            work = least(work, line(one + other, start))
        total += work
    return -(-total // ONE)


def rate(own, high):
    """Share of the server that is taken in the long run."""
    total, first, second = 0, groups(own), groups(high)
    for name in {**first, **second}:
        parts = [part for part in (first.get(name), second.get(name)) if part]
        total += least(sum(map(share, parts)), share(sum(parts, []), True) if len(parts) == 2 else None)
    return total


def share(part, is_line=False):
    limit = max(load.ratio for load in part) / ONE if part[0].group is not None else None
    if is_line or any(load.jitter is None for load in part):
        return limit
    return least(sum(load.work() / load.period for load in part), limit)


def longest(base, own, high, cost):
    """The largest `s - t`; `t` runs to the end of the busy period. None without an end."""
    if rate(own, high) > 1:
        return None
    if base and not high:
        # What is in front shifts all: at some time nothing of the queue itself is left, and what comes from
        # then on waits as if it came first.
        return max(base + longest(0, own, [], 0) - cost, 0)
    start = most = time = done = 0
    while True:
        start = max(start, time)
        # It cannot begin before this.
        while (before := needed(base, own, high, time, start) - cost) > start:
            start = before
        most = max(most, start - time)
        done = max(done, time)
        while (before := needed(base, own, high, time, done)) > done:
            done = before
        if done <= time + 1:
            return most
        time += 1


def draw(dice, visit, queue, group=None):
    cost = dice.randrange(1, 9)
    load = Load(visit, cost, (dice.randrange(40, 90), dice.choice((1, 1, 3)), dice.choice((0, dice.randrange(60)))))
    load.set(queue=queue, own=cost - dice.choice((0, 0, dice.randrange(cost))), group=group)
    return load


def case(dice, queues):
    """Some loads, some of them behind servers that let no more through than a line."""
    names = [None, None, "one", "other"]
    loads = [draw(dice, at, dice.randrange(queues), dice.choice(names)) for at in range(dice.randrange(2, 6))]
    for name in ("one", "other"):
        # What takes a picosecond here takes a half, one, two or three there.
        over = dice.choice((0.5, 1, 2, 3))
        for load in loads:
            if load.group == name:
                load.spacing = max(int(load.cost * over), 1)
                load.set(ratio=-(-load.cost * ONE // load.spacing), slack=dice.randrange(5))
                if dice.random() < 0.2 and over > 1 and sum(own.group == name for own in loads) > 1:
                    load.jitter = None
    return loads


class Formulas(unittest.TestCase):
    def cases(self, seed, queues, rounds=ROUNDS):
        dice = random.Random(seed)
        for at in range(rounds):
            # Short first looks, so that most have to look again.
            with mock.patch.object(rules, "FIRST", dice.choice((1, 30, 100, 1000))):
                loads = case(dice, queues)
                while rate(loads, []) > 0.9:
                    loads = case(dice, queues)
                yield f"seed {seed}, case {at}", dice, loads

    def test_the_longest_wait_in_order_of_arrival(self):
        for name, dice, loads in self.cases(1, 1):
            base = dice.randrange(9)
            wanted = [longest(base, loads, [], load.own) for load in loads]
            self.assertEqual(rules.by_rate(base, loads, []), wanted, name)

    def test_the_longest_wait_below_others(self):
        for name, dice, loads in self.cases(2, 2):
            base = dice.randrange(9)
            own = [load for load in loads if load.queue == 0]
            high = [load for load in loads if load.queue == 1]
            if own:
                wanted = [longest(base, own, high, load.own) for load in own]
                self.assertEqual(rules.by_rate(base, own, high), wanted, name)
                # What is enough need not be found, but nothing above it is missed.
                for load in own:
                    load.set(enough=dice.choice((0, *wanted)))
                for load, found, most in zip(own, rules.by_rate(base, own, high), wanted):
                    enough = min(other.enough for other in own if other.own == load.own)
                    self.assertLessEqual(found, most, name)
                    self.assertTrue(found == most or most <= enough, name)

    def test_priorities(self):
        for name, _, loads in self.cases(3, 3):
            for queue in range(3):
                own = [load for load in loads if load.queue == queue]
                if own:
                    # The longest lower frame is in front.
                    base = max([load.cost for load in loads if load.queue < queue] + [0])
                    high = [load for load in loads if load.queue > queue]
                    wanted = [longest(base, own, high, load.own) for load in own]
                    self.assertEqual(rules.priority(queue, loads), wanted, name)

    def test_preemption(self):
        for name, _, loads in self.cases(4, 2):
            for queue in range(2):
                own = [load for load in loads if load.queue == queue]
                if own:
                    done = longest(0, own, [load for load in loads if load.queue > queue], 0)
                    wanted = [max(done - load.cost, 0) for load in own]
                    self.assertEqual(rules.preemption(queue, loads), wanted, name)

    def test_packets_under_way(self):
        for name, dice, loads in self.cases(5, 2):
            own = [load for load in loads if load.queue == 0]
            high = [load for load in loads if load.queue == 1 and load.jitter is not None]
            for load in own:
                if dice.random() < 0.7:
                    load.set(under_way=dice.randrange(1, 4), connection=dice.choice((None, 7, 7, 8)))
            base = dice.randrange(9)
            if not any(load.under_way for load in own):
                self.assertIsNone(rules.stay(base, own, high), name)
                continue
            wanted = [max(stay(base, own, high) - load.own, 0) for load in own]
            self.assertEqual(rules.stay(base, own, high), wanted, name)
            # Either limit holds.
            rated = rules.by_rate(base, own, high)
            self.assertEqual(rules.behind(base, own, high), [min(both) for both in zip(rated, wanted)], name)

    def test_turns_of_frames(self):
        for name, dice, loads in self.cases(6, 3):
            # A queue without turns goes before all others.
            turns = [dice.randrange(1, 4), dice.randrange(1, 4), dice.randrange(3)]
            server = mock.Mock(turns=turns)
            for queue in {load.queue for load in loads}:
                own = [load for load in loads if load.queue == queue]
                others = [load for load in loads if load.queue != queue]
                costs, first = {}, [load for load in others if not turns[load.queue]]
                if not turns[queue]:
                    base = max([load.cost for load in others] + [0])
                    wanted = [longest(base, own, [], load.own) for load in own]
                    self.assertEqual(rules.frames_in_turn(queue, loads, server), wanted, name)
                    continue
                for load in others:
                    if load in first:
                        continue
                    costs[load.queue] = max(costs.get(load.queue, 0), load.cost)
                all_turns = sum(turns[other] * cost for other, cost in costs.items())
                more = -(-all_turns // turns[queue])
                base = max([*costs.values(), 0]) + all_turns - all_turns // turns[queue]
                if 0.9 < rate([heavier(load, more) for load in own], first) <= 1:
                    continue
                wanted = in_turn(own, others, base, [more] * len(own), first)
                self.assertEqual(rules.frames_in_turn(queue, loads, server), wanted, name)

    def test_turns_of_octets(self):
        for name, dice, loads in self.cases(7, 3, ROUNDS // 3):
            octet, given = dice.choice((1, 3)), [dice.randrange(9) for _ in range(3)]
            turns = [max(own, 1) for own in given]
            for load in loads:
                # Frames take 20 octets besides their own.
                load.set(cost=load.cost + 20, own=max(load.own, 1) + 20)
                load.set(cost=load.cost * octet, own=load.own * octet, period=load.period * 6)
            server = mock.Mock(turns=given, octet=octet)
            for queue in {load.queue for load in loads}:
                own = [load for load in loads if load.queue == queue]
                others = [load for load in loads if load.queue != queue]
                (_, _, grain), each, base = sizes(own, octet, turns[queue]), Fraction(0), 0
                for other in {load.queue for load in others}:
                    of = [load for load in others if load.queue == other]
                    short, long, step = sizes(of, octet, turns[other])
                    on_wire, quotient = Fraction(short + 20, short), Fraction(turns[other], turns[queue])
                    each += quotient * on_wire
                    base += ceil(octet * (quotient * (turns[queue] - grain) + long - step) * on_wire)
                more = [ceil((load.cost - 20 * octet) * each) for load in own]
                if sum(own.work() / own.period for own in loads) < 0.8:
                    wanted = in_turn(own, others, base, more)
                    self.assertEqual(rules.octets_in_turn(queue, loads, server), wanted, name)

    def test_gaps(self):
        dice = random.Random(8)
        for _ in range(ROUNDS):
            period, burst = dice.randrange(10, 40), dice.randrange(1, 4)
            load = Load(0, dice.randrange(1, period // burst + 1), (period, burst, dice.randrange(120)))
            free = most = 0
            for time in releases(load, 2000):
                # A frame leaves at once or when the gap of the one before has passed.
                most = max(most, free - time)
                free = max(free, time) + load.cost
            self.assertEqual(rules.gap(0, [load]), [most])


def sizes(loads, octet, turn):
    """Shortest and longest frame of a queue, and what divides turn and sizes."""
    short = [load.own // octet - 20 for load in loads]
    long = [load.cost // octet - 20 for load in loads]
    grain = math.gcd(turn, *short) if short == long else 1
    return min(short), max(long), grain


def heavier(load, extra):
    """More work in each packet, and in each service at the server before."""
    ratio = load.ratio + -(-extra * ONE // load.spacing) if load.group is not None else 0
    return load.but(cost=load.cost + extra, ratio=ratio)


def in_turn(own, others, base, more, first=()):
    """The lesser of the waits until all others are empty, and with a share of what is left by the first."""
    heavy = [heavier(load, extra) for load, extra in zip(own, more)]
    return [least(longest(0, own, others, load.own), longest(base, heavy, list(first), load.own)) for load in own]


def releases(load, until):
    """Packets as close together as the curve allows."""
    found, step = [], 0
    while max(step * load.period - load.jitter, 0) < until:
        found += [max(step * load.period - load.jitter, 0)] * load.burst
        step += 1
    return found


def stay(base, own, high):
    """The least `x = b + C + o(x) + h(x)`: of each connection the larger direction, if that is less."""
    base += max(load.cost for load in own) if high else 0
    rest = [load for load in own if not load.under_way]
    held = [load for load in own if load.under_way]
    shared = {}
    for load in held:
        name = load.visit if load.connection is None else ("connection", load.connection)
        shared[name] = max(shared.get(name, 0), load.cost * load.under_way)

    def by_groups(x):
        total = 0
        for part in groups(own).values():
            count = stairs([load for load in part if not load.under_way], x)
            if count is not None:
                count += ONE * sum(load.cost * load.under_way for load in part if load.under_way)
            total += least(count, line(part, x))
        return total

    both = lambda x: ONE * sum(shared.values()) + arrived(rest, x)
    found = []
    for work in [by_groups] + ([both] if len(shared) < len(held) else []):
        x = 0
        while base * ONE + work(x) + arrived(high, x) > x * ONE:
            x += 1
        found.append(x)
    return min(found)


if __name__ == "__main__":
    unittest.main()
