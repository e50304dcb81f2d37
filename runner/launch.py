"""One child process: start it in a built environment, listen to its events, give it orders, end it with everything it started."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

import frameworks
from frameworks.contract import CellFailure, Event, Status
from runner import diagnosis

GRACE_SECONDS = 3.0  # between asking a process group to end and ending it
LOG_BYTES = 1 << 20  # of a cell's log that are kept
READ_BYTES = 1 << 16
MEMORY_CHECK_SECONDS = 1.0


@dataclass(frozen=True)
class Limits:
    """Seconds that a child may take to start (import included), to stay silent, and in all; bytes that it may hold."""

    start: float = 180.0
    silence: float = 600.0
    total: float = 7200.0
    memory: int | None = None


class Child:
    """A worker process and its private event channel.

    The parent sleeps in :meth:`event` until something arrives. Memory is looked at when it wakes, and once a second while it waits.
    """

    def __init__(
        self, request: Mapping[str, Any], *, folder: Path, log: Path, environment: Mapping[str, str], python: str, limits: Limits
    ) -> None:
        self.log = log
        self._limits = limits
        self._started = time.monotonic()
        self._buffer = bytearray()
        self._imported = False
        self._finished = False
        _link_frameworks(folder)
        self._events, child_end = os.pipe()
        self._over, over_end = os.pipe()
        log.parent.mkdir(parents=True, exist_ok=True)
        try:
            with log.open("wb") as output:
                self._process = subprocess.Popen(
                    [python, "-m", "frameworks.worker", "--events", str(child_end)],
                    cwd=folder,
                    env=dict(environment),
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    pass_fds=[child_end],
                    start_new_session=True,
                )
        except OSError as error:
            for descriptor in (self._events, self._over, over_end):
                os.close(descriptor)
            raise CellFailure("crashed", f"the child could not be started with {python}: {error.strerror}") from error
        finally:
            os.close(child_end)
        # A thread that sleeps in wait() tells of the child's end even where a grandchild keeps the event channel open.
        threading.Thread(target=self._announce_end, args=(over_end,), daemon=True).start()
        self._send(request)

    @property
    def pid(self) -> int:
        return self._process.pid

    def order(self, name: str, **more: int) -> None:
        """Give one order; the answer comes as events."""
        self._send({"order": name, **more})

    def event(self) -> Event:
        """The next event, asleep until it comes. Raises :class:`CellFailure` when the child failed, died, hung or grew too large."""
        while True:
            line = self._take_line()
            if line is not None:
                event = Event(**json.loads(line))
                if event.kind == "failed":
                    raise CellFailure(event.data["status"], event.data["reason"], event.data["remedy"])
                if event.kind in ("imported", "probed"):
                    self._imported = True
                return event
            self._listen()

    def expect(self, kind: str) -> Event:
        """The next event of this kind; others before it are passed over."""
        while True:
            event = self.event()
            if event.kind == kind:
                return event

    def close(self) -> int | None:
        """End the child and everything that it started, politely first; its exit status (negative: the signal that ended it).

        A child that has finished is given the time to leave on its own; its status then tells of a crash at exit.
        """
        with contextlib.suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        status = self._left_alone() if self._finished else None
        if status is None:
            self._end_group()
        else:
            _kill_group(self._process.pid, signal.SIGKILL)
        for descriptor in (self._events, self._over):
            os.close(descriptor)
        _trim(self.log)
        return status

    def finish(self) -> Event:
        """Order the last checks and return the ``finished`` event."""
        self.order("finish")
        event = self.expect("finished")
        self._finished = True
        return event

    def release(self) -> None:
        """Say that nothing more is wanted, for a request that ends by itself."""
        self._finished = True

    # --- waiting ---------------------------------------------------------------------------------------------------

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message, allow_nan=False).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            pass  # the child is gone; the next event() says how

    def _take_line(self) -> bytes | None:
        end = self._buffer.find(b"\n")
        if end < 0:
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    def _listen(self) -> None:
        """Sleep until bytes come; raise when the child is over or a limit is passed."""
        heard = time.monotonic()
        while True:
            deadline, what = self._deadline(heard)
            left = deadline - time.monotonic()
            if left <= 0:
                raise self._too_long(what)
            ready, _, _ = select.select([self._events, self._over], [], [], min(left, MEMORY_CHECK_SECONDS))
            if self._events in ready:
                data = os.read(self._events, READ_BYTES)
                self._buffer += data
                if data:
                    return
            if ready:
                raise diagnosis.of_death(self._process.wait(), self._imported, self._log_tail())
            self._check_memory()

    def _deadline(self, heard: float) -> tuple[float, str]:
        deadlines = {"silence": heard + self._limits.silence, "total": self._started + self._limits.total}
        if not self._imported:
            deadlines["start"] = self._started + self._limits.start
        what = min(deadlines, key=lambda name: deadlines[name])
        return deadlines[what], what

    def _too_long(self, what: str) -> CellFailure:
        with contextlib.suppress(OSError):
            self._process.send_signal(signal.SIGUSR1)  # the child writes its stacks to the log
            time.sleep(0.2)
        sentences: dict[str, tuple[Status, str]] = {
            "start": ("stalled", f"the framework did not import within {self._limits.start:g} s"),
            "silence": ("stalled", f"nothing was heard for {self._limits.silence:g} s"),
            "total": ("timeout", f"the cell took longer than {self._limits.total:g} s"),
        }
        status, reason = sentences[what]
        return CellFailure(status, reason, f"its stacks are at the end of its log; --{what}-limit gives it more time")

    def _check_memory(self) -> None:
        if self._limits.memory is None:
            return
        held = _held_bytes(self._process.pid)
        if held > self._limits.memory:
            raise CellFailure(
                "out_of_memory",
                f"the process held {held / 2**30:.1f} GiB, the limit is {self._limits.memory / 2**30:.1f} GiB",
                "try a smaller batch, or raise --memory-limit where the machine has more",
            )

    def _announce_end(self, descriptor: int) -> None:
        self._process.wait()
        os.close(descriptor)

    # --- ending ----------------------------------------------------------------------------------------------------

    def _left_alone(self) -> int | None:
        try:
            return self._process.wait(timeout=10 * GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            return None

    def _end_group(self) -> None:
        family = _family(self._process.pid)  # also those that left the group; asked while their parent lives
        _kill_group(self._process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=GRACE_SECONDS)
        _kill_group(self._process.pid, signal.SIGKILL)
        for process in family:
            with contextlib.suppress(psutil.Error):
                process.kill()
        self._process.wait()

    def _log_tail(self) -> str:
        with self.log.open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - 20_000))
            return log.read().decode("utf-8", "replace")


def _link_frameworks(folder: Path) -> None:
    """Make ``folder`` offer ``frameworks`` and nothing else of ours, for an interpreter that has nothing of ours installed."""
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / "frameworks"
    if not link.exists():
        link.symlink_to(Path(frameworks.__file__).resolve().parent, target_is_directory=True)


def _family(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return []


def _held_bytes(pid: int) -> int:
    held = 0
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        held = process.memory_info().rss
        for child in process.children(recursive=True):
            with contextlib.suppress(psutil.Error):
                held += child.memory_info().rss
    return int(held)


def _kill_group(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _trim(log: Path) -> None:
    """Keep the beginning and the end of a log that has grown too large."""
    size = log.stat().st_size
    if size <= LOG_BYTES:
        return
    with log.open("rb") as file:
        head = file.read(LOG_BYTES // 2)
        file.seek(size - LOG_BYTES // 2)
        tail = file.read()
    log.write_bytes(head + f"\n[... {size - LOG_BYTES} bytes left out ...]\n".encode() + tail)
