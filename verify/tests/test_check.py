"""Which claims hold each other up, what falls with a rule that is missing, and what memory it takes.

A frame of 60 octets over UDP takes 9.12 us to arrive at 100 Mbit/s, and keeps the link for 10.08 us.
"""

import copy
import io
import unittest
from types import SimpleNamespace
from unittest import mock

from plants import (MS, US, Writer, certificate, check, claim_of, cost, flow, link, periodic, plant, port, stack,
                    star, station, switch, words)
from rtether_verify import command, curves, memory
from rtether_verify.check import FULL, Arrivals, Checker, Claim, Failure, Result, Stream
from rtether_verify.curves import ONE, Load
from rtether_verify.plant import Plant
from rtether_verify.reading import Malformed, Node
from rtether_verify.wheels import wheels

SMALL, LARGE, WAY = 10_080_000, 123_040_000, 9_120_000
FILE = {"kind": "file", "segment": 1460, "window": 2920, "file": None, "timeout": 200 * MS, "ack_delay": 40 * MS}
ADAPTIVE = {"kind": "adaptive", "pause": 1000, "timeout": 10 * MS}
POISSON = {"kind": "poisson"}
REPLY = {"payload": 60, "after": 2000, "longest": 3000}


def writer(scenario, waits=()):
    """Returns a checker with claims of no delay, whose arrivals follow from each other."""
    own = Writer(Plant(Node(scenario, "scenario")), Result())
    own.write({}, waits)
    return own


def whys(document):
    return [(own.flow, words(own.visit.server) if own.visit else None, own.why)
            for own in check(copy.deepcopy(document)).failures]


def needs(document):
    """Returns what each claim that fails needs, by flow and place."""
    return {(own.flow, own.visit.way, words(own.visit.server)): own.need
            for own in check(copy.deepcopy(document)).failures if own.visit}


class Read(unittest.TestCase):
    """The claims of a certificate: one for each visit, in the order of the plant."""

    def refused(self, document, said):
        with self.assertRaises(Malformed) as caught:
            check(document)
        self.assertEqual(str(caught.exception), said)

    def document(self):
        return certificate(star("abz", [flow("f", "a", "z"), flow("g", "b", "z")]), {"port sw:3": SMALL})

    def test_what_does_not_fit_the_plant(self):
        self.assertEqual(whys(self.document()), [])
        document = self.document()
        document["schema"] = "rtether.certificate/2"
        self.refused(document, "certificate.schema: not `rtether.certificate/1`; ask for a certificate of this version")
        document = self.document()
        document["flows"].pop()
        self.refused(document, "certificate.flows: 1 flows, but the plant has 2")
        document = self.document()
        document["flows"].reverse()
        self.refused(document, "certificate.flows[0].flow: not `f`, flow 0 of the plant")
        document = self.document()
        document["streams"].pop()
        self.refused(document, "certificate.streams: 1 streams, but the plant has 2")
        for name, other in (("flow", "g"), ("listener", "b")):
            document = self.document()
            document["streams"][0][name] = other
            self.refused(document, "certificate.streams[0]: not `f` to `z`")

    def test_visits_that_there_are_not(self):
        for name, other in (("to", "b"), ("to", None), ("way", "reply"), ("at", ["port", "sw", 1]), ("at", []),
                            ("at", ["port", "sw", 3, 1])):
            document = self.document()
            document["flows"][0]["visits"][1][name] = other
            self.refused(document, "certificate.flows[0].visits[1]: flow `f` does not come by there")
        document = self.document()
        document["flows"][0]["visits"][1]["at"] = [0] * 5
        self.refused(document, "certificate.flows[0].visits[1].at: not a list of 0 to 4 items")
        document["flows"][0]["visits"][1] = document["flows"][0]["visits"][0]
        self.refused(document, "certificate.flows[0].visits[1]: a second claim of this visit")
        document = self.document()
        document["flows"][0]["visits"][1]["way"] = "answer"
        self.refused(document, "certificate.flows[0].visits[1].way: not a text among request, reply")
        for name in ("period", "burst"):
            document = self.document()
            document["flows"][0]["visits"][0]["arrivals"][name] = 0
            self.assertRaises(Malformed, check, document)
        document = self.document()
        document["flows"][0]["visits"][0]["arrivals"].update(period=1, burst=1)
        self.assertEqual(whys(document)[0][2], "its arrivals")
        document["flows"][0]["visits"][0]["arrivals"]["jitter"] = -1
        self.assertRaises(Malformed, check, document)

    def test_a_visit_that_nothing_is_said_of(self):
        document = self.document()
        document["flows"][0]["visits"].pop()
        self.assertEqual(whys(document), [("f", "port sw:3", "nothing is said of this visit")])
        # Of messages over TCP there is nothing to say.
        messages = {"kind": "messages", "segment": 1000}
        flows = [flow("f", "a", "z", traffic=messages, over="tcp"), flow("g", "b", "y")]
        document = certificate(star("abyz", flows), {})
        document["flows"][0]["visits"] = []
        result = check(document)
        self.assertEqual([own.lacks for own in result.streams], ["no delay is claimed", None])
        self.assertEqual(result.failures, [])

    def test_a_place_that_is_passed_twice_has_no_name(self):
        # Two copies meet at `w` and leave by its port 3; the next switch takes none without a VLAN.
        nodes = [station("a"), station("y"), station("z")] + [switch(name, 4) for name in "uvwx"]
        nodes[-1]["ports"][0]["vlan"] = {"kind": "access", "members": None, "native": None}
        links = [link(("a", 1), ("u", 1)), link(("u", 2), ("v", 1)), link(("v", 2), ("w", 1)), link(("u", 3), ("w", 2)),
                 link(("w", 3), ("x", 1)), link(("x", 2), ("y", 1)), link(("x", 3), ("z", 1))]
        own = flow("f", "a", "y", "z", multicast=True)
        own["ways"][0].update(out=[["a", 1], ["u", 2], ["v", 2], ["w", 3], ["x", 2]], configured=True)
        own["ways"][1].update(out=[["a", 1], ["u", 3], ["w", 3], ["x", 3]], configured=True)
        document = {"schema": "rtether.certificate/1", "rtether": "", "scenario": plant(nodes, links, [own]),
                    "flows": [], "streams": []}
        self.refused(document, "a packet passes a server twice in one direction, which has no name")

    def test_another_plant(self):
        document = self.document()
        own = copy.deepcopy(document["scenario"])
        self.assertEqual(check(document, own).failures, [])
        own["name"] = "other"
        result = check(document, own)
        self.assertEqual([tuple(each) for each in result.failures],
                         [(None, None, None, None, "it is of another plant than the one given")])
        self.assertEqual(result.streams, [])


