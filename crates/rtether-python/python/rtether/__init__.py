"""How long packets take over standard Ethernet: predicted, proved and explained.

`Participant` publishes and subscribes over RTPS.

>>> plant = rtether.load("plant.yaml")
>>> result = plant.check(set={"flows.trip.period": "2 ms"}, runs=4)
>>> result.ok, polars.DataFrame(result)

The results are those of the command `rtether`, to the byte.
"""

from __future__ import annotations

import csv
import html
import io
import json
import os
import sys
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Optional, Sequence, Union

from . import _rtether
from ._live import Counts, Participant, Publisher, Sample, Subscriber
from ._rtether import Result, ScenarioError, __version__

__all__ = [
    "Counts",
    "Design",
    "Export",
    "Judgment",
    "Participant",
    "Plan",
    "Plant",
    "Publisher",
    "Result",
    "Sample",
    "ScenarioError",
    "Subscriber",
    "__version__",
    "diff",
    "import_",
    "load",
    "main",
    "sweep",
]

Path = Union[str, "os.PathLike[str]"]
Progress = Callable[[float], object]


class Plant:
    """A scenario.

    The methods take what the options of the command of the same name take: `set` has values by
    their path, for example ``{"flows.trip.period": "2 ms", "links[3].rate": "1 Gbit/s"}``; `runs`
    is the number of replications, the first with `seed`; `duration` and `warmup` are times with
    units; `jobs` is the number of threads, by default that of cores. They raise `ScenarioError` if
    the scenario is wrong after these changes, release the interpreter while they work, and end soon
    after Ctrl-C.
    """

    def __init__(self, inner: _rtether.Plant) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        """The name in the scenario."""
        return self._inner.name

    @property
    def text(self) -> str:
        """The scenario as it is written."""
        return self._inner.text

    @property
    def diagnostics(self) -> list[_rtether.Diagnostic]:
        """What the scenario is warned of, each with its place and a remedy."""
        return self._inner.diagnostics

    def check(
        self,
        *,
        set: Optional[Mapping[str, Any]] = None,
        seed: Optional[int] = None,
        runs: Optional[int] = None,
        duration: Optional[str] = None,
        warmup: Optional[str] = None,
        jobs: Optional[int] = None,
        report: bool = False,
        adversarial: Union[str, int, None] = None,
        strict: bool = False,
        progress: Optional[Progress] = None,
    ) -> Result:
        """Simulate, prove bounds, and judge every flow; `report` adds what only the page shows.

        `adversarial` searches for bad releases: for a time such as ``"60 s"``, or in a number of
        plants, which find the same on any machine. With `strict`, what rests on an assumption is no
        answer. `progress` is called with the part that is simulated, 0 to 1; what it raises ends the
        work.
        """
        changes = _changes(set, seed, runs, duration, warmup, strict)
        effort = None if adversarial is None else str(adversarial)
        return self._inner._judge(changes, True, report, effort, (jobs or 0, progress))

    def sim(
        self,
        *,
        set: Optional[Mapping[str, Any]] = None,
        seed: Optional[int] = None,
        runs: Optional[int] = None,
        duration: Optional[str] = None,
        warmup: Optional[str] = None,
        jobs: Optional[int] = None,
        report: bool = False,
        progress: Optional[Progress] = None,
    ) -> Result:
        """Simulate and judge without proofs."""
        changes = _changes(set, seed, runs, duration, warmup)
        return self._inner._judge(changes, False, report, None, (jobs or 0, progress))

    def bound(
        self,
        *,
        set: Optional[Mapping[str, Any]] = None,
        ports: bool = False,
        diameter: bool = False,
        strict: bool = False,
    ) -> Result:
        """Prove how long packets can take at most, without simulation.

        `ports` shows ports and stacks instead of streams, `diameter` what the plant's longest way and
        busiest place alone prove. With `strict`, what rests on an assumption is no answer.
        """
        changes = _changes(set, strict=strict)
        if ports and diameter:
            raise ValueError("`ports` and `diameter` are different results")
        if ports or diameter:
            shows = "ports" if ports else "diameter"
            return _rtether.bound_of(self._inner, changes, shows)
        return self._inner._bound(changes)

    def tightness(
        self,
        *,
        search: Union[int, str] = "60 s",
        set: Optional[Mapping[str, Any]] = None,
        strict: bool = False,
        jobs: Optional[int] = None,
    ) -> Result:
        """How near the largest delay that a search finds comes to each bound, and what makes the
        difference. `search` is a time or a number of plants, which find the same on any machine.
        """
        changes = _changes(set, strict=strict)
        return _rtether.tightness(self._inner, changes, str(search), jobs or 0)

    def judge(
        self,
        claims: Union[str, Iterable[Mapping[str, Any]]],
        *,
        search: Union[int, str] = "60 s",
        set: Optional[Mapping[str, Any]] = None,
        strict: bool = False,
        jobs: Optional[int] = None,
    ) -> Judgment:
        """Judge what others claim: each claim is proved, refuted by a run, or open.

        A claim is a mapping with `flow`, `bound` (a time with its unit, ``"reached"`` or ``"no loss"``)
        and perhaps `listener` and `method`; or `claims` is the text of a file as `rtether judge` takes
        it. Raises `LookupError` for a flow that the plant does not have, `ValueError` for a claim that
        cannot be read.
        """
        text = claims if isinstance(claims, str) else _claims(claims)
        changes = _changes(set, strict=strict)
        found = _rtether.judge(self._inner, changes, text, str(search), jobs or 0)
        return Judgment(found[0], dict(found[1]))

    def what_if(
        self, change: Mapping[str, Any], *, set: Optional[Mapping[str, Any]] = None
    ) -> Result:
        """Prove what a change would do to the bounds; `change` has values by their path, as `set`."""
        return _rtether.what_if(self._inner, _changes(set), _changes(change))

    def sensitivity(
        self, flow: Optional[str] = None, *, set: Optional[Mapping[str, Any]] = None
    ) -> Result:
        """Try single changes, and rank them by what they gain for a flow, by default that with the
        least slack. Raises `LookupError` if there is no such flow.
        """
        return _rtether.sensitivity(self._inner, _changes(set), flow)

    def waits(self, longer_than: str, *, set: Optional[Mapping[str, Any]] = None) -> Result:
        """How likely frames of aperiodic flows wait longer than a time at ports of switches; a model,
        not a bound.
        """
        return _rtether.waits(self._inner, _changes(set), longer_than)

    def admit(
        self,
        *flows: Union[str, Mapping[str, Any]],
        set: Optional[Mapping[str, Any]] = None,
        strict: bool = False,
    ) -> Result:
        """Decide whether flows may be added with all deadlines proved: each a mapping or a text as
        under `flows` of a scenario. `ok` is `None` if a flow with a deadline would have no bound, or
        with `strict` one that rests on an assumption.
        """
        if not flows:
            raise TypeError("name a flow at least")
        texts = [flow if isinstance(flow, str) else json.dumps(dict(flow)) for flow in flows]
        return _rtether.admit(self._inner, _changes(set, strict=strict), texts)

    def design(
        self,
        *,
        trials: Optional[int] = None,
        set: Optional[Mapping[str, Any]] = None,
        jobs: Optional[int] = None,
    ) -> Design:
        """Search for settings under which every deadline is proved, with the fewest edits; `ok` says
        whether they are, `None` that it is not known whether more can be.

        The section `design` of the scenario says what may change. `trials` is the number of designs to
        search through at most. Raises `LookupError` if no flow has a deadline.
        """
        found = _rtether.design(self._inner, _changes(set), trials, jobs or 0)
        return Design(found[0], Plant(found[1]))

    def explain(
        self,
        flow: str,
        *,
        trials: Optional[int] = None,
        set: Optional[Mapping[str, Any]] = None,
        jobs: Optional[int] = None,
    ) -> Result:
        """Say what prevents the deadline of a flow, or of ``"FLOW to LISTENER"``, whatever the design:
        flows and costs none of which can be left out; `ok` says whether a design proves it.

        `trials` limits the designs of each set of them. Raises `LookupError` if there is no such flow,
        or if it has no deadline.
        """
        return _rtether.explain(self._inner, _changes(set), flow, trials, jobs or 0)

    def limit(
        self,
        flows: Optional[str] = None,
        *,
        miss: float = 1e-3,
        confidence: float = 0.95,
        tolerance: float = 0.02,
        set: Optional[Mapping[str, Any]] = None,
        seed: Optional[int] = None,
        runs: Optional[int] = None,
        duration: Optional[str] = None,
        warmup: Optional[str] = None,
        jobs: Optional[int] = None,
    ) -> Result:
        """Find the highest load of other traffic at which deadlines hold; `ok` says whether the
        present load is within it, `None` that there are too few packets to say.

        `flows` are those whose load is scaled: name, class or a pattern with ``*``, by default all
        without a deadline. `miss` is the largest ratio of late or lost packets of a flow.
        """
        changes = _changes(set, seed, runs, duration, warmup)
        shares = (miss, confidence, tolerance)
        return _rtether.limit(self._inner, changes, flows, shares, jobs or 0)

    def compare(
        self,
        access: Optional[Sequence[str]] = None,
        *,
        by_flow: bool = False,
        set: Optional[Mapping[str, Any]] = None,
        seed: Optional[int] = None,
        runs: Optional[int] = None,
        duration: Optional[str] = None,
        warmup: Optional[str] = None,
        jobs: Optional[int] = None,
    ) -> Result:
        """Compare access schemes on the hubs of the plant, by default all; `ok` says whether one of
        them keeps every deadline.
        """
        changes = _changes(set, seed, runs, duration, warmup)
        names = [access] if isinstance(access, str) else access
        return _rtether.compare_schemes(self._inner, changes, names, by_flow, jobs or 0)

    def fail(
        self,
        elements: str = "both",
        *,
        recovery: Optional[str] = None,
        set: Optional[Mapping[str, Any]] = None,
        seed: Optional[int] = None,
        runs: Optional[int] = None,
        duration: Optional[str] = None,
        warmup: Optional[str] = None,
        jobs: Optional[int] = None,
        progress: Optional[Progress] = None,
    ) -> Result:
        """Judge the plant again for every single failure of ``"links"``, ``"trunks"``,
        ``"switches"`` or ``"both"``, links and switches; `recovery` is the time until the network has
        reconverged.
        """
        changes = _changes(set, seed, runs, duration, warmup)
        return _rtether.fail(self._inner, changes, elements, recovery, jobs or 0, progress)

    def discovery(
        self,
        *,
        set: Optional[Mapping[str, Any]] = None,
        seed: Optional[int] = None,
        duration: Optional[str] = None,
        warmup: Optional[str] = None,
        progress: Optional[Progress] = None,
    ) -> Result:
        """Simulate what discovery over RTPS takes on each link, in the first seed. Raises
        `LookupError` if no flow is over RTPS.
        """
        changes = _changes(set, seed, None, duration, warmup)
        return _rtether.discovery(self._inner, changes, progress)

    def export(
        self,
        tool: str,
        *,
        without_stacks: bool = False,
        without_flows: Sequence[str] = (),
        set: Optional[Mapping[str, Any]] = None,
    ) -> Export:
        """Write the plant for another tool: ``"inet"``, ``"saihu"``, ``"tc"`` or ``"tsnkit"``.

        `without_stacks` leaves out what takes time between application and port,
        `without_flows` flows by name, class or a pattern with ``*``; the notes say what was
        left out. Raises `ValueError` with every reason why that tool cannot express the rest.
        """
        left = without_stacks, list(without_flows)
        files, notes = _rtether.export(self._inner, _changes(set), tool, *left)
        return Export(dict(files), notes)

    def why(
        self,
        flow: str,
        *,
        packet: Union[str, int] = "worst",
        bound: bool = False,
        set: Optional[Mapping[str, Any]] = None,
        seed: Optional[int] = None,
        runs: Optional[int] = None,
        duration: Optional[str] = None,
        warmup: Optional[str] = None,
        jobs: Optional[int] = None,
    ) -> Result:
        """Explain the slowest packet of a flow, the first late one, or one by its number; with
        `bound` what each other flow adds to its bound.

        `flow` is its name, or ``"FLOW > LISTENER"`` of one with several listeners. Raises
        `LookupError` if there is no such flow or packet.
        """
        changes = _changes(set, seed, runs, duration, warmup)
        return self._inner._why(changes, flow, str(packet), bound, jobs or 0)

    def __repr__(self) -> str:
        return repr(self._inner)

    def _repr_html_(self) -> str:
        flows, nodes = self._inner.size
        warnings = [f"<li>{html.escape(one['title'])}</li>" for one in self.diagnostics]
        return (
            f"<p><b>{html.escape(self.name)}</b>: {flows} flows, {nodes} nodes</p>"
            + (f"<ul>{''.join(warnings)}</ul>" if warnings else "")
            + f"<details><summary>Scenario</summary><pre>{html.escape(self.text)}</pre></details>"
        )


