"""The figures of ``reports/calibration.md`` as markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from runner import effort
from runner.calibration import series, simulated
from runner.calibration.outcome import Outcome
from runner.calibration.series import Series
from runner.calibration.simulated import KINDS, Kind
from runner.grid import grid


def real_tables(found: Sequence[Series]) -> str:
    """What intervals, verdicts, added rounds and turns came to on real processes."""
    turns = [one for one in found if not one.alone]
    parts = []
    if turns:
        headers = ["framework", "device", "rounds", "comparisons", "hold the truth", "false verdicts", "half width, median"]
        parts += ["### A/A, real processes", _grid(headers, [row for row, _ in _outcomes(turns, series.equal, (3, 5, 10, None))], 3)]
        judged = list(_outcomes(turns, series.slower, (5, 10, None)))
        if judged:
            headers[5] = "called slower"
            rows = [[*row[:5], f"{outcome.verdicts['slower']:.0%}", row[6]] for row, outcome in judged]
            parts += ["### A tenth more work, real processes", _grid(headers, rows, 3)]
    headers = ["framework", "device", "measured", "rounds", "deviation of a round's ratio"]
    rows = [
        [one.title, one.device, one.turns, str(len(one.itself)), "n/a" if (sd := series.ratio_deviation(one)) is None else f"{sd:.1%}"]
        for one in found
    ]
    parts += ["### A/A: turns against one after the other", _grid(headers, rows, 3)]
    return "\n\n".join(parts) + "\n"


def _outcomes(
    found: Sequence[Series], judge: Callable[[Series, int | None], Outcome | None], sizes: Sequence[int | None]
) -> Iterable[tuple[list[str], Outcome]]:
    """A row for each series and number of rounds; None stands for the usual goal."""
    for one in found:
        for rounds in sizes:
            outcome = judge(one, rounds)
            if outcome is not None:
                shares = (f"{outcome.covered:.0%}", f"{outcome.false_verdicts:.0%}", f"{outcome.half_width:.1%}")
                counted = str(rounds) if rounds else f"until within {effort.PRECISION_GOAL:.0%} ({outcome.rounds:.1f})"
                yield [one.title, one.device, counted, str(outcome.comparisons), *shares], outcome


def simulated_tables(comparisons: int = 2000, seed: int = 20261130) -> str:
    """The figures of ``reports/calibration.md`` as markdown: what intervals, verdicts and added rounds are worth on each kind of noise."""
    sizes = (3, 4, 5, 6, 8, 10, 15)
    equal = {(kind, rounds): simulated.simulate(kind, comparisons, rounds, 10, 1.0, seed) for kind in KINDS for rounds in sizes}
    apart = {(kind, rounds): simulated.simulate(kind, comparisons, rounds, 10, 1.1, seed + 1) for kind in KINDS for rounds in sizes}
    added = {kind: simulated.simulate(kind, comparisons, effort.MAXIMUM_ROUNDS, 10, 1.0, seed + 2, effort.PRECISION_GOAL) for kind in KINDS}

    def by_rounds(text: Callable[[Kind, int], str]) -> str:
        headers = ["noise", *(f"{rounds} rounds" for rounds in sizes)]
        return _grid(headers, [[kind.replace("_", " "), *(text(kind, rounds) for rounds in sizes)] for kind in KINDS])

    parts = [
        "### A/A: intervals that hold 1.00",
        by_rounds(lambda kind, rounds: f"{equal[kind, rounds].covered:.1%}"),
        "### A/A: verdicts that find a difference",
        by_rounds(lambda kind, rounds: f"{equal[kind, rounds].false_verdicts:.1%}"),
        "### A/A: half the width of the interval, median",
        by_rounds(lambda kind, rounds: f"{equal[kind, rounds].half_width:.1%}"),
        "### 10 % faster: called faster",
        by_rounds(lambda kind, rounds: f"{apart[kind, rounds].verdicts['faster']:.0%}"),
        f"### A/A: rounds added until within {effort.PRECISION_GOAL:.0%}, at most {effort.MAXIMUM_ROUNDS}",
        _grid(
            ["noise", "rounds, mean", "intervals that hold 1.00", "false verdicts", "half width, median"],
            [
                [kind.replace("_", " "), f"{o.rounds:.1f}", f"{o.covered:.1%}", f"{o.false_verdicts:.1%}", f"{o.half_width:.1%}"]
                for kind, o in added.items()
            ],
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _grid(headers: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    return grid(headers, rows, ["left"] * left + ["right"] * (len(headers) - left))
