"""What is asked of a cell once it was timed: whether its speed can be, and what precision it really had."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from frameworks.contract import CellFailure
from runner import precision
from runner.contestant import Contestant

SAVING = 4.0  # the most by which a step may beat a large product: Winograd's F(4x4, 3x3) needs a fourth of a convolution's multiplications
NEAR = 0.25  # the share of a processor's ceiling from which that product is measured; a GPU's ceiling says less, and there it costs little


class Proofs:
    """A question of precision is put once in a run for a framework, device, precision and execution; its answer holds for all their cells.

    ``ceiling`` gives the operations per second that a device cannot exceed; ``ask`` False leaves the questions to children out.
    """

    def __init__(self, ceiling: Callable[[str], float], ask: bool) -> None:
        self.ceiling, self.ask = ceiling, ask
        self._answers: dict[tuple[str, ...], Mapping[str, Any]] = {}

    def rate(self, contestant: Contestant) -> None:
        """Ask for the rate of a large product in each round: what this framework can do here, and whether it still can."""
        if self.ask:
            contestant.doing("a product for comparison")
            contestant.matmul_rate = self._ask(contestant, "rate", "rate").get("operations_per_second")

    def plausible(self, contestant: Contestant) -> None:
        """Refuse a speed that the device cannot have.

        Two bounds, and both must hold. The ceiling comes from outside, so that an adapter whose every time is wrong cannot raise it; but it
        must hold for every machine with such a chip, which makes it loose. The rate of a large product in the same framework and
        precision is close to what can be had; it finds work that is left out of this cell alone. A processor's decides only near the
        ceiling: its caches can make small work that much faster.
        """
        cell = contestant.cell
        operations = cell.operations_per_step
        fastest = max(block.steps * operations / block.seconds for block in contestant.blocks)
        bound, what = self.ceiling(cell.device), "this device can do"
        rate = contestant.matmul_rate
        if fastest <= bound and rate is not None and fastest > (NEAR * bound if cell.device == "cpu" else 0.0):
            bound, what = SAVING * rate, f"{cell.title} can do here, whose large products of matrices run at {rate / 1e12:,.2f} TFLOP/s"
        if fastest > bound:
            raise CellFailure(
                "suspect",
                f"{fastest / 1e12:,.2f} TFLOP/s is above what {what} (at most {bound / 1e12:,.2f}): not all was computed",
                "the adapter's step or wait leaves work out",
            )

    def precision(self, contestant: Contestant) -> None:
        """What precision the cell's operators really have."""
        cell = contestant.cell
        if not self.ask:
            return
        contestant.doing("precision")
        for operator in precision.operators(cell.case.computation):
            found = self._answer(contestant, operator, "precision")
            if found:
                contestant.measured_precision[operator] = found
        text = precision.note(cell.precision, contestant.measured_precision)
        if text is not None:
            contestant.note("precision", text)

    def _answer(self, contestant: Contestant, order: str, answer: str) -> Mapping[str, Any]:
        """What the child finds, once in a run for its framework, device, precision and execution."""
        cell = contestant.cell
        key = (cell.served, cell.device, cell.precision, cell.execution, order)
        if key not in self._answers:
            found = self._ask(contestant, order, answer)
            if not found:
                return {}
            self._answers[key] = found
        return self._answers[key]

    def _ask(self, contestant: Contestant, order: str, answer: str) -> Mapping[str, Any]:
        """What the child finds on an order after its cell was measured. Nothing where it is over meanwhile: its result is there, and how it
        ended is told with it."""
        assert contestant.child is not None
        try:
            contestant.child.order(order)
            return contestant.child.expect(answer).data
        except CellFailure as failure:
            if failure.status == "wrong_result":
                raise
            return {}
