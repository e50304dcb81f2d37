"""Writes the recorded run that the golden reports are made from; run as a script, it writes both anew, and the JSON Schemas.

``python -m tests.report.recorded`` is how ``recorded.jsonl`` and ``golden/`` change, so that a change of layout shows in review.
"""

from __future__ import annotations

import dataclasses
import json
import random
from pathlib import Path
from typing import Any

from runner.records import Block, Cell, End, FrameworkState, Header, Machine, Note, Record, Round, Started

HERE = Path(__file__).parent
FILE = HERE / "recorded.jsonl"
GOLDEN = HERE / "golden"
SUFFIXES = {"markdown": "md", "csv": "csv", "json": "json"}

MACHINE = Machine("AMD EPYC 7B13", 2, 16_777_216_000, "Linux 6.1", "x86_64", "3.11.7")
FRAMEWORKS = {
    "pytorch": FrameworkState("PyTorch", "ok", versions={"torch": "2.13.0+cpu", "numpy": "2.3.1"}, devices={"cpu": "AMD EPYC 7B13"}),
    "tensorflow": FrameworkState(
        "TensorFlow", "ok", versions={"tensorflow": "2.21.0", "keras": "3.15.0"}, devices={"cpu": "AMD EPYC 7B13"}
    ),
    "fakeflow": FrameworkState("Fake_Flow", "not_installed", "no module named 'fakeflow'", "pip install fakeflow"),
}
COLUMNS = (("pytorch", "eager"), ("tensorflow", "graph"), ("fakeflow", "eager"))
# workload, variant, batch, mode, precision, unit, seconds a step in the first framework, how many times as fast the second is
ROWS: tuple[tuple[str, dict[str, Any], int | None, str, str, str, float, float], ...] = (
    ("lenet5-mnist", {}, 64, "train", "float32", "images", 0.0052, 0.8),
    ("gpt2_small*", {"sequence": 128}, 8, "train", "float32", "sequences", 1.31, 1.25),
    ("gpt2_small*", {"sequence": 128}, 8, "train", "mixed_bfloat16", "sequences", 2.2, 0.03),
    ("lenet5-mnist", {}, 64, "infer", "float32", "images", 0.0011, 1.004),
    ("vgg16", {}, 1, "infer", "float32", "images", 0.21, 11.7),
    ("matmul|odd `name` <b>", {"n": 1024}, None, "infer", "float32", "calls", 0.0000421, 0.97),
)
ROUNDS = 5
CALM = 3  # the row whose rounds hardly differ
OPTIMIZERS = {"pytorch": "torch.optim.sgd.SGD", "tensorflow": "keras.src.optimizers.sgd.SGD"}


def cell_id(row: int, column: int) -> str:
    """The id of a cell by its place in the table."""
    return f"{row:08x}{column:08x}"


def header() -> Header:
    """The header of the recorded run."""
    return Header(
        headtohead="0.1.0",
        started="2026-11-30T12:00:00+00:00",
        command=("h2h", "run", "--suite", "quick", "--framework", "pytorch", "--framework", "tensorflow", "--framework", "fakeflow"),
        seed=0,
        settings={"rounds": ROUNDS, "budget": 1.0, "alone": False, "threads": None, "request": {"suites": ["quick"]}},
        machine=MACHINE,
        frameworks=FRAMEWORKS,
        environment={"OMP_NUM_THREADS": "2", "tensorflow": {"TF_CPP_MIN_LOG_LEVEL": "2"}},
        withheld=("PYTORCH_ENABLE_MPS_FALLBACK",),
        cells=tuple(
            Cell(
                id=cell_id(row, column),
                comparison=f"{row:016x}",
                workload=workload,
                variant=variant,
                batch=batch,
                mode=mode,  # type: ignore[arg-type]
                precision=precision,
                framework=framework,
                device="cpu",
                execution=execution,
                unit=unit,
                computation=f"{row + 100:016x}",
                parameters=61_706,
                not_trained=0,
                operations=833_040,
            )
            for row, (workload, variant, batch, mode, precision, unit, _, _) in enumerate(ROWS)
            for column, (framework, execution) in enumerate(COLUMNS)
        ),
    )


def measured(row: int, column: int, number: int, draw: random.Random) -> Round:
    """One round that went well."""
    seconds, speed = ROWS[row][6:]
    jitter = 0.003 if row == CALM else 0.03
    step = seconds / (speed if column else 1.0) * draw.uniform(1 - jitter, 1 + jitter)
    steps = max(1, round(0.1 / step))
    framework = COLUMNS[column][0]
    return Round(
        cell=cell_id(row, column),
        round=number,
        position=column,
        status="ok",
        prepare={"import": 2.0 + column, "build": 0.1, "first_step": 10 * step, "warm_up": 0.5},
        blocks=tuple(Block(steps, steps * step * draw.uniform(0.99, 1.02), 10.0 * number + index) for index in range(10)),
        memory={"device_peak": None, "process_peak": 400_000_000 + 300_000_000 * column},
        loss={"first": 2.3, "last": 2.1} if ROWS[row][3] == "train" else {"first": None, "last": None},
        latency=latency(row, step),
        energy={"joules": {"package-0": 24.0 + column, "dram": 3.5}, "seconds": 2.1, "steps": 10} if row in (0, 4) else None,
        matmul_rate=(1.1e11 + 1e10 * column) * draw.uniform(0.98, 1.0),
        parity=parity(row, column) if number == 0 and row < 5 else None,
        facts={
            "optimizer": OPTIMIZERS[framework] if ROWS[row][3] == "train" else None,
            "layout": "channels last" if column else "channels first",
            "threads": 2,
            "compilations": column,
            "timed_compilations": 0,
            "graph_breaks": None,
            "deviations": [],
            "switches": {},
            "warnings": [],
        },
        conditions=conditions(row, number),
        log=f"logs/{cell_id(row, column)}-{number}.txt",
    )


