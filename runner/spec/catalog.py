"""Where workloads, suites and eras are found: the library that comes along, further folders, and plain paths. No schema is loaded here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import frameworks
import runner
from runner.spec.loader import head
from runner.spec.problems import Problem, SpecError, did_you_mean

SUITES = "suites"
_NOT_WORKLOADS = (SUITES, "golden")


@dataclass(frozen=True)
class Summary:
    """What a list shows of a file; ``folder`` is its field, such as ``vision``."""

    name: str
    title: str
    path: Path
    folder: str


def library() -> Path:
    """The folder of the workloads that come along, in a checkout and when installed."""
    return Path(runner.__file__).resolve().parent.parent / "workloads"


def all_workloads(folders: Iterable[Path] = ()) -> list[Path]:
    """The workload files of the library and of further folders, each folder's in the order of their paths."""
    return [path for folder in (library(), *folders) for path in yaml_files(Path(folder)) if not _is_apart(path, Path(folder))]


def all_suites() -> list[Path]:
    """The suite files of the library."""
    return sorted((library() / SUITES).glob("*.yaml"))


def eras_folder() -> Path:
    """The folder of the era files that come along, with their locks."""
    return Path(frameworks.__file__).resolve().parent / "eras"


def all_eras() -> list[Path]:
    """The era files that come along, in the order of time: by the day after which they take nothing, those without one last."""
    return sorted(eras_folder().glob("*.yaml"), key=lambda path: (head(path, ("until",)).get("until", "later"), path.stem))


def summaries(paths: Iterable[Path]) -> list[Summary]:
    """Name and title of each file, read without checking the rest; a file without a name goes by its own."""
    found = []
    for path in paths:
        said = head(path, ("name", "title"))
        name = said.get("name", path.stem)
        found.append(Summary(name, said.get("title", name), path, path.parent.name))
    return found


def find(name: Path | str, folders: Iterable[Path] = (), *, beside: Path | None = None) -> Path:
    """The file of a workload: a path, or a name in the library or in ``folders``. Raises :class:`SpecError`.

    A relative path counts from the working directory, or from the folder of the file ``beside`` that names it.
    """
    if beside is not None and is_path(name):
        return beside.parent / name
    return _find(name, all_workloads(folders), "workload")


def find_suite(name: Path | str) -> Path:
    """The file of a suite: a path, or a name in the library. Raises :class:`SpecError`."""
    return _find(name, all_suites(), "suite")


def find_era(name: Path | str) -> Path:
    """The file of an era: a path, or a name among those that come along. Raises :class:`SpecError`."""
    return _find(name, all_eras(), "era")


def is_path(name: Path | str) -> bool:
    """Whether a reference names a file, not an entry of the library."""
    text = str(name)
    return isinstance(name, Path) or "/" in text or "\\" in text or text.endswith((".yaml", ".yml"))


def _find(name: Path | str, files: list[Path], kind: str) -> Path:
    if is_path(name):
        return Path(name)
    candidates = [path for path in files if path.stem == name] or [path for path in files if head(path, ("name",)).get("name") == name]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        raise SpecError([Problem(str(name), 0, 0, f"several {kind}s are called so", ", ".join(map(str, candidates)), "name the path")])
    if _exists(name):
        return Path(name)
    known = [summary.name for summary in summaries(files)]
    remedy = did_you_mean(str(name), known)
    raise SpecError([Problem(str(name), 0, 0, f"there is no {kind} of this name", remedy=remedy or "name the path of a file")])


def _exists(name: Path | str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):
        return False


def yaml_files(folder: Path) -> list[Path]:
    """Every YAML file below a folder, in the order of their paths."""
    return sorted(path for pattern in ("*.yaml", "*.yml") for path in folder.rglob(pattern))


def _is_apart(path: Path, folder: Path) -> bool:
    return path.relative_to(folder).parts[0] in _NOT_WORKLOADS
