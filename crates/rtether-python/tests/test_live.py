"""Publish-subscribe. Oracle: what was written; the command `rtether pub` and `rtether sub`."""

import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from typing import Any, Callable, Optional
from unittest import mock

import rtether

HOST = "127.0.0.1"
SOON = 30.0
IDL = """module Plant {
  enum Mode { OFF, RUN };
  @final struct Level {
    @key string<16> tank;
    double meters;
    Mode mode;
    sequence<octet> raw;
  };
};
"""


def command(*words: str, **more: Any) -> "subprocess.Popen[str]":
    """The command, as the wheel has it."""
    return subprocess.Popen(
        [sys.executable, "-m", "rtether", *words, "--interface", HOST],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,
    )


def threads() -> int:
    return len(os.listdir("/proc/self/task"))


def has_at_most(count: int) -> bool:
    """Whether no more threads are left: Linux lists one for a moment after it was joined."""
    until = time.monotonic() + SOON
    while threads() > count and time.monotonic() < until:
        time.sleep(0.01)
    return threads() <= count


@unittest.skipUnless(sys.platform == "linux", "needs Linux")
class Live(unittest.TestCase):
    # A domain for each test: others may run beside.
    domain = 100 + os.getpid() % 60

    def participant(self, **more: Any) -> rtether.Participant:
        made = rtether.Participant(self.domain, interface=HOST, **more)
        self.addCleanup(made.close)
        return made


