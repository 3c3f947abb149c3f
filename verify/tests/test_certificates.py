"""Certificates that rtether wrote. Its analysis shares no code with the checker, so that a need that equals
a claim of it to the picosecond was worked out twice."""

import copy
import pathlib
import unittest

from plants import check, words
from rtether_verify import reading
from rtether_verify.plant import Plant
from rtether_verify.reading import Node
from rtether_verify.ways import Ways

FOLDER = pathlib.Path(__file__).resolve().parent / "certificates"
#: Memories that may overflow, and how many streams are not certified for which reason.
KNOWN = {
    "bottling-line": (["port sw1:8", "port sw2:1", "port sw1:2"], {"no bound is claimed": 2}),
    "dolejs-4nodes": ([], {}),
    "goose-multicast": ([], {"no bound is claimed": 1}),
    "vlans-1p3q1t": (["port cell:8", "the link of port cell:8", "port hall:8", "the link of port hall:8",
                      "port camera:1", "stack camera", "stack archive"], {"no delay is claimed": 3}),
}


def claims(document):
    """Returns each claim with flow, listener, way and place, in order."""
    return [((flow["flow"], own["to"], own["way"], words(own["at"])), own)
            for flow in document["flows"] for own in flow["visits"]]


def failed(result, why=""):
    return [(own.flow, own.visit.copy, own.visit.way, words(own.visit.server)) for own in result.failures
            if own.why.startswith(why)]


class Certificates(unittest.TestCase):
    def setUp(self):
        self.documents = {name: reading.load(FOLDER / f"{name}.json") for name in KNOWN}

    def each(self):
        return [copy.deepcopy(document) for document in self.documents.values()]

    def test_they_are_accepted(self):
        for name, document in self.documents.items():
            result = check(document)
            self.assertEqual(result.failures, [], name)
            lacks = {}
            for own, stream in zip(result.streams, document["streams"]):
                self.assertEqual((own.flow, own.listener, own.proved),
                                 (stream["flow"], stream["listener"], stream["proved"]))
                if own.lacks is None:
                    self.assertEqual(own.bound, stream["bound"])
                elif own.lacks:
                    self.assertIsNone(own.bound)
                    lacks[own.lacks] = lacks.get(own.lacks, 0) + 1
            self.assertEqual((result.may_drop, lacks), KNOWN[name], name)

    def test_each_delay_is_needed(self):
        for document in self.each():
            wanted = []
            for place, own in claims(document):
                if own["delay"]:
                    wanted.append((place, own["delay"]))
                    own["delay"] -= 1
            result = check(document)
            found = [(place, own.need) for place, own in zip(failed(result), result.failures)]
            if document["scenario"]["name"] == "two VLANs over one trunk":
                # Behind a connection that nothing is claimed of, what does not hold is not certified.
                self.assertEqual([own.lacks for own in result.streams], ["no delay is claimed"] * 5)
                wanted = [own for own in wanted if own in found]
            self.assertEqual(sorted(found, key=str), sorted(wanted, key=str))

    def test_each_jitter_is_needed(self):
        for document in self.each():
            depth = {}
            visits = Ways(Plant(Node(document["scenario"], "scenario"))).visits
            for own in visits:
                depth[own.number] = 0 if own.parent is None else depth[own.parent] + 1
            known = {(document["flows"][own.flow]["flow"], own.copy, own.way, words(own.server)): depth[own.number]
                     for own in visits}
            # Of two visits in a row one is changed: what is less at one makes less at the next.
            for part in (0, 1):
                changed, wanted = copy.deepcopy(document), []
                for place, own in claims(changed):
                    if own["arrivals"] is not None and own["arrivals"]["jitter"] and known[place] % 2 == part:
                        own["arrivals"]["jitter"] -= 1
                        wanted.append(place)
                found = failed(check(changed), "its arrivals")
                self.assertEqual(sorted(found, key=str), sorted(wanted, key=str))

    def test_each_period_and_burst_is_needed(self):
        for name, change in (("period", 1), ("burst", 1), ("burst", -1)):
            for document in self.each():
                wanted = []
                for place, own in claims(document):
                    if own["arrivals"] is not None and own["arrivals"]["burst"] + change > 0:
                        own["arrivals"][name] += change
                        wanted.append(place)
                found = [own for own in check(document).failures if own.why == "its arrivals"]
                # The first of each way; those behind follow from it.
                self.assertTrue(found or not wanted)
                self.assertTrue(all(own.visit.parent is None or self.is_fresh(document, own.visit) for own in found))

    def is_fresh(self, document, visit):
        return document["flows"][visit.flow]["waits"] or visit.limit is not None or visit.frames > 1

    def test_each_rule_is_the_one_of_its_place(self):
        for document in self.each():
            wanted = []
            for place, own in claims(document):
                if own["rule"] is not None and own["delay"] is not None:
                    own["rule"] = "gap" if own["rule"] != "gap" else "arrival"
                    wanted.append(place)
            found = failed(check(document), "its server chooses by")
            self.assertEqual(sorted(found, key=str), sorted(wanted, key=str))

    def test_each_sum_is_needed(self):
        for document in self.each():
            for own in document["streams"]:
                if own["bound"] is not None:
                    own["bound"] -= 1
            result = check(document)
            certified = [own for own in result.streams if own.lacks is None]
            self.assertEqual([own.need - own.claim for own in result.failures], [1] * len(certified))


if __name__ == "__main__":
    unittest.main()
