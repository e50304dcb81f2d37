"""``h2h`` as a person types it, with frameworks that misbehave on purpose."""

from __future__ import annotations

import json
import os
import platform
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.alone

ON_A_MAC = (platform.system(), platform.machine()) == ("Darwin", "arm64")
FAKES = Path(__file__).parent / "fakes"
WORKLOAD = """\
name: mine
inputs:
  x: {shape: [4], fill: normal}
target: {fill: integers, below: 3}
batch: 8
network:
  - dense: {units: 3}
loss: softmax_cross_entropy
optimizer: {sgd: {learning_rate: 0.1}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.yaml").write_text(WORKLOAD)
    return tmp_path


def h2h(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*words), cwd=folder, capture_output=True, text=True, timeout=240, check=False, env={**os.environ, **environment}
    )


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "runner", *words]


def fakes(*names: str) -> list[str]:
    return [word for name in names for word in ("--framework", f"{FAKES}:{name}")]


def only_run(folder: Path) -> Path:
    (run,) = (folder / "reports" / "runs").iterdir()
    return run


def records(run: Path, kind: str) -> list[dict]:
    return [record for line in (run / "run.jsonl").read_text().splitlines() if (record := json.loads(line))["record"] == kind]


def test_a_run_prints_its_table_and_says_where_it_is(folder: Path) -> None:
    done = h2h(folder, "run", "./mine.yaml", *fakes("blocking20", "async20"), "--rounds", "1", "--budget", "0.1", "--mode", "train")
    assert done.returncode == 0, done.stderr
    run = only_run(folder)
    assert done.stdout.strip() == (run / "report.md").read_text().strip()
    assert f"Written to {run.relative_to(folder)}/report.md" in done.stderr
    assert h2h(folder, "report", str(run)).stdout.strip() == done.stdout.strip()
    figures = json.loads(h2h(folder, "report", str(run), "--format", "json").stdout)
    assert "blocking20" in json.dumps(figures)


def test_a_failed_cell_is_a_row_and_status_1(folder: Path) -> None:
    done = h2h(folder, "run", "./mine.yaml", *fakes("nan", "absent", "blocking20"), "--rounds", "1", "--budget", "0.1", "--mode", "train")
    assert done.returncode == 1
    assert "nan" in done.stdout
    assert "pip install a-package-that-nobody-has" in done.stdout
    assert [record["status"] for record in records(only_run(folder), "round")].count("ok") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(["run"], "say what to run", marks=pytest.mark.skipif(ON_A_MAC, reason="runs the suite mps-vs-metal there")),
        (["run", "lenet6-mnist"], "did you mean `lenet5-mnist`?"),
        (["run", "./mine.yaml", "--device", "gpus"], "did you mean `gpu`?"),
        (["run", "./mine.yaml", "--precision", "float23"], "did you mean `float32`?"),
        (["run", "./mine.yaml", "--mode", "training"], "did you mean `train`?"),
        (["run", "./mine.yaml", "--execution", "graphs"], "did you mean `graph`?"),
        (["run", "./mine.yaml", "--framework", "pytorhc"], "no framework is called 'pytorhc'"),
        (["run", "./mine.yaml", "--batch", "0"], "--batch takes whole numbers from 1"),
        (["run", "./mine.yaml", "--set", "width"], "--set takes NAME=VALUE"),
        (["run", "./mine.yaml", "--set", "width=3"], "mine has no parameter"),
        (["run", "--suite", "quik"], "did you mean `quick`?"),
        (["run", "--resume", "nowhere"], "nowhere"),
        (["run", "softmax", "--mode", "train"], "softmax has no mode train"),
        (["report", "nowhere"], "nowhere"),
        (["report", "mine.yaml"], "mine.yaml"),
        (["show", "./none.yaml"], "none.yaml"),
        (["validate", "./none.yaml"], "none.yaml"),
    ],
)
def test_a_wrong_request_is_one_plain_message_and_status_2(folder: Path, words: list[str], message: str) -> None:
    done = h2h(folder, *words)
    assert done.returncode == 2, done
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_dry_run_starts_nothing(folder: Path) -> None:
    done = h2h(folder, "run", "./mine.yaml", *fakes("import_hang", "blocking20"), "--dry-run")
    assert done.returncode == 0
    assert "4 cells in 2 comparisons, 3 to 20 rounds" in done.stdout
    assert not (folder / "reports").exists()


def test_ctrl_c_keeps_what_was_measured_and_resume_finishes_it(folder: Path) -> None:
    words = ["run", "./mine.yaml", *fakes("blocking20", "async20"), "--rounds", "3", "--budget", "0.1", "--mode", "train"]
    process = subprocess.Popen(command(*words), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for_rounds(folder, 2)
    workers = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "To go on: h2h run --resume" in err
    assert "mine" in out
    assert not any(worker.is_running() for worker in workers)
    before = records(only_run(folder), "round")
    done = h2h(folder, "run", "--resume", str(only_run(folder)))
    assert done.returncode == 0, done.stderr
    after = records(only_run(folder), "round")
    assert after[: len(before)] == before
    assert sorted((record["cell"], record["round"]) for record in after) == sorted(
        (cell, number) for cell in {record["cell"] for record in after} for number in range(3)
    )


def test_a_killed_run_loses_at_most_the_round_under_way(folder: Path) -> None:
    words = ["run", "./mine.yaml", *fakes("blocking20", "die_sigsegv"), "--rounds", "2", "--budget", "0.1"]
    process = subprocess.Popen(command(*words), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for_rounds(folder, 1)
    time.sleep(random.SystemRandom().uniform(0, 3))
    process.kill()
    process.wait()
    before = records(only_run(folder), "round")
    assert before
    done = h2h(folder, "run", "--resume", str(only_run(folder)))
    assert done.returncode == 1, done.stderr
    after = records(only_run(folder), "round")
    assert after[: len(before)] == before
    results = [(record["cell"], record["round"]) for record in after]
    assert len(results) == len(set(results)) == 6, "two rounds of two good cells, one of each cell that crashes"


def test_an_edited_workload_is_measured_again_on_resume(folder: Path) -> None:
    words = ["run", "./mine.yaml", *fakes("blocking20"), "--rounds", "1", "--budget", "0.1", "--mode", "train"]
    assert h2h(folder, *words).returncode == 0
    (folder / "mine.yaml").write_text(WORKLOAD.replace("batch: 8", "batch: 16"))
    assert h2h(folder, "run", "--resume", str(only_run(folder))).returncode == 0
    assert len(records(only_run(folder), "round")) == 2
    cells = json.loads(h2h(folder, "report", str(only_run(folder)), "--format", "json").stdout)
    assert '"batch": 16' in json.dumps(cells)
    assert '"batch": 8' not in json.dumps(cells)


def test_two_writers_of_one_run_are_refused(folder: Path) -> None:
    words = ["run", "./mine.yaml", *fakes("blocking20"), "--rounds", "2", "--budget", "2", "--mode", "train"]
    process = subprocess.Popen(command(*words), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for_rounds(folder, 1)
    second = h2h(folder, "run", "--resume", str(only_run(folder)))
    assert second.returncode == 2
    assert "Traceback" not in second.stderr
    assert process.wait(timeout=120) == 0


def test_what_needs_no_framework_imports_none(folder: Path) -> None:
    code = (
        "import sys\nfrom runner import cli, execute, listing, request, run\n"
        "from runner.report import markdown\nfrom runner.spec import show\n"
        "print([name for name in ('torch', 'tensorflow', 'keras', 'jax', 'mlx', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parent.parent)
    assert done.stdout.strip() == "[]"


def test_variables_reach_the_children_only_when_they_are_named(folder: Path) -> None:
    words = ["run", "./mine.yaml", *fakes("blocking20"), "--rounds", "1", "--budget", "0.05", "--mode", "train"]
    assert h2h(folder, *words, "--env", "TF_CHOSEN=1", PYTORCH_MPS_HIGH_WATERMARK_RATIO="0.0").returncode == 0
    (header,) = records(only_run(folder), "header")
    assert header["environment"]["TF_CHOSEN"] == "1"
    assert "PYTORCH_MPS_HIGH_WATERMARK_RATIO" in header["withheld"]


def test_a_run_file_names_nobody(folder: Path) -> None:
    words = ["run", str(folder / "mine.yaml"), *fakes("blocking20"), "--rounds", "1", "--budget", "0.05", "--mode", "train"]
    assert h2h(folder, *words, HOME=str(folder)).returncode == 0
    text = (only_run(folder) / "run.jsonl").read_text()
    assert str(folder) not in text
    assert os.uname().nodename not in text


def test_new_writes_a_file_that_runs(folder: Path) -> None:
    assert h2h(folder, "new", "first-try").returncode == 0
    assert h2h(folder, "validate", "first-try.yaml").stdout == "1 file valid\n"
    assert "parameters" in h2h(folder, "show", "./first-try.yaml").stdout
    again = h2h(folder, "new", "first-try")
    assert (again.returncode, again.stderr.startswith("first-try.yaml exists")) == (2, True)


def test_what_a_framework_is_asked_for_does_not_depend_on_the_folder(folder: Path) -> None:
    (folder / "torch.py").write_text("raise SystemExit('a file of the folder was imported')")
    (folder / "frameworks").mkdir()
    done = h2h(folder, "run", "./mine.yaml", *fakes("blocking20"), "--rounds", "1", "--budget", "0.05", "--mode", "train")
    assert done.returncode == 0, done.stderr


def wait_for_rounds(folder: Path, wanted: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        files = list((folder / "reports" / "runs").glob("*/run.jsonl"))
        if files and files[0].read_text().count('"record":"round"') + files[0].read_text().count('"record": "round"') >= wanted:
            return
        time.sleep(0.05)
    raise AssertionError("the run did not get so far")


def test_conform_passes_a_right_adapter_and_fails_a_wrong_one(folder: Path) -> None:
    right = h2h(folder, "conform", str(FAKES / "reference_adapter"), "--precision", "float32")
    assert right.returncode == 0, right.stdout + right.stderr
    assert "| batch_norm" in right.stdout
    assert "FAILS" not in right.stdout
    wrong = h2h(folder, "conform", f"{FAKES}:too_fast", f"{FAKES}:absent", "--precision", "float32", "--format", "json")
    assert wrong.returncode == 1
    found = {result["framework"]: result for result in json.loads(wrong.stdout)}
    assert not any(result["passed"] for result in found.values())
    assert found["absent"]["failure"]["status"] == "not_installed"
    assert "conv2d" in {finding["layer"] for finding in found["too_fast"]["findings"] if not finding["ok"]}
