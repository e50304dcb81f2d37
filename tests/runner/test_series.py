"""One long run of a framework beside its copies, cut into comparisons whose outcome is known."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path
from typing import Any

import pytest

from frameworks import copies, registry
from frameworks.copies import adapter as copied
from runner import calibration
from runner.calibration import series, tables
from runner.calibration.series import Series
from runner.errors import UserError
from runner.records import Block, End, Round
from runner.runfile import RunFile, read
from tests.report import recorded


def made(rounds: int, noise: float, seed: int = 0) -> Series:
    """A series of processes that differ by so much, and a copy that takes a tenth longer."""
    draw = random.Random(seed)
    sides = [{n: [factor * draw.lognormvariate(0, noise)] for n in range(rounds)} for factor in (1.0, 1.0, copies.SLOWED)]
    return Series("PyTorch", "cpu", False, *sides)


def test_comparisons_share_no_round() -> None:
    one = made(31, 0.04)
    for rounds, comparisons in ((3, 10), (5, 6), (10, 3)):
        found = series.equal(one, rounds)
        assert found is not None and (found.comparisons, found.rounds) == (comparisons, rounds)


def test_equal_sides_are_found_equal_and_a_tenth_is_found() -> None:
    one = made(400, 0.03)
    equal, slower = series.equal(one, 10), series.slower(one, 10)
    assert equal is not None and slower is not None
    assert equal.covered >= 0.85 and equal.false_verdicts <= 0.05
    assert slower.covered >= 0.85 and slower.verdicts["slower"] >= 0.9


def test_rounds_are_taken_until_the_usual_goal_and_what_is_cut_off_does_not_count() -> None:
    found = series.equal(made(100, 0.04), None)
    assert found is not None and 3 <= found.rounds <= 20 and found.half_width <= 0.06
    assert series.equal(made(4, 0.5), None) is None, "four such rounds are too few for any comparison to end"


def test_too_short_a_series_has_no_outcome() -> None:
    assert series.equal(made(2, 0.01), 3) is None
    assert tables.real_tables([made(2, 0.01)]).count("n/a") == 0


def run(folder: Path, names: tuple[str, ...], rounds: int = 6, alone: bool = False) -> Path:
    """A recorded run of these rivals."""
    whole = recorded.header()
    cells = tuple(dataclasses.replace(whole.cells[0], id=f"{n:016x}", framework=name) for n, name in enumerate(names))
    titles = {name: dataclasses.replace(whole.frameworks["pytorch"], title=name.title()) for name in names}
    with RunFile.create(folder / "run.jsonl", dataclasses.replace(whole, cells=cells, frameworks=titles)) as file:
        for number in range(rounds):
            for cell in cells:
                failed = number == 1 and cell.framework.endswith("slowed")
                blocks = () if failed else (Block(10, 1.0, 0.0),)
                status: Any = "crashed" if failed else "ok"
                file.append(
                    Round(cell=cell.id, round=number, position=0, status=status, blocks=blocks, conditions={}, alone=alone, reason="x")
                )
        file.append(End("complete"))
    return folder / "run.jsonl"


def test_a_run_of_copies_is_a_series_and_any_other_is_none(tmp_path: Path) -> None:
    (one,) = series.of(read(run(tmp_path / "a", ("pytorch", "pytorch-again", "pytorch-slowed"), alone=True)))
    assert (len(one.itself), len(one.again), len(one.slowed), one.turns) == (6, 6, 5, "one after the other")
    (two,) = series.of(read(run(tmp_path / "b", ("pytorch", "pytorch-again"))))
    assert (len(two.slowed), two.turns) == (0, "in turns")
    other = run(tmp_path / "c", ("pytorch", "tensorflow"))
    assert series.of(read(other)) == []
    with pytest.raises(UserError, match="holds no framework beside its copies"):
        calibration.summary([other])
    assert "one after the other" in calibration.summary([tmp_path / "a", tmp_path / "b"])


def test_what_is_asked_for_names_the_copies() -> None:
    asked = series.request("tensorflow", "cpu", 12, alone=False)
    names = [registry.framework(reference).name for reference in asked.frameworks]
    assert names == ["tensorflow", "tensorflow-again", "tensorflow-slowed"]
    assert (asked.rounds, asked.checks, asked.modes) == (12, False, ("train",))


def test_the_slowed_copy_does_a_tenth_more(monkeypatch: pytest.MonkeyPatch) -> None:
    class Counting:
        steps = 0

        def build(self, job: Any) -> Any:
            return self

        def step(self) -> None:
            self.steps += 1

    counting = Counting()
    monkeypatch.setattr(registry, "adapter", lambda name: counting)
    session: Any = copied.pytorch_slowed().build(None)  # type: ignore[arg-type]
    for _ in range(200):
        session.step()
    assert counting.steps == 220
    assert copied.pytorch_again().build(None) is counting  # type: ignore[arg-type, comparison-overlap]
