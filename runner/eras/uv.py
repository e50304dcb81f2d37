"""uv, which resolves locks and makes environments, as a child process, and what its failures mean.

It is a dependency of the project, from PyPI as all others, since it makes an environment of a gigabyte in seconds from its cache, resolves
for platforms other than the one at hand, and needs no pip in the interpreter that an era asks for.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence

from runner.errors import UserError

NO_ROOM = re.compile(r"No space left on device|os error 28|Disk quota exceeded|os error 122", re.IGNORECASE)
NO_NETWORK = re.compile(
    r"dns error|failed to lookup address|error sending request|client error \(Connect\)|Connection refused|timed out|Could not connect"
    r"|network is unreachable|error trying to connect|tls handshake",
    re.IGNORECASE,
)


class UvError(UserError):
    """uv could not do it; the message says why in words. ``no_room`` says that the disk is full."""

    def __init__(self, message: str, *, no_room: bool = False) -> None:
        super().__init__(message)
        self.no_room = no_room


def binary() -> str:
    """The path of uv: that of the package beside headtohead, or else one on the PATH. Raises :class:`UvError`."""
    try:
        import uv

        return str(uv.find_uv_bin())
    except (ImportError, FileNotFoundError):
        found = shutil.which("uv")
        if found is None:
            raise UvError("uv, which makes the environments, is not there; install it beside headtohead: pip install uv") from None
        return found


def run(arguments: Sequence[str], *, tell: Callable[[str], None] = lambda line: None, given: str = "", **variables: str) -> str:
    """What uv prints on its standard output. ``tell`` is given each line of its progress, ``given`` goes to its standard input,
    ``variables`` are set for it.

    Raises :class:`UvError` when it fails; it never looks for settings outside of its variables, and never downloads an interpreter.
    """
    command = [binary(), *arguments, "--no-config", "--no-python-downloads", "--color", "never"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, **variables},
    ) as process:
        try:
            assert process.stdin is not None and process.stdout is not None and process.stderr is not None
            process.stdin.write(given)
            process.stdin.close()
            said = []
            for line in process.stderr:  # its output is small enough for the pipe to hold
                said.append(line.rstrip("\n"))
                tell(said[-1])
            output = process.stdout.read()
        except BaseException:
            process.terminate()
            raise
    if process.returncode != 0:
        raise explained(said)
    return output


def explained(said: Sequence[str]) -> UvError:
    """What a failure means, from the lines that uv said."""
    text = "\n".join(said)
    if NO_ROOM.search(text):
        return UvError("the disk is full", no_room=True)
    if NO_NETWORK.search(text):
        return UvError("uv cannot reach the package index; what was downloaded before is kept in its cache, so try again with a network")
    start = next((number for number, line in enumerate(said) if re.match(r"\s*(error|×)", line)), max(len(said) - 1, 0))
    words = " ".join(re.sub(r"^[\s│╰├─▶×]+", "", line) for line in said[start:])
    return UvError(f"uv says: {' '.join(words.split())[:600] or 'nothing'}")
