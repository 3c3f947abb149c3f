"""What a plant and a file may be: each limit at its last value that is taken and the first that is not."""

import copy
import json
import pathlib
import tempfile
import unittest
from unittest import mock

from plants import cost, flow, link, periodic, plant, stack, star, station, switch
from rtether_verify import frames, reading
from rtether_verify.plant import Plant, end
from rtether_verify.reading import Malformed, Node


def read(scenario):
    return Plant(Node(scenario, "scenario"))


class Reading(unittest.TestCase):
    def refused(self, words, work, *given):
        with self.assertRaises(Malformed) as caught:
            work(*given)
        self.assertEqual(str(caught.exception), words)

    def test_numbers(self):
        node = lambda value: Node(value, "here")
        self.assertEqual([node(own).number() for own in (0, 1 << 62)], [0, 1 << 62])
        self.assertEqual([node(own).number(3, 5) for own in (3, 5)], [3, 5])
        for own in (-1, (1 << 62) + 1, True, None, "1"):
            self.refused(f"here: not a whole number from 0 to {1 << 62}", node(own).number)
        for own in (2, 6):
            self.refused("here: not a whole number from 3 to 5", node(own).number, 3, 5)
        self.assertEqual(reading.number()(node(0)), 0)
        self.refused("here: not a whole number from 2 to 3", reading.number(2, 3), node(1))

    def test_flags_texts_and_null(self):
        self.assertIs(Node(False, "here").flag(), False)
        for own in (0, 1, None, "true"):
            self.refused("here: not true or false", Node(own, "here").flag)
        self.assertEqual(Node("x", "here").text(("x", "y")), "x")
        self.refused("here: not a text among x, y", Node("z", "here").text, ("x", "y"))
        self.refused("here: not a text among x, y", Node(1, "here").text, ("x", "y"))
        self.refused("here: not a text", Node(None, "here").text)
        self.assertIsNone(reading.maybe(Node.text)(Node(None, "here")))
        self.assertEqual(reading.among("x")(Node("x", "here")), "x")

    def test_lists(self):
        items = Node([7, 8], "here").items(2, 2)
        self.assertEqual([(own.value, own.place) for own in items], [(7, "here[0]"), (8, "here[1]")])
        self.assertEqual(Node([], "here").items(), [])
        self.refused("here: not a list of 0 to 1 items", Node([7, 8], "here").items, 1)
        self.refused("here: not a list of 3 to 4 items", Node([7, 8], "here").items, 4, 3)
        self.refused(f"here: not a list of 0 to {1 << 24} items", Node({}, "here").items)
        self.assertEqual(reading.each(Node.number)(Node([], "here")), [])
        self.refused("here: not a list of 1 to 2 items", reading.each(Node.number, 2, 1), Node([], "here"))

    def test_members(self):
        one, other = Node({"a": 1, "b": 2}, "here").members("b", "a")
        self.assertEqual((one.value, one.place, other.value), (2, "here.b", 1))
        self.refused("here: not an object", Node([], "here").members)
        self.refused("here: member `b` is missing", Node({"a": 1}, "here").members, "a", "b")
        self.refused("here: member `b` is not in the format", Node({"a": 1, "b": 2}, "here").members, "a")
        self.refused("here: not an object", Node([], "here").word, ("x",))
        self.refused("here.kind: not a text among x", Node({}, "here").word, ("x",))
        self.assertEqual(Node({"kind": "x"}, "here").word(("x",)), "x")

    def test_texts_of_json(self):
        parse = lambda text: reading.parse(text.encode(), "F")
        self.assertEqual(parse('{"a": [1, true, null]}'), {"a": [1, True, None]})
        self.refused("F: member `b` stands twice in one object", parse, '{"a": 1, "b": 1, "b": 2}')
        self.refused("F: `1.5` is no whole number; all numbers of a certificate are", parse, "[1.5]")
        self.refused("F: `NaN` is no whole number; all numbers of a certificate are", parse, "[NaN]")
        self.refused("F:2:2: Expecting value", parse, "[\n ,")
        self.refused("F: nested too deeply", parse, "[" * 100_000)
        with self.assertRaisesRegex(Malformed, "^F: 'utf-8'"):
            reading.parse(b"\xff", "F")

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "F"
            self.refused(f"{path}: No such file or directory; give the path of a certificate", reading.load, path)
            path.write_text("[1, 2]")
            self.assertEqual(reading.load(path), [1, 2])
            with mock.patch.object(reading, "FILE_MAX", 6):
                self.assertEqual(reading.load(path), [1, 2])
            with mock.patch.object(reading, "FILE_MAX", 5):
                self.refused(f"{path}: more than 5 octets; split the plant", reading.load, path)
        self.assertEqual((reading.FILE_MAX, reading.NUMBER_MAX, reading.LIST_MAX), (1 << 29, 1 << 62, 1 << 24))


