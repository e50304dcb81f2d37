"""The one door to the programs of the operating system that describe the machine."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence

SYSTEM_FOLDERS = ("/usr/bin", "/bin", "/usr/sbin", "/sbin")
"""Looked into after PATH: what describes a Mac is in ``sbin``, which the PATH of a notebook or of a timer often lacks."""

PLAIN = {"LC_ALL": "C", "LANG": "C", "SYSTEM_VERSION_COMPAT": "0"}
"""Variables for answers in one language, with a point in numbers, and of macOS 11 and later under their own version, not as 10.16."""

LONGEST = 1 << 20  # bytes of an answer that are looked at


def ask(command: Sequence[str], timeout: float = 5.0) -> str | None:
    """What a program prints, or None where it is missing, slow, fails, or prints no text.

    A program that is too slow is ended with everything that it started, so that none of them keeps the caller waiting.
    """
    folders = [*filter(None, os.environ.get("PATH", "").split(os.pathsep)), *SYSTEM_FOLDERS]
    environment = {**os.environ, **PLAIN, "PATH": os.pathsep.join(folders)}
    try:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
    except (OSError, ValueError):
        return None
    with process:
        try:
            printed, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            return None
    return printed[:LONGEST].decode("utf-8", "replace").strip() or None if process.returncode == 0 else None
