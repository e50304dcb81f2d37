"""What the suite costs, as ratios: against loops written by hand, against bare Python, and of the parent beside its child.

``python tests/bench/overhead.py [--device cpu|cuda] [--rounds N]``; prints one table and ends 1 if a bound is passed.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any
from unittest import mock

from tabulate import tabulate

from frameworks import registry
from runner.launch import Limits
from runner.machine import canary, conditions
from runner.plan import Case, Choice, Settings, digest, make_plan
from runner.probe import probe
from runner.progress import Progress, watch
from runner.proofs import Proofs
from runner.records import Record, Round
from runner.run import Runner
from runner.spec import catalog
from runner.spec.workload import load_workload

BY_HAND = Path(__file__).parent / "by_hand"
WORKLOADS = (("resnet50", 8), ("bert-base", 4))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--framework", action="append")
    arguments = parser.parse_args()
    rows = [start_up(), conditions_and_turns(arguments.device)]
    for name in arguments.framework or ("pytorch", "tensorflow"):
        rows += against_hand(name, arguments.device, arguments.rounds)
    print(tabulate(rows, headers=("what", "ratio", "bound", ""), tablefmt="github", floatfmt=".3f"))
    return 0 if all(row[3] == "ok" for row in rows) else 1


def start_up() -> tuple[str, float, str, str]:
    """How many times as long ``h2h list`` takes as ``python -c pass`` (medians of nine, in turns)."""
    commands = ([sys.executable, "-c", "pass"], [sys.executable, "-m", "runner", "list"])
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(9):
        for command, seconds in zip(commands, times, strict=True):
            begin = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            seconds.append(time.perf_counter() - begin)
    ratio = statistics.median(times[1]) / statistics.median(times[0])
    return "h2h list ÷ python -c pass", ratio, "at most 15", verdict(ratio <= 15)


def conditions_and_turns(device: str) -> tuple[str, float, str, str]:
    """Seconds for conditions, canary, rest, the product for comparison and between blocks over those of loading and timing."""
    spent: Counter[str] = Counter()

    def stopwatch(owner: Any, name: str) -> Any:
        original = getattr(owner, name)

        def timed(*arguments: Any, **named: Any) -> Any:
            begin = time.perf_counter()
            try:
                return original(*arguments, **named)
            finally:
                spent[name] += time.perf_counter() - begin

        return mock.patch.object(owner, name, timed)

    names = ("pytorch", "tensorflow")
    settings = Settings(rounds=3)
    computation = load_workload(catalog.find("mlp-mnist")).resolve()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as patches:
        found = probe(names, {}, {}, Path(folder), sys.executable, Limits())
        case = Case("mlp-mnist", "images", {}, computation, ("train", "infer"), digest(computation))
        plan = make_plan([(case, Choice(names, devices=(device,)))], {key: value.facts for key, value in found.items()}, {}, settings)
        for owner, name in ((conditions, "now"), (canary.Canary, "rest"), (canary.Canary, "seconds"), (Runner, "_take_turns")):
            patches.enter_context(stopwatch(owner, name))
        patches.enter_context(stopwatch(Proofs, "rate"))
        patches.enter_context(stopwatch(conditions.Others, "_read"))
        records: list[Record] = []
        Runner(plan, found, records.append, Progress(), Path(folder), Limits(), {}, lambda _: float("inf")).run({}, [], set())
    rounds = [record for record in records if isinstance(record, Round)]
    blocks = sum(block.seconds for round in rounds for block in round.blocks)
    loading = sum(seconds or 0.0 for round in rounds for seconds in round.prepare.values())
    share = (spent.total() - blocks) / (blocks + loading)
    return "turns, conditions and canary ÷ loading and timing", share, "at most 0.10", verdict(share <= 0.10)


def against_hand(name: str, device: str, rounds: int) -> list[tuple[str, float, str, str]]:
    """Throughput through the adapter over that of the loop by hand, their processes taking turns, and the parent's share of a core."""
    references = (name, registry.portable(f"{BY_HAND}:{name}-by-hand"))
    settings = Settings(rounds=rounds, budget=5.0, checks=False)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        found = probe(references, {}, {}, Path(folder), sys.executable, Limits())
        for workload, batch in WORKLOADS:
            computation = load_workload(catalog.find(workload)).resolve(batch=batch)
            case = Case(workload, "samples", {}, computation, ("train",), digest(computation))
            choice = Choice(references, modes=("train",), devices=(device,))
            plan = make_plan([(case, choice)], {key: value.facts for key, value in found.items()}, {}, settings)
            records: list[Record] = []
            with watch() as progress:
                runner = Runner(plan, found, records.append, progress, Path(folder), Limits(), {}, lambda _: float("inf"))
                began, used = time.monotonic(), time.process_time()
                runner.run({}, [], set())
                share = (time.process_time() - used) / (time.monotonic() - began)
            results = {cell.name: [r for r in records if isinstance(r, Round) and r.cell == cell.id] for cell in plan.cells}
            failed = [f"{key}: {r.status}: {r.reason}" for key, of_cell in results.items() for r in of_cell if r.status != "ok"]
            if failed:
                rows.append((f"{name} {workload}: {failed[0]}", float("nan"), "", "failed"))
                continue
            ratio = statistics.geometric_mean(
                speed(ours) / speed(theirs) for ours, theirs in zip(results[name], results[f"{name}-by-hand"], strict=True)
            )
            rows.append((f"{name} {workload} batch {batch}: adapter ÷ by hand", ratio, "at least 0.97", verdict(ratio >= 0.97)))
            rows.append((f"{name} {workload}: parent's share of a core", share, "under 0.01", verdict(share < 0.01)))
    return rows


def speed(result: Round) -> float:
    """Steps per second, by the median block."""
    return 1.0 / statistics.median(block.seconds / block.steps for block in result.blocks)


def verdict(good: bool) -> str:
    return "ok" if good else "BOUND PASSED"


if __name__ == "__main__":
    sys.exit(main())