class Pairs(Live):
    def test_octets_arrive_in_one_process(self) -> None:
        before = threads()
        with rtether.Participant(self.domain, interface=HOST) as one:
            self.assertEqual(threads(), before + 1)
            self.assertTrue(one.address.startswith(HOST))
            with self.participant(name="other") as two:
                subscriber = two.subscriber("level")
                publisher = one.publisher("level")
                self.assertTrue(publisher.wait_for_readers(timeout=SOON))
                self.assertTrue(subscriber.wait_for_writers(timeout=SOON))
                begun = time.time_ns()
                sizes = [0, 1, 1000, 100_000]
                numbers = [publisher.write(bytes([7]) * size) for size in sizes]
                self.assertEqual(numbers, [1, 2, 3, 4])
                for size, sample in zip(sizes, subscriber):
                    self.assertEqual(sample.data, bytes([7]) * size)
                    self.assertEqual((sample.state, sample.value), ("alive", None))
                    assert sample.sent_ns is not None
                    self.assertLess(abs(sample.sent_ns - begun), 60e9)
                    self.assertGreaterEqual(sample.received_ns, sample.sent_ns)
                self.assertIsNone(subscriber.take(timeout=0))
                self.assertTrue(publisher.wait_until_acknowledged(timeout=SOON))
                self.assertEqual((publisher.readers, subscriber.writers), (1, 1))
                self.assertEqual(publisher.unacknowledged, 0)
                self.assertEqual(subscriber.counts, rtether.Counts(4, *[0] * 11))
        self.assertTrue(has_at_most(before))

    def test_endpoints_are_discovered_on_demand(self) -> None:
        one, two = (self.participant(discovery="on-demand") for _ in range(2))
        subscriber, publisher = two.subscriber("level"), one.publisher("level")
        self.assertTrue(publisher.wait_for_readers(timeout=SOON))
        publisher.write(b"7")
        sample = subscriber.take(timeout=SOON)
        assert sample is not None
        self.assertEqual(sample.data, b"7")
        with self.assertRaisesRegex(ValueError, "on-demand"):
            self.participant(discovery="static")

    def test_a_full_history_holds_the_writer_back(self) -> None:
        one, two = self.participant(), self.participant()
        subscriber = two.subscriber("held", limit=3)
        publisher = one.publisher("held", limit=3, linger=0)
        self.assertTrue(publisher.wait_for_readers(timeout=SOON))
        written = 0
        with self.assertRaisesRegex(TimeoutError, "acknowledged"):
            for written in range(100):
                publisher.write(b"%d" % written, timeout=0.3)
        self.assertLess(written, 20)
        taken = [subscriber.take(timeout=SOON) for _ in range(written)]
        self.assertEqual(
            [sample.data for sample in taken if sample],
            [b"%d" % number for number in range(written)],
        )
        counts = subscriber.counts
        self.assertEqual((counts.taken, counts.lost, counts.replaced), (written, 0, 0))

    def test_policies_that_keep_apart_are_named(self) -> None:
        one, two = self.participant(), self.participant()
        publisher = one.publisher("apart", reliable=False)
        subscriber = two.subscriber("apart")
        until = time.monotonic() + SOON
        while not (publisher.mismatches and subscriber.mismatches):
            self.assertFalse(subscriber.wait_for_writers(timeout=0.1))
            self.assertLess(time.monotonic(), until)
        self.assertEqual((publisher.readers, subscriber.writers), (0, 0))
        self.assertIn("reliab", " ".join(subscriber.mismatches))
        self.assertEqual(publisher.mismatches, subscriber.mismatches)

    def test_late_readers_get_what_is_kept(self) -> None:
        one, two = self.participant(), self.participant()
        publisher = one.publisher("late", durability="transient-local", depth=2)
        for number in range(5):
            publisher.write(b"%d" % number)
        subscriber = two.subscriber("late", durability="transient-local")
        taken = [subscriber.take(timeout=SOON) for _ in range(2)]
        self.assertEqual([sample.data for sample in taken if sample], [b"3", b"4"])

    def test_values_of_a_described_type(self) -> None:
        one, two = self.participant(), self.participant()
        publisher = one.publisher("described", idl=IDL)
        subscriber = two.subscriber("described", idl=IDL, type="Level")
        raw = two.subscriber("described", type="Plant::Level")
        self.assertTrue(publisher.wait_for_readers(timeout=SOON))
        publisher.write({"tank": "A", "meters": 2.5, "mode": "RUN", "raw": b"\1\2"})
        sample = subscriber.take(timeout=SOON)
        assert sample is not None
        value = {"tank": "A", "meters": 2.5, "mode": "RUN", "raw": [1, 2]}
        self.assertEqual((sample.value, sample.data), (value, b""))
        with self.assertRaisesRegex(ValueError, "no member `height`"):
            publisher.write({"height": 1})
        self.assertEqual(publisher.write({**value, "tank": "\U0001f6b0"}), 2)
        sample = subscriber.take(timeout=SOON)
        assert sample is not None and sample.value is not None
        self.assertEqual(sample.value["tank"], "\U0001f6b0")
        with self.assertRaisesRegex(TypeError, "described"):
            publisher.write(b"1")
        with self.assertRaisesRegex(ValueError, "<text>:2"):
            one.publisher("described", idl="struct\n")
        with self.assertRaisesRegex(ValueError, "Plant::Level"):
            one.publisher("described", idl=IDL, type="Nothing")
        # A topic with a key is none of a reader without.
        self.assertEqual(raw.writers, 0)

    def test_numbers_that_json_does_not_have_are_numbers(self) -> None:
        idl = """
        struct Point { double x; string name; };
        struct All { float small; double grid[2][2]; sequence<Point> path; string text; };
        """
        one, two = self.participant(), self.participant()
        publisher, subscriber = one.publisher("nan", idl=idl), two.subscriber("nan", idl=idl)
        self.assertTrue(publisher.wait_for_readers(timeout=SOON))
        inf = math.inf
        value = {
            "small": -inf,
            "grid": [[1.5, inf], [-inf, 0.0]],
            # Texts stay texts, whatever they say.
            "path": [{"x": inf, "name": "inf"}],
            "text": 'NaN "quoted"',
        }
        publisher.write(value)
        sample = subscriber.take(timeout=SOON)
        assert sample is not None and sample.value is not None
        self.assertEqual(sample.value, value)
        publisher.write({**sample.value, "small": math.nan})
        sample = subscriber.take(timeout=SOON)
        assert sample is not None and sample.value is not None
        self.assertTrue(math.isnan(sample.value["small"]))

    def test_members_that_are_forgotten_are_named(self) -> None:
        idl = """
        struct Point { double x; double y; };
        struct All { double level; string<8> text; Point at; sequence<Point> path; };
        """
        one, two = self.participant(), self.participant()
        publisher, subscriber = one.publisher("left", idl=idl), two.subscriber("left", idl=idl)
        self.assertTrue(publisher.wait_for_readers(timeout=SOON))
        whole: dict[str, Any] = {"level": 1.0, "text": "a", "at": {"x": 1.0, "y": 1.0}, "path": []}
        for member in whole:
            left = {name: value for name, value in whole.items() if name != member}
            with self.assertRaisesRegex(ValueError, f"member `{member}` is missing"):
                publisher.write(left)
        missing, expected = "member `x` is missing", "member `%s`.*expected"
        cases: list[tuple[str, dict[str, Any]]] = [
            (missing, {"at": {"y": 1.0}}),
            (missing, {"at": None}),
            (missing, {"path": [{"y": 1.0}]}),
            (expected % "text", {"text": None}),
            (expected % "path", {"path": None}),
            (expected % "level", {"level": None}),
        ]
        for message, wrong in cases:
            with self.assertRaisesRegex(ValueError, message):
                publisher.write({**whole, **wrong})
        publisher.write(whole)
        sample = subscriber.take(timeout=SOON)
        assert sample is not None
        self.assertEqual((sample.value, sample.sequence), (whole, 1))

    def test_a_member_that_is_forgotten_has_the_default_of_its_idl(self) -> None:
        # Oracle: the defaults, by hand.
        idl = """
        const long FAST = 7;
        enum Mode { OFF, SLOW, QUICK };
        struct Point { @default(-1.5e1) double x; double y; };
        struct Set {
            @default(2.5) double level; @default("a \\"b\\"") string<8> text; @default(TRUE) boolean on;
            @default(FAST) long speed; @default(value=0xff) octet mask; @default(Mode::QUICK) Mode mode;
            @default('c') char one; @default(18446744073709551615) uint64 most; Point at;
        };
        """
        one, two = self.participant(), self.participant()
        publisher, subscriber = one.publisher("set", idl=idl), two.subscriber("set", idl=idl)
        self.assertTrue(publisher.wait_for_readers(timeout=SOON))
        publisher.write({"at": {"y": 1.0}})
        sample = subscriber.take(timeout=SOON)
        assert sample is not None
        expected: dict[str, Any] = {
            "level": 2.5,
            "text": 'a "b"',
            "on": True,
            "speed": 7,
            "mask": 255,
            "mode": "QUICK",
            "one": "c",
            "most": 2**64 - 1,
            "at": {"x": -15.0, "y": 1.0},
        }
        self.assertEqual(sample.value, expected)
        publisher.write({**expected, "level": 1.0})
        sample = subscriber.take(timeout=SOON)
        assert sample is not None and sample.value is not None
        self.assertEqual(sample.value["level"], 1.0)
        with self.assertRaisesRegex(ValueError, "member `y` is missing"):
            publisher.write({"at": {}})
        for wrong in ("@default(1.5) long x", "@default(300) octet x", "@default(RED) Mode x"):
            with self.assertRaisesRegex(ValueError, "no value of this member"):
                one.publisher("t", idl=f"enum Mode {{ OFF }}; struct T {{ {wrong}; }};")

    def test_idl_on_one_line_is_no_name_of_a_file(self) -> None:
        participant = self.participant()
        participant.publisher("t", idl="struct L { long x; };")
        with self.assertRaisesRegex(ValueError, "<text>"):
            participant.publisher("t", idl="struct L;")
        for path in ("missing.idl", pathlib.Path("a;{b}.idl")):
            with self.assertRaises(FileNotFoundError):
                participant.publisher("t", idl=path)

    def test_payloads_that_others_have_encoded(self) -> None:
        one, two = self.participant(), self.participant()
        publisher = one.publisher("raw", type="Foreign::Number")
        subscriber = two.subscriber("raw", type="Foreign::Number")
        self.assertTrue(publisher.wait_for_readers(timeout=SOON))
        # CDR of a `long`, little endian.
        payload = bytes([0, 1, 0, 0, 42, 0, 0, 0])
        publisher.write(payload)
        sample = subscriber.take(timeout=SOON)
        assert sample is not None
        self.assertEqual(sample.data, payload)
        with self.assertRaisesRegex(TypeError, "four octets"):
            publisher.write(b"1")
        # `bytes(8)` are eight zeros, which nobody means.
        with self.assertRaises(TypeError):
            publisher.write(8)  # type: ignore[arg-type]


