"""Publish-subscribe over RTPS, with any implementation of DDS and with ROS 2."""

from __future__ import annotations

import json
import os
import weakref
from types import TracebackType
from typing import Any, Iterator, Literal, Mapping, NamedTuple, Optional, Sequence, Type, Union

from . import _rtether

__all__ = ["Counts", "Participant", "Publisher", "Sample", "Subscriber"]

Path = Union[str, "os.PathLike[str]"]
Durability = Literal["volatile", "transient-local"]


class Sample(NamedTuple):
    """A sample that was taken."""

    #: The octets; empty for described types.
    data: bytes
    #: The value of a described type, only its key if the instance has ended; otherwise `None`.
    value: Optional[dict[str, Any]]
    #: When it was written, by the clock of the writer's host: nanoseconds since 1970.
    sent_ns: Optional[int]
    #: When it arrived here: nanoseconds since 1970.
    received_ns: int
    #: The writer, as `rtether spy` shows it.
    writer: str
    #: The number that the writer gave it.
    sequence: int
    #: State of its instance.
    state: Literal["alive", "disposed", "no writers"]


class Counts(NamedTuple):
    """What became of the samples of a subscriber.

    What a publisher has written is the sum of all members but the last two.
    """

    #: Taken.
    taken: int
    #: Waiting to be taken.
    waiting: int
    #: Announced by reliable publishers, and not received yet.
    missing: int
    #: Replaced by newer ones before they were taken; never with ``depth=0``.
    replaced: int
    #: Lost on the way for good, of those that publishers owed.
    lost: int
    #: Written before the subscriber was there, and not in the history that it asks for.
    not_owed: int
    #: Refused for good since `limit` was reached.
    rejected: int
    #: Of a weaker publisher, within the minimum separation, or rejected by a filter.
    filtered: int
    #: Expired before they were taken.
    expired: int
    #: Not values of the type.
    malformed: int
    #: Refused since `limit` was reached, and sent again by a reliable publisher; one sample may count
    #: more than once.
    deferred: int
    #: Declared gone in the name of a publisher that never had them: another host speaks in its name,
    #: and what is lost may be wrong, too.
    contradicted: int


class Publisher:
    """Writes samples of a topic; see `Participant.publisher`."""

    def __init__(self, inner: _rtether.Publisher, topic: str, linger: float) -> None:
        self._inner = inner
        self._linger = linger
        self._is_open = True
        #: The topic.
        self.topic = topic

    def write(
        self,
        data: Union[bytes, bytearray, memoryview, Mapping[str, Any]],
        *,
        timeout: Optional[float] = None,
    ) -> int:
        """Write a sample; returns its number, counted from 1.

        `data` are octets, or a mapping of all members of a described type. If the history is full of samples that a reliable subscriber has not
        acknowledged, this waits for room: raises `TimeoutError` if there is none after `timeout`
        seconds. Raises `ValueError` if the value is not of the type, or the publisher is closed.
        """
        if isinstance(data, Mapping):
            number = self._inner.write_json(json.dumps(dict(data), default=list), timeout)
        else:
            number = self._inner.write(bytes(memoryview(data)), timeout)
        if number is None:
            raise TimeoutError("a reliable subscriber has not acknowledged the oldest sample yet")
        return number

    @property
    def readers(self) -> int:
        """The number of matched readers."""
        return self._inner.readers

    @property
    def unacknowledged(self) -> int:
        """The number of samples that a reliable reader has not acknowledged."""
        return self._inner.unacknowledged

    @property
    def mismatches(self) -> list[str]:
        """Why readers of the topic do not match, for example that they request reliability."""
        return self._inner.mismatches

    def wait_for_readers(self, count: int = 1, *, timeout: Optional[float] = None) -> bool:
        """Wait until this many readers are matched, and know it; whether they are in time.

        What is written before reaches only readers with ``durability="transient-local"``.
        """
        return self._inner.await_readers(count, timeout)

    def wait_until_acknowledged(self, *, timeout: Optional[float] = None) -> bool:
        """Wait until all reliable readers have everything; whether they have in time."""
        return self._inner.await_acknowledged(timeout)

    def close(self) -> None:
        """Leave the topic, after a wait of `linger` seconds at most for acknowledgments."""
        if not self._is_open:
            return
        self._is_open = False
        try:
            self._inner.await_acknowledged(self._linger)
        except (ValueError, OSError):
            pass  # The participant is closed, or its sockets are gone.
        finally:
            self._inner.close()

    def __enter__(self) -> Publisher:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if error is not None:
            self._linger = 0.0
        self.close()


class Subscriber:
    """Takes samples of a topic; see `Participant.subscriber`. It is an iterator of them, which ends
    when the subscriber is closed."""

    def __init__(self, inner: _rtether.Subscriber, topic: str) -> None:
        self._inner = inner
        #: The topic.
        self.topic = topic

    def take(self, *, timeout: Optional[float] = None) -> Optional[Sample]:
        """Take the next sample; waits for it, `timeout` seconds at most, and returns `None` if there
        is none by then. Raises `ValueError` if it is closed, also meanwhile."""
        taken = self._inner.take(timeout)
        return None if taken is None else Sample(*taken)

    def __iter__(self) -> Iterator[Sample]:
        return self

    def __next__(self) -> Sample:
        try:
            sample = self.take()
        except ValueError:
            raise StopIteration from None
        if sample is None:
            raise StopIteration
        return sample

    @property
    def writers(self) -> int:
        """The number of matched writers."""
        return self._inner.writers

    @property
    def counts(self) -> Counts:
        """What became of samples so far."""
        return Counts(*self._inner.counts())

    @property
    def mismatches(self) -> list[str]:
        """Why writers of the topic do not match, for example that they are not reliable."""
        return self._inner.mismatches

    def wait_for_writers(self, count: int = 1, *, timeout: Optional[float] = None) -> bool:
        """Wait until this many writers are matched; whether they are in time."""
        return self._inner.await_writers(count, timeout)

    def close(self) -> None:
        """Leave the topic; samples that wait are dropped."""
        self._inner.close()

    def __enter__(self) -> Subscriber:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()


