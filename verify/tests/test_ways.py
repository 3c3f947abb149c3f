"""What packets visit and what passes in between, with every value of the plant another one.

An octet takes 80 ns at 100 Mbit/s and 8 ns at 1 Gbit/s. A frame of 60 octets over UDP has 106 octets.
"""

import unittest
from unittest import mock

from plants import MS, US, cost, flow, link, periodic, plant, port, stack, star, station, switch
from rtether_verify import limits, ways
from rtether_verify.curves import Load
from rtether_verify.plant import Plant
from rtether_verify.reading import Malformed, Node
from rtether_verify.ways import Ways

FAST, SLOW = 8_000, 80_000
FILE = {"kind": "file", "segment": 1460, "window": 14_600, "file": None, "timeout": 200 * MS, "ack_delay": 40 * MS}
POISSON = {"kind": "poisson"}


def walk(scenario):
    return Ways(Plant(Node(scenario, "scenario")))


def at(found, *server, way="request", copy=...):
    """Returns the visit at a server."""
    own = [visit for visit in found.visits if visit.server == list(server) and visit.way == way
           and copy in (..., visit.copy)]
    assert len(own) == 1, (server, way, len(own))
    return own[0]


def places(found, number=0):
    return [(own.copy, own.way, "/".join(map(str, own.server))) for own in found.visits if own.flow == number]


def times(visit):
    return visit.least, visit.most, visit.constant


def vlan(kind, native=None, members=None):
    return {"kind": kind, "native": native, "members": members}


