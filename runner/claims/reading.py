"""From a file of published figures to a :class:`runner.claims.model.Source`, every fault with its place."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

import runner
from runner.claims import schema
from runner.claims.model import Claim, Machine, Source, Target
from runner.claims.units import UNITS
from runner.errors import UserError
from runner.spec import catalog
from runner.spec.loader import load
from runner.spec.problems import did_you_mean
from runner.spec.schema import M, check_keys, read
from runner.spec.tree import Collector, Tree, YamlList, YamlMap, described


def folder() -> Path:
    """The folder of the published figures that come along, in a checkout and when installed."""
    packaged = Path(runner.__file__).resolve().parent / "claims" / "published"
    return packaged if packaged.is_dir() else packaged.parents[2] / "reports" / "claims"


def load_all() -> tuple[Source, ...]:
    """Every source that comes along, in the order of their names. Raises :class:`runner.spec.problems.SpecError`."""
    files = catalog.yaml_files(folder())
    if not files:
        raise UserError(f"there are no published figures in {folder()}; install headtohead again")
    return tuple(load_source(path) for path in files)


def load_source(path: Path) -> Source:
    """The source of one file. Raises :class:`runner.spec.problems.SpecError`."""
    return read_source(load(path), path)


def read_source(tree: YamlMap, path: Path) -> Source:
    """The source of a tree that was read from ``path``. Raises :class:`runner.spec.problems.SpecError`."""
    problems = Collector(str(path))
    model = read(schema.SourceModel, tree, "a source", problems)
    machines = _machines(tree, problems)
    protocol = _read_map(schema.ProtocolModel, tree.values.get("protocol"), "`protocol`", problems)
    problems.check()
    assert model is not None and protocol is not None
    claims = _claims(tree.values["series"], model, machines, problems)
    used = {claim.machine.name for claim in claims} | {claim.against_machine.name for claim in claims if claim.against_machine}
    listed = tree.values["machines"]
    for name in machines:
        if name not in used and isinstance(listed, YamlMap) and not problems.problems:
            problems.add(listed.keys[name], f"no row is of the machine `{name}`", remedy="leave it out")
    problems.check()
    said = {name: getattr(model, name) for name in schema.SourceModel.model_fields if name != "series"}
    plain = {name: text for name, text in protocol.plain().items() if text}
    return Source(**{**said, "machines": machines, "protocol": plain, "claims": tuple(claims), "path": path})


def _read_map(model: type[M], tree: Tree | None, called: str, problems: Collector) -> M | None:
    if tree is None:
        return None
    if not isinstance(tree, YamlMap):
        problems.add(tree, f"{called} must be keys and values, got {described(tree)}")
        return None
    return read(model, tree, called, problems)


def _machines(tree: YamlMap, problems: Collector) -> dict[str, Machine]:
    listed = tree.values.get("machines")
    if listed is None:
        return {}
    if not isinstance(listed, YamlMap) or not listed.values:
        problems.add(listed, f"`machines` must name the machines of the rows, got {described(listed)}")
        return {}
    found = {}
    for name, facts in listed.values.items():
        model = _read_map(schema.MachineModel, facts, f"the machine `{name}`", problems)
        if model is not None:
            found[name] = Machine(name, **model.plain())
    return found


def _claims(listed: Tree, source: schema.SourceModel, machines: Mapping[str, Machine], problems: Collector) -> list[Claim]:
    if not isinstance(listed, YamlList) or not listed.items:
        problems.add(listed, f"`series` must be a list of series of rows, got {described(listed)}")
        return []
    claims: list[Claim] = []
    for series in listed.items:
        rows = series.values.get("rows") if isinstance(series, YamlMap) else None
        if not isinstance(series, YamlMap) or not isinstance(rows, YamlList) or not rows.items:
            problems.add(series, f"a series needs `rows`, a list; got {described(series)}")
            continue
        check_keys((*schema.ClaimModel.model_fields, "rows"), series, "a series", problems)
        shared = series.without("rows")
        for row in rows.items:
            if not isinstance(row, YamlMap):
                problems.add(row, f"a row must be keys and values, got {described(row)}", remedy="such as `{machine: m1, value: 12}`")
            elif (claim := _claim(_merged(shared, row), source, machines, len(claims) + 1, problems)) is not None:
                claims.append(claim)
    return claims


def _merged(series: YamlMap, row: YamlMap) -> YamlMap:
    """A row with what its series says; differences of both."""
    values = {**series.values, **row.values}
    above, own = series.values.get("differences"), row.values.get("differences")
    if isinstance(above, YamlMap) and isinstance(own, YamlMap):
        values["differences"] = YamlMap({**above.values, **own.values}, {**above.keys, **own.keys}, own.line, own.column)
    return YamlMap(values, {**series.keys, **row.keys}, row.line, row.column)


def _claim(row: YamlMap, source: schema.SourceModel, machines: Mapping[str, Machine], number: int, problems: Collector) -> Claim | None:
    before = len(problems.problems)
    model = read(schema.ClaimModel, row, "a row", problems)
    against = _read_map(schema.AgainstModel, row.values.get("against"), "`against`", problems)
    targets = _targets(row.values.get("best_of"), problems)
    if model is None:
        return None
    _check(model, against, targets, row, problems)
    machine = _machine(model.machine, row.values["machine"], machines, problems)
    other = None
    if against is not None and against.machine:
        other = _machine(against.machine, row.values["against"], machines, problems)
    if machine is None or len(problems.problems) > before:
        return None
    said = {name: getattr(model, name) for name in schema.ClaimModel.model_fields if name not in ("value", "bound", "against")}
    return Claim(
        **{
            **said,
            "source": source.name,
            "row": number,
            "machine": machine,
            "best_of": targets,
            "figure": None if model.value is None else schema.figure(model.value, model.bound == "at_least"),
            "against_device": against.device if against else "",
            "against_machine": other,
            "missing": model.missing or ("in a picture only" if model.basis == "picture" else ""),
            "differences": {**source.differences, **model.differences},
        }
    )


def _machine(name: str, at: Tree, machines: Mapping[str, Machine], problems: Collector) -> Machine | None:
    if name not in machines:
        problems.add(at, f"there is no machine `{name}` in `machines`", remedy=did_you_mean(name, machines))
    return machines.get(name)


def _targets(tree: Tree | None, problems: Collector) -> tuple[Target, ...]:
    if tree is None:
        return ()
    if not isinstance(tree, YamlList) or len(tree.items) < 2:
        problems.add(tree, f"`best_of` must be a list of two workloads or more, got {described(tree)}")
        return ()
    models = [(item, _read_map(schema.TargetModel, item, "a workload of `best_of`", problems)) for item in tree.items]
    for item, model in models:
        if model is not None and isinstance(item, YamlMap):
            _check_exists(model.workload, item.values["workload"], problems)
    return tuple(Target(model.workload, model.batch, model.parameters) for _, model in models if model is not None)


def _check(
    model: schema.ClaimModel, against: schema.AgainstModel | None, targets: tuple[Target, ...], row: YamlMap, problems: Collector
) -> None:
    """What one key allows of another."""
    at = row.values.get
    kind = UNITS[model.unit][0]
    if (model.value is None) != bool(model.missing or model.basis == "picture"):
        problems.add(at("value") or row, "a row has a `value`, or `missing` that says why there is none", remedy="or `basis: picture`")
    if model.basis in ("derived", "read_off", "secondhand") and not model.derived_from:
        problems.add(at("basis"), f"`basis: {model.basis}` needs `derived_from`", remedy="say from what, or whose words they are")
    if model.steps is not None and model.samples is not None:
        problems.add(at("samples"), "a time is that of `steps` or of `samples`, not of both")
    if kind != "time" and (model.steps or model.samples):
        problems.add(at("unit"), f"`steps` and `samples` belong to a time, and `{model.unit}` is none")
    if (kind == "ratio") != (against is not None and bool(against.device) != bool(against.machine)):
        what = "needs" if kind == "ratio" else "has no"
        problems.add(at("against") or at("unit"), f"a figure in `{model.unit}` {what} `against`", remedy="one `device` or `machine`")
    if targets and (model.workload or model.sweep):
        problems.add(at("best_of"), "`best_of` stands instead of `workload` and `sweep`")
    if model.sweep and not model.workload:
        problems.add(at("sweep"), "`sweep` needs `workload`")
    if model.workload:
        _check_exists(model.workload, row.values["workload"], problems)


def _check_exists(workload: str, at: Tree, problems: Collector) -> None:
    known = _library()
    if workload not in known:
        problems.add(at, f"there is no workload `{workload}`", remedy=did_you_mean(workload, known))


@functools.cache
def _library() -> frozenset[str]:
    return frozenset(path.stem for path in catalog.all_workloads())