class Participant:
    """Takes part in a domain, from a thread of its own that ends with `close` or the program.

    `interface` is the address of this host that selects the network, by default the first that is
    not loopback; `peers` are addresses of hosts that multicast does not reach; `name` is what others
    see. With ``discovery="on-demand"`` it exchanges endpoints only with participants that share a
    topic. Waits release the interpreter, and Ctrl-C ends them; any thread may call. Other processes need
    participants of their own: that of a parent raises `RuntimeError` in a child that was forked.

    Raises `ValueError` if there can be no such domain or address, `OSError` if this host has no such
    address or the system refuses, and `NotImplementedError` where there is no Linux.
    """

    def __init__(
        self,
        domain: int = 0,
        *,
        interface: Optional[str] = None,
        peers: Sequence[str] = (),
        multicast: bool = True,
        name: str = "rtether for Python",
        discovery: str = "all",
    ) -> None:
        inner = getattr(_rtether, "Participant", None)
        if inner is None:
            raise NotImplementedError("publish-subscribe needs Linux; all else of rtether does not")
        if not 0 <= domain < 1 << 16:
            raise ValueError(f"domain {domain} does not exist")
        self._inner: _rtether.Participant = inner(
            domain, interface, list(peers), multicast, name, discovery
        )
        self._publishers: weakref.WeakSet[Publisher] = weakref.WeakSet()
        # Says good-bye also if nobody closes it.
        self._finalizer = weakref.finalize(self, self._inner.close)

    @property
    def address(self) -> str:
        """Its address and port."""
        return self._inner.address

    def publisher(
        self,
        topic: str,
        *,
        type: Optional[str] = None,
        idl: Optional[Path] = None,
        reliable: bool = True,
        durability: Durability = "volatile",
        depth: int = 0,
        limit: int = 1000,
        partitions: Sequence[str] = (),
        linger: float = 5.0,
    ) -> Publisher:
        """Write samples of a topic.

        Without `type` and `idl`, samples are octets, as of ``rtether pub --type octets``. With
        `idl`, the path or text of a file of OMG IDL, they are mappings of the members of its
        structure `type`, by default its last one; text has a line break, `;` or `{`. With `type` alone, they are payloads of that type
        which another library has encoded, with their four octets of head; the type has no key.

        The history keeps the last `depth` samples of each instance, or all if it is 0, and at most
        `limit`: then `write` waits for readers that are `reliable`, and for no others.
        ``durability="transient-local"`` gives what it has to readers that come later. `close` waits
        for acknowledgments, `linger` seconds at most.
        """
        if not linger >= 0:  # Not a number is neither.
            raise ValueError(f"{float(linger)} s is no time to wait: `linger` is 0 or more")
        wish = _wish(topic, type, idl, reliable, durability, depth, limit, partitions)
        made = Publisher(self._inner.publisher(wish), topic, linger)
        self._publishers.add(made)
        return made

    def subscriber(
        self,
        topic: str,
        *,
        type: Optional[str] = None,
        idl: Optional[Path] = None,
        reliable: bool = True,
        durability: Durability = "volatile",
        depth: int = 0,
        limit: int = 1000,
        partitions: Sequence[str] = (),
    ) -> Subscriber:
        """Take samples of a topic; the arguments are those of `publisher`.

        Samples wait until they are taken, at most `limit`. Then those of reliable publishers wait
        there, and others are refused. With a `depth`, newer samples replace older ones. `counts`
        tells of each. ``reliable=True`` does not match a publisher that is not reliable.
        """
        wish = _wish(topic, type, idl, reliable, durability, depth, limit, partitions)
        return Subscriber(self._inner.subscriber(wish), topic)

    def close(self) -> None:
        """Close the publishers, and leave the domain; waits of other threads end with
        `ValueError`. Closing again has no effect."""
        try:
            for publisher in list(self._publishers):
                publisher.close()
        finally:
            self._finalizer()

    def __enter__(self) -> Participant:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if error is not None:
            # Nobody waits for acknowledgments after a mistake, or Ctrl-C.
            self._finalizer()
        self.close()


def _wish(
    topic: str,
    type: Optional[str],
    idl: Optional[Path],
    reliable: bool,
    durability: str,
    depth: int,
    limit: int,
    partitions: Sequence[str],
) -> dict[str, Any]:
    text, name = None, "<text>"
    # A path with such characters is given as `pathlib.Path`.
    if isinstance(idl, str) and any(character in idl for character in "\n;{"):
        text = idl
    elif idl is not None:
        name = os.fspath(idl)
        with open(name, encoding="utf-8") as file:
            text = file.read()
    for word, number in (("depth", depth), ("limit", limit)):
        if not 0 <= number < 1 << 32:
            raise ValueError(f"`{word}` is a number from 0 to 4294967295")
    return {
        "topic": topic,
        "kind": type,
        "idl": text,
        "idl_name": name,
        "reliable": reliable,
        "durability": durability,
        "depth": depth,
        "limit": limit,
        "partitions": list(partitions),
    }
