"""Questions to a plant. Oracle: the command, which prints the same JSON and ends with the code that
goes with `ok`.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from typing import Any, Optional

import rtether

# A ring of three switches, so that a trunk can fail, with a load that has no deadline.
RING = """rtether: 1
name: ring
nodes:
  a: { stack: zero }
  b: { stack: zero }
  c: { stack: zero }
switches:
  sw1: { ports: 4, latency: 5 us }
  sw2: { ports: 4, latency: 5 us }
  sw3: { ports: 4, latency: 5 us }
links:
  - { ends: [a, "sw1:1"], rate: 100 Mbit/s }
  - { ends: [b, "sw2:1"], rate: 100 Mbit/s }
  - { ends: [c, "sw1:4"], rate: 100 Mbit/s }
  - { ends: ["sw1:2", "sw2:2"], rate: 100 Mbit/s }
  - { ends: ["sw2:3", "sw3:2"], rate: 100 Mbit/s }
  - { ends: ["sw3:3", "sw1:3"], rate: 100 Mbit/s }
flows:
  - { name: trip, from: a, to: b, period: 2 ms, size: 100 B, deadline: 1 ms }
  - { name: bulk, from: c, to: b, period: 1 ms, size: 1400 B }
run: { for: 1 s, seeds: 4 }
"""
HUB = """rtether: 1
name: hub
nodes: { a: { stack: zero }, b: { stack: zero }, c: { stack: zero } }
hubs: { hub: { ports: 3, rate: 10 Mbit/s } }
links:
  - { ends: [a, "hub:1"], length: 5 m }
  - { ends: [b, "hub:2"], length: 5 m }
  - { ends: [c, "hub:3"], length: 5 m }
flows:
  - { name: f, from: a, to: c, period: 2 ms, size: 100 B, deadline: 5 ms }
  - { name: g, from: b, to: c, period: 2 ms, size: 100 B, deadline: 5 ms }
