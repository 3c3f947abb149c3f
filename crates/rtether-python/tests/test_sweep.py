"""Studies on a cluster. Oracle: the command `rtether sweep`, whose files have to be the same."""

import contextlib
import io
import os
import pathlib
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from typing import Any
from unittest import mock

import rtether

ROOT = pathlib.Path(os.environ["RTETHER_ROOT"]).resolve()
NIGHTLY = os.environ.get("RTETHER_NIGHTLY") == "1"
# Clusters whose workers are killed, each by dice of its own.
SEEDS = int(os.environ.get("RTETHER_KILL_SEEDS", "100" if NIGHTLY else "2"))

STUDY = """study: 1
scenario: plant.yaml
parameters:
  flows.f.period: { from: 1 ms, to: 8 ms }
  flows.g.size: [60 B, 1400 B]
sample: latin-hypercube
points: 10
seeds: 2
"""
PLANT = """rtether: 1
name: p
include: [nodes.yaml]
switches: { sw: { ports: 2, latency: 5 us } }
links:
  - { ends: [a, "sw:1"], rate: 100 Mbit/s }
  - { ends: [b, "sw:2"], rate: 100 Mbit/s }
flows:
  - { name: f, class: fast, from: a, to: b, period: 2 ms, size: 60 B, deadline: 1 ms }
  - { name: g, from: a, to: b, period: 4 ms, size: 60 B, jitter: 1 ms }
run: { for: 60 s, warmup: 0 s }
"""
NODES = "nodes: { a: { stack: zero }, b: { stack: zero } }\n"


def files(folder: pathlib.Path) -> dict[str, bytes]:
    """What a study has written, without the data set."""
    found = [file for file in folder.rglob("*") if file.is_file() and file.suffix != ".parquet"]
    return {str(file.relative_to(folder)): file.read_bytes() for file in found}


class Base(unittest.TestCase):
    folder: "tempfile.TemporaryDirectory[str]"
    path: pathlib.Path
    expected: dict[str, bytes]

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name)
        for name, text in [("study", STUDY), ("plant", PLANT), ("nodes", NODES)]:
            (cls.path / f"{name}.yaml").write_text(text, encoding="utf-8")
        words = ["sweep", str(cls.path / "study.yaml"), "--out", str(cls.path / "command")]
        subprocess.run(
            [sys.executable, "-m", "rtether", *words], check=True, stdout=subprocess.DEVNULL
        )
        cls.expected = files(cls.path / "command")
        assert len(cls.expected) == 20 + 4

    @classmethod
    def tearDownClass(cls) -> None:
        cls.folder.cleanup()


class Studies(Base):
    def test_without_dask_it_says_what_to_install(self) -> None:
        out = self.path / "without"
        with mock.patch.dict(sys.modules, {"distributed": None}):
            with self.assertRaisesRegex(ImportError, r"pip install 'rtether\[dask\]'"):
                rtether.sweep(self.path / "study.yaml", out)
        self.assertFalse(out.exists())

    def test_mistakes_are_told_before_anything_runs(self) -> None:
        out = self.path / "mistakes"
        os.chdir(self.path)
        with self.assertRaisesRegex(ValueError, "<text>:8.*whole number"):
            rtether.sweep(STUDY.replace("seeds: 2", "seeds: x"), out)
        with self.assertRaisesRegex(rtether.ScenarioError, "flows.h"):
            rtether.sweep(STUDY.replace("flows.g", "flows.h"), out)
        with self.assertRaises(FileNotFoundError):
            rtether.sweep(STUDY.replace("plant", "plan"), out)
        away = self.path / "away"
        away.mkdir()
        os.chdir(away)
        beside = STUDY.replace("plant.yaml", "../plant.yaml")
        with self.assertRaisesRegex(OSError, r"add `include_from=\["):
            rtether.sweep(beside, out)
        with self.assertRaisesRegex(rtether.ScenarioError, "flows.h"):
            rtether.sweep(beside.replace("flows.g", "flows.h"), out, include_from="..")
        self.assertFalse(out.exists())

    def test_the_study_of_the_guide_is_one(self) -> None:
        file = ROOT / "docs/guides/substation-study.yaml"
        text = file.read_text(encoding="utf-8")
        study = rtether._rtether.Study.open(str(file), text, None, [str(ROOT / "scenarios")])
        self.assertEqual(len(study), 10_000)
        self.assertIn('"ct-vt to protection unit"', study.run(0))

    def test_a_study_travels_without_its_files(self) -> None:
        name = str(self.path / "study.yaml")
        study = rtether._rtether.Study.open(name, STUDY, None, [])
        copy = pickle.loads(pickle.dumps(study))
        self.assertEqual(len(copy), 20)
        self.assertEqual(copy.name(3), study.name(3))
        self.assertEqual(copy.run(3).encode(), self.expected[f"points/{copy.name(3)}.json"])
        with self.assertRaises(IndexError):
            copy.run(20)
        reduced: Any = study.__reduce__()
        with self.assertRaisesRegex(RuntimeError, "rtether 0.0.0 sent"):
            rtether._rtether.Study("0.0.0", *reduced[1][1:])


