"""What Python sees of rtether. Oracle: the command, run beside it."""

import contextlib
import importlib
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from typing import Any

import rtether

ROOT = pathlib.Path(os.environ["RTETHER_ROOT"]).resolve()
SCENARIOS = ROOT / "scenarios"
NIGHTLY = os.environ.get("RTETHER_NIGHTLY") == "1"
# Those that a build for tests runs in a second or two.
FEW = ["bottling-line", "goose-multicast", "prp", "publish-subscribe"]

TINY = {
    "rtether": 1,
    "name": "tiny",
    "nodes": {"a": {"stack": "zero"}, "b": {"stack": "zero"}},
    "switches": {"sw": {"ports": 2}},
    "links": [
        {"ends": ["a", "sw:1"], "rate": "100 Mbit/s"},
        {"ends": ["b", "sw:2"], "rate": "100 Mbit/s"},
    ],
    "flows": [
        {"name": "f", "from": "a", "to": "b", "period": "10 ms", "size": "60 B", "deadline": "1 ms"}
    ],
    "run": {"for": "100 ms", "warmup": "0 s", "seeds": 1},
}


def command(*words: str) -> str:
    """What the command prints."""
    ended = subprocess.run(
        [sys.executable, "-m", "rtether", *words],
        cwd=SCENARIOS,
        capture_output=True,
        encoding="utf-8",
    )
    assert ended.returncode in (0, 1, 3), ended.stderr
    return ended.stdout


