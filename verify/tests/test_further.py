"""Queues of end stations and idle slopes: by hand, and against stations that are run packet by packet."""

import random
import unittest
from collections import namedtuple
from unittest import mock

from plants import US, certificate, cost, flow, stack, star
from rtether_verify import further
from rtether_verify.check import check
from rtether_verify.curves import Load
from rtether_verify.plant import Receive, Transmit
from rtether_verify.reading import Malformed

Server = namedtuple("Server", "layer rate turns quanta octet", defaults=(None, 0, None, None, 1))
#: Random stations of each kind.
CASES = 40


def transmit(rule, classes, ring=4, high_from=None, sends_empty=False, idle=None, rings=1):
    high_from = classes - 1 if high_from is None else high_from
    return Server(Transmit(rule, [9] * classes, ring, high_from, sends_empty, idle, rings))


def receive(rule, classes, picks=0, idle=None, below_top=False):
    return Server(Receive(rule, 9, [9] * classes, picks, idle, below_top))


def loads(*of, period=10**6):
    """Returns one packet of each queue and service, every `period`."""
    return [Load(number, service, (period, 1, 0), queue=queue) for number, (queue, service) in enumerate(of)]


class ByHand(unittest.TestCase):
    def test_a_low_frame_enters_an_empty_ring(self):
        both = loads((0, 100), (1, 60))
        server = transmit("moderate", 2)
        # The high one waits for the low one, the low one for the high one.
        self.assertEqual([further.moderate(own, both, server)[0] for own in (0, 1)], [60, 100])
        # A ring that sends counts as empty: a frame in transmission, and the low one behind it.
        server = transmit("moderate", 2, sends_empty=True)
        self.assertEqual(further.moderate(1, both, server), [100 + 100])
        # Two high classes that fit the ring are one queue; else the other one goes first, however late.
        three = loads((0, 100), (1, 60), (2, 50))
        self.assertEqual(further.moderate(1, three, transmit("moderate", 3, 100, 1)), [100 + 50])
        often = loads((0, 100), (1, 60)) + [Load(2, 50, (90, 1, 0), queue=2)]
        self.assertEqual(further.moderate(1, often, transmit("moderate", 3, 2, 1)), [100 + 3 * 50])

    def test_a_high_frame_takes_a_low_one_along(self):
        both = [Load(0, 100, (10**6, 1, 0)), Load(1, 60, (10**6, 2, 0), queue=1)]
        # The first of two high frames, the low one behind it, and one alone after the idle release.
        self.assertEqual(further.strict(1, both, transmit("strict", 2, idle=10**5)), [100 + 60 + 100])
        self.assertEqual(further.strict(1, both, transmit("strict", 2)), [60 + 100])
        self.assertIsNone(further.strict(0, both, transmit("strict", 2)))
        # A full ring twice, and for itself the idle release and a high frame.
        low = further.strict(0, both, transmit("strict", 2, ring=3, idle=1000))
        self.assertEqual(low, [2 * 3 * 100 + 1000 + 60])

    def test_rings_by_hand(self):
        three = loads((0, 100), (1, 80), (2, 60))
        server = transmit("rings", 3, ring=2, rings=2)
        self.assertEqual(further.rings(2, three, server), [100])
        # All others once; by entry it would be a ring of two of 100, the higher ring and one more.
        self.assertEqual(further.rings(1, three, server), [100 + 60])
        # A ring of one is empty for a moment behind each frame: a lower one may go each time.
        two = [Load(0, 100, (10**6, 9, 0)), Load(1, 60, (10**6, 2, 0), queue=1)]
        self.assertEqual(further.rings(1, two, transmit("rings", 2, 1, rings=2)), [100 + 60 + 2 * 100])

    def test_directions_share_a_class(self):
        # Queues 0 and 1 are packets to be sent and received ones of the low class, 2 and 3 of the high one.
        four = loads((0, 10), (1, 20), (2, 30), (3, 40))
        server = receive("highest", 2)
        waits = [further.highest(own, four, server)[0] for own in range(4)]
        self.assertEqual(waits, [20 + 30 + 40, 10 + 30 + 40, 20 + 40, 20 + 30])

    def test_promotions_by_hand(self):
        two = [Load(0, 100, (10**6, 99, 0), queue=1), Load(1, 30, (10**6, 1, 0), queue=3)]
        # One low packet in service, one for the first round, and one for each three own ones.
        self.assertEqual(further.promoting(3, two, receive("promoting", 2, 4)), [2 * 100 + 34])
        sent = loads((0, 100), (2, 30))
        self.assertEqual(further.promoting(2, sent, receive("promoting", 2, 4)), [100])
        both = loads((0, 100), (3, 30))
        self.assertEqual(further.promoting(3, both, receive("promoting", 2, 4)), [100])

    def test_the_flag_by_hand(self):
        two = loads((1, 100), (3, 30))
        self.assertEqual(further.flag(3, two, receive("flag", 2)), [100])
        self.assertIsNone(further.flag(1, two, receive("flag", 2)))
        # Held back for the idle release before, and again behind the top packet.
        self.assertEqual(further.flag(1, two, receive("flag", 2, idle=500)), [500 + 30 + 500])
        # Below the top: a lower packet passes for each of the top, here none.
        self.assertEqual(further.flag(1, two, receive("flag", 2, idle=500, below_top=True)), [30 + 500 + 30])
        self.assertEqual(further.flag(3, two, receive("flag", 2, idle=500, below_top=True)), [100 + 100])
        # A packet to be sent waits for received ones that were held back, too.
        three = loads((1, 100), (2, 20), (3, 30))
        self.assertEqual(further.flag(2, three, receive("flag", 2, idle=500)), [100 + 30])

    def test_idle_slopes_by_hand(self):
        # Half of the time: a frame of 100 pays 50 more; behind one of 80 of the queue below it.
        server = Server(rate=10, turns=[0] * 7 + [5])
        two = [Load(0, 80, (10**6, 1, 0), queue=6), Load(1, 100, (10**6, 2, 0), queue=7)]
        self.assertEqual(further.credit(7, two, server), [80 + 1 + 200])
        # Below it half is left; its debt is 50, and one picosecond.
        self.assertEqual(further.credit(6, two, server), [2 * 51 + 1])
        # A slope below a queue without one: what that brings at once, and what it leaves.
        server = Server(rate=10, turns=[0] * 6 + [4, 0])
        two = [Load(0, 80, (1000, 1, 0), queue=7), Load(1, 100, (10**6, 1, 0), queue=6)]
        self.assertEqual(further.credit(6, two, server), [-(-80 * 1000 // 920) + 1])
        full = [Load(0, 80, (100, 1, 0), queue=7), Load(1, 100, (10**6, 1, 0), queue=6)]
        self.assertIsNone(further.credit(6, full, server))

    def test_turns_below_slopes_by_hand(self):
        # Queue 7 has half; below it two queues with one frame of 80 octets in a turn take turns.
        server = Server(rate=10, turns=[0] * 7 + [5], quanta=[80, 80] + [0] * 6)
        two = [Load(0, 100, (10**6, 1, 0), queue=0), Load(1, 100, (10**6, 9, 0), queue=1)]
        self.assertEqual(further.credit(0, two, server), [100 + 1])
        top = [*two, Load(2, 100, (10**6, 1, 0), queue=7)]
        # Its debt of 50 and a picosecond, at half the rate, then the other frame.
        self.assertEqual(further.credit(0, top, server), [2 * 51 + 1 + 200])
        # A queue without a slope above the turns goes first, once.
        more = [*top, Load(3, 100, (10**6, 1, 0), queue=5)]
        self.assertEqual(further.credit(0, more, server), [2 * 51 + 1 + 200 + 200])

    def test_what_is_due_first_by_hand(self):
        def due(*of):
            return [Load(at, service, (period, 1, 0), queue=1, due=due) for at, (service, period, due) in enumerate(of)]

        # The urgent one waits for one packet of the other, which waits for one urgent packet.
        two = due((1, 4, 2), (3, 10, 10))
        self.assertEqual(further.deadline(1, two, None), [3, 1])
        # A packet without a deadline may be in front; then a second urgent one comes before the other begins.
        lower = [*two, Load(2, 5, (100, 1, 0), queue=0)]
        self.assertEqual(further.deadline(1, lower, None), [5, 7])
        self.assertEqual(further.deadline(0, lower, None), [3 + 1 + 1])
        self.assertIsNone(further.deadline(1, due((5, 10, 2), (5, 10, 2)), None))
        self.assertIsNone(further.deadline(1, [Load(0, 5, queue=1, due=1)], None))

    def test_work_by_deadlines_has_a_limit(self):
        own = [Load(at, 8, (10_000 + at, 1, 0), queue=1, due=1 + at) for at in range(900)]
        with mock.patch.object(further, "TERMS_DUE", 10**6):
            with self.assertRaisesRegex(Malformed, "terms at one server by deadlines; split the plant"):
                further.deadline(1, own, None)

    def test_packets_under_way_do_not_count_at_a_slope(self):
        server = Server(rate=10, turns=[0] * 7 + [5])
        own = [Load(0, 10, queue=7, under_way=5)]
        self.assertIsNone(further.credit(7, own, server))


class Whole(unittest.TestCase):
    """Rules by way of a whole plant: which queue a packet is in, and how many each may hold."""

    LAYER = {"queue_of_pcp": [0, 0, 0, 0, 1, 1, 1, 1], "untagged": 0, "classes": [], "instances": None, "receive": None,
             "transmit": None}

    def plant(self, **layer):
        tag = {"pcp": 6, "vid": 0}
        flows = [flow("f", "a", "z", tag=tag), flow("g", "a", "z"), flow("h", "z", "a", tag=tag)]
        inside = {"a": {"layer": {**self.LAYER, **layer}, "stack": stack(cost(US))}}
        return star("az", flows, inside=inside)

    def delays(self, scenario, delays):
        result = check(certificate(scenario, delays))
        self.assertEqual(result.failures, [])
        return result.may_drop

    def test_queues_at_a_port(self):
        own = {"rule": "moderate", "limits": [1, 1], "ring": 4, "high_from": 1, "sends_empty": False,
               "idle": None, "rings": 1}
        least = {("f", "request", "port a:1"): 10_080_000, ("g", "request", "port a:1"): 10_400_000,
                 # The port of the switch gets both back to back, the longer one first.
                 "stack a both": 2 * US, ("g", "request", "port sw:2"): 4 * 80_000}
        for limits, may_drop in (([1, 1], []), ([0, 1], ["the transmit queue 0 of a"]),
                                 ([1, 0], ["the transmit queue 1 of a"])):
            scenario = self.plant(transmit={**own, "limits": limits})
            self.assertEqual(self.delays(scenario, least), may_drop)
        for key in list(least)[:2]:
            result = check(certificate(scenario, {**least, key: least[key] - 1}))
            self.assertEqual([(key[0], least[key])], [(bad.flow, bad.need) for bad in result.failures][:1])

    def test_queues_of_a_stack(self):
        own = {"rule": "highest", "input": 1, "limits": [1, 1], "picks": 0, "idle": None, "below_top": False}
        least = {("f", "request", "stack a both"): 2 * US, ("g", "request", "stack a both"): 2 * US,
                 ("h", "request", "stack a both"): 2 * US, ("f", "request", "port a:1"): US,
                 ("g", "request", "port a:1"): 20 * US, ("g", "request", "port sw:2"): 4 * 80_000}
        for more, may_drop in (({}, []), ({"limits": [0, 1]}, []), ({"limits": [1, 0]}, ["the receive queue 1 of a"]),
                               ({"input": 0}, ["the input of a"])):
            delays = {**least, ("f", "request", "port a:1"): 20 * US}
            self.assertEqual(self.delays(self.plant(receive={**own, **more}), delays), may_drop)


class Station:
    """Runs packets through a station, one time step after the other; returns how long each waits."""

    def __init__(self, own, sizes):
        self.own, self.classes, self.sizes, self.now = own, len(own.limits), sizes, 0
        self.waits = [0] * self.classes
        self.queues = [[] for _ in own.limits]

    def run(self, releases, until):
        pending, self.end, self.current = sorted(releases), 0, None
        while self.now < until:
            while pending and pending[0][0] <= self.now:
                time, queue = pending.pop(0)
                self.queues[queue].append(time)
                self.arrived(queue)
            if self.current is not None and self.end <= self.now:
                self.current = None
            self.step()
            self.now += 1
        return self.waits

    def arrived(self, queue):
        pass

    def begin(self, queue, since):
        self.waits[queue] = max(self.waits[queue], self.now - since)
        self.current, self.end = queue, self.now + self.sizes[queue]


class Moderate(Station):
    def __init__(self, own, sizes):
        super().__init__(own, sizes)
        self.ring = []

    def step(self):
        own = self.own
        busy = self.current is not None
        while True:
            room = own.ring - len(self.ring) - busy
            high = [queue for queue in range(self.classes - 1, own.high_from - 1, -1) if self.queues[queue]]
            low = [queue for queue in range(own.high_from - 1, -1, -1) if self.queues[queue]]
            empty = not self.ring and (not busy or own.sends_empty)
            if high and room > 0:
                self.ring.append((high[0], self.queues[high[0]].pop(0)))
            elif low and empty and room > 0:
                self.ring.append((low[0], self.queues[low[0]].pop(0)))
            elif not busy and self.ring:
                self.begin(*self.ring.pop(0))
                busy = True
            else:
                return


class Rings(Station):
    def __init__(self, own, sizes):
        super().__init__(own, sizes)
        self.held = [[] for _ in range(own.rings)]
        self.sends = None

    def step(self):
        own, common = self.own, self.classes - self.own.rings
        if self.current is None:
            self.sends = None
        while True:
            moved = False
            for queue in range(self.classes - 1, -1, -1):
                ring = max(queue - common, 0)
                taken = len(self.held[ring]) + (self.sends == ring)
                if self.queues[queue] and taken < own.ring:
                    self.held[ring].append((queue, self.queues[queue].pop(0)))
                    moved = True
                    break
            if not moved:
                break
        if self.current is None:
            for ring in range(own.rings - 1, -1, -1):
                if self.held[ring]:
                    self.sends = ring
                    self.begin(*self.held[ring].pop(0))
                    return self.step()


class Promoting(Station):
    def __init__(self, own, sizes):
        super().__init__(own, sizes)
        self.picked = 0
        self.levels = [[] for _ in own.limits]

    def arrived(self, queue):
        self.levels[queue].append((queue, self.queues[queue].pop(0)))

    def step(self):
        if self.current is not None:
            return
        for level in range(self.classes - 1, -1, -1):
            if self.levels[level]:
                self.begin(*self.levels[level].pop(0))
                self.picked += 1
                if self.own.picks and self.picked % self.own.picks == 0:
                    # From high to low, so that a packet rises one step.
                    for below in range(self.classes - 2, -1, -1):
                        if self.levels[below]:
                            self.levels[below + 1].append(self.levels[below].pop(0))
                return


class Due(Station):
    def step(self):
        waiting = [queue for queue in range(self.classes) if self.queues[queue]]
        if self.current is None and waiting:
            queue = min(waiting, key=lambda own: self.queues[own][0] + self.own.limits[own])
            self.begin(queue, self.queues[queue].pop(0))


class ByRunning(unittest.TestCase):
    """No packet of a random run waits longer than its rule says."""

    def runs(self, kind, rule, server_of, queue_of=lambda own: own, dues=False):
        dice, tight = random.Random(7), 0
        for case in range(CASES):
            classes = dice.choice([2, 3, 4])
            server = server_of(dice, classes)
            sizes = [dice.randrange(2, 12) for _ in range(classes)]
            periods = [dice.randrange(classes * 8, classes * 60) for _ in range(classes)]
            bursts = [dice.choice([1, 1, 2, 3]) for _ in range(classes)]
            if sum(size * burst / period for size, burst, period in zip(sizes, bursts, periods)) > 0.9:
                continue
            made = [Load(own, sizes[own], (periods[own], bursts[own], 0), queue=queue_of(own))
                    for own in range(classes)]
            if dues:
                server = receive("highest", classes)
                server.layer.limits[:] = [dice.randrange(1, 60) for _ in range(classes)]
                for load, due in zip(made, server.layer.limits):
                    load.due = due
            allowed = [rule(queue_of(own), made, server) for own in range(classes)]
            longest = [0] * classes
            for _ in range(6):
                phases = [dice.randrange(period) if dice.random() < 0.6 else 0 for period in periods]
                releases = [(phases[own] + step * periods[own], own) for own in range(classes)
                            for step in range(400 // periods[own] + 1) for _ in range(bursts[own])]
                waits = kind(server.layer, sizes).run(releases, 600)
                longest = [max(both) for both in zip(longest, waits)]
            for own in range(classes):
                if allowed[own] is not None:
                    # Those with a deadline share a queue.
                    most = allowed[own][own if dues else 0]
                    self.assertLessEqual(longest[own], most, (case, own, server, sizes, periods, bursts))
                    tight += longest[own] * 10 >= most * 9
        # A rule that is far from what happens would hide that it is wrong.
        self.assertGreater(tight, CASES // 10)

    def test_moderate(self):
        self.runs(Moderate, further.moderate, lambda dice, classes: transmit(
            "moderate", classes, dice.choice([1, 2, 3, 16]), dice.randrange(1, classes), dice.random() < 0.5))

    def test_due(self):
        self.runs(Due, further.deadline, lambda dice, classes: receive("highest", classes), lambda own: 1, True)

    def test_rings(self):
        self.runs(Rings, further.rings, lambda dice, classes: transmit(
            "rings", classes, dice.choice([1, 2, 4]), rings=dice.randrange(1, classes + 1)))

    def test_highest(self):
        self.runs(Promoting, further.highest, lambda dice, classes: receive("highest", classes),
                  lambda own: 2 * own + 1)

    def test_promoting(self):
        self.runs(Promoting, further.promoting, lambda dice, classes: receive(
            "promoting", classes, dice.choice([2, 3, 8])), lambda own: 2 * own + 1)


if __name__ == "__main__":
    unittest.main()