def latency(row: int, step: float) -> dict[str, float | None] | None:
    """Of single inferences; too few for a 99th percentile where they are slow."""
    if ROWS[row][3] == "train":
        return None
    many = step < 0.01
    return {"count": 200 if many else 20, "median": 1.1 * step, "p90": 1.3 * step, "p99": 2.0 * step if many else None}


def conditions(row: int, number: int) -> dict[str, Any]:
    """The machine's state: mostly well, but not in all rows."""
    seen: dict[str, Any] = {"load": 0.25 * (number + 1), "memory_available": 12_000_000_000, "swap_used": 0, "nice": 0, "power": "ac"}
    seen |= {"canary": 0.0013, "rested": 0.0, "others": 0.02, "stolen": 0.01}
    after: dict[str, Any] = {**seen, "canary": 0.00131}
    if row == 0 and number < 2:
        seen |= {"others": 0.9, "stolen": 0.3, "rested": 3.0}
    if row == 1:
        after |= {"canary": 0.0018, "power": "battery", "low_power": True, "thermal": "serious", "swap_used": 3 * 2**30}
    if row == 4:
        seen["gpu"] = {"clock": 1200 + number, "clock_lowest": 900, "clock_highest": 1980, "temperature": 60 + number}
        seen["gpu"]["held_down"] = ["power cap"] if number else []
        after |= {"throttled": 7, "memory_pressure": "warning"}
        seen["throttled"] = 7 - number
    return {**seen, "after": after}


def parity(row: int, column: int) -> dict[str, float]:
    """How near the first round came to the golden curve."""
    steps, values = (5, 5) if ROWS[row][3] == "train" else (1, 64)
    return {"error": 1.84e-7 * (1 + column), "tolerance": 2e-5, "steps": steps, "values": values, "seconds": 0.4}


def failed(round: Round, status: str, reason: str, remedy: str = "") -> Round:
    """The same round, had it failed."""
    return Round(
        cell=round.cell,
        round=round.round,
        position=round.position,
        status=status,
        reason=reason,
        remedy=remedy,
        conditions=round.conditions,
        log=round.log,  # type: ignore[arg-type]
    )


def changed(round: Round, *, notes: tuple[Note, ...] = (), alone: bool = False, **facts: Any) -> Round:
    """The same round with notes or other facts."""
    return dataclasses.replace(round, notes=notes, alone=alone, facts={**round.facts, **facts})


def slowed(round: Round, factor: float, growth: float = 0.0) -> Round:
    """The same round with blocks so many times as long, and more so by ``growth`` from block to block."""
    blocks = (dataclasses.replace(block, seconds=block.seconds * (factor + growth * n)) for n, block in enumerate(round.blocks))
    return dataclasses.replace(round, blocks=tuple(blocks))


def records() -> list[Record]:
    """All records: every row has its story, so that each part of a report has something to say."""
    draw = random.Random(20261130)
    lines: list[Record] = [header()]
    for row in range(len(ROWS)):
        for number in range(1 if row == 5 else ROUNDS):
            lines.append(Started(f"{row:016x}", number, (cell_id(row, 0), cell_id(row, 1))))
            pair = [measured(row, column, number, draw) for column in (0, 1)]
            if row == 0 and number == 1:
                pair[1] = failed(
                    pair[1], "crashed", "ended by signal 11 (segmentation fault)\nin `libfoo_bar.so`|x", "report it to @someone"
                )
            if row == 0:
                pair[0] = changed(pair[0], notes=(Note("not_steady", f"the last blocks still differed by {4 + number} %"),))
            if row == 1:
                deviation = "keras.layers.LSTM has <one> bias where *two* are asked for"
                pair[1] = changed(pair[1], deviations=[deviation], optimizer="keras.src.optimizers.adam.Adam", timed_compilations=2)
                pair[1] = slowed(pair[1], 1.0 if number % 3 else 1.6)
            if row == 2:
                pair[1] = failed(pair[1], "out_of_memory", "the device has 2 GiB and 3 GiB were asked for", "a smaller --batch")
            if row == 4:
                pair = [slowed(changed(each, alone=True), 1.0, growth=0.02) for each in pair]
            lines += pair
            if row == CALM and number == ROUNDS - 1:
                lines.pop()
    return [*lines, End("interrupted")]


def main() -> None:
    """Write the recorded run and the golden reports."""
    from runner.report import FORMATS, json_schema, render
    from runner.runfile import read

    FILE.write_text("".join(json.dumps(record.to_json(), allow_nan=False) + "\n" for record in records()))
    for path, text in json_schema.published().items():
        path.write_text(text)
    GOLDEN.mkdir(exist_ok=True)
    for format in FORMATS:
        (GOLDEN / f"report.{SUFFIXES[format]}").write_text(render(read(FILE), format))


if __name__ == "__main__":
    main()
