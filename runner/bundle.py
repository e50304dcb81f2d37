"""One file that shows how it went on a machine: what the doctor said, conformance, a run and the logs of what failed, and nobody's name.

A zip archive with ``bundle.json`` (its format and version), and any of ``doctor.json``, ``doctor.md``, ``conformance.json``, ``run.jsonl``
and ``logs/``. It is read anywhere, by the names of its members alone.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner import __version__
from runner.errors import UserError
from runner.execute import LOGS, RESULT
from runner.scrub import Secrets

FORMAT = 1
ABOUT, DOCTOR, DOCTOR_TEXT, CONFORMANCE = "bundle.json", "doctor.json", "doctor.md", "conformance.json"

LOG_BYTES = 1 << 16  # of a log's end that are kept
LARGEST = 1 << 28  # bytes of one member that are read: what unpacks to more is no bundle of ours


class BundleError(UserError):
    """The bundle cannot be written or read."""


@dataclass(frozen=True)
class Contents:
    """What goes into a bundle, and comes out of it; None for what there is not. ``run`` are the lines of a run file."""

    doctor: Mapping[str, Any] | None = None
    doctor_text: str | None = None
    conformance: Sequence[Mapping[str, Any]] | None = None
    run: str | None = None
    logs: Mapping[str, str] | None = None


def of_run(folder: Path) -> Contents:
    """The run of a folder, with the logs of whatever was not ok, the last :data:`LOG_BYTES` of each."""
    path = folder / RESULT if folder.is_dir() else folder
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BundleError(f"{path}: cannot be read: {error}; name the folder of a run, or the file {RESULT} in it") from error
    return Contents(run=text, logs=dict(_logs(path.parent, text)))


def _logs(folder: Path, text: str) -> Iterator[tuple[str, str]]:
    named = {f"{LOGS}/{file.name}" for file in (folder / LOGS).glob("probe-*.log")}
    for line in text.splitlines():
        with contextlib.suppress(ValueError):
            record = json.loads(line)
            if record.get("record") == "round" and record.get("status") != "ok" and record.get("log"):
                named.add(str(record["log"]))
    for name in sorted(named):
        file = folder / name
        if file.resolve().is_relative_to(folder.resolve()) and file.is_file():
            yield name, file.read_bytes()[-LOG_BYTES:].decode("utf-8", "replace")


def write(path: Path, contents: Contents, secrets: Secrets) -> None:
    """Write a bundle without the secrets. Raises :class:`BundleError`."""
    members = {ABOUT: _json({"bundle": FORMAT, "headtohead": __version__}), **_members(contents, secrets)}
    try:
        with path.open("xb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in members.items():
                entry = zipfile.ZipInfo(name)  # has the beginning of 1980 for its time, the same for everybody
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, text)
    except FileExistsError as error:
        raise BundleError(f"{path}: exists already and is not overwritten; choose another name") from error
    except OSError as error:
        raise BundleError(f"{path}: cannot be written: {error.strerror or error}") from error


def _members(contents: Contents, secrets: Secrets) -> dict[str, str]:
    members: dict[str, str] = {}
    if contents.doctor is not None:
        members[DOCTOR] = _json(secrets.scrub_json(contents.doctor))
    if contents.doctor_text is not None:
        members[DOCTOR_TEXT] = _lines(contents.doctor_text, secrets)
    if contents.conformance is not None:
        members[CONFORMANCE] = _json(secrets.scrub_json(list(contents.conformance)))
    if contents.run is not None:
        members[RESULT] = "".join(_record(line, secrets) for line in contents.run.splitlines() if line.strip())
    for name, text in (contents.logs or {}).items():
        members[f"{LOGS}/{secrets.scrub(name.removeprefix(f'{LOGS}/'))}"] = _lines(text, secrets)
    return members


def _record(line: str, secrets: Secrets) -> str:
    """A line of a run file without the secrets; a torn one at its end is left out."""
    try:
        return _json(secrets.scrub_json(json.loads(line)))
    except ValueError:
        return ""


def _lines(text: str, secrets: Secrets) -> str:
    return "".join(secrets.scrub(line) + "\n" for line in text.splitlines())


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def is_bundle(path: Path) -> bool:
    """Whether a file is an archive, and so no run file."""
    return path.is_file() and zipfile.is_zipfile(path)


def read(path: Path) -> Contents:
    """What is in a bundle. Raises :class:`BundleError`."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            if ABOUT not in names:
                raise BundleError(f"{path}: is an archive, but no bundle: it has no {ABOUT}; h2h selftest and h2h bundle write one")
            about = json.loads(_member(path, archive, ABOUT))
            if about.get("bundle") != FORMAT:
                raise BundleError(
                    f"{path}: is in version {about.get('bundle')!r} of the bundle, and this headtohead reads version {FORMAT}; "
                    f"use the headtohead that wrote it ({about.get('headtohead', 'version unknown')})"
                )
            texts = {name: _member(path, archive, name) for name in (DOCTOR, DOCTOR_TEXT, CONFORMANCE, RESULT) if name in names}
            logs = {name: _member(path, archive, name) for name in sorted(names) if name.startswith(f"{LOGS}/")}
    except (OSError, zipfile.BadZipFile, ValueError, AttributeError, NotImplementedError, RuntimeError) as error:
        raise BundleError(f"{path}: cannot be read as a bundle: {error}; ask for it again, it may have been cut off") from error
    try:
        doctor = json.loads(texts[DOCTOR]) if DOCTOR in texts else None
        conformance = json.loads(texts[CONFORMANCE]) if CONFORMANCE in texts else None
    except ValueError as error:
        raise BundleError(f"{path}: holds no valid JSON: {error}; ask for it again") from error
    return Contents(doctor, texts.get(DOCTOR_TEXT), conformance, texts.get(RESULT), logs)


def _member(path: Path, archive: zipfile.ZipFile, name: str) -> str:
    if archive.getinfo(name).file_size > LARGEST:
        raise BundleError(f"{path}: its {name} is larger than {LARGEST >> 20} MiB, which no run is")
    return archive.read(name).decode("utf-8")


@contextlib.contextmanager
def run_file(contents: Contents) -> Iterator[Path | None]:
    """The run of a bundle as a file, meanwhile; None where it has none."""
    if contents.run is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="h2h-") as folder:
        path = Path(folder) / RESULT
        path.write_text(contents.run, encoding="utf-8")
        yield path
