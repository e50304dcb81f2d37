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
    """Each question is put once in a run for a framework, device, precision and execution; its answer holds for all their cells.

    ``ceiling`` gives the operations per second that a device cannot exceed; ``ask`` False leaves the questions to children out.
    """

    def __init__(self, ceiling: Callable[[str], float], ask: bool) -> None:
        self.ceiling, self.ask = ceiling, ask
        self._answers: dict[tuple[str, ...], Mapping[str, Any]] = {}

    def plausible(self, contestant: Contestant) -> None:
        """Refuse a speed that the device cannot have.

        Two bounds, and both must hold. The ceiling comes from outside, so that an adapter whose every time is wrong cannot raise it; but it
        must hold for every machine with such a chip, which makes it loose. The rate of a large product in the same framework and
        precision is close to what can be had; it finds work that is left out of this cell alone. It is only asked for where it can decide.
        """
        cell = contestant.cell
        passes = 3 if cell.mode == "train" else 1  # a backward pass is two products for each of the forward pass
        operations = cell.case.computation.operations() * (cell.case.computation.batch or 1) * passes
        fastest = max(block.steps * operations / block.seconds for block in contestant.blocks)
        bound, what = self.ceiling(cell.device), "this device can do"
        if fastest <= bound and self.ask and fastest > (NEAR * bound if cell.device == "cpu" else 0.0):
            rate = self._answer(contestant, "rate", "rate").get("operations_per_second")
            if rate is not None:
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
        """What the child finds on an order after its cell was measured, once in a run for its framework, device, precision and execution.

        Nothing where the child is over meanwhile: its result is there, and how it ended is told with it.
        """
        cell = contestant.cell
        key = (cell.served, cell.device, cell.precision, cell.execution, order)
        if key not in self._answers:
            assert contestant.child is not None
            try:
                contestant.child.order(order)
                self._answers[key] = contestant.child.expect(answer).data
            except CellFailure as failure:
                if failure.status == "wrong_result":
                    raise
                return {}
        return self._answers[key]
