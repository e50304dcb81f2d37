"""Every way in which a cell can fail costs its own row and no other."""

from __future__ import annotations

import dataclasses
import os
import statistics
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from runner.launch import LOG_BYTES, Limits
from runner.plan import BLOCKS, Settings
from runner.records import Round
from tests.runner.conftest import QUICK, Play, computation

pytestmark = pytest.mark.alone

EACH_FAULT = {
    "nan": ("nan", "loss is nan"),
    "no_update": ("wrong_result", "training changed none of dense_1.bias, dense_1.kernel"),
    "missing_parameter": ("not_equivalent", "no parameter dense_1.bias"),
    "wrong_shape": ("not_equivalent", "dense_1.kernel is [4, 3, 1], the workload says [4, 3]"),
    "wrong_device": ("wrong_device", "outputs are on cuda, the cell asks for cpu"),
    "wrong_type": ("wrong_result", "parameters are float16"),
    "early_wait": ("bad_wait", "wait() returns before the work is done"),
    "die_sigsegv": ("crashed", "SIGSEGV"),
    "die_sigkill": ("crashed", "SIGKILL"),
    "unsupported": ("unsupported", "no float64"),
    "out_of_memory": ("out_of_memory", "could not allocate"),
    "exception": ("crashed", "ValueError: shapes do not agree in a framework's words"),
    "import_error": ("broken_import", "Symbol not found"),
    "import_abort": ("broken_import", "SIGABRT"),
    "absent": ("not_installed", "a_package_that_nobody_has"),
}


@pytest.mark.parametrize("name", EACH_FAULT)
def test_a_fault_costs_one_row_with_its_status(play: Play, name: str) -> None:
    outcome = play(name, "blocking20")
    (bad,), (good,) = outcome.of(name), outcome.of("blocking20")
    status, words = EACH_FAULT[name]
    assert (bad.status, words in bad.reason) == (status, True), bad
    assert good.status == "ok"
    assert len(good.blocks) >= BLOCKS


def test_inference_that_changes_parameters_is_a_wrong_result(play: Play) -> None:
    (bad,) = play("update_in_inference", modes=("infer",)).rounds
    assert (bad.status, bad.reason) == ("wrong_result", "inference changed dense_1.bias, dense_1.kernel")


def test_an_operator_that_falls_back_to_the_cpu_is_unsupported_unless_allowed(play: Play) -> None:
    (bad,) = play("fallback").rounds
    assert (bad.status, "aten::nonesuch" in bad.reason, "--allow-fallback" in bad.remedy) == ("unsupported", True, True)
    (good,) = play("fallback", settings=dataclasses.replace(QUICK, fallback=True)).rounds
    assert (good.status, good.facts["fallbacks"]) == ("ok", ["aten::nonesuch"])


def test_outputs_that_are_no_numbers(play: Play) -> None:
    (bad,) = play("nan_output", modes=("infer",)).rounds
    assert (bad.status, bad.reason) == ("nan", "1 of 2 outputs are not finite numbers")


def test_an_execution_or_device_that_a_framework_lacks_is_told_without_a_start(play: Play) -> None:
    (bad,) = play("blocking20", executions=("xla",)).rounds
    assert (bad.status, bad.reason) == ("unsupported", "blocking20 has no execution xla")
    (bad,) = play("blocking20", devices=("gpu",)).rounds
    assert (bad.status, bad.reason) == ("unsupported", "blocking20 finds no device gpu on this machine")


def test_a_hang_is_ended_with_its_grandchild(play: Play) -> None:
    outcome = play("hang", "blocking20", limits=Limits(start=60.0, silence=3.0))
    (bad,) = outcome.of("hang")
    assert (bad.status, bad.reason) == ("stalled", "nothing was heard for 3 s")
    assert outcome.of("blocking20")[0].status == "ok"
    assert not [process for process in psutil.process_iter(["cmdline"]) if "h2h-fake-grandchild" in (process.info["cmdline"] or ())]


def test_an_import_that_hangs_has_a_limit_of_its_own(play: Play) -> None:
    outcome = play("import_hang", limits=Limits(start=4.0))
    assert (outcome.rounds[0].status, outcome.rounds[0].reason) == ("stalled", "the framework did not import within 4 s")


def test_a_cell_that_takes_too_long_in_all(play: Play) -> None:
    (bad,) = play("blocking20", limits=Limits(start=60.0, total=4.0), settings=Settings(rounds=1, budget=60.0)).rounds
    assert (bad.status, bad.reason) == ("timeout", "the cell took longer than 4 s")
    assert bad.blocks, "what was measured before is kept"


def test_a_process_that_grows_too_large_is_ended(play: Play) -> None:
    (bad,) = play("bigmem", limits=Limits(start=60.0, memory=2**29)).rounds
    assert bad.status == "out_of_memory"
    assert "the limit is 0.5 GiB" in bad.reason


def test_a_crash_after_the_result_is_a_note(play: Play) -> None:
    (result,) = play("exit_abort").rounds
    assert result.status == "ok"
    assert [(note.code, "SIGABRT" in note.text) for note in result.notes] == [("exit_crash", True)]


def test_noise_neither_spoils_the_events_nor_fills_the_disk(play: Play, tmp_path: Path) -> None:
    (result,) = play("noisy").rounds
    assert result.status == "ok"
    assert all(block.seconds > 0 for block in result.blocks)
    assert result.log is not None
    assert LOG_BYTES // 2 < (tmp_path / result.log).stat().st_size < LOG_BYTES + 200


