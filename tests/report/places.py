"""Runs of three machines, made by rule: what reports across devices and across machines are tested on.

``python -m tests.report.places`` writes the golden reports made from them.
"""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.records import Block, Cell, End, FrameworkState, Header, Machine, Record, Round
from runner.runfile import Run, read

HERE = Path(__file__).parent
GOLDEN = HERE / "golden"

TITLES = {"pytorch": "PyTorch", "tensorflow": "TensorFlow"}
EXECUTIONS = {"pytorch": "eager", "tensorflow": "graph"}
# workload, batch, unit, operations of a sample in units of 1e9
WORKLOADS = (("resnet50", 128, "images", 8.2), ("bert-base", 64, "sequences", 97.0))


@dataclass(frozen=True)
class Place:
    """A machine with the frameworks and devices that are measured on it, and how many 1e9 operations a second each does."""

    name: str
    machine: Machine
    versions: dict[str, dict[str, str]]
    speeds: dict[tuple[str, str], float]
    started: str


M1 = Place(
    "m1-max",
    Machine("Apple M1 Max", 10, 2**35, "macOS 15.1 (24B83)", "arm64", "3.11.7", gpu="Apple M1 Max, 32 GPU cores"),
    {"pytorch": {"torch": "2.13.0"}, "tensorflow": {"tensorflow": "2.18.1", "tensorflow-metal": "1.2.0"}},
    {("pytorch", "mps"): 4000.0, ("tensorflow", "metal"): 3200.0, ("pytorch", "cpu"): 400.0, ("tensorflow", "cpu"): 350.0},
    "2026-11-28T10:00:00+00:00",
)
EPYC = Place(
    "epyc",
    Machine("AMD EPYC 7B13", 2, 16_777_216_000, "Linux 6.1", "x86_64", "3.11.7"),
    {"pytorch": {"torch": "2.13.0+cpu"}, "tensorflow": {"tensorflow": "2.21.0"}},
    {("pytorch", "cpu"): 80.0, ("tensorflow", "cpu"): 100.0},
    "2026-11-29T10:00:00+00:00",
)
H200 = Place(
    "h200",
    Machine("Intel Xeon Platinum 8481C", 16, 2**37, "Linux 6.6", "x86_64", "3.11.7", gpu="NVIDIA H200"),
    {"pytorch": {"torch": "2.13.0+cu130"}},
    {("pytorch", "cuda"): 60000.0},
    "2026-11-30T10:00:00+00:00",
)


def cells(
    place: Place, workloads: Sequence[tuple[str, int, str, float]] = WORKLOADS, modes: Sequence[str] = ("train", "infer")
) -> list[Cell]:
    """All cells of a place, rivals beside each other."""
    made = []
    for row, (workload, batch, unit, work) in enumerate(workloads):
        for mode in modes:
            for column, (framework, device) in enumerate(place.speeds):
                made.append(
                    Cell(
                        id=f"{row:04x}{mode:>5}{column:07x}".replace(" ", "0"),
                        comparison=f"{row:08x}{mode:>8}".replace(" ", "0"),
                        workload=workload,
                        variant={},
                        batch=batch,
                        mode=mode,  # type: ignore[arg-type]
                        precision="float32",
                        framework=framework,
                        device=device,
                        execution=EXECUTIONS[framework],
                        unit=unit,
                        computation=f"{workload}-{batch}",
                        parameters=25_557_032,
                        not_trained=0,
                        operations=round(work * 1e9),
                    )
                )
    return made


def header(place: Place, made: Sequence[Cell]) -> Header:
    """The header of a run on this place."""
    return Header(
        headtohead="0.1.0",
        started=place.started,
        command=("h2h", "run", *dict.fromkeys(cell.workload for cell in made)),
        seed=0,
        settings={"rounds": 3, "budget": 1.0, "threads": None, "checks": True},
        machine=place.machine,
        frameworks={
            name: FrameworkState(TITLES[name], "ok", versions=versions, devices={device: "" for n, device in place.speeds if n == name})
            for name, versions in place.versions.items()
        },
        cells=tuple(made),
    )


