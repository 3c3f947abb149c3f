"""Pictures, HTML and progress. Oracle: the rows of the same results, and arithmetic on them."""

import csv
import io
import os
import pathlib
import sys
import unittest
from unittest import mock

import rtether

SCENARIOS = pathlib.Path(os.environ["RTETHER_ROOT"]).resolve() / "scenarios"


def plant() -> rtether.Plant:
    return rtether.load(SCENARIOS / "bottling-line.yaml")


class Pictures(unittest.TestCase):
    def setUp(self) -> None:
        try:
            import matplotlib
        except ImportError:
            self.skipTest("needs matplotlib")
        matplotlib.use("Agg")

    def tearDown(self) -> None:
        from matplotlib import pyplot

        pyplot.close("all")

    def test_streams_have_bounds_and_deadlines(self) -> None:
        result = plant().check(duration="3 s", runs=1)
        ax = result.plot()
        rows = list(csv.DictReader(io.StringIO(result.csv())))
        drawn = {line.get_label(): line for line in ax.get_lines()}
        for label, column in [("bound", "bound_ns"), ("deadline", "deadline_ns")]:
            expected = [float(row[column]) / 1000 for row in rows if row[column]]
            self.assertEqual(list(drawn[label].get_xdata()), expected)
        names = [text.get_text() for text in ax.get_yticklabels()]
        self.assertEqual(names[0], "setpoint")
        # It has two listeners.
        self.assertEqual(names[3:5], ["emergency stop > plc1", "emergency stop > drive1"])
        out = io.BytesIO()
        ax.figure.savefig(out, format="png")
        self.assertTrue(out.getvalue().startswith(b"\x89PNG"))

    def test_parts_add_up_to_the_delay(self) -> None:
        for bound, member in [(False, "latency_ns"), (True, "latency_ns")]:
            result = plant().why("setpoint", bound=bound, duration="3 s", runs=1)
            bars = result.plot().patches
            whole = sum(bar.get_width() for bar in bars) * 1000
            expected = result.to_dict()[member]
            self.assertAlmostEqual(whole, expected, delta=1.0)
            self.assertAlmostEqual(bars[-1].get_x() + bars[-1].get_width(), whole / 1000, places=6)

    def test_axes_can_be_given(self) -> None:
        from matplotlib import pyplot

        given = pyplot.subplots()[1]
        self.assertIs(plant().bound().plot(given), given)


class Others(unittest.TestCase):
    def test_without_matplotlib_it_says_what_to_install(self) -> None:
        with mock.patch.dict(sys.modules, {"matplotlib": None}):
            with self.assertRaisesRegex(ImportError, r"pip install 'rtether\[plot\]'"):
                plant().bound().plot()

    def test_plants_are_shown_in_notebooks(self) -> None:
        text = (SCENARIOS / "bottling-line.yaml").read_text(encoding="utf-8")
        shown = rtether.load(text.replace("bottling line 3", "line <3>"))._repr_html_()
        self.assertIn("<b>line &lt;3&gt;</b>", shown)
        self.assertIn("6 flows, 6 nodes", shown)

    def test_progress_grows_to_the_end(self) -> None:
        parts: list[float] = []
        plant().sim(duration="600 s", runs=2, progress=parts.append)
        self.assertGreater(len(parts), 1)
        self.assertEqual(parts, sorted(parts))
        self.assertTrue(0 <= parts[0] and parts[-1] == 1, parts)

    def test_what_progress_raises_ends_the_work(self) -> None:
        def stop(part: float) -> None:
            raise ValueError(f"enough at {part}")

        with self.assertRaisesRegex(ValueError, "enough"):
            plant().sim(duration="50000 s", runs=1, progress=stop)


if __name__ == "__main__":
    unittest.main()
