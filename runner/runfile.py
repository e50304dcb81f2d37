"""The run file on disk: written line by line, locked meanwhile, and taken up again after an interruption.

A line is complete when it is written, flushed and synced, so whatever ends the run costs at most the line being written.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from datetime import datetime
from pathlib import Path
from types import TracebackType

from runner.records import Header, Record
from runner.runreader import Facts, Measured, Run, RunFileError, read, read_for_resume

__all__ = ["Facts", "Measured", "Run", "RunFile", "RunFileError", "new_path", "read"]


def new_path(folder: Path, now: datetime) -> Path:
    """A name for a new run: the time to the second, for people, and four random bytes, so that no two runs meet."""
    return folder / f"{now:%Y-%m-%d-%H%M%S}-{secrets.token_hex(4)}"


class RunFile:
    """A run file that this process alone writes, as long as it is open. ``run`` is what it said when it was opened."""

    run: Run

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    @classmethod
    def create(cls, path: Path, header: Header) -> RunFile:
        """Start a new file, its folder included. Raises :class:`RunFileError` if there is one already."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError as error:
            raise RunFileError(f"{path}: exists already and is not overwritten; choose another name or take it up with --resume") from error
        except OSError as error:
            raise RunFileError(f"{path}: cannot be created: {error.strerror or error}") from error
        file = cls(path, descriptor)
        try:
            file._lock()
            file.append(header)
            file.run = Run(path, header, (), (), None)
        except BaseException:
            file.close()
            raise
        _sync_folder(path.parent)
        return file

    @classmethod
    def open_for_resume(cls, path: Path) -> RunFile:
        """Lock an existing file, read it into ``run``, and cut off a torn last line. Raises :class:`RunFileError`."""
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND)
        except OSError as error:
            raise RunFileError(f"{path}: cannot be opened: {error.strerror or error}") from error
        file = cls(path, descriptor)
        try:
            file._lock()
            file.run, whole, lacks_newline = read_for_resume(path)
            os.ftruncate(descriptor, whole)
            if lacks_newline:
                file._write(b"\n")
        except BaseException:
            file.close()
            raise
        return file

    def append(self, record: Record) -> None:
        """Write one line and return when it is on the disk. Raises :class:`RunFileError`; the file is then as it was before.

        ``ValueError`` for a number that JSON does not have (NaN, infinity): the caller decides what stands for it.
        """
        self._write(json.dumps(record.to_json(), allow_nan=False, separators=(",", ":")).encode() + b"\n")

    def close(self) -> None:
        """Let go of the file and its lock; closing twice does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> RunFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _lock(self) -> None:
        import fcntl  # here, because reading must also work on systems that have none

        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RunFileError(f"{self.path}: another h2h is writing it; wait for that run to end, or start one of its own") from error
        except OSError as error:
            raise RunFileError(f"{self.path}: cannot be locked ({error.strerror or error}); keep run files on a local disk") from error

    def _write(self, line: bytes) -> None:
        before = os.fstat(self._descriptor).st_size
        try:
            left = memoryview(line)
            while left:
                left = left[os.write(self._descriptor, left) :]
            os.fsync(self._descriptor)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, before)
            raise RunFileError(f"{self.path}: cannot be written: {error.strerror or error}; what was written before is safe") from error


def _sync_folder(folder: Path) -> None:
    """Make the new name itself last; some file systems cannot, which costs nothing but that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
