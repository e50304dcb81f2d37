"""The suite lets a right adapter through and catches each wrong one; and it reads the language as the runner does."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy
import pytest
import yaml

from frameworks import registry
from frameworks.conformance import Case, Finding, cases, check_case, run
from frameworks.contract import Computation, Node, Unsupported
from frameworks.reference import elementwise, layers, network, normalization, optimizers, sequences, windows
from runner.spec.workload import load_workload
from tests.fakes.reference_adapter.adapter import Mutation, ReferenceAdapter, ReferenceSession

FAKE = str(Path(__file__).parents[1] / "fakes" / "reference_adapter")


def test_every_case_means_what_the_runner_reads(tmp_path: Path) -> None:
    for number, case in enumerate(cases()):
        path = tmp_path / f"case_{number}.yaml"
        said = {key: value for key, value in case.workload.items() if value is not None}
        path.write_text(yaml.safe_dump({"name": f"case_{number}", **said}, sort_keys=False))
        resolved = load_workload(path).resolve()
        assert dataclasses.replace(resolved, network=uncounted(resolved.network)) == case.computation, case.name


def uncounted(node: Node) -> Node:
    """Without operations, which no adapter reads."""
    return dataclasses.replace(node, operations=0, children=tuple(map(uncounted, node.children)))


def test_every_layer_loss_and_optimizer_has_a_case() -> None:
    asked = {node.kind for case in cases() for _, node in case.computation.network.walk()}
    assert set(layers.LAYERS) | set(layers.OPERATORS) | {"residual", "branches", "input"} <= asked
    names = [case.name for case in cases()]
    assert len(names) == len(set(names))


def test_the_reference_passes() -> None:
    found: list[dict[str, Any]] = []
    run(registry.adapter(FAKE), "cpu", "float64", "eager", found.append)
    assert [finding for finding in found if not finding["ok"]] == []
    assert {finding["case"] for finding in found} == {case.name for case in cases()}
    json.dumps(found, allow_nan=False)


def test_unsupported_is_no_failure() -> None:
    found: list[dict[str, Any]] = []
    run(ReferenceAdapter(), "cpu", "bfloat16", "eager", found.append)
    assert {(finding["ok"], finding["status"], finding["reason"]) for finding in found} == {
        (True, "unsupported", "the reference has no bfloat16")
    }


# --- adapters with one detail wrong ----------------------------------------------------------------------------------


def nodes(change: Callable[[Node], Node]) -> Mutation:
    """Change every node of the network."""

    def changed(node: Node) -> Node:
        return change(dataclasses.replace(node, children=tuple(map(changed, node.children))))

    return Mutation(lambda computation: dataclasses.replace(computation, network=changed(computation.network)))


def attribute(kind: str, **values: Callable[[Any], Any]) -> Mutation:
    def change(node: Node) -> Node:
        if node.kind != kind:
            return node
        return dataclasses.replace(node, attributes={**node.attributes, **{key: new(node.attributes[key]) for key, new in values.items()}})

    return nodes(change)


def optimizer(**values: Callable[[Any], Any]) -> Mutation:
    def change(computation: Computation) -> Computation:
        settings = {**computation.optimizer, **{key: new(computation.optimizer[key]) for key, new in values.items()}}
        return dataclasses.replace(computation, optimizer=settings)

    return Mutation(change)


def merge(node: Node) -> Node:
    return dataclasses.replace(node, attributes={"merge": "concat"}, children=node.children[::-1]) if node.kind == "branches" else node


def unbiased_layer(layer: layers.Layer) -> layers.Layer:
    return lambda x, said, own, training: layer(x, said, {name: value for name, value in own.items() if name != "bias"}, training)


def peeking(x: Any, said: Mapping[str, Any], own: Mapping[str, Any], training: bool) -> Any:
    """Attention that sees one position too many."""
    ahead = numpy.concatenate([x, x[:, -1:]], axis=1) if said["causal"] else x
    shifted = {**said, "causal": False}
    if not said["causal"]:
        return sequences.attention(x, said, own, training)
    seen = [sequences.attention(ahead[:, : end + 2], shifted, own, training)[:, end] for end in range(x.shape[1])]
    return numpy.stack(seen, axis=1)


def unscaled(x: Any, said: Mapping[str, Any], own: Mapping[str, Any], training: bool) -> Any:
    root = said["head_units"] ** 0.5
    grown = {name: value * root if name.startswith("query") else value for name, value in own.items()}
    return sequences.attention(x, said, grown, training)


def channels_first_flatten(x: Any, said: Mapping[str, Any], own: Mapping[str, Any], training: bool) -> Any:
    return numpy.moveaxis(x, -1, 1).reshape(len(x), -1)


def gates(suffix: str, order: list[int]) -> Callable[[str, numpy.ndarray], numpy.ndarray]:
    def load(name: str, value: numpy.ndarray) -> numpy.ndarray:
        if not name.startswith(suffix):
            return value
        parts = numpy.split(value, len(order), axis=-1)
        return numpy.concatenate([parts[place] for place in order], axis=-1)

    return load


def zero_wins(x: Any, said: Mapping[str, Any], own: Mapping[str, Any], training: bool) -> Any:
    return windows.max_pool2d(numpy.pad(x, [(0, 0), *said["padding"], (0, 0)]), {**said, "padding": [[0, 0], [0, 0]]}, own, training)


def pairs_of_neighbours(x: numpy.ndarray, base: float) -> numpy.ndarray:
    order = [*range(0, x.shape[-1], 2), *range(1, x.shape[-1], 2)]
    back = numpy.argsort(order)
    return ROTATE(x[..., order], base)[..., back]


ROTATE = sequences.rotate


def stale_step(session: ReferenceSession) -> None:
    """A step that takes the first batch every time."""
    ReferenceSession.step(session)
    session.steps = 0


def same_mask(session: ReferenceSession, shape: tuple[int, ...], rate: float) -> numpy.ndarray:
    return (numpy.random.RandomState(0).random_sample(shape) >= rate) / (1 - rate)


def unscaled_mask(session: ReferenceSession, shape: tuple[int, ...], rate: float) -> numpy.ndarray:
    return (numpy.random.RandomState(session.steps).random_sample(shape) >= rate) * 1.0


def whole_rows(session: ReferenceSession, shape: tuple[int, ...], rate: float) -> numpy.ndarray:
    kept = numpy.random.RandomState(session.steps).random_sample((shape[0], *[1] * (len(shape) - 1))) >= rate
    return numpy.broadcast_to(kept / (1 - rate), shape)


def no_refusal(session: ReferenceSession, parameters: Mapping[str, numpy.ndarray]) -> None:
    shapes = {name: parameter.shape for name, parameter in session.computation.network.all_parameters()}
    known = {name: value for name, value in parameters.items() if shapes.get(name) == value.shape}
    ReferenceSession.load(session, known)


def forgetful_load(session: ReferenceSession, parameters: Mapping[str, numpy.ndarray]) -> None:
    if not session.values:
        ReferenceSession.load(session, parameters)


def not_a_number(session: ReferenceSession) -> numpy.ndarray:
    return session.last_outputs * numpy.nan


def advancing_gradients(session: ReferenceSession) -> dict[str, numpy.ndarray]:
    found = ReferenceSession.gradients(session)
    session.steps += 1
    return found


def training_gradients(session: ReferenceSession) -> dict[str, numpy.ndarray]:
    found = ReferenceSession.gradients(session)
    session.values = {name: value * 0.999 for name, value in session.values.items()}
    return found


def no_statistics(session: ReferenceSession, batch: Any) -> None:
    running = {name: value for name, value in session.values.items() if name.endswith((".mean", ".variance"))}
    ReferenceSession.update(session, batch)
    session.values.update(running)


def body_alone(node: Node) -> Node:
    return dataclasses.replace(node, kind="sequence") if node.kind == "residual" else node


def softmax_over_positions(x: Any, said: Mapping[str, Any], own: Mapping[str, Any], training: bool) -> Any:
    return numpy.moveaxis(elementwise.softmax_of(numpy.moveaxis(x, 1, -1)), -1, 1)


def epsilon_outside_the_root(x: Any, said: Mapping[str, Any], own: Mapping[str, Any], training: bool) -> Any:
    centred = x - x.mean(axis=-1, keepdims=True)
    deviation = numpy.sqrt((centred * centred).mean(axis=-1, keepdims=True))
    return own["scale"] * centred / (deviation + said["eps"]) + own["offset"]


def unbiased_variance(x: Any, said: Mapping[str, Any], own: Mapping[str, Any], training: bool) -> Any:
    """Batch normalisation that trains by the variance with Bessel's correction."""
    if not training:
        return normalization.batch_norm(x, said, own, training)
    mean, variance = normalization.channel_statistics(x)
    count = x.size // x.shape[-1]
    return normalization.batch_norm(x, said, {**own, "mean": mean, "variance": variance * count / (count - 1)}, False)