class Times(unittest.TestCase):
    """From the beginning of one service to the arrival at the next."""

    def scenario(self, *flows, **more):
        inside = {
            "a": {"tasks": {"message": 500, "message_more": 40, "segment": 900, "segment_more": 60,
                            "messages_first": False},
                  "stack": {"processors": 2, "split": 900_000, "receive": [cost(3000, 20, 7, 9)] * 3,
                            "send": [cost(1000, 10, 300, 70)] * 3},
                  "interface": {"base": 11, "octet": 3, "more": 5}},
            "z": {"tasks": {"message": 600, "message_more": 50, "segment": 800, "segment_more": 70,
                            "messages_first": False},
                  "stack": {"processors": 2, "split": 800_000, "receive": [cost(2000, 0, 80, 0)] * 3,
                            "send": [cost(4000, 30, 0, 1)] * 3},
                  "interface": {"base": 13, "octet": 2, "more": 7}},
        }
        own = star("az", list(flows), rates={"a": 10**9}, inside=inside, latency=20_000, latency_jitter=130,
                   latency_more=19, **more)
        own["links"][0]["propagation"], own["links"][1]["propagation"] = 17, 23
        return own

    def test_of_a_request(self):
        found = walk(self.scenario(flow("f", "a", "z")))
        self.assertEqual(places(found), [("z", "request", own) for own in (
            "tasks/a", "stack/a/send", "port/a/1", "port/sw/2", "stack/z/receive", "tasks/z")])
        tasks, sent, near, far, received, last = found.visits
        self.assertEqual([own.parent for own in found.visits], [None, 0, 1, 2, 3, 4])
        self.assertEqual([own.number for own in found.visits], [0, 1, 2, 3, 4, 5])
        self.assertEqual([own.is_inbound for own in found.visits], [False] * 4 + [True] * 2)
        self.assertEqual([own.frames for own in found.visits], [1] * 6)
        self.assertEqual([own.leads_on for own in found.visits], [True] * 6)
        self.assertEqual([own.split for own in found.visits], [0] * 6)
        self.assertEqual(times(tasks), (0, 0, 0))
        self.assertEqual((tasks.small, tasks.large), ((500, 540),) * 2)
        self.assertEqual(times(sent), (500, 540, 40))
        # 1000 + 10 * 106, and up to 300 + 70 more, of which 300 are the same in a whole run.
        self.assertEqual((sent.small, sent.large), ((2060, 2430),) * 2)
        self.assertEqual(times(near), (2060, 2430, 300))
        self.assertEqual((near.small, near.large), ((126 * FAST,) * 2,) * 2)
        # 114 octets, the link, the interface with 3 for each octet, the switch.
        least = 114 * FAST + 17 + 11 + 3 * 106 + 20_000
        self.assertEqual(times(far), (least, least + 5 + 19 + 130, 24))
        self.assertEqual((far.small, far.large), ((126 * SLOW,) * 2,) * 2)
        # Interfaces take the same for all, the latency varies.
        self.assertEqual([own.slack for own in found.visits], [0, 0, 0, 130, 0, 0])
        least = 114 * SLOW + 23 + 13 + 2 * 106
        self.assertEqual(times(received), (least, least + 7, 7))
        self.assertEqual((received.small, received.large), ((2000, 2080),) * 2)
        self.assertEqual(times(last), (2000, 2080, 80))
        self.assertEqual((last.small, last.large), ((600, 650),) * 2)
        (number, to, token), = found.streams
        self.assertEqual((number, to, token.parent), (0, "z", 5))
        self.assertEqual((token.least, token.most), (600, 650))

    def test_of_its_answer(self):
        own = flow("f", "a", "z", reply={"payload": 160, "after": 1000, "longest": 1500})
        found = walk(self.scenario(own))
        self.assertEqual(places(found)[6:], [("z", "reply", own) for own in (
            "tasks/z", "stack/z/send", "port/z/1", "port/sw/1", "stack/a/receive", "tasks/a")])
        tasks, sent, near, far, received, last = found.visits[6:]
        self.assertEqual(tasks.parent, 5)
        self.assertEqual(times(tasks), (600 + 1000, 650 + 1500, 50))
        self.assertEqual(times(sent), (600, 650, 50))
        # A frame of 206 octets: 4000 + 30 * 206.
        self.assertEqual((sent.small, sent.large), ((10_180, 10_181),) * 2)
        self.assertEqual(times(near), (10_180, 10_181, 0))
        least = 214 * SLOW + 23 + 13 + 2 * 206 + 20_000
        self.assertEqual(times(far), (least, least + 7 + 19 + 130, 26))
        least = 214 * FAST + 17 + 11 + 3 * 206
        self.assertEqual(times(received), (least, least + 5, 5))
        self.assertEqual((received.small, received.large), ((7120, 7136),) * 2)
        self.assertEqual(times(last), (7120, 7136, 7))
        # An answer passes its stacks the second time.
        self.assertEqual([own.split for own in found.visits[6:]], [0, 800_000, 0, 0, 900_000, 0])
        self.assertEqual(found.streams[0][2].parent, 11)

    def test_behind_a_port_without_tasks_and_stacks(self):
        scenario = star("az", [flow("f", "a", "z")])
        scenario["nodes"][1]["interface"] = {"base": 13, "octet": 2, "more": 7}
        token = walk(scenario).streams[0][2]
        least = 114 * SLOW + 13 + 2 * 106
        self.assertEqual((token.least, token.most), (least, least + 7))

    def test_frames_wait_for_the_end_of_longer_ones_in_interfaces(self):
        # One of 106 octets, one of 1518 in front of it: up to 2 * 1412 later, or towards each other.
        flows = [flow("f", "a", "z"), flow("g", "a", "z", payload=1472)]
        scenario = star("az", flows)
        scenario["nodes"][0]["interface"] = {"base": 0, "octet": 2, "more": 0}
        found = walk(scenario)
        own = found.visits[1]
        self.assertEqual(times(own), (114 * SLOW + 2 * 106, 114 * SLOW + 2 * 1518, 0))
        self.assertEqual(own.slack, 2 * 1412)
        self.assertEqual(times(found.visits[3]), (1526 * SLOW + 2 * 1518, 1526 * SLOW + 2 * 1518, 0))
        # Of two sizes the smaller one may be the first.
        scenario = star("az", [flow("f", "a", "z", payload=1473)])
        scenario["nodes"][1]["interface"] = scenario["nodes"][0]["interface"] = {"base": 0, "octet": 2, "more": 0}
        found = walk(scenario)
        self.assertEqual(times(found.visits[1]), (72 * SLOW + 2 * 64, 1526 * SLOW + 2 * 1518, 0))
        token = found.streams[0][2]
        self.assertEqual((token.least, token.most), (72 * SLOW + 2 * 64, 1526 * SLOW + 2 * 1518))

    def test_cost_differs_by_kind(self):
        costs = [cost(100, 0, 5, 0), cost(200, 0, 5, 0), cost(300, 0, 6, 1)]
        inside = {"a": {"stack": {"processors": 2, "split": 0, "receive": costs, "send": costs}}}
        flows = [flow("datagram", "a", "z"), flow("file", "a", "z", traffic=FILE, over="tcp"),
                 flow("messages", "a", "z", traffic={"kind": "messages", "segment": 1000}, over="tcp")]
        found = walk(star("az", flows, inside=inside))
        sent = [own for own in found.visits if own.server == ["stack", "a", "send"] and own.way == "request"]
        self.assertEqual([own.small for own in sent], [(100, 105), (200, 307), (100, 307)])
        self.assertEqual([own.sizes for own in sent], [(106, 106), (64, 1518), (64, 1058)])
        behind = [own for own in found.visits if own.server == ["port", "a", 1]]
        # The constant part is the same for all packets only if they have one cost.
        self.assertEqual([times(own) for own in behind], [(100, 105, 5), (200, 307, 0), (100, 307, 0)])
        back = [own for own in found.visits if own.server == ["stack", "a", "receive"]]
        self.assertEqual([own.small for own in back], [(300, 307), (100, 307)])
        self.assertEqual([own.sizes for own in back], [(64, 64), (64, 1058)])

    def test_cost_grows_with_the_size_of_segments(self):
        inside = {"a": {"stack": {"processors": 1, "split": 0, "receive": [cost()] * 3,
                                  "send": [cost(), cost(100, 2, 0, 3), cost(100, 2, 0, 3)]}}}
        found = walk(star("az", [flow("file", "a", "z", traffic=FILE, over="tcp")], inside=inside))
        sent, behind = found.visits[:2]
        self.assertEqual(sent.server, ["stack", "a", "both"])
        self.assertEqual([own.frames for own in found.visits], [1] * 6)
        self.assertEqual((sent.small, sent.large), ((228, 231), (3136, 3139)))
        self.assertEqual(times(behind), (228, 3139, 0))
        self.assertEqual((behind.small, behind.large), ((84 * SLOW,) * 2, (1538 * SLOW,) * 2))
        self.assertEqual(times(found.visits[2]), (72 * SLOW, 1526 * SLOW, 0))
        self.assertEqual((sent.cost(), sent.own()), (3139, 231))

    def test_files_pass_tasks_as_segments(self):
        scenario = self.scenario(flow("file", "a", "z", traffic=FILE, over="tcp"))
        found = walk(scenario)
        tasks, sent = found.visits[:2]
        # Between nothing and 900 + 60.
        self.assertEqual((tasks.small, tasks.large), ((0, 960),) * 2)
        self.assertEqual(times(sent), (0, 960, 0))
        names = places(found)
        self.assertEqual(names[5:8], [("z", "request", "tasks/z"), ("z", "reply", "stack/z/send"),
                                      ("z", "reply", "port/z/1")])
        self.assertEqual(found.visits[5].small, (0, 870))
        # An acknowledgement follows from the stack, whenever the program reads, up to 40 ms later.
        self.assertEqual((found.visits[6].parent, found.visits[6].late, found.visits[7].late), (4, 40 * MS, 0))
        self.assertEqual(times(found.visits[6]), (2000, 2080, 80))
        self.assertNotIn(("z", "reply", "tasks/z"), names)
        self.assertEqual([own.leads_on for own in found.visits[4:7]], [True, False, True])

    def test_messages_pass_tasks_whole_or_in_parts(self):
        message = {"kind": "messages", "segment": 1000}
        found = walk(self.scenario(flow("f", "a", "z", traffic=message, over="tcp")))
        self.assertEqual(found.visits[0].small, (0, 540))
        self.assertEqual(times(found.visits[1]), (0, 540, 0))

    def test_fragments_are_one_datagram_for_tasks(self):
        # 1473 octets: 1481 of payload of IP are 1480 and 1; the last frame is padded to 64.
        found = walk(self.scenario(flow("f", "a", "z", payload=1473)))
        self.assertEqual([own.frames for own in found.visits], [1, 2, 2, 2, 2, 1])
        self.assertEqual([own.sizes for own in found.visits], [(64, 1518)] * 6)
        # Both come together behind the tasks, and keep their distance behind the stack.
        self.assertEqual([own.ratio is None for own in found.visits], [True, True, False, False, False, False])
        self.assertEqual(times(found.visits[1]), (500, 540, 40))
        whole = walk(self.scenario(flow("f", "a", "z")))
        self.assertIsNotNone(whole.visits[1].ratio)

    def test_answers_in_fragments(self):
        own = flow("f", "a", "z", reply={"payload": 1473, "after": 0, "longest": 0})
        found = walk(self.scenario(own))
        self.assertEqual([own.frames for own in found.visits[6:]], [1, 2, 2, 2, 2, 1])
        self.assertEqual(found.visits[6].sizes, (64, 1518))

    def test_a_station_talks_to_itself(self):
        scenario = self.scenario(flow("f", "a", "z"))
        scenario["flows"].append({**flow("g", "a", "a")})
        found = walk(scenario)
        self.assertEqual(places(found, 1), [("a", "request", own) for own in (
            "tasks/a", "stack/a/send", "stack/a/receive", "tasks/a")])
        self.assertEqual([own.split for own in found.visits[6:]], [0, 0, 900_000, 0])
        self.assertEqual(found.streams[1][2].parent, 9)
        bare = star("az", [flow("f", "a", "z")])
        bare["flows"].append(flow("g", "a", "a"))
        found = walk(bare)
        self.assertEqual((places(found, 1), found.streams[1][2]), ([], None))

    def test_router_and_gap(self):
        scenario = star("az", [flow("f", "a", "z", gap=7 * US, reply={"payload": 60, "after": 0, "longest": 0})],
                        processor={"cost": cost(1000, 2, 30, 4), "queue": 10})
        scenario["nodes"][0]["stack"] = stack(cost(5000))
        found = walk(scenario)
        self.assertEqual([own for _, _, own in places(found)], [
            "stack/a/both", "gap/a/f", "port/a/1", "router/sw", "port/sw/2",
            "port/z/1", "router/sw", "port/sw/1", "stack/a/both"])
        self.assertEqual(times(found.visits[1]), (5000, 5000, 0))
        self.assertEqual((found.visits[1].small, found.visits[1].large), ((7 * US,) * 2,) * 2)
        self.assertEqual(found.servers[("gap", "a", "f")].rule, "gap")
        self.assertEqual([own.queue for own in found.visits], [0] * 9)
        # A frame that waits for the gap leaves when its service begins.
        self.assertEqual(times(found.visits[2]), (0, 0, 0))
        self.assertEqual(times(found.visits[3]), (114 * SLOW, 114 * SLOW, 0))
        self.assertEqual((found.visits[3].small, found.visits[3].large), ((1212, 1246),) * 2)
        self.assertEqual(times(found.visits[4]), (1212, 1246, 30))
        limit = found.visits[2].limit
        self.assertEqual((limit.by, limit.step, limit.burst, limit.ahead, limit.begins), ("gap", 7 * US, 1, 0, True))
        self.assertEqual(limits.distance(limit), 7 * US)
        self.assertFalse(found.visits[3].limit.begins)

    def test_a_router_with_two_sizes(self):
        scenario = star("az", [flow("f", "a", "z", payload=1473)],
                        processor={"cost": cost(1000, 2, 0, 4), "queue": 10})
        found = walk(scenario)
        self.assertEqual((found.visits[1].small, found.visits[1].large), ((1128, 1132), (4036, 4040)))
        self.assertEqual(times(found.visits[2]), (1128, 4040, 0))