class Sources(unittest.TestCase):
    def test_what_a_flow_releases(self):
        flows = [flow("periodic", "a", "z", traffic=periodic(MS, 7)),
                 flow("sporadic", "a", "z", traffic={"kind": "sporadic", "gap": MS, "burst": 3}),
                 flow("adaptive", "a", "z", traffic=ADAPTIVE, reply=REPLY), flow("poisson", "a", "z", traffic=POISSON),
                 flow("late", "a", "z", traffic={**ADAPTIVE, "timeout": 30 * US}, reply=REPLY)]
        # Four links, 2000 of the listener, 1000 of the talker.
        self.assertEqual(writer(star("az", flows)).sources, [
            (MS, 1, 7), (MS, 3, 0), (4 * WAY + 2000 + 1000, 1, 0), None, (30 * US, 1, 0)])

    def test_an_adaptive_flow_without_a_way(self):
        flows = [flow("adaptive", "a", "z", traffic=ADAPTIVE, reply=REPLY),
                 flow("fast", "a", "z", traffic={**ADAPTIVE, "pause": 0}, reply=REPLY)]
        scenario = star("az", flows)
        scenario["nodes"][-1]["ports"][0]["vlan"] = {"kind": "access", "members": None, "native": None}
        self.assertEqual([own.period for own in writer(scenario).sources], [1000, 1])

    def test_the_nearest_listener_answers_first(self):
        own = flow("adaptive", "a", "y", "z", traffic=ADAPTIVE, reply=REPLY)
        scenario = star("ayz", [own], rates={"z": 10**9})
        self.assertEqual(writer(scenario).sources[0].period, 2 * WAY + 2 * WAY // 10 + 3000)

    def test_frames_of_a_message_come_at_once(self):
        document = certificate(star("az", [flow("f", "a", "z", payload=1473, traffic=periodic(MS, 7))]),
                               {"port a:1": LARGE, "port sw:2": LARGE})
        first, behind = [own["arrivals"] for own in document["flows"][0]["visits"]]
        self.assertEqual((first, behind["burst"]), ({"period": MS, "burst": 2, "jitter": 7}, 2))
        # One of the two frames may be shorter by 1454 octets.
        self.assertEqual(behind["jitter"], 7 + LARGE + 1454 * 80_000)

    def test_datagrams_are_whole_for_tasks(self):
        tasks = {"message": 1000, "message_more": 0, "segment": 0, "segment_more": 0, "messages_first": False}
        own = flow("f", "a", "z", payload=1473, traffic={"kind": "sporadic", "gap": MS, "burst": 3})
        document = certificate(star("az", [own], inside={"a": {"tasks": tasks}, "z": {"tasks": tasks}}), {})
        self.assertEqual([own["arrivals"]["burst"] for own in document["flows"][0]["visits"]], [3, 6, 6, 3])

    def test_claims_at_the_source(self):
        scenario = star("az", [flow("f", "a", "z", traffic=periodic(MS, 7))])

        def fails(visit, **changes):
            document = certificate(scenario, {})
            document["flows"][0]["visits"][visit]["arrivals"].update(changes)
            return [(own.visit.number, own.claim, own.need) for own in check(document).failures
                    if own.why == "its arrivals"]

        self.assertEqual(fails(0, jitter=8), [(1, Arrivals(MS, 1, 7), Arrivals(MS, 1, 8))])
        self.assertEqual(fails(1, jitter=8), [])
        self.assertEqual(fails(0, jitter=6), [(0, Arrivals(MS, 1, 6), Arrivals(MS, 1, 7))])
        # More than the source sends is no curve of it: the format has one form.
        for changes in ({"period": MS - 1}, {"burst": 2}):
            self.assertEqual([own[0] for own in fails(0, **changes)], [0, 1])
        document = certificate(star("az", [flow("f", "a", "z", traffic=POISSON)]), {})
        document["flows"][0]["visits"][0]["arrivals"] = {"period": MS, "burst": 1, "jitter": 0}
        failure = check(document).failures[0]
        self.assertEqual((failure.why, failure.need), ("its arrivals", None))

    def test_what_follows_from_the_visit_before(self):
        inside = {"a": {"stack": stack(cost(1000, 0, 300, 20))}}
        document = certificate(star("az", [flow("f", "a", "z", traffic=periodic(MS, 7))], inside=inside,
                                    latency_jitter=4), {"stack a both": 100, "port a:1": 10_000})
        # Delay and varying time add up; the 300 are the same for all.
        self.assertEqual([own["arrivals"]["jitter"] for own in document["flows"][0]["visits"]],
                         [7, 7 + 100 + 20, 7 + 100 + 20 + 10_000 + 4])
        # Flows that share the limit of a processor do not meet the same constant.
        document = certificate(star("az", [flow("f", "a", "z", traffic=POISSON)], inside=inside), {"port a:1": 50})
        self.assertEqual([own["arrivals"] for own in document["flows"][0]["visits"]], [
            None, {"period": 1000, "burst": 1, "jitter": 0}, {"period": 1000, "burst": 1, "jitter": 50}])

    def test_a_flow_that_waits_keeps_its_source_on_the_whole_way(self):
        scenario = star("az", [flow("f", "a", "z", traffic=ADAPTIVE, reply=REPLY)])
        round_trip = 4 * WAY + 3000
        for waits, jitters in (((0,), [0, 0, 0, 0]), ((), [0, 5, 10, 16 + 1000])):
            document = certificate(scenario, {"port a:1": 5, "port sw:2": 5, "port z:1": 6}, waits)
            own = [own["arrivals"] for own in document["flows"][0]["visits"]]
            self.assertEqual([each["period"] for each in own], [round_trip] * 4)
            if waits:
                self.assertEqual([each["jitter"] for each in own], jitters)
            else:
                self.assertEqual([each["jitter"] for each in own], [0, 5, 10 + 1000, 16 + 1000])

    def test_acknowledgements_come_late(self):
        inside = {"z": {"stack": stack(cost(1000))}, "a": {"stack": stack(cost(2000))}}
        document = certificate(star("az", [flow("f", "a", "z", traffic=FILE, over="tcp")], inside=inside), {})
        own = [(each["way"], words(each["at"]), each["arrivals"]) for each in document["flows"][0]["visits"]]
        curve = lambda period, jitter: {"period": period, "burst": 1, "jitter": jitter}
        # Behind the stack of `a` they are 2000 apart; a frame of 1518 octets arrives later than one of 64.
        spread = 1454 * 80_000
        self.assertEqual(own[:4], [
            ("request", "stack a both", None), ("request", "port a:1", curve(2000, 0)),
            ("request", "port sw:2", curve(2000, spread)), ("request", "stack z both", curve(2000, 2 * spread))])
        self.assertEqual(own[4][:2], ("reply", "stack z both"))
        # Acknowledgements leave the stack of `z` behind what it serves, up to 40 ms later.
        self.assertEqual(own[4][2], curve(2000, 2 * spread + 40 * MS))


class Falls(unittest.TestCase):
    """What rests on a missing rule is not certified; all else is tested."""

    def chain(self, rate=10**8, **inside):
        """`f` from `a`, `g` from `b` to `y` meet; `h` from `b` to `z` does not."""
        flows = [flow("f", "a", "y"), flow("g", "b", "y"), flow("h", "b", "z")]
        return star("abyz", flows, inside=inside, rates={"y": rate})

    def test_a_delay_that_is_not_claimed(self):
        document = certificate(self.chain(10**9), {"port b:1": SMALL, "port sw:3": SMALL // 10})
        claim_of(document, "f", "port a:1")["delay"] = None
        claim_of(document, "f", "port sw:3")["arrivals"] = None
        result = check(document)
        self.assertEqual(result.failures, [])
        # The line of the link holds, whatever comes: `g` waits for one frame.
        self.assertEqual([own.lacks for own in result.streams], ["no delay is claimed", None, None])
        self.assertEqual([own.bound for own in result.streams],
                         [None, document["streams"][1]["bound"], document["streams"][2]["bound"]])

    def test_arrivals_that_rest_on_what_is_not_claimed(self):
        # The link of `a` is as fast as that of `y`: without its claim it fills the port alone.
        document = certificate(self.chain(a={"beyond": ["port: order"]}), {"port b:1": SMALL, "port sw:3": SMALL})
        self.assertEqual([own.lacks for own in check(document).streams], ["order", "order", None])

    def test_what_a_processor_keeps_apart_rests_on_no_claim(self):
        # One packet every 100 us, whatever is claimed of the order at the stack.
        inside = {"a": {"stack": stack(cost(100 * US)), "beyond": ["stack: pauses"]}}
        flows = [flow("f", "a", "z", traffic=POISSON), flow("g", "b", "z")]
        document = certificate(star("abz", flows, inside=inside), {"port sw:3": SMALL})
        result = check(document)
        self.assertEqual(result.failures, [])
        self.assertEqual([own.lacks for own in result.streams], ["pauses", None])
        document = certificate(star("abz", flows, inside=inside), {"port sw:3": SMALL - 1})
        self.assertEqual([own[1] for own in whys(document)], ["port sw:3"] * 2)

    def test_flows_of_one_processor_share_its_time(self):
        # Each may come every 15 us, both together, too: 20.16 us of work, or 10.08.
        inside = {"a": {"stack": stack(cost(15 * US))}}
        flows = [flow("e", "a", "z", traffic=POISSON), flow("f", "a", "z", traffic=POISSON), flow("g", "b", "z")]
        document = certificate(star("abz", flows, inside=inside), {"port sw:3": SMALL})
        result = check(document)
        self.assertEqual(result.failures, [])
        self.assertEqual([own.lacks for own in result.streams], [FULL, FULL, None])
        # What a source limits has its own limit: no packet fewer.
        flows = [flow(name, "a", "z", traffic=periodic(MS)) for name in "ef"] + [flow("g", "b", "z")]
        delays = {"stack a both": 15 * US, "port sw:3": SMALL}
        self.assertEqual(whys(certificate(star("abz", flows, inside=inside), delays)), [])

    def test_what_comes_from_a_place_without_a_rule_is_unlimited(self):
        inside = {"a": {"beyond": ["port: order"], "interface": {"base": 0, "octet": 1, "more": 0}}}
        scenario = self.chain(**inside)
        scenario["links"][0]["half"] = True
        document = certificate(scenario, {"port b:1": SMALL, "port sw:3": SMALL})
        for place in ("port a:1",):
            claim_of(document, "f", place).update(rule=None, delay=None)
        claim_of(document, "f", "port sw:3").update(arrivals=None)
        result = check(document)
        self.assertEqual(result.failures, [])
        self.assertEqual([own.lacks for own in result.streams], ["a link that is half duplex"] * 2 + [None])
        self.assertEqual(result.may_drop[0], "port a:1")

    def test_a_claim_at_a_place_without_a_rule(self):
        scenario = self.chain(10**9, a={"beyond": ["port: order"]})
        document = certificate(scenario, {"port b:1": SMALL, "port sw:3": SMALL // 10})
        result = check(document)
        self.assertEqual(result.failures, [])
        # What is claimed there is not taken for granted, but the line of the link is.
        self.assertEqual([own.lacks for own in result.streams], ["order", None, None])

    def test_a_place_that_is_full(self):
        flows = [flow("f", "a", "z", traffic=periodic(2 * SMALL)), flow("g", "b", "z", traffic=periodic(SMALL)),
                 flow("h", "a", "b")]
        document = certificate(star("abz", flows, shared_buffer=1 << 20), {"port a:1": SMALL, "port sw:3": MS})
        result = check(document)
        self.assertIn("the shared memory of sw", result.may_drop)
        self.assertEqual(result.failures, [])
        self.assertEqual([own.lacks for own in result.streams], [FULL, FULL, None])
        self.assertIn("port sw:3", result.may_drop)
        self.assertNotIn("port sw:2", result.may_drop)

    def test_what_follows_from_what_falls(self):
        # At the first of two switches in a row it is full; at the second all else is tested again.
        nodes = [station(name) for name in "abcz"] + [switch("v", 4), switch("w", 4)]
        links = [link(("a", 1), ("v", 1)), link(("b", 1), ("v", 2)), link(("v", 3), ("w", 1)),
                 link(("c", 1), ("w", 2)), link(("z", 1), ("w", 3))]
        flows = [flow("h", "c", "z"), flow("f", "a", "z", traffic=periodic(SMALL)),
                 flow("g", "b", "z", traffic=periodic(SMALL))]
        for own, out in zip(flows, ([["c", 1], ["w", 3]], [["a", 1], ["v", 3], ["w", 3]],
                                    [["b", 1], ["v", 3], ["w", 3]])):
            own["ways"][0]["out"] = out
        document = certificate(plant(nodes, links, flows), {"port v:3": MS, "port w:3": MS})
        result = check(document)
        self.assertEqual(result.failures, [])
        self.assertEqual([own.lacks for own in result.streams], [FULL] * 3)

    def test_messages_are_not_certified(self):
        messages = {"kind": "messages", "segment": 1000}
        flows = [flow("m", "a", "z", traffic=messages, over="tcp"), flow("f", "b", "z"), flow("g", "b", "y")]
        document = certificate(star("abyz", flows), {"port b:1": SMALL, "port sw:4": 0})
        result = check(document)
        self.assertEqual([own.lacks for own in result.streams],
                         ["messages over TCP", "messages over TCP", None])
        self.assertEqual(result.failures, [])

    def test_the_rule_of_its_server(self):
        document = certificate(self.chain(), {"port b:1": SMALL, "port sw:3": SMALL})
        claim_of(document, "f", "port sw:3")["rule"] = "priority"
        self.assertEqual(whys(document), [("f", "port sw:3", "its server chooses by `arrival`")])

    def test_a_claim_of_less_names_the_need(self):
        document = certificate(self.chain(), {"port b:1": SMALL, "port sw:3": SMALL - 1})
        self.assertEqual(needs(document), {("f", "request", "port sw:3"): SMALL, ("g", "request", "port sw:3"): SMALL})

    def test_sums(self):
        document = certificate(self.chain(), {"port b:1": SMALL, "port sw:3": SMALL})
        document["streams"][0]["bound"] -= 1
        failure, = check(document).failures
        sums = 2 * WAY + SMALL - 1, 2 * WAY + SMALL
        self.assertEqual(tuple(failure), ("f", None, *sums, "the sum of the delays to y"))
        document["streams"][0]["bound"] = None
        result = check(document)
        self.assertEqual((result.streams[0].bound, result.streams[0].lacks), (None, "no bound is claimed"))
        self.assertEqual(result.failures, [])

    def test_a_sum_without_a_way(self):
        scenario = self.chain()
        scenario["nodes"][-1]["ports"][2]["vlan"] = {"kind": "access", "members": None, "native": 5}
        document = certificate(self.chain(), {"port b:1": SMALL, "port sw:3": SMALL})
        document["scenario"] = scenario
        for own in document["flows"][:2]:
            own["visits"] = own["visits"][:1]
        failures = check(document).failures
        self.assertEqual([(own.flow, own.need, own.why) for own in failures], [
            ("f", None, "the sum of the delays to y"), ("g", None, "the sum of the delays to y")])

    def test_what_goes_behind_a_copy(self):
        # Two listeners; answers, fragments and packets without a source are not counted.
        def behind(own):
            found = writer(star("ayz", [own], inside={"a": {"stack": stack(cost(1000))}}))
            server = found.ways.servers[("stack", "a", "both")]
            return [(visit.way, found._behind(server, visit)) for visit in server.members]

        replies = behind(flow("f", "a", "y", "z", reply=REPLY))
        self.assertEqual(sorted(replies), [("reply", 0), ("reply", 0), ("request", 0), ("request", 1000)])
        self.assertEqual(behind(flow("f", "a", "y", "z", payload=1473)), [("request", 0)] * 2)
        self.assertEqual(behind(flow("f", "a", "y", "z", traffic=POISSON)), [("request", 0)] * 2)
        found = writer(star("ayz", [flow("f", "a", "y", "z"), flow("g", "a", "y")]))
        server = found.ways.servers[("port", "a", 1)]
        self.assertEqual([found._behind(server, own) for own in server.members], [SMALL, 0, 0])

    def test_a_split_counts_once(self):
        inside = {"z": {"stack": {**stack(cost(1000)), "split": 300}}}
        scenario = star("az", [flow("f", "a", "z", reply=REPLY)], inside=inside)
        document = certificate(scenario, {"stack z both": 1000})
        # Four links, two passes of 1000, two waits, the answer; 300 of one pass belong to the other.
        self.assertEqual(document["streams"][0]["bound"], 4 * WAY + 3000 + 2 * 1000 + 2 * 1000 - 300)


class Waiting(unittest.TestCase):
    """Flows that wait for answers."""

    def test_what_does_not_wait(self):
        scenario = star("az", [flow("f", "a", "z", reply=REPLY)])
        document = certificate(scenario, {})
        document["flows"][0]["waits"] = True
        self.assertEqual(whys(document), [("f", None, "it waits for no answers")])

    def test_an_answer_must_come_before_it_gives_up(self):
        round_trip = 4 * WAY + 3000
        for timeout, is_good in ((round_trip, False), (round_trip + 1, True)):
            traffic = {"kind": "adaptive", "pause": 1000, "timeout": timeout}
            document = certificate(star("az", [flow("f", "a", "z", traffic=traffic, reply=REPLY)]), {}, (0,))
            failures = check(document).failures
            self.assertEqual([(own.flow, own.claim, own.need, own.why) for own in failures], [] if is_good else [
                ("f", timeout, round_trip, "its answers may come after it gives up")])

    def test_bit_errors_on_the_way(self):
        scenario = star("az", [flow("f", "a", "z", traffic=ADAPTIVE, reply=REPLY)])
        scenario["links"][1]["errors"] = 1
        document = certificate(scenario, {}, (0,))
        self.assertEqual(whys(document), [("f", None, "bit errors may destroy what it waits for")])

    def test_an_answer_that_does_not_come(self):
        scenario = star("az", [flow("f", "a", "z", traffic=ADAPTIVE, reply=REPLY)])
        document = certificate(scenario, {}, (0,))
        scenario["nodes"][-1]["ports"][0]["vlan"] = {"kind": "access", "members": None, "native": None}
        document = certificate_without_end(scenario)
        document["flows"][0]["waits"] = True
        self.assertEqual([own[2] for own in whys(document)], ["its answers may come after it gives up"])

    def test_one_that_waits_for_what_has_no_rule(self):
        # The rule of `z` is missing: the flow may give up, and comes with the jitter of its way.
        inside = {"z": {"stack": stack(cost(1000)), "beyond": ["stack: pauses"]}}
        flows = [flow("f", "a", "z", traffic=ADAPTIVE, reply=REPLY), flow("g", "b", "a")]
        scenario = star("abz", flows, inside=inside, rates={"a": 10**9})
        document = certificate(scenario, {"port a:1": 5, "port sw:1": SMALL // 10}, (0,))
        result = check(document)
        self.assertEqual(result.failures, [])
        # `g` meets answers that nothing limits any more but their link.
        self.assertEqual([own.lacks for own in result.streams], ["pauses", None])

    def test_a_window_counts_on_the_way_alone(self):
        # A file from `a` to `z`, whose copies a switch that learns floods to `b`, now and then.
        scenario = star("abz", [flow("f", "a", "z", traffic=FILE, over="tcp"), flow("g", "z", "b")], learns=3 * 10**14)
        own = writer(scenario, (0,))
        own.waits = {0: True, 1: False}
        load = lambda way, *server: own._load(next(
            visit for visit in own.ways.visits if (visit.flow, visit.way, visit.server) == (0, way, list(server))))
        first = load("request", "port", "sw", 3)
        self.assertEqual((first.under_way, first.connection, first.jitter), (4, (0, 0), None))
        self.assertEqual(load("reply", "port", "sw", 1).connection, (0, 0))
        copies = load("request", "port", "sw", 2)
        self.assertEqual((copies.under_way, copies.connection), (0, None))
        self.assertEqual((copies.period, copies.burst, copies.jitter), (3 * 10**14, 4, 10**12))
        own.waits[0] = False
        self.assertEqual(load("request", "port", "sw", 3).under_way, 0)

    def test_copies_of_a_connection_that_may_give_up(self):
        # What a table lets through is its packets under way, if it waits; else nothing limits them.
        flows = [flow("f", "a", "z", traffic=FILE, over="tcp"), flow("g", "z", "b")]
        scenario = star("abz", flows, learns=3 * 10**14)
        delays = {"port a:1": 4 * LARGE, "port z:1": 5 * LARGE, "port sw:1": 4 * LARGE, "port sw:2": 9 * LARGE,
                  "port sw:3": 4 * LARGE}
        self.assertEqual(whys(certificate(scenario, delays, (0,))), [])
        document = certificate(scenario, delays, (0,))
        document["flows"][0]["waits"] = False
        copies = [own for own in document["flows"][0]["visits"] if own["at"] == ["port", "sw", 2]]
        self.assertEqual([own["arrivals"]["period"] for own in copies], [3 * 10**14] * 2)
        self.assertIn(("f", "port sw:2", "its arrivals"), whys(document))

    def test_what_is_left_of_a_flow_that_gives_up(self):
        # Its copies are without a limit; what its processor keeps apart stays so.
        inside = {"a": {"stack": stack(cost(MS))}}
        scenario = star("abz", [flow("f", "a", "z", traffic=FILE, over="tcp"), flow("g", "b", "z")], inside=inside,
                        learns=3 * 10**14)
        own = writer(scenario, (0,))
        for visit in own.ways.visits:
            own._begin(visit)
        place = lambda number: own.ways.visits[number].server
        self.assertEqual(sorted(place(number) for number in own.free if own.ways.visits[number].flow == 0), [
            ["port", "a", 1], ["port", "sw", 2], ["port", "sw", 2]])
        own.lacks[0] = "y"
        weak = own._give_up(0, "x")
        self.assertEqual(weak, [visit.number for visit in own.ways.visits if visit.flow == 0])
        self.assertEqual({own.lacks[number] for number in weak}, {"x", "y"})
        self.assertEqual([visit.number for visit in own.ways.visits if visit.flow == 1 and own.lacks[visit.number]], [])
        self.assertEqual([place(number) for number in own.free if own.ways.visits[number].flow == 0],
                         [["port", "a", 1]])
        adaptive = star("az", [flow("f", "a", "z", traffic=ADAPTIVE, reply=REPLY)])
        own = writer(adaptive, (0,))
        for visit in own.ways.visits:
            own._begin(visit)
        self.assertEqual(own.free, {0, 1, 2, 3})
        own._give_up(0, "x")
        self.assertEqual(own.free, {0})

    def test_the_loads_of_an_adaptive_flow(self):
        own = writer(star("az", [flow("f", "a", "z", traffic=ADAPTIVE, reply=REPLY)]), (0,))
        load = own._load(own.ways.visits[0])
        self.assertEqual((load.under_way, load.connection), (1, None))
        self.assertEqual((load.ratio, load.group, load.enough), (0, None, 0))
        own.claims[1] = own.claims[1]._replace(delay=7)
        load = own._load(own.ways.visits[1])
        self.assertEqual((load.ratio, load.group, load.enough), (ONE, ("from", "port", "a", 1), 7))
        own.claims[1] = own.claims[1]._replace(delay=None)
        self.assertEqual(own._load(own.ways.visits[1]).enough, 0)


def certificate_without_end(scenario):
    own = Writer(Plant(Node(scenario, "scenario")), Result())
    flows = own.write({}, ())
    streams = [{"flow": own.plant.flows[number].name, "listener": to, "bound": None, "proved": None}
               for number, to, _ in own.ways.streams]
    return {"schema": "rtether.certificate/1", "rtether": "test", "scenario": scenario, "flows": flows,
            "streams": streams}


class Cycles(unittest.TestCase):
    def steps(self, *edges):
        """Visits that lead from one place to another, some in no time."""
        visits = []
        for one, other, least in edges:
            visits.append(SimpleNamespace(server=[one], parent=None, least=0))
            visits.append(SimpleNamespace(server=[other], parent=len(visits) - 1, least=least))
        return [own.server[0] for own in wheels(SimpleNamespace(visits=visits))]

    def test_cycles_without_time(self):
        self.assertEqual(self.steps(("a", "b", 0), ("b", "c", 0)), [])
        self.assertEqual(self.steps(("a", "b", 0), ("b", "a", 0)), ["a"])
        self.assertEqual(self.steps(("a", "b", 0), ("b", "a", 1)), [])
        self.assertEqual(self.steps(("a", "a", 0)), ["a"])
        self.assertEqual(self.steps(("a", "b", 0), ("b", "c", 0), ("c", "d", 0), ("d", "b", 0)), ["b"])
        # Two ways to one place are no cycle, nor is one that was done before.
        self.assertEqual(self.steps(("a", "b", 0), ("a", "c", 0), ("b", "d", 0), ("c", "d", 0), ("d", "e", 0)), [])
        self.assertEqual(self.steps(("b", "c", 0), ("a", "b", 0), ("a", "c", 0)), [])
        self.assertEqual(self.steps(("a", "b", 0), ("a", "c", 0), ("c", "d", 0), ("d", "a", 0)), ["a"])
        self.assertEqual(sorted(self.steps(("a", "b", 0), ("b", "a", 0), ("c", "d", 0), ("d", "c", 0))), ["a", "c"])


class Memory(unittest.TestCase):
    """A packet that waits came no longer ago than its delay."""

    def limits(self, scenario, delays, waits=()):
        own = writer(scenario, waits)
        own.write(delays, waits)
        own.run()
        self.assertEqual(own.result.failures, [])
        return own

    def need(self, own, *server):
        found = own.ways.servers[server]
        return memory.octets(own, found, found.members)

    def test_octets_at_a_port_by_packets_and_by_work(self):
        own = self.limits(star("abz", [flow("f", "a", "z"), flow("g", "b", "z")]), {"port sw:3": SMALL})
        # One packet of each within the delay, of 106 octets and room for a tag; by work 2 * 126 octets,
        # of which 106 of 126 are in memory.
        self.assertEqual(self.need(own, "port", "sw", 3), min(2 * 110, 2 * 126 * 106 // 126))
        # A packet that does not wait takes no room.
        self.assertEqual(self.need(own, "port", "a", 1), 0)
        own = self.limits(star("abz", [flow("f", "a", "z", traffic=periodic(MS, 3 * MS)), flow("g", "b", "z")]),
                          {"port a:1": 3 * SMALL, "port sw:3": SMALL})
        # Four at once by the curve, so that work says less: a delay of 3 and its own.
        self.assertEqual(self.need(own, "port", "a", 1), 4 * 126 * 106 // 126)

    def test_a_queue_that_counts_by_packets(self):
        scenario = star("az", [flow("f", "a", "z", traffic=periodic(30 * US, 30 * US))])
        own = self.limits(scenario, {"port a:1": SMALL})
        # Within 10.08 us: floor(40.08 / 30) + 1 = 2 packets.
        found = own.ways.servers[("port", "a", 1)]
        self.assertEqual(memory.counted(own, found.members, lambda visit: 7), 2 * 7)
        self.assertEqual(memory.packets(own, found.members), 2)
        self.assertEqual(memory.packets(own, ()), 0)
        own.lacks[0] = "x"
        self.assertIsNone(memory.packets(own, found.members))
        own.lacks[0] = None
        own.claims[0] = own.claims[0]._replace(arrivals=None)
        self.assertIsNone(memory.packets(own, found.members))

    def test_a_window_is_all_there_is(self):
        scenario = star("abz", [flow("file", "a", "z", traffic=FILE, over="tcp"), flow("f", "b", "z")])
        own = self.limits(scenario, {"port a:1": 4 * LARGE, "port sw:3": 5 * LARGE, "port z:1": 4 * LARGE,
                                     "port sw:1": 4 * LARGE}, (0,))
        # Four of 1518 and 4, one of 106 and 4.
        found = own.ways.servers[("port", "sw", 3)]
        self.assertEqual(memory.counted(own, found.members, lambda visit: visit.sizes[1] + 4), 4 * 1522 + 110)
        both = own.ways.servers[("port", "a", 1)].members + own.ways.servers[("port", "z", 1)].members
        # Segments and acknowledgements share the window.
        self.assertEqual(memory.packets(own, both), 4)
        self.assertEqual(memory.counted(own, both, lambda visit: visit.sizes[1]), 4 * 1518)

    def test_flows_under_way_are_counted_each(self):
        flows = [flow(name, "a", "z", traffic=ADAPTIVE, reply=REPLY) for name in "fg"]
        own = writer(star("az", flows), (0, 1))
        self.assertEqual(memory.packets(own, own.ways.servers[("port", "a", 1)].members), 2)

    def priorities(self, **more):
        flows = [flow(name, name, "z", tag={"pcp": 7 * (name != "c"), "vid": 0}) for name in "abc"]
        return star("abcz", flows, lambda: port(selection="priority", **more), queue_of_pcp=[0] * 7 + [1])

    def test_each_queue_brings_its_own_work(self):
        tagged = 130 * 80_000
        delays = {("a", "request", "port sw:4"): 2 * tagged, ("b", "request", "port sw:4"): 2 * tagged,
                  ("c", "request", "port sw:4"): 2 * tagged}
        own = self.limits(self.priorities(), delays)
        # By packets: three of 106 and 4.
        self.assertEqual(self.need(own, "port", "sw", 4), 3 * 110)
        # By work: (2 + 1) frames of each queue.
        found = own.ways.servers[("port", "sw", 4)]
        with mock.patch.object(memory, "counted", return_value=None):
            self.assertEqual(memory.octets(own, found, found.members), 6 * 130 * 110 // 130)
            self.assertEqual(memory.octets(own, found, found.members[:1]), 3 * 130 * 110 // 130)
            found.rule = "preemption"
            self.assertIsNone(memory.octets(own, found, found.members))
            found.rule = "priority"
            own.lacks[found.members[0].number] = "x"
            self.assertIsNone(memory.octets(own, found, found.members))

    def test_copies_of_a_release_wait_with_it(self):
        own = flow("f", "a", "x", "y", "z")
        checker = writer(star("axyz", [own]))
        checker.write({"port a:1": 2 * SMALL}, ())
        for number, wait in zip([own.number for own in checker.ways.visits if own.parent is None], (0, 1, 2)):
            checker.claims[number] = checker.claims[number]._replace(delay=wait * SMALL)
        checker.run()
        self.assertEqual(checker.result.failures, [])
        found = checker.ways.servers[("port", "a", 1)]
        self.assertEqual([checker._behind(found, visit) for visit in found.members], [2 * SMALL, SMALL, 0])
        with mock.patch.object(memory, "counted", return_value=None):
            self.assertEqual(memory.octets(checker, found, found.members), 3 * 126 * 106 // 126)
        found.rule = "preemption"
        self.assertEqual([checker._behind(found, visit) for visit in found.members], [0] * 3)

    def listed(self, scenario, delays, waits=()):
        result = check(certificate(scenario, delays, waits))
        self.assertEqual(result.failures, [])
        return result.may_drop

    def test_ports(self):
        def listed(**more):
            scenario = star("abz", [flow("f", "a", "z"), flow("g", "b", "z")], shared_buffer=more.pop("shared", None))
            scenario["nodes"][-1]["ports"][2].update(more)
            scenario["nodes"][0]["driver_queue"] = 0
            return self.listed(scenario, {"port sw:3": SMALL})

        need = 212
        self.assertEqual(listed(buffer=need), [])
        self.assertEqual(listed(buffer=need - 1), ["port sw:3"])
        self.assertEqual(listed(shared=need), [])
        self.assertEqual(listed(shared=need - 1), ["the shared memory of sw"])
        self.assertEqual(listed(thresholds=[need] + [0] * 7), [])
        self.assertEqual(listed(thresholds=[need - 1] + [0] * 7), ["port sw:3"])

    def test_thresholds_of_each_queue(self):
        tagged = 130 * 80_000
        delays = {("a", "request", "port sw:4"): 2 * tagged, ("b", "request", "port sw:4"): 2 * tagged,
                  ("c", "request", "port sw:4"): 2 * tagged}

        def listed(thresholds):
            scenario = self.priorities()
            scenario["nodes"][-1]["ports"][3]["thresholds"] = thresholds + [0] * 6
            return self.listed(scenario, delays)

        # One frame in the lower queue, two in the higher one.
        self.assertEqual(listed([110, 220]), [])
        self.assertEqual(listed([109, 220]), ["port sw:4"])
        self.assertEqual(listed([110, 219]), ["port sw:4"])

    def test_stations(self):
        flows = [flow("f", "a", "z"), flow("g", "a", "z")]
        scenario = star("az", flows)
        for most, found in ((212, []), (211, ["port a:1"])):
            scenario["nodes"][0]["driver_queue"] = most
            self.assertEqual(self.listed(scenario, {"port a:1": SMALL}), found)
        inside = {"a": {"stack": stack(cost(US)), "stack_queue": 2}}
        scenario = star("az", flows, inside=inside)
        delays = {"stack a both": US, "port a:1": SMALL - US}
        self.assertEqual(self.listed(scenario, delays), [])
        scenario["nodes"][0]["stack_queue"] = 1
        self.assertEqual(self.listed(scenario, delays), ["stack a"])
        scenario["nodes"][0]["layer"] = {"queue_of_pcp": [0] * 8, "untagged": 0, "classes": [], "instances": None, "receive": None, "transmit": None}
        self.assertEqual(self.listed(scenario, delays), ["the stack of a"])
        scenario["nodes"][0]["stack_queue"] = 2
        self.assertEqual(self.listed(scenario, delays), [])

    def test_tasks_and_gaps(self):
        tasks = {"message": US, "message_more": 0, "segment": 0, "segment_more": 0, "messages_first": False}
        scenario = star("az", [flow("f", "a", "z"), flow("g", "a", "z")], inside={"a": {"tasks": tasks}})
        delays = {"tasks a": US, "port a:1": SMALL - US}
        for most, found in ((2, []), (1, ["tasks a"])):
            scenario["nodes"][0]["stack_queue"] = most
            self.assertEqual(self.listed(scenario, delays), found)
        for burst, found in ((1000, []), (1001, ["gap a f"[:5]])):
            own = flow("f", "a", "z", traffic={"kind": "sporadic", "gap": 1000 * MS, "burst": burst}, gap=100 * US)
            self.assertEqual(self.listed(star("az", [own]), {"gap a f": (burst - 1) * 100 * US}), found)

    def test_routers_and_lossy_links(self):
        for queue, found in ((2, []), (1, ["router sw"])):
            scenario = star("abz", [flow("f", "a", "z"), flow("g", "b", "z")],
                            processor={"cost": cost(US), "queue": queue})
            self.assertEqual(self.listed(scenario, {"router sw": US, "port sw:3": SMALL - US}), found)
        scenario = star("az", [flow("f", "a", "z")])
        scenario["links"][0]["errors"] = 1
        self.assertEqual(self.listed(scenario, {}), ["the link of port a:1"])


class Curves(unittest.TestCase):
    def test_stairs_by_hand(self):
        # 3 packets of 5 at once: burst 3, jitter 7 of 10; the next at 3, 13.
        stairs = curves.Stairs([Load(0, 5, (10, 3, 7))], 13)
        self.assertEqual((stairs.times, stairs.sums), ([0, 3, 13], [15 * ONE, 30 * ONE, 45 * ONE]))
        self.assertEqual([stairs.at(own) for own in (-1, 0, 2, 3, 99)], [0, 15 * ONE, 15 * ONE, 30 * ONE, 45 * ONE])
        self.assertEqual([stairs.step(own) for own in (-1, 0, 2, 3, 99)], [0, 1, 1, 2, 3])
        both = curves.Stairs([Load(0, 5, (10, 1, 0)), Load(1, 2, (10, 1, 10))], 10)
        self.assertEqual((both.times, both.sums), ([0, 10], [9 * ONE, 16 * ONE]))

    def test_lines_by_hand(self):
        loads = [Load(0, 5, group="one", ratio=ONE // 4, slack=8), Load(1, 7, group="one", ratio=ONE // 2, slack=2)]
        # 7 and half of what comes 8 earlier.
        self.assertEqual(curves.line(loads), (7 * ONE + 4 * ONE, ONE // 2))
        self.assertIsNone(curves.line([Load(0, 5)]))

    def test_buckets_and_tails_by_hand(self):
        loads = [Load(0, 4, (8, 2, 3)), Load(1, 3, (3, 1, 0))]
        # One per picosecond and 3 earlier, 8 at once; one per picosecond, 3 at once.
        self.assertEqual(curves.bucket(loads), ((8 + 3 + 3) * ONE, 2 * ONE))
        self.assertIsNone(curves.bucket([Load(0, 4)]))
        third = curves.bucket([Load(0, 1, (3, 1, 0))])
        self.assertEqual(third, (ONE, -(-ONE // 3)))
        own = Load(0, 4, (8, 2, 3), group="one", ratio=ONE // 2)
        self.assertEqual(curves.tail([own]), (4 * ONE, ONE // 2))
        self.assertEqual(curves.tail([own.but(ratio=2 * ONE)]), (11 * ONE, ONE))
        self.assertEqual(curves.tail([own.but(jitter=None)]), (4 * ONE, ONE // 2))
        self.assertIsNone(curves.tail([Load(0, 4)]))

    def test_overload(self):
        # Rounding of many rates may go beyond one by 2^-16.
        self.assertFalse(curves.is_overload([(0, ONE), (9, 1 << 16)]))
        self.assertTrue(curves.is_overload([(0, ONE), (9, (1 << 16) + 1)]))

    def test_counts(self):
        loads = [Load(0, 4, (8, 2, 3)), Load(1, 3, (3, 1, 0)), Load(2, 1)]
        self.assertEqual(curves.count(loads, 16), (2 + 2) + (5 + 2))

    def test_loads(self):
        own = Load(7, 4, (8, 2, 3), queue=1)
        other = own.but(cost=9)
        self.assertEqual((own.cost, own.own, own.work(), other.cost, other.queue, other.work()), (4, 4, 8, 9, 1, 18))
        self.assertEqual((own.visit, own.group, own.ratio, own.slack, own.spacing, own.under_way, own.connection,
                          own.enough), (7, None, 0, 0, 0, 0, None, 0))
        self.assertEqual((Load(0, 4).period, Load(0, 4).burst, Load(0, 4).jitter, Load(0, 4).queue), (1, 1, None, 0))
        found = curves.groups([own, own.but(group="one"), Load(9, 1, group="one"), Load(8, 1)])
        self.assertEqual([len(part) for part in found.values()], [1, 2, 1])

    def test_the_lower_of_stairs_and_line(self):
        stairs = curves.Stairs([Load(0, 5, (10, 1, 0))], 20)
        # The line 3 + t meets 5 at 2, 10 at 7, which is before the step at 10.
        found = curves.pieces(stairs, (3 * ONE, ONE), 20)
        self.assertEqual(found, [(0, 3 * ONE, ONE), (2, 5 * ONE, 0), (10, 10 * ONE, 0), (20, 15 * ONE, 0)])
        self.assertEqual(curves.pieces(stairs, None, 20), [(0, 5 * ONE, 0), (10, 10 * ONE, 0), (20, 15 * ONE, 0)])
        self.assertEqual(curves.pieces(None, (3, 4), 20), [(0, 3, 4)])
        # A line that does not rise stays below.
        self.assertEqual(curves.pieces(stairs, (3 * ONE, 0), 20),
                         [(0, 3 * ONE, 0), (10, 3 * ONE, 0), (20, 3 * ONE, 0)])
        # It may meet at the horizon itself.
        third = -(-ONE // 3)
        stairs = curves.Stairs([Load(0, 5, (10, 1, 0))], 6)
        self.assertEqual(curves.pieces(stairs, (3 * ONE, third), 6), [(0, 3 * ONE, third), (6, 5 * ONE, 0)])
        # At a slope of 1/3 it meets 5 behind 6, 10 not before the step.
        third = -(-ONE // 3)
        stairs = curves.Stairs([Load(0, 5, (10, 1, 0))], 19)
        self.assertEqual(curves.pieces(stairs, (3 * ONE, third), 19), [
            (0, 3 * ONE, third), (6, 5 * ONE, 0), (10, 3 * ONE + 10 * third, third)])


class Report(unittest.TestCase):
    def report(self, failures=(), streams=(), may_drop=()):
        result, out = Result(), io.StringIO()
        result.failures, result.streams, result.may_drop = list(failures), list(streams), list(may_drop)
        return command.report(result, out), out.getvalue()

    def test_times_are_exact(self):
        self.assertEqual([command.time(own) for own in (0, 1, 10**6, 1_500_000, 123_000_001, None)],
                         ["0 us", "0.000001 us", "1 us", "1.5 us", "123.000001 us", "nothing"])

    def test_claims_in_words(self):
        self.assertEqual(command.claim_words(None), "nothing")
        self.assertEqual(command.claim_words(0), "0 us")
        self.assertEqual(command.claim_words(Claim(None, "arrival", US)), "1 us")
        self.assertEqual(command.claim_words(Arrivals(MS, 2, 5 * US)), "2 every 1000 us with jitter 5 us")

    def test_servers_in_words(self):
        servers = ["port", "sw", 3], ["stack", "a", "both"], ["tasks", "a"], ["gap", "a", "f"]
        self.assertEqual([words(own) for own in servers], ["port sw:3", "stack a both", "tasks a", "gap a f"])

    def test_failures(self):
        visit = mock.Mock(server=["port", "sw", 3], way="reply", copy=None)
        other = mock.Mock(server=["tasks", "a"], way="request", copy="z")
        code, out = self.report([Failure("f", visit, 1, None, "why"), Failure("f", other, None, None, "x"),
                                 Failure(None, None, None, 7 * US, "y")])
        self.assertEqual((code, out), (1, (
            "REJECTED flow `f` (reply to all) at port sw:3: why\n"
            "         claimed 0.000001 us, needed nothing\n"
            "REJECTED flow `f` (request to z) at tasks a: x\n"
            "REJECTED the certificate: y\n"
            "         claimed nothing, needed 7 us\n"
            "FAIL. 3 claims do not hold; nothing is certified.\n")))
        many = [Failure("f", None, None, None, "x")] * 20
        self.assertNotIn("further", self.report(many)[1])
        self.assertIn("REJECTED 1 further claims\nFAIL. 21 claims", self.report(many + many[:1])[1])
        self.assertEqual(self.report(many + many[:1])[1].count("REJECTED"), 21)

    def test_streams(self):
        one, two = Stream("f", "z", US, US, None), Stream("g", "z", 3 * US, 2 * US, None)
        self.assertEqual(self.report(streams=[one, two]), (0, (
            "certified      `f` to z: 1 us\ncertified      `g` to z: 3 us; proved 2 us\n"
            "no memory overflows\nPASS. 2 of 2 bounds certified.\n")))
        others = Stream("g", "z", None, US, "x"), Stream("h", "z", None, None, "y")
        self.assertEqual(self.report(streams=[one, *others]), (
            3, ("certified      `f` to z: 1 us\nnot certified  `g` to z: x; proved 1 us\nno bound       `h` to z\n"
                "no memory overflows\nPART. 1 of 2 bounds certified.\n")))
        self.assertEqual(self.report(), (3, "no memory overflows\nPART. 0 of 0 bounds certified.\n"))

    def test_a_certified_stream_without_another_proof(self):
        self.assertEqual(self.report(streams=[Stream("f", "z", US, None, None)]), (0, (
            "certified      `f` to z: 1 us; proved nothing\nno memory overflows\nPASS. 1 of 1 bounds certified.\n")))

    def test_conditions(self):
        one = Stream("f", "z", US, US, None)
        code, out = self.report(streams=[one], may_drop=list("abcdef"))
        self.assertEqual((code, out), (3, (
            "only if        `f` to z: 1 us\nonly if nothing is dropped at: a, b, c, d, e, f\n"
            "PART. 0 of 1 bounds certified, 1 only if nothing is dropped.\n")))
        out = self.report(streams=[one], may_drop=list("abcdefg"))[1]
        self.assertIn("a, b, c, d, e, f and 1 further places\n", out)


if __name__ == "__main__":
    unittest.main()