def dropped_in_inference(x: Any, said: Mapping[str, Any], own: Mapping[str, Any], training: bool) -> Any:
    return x if training else x * (numpy.random.RandomState(0).random_sample(x.shape) >= said["rate"])


def skipped_update(session: ReferenceSession, batch: Any) -> None:
    """The second step leaves the update out."""
    if session.steps != 1:
        ReferenceSession.update(session, batch)


def accumulated(session: ReferenceSession, batch: Any) -> None:
    """An update by the sum of all gradients so far, as when nobody clears them."""
    slopes = network.gradients(session.computation, session.values, batch, to_inputs=False)
    kept = getattr(session, "kept", {})
    session.kept = {name: slope + kept.get(name, 0.0) for name, slope in slopes.items()}  # type: ignore[attr-defined]
    session.values, session.state = optimizers.update(
        session.computation.optimizer, session.values, session.kept, session.state, deviating=False
    )


def half_outputs(session: ReferenceSession) -> numpy.ndarray:
    return session.last_outputs.astype(numpy.float16).astype(numpy.float64)


def half_loss(session: ReferenceSession) -> float:
    return float(numpy.float16(session.last_loss))


# Mutation, and the layer (a prefix of case names) whose cases must catch it.
MUTANTS: dict[str, tuple[Mutation, str]] = {
    "batch_norm eps": (attribute("batch_norm", eps=lambda eps: 1e-3), "batch_norm"),
    "batch_norm keep turned round": (attribute("batch_norm", keep=lambda keep: 1 - keep), "batch_norm"),
    "batch_norm statistics never updated": (Mutation(session={"update": no_statistics}), "batch_norm"),
    "layer_norm eps": (attribute("layer_norm", eps=lambda eps: eps * 10), "layer_norm"),
    "rms_norm eps": (attribute("rms_norm", eps=lambda eps: 0.0), "rms_norm"),
    "group_norm over one group": (attribute("group_norm", groups=lambda groups: 1), "group_norm"),
    "padding at the other side": (attribute("conv2d", padding=lambda sides: [side[::-1] for side in sides]), "conv2d"),
    "padding of conv1d by one": (attribute("conv1d", padding=lambda sides: sides[::-1]), "conv1d"),
    "padding of depthwise": (attribute("depthwise_conv2d", padding=lambda sides: [side[::-1] for side in sides]), "depthwise_conv2d"),
    "conv2d_transpose padding": (attribute("conv2d_transpose", padding=lambda sides: [side[::-1] for side in sides]), "conv2d_transpose"),
    "dropped bias of dense": (Mutation(layers={"dense": unbiased_layer(layers.dense)}), "dense"),
    "dropped bias of conv2d": (Mutation(layers={"conv2d": unbiased_layer(windows.conv2d)}), "conv2d"),
    "max_pool2d lets padding win": (Mutation(layers={"max_pool2d": zero_wins}), "max_pool2d/padding"),
    "avg_pool2d counts padding": (attribute("avg_pool2d", count_padding=lambda count: not count), "avg_pool2d"),
    "upsample2d nearest": (attribute("upsample2d", method=lambda method: "nearest"), "upsample2d"),
    "gelu form": (attribute("gelu", form=lambda form: "tanh" if form == "erf" else "erf"), "gelu"),
    "leaky_relu slope": (attribute("leaky_relu", slope=lambda slope: 0.01), "leaky_relu"),
    "relu6 without its ceiling": (Mutation(layers={"relu6": elementwise.relu}), "relu6"),
    "silu for hard_swish": (Mutation(layers={"hard_swish": elementwise.silu}), "hard_swish"),
    "causal off by one": (Mutation(layers={"attention": peeking}), "attention"),
    "attention without its scale": (Mutation(layers={"attention": unscaled}), "attention"),
    "kv heads interleaved": (
        Mutation(load=lambda name, value: value[..., ::-1] if name.startswith("attention_1.key") else value),
        "attention/heads 4 kv_heads 2",
    ),
    "rotary base": (attribute("attention", rotary=lambda base: base and base * 2), "attention"),
    "flatten order": (Mutation(layers={"flatten": channels_first_flatten}), "flatten"),
    "transpose that only reshapes": (
        Mutation(layers={"transpose": lambda x, said, own, training: x.reshape(len(x), x.shape[2], x.shape[1])}),
        "transpose",
    ),
    "dropped bias of unembedding": (Mutation(layers={"unembedding": unbiased_layer(sequences.unembedding)}), "unembedding/bias"),
    "argmax of the smallest": (Mutation(layers={"argmax": lambda x, said, own, training: (-x).argmax(said["axis"] + 1)}), "argmax"),
    "sort in descending order": (Mutation(layers={"sort": lambda x, said, own, training: -layers.sort(-x, said, own, training)}), "sort"),
    "concat along another axis": (attribute("concat", axis=lambda axis: 1 - axis), "concat/axis 0, equal"),
    "gate order of lstm": (Mutation(load=gates("lstm", [0, 1, 3, 2])), "lstm"),
    "gate order of gru": (Mutation(load=gates("gru", [1, 0, 2])), "gru"),
    "merge of branches": (nodes(merge), "branches/concat"),
    "residual without its addition": (nodes(body_alone), "residual/identity"),
    "momentum": (optimizer(momentum=lambda momentum: momentum and 0.85), "sgd/"),
    "nesterov": (optimizer(nesterov=lambda nesterov: not nesterov), "sgd/"),
    "decoupled decay of sgd": (Mutation(deviating=True), "sgd/"),
    "adam eps": (optimizer(eps=lambda eps: 1e-7), "adam/tiny"),
    "adam epsilon before the correction, not declared": (Mutation(deviating=True), "adam/"),
    "adamw decay": (optimizer(weight_decay=lambda decay: 0.0), "adamw/"),
    "adamw beta2": (optimizer(beta2=lambda beta: beta - 0.005), "adamw/"),
    "the same batch every step": (Mutation(session={"step": stale_step}), "dense/vector"),
    "the same mask every step": (Mutation(session={"mask": same_mask}), "dropout/training"),
    "dropout without its scale": (Mutation(session={"mask": unscaled_mask}), "dropout/training"),
    "dropout of whole rows": (Mutation(session={"mask": whole_rows}), "dropout/training"),
    "the same mask in attention": (Mutation(session={"mask": same_mask}), "attention/dropout"),
    "load that does nothing": (Mutation(session={"load": forgetful_load}), "dense/vector"),
    "load that refuses nothing": (Mutation(session={"load": no_refusal}), "session"),
    "softmax over another axis": (Mutation(layers={"softmax": softmax_over_positions}), "softmax/"),
    "epsilon outside the root": (Mutation(layers={"layer_norm": epsilon_outside_the_root}), "layer_norm"),
    "unbiased variance in training": (Mutation(layers={"batch_norm": unbiased_variance}), "batch_norm"),
    "dropout left on in inference": (Mutation(layers={"dropout": dropped_in_inference}), "dropout"),
    "a skipped update": (Mutation(session={"update": skipped_update}), "dense/vector"),
    "gradients accumulated": (Mutation(session={"update": accumulated}), "dense/vector"),
    "half precision claimed as single": (Mutation(session={"outputs": half_outputs}), "dense/vector"),
    "a loss in half precision": (Mutation(session={"loss": half_loss}), "dense/vector"),
    "outputs that are no numbers": (Mutation(session={"outputs": not_a_number}), "dense/vector"),
    "gradients that advance the batch": (Mutation(session={"gradients": advancing_gradients}), "dense/vector"),
    "gradients that change parameters": (Mutation(session={"gradients": training_gradients}), "dense/vector"),
}  # fmt: skip