run: { for: 1 s, seeds: 2 }
"""
NEW = {"name": "new", "from": "b", "to": "a", "period": "1 ms", "size": "100 B", "deadline": "1 ms"}
OK: dict[int, Optional[bool]] = {0: True, 1: False, 3: None}
WORD = {0: "PASS", 1: "FAIL", 3: "NO ANSWER"}


class Questions(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        for name, text in [("ring.yaml", RING), ("hub.yaml", HUB)]:
            pathlib.Path(name).write_text(text, encoding="utf-8")
        self.ring = rtether.load("ring.yaml")
        self.hub = rtether.load("hub.yaml")

    def agree(self, result: rtether.Result, *words: str, judges: bool = True) -> Any:
        """Compare with the command, and return what both say."""
        ended = subprocess.run(
            [sys.executable, "-m", "rtether", *words, "--json"],
            capture_output=True,
            encoding="utf-8",
        )
        self.assertIn(ended.returncode, OK, ended.stderr)
        self.assertEqual(result.json(), ended.stdout)
        if judges:
            self.assertIs(result.ok, OK[ended.returncode])
            self.assertEqual(result.conclusion, WORD[ended.returncode])
            self.assertEqual(result.to_dict()["conclusion"], result.conclusion)
        return result.to_dict()

    def test_bad_releases_are_searched(self) -> None:
        # Alone, a packet takes 47 us; behind one of the other flow 165 us.
        change = {"flows.trip.deadline": "100 us"}
        words = ["check", "ring.yaml", "--set", "flows.trip.deadline=100us", "--adversarial"]
        for effort in [40, "40"]:
            found = self.ring.check(set=change, adversarial=effort)
            seen = self.agree(found, *words, "40")
            self.assertEqual(seen["adversarial"]["plants"], 40)
            self.assertIs(found.ok, False)
            self.assertGreater(seen["flows"][0]["found"]["latency_ns"], 160_000)
        self.assertNotIn("adversarial", self.ring.check(set=change).to_dict())
        timed = self.ring.check(adversarial="200 ms").to_dict()
        self.assertGreater(timed["adversarial"]["plants"], 0)
        with self.assertRaisesRegex(ValueError, "with its unit"):
            self.ring.check(adversarial="soon")

    def test_a_strict_reader_takes_no_assumption(self) -> None:
        text = RING.replace("deadline: 1 ms", "deadline: 2 ms")
        text += "assumed: { switches.sw1.latency: { is: 5 us, why: no data sheet } }\n"
        pathlib.Path("assumed.yaml").write_text(text, encoding="utf-8")
        plant = rtether.load("assumed.yaml")
        flow = json.dumps(NEW)
        for strict, ok in [(False, True), (True, None)]:
            more = ["--strict"] if strict else []
            results = [
                (plant.check(strict=strict), ["check", "assumed.yaml"]),
                (plant.bound(strict=strict), ["bound", "assumed.yaml"]),
                (plant.bound(ports=True, strict=strict), ["bound", "assumed.yaml", "--ports"]),
                (plant.admit(NEW, strict=strict), ["admit", "assumed.yaml", "--flow", flow]),
            ]
            for result, line in results:
                with self.subTest(line=line, strict=strict):
                    self.agree(result, *line, *more)
                    self.assertIs(result.ok, ok)

    def test_both_ends_of_what_is_known_are_shown(self) -> None:
        found = self.ring.tightness(search=40)
        seen = self.agree(found, "bound", "ring.yaml", "--tightness", "40")
        for stream in seen["streams"]:
            self.assertLessEqual(stream["found_ns"], stream["proved_ns"])
        with self.assertRaisesRegex(ValueError, "with its unit"):
            self.ring.tightness(search="soon")

    def test_claims_are_judged(self) -> None:
        text = "flow,listener,bound,method\ntrip,,100 us,SFA\ntrip,,1 ms,\nbulk,b,no loss,\n"
        pathlib.Path("claims.csv").write_text(text, encoding="utf-8")
        claims = [
            {"flow": "trip", "bound": "100 us", "method": "SFA"},
            {"flow": "trip", "bound": "1 ms"},
            {"flow": "bulk", "listener": "b", "bound": "no loss"},
        ]
        words = ["judge", "claims.csv", "--scenario", "ring.yaml", "--search", "40"]
        words += ["--out", "refuted", "--force"]
        for given in [text, claims]:
            found = self.ring.judge(given, search=40)
            # Lines of a file are not those of mappings, but there are as many.
            self.agree(found.result, *words)
            verdicts = [claim["verdict"] for claim in found.claims]
            self.assertEqual(verdicts, ["refuted", "proved", "proved"])
            self.assertIs(found.ok, False)
            self.assertEqual(sorted(found.files), ["certificate.json", "refuted-1.yaml"])
            for name, own in found.files.items():
                written = pathlib.Path("refuted", name).read_text(encoding="utf-8")
                self.assertEqual(own, written)
        self.assertEqual(self.ring.bound().certificate(), found.files["certificate.json"])
        self.assertEqual(self.ring.check().certificate(), found.files["certificate.json"])
        with self.assertRaisesRegex(ValueError, "cannot express a hub"):
            self.hub.bound().certificate()
        with self.assertRaisesRegex(ValueError, "has no bounds"):
            self.ring.sim().certificate()
        with self.assertRaisesRegex(LookupError, "no flow `nobody`"):
            self.ring.judge([{"flow": "nobody", "bound": "1 ms"}], search=1)
        with self.assertRaisesRegex(ValueError, "has no 'size'"):
            self.ring.judge([{"flow": "trip", "bound": "1 ms", "size": 1}], search=1)

    def test_flows_are_admitted(self) -> None:
        flow = json.dumps(NEW)
        yes = self.ring.admit(NEW)
        self.agree(yes, "admit", "ring.yaml", "--flow", flow)
        self.assertIs(yes.ok, True)
        late = "{ name: late, from: b, to: a, period: 1 ms, size: 100 B, deadline: 1 us }"
        no = self.ring.admit(NEW, late)
        self.agree(no, "admit", "ring.yaml", "--flow", flow, "--flow", late)
        self.assertIs(no.ok, False)
        with self.assertRaises(rtether.ScenarioError) as caught:
            self.ring.admit({**NEW, "to": "nowhere"})
        self.assertIn("<flow>", str(caught.exception))
        with self.assertRaises(TypeError):
            self.ring.admit()

    def test_the_limit_of_a_load(self) -> None:
        change = {"flows.trip.deadline": "200 us"}
        words = ["--set", "flows.trip.deadline=200us", "--miss", "0.1", "--runs", "2"]
        found = self.ring.limit("bulk", miss=0.1, set=change, runs=2)
        self.agree(found, "limit", "ring.yaml", "--flows", "bulk", *words)
        self.assertTrue(found.report().startswith("<!DOCTYPE html>"))
        with self.assertRaisesRegex(ValueError, "ratios"):
            self.ring.limit(miss=2.0)
        with self.assertRaisesRegex(ValueError, "bulk"):
            self.ring.limit("nothing")

    def test_access_schemes_are_compared(self) -> None:
        found = self.hub.compare(runs=1)
        self.agree(found, "compare", "hub.yaml", "--runs", "1")
        self.assertTrue(found.report().startswith("<!DOCTYPE html>"))
        one = self.hub.compare(["csma-cd", "tdma"], by_flow=True, runs=1)
        self.agree(one, "compare", "hub.yaml", "--access", "csma-cd,tdma", "--by-flow", "--runs", "1")
        with self.assertRaisesRegex(ValueError, "known are csma-cd"):
            self.hub.compare(["aloha"])
        with self.assertRaisesRegex(ValueError, "no hub"):
            self.ring.compare()

    def test_elements_fail(self) -> None:
        told: list[float] = []
        found = self.ring.fail("trunks", recovery="50 ms", runs=1, progress=told.append)
        words = ["--fail", "trunks", "--recovery", "50ms", "--runs", "1"]
        self.agree(found, "check", "ring.yaml", *words)
        self.assertTrue(told and told[-1] <= 1.0, told)
        with self.assertRaisesRegex(ValueError, "trunks"):
            self.ring.fail("trees")
        with self.assertRaisesRegex(ValueError, "not between"):
            self.ring.fail(recovery="2 h")

    def test_bounds_in_other_forms(self) -> None:
        self.agree(self.ring.bound(), "bound", "ring.yaml")
        self.agree(self.ring.bound(ports=True), "bound", "ring.yaml", "--ports")
        self.agree(self.ring.bound(diameter=True), "bound", "ring.yaml", "--diameter")
        with self.assertRaises(ValueError):
            self.ring.bound(ports=True, diameter=True)
        text = RING.replace("period: 1 ms, size: 1400 B", "kind: poisson, mean_gap: 1 ms, size: 1400 B")
        pathlib.Path("poisson.yaml").write_text(text, encoding="utf-8")
        found = rtether.load("poisson.yaml").waits("50 us")
        self.agree(found, "bound", "poisson.yaml", "--waits", "50us", judges=False)
        with self.assertRaisesRegex(ValueError, "second"):
            self.ring.waits("2 s")

    def test_no_answer_is_neither(self) -> None:
        change = {"flows.trip.phase": "1 ms"}
        words = ["--for", "1 ms", "--set", "flows.trip.phase=1 ms", "--runs", "1"]
        found = self.ring.sim(set=change, duration="1 ms", runs=1)
        self.agree(found, "sim", "ring.yaml", *words)
        self.assertIsNone(found.ok)

    def test_changes_and_what_they_gain(self) -> None:
        found = self.ring.what_if({"links[3].rate": "1 Gbit/s"})
        self.agree(found, "bound", "ring.yaml", "--what-if", "links[3].rate=1 Gbit/s")
        ranked = self.ring.sensitivity("trip", set={"flows.bulk.size": "1000 B"})
        words = ["--flow", "trip", "--set", "flows.bulk.size=1000 B"]
        self.agree(ranked, "bound", "ring.yaml", "--sensitivity", *words, judges=False)
        self.assertIsNone(ranked.ok)
        with self.assertRaises(LookupError):
            self.ring.sensitivity("nothing")

    def test_results_are_compared(self) -> None:
        old = self.ring.check(runs=1)
        new = self.ring.check(runs=1, set={"flows.trip.deadline": "20 us"})
        pathlib.Path("old.json").write_text(old.json(), encoding="utf-8")
        pathlib.Path("new.json").write_text(new.json(), encoding="utf-8")
        worse = rtether.diff(old, new)
        self.agree(worse, "diff", "old.json", "new.json")
        self.assertIs(worse.ok, False)
        same = rtether.diff("old.json", old.to_dict())
        self.assertIs(same.ok, True)
        with self.assertRaisesRegex(ValueError, "new result"):
            rtether.diff(old, {})

    def test_what_discovery_takes(self) -> None:
        words = ["--set", "flows.trip.over=rtps", "--for", "5 s"]
        found = self.ring.discovery(set={"flows.trip.over": "rtps"}, duration="5 s")
        self.agree(found, "sim", "ring.yaml", "--discovery", *words, judges=False)
        with self.assertRaisesRegex(LookupError, "rtps"):
            self.ring.discovery()

    def test_a_design_is_that_of_the_command(self) -> None:
        scenarios = pathlib.Path(os.environ["RTETHER_ROOT"], "scenarios")
        text = scenarios.joinpath("goose-multicast.yaml").read_text(encoding="utf-8")
        pathlib.Path("goose.yaml").write_text(text, encoding="utf-8")
        words = ["goose.yaml", "--set", "design.allow=[pcp, layers]", "--trials", "600"]
        found = rtether.load("goose.yaml").design(set={"design.allow": "[pcp, layers]"}, trials=600)
        self.agree(found.result, "design", *words, "-o", "new.yaml")
        self.assertEqual(found.text, pathlib.Path("new.yaml").read_text(encoding="utf-8"))
        self.assertEqual((found.end, found.proved, len(found.edits)), ("proved", (7, 7), 3))
        self.assertIs(found.ok, True)
        self.assertIs(found.plant.bound().ok, True)
        self.assertIn("<html", found.result.report())
        self.assertIn("7 of 7 deadlines proved", str(found))
        idle = rtether.load(RING.replace(", deadline: 1 ms", ""))
        with self.assertRaisesRegex(LookupError, "no flow has a deadline"):
            idle.design()

    def test_what_prevents_a_deadline_is_that_of_the_command(self) -> None:
        late = {"flows.trip.deadline": "30 us", "design.allow": "[pcp]"}
        words = [f"--set={path}={value}" for path, value in late.items()]
        found = self.ring.explain("trip", set=late)
        said = self.agree(found, "design", "ring.yaml", "--explain", "trip", *words)
        self.assertTrue(found.to_dict()["causes"], said)
        with self.assertRaisesRegex(LookupError, "did you mean `trip`"):
            self.ring.explain("trap")
        with self.assertRaisesRegex(LookupError, "`bulk` has no deadline"):
            self.ring.explain("bulk")

    def test_a_plant_is_exported(self) -> None:
        exported = self.ring.export("saihu", set={"flows.bulk.size": "1000 B"})
        exported.write("python")
        words = ["--to", "saihu", "--set", "flows.bulk.size=1000 B"]
        ended = subprocess.run(
            [sys.executable, "-m", "rtether", "export", "ring.yaml", *words, "-o", "command"],
            capture_output=True,
            encoding="utf-8",
        )
        self.assertEqual(ended.returncode, 0, ended.stderr)
        written = {file.name: file.read_bytes() for file in pathlib.Path("command").iterdir()}
        own = {file.name: file.read_bytes() for file in pathlib.Path("python").iterdir()}
        self.assertEqual(own, written)
        for note in exported.notes:
            self.assertIn(f"note: {note}", ended.stderr)
        part = self.ring.export("saihu", without_stacks=True, without_flows=["bulk"])
        self.assertIn("`bulk`: left out", part.notes[0])
        with self.assertRaisesRegex(ValueError, "no flow has the name or class `nobody`"):
            self.ring.export("saihu", without_flows=["nobody"])
        with self.assertRaisesRegex(ValueError, "known are `inet`"):
            self.ring.export("excel")


if __name__ == "__main__":
    unittest.main()
