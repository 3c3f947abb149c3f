"""Pictures of results, with matplotlib."""

from __future__ import annotations

import csv
import io
from collections import Counter
from typing import TYPE_CHECKING, Optional

from ._rtether import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Row = dict[str, str]

# Height of a line of the picture, and what is around all of them, in inches.
LINE, AROUND, WIDTH = 0.3, 1.2, 8.0
# Colors that people tell apart with any eyes (Okabe and Ito).
BLUE, SKY, ORANGE, RED = "#0072b2", "#56b4e9", "#e69f00", "#d55e00"


def plot(result: Result, ax: Optional[Axes]) -> Axes:
    """Draw a result into `ax`, or into a figure of its own."""
    rows = list(csv.DictReader(io.StringIO(result.csv())))
    columns = set(rows[0]) if rows else set()
    if {"hop", "cause"} <= columns:
        return _parts(rows, ax)
    if {"group", "delay_max_ns"} <= columns:
        return _groups(rows, ax)
    if {"flow", "bound_ns"} <= columns:
        return _streams(rows, ax)
    raise ValueError("this result has nothing to draw")


def _axes(ax: Optional[Axes], lines: int) -> Axes:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        message = "pictures need matplotlib: pip install 'rtether[plot]'"
        raise ImportError(message, name="matplotlib") from None
    size = (WIDTH, AROUND + LINE * lines)
    made: Axes = pyplot.subplots(figsize=size, layout="constrained")[1]
    return made


def _us(row: Row, column: str) -> Optional[float]:
    """A time in microseconds; `None` if there is none."""
    text = row.get(column) or ""
    return float(text) / 1000 if text else None


def _streams(rows: list[Row], ax: Optional[Axes]) -> Axes:
    """What was seen of each stream, beside its bound and its deadline."""
    ax = _axes(ax, len(rows))
    often = Counter(row["flow"] for row in rows)
    names = [
        row["flow"] if often[row["flow"]] == 1 else f"{row['flow']} > {row['listener']}"
        for row in rows
    ]
    for place, row in enumerate(rows):
        low, high = _us(row, "delay_min_ns"), _us(row, "delay_max_ns")
        if low is not None and high is not None:
            ax.plot([low, high], [place, place], color=SKY, linewidth=5, solid_capstyle="butt")
    marks = [
        ("delay_p50_ns", "median", "o", BLUE),
        ("delay_p99_ns", "99 %", "d", BLUE),
        ("bound_ns", "bound", ">", ORANGE),
        ("deadline_ns", "deadline", "|", RED),
    ]
    for column, label, marker, color in marks:
        points = [(_us(row, column), place) for place, row in enumerate(rows)]
        there = [(time, place) for time, place in points if time is not None]
        if there:
            times, places = zip(*there)
            ax.plot(times, places, marker, color=color, label=label, markersize=8)
    _lines(ax, names, "delay in us")
    ax.set_xscale("log")
    return ax


def _groups(rows: list[Row], ax: Optional[Axes]) -> Axes:
    """How the largest delays of each group are spread over the points of a study."""
    groups: dict[str, list[float]] = {}
    for row in rows:
        time = _us(row, "delay_max_ns")
        if time is not None:
            groups.setdefault(row["group"], []).append(time)
    ax = _axes(ax, len(groups))
    names = list(groups)
    for place, name in enumerate(names):
        times = sorted(groups[name])
        # The value of this rank, from 1, as in `quantiles.csv`.
        low, quarter, half, most, high = (
            times[max(1, -(-len(times) * share // 100)) - 1] for share in (5, 25, 50, 75, 95)
        )
        ax.plot([times[0], times[-1]], [place, place], color=SKY, linewidth=1)
        ax.plot([low, high], [place, place], color=SKY, linewidth=5, solid_capstyle="butt")
        ax.plot([quarter, most], [place, place], color=BLUE, linewidth=5, solid_capstyle="butt")
        ax.plot([half], [place], "o", color=ORANGE, label="median" if place == 0 else None)
    _lines(ax, names, "largest delay of a point in us: all, 90 %, 50 %")
    ax.set_xscale("log")
    return ax


def _parts(rows: list[Row], ax: Optional[Axes]) -> Axes:
    """Where the time of a packet, or of a bound, goes: hop by hop."""
    # The first row of a hop has its whole time, which those after it divide.
    hops = [own for last, own in zip([None, *rows], rows) if not last or last["hop"] != own["hop"]]
    ax = _axes(ax, len(hops))
    begun = 0.0
    for place, row in enumerate(hops):
        time = _us(row, "time_ns") or 0.0
        ax.barh(place, time, left=begun, color=BLUE if "queue" in row["place"] else SKY)
        begun += time
    _lines(ax, [row["place"] for row in hops], "us since release")
    return ax


def _lines(ax: Axes, names: list[str], unit: str) -> None:
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlabel(unit)
    ax.grid(axis="x", alpha=0.3)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(loc="best", fontsize="small")