def judged(adapter: ReferenceAdapter, prefix: str, precision: str = "float32") -> list[Finding]:
    chosen: list[Case] = [case for case in cases() if case.name.startswith(prefix)]
    assert chosen
    return [finding for case in chosen for finding in check_case(adapter, case, "cpu", precision, "eager")]


@pytest.mark.parametrize("prefix", sorted({prefix for _, prefix in MUTANTS.values()}))
def test_a_right_adapter_passes_where_wrong_ones_are_sought(prefix: str) -> None:
    assert all(finding.ok for finding in judged(ReferenceAdapter(), prefix))


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_adapter_is_caught(name: str) -> None:
    mutation, prefix = MUTANTS[name]
    found = judged(ReferenceAdapter(mutation), prefix)
    wrong = [finding for finding in found if not finding.ok]
    assert wrong and {finding.status for finding in wrong} <= {"wrong_result", "nan"}
    assert all(finding.case.startswith(prefix) and finding.what for finding in wrong), "each names the place"


def test_rotation_of_neighbours_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def attention(x: Any, said: Mapping[str, Any], own: Mapping[str, Any], training: bool) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(sequences, "rotate", pairs_of_neighbours)
            return sequences.attention(x, said, own, training)

    assert not all(finding.ok for finding in judged(ReferenceAdapter(Mutation(layers={"attention": attention})), "attention"))


