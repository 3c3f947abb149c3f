"""Each rule against arithmetic by hand; what is one picosecond below is rejected.

A frame of 60 octets over UDP has 106 octets, 126 with preamble and gap: 10.08 us at 100 Mbit/s. One of
1472 has 1518, 1538 on the wire: 123.04 us.
"""

import unittest
from unittest import mock

from plants import (MS, US, bounds, certificate, check, claim_of, cost, flow, link, periodic, plant, port,
                    stack, star, station, switch)
from rtether_verify import curves, limits, rules
from rtether_verify.curves import ONE, Load
from rtether_verify.reading import Malformed

SMALL, LARGE = 10_080_000, 123_040_000


class Rule(unittest.TestCase):
    def holds(self, scenario, delays, waits=()):
        """The delays are accepted, and each that is not zero is rejected if it is lowered by one."""
        document = certificate(scenario, delays, waits)
        found = bounds(document)
        for key, delay in delays.items():
            less = certificate(scenario, {**delays, key: delay - 1}, waits)
            place = key if isinstance(key, str) else key[2]
            result = check(less)
            self.assertTrue(result.failures, f"{key} of {delay} is not needed")
            self.assertTrue(all(place.split()[0] == own.visit.server[0] for own in result.failures if own.visit))
        return found


class Arrival(Rule):
    def test_frames_of_three_links_meet(self):
        flows = [flow(name, name, "z") for name in "abc"]
        found = self.holds(star("abcz", flows), {"port sw:4": 2 * SMALL})
        # Two links of 114 octets each, and the wait.
        self.assertEqual(found, [2 * 9_120_000 + 2 * SMALL] * 3)

    def test_frames_of_one_link_keep_their_distance(self):
        flows = [flow("f", "a", "z"), flow("g", "a", "z"), flow("h", "b", "z")]
        # Behind the link of `a` there is one of its frames at a time, and one of `b`.
        self.holds(star("abz", flows), {"port a:1": SMALL, "port sw:3": SMALL})

    def test_a_slower_link_lets_fewer_through(self):
        flows = [flow("f", "a", "z"), flow("g", "a", "z"), flow("h", "b", "z")]
        scenario = star("abz", flows, rates={"a": 10_000_000})
        self.holds(scenario, {"port a:1": 10 * SMALL, "port sw:3": SMALL})

    def test_jitter_brings_a_second_frame(self):
        flows = [flow("f", "a", "z", traffic=periodic(20 * US, 15 * US)), flow("g", "b", "z")]
        # At once only one comes by the link of `a`; in front of it stands the one of `b`. In a window of
        # 5 us the second of `a` waits at its port for all but 5 us of the first.
        delays = {"port a:1": SMALL - 5 * US, "port sw:3": SMALL}
        self.holds(star("abz", flows), delays)

    def test_fragments_come_together(self):
        # 1473 octets: a frame of 1518 and one of 64, which counts as long but stands behind the first.
        own = flow("f", "a", "z", payload=1473)
        self.holds(star("az", [own]), {"port a:1": 2 * LARGE - 84 * 80_000, "port sw:2": LARGE - 84 * 80_000})

    def test_copies_for_a_list_leave_in_order(self):
        own = flow("f", "a", "x", "y", "z")
        scenario = star("axyz", [own])
        document = certificate(scenario, {"port a:1": 2 * SMALL})
        for at, wait in enumerate((0, SMALL, 2 * SMALL)):
            document["flows"][0]["visits"][2 * at]["delay"] = wait
        result = check(document)
        self.assertEqual([own.why for own in result.failures], [])
        document["flows"][0]["visits"][2]["delay"] = SMALL - 1
        self.assertEqual(check(document).failures[0].need, SMALL)

    def test_a_group_is_one_frame(self):
        own = flow("f", "a", "y", "z", multicast=True)
        other = flow("g", "b", "z")
        self.holds(star("abyz", [own, other]), {"port sw:4": SMALL})

    def test_cut_through_begins_behind_the_header(self):
        scenario = star("az", [flow("f", "a", "z")], cut_through=True)
        # 22 octets of the first link, 114 of the second.
        self.assertEqual(self.holds(scenario, {}), [(22 + 114) * 80_000])
        faster = star("az", [flow("f", "a", "z")], cut_through=True, rates={"z": 1_000_000_000})
        self.assertEqual(self.holds(faster, {}), [114 * 80_000 + 114 * 8_000])

    def test_a_server_that_is_full_may_be_done(self):
        # Two frames in each 20.16 us, the whole capacity.
        flows = [flow(name, name, "z", traffic=periodic(2 * SMALL)) for name in "ab"]
        self.holds(star("abz", flows), {"port sw:3": SMALL})


