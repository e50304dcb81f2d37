"""Every recorded Mac in turn, or one that is named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runner.machine import chip
from tests.macs.double import NAMES, Mac, become

Become = Callable[[str], Mac]


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Become]:
    """Become a Mac by its name."""
    yield lambda name: become(name, tmp_path, monkeypatch)
    chip.describe.cache_clear()  # what is known of the machine must not outlive the double


@pytest.fixture(params=NAMES)
def mac(request: pytest.FixtureRequest, recorded: Become) -> Mac:
    """Each of the recorded Macs."""
    return recorded(request.param)