def rounds(place: Place, made: Sequence[Cell], count: int = 3) -> list[Round]:
    """So many rounds of each cell; BERT does not fit into the GPU of the Mac under TensorFlow."""
    found = []
    for number in range(count):
        draw = random.Random(f"{place.name}/{number}")
        for position, cell in enumerate(made):
            if (place.name, cell.workload, cell.device, cell.mode) == ("m1-max", "bert-base", "metal", "train"):
                if number == 0:
                    asked = "the device has 21.3 GiB and 24.1 GiB were asked for"
                    found.append(
                        Round(
                            cell=cell.id,
                            round=0,
                            position=position,
                            status="out_of_memory",
                            reason=asked,
                            remedy="a smaller --batch",
                            conditions={},
                        )
                    )
                continue
            passes = 3 if cell.mode == "train" else 1
            step = passes * cell.operations * (cell.batch or 1) / (place.speeds[cell.framework, cell.device] * 1e9)
            seconds = step * draw.uniform(0.99, 1.01)
            parity = {"error": 2e-7, "tolerance": 2e-5, "steps": 5, "values": 5, "seconds": 0.4}
            found.append(
                Round(
                    cell=cell.id,
                    round=number,
                    position=position,
                    status="ok",
                    prepare={"import": 2.0, "build": 0.3, "first_step": 5 * step, "warm_up": 1.0},
                    blocks=tuple(Block(1, seconds * draw.uniform(0.995, 1.005), 10.0 * number + index) for index in range(10)),
                    memory={"device_peak": None, "process_peak": 900_000_000},
                    parity=parity if number == 0 else None,
                    conditions={"load": 0.4},
                )
            )
    return found


SWEEP = tuple(("resnet50", batch, "images", 8.2) for batch in (1, 8, 32, 64, 128, 256))


def sweep(folder: Path) -> Run:
    """ResNet-50 over batch on the Mac: 40 ms to launch a step on the GPU, and out of memory at 256 under TensorFlow."""
    made = cells(M1, SWEEP, ["train"])
    lines: list[Record] = [header(M1, made)]
    for found in rounds(M1, made):
        cell = next(cell for cell in made if cell.id == found.cell)
        if (cell.batch, cell.device) == (256, "metal"):
            if found.round == 0:
                lines.append(
                    Round(cell=cell.id, round=0, position=0, status="out_of_memory", reason="the device has 21.3 GiB", conditions={})
                )
            continue
        launch = 0.0 if cell.device == "cpu" else 0.04
        slow = 1.1 if cell.batch == 256 else 1.0
        blocks = tuple(dataclasses.replace(block, seconds=block.seconds * slow + launch) for block in found.blocks)
        lines.append(dataclasses.replace(found, blocks=blocks))
    path = folder / "sweep" / "run.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(record.to_json(), allow_nan=False) + "\n" for record in [*lines, End("complete")]))
    return read(path)


def write(folder: Path, place: Place, made: Sequence[Cell] | None = None, name: str = "") -> Path:
    """A run file of this place, in a folder of its own below ``folder``."""
    made = cells(place) if made is None else made
    lines: list[Record] = [header(place, made), *rounds(place, made), End("complete")]
    path = folder / (name or place.name) / "run.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(record.to_json(), allow_nan=False) + "\n" for record in lines))
    return path


def run(folder: Path, place: Place, made: Sequence[Cell] | None = None, name: str = "") -> Run:
    """The run of this place, read."""
    return read(write(folder, place, made, name))


def changed(made: Sequence[Cell], **changes: object) -> list[Cell]:
    """The same cells, changed."""
    return [dataclasses.replace(cell, **changes) for cell in made]  # type: ignore[arg-type]


def main() -> None:
    """Write the golden reports."""
    import tempfile

    from runner import join
    from runner.report import render

    with tempfile.TemporaryDirectory() as folder:
        runs = [run(Path(folder), place) for place in (M1, EPYC, H200)]
        (GOLDEN / "speed-up.md").write_text(render(runs[0], "markdown", ("cpu",)))
        (GOLDEN / "short.md").write_text(render(runs[1], "markdown", short=True))
        (GOLDEN / "sweep.md").write_text(render(sweep(Path(folder)), "markdown"))
        for format, suffix in {"markdown": "md", "csv": "csv"}.items():
            (GOLDEN / f"joined.{suffix}").write_text(join.render(runs, format))


if __name__ == "__main__":
    main()
