"""A study on a cluster of Dask: one task for each point, files as those of `rtether sweep`."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import os
import shutil
import tempfile
import threading
import warnings
from typing import Any, Callable, Iterator, Optional, Union

from ._rtether import Result, Study

# Workers that a point may end, beyond those that the scheduler counts by itself.
TRIES = 10
# Points under way for each thread: enough that none waits for the next, and that a study of a
# million points does not fill the scheduler.
AHEAD = 8
# Rows of one file of the data set.
ROWS = 1_000_000

# Seconds between two looks at the workers, and without any until something is done about it.
LOOK = 5.0
PATIENCE = 30.0

# Of Dask, whose types are those of untyped functions.
Client = Any
Future = Any
Told = Optional[Callable[[int, int], object]]


def run(
    study: Study, out: Union[str, os.PathLike[str]], client: Optional[Client], progress: Told
) -> Result:
    """Run the points that are not in `out`, and write what all tell."""
    dask = _dask()
    folder = os.path.join(os.fspath(out), "points")
    files = [os.path.join(folder, f"{study.name(index)}.json") for index in range(len(study))]
    os.makedirs(folder, exist_ok=True)
    left = [index for index, file in enumerate(files) if not os.path.exists(file)]
    there = itertools.count(len(files) - len(left) + 1)

    def keep(index: int, text: str) -> None:
        _write(files[index], text)
        if progress is not None:
            progress(next(there), len(files))

    if left:
        with _client(dask, client) as own:
            _Runs(dask, own, study, left, keep).all()
    return _conclude(study, files, os.fspath(out))


def _dask() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError:
        message = "a study runs on Dask: pip install 'rtether[dask]'"
        raise ImportError(message, name="distributed") from None


@contextlib.contextmanager
def _client(dask: Any, given: Optional[Client]) -> Iterator[Client]:
    if given is not None:
        with _watched(given, _tell):
            yield given
        return
    # Each worker runs one point at a time, in one thread; nobody asked for a page on a port.
    count = _cores()
    cluster = dask.LocalCluster(threads_per_worker=1, n_workers=count, dashboard_address=None)

    def replace() -> None:
        cluster.scale(0)
        cluster.scale(count)

    with cluster, dask.Client(cluster) as client, _watched(client, replace):
        yield client


def _tell() -> None:
    # Others may come yet, as where jobs wait for a queue.
    message = "the cluster has no worker: the study waits for one"
    warnings.warn(message, RuntimeWarning, stacklevel=1)


@contextlib.contextmanager
def _watched(client: Client, remedy: Callable[[], None]) -> Iterator[None]:
    """Does something if there is no worker for a while: Dask starts one again that was killed, but
    may give it up if that fails, too, and nothing would ever end then."""
    is_over = threading.Event()

    def watch() -> None:
        without = 0.0
        while not is_over.wait(LOOK):
            try:
                without = 0.0 if client.nthreads() else without + LOOK
                if without >= PATIENCE:
                    without = 0.0
                    remedy()
            except Exception:
                # The client is closed, or cannot ask now: the thread that takes results will hear of it.
                continue

    watching = threading.Thread(target=watch, name="rtether sweep", daemon=True)
    watching.start()
    try:
        yield
    finally:
        is_over.set()
        watching.join(LOOK)


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def _itself(study: Study) -> Study:
    return study


def _point(study: Study, index: int) -> str:
    return study.run(index)


class _Runs:
    """Points on their way through a cluster."""

    def __init__(
        self,
        dask: Any,
        client: Client,
        study: Study,
        left: list[int],
        keep: Callable[[int, str], None],
    ) -> None:
        self._dask = dask
        self._client = client
        self._study = study
        self._waiting = iter(left)
        self._keep = keep
        # Futures by key, each with its point and how often that was sent.
        self._under_way: dict[str, tuple[Future, int, int]] = {}
        self._send_study()

    def _send_study(self) -> None:
        # As a task, so that each worker gets it once, and it is made again if its workers are gone.
        self._held = self._client.submit(_itself, self._study, pure=False)

    def _send(self, index: int, tries: int = 1) -> Future:
        future = self._client.submit(_point, self._held, index, pure=False)
        self._under_way[future.key] = (future, index, tries)
        return future

    def all(self) -> None:
        ahead = AHEAD * max(1, sum(self._client.nthreads().values()))
        first = [self._send(index) for index in itertools.islice(self._waiting, ahead)]
        done = self._dask.as_completed(first)
        try:
            for future in done:
                _, index, tries = self._under_way.pop(future.key)
                text = self._result(future, index, tries)
                if text is None:
                    done.add(self._send(index, tries + 1))
                    continue
                self._keep(index, text)
                for index in itertools.islice(self._waiting, 1):
                    done.add(self._send(index))
        finally:
            self._client.cancel([future for future, *_ in self._under_way.values()])

    def _result(self, future: Future, index: int, tries: int) -> Optional[str]:
        """The content of a point's file; `None` if its workers were ended."""
        try:
            text: str = future.result()
            return text
        except (self._dask.CancelledError, self._dask.KilledWorker) as error:
            if tries == TRIES:
                name = self._study.name(index)
                raise RuntimeError(f"point {index} ({name}) ends every worker: {error}") from error
            self._send_study()
            return None


def _write(file: str, text: str) -> None:
    """Write a file that appears complete or not at all."""
    draft = f"{file}.{os.getpid()}.part"
    with open(draft, "wb") as output:
        output.write(text.encode())
        output.flush()
        os.fsync(output.fileno())
    try:
        os.replace(draft, file)
    except FileNotFoundError:
        # Another process has written the same, and removed this draft.
        if not os.path.exists(file):
            raise


def _conclude(study: Study, files: list[str], out: str) -> Result:
    texts = []
    for file in files:
        with open(file, encoding="utf-8", newline="") as point:
            texts.append(point.read())
    beside, result = study.conclude(texts)
    for name, text in beside:
        _write(os.path.join(out, name), text)
    _write_parquet(result, out)
    _tidy(os.path.join(out, "points"))
    _tidy(out)
    return result


def _tidy(folder: str) -> None:
    """Remove drafts of processes that were killed."""
    for name in os.listdir(folder):
        if name.endswith(".part"):
            draft = os.path.join(folder, name)
            with contextlib.suppress(OSError):
                shutil.rmtree(draft) if os.path.isdir(draft) else os.remove(draft)


def _write_parquet(result: Result, out: str) -> None:
    try:
        arrow: Any = importlib.import_module("pyarrow")
        dataset: Any = importlib.import_module("pyarrow.dataset")
    except ImportError:
        return
    place = os.path.join(out, "points.parquet")
    with tempfile.TemporaryDirectory(suffix=".part", dir=out) as folder:
        made = os.path.join(folder, "made")
        dataset.write_dataset(
            arrow.table(result),
            made,
            format="parquet",
            basename_template="part-{i}.parquet",
            max_rows_per_file=ROWS,
            max_rows_per_group=ROWS,
            use_threads=False,
        )
        if os.path.exists(place):
            shutil.rmtree(place)
        os.replace(made, place)