class Judgment:
    """Claims, and what became of each."""

    def __init__(self, result: Result, files: dict[str, str]) -> None:
        #: What the command prints, in every form.
        self.result = result
        #: By name, the scenario of each run that refutes claims, and `certificate.json` if it claims
        #: something for what is proved.
        self.files = files
        #: Each claim: `name`, `claim`, `verdict` (``"proved"``, ``"refuted"`` or ``"open"``),
        #: `found_ns`, `proved_ns`, and the others of `rtether judge --json`.
        self.claims: list[dict[str, Any]] = result.to_dict()["claims"]

    @property
    def ok(self) -> Optional[bool]:
        """Whether every claim is proved; `None` if none is refuted, but one is open."""
        return self.result.ok

    def __repr__(self) -> str:
        return repr(self.result)

    def _repr_html_(self) -> str:
        return self.result._repr_html_()


class Design:
    """Settings of a plant under which deadlines are proved."""

    def __init__(self, result: Result, plant: Plant) -> None:
        #: What the command prints, in every form; `report()` is its page.
        self.result = result
        #: The plant with the edits.
        self.plant = plant
        found = result.to_dict()
        #: The edits: `path`, `old`, `new`, `changes` as ``PATH=VALUE``, `cost`, `needed_by`.
        self.edits: list[dict[str, Any]] = found["edits"]
        #: How many deadlines are proved with the edits, and how many there are.
        self.proved: tuple[int, int] = (found["proved_after"], found["deadlines"])
        #: ``"proved"``, ``"impossible"`` in the space that may change, or ``"best found"``.
        self.end: str = found["end"]

    @property
    def ok(self) -> Optional[bool]:
        """Whether every deadline is proved; `None` if it is not known whether more can be."""
        return self.result.ok

    @property
    def text(self) -> str:
        """The text of the scenario with the edits; its comments are kept."""
        return self.plant.text

    def __str__(self) -> str:
        return str(self.result)

    def _repr_html_(self) -> str:
        return self.result._repr_html_()