def test_a_speed_beyond_the_device_is_suspect(play: Play) -> None:
    (bad,) = play("too_fast", work=computation(operations=137 * 10**9), ceiling=2e15).rounds
    assert bad.status == "suspect"
    assert "above what this device can do" in bad.reason


def test_compilations_in_the_timed_part_are_counted(play: Play) -> None:
    (result,) = play("recompiles").rounds
    assert result.facts["timed_compilations"] > BLOCKS


@pytest.mark.parametrize("name", ["blocking20", "async20", "lazy"])
def test_however_a_step_returns_its_time_is_that_of_the_work(play: Play, name: str) -> None:
    (result,) = play(name).rounds
    step = statistics.median(block.seconds / block.steps for block in result.blocks)
    assert 0.020 <= step < 0.030


def test_the_same_work_done_at_once_or_behind_the_back_takes_the_same_time(play: Play) -> None:
    outcome = play("blocking20", "async20")
    steps = [statistics.median(block.seconds / block.steps for block in outcome.of(name)[0].blocks) for name in ("blocking20", "async20")]
    assert steps[0] == pytest.approx(steps[1], rel=0.1)


def test_compilation_is_in_the_first_step_and_not_in_the_speed(play: Play) -> None:
    (result,) = play("compile500", settings=Settings(rounds=1, budget=0.1)).rounds
    assert result.prepare["first_step"] == pytest.approx(0.5, rel=0.1)
    assert all(block.seconds / block.steps < 0.01 for block in result.blocks)


def test_a_batch_seen_before_is_not_the_next_one(play: Play) -> None:
    (result,) = play("cached").rounds
    assert all(block.seconds / block.steps >= 0.01 for block in result.blocks)


def test_rivals_take_turns_and_change_places(play: Play) -> None:
    outcome = play("blocking20", "async20", settings=Settings(rounds=2, budget=0.1, block_seconds=0.02))
    starts = [[record.cell for record in outcome.rounds if record.round == number and record.position == 0] for number in (0, 1)]
    assert starts[0] != starts[1]
    first, second = (record for record in outcome.rounds if record.round == 0)
    turns = sorted([*((block.at, 0) for block in first.blocks), *((block.at, 1) for block in second.blocks)])
    order = [who for _, who in turns]
    assert order[:8] in ([0, 1, 1, 0, 0, 1, 1, 0], [1, 0, 0, 1, 1, 0, 0, 1])
    assert not first.alone


def test_alone_means_one_after_the_other(play: Play) -> None:
    outcome = play("blocking20", "async20", settings=Settings(rounds=1, budget=0.1, block_seconds=0.02, alone=True))
    first, second = outcome.rounds
    assert first.alone
    assert second.alone
    assert max(block.at for block in first.blocks) < min(block.at for block in second.blocks)


def test_rivals_that_do_not_fit_together_are_measured_alone(play: Play, tmp_path: Path) -> None:
    outcome = play("big_together", "blocking20", executions=("eager", "graph"), environment={"H2H_FAKE_MEMORY": str(tmp_path)})
    assert [result.status for result in outcome.rounds] == ["ok"] * 4
    assert any(result.alone for result in outcome.of("big_together"))


def test_a_cell_that_failed_is_not_tried_again(play: Play) -> None:
    outcome = play("nan", "blocking20", settings=Settings(rounds=3, budget=0.02, block_seconds=0.02))
    assert [result.round for result in outcome.of("nan")] == [0]
    assert [result.round for result in outcome.of("blocking20")] == [0, 1, 2]


def test_each_round_is_a_process_of_its_own_that_is_not_slowed(play: Play) -> None:
    outcome = play("blocking20", settings=Settings(rounds=2, budget=0.02, block_seconds=0.02))
    assert len({result.log for result in outcome.rounds}) == 2
    assert all(result.conditions["nice"] == os.nice(0) for result in outcome.rounds)


def test_a_stop_in_the_middle_leaves_no_process(play: Play) -> None:
    written: list[Round] = []

    def stop(record: object) -> None:
        if isinstance(record, Round):
            written.append(record)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play("blocking20", "async20", settings=QUICK, write=stop)
    assert len(written) == 1
    time.sleep(0.2)
    assert not [child for child in psutil.Process().children(recursive=True) if "frameworks.worker" in " ".join(child.cmdline())]


def test_the_parent_sleeps_while_a_child_measures(play: Play) -> None:
    before = time.process_time()
    (result,) = play("blocking20", settings=Settings(rounds=1, budget=5.0)).rounds
    spent = time.process_time() - before
    assert spent < 0.05 * sum(block.seconds for block in result.blocks), "starting a child included"


def test_no_adapter_reads_a_clock_and_no_process_is_forked() -> None:
    found = subprocess.run(
        ["grep", "-rnE", r"perf_counter|monotonic\(|time\.time\(|os\.fork\(", "frameworks", "--include=*.py"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent.parent.parent,
    )
    assert [line for line in found.stdout.splitlines() if not line.startswith("frameworks/timing.py")] == []


def test_rounds_are_added_until_the_ratio_is_known_or_there_are_enough(play: Play) -> None:
    settings = Settings(rounds=3, budget=0.02, block_seconds=0.02, precision_goal=0.5, max_rounds=5)
    precise = play("blocking20", "async20", settings=settings)
    assert len(precise.rounds) == 2 * 3, "sleeping twenty milliseconds is as regular as that"
    noisy = play("blocking20", "coin", settings=dataclasses.replace(settings, precision_goal=1e-6))
    assert len(noisy.rounds) == 2 * 5