class Lines(unittest.TestCase):
    """How dense packets are behind a server."""

    def test_work_here_for_service_there(self):
        found = walk(star("az", [flow("f", "a", "z", payload=1473)], rates={"a": 10**9}))
        near, far = found.visits
        self.assertIsNone(near.ratio)
        # The frame of 64 and the one of 1518 take ten times as long here as there.
        self.assertEqual((far.ratio, far.spacing), (10 << 32, 84 * FAST))
        self.assertEqual((far.cost(), far.own()), (1538 * SLOW, 84 * SLOW))

    def test_the_larger_quotient_counts_and_is_rounded_up(self):
        inside = {"a": {"stack": {"processors": 2, "split": 0, "receive": [cost()] * 3, "send": [cost(0, 10)] * 3}},
                  "z": {"stack": {"processors": 2, "split": 0, "send": [cost()] * 3, "receive": [cost(7)] * 3}}}
        found = walk(star("az", [flow("f", "a", "z", payload=1473)], inside=inside))
        sent, near, far, received = found.visits
        # 84 octets of the link for 640 ps, 1538 for 15 180 ps.
        self.assertEqual(near.ratio, -(-((84 * SLOW) << 32) // 640))
        self.assertEqual((far.ratio, far.spacing), (1 << 32, 84 * SLOW))
        self.assertEqual(received.ratio, -(-(7 << 32) // (84 * SLOW)))

    def test_what_takes_no_time_keeps_nothing_apart(self):
        inside = {"a": {"stack": stack(cost(0, 0, 0, 5))}}
        found = walk(star("az", [flow("f", "a", "z", traffic=POISSON)], inside=inside))
        self.assertEqual([own.ratio is None for own in found.visits], [True, True, False])
        self.assertEqual(found.visits[1].spacing, 0)
        self.assertIsNone(found.visits[1].limit)

    def test_which_servers_serve_one_after_the_other(self):
        layer = {"queue_of_pcp": [0, 0, 0, 0, 1, 1, 2, 3], "untagged": 1, "classes": [], "instances": [9, 9, 9], "receive": None, "transmit": None}
        tasks = {"message": 1, "message_more": 0, "segment": 0, "segment_more": 0, "messages_first": True}
        inside = {"a": {"stack": stack(cost(5)), "layer": layer},
                  "b": {"tasks": tasks, "stack": stack(cost(5)), "layer": {**layer, "instances": None}}}
        flows = [flow("untagged", "a", "z"), flow("high", "a", "z", tag={"pcp": 7, "vid": 0}),
                 flow("lower", "a", "z", tag={"pcp": 6, "vid": 0}), flow("lowest", "a", "z", tag={"pcp": 3, "vid": 0}),
                 flow("other", "b", "z"), flow("file", "b", "z", traffic=FILE, over="tcp"),
                 flow("back", "z", "a", tag={"pcp": 7, "vid": 0})]
        found = walk(star("abz", flows, inside=inside))
        server = found.servers[("stack", "a", "both")]
        self.assertEqual((server.rule, server.spaces), ("preemption", False))
        # Class 3 shares the last of three instances; the tag of a frame that is received counts.
        self.assertEqual([own.queue for own in server.members], [1, 2, 2, 0, 2])
        self.assertEqual([own.ratio is None for own in found.visits if own.server == ["port", "a", 1]], [True] * 4)
        server = found.servers[("tasks", "b")]
        self.assertEqual((server.rule, server.spaces), ("preemption", False))
        self.assertEqual([own.queue for own in server.members], [1, 0])
        server = found.servers[("stack", "b", "both")]
        self.assertEqual((server.rule, server.spaces), ("arrival", True))
        # No line follows from tasks that interrupt each other, but one from the stack.
        self.assertEqual([own.ratio is None for own in server.members][:2], [True] * 2)

    def test_tasks_in_order_of_arrival(self):
        tasks = {"message": 1, "message_more": 0, "segment": 0, "segment_more": 0, "messages_first": False}
        found = walk(star("az", [flow("f", "a", "z")], inside={"a": {"tasks": tasks}}))
        server = found.servers[("tasks", "a")]
        self.assertEqual((server.rule, server.spaces, server.lacks), ("arrival", True, None))
        self.assertEqual(found.visits[0].queue, 0)

    def test_words_for_what_has_no_rule(self):
        inside = {"a": {"stack": stack(cost(5)), "beyond": ["stack: instances of sockets", "port: transmit queues"]},
                  "z": {"stack": stack(cost(5)), "beyond": ["stack: pauses"]}}
        found = walk(star("az", [flow("f", "a", "z")], inside=inside))
        state = lambda *name: (lambda own: (own.rule, own.lacks, own.spaces))(found.servers[name])
        self.assertEqual(state("stack", "a", "both"), (None, "instances of sockets", False))
        self.assertEqual(state("port", "a", 1), (None, "transmit queues", True))
        self.assertEqual(state("port", "sw", 2), ("arrival", None, True))
        self.assertEqual(state("stack", "z", "both"), (None, "pauses", True))

    def test_what_a_port_is(self):
        turns = [3, 2, 1, 1, 1, 1, 1, 1]
        scenario = star("abz", [flow("f", "a", "z"), flow("g", "z", "a"), flow("h", "b", "a")], cut_through=True,
                        latency_jitter=9)
        ports = scenario["nodes"][-1]["ports"]
        ports[0].update(selection="frames", turns=turns)
        ports[2].update(selection="other")
        scenario["links"][2].update(errors=1)
        scenario["links"][1].update(half=True, rate=10**9)
        scenario["nodes"][1]["interface"] = {"base": 1, "octet": 4, "more": 1}
        found = walk(scenario)
        near, far = found.servers[("port", "a", 1)], found.servers[("port", "sw", 3)]
        self.assertEqual((near.rule, near.octet, near.per_octet, near.is_lossy), ("arrival", SLOW, 0, False))
        self.assertEqual((near.latency_jitter, near.is_cut_through, near.spaces), (9, True, True))
        self.assertEqual((far.rule, far.lacks), (None, "the selection of the port"))
        self.assertEqual((far.is_lossy, far.spaces), (True, True))
        self.assertEqual((far.latency_jitter, far.is_cut_through), (0, False))
        back = found.servers[("port", "sw", 1)]
        self.assertEqual((back.rule, back.turns, back.is_lossy), ("frames", turns, False))
        half = found.servers[("port", "b", 1)]
        self.assertEqual((half.rule, half.lacks, half.spaces), (None, "a link that is half duplex", False))
        self.assertEqual((half.octet, half.per_octet), (FAST, 4))


class Limited(unittest.TestCase):
    """Flows without a source, behind what takes time for each packet."""

    def limit(self, send, traffic=POISSON, **more):
        inside = {"a": {"stack": stack(send)}}
        found = walk(star("az", [flow("f", "a", "z", traffic=traffic, **more)], inside=inside))
        return found, found.visits[1].limit

    def test_of_a_processor(self):
        found, limit = self.limit(cost(1000, 10, 0, 7))
        # 1000 + 10 * 106; the smallest packet there is has 64 octets.
        self.assertEqual(limit, ("spacing", 2060, 1, 0, ("stack", "a", "both"), (2060, 2060), 1640, 0, True))
        self.assertIsNone(found.visits[0].limit)
        self.assertEqual([own.limit.begins for own in found.visits[1:]], [True, False])
        # What is released apart needs none.
        self.assertIsNone(self.limit(cost(1000), periodic(MS))[1])

    def test_of_two_sizes(self):
        limit = self.limit(cost(0, 10), payload=1473)[1]
        self.assertEqual((limit.step, limit.services, limit.grain), (640, (640, 15_180), 640))
        self.assertEqual(limits.distance(limit), 15_180)

    def test_the_later_of_equals_and_the_wider(self):
        token = mock.Mock(limit=limits.Limit("gap", 500, 1, 0, None, (1, 1), 1, 0, True))
        spacing = lambda service: limits.spacing(token, ("stack",), [(service, 0), (service, 0)], 9).by
        self.assertEqual([spacing(own) for own in (0, 499, 500, 501)], ["gap", "gap", "spacing", "spacing"])
        # A limit of 12 packets each 6000.
        token.limit = limits.Limit("table", 6000, 12, 0, None, (1, 1), 1, 0, True)
        self.assertEqual([spacing(own) for own in (499, 500)], ["table", "spacing"])
        token.limit = None
        self.assertIsNone(limits.spacing(token, ("stack",), [(0, 5), (7, 7)], 9))
        self.assertEqual(limits.spacing(token, ("stack",), [(3, 5), (7, 7)], 0),
                         ("spacing", 3, 1, 0, None, (1, 1), 1, 0, True))

    def test_of_answers(self):
        limit = limits.Limit("spacing", 640, 1, 0, ("stack",), (640, 15_180), 640, 5, False)
        answers = lambda **more: limits.of_answers(limit, mock.Mock(over="udp", payload=60, reply=None, **more))
        of_file = answers(traffic=mock.Mock(kind="file", ack_delay=40))
        # The smallest packet may have the largest answer; a timer makes some late.
        self.assertEqual(of_file, limit._replace(services=(640, 640), delay=45))
        self.assertIsNone(answers(traffic=mock.Mock(kind="messages")))
        self.assertEqual(answers(traffic=mock.Mock(kind="poisson")).delay, 5)

        def reply(payload, own, kind="poisson"):
            reply = mock.Mock(payload=own, after=7, longest=10)
            flow = mock.Mock(over="udp", payload=payload, reply=reply, traffic=mock.Mock(kind=kind, ack_delay=40))
            return limits.of_answers(limit, flow)

        # Of a connection whose listener takes its time, too, either may make it late.
        self.assertEqual(reply(60, 60, "file").delay, 5 + 40 + 3)

        self.assertEqual(reply(1472, 1472).delay, 5 + 3)
        self.assertIsNone(reply(1473, 60))
        self.assertIsNone(reply(60, 1473))
        self.assertIsNone(limits.of_answers(None, mock.Mock()))

    def test_of_a_table(self):
        # An address is forgotten after a time longer than any silence that TCP allows at first.
        self.assertIsNone(limits.of_table(10**12, 5))
        self.assertIsNone(limits.of_table(10**12 + 1, 0))
        self.assertEqual(limits.of_table(10**12 + 1, 5), ("table", 10**12 + 1, 5, 10**12, None, (1, 1), 1, 0, True))

    def test_packets_under_way(self):
        count = lambda **more: limits.under_way_of(mock.Mock(traffic=mock.Mock(**more)))
        self.assertEqual(count(kind="adaptive"), 1)
        self.assertEqual([count(kind=own) for own in ("periodic", "messages")], [0, 0])
        # Whole segments of the window, a shorter one, one without data; a file of few segments has fewer.
        self.assertEqual(count(kind="file", window=2920, segment=1460, file=None), 4)
        self.assertEqual(count(kind="file", window=2919, segment=1460, file=None), 3)
        self.assertEqual(count(kind="file", window=29_200, segment=1460, file=2920), 3)
        self.assertEqual(count(kind="file", window=29_200, segment=1460, file=2921), 4)
        self.assertEqual(count(kind="file", window=1460, segment=1460, file=10**6), 3)

    def test_time_to_answer(self):
        within = lambda **more: limits.within(mock.Mock(traffic=mock.Mock(**more)))
        self.assertEqual(within(kind="adaptive", timeout=5 * 10**12), 5 * 10**12)
        self.assertEqual(within(kind="file", timeout=5 * 10**12, ack_delay=4), 10**12 - 4)
        self.assertEqual(within(kind="file", timeout=5 * 10**11, ack_delay=4), 5 * 10**11 - 4)

    def test_time_since_the_limit(self):
        found, _ = self.limit(cost(1000, 10))
        # From the port of `a` to that of the switch, one link.
        self.assertEqual([limits.since(found, own) for own in found.visits], [0, 0, 114 * SLOW])

    def test_flows_of_one_processor(self):
        def pair(service, here, **more):
            visit = mock.Mock(small=here[0], large=here[1])
            visit.limit = limits.Limit("spacing", service[0], 1, 0, ("stack",), service, 30, 0, True)
            return Load(len(pairs), here[1][1], (service[0], 1, more.pop("jitter", 0)), **more), visit

        pairs = []
        # In 30 there, the first brings 30 / 10 * 2 = 6 here, or 30 / 40 * 8 = 6; the second 30 / 45 * 13.
        pairs.append(pair((10, 40), ((0, 2), (0, 8)), jitter=5, under_way=4, connection=1))
        pairs.append(pair((45, 45), ((0, 13), (0, 13)), jitter=6, under_way=4, connection=2))
        loads = [own for own, _ in pairs]
        limits.together(pairs, lambda visit: 100 if visit is pairs[0][1] else 70)
        # 26 / 3 is up to 9: two packets of 8.
        self.assertEqual((loads[0].period, loads[0].burst, loads[1].burst), (30, 2, 0))
        # The longest least service there, and from 70 to 105.
        self.assertEqual(loads[0].jitter, 45 + 105 - 70)
        self.assertEqual((loads[0].under_way, loads[0].connection), (4, 1))

    def test_flows_of_one_processor_by_queue_group_and_size(self):
        def pairs(**more):
            found = []
            for at in range(2):
                visit = mock.Mock(small=(0, 4), large=(0, 4))
                visit.limit = limits.Limit("spacing", 10, 1, 0, ("stack",), (10, 10), 10, 0, True)
                found.append((Load(at, 4, (10, 1, 0), under_way=3, connection=5), visit))
            for load, visit in found if more.pop("both", False) else found[1:]:
                for name, value in more.items():
                    if name in limits.Limit._fields:
                        visit.limit = visit.limit._replace(**{name: value})
                    else:
                        load.set(**{name: value})
            limits.together(found, lambda visit: 0)
            return [(own.burst, own.jitter, own.under_way, own.connection) for own, _ in found]

        apart = [(1, 0, 3, 5)] * 2
        self.assertEqual(pairs(), [(1, 10, 3, 5), (0, 0, 3, 5)])
        self.assertEqual(pairs(queue=1), apart)
        self.assertEqual(pairs(group="line"), apart)
        self.assertEqual(pairs(grain=11), apart)
        self.assertEqual(pairs(place=("other",)), apart)
        self.assertEqual(pairs(both=True, place=None), apart)
        self.assertEqual(pairs(both=True, cost=0), [(4, 10, 3, 5), (0, 0, 3, 5)])
        # A window limits the packets of its own flow only.
        self.assertEqual(pairs(under_way=0), [(1, 10, 0, None), (0, 0, 0, 5)])
        self.assertEqual([own[:2] for own in pairs(cost=8)], [(1, 10), (0, 0)])


class Tags(unittest.TestCase):
    """IEEE 802.1Q, 6.9 and 8.6."""

    def scenario(self, tag, ports, **more):
        scenario = star("az", [flow("f", "a", "z", tag=tag)],
                        queue_of_pcp=[0, 1, 2, 3, 4, 5, 6, 7], **more)
        for own, changes in zip(scenario["nodes"][-1]["ports"], ports):
            own.update(selection="priority", **changes)
        return scenario

    def sent(self, tag, *ports, **more):
        """Returns queue and octets of the frame at the port to `z`, or None."""
        found = walk(self.scenario(tag, ports, **more))
        own = [visit for visit in found.visits if visit.server == ["port", "sw", 2]]
        return (own[0].queue, own[0].large[0] // SLOW - 20) if own else None

    def test_a_switch_that_is_not_aware(self):
        plain = {"vlan": vlan("transparent")}
        self.assertEqual(self.sent(None, plain, plain), (0, 106))
        self.assertEqual(self.sent({"pcp": 5, "vid": 9}, plain, plain), (5, 110))
        self.assertEqual(self.sent({"pcp": 5, "vid": 9}, plain, plain, strips_tags=True), (5, 106))

    def test_a_priority_of_the_port(self):
        plain = {"vlan": vlan("transparent")}
        high = {**plain, "default_pcp": 3}
        self.assertEqual(self.sent(None, high, plain), (3, 106))
        self.assertEqual(self.sent(None, plain, high), (0, 106))
        self.assertEqual(self.sent({"pcp": 5, "vid": 0}, high, plain), (5, 110))
        self.assertEqual(self.sent({"pcp": 5, "vid": 0}, high, plain, strips_tags=True), (5, 106))

    def test_access_and_trunk(self):
        access, trunk = {"vlan": vlan("access", 7)}, {"vlan": vlan("trunk", 1, [7, 8])}
        self.assertEqual(self.sent(None, access, access), (0, 106))
        self.assertEqual(self.sent(None, access, trunk), (0, 110))
        self.assertEqual(self.sent({"pcp": 4, "vid": 0}, access, access), (4, 106))
        self.assertEqual(self.sent({"pcp": 4, "vid": 7}, access, trunk), (4, 110))
        # Another VLAN than that of the port is dropped where it enters or would leave.
        self.assertIsNone(self.sent({"pcp": 4, "vid": 8}, access, trunk))
        self.assertIsNone(self.sent(None, access, {"vlan": vlan("access", 8)}))
        self.assertIsNone(self.sent(None, {"vlan": vlan("access", 9)}, trunk))
        self.assertIsNone(self.sent({"pcp": 4, "vid": 9}, trunk, trunk))
        self.assertEqual(self.sent({"pcp": 4, "vid": 8}, trunk, trunk), (4, 110))
        # The native VLAN of a trunk has no tag.
        self.assertEqual(self.sent(None, trunk, trunk), (0, 106))
        self.assertEqual(self.sent({"pcp": 4, "vid": 1}, trunk, trunk), (4, 106))
        self.assertEqual(self.sent({"pcp": 4, "vid": 7}, trunk, access), (4, 106))

    def test_trunks_of_all_and_ports_without_a_native_vlan(self):
        everything, none = {"vlan": vlan("trunk", 1)}, {"vlan": vlan("trunk", None, [7])}
        self.assertEqual(self.sent({"pcp": 4, "vid": 4094}, everything, everything), (4, 110))
        self.assertIsNone(self.sent(None, none, everything))
        self.assertEqual(self.sent({"pcp": 4, "vid": 7}, none, everything), (4, 110))
        self.assertIsNone(self.sent(None, {"vlan": vlan("access")}, everything))
        # Of VLAN 1 if it says nothing.
        plain = {"vlan": vlan("transparent")}
        self.assertEqual(self.sent(None, plain, {"vlan": vlan("access", 1)}), (0, 106))
        self.assertIsNone(self.sent(None, plain, {"vlan": vlan("access", 2)}))
        self.assertEqual(self.sent({"pcp": 4, "vid": 2}, plain, {"vlan": vlan("trunk", 1, [2])}), (4, 110))
        self.assertEqual(self.sent({"pcp": 4, "vid": 2}, {"vlan": vlan("trunk", 1)}, plain), (4, 110))

    def test_a_tag_that_was_lost_on_the_way(self):
        # Behind a switch that strips tags, another one takes the priority of its port, or zero.
        def queue(**more):
            nodes = [station("a"), station("z"), switch("w", 2, strips_tags=True),
                     switch("v", 2, lambda: port(selection="priority", **more), queue_of_pcp=list(range(8)))]
            links = [link(("a", 1), ("w", 1)), link(("w", 2), ("v", 1)), link(("v", 2), ("z", 1))]
            own = flow("f", "a", "z", tag={"pcp": 5, "vid": 3})
            own["ways"][0]["out"] = [["a", 1], ["w", 2], ["v", 2]]
            found = walk(plant(nodes, links, [own]))
            return [visit.queue for visit in found.visits], [visit.is_tagged for visit in found.visits]

        self.assertEqual(queue(), ([0, 0, 0], [True, False, False]))
        self.assertEqual(queue(default_pcp=2), ([0, 0, 2], [True, False, False]))
        # VLAN 3 is gone with the tag, so that the frame is one of VLAN 9.
        self.assertEqual(queue(vlan=vlan("access", 9)), ([0, 0, 0], [True, False, False]))

    def test_ports_that_serve_by_arrival_have_one_queue(self):
        scenario = self.scenario({"pcp": 5, "vid": 0}, [{}, {}])
        scenario["nodes"][-1]["ports"][1]["selection"] = "arrival"
        self.assertEqual([own.queue for own in walk(scenario).visits], [0, 0])


class CutThrough(unittest.TestCase):
    def test_a_tag_comes_before_the_type(self):
        tagged, plain = flow("f", "a", "z", tag={"pcp": 0, "vid": 0}), flow("g", "a", "z")
        found = walk(star("az", [tagged, plain], cut_through=True))
        # 26 octets and 22: frames may move 4 octets towards each other.
        self.assertEqual([times(own) for own in found.visits], [
            (0, 0, 0), (26 * SLOW, 26 * SLOW, 0), (0, 0, 0), (22 * SLOW, 22 * SLOW, 0)])
        self.assertEqual([own.slack for own in found.visits], [0, 4 * SLOW, 0, 4 * SLOW])
        stored = walk(star("az", [tagged, plain]))
        behind = [times(own)[:2] for own in stored.visits[1::2]]
        self.assertEqual(behind, [(118 * SLOW,) * 2, (114 * SLOW,) * 2])
        self.assertEqual([own.slack for own in stored.visits], [0] * 4)
        alike = walk(star("az", [tagged, {**tagged, "name": "g"}], cut_through=True))
        self.assertEqual([own.slack for own in alike.visits], [0] * 4)

    def test_a_faster_port_waits_for_the_end(self):
        def least(a, z):
            own = walk(star("az", [flow("f", "a", "z", payload=1473)], cut_through=True, rates={"a": a, "z": z}))
            return own.visits[1].least, own.visits[1].most

        self.assertEqual(least(10**8, 10**8), (22 * SLOW, 22 * SLOW))
        self.assertEqual(least(10**9, 10**8), (22 * FAST, 22 * FAST))
        self.assertEqual(least(10**8, 10**9), (72 * SLOW, 1526 * SLOW))

    def test_only_a_switch_cuts_through(self):
        token = walk(star("az", [flow("f", "a", "z")], cut_through=True)).streams[0][2]
        self.assertEqual((token.least, token.most), (114 * SLOW,) * 2)


class Forwarding(unittest.TestCase):
    """Two switches, each with a further station: `a`, `b` at the first, `z`, `c` at the second."""

    def scenario(self, own, first=(), second=(), one=port):
        nodes = [station(name) for name in "abzc"]
        nodes += [switch("v", 4, one, **dict(first)), switch("w", 4, **dict(second))]
        links = [link(("a", 1), ("v", 1)), link(("b", 1), ("v", 2)), link(("v", 3), ("w", 3)),
                 link(("z", 1), ("w", 1)), link(("c", 1), ("w", 2)), link(("v", 4), ("w", 4), standby=True)]
        ports = {"a": ["v", 1], "b": ["v", 2], "z": ["w", 1], "c": ["w", 2]}
        for way in own["ways"]:
            way["out"] = [["a", 1]] + ([["v", 3]] if way["to"] in "zc" else []) + [ports[way["to"]]]
            if own["traffic"]["kind"] in ("file", "adaptive") or own["reply"]:
                way["back"] = [[way["to"], 1]] + ([["w", 3]] if way["to"] in "zc" else []) + [["v", 1]]
        return plant(nodes, links, [own])

    def places(self, *given, **more):
        return [f"{name}" for _, _, name in places(walk(self.scenario(*given, **more)))]

    def test_a_filled_table(self):
        own = flow("f", "a", "z")
        self.assertEqual(self.places(own), ["port/a/1", "port/v/3", "port/w/1"])
        own["multicast"] = True
        self.assertEqual(self.places(own), ["port/a/1", "port/v/3", "port/w/1"])

    def test_a_switch_that_learns(self):
        own = flow("f", "a", "z")
        learns = {"learns": 10**15}
        self.assertEqual(sorted(self.places(own, learns)), ["port/a/1", "port/v/2", "port/v/3", "port/w/1"])
        self.assertEqual(sorted(self.places(own, (), learns)), ["port/a/1", "port/v/3", "port/w/1", "port/w/2"])
        # What strays to a switch that knows the way goes no further.
        near = flow("f", "a", "b")
        self.assertEqual(sorted(self.places(near, learns)), ["port/a/1", "port/v/2", "port/v/3"])
        own["ways"][0]["configured"] = True
        self.assertEqual(self.places(own, learns, learns), ["port/a/1", "port/v/3", "port/w/1"])
        group = flow("f", "a", "z", multicast=True)
        self.assertEqual(self.places(group, learns, learns), ["port/a/1", "port/v/3", "port/w/1"])

    def test_groups_on_all_ports(self):
        group, floods = flow("f", "a", "z", multicast=True), {"floods_groups": True}
        self.assertEqual(sorted(self.places(group, floods, floods)),
                         ["port/a/1", "port/v/2", "port/v/3", "port/w/1", "port/w/2"])
        self.assertEqual(sorted(self.places(group, floods)), ["port/a/1", "port/v/2", "port/v/3", "port/w/1"])
        self.assertEqual(self.places(flow("f", "a", "z"), floods, floods), ["port/a/1", "port/v/3", "port/w/1"])

    def test_one_frame_for_each_listener_or_for_all(self):
        found = walk(self.scenario(flow("f", "a", "b", "z", "c")))
        self.assertEqual([(own.copy, own.server[1]) for own in found.visits], [
            ("b", "a"), ("b", "v"), ("z", "a"), ("z", "v"), ("z", "w"), ("c", "a"), ("c", "v"), ("c", "w")])
        found = walk(self.scenario(flow("f", "a", "b", "z", "c", multicast=True)))
        self.assertEqual(sorted((own.copy or "all", own.server) for own in found.visits), [
            ("all", ["port", "a", 1]), ("all", ["port", "v", 2]), ("all", ["port", "v", 3]),
            ("all", ["port", "w", 1]), ("all", ["port", "w", 2])])
        self.assertEqual([(number, to, token is not None) for number, to, token in found.streams],
                         [(0, "b", True), (0, "z", True), (0, "c", True)])

    def test_a_listener_that_is_not_reached(self):
        taken = [{"vlan": vlan("access", 5)}, {"vlan": vlan("access", 6)}]
        scenario = star("az", [flow("f", "a", "z", reply={"payload": 1, "after": 0, "longest": 0})])
        for own, changes in zip(scenario["nodes"][-1]["ports"], taken):
            own.update(changes)
        found = walk(scenario)
        self.assertEqual(found.streams, [(0, "z", None)])
        self.assertEqual(len(found.visits), 1)
        self.assertFalse(found.visits[0].leads_on)

    def test_copies_of_a_connection(self):
        aging = 3 * 10**14
        own = flow("f", "a", "z", traffic=FILE, over="tcp")
        found = walk(self.scenario(own, {"learns": aging}, {"learns": aging}))
        # Ten segments, a shorter one and one without data, each time the table forgets.
        for switch_name, number in (("v", 2), ("w", 2)):
            limit = at(found, "port", switch_name, number, way="request").limit
            self.assertEqual((limit.by, limit.step, limit.burst, limit.begins), ("table", aging, 12, True))
        self.assertIsNone(at(found, "port", "w", 1, way="request").limit)
        self.assertIsNone(at(found, "port", "v", 1, way="reply").limit)
        self.assertEqual(at(found, "port", "v", 2, way="reply").limit.by, "table")
        # A VLAN may be another reason for a port.
        access = walk(self.scenario(own, {"learns": aging}, {}, lambda: port(vlan=vlan("access", 1))))
        self.assertIsNone(at(access, "port", "v", 2, way="request").limit)
        # Only a connection waits for answers.
        other = walk(self.scenario(flow("f", "a", "z", traffic=POISSON), {"learns": aging}))
        self.assertIsNone(at(other, "port", "v", 2).limit)
        # Groups are no connection.
        group = flow("f", "a", "z", traffic=FILE, over="tcp", multicast=True)
        floods = walk(self.scenario(group, {"learns": aging, "floods_groups": True}))
        self.assertIsNone(at(floods, "port", "v", 2, way="request").limit)
        # A table that forgets within the first timeout limits nothing.
        soon = walk(self.scenario(own, {"learns": 10**12}))
        self.assertIsNone(at(soon, "port", "v", 2, way="request").limit)

    def test_copies_of_copies(self):
        # A connection within the first switch strays to the second, which floods it, too.
        own = flow("f", "a", "b", traffic=FILE, over="tcp")
        found = walk(self.scenario(own, {"learns": 3 * 10**14}, {"learns": 4 * 10**14}))
        limits = [at(found, "port", "w", number, way="request").limit for number in (1, 2)]
        self.assertEqual([(own.by, own.step, own.begins) for own in limits], [("table", 3 * 10**14, False)] * 2)

    def test_copies_that_a_processor_keeps_apart(self):
        own = flow("f", "a", "z", traffic=FILE, over="tcp")
        scenario = self.scenario(own, {"learns": 10**12})
        scenario["nodes"][0]["stack"] = stack(cost(1000))
        found = walk(scenario)
        self.assertEqual(at(found, "port", "v", 2, way="request").limit.by, "spacing")
        scenario = self.scenario(own, {"learns": 3 * 10**14})
        scenario["nodes"][0]["stack"] = stack(cost(1000))
        self.assertEqual(at(walk(scenario), "port", "v", 2, way="request").limit.by, "table")


class Refused(unittest.TestCase):
    def test_copies_that_circulate(self):
        # Three switches in a ring whose entries lead round and round.
        nodes = [station("a"), station("z")] + [switch(name, 4) for name in "uvw"]
        links = [link(("a", 1), ("u", 1)), link(("z", 1), ("w", 1)), link(("u", 2), ("v", 3)),
                 link(("v", 2), ("w", 3)), link(("w", 2), ("u", 3))]
        own = flow("f", "a", "z")
        own["ways"] = [{"to": "z", "back": None, "configured": True, "out": [
            ["a", 1], ["u", 2], ["v", 2], ["w", 2], ["u", 2], ["v", 2], ["w", 1]]}]
        with self.assertRaisesRegex(Malformed, "flow `f`: copies of a packet circulate, or arrive twice"):
            walk(plant(nodes, links, [own]))

    def test_copies_that_arrive_twice(self):
        nodes = [station("a"), station("z"), station("y")] + [switch(name, 4) for name in "uvw"]
        links = [link(("a", 1), ("u", 1)), link(("u", 2), ("v", 1)), link(("u", 3), ("w", 1)),
                 link(("v", 2), ("w", 2)), link(("w", 3), ("z", 1)), link(("w", 4), ("y", 1))]
        own = flow("f", "a", "z", "y", multicast=True)
        own["ways"][0].update(out=[["a", 1], ["u", 2], ["v", 2], ["w", 3]], configured=True)
        own["ways"][1].update(out=[["a", 1], ["u", 3], ["w", 4]], configured=True)
        with self.assertRaisesRegex(Malformed, "arrive twice"):
            walk(plant(nodes, links, [own]))

    def test_answers_without_a_way_back(self):
        scenario = star("az", [flow("f", "a", "z", reply={"payload": 1, "after": 0, "longest": 0})])
        scenario["flows"][0]["ways"][0]["back"] = None
        with self.assertRaisesRegex(Malformed, "flow `f` has answers, but no way back from `z`"):
            walk(scenario)

    def test_visits_have_a_limit(self):
        with mock.patch.object(ways, "VISITS_MAX", 2):
            self.assertEqual(len(walk(star("az", [flow("f", "a", "z")])).visits), 2)
        with mock.patch.object(ways, "VISITS_MAX", 1), self.assertRaisesRegex(Malformed, "more than 1 visits"):
            walk(star("az", [flow("f", "a", "z")]))


if __name__ == "__main__":
    unittest.main()
