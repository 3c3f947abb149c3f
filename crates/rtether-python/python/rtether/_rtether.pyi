from typing import Any, Callable, Literal, Mapping, Optional, Sequence, TypedDict

__version__: str

class Span(TypedDict):
    """A place: lines and columns count from 1, offsets are octets from 0."""

    file: str
    start: int
    end: int
    line: int
    column: int
    end_line: int
    end_column: int
    label: str
    primary: bool

class Diagnostic(TypedDict):
    """A mistake: what is wrong, where, and edits that mend it."""

    severity: str
    code: str
    title: str
    spans: list[Span]
    help: list[str]

class ScenarioError(ValueError):
    """A scenario that cannot be used; its text says all that is wrong."""

    diagnostics: list[Diagnostic]

class Result:
    """A result, in every form. Arrow libraries read its rows: `polars.DataFrame(result)`."""

    @property
    def ok(self) -> Optional[bool]:
        """Whether what is judged holds; `None` if there is no answer, or nothing to judge."""
    @property
    def conclusion(self) -> Optional[str]:
        """`PASS`, `FAIL`, `NO ANSWER` or `CONTRADICTION`; `None` if there is nothing to judge."""
    def json(self) -> str:
        """What the command prints with `--json`, to the byte."""
    def to_dict(self) -> dict[str, Any]:
        """The same as objects."""
    def csv(self) -> str:
        """One row per record."""
    def markdown(self) -> str:
        """Text and tables as Markdown."""
    def report(self) -> str:
        """One HTML page; complete after `check(report=True)`. `ValueError` if there is none."""
    def certificate(self) -> str:
        """Claims about every packet's way, of `check` and `bound`, which `rtether-verify` checks.

        `ValueError` without bounds, or if the format cannot express the plant.
        """
    def plot(self, ax: Optional[Any] = None) -> Any:
        """Draw it with matplotlib, into `ax` or a figure of its own; returns the axes.

        Delays of each stream with bound and deadline, the largest delays of each group of a study,
        or the way of one packet. `ValueError` if there is nothing to draw, `ImportError` without
        matplotlib (``pip install 'rtether[plot]'``).
        """
    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object: ...
    def _repr_html_(self) -> str: ...

class Plant:
    @property
    def name(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def diagnostics(self) -> list[Diagnostic]: ...
    @property
    def size(self) -> tuple[int, int]:
        """Numbers of flows and nodes."""
    def _judge(
        self,
        changes: Mapping[str, Any],
        proves: bool,
        report: bool,
        adversarial: Optional[str],
        pace: tuple[int, Optional[Callable[[float], object]]],
    ) -> Result: ...
    def _bound(self, changes: Mapping[str, Any]) -> Result: ...
    def _why(
        self, changes: Mapping[str, Any], flow: str, packet: str, bound: bool, jobs: int
    ) -> Result: ...

class Study:
    """A study with its scenario; it can be pickled, and needs no file then."""

    def __init__(
        self, version: str, name: str, text: str, files: Sequence[tuple[str, str]]
    ) -> None: ...
    @staticmethod
    def open(
        name: str, text: str, plant: Optional[Plant], include_from: Sequence[str]
    ) -> Study: ...
    def __len__(self) -> int: ...
    def name(self, index: int) -> str: ...
    def run(self, index: int) -> str: ...
    def conclude(self, results: Sequence[str]) -> tuple[list[tuple[str, str]], Result]: ...

class Plan:
    @property
    def text(self) -> str: ...
    def load(self) -> Plant: ...
    def result(self) -> Result: ...
    def against(self, planned: Plant) -> Result: ...

# Publish-subscribe, on Linux only.

class Participant:
    def __init__(
        self,
        domain: int,
        interface: Optional[str],
        peers: Sequence[str],
        multicast: bool,
        name: str,
        discovery: str,
    ) -> None: ...
    @property
    def address(self) -> str: ...
    def publisher(self, endpoint: Mapping[str, Any]) -> Publisher: ...
    def subscriber(self, endpoint: Mapping[str, Any]) -> Subscriber: ...
    def close(self) -> None: ...

class Publisher:
    def write(self, data: bytes, timeout: Optional[float]) -> Optional[int]: ...
    def write_json(self, json: str, timeout: Optional[float]) -> Optional[int]: ...
    def await_readers(self, count: int, timeout: Optional[float]) -> bool: ...
    def await_acknowledged(self, timeout: Optional[float]) -> bool: ...
    @property
    def readers(self) -> int: ...
    @property
    def unacknowledged(self) -> int: ...
    @property
    def mismatches(self) -> list[str]: ...
    def close(self) -> None: ...

class Subscriber:
    def take(
        self, timeout: Optional[float]
    ) -> Optional[
        tuple[
            bytes,
            Optional[dict[str, Any]],
            Optional[int],
            int,
            str,
            int,
            Literal["alive", "disposed", "no writers"],
        ]
    ]: ...
    def await_writers(self, count: int, timeout: Optional[float]) -> bool: ...
    @property
    def writers(self) -> int: ...
    @property
    def mismatches(self) -> list[str]: ...
    def counts(self) -> list[int]: ...
    def close(self) -> None: ...

def admit(plant: Plant, changes: Mapping[str, Any], flows: Sequence[str]) -> Result: ...
def bound_of(plant: Plant, changes: Mapping[str, Any], shows: str) -> Result: ...
def compare_schemes(
    plant: Plant,
    changes: Mapping[str, Any],
    access: Optional[Sequence[str]],
    by_flow: bool,
    jobs: int,
) -> Result: ...
def design(
    plant: Plant, changes: Mapping[str, Any], trials: Optional[int], jobs: int
) -> tuple[Result, Plant]: ...
def diff(old: str, new: str) -> Result: ...
def discovery(
    plant: Plant,
    changes: Mapping[str, Any],
    progress: Optional[Callable[[float], object]],
) -> Result: ...
def explain(
    plant: Plant, changes: Mapping[str, Any], flow: str, trials: Optional[int], jobs: int
) -> Result: ...
def export(
    plant: Plant,
    changes: Mapping[str, Any],
    tool: str,
    without_stacks: bool,
    without_flows: Sequence[str],
) -> tuple[list[tuple[str, str]], list[str]]: ...
def fail(
    plant: Plant,
    changes: Mapping[str, Any],
    elements: str,
    recovery: Optional[str],
    jobs: int,
    progress: Optional[Callable[[float], object]],
) -> Result: ...
def judge(
    plant: Plant, changes: Mapping[str, Any], claims: str, search: str, jobs: int
) -> tuple[Result, list[tuple[str, str]]]: ...
def limit(
    plant: Plant,
    changes: Mapping[str, Any],
    flows: Optional[str],
    shares: tuple[float, float, float],
    jobs: int,
) -> Result: ...
def sensitivity(plant: Plant, changes: Mapping[str, Any], flow: Optional[str]) -> Result: ...
def tightness(plant: Plant, changes: Mapping[str, Any], search: str, jobs: int) -> Result: ...
def waits(plant: Plant, changes: Mapping[str, Any], longer_than: str) -> Result: ...
def what_if(plant: Plant, changes: Mapping[str, Any], change: Mapping[str, Any]) -> Result: ...
def load(source: object, include_from: Sequence[str]) -> Plant: ...
def import_(files: Sequence[str], choices: Mapping[str, Any]) -> Plan: ...
def run(arguments: Sequence[str]) -> int: ...
