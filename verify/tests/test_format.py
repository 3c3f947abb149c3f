"""What is no certificate, is of another plant, or says less than it must, is refused in words."""

import contextlib
import copy
import io
import json
import os
import pathlib
import random
import runpy
import sys
import tempfile
import unittest
from unittest import mock

from plants import MS, US, certificate, check, claim_of, cost, flow, port, stack, star
from rtether_verify import reading
from rtether_verify.command import main
from rtether_verify.reading import Malformed


def sample():
    """Returns a certificate with stacks, priorities, a reply, a group and a file."""
    file = {"kind": "file", "segment": 1460, "window": 2920, "file": 10_000, "timeout": 200 * MS,
            "ack_delay": 40 * MS}
    inside = {"z": {"stack": stack(cost(5 * US, 10, 0, US), cost(7 * US), 2)}}
    flows = [
        flow("poll", "a", "z", tag={"pcp": 6, "vid": 0}, reply={"payload": 20, "after": US, "longest": US}),
        flow("all", "b", "a", "z", multicast=True, traffic={"kind": "sporadic", "gap": MS, "burst": 2}),
        flow("file", "c", "z", traffic=file, over="tcp"),
    ]
    scenario = star("abcz", flows, lambda: port(selection="priority"),
                    queue_of_pcp=[0, 0, 0, 0, 1, 1, 1, 1])
    return certificate(scenario, {own: 2 * MS for own in PLACES}, waits=(2,))


PLACES = ["port a:1", "port b:1", "port c:1", "port z:1", "stack z send", "stack z receive"] + [
    f"port sw:{at}" for at in range(1, 5)]


