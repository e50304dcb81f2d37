"""What can be run, as text: workloads, frameworks, suites, eras. Works with no framework installed."""

from __future__ import annotations

from runner.grid import table
from runner.spec import catalog


def listing(what: str, format: str) -> str:
    """The list of ``workloads``, ``frameworks``, ``suites`` or ``eras`` in one of the table formats."""
    makers = {"workloads": _workloads, "frameworks": _frameworks, "suites": _suites, "eras": _eras}
    return table(makers[what](), format)


def _workloads() -> list[dict[str, str]]:
    found = catalog.summaries(catalog.all_workloads())
    return [{"workload": summary.name, "field": summary.folder, "title": summary.title} for summary in found]


def _suites() -> list[dict[str, str]]:
    return [{"suite": summary.name, "title": summary.title} for summary in catalog.summaries(catalog.all_suites())]


def _eras() -> list[dict[str, str]]:
    """What each era pins, on the platform at hand where eras have it and otherwise on the first that they have."""
    from frameworks import registry
    from runner.spec.era import PLATFORMS, load_era, this_platform

    platform = this_platform() or next(iter(PLATFORMS))
    rows = []
    for path in catalog.all_eras():
        era = load_era(path)
        pinned = {
            registry.framework(name).title: ", ".join(f"{package} {version}" for package, version in era.versions(name, platform).items())
            for name in registry.BUILT_IN
        }
        rows.append({"era": era.name, "title": era.title, "Python": era.python, **pinned})
    return rows


def _frameworks() -> list[dict[str, str]]:
    """Whether a package is there is asked of the import system only: nothing is imported."""
    import importlib.util

    from frameworks import registry

    rows = []
    for name in registry.names():
        facts = registry.framework(name)
        here = importlib.util.find_spec(facts.package) is not None
        rows.append(
            {
                "framework": name,
                "installed": "yes" if here else f"no: {facts.install}",
                "devices": " ".join(facts.devices),
                "executions": " ".join(facts.executions),
                "precisions": " ".join(facts.precisions),
            }
        )
    return rows
