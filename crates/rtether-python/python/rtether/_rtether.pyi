from typing import Any, Mapping, Optional, Sequence, TypedDict

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
        """Whether every requirement holds; `None` if the result judges nothing."""
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
    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object: ...
    def _repr_html_(self) -> str: ...

class Plant:
    @property
    def name(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def diagnostics(self) -> list[Diagnostic]: ...
    def _judge(
        self, changes: Mapping[str, Any], proves: bool, report: bool, jobs: int
    ) -> Result: ...
    def _bound(self, changes: Mapping[str, Any]) -> Result: ...
    def _why(
        self, changes: Mapping[str, Any], flow: str, packet: str, bound: bool, jobs: int
    ) -> Result: ...

class Plan:
    @property
    def text(self) -> str: ...
    def load(self) -> Plant: ...
    def result(self) -> Result: ...

def load(source: object) -> Plant: ...
def import_(
    files: Sequence[str],
    frequency: Optional[str],
    deadline: Sequence[tuple[str, Optional[str]]],
    columns: Optional[str],
) -> Plan: ...
def run(arguments: Sequence[str]) -> int: ...