class Frames(unittest.TestCase):
    def test_frames_by_hand(self):
        # 14 and 4 around the payload of Ethernet, 28 of UDP over IP.
        self.assertEqual([frames.frames(own, "udp") for own in (0, 18, 19, 1472)],
                         [(1, 64, 64), (1, 64, 64), (1, 65, 65), (1, 1518, 1518)])
        self.assertEqual([frames.frame(100, own) for own in ("raw", "udp", "tcp", "icmp", "goose", "sv", "profinet")],
                         [118, 146, 158, 146, 126, 126, 124])
        # A fragment for each 1480 octets of 8 + p, with 38 around each.
        self.assertEqual(frames.frames(1473, "udp"), (2, 64, 1518))
        self.assertEqual(frames.frames(1480 - 8 + 27, "udp"), (2, 65, 1518))
        self.assertEqual(frames.frames(2 * 1480 - 8, "udp"), (2, 1518, 1518))
        self.assertEqual(frames.frames(2 * 1480 - 7, "udp"), (3, 64, 1518))
        self.assertEqual(frames.frames(65_507, "udp"), (45, 415 + 38 - 20, 1518))

    def test_payloads(self):
        self.assertEqual([frames.payload_max(own) for own in frames.OVER], [1500, 65_507, 1460, 1472, 1492, 1492, 1494])

    def test_times(self):
        # Preamble of 8, gap of 12.
        self.assertEqual((frames.occupied(64, 10), frames.arrives(64, 10)), (840, 720))


