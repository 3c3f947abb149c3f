"""The manifest for Kubernetes. Oracle: the fields of its interface, as its own client has them."""

import importlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from typing import Any

GUIDES = pathlib.Path(os.environ["RTETHER_ROOT"]).resolve() / "docs/guides"


STUDY = """study: 1
scenario: plant.yaml
parameters: { flows.f.period: [1 ms, 2 ms, 5 ms, 10 ms] }
seeds: 5
"""
PLANT = """rtether: 1
name: p
nodes: { a: { stack: zero }, b: { stack: zero } }
switches: { sw: { ports: 2, latency: 5 us } }
links:
  - { ends: [a, "sw:1"], rate: 100 Mbit/s }
  - { ends: [b, "sw:2"], rate: 100 Mbit/s }
flows:
  - { name: f, from: a, to: b, period: 2 ms, size: 60 B, deadline: 1 ms }
run: { for: 100 ms, warmup: 0 s }
"""


class Manifest(unittest.TestCase):
    def setUp(self) -> None:
        try:
            self.client: Any = importlib.import_module("kubernetes.client")
            yaml: Any = importlib.import_module("yaml")
        except ImportError as error:
            self.skipTest(f"needs {error.name}")
        self.job = yaml.safe_load((GUIDES / "sweep-job.yaml").read_text(encoding="utf-8"))

    def check(self, value: Any, kind: str, place: str) -> None:
        """Compare a value with the type that the client gives its field."""
        inner = re.match(r"(?i)(list|dict)[\[(](?:str, )?(.*)[\])]", kind)
        if inner and inner[1].lower() == "list":
            self.assertIsInstance(value, list, place)
            for one in value:
                self.check(one, inner[2], f"{place}[]")
        elif inner:
            self.assertIsInstance(value, dict, place)
            for key, one in value.items():
                self.check(one, inner[2], f"{place}.{key}")
        elif hasattr(self.client, kind):
            model = getattr(self.client, kind)
            fields = {written: name for name, written in model.attribute_map.items()}
            for key, one in value.items():
                self.assertIn(key, fields, f"{place} has no {key}")
                self.check(one, model.openapi_types[fields[key]], f"{place}.{key}")
            # Those that are required refuse to be missing.
            model(**{fields[key]: one for key, one in value.items()})
        elif kind != "object":
            self.assertIsInstance(value, {"str": str, "int": int, "bool": bool}[kind], place)

    def test_every_field_is_one_of_a_job(self) -> None:
        self.assertEqual((self.job["apiVersion"], self.job["kind"]), ("batch/v1", "Job"))
        self.check(self.job, "V1Job", "job")
        with self.assertRaisesRegex(AssertionError, "completion"):
            self.check({"spec": {"completion": 8}}, "V1Job", "job")
        with self.assertRaises(ValueError):
            self.check({"spec": {}}, "V1Job", "job")

    def test_all_pods_together_run_the_study(self) -> None:
        # Oracle: the study in one process, and the rules of indexed jobs: indices from 0.
        spec = self.job["spec"]
        container = spec["template"]["spec"]["containers"][0]
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "study.yaml").write_text(STUDY, encoding="utf-8")
            pathlib.Path(folder, "plant.yaml").write_text(PLANT, encoding="utf-8")
            command = [sys.executable, "-m", "rtether"]
            words = ["sweep", "study.yaml", "--out", "whole"]
            whole = subprocess.check_output([*command, *words], cwd=folder)
            for index in range(spec["completions"]):
                words = [
                    word.replace("$(JOB_COMPLETION_INDEX)", str(index))
                    for word in container["args"]
                ]
                said = subprocess.check_output([*command, *words], cwd=folder)
            self.assertEqual(said, whole)
            files = [
                sorted(
                    (file.name, file.read_bytes())
                    for file in pathlib.Path(folder, name).rglob("*.*")
                )
                for name in ["whole", "results"]
            ]
            self.assertEqual(len(files[0]), 20 + 4)
            self.assertEqual(files[0], files[1])


if __name__ == "__main__":
    unittest.main()