class Priority(Rule):
    MAP = [0, 0, 0, 0, 1, 1, 1, 1]

    def star(self, flows, names="abcz"):
        return star(names, flows, lambda: port(selection="priority"), queue_of_pcp=self.MAP)

    def test_one_lower_frame_is_in_front_and_higher_ones_go_first(self):
        high = [flow(name, name, "z", tag={"pcp": 6, "vid": 0}) for name in "ab"]
        low = flow("c", "c", "z", payload=1472)
        small = SMALL + 4 * 80_000
        self.holds(self.star(high + [low]), {
            ("a", "request", "port sw:4"): LARGE + small,
            ("b", "request", "port sw:4"): LARGE + small,
            ("c", "request", "port sw:4"): 2 * small,
        })

    def test_every_instance_of_a_busy_period_counts(self):
        # Davis, Burns, Bril and Lukkien 2007: periods 25, 35, 35, services 10: the second waits longest.
        low = Load(0, 10, (35, 1, 0), queue=0)
        high = [Load(1, 10, (35, 1, 0), queue=1), Load(2, 10, (25, 1, 0), queue=2)]
        self.assertEqual(rules.priority(0, [low] + high), [25])

    def test_a_line_holds_both_classes_back(self):
        # From one link: its line lets one packet of 10 through at once, and another each 10.
        line = {"group": "link", "ratio": ONE, "slack": 0}
        own, high = (Load(at, 10, (1000, 1, 0), queue=at, **line) for at in (0, 1))
        self.assertEqual(rules.priority(0, [own, high]), [0])
        self.assertEqual(rules.priority(0, [own.but(group=None), high.but(group=None)]), [10])

    def test_preemption_by_hand(self):
        # A packet of 10 is interrupted by two of 4 every 12: done at 10 + 4 * 2 = 18.
        low, high = Load(0, 10, (100, 1, 0), queue=0), Load(1, 4, (12, 1, 0), queue=1)
        self.assertEqual(rules.preemption(0, [low, high]), [8])
        self.assertEqual(rules.preemption(1, [low, high]), [0])


class Bounded(unittest.TestCase):
    """Work that no plant may exceed, however dense its packets are."""

    def test_overload_is_seen_before_any_stairs(self):
        loads = [Load(at, 1, (1, 1, 0), queue=at % 2) for at in range(100)]
        with mock.patch.object(curves, "Stairs", side_effect=AssertionError):
            self.assertIsNone(rules.priority(0, loads))
            self.assertIsNone(rules.arrival(0, loads))

    def test_a_packet_each_picosecond_makes_few_steps(self):
        # Packets that take no time are no overload; 30 of work are done within the first 61.
        loads = [Load(at, 0, (1, 1, 0), queue=at % 2) for at in range(200)]
        loads += [Load(200, 10, (100, 1, 0), queue=0), Load(201, 20, (100, 1, 0), queue=1)]
        made, stairs = [], curves.Stairs

        def count(*own):
            made.append(stairs(*own))
            return made[-1]

        with mock.patch.object(curves, "Stairs", count), mock.patch.object(rules, "STEPS_MAX", 20_000):
            own, high = loads[0:201:2], loads[1:200:2] + loads[201:]
            self.assertEqual(rules.by_rate(0, own, high), [30] * 100 + [20])
            self.assertEqual(rules.by_rate(0, loads, []), [30] * 200 + [20, 10])
        self.assertLessEqual(sum(len(own.times) for own in made), 2 * 20_000)

    def test_looks_at_one_server_have_a_limit(self):
        loads = [Load(at, 3, (10, 1, at), queue=at) for at in range(3)]
        with mock.patch.object(rules, "LOOKS_MAX", 2):
            with self.assertRaisesRegex(Malformed, "more than 2 looks at the arrivals at one server; split the plant"):
                rules.priority(0, loads)


