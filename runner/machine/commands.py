"""The one door to the programs of the operating system that describe the machine."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence


def ask(command: Sequence[str], timeout: float = 5.0) -> str | None:
    """What a program prints, or None where it is missing, slow, fails, or prints no text."""
    try:
        done = subprocess.run(list(command), capture_output=True, timeout=timeout, check=False, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").strip() or None if done.returncode == 0 else None