class Export(NamedTuple):
    """A plant as another tool reads it."""

    #: Contents by the names of the files.
    files: dict[str, str]
    #: What the tool is not told, or told otherwise.
    notes: list[str]

    def write(self, folder: Path) -> None:
        """Write the files into a folder; those that are there are replaced."""
        os.makedirs(folder, exist_ok=True)
        for name, text in self.files.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8", newline="") as file:
                file.write(text)


class Plan:
    """A scenario that was made of files of another tool."""

    def __init__(self, inner: _rtether.Plan) -> None:
        self._inner = inner

    @property
    def text(self) -> str:
        """The text of the scenario, with each assumption as a comment on its line."""
        return self._inner.text

    def load(self) -> Plant:
        """The plant."""
        return Plant(self._inner.load())

    def result(self) -> Result:
        """What was assumed and found."""
        return self._inner.result()

    def against(self, planned: Plant) -> Result:
        """Compare with a plan, flow by flow; `ok` says whether nothing deviates."""
        return self._inner.against(planned._inner)

    def _repr_html_(self) -> str:
        return self.result()._repr_html_()


def load(
    source: Union[Path, Mapping[str, Any]], *, include_from: Union[Path, Sequence[Path]] = ()
) -> Plant:
    """Read a scenario: a path, a text of more than one line, or a mapping of the file's form.

    Files that it includes are beneath its folder (the current directory for a text or a mapping),
    or beneath those of `include_from`.

    Raises `ScenarioError` with all mistakes at once, and `OSError` if there is no such file.
    """
    own = dict(source) if isinstance(source, Mapping) else source
    return Plant(_rtether.load(own, _paths(include_from)))


