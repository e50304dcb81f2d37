"""Keeping a Mac awake for the length of a run."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def awake() -> Iterator[bool | None]:
    """Hold a sleep assertion meanwhile. Yields whether it is held; None on systems that need none."""
    if sys.platform != "darwin":
        yield None
        return
    if shutil.which("caffeinate") is None:
        yield False
        return
    holder = subprocess.Popen(["caffeinate", "-i", "-m", "-w", str(os.getpid())], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        yield True
    finally:
        holder.terminate()
        holder.wait()
