"""A later run to set against the recorded one of ``tests/report``; run as a script, it writes the run and the golden comparisons.

``python -m tests.compare.recorded`` is how ``later.jsonl`` and ``golden/`` change, so that a change of layout shows in review.
"""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Callable
from pathlib import Path

from runner.records import End, FrameworkState, Header, Machine, Record, Round
from tests.report import recorded
from tests.report.recorded import SUFFIXES, failed, measured, slowed

HERE = Path(__file__).parent
FILE = HERE / "later.jsonl"
GOLDEN = HERE / "golden"

MAC = Machine("Apple M1 Max", 10, 34_359_738_368, "macOS 15.1 (24B83)", "arm64", "3.11.7", gpu="Apple M1 Max, 32 GPU cores")
SPEEDS = (1.3, 1.0, 1.0, 0.95, 1.0, 1.0)  # of the later run, by row
ROUNDS = 4


def header() -> Header:
    """Of the later run: a newer torch, another kernel, more threads, and a framework that is there now."""
    before = recorded.header()
    frameworks = dict(before.frameworks)
    frameworks["pytorch"] = dataclasses.replace(frameworks["pytorch"], versions={"torch": "2.14.0+cpu", "numpy": "2.3.1"})
    frameworks["fakeflow"] = FrameworkState("Fake_Flow", "ok", versions={"fakeflow": "0.1"})
    return dataclasses.replace(
        before,
        started="2026-12-07T09:30:00+00:00",
        command=("h2h", "run", "--suite", "quick", "--threads", "4"),
        settings={**before.settings, "rounds": ROUNDS, "threads": 4},
        machine=dataclasses.replace(before.machine, system="Linux 6.8"),
        frameworks=frameworks,
        environment={"OMP_NUM_THREADS": "4", "tensorflow": {"TF_CPP_MIN_LOG_LEVEL": "2"}},
        withheld=(),
        cells=before.cells[:-3],
    )


def round_of(row: int, column: int, number: int, draw: random.Random) -> Round:
    """One round of the later run."""
    found = slowed(measured(row, column, number, draw), 1 / SPEEDS[row])
    facts = {"threads": 4} | ({"optimizer": "keras.src.optimizers.legacy.sgd.SGD"} if row == 0 and column == 1 else {})
    return dataclasses.replace(found, facts={**found.facts, **facts}, conditions={"load": 0.5, "memory_available": 12_000_000_000})


def records(made: Header | None = None, change: Callable[[Round], Round] = lambda round: round) -> list[Record]:
    """All records of a later run."""
    draw = random.Random(20261207)
    made = made or header()
    lines: list[Record] = [made]
    ids = {cell.id for cell in made.cells}
    for row in range(len(recorded.ROWS)):
        for number in range(ROUNDS):
            for column in (0, 1):
                found = round_of(row, column, number, draw)
                if (row, column) == (4, 0):
                    found = failed(found, "out_of_memory", "the machine has 16 GiB and 17 GiB were asked for", "a smaller --batch")
                if found.cell in ids and (number == 0 or found.status == "ok"):
                    lines.append(change(found))
    return [*lines, End("complete")]


def write(path: Path, lines: list[Record]) -> Path:
    """A run file of these records."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record.to_json(), allow_nan=False) + "\n" for record in lines))
    return path


def main() -> None:
    """Write the later run and the golden comparisons."""
    from runner import compare
    from runner.compare import match
    from runner.runfile import read

    write(FILE, records())
    found = match.compare(read(recorded.FILE), read(FILE))
    GOLDEN.mkdir(exist_ok=True)
    for format, suffix in SUFFIXES.items():
        (GOLDEN / f"comparison.{suffix}").write_text(compare.render(found, format))


if __name__ == "__main__":
    main()