def _paths(some: Union[Path, Sequence[Path]]) -> list[str]:
    listed = [some] if isinstance(some, (str, os.PathLike)) else some
    return [os.fspath(path) for path in listed]


def import_(
    *files: Path,
    frequency: Optional[str] = None,
    deadline: Optional[Mapping[str, Optional[str]]] = None,
    columns: Optional[Mapping[str, str]] = None,
    config: Optional[str] = None,
    switches: Union[Path, Sequence[Path]] = (),
) -> Plan:
    """Make a scenario of files of another tool: all that `rtether import` reads.

    The keywords are its options: ``deadline={"goose": "3 ms", "bulk": None}``,
    ``columns={"from": "SourceNode"}``; `config` is a section of `omnetpp.ini`, and `switches` one
    file or several that say who is cabled to whom.
    """
    titles = ",".join(f"{name}={title}" for name, title in (columns or {}).items())
    choices = {
        "frequency": frequency,
        "deadline": list((deadline or {}).items()),
        "columns": titles or None,
        "config": config,
        "switches": _paths(switches),
    }
    return Plan(_rtether.import_([os.fspath(file) for file in files], choices))


def diff(
    old: Union[Result, Path, Mapping[str, Any]], new: Union[Result, Path, Mapping[str, Any]]
) -> Result:
    """Compare two results of `check` or `sim`: margins gained and lost, new failures; `ok` says that
    there are none of these. Each is a `Result`, its `to_dict()`, or the path of a file with its JSON.
    """

    def text(result: Union[Result, Path, Mapping[str, Any]]) -> str:
        if isinstance(result, Result):
            return result.json()
        if isinstance(result, Mapping):
            return json.dumps(result)
        with open(result, encoding="utf-8") as file:
            return file.read()

    return _rtether.diff(text(old), text(new))