class Coarse(unittest.TestCase):
    """Where a look would take too many steps, a straight line takes the place of stairs: never less."""

    def limited(self, **more):
        return mock.patch.multiple(rules, FIRST=1, **more)

    def test_how_far_to_look_first(self):
        # 20 of work and 3 in front, twice; 46 // 4 + 2 = 13 steps, 7 in half of it, 3 in 5.
        loads = [Load(0, 10, (4, 2, 0))]
        for steps, found in ((13, 46), (12, 23), (7, 23), (6, 11), (3, 5), (2, 2), (1, 1)):
            with self.limited(STEPS_MAX=steps):
                self.assertEqual(rules.first_horizon(loads, 3), found)
        with mock.patch.object(rules, "FIRST", 47):
            self.assertEqual(rules.first_horizon(loads, 3), 47)

    def test_sums_of_pieces(self):
        first = ((0, 5 * ONE, 0), (0, 0, 0))
        # 5 at once are done before the next 5 come at 10, not before 10 of them come at 5.
        self.assertEqual(rules._sweep([((10, 10 * ONE, 0), first[0]), first], 20), (5 * ONE, True))
        self.assertEqual(rules._sweep([first, ((4, 15 * ONE, 0), first[0])], 20), (11 * ONE, True))
        # 2 and half of the time; what has grown to 3.5 at 3 is done before 4.
        rising = ((0, 2 * ONE, ONE // 2), (0, 0, 0))
        self.assertEqual(rules._sweep([rising, ((4, 9 * ONE, 0), rising[0])], 20), (2 * ONE, True))
        # Twice the time: at 3 there are 8, less 3; at 4 both end. 8 - 4 are left for 5 to 8.
        steep = ((0, 2 * ONE, 2 * ONE), (0, 0, 0))
        self.assertEqual(rules._sweep([steep, ((4, 8 * ONE, 0), steep[0])], 20), (5 * ONE, True))
        # What comes behind the horizon does not count.
        late = [((0, 30 * ONE, 0), (0, 0, 0)), ((25, 60 * ONE, 0), (0, 30 * ONE, 0))]
        self.assertEqual(rules._sweep(late, 20), (30 * ONE, False))
        self.assertEqual(rules._sweep(late, 24), (30 * ONE, False))
        self.assertEqual(rules._sweep(late, 25), (35 * ONE, False))
        self.assertEqual(rules._sweep(late, 60), (35 * ONE, True))
        self.assertEqual(rules._sweep(late, 59), (35 * ONE, False))

    def test_in_order_of_arrival(self):
        # 10 every 11, 5 early: 10 at once, 20 at 6, so that 14 are there; the line has 10 + 5 * 10 / 11.
        loads = [Load(0, 10, (11, 1, 5))]
        with self.limited(STEPS_MAX=1):
            self.assertEqual(rules.most_work(loads), 15)
        with self.limited():
            self.assertEqual(rules.most_work(loads), 14)
        # Up to 38 there are 54 and 100; the lines have 54 + 19 * 54 / 60 + 100, less a tenth of 38: 167.3.
        long = [Load(0, 54, (60, 1, 19)), Load(1, 100, (10**6, 1, 0))]
        with self.limited(STEPS_MAX=4):
            self.assertEqual(rules.most_work(long), 168)
        # Two and a bit later, at 41, there are 208 less 41.
        self.assertEqual(rules.most_work(long), 167)
        # Found at once: 11 packets. Within 80, less than the 110 have gone.
        loads = [Load(0, 10, (11, 1, 110))]
        with self.limited(STEPS_MAX=20):
            self.assertEqual(rules.most_work(loads), 110)
        self.assertEqual(rules.most_work([]), 0)
        self.assertIsNone(rules.most_work([Load(0, 10)]))

    def test_a_server_that_is_full(self):
        # Twice 5 in 10: 10 at once, and never less at each step.
        both = [Load(at, 5, (10, 1, 0)) for at in range(2)]
        self.assertEqual(rules.most_work(both), 10)
        early = [Load(at, 5, (10, 1, 5)) for at in range(2)]
        # Early by 5, they are three behind for ever, never more.
        self.assertEqual(rules.most_work(early), 15)
        # One link at full rate: one packet, and the line never falls.
        line = Load(0, 7, group="link", ratio=ONE, slack=3)
        self.assertEqual(rules.most_work([line]), 7 + 3)
        self.assertIsNone(rules.most_work([line, Load(1, 1, (10**15, 1, 0))]))
        self.assertIsNone(rules.most_work([line.but(ratio=ONE + (1 << 17))]))

    def test_below_others(self):
        own, high = [Load(0, 10, (40, 1, 0))], [Load(1, 10, (40, 1, 0))]
        with self.limited(STEPS_MAX=1):
            # 10 of the higher one; lines of a quarter each: 10 / (1 - 1 / 4), and one.
            self.assertEqual(rules.by_rate(0, own, high), [14])
            # (5 - 10 + 10 + 10) / (3 / 4) and one.
            self.assertEqual(rules.by_rate(5, own, high), [21])
            # Less than nothing is none: 0 - 10 + 1 + 1 would be below zero.
            self.assertEqual(rules.by_rate(0, [Load(0, 1, (40, 1, 0), own=10)], [Load(1, 1, (40, 1, 0))]), [0])
        with self.limited():
            self.assertEqual(rules.by_rate(0, own, high), [10])

    def test_below_others_with_some_steps(self):
        # Five steps are within 20: the first packet is known to wait for 15. Those from 20 on find
        # -10 + 10 + 15 + 20 / 4 in front: 20 / (5 / 8) + 1 - 20 = 13.
        own, high = [Load(0, 10, (40, 1, 0))], [Load(1, 15, (40, 1, 0))]
        with self.limited(STEPS_MAX=5):
            self.assertEqual(rules.by_rate(0, own, high), [15])
            # Behind 40 not even the first is known: (40 - 10 + 10 + 15) / (5 / 8) and one.
            self.assertEqual(rules.by_rate(40, own, high), [89])
            # A second one comes at 1 and waits for 24; beyond 25 there may be
            # -10 + 10 + 39 / 4 + 25 / 4 + 15 = 31: 49 + 1 - 25.
            early = [Load(0, 10, (40, 1, 39))]
            self.assertEqual(rules.by_rate(0, early, high), [25])
        self.assertEqual(rules.by_rate(0, early, high), [24])

    def test_the_lesser_of_two_waits(self):
        self.assertEqual(rules.lesser([3, 7], [5, 4]), [3, 4])
        self.assertEqual((rules.lesser(None, [5]), rules.lesser([5], None), rules.lesser(None, None)), ([5], [5], None))

    def test_full_below_others(self):
        own, high = [Load(0, 10, (20, 1, 0))], [Load(1, 10, (20, 1, 0))]
        # A higher packet comes at the end of each two.
        self.assertIsNone(rules.by_rate(0, own, high))
        self.assertEqual(rules.by_rate(0, own, [Load(1, 9, (20, 1, 0))]), [9])
        self.assertIsNone(rules.by_rate(0, own, [Load(1, 11, (20, 1, 0))]))
        self.assertIsNone(rules.by_rate(0, own, [Load(1, 1)]))
        self.assertIsNone(rules.by_rate(0, [Load(0, 1)], high))
        self.assertIsNone(rules.preemption(0, [Load(0, 1), *high]))

    def test_lines_above_a_class_and_those_before_it(self):
        line = {"group": "link", "slack": 4}
        own, high = [Load(0, 10, (40, 1, 8))], [Load(2, 8, (32, 1, 0))]
        self.assertEqual(rules.Busy(0, own, high).tails(), [[12 * ONE, ONE // 4], [8 * ONE, ONE // 4]])
        steep = [Load(1, 6, (8, 1, 0), ratio=ONE // 4, **line)], [Load(3, 7, (8, 1, 0), ratio=ONE // 8, **line)]
        # Each has a line of its own, a quarter and an eighth; both together one of a quarter.
        self.assertEqual(rules.Busy(0, *steep).tails(), [[0, 0], [8 * ONE, ONE // 4]])
        self.assertIsNone(rules.Busy(0, [Load(0, 1)], high).tails())
        self.assertIsNone(rules.Busy(0, own, [Load(0, 1)]).tails())

    def test_many_rounds_towards_a_beginning(self):
        # 100 in front, and 1 of each 2 higher: 101 + s // 2 <= s first at 201.
        own, high = [Load(0, 10, (10**6, 1, 0))], [Load(1, 1, (2, 1, 0))]
        for rounds in (0, 1, 4096):
            with mock.patch.object(rules, "ROUNDS", rounds):
                self.assertEqual(rules.by_rate(100, own, high), [201])

    def test_many_costs(self):
        # 1 to 20, and 5 of a higher class: each waits for all but itself.
        own = [Load(at, at, (10**6, 1, 0)) for at in range(1, 21)]
        high = [Load(0, 5, (10**6, 1, 0))]
        self.assertEqual(rules.by_rate(0, own, high), [210 + 5 - at for at in range(1, 21)])
        # Claims are of the packet with the least service of a class.
        enough = [load.but(enough=214 - at) for at, load in enumerate(own)]
        self.assertTrue(all(most <= load.enough for most, load in zip(rules.by_rate(0, enough, high), enough)))
        self.assertEqual(rules.by_rate(0, [load.but(enough=load.enough - 2) for load in enough], high)[0], 214)

    def test_rounds_towards_a_stay(self):
        own = [Load(0, 10, under_way=2), Load(1, 3, (30, 1, 0))]
        high = [Load(2, 4, (20, 1, 0))]
        # 5 + 20 + 3 + 4 = 32, then 39 with a second of each, which is all. Else 32 / (1 - 0.1 - 0.2), and one.
        for rounds, found in ((1, 46), (2, 46), (3, 39), (1024, 39)):
            with mock.patch.object(rules, "ROUNDS_MAX", rounds):
                self.assertEqual(rules.least_stay(5, own, high), found)
        # The rate is exact: twice 2^40 and 5, and one.
        with mock.patch.object(rules, "ROUNDS_MAX", 0):
            large = [Load(0, 1 << 40, under_way=1), Load(1, 5, (10, 1, 0))]
            self.assertEqual(rules.least_stay(0, large, []), 2 * ((1 << 40) + 5) + 1)
        self.assertIsNone(rules.least_stay(5, own, [Load(2, 4)]))
        self.assertIsNone(rules.least_stay(5, own, [Load(2, 20, (20, 1, 0))]))
        # A line of their link, which grows by half.
        line = {"group": "link", "ratio": ONE // 2, "slack": 0}
        self.assertEqual(rules.least_stay(0, [Load(0, 10, under_way=9, **line)], []), 20)
        with mock.patch.object(rules, "ROUNDS_MAX", 1):
            self.assertEqual(rules.least_stay(0, [Load(0, 10, under_way=9, **line)], []), 90 // 1 + 1)


class Turns(Rule):
    @staticmethod
    def waits(rule, turns, loads):
        """One octet takes one picosecond; frames of `octets`, `burst` at once."""
        server = type("Server", (), {"turns": turns + [1] * (8 - len(turns)), "octet": 1})
        made = [Load(at, octets + 20, (10**6, burst, 0), queue=at) for at, (octets, burst) in enumerate(loads)]
        return [rule(at, made, server)[0] for at in range(len(loads))]

    def test_turns_of_octets_by_hand(self):
        waits = lambda turns, loads: self.waits(rules.octets_in_turn, turns, loads)
        # A quantum is a frame: one frame of the other queue for each of one's own.
        self.assertEqual(waits([1500, 1500], [(1500, 1), (1500, 100)])[0], 1520)
        self.assertEqual(waits([1500, 1500], [(1500, 2), (1500, 100)])[0], 1520 + 2 * 1520)
        # Half a frame takes two turns; the other may have kept 500 octets: two frames in its turn.
        self.assertEqual(waits([750, 1500], [(1500, 1), (1500, 100)])[0], 2 * 1520)
        self.assertEqual(waits([1500, 1500], [(1500, 1), (1000, 100)])[0], 2 * 1020)
        self.assertEqual(waits([64, 1500], [(1500, 1), (1500, 1)]), [1520, 1520])

    def test_turns_of_frames_by_hand(self):
        waits = lambda turns, loads: self.waits(rules.frames_in_turn, turns, loads)
        # A frame that an idle port took without a turn, and a turn of two.
        self.assertEqual(waits([1, 2], [(80, 1), (80, 100)])[0], 3 * 100)
        # Two own frames in one turn: the second waits for the first too, and half a round more.
        self.assertEqual(waits([2, 2], [(80, 2), (80, 100)])[0], 100 + 100 + 200 - 100 + 2 * 100)
        made = [Load(at, 10, (10**6, 1, 0), queue=at) for at in range(3)]
        of = lambda queue, *turns: rules.frames_in_turn(queue, made, mock.Mock(turns=turns))
        # Two such queues, or one that is not the highest, have no rule.
        self.assertEqual([of(queue, 0, 1, 0) for queue in range(3)], [None] * 3)
        self.assertIsNone(of(0, 0, 1, 1))
        self.assertIsNotNone(of(1, 0, 1, 1))
        # A queue with the number zero goes first, behind one frame.
        self.assertEqual(waits([1, 1, 0], [(80, 100), (180, 100), (80, 1)])[2], 200)


class Stations(Rule):
    def test_one_processor_serves_both_directions(self):
        inside = {"z": {"stack": stack(cost(50 * US))}}
        flows = [flow("f", "a", "z"), flow("g", "b", "z"), flow("h", "z", "a")]
        # At the stack of `z` meet two frames from the port of the switch, 10.08 us apart, and one to be
        # sent: 150 us of work when the second comes after 10.08 us.
        wait = 150 * US - SMALL - 50 * US
        self.holds(star("abz", flows, inside=inside),
                   {"port sw:3": SMALL, "stack z both": max(wait, 50 * US)})

    def test_costs_grow_with_size_and_jitter(self):
        inside = {"a": {"stack": stack(cost(US, 1_000, 0, 3 * US), cost(), 2)}}
        found = self.holds(star("az", [flow("f", "a", "z")], inside=inside), {})
        self.assertEqual(found, [US + 106 * 1_000 + 3 * US + 2 * 9_120_000])

    def test_an_instance_interrupts_a_lower_one(self):
        layer = {"queue_of_pcp": [0, 0, 0, 0, 1, 1, 1, 1], "untagged": 0, "classes": [], "instances": [100, 100], "receive": None, "transmit": None}
        inside = {"z": {"stack": stack(cost(50 * US)), "layer": layer}}
        flows = [flow("f", "a", "z", tag={"pcp": 6, "vid": 0}), flow("g", "b", "z")]
        self.holds(star("abz", flows, inside=inside), {
            ("f", "request", "port sw:3"): SMALL, ("g", "request", "port sw:3"): SMALL + 4 * 80_000,
            ("g", "request", "stack z both"): 50 * US})

    def test_an_answer_comes_back(self):
        own = flow("f", "a", "z", reply={"payload": 60, "after": 5 * US, "longest": 7 * US})
        self.assertEqual(self.holds(star("az", [own]), {}), [4 * 9_120_000 + 7 * US])

    def test_a_gap_holds_frames(self):
        burst = {"kind": "sporadic", "gap": MS, "burst": 3}
        own = flow("f", "a", "z", traffic=burst, gap=200 * US)
        document = certificate(star("az", [own]), {"gap a f": 400 * US})
        claim = claim_of(document, "f", "port a:1")
        self.assertEqual(claim["arrivals"], {"period": 200 * US, "burst": 1, "jitter": 0})
        self.holds(star("az", [own]), {"gap a f": 400 * US})

    def test_gaps_by_hand(self):
        for gap, period, burst, jitter, wait in [(1000, 1000, 1, 2500, 2500), (200, 1000, 3, 1500, 1100),
                                                 (333, 1000, 3, 1500, 8 * 333 - 500)]:
            self.assertEqual(rules.gap(0, [Load(0, gap, (period, burst, jitter))]), [wait])
        self.assertIsNone(rules.gap(0, [Load(0, 334, (1000, 3, 0))]))


class UnderWay(Rule):
    def test_a_window_in_front_by_hand(self):
        # Five segments of 10 under way and a packet of 4 every 30: x = 50 + 4 (floor(x / 30) + 1) = 58.
        own = [Load(0, 10, under_way=5), Load(1, 4, (30, 1, 0))]
        self.assertEqual(rules.stay(0, own, []), [48, 54])

    def test_both_directions_share_a_window(self):
        own = [Load(0, 10, under_way=5, connection=7), Load(1, 3, under_way=5, connection=7),
               Load(2, 3, under_way=5, connection=8)]
        self.assertEqual(rules.stay(0, own, []), [55, 62, 62])

    def test_a_file_delays_by_its_window(self):
        file = {"kind": "file", "segment": 1460, "window": 2920, "file": None, "timeout": 200 * MS,
                "ack_delay": 40 * MS}
        flows = [flow("file", "a", "z", traffic=file, over="tcp"), flow("f", "b", "z")]
        # Two whole segments, a shorter one and one without data count as four of 1518 octets.
        delays = {"port a:1": 4 * LARGE - 84 * 80_000, "port z:1": 3 * 84 * 80_000, "port sw:1": 3 * 84 * 80_000,
                  ("file", "request", "port sw:3"): 4 * LARGE + SMALL - 84 * 80_000,
                  ("f", "request", "port sw:3"): 4 * LARGE}
        document = certificate(star("abz", flows), delays, waits=(0,))
        self.assertEqual(bounds(document), [None, 4 * LARGE + 2 * 9_120_000])
        claim_of(document, "f", "port sw:3")["delay"] -= 1
        self.assertEqual(check(document).failures[0].need, 4 * LARGE)

    def test_a_connection_that_may_time_out_limits_nothing(self):
        file = {"kind": "file", "segment": 1460, "window": 2920, "file": None, "timeout": MS, "ack_delay": MS}
        flows = [flow("file", "a", "z", traffic=file, over="tcp"), flow("f", "b", "z")]
        document = certificate(star("abz", flows), {"port sw:3": MS}, waits=(0,))
        self.assertTrue(any("gives up" in own.why for own in check(document).failures))

    def test_flows_share_the_time_of_a_processor(self):
        # It takes 10 for packets that take 2 here, and 30 for those that take 8; grain 30.
        class Own:
            def __init__(self, service, here):
                self.small = self.large = (here, here)
                self.limit = limits.Limit("spacing", service, 1, 0, ("stack",), (service,) * 2, 30, 0, True)

        loads = [Load(0, 2, (10, 1, 5)), Load(1, 8, (30, 1, 0))]
        since = {0: 0, 1: 40}
        visits = [Own(10, 2), Own(30, 8)]
        limits.together(list(zip(loads, visits)), lambda visit: since[visits.index(visit)])
        self.assertEqual((loads[0].period, loads[0].burst, loads[1].burst), (30, 4, 0))
        self.assertEqual(loads[0].jitter, 30 + 40)


class Cycles(Rule):
    def ring(self, latency):
        """Three switches in a ring; each station sends over two of its links, so that flows meet in a
        cycle."""
        nodes = [station(f"s{at}") for at in range(3)]
        nodes += [switch(f"w{at}", 3, latency=latency) for at in range(3)]
        links = [link((f"s{at}", 1), (f"w{at}", 1)) for at in range(3)]
        links += [link((f"w{at}", 2), (f"w{(at + 1) % 3}", 3)) for at in range(3)]
        flows = []
        for at in range(3):
            way = [[f"s{at}", 1], [f"w{at}", 2], [f"w{(at + 1) % 3}", 2], [f"w{(at + 2) % 3}", 1]]
            to = f"s{(at + 2) % 3}"
            flows.append(flow(f"f{at}", f"s{at}", to, traffic=periodic(100 * US)))
            flows[-1]["ways"] = [{"to": to, "out": way, "back": None, "configured": True}]
        return plant(nodes, links, flows)

    def test_claims_hold_each_other_up(self):
        scenario = self.ring(0)
        found = self.holds(scenario, {f"port w{at}:2": SMALL for at in range(3)})
        self.assertEqual(found, [4 * 9_120_000 + 2 * SMALL] * 3)

    def test_a_cycle_without_time_is_rejected(self):
        # A processor that takes no time answers at once, and passes the answer itself.
        inside = {"z": {"stack": stack(cost(0, 0, 0, 0))}}
        own = flow("f", "a", "z", reply={"payload": 60, "after": 0, "longest": 0})
        document = certificate(star("az", [own], inside=inside), {})
        self.assertIn("takes no time", check(document).failures[0].why)


if __name__ == "__main__":
    unittest.main()
