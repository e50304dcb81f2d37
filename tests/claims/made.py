"""Run files and workloads that are made up, and the golden texts made from them.

``python -m tests.claims.made`` writes the golden texts anew, so that a change of layout shows in review.
"""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.claims.beside import render as render_beside
from runner.claims.compare import Comparisons, compare
from runner.claims.listing import render as render_list
from runner.claims.model import Source
from runner.claims.reading import load_source
from runner.records import Block, Cell, End, FrameworkState, Header, Machine, Record, Round
from runner.runfile import read
from runner.runreader import Run

HERE = Path(__file__).parent
FILE = HERE / "made.yaml"
GOLDEN = HERE / "golden"
SUFFIXES = {"markdown": "md", "csv": "csv", "json": "json"}

MAC = Machine("Apple M1 Max", 10, 68_719_476_736, "macOS 12.6 (21G115)", "arm64", "3.10.9", "Apple M1 Max, 32 GPU cores")
LINUX = Machine("AMD EPYC 7B13", 2, 16_777_216_000, "Linux 6.1", "x86_64", "3.11.7")
VERSIONS = {"pytorch": {"torch": "1.12.1"}, "tensorflow": {"tensorflow-macos": "2.9.2", "tensorflow-metal": "0.5.0"}}
USUAL: Mapping[str, Mapping[str, Any]] = {"bert-base": {"sequence": 128}, "matmul": {"size": 1024}}


class Workloads:
    """Knows every workload, by what it is called and its parameters' usual values."""

    def digest(self, workload: str, batch: int | None, parameters: Mapping[str, Any]) -> str:
        return f"{workload}/{batch}/{sorted({**USUAL.get(workload, {}), **parameters}.items())}"


@dataclasses.dataclass(frozen=True)
class Made:
    """A cell to be made up: what it is, and its rounds' seconds a step."""

    workload: str
    seconds: Sequence[float]
    framework: str = "pytorch"
    device: str = "mps"
    mode: str = "train"
    batch: int | None = 64
    variant: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    execution: str = "eager"
    precision: str = "float32"
    measured: str = ""
    operations: int = 8_000_000_000
    status: str = "ok"
    computation: str = ""


def around(seconds: float, spread: float = 0.005) -> list[float]:
    """Five rounds about a time."""
    return [seconds * (1 + spread * step) for step in (-2, -1, 0, 1, 2)]


ON_MAC = (
    Made("resnet50", around(0.64)),
    Made("resnet50", around(2.56), device="cpu"),
    Made("resnet50", around(0.72), framework="tensorflow", device="metal", execution="graph"),
    Made("vgg16", around(0.5)),
    Made("vgg16", around(4.0), device="cpu"),
    Made("vgg16", (), mode="infer", status="crashed"),
    Made("matmul", around(2.147e-4), mode="infer", batch=None, variant={"size": 1024}, operations=2 * 1024**3),
    Made("matmul", around(1.718e-3), mode="infer", batch=None, variant={"size": 2048}, operations=2 * 2048**3),
)
ON_LINUX = (
    Made("resnet50", around(30.0), device="cpu"),
    Made("resnet50", around(25.0), framework="tensorflow", device="cpu", execution="graph"),
    Made("matmul", around(0.02), device="cpu", mode="infer", batch=None, variant={"size": 1024}, operations=2 * 1024**3),
)


def run(cells: Sequence[Made], machine: Machine = MAC, checks: bool = True) -> Run:
    """The run, written to a file and read back."""
    lines: list[Record] = [_header(cells, machine, checks)]
    for number, cell in enumerate(cells):
        times = cell.seconds if cell.status == "ok" else (0.0,)
        lines += [_round(f"{number:016x}", cell, round_number, seconds) for round_number, seconds in enumerate(times)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        path.write_text("".join(json.dumps(line.to_json()) + "\n" for line in [*lines, End("complete")]))
        return read(path)


def _header(cells: Sequence[Made], machine: Machine, checks: bool) -> Header:
    devices = {"cpu": machine.chip, "mps": machine.gpu or "", "metal": machine.gpu or ""}
    return Header(
        headtohead="0.1.0",
        started="2026-11-30T12:00:00+00:00",
        command=("h2h", "run"),
        seed=0,
        settings={"rounds": 5, "checks": checks},
        machine=machine,
        frameworks={name: FrameworkState(name, "ok", versions=versions, devices=devices) for name, versions in VERSIONS.items()},
        cells=tuple(
            Cell(
                id=f"{number:016x}",
                comparison=f"{cell.workload} {cell.mode} {cell.batch} {dict(cell.variant)}",
                computation=cell.computation or Workloads().digest(cell.workload, cell.batch, cell.variant),
                unit="images",
                parameters=1,
                not_trained=0,
                **{
                    name: getattr(cell, name)
                    for name in ("workload", "variant", "batch", "mode", "precision", "framework", "device", "execution", "operations")
                },
            )
            for number, cell in enumerate(cells)
        ),
    )


def _round(id: str, cell: Made, number: int, seconds: float) -> Round:
    if cell.status != "ok":
        return Round(cell=id, round=number, position=0, status=cell.status, reason="ended by signal 11", conditions={})  # type: ignore[arg-type]
    return Round(
        cell=id,
        round=number,
        position=0,
        status="ok",
        conditions={},
        blocks=tuple(Block(10, 10 * seconds, float(block)) for block in range(10)),
        parity={"error": 1e-7, "tolerance": 2e-5, "steps": 5, "values": 5, "seconds": 0.1} if number == 0 else None,
        measured_precision={"matmul": {"class": cell.measured, "error": 1e-3}} if cell.measured else {},
    )


def source() -> Source:
    return dataclasses.replace(load_source(FILE), path=Path("made.yaml"))


def compared(cells: Sequence[Made] = ON_MAC, machine: Machine = MAC, checks: bool = True) -> Comparisons:
    return compare((source(),), run(cells, machine, checks), Workloads())


def texts() -> dict[str, str]:
    """The golden texts by file name."""
    made = {f"list.{suffix}": render_list((source(),), format) for format, suffix in SUFFIXES.items()}
    for name, cells, machine in (("mac", ON_MAC, MAC), ("linux", ON_LINUX, LINUX)):
        made |= {f"{name}.{suffix}": render_beside(compared(cells, machine), format) for format, suffix in SUFFIXES.items()}
    return made


def main() -> None:
    GOLDEN.mkdir(exist_ok=True)
    for name, text in texts().items():
        (GOLDEN / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
