"""Which Metal plug-in loads with which TensorFlow: how many symbols that it needs TensorFlow's libraries lack, from the published wheels.

The same figures stand in ``frameworks/eras/README.md``; ``h2h env check`` counts them anew for any pair.
"""

from __future__ import annotations

import re

MISSING = {
    ("2.9", "0.5.0"): 0,
    ("2.12", "0.8.0"): 0,
    ("2.13", "1.0.0"): 0,
    ("2.16", "1.1.0"): 0,
    ("2.18", "1.1.0"): 1,
    ("2.19", "1.1.0"): 1,
    ("2.16", "1.2.0"): 0,
    ("2.18", "1.2.0"): 0,
    ("2.19", "1.2.0"): 0,
    ("2.20", "1.2.0"): 38,
    ("2.21", "1.2.0"): 40,
}
"""By minor version of TensorFlow (tensorflow-macos up to 2.13) and version of the plug-in."""

GOOD = "tensorflow==2.18.1 tensorflow-metal==1.2.0"

LAST_PYTHON = (3, 12)
"""The newest Python that the last plug-in, 1.2.0, has a wheel for."""


def missing_symbols(tensorflow: str, plugin: str) -> int | None:
    """How many symbols the pair lacks; None for one that nobody has counted."""
    return MISSING.get((".".join(re.findall(r"\d+", tensorflow)[:2]), plugin))
