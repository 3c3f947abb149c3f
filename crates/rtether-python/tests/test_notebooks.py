"""Notebooks run from top to bottom. Oracle: what their own cells assert, and that none raises."""

import importlib
import json
import os
import pathlib
import unittest

NOTEBOOKS = pathlib.Path(os.environ["RTETHER_ROOT"]).resolve() / "docs/notebooks"
NAMES = sorted(path.name for path in NOTEBOOKS.glob("*.ipynb"))


class Notebooks(unittest.TestCase):
    def test_they_are_stored_without_outputs(self) -> None:
        self.assertEqual(NAMES, ["capture.ipynb", "plant.ipynb", "study.ipynb"])
        for name in NAMES:
            book = json.loads((NOTEBOOKS / name).read_text(encoding="utf-8"))
            for cell in book["cells"]:
                self.assertFalse(cell.get("outputs") or cell.get("execution_count"), name)

    def test_each_runs(self) -> None:
        try:
            for library in ["nbclient", "ipykernel", "matplotlib", "distributed", "pyarrow"]:
                importlib.import_module(library)
            nbformat = importlib.import_module("nbformat")
        except ImportError as error:
            self.skipTest(f"needs {error.name}")
        client = importlib.import_module("nbclient").NotebookClient
        for name in NAMES:
            with self.subTest(name):
                book = nbformat.read(NOTEBOOKS / name, as_version=4)
                where = {"metadata": {"path": str(NOTEBOOKS)}}
                ran = client(book, timeout=300, resources=where).execute()
                shown = [
                    output
                    for cell in ran.cells
                    for output in cell.get("outputs", [])
                    if "data" in output
                ]
                kinds = {kind for output in shown for kind in output["data"]}
                self.assertIn("image/png", kinds, name)


if __name__ == "__main__":
    unittest.main()