def test_a_declared_deviation_is_held_to_what_it_declares() -> None:
    sentence = "Adam adds epsilon before the bias is corrected"
    honest = Mutation(deviating=True, deviations=(sentence,))
    found = judged(ReferenceAdapter(honest), "adam/")
    assert all(finding.ok for finding in found)
    assert f"as declared: {sentence}" in {finding.reason for finding in found}
    worse = dataclasses.replace(optimizer(beta1=lambda beta: 0.85), deviating=True, deviations=(sentence,))
    assert not all(finding.ok for finding in judged(ReferenceAdapter(worse), "adam/"))


def test_what_is_raised_becomes_a_finding() -> None:
    def broken(session: ReferenceSession) -> None:
        raise ZeroDivisionError("by nothing")

    def refusing(session: ReferenceSession) -> None:
        raise Unsupported("no such kernel")

    (first, second) = judged(ReferenceAdapter(Mutation(session={"step": broken})), "dense/vector")[::8][:2]
    assert (first.ok, first.status, first.reason) == (False, "crashed", "ZeroDivisionError: by nothing")
    assert second.ok
    found = judged(ReferenceAdapter(Mutation(session={"step": refusing})), "dense/vector")
    assert all(finding.ok for finding in found)
    assert ("unsupported", "no such kernel") in {(finding.status, finding.reason) for finding in found}
