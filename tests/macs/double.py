"""A recorded Mac in the place of this machine: programs that answer as recorded, and a Python that says it runs on macOS.

The programs are real ones in a folder of their own, which alone is searched, so that the door to them is used as it is. Children know
nothing of it: what is tested is the parent, which is all that asks a machine who it is.
"""

from __future__ import annotations

import os
import platform
import shlex
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
import scipy.stats
import yaml

import runner.execute
import runner.report.markdown
import runner.report.table_csv
import runner.report.table_json
import runner.spec.starter
from runner.machine import chip, commands, mac

LOADED = (scipy.stats, runner.execute, runner.report, runner.spec)
"""What is otherwise imported when it is needed, and would then look for parts of Python that are there on macOS alone."""

RECORDED = Path(__file__).parent / "recorded"
NAMES = sorted(path.stem for path in RECORDED.glob("*.yaml"))

PROGRAM = """\
#!/bin/sh
echo "{name} $*" >> {log}
case "$*" in
{cases}*) exit 1;;
esac
"""


@dataclass(frozen=True)
class Mac:
    """One recorded Mac; ``log`` has a line for each program that was started."""

    name: str
    said: Mapping[str, Any]
    log: Path

    @property
    def expected(self) -> Mapping[str, Any]:
        return self.said["expected"]

    @property
    def told(self) -> dict[str, Any]:
        """The conditions that it has an answer for, as a record holds them."""
        return {name: value for name, value in self.expected["conditions"].items() if value is not None}

    @property
    def gpu_works(self) -> bool:
        return bool(self.expected.get("gpu_works", True)) and self.said["python"]["machine"] == "arm64"

    def started(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


def become(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Mac:
    """Turn this process into one on the recorded Mac, until the test is over; ``folder`` takes its programs."""
    said = yaml.safe_load((RECORDED / f"{name}.yaml").read_text(encoding="utf-8"))
    log = folder / "started.txt"
    programs = folder / "bin"
    programs.mkdir()
    for program, answers in said["answers"].items():
        write_program(programs, program, answers, log, slow=program in said.get("slow", ()))
    python = said["python"]
    memory = psutil.virtual_memory()._replace(total=python["memory"], available=python["memory"] // 2)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setattr(commands, "SYSTEM_FOLDERS", ())
    monkeypatch.setattr(mac, "QUICK", 5.0 if not said.get("slow") else 0.3)
    monkeypatch.setattr(mac, "_hung", set())
    monkeypatch.setattr(mac, "PATIENT", 10.0 if not said.get("slow") else 0.3)
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    monkeypatch.setattr(platform, "machine", lambda: python["machine"])
    monkeypatch.setattr(platform, "processor", lambda: "arm" if python["machine"] == "arm64" else "i386")
    monkeypatch.setattr(platform, "mac_ver", lambda: (python["mac_ver"], ("", "", ""), python["machine"]))
    monkeypatch.setattr(os, "cpu_count", lambda: python["cores"])
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    chip.describe.cache_clear()
    return Mac(name, said, log)


def write_program(folder: Path, name: str, answers: Mapping[str, str], log: Path, *, slow: bool = False) -> None:
    """A program that prints what is recorded for its arguments and fails for all others; a slow one sleeps first, in a child of its own."""
    action = "/bin/sleep 60" if slow else "printf '%s\\n' {answer}"
    cases = "".join(f"{shlex.quote(arguments)}) {action.format(answer=shlex.quote(answer))};;\n" for arguments, answer in answers.items())
    path = folder / name
    path.write_text(PROGRAM.format(name=name, log=shlex.quote(str(log)), cases=cases), encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP)