def sweep(
    study: Union[Path, Mapping[str, Any]],
    out: Path,
    *,
    plant: Optional[Plant] = None,
    client: Optional[Any] = None,
    progress: Optional[Callable[[int, int], object]] = None,
    include_from: Union[Path, Sequence[Path]] = (),
) -> Result:
    """Run a study on a cluster of Dask, one task for each point; what all points tell.

    `study` is the path of its file, a text of more than one line, or a mapping of the file's form,
    whose `scenario` is relative to the current directory then; `plant` replaces the scenario that it
    names. `client` is a `distributed.Client`; without it, a `LocalCluster` has a process for each
    core. `out` gets the files of `rtether sweep`, to the byte, and if pyarrow is there a Parquet
    data set of all points in `points.parquet`. Points that are in `out` are not run again.
    `progress` is called with the number of points that are there, and of all. The scenario and what
    it includes are beneath the folder of the study, or beneath those of `include_from`.

    Raises `ImportError` without Dask (``pip install 'rtether[dask]'``), `ValueError` if the study is
    wrong, `ScenarioError` if its scenario is, and `RuntimeError` if a point ends every worker that
    runs it.
    """
    from . import _sweep

    if isinstance(study, Mapping):
        name, text = "<dict>", json.dumps(study)
    elif isinstance(study, str) and "\n" in study:
        name, text = "<text>", study
    else:
        name = os.fspath(study)
        with open(name, encoding="utf-8") as file:
            text = file.read()
    if isinstance(study, Mapping) and plant is not None and "scenario" not in study:
        text = json.dumps({"scenario": plant.name, **study})
    inner = None if plant is None else plant._inner
    opened = _rtether.Study.open(name, text, inner, _paths(include_from))
    return _sweep.run(opened, out, client, progress)


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Run the command `rtether` with these arguments, by default those of the process."""
    words: Iterable[str] = sys.argv[1:] if arguments is None else arguments
    words = ["rtether", *words]
    if words[1:2] == ["shim"]:
        # Its watchdog is the program itself, which is not there.
        print("error: `rtether shim` needs the program, not the package of Python", file=sys.stderr)
        return 4
    return _rtether.run(words)


def _claims(claims: Iterable[Mapping[str, Any]]) -> str:
    """Writes claims as the CSV that the command takes."""
    text = io.StringIO()
    columns = ["flow", "listener", "bound", "method"]
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for claim in claims:
        for key in claim:
            if key not in columns:
                raise ValueError(f"a claim has no {key!r}; it has {', '.join(columns)}")
        writer.writerow(dict(claim))
    return text.getvalue()


def _changes(
    set: Optional[Mapping[str, Any]],
    seed: Optional[int] = None,
    runs: Optional[int] = None,
    duration: Optional[str] = None,
    warmup: Optional[str] = None,
    strict: bool = False,
) -> dict[str, Any]:
    return {
        "set": dict(set or {}),
        "seed": seed,
        "runs": runs,
        "duration": duration,
        "warmup": warmup,
        "strict": strict,
    }