class Ends(Live):
    def test_closing_twice_is_fine_and_ends_waits(self) -> None:
        before = threads()
        participant = rtether.Participant(self.domain, interface=HOST)
        subscriber = participant.subscriber("t")
        publisher = participant.publisher("t")
        samples: list[rtether.Sample] = []
        reading = threading.Thread(target=lambda: samples.extend(subscriber))
        reading.start()
        time.sleep(0.1)
        participant.close()
        reading.join(SOON)
        self.assertFalse(reading.is_alive())
        for closed in (participant, subscriber, publisher, participant):
            closed.close()
        for call in (
            lambda: publisher.write(b""),
            lambda: subscriber.take(timeout=0),
            lambda: publisher.readers,
            lambda: participant.publisher("t"),
        ):
            with self.assertRaisesRegex(ValueError, "closed"):
                call()
        del participant, subscriber, publisher
        self.assertTrue(has_at_most(before))

    def test_what_nobody_closes_leaves_no_thread(self) -> None:
        before = threads()
        participant = rtether.Participant(self.domain, interface=HOST)
        publisher = participant.publisher("t")
        del participant
        self.assertTrue(has_at_most(before))
        with self.assertRaisesRegex(ValueError, "closed"):
            publisher.write(b"")

    def test_ctrl_c_ends_a_wait(self) -> None:
        subscriber = self.participant().subscriber("never")
        # A shell may have started this in the background, which ignores it.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        begun = time.perf_counter()
        with self.assertRaises(KeyboardInterrupt):
            subscriber.take()
        self.assertLess(time.perf_counter() - begun, 10)
        timer.join()

    def test_other_threads_run_during_a_wait(self) -> None:
        subscriber = self.participant().subscriber("never")
        count = 0
        waiting = threading.Thread(target=lambda: subscriber.take(timeout=1))
        waiting.start()
        while waiting.is_alive():
            count += 1
        self.assertGreater(count, 1000)

    def test_a_fork_needs_a_participant_of_its_own(self) -> None:
        participant = self.participant()
        subscriber = participant.subscriber("t")
        other = self.participant().publisher("t")
        self.assertTrue(other.wait_for_readers(timeout=SOON))
        child = os.fork()
        if child == 0:
            try:
                subscriber.take(timeout=1)
                os._exit(1)
            except RuntimeError:
                participant.close()
                os._exit(0)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        # The child has said no good-bye in the name of this process.
        time.sleep(0.3)
        self.assertEqual(other.readers, 1)
        other.write(b"x")
        self.assertIsNotNone(subscriber.take(timeout=SOON))

    def test_mistakes(self) -> None:
        with self.assertRaisesRegex(ValueError, "233"):
            rtether.Participant(233)
        with self.assertRaisesRegex(ValueError, "no address"):
            rtether.Participant(self.domain, interface="eth0")
        with self.assertRaisesRegex(OSError, "203.0.113.1"):
            rtether.Participant(self.domain, interface="203.0.113.1")
        participant = self.participant()
        for wrong in [{"limit": 0}, {"depth": -1}, {"durability": "for ever"}, {"type": ""}]:
            with self.assertRaises(ValueError, msg=str(wrong)):
                participant.subscriber("t", **wrong)  # type: ignore[arg-type]
        with self.assertRaisesRegex(ValueError, "topic name"):
            participant.publisher("")

    def test_what_is_no_time_is_refused_everywhere(self) -> None:
        # NaN would be the longest wait of all, since it is less than nothing.
        participant = self.participant()
        publisher, subscriber = participant.publisher("t"), participant.subscriber("t")
        waits = [
            subscriber.take,
            subscriber.wait_for_writers,
            publisher.wait_for_readers,
            publisher.wait_until_acknowledged,
            lambda timeout: publisher.write(b"1", timeout=timeout),
            lambda timeout: participant.publisher("t", linger=timeout),
        ]
        for wait in waits:
            for wrong in (math.nan, -1.0, -math.inf, -1e-9):
                # Another thread: a wait that lasts must not last here.
                raised = self.raised_by(lambda: wait(timeout=wrong))  # type: ignore[operator]
                self.assertIn("s is no time to wait", str(raised), str(wrong))
                self.assertIsInstance(raised, ValueError)
        for right in (0, -0.0, 0.01):
            self.assertIsNone(subscriber.take(timeout=right))
        # For ever is a time.
        participant.publisher("t", linger=math.inf).close()

    def raised_by(self, call: Callable[[], object]) -> Optional[BaseException]:
        """What a call raises within a second; nothing if it waits."""
        raised: list[BaseException] = []

        def run() -> None:
            try:
                call()
            except BaseException as error:
                raised.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(1)
        return raised[0] if raised else None

    def test_without_linux_it_says_so(self) -> None:
        with mock.patch.object(rtether._rtether, "Participant", None):
            with self.assertRaisesRegex(NotImplementedError, "Linux"):
                rtether.Participant()


