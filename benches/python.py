"""Measures what Python adds to the work: a call of the module, and points of a study on Dask beside
processes of the command.

usage: python benches/python.py [--quick]

Runs in an environment with the wheel and `distributed` (`cargo xtask wheel`, then `pip install
target/wheels/*.whl distributed`). Prints one table each as CSV: medians of ROUNDS turns (default 5;
with --quick one short turn, to see that everything runs).
"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import rtether
from distributed import Client, LocalCluster

QUICK = sys.argv[1:] == ["--quick"]
ROUNDS = 1 if QUICK else int(os.environ.get("ROUNDS", "5"))
# About how many seconds of work a point is, and how many points a study has.
STUDIES = [(0.01, 40)] if QUICK else [(0.001, 1000), (0.01, 400), (0.1, 100), (1.0, 20)]

PLANT = """rtether: 1
name: plant
nodes: { a: { stack: zero }, b: { stack: zero } }
switches: { sw: { ports: 2 } }
links:
  - { ends: [a, "sw:1"], rate: 100 Mbit/s }
  - { ends: [b, "sw:2"], rate: 100 Mbit/s }
flows:
  - { name: f, from: a, to: b, period: 10 ms, size: 60 B, deadline: 1 ms }
run: { for: 100 ms, warmup: 0 s, seeds: 1 }
"""
STUDY = """study: 1
scenario: plant.yaml
parameters:
  flows.f.period: { from: 1 ms, to: 2 ms }
  run.for: [SECONDS s]
sample: random
points: POINTS
"""


def timed(work: Callable[[], object]) -> float:
    """Returns the seconds that some work takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def calls() -> None:
    """Measures calls with little work and with a hundred times as much."""
    count = 20 if QUICK else 2000
    plant = rtether.load(PLANT)
    print("call,packets,us")
    for simulated, packets in [("100 ms", 10), ("10 s", 1000)]:
        one = {"run.for": simulated}
        times = [timed(lambda: plant.check(set=one)) for _ in range(count)]
        print(f"check,{packets},{1e6 * statistics.median(times):.0f}")
    times = [timed(plant.bound) for _ in range(count)]
    print(f"bound,0,{1e6 * statistics.median(times):.0f}")


class Studies:
    """Studies in a folder, each run in a folder of its own."""

    def __init__(self, folder: pathlib.Path, client: Client) -> None:
        self.folder = folder
        self.client = client
        self.count = 0
        (folder / "plant.yaml").write_text(PLANT, encoding="utf-8")

    def write(self, simulated: int, points: int) -> tuple[str, str]:
        """Returns the file of a study and the folder for its results."""
        file = self.folder / "study.yaml"
        text = STUDY.replace("SECONDS", str(simulated)).replace("POINTS", str(points))
        file.write_text(text, encoding="utf-8")
        self.count += 1
        return str(file), str(self.folder / str(self.count))

    def processes(self, simulated: int, points: int) -> float:
        """Returns the time of two processes of the command, each with half of the points."""
        file, out = self.write(simulated, points)
        command = [sys.executable, "-m", "rtether", "sweep", file, "--out", out]
        command += ["-j", "1", "--no-progress", "--shard"]

        def run() -> None:
            both = [
                subprocess.Popen([*command, shard], stdout=subprocess.DEVNULL)
                for shard in ("1/2", "2/2")
            ]
            if any([process.wait() for process in both]):
                sys.exit("a shard failed; see above")

        return timed(run)

    def workers(self, simulated: int, points: int) -> float:
        """Returns the time of two workers of Dask."""
        file, out = self.write(simulated, points)
        return timed(lambda: rtether.sweep(file, out, client=self.client))


def studies(all_of: Studies) -> None:
    """Compares workers with processes, on points that take longer and longer."""
    second = 2000 / all_of.processes(2000, 2)  # simulated seconds that take one
    all_of.workers(1, 2)  # workers load the module
    print("s of a point,points,two processes s,two workers s,speed,ms more for a point")
    for seconds, points in STUDIES:
        simulated = max(1, round(second * seconds))
        turns = [
            (all_of.processes(simulated, points), all_of.workers(simulated, points))
            for _ in range(ROUNDS)
        ]
        plain, dask = (statistics.median(times) for times in zip(*turns))
        ratio = statistics.median(processes / workers for processes, workers in turns)
        more = 1e3 * (dask - plain) / points
        print(f"{2 * plain / points:.4f},{points},{plain:.2f},{dask:.2f},{ratio:.2f},{more:.1f}")


def main() -> None:
    calls()
    cluster = LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=2, threads_per_worker=1, dashboard_address=None
    )
    with tempfile.TemporaryDirectory() as folder, cluster:
        with Client(cluster) as client:  # type: ignore[no-untyped-call]
            studies(Studies(pathlib.Path(folder), client))


if __name__ == "__main__":
    main()
