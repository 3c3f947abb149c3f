"""No packet of a queue that is run packet by packet waits longer than a rule says."""

import random
import unittest
from types import SimpleNamespace
from unittest import mock

from plants import RULES
from test_brute import ROUNDS, rate, releases
from rtether_verify import rules
from rtether_verify.curves import Load

QUEUES = 3


class Priority:
    def __init__(self, server, dice):
        pass

    def choose(self, waiting):
        return max(waiting)


class Arrival(Priority):
    def choose(self, waiting):
        return min(waiting, key=lambda queue: waiting[queue][0])


class Frames:
    """A turn of some frames; a queue without turns goes first."""

    def __init__(self, server, dice):
        self.turns, self.at, self.left = server.turns, dice.randrange(QUEUES), 0

    def choose(self, waiting):
        first = [queue for queue in waiting if not self.turns[queue]]
        if first:
            return max(first)
        while self.at not in waiting or not self.left:
            self.at = (self.at + 1) % QUEUES
            self.left = self.turns[self.at]
        self.left -= 1
        return self.at


class Octets:
    """A turn of some octets; what the next frame does not fit into is kept as long as frames wait."""

    def __init__(self, server, dice):
        self.turns, self.octet, self.at = server.turns, server.octet, dice.randrange(QUEUES)
        self.left = [0] * QUEUES

    def choose(self, waiting):
        self.left = [left if queue in waiting else 0 for queue, left in enumerate(self.left)]
        while self.at not in waiting or self.size(waiting) > self.left[self.at]:
            self.at = (self.at + 1) % QUEUES
            self.left[self.at] += self.turns[self.at] if self.at in waiting else 0
        self.left[self.at] -= self.size(waiting)
        return self.at

    def size(self, waiting):
        return waiting[self.at][0][-1] // self.octet - 20


def run(packets, server):
    """Returns the wait of each packet `(time, chance, load, queue, service)`."""
    packets, waiting, now, waits = sorted(packets)[::-1], {}, 0, []
    while packets or waiting:
        if not waiting:
            now = max(now, packets[-1][0])
        while packets and packets[-1][0] <= now:
            own = packets.pop()
            waiting.setdefault(own[3], []).append(own)
        queue = server.choose(waiting)
        time, _, load, _, service = waiting[queue].pop(0)
        if not waiting[queue]:
            del waiting[queue]
        waits.append((load, now - time))
        now += service
    return waits


class Queues(unittest.TestCase):
    def holds(self, rule, kind, seed, server, cost=0):
        """Random arrivals, together or not, never wait longer than the rule says, and some as long."""
        dice, tight = random.Random(seed), 0
        for at in range(ROUNDS):
            loads = []
            for number in range(dice.randrange(2, 5)):
                service, queue = dice.randrange(1, 9) + cost, dice.randrange(QUEUES)
                jitter = dice.choice((0, dice.randrange(60)))
                arrivals = service * dice.randrange(5, 9), dice.choice((1, 1, 2)), jitter
                loads.append(Load(number, service, arrivals, queue=queue))
            if rate(loads, []) > 0.9:
                continue
            made, bounds = server(dice), {}
            for queue in {load.queue for load in loads}:
                own = [load for load in loads if load.queue == queue or rule == "arrival"]
                # Times are short here.
                with mock.patch.object(rules, "FIRST", 100):
                    found = RULES[rule](queue, loads, made) or [None] * len(own)
                bounds.update((load.visit, most) for load, most in zip(own, found))
            longest = dict.fromkeys(bounds, 0)
            for _ in range(4):
                packets = []
                for load in loads:
                    start = dice.choice((20, 20, 19, dice.randrange(60)))
                    packets += [(start + time, dice.random(), load.visit, load.queue, load.cost)
                                for time in releases(load, 400) if dice.random() < 0.95]
                for load, wait in run(packets, kind(made, dice)):
                    longest[load] = max(longest[load], wait)
            for load, most in bounds.items():
                if most is not None:
                    self.assertLessEqual(longest[load], most, (at, load))
                    tight += longest[load] == most
        self.assertGreater(tight, 0)

    def test_in_order_of_arrival(self):
        self.holds("arrival", Arrival, 1, lambda dice: None)

    def test_priorities(self):
        self.holds("priority", Priority, 2, lambda dice: None)

    def test_turns_of_frames(self):
        self.holds("frames", Frames, 3, lambda dice: SimpleNamespace(
            turns=[dice.randrange(1, 4), dice.randrange(1, 4), dice.randrange(3)]))

    def test_turns_of_octets(self):
        self.holds("octets", Octets, 4, lambda dice: SimpleNamespace(
            octet=1, turns=[dice.randrange(1, 12) for _ in range(QUEUES)]), 20)


if __name__ == "__main__":
    unittest.main()