class Clusters(Base):
    def setUp(self) -> None:
        try:
            import distributed  # noqa: F401
        except ImportError:
            self.skipTest("needs dask.distributed")

    def test_the_files_are_those_of_the_command(self) -> None:
        out = self.path / "cluster"
        told: list[tuple[int, int]] = []
        result = rtether.sweep(
            self.path / "study.yaml", out, progress=lambda there, of: told.append((there, of))
        )
        self.assertEqual(files(out), self.expected)
        self.assertEqual(told, [(there, 20) for there in range(1, 21)])
        self.assertEqual(result.csv().encode(), self.expected["points.csv"])
        self.assertEqual(result.json().encode(), self.expected["sweep.json"])
        # What is there is not run again: no cluster is needed, and none is asked.
        rtether.sweep(self.path / "study.yaml", out, client=mock.Mock(spec=[]))
        self.assertEqual(files(out), self.expected)

    def test_a_data_set_is_read_back(self) -> None:
        try:
            import pyarrow  # type: ignore[import-untyped]
            from pyarrow import csv, dataset
        except ImportError:
            self.skipTest("needs pyarrow")
        out = self.path / "command"
        rtether.sweep(self.path / "study.yaml", out)
        found = dataset.dataset(out / "points.parquet").to_table()
        rows = csv.read_csv(out / "points.csv")
        self.assertEqual(found.num_rows, 40)
        self.assertEqual(found.column_names, rows.column_names)
        for name in ["flows.f.period", "group", "delay_max_ns", "delivered_packets"]:
            self.assertEqual(found[name].to_pylist(), rows[name].to_pylist(), name)
        self.assertEqual(found.schema.field("seed").type, pyarrow.int64())

    def test_what_the_guide_shows_runs(self) -> None:
        page = (ROOT / "docs/guides/sweep.md").read_text(encoding="utf-8")
        block = page.split("```py\n")[1].split("```")[0].replace("    result.plot()", "    #")
        os.chdir(self.path)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(block, {"__name__": "__main__"})
        self.assertTrue(printed.getvalue().startswith("20 points\n"), printed.getvalue())
        self.assertEqual(files(self.path / "results"), self.expected)

    def test_killing_workers_changes_no_byte(self) -> None:
        from distributed import Client, LocalCluster

        kills = 0
        for seed in range(SEEDS):
            dice = random.Random(seed)
            out = self.path / f"killed-{seed}"
            cluster = LocalCluster(  # type: ignore[no-untyped-call]
                n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
            )
            with cluster, Client(cluster) as client:  # type: ignore[no-untyped-call]
                killed: list[int] = []

                def told(there: int, of: int) -> None:
                    # Others are under way when a point is there, as long as some are left.
                    pids = [nanny.pid for nanny in cluster.workers.values() if nanny.pid]
                    if pids and there <= of - 4 and (there == 1 or dice.random() < 0.3):
                        pid = dice.choice(pids)
                        # It may just have been killed, and its nanny not know yet.
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(pid, signal.SIGKILL)
                            killed.append(pid)

                plant = rtether.load(self.path / "plant.yaml")
                rtether.sweep(
                    self.path / "study.yaml", out, plant=plant, client=client, progress=told
                )
            kills += len(killed)
            self.assertEqual(files(out), self.expected, f"seed {seed}")
        print(f"{kills} workers killed in {SEEDS} clusters, no byte changed")
        self.assertGreater(kills, 0)

    def test_workers_that_dask_gives_up_are_replaced(self) -> None:
        import distributed

        clusters: list[Any] = []

        class Cluster(distributed.LocalCluster):
            def __init__(self, **options: Any) -> None:
                super().__init__(silence_logs=50, **options)  # type: ignore[no-untyped-call]
                clusters.append(self)

        def told(there: int, of: int) -> None:
            if there == 3:
                for nanny in list(clusters[0].workers.values()):
                    clusters[0].sync(nanny.close)

        out = self.path / "given-up"
        watch = mock.patch.multiple("rtether._sweep", LOOK=0.2, PATIENCE=1.0)
        with watch, mock.patch("distributed.LocalCluster", Cluster):
            rtether.sweep(self.path / "study.yaml", out, progress=told)
        self.assertEqual(files(out), self.expected)

    def test_a_cluster_without_workers_is_told_of(self) -> None:
        from distributed import Client, LocalCluster

        cluster = LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=0, threads_per_worker=1, dashboard_address=None, silence_logs=50
        )
        with cluster, Client(cluster) as client:  # type: ignore[no-untyped-call]
            watch = mock.patch.multiple("rtether._sweep", LOOK=0.2, PATIENCE=1.0)
            later = threading.Timer(3, cluster.scale, (1,))
            later.start()
            with watch, self.assertWarnsRegex(RuntimeWarning, "no worker"):
                rtether.sweep(self.path / "study.yaml", self.path / "late", client=client)
        self.assertEqual(files(self.path / "late"), self.expected)


if __name__ == "__main__":
    unittest.main()