class Format(unittest.TestCase):
    def run_main(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([str(own) for own in arguments])
        return code, out.getvalue(), err.getvalue()

    def file(self, text):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "certificate.json"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def test_the_sample_is_certified(self):
        code, out, err = self.run_main(self.file(json.dumps(sample())))
        self.assertEqual((code, err), (0, ""), out)
        self.assertIn("PASS. 3 of 3 bounds certified.", out)
        self.assertIn("no bound       `file` to z", out)

    def test_it_runs_as_a_module(self):
        with mock.patch.object(sys, "argv", ["verify", "/no/such/file"]), contextlib.redirect_stderr(io.StringIO()):
            with self.assertRaises(SystemExit) as caught:
                runpy.run_module("rtether_verify", run_name="__main__")
        self.assertEqual(caught.exception.code, 2)

    def test_a_memory_that_may_overflow_is_a_condition(self):
        document = sample()
        document["scenario"]["nodes"][-1]["ports"][3]["buffer"] = 100
        code, out, _ = self.run_main(self.file(json.dumps(document)))
        self.assertEqual(code, 3, out)
        self.assertIn("only if        `poll` to z: ", out)
        self.assertNotIn("certified      `poll`", out)
        self.assertIn("only if nothing is dropped at: port sw:4\n"
                      "PART. 0 of 3 bounds certified, 3 only if nothing is dropped.\n", out)

    def test_what_is_no_certificate_is_refused_in_words(self):
        texts = ["", "{", "[]", "1", '{"schema": 1.5}', '{"a": 1, "a": 2}', "[" * 100_000, b"\xff",
                 '{"schema": NaN}', "{}", '{"schema": "rtether.certificate/1"}']
        for text in texts:
            code, out, err = self.run_main(self.file(text))
            self.assertEqual((code, out), (2, ""), text[:20])
            self.assertTrue(err.startswith("error: "), err)
        self.assertEqual(self.run_main("/no/such/file")[0], 2)

    def test_a_failure_names_flow_place_claim_and_need(self):
        document = sample()
        document["flows"][0]["visits"][1]["delay"] = 0
        code, out, _ = self.run_main(self.file(json.dumps(document)))
        self.assertEqual(code, 1)
        self.assertIn("REJECTED flow `poll` (request to z) at port sw:4: priority\n"
                      "         claimed 0 us, needed ", out)
        self.assertIn("nothing is certified", out)

    def test_another_plant_is_rejected(self):
        document, other = sample(), sample()["scenario"]
        own = self.file(json.dumps(document["scenario"]))
        path = self.file(json.dumps(document))
        self.assertEqual(self.run_main(path, "--scenario", own)[0], 0)
        other["links"][0]["rate"] = 1_000_000_000
        code, out, _ = self.run_main(path, "--scenario", self.file(json.dumps(other)))
        self.assertEqual(code, 1)
        self.assertIn("another plant", out)


class Mutations(unittest.TestCase):
    def rejected(self, change):
        document = sample()
        change(document)
        try:
            return bool(check(document).failures)
        except Malformed:
            return True

    def test_what_says_less_is_rejected(self):
        def visits(document):
            return document["flows"][0]["visits"]

        changes = {
            "a flow left out of the claims": lambda own: own["flows"].pop(),
            "a flow left out of the plant": lambda own: own["scenario"]["flows"].pop(),
            "a visit dropped": lambda own: visits(own).pop(1),
            "a visit twice": lambda own: visits(own).append(visits(own)[0]),
            "a rule exchanged": lambda own: visits(own)[1].update(rule="arrival"),
            "a rule without a name": lambda own: visits(own)[1].update(rule=None),
            "a source denser than its claim": lambda own: own["scenario"]["flows"][0]["traffic"].update(
                period=MS // 2),
            "a source later than its claim": lambda own: own["scenario"]["flows"][0]["traffic"].update(
                jitter=1),
            "arrivals sparser than the source": lambda own: visits(own)[0]["arrivals"].update(period=2 * MS),
            "fewer arrivals": lambda own: own["flows"][1]["visits"][0]["arrivals"].update(burst=1),
            "less jitter": lambda own: visits(own)[1]["arrivals"].update(
                jitter=visits(own)[1]["arrivals"]["jitter"] - 1),
            "a sum one below": lambda own: own["streams"][0].update(bound=own["streams"][0]["bound"] - 1),
            "bit errors before a connection": lambda own: own["scenario"]["links"][2].update(errors=1),
            "a timeout below the round trip": lambda own: own["scenario"]["flows"][2]["traffic"].update(
                timeout=MS, ack_delay=0),
        }
        for what, change in changes.items():
            self.assertTrue(self.rejected(change), what)

    def test_what_says_more_is_accepted(self):
        document = sample()
        document["streams"][0]["bound"] += 1
        self.assertEqual(check(document).failures, [])

    def test_a_missing_rule_leaves_others_certified(self):
        flows = [flow("f", "a", "y"), flow("g", "b", "y"), flow("h", "b", "z")]
        scenario = star("abyz", flows, inside={"a": {"beyond": ["port: transmit queues"]}})
        document = certificate(scenario, {"port b:1": MS, "port sw:3": MS})
        # What a claim rests on that is no claim: no delay at the port of `a`.
        claim_of(document, "f", "port a:1").update(rule=None, delay=None)
        claim_of(document, "f", "port sw:3").update(arrivals=None)
        result = check(document)
        self.assertEqual(result.failures, [])
        # Whatever comes by the link of `a`, it fills the port to `y`.
        self.assertEqual([own.lacks for own in result.streams],
                         ["transmit queues", "transmit queues", None])

    def test_no_input_ends_with_a_traceback(self):
        document, dice = sample(), random.Random(7)
        for _ in range(20_000 if "RTETHER_NIGHTLY" in os.environ else 200):
            changed = copy.deepcopy(document)
            for _ in range(dice.randrange(1, 3)):
                change(changed, dice)
            try:
                check(reading.parse(json.dumps(changed).encode(), "test"))
            except Malformed:
                pass


def change(document, dice):
    """Changes one value somewhere."""
    at, parent, key = document, None, None
    while isinstance(at, (dict, list)) and at and (parent is None or dice.random() < 0.9):
        parent, key = at, dice.choice(list(at) if isinstance(at, dict) else range(len(at)))
        at = parent[key]
    new = dice.choice([None, 0, 1, -1, 1 << 70, "", "sw", True, [], {}, "drop", "more", "less"])
    if new == "drop":
        del parent[key]
    elif new in ("more", "less") and type(at) is int:
        parent[key] = at + 1 if new == "more" else at - 1
    else:
        parent[key] = new


if __name__ == "__main__":
    unittest.main()