class Limits(unittest.TestCase):
    """Changes of one good plant, each with what is said of it, or None."""

    def plant(self):
        tasks = {"message": 0, "message_more": 0, "segment": 0, "segment_more": 0, "messages_first": False}
        layer = {"queue_of_pcp": [0] * 8, "untagged": 0, "classes": [], "instances": None, "receive": None, "transmit": None}
        inside = {"a": {"stack": stack(cost()), "tasks": tasks, "layer": layer,
                        "interface": {"base": 0, "octet": 0, "more": 0}}}
        flows = [flow("f", "a", "z", tag={"pcp": 0, "vid": 0}, reply={"payload": 1, "after": 5, "longest": 5}),
                 flow("g", "z", "a")]
        return star("az", flows, inside=inside, processor={"cost": cost(), "queue": 1})

    def said(self, *changes):
        """Returns what is said of the plant with other values at some paths."""
        scenario = self.plant()
        for path, value in changes:
            *way, last = path.split("/")
            own = scenario
            for key in way:
                own = own[int(key) if isinstance(own, list) else key]
            own[int(last) if isinstance(own, list) else last] = copy.deepcopy(value)
        try:
            read(scenario)
        except Malformed as error:
            return str(error)
        return None

    def check(self, path, good, bad):
        for value in good:
            self.assertIsNone(self.said((path, value)), (path, value))
        for value in bad:
            self.assertIsNotNone(self.said((path, value)), (path, value))

    def test_ranges(self):
        a, sw, f = "nodes/0/", "nodes/2/", "flows/0/"
        for own in ("base", "octet", "more", "jitter"):
            self.check(a + f"stack/send/1/{own}", [0, 1 << 62], [-1, True])
        self.check(a + "stack/processors", [1, 2], [0, 3])
        for own in ("send", "receive"):
            self.check(a + "stack/" + own, [[cost()] * 3], [[cost()] * 2, [cost()] * 4])
        self.check(a + "stack/split", [0, 1], [-1])
        for own in ("base", "octet", "more"):
            self.check(a + f"interface/{own}", [0], [-1])
        for own in ("message", "message_more", "segment", "segment_more"):
            self.check(a + f"tasks/{own}", [0], [-1, False])
        self.check(a + "tasks/messages_first", [True], [0])
        for own in ("stack_queue", "driver_queue"):
            self.check(a + own, [0], [-1, None])
        self.check(a + "layer/queue_of_pcp", [[7] * 8], [[0] * 7, [0] * 9, [8] * 8, [-1] * 8])
        self.check(a + "layer/untagged", [0, 7], [-1, 8])
        self.check(a + "layer/instances", [None, [0], [1] * 8], [[], [1] * 9, 2])
        self.check(a + "beyond", [[], ["stack: x"]], [[1]])
        for own in ("stack", "interface", "tasks", "layer"):
            self.check(a + own, [None], [0])
        for own in ("latency", "latency_jitter", "latency_more"):
            self.check(sw + own, [0], [-1])
        for own in ("cut_through", "strips_tags", "floods_groups"):
            self.check(sw + own, [True, False], [1])
        for own in ("learns", "shared_buffer"):
            self.check(sw + own, [None, 0, 1], [-1])
        self.check(sw + "queue_of_pcp", [[7] * 8], [[0] * 7, [0] * 9, [8] * 8])
        self.check(sw + "processor", [None], [{"cost": cost(), "queue": -1}])
        one = sw + "ports/0/"
        self.check(one + "default_pcp", [0, 7], [-1, 8])
        self.check(one + "buffer", [0], [-1])
        self.check(one + "thresholds", [None, [0] * 8], [[0] * 7, [0] * 9, [-1] * 8])
        self.check(one + "selection", ["arrival", "priority", "other"], ["preemption", "gap", "frames", "octets"])
        self.check(one + "turns", [None], [[1] * 8])
        self.assertIsNone(self.said((one + "selection", "frames"), (one + "turns", [1] * 8)))
        self.assertIsNone(self.said((one + "selection", "octets"), (one + "turns", [0] * 8)))
        self.assertIn("`turns` belong to the selections frames, octets and credit", self.said((one + "turns", [1] * 8)))
        self.assertIsNotNone(self.said((one + "selection", "octets"), (one + "turns", [1] * 7)))
        self.check(one + "vlan/kind", ["access", "trunk"], ["native"])
        self.check(one + "vlan/native", [None, 0, 4094], [-1, 4095])
        self.check(one + "vlan/members", [None, [], [4094] * 4095], [[4095], [0] * 4096])
        for own in ("propagation", "errors"):
            self.check("links/0/" + own, [0], [-1])
        for own in ("standby", "half"):
            self.check("links/1/" + own, [False], [0])
        self.check("links/0/rate", [1, 8 * 10**12], [0, 3, 8 * 10**12 + 1])
        self.check(f + "payload", [0, 65_507], [-1, 65_508])
        self.check(f + "reply/payload", [0, 65_507], [-1, 65_508])
        self.check(f + "reply/after", [0, 5], [6])
        self.check(f + "reply/longest", [5, 6], [4])
        self.check(f + "tag/pcp", [0, 7], [-1, 8])
        self.check(f + "tag/vid", [0, 4094], [-1, 4095])
        self.check(f + "tag", [None], [0])
        self.check(f + "gap", [None, 1], [0])
        self.check(f + "deadline", [None, 0], [-1])
        self.check(f + "over", list(frames.OVER)[:4], ["ip"])
        self.check(f + "multicast", [True], [1])
        self.check(f + "ways", [], [[]])

    def test_what_is_said_of_values_that_do_not_fit(self):
        self.assertIn("an octet does not last a whole number", self.said(("links/0/rate", 3)))
        self.assertEqual(self.said(("flows/0/payload", 65_508)),
                         "scenario.flows[0]: more than 65507 octets do not fit a packet over udp")
        self.assertIn("`longest` of the reply is below `after`", self.said(("flows/0/reply/longest", 4)))

    def test_a_gap_is_of_one_copy(self):
        # Copies for further listeners would wait for the gap of those before.
        scenario = star("ayz", [flow("f", "a", "y", "z", gap=1)])
        with self.assertRaisesRegex(Malformed, "a gap holds the frames to one listener or a group"):
            read(scenario)
        scenario["flows"][0]["multicast"] = True
        read(scenario)

    def test_traffic(self):
        file = {"kind": "file", "segment": 1, "window": 1, "file": None, "timeout": 1, "ack_delay": 0}
        of = lambda **more: self.said(("flows/1/traffic", more), ("flows/1/over", "tcp"))
        self.assertIsNone(of(**file))
        for name, bad in (("segment", 0), ("window", 0), ("file", 0), ("timeout", 0), ("ack_delay", -1)):
            self.assertIsNotNone(of(**{**file, name: bad}), name)
        for good, bad in [
            (periodic(1), periodic(0)), (periodic(1, 0), periodic(1, -1)),
            ({"kind": "sporadic", "gap": 1, "burst": 1}, {"kind": "sporadic", "gap": 0, "burst": 1}),
            ({"kind": "sporadic", "gap": 1, "burst": 1}, {"kind": "sporadic", "gap": 1, "burst": 0}),
            ({"kind": "adaptive", "pause": 0, "timeout": 1}, {"kind": "adaptive", "pause": -1, "timeout": 1}),
            ({"kind": "adaptive", "pause": 0, "timeout": 1}, {"kind": "adaptive", "pause": 0, "timeout": 0}),
            ({"kind": "poisson"}, {"kind": "constant"}),
            ({"kind": "messages", "segment": 1}, {"kind": "messages", "segment": 0}),
        ]:
            self.assertIsNone(of(**good), good)
            self.assertIsNotNone(of(**bad), bad)
        # What is cut into segments may be larger than a packet; others may not.
        for traffic, is_good in [(file, True), ({"kind": "messages", "segment": 1}, True), (periodic(1), False)]:
            said = self.said(("flows/1/traffic", traffic), ("flows/1/over", "tcp"), ("flows/1/payload", 1461))
            self.assertEqual(said is None, is_good, traffic)

    def test_names(self):
        self.assertIn("nodes[1]: another node is `a`", self.said(("nodes/1/name", "a")))
        self.assertIn("flows[1]: another flow is `f`", self.said(("flows/1/name", "f")))
        self.assertIn("there is no station `b`", self.said(("flows/0/talker", "b")))
        self.assertIn("there is no station `sw`", self.said(("flows/0/talker", "sw")))
        self.assertIn("there is no station `b`", self.said(("flows/0/ways/0/to", "b")))
        way = self.plant()["flows"][0]["ways"][0]
        self.assertIn("flows[0]: one listener twice", self.said(("flows/0/ways", [way, way])))

    def test_links(self):
        self.assertIn("links[0]: there is no port 2 of `a`", self.said(("links/0/ends/0", ["a", 2])))
        self.assertIn("there is no port 3 of `sw`", self.said(("links/0/ends/1", ["sw", 3])))
        self.assertIn("there is no port 1 of `b`", self.said(("links/0/ends/0", ["b", 1])))
        for bad in ([], [["a", 1]], [["a", 1], ["sw", 1], ["z", 1]]):
            self.assertIn("links[0].ends: not a list of 2 to 2 items", self.said(("links/0/ends", bad)))
        for bad in (["a", 0], ["a"], ["a", 1, 1], ["a", (1 << 16) + 1]):
            self.assertIsNotNone(self.said(("links/0/ends/0", bad)), bad)
        scenario = self.plant()
        scenario["links"].append(link(("a", 1), ("sw", 2)))
        with self.assertRaisesRegex(Malformed, r"links\[2\]: two links in use at port 1 of `a`"):
            read(scenario)
        scenario["links"][2]["standby"] = True
        self.assertEqual(len(read(scenario).peers), 4)
        self.assertEqual(end(Node(["sw", 1 << 16], "here")), ("sw", 1 << 16))

    def test_ways(self):
        out = "flows/0/ways/0/out"
        self.assertIn("the way to `z` breaks at port 1 of `sw`", self.said((out, [["sw", 1]])))
        self.assertIn("the way to `z` breaks at port 2 of `a`", self.said((out, [["a", 2]])))
        self.assertIn("the way to `z` ends at `sw`", self.said((out, [["a", 1]])))
        self.assertIn("the way to `z` ends at `a`", self.said((out, [])))
        self.assertIn("the way to `z` passes the station `a`", self.said((out, [["a", 1], ["sw", 1]])))
        self.assertIn("the way to `a` ends at `sw`", self.said(("flows/0/ways/0/back", [["z", 1]])))
        self.assertIsNone(self.said(("flows/1/ways/0/back", None)))
        self.assertIn("passes the station `a`", self.said((out, [["a", 1], ["sw", 1], ["a", 1], ["sw", 2]])))
        self.assertIn("the way to `a` ends at `a`", self.said(
            ("flows/1/talker", "a"), ("flows/1/ways/0/out", [["a", 1], ["sw", 1]])))
        self.assertIsNone(self.said(("flows/1/talker", "a"), ("flows/1/ways/0/out", [])))

    def ring(self, standby=False, configured=False, **more):
        """Two ways from `a` to `z`: by one switch more or not."""
        nodes = [station("a"), station("z")] + [switch(name, 3, **more) for name in "uvw"]
        links = [link(("a", 1), ("u", 1)), link(("z", 1), ("v", 1)), link(("u", 2), ("v", 2), standby=standby),
                 link(("u", 3), ("w", 1)), link(("w", 2), ("v", 3))]
        own = flow("f", "a", "z")
        out = [["a", 1], ["u", 3], ["w", 2], ["v", 1]]
        own["ways"] = [{"to": "z", "out": out, "back": None, "configured": configured}]
        return plant(nodes, links, [own])

    def test_a_way_is_a_shortest_one_or_configured(self):
        with self.assertRaisesRegex(Malformed, "there is a shorter way to `z`, and this one is not configured"):
            read(self.ring())
        read(self.ring(configured=True))
        read(self.ring(standby=True))
        self.assertEqual(read(self.ring(configured=True)).distances("z"), {"z": 0, "v": 1, "u": 2, "w": 2, "a": 3})

    def test_switches_that_flood_need_a_tree(self):
        for more in ({"learns": 0}, {"floods_groups": True}):
            with self.assertRaisesRegex(Malformed, "switches flood in a loop, so that frames circulate; put a link"):
                read(self.ring(configured=True, **more))
            read(self.ring(standby=True, **more))
        # One of them is enough.
        scenario = self.ring(configured=True)
        scenario["nodes"][3]["learns"] = 0
        with self.assertRaisesRegex(Malformed, "flood in a loop"):
            read(scenario)

    def test_no_way_passes_a_station(self):
        # Stations have one port, so that a chain of links ends there.
        nodes = [station("a"), station("b"), station("z"), switch("w", 2)]
        links = [link(("a", 1), ("w", 1)), link(("w", 2), ("b", 1))]
        own = plant(nodes, links, [])
        self.assertEqual(read(own).distances("a"), {"a": 0, "w": 1, "b": 2})

    def test_a_link_of_a_switch_to_itself_is_a_loop(self):
        nodes = [switch("w", 2, learns=1)]
        with self.assertRaisesRegex(Malformed, "flood in a loop"):
            read(plant(nodes, [link(("w", 1), ("w", 2))], []))
        with self.assertRaisesRegex(Malformed, "two links in use at port 1 of `w`"):
            read(plant(nodes, [link(("w", 1), ("w", 1))], []))

    def test_lists_of_ways(self):
        end = ["a", 1]
        self.assertIn("breaks", self.said(("flows/0/ways/0/out", [end] * 4096)))
        self.assertIn("not a list", self.said(("flows/0/ways/0/out", [end] * 4097)))
        self.assertIn("breaks", self.said(("flows/0/ways/0/back", [end] * 4096)))
        self.assertIn("not a list", self.said(("flows/0/ways/0/back", [end] * 4097)))
        way = self.plant()["flows"][0]["ways"][0]
        self.assertIn("one listener twice", self.said(("flows/0/ways", [way] * 4096)))
        self.assertIn("not a list", self.said(("flows/0/ways", [way] * 4097)))
        self.assertIn("ports[0]: not an object", self.said(("nodes/2/ports", [0] * (1 << 16))))
        self.assertIn("not a list", self.said(("nodes/2/ports", [0] * ((1 << 16) + 1))))


if __name__ == "__main__":
    unittest.main()
