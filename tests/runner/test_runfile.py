"""The run file: whatever happens to it, it is whole, forgiven, or an error that names the line."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from runner.records import Block, Cell, Cells, End, FrameworkState, Header, Machine, Note, Record, Round, Started
from runner.report import render
from runner.runfile import RunFile, RunFileError, new_path, read

A, B = "a" * 16, "b" * 16


def make_cell(id: str, framework: str = "pytorch", comparison: str = "c" * 16) -> Cell:
    return Cell(
        id=id,
        comparison=comparison,
        workload="mlp",
        variant={},
        batch=128,
        mode="train",
        precision="float32",
        framework=framework,
        device="cpu",
        execution="eager",
        unit="images",
        computation="d" * 16,
        parameters=10,
        not_trained=0,
        operations=20,
    )


def make_header(*cells: Cell) -> Header:
    return Header(
        headtohead="0.1.0",
        started="2026-11-30T12:00:00+00:00",
        command=("h2h", "run", "mlp"),
        seed=0,
        settings={"rounds": 3},
        machine=Machine("a chip", 2, 2**34, "Linux 6.1", "x86_64", "3.11.7"),
        frameworks={name: FrameworkState(name, "ok", versions={name: "1.0"}) for name in ("pytorch", "tensorflow")},
        cells=cells or (make_cell(A), make_cell(B, "tensorflow")),
    )


def make_round(cell: str, number: int, **changes: Any) -> Round:
    round = Round(
        cell=cell,
        round=number,
        position=0,
        status="ok",
        notes=(Note("not_steady", "blocks differed by 5 %"),),
        prepare={"import": 2.0, "build": 0.1, "first_step": 0.3, "warm_up": 1.5},
        blocks=(Block(10, 1.0, 0.5), Block(10, 3.0, 1.5), Block(20, 4.0, 2.5)),
        memory={"device_peak": None, "process_peak": 2**28},
        loss={"first": 2.3, "last": 2.2},
        facts={"optimizer": "torch.optim.SGD", "threads": 2},
        conditions={"load": 0.5},
    )
    return dataclasses.replace(round, **changes)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "run.jsonl"


def write(path: Path, *records: Record) -> None:
    with RunFile.create(path, make_header()) as file:
        for record in records:
            file.append(record)


def test_what_was_written_is_read(path: Path) -> None:
    write(path, Started("c" * 16, 0, (A, B)), make_round(A, 0), make_round(B, 0, status="crashed", reason="signal 11"), End("complete"))
    run = read(path)
    assert run.header == make_header()
    assert run.started == (Started("c" * 16, 0, (A, B)),)
    assert run.end == End("complete")
    first, second = run.rounds
    assert (first.seconds_per_step, len(first.times)) == (pytest.approx(0.2), 3)
    assert (first.import_seconds, first.first_step_seconds, first.process_peak, first.loss_last) == (2.0, 0.3, 2**28, 2.2)
    assert first.notes == (Note("not_steady", "blocks differed by 5 %"),)
    assert first.conditions.load == 0.5
    assert (second.status, second.reason) == ("crashed", "signal 11")


@pytest.mark.parametrize(
    "record", [make_header(), Cells((make_cell(A),), (B,)), Started("c", 0, (A,)), make_round(A, 1), End("interrupted")]
)
def test_records_survive_json(record: Any) -> None:
    assert type(record).from_json(json.loads(json.dumps(record.to_json()))) == record


def test_every_line_is_on_the_disk_when_append_returns(path: Path) -> None:
    with RunFile.create(path, make_header()) as file:
        file.append(make_round(A, 0))
        assert len(read(path).rounds) == 1


def test_an_existing_file_is_not_overwritten(path: Path) -> None:
    write(path, make_round(A, 0))
    before = path.read_bytes()
    with pytest.raises(RunFileError, match="not overwritten"):
        RunFile.create(path, make_header())
    assert path.read_bytes() == before


def test_a_second_writer_is_told_so(path: Path) -> None:
    with RunFile.create(path, make_header()):
        code = f"from pathlib import Path\nfrom runner.runfile import RunFile\nRunFile.open_for_resume(Path({str(path)!r}))"
        root = Path(__file__).parents[2]
        second = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root)
        assert second.returncode != 0
        assert "another h2h is writing it" in second.stderr
    RunFile.open_for_resume(path).close()


def test_not_a_number_is_refused_and_leaves_the_file_as_it_was(path: Path) -> None:
    with RunFile.create(path, make_header()) as file:
        before = path.read_bytes()
        with pytest.raises(ValueError):
            file.append(make_round(A, 0, loss={"first": float("nan"), "last": None}))
        assert path.read_bytes() == before


def test_a_write_that_fails_half_way_leaves_whole_lines(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = os.write, []

    def full_disk(descriptor: int, data: memoryview) -> int:
        calls.append(1)
        if len(calls) > 1:
            raise OSError(28, "No space left on device")
        return real(descriptor, data[:10])

    with RunFile.create(path, make_header()) as file:
        before = path.read_bytes()
        monkeypatch.setattr(os, "write", full_disk)
        with pytest.raises(RunFileError, match="No space left"):
            file.append(make_round(A, 0))
        monkeypatch.undo()
        assert path.read_bytes() == before
        file.append(make_round(A, 0))
    assert len(read(path).rounds) == 1


def test_names_of_the_same_second_differ(tmp_path: Path) -> None:
    now = datetime(2026, 11, 30, 12, 0, 1)
    names = {new_path(tmp_path, now) for _ in range(200)}
    assert len(names) == 200
    assert all(name.parent == tmp_path and name.name.startswith("2026-11-30-120001-") for name in names)


def test_a_file_torn_anywhere_in_its_last_line_is_read_and_resumed(path: Path) -> None:
    write(path, make_round(A, 0), make_round(A, 1, reason="Grüße"))
    whole = path.read_bytes()
    start = whole[:-1].rindex(b"\n") + 1
    for end in [start, start + 1, *range(start + 2, len(whole), 37), len(whole) - 2]:
        path.write_bytes(whole[:end])
        assert [measured.round for measured in read(path).rounds] == [0]
        with RunFile.open_for_resume(path) as file:
            assert set(file.run.finished(A)) == {0}
            assert path.read_bytes() == whole[:start]
            file.append(make_round(A, 1))
        assert set(read(path).finished(A)) == {0, 1}


def test_a_record_that_only_lacks_its_newline_is_kept(path: Path) -> None:
    write(path, make_round(A, 0))
    path.write_bytes(path.read_bytes()[:-1])
    with RunFile.open_for_resume(path) as file:
        assert set(file.run.finished(A)) == {0}
        file.append(make_round(A, 1))
    assert set(read(path).finished(A)) == {0, 1}


def test_zeros_at_the_end_are_a_torn_line(path: Path) -> None:
    write(path, make_round(A, 0))
    with path.open("ab") as end:
        end.write(b"\0" * 100)
    assert set(read(path).finished(A)) == {0}


def line(**changes: Any) -> str:
    data = {**make_round(A, 0).to_json(), **changes}
    return json.dumps({key: value for key, value in data.items() if value != "left out"})


@pytest.mark.parametrize(
    ("damaged", "what"),
    [
        ('{"record":"round","cell":', "not JSON"),
        ("", "not JSON"),
        ("[1]", "an object was expected"),
        ('{"record":"verdict"}', "unknown record 'verdict'"),
        (line(cell="left out"), "round lacks cell"),
        (line(cell="f" * 16), "is not in the header"),
        (line(round="0"), "round must be a whole number"),
        (line(round=True), "round must be a whole number"),
        (line(status="fine"), "unknown status 'fine'"),
        (line(blocks=[{"steps": 3}]), "round lacks seconds"),
        (line(blocks=[{"steps": 3, "seconds": "1", "at": 0}]), "another shape"),
        (line(prepare=[1]), "another shape"),
        (line(loss={"first": float("nan")}), "not JSON"),
        ('{"record":"started","comparison":"c","round":0,"cells":3}', "started: cells cannot be 3"),
        ('{"record":"end","reason":"tired"}', "end: reason cannot be 'tired'"),
        (line(prepare={"import": "2 s"}), "import must be a number"),
        ('{"record":"end"}', "end lacks reason"),
        (json.dumps(make_header().to_json()), "a second header"),
    ],
)
def test_other_damage_names_the_line(path: Path, damaged: str, what: str) -> None:
    write(path, make_round(A, 0))
    with path.open("a") as file:
        file.write(damaged + "\n" + line(round=1) + "\n")
    with pytest.raises(RunFileError) as error:
        read(path)
    assert f"{path}:3: " in str(error.value) and what in str(error.value)


def test_bytes_that_are_no_text_name_the_line(path: Path) -> None:
    write(path)
    with path.open("ab") as file:
        file.write(b'{"record":"\xff"}\n')
    with pytest.raises(RunFileError, match=":2: not UTF-8"):
        read(path)


@pytest.mark.parametrize("content", [b"", b'{"record":"hea'])
def test_a_file_without_a_whole_line(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(RunFileError, match="holds no complete line"):
        read(path)


def test_another_kind_of_file(path: Path) -> None:
    path.parent.mkdir()
    path.write_text('{"benchmark": 1}\n')
    with pytest.raises(RunFileError, match=":1: not a run file"):
        read(path)


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(RunFileError, match=str(path)):
            read(path)
        with pytest.raises(RunFileError, match=str(path)):
            RunFile.open_for_resume(path)


def test_a_newer_schema_says_which_headtohead_wrote_it(path: Path) -> None:
    path.parent.mkdir()
    path.write_text(json.dumps({**make_header().to_json(), "schema": 2, "headtohead": "9.9.0"}) + "\n")
    with pytest.raises(RunFileError, match=r"version 2 of the run file.*reads version 1.*9\.9\.0"):
        read(path)


@pytest.mark.parametrize(
    ("key", "value"), [("command", "h2h run"), ("started", 5), ("machine", None), ("cells", [{}]), ("seed", "0"), ("frameworks", {"a": 1})]
)
def test_a_header_of_another_shape_is_told(path: Path, key: str, value: Any) -> None:
    path.parent.mkdir()
    path.write_text(json.dumps({**make_header().to_json(), key: value}) + "\n")
    with pytest.raises(RunFileError, match=":1: "):
        read(path)


def test_a_fact_of_another_form_costs_that_fact_and_not_the_run(path: Path) -> None:
    write(path, make_round(A, 0, facts={"threads": "all", "optimizer": "torch.optim.SGD", "deviations": "none", "warnings": ["slow", 3]}))
    (measured,) = read(path).rounds
    facts = measured.facts
    assert (facts.threads, facts.optimizer, facts.deviations, facts.warnings) == (None, "torch.optim.SGD", (), ("slow", "3"))


def test_unknown_keys_are_ignored(path: Path) -> None:
    write(path)
    with path.open("a") as file:
        file.write(line(weather="rain") + "\n")
    assert set(read(path).finished(A)) == {0}


@pytest.mark.parametrize(
    "block", [{"steps": 1, "seconds": 0.0, "at": 0}, {"steps": 1, "seconds": -0.2, "at": 0}, {"steps": 0, "seconds": 1.0, "at": 0}]
)
def test_a_time_that_cannot_be_makes_a_round_suspect(path: Path, block: dict[str, Any]) -> None:
    write(path)
    with path.open("a") as file:
        file.write(line(blocks=[{"steps": 1, "seconds": 1.0, "at": 0}, block]) + "\n")
    (measured,) = read(path).rounds
    assert measured.status == "suspect"
    assert measured.seconds_per_step is None
    assert str(block["seconds"]) in measured.reason


def test_resuming_replaces_interrupted_rounds(path: Path) -> None:
    write(path, Started("c" * 16, 0, (A, B)), make_round(A, 0), make_round(B, 0, status="interrupted"), End("interrupted"))
    with RunFile.open_for_resume(path) as file:
        assert (set(file.run.finished(A)), set(file.run.finished(B))) == ({0}, set())
        file.append(Started("c" * 16, 0, (B,)))
        assert read(path).end is None
        file.append(make_round(B, 0))
        file.append(End("complete"))
    run = read(path)
    assert set(run.finished(B)) == {0}
    assert [measured.status for measured in run.rounds] == ["ok", "ok"]
    assert run.end == End("complete")


def test_rounds_without_a_result_are_told(path: Path) -> None:
    write(path, Started("c" * 16, 0, (A, B)), make_round(A, 0), make_round(B, 0), Started("c" * 16, 1, (A, B)), make_round(A, 1))
    assert read(path).unfinished() == [Started("c" * 16, 1, (B,))]


def test_a_round_that_ended_the_run_twice_is_given_up(path: Path) -> None:
    once, twice, thrice = (Started("c" * 16, number, (A, B)) for number in range(3))
    write(path, once, twice, twice, thrice, thrice, make_round(A, 2), make_round(B, 2))
    assert read(path).given_up() == {("c" * 16, 1)}


def test_all_ok_needs_every_cell_and_the_end(path: Path) -> None:
    write(path, make_round(A, 0))
    with RunFile.open_for_resume(path) as file:
        file.append(make_round(B, 0))
        assert not read(path).all_ok()
        file.append(End("complete"))
        assert read(path).all_ok()
        file.append(make_round(B, 1, status="timeout"))
        file.append(End("complete"))
    run = read(path)
    assert (run.all_ok(), run.failed(A), run.failed(B)) == (False, False, True)


def test_a_cell_without_results_is_not_ok(path: Path) -> None:
    write(path, make_round(A, 0), End("complete"))
    assert not read(path).all_ok()


def test_a_run_taken_up_with_other_cells(path: Path) -> None:
    new = make_cell("e" * 16, "tensorflow")
    write(path, Started("c" * 16, 0, (A, B)), make_round(B, 0), Cells((new,), (B,)), make_round(new.id, 0))
    run = read(path)
    assert [cell.id for cell in run.header.cells] == [A, new.id]
    assert [measured.cell for measured in run.rounds] == [new.id]
    assert run.unfinished() == [Started("c" * 16, 0, (A,))]


def write_many(path: Path, cells: int, rounds: int) -> None:
    """Rounds of twelve blocks with distinct figures, so that nothing is smaller than in a real run."""
    made = [make_cell(f"{n:016x}", ("pytorch", "tensorflow")[n % 2], f"{n // 2:016x}") for n in range(cells)]
    with path.open("w") as file:
        file.write(
            json.dumps(make_header(*(dataclasses.replace(cell, workload=f"w{n // 2}") for n, cell in enumerate(made))).to_json()) + "\n"
        )
        for number in range(rounds):
            for place, cell in enumerate(made):
                unique = 1 + (number * cells + place) / 1e6
                blocks = tuple(Block(12, unique * (1 + index / 1000), 1.5 * index + unique) for index in range(12))
                placement = {part: {"devices": ["cpu"], "types": ["float32"]} for part in ("parameters", "inputs", "outputs", "gradients")}
                round = make_round(
                    cell.id, number, blocks=blocks, placement=placement, loss={"first": unique, "last": unique / 2}, log="logs/x"
                )
                file.write(json.dumps(round.to_json()) + "\n")


def report_cost(path: Path) -> tuple[int, float, int]:
    """Rounds read, processor seconds and peak bytes of a fresh process that reads and reports."""
    code = (
        "import resource, sys; from pathlib import Path; from runner.runfile import read; from runner.report import render\n"
        "run = read(Path(sys.argv[1])); render(run, 'markdown')\n"
        "usage = resource.getrusage(resource.RUSAGE_SELF); status = Path('/proc/self/status')\n"
        # Linux hands ru_maxrss on from the parent, here a large pytest, so its own high-water mark is read where it exists
        "own = [int(line.split()[1]) for line in status.read_text().splitlines() if 'VmHWM' in line] if status.exists() else []\n"
        "print(len(run.rounds), usage.ru_utime + usage.ru_stime, own[0] if own else usage.ru_maxrss)"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, cwd=root, check=True)
    rounds, seconds, peak = done.stdout.split()
    return int(rounds), float(seconds), int(peak) * (1 if sys.platform == "darwin" else 1024)


def test_reading_and_reporting_five_thousand_rounds(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    write_many(path, cells=100, rounds=50)
    rounds, seconds, peak = report_cost(path)
    assert rounds == 5000
    assert seconds < 2  # 0.25 s at the rate asked for, the rest for starting the interpreter
    assert peak < 100 * 2**20


@pytest.mark.slow
def test_reading_and_reporting_a_hundred_thousand_rounds(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    write_many(path, cells=1000, rounds=100)
    start = time.perf_counter()
    rounds, seconds, peak = report_cost(path)
    assert rounds == 100_000
    assert seconds < 5, f"{seconds} s of processor time, {time.perf_counter() - start} s in all"
    assert peak < 500 * 10**6


def test_every_format_reports_a_run_of_nothing(path: Path) -> None:
    write(path)
    run = read(path)
    for format in ("markdown", "csv", "json"):
        assert "interrupted" in render(run, format)
