"""Judge an adapter: build a session for each case, and hold what it computes against the reference."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from frameworks.conformance import expected
from frameworks.conformance.case import Case
from frameworks.conformance.cases import cases
from frameworks.conformance.expected import largest
from frameworks.conformance.tolerances import FLOAT32_INSIDE, NARROW, TOLERANCES, Tolerance
from frameworks.contract import Adapter, CellFailure, Job, Session, Status
from frameworks.reference.elementwise import Array
from frameworks.reference.optimizers import DEVIATIONS


@dataclass(frozen=True)
class Finding:
    """One comparison. ``error`` is relative, None where there is no finite number; ``ok`` includes what is honestly unsupported."""

    case: str
    layer: str
    what: str
    error: float | None
    tolerance: float | None
    ok: bool
    status: Status
    reason: str = ""


def run(
    adapter: Adapter, device: str, precision: str, execution: str, emit: Callable[[dict[str, Any]], None], *, brief: bool = False
) -> None:
    """Check every case that fits the precision, with ``brief`` the first of each layer, and emit each finding as strict JSON as soon as it
    is known."""
    seen: set[str] = set()
    for case in cases():
        if (case.wide_only and precision in NARROW) or (brief and case.layer in seen):
            continue
        seen.add(case.layer)
        for finding in check_case(adapter, case, device, precision, execution):
            emit(dataclasses.asdict(finding))


def check_case(adapter: Adapter, case: Case, device: str, precision: str, execution: str) -> list[Finding]:
    """All findings about one case. What an adapter raises becomes a finding too; only an interrupt comes through."""
    found: list[Finding] = []
    judge = _Judge(case, TOLERANCES[precision])
    for mode, check in _checks(case):
        random = mode == "infer" or case.check in ("dropout", "fresh")
        count = 1 if mode == "train" and random else expected.STEPS
        job = Job("conformance", case.computation, mode, device, precision, execution, seed=expected.SEED, batches=count, dropout=random)
        try:
            with contextlib.closing(adapter.build(job)) as session:
                found.extend(check(judge.aware(session), session))
        except Exception as error:
            found.append(judge.raised(mode, _meaning(adapter, error)))
    return found


def _meaning(adapter: Adapter, error: Exception) -> CellFailure:
    if isinstance(error, CellFailure):
        return error
    known = adapter.failure(error)
    return known if known is not None else CellFailure("crashed", f"{type(error).__name__}: {error}")


def _checks(case: Case) -> Iterator[tuple[Any, Callable[[_Judge, Session], Iterator[Finding]]]]:
    if case.check == "values":
        yield "infer", _inference
        if case.computation.loss is not None:
            yield "train", _training
    elif case.check == "contract":
        yield "infer", _contract
    else:
        yield "train", _dropout if case.check == "dropout" else _fresh_masks


# --- the comparisons -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Judge:
    """Makes the findings of one case."""

    case: Case
    tolerance: Tolerance

    def aware(self, session: Session) -> _Judge:
        """With the tolerance for what the session declares."""
        inside = _sentences(session, "float32")
        return _Judge(self.case, FLOAT32_INSIDE) if inside and self.tolerance is TOLERANCES["float64"] else self

    def near(self, what: str, actual: Any, wanted: Any, tolerance: float, scale: float | None = None, reason: str = "") -> Finding:
        """Compare arrays or numbers; ``scale`` replaces the largest wanted value when it is larger."""
        actual, wanted = numpy.asarray(actual), numpy.asarray(wanted)
        if actual.shape != wanted.shape:
            return self.verdict(what, False, f"its shape is {actual.shape} instead of {wanted.shape}")
        error = largest(actual - wanted) / max(largest(wanted), scale or 0.0, 1e-30)
        if not math.isfinite(error):
            return Finding(self.case.name, self.case.layer, what, None, tolerance, False, "nan", "it is not finite")
        ok = error <= tolerance
        return Finding(self.case.name, self.case.layer, what, error, tolerance, ok, "ok" if ok else "wrong_result", reason)

    def verdict(self, what: str, ok: bool, reason: str) -> Finding:
        """A finding without a number; the reason is told when it is not ok."""
        ok = bool(ok)  # NumPy's own booleans are no JSON
        status: Status = "ok" if ok else "wrong_result"
        return Finding(self.case.name, self.case.layer, what, None, None, ok, status, "" if ok else reason)

    def raised(self, mode: str, failure: CellFailure) -> Finding:
        """What an exception says."""
        ok = failure.status == "unsupported"
        return Finding(self.case.name, self.case.layer, mode, None, None, ok, failure.status, failure.reason)

    def names(self, what: str, actual: Mapping[str, Any], wanted: Mapping[str, Any]) -> Finding:
        """The same names on both sides."""
        missing, extra = sorted(set(wanted) - set(actual)), sorted(set(actual) - set(wanted))
        return self.verdict(f"names of {what}", not missing and not extra, f"missing: {missing}; not wanted: {extra}")


def _inference(judge: _Judge, session: Session) -> Iterator[Finding]:
    case = judge.case
    session.load(expected.weights(case))
    for index in (0, 1):
        session.step()
        session.wait()
        yield judge.near(f"outputs of batch {index + 1}", session.outputs(), expected.outputs(case, index), judge.tolerance.values)
        if case.computation.loss is not None:
            yield judge.near(f"loss in inference of batch {index + 1}", session.loss(), expected.loss(case, index), judge.tolerance.values)


def _training(judge: _Judge, session: Session) -> Iterator[Finding]:
    case = judge.case
    weights = expected.weights(case)
    session.load(weights)
    loaded = session.parameters()
    yield judge.names("parameters", loaded, weights)
    for name, value in weights.items():
        if name in loaded:
            yield judge.near(f"{name} as loaded", loaded[name], value, judge.tolerance.values)

    skips = _sentences(session, "skips")
    gradients, wanted = session.gradients(), expected.gradients(case)
    yield judge.names("gradients", gradients, wanted)
    floor = judge.tolerance.share * max(map(largest, wanted.values()))
    for name, value in wanted.items():
        if name in gradients:
            finding = judge.near(f"gradient of {name}", gradients[name], value, judge.tolerance.gradients, floor)
            if finding.status == "nan" and skips:  # such a step is skipped, and what is skipped is judged below
                finding = dataclasses.replace(finding, ok=True, status="ok", reason=f"as declared: {skips[0]}")
            yield finding
    after = session.parameters()
    changed = [name for name in loaded if not numpy.array_equal(loaded[name], after[name])]
    yield judge.verdict("parameters after gradients()", not changed, f"it changed {changed}")

    yield from _steps(judge, session, bool(skips))


def _sentences(session: Session, word: str) -> list[str]:
    """The deviations that the session declares with this word."""
    return [sentence for sentence in session.facts().get("deviations", ()) if word in sentence]


def _steps(judge: _Judge, session: Session, may_skip: bool) -> Iterator[Finding]:
    """By the formula of the language or, where the session declares it, by the deviating one and without the steps that it skipped."""
    losses: list[float] = []
    taken: list[bool] = []
    parameters = session.parameters()
    for _ in range(expected.STEPS):
        session.step()
        session.wait()
        losses.append(session.loss())
        before, parameters = parameters, session.parameters()
        taken.append(not may_skip or _moved(judge.case, before, parameters))
    found = list(_trained(judge, losses, parameters, expected.training(judge.case, tuple(taken), False), ""))
    word = DEVIATIONS.get(judge.case.computation.optimizer["kind"])
    declared = _sentences(session, word) if word is not None else []
    if declared and not all(finding.ok for finding in found):
        other = expected.training(judge.case, tuple(taken), True)
        deviating = list(_trained(judge, losses, parameters, other, f"as declared: {declared[0]}"))
        if all(finding.ok for finding in deviating):
            found = deviating
    yield from found


def _moved(case: Case, before: Mapping[str, Array], after: Mapping[str, Array]) -> bool:
    trained = {name for name, parameter in case.computation.network.all_parameters() if parameter.trainable}
    return any(not numpy.array_equal(before[name], after[name]) for name in trained & set(before))


def _trained(
    judge: _Judge, losses: Sequence[float], parameters: Mapping[str, Array], wanted: expected.Training, reason: str
) -> Iterator[Finding]:
    for number, (actual, loss) in enumerate(zip(losses, wanted.losses, strict=True), 1):
        tolerance = judge.tolerance.values if number == 1 else max(judge.tolerance.values, judge.tolerance.updates)
        yield judge.near(f"loss of step {number}", actual, loss, tolerance, reason=reason)
    start = expected.weights(judge.case)
    changes = {name: value - start[name] for name, value in wanted.parameters.items()}
    least = judge.tolerance.share * max(map(largest, changes.values()))
    for name, parameter in judge.case.computation.network.all_parameters():
        if name not in parameters:
            continue
        what = f"{name} after {expected.STEPS} steps"
        if parameter.trainable:
            scale = max(least, judge.tolerance.floor * largest(start[name]))
            yield judge.near(what, parameters[name] - start[name], changes[name], judge.tolerance.updates, scale, reason)
        else:
            both = [judge.near(what, parameters[name], choice[name], judge.tolerance.values) for choice in (wanted.biased, wanted.unbiased)]
            yield min(both, key=lambda finding: math.inf if finding.error is None else finding.error)


# --- what random masks and the contract allow no reference for -----------------------------------------------------------


def _dropout(judge: _Judge, session: Session) -> Iterator[Finding]:
    """The gradient to each input tells whether it was dropped, and by what the others were scaled."""
    case = judge.case
    session.load(expected.weights(case))
    rate = case.computation.network.children[0].attributes["rate"]
    (offset, slope) = expected.weights(case)["polynomial_1.coefficients"].astype(numpy.float64)
    batch = expected.given(case)[0]
    assert batch.target is not None
    x, t = batch.inputs["x"].astype(numpy.float64), batch.target.astype(numpy.float64)
    kept = 2 * slope / (1 - rate) * (offset + slope * x / (1 - rate) - t) / x.size
    gradient = session.gradients()["inputs/x"]
    dropped = numpy.abs(gradient) < numpy.abs(gradient - kept)
    yield judge.near("gradient of inputs/x", gradient, numpy.where(dropped, 0.0, kept), judge.tolerance.gradients)

    share, spread = float(dropped.mean()), math.sqrt(rate * (1 - rate) / x.size)
    yield judge.verdict("share of zeros", abs(share - rate) <= 5 * spread, f"it is {share:.4f} instead of {rate}")
    lines = [count for axis in (0, 1) for count in dropped.mean(axis=axis)]
    yield judge.verdict("each element alone", min(lines) > 0 and max(lines) < 1, "whole rows or columns have the same fate")

    costs = (offset - t) ** 2, (offset + slope * x / (1 - rate) - t) ** 2
    mean = float((rate * costs[0] + (1 - rate) * costs[1]).mean())
    deviation = math.sqrt(float((rate * (1 - rate) * (costs[1] - costs[0]) ** 2).sum())) / x.size
    losses = _repeat(session)
    allowed = 6 * deviation + judge.tolerance.values * mean
    off = max(abs(loss - mean) for loss in losses)
    yield judge.verdict("loss of a step", off <= allowed, f"losses {losses} are not around {mean:.6g} within {allowed:.2g}")
    yield _fresh(judge, losses)


def _fresh_masks(judge: _Judge, session: Session) -> Iterator[Finding]:
    session.load(expected.weights(judge.case))
    yield _fresh(judge, _repeat(session))


def _fresh(judge: _Judge, losses: Sequence[float]) -> Finding:
    spread = max(losses) - min(losses)
    return judge.verdict("a new mask every step", spread > 1e-4 * abs(losses[0]), f"the same batch gave the losses {losses}")


def _repeat(session: Session) -> list[float]:
    """Losses of steps on the same batch, with weights that do not move."""
    losses = []
    for _ in range(4):
        session.step()
        session.wait()
        losses.append(session.loss())
    return losses


def _contract(judge: _Judge, session: Session) -> Iterator[Finding]:
    """Batches come round again, and what cannot be loaded is refused."""
    weights = expected.weights(judge.case)
    session.load(weights)
    for _ in range(expected.STEPS + 1):
        session.step()
    session.wait()
    yield judge.near("outputs of the first batch again", session.outputs(), expected.outputs(judge.case, 0), judge.tolerance.values)
    name, value = next(iter(weights.items()))
    for wrong, refusal in (({"no.such.parameter": value}, KeyError), ({name: value[..., :-1]}, ValueError)):
        try:
            session.load(wrong)
        except refusal:
            accepted = ""
        except Exception as error:
            accepted = f"it raised {type(error).__name__} instead"
        else:
            accepted = "nothing was raised"
        yield judge.verdict(f"{refusal.__name__} on loading what does not fit", not accepted, accepted)
