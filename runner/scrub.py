"""Taking out what says whose machine it is: host and user names, home folders, serial numbers. What is left can be shown to anybody."""

from __future__ import annotations

import contextlib
import getpass
import os
import platform
import re
import sys
import typing
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from frameworks.contract import DEVICES, MODES, PRECISIONS, Status
from runner.machine import mac

HOME, USER, HOST, SERIAL = "~", "«user»", "«host»", "«serial»"

WORDS = frozenset(
    {
        *DEVICES,
        *MODES,
        *PRECISIONS,
        *typing.get_args(Status),
        *("eager", "graph", "xla", "inductor", "jit", "pytorch", "tensorflow", "h2h", "run", "gpu"),
        *("header", "round", "started", "cells", "end", "complete", "interrupted", "error", "warning", "note"),
        *("ac", "battery", "nominal", "fair", "serious", "critical", "normal"),
        *("images", "samples", "sequences", "calls", "none", "sgd", "adam", "adamw"),
    }
)
"""Values that mean something to a reader of results, so that they stay even where somebody is called so."""

NAMED = frozenset({"frameworks", "environment", "variant", "versions", "packages", "devices", "pythons", "parameters", "facts"})
"""Keys of objects whose own keys are not ours."""

FOLDERS = re.compile(r"/(?:Users|home)/(?!Shared\b)[^/\s\"':;,()]+|/(?:private/)?var/folders/[^/\s\"']+/[^/\s\"']+")
"""Home folders of whomever, and the per-user folders for temporary files of macOS."""


@dataclass(frozen=True)
class Secrets:
    """What must not be told. ``homes`` are paths, the others words; comparison is without case, as host names and macOS's files have it."""

    homes: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    serials: tuple[str, ...] = ()
    _patterns: tuple[tuple[re.Pattern[str], str], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        found = [
            *((text, HOME, "path") for text in self.homes if len(text) > 1),
            *((text, SERIAL, "word") for text in self.serials),
            *((text, HOST, "word") for text in self.hosts),
            *((text, USER, "word") for text in self.users),
        ]
        longest_first = sorted(((form, put, kind) for text, put, kind in found for form in _forms(text)), key=lambda one: -len(one[0]))
        object.__setattr__(self, "_patterns", tuple((_pattern(text, kind), put) for text, put, kind in longest_first if text))

    def scrub(self, text: str) -> str:
        """The text without any of them."""
        if text in WORDS:
            return text
        for pattern, put in self._patterns:
            text = pattern.sub(put, text)
        return FOLDERS.sub(HOME, text)

    def scrub_json(self, value: Any, *, named: bool = False) -> Any:
        """A JSON value with every text in it scrubbed; with ``named``, keys are names that somebody chose and are scrubbed too."""
        if isinstance(value, str):
            return self.scrub(value)
        if isinstance(value, Mapping):
            return {self.scrub(key) if named else key: self.scrub_json(item, named=key in NAMED) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.scrub_json(item) for item in value]
        return value


def of_this_machine() -> Secrets:
    """Those of this user on this machine."""
    homes = [os.environ.get("HOME", "")]
    users = [os.environ.get("USER", ""), os.environ.get("LOGNAME", "")]
    with contextlib.suppress(RuntimeError):
        homes.append(str(Path.home()))
    with contextlib.suppress(OSError, KeyError, ImportError):
        users.append(getpass.getuser())
    with contextlib.suppress(ImportError, KeyError):
        import pwd

        entry = pwd.getpwuid(os.getuid())
        homes.append(entry.pw_dir)
        users += [entry.pw_name, entry.pw_gecos.partition(",")[0]]
    hosts, serials = [platform.node(), os.uname().nodename], list[str]()
    if sys.platform == "darwin":
        named, numbers = mac.identity()
        hosts += named
        serials += numbers
    hosts += [host.partition(".")[0] for host in hosts]
    homes += [os.path.realpath(home) for home in homes if home]
    return Secrets(_some(home.rstrip("/") for home in homes), _some(users), _some(hosts), _some(serials))


def _some(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.strip() for text in texts if text.strip() and text.strip().lower() not in ("localhost", "root")))


def _forms(text: str) -> set[str]:
    """A name as it is written on different systems: macOS takes letters with accents apart, and JSON and addresses escape them."""
    return {unicodedata.normalize(form, text) for form in ("NFC", "NFD", "NFKC")} | {text}


def _pattern(text: str, kind: str) -> re.Pattern[str]:
    before, after = ("", r"(?![^\W_])") if kind == "path" else (r"(?<![^\W_])", r"(?![^\W_])")
    return re.compile(before + re.escape(text) + after, re.IGNORECASE)
