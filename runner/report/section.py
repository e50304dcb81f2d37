"""A report inside another text: the part between two markers of a markdown file, replaced whole and never by hand.

    <!-- headtohead NAME begin 0123456789abcdef -->
    ...
    <!-- headtohead NAME end -->

The digits are a digest of what stands between the markers, so that a change by hand can be told from a table that is out of date.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from runner.errors import UserError

State = Literal["current", "stale", "edited"]

_NAME = re.compile(r"[\w.-]+")
_MARKER = re.compile(r"<!-- *headtohead +([\w.-]+) +(begin|end)(?: +([0-9a-f]{16}))? *-->")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


@dataclass(frozen=True)
class Section:
    """A section found in a file: what stands before its text, its text, what stands after, and the digest that the marker has, if any.
    The markers themselves are part of neither."""

    before: str
    text: str
    after: str
    digest: str | None


def check_name(name: str) -> None:
    """Refuse a name that no marker can have."""
    if not _NAME.fullmatch(name):
        raise UserError(f"--section takes letters, digits, dots, dashes and underscores, not {name!r}")


def state(path: Path, name: str, text: str) -> State:
    """How the section stands to the text that it should have: ``edited`` if its digest is not that of what stands there."""
    section = find(path, _read(path), name)
    if section.text.strip("\n") == text.strip("\n") and section.digest == digest(text):
        return "current"
    return "edited" if section.digest not in (None, digest(section.text)) else "stale"


def write(path: Path, name: str, text: str) -> bool:
    """Give the section this text and its marker the digest; whether that changed the file. The file is replaced at once or not at all."""
    whole = _read(path)
    section = find(path, whole, name)
    end = "\r\n" if "\r\n" in whole else "\n"
    inner = text.strip("\n").replace("\n", end)
    begin = f"<!-- headtohead {name} begin {digest(text)} -->"
    made = f"{section.before}{begin}{end}{end}{inner}{end}{end}<!-- headtohead {name} end -->{section.after}"
    if made == whole:
        return False
    _replace(path, made)
    return True


def find(path: Path, whole: str, name: str) -> Section:
    """The section of this name, from the start of its first marker to the end of its second. Markers in fenced code are text, not markers.
    Raises :class:`runner.errors.UserError` where there is not exactly one pair."""
    places = [found for found in _markers(whole) if found[1] == name]
    words = [kind for _, _, kind, _ in places]
    if words == ["begin", "end"]:
        (begin, _, _, digits), (end, *_) = places
        inner = whole[begin[1] : end[0]].replace("\r\n", "\n").strip("\n")
        return Section(whole[: begin[0]], inner, whole[end[1] :], digits)
    if not words:
        others = sorted({found[1] for found in _markers(whole)})
        there = f" (it has {', '.join(others)})" if others else ""
        raise UserError(f"{path} has no section {name}{there}. Paste these two lines where it belongs:\n\n{empty(name)}")
    raise UserError(f"{path}: the markers of section {name} must be one begin and then one end, and they are: {', '.join(words)}")


def empty(name: str) -> str:
    """The two lines that a person pastes."""
    return f"<!-- headtohead {name} begin -->\n<!-- headtohead {name} end -->"


def digest(text: str) -> str:
    """Sixteen hexadecimal digits of the SHA-256 of a section's text, whatever its line ends and the blank lines around it."""
    return hashlib.sha256(text.replace("\r\n", "\n").strip("\n").encode()).hexdigest()[:16]


def _markers(whole: str) -> list[tuple[tuple[int, int], str, str, str | None]]:
    """Where each marker begins and ends, its name, its word and its digest; one that stands in a fenced block of code is none, except in
    a section, whose text is ours."""
    found: list[tuple[tuple[int, int], str, str, str | None]] = []
    place, fence, inside = 0, "", ""
    for line in whole.splitlines(keepends=True):
        marker = _MARKER.fullmatch(line.strip())
        opened = _FENCE.match(line)
        if marker and (not fence or (inside == marker[1] and marker[2] == "end")):
            start = place + line.index("<!--")
            found.append(((start, start + len(marker[0])), marker[1], marker[2], marker[3]))
            inside, fence = (marker[1] if marker[2] == "begin" else ""), ""
        elif fence:
            if opened and opened[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif opened:
            fence = opened[1]
        place += len(line)
    return found


def _read(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 from byte {error.start + 1}") from error


def _replace(path: Path, text: str) -> None:
    """A new file beside the old one, on the disk before it takes its place, with its permissions. A link stays a link."""
    path = path.resolve()
    made: Path | None = None
    try:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="", prefix=f".{path.name}.", dir=path.parent, delete=False) as file:
            made = Path(file.name)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        made.chmod(path.stat().st_mode & 0o7777)
        made.replace(path)
    except OSError as error:
        if made is not None:
            made.unlink(missing_ok=True)
        raise UserError(f"{path} cannot be written: {error.strerror or error}; it is as it was before") from error
