"""What the doctor says: a value with a code, a cause and a remedy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""``error``: a run would fail, in part at least. ``warning``: it would work, and its numbers or devices would not be what one expects.
``note``: good to know."""


@dataclass(frozen=True)
class Finding:
    """``code`` is one of few; ``what`` says in a sentence what is the matter, ``cause`` why, ``remedy`` what to do."""

    severity: Severity
    code: str
    what: str
    cause: str
    remedy: str