class Results(unittest.TestCase):
    def setUp(self) -> None:
        # Names of files are part of messages.
        os.chdir(SCENARIOS)

    def test_json_is_that_of_the_command(self) -> None:
        names = sorted(path.stem for path in SCENARIOS.glob("*.yaml")) if NIGHTLY else FEW
        for name in names:
            with self.subTest(name):
                plant = rtether.load(f"{name}.yaml")
                short: dict[str, Any] = {} if NIGHTLY else {"duration": "2 s", "runs": 1}
                words = [] if NIGHTLY else ["--for", "2 s", "--runs", "1"]
                expected = command("check", f"{name}.yaml", "--json", *words)
                self.assertEqual(plant.check(**short).json(), expected)
                self.assertEqual(plant.bound().json(), command("bound", f"{name}.yaml", "--json"))

    def test_sim_and_why_are_those_of_the_command(self) -> None:
        plant = rtether.load(pathlib.Path("bottling-line.yaml"))
        words = ["--for", "2 s", "--seed", "7", "--json"]
        change: dict[str, Any] = {"duration": "2 s", "seed": 7}
        self.assertEqual(plant.sim(**change).json(), command("sim", "bottling-line.yaml", *words))
        flow = "setpoint"
        expected = command("why", "bottling-line.yaml", flow, *words)
        self.assertEqual(plant.why(flow, **change).json(), expected)
        expected = command("why", "bottling-line.yaml", flow, "--bound", "--json")
        self.assertEqual(plant.why(flow, bound=True).json(), expected)

    def test_values_are_changed(self) -> None:
        plant = rtether.load(TINY)
        path = "flows.f.deadline"
        self.assertIs(plant.check().ok, True)
        self.assertIs(plant.check(set={path: "1 us"}).ok, False)
        self.assertIs(plant.bound().ok, True)
        self.assertIs(plant.bound(set={path: "1 us"}).ok, False)

    def test_every_form(self) -> None:
        result = rtether.load(TINY).check(report=True)
        self.assertEqual(result.to_dict(), json.loads(result.json()))
        self.assertEqual(len(result.csv().splitlines()), 2)
        self.assertIn("|", result.markdown())
        self.assertTrue(result.report().startswith("<!DOCTYPE html>"))
        self.assertIn("<table", result._repr_html_())
        self.assertEqual(repr(result), "<rtether.Result: 1 rows>")
        self.assertIn("arrow_array_stream", repr(result.__arrow_c_stream__()))
        self.assertIn("tiny", repr(rtether.load(TINY)))

    def test_files_are_included_from_folders_that_are_allowed(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            stacks = pathlib.Path(folder, "shared", "stacks.yaml")
            stacks.parent.mkdir()
            stacks.write_text("x-own: 1\n", encoding="utf-8")
            plant = pathlib.Path(folder, "plants", "plant.yaml")
            plant.parent.mkdir()
            whole = {**TINY, "include": "../shared/stacks.yaml"}
            plant.write_text(json.dumps(whole), encoding="utf-8")
            with self.assertRaisesRegex(rtether.ScenarioError, r"add `include_from=\["):
                rtether.load(plant)
            self.assertIn("tiny", repr(rtether.load(plant, include_from=stacks.parent)))

    def test_a_plant_is_imported(self) -> None:
        text = "id,src,dst,size,period,deadline,jitter\n0,1,[2],100,1000000,1000000,0\n"
        with tempfile.TemporaryDirectory() as folder:
            flows = pathlib.Path(folder, "flows.csv")
            flows.write_text(text, encoding="utf-8")
            plan = rtether.import_(flows)
            expected = command("import", str(flows), "--json")
            self.assertEqual(plan.result().json(), expected)
        self.assertIsNotNone(plan.load().check(runs=1, duration="100 ms").ok)
        with self.assertRaises(FileNotFoundError):
            rtether.import_("nowhere.scd")

    def test_an_import_takes_the_options_of_the_command(self) -> None:
        app = "*.a.app[0]."
        texts = {
            "f.csv": "id,src,dst,size,period,deadline,jitter\n0,a,b,100,1000000,1000000,0\n",
            "l.csv": "node,neighbor,rate\na,sw1,100 Mbit/s\nb,sw1,1 Gbit/s\n",
            "n.ned": "network N { submodules: a: StandardHost; b: StandardHost; "
            "connections: a.ethg++ <--> Eth100M <--> b.ethg++; }",
            "omnetpp.ini": "[General]\nnetwork = N\n*.a.numApps = 1\n"
            f'{app}typename = "UdpSourceApp"\n{app}io.destAddress = "b"\n'
            f"{app}io.destPort = 1000\n{app}source.packetLength = 100B\n"
            f"{app}source.productionInterval = 1ms\n"
            f"[Config Slow]\n{app}source.productionInterval = 5ms\n[Config Fast]\n",
        }
        with tempfile.TemporaryDirectory() as folder:
            for name, text in texts.items():
                pathlib.Path(folder, name).write_text(text, encoding="utf-8")
            own = [os.path.join(folder, name) for name in texts]
            plan = rtether.import_(own[0], switches=own[1])
            expected = command("import", own[0], "--switches", own[1], "--json")
            self.assertEqual(plan.result().json(), expected)
            listed = rtether.import_(own[0], switches=[pathlib.Path(own[1])])
            self.assertEqual(listed.text, plan.text)
            slow = rtether.import_(*own[2:], config="Slow")
            expected = command("import", *own[2:], "--config", "Slow", "--json")
            self.assertEqual(slow.result().json(), expected)
            fast = rtether.import_(*own[2:], config="Fast")
            with self.assertRaises(ValueError):
                rtether.import_(*own[2:], config="Nowhere")
        same = slow.against(slow.load())
        self.assertEqual((same.ok, len(same.csv().splitlines())), (True, 2))
        other = slow.against(fast.load())
        self.assertIs(other.ok, False)
        self.assertTrue(other.report().startswith("<!DOCTYPE html>"))


class Arrow(unittest.TestCase):
    def test_rows_are_those_of_csv(self) -> None:
        try:
            import pyarrow  # type: ignore[import-untyped]
        except ImportError:
            self.skipTest("needs pyarrow")
        result = rtether.load(SCENARIOS / "prp.yaml").check(duration="1 s", runs=1)
        table = pyarrow.table(result)
        header, *rows = result.csv().splitlines()
        self.assertEqual(table.column_names, header.split(","))
        self.assertEqual(table.num_rows, len(rows))
        self.assertEqual(table.schema.field("deadline_ns").type, pyarrow.float64())
        self.assertEqual(table.schema.field("flow").type, pyarrow.string())


class Guide(unittest.TestCase):
    def test_what_it_shows_runs(self) -> None:
        os.chdir(ROOT)
        # Pictures need no screen.
        os.environ["MPLBACKEND"] = "Agg"
        page = (ROOT / "docs/guides/python.md").read_text(encoding="utf-8")
        blocks = [block.split("```")[0] for block in page.split("```py\n")[1:]]
        self.assertGreater(len(blocks), 2)
        known: dict[str, object] = {}
        for block in blocks:
            needed = [("import polars", "polars"), (".plot(", "matplotlib.pyplot")]
            try:
                for sign, library in needed:
                    if sign in block:
                        importlib.import_module(library)
            except ImportError:
                continue
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(block.replace('"plant.yaml"', '"rtether: 1\\nname: x\\n"'), known)
        self.assertIn("<text> 1", printed.getvalue())


class Mistakes(unittest.TestCase):
    def test_each_has_a_place_and_a_remedy(self) -> None:
        text = "rtether: 1\nname: x\nnodez: {}\nnodes: { a: { stack: zero } }\n"
        with self.assertRaises(rtether.ScenarioError) as caught:
            rtether.load(text)
        first = caught.exception.diagnostics[0]
        self.assertEqual((first["spans"][0]["file"], first["spans"][0]["line"]), ("<text>", 3))
        self.assertTrue(any("nodes" in help for help in first["help"]), first)
        self.assertIn("<text>:3", str(caught.exception))
        self.assertIsInstance(caught.exception, ValueError)

    def test_a_change_that_is_wrong_is_named(self) -> None:
        with self.assertRaises(rtether.ScenarioError) as caught:
            rtether.load(TINY).check(set={"flows.g.period": "1 ms"})
        self.assertIn("flows.g", str(caught.exception))

    def test_others_have_the_usual_exceptions(self) -> None:
        with self.assertRaises(FileNotFoundError):
            rtether.load("nowhere.yaml")
        with self.assertRaises(LookupError):
            rtether.load(TINY).why("g")
        with self.assertRaises(ValueError):
            rtether.load(TINY).why("f", packet="slowest")


class Work(unittest.TestCase):
    def test_other_threads_go_on(self) -> None:
        plant = rtether.load(SCENARIOS / "bottling-line.yaml")
        ticks = []
        ended = threading.Event()

        def tick() -> None:
            while not ended.wait(0.01):
                ticks.append(time.monotonic())

        other = threading.Thread(target=tick)
        other.start()
        begun = time.monotonic()
        plant.check(duration="5 s", jobs=1)
        took = time.monotonic() - begun
        ended.set()
        other.join()
        # A tenth of the ticks that fit in: the machine may be busy.
        self.assertGreater(len(ticks), took / 0.01 / 10)

    def test_ctrl_c_ends_a_simulation(self) -> None:
        program = (
            "import rtether\n"
            "plant = rtether.load('bottling-line.yaml')\n"
            "print('begins', flush=True)\n"
            "try:\n    plant.sim(duration='50000 s', runs=1)\n"
            "except KeyboardInterrupt:\n    print('interrupted')\n"
        )
        with subprocess.Popen(
            [sys.executable, "-c", program], cwd=SCENARIOS, stdout=subprocess.PIPE, encoding="utf-8"
        ) as child:
            assert child.stdout is not None
            self.assertEqual(child.stdout.readline(), "begins\n")
            time.sleep(0.3)
            child.send_signal(signal.SIGINT)
            self.assertEqual(child.communicate(timeout=30)[0], "interrupted\n")

    def test_a_forked_process_can_work(self) -> None:
        rtether.load(TINY).check()
        child = os.fork()
        if child == 0:
            os._exit(0 if rtether.load(TINY).check().ok else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


if __name__ == "__main__":
    unittest.main()