class Processes(Live):
    def test_two_processes(self) -> None:
        code = f"""
import rtether
with rtether.Participant({self.domain}, interface="{HOST}") as other:
    back = other.publisher("back")
    for sample in other.subscriber("there"):
        back.wait_for_readers(timeout={SOON})
        back.write(sample.data[::-1])
        if sample.data == b"end":
            break
"""
        other = subprocess.Popen([sys.executable, "-c", code])
        participant = self.participant()
        there, back = participant.publisher("there"), participant.subscriber("back")
        self.assertTrue(there.wait_for_readers(timeout=SOON))
        for data in (b"abc", b"x" * 70_000 + b"y", b"end"):
            there.write(data)
            sample = back.take(timeout=SOON)
            assert sample is not None
            self.assertEqual(sample.data, data[::-1])
        self.assertEqual(other.wait(SOON), 0)

    def test_the_command_hears_python(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            idl = pathlib.Path(folder, "level.idl")
            idl.write_text(IDL, encoding="utf-8")
            words = ["sub", "level", "--idl", str(idl), "--reliable", "--depth", "0", "-n", "3"]
            words += ["--domain", str(self.domain), "--json", "--for", "30s"]
            with command(*words) as reading:
                publisher = self.participant().publisher("level", idl=idl)
                self.assertTrue(publisher.wait_for_readers(timeout=SOON))
                for number in range(3):
                    level = {"tank": "B", "meters": number / 4, "mode": "OFF", "raw": []}
                    publisher.write(level)
                out, errors = reading.communicate(timeout=SOON)
        self.assertEqual(reading.returncode, 0, errors)
        lines = [json.loads(line) for line in out.splitlines()]
        meters = [line["value"]["meters"] for line in lines if "value" in line]
        self.assertEqual(meters, [0, 0.25, 0.5], out)

    def test_python_hears_the_command(self) -> None:
        subscriber = self.participant().subscriber("octets")
        words = ["pub", "octets", "--type", "octets", "--reliable", "--size", "300", "-n", "5"]
        words += ["--domain", str(self.domain), "--period", "1ms", "--depth", "0"]
        with command(*words) as writing:
            taken = [subscriber.take(timeout=SOON) for _ in range(5)]
            _, errors = writing.communicate(timeout=SOON)
        self.assertEqual(writing.returncode, 0, errors)
        self.assertEqual([len(sample.data) for sample in taken if sample], [300] * 5)
        self.assertEqual([sample.sequence for sample in taken if sample], [1, 2, 3, 4, 5])


if __name__ == "__main__":
    unittest.main()
